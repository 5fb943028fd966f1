//! Operators: conditions, comparisons, arithmetic, and the default.

use super::Checker;
use super::expr::strip;
use super::types::{is_zero, unit_help};
use crate::diag::{Diagnostic, Span, codes};
use crate::lang::syntax::ast::{self, BinaryOp, UnaryOp};
use crate::lang::typed::{ArithmeticOp, CompareOp, Expr, ExprKind};
use crate::lang::types::Type;
use crate::lang::types::range::Range;
use crate::lang::types::value::Value;

impl Checker<'_> {
    pub(super) fn unary(&mut self, of: &ast::Unary, span: Span) -> Expr {
        match of.op {
            UnaryOp::Not => {
                let operand = self.condition(&of.operand);
                if operand.ty.is_unknown() {
                    return self.unknown(span);
                }
                self.make(ExprKind::Not(Box::new(operand)), Type::Bool, span)
            }
            UnaryOp::Minus => {
                let operand = self.present_expr(&of.operand, None);
                if operand.ty.is_unknown() {
                    return self.unknown(span);
                }
                if !operand.ty.is_numeric() || operand.ty == Type::Uint {
                    let message = format!("`-` wants a number, this is `{}`", operand.ty);
                    self.mistake(&codes::TYPE_MISMATCH, operand.span, message, "");
                    return self.unknown(span);
                }
                let (ty, range) = (operand.ty.clone(), operand.range.negated());
                self.with_range(ExprKind::Negate(Box::new(operand)), ty, range, span)
            }
        }
    }

    pub(super) fn binary(&mut self, of: &ast::Binary, span: Span, wanted: Option<&Type>) -> Expr {
        match of.op {
            BinaryOp::And | BinaryOp::Or => self.logical(of, span),
            BinaryOp::Eq | BinaryOp::Ne => self.equality(of, span),
            BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => self.comparison(of, span),
            BinaryOp::In => self.membership(of, span),
            BinaryOp::Matches => self.matches(of, span),
            BinaryOp::Coalesce => self.coalesce(of, span, wanted),
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem => {
                self.arithmetic(of, span, wanted)
            }
        }
    }

    fn logical(&mut self, of: &ast::Binary, span: Span) -> Expr {
        let left = self.condition(&of.left);
        let mark = self.frame.facts.mark();
        self.assume(&left, of.op == BinaryOp::And);
        let right = self.condition(&of.right);
        self.frame.facts.forget(mark);
        if left.ty.is_unknown() || right.ty.is_unknown() {
            // What the readable side says still narrows what follows.
            let known = if left.ty.is_unknown() { right } else { left };
            let mut expr = self.unknown(span);
            if of.op == BinaryOp::And && !known.ty.is_unknown() {
                expr.kind = ExprKind::And(Box::new(known.clone()), Box::new(known));
            }
            return expr;
        }
        if of.op == BinaryOp::And
            && let Some((false, span)) = self.outcome(&right)
            && self.outcome(&left).is_none()
        {
            self.report(
                Diagnostic::new(&codes::CONTRADICTION, span, "this never holds here")
                    .with_place(left.span, "what stands before excludes it")
                    .with_help("the condition is always false"),
            );
        }
        let (left, right) = (Box::new(left), Box::new(right));
        let kind = match of.op {
            BinaryOp::And => ExprKind::And(left, right),
            _ => ExprKind::Or(left, right),
        };
        self.make(kind, Type::Bool, span)
    }

    /// Both operands, a literal of one side helped by the type of the other.
    fn operands(&mut self, of: &ast::Binary) -> (Expr, Expr) {
        let left = self.expr(&of.left, None);
        let right = self.expr(&of.right, Some(&left.ty));
        (left, right)
    }

    fn equality(&mut self, of: &ast::Binary, span: Span) -> Expr {
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
            let has = self.has_of(asked, span, of.op.symbol());
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
                let fixed = format!("\"{}\"", self.excerpt(other.span));
                self.report(
                    Diagnostic::new(&codes::TYPE_MISMATCH, other.span, format!("{what} is a string"))
                        .with_help(format!("`{} {fixed}`", of.op.symbol()))
                        .with_fix(format!("write `{fixed}`"), other.span, fixed),
                );
                return self.unknown(span);
            }
        }
        let Some((left, right)) = self.comparable(left, right, "compare") else {
            return self.unknown(span);
        };
        let expr = self.make(ExprKind::Equal(Box::new(left), Box::new(right)), Type::Bool, span);
        negate(self, expr)
    }

    /// `a label`, `an annotation`, when the expression is one.
    fn label_word(&self, expr: &Expr) -> Option<&'static str> {
        let ExprKind::Index(map, _) = strip(&expr.kind) else { return None };
        let ExprKind::Field(_, row) = strip(&map.kind) else { return None };
        match row.def().name {
            "labels" => Some("a label"),
            "annotations" => Some("an annotation"),
            _ => None,
        }
    }

    /// `has(x)`, however it was written.
    pub(super) fn has_of(&mut self, asked: Expr, span: Span, how: &str) -> Expr {
        if asked.ty.is_unknown() {
            return self.unknown(span);
        }
        if matches!(asked.ty, Type::CelOptional(_)) {
            let text = self.excerpt(asked.span);
            let help = format!("write `{text}.hasValue()`, or the field without its `?`");
            self.mistake(&codes::TYPE_MISMATCH, asked.span, "CEL's optional is always there", help);
            return self.unknown(span);
        }
        let named = matches!(asked.kind, ExprKind::Resource(..)) && how == "has";
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
    fn comparable(&mut self, left: Expr, right: Expr, verb: &str) -> Option<(Expr, Expr)> {
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
                let help = unit_help(ty, self.constant(other).as_ref());
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
            help = format!("both sides have one type: `{default}` is a value of `{a}`");
        }
        if !help.is_empty() {
            diagnostic = diagnostic.with_help(help);
        }
        self.report(diagnostic);
    }

    fn mixed_help(&self, left: &Expr, right: &Expr, verb: &str) -> String {
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
                let text = self.excerpt(if *a == Type::String { left.span } else { right.span });
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
            (Type::String, Type::Time) | (Type::Time, Type::String) => {
                "convert the text: `time(…)`".to_owned()
            }
            _ => String::new(),
        }
    }

    fn comparison(&mut self, of: &ast::Binary, span: Span) -> Expr {
        if let ast::ExprKind::Binary(inner) = &of.left.kind
            && matches!(inner.op, BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge)
        {
            let (a, b) = (self.excerpt(of.left.span), self.excerpt(inner.right.span));
            let help = format!("write `{a} && {b} {} {}`", of.op.symbol(), self.excerpt(of.right.span));
            self.mistake(&codes::CHAINED_COMPARISON, span, "a truth is compared with a number", help);
            return self.unknown(span);
        }
        let (left, right) = self.operands(of);
        if left.ty.is_unknown() || right.ty.is_unknown() {
            return self.unknown(span);
        }
        let symbol = of.op.symbol();
        let (left_text, right_text) = (self.excerpt(left.span), self.excerpt(right.span));
        let left = self.dynamic(left);
        let right = self.dynamic(right);
        let left = self.value_in(left, Some(&|filled| format!("{filled} {symbol} {right_text}")));
        let right = self.value_in(right, Some(&|filled| format!("{left_text} {symbol} {filled}")));
        if left.ty.is_unknown() || right.ty.is_unknown() {
            return self.unknown(span);
        }
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
        self.share_above_two(&left, &right, of.op);
        self.whole_division(&left, &right);
        self.make(ExprKind::Compare(op, Box::new(left), Box::new(right)), Type::Bool, span)
    }

    /// `share(a, b) > 80`: a share lies in 0 to 1.
    fn share_above_two(&mut self, left: &Expr, right: &Expr, _op: BinaryOp) {
        for (share, other) in [(left, right), (right, left)] {
            if share.ty == Type::Float
                && !matches!(share.kind, ExprKind::Constant(_))
                && share.range.within(0.0, 1.0)
                && let Some((low, high)) = other.range.ends()
                && low == high
                && low > 2.0
            {
                let text = self.excerpt(other.span).to_owned();
                self.mistake(
                    &codes::SHARE_ABOVE_TWO,
                    other.span,
                    "a share lies in 0 to 1",
                    format!("did you mean `{text}%`?"),
                );
            }
        }
    }

    /// `a / b > 50%` of ints: the quotient has been cut.
    fn whole_division(&mut self, left: &Expr, right: &Expr) {
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
    fn dynamic(&mut self, expr: Expr) -> Expr {
        if *expr.ty.present() == Type::Dyn {
            let text = self.excerpt(expr.span);
            let help = format!("convert it: `int({text}) ?? 0`, `string({text}) ?? \"\"`");
            self.mistake(&codes::DYNAMIC_VALUE, expr.span, "this has no known type", help);
            return self.unknown(expr.span);
        }
        expr
    }

    fn membership(&mut self, of: &ast::Binary, span: Span) -> Expr {
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

    fn matches(&mut self, of: &ast::Binary, span: Span) -> Expr {
        let object = self.expr(&of.left, None);
        let pattern = self.expr(&of.right, None);
        let name = ast::Name { text: "matches".into(), span: of.op_span };
        self.call_method(object, &name, vec![pattern], span)
    }

    fn coalesce(&mut self, of: &ast::Binary, span: Span, wanted: Option<&Type>) -> Expr {
        let left = self.expr(&of.left, wanted);
        let wanted_right =
            if left.ty.is_unknown() { wanted.cloned() } else { Some(left.ty.present().clone()) };
        let right = self.expr(&of.right, wanted_right.as_ref());
        if let ast::ExprKind::Binary(inner) = &of.right.kind
            && matches!(inner.op, BinaryOp::Add | BinaryOp::Sub)
            && matches!(inner.left.kind, ast::ExprKind::Literal(_))
        {
            let (a, b) = (self.excerpt(of.left.span), self.excerpt(of.right.span));
            let first = self.excerpt(inner.left.span);
            let rest = self.excerpt(Span { start: inner.op_span.start, ..of.right.span });
            self.mistake(
                &codes::COALESCE_ARITHMETIC,
                of.right.span,
                format!("`??` takes all of `{b}` as the default"),
                format!("write `({a} ?? {first}) {rest}`, or `{a} ?? ({b})`"),
            );
        }
        if left.ty.is_unknown() || right.ty.is_unknown() {
            return self.unknown(span);
        }
        if matches!(left.ty, Type::CelOptional(_)) {
            let (a, b) = (self.excerpt(left.span), self.excerpt(right.span));
            let help = format!("write `{a}.orValue({b})`, or the field without its `?`");
            self.mistake(&codes::TYPE_MISMATCH, left.span, "`??` does not look into CEL's optional", help);
            return self.unknown(span);
        }
        if !left.ty.is_optional() && left.ty != Type::Dyn {
            let text = self.excerpt(left.span);
            let why = if matches!(left.kind, ExprKind::Present(_)) {
                format!("`{text}` is there: it was looked at before")
            } else {
                format!("`{text}` is never absent")
            };
            let cut = Span { start: left.span.end, ..right.span };
            self.report(
                Diagnostic::new(&codes::NEVER_ABSENT, of.op_span, why)
                    .with_help("remove the default")
                    .with_fix("remove the default", cut, ""),
            );
            // It is the left side, whatever the right one is.
            return Expr { span, ..left };
        }
        if *left.ty.present() == Type::Dyn {
            return self.make(ExprKind::Coalesce(Box::new(left), Box::new(right)), Type::Dyn, span);
        }
        let optional = right.ty.is_optional();
        let Some((left, right, ty)) = self.same_type(left, right) else {
            return self.unknown(span);
        };
        let ty = if optional { ty.optional() } else { ty.present().clone() };
        let range = left.range.union(right.range);
        self.with_range(ExprKind::Coalesce(Box::new(left), Box::new(right)), ty, range, span)
    }

    fn arithmetic(&mut self, of: &ast::Binary, span: Span, wanted: Option<&Type>) -> Expr {
        let left = self.expr(&of.left, wanted.filter(|_| matches!(of.op, BinaryOp::Add)));
        if left.ty.is_unknown() && of.op == BinaryOp::Div && self.slash_of_a_key(of) {
            return self.unknown(span);
        }
        let right = self.expr(&of.right, Some(left.ty.present()).filter(|_| of.op == BinaryOp::Add));
        if left.ty.is_unknown() || right.ty.is_unknown() {
            return self.unknown(span);
        }
        let symbol = of.op.symbol();
        let (left_text, right_text) = (self.excerpt(left.span), self.excerpt(right.span));
        let left = self.dynamic(left);
        let right = self.dynamic(right);
        let left = self.value_in(left, Some(&|filled| format!("{filled} {symbol} {right_text}")));
        let right = self.value_in(right, Some(&|filled| format!("{left_text} {symbol} {filled}")));
        if left.ty.is_unknown() || right.ty.is_unknown() {
            return self.unknown(span);
        }
        let op = match of.op {
            BinaryOp::Add => ArithmeticOp::Add,
            BinaryOp::Sub => ArithmeticOp::Subtract,
            BinaryOp::Mul => ArithmeticOp::Multiply,
            BinaryOp::Div => ArithmeticOp::Divide,
            _ => ArithmeticOp::Remainder,
        };
        self.combine(op, left, right, span)
    }

    /// `node.labels.a.b/zone`: the key has been reported, with the slash.
    fn slash_of_a_key(&self, of: &ast::Binary) -> bool {
        self.diagnostics.iter().any(|d| {
            d.code == &codes::LABEL_KEY_BRACKETS
                && d.span.start <= of.left.span.start.max(d.span.start)
                && of.op_span.start < d.span.end
                && of.op_span.start >= d.span.start
        })
    }

    /// Arithmetic by the table at [`ArithmeticOp`].
    pub(super) fn combine(&mut self, op: ArithmeticOp, left: Expr, right: Expr, span: Span) -> Expr {
        use ArithmeticOp::{Add, Divide, Multiply, Remainder, Subtract};
        let (a, b) = (left.ty.clone(), right.ty.clone());
        let float = |ty: &Type| matches!(ty, Type::Float);
        let number = |ty: &Type| matches!(ty, Type::Int | Type::Float);
        if a == Type::Never || b == Type::Never {
            return self.make(ExprKind::Constant(Value::Absent), Type::Never, span);
        }
        match op {
            Add | Subtract => {
                let result = match (&a, &b) {
                    (Type::Time, Type::Time) if op == Subtract => Some(Type::Duration),
                    (Type::Time, Type::Duration) => Some(Type::Time),
                    (Type::Duration, Type::Time) if op == Add => Some(Type::Time),
                    (Type::Resources, Type::Resources) => Some(Type::Resources),
                    (Type::String, Type::String) | (Type::Blob, Type::Blob) if op == Add => Some(a.clone()),
                    _ => None,
                };
                if let Some(ty) = result {
                    let range = match (op, &ty) {
                        (_, Type::Duration | Type::Time) => super::expr::type_range(&ty),
                        (Add, _) => left.range.plus(right.range),
                        _ => left.range.minus(right.range),
                    };
                    return self.arithmetic_node(op, left, right, ty, range, span);
                }
                let verb = if op == Add { "add" } else { "subtract" };
                if matches!(a, Type::List(_) | Type::Set(_)) && op == Add || a.is_numeric() || b.is_numeric()
                {
                    let Some((left, right)) = self.comparable(left, right, verb) else {
                        return self.unknown(span);
                    };
                    let ty = left.ty.clone();
                    let range =
                        if op == Add { left.range.plus(right.range) } else { left.range.minus(right.range) };
                    return self.arithmetic_node(op, left, right, ty, range, span);
                }
                self.two_types(&left, &right, verb);
                self.unknown(span)
            }
            Multiply => {
                if a == Type::Uint && b == Type::Uint {
                    return self.arithmetic_node(op, left, right, Type::Uint, Range::None, span);
                }
                let (left, right, ty) = match (&a, &b) {
                    // An int counts things: with a count it is a count, beside another unit a number.
                    (Type::Count, Type::Float) => (self.widen(left), right, Type::Float),
                    (Type::Float, Type::Count) => (left, self.widen(right), Type::Float),
                    (Type::Int, Type::Int) => (left, right, Type::Int),
                    (Type::Float, Type::Int) => (left, self.widen(right), Type::Float),
                    (Type::Int, Type::Float) => (self.widen(left), right, Type::Float),
                    (Type::Float, Type::Float) => (left, right, Type::Float),
                    (unit, other) if unit.is_unit() && (number(other) || *other == Type::Count) => {
                        let right = if b == Type::Count { Expr { ty: Type::Int, ..right } } else { right };
                        (left, right, a.clone())
                    }
                    (other, unit) if unit.is_unit() && (number(other) || *other == Type::Count) => {
                        let left = if a == Type::Count { Expr { ty: Type::Int, ..left } } else { left };
                        (left, right, b.clone())
                    }
                    _ => {
                        self.two_types(&left, &right, "multiply");
                        return self.unknown(span);
                    }
                };
                let mut range = left.range.times(right.range);
                if ty != Type::Float {
                    range = range.cut_to_whole();
                }
                self.arithmetic_node(op, left, right, ty, range, span)
            }
            Divide => {
                let (left, right, ty) = match (&a, &b) {
                    (Type::Uint, Type::Uint) => (left, right, Type::Uint),
                    (Type::Count | Type::Int, Type::Count) => {
                        (Expr { ty: Type::Count, ..left }, right, Type::Float)
                    }
                    (Type::Count, Type::Float) => (self.widen(left), right, Type::Float),
                    (unit, same) if unit.is_unit() && unit == same => (left, right, Type::Float),
                    (unit, other) if unit.is_unit() && number(other) => (left, right, a.clone()),
                    (Type::Int, Type::Int) => (left, right, Type::Int),
                    (x, y) if number(x) && number(y) => {
                        (self.as_float(left), self.as_float(right), Type::Float)
                    }
                    _ => {
                        self.two_types(&left, &right, "divide");
                        return self.unknown(span);
                    }
                };
                self.zero_divisor(&right, span);
                let fraction = float(&ty) && (left.ty.is_unit());
                let mut range = if fraction {
                    left.range.widen().divided(right.range)
                } else {
                    left.range.divided(right.range)
                };
                if ty != Type::Float {
                    range = range.cut_to_whole();
                }
                let ty = if right.range.excludes_zero() { ty } else { ty.optional() };
                self.arithmetic_node(op, left, right, ty, range, span)
            }
            Remainder => {
                let ty = match (&a, &b) {
                    (Type::Int | Type::Count, Type::Int | Type::Count) => Type::Int,
                    (Type::Uint, Type::Uint) => Type::Uint,
                    _ => {
                        self.two_types(&left, &right, "take the remainder of");
                        return self.unknown(span);
                    }
                };
                self.zero_divisor(&right, span);
                let range = left.range.remainder(right.range);
                let ty = if right.range.excludes_zero() { ty } else { ty.optional() };
                self.arithmetic_node(op, left, right, ty, range, span)
            }
        }
    }

    fn as_float(&self, expr: Expr) -> Expr {
        if expr.ty == Type::Float { expr } else { self.widen(expr) }
    }

    fn zero_divisor(&mut self, right: &Expr, span: Span) {
        let zero = right.range.ends().is_some_and(|(low, high)| low == 0.0 && high == 0.0);
        if zero {
            self.mistake(&codes::OVERFLOW, span, "a division by 0 has no value", "the divisor is always 0");
        }
    }

    fn arithmetic_node(
        &mut self,
        op: ArithmeticOp,
        left: Expr,
        right: Expr,
        ty: Type,
        range: Range,
        span: Span,
    ) -> Expr {
        let range = if *ty.present() == Type::Uint { Range::of(&Type::Uint) } else { range };
        let overflows = match (self.constant(&left), self.constant(&right)) {
            (Some(Value::Int(a)), Some(Value::Int(b))) if *ty.present() != Type::Float => match op {
                ArithmeticOp::Add => a.checked_add(b).is_none(),
                ArithmeticOp::Subtract => a.checked_sub(b).is_none(),
                ArithmeticOp::Multiply => a.checked_mul(b).is_none(),
                _ => a == i64::MIN && b == -1,
            },
            (Some(Value::Uint(a)), Some(Value::Uint(b))) => match op {
                ArithmeticOp::Add => a.checked_add(b).is_none(),
                ArithmeticOp::Subtract => a.checked_sub(b).is_none(),
                ArithmeticOp::Multiply => a.checked_mul(b).is_none(),
                _ => false,
            },
            (Some(Value::Float(a)), Some(Value::Float(b))) => match op {
                ArithmeticOp::Add => !(a + b).is_finite(),
                ArithmeticOp::Subtract => !(a - b).is_finite(),
                ArithmeticOp::Multiply => !(a * b).is_finite(),
                ArithmeticOp::Divide => b != 0.0 && !(a / b).is_finite(),
                ArithmeticOp::Remainder => false,
            },
            _ => false,
        };
        if overflows {
            let message = format!("the result leaves the range of `{}`", ty.present());
            self.mistake(&codes::OVERFLOW, span, message, "between constants this is a mistake");
        }
        let expr =
            self.with_range(ExprKind::Arithmetic(op, Box::new(left), Box::new(right)), ty, range, span);
        // A constant division has a value or none, whatever the rules for ranges say.
        self.narrowed(expr)
    }
}
