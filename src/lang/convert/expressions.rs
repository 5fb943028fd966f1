//! Expressions as text. Brackets of the tree are written as they are; what is put in place of a name gets its own.

use super::{NoTwin, Types, absent, literals};
use crate::diag::Span;
use crate::lang::syntax::ast::*;
use rustc_hash::FxHashMap;

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
}

impl<'a> Writer<'a> {
    pub(super) fn new(to: &'a To<'a>) -> Self {
        Writer { to, instead: FxHashMap::default(), inside: Vec::new(), bound: Vec::new(), in_group: false }
    }

    /// An expression whose value is there.
    pub(super) fn expr(&mut self, expr: &Expr) -> Written {
        match (self.to, &expr.kind) {
            (To::Cel { types, .. }, ExprKind::Literal(Literal::Int(value)))
                if types.widened.contains(&expr.span) =>
            {
                Ok(format!("{value}.0"))
            }
            (To::Cel { types, .. }, kind)
                if types.widened.contains(&expr.span) && !matches!(kind, ExprKind::Paren(_)) =>
            {
                Ok(format!("double({})", self.as_it_is(expr)?))
            }
            _ => self.as_it_is(expr),
        }
    }

    fn as_it_is(&mut self, expr: &Expr) -> Written {
        Ok(match &expr.kind {
            ExprKind::Literal(literal) => return self.literal(literal, expr.span),
            ExprKind::Name(name) => self.name(name),
            ExprKind::Paren(inner) => format!("({})", self.expr(inner)?),
            ExprKind::Call(call) => return self.call(call, expr.span),
            ExprKind::Method(call) => return self.method(call),
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
                        (true, _) => format!("?{}", self.expr(&element.value)?),
                        (false, true) => format!("?{}", absent::optional(self, &element.value)?),
                        (false, false) => self.expr(&element.value)?,
                    });
                }
                format!("[{}]", items.join(", "))
            }
            ExprKind::Map(entries) => {
                let mut items = Vec::new();
                for entry in entries {
                    let mark = if entry.optional { "?" } else { "" };
                    items.push(format!("{mark}{}: {}", self.expr(&entry.key)?, self.expr(&entry.value)?));
                }
                format!("{{{}}}", items.join(", "))
            }
        })
    }

    /// Whether the policy language may have no value here, so that CEL needs other words.
    pub(super) fn may_be_absent(&self, expr: &Expr) -> bool {
        match self.to {
            To::Cel { types, .. } => !self.in_group && types.may_be_absent(inner(expr)),
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

    pub(super) fn name(&self, name: &Text) -> String {
        if self.bound.contains(name) {
            return name.to_string();
        }
        if let Some(instead) = self.instead.get(name) {
            return instead.clone();
        }
        match self.to {
            To::Cel { spaces, .. } => {
                spaces.get(name).map_or_else(|| name.to_string(), |space| format!("{space}.{name}"))
            }
            To::Language(_) => name.to_string(),
        }
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
        if let (To::Language(types), "quantity") = (self.to, &*call.function.text)
            && let Some(amount) = types.amounts.get(&span)
        {
            return Ok(amount.clone());
        }
        let To::Cel { defs, .. } = self.to else {
            return Ok(format!("{}({})", call.function.text, self.args(&call.args)?));
        };
        if &*call.function.text == "has"
            && let [arg] = call.args.as_slice()
        {
            return absent::has(self, &arg.value);
        }
        let Some(def) = defs.get(&call.function.text).copied() else {
            return Ok(format!("{}({})", call.function.text, self.args(&call.args)?));
        };
        if self.inside.contains(&def.name.text) {
            return Err(NoTwin::new(span, format!("`{}` is defined by itself", def.name.text)));
        }
        let mut instead = FxHashMap::default();
        for (parameter, arg) in def.parameters.iter().zip(&call.args) {
            let text = match self.may_be_absent(&arg.value) {
                true => absent::optional(self, &arg.value)?,
                false => self.expr(&arg.value)?,
            };
            instead.insert(parameter.name.text.clone(), atomic(&arg.value, text));
        }
        let mut inner = Writer {
            to: self.to,
            instead,
            inside: self.inside.clone(),
            bound: Vec::new(),
            in_group: self.in_group,
        };
        inner.inside.push(def.name.text.clone());
        if macro_variables(&def.body).iter().any(|name| self.bound.contains(name)) {
            let why = format!("a macro of the def `{}` has the name of one around it", def.name.text);
            return Err(NoTwin::new(span, why));
        }
        Ok(format!("({})", inner.expr(&def.body)?))
    }

    fn method(&mut self, call: &MethodCall) -> Written {
        let object = self.expr(&call.object)?;
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
    use crate::lang::language::macros::MACROS;
    let row = MACROS.iter().find(|row| {
        row.name == &*call.method.text
            && row.variables + row.parts.count() == call.args.len()
            && call.args.iter().take(row.variables).all(|arg| matches!(arg.value.kind, ExprKind::Name(_)))
    });
    row.map_or(0, |row| row.variables)
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
