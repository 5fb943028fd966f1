//! Calls: functions of the table, defs, and macros.

use super::Checker;
use super::expr::type_range;
use super::macros::macro_row;
use super::scope::State;
use super::types::{is_zero, nearest};
use crate::diag::{Diagnostic, Span, codes};
use crate::lang::language::functions::{self, Absence, FunctionId, Prepared};
use crate::lang::language::macros::{self, Parts};
use crate::lang::language::statements::Names;
use crate::lang::syntax::ast::{self, Text};
use crate::lang::typed::{Expr, ExprKind};
use crate::lang::types::range::Range;
use crate::lang::types::value::Value;
use crate::lang::types::{Ty, Type};
use std::sync::Arc;

/// Namespaces of functions: `math.greatest(…)`.
const NAMESPACES: [&str; 7] = ["math", "sets", "lists", "strings", "numa", "optional", "base64"];

/// Namespaces of CEL in Kubernetes that are not built.
const NAMESPACES_NOT_BUILT: [&str; 5] = ["format", "ip", "cidr", "url", "semver"];

impl Checker<'_> {
    pub(super) fn call(&mut self, call: &ast::Call, span: Span, wanted: Option<&Type>) -> Expr {
        let name = &call.function;
        match &*name.text {
            "has" => return self.has(call, span),
            "now" => {
                if !call.args.is_empty() {
                    self.wrong_count(name, "now()", call.args.len());
                }
                if !self.allow(Names::NOW, "now()", span) {
                    return self.unknown(span);
                }
                return self.make(ExprKind::Now, Type::Time, span);
            }
            "type" if call.args.len() == 1 => return self.type_of(call, span),
            _ => {}
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

    fn has(&mut self, call: &ast::Call, span: Span) -> Expr {
        let [arg] = call.args.as_slice() else {
            self.wrong_count(&call.function, "has(x)", call.args.len());
            return self.unknown(span);
        };
        let asked = self.expr(&arg.value, None);
        self.has_of(asked, span, "has")
    }

    /// `type(x)`: known when the policy is compiled, but of `dyn`.
    fn type_of(&mut self, call: &ast::Call, span: Span) -> Expr {
        let Some(args) = self.arguments_of(&call.args) else { return self.unknown(span) };
        let Some(arg) = args.first() else { return self.unknown(span) };
        if *arg.ty.present() == Type::Dyn {
            return self.call_function(&call.function, false, args, span, None);
        }
        let arg = self.value(arg.clone());
        if arg.ty.is_unknown() {
            return self.unknown(span);
        }
        let name = Value::TypeName(crate::model::Symbol::from(type_name(&arg.ty)));
        self.make(ExprKind::Constant(name), Type::TypeName, span)
    }

    /// `"…".format([…])`
    fn format(&mut self, object: Expr, call: &ast::MethodCall, span: Span) -> Expr {
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
        let Some(id) = functions::named("format", true).first() else { return self.unknown(span) };
        let prepared = Arc::new(Prepared::Format(pieces.into(), types.into()));
        self.make(ExprKind::Call(*id, args, prepared), Type::String, span)
    }

    fn arguments_of(&mut self, args: &[ast::Arg]) -> Option<Vec<Expr>> {
        let mut made = Vec::with_capacity(args.len());
        for arg in args {
            if let Some(name) = &arg.name {
                self.mistake(
                    &codes::WRONG_ARGUMENTS,
                    name.span,
                    format!("this function has no parameter `{}`", name.text),
                    "its arguments stand in their order, without names",
                );
            }
            made.push(self.expr(&arg.value, None));
        }
        if made.iter().any(|arg| arg.ty.is_unknown()) { None } else { Some(made) }
    }

    fn wrong_count(&mut self, name: &ast::Name, form: &str, given: usize) {
        self.mistake(
            &codes::WRONG_ARGUMENTS,
            name.span,
            format!("`{}` does not take {}", name.text, arguments(given)),
            format!("write `{form}`"),
        );
    }

    fn call_def(&mut self, def: crate::lang::typed::DefId, call: &ast::Call, span: Span) -> Expr {
        let (parameters, ty, range) = {
            let def = &self.defs[def.0 as usize];
            (def.parameters.clone(), def.body.ty.clone(), def.body.range)
        };
        let given = call.args.len();
        if given != parameters.len() {
            let names: Vec<&str> = parameters.iter().map(|slot| &*self.slots[slot.0 as usize].name).collect();
            let form = format!("{}({})", call.function.text, names.join(", "));
            self.wrong_count(&call.function, &form, given);
        }
        let mut args = Vec::with_capacity(given);
        for (arg, slot) in call.args.iter().zip(&parameters) {
            let wanted = self.slots[slot.0 as usize].ty.clone();
            let value = self.expr(&arg.value, Some(&wanted));
            let who = format!("`{}`", self.slots[slot.0 as usize].name);
            args.push(self.fit(value, &wanted, &who));
        }
        if given != parameters.len() || args.iter().any(|arg| arg.ty.is_unknown()) {
            return self.unknown(span);
        }
        self.with_range(ExprKind::CallDef(def, args), ty, range, span)
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
        if &*name.text == "format" && object.ty == Type::String {
            return self.format(object, call, span);
        }
        if let Some(row) = macro_row(&name.text, &call.args) {
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
                    "its arguments stand in their order, without names",
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

    fn label_key_meant_call(&mut self, object: &Expr, name: &ast::Name, span: Span) -> bool {
        let placeholder = ast::Expr { kind: ast::ExprKind::Literal(ast::Literal::None), span: object.span };
        self.label_key_meant(&placeholder, object, Some(name), span)
    }

    fn unknown_function(&mut self, name: &ast::Name, method: bool, args: &[Expr]) {
        let text = &*name.text;
        if functions::NOT_BUILT.contains(&text) {
            let what = if method { format!("the method `{text}`") } else { format!("`{text}`") };
            return self.not_built(name.span, what);
        }
        let what = if method { "method" } else { "function" };
        let mut diagnostic =
            Diagnostic::new(&codes::UNKNOWN_FUNCTION, name.span, format!("no {what} is called `{text}`"));
        let instead = match text {
            "any" => Some("`exists` is the word: `l.exists(x, …)`".to_owned()),
            "len" | "length" => Some("`size`".to_owned()),
            "lower" | "toLower" | "lowercase" => Some("`lowerAscii()`".to_owned()),
            "upper" | "toUpper" | "uppercase" => Some("`upperAscii()`".to_owned()),
            "regex" | "match" | "regexMatch" => Some("`x.matches(\"…\")`".to_owned()),
            "average" | "mean" | "avg" => {
                Some("`share(l.sum(), l.size())`, or `l.sum() / l.size() ?? 0`".to_owned())
            }
            "isNull" | "exists" | "defined" if !method => Some("`has(x)`, `x == none`".to_owned()),
            "contains" if !method => Some("a method: `x.contains(y)`, or `y in x`".to_owned()),
            _ if method && !functions::named(text, false).is_empty() => {
                Some(format!("a function: `{text}({})`", args.first().map_or("…", |a| self.excerpt(a.span))))
            }
            _ if !method && !functions::named(text, true).is_empty() => {
                Some(format!("a method: `{}.{text}(…)`", args.first().map_or("x", |a| self.excerpt(a.span))))
            }
            _ if !method && macros::named(text).next().is_some() => Some(format!(
                "a method of lists: `{}.{text}(x, …)`",
                args.first().map_or("l", |a| self.excerpt(a.span))
            )),
            _ => None,
        };
        if let Some(instead) = instead {
            diagnostic = diagnostic.with_help(instead);
        } else {
            let known: Vec<String> = functions::names(method)
                .map(str::to_owned)
                .chain(macros::names().filter(|_| method).map(str::to_owned))
                .chain((!method).then(|| "has".to_owned()))
                .chain(
                    self.decls
                        .iter()
                        .filter(|decl| matches!(decl.kind, super::scope::DeclKind::Def(_)))
                        .map(|decl| decl.name.text.to_string()),
                )
                .collect();
            if let Some(near) = nearest(text, known.iter().map(String::as_str)) {
                diagnostic = diagnostic.with_help(format!("did you mean `{near}`?")).with_fix(
                    format!("write `{near}`"),
                    name.span,
                    near,
                );
            }
        }
        self.report(diagnostic);
    }

    /// Chooses the row that the arguments fit, and makes the call.
    pub(super) fn call_function(
        &mut self,
        name: &ast::Name,
        method: bool,
        args: Vec<Expr>,
        span: Span,
        wanted: Option<&Type>,
    ) -> Expr {
        let rows = functions::named(&name.text, method);
        let fits_count = |id: &FunctionId| {
            let def = id.def();
            args.len() == def.params.len() || def.repeats && args.len() > def.params.len()
        };
        if !rows.iter().any(fits_count) {
            let form = rows.first().map(|id| id.def().signature()).unwrap_or_default();
            self.wrong_count(name, &form, args.len() - usize::from(method));
            return self.unknown(span);
        }
        // First without regard to absence, so that a missing value is said as such.
        let mut fallback = None;
        for id in rows.iter().filter(|id| fits_count(id)) {
            if let Some(bound) = self.bind(*id, &args, false) {
                return self.make_call(*id, args, bound, span);
            }
            if fallback.is_none()
                && let Some(bound) = self.bind(*id, &args, true)
            {
                fallback = Some((*id, bound));
            }
        }
        let _ = wanted;
        if let Some((id, bound)) = fallback {
            // Only absence stands in the way.
            let texts: Vec<&str> = args.iter().map(|arg| self.excerpt(arg.span)).collect();
            let mut fixed = Vec::with_capacity(args.len());
            for (at, arg) in args.into_iter().enumerate() {
                let optional_row = matches!(param_at(id, at), Ty::Optional(_));
                if optional_row || !arg.ty.is_optional() {
                    fixed.push(arg);
                    continue;
                }
                let method_name = &name.text;
                let example = |filled: &str| {
                    let mut parts = texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
                    parts[at] = if method && at == 0 {
                        filled.to_owned()
                    } else {
                        filled.trim_start_matches('(').trim_end_matches(')').to_owned()
                    };
                    if method {
                        format!("{}.{method_name}({})", parts[0], parts[1..].join(", "))
                    } else {
                        format!("{method_name}({})", parts.join(", "))
                    }
                };
                fixed.push(self.value_in(arg, Some(&example)));
            }
            if fixed.iter().any(|arg| arg.ty.is_unknown()) {
                return self.unknown(span);
            }
            return self.make_call(id, fixed, bound, span);
        }
        self.no_row(name, method, &args);
        self.unknown(span)
    }

    fn no_row(&mut self, name: &ast::Name, method: bool, args: &[Expr]) {
        let rows = functions::named(&name.text, method);
        let types: Vec<String> =
            args.iter().skip(usize::from(method)).map(|arg| format!("`{}`", arg.ty)).collect();
        let message = if method && types.is_empty() {
            format!("`{}` has no method `{}`", args[0].ty.present(), name.text)
        } else if method {
            format!("`{}` has no method `{}` with {}", args[0].ty.present(), name.text, types.join(" and "))
        } else {
            format!("`{}` does not take {}", name.text, types.join(" and "))
        };
        // Numbers with and without a unit are the usual cause.
        let units: Vec<&Type> = args.iter().map(|arg| arg.ty.present()).filter(|ty| ty.is_unit()).collect();
        let numbers: Vec<&Expr> =
            args.iter().filter(|arg| matches!(arg.ty.present(), Type::Int | Type::Float)).collect();
        let mut code = &codes::WRONG_ARGUMENTS;
        let mut help = match rows {
            [one] => format!("write `{}`", one.def().signature()),
            _ => {
                let forms: Vec<String> =
                    rows.iter().take(4).map(|id| format!("`{}`", id.def().signature())).collect();
                forms.join(", ")
            }
        };
        if let ([unit, ..], [number, ..]) = (units.as_slice(), numbers.as_slice())
            && matches!(rows, [one] if one.def().params.iter().any(|p| matches!(p, Ty::Number(_) | Ty::Ordered(_))))
        {
            code = &codes::NUMBER_WITHOUT_UNIT;
            help = super::types::unit_help(unit, self.constant(number).as_ref());
        } else if let [a, b, ..] = units.as_slice()
            && a != b
        {
            code = &codes::MIXED_UNITS;
        } else if args.iter().any(|arg| *arg.ty.present() == Type::Dyn) {
            code = &codes::DYNAMIC_VALUE;
            help = "convert it first: `int(x) ?? 0`, `string(x) ?? \"\"`".to_owned();
        }
        self.mistake(code, name.span, message, help);
    }

    /// The types that the letters of a row stand for, when the arguments fit it.
    fn bind(&self, id: FunctionId, args: &[Expr], absent_too: bool) -> Option<Vec<(char, Type)>> {
        let mut bound: Vec<(char, Type)> = Vec::new();
        for (at, arg) in args.iter().enumerate() {
            let ty = if absent_too { arg.ty.present() } else { &arg.ty };
            let optional = matches!(id.def().params.first(), Some(Ty::CelOptional(_)));
            if !self.bind_one(param_at(id, at), ty, is_zero(arg), optional, &mut bound) {
                return None;
            }
        }
        Some(bound)
    }

    fn bind_one(
        &self,
        param: &Ty,
        given: &Type,
        zero: bool,
        optional: bool,
        bound: &mut Vec<(char, Type)>,
    ) -> bool {
        match param {
            Ty::Optional(inner) => self.bind_one(inner, given.present(), zero, optional, bound),
            _ if given.is_optional() => false,
            Ty::Var(letter) | Ty::Number(letter) | Ty::Ordered(letter) => {
                let fits = match param {
                    Ty::Number(_) => given.is_numeric() || *given == Type::Never,
                    Ty::Ordered(_) => given.is_ordered() || *given == Type::Never,
                    _ => true,
                };
                if !fits {
                    return false;
                }
                match bound.iter().position(|(known, _)| known == letter) {
                    None => {
                        // A zero takes the type of the others.
                        let ty = if zero { Type::Never } else { given.clone() };
                        bound.push((*letter, ty));
                        true
                    }
                    Some(_) if zero => true,
                    // What is held by an optional of an unknown type stays of an unknown type.
                    Some(at) if optional && (bound[at].1 == Type::Dyn || *given == Type::Dyn) => {
                        bound[at].1 = Type::Dyn;
                        true
                    }
                    Some(at) => match self.join(&bound[at].1, given) {
                        Some(joined) => {
                            bound[at].1 = joined;
                            true
                        }
                        None => false,
                    },
                }
            }
            Ty::List(inner) => match given {
                Type::List(own) | Type::Set(own) => match inner {
                    Ty::Optional(inner) => self.bind_one(inner, own.present(), false, optional, bound),
                    _ => **own == Type::Never || self.bind_one(inner, own, false, optional, bound),
                },
                _ => false,
            },
            Ty::CelOptional(inner) => match given {
                Type::CelOptional(own) => {
                    **own == Type::Never || self.bind_one(inner, own, false, optional, bound)
                }
                _ => false,
            },
            Ty::Map(key, value) => match given {
                Type::Map(k, v) => {
                    (**k == Type::Never || self.bind_one(key, k, false, optional, bound))
                        && (**v == Type::Never || self.bind_one(value, v, false, optional, bound))
                }
                _ => false,
            },
            Ty::Amount => matches!(given, Type::Amount(_)),
            Ty::Int => *given == Type::Int || *given == Type::Count || *given == Type::Never,
            Ty::Float => matches!(given, Type::Float | Type::Int | Type::Count | Type::Never),
            Ty::Cpu | Ty::Bytes | Ty::Duration | Ty::Count if zero => true,
            other => {
                let wanted = super::expr::plain_type(other);
                wanted == *given || *given == Type::Never
            }
        }
    }

    fn make_call(
        &mut self,
        id: FunctionId,
        args: Vec<Expr>,
        mut bound: Vec<(char, Type)>,
        span: Span,
    ) -> Expr {
        let def = id.def();
        // A call of zeros only is of ints.
        for (_, ty) in &mut bound {
            if *ty == Type::Never && args.iter().any(is_zero) {
                *ty = Type::Int;
            }
        }
        let mut absent = false;
        let args: Vec<Expr> = args
            .into_iter()
            .enumerate()
            .map(|(at, arg)| {
                let param = param_at(id, at);
                let optional = matches!(param, Ty::Optional(_)) && arg.ty.is_optional();
                absent |= optional && !matches!(def.absent, Absence::Taken);
                let wanted = instantiate(param, &bound);
                let wanted = if optional { wanted.optional() } else { wanted.present().clone() };
                self.coerce(arg, &wanted).unwrap_or_else(|arg| arg)
            })
            .collect();
        let prepared = match def.prepare {
            None => Prepared::Nothing,
            Some(prepare) => {
                let constants: Vec<Option<_>> = args
                    .iter()
                    .enumerate()
                    .map(|(at, arg)| if prepare.constants.contains(&at) { self.constant(arg) } else { None })
                    .collect();
                for at in prepare.constants {
                    if let (Some(arg), Some(None)) = (args.get(*at), constants.get(*at)) {
                        let what = def.names.get(*at).copied().unwrap_or("argument");
                        self.mistake(
                            &codes::NOT_CONSTANT,
                            arg.span,
                            format!("the {what} of `{}` is a constant", def.name),
                            "write a literal, or a param or let made of literals",
                        );
                        return self.unknown(span);
                    }
                }
                match (prepare.make)(&constants) {
                    Ok(prepared) => prepared,
                    Err((at, why)) => {
                        let at = args.get(at).map_or(span, |arg| arg.span);
                        self.mistake(&codes::BAD_CONSTANT, at, why, "");
                        return self.unknown(span);
                    }
                }
            }
        };
        let ranges: Vec<Range> = args.iter().map(|arg| arg.range).collect();
        if let Some(Err((at, wanted))) = def.demand.map(|demand| demand(&ranges)) {
            let arg = args.get(at).map_or(span, |arg| arg.span);
            let text = self.excerpt(arg);
            let help = format!("`clamp({text}, 0, 1000)`, or a comparison before it");
            self.mistake(&codes::WRONG_ARGUMENTS, arg, wanted, help);
            return self.unknown(span);
        }
        let mut ty = instantiate(&def.result, &bound);
        let may_fail = match def.absent {
            Absence::Never | Absence::Taken => false,
            Absence::Maybe => true,
            Absence::Unless(has_value) => !has_value(&ranges),
        };
        let base = type_range(&ty);
        let range = match def.range {
            Some(range) if base != Range::None => base.intersect(range(&ranges)),
            _ => base,
        };
        let prepared = Arc::new(prepared);
        let mut expr = Expr { kind: ExprKind::Call(id, args, prepared), ty: ty.clone(), range, span };
        if may_fail || absent {
            ty = ty.optional();
            expr.ty = ty.clone();
            // Of constants the value is known, and whether there is one.
            match self.constant(&expr) {
                Some(Value::Absent) if !absent => {
                    let text = self.excerpt(span);
                    self.mistake(
                        &codes::BAD_CONSTANT,
                        span,
                        format!("`{text}` has no value"),
                        format!("`{}` is {}", def.name, def.doc),
                    );
                    return self.unknown(span);
                }
                Some(value) if !absent => {
                    let range = super::expr::constant_range(&value, ty.present());
                    return Expr { kind: ExprKind::Constant(value), ty: ty.present().clone(), range, span };
                }
                _ => {}
            }
        }
        self.narrowed(expr)
    }
}

/// CEL's name of a type; ours where CEL has none.
fn type_name(ty: &Type) -> String {
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

fn arguments(count: usize) -> String {
    match count {
        0 => "no arguments".to_owned(),
        1 => "1 argument".to_owned(),
        n => format!("{n} arguments"),
    }
}

fn param_at(id: FunctionId, at: usize) -> &'static Ty {
    let params = id.def().params;
    params.get(at).or(params.last()).unwrap_or(&Ty::Bool)
}

/// A type of a row with its letters filled in.
fn instantiate(ty: &Ty, bound: &[(char, Type)]) -> Type {
    match ty {
        Ty::Var(letter) | Ty::Number(letter) | Ty::Ordered(letter) => {
            bound.iter().find(|(known, _)| known == letter).map_or(Type::Never, |(_, ty)| ty.clone())
        }
        Ty::List(inner) => instantiate(inner, bound).list(),
        Ty::Map(key, value) => {
            Type::Map(Arc::new(instantiate(key, bound)), Arc::new(instantiate(value, bound)))
        }
        Ty::Optional(inner) => instantiate(inner, bound).optional(),
        Ty::CelOptional(inner) => Type::CelOptional(Arc::new(instantiate(inner, bound))),
        Ty::Amount => bound.first().map_or(Type::Amount(Arc::from("")), |(_, ty)| ty.clone()),
        other => super::expr::plain_type(other),
    }
}
