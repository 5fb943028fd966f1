//! Calls: functions of the table, defs, and macros.

use super::Checker;
use super::macros::macro_row;
use super::scope::State;
use crate::language::functions::{self, FunctionDef, FunctionId, Grows, Prepared};
use crate::language::macros::{self, FormKind, Parts};
use crate::language::statements::Names;
use crate::syntax::ast::{self, Text};
use crate::typed::{Expr, ExprKind, LookUpBy};
use crate::types::Type;
use crate::types::value::Value;
use bayplan_diag::{Span, codes};
use std::sync::Arc;

/// Namespaces of functions: `math.greatest(…)`.
const NAMESPACES: [&str; 7] = ["math", "sets", "lists", "strings", "numa", "optional", "base64"];

/// Namespaces of CEL in Kubernetes that are not built.
const NAMESPACES_NOT_BUILT: [&str; 5] = ["format", "ip", "cidr", "url", "semver"];

impl Checker<'_> {
    pub(super) fn call(&mut self, call: &ast::Call, span: Span, wanted: Option<&Type>) -> Expr {
        let name = &call.function;
        match macros::form(&name.text) {
            Some(FormKind::Has) => return self.has(call, span),
            Some(FormKind::Now) => {
                if !call.args.is_empty() {
                    self.wrong_count(name, "now()", call.args.len());
                }
                if !self.allow(Names::NOW, "now()", span) {
                    return self.unknown(span);
                }
                return self.make(ExprKind::Now, Type::Time, span);
            }
            Some(FormKind::LookUp) => return self.look_up(LookUpBy::Name, call, span),
            Some(FormKind::Objects) => return self.look_up(LookUpBy::All, call, span),
            Some(FormKind::Owner) | None => {}
        }
        if call.args.len() == 1
            && functions::any(functions::named(&name.text, false), FunctionDef::is_type_of)
        {
            return self.type_of(call, span);
        }
        if let Some(id) = self.names.get(&name.text).copied()
            && !self.frame.locals.iter().any(|local| local.name == name.text)
        {
            return match self.resolve(id, name.span) {
                State::Def(def, uses) => {
                    let allowed = self.allow(uses, &name.text, name.span);
                    let expr = self.call_def(def, call, span);
                    if allowed { expr } else { self.unknown(span) }
                }
                State::Failed | State::InProgress | State::Unchecked => {
                    for arg in &call.args {
                        self.expr(&arg.value, None);
                    }
                    self.unknown(span)
                }
                _ => {
                    self.mistake(
                        &codes::UNKNOWN_FUNCTION,
                        name.span,
                        format!("`{}` is a value and takes no arguments", name.text),
                        format!("write `{}`, or `def {}(…)`", name.text, name.text),
                    );
                    self.unknown(span)
                }
            };
        }
        let Some(args) = self.arguments_of(&call.args) else { return self.unknown(span) };
        if functions::named(&name.text, false).is_empty() {
            self.unknown_function(name, false, &args);
            return self.unknown(span);
        }
        self.call_function(name, false, args, span, wanted)
    }

    pub(super) fn has(&mut self, call: &ast::Call, span: Span) -> Expr {
        let [arg] = call.args.as_slice() else {
            self.wrong_count(&call.function, "has(x)", call.args.len());
            return self.unknown(span);
        };
        let asked = self.expr(&arg.value, None);
        self.has_of(asked, span, false)
    }

    /// `type(x)`: known when the policy is compiled, but of `dyn`.
    pub(super) fn type_of(&mut self, call: &ast::Call, span: Span) -> Expr {
        let Some(args) = self.arguments_of(&call.args) else { return self.unknown(span) };
        let Some(arg) = args.first() else { return self.unknown(span) };
        if *arg.ty.present() == Type::Dyn {
            return self.call_function(&call.function, false, args, span, None);
        }
        let arg = self.value(arg.clone());
        if arg.ty.is_unknown() {
            return self.unknown(span);
        }
        let name = Value::TypeName(bayplan_model::Symbol::from(type_name(&arg.ty)));
        self.make(ExprKind::Constant(name), Type::TypeName, span)
    }

    /// `"…".format([…])`
    fn format(&mut self, id: FunctionId, object: Expr, call: &ast::MethodCall, span: Span) -> Expr {
        let Some(text) = self.constant_str(&object) else {
            self.mistake(
                &codes::NOT_CONSTANT,
                object.span,
                "the text of `format` is a constant",
                "write a literal, or a param or let made of literals; `a + b` joins texts",
            );
            return self.unknown(span);
        };
        let elements = match call.args.as_slice() {
            [ast::Arg { name: None, value: ast::Expr { kind: ast::ExprKind::List(elements), .. } }]
                if elements.iter().all(|element| !element.optional) =>
            {
                elements
            }
            _ => {
                self.mistake(
                    &codes::WRONG_ARGUMENTS,
                    call.method.span,
                    "`format` wants the list of its values, written in place",
                    "write `\"%s of %d\".format([a, b])`",
                );
                return self.unknown(span);
            }
        };
        let pieces = match functions::format::parse(&text) {
            Ok(pieces) => pieces,
            Err(why) => {
                let help = "clauses are `%s %d %f %.2f %e %b %o %x %X`, and `%%` for a percent sign";
                self.mistake(&codes::BAD_CONSTANT, object.span, why, help);
                return self.unknown(span);
            }
        };
        let clauses: Vec<functions::format::Clause> = pieces
            .iter()
            .filter_map(|piece| match piece {
                functions::format::Piece::Value(clause) => Some(*clause),
                functions::format::Piece::Text(_) => None,
            })
            .collect();
        if clauses.len() != elements.len() {
            let values = |n: usize| if n == 1 { "1 value".to_owned() } else { format!("{n} values") };
            let message = format!("the text takes {}, {} given", values(clauses.len()), elements.len());
            self.mistake(&codes::WRONG_ARGUMENTS, call.method.span, message, "");
            return self.unknown(span);
        }
        let mut args = vec![object];
        let mut types = Vec::with_capacity(clauses.len());
        for (clause, element) in clauses.iter().zip(elements) {
            let value = self.expr(&element.value, None);
            let value = self.value(value);
            if value.ty.is_unknown() {
                return self.unknown(span);
            }
            let Some(ty) = clause.takes(&value.ty) else {
                let text = self.excerpt(value.span);
                let help = match &value.ty {
                    Type::Dyn => format!("convert it: `string({text}) ?? \"\"`"),
                    Type::Object(_) => format!("a field of it: `{text}.name`"),
                    ty if ty.is_unit() => format!("`{text}.value()` is the number in base units"),
                    _ => String::new(),
                };
                let message = format!("`{}` wants {}, this is `{}`", clause.text(), clause.wants(), value.ty);
                self.mistake(&codes::TYPE_MISMATCH, value.span, message, help);
                return self.unknown(span);
            };
            args.push(self.coerce(value, &ty).unwrap_or_else(|value| value));
            types.push(ty);
        }
        let prepared = Arc::new(Prepared::Format(pieces.into(), types.into()));
        self.make(ExprKind::Call(id, args, prepared), Type::String, span)
    }

    pub(super) fn arguments_of(&mut self, args: &[ast::Arg]) -> Option<Vec<Expr>> {
        let mut made = Vec::with_capacity(args.len());
        for arg in args {
            if let Some(name) = &arg.name {
                self.mistake(
                    &codes::WRONG_ARGUMENTS,
                    name.span,
                    format!("this function has no parameter `{}`", name.text),
                    "write its arguments in their order, without names",
                );
            }
            made.push(self.expr(&arg.value, None));
        }
        if made.iter().any(|arg| arg.ty.is_unknown()) { None } else { Some(made) }
    }

    pub(super) fn wrong_count(&mut self, name: &ast::Name, form: &str, given: usize) {
        self.mistake(
            &codes::WRONG_ARGUMENTS,
            name.span,
            match given {
                0 => format!("`{}` is called without arguments", name.text),
                given => format!("`{}` does not take {}", name.text, arguments(given)),
            },
            format!("write `{form}`"),
        );
    }

    pub(super) fn call_def(&mut self, def: crate::typed::DefId, call: &ast::Call, span: Span) -> Expr {
        let (parameters, ty, range) = {
            let def = &self.declared.defs[def.index()];
            (def.parameters.clone(), def.body.ty.clone(), def.body.range)
        };
        let given = call.args.len();
        if given != parameters.len() {
            let names: Vec<&str> =
                parameters.iter().map(|slot| &*self.declared.slots[slot.index()].name).collect();
            let form = format!("{}({})", call.function.text, names.join(", "));
            self.wrong_count(&call.function, &form, given);
        }
        let mut args = Vec::with_capacity(given);
        for (arg, slot) in call.args.iter().zip(&parameters) {
            let wanted = self.declared.slots[slot.index()].ty.clone();
            let value = self.expr(&arg.value, Some(&wanted));
            let who = format!("`{}`", self.declared.slots[slot.index()].name);
            args.push(self.fit(value, &wanted, &who));
        }
        if given != parameters.len() || args.iter().any(|arg| arg.ty.is_unknown()) {
            return self.unknown(span);
        }
        let expr = self.with_range(ExprKind::CallDef(def, args), ty, range, span);
        self.narrowed(expr)
    }

    pub(super) fn method(&mut self, call: &ast::MethodCall, span: Span) -> Expr {
        let name = &call.method;
        if let ast::ExprKind::Name(namespace) = &call.object.kind
            && NAMESPACES_NOT_BUILT.contains(&&**namespace)
            && !self.names.contains_key(namespace)
            && !self.frame.locals.iter().any(|local| local.name == *namespace)
        {
            self.not_built(call.object.span.to(name.span), format_args!("`{namespace}.{}`", name.text));
            return self.unknown(span);
        }
        // `math.greatest(…)`: a function of a namespace.
        if let ast::ExprKind::Name(namespace) = &call.object.kind
            && NAMESPACES.contains(&&**namespace)
            && !self.names.contains_key(namespace)
            && !self.frame.locals.iter().any(|local| local.name == *namespace)
        {
            let full = ast::Name {
                text: Text::from(format!("{namespace}.{}", name.text)),
                span: call.object.span.to(name.span),
            };
            let Some(args) = self.arguments_of(&call.args) else { return self.unknown(span) };
            if functions::named(&full.text, false).is_empty() {
                self.unknown_function(&full, false, &args);
                return self.unknown(span);
            }
            return self.call_function(&full, false, args, span, None);
        }
        let object = self.expr(&call.object, None);
        let mut rows = functions::named(&name.text, true).iter();
        if let Some(id) = rows.find(|id| id.def().grows == Grows::Formats)
            && object.ty == Type::String
        {
            return self.format(*id, object, call, span);
        }
        if macros::form(&name.text) == Some(FormKind::Owner) {
            return self.owner(object, call, span);
        }
        if let Some(row) = macro_row(call) {
            return self.macro_call(row, object, call, span);
        }
        if functions::named(&name.text, true).is_empty() {
            if object.ty.is_unknown() {
                return object;
            }
            if let Some(row) = macros::named(&name.text).next() {
                let example = match (row.parts, row.variables) {
                    (Parts::Condition, _) => "a variable and a condition",
                    (_, 1) => "a variable and a value",
                    _ => "two variables and a value",
                };
                self.mistake(
                    &codes::WRONG_ARGUMENTS,
                    name.span,
                    format!("`{}` wants {example}", name.text),
                    format!("write `{}.{}(x, …)`", self.excerpt(object.span), name.text),
                );
                return self.unknown(span);
            }
            // Its arguments may be variables of a macro that was meant: they are not looked at.
            return self.call_method(object, name, Vec::new(), span);
        }
        let mut args = Vec::with_capacity(call.args.len());
        let wanted = object.ty.present().element();
        for arg in &call.args {
            if let Some(name) = &arg.name {
                self.mistake(
                    &codes::WRONG_ARGUMENTS,
                    name.span,
                    format!("this method has no parameter `{}`", name.text),
                    "write its arguments in their order, without names",
                );
            }
            args.push(self.expr(&arg.value, wanted.as_ref()));
        }
        self.call_method(object, name, args, span)
    }

    /// A method of the table on checked operands.
    pub(super) fn call_method(
        &mut self,
        object: Expr,
        name: &ast::Name,
        args: Vec<Expr>,
        span: Span,
    ) -> Expr {
        if object.ty.is_unknown() || args.iter().any(|arg| arg.ty.is_unknown()) {
            return self.unknown(span);
        }
        if object.ty == Type::Dyn {
            let text = self.excerpt(object.span);
            self.mistake(
                &codes::DYNAMIC_VALUE,
                object.span,
                "this has no known type",
                format!("convert it: `string({text}) ?? \"\"`"),
            );
            return self.unknown(span);
        }
        if functions::named(&name.text, true).is_empty() {
            if self.label_key_meant_call(&object, name, span) {
                return self.unknown(span);
            }
            let mut all = vec![object];
            all.extend(args);
            self.unknown_function(name, true, &all);
            return self.unknown(span);
        }
        let mut all = Vec::with_capacity(args.len() + 1);
        all.push(object);
        all.extend(args);
        self.call_function(name, true, all, span, None)
    }

    pub(super) fn label_key_meant_call(&mut self, object: &Expr, name: &ast::Name, span: Span) -> bool {
        let placeholder = ast::Expr { kind: ast::ExprKind::Literal(ast::Literal::None), span: object.span };
        self.label_key_meant(&placeholder, object, Some(name), span)
    }
}

/// CEL's name of a type; ours where CEL has none.
pub(super) fn type_name(ty: &Type) -> String {
    match ty {
        Type::Count => "int".to_owned(),
        Type::Float => "double".to_owned(),
        Type::Blob => "bytes".to_owned(),
        Type::Null => "null_type".to_owned(),
        Type::Time => "google.protobuf.Timestamp".to_owned(),
        Type::Duration => "google.protobuf.Duration".to_owned(),
        Type::List(_) | Type::Set(_) => "list".to_owned(),
        Type::Map(..) => "map".to_owned(),
        Type::CelOptional(_) => "optional_type".to_owned(),
        other => other.to_string(),
    }
}

pub(super) fn arguments(count: usize) -> String {
    match count {
        0 => "no arguments".to_owned(),
        1 => "1 argument".to_owned(),
        n => format!("{n} arguments"),
    }
}
