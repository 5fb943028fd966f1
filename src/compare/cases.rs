//! [`Term`]: a value in each of its cases. A condition, or whether a part is there, is taken out of an expression: what is
//! left of it in each case is one value, or a fault.

use crate::formula::{Formula, Formulas};
use crate::outcome::Outcome;
use crate::plain::{folded, plain, present};
use bayplan_lang::analysis::faults::may_fail;
use bayplan_lang::language::fields::FieldId;
use bayplan_lang::typed::walk::{each_part, each_part_mut, mentions};
use bayplan_lang::typed::{Expr, ExprKind, MacroKind, Operation, Policy, SlotId};
use bayplan_lang::types::Ty;
use bayplan_lang::types::value::Constant;

/// The most cases of a value.
const MOST_CASES: usize = 24;

/// A value in each of its cases.
#[derive(Clone, Debug)]
pub(crate) enum Term {
    Constant(Constant),
    /// An expression that is one variable.
    Value(Box<Expr>),
    /// A fault that `&&` and `||` absorb.
    Fault,
    /// One of two, by a condition.
    Choice(Box<Formula>, Box<Term>, Box<Term>),
}

/// What is taken out of an expression.
enum Split {
    /// The condition of `? :`.
    Condition(Expr),
    /// Whether a value is there, of which another one takes the place where it is not.
    There(Expr),
    /// Whether an object is there, of which a field is read that every such object has.
    Object(Expr),
    /// Whether a value is there, which is a fault where it is not; whether the whole expression is then this fault.
    Demanded(Expr, bool),
}

impl Formulas<'_> {
    /// The value of an expression in the plain form, in its cases.
    pub(crate) fn term(&mut self, side: usize, expr: &Expr) -> Term {
        let mut left = MOST_CASES;
        self.cases(side, expr, &mut left)
    }

    /// The values that an expression can have, each with when it has it; `None`: it is absent, or a fault.
    pub(crate) fn values(&mut self, side: usize, expr: &Expr) -> Vec<(Formula, Option<Expr>)> {
        let plain = plain(self.policy(side), expr);
        let term = self.term(side, &plain);
        let mut values = Vec::new();
        self.values_of(side, &term, Formula::Constant(Outcome::True), &plain, &mut values);
        values
    }

    fn values_of(
        &mut self,
        side: usize,
        term: &Term,
        when: Formula,
        whole: &Expr,
        values: &mut Vec<(Formula, Option<Expr>)>,
    ) {
        match term {
            Term::Fault => values.push((when, None)),
            Term::Constant(of) if of.is_absent() => values.push((when, None)),
            Term::Constant(of) => {
                let ty = whole.ty.present().clone();
                values.push((when, Some(Expr { kind: ExprKind::Constant(of.clone()), ty, ..whole.clone() })));
            }
            Term::Value(of) if of.ty.is_optional() => {
                let there = self.present(side, of);
                let absent = when.clone().and(there.clone().settled(false).not());
                values.push((when.and(there.settled(false)), Some(of.as_ref().clone())));
                values.push((absent, None));
            }
            Term::Value(of) => values.push((when, Some(of.as_ref().clone()))),
            Term::Choice(condition, then, otherwise) => {
                let holds = condition.as_ref().clone().settled(false);
                let holds_or_fails = condition.as_ref().clone().settled(true);
                self.values_of(side, then, when.clone().and(holds.clone()), whole, values);
                let not = holds_or_fails.clone().not();
                self.values_of(side, otherwise, when.clone().and(not), whole, values);
                values.push((when.and(holds_or_fails).and(holds.not()), None));
            }
        }
    }

    fn cases(&mut self, side: usize, expr: &Expr, left: &mut usize) -> Term {
        self.parts += 1;
        match &expr.kind {
            _ if self.is_too_large() => return Term::Constant(Constant::Absent),
            ExprKind::Constant(of) => return Term::Constant(of.clone()),
            ExprKind::Present(inner) => return self.cases(side, inner, left),
            _ => {}
        }
        let policy = self.policy(side);
        // A fault that ends the evaluation hides others, and is none of them.
        let strict = !self.may_stop(side, expr);
        let whole = || Term::Value(Box::new(expr.clone()));
        let Some(split) = split(policy, expr, strict, &mut Vec::new()) else { return whole() };
        let Some(rest) = left.checked_sub(1) else { return whole() };
        *left = rest;
        let condition = match &split {
            Split::Condition(of) => self.formula(side, of),
            Split::There(of) | Split::Object(of) | Split::Demanded(of, _) => self.present(side, of),
        };
        let (Split::Condition(of) | Split::There(of) | Split::Object(of) | Split::Demanded(of, _)) = &split;
        let number = self.meaning(side, of);
        let mut case = |holds: bool, formulas: &mut Self| match split {
            Split::Demanded(_, strict) if !holds => {
                if strict {
                    Term::Fault
                } else {
                    whole()
                }
            }
            _ => {
                let mut expr = expr.clone();
                let is_condition = matches!(split, Split::Condition(_));
                formulas.decide(side, &mut expr, (number, is_condition), holds);
                formulas.cases(side, &expr, left)
            }
        };
        match condition {
            Formula::Constant(Outcome::True) => case(true, self),
            Formula::Constant(Outcome::False) => case(false, self),
            condition => {
                let then = case(true, self);
                let otherwise = case(false, self);
                Term::Choice(Box::new(condition), Box::new(then), Box::new(otherwise))
            }
        }
    }

    /// Puts into an expression what a condition, or a value by its being there, decides.
    fn decide(&mut self, side: usize, expr: &mut Expr, (number, is_condition): (u64, bool), holds: bool) {
        let decided = match &expr.kind {
            ExprKind::Conditional(of, then, otherwise)
                if is_condition && self.meaning(side, of) == number =>
            {
                Some(if holds { (**then).clone() } else { (**otherwise).clone() })
            }
            ExprKind::Coalesce(of, other) if !is_condition && self.meaning(side, of) == number => {
                Some(match holds {
                    true => present((**of).clone(), of.ty.present().clone()),
                    false => (**other).clone(),
                })
            }
            ExprKind::Dynamic(Operation::Demand(_), of) if !is_condition && holds => match of.as_slice() {
                [of] if of.ty.is_optional() && self.meaning(side, of) == number => {
                    Some(present(of.clone(), expr.ty.clone()))
                }
                _ => None,
            },
            ExprKind::Field(of, field)
                if !is_condition && of.ty.is_optional() && self.meaning(side, of) == number =>
            {
                Some(match holds {
                    true => {
                        let object = present((**of).clone(), of.ty.present().clone());
                        let is_there = is_had_by_all(*field);
                        let ty = if is_there { expr.ty.present().clone() } else { expr.ty.clone() };
                        Expr { kind: ExprKind::Field(Box::new(object), *field), ty, ..expr.clone() }
                    }
                    false => Expr { kind: ExprKind::Constant(Constant::Absent), ..expr.clone() },
                })
            }
            _ => None,
        };
        match decided {
            Some(decided) if !matches!(decided.kind, ExprKind::Present(_) | ExprKind::Field(..)) => {
                *expr = decided;
                self.decide(side, expr, (number, is_condition), holds);
            }
            Some(decided) => *expr = decided,
            None => {
                each_part_mut(expr, &mut |part| self.decide(side, part, (number, is_condition), holds));
                if let Some(value) = folded(expr) {
                    expr.kind = ExprKind::Constant(value);
                }
                if let ExprKind::Field(of, field) = &expr.kind {
                    match &of.kind {
                        ExprKind::Constant(Constant::Absent) => {
                            expr.kind = ExprKind::Constant(Constant::Absent);
                        }
                        _ if !of.ty.is_optional() && is_had_by_all(*field) => {
                            expr.ty = expr.ty.present().clone();
                        }
                        _ => {}
                    }
                }
            }
        }
    }
}

/// What can be taken out of an expression, the outermost first. `strict`: a fault of the expression is one of the whole.
/// `bound`: the variables of macros around it.
fn split(policy: &Policy, expr: &Expr, strict: bool, bound: &mut Vec<SlotId>) -> Option<Split> {
    let may_go = |of: &Expr, bound: &[SlotId]| !mentions(of, bound) && (strict || !may_fail(policy, of));
    match &expr.kind {
        ExprKind::Conditional(of, ..) if may_go(of, bound) => return Some(Split::Condition((**of).clone())),
        ExprKind::Coalesce(of, _) if may_go(of, bound) => return Some(Split::There((**of).clone())),
        ExprKind::Field(of, field) if of.ty.is_optional() && is_had_by_all(*field) => {
            // The object may be a field of another one.
            let inner = split(policy, of, strict, bound);
            let own = || may_go(of, bound).then(|| Split::Object((**of).clone()));
            return inner.or_else(own);
        }
        ExprKind::Dynamic(Operation::Demand(_), args) => {
            if let [of] = args.as_slice()
                && of.ty.is_optional()
                && !mentions(of, bound)
            {
                let inner = split(policy, of, strict, bound);
                let own = || may_go(of, bound).then(|| Split::Demanded(of.clone(), strict));
                return inner.or_else(own);
            }
        }
        _ => {}
    }
    let binds = match &expr.kind {
        ExprKind::Macro(of) => [Some(of.slot), of.second],
        _ => [None, None],
    };
    let mut found = None;
    let mut at = 0;
    let depth = bound.len();
    each_part(expr, &mut |part| {
        if found.is_none() {
            found = split(policy, part, strict && is_strict(expr, at), bound);
        }
        if at == 0 {
            bound.extend(binds.iter().flatten());
        }
        at += 1;
    });
    bound.truncate(depth);
    found
}

/// Whether each object has the field, so that it is there where the object is.
fn is_had_by_all(field: FieldId) -> bool {
    !matches!(field.def().ty, Ty::Optional(_))
}

/// Whether a fault of a part of an expression is one of the whole.
fn is_strict(expr: &Expr, part: usize) -> bool {
    match &expr.kind {
        ExprKind::And(..) | ExprKind::Or(..) | ExprKind::List(_) | ExprKind::Map(_) => false,
        ExprKind::Conditional(..) | ExprKind::Coalesce(..) => part == 0,
        ExprKind::Macro(of) => part == 0 && of.kind != MacroKind::Bind,
        ExprKind::Dynamic(operation, _) => match operation {
            Operation::OrElse(_) => part == 0,
            Operation::Valid | Operation::Counted(_) | Operation::Map(_) => false,
            _ => true,
        },
        _ => true,
    }
}
