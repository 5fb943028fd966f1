//! Comparisons: `==`, `<`, `in`, `matches` and `has`, and what to write when two sides do not fit.

use super::Checker;
use super::expr::strip;
use super::meant::texts_meant;
use super::types::is_zero;
use crate::language::fields::Meaning;
use crate::language::functions::Conversion;
use crate::syntax::ast::{self, BinaryOp, Literal};
use crate::syntax::literal::with_unit;
use crate::typed::{ArithmeticOp, CompareOp, Expr, ExprKind};
use crate::types::Type;
use crate::types::value::Value;
use bayplan_diag::{Diagnostic, Span, codes};

impl Checker<'_> {
    pub(super) fn equality(&mut self, of: &ast::Binary, span: Span) -> Expr {
        let (left, right) = self.operands(of);
        if left.ty.is_unknown() || right.ty.is_unknown() {
            return self.unknown(span);
        }
        let negated = of.op == BinaryOp::Ne;
        let negate = |this: &Self, expr: Expr| {
            if negated { this.make(ExprKind::Not(Box::new(expr)), Type::Bool, span) } else { expr }
        };
        // `x == none` asks for presence.
        let is_none = |expr: &Expr| *expr.ty.present() == Type::Never && expr.ty.is_optional();
        if is_none(&right) || is_none(&left) {
            let asked = if is_none(&right) { left } else { right };
            let has = self.has_of(asked, span, true);
            return if negated { has } else { self.make(ExprKind::Not(Box::new(has)), Type::Bool, span) };
        }
        for (null, other) in [(&left, &right), (&right, &left)] {
            if null.ty == Type::Null && !matches!(other.ty.present(), Type::Null | Type::Dyn) {
                let text = self.excerpt(other.span);
                let fixed = format!("{text} {} none", of.op.symbol());
                self.report(
                    Diagnostic::new(
                        &codes::NULL_COMPARISON,
                        span,
                        "`null` is a value of JSON, not an absent one",
                    )
                    .with_help(format!("write `{fixed}`"))
                    .with_fix(format!("write `{fixed}`"), span, fixed),
                );
                return self.unknown(span);
            }
        }
        if *left.ty.present() == Type::Dyn || *right.ty.present() == Type::Dyn {
            let expr = self.make(ExprKind::Equal(Box::new(left), Box::new(right)), Type::Bool, span);
            return negate(self, expr);
        }
        for (label, other) in [(&left, &right), (&right, &left)] {
            if *label.ty.present() == Type::String
                && (*other.ty.present() == Type::Bool || other.ty.present().is_numeric())
                && matches!(other.kind, ExprKind::Constant(_))
                && let Some(what) = self.label_word(label)
            {
                let written = plain_literal(self.excerpt(other.span));
                let fixed = format!("\"{}\"", written.unwrap_or_else(|| self.excerpt(other.span)));
                let mut said =
                    Diagnostic::new(&codes::TYPE_MISMATCH, other.span, format!("{what} is a string"))
                        .with_help(format!("`{} {fixed}`", of.op.symbol()));
                if written.is_some() {
                    said = said.with_fix(format!("write `{fixed}`"), other.span, fixed);
                }
                self.report(said);
                return self.unknown(span);
            }
        }
        let Some((left, right)) = self.comparable(left, right, "compare") else {
            return self.unknown(span);
        };
        let expr = self.make(ExprKind::Equal(Box::new(left), Box::new(right)), Type::Bool, span);
        negate(self, expr)
    }

    /// `a label`, `an annotation`, `an attribute`, when the expression is one.
    pub(super) fn label_word(&self, expr: &Expr) -> Option<&'static str> {
        let ExprKind::Index(map, _) = strip(&expr.kind) else { return None };
        let ExprKind::Field(_, row) = strip(&map.kind) else { return None };
        match row.def().meaning {
            Some(Meaning::Labels) => Some("a label"),
            Some(Meaning::Annotations) => Some("an annotation"),
            Some(Meaning::Attributes) => Some("an attribute"),
            _ => None,
        }
    }

    /// `has(x)`, or (`compared`) `x == none`.
    pub(super) fn has_of(&mut self, asked: Expr, span: Span, compared: bool) -> Expr {
        if asked.ty.is_unknown() {
            return self.unknown(span);
        }
        if matches!(asked.ty, Type::CelOptional(_)) {
            let text = self.excerpt(asked.span);
            let help = format!("write `{text}.hasValue()`, or the field without its `?`");
            self.mistake(&codes::TYPE_MISMATCH, asked.span, "CEL's optional is always there", help);
            return self.unknown(span);
        }
        let named = matches!(asked.kind, ExprKind::Resource(..)) && !compared;
        let absent = matches!(asked.kind, ExprKind::Constant(Value::Absent));
        if !asked.ty.is_optional() && asked.ty != Type::Dyn && !named && !absent {
            let text = self.excerpt(asked.span);
            if !matches!(asked.kind, ExprKind::Present(_)) {
                self.mistake(
                    &codes::NEVER_ABSENT,
                    asked.span,
                    format!("`{text}` is never absent"),
                    "the question has one answer",
                );
            } else {
                self.mistake(
                    &codes::NEVER_ABSENT,
                    asked.span,
                    format!("`{text}` is there: it was looked at before"),
                    "the question has one answer",
                );
            }
        }
        self.make(ExprKind::Has(Box::new(asked)), Type::Bool, span)
    }

    /// Both sides in one type but for `?`; says it if there is none.
    pub(super) fn comparable(&mut self, left: Expr, right: Expr, verb: &str) -> Option<(Expr, Expr)> {
        let (a, b) = (left.ty.present().clone(), right.ty.present().clone());
        if a == b {
            return Some((left, right));
        }
        if is_zero(&right) && a.is_unit() {
            return Some((left, Expr { ty: a, ..right }));
        }
        if is_zero(&left) && b.is_unit() {
            return Some((Expr { ty: b, ..left }, right));
        }
        let ty = match self.join(&a, &b) {
            Some(ty) => ty,
            None => match (self.coerce(left.clone(), &b), self.coerce(right.clone(), &a)) {
                (Ok(left), _) => return Some((left, right)),
                (_, Ok(right)) => return Some((left, right)),
                _ => {
                    self.two_types(&left, &right, verb);
                    return None;
                }
            },
        };
        let fit = |this: &Self, expr: Expr| {
            let wanted = if expr.ty.is_optional() { ty.clone().optional() } else { ty.clone() };
            this.coerce(expr, &wanted).unwrap_or_else(|expr| expr)
        };
        Some((fit(self, left), fit(self, right)))
    }

    /// Says that two values do not go together.
    pub(super) fn two_types(&mut self, left: &Expr, right: &Expr, verb: &str) {
        let (a, b) = (left.ty.present(), right.ty.present());
        if self.minutes_meant(left, b) || self.minutes_meant(right, a) {
            return;
        }
        for (time, other) in [(left, right), (right, left)] {
            let written = self.excerpt(other.span).to_owned();
            if *time.ty.present() == Type::Time && is_day(written.trim_matches(['"', '\''])) {
                let function = if self.is_cel() { "timestamp" } else { "time" };
                let right = format!("{function}(\"{}T00:00:00Z\")", written.trim_matches(['"', '\'']));
                let message = format!("cannot {verb} `{a}` with `{b}`");
                let said = Diagnostic::new(&codes::TYPE_MISMATCH, other.span, message)
                    .with_label("a day is not a time")
                    .with_help(format!("write `{right}`"));
                self.report(said.with_fix(format!("write `{right}`"), other.span, right));
                return;
            }
        }
        let number = |ty: &Type| matches!(ty, Type::Int | Type::Float);
        for (unit, other) in [(left, right), (right, left)] {
            let ty = unit.ty.present();
            if ty.is_unit() && number(other.ty.present()) {
                let message = match verb {
                    "compare" => format!("`{ty}` is compared with a number"),
                    "add" => format!("a number is added to `{ty}`"),
                    "subtract" => format!("`{ty}` and a number are subtracted"),
                    "divide" => format!("a number is divided by `{ty}`"),
                    "choose between" => format!("`{ty}` or a number is chosen"),
                    _ => format!("`{ty}` meets a number"),
                };
                let help = self.unit_help(ty, self.constant(other).as_ref());
                self.report(
                    Diagnostic::new(&codes::NUMBER_WITHOUT_UNIT, other.span, message)
                        .with_label("this is a number")
                        .with_place(unit.span, format!("this is `{ty}`"))
                        .with_help(help),
                );
                return;
            }
        }
        let code = if a.is_unit() && b.is_unit() { &codes::MIXED_UNITS } else { &codes::TYPE_MISMATCH };
        let joint = if matches!(verb, "add" | "choose between") { "and" } else { "with" };
        let message = match verb {
            "subtract" => format!("cannot subtract `{b}` from `{a}`"),
            _ => format!("cannot {verb} `{a}` {joint} `{b}`"),
        };
        let mut diagnostic = Diagnostic::new(code, left.span, message)
            .with_label(format!("this is `{a}`"))
            .with_place(right.span, format!("this is `{b}`"));
        let mut help = self.mixed_help(left, right, verb);
        if help.is_empty()
            && verb == "choose between"
            && let Some(default) = super::expr::default_text(a)
        {
            help = format!(
                "both sides must have the same type: write a value of `{a}`, for example `{default}`"
            );
        }
        if !help.is_empty() {
            diagnostic = diagnostic.with_help(help);
        }
        self.report(diagnostic);
    }

    pub(super) fn mixed_help(&self, left: &Expr, right: &Expr, verb: &str) -> String {
        if let (ExprKind::Resource(l, ln), ExprKind::Resource(r, rn)) =
            (strip(&left.kind), strip(&right.kind))
            && let (Some(ln), Some(rn)) = (self.constant_str(ln), self.constant_str(rn))
        {
            let path = |resources: &Expr, name: &str| {
                let text = self.excerpt(resources.span);
                if name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
                    format!("{text}.{name}")
                } else {
                    format!("{text}[\"{name}\"]")
                }
            };
            if verb == "compare" {
                return format!("compare {ln} with `{}`, or `{}` with {rn}", path(r, &ln), path(l, &rn));
            }
        }
        let (a, b) = (left.ty.present(), right.ty.present());
        match (a, b) {
            (Type::Amount(_), _) | (_, Type::Amount(_)) => {
                "amounts of resources mix when the same expression names both; `.value()` is the number"
                    .to_owned()
            }
            (a, b) if verb == "multiply" && a.is_unit() && b.is_unit() => {
                "a unit times a number is the unit; `.value()` is the number in base units".to_owned()
            }
            (Type::String, n) | (n, Type::String) if n.is_numeric() && verb == "add" => {
                let text = self.excerpt(if *a == Type::String { right.span } else { left.span });
                format!("convert the number: `string({text})`")
            }
            (Type::String, n) | (n, Type::String) if n.is_numeric() && verb == "compare" => {
                let text = if *a == Type::String { left } else { right };
                if let Some(meant) = self.text_meant_in_cel(text, n).filter(|_| self.is_cel()) {
                    return format!("write `{meant}`");
                }
                let text = self.excerpt(text.span);
                let conversion = match n {
                    Type::Float => "float",
                    Type::Cpu => "as_cpu",
                    Type::Bytes => "as_bytes",
                    Type::Count => "as_count",
                    Type::Duration => "duration",
                    _ => "int",
                };
                format!("convert the text: `{conversion}({text})`")
            }
            (Type::Quantity, unit @ (Type::Cpu | Type::Bytes))
            | (unit @ (Type::Cpu | Type::Bytes), Type::Quantity) => {
                let quantity = if *a == Type::Quantity { left } else { right };
                let function = if *unit == Type::Cpu { "as_cpu" } else { "as_bytes" };
                match super::dialect::call_arguments(quantity) {
                    Some([text]) => format!("write `{function}({})`", self.excerpt(text.span)),
                    _ => format!("`{function}(…)` of a text is of this unit"),
                }
            }
            (Type::String, Type::Time) | (Type::Time, Type::String) => {
                "convert the text: `time(…)`".to_owned()
            }
            _ => String::new(),
        }
    }

    pub(super) fn comparison(&mut self, of: &ast::Binary, span: Span) -> Expr {
        if let ast::ExprKind::Binary(inner) = &of.left.kind
            && matches!(inner.op, BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge)
        {
            let (a, b) = (self.excerpt(of.left.span), self.excerpt(inner.right.span));
            let help = format!("write `{a} && {b} {} {}`", of.op.symbol(), self.excerpt(of.right.span));
            self.mistake(&codes::CHAINED_COMPARISON, span, "a bool cannot be compared with a number", help);
            return self.unknown(span);
        }
        let (left, right) = self.operands(of);
        if left.ty.is_unknown() || right.ty.is_unknown() {
            return self.unknown(span);
        }
        if self.text_and_number(&left, &right, of.op.symbol()) {
            return self.unknown(span);
        }
        let Some((left, right)) = self.present_operands(of.op, left, right) else {
            return self.unknown(span);
        };
        let Some((left, right)) = self.comparable(left, right, "compare") else {
            return self.unknown(span);
        };
        if !left.ty.is_ordered() && left.ty != Type::Never {
            let help = match left.ty {
                Type::Resources => "`a.fits(b)`: no resource of `a` above `b`",
                _ => "",
            };
            let message = format!("`{}` has no order", left.ty);
            self.mistake(&codes::TYPE_MISMATCH, left.span, message, help);
            return self.unknown(span);
        }
        let op = match of.op {
            BinaryOp::Lt => CompareOp::Less,
            BinaryOp::Le => CompareOp::LessEqual,
            BinaryOp::Gt => CompareOp::Greater,
            _ => CompareOp::GreaterEqual,
        };
        self.whole_division(&left, &right);
        self.make(ExprKind::Compare(op, Box::new(left), Box::new(right)), Type::Bool, span)
    }

    /// `node.labels["slots"] > 4`: reports it with a conversion that compiles.
    pub(super) fn text_and_number(&mut self, left: &Expr, right: &Expr, symbol: &str) -> bool {
        let (a, b) = (left.ty.present(), right.ty.present());
        let (text, number) = match (a, b) {
            (Type::String, n) if n.is_numeric() => (left, right),
            (n, Type::String) if n.is_numeric() => (right, left),
            _ => return false,
        };
        if let Some(Value::String(written)) = self.constant(text)
            && let Some(meant) = amount_meant(written.as_str(), number.ty.present())
                .or_else(|| amount_meant(&written.as_str().replace(' ', ""), number.ty.present()))
        {
            let message = format!("cannot compare `{a}` with `{b}`");
            let said = Diagnostic::new(&codes::TYPE_MISMATCH, text.span, message)
                .with_label("this is a text")
                .with_place(number.span, format!("this is `{}`", number.ty.present()))
                .with_help(format!("write `{meant}`"));
            let is_literal = self.excerpt(text.span).starts_with(['"', '\'']);
            self.report(match is_literal {
                true => said.with_fix(format!("write `{meant}`"), text.span, meant),
                false => said,
            });
            return true;
        }
        let conversion = match number.ty.present() {
            Type::Float => "float",
            Type::Cpu => "as_cpu",
            Type::Bytes => "as_bytes",
            Type::Count => "as_count",
            Type::Duration => "duration",
            _ => "int",
        };
        if let Some(Value::String(written)) = self.constant(text)
            && matches!(number.ty.present(), Type::Cpu | Type::Bytes)
            && let ty = number.ty.present()
            && let meant = texts_meant(Conversion::Quantity, written.as_str())
            && let meant = meant.iter().filter_map(|one| amount_meant(one, ty))
            && let meant = meant.map(|one| format!("`{one}`")).collect::<Vec<String>>()
            && !meant.is_empty()
        {
            let message = format!("cannot compare `{a}` with `{b}`");
            let help = format!("did you mean {}?", meant.join(" or "));
            self.report(
                Diagnostic::new(&codes::TYPE_MISMATCH, text.span, message)
                    .with_label("this is a text")
                    .with_place(number.span, format!("this is `{ty}`"))
                    .with_help(help),
            );
            return true;
        }
        let default = super::expr::default_text(number.ty.present()).unwrap_or("0");
        let converted = format!("({conversion}({}) ?? {default})", self.excerpt(text.span));
        let fixed = match *a == Type::String {
            true => format!("{converted} {symbol} {}", self.excerpt(right.span)),
            false => format!("{} {symbol} {converted}", self.excerpt(left.span)),
        };
        self.report(
            Diagnostic::new(&codes::TYPE_MISMATCH, left.span, format!("cannot compare `{a}` with `{b}`"))
                .with_label(format!("this is `{a}`"))
                .with_place(right.span, format!("this is `{b}`"))
                .with_help(format!("convert the text: `{fixed}`")),
        );
        true
    }

    /// `a / b > 50%` of ints: the quotient has been cut.
    pub(super) fn whole_division(&mut self, left: &Expr, right: &Expr) {
        for (cut, other) in [(left, right), (right, left)] {
            let ExprKind::Widen(inner) = &cut.kind else { continue };
            if let ExprKind::Arithmetic(ArithmeticOp::Divide, a, b) = strip(&inner.kind)
                && a.ty == Type::Int
                && b.ty == Type::Int
            {
                let (a, b) = (self.excerpt(a.span), self.excerpt(b.span));
                let whole = self.excerpt(other.span);
                self.mistake(
                    &codes::WHOLE_DIVISION,
                    cut.span,
                    format!("an int by an int is cut to an int, and is compared with `{whole}`"),
                    format!("`share({a}, {b})`, or `float({a}) / {b}`"),
                );
            }
        }
    }

    /// A `dyn` where a known type is wanted.
    pub(super) fn dynamic(&mut self, expr: Expr) -> Expr {
        if *expr.ty.present() == Type::Dyn {
            let text = self.excerpt(expr.span);
            let help = format!("convert it: `int({text}) ?? 0`, `string({text}) ?? \"\"`");
            self.mistake(&codes::DYNAMIC_VALUE, expr.span, "this has no known type", help);
            return self.unknown(expr.span);
        }
        expr
    }

    pub(super) fn membership(&mut self, of: &ast::Binary, span: Span) -> Expr {
        let left = self.expr(&of.left, None);
        let wanted = left.ty.present().clone().list();
        let right = self.expr(&of.right, Some(&wanted));
        if left.ty.is_unknown() || right.ty.is_unknown() {
            return self.unknown(span);
        }
        let element = match right.ty.present().clone() {
            Type::List(t) | Type::Set(t) | Type::Map(t, _) => (*t).clone(),
            Type::Resources => Type::String,
            Type::Dyn => Type::Dyn,
            Type::String => {
                let (a, b) = (self.excerpt(left.span), self.excerpt(right.span));
                let help = format!("a part of a text: `{b}.contains({a})`");
                self.mistake(&codes::TYPE_MISMATCH, right.span, "`in` wants a list or a map", help);
                return self.unknown(span);
            }
            other => {
                let message = format!("`in` wants a list or a map, this is `{other}`");
                self.mistake(&codes::TYPE_MISMATCH, right.span, message, "");
                return self.unknown(span);
            }
        };
        let own = left.ty.present().clone();
        if element == Type::Dyn || own == Type::Dyn || element == Type::Never {
            return self.make(ExprKind::In(Box::new(left), Box::new(right)), Type::Bool, span);
        }
        let inner = element.present().clone();
        let (left, right) = if self.join(&own, &inner).is_some() || is_zero(&left) && inner.is_unit() {
            // An int among floats and a float among ints are compared by their amount.
            (left, right)
        } else {
            match self.coerce(right.clone(), &own.clone().list()) {
                Ok(right) => (left, right),
                Err(_) => {
                    let message = format!("`{own}` is looked for among `{inner}`");
                    let mut help = String::new();
                    if inner == Type::String && own.is_numeric() {
                        help = format!("`string({})`", self.excerpt(left.span));
                    }
                    if own.is_unit() && matches!(inner, Type::Int | Type::Float) {
                        help = "write the units in the list".to_owned();
                    }
                    self.mistake(&codes::TYPE_MISMATCH, left.span, message, help);
                    return self.unknown(span);
                }
            }
        };
        self.make(ExprKind::In(Box::new(left), Box::new(right)), Type::Bool, span)
    }

    pub(super) fn matches(&mut self, of: &ast::Binary, span: Span) -> Expr {
        let object = self.expr(&of.left, None);
        let pattern = self.expr(&of.right, None);
        let name = ast::Name { text: "matches".into(), span: of.op_span };
        self.call_method(object, &name, vec![pattern], span)
    }
}

/// The digits or the word of a number or bool as it is written, without brackets around it; `None` for
/// what has another spelling (`0x10`, `1e3`, `2cpu`).
fn plain_literal(text: &str) -> Option<&str> {
    let mut bare = text.trim();
    while let Some(inside) = bare.strip_prefix('(').and_then(|bare| bare.strip_suffix(')')) {
        bare = inside.trim();
    }
    let digits = bare.strip_prefix('-').unwrap_or(bare);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let is_number = [whole, fraction]
        .iter()
        .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
    (is_number || matches!(bare, "true" | "false")).then_some(bare)
}

/// `2026-01-01`
pub(super) fn is_day(text: &str) -> bool {
    let digits = |part: &str, count| part.len() == count && part.bytes().all(|byte| byte.is_ascii_digit());
    let parts: Vec<&str> = text.split('-').collect();
    matches!(parts[..], [year, month, day] if digits(year, 4) && digits(month, 2) && digits(day, 2))
}

/// The amount or number that a text in quotes is meant to be: `"10Gi"` beside bytes, `"5m"` beside a duration.
fn amount_meant(text: &str, ty: &Type) -> Option<String> {
    let number = text.parse::<f64>().is_ok_and(f64::is_finite) && !text.starts_with('+');
    let unit = with_unit(text).and_then(Result::ok);
    let own = match (ty, &unit) {
        // What an int is compared with goes from 0 to 100.
        (Type::Int, Some(Literal::Share(_))) => {
            let number = text.strip_suffix('%').unwrap_or(text);
            return number.parse::<i64>().is_ok().then(|| number.to_owned());
        }
        (Type::Int | Type::Count, _) => text.parse::<i64>().is_ok(),
        (Type::Float, Some(Literal::Share(_))) => true,
        (Type::Float, None) => number && text.starts_with(|c: char| c.is_ascii_digit()),
        (Type::Cpu, Some(Literal::Cpu(_)))
        | (Type::Bytes, Some(Literal::Bytes(_)))
        | (Type::Duration, Some(Literal::Duration(_))) => true,
        (Type::Cpu, None) if number => return Some(format!("{text}cpu")),
        (Type::Bytes, None) if number => return Some(format!("{text}B")),
        // Go's minutes are `m`.
        (Type::Duration, _) if text.ends_with('m') => {
            let minutes = format!("{text}in");
            let fits = matches!(with_unit(&minutes), Some(Ok(Literal::Duration(_))));
            return fits.then_some(minutes);
        }
        _ => false,
    };
    own.then(|| text.to_owned())
}
