//! Operators of CEL. Units and resources of policies keep the operators of the policy language.

use super::literals::{folded, without_brackets};
use super::{has_float, is_static};
use crate::check::Checker;
use crate::check::comparisons::is_day;
use crate::language::environments::Row;
use crate::language::functions::Presence;
use crate::language::macros::{self, MacroDef};
use crate::syntax::ast::{self, BinaryOp, UnaryOp};
use crate::typed::{ArithmeticOp, CompareOp, Expr, ExprKind, Operation};
use crate::types::range::Range;
use crate::types::value::{FaultKind, Value};
use crate::types::{CelType, Ty, Type};
use bayplan_diag::{Span, codes};

const A: Ty = Ty::Var('a');
const LIST_OF_A: Ty = Ty::List(&A);
const MAP_OF_A: Ty = Ty::Map(&A, &Ty::Var('b'));
const SPAN: Ty = Ty::Cel(CelType::Duration);
const AT: Ty = Ty::Cel(CelType::Timestamp);

/// Parameters and result of an operator.
pub(super) type Overload = (&'static [Ty], Ty);

const ADD: &[Overload] = &[
    (&[Ty::Blob, Ty::Blob], Ty::Blob),
    (&[Ty::Float, Ty::Float], Ty::Float),
    (&[SPAN, SPAN], SPAN),
    (&[SPAN, AT], AT),
    (&[AT, SPAN], AT),
    (&[Ty::Int, Ty::Int], Ty::Int),
    (&[LIST_OF_A, LIST_OF_A], LIST_OF_A),
    (&[Ty::String, Ty::String], Ty::String),
    (&[Ty::Uint, Ty::Uint], Ty::Uint),
];
const SUBTRACT: &[Overload] = &[
    (&[Ty::Float, Ty::Float], Ty::Float),
    (&[SPAN, SPAN], SPAN),
    (&[Ty::Int, Ty::Int], Ty::Int),
    (&[AT, SPAN], AT),
    (&[AT, AT], SPAN),
    (&[Ty::Uint, Ty::Uint], Ty::Uint),
];
const NUMBERS: &[Overload] = &[
    (&[Ty::Float, Ty::Float], Ty::Float),
    (&[Ty::Int, Ty::Int], Ty::Int),
    (&[Ty::Uint, Ty::Uint], Ty::Uint),
];
const WHOLE: &[Overload] = &[(&[Ty::Int, Ty::Int], Ty::Int), (&[Ty::Uint, Ty::Uint], Ty::Uint)];
const ORDER: &[Overload] = &[
    (&[Ty::Bool, Ty::Bool], Ty::Bool),
    (&[Ty::Int, Ty::Int], Ty::Bool),
    (&[Ty::Int, Ty::Float], Ty::Bool),
    (&[Ty::Int, Ty::Uint], Ty::Bool),
    (&[Ty::Uint, Ty::Uint], Ty::Bool),
    (&[Ty::Uint, Ty::Float], Ty::Bool),
    (&[Ty::Uint, Ty::Int], Ty::Bool),
    (&[Ty::Float, Ty::Float], Ty::Bool),
    (&[Ty::Float, Ty::Int], Ty::Bool),
    (&[Ty::Float, Ty::Uint], Ty::Bool),
    (&[Ty::String, Ty::String], Ty::Bool),
    (&[Ty::Blob, Ty::Blob], Ty::Bool),
    (&[AT, AT], Ty::Bool),
    (&[SPAN, SPAN], Ty::Bool),
];
const EQUALITY: &[Overload] = &[(&[A, A], Ty::Bool)];
const MEMBERSHIP: &[Overload] = &[(&[A, LIST_OF_A], Ty::Bool), (&[A, MAP_OF_A], Ty::Bool)];
const NEGATION: &[Overload] = &[(&[Ty::Float], Ty::Float), (&[Ty::Int], Ty::Int)];
const CHOICE: &[Overload] = &[(&[A, A], A)];

fn overloads(op: BinaryOp) -> &'static [Overload] {
    match op {
        BinaryOp::Add => ADD,
        BinaryOp::Sub => SUBTRACT,
        BinaryOp::Mul | BinaryOp::Div => NUMBERS,
        BinaryOp::Rem => WHOLE,
        BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => ORDER,
        BinaryOp::In => MEMBERSHIP,
        _ => EQUALITY,
    }
}

/// Whether the operators of the policy language are meant.
fn has_unit(ty: &Type) -> bool {
    ty.is_unit() || *ty == Type::Resources
}

fn compare_op(op: BinaryOp) -> CompareOp {
    match op {
        BinaryOp::Lt => CompareOp::Less,
        BinaryOp::Le => CompareOp::LessEqual,
        BinaryOp::Gt => CompareOp::Greater,
        _ => CompareOp::GreaterEqual,
    }
}

fn arithmetic_op(op: BinaryOp) -> ArithmeticOp {
    match op {
        BinaryOp::Add => ArithmeticOp::Add,
        BinaryOp::Sub => ArithmeticOp::Subtract,
        BinaryOp::Mul => ArithmeticOp::Multiply,
        BinaryOp::Div => ArithmeticOp::Divide,
        _ => ArithmeticOp::Remainder,
    }
}

/// What an optional was made of, where it is written as one.
fn held(expr: &Expr) -> Option<&Expr> {
    match &expr.kind {
        ExprKind::Call(function, args, _)
            if matches!(function.def().presence, Some(Presence::Wraps | Presence::Holds)) =>
        {
            args.first()
        }
        _ => None,
    }
}

/// The least and the greatest result of whole numbers, beyond 64 bits too.
pub(crate) fn exact_range(op: ArithmeticOp, left: Range, right: Range) -> Option<(i128, i128)> {
    let (Range::Whole { lo: a, hi: b, .. }, Range::Whole { lo: c, hi: d, .. }) = (left, right) else {
        return None;
    };
    let ends = match op {
        ArithmeticOp::Add => [a + c, b + d, a + c, b + d],
        ArithmeticOp::Subtract => [a - d, b - c, a - d, b - c],
        ArithmeticOp::Multiply => {
            [a.checked_mul(c)?, a.checked_mul(d)?, b.checked_mul(c)?, b.checked_mul(d)?]
        }
        // By what is above 0, neither is on the other side of 0 or further from it than the dividend.
        ArithmeticOp::Divide | ArithmeticOp::Remainder if c > 0 => [a.min(0), b.max(0), 0, 0],
        // No quotient or remainder is further from 0 than the dividend, but by -1.
        ArithmeticOp::Divide | ArithmeticOp::Remainder => {
            let most = a.unsigned_abs().max(b.unsigned_abs()) as i128;
            [if a >= 0 && c >= 0 { 0 } else { -most }, most, 0, 0]
        }
    };
    Some((ends.into_iter().min()?, ends.into_iter().max()?))
}

/// The range of an operation on finite floats, where every result is finite.
pub(crate) fn finite_range(op: ArithmeticOp, left: Range, right: Range) -> Option<Range> {
    let (finite, range) = match op {
        ArithmeticOp::Add => (left.stays_finite(right, |a, b| a + b, false), left.plus(right)),
        ArithmeticOp::Subtract => (left.stays_finite(right, |a, b| a - b, false), left.minus(right)),
        ArithmeticOp::Multiply => (left.stays_finite(right, |a, b| a * b, false), left.times(right)),
        ArithmeticOp::Divide => (left.stays_finite(right, |a, b| a / b, true), left.divided(right)),
        ArithmeticOp::Remainder => return None,
    };
    finite.then_some(range)
}

impl Checker<'_> {
    pub(super) fn cel_unary(&mut self, of: &ast::Unary, span: Span) -> Expr {
        if of.op == UnaryOp::Not {
            let operand = self.cel_condition(&of.operand);
            if operand.ty.is_unknown() {
                return self.unknown(span);
            }
            return self.make(ExprKind::Not(Box::new(operand)), Type::Bool, span);
        }
        let operand = self.expr(&of.operand, None);
        let ty = self.ty(&operand);
        if ty.is_unknown() {
            return self.unknown(span);
        }
        if ty.is_unit() && ty != Type::Count {
            let range = operand.range.negated();
            return self.with_range(ExprKind::Negate(Box::new(operand)), ty, range, span);
        }
        let known = self.operator(NEGATION, std::slice::from_ref(&operand.ty));
        let Some(result) = known else {
            let message = format!("`-` wants a number, this is `{}`", self.shown(&ty));
            return self.cel_mistake(&codes::TYPE_MISMATCH, operand.span, message, "");
        };
        let range = operand.range.negated();
        match (ty, operand.range) {
            _ if self.cel.doubts.any() => self.dynamic_node(Operation::Negate, vec![operand], result, span),
            // Only the smallest int has no opposite.
            (Type::Int, Range::Whole { lo, .. }) if lo > i128::from(i64::MIN) => {
                self.with_range(ExprKind::Negate(Box::new(operand)), Type::Int, range, span)
            }
            (Type::Float, _) => {
                let range = if self.is_finite(&operand) { range } else { Range::None };
                self.with_range(ExprKind::Negate(Box::new(operand)), Type::Float, range, span)
            }
            _ => self.dynamic_node(Operation::Negate, vec![operand], result, span),
        }
    }

    /// The result of an operator for operands of these types.
    pub(super) fn operator(&mut self, overloads: &'static [Overload], given: &[Type]) -> Option<Type> {
        let rows = overloads.iter().map(|(params, result)| (*params, false, result));
        self.cel.inference.overload(rows, given).map(|(_, result)| result)
    }

    pub(super) fn cel_binary(&mut self, of: &ast::Binary, span: Span) -> Expr {
        if matches!(of.op, BinaryOp::And | BinaryOp::Or) {
            return self.cel_logical(of, span);
        }
        let left = self.expr(&of.left, None);
        let right = self.expr(&of.right, None);
        let (a, b) = (self.ty(&left), self.ty(&right));
        if a.is_unknown() || b.is_unknown() {
            return self.unknown(span);
        }
        if (has_unit(&a) || has_unit(&b)) && is_static(&a) && is_static(&b) {
            return self.with_units(of, left, right, span);
        }
        let known = self.operator(overloads(of.op), &[left.ty.clone(), right.ty.clone()]);
        let Some(result) = known else {
            let symbol = of.op.symbol();
            let message = format!("`{symbol}` does not take `{}` and `{}`", self.shown(&a), self.shown(&b));
            let meant = self.help_with_instant_or_duration(&left, &right);
            let help = meant.unwrap_or_else(|| self.cel_help_of_operator(of.op, &a, &b));
            return self.cel_mistake(&codes::TYPE_MISMATCH, span, message, help);
        };
        if matches!(of.op, BinaryOp::Eq | BinaryOp::Ne)
            && let Some(equal) = self.equal_held(&left, &right, span)
        {
            return match of.op {
                BinaryOp::Eq => equal,
                _ => self.make(ExprKind::Not(Box::new(equal)), Type::Bool, span),
            };
        }
        let same = a == b && self.is_sure(&a) && a != Type::Null;
        let compares =
            overloads(of.op).iter().all(|(_, result)| *result == Ty::Bool) && of.op != BinaryOp::In;
        let (left, right) =
            if same && compares { self.both_of_policy_form(left, right) } else { (left, right) };
        // Floats that are neither infinite nor NaN are compared as in the policy language.
        let plain = !has_float(&a) || a == Type::Float && self.is_finite(&left) && self.is_finite(&right);
        let amounts = self.has_row(Row::Quantities) || !has_quantity(&a);
        let plain = plain && amounts;
        match of.op {
            BinaryOp::Eq | BinaryOp::Ne if same && plain => {
                let equal = self.make(ExprKind::Equal(Box::new(left), Box::new(right)), Type::Bool, span);
                match of.op {
                    BinaryOp::Eq => equal,
                    _ => self.make(ExprKind::Not(Box::new(equal)), Type::Bool, span),
                }
            }
            BinaryOp::Eq => self.dynamic_node(Operation::Equal, vec![left, right], Type::Bool, span),
            BinaryOp::Ne => self.dynamic_node(Operation::NotEqual, vec![left, right], Type::Bool, span),
            BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => {
                let op = compare_op(of.op);
                if same && plain {
                    let kind = ExprKind::Compare(op, Box::new(left), Box::new(right));
                    self.make(kind, Type::Bool, span)
                } else {
                    self.dynamic_node(Operation::Compare(op), vec![left, right], Type::Bool, span)
                }
            }
            BinaryOp::In => {
                let fits = match &b {
                    Type::List(of) | Type::Set(of) => **of == a,
                    Type::Map(key, _) => **key == a,
                    _ => false,
                };
                if !self.has_row(Row::Faults)
                    && matches!(b, Type::List(_))
                    && matches!(folded(&right), Some(Value::List(items)) if items.is_empty())
                {
                    // cel-go does not look at what is sought in a list that is written without elements.
                    self.make(ExprKind::Constant(Value::Bool(false)), Type::Bool, span)
                } else if fits && self.is_sure(&b) && !has_float(&a) && amounts {
                    self.make(ExprKind::In(Box::new(left), Box::new(right)), Type::Bool, span)
                } else {
                    let (left, is_variable) = self.sought(left, &right, &of.right);
                    self.dynamic_node(Operation::In(is_variable), vec![left, right], Type::Bool, span)
                }
            }
            op => {
                if matches!(result, Type::List(_)) {
                    self.doubt_unless_sure(&result, [&a, &b].into_iter());
                }
                self.cel_arithmetic(arithmetic_op(op), left, right, result, span)
            }
        }
    }

    /// The left side of `in`, and whether the right one is a variable or a part of one. cel-go turns a list of constants
    /// into a set, in which it stops at what has no hash.
    fn sought(&self, left: Expr, right: &Expr, written: &ast::Expr) -> (Expr, bool) {
        let is_set = matches!(right.ty, Type::List(_))
            && matches!(folded(right), Some(Value::List(items)) if items.iter().all(is_primitive));
        let left = match is_set && !self.has_row(Row::Faults) && !is_static(&self.ty(&left)) {
            true => {
                let (ty, span) = (left.ty.clone(), left.span);
                self.dynamic_node(Operation::Hashed, vec![left], ty, span)
            }
            false => left,
        };
        (left, is_path_of_variable(written))
    }

    /// `m[?k] == optional.of(x)` is `m[k] == x` of the policy language, which is false where a side is absent; so is
    /// `m[?k] == n[?k]` where one of the two is known to be there.
    fn equal_held(&mut self, left: &Expr, right: &Expr, span: Span) -> Option<Expr> {
        let (a, b) = (held(left)?, held(right)?);
        let fits = a.ty.present() == b.ty.present() && is_static(&a.ty) && !has_float(a.ty.present());
        if !fits || matches!(a.ty.present(), Type::CelOptional(_) | Type::Null | Type::Cel(_)) {
            return None;
        }
        let (a, b) = (self.narrowed(a.clone()), self.narrowed(b.clone()));
        if a.ty.is_optional() && b.ty.is_optional() {
            return None;
        }
        Some(self.make(ExprKind::Equal(Box::new(a), Box::new(b)), Type::Bool, span))
    }

    /// The help for a text or a number beside an instant or a duration.
    fn help_with_instant_or_duration(&self, left: &Expr, right: &Expr) -> Option<String> {
        for (wanted, other) in [(left, right), (right, left)] {
            let wanted = match self.ty(wanted) {
                Type::Cel(CelType::Duration) => Type::Duration,
                Type::Cel(CelType::Timestamp) => Type::Time,
                other => other,
            };
            match (&wanted, self.ty(other)) {
                (Type::Duration | Type::Time, Type::String) => {
                    return Some(format!("write `{}`", self.text_meant_in_cel(other, &wanted)?));
                }
                (Type::Duration, Type::Int) => {
                    return Some(self.unit_help(&wanted, self.constant(other).as_ref()))
                        .filter(|help| !help.is_empty());
                }
                (Type::Time, Type::Int) if is_day(self.excerpt(other.span)) => {
                    return Some(format!("write `timestamp(\"{}T00:00:00Z\")`", self.excerpt(other.span)));
                }
                _ => {}
            }
        }
        None
    }

    fn cel_help_of_operator(&self, op: BinaryOp, a: &Type, b: &Type) -> String {
        let number = |ty: &Type| matches!(ty, Type::Int | Type::Uint | Type::Float);
        match (a, b) {
            (a, b) if number(a) && number(b) => {
                "numbers of two types do not mix: convert one with `int(…)`, `uint(…)` or `double(…)`"
                    .to_owned()
            }
            (Type::String, n) | (n, Type::String) if number(n) && op == BinaryOp::Add => {
                "convert the number: `string(…)`".to_owned()
            }
            (Type::String, n) | (n, Type::String) if number(n) => "convert the text: `int(…)`".to_owned(),
            (other, Type::Null) | (Type::Null, other) => {
                format!("`{}` is never null: `has(…)` says whether a field is there", self.shown(other))
            }
            _ => String::new(),
        }
    }

    /// Arithmetic; plain where the ranges show that the result fits.
    fn cel_arithmetic(
        &mut self,
        op: ArithmeticOp,
        left: Expr,
        right: Expr,
        result: Type,
        span: Span,
    ) -> Expr {
        let exact = exact_range(op, left.range, right.range);
        let fits = match &result {
            Type::Int => exact.is_some_and(|(lo, hi)| lo >= i64::MIN.into() && hi <= i64::MAX.into()),
            Type::String | Type::Blob => true,
            Type::List(_) => true,
            _ => false,
        };
        let divides = matches!(op, ArithmeticOp::Divide | ArithmeticOp::Remainder);
        let types = self.is_sure(&left.ty) && self.is_sure(&right.ty) && left.ty == right.ty;
        // The smallest int divided by -1 has no value; neither has its remainder.
        let negative = !matches!(right.range, Range::Whole { lo, .. } if lo >= 0);
        let smallest = divides
            && negative
            && !matches!(left.range, Range::Whole { lo, .. } if lo > i128::from(i64::MIN));
        if types && fits && !(divides && (!right.range.excludes_zero() || smallest)) {
            let range = match (&result, exact, op) {
                (Type::Int, _, ArithmeticOp::Divide) => left.range.divided(right.range).cut_to_whole(),
                (Type::Int, _, ArithmeticOp::Remainder) => left.range.remainder(right.range),
                (Type::Int, Some((lo, hi)), _) => Range::whole(lo, hi),
                _ => Range::None,
            };
            let kind = ExprKind::Arithmetic(op, Box::new(left), Box::new(right));
            let made = self.with_range(kind, result, range, span);
            return self.narrowed(made);
        }
        if result == Type::Float
            && left.ty == Type::Float
            && right.ty == Type::Float
            && finite_range(op, left.range, right.range).is_some()
            && self.is_finite(&left)
            && self.is_finite(&right)
        {
            let range = finite_range(op, left.range, right.range).unwrap_or(Range::None);
            let kind = ExprKind::Arithmetic(op, Box::new(left), Box::new(right));
            return self.with_range(kind, result, range, span);
        }
        let base = match result {
            Type::Float => Range::None,
            _ => super::super::expr::type_range(&result),
        };
        let range = match (&result, exact) {
            (Type::Int, Some((lo, hi))) => base.intersect(Range::whole(lo, hi)),
            _ => base,
        };
        let kind = ExprKind::Dynamic(Operation::Arithmetic(op), vec![left, right]);
        self.with_range(kind, result, range, span)
    }

    /// An operator whose operands are amounts: by the rules of the policy language.
    fn with_units(&mut self, of: &ast::Binary, left: Expr, right: Expr, span: Span) -> Expr {
        let (a, b) = (self.ty(&left), self.ty(&right));
        let (left, right) = (self.amount_of_quantity(left, &b), self.amount_of_quantity(right, &a));
        let (left, right) = (Expr { ty: self.ty(&left), ..left }, Expr { ty: self.ty(&right), ..right });
        match of.op {
            BinaryOp::Eq | BinaryOp::Ne => {
                let Some((left, right)) = self.comparable(left, right, "compare") else {
                    return self.unknown(span);
                };
                let equal = self.make(ExprKind::Equal(Box::new(left), Box::new(right)), Type::Bool, span);
                if of.op == BinaryOp::Eq {
                    equal
                } else {
                    self.make(ExprKind::Not(Box::new(equal)), Type::Bool, span)
                }
            }
            BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => {
                let Some((left, right)) = self.comparable(left, right, "compare") else {
                    return self.unknown(span);
                };
                if !left.ty.is_ordered() {
                    let message = format!("`{}` has no order", left.ty);
                    self.mistake(&codes::TYPE_MISMATCH, left.span, message, "`a.fits(b)` compares resources");
                    return self.unknown(span);
                }
                let kind = ExprKind::Compare(compare_op(of.op), Box::new(left), Box::new(right));
                self.make(kind, Type::Bool, span)
            }
            BinaryOp::In => self.make(ExprKind::In(Box::new(left), Box::new(right)), Type::Bool, span),
            op => {
                let made = self.combine(arithmetic_op(op), left, right, span);
                self.demand(made, FaultKind::DivisionByZero)
            }
        }
    }

    /// A constant quantity beside an amount, in the unit of the amount.
    fn amount_of_quantity(&self, expr: Expr, other: &Type) -> Expr {
        if expr.ty != Type::Quantity || !other.is_unit() {
            return expr;
        }
        let Some(Value::Quantity(quantity)) = self.constant_of_cel(&expr) else { return expr };
        let amount = match other {
            Type::Cpu => quantity.milli_value(),
            _ => quantity.value(),
        };
        let kind = ExprKind::Constant(Value::Int(amount));
        Expr { kind, ty: other.clone(), range: Range::int(amount), span: expr.span }
    }

    fn cel_logical(&mut self, of: &ast::Binary, span: Span) -> Expr {
        let left = self.cel_condition(&of.left);
        let mark = self.frame.facts.mark();
        if !left.ty.is_unknown() {
            self.assume(&left, of.op == BinaryOp::And);
        }
        let right = self.cel_condition(&of.right);
        self.frame.facts.forget(mark);
        if left.ty.is_unknown() || right.ty.is_unknown() {
            return self.unknown(span);
        }
        let (left, right) = (Box::new(left), Box::new(right));
        let kind = match of.op {
            BinaryOp::And => ExprKind::And(left, right),
            _ => ExprKind::Or(left, right),
        };
        self.make(kind, Type::Bool, span)
    }

    pub(super) fn cel_conditional(&mut self, of: &ast::Conditional, span: Span) -> Expr {
        let condition = self.cel_condition(&of.condition);
        let mark = self.frame.facts.mark();
        let known = !condition.ty.is_unknown();
        if known {
            self.assume(&condition, true);
        }
        let then = self.expr(&of.then, None);
        self.frame.facts.forget(mark);
        if known {
            self.assume(&condition, false);
        }
        let otherwise = self.expr(&of.otherwise, None);
        self.frame.facts.forget(mark);
        let (a, b) = (self.ty(&then), self.ty(&otherwise));
        if !known || a.is_unknown() || b.is_unknown() {
            return self.unknown(span);
        }
        if (has_unit(&a) || has_unit(&b)) && is_static(&a) && is_static(&b) {
            let (then, otherwise) =
                (self.amount_of_quantity(then, &b), self.amount_of_quantity(otherwise, &a));
            let Some((then, otherwise, ty)) = self.same_type(then, otherwise) else {
                return self.unknown(span);
            };
            let range = then.range.union(otherwise.range);
            let kind = ExprKind::Conditional(Box::new(condition), Box::new(then), Box::new(otherwise));
            return self.with_range(kind, ty, range, span);
        }
        let known = self.operator(CHOICE, &[then.ty.clone(), otherwise.ty.clone()]);
        let Some(result) = known else {
            let message = format!("cannot choose between `{}` and `{}`", self.shown(&a), self.shown(&b));
            let help = "both sides must have the same type; `dyn(…)` takes any";
            return self.cel_mistake(&codes::TYPE_MISMATCH, span, message, help);
        };
        self.doubt_unless_sure(&result, [&a, &b].into_iter());
        let range = if then.ty == otherwise.ty { then.range.union(otherwise.range) } else { Range::None };
        let then = self.has_as_value(&of.then, then);
        let otherwise = self.has_as_value(&of.otherwise, otherwise);
        let then = self.branch(then, !is_attribute(&of.then));
        let otherwise = self.branch(otherwise, !is_attribute(&of.otherwise));
        let kind = ExprKind::Conditional(Box::new(condition), Box::new(then), Box::new(otherwise));
        self.with_range(kind, result, range, span)
    }

    /// A branch of `?:`. cel-go makes an optional anew from the plain value that it holds, unless the branch is a name,
    /// a field, an element or another `?:`.
    pub(super) fn branch(&mut self, branch: Expr, is_made: bool) -> Expr {
        let ty = self.ty(&branch);
        let changes = match &ty {
            Type::CelOptional(held) => changes_in_branch(held),
            ty => !is_static(ty),
        };
        if !is_made || !changes || self.has_row(Row::Optionals) {
            return branch;
        }
        // What it holds may be a fault, or of another type.
        if matches!(ty, Type::CelOptional(_)) {
            self.cel.doubts.doubt();
        }
        let (span, ty) = (branch.span, branch.ty.clone());
        self.dynamic_node(Operation::Branch, vec![branch], ty, span)
    }
}

/// Whether an optional of this type is another one when it is made anew from what it holds.
fn changes_in_branch(held: &Type) -> bool {
    let plain = matches!(
        held,
        Type::Bool | Type::Int | Type::Uint | Type::Float | Type::String | Type::Blob | Type::Null
    );
    let converted = matches!(held, Type::Cel(CelType::Duration | CelType::Timestamp | CelType::Format));
    !plain && !converted && !matches!(held, Type::List(_) | Type::Map(..))
}

/// Whether a value is of a kind that cel-go keeps in a set.
fn is_primitive(value: &Value<'_>) -> bool {
    matches!(value, Value::Bool(_) | Value::Int(_) | Value::Uint(_) | Value::Float(_) | Value::String(_))
}

/// Whether an expression is a name, or a field or an element of one.
fn is_path_of_variable(of: &ast::Expr) -> bool {
    match &without_brackets(of).kind {
        ast::ExprKind::Name(_) => true,
        ast::ExprKind::Field(access) => is_path_of_variable(&access.object),
        ast::ExprKind::Index(access) => is_path_of_variable(&access.object),
        _ => false,
    }
}

/// Whether cel-go's equality of values of this type depends on how they were made.
fn has_quantity(ty: &Type) -> bool {
    match ty {
        Type::Quantity => true,
        Type::List(of) | Type::Set(of) | Type::CelOptional(of) => has_quantity(of),
        Type::Map(key, value) => has_quantity(key) || has_quantity(value),
        _ => false,
    }
}

/// Whether an expression is a name, a field, an element, or a choice between such.
fn is_attribute(of: &ast::Expr) -> bool {
    match &without_brackets(of).kind {
        ast::ExprKind::Name(_)
        | ast::ExprKind::Field(_)
        | ast::ExprKind::Index(_)
        | ast::ExprKind::Conditional(_) => true,
        // These macros are choices.
        ast::ExprKind::Method(call) => {
            macros::fitting_in_cel(&call.method.text, call.args.len()).is_some_and(MacroDef::is_optional)
        }
        _ => false,
    }
}
