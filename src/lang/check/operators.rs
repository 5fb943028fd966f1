//! Operators: conditions, comparisons, arithmetic, and the default.

use super::Checker;
use crate::syntax::ast::{self, BinaryOp, UnaryOp};
use crate::typed::{ArithmeticOp, Expr, ExprKind};
use crate::types::Type;
use crate::types::range::Range;
use crate::types::value::Value;
use bayplan_diag::{Diagnostic, Span, codes};

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

    pub(super) fn logical(&mut self, of: &ast::Binary, span: Span) -> Expr {
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
                    .with_place(left.span, "this excludes it")
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
    pub(super) fn operands(&mut self, of: &ast::Binary) -> (Expr, Expr) {
        let left = self.expr(&of.left, None);
        let right = self.expr(&of.right, Some(&left.ty));
        (left, right)
    }

    /// Both operands of an operator that needs two values of known types. `None` after a report: an
    /// operand may be absent, or its type is not known.
    pub(super) fn present_operands(&mut self, op: BinaryOp, left: Expr, right: Expr) -> Option<(Expr, Expr)> {
        let symbol = op.symbol();
        let (left_text, right_text) = (self.excerpt(left.span), self.excerpt(right.span));
        let left = self.dynamic(left);
        let right = self.dynamic(right);
        let left = self.value_in(left, Some(&|filled| format!("{filled} {symbol} {right_text}")));
        let right = self.value_in(right, Some(&|filled| format!("{left_text} {symbol} {filled}")));
        (!left.ty.is_unknown() && !right.ty.is_unknown()).then_some((left, right))
    }

    pub(super) fn coalesce(&mut self, of: &ast::Binary, span: Span, wanted: Option<&Type>) -> Expr {
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
                    .with_fix("remove the default", cut, "")
                    .keeping_decisions(),
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
        let expr = self.with_range(ExprKind::Coalesce(Box::new(left), Box::new(right)), ty, range, span);
        self.narrowed(expr)
    }

    pub(super) fn arithmetic(&mut self, of: &ast::Binary, span: Span, wanted: Option<&Type>) -> Expr {
        let left = self.expr(&of.left, wanted.filter(|_| matches!(of.op, BinaryOp::Add)));
        if left.ty.is_unknown() && of.op == BinaryOp::Div && self.slash_of_a_key(of) {
            return self.unknown(span);
        }
        let right = self.expr(&of.right, Some(left.ty.present()).filter(|_| of.op == BinaryOp::Add));
        if left.ty.is_unknown() || right.ty.is_unknown() {
            return self.unknown(span);
        }
        let Some((left, right)) = self.present_operands(of.op, left, right) else {
            return self.unknown(span);
        };
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
    pub(super) fn slash_of_a_key(&self, of: &ast::Binary) -> bool {
        self.diagnostics.iter().any(|d| {
            d.code == &codes::LABEL_KEY_BRACKETS
                && d.span.start <= of.left.span.start.max(d.span.start)
                && of.op_span.start < d.span.end
                && of.op_span.start >= d.span.start
        })
    }

    /// Arithmetic by the table at [`ArithmeticOp`].
    pub(super) fn combine(&mut self, op: ArithmeticOp, left: Expr, right: Expr, span: Span) -> Expr {
        if left.ty == Type::Never || right.ty == Type::Never {
            return self.make(ExprKind::Constant(Value::Absent), Type::Never, span);
        }
        match op {
            ArithmeticOp::Add | ArithmeticOp::Subtract => self.sum(op, left, right, span),
            ArithmeticOp::Multiply => self.product(left, right, span),
            ArithmeticOp::Divide => self.quotient(left, right, span),
            ArithmeticOp::Remainder => self.remainder(left, right, span),
        }
    }

    /// `a + b` and `a - b`.
    fn sum(&mut self, op: ArithmeticOp, left: Expr, right: Expr, span: Span) -> Expr {
        let add = op == ArithmeticOp::Add;
        let result = match (&left.ty, &right.ty) {
            (Type::Time, Type::Time) if !add => Some(Type::Duration),
            (Type::Time, Type::Duration) => Some(Type::Time),
            (Type::Duration, Type::Time) if add => Some(Type::Time),
            (Type::Resources, Type::Resources) => Some(Type::Resources),
            (Type::String, Type::String) | (Type::Blob, Type::Blob) if add => Some(left.ty.clone()),
            _ => None,
        };
        let range_of = |left: &Expr, right: &Expr| {
            if add { left.range.plus(right.range) } else { left.range.minus(right.range) }
        };
        if let Some(ty) = result {
            let range = match ty {
                Type::Duration | Type::Time => super::expr::type_range(&ty),
                _ => range_of(&left, &right),
            };
            return self.arithmetic_node(op, left, right, ty, range, span);
        }
        let verb = if add { "add" } else { "subtract" };
        let lists = add && matches!(left.ty, Type::List(_) | Type::Set(_));
        if !lists && !left.ty.is_numeric() && !right.ty.is_numeric() {
            self.two_types(&left, &right, verb);
            return self.unknown(span);
        }
        let Some((left, right)) = self.comparable(left, right, verb) else {
            return self.unknown(span);
        };
        let (ty, range) = (left.ty.clone(), range_of(&left, &right));
        self.arithmetic_node(op, left, right, ty, range, span)
    }

    /// `a * b`. An int counts things: with a count it is a count, beside another unit a number.
    fn product(&mut self, left: Expr, right: Expr, span: Span) -> Expr {
        let op = ArithmeticOp::Multiply;
        let (a, b) = (left.ty.clone(), right.ty.clone());
        if a == Type::Uint && b == Type::Uint {
            return self.arithmetic_node(op, left, right, Type::Uint, Range::None, span);
        }
        let factor = |ty: &Type| is_int_or_float(ty) || *ty == Type::Count;
        let (left, right, ty) = match (&a, &b) {
            (Type::Count, Type::Float) => (self.widen(left), right, Type::Float),
            (Type::Float, Type::Count) => (left, self.widen(right), Type::Float),
            (Type::Int, Type::Int) => (left, right, Type::Int),
            (Type::Float, Type::Int) => (left, self.widen(right), Type::Float),
            (Type::Int, Type::Float) => (self.widen(left), right, Type::Float),
            (Type::Float, Type::Float) => (left, right, Type::Float),
            (unit, other) if unit.is_unit() && factor(other) => {
                let right = if b == Type::Count { Expr { ty: Type::Int, ..right } } else { right };
                (left, right, a)
            }
            (other, unit) if unit.is_unit() && factor(other) => {
                let left = if a == Type::Count { Expr { ty: Type::Int, ..left } } else { left };
                (left, right, b)
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

    /// `a / b`; absent where the divisor may be 0.
    fn quotient(&mut self, left: Expr, right: Expr, span: Span) -> Expr {
        let (left, right, ty) = match (&left.ty, &right.ty) {
            (Type::Uint, Type::Uint) => (left, right, Type::Uint),
            (Type::Count | Type::Int, Type::Count) => (Expr { ty: Type::Count, ..left }, right, Type::Float),
            (Type::Count, Type::Float) => (self.widen(left), right, Type::Float),
            (unit, same) if unit.is_unit() && unit == same => (left, right, Type::Float),
            (unit, other) if unit.is_unit() && is_int_or_float(other) => {
                let ty = unit.clone();
                (left, right, ty)
            }
            (Type::Int, Type::Int) => (left, right, Type::Int),
            (x, y) if is_int_or_float(x) && is_int_or_float(y) => {
                (self.as_float(left), self.as_float(right), Type::Float)
            }
            _ => {
                self.two_types(&left, &right, "divide");
                return self.unknown(span);
            }
        };
        self.zero_divisor(&right, span);
        let mut range = if ty == Type::Float && left.ty.is_unit() {
            left.range.widen().divided(right.range)
        } else {
            left.range.divided(right.range)
        };
        if ty != Type::Float {
            range = range.cut_to_whole();
        }
        let ty = if right.range.excludes_zero() { ty } else { ty.optional() };
        self.arithmetic_node(ArithmeticOp::Divide, left, right, ty, range, span)
    }

    /// `a % b`; absent where the divisor may be 0.
    fn remainder(&mut self, left: Expr, right: Expr, span: Span) -> Expr {
        let ty = match (&left.ty, &right.ty) {
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
        self.arithmetic_node(ArithmeticOp::Remainder, left, right, ty, range, span)
    }

    pub(super) fn as_float(&self, expr: Expr) -> Expr {
        if expr.ty == Type::Float { expr } else { self.widen(expr) }
    }

    pub(super) fn zero_divisor(&mut self, right: &Expr, span: Span) {
        let zero = right.range.ends().is_some_and(|(low, high)| low == 0.0 && high == 0.0);
        if zero {
            self.mistake(&codes::OVERFLOW, span, "a division by 0 has no value", "the divisor is always 0");
        }
    }

    pub(super) fn arithmetic_node(
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

fn is_int_or_float(ty: &Type) -> bool {
    matches!(ty, Type::Int | Type::Float)
}
