//! Expressions as text. Brackets of the tree are written as they are; what is put in place of a name gets its own.

use super::{NoTwin, Types, absent, literals};
use crate::language::functions::{self, Conversion, FunctionDef, FunctionId, Presence};
use crate::language::macros::{self, FormKind, MacroDef};
use crate::syntax::ast::*;
use crate::types::Ty;
use bayplan_diag::Span;
use rustc_hash::{FxHashMap, FxHashSet};

/// The result of writing: a text, or the first part without a twin.
pub(super) type Written = Result<String, NoTwin>;

/// The language to write.
pub(super) enum To<'a> {
    /// CEL, from the policy language.
    Cel {
        /// Which expressions may be absent.
        types: &'a Types,
        /// The prefixes of the policy's names.
        spaces: &'a FxHashMap<Text, &'static str>,
        /// The defs of the policy and its file, which are written out.
        defs: &'a FxHashMap<Text, &'a Def>,
    },
    /// The policy language, from CEL, with what the checker knows.
    Language(&'a Types),
}

/// Writes expressions.
pub(super) struct Writer<'a> {
    pub(super) to: &'a To<'a>,
    /// Names that stand for something else: parameters of a def, the variable of a group.
    pub(super) instead: FxHashMap<Text, String>,
    /// The defs being written out, innermost last.
    pub(super) inside: Vec<Text>,
    /// Variables of macros around.
    pub(super) bound: Vec<Text>,
    /// In the condition of a group, whose equalities are its key in both languages: nothing is absent there.
    pub(super) in_group: bool,
    /// Names that stand for an optional of CEL.
    pub(super) optional: FxHashSet<Text>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(to: &'a To<'a>) -> Self {
        Writer {
            to,
            instead: FxHashMap::default(),
            inside: Vec::new(),
            bound: Vec::new(),
            in_group: false,
            optional: FxHashSet::default(),
        }
    }

    /// An expression whose value is there.
    pub(super) fn expr(&mut self, expr: &Expr) -> Written {
        let To::Cel { types, .. } = self.to else { return self.as_it_is(expr) };
        self.same_in_cel(expr)?;
        if let (ExprKind::Name(name), false) = (&expr.kind, self.in_group)
            && self.is_optional(name)
        {
            return Ok(format!("{}.value()", self.name(name, expr.span)?));
        }
        if !types.floats.contains(&expr.span) {
            return self.as_it_is(expr);
        }
        // Brackets have the place of what they are around.
        match &inner(expr).kind {
            ExprKind::Literal(Literal::Int(value)) => Ok(format!("{value}.0")),
            ExprKind::Literal(_) => self.as_it_is(expr),
            _ if types.widened.contains(&expr.span) => Ok(format!("double({})", self.as_it_is(inner(expr))?)),
            _ => self.as_it_is(expr),
        }
    }

    /// Refuses what CEL computes otherwise.
    pub(super) fn same_in_cel(&self, expr: &Expr) -> Result<(), NoTwin> {
        match self.to {
            To::Cel { types, .. } => {
                types.differing.get(&expr.span).map_or(Ok(()), |why| Err(NoTwin::new(expr.span, *why)))
            }
            To::Language(_) => Ok(()),
        }
    }

    /// Whether a name is written as an optional of CEL.
    pub(super) fn is_optional(&self, name: &Text) -> bool {
        !self.bound.contains(name) && self.optional.contains(name)
    }

    /// Whether a name is a memo, in CEL.
    pub(super) fn is_memo(&self, name: &Text) -> bool {
        let To::Cel { spaces, .. } = self.to else { return false };
        spaces.get(name) == Some(&"memos") && !self.bound.contains(name) && !self.instead.contains_key(name)
    }

    /// Whether this is `memos.?name`, to be written in the policy language.
    fn is_optional_memo(&self, access: &FieldAccess) -> bool {
        let of_memos = matches!(&access.object.kind, ExprKind::Name(name) if **name == *"memos" && !self.bound.contains(name));
        access.optional && of_memos && matches!(self.to, To::Language(_))
    }

    fn as_it_is(&mut self, expr: &Expr) -> Written {
        Ok(match &expr.kind {
            ExprKind::Literal(literal) => return self.literal(literal, expr.span),
            ExprKind::Name(name) => return self.name(name, expr.span),
            ExprKind::Paren(inner) => format!("({})", self.expr(inner)?),
            ExprKind::Call(call) => return self.call(call, expr.span),
            ExprKind::Method(call) => return self.method(call),
            ExprKind::Field(access) if self.is_optional_memo(access) => {
                let name = &access.field.text;
                format!("(has({name}) ? optional.of({name}) : optional.none())")
            }
            ExprKind::Field(access) => {
                format!("{}{}", self.expr(&access.object)?, field(&access.field.text, access.optional))
            }
            ExprKind::Index(access) => {
                let mark = if access.optional { "[?" } else { "[" };
                format!("{}{mark}{}]", self.expr(&access.object)?, self.expr(&access.index)?)
            }
            ExprKind::Unary(unary) => {
                let mark = if unary.op == UnaryOp::Not { "!" } else { "-" };
                format!("{mark}{}", self.expr(&unary.operand)?)
            }
            ExprKind::Binary(binary) => return self.binary(binary),
            ExprKind::Conditional(of) => format!(
                "{} ? {} : {}",
                self.expr(&of.condition)?,
                self.expr(&of.then)?,
                self.expr(&of.otherwise)?
            ),
            ExprKind::List(elements) => {
                let mut items = Vec::new();
                for element in elements {
                    let absent = self.may_be_absent(&element.value);
                    items.push(match (element.optional, absent) {
                        (true, false) => format!("?{}", self.expr(&element.value)?),
                        (true, true) => format!("?{}", absent::optional(self, &element.value)?),
                        (false, true) => return Err(absent::element(element.value.span)),
                        (false, false) => self.expr(&element.value)?,
                    });
                }
                format!("[{}]", items.join(", "))
            }
            ExprKind::Map(entries) => {
                let mut items = Vec::new();
                for entry in entries {
                    let mark = if entry.optional { "?" } else { "" };
                    let value = match (entry.optional, self.may_be_absent(&entry.value)) {
                        (true, true) => absent::optional(self, &entry.value)?,
                        (false, true) => return Err(absent::element(entry.value.span)),
                        (_, false) => self.expr(&entry.value)?,
                    };
                    items.push(format!("{mark}{}: {value}", self.expr(&entry.key)?));
                }
                format!("{{{}}}", items.join(", "))
            }
        })
    }

    /// Whether the policy language may have no value here, so that CEL needs other words.
    pub(super) fn may_be_absent(&self, expr: &Expr) -> bool {
        match self.to {
            // Ledgers and sources are there for every key.
            To::Cel { spaces, .. }
                if matches!(&inner(expr).kind, ExprKind::Name(name) if !self.bound.contains(name)
                    && matches!(spaces.get(name), Some(&"ledgers" | &"sources" | &"groups"))) =>
            {
                false
            }
            To::Cel { types, .. } => !self.in_group && types.may_be_absent(expr),
            To::Language(_) => false,
        }
    }

    /// Whether the policy language may have no value for a let, so that CEL needs other words.
    pub(super) fn let_may_be_absent(&self, of: &Let) -> bool {
        match self.to {
            To::Cel { types, .. } => types.let_may_be_absent(&of.value),
            To::Language(_) => false,
        }
    }

    fn literal(&self, literal: &Literal, span: Span) -> Written {
        match self.to {
            To::Language(_) => Ok(literals::in_language(literal)),
            To::Cel { .. } => literals::in_cel(literal)
                .ok_or_else(|| NoTwin::new(span, "`none` is a value of the policy language only")),
        }
    }

    pub(super) fn name(&self, name: &Text, span: Span) -> Written {
        if self.bound.contains(name) {
            return Ok(name.to_string());
        }
        if let Some(instead) = self.instead.get(name) {
            return Ok(instead.clone());
        }
        let To::Cel { spaces, .. } = self.to else { return Ok(name.to_string()) };
        let Some(space) = spaces.get(name) else { return Ok(name.to_string()) };
        if self.bound.iter().any(|bound| **bound == **space) {
            let why =
                format!("documents write `{space}.{name}`, and `{space}` is a variable of a macro here");
            return Err(NoTwin::new(span, why).with_help("give the variable another name"));
        }
        Ok(format!("{space}.{name}"))
    }

    fn args(&mut self, args: &[Arg]) -> Written {
        let mut written = Vec::new();
        for arg in args {
            if let Some(name) = &arg.name {
                return Err(NoTwin::new(name.span, "CEL has no arguments with names"));
            }
            written.push(self.expr(&arg.value)?);
        }
        Ok(written.join(", "))
    }

    fn call(&mut self, call: &Call, span: Span) -> Written {
        let name = &*call.function.text;
        let rows = functions::named(name, false);
        if matches!(self.to, To::Cel { .. }) && functions::any(rows, FunctionDef::is_type_of) {
            let why = "the type of a value is known when a policy is compiled, and CEL computes the value";
            return Err(NoTwin::new(span, why));
        }
        let is_quantity = |row: &FunctionDef| row.conversion() == Some(Conversion::Quantity);
        if let To::Language(types) = self.to
            && functions::any(functions::named_in_kubernetes(name, false), is_quantity)
        {
            if let Some(amount) = types.amounts.get(&span) {
                return Ok(amount.clone());
            }
            if !types.absent.contains_key(&span) {
                let why = "this is never evaluated, so the unit of the amount is not known: remove what never decides";
                return Err(NoTwin::new(span, why));
            }
        }
        let To::Cel { types, .. } = self.to else {
            return Ok(format!("{}({})", call.function.text, self.args(&call.args)?));
        };
        // A whole number that is widened is written as a float where CEL has no such function.
        if let [arg] = call.args.as_slice()
            && functions::any(rows, FunctionDef::makes_float)
            && functions::named_in_kubernetes(name, false).is_empty()
            && types.floats.contains(&arg.value.span)
        {
            return self.expr(&arg.value);
        }
        if macros::form(name) == Some(FormKind::Has)
            && let [arg] = call.args.as_slice()
        {
            return absent::has(self, &arg.value);
        }
        match self.def(call, span)? {
            Some((mut inner, def)) => Ok(format!("({})", inner.expr(&def.body)?)),
            None => Ok(format!("{}({})", call.function.text, self.args(&call.args)?)),
        }
    }

    /// The def that is called, and what writes its body; none for a function.
    pub(super) fn def(&mut self, call: &Call, span: Span) -> Result<Option<(Writer<'a>, &'a Def)>, NoTwin> {
        let To::Cel { defs, .. } = self.to else { return Ok(None) };
        let Some(def) = defs.get(&call.function.text).copied() else { return Ok(None) };
        if self.inside.contains(&def.name.text) {
            return Err(NoTwin::new(span, format!("`{}` is defined by itself", def.name.text)));
        }
        let mut instead = FxHashMap::default();
        let mut optional = FxHashSet::default();
        for (parameter, arg) in def.parameters.iter().zip(&call.args) {
            let may_be_absent = parameter.declared.optional;
            let text = match (may_be_absent, self.may_be_absent(&arg.value)) {
                (true, false) => format!("optional.of({})", self.expr(&arg.value)?),
                (_, true) => absent::optional(self, &arg.value)?,
                (_, false) => self.expr(&arg.value)?,
            };
            if may_be_absent {
                optional.insert(parameter.name.text.clone());
            }
            instead.insert(parameter.name.text.clone(), atomic(&arg.value, text));
        }
        let mut inner = Writer {
            to: self.to,
            instead,
            inside: self.inside.clone(),
            bound: Vec::new(),
            in_group: self.in_group,
            optional,
        };
        inner.inside.push(def.name.text.clone());
        if macro_variables(&def.body).iter().any(|name| self.bound.contains(name)) {
            let why = format!("a macro of the def `{}` has the name of one around it", def.name.text);
            return Err(NoTwin::new(span, why));
        }
        Ok(Some((inner, def)))
    }

    fn method(&mut self, call: &MethodCall) -> Written {
        if matches!(self.to, To::Cel { .. })
            && presence(call) == Some(Presence::Compacts)
            && call.args.is_empty()
        {
            return absent::present(self, call);
        }
        if let (To::Language(_), Some((value, other))) = (self.to, or_value_of_valid(call)) {
            return Ok(format!("({} ?? {})", self.expr(value)?, self.expr(other)?));
        }
        let object = self.expr(&call.object)?;
        let written = self.method_of(call, object, false)?;
        Ok(match self.to {
            _ if !is_optional_in_cel(call) => written,
            To::Cel { .. } => format!("{written}.value()"),
            To::Language(_) => format!("optional.ofValid({written})"),
        })
    }

    /// A method of an object that is written. `maybe`: the last argument is written as an optional of CEL.
    pub(super) fn method_of(&mut self, call: &MethodCall, object: String, maybe: bool) -> Written {
        let before = self.bound.len();
        let mut written = Vec::new();
        // The variables of a macro are names in front of what they are bound in.
        let variables = variables(call);
        for (at, arg) in call.args.iter().enumerate() {
            match &arg.value.kind {
                ExprKind::Name(name) if at < variables => {
                    self.bound.push(name.clone());
                    written.push(name.to_string());
                }
                _ if maybe && at + 1 == call.args.len() => written.push(absent::optional(self, &arg.value)?),
                // A value of each element that may be absent.
                _ if variables > 0 && self.may_be_absent(&arg.value) => {
                    return Err(absent::element(arg.value.span));
                }
                _ => written.push(self.expr(&arg.value)?),
            }
        }
        self.bound.truncate(before);
        Ok(format!("{object}.{}({})", call.method.text, written.join(", ")))
    }

    fn binary(&mut self, binary: &Binary) -> Written {
        if let To::Cel { .. } = self.to {
            match binary.op {
                BinaryOp::Coalesce => return absent::coalesce(self, binary),
                op if absent::is_comparison(op) => return absent::compare(self, binary),
                _ => {}
            }
        }
        let (left, right) = (self.expr(&binary.left)?, self.expr(&binary.right)?);
        Ok(format!("{left} {} {right}", binary.op.symbol()))
    }
}

/// `E` and `D` of `optional.ofValid(E).orValue(D)`, which is `E ?? D`.
fn or_value_of_valid(call: &MethodCall) -> Option<(&Expr, &Expr)> {
    let (ExprKind::Method(valid), [other]) = (&inner(&call.object).kind, call.args.as_slice()) else {
        return None;
    };
    let ([value], ExprKind::Name(space)) = (valid.args.as_slice(), &valid.object.kind) else {
        return None;
    };
    let catches = |row: &FunctionDef| row.presence == Some(Presence::Catches);
    let is_it = presence(call) == Some(Presence::TakesOr)
        && functions::any(functions::named(&format!("{space}.{}", valid.method.text), false), catches);
    is_it.then_some((&value.value, &other.value))
}

/// What a method of the policy language has to do with values that may be absent.
pub(super) fn presence(call: &MethodCall) -> Option<Presence> {
    functions::named(&call.method.text, true).iter().find_map(|row| row.def().presence)
}

/// An expression without the brackets around it.
pub(super) fn inner(expr: &Expr) -> &Expr {
    match &expr.kind {
        ExprKind::Paren(inner) => self::inner(inner),
        _ => expr,
    }
}

/// A text in brackets, unless it is a name, a literal, a call or has brackets already.
pub(super) fn atomic(expr: &Expr, text: String) -> String {
    match expr.kind {
        ExprKind::Unary(_) | ExprKind::Binary(_) | ExprKind::Conditional(_) => format!("({text})"),
        _ => text,
    }
}

/// A field with its mark; an index where its name is not a word.
pub(super) fn field(name: &str, optional: bool) -> String {
    let word = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let mark = if optional { "?" } else { "" };
    if word { format!(".{mark}{name}") } else { format!("[{mark}{}]", literals::quoted(name)) }
}

/// How many arguments of a method are variables of a macro.
fn variables(call: &MethodCall) -> usize {
    macro_row(call).map_or(0, |row| row.variables)
}

/// The macro that a method is; where both languages have it, it has the same arguments in both.
pub(super) fn macro_row(call: &MethodCall) -> Option<&'static MacroDef> {
    macros::fitting(&call.method.text, call.args.len(), |at| call.is_name(at))
}

/// The variables of all macros of an expression.
pub(super) fn macro_variables(expr: &Expr) -> Vec<Text> {
    let mut found = Vec::new();
    collect(expr, &mut found);
    found
}

fn collect(expr: &Expr, found: &mut Vec<Text>) {
    match &expr.kind {
        ExprKind::Literal(_) | ExprKind::Name(_) => {}
        ExprKind::Paren(inner) => collect(inner, found),
        ExprKind::Call(call) => call.args.iter().for_each(|arg| collect(&arg.value, found)),
        ExprKind::Method(call) => {
            collect(&call.object, found);
            let variables = variables(call);
            for (at, arg) in call.args.iter().enumerate() {
                match &arg.value.kind {
                    ExprKind::Name(name) if at < variables => found.push(name.clone()),
                    _ => collect(&arg.value, found),
                }
            }
        }
        ExprKind::Field(access) => collect(&access.object, found),
        ExprKind::Index(access) => {
            collect(&access.object, found);
            collect(&access.index, found);
        }
        ExprKind::Unary(unary) => collect(&unary.operand, found),
        ExprKind::Binary(binary) => {
            collect(&binary.left, found);
            collect(&binary.right, found);
        }
        ExprKind::Conditional(of) => {
            [&of.condition, &of.then, &of.otherwise].into_iter().for_each(|part| collect(part, found));
        }
        ExprKind::List(elements) => elements.iter().for_each(|element| collect(&element.value, found)),
        ExprKind::Map(entries) => {
            for entry in entries {
                collect(&entry.key, found);
                collect(&entry.value, found);
            }
        }
    }
}

/// Whether a method gives an optional in CEL, and a value that may be absent in the policy language: `[].first()`.
pub(super) fn is_optional_in_cel(call: &MethodCall) -> bool {
    let gives = |rows: &[FunctionId]| {
        let mut own = rows.iter().map(|row| row.def()).filter(|row| row.params.len() == call.args.len() + 1);
        own.any(|row| matches!(row.result, Ty::CelOptional(_)))
    };
    let name = &*call.method.text;
    variables(call) == 0
        && gives(functions::named_in_kubernetes(name, true))
        && !gives(functions::named(name, true))
}
