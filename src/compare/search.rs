//! Looks for an assignment of cells to variables under which an old and a new condition have wanted outcomes. If there is
//! none, no pod, node and cluster give these outcomes.

use crate::formula::{Formula, Formulas};
use crate::outcome::{Outcome, Outcomes};
use crate::variables::{Cell, Pattern, Variable, VariableId};
use bayplan_lang::language::functions::LooksFor;
use bayplan_lang::typed::ExprKind;
use bayplan_lang::types::value::Constant;
use std::cmp::Ordering;

/// The most tests of formulas that one search evaluates.
const MOST_TESTS: usize = 4_000_000;

/// The cell of each variable, by its number; `None`: any.
pub(crate) type Assignment = Vec<Option<usize>>;

/// How a search ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// Every assignment was looked at.
    Complete,
    /// The one that looks has seen enough.
    Stopped,
    /// It would have taken too long.
    TooLong,
}

/// Two conditions with the tests in them.
pub(crate) struct Search<'f, 'p> {
    formulas: &'f Formulas<'p>,
    pub(crate) old: &'f Formula,
    pub(crate) new: &'f Formula,
    /// The variables of both, those with the most tests first.
    order: Vec<VariableId>,
    tests: usize,
}

impl<'f, 'p> Search<'f, 'p> {
    /// Of two conditions whose variables are divided into cells.
    pub(crate) fn new(formulas: &'f Formulas<'p>, old: &'f Formula, new: &'f Formula) -> Self {
        let mut counts = vec![0usize; formulas.variables.len()];
        let mut tests = 0;
        for formula in [old, new] {
            formula.each_atom(&mut |atom| {
                tests += 1;
                let variable = formulas.atoms.get(atom).map(|atom| atom.variable.0);
                if let Some(count) = variable.and_then(|at| counts.get_mut(at)) {
                    *count += 1;
                }
            });
        }
        let mut order: Vec<usize> = (0..counts.len()).filter(|at| counts.get(*at) != Some(&0)).collect();
        order.sort_by_key(|at| std::cmp::Reverse(counts.get(*at).copied()));
        Self { formulas, old, new, order: order.into_iter().map(VariableId).collect(), tests: tests.max(1) }
    }

    /// Some assignments under which both have these outcomes; [`End::Complete`]: all of them.
    pub(crate) fn some(&self, wanted: (Outcome, Outcome), most: usize) -> (End, Vec<Assignment>) {
        let mut found = Vec::new();
        let end = self.each(wanted, &mut |assignment| {
            found.push(assignment.clone());
            found.len() == most
        });
        (end, found)
    }

    /// Calls `found` for assignments under which both have these outcomes, until it returns `true`.
    fn each(&self, wanted: (Outcome, Outcome), found: &mut dyn FnMut(&Assignment) -> bool) -> End {
        let mut assignment = vec![None; self.formulas.variables.len()];
        let mut left = MOST_TESTS;
        self.descend(wanted, 0, &mut assignment, &mut left, found)
    }

    fn descend(
        &self,
        wanted: (Outcome, Outcome),
        depth: usize,
        assignment: &mut Assignment,
        left: &mut usize,
        found: &mut dyn FnMut(&Assignment) -> bool,
    ) -> End {
        let Some(rest) = left.checked_sub(self.tests) else { return End::TooLong };
        *left = rest;
        let (old, new) = (self.outcomes(self.old, assignment), self.outcomes(self.new, assignment));
        if !old.has(wanted.0) || !new.has(wanted.1) {
            return End::Complete;
        }
        if old.is(wanted.0) && new.is(wanted.1) {
            return if found(assignment) { End::Stopped } else { End::Complete };
        }
        let Some(VariableId(at)) = self.order.get(depth).copied() else { return End::Complete };
        let cells = self.formulas.variables.get(at).map_or(0, |variable| variable.cells.len());
        for cell in 0..cells {
            if let Some(of) = assignment.get_mut(at) {
                *of = Some(cell);
            }
            if is_consistent(self.formulas, assignment) {
                let end = self.descend(wanted, depth + 1, assignment, left, found);
                if end != End::Complete {
                    return end;
                }
            }
        }
        if let Some(of) = assignment.get_mut(at) {
            *of = None;
        }
        End::Complete
    }

    fn outcomes(&self, formula: &Formula, assignment: &Assignment) -> Outcomes {
        formula.outcomes(&|atom| {
            let Some(atom) = self.formulas.atoms.get(atom) else { return Outcomes::NONE };
            match assignment.get(atom.variable.0).copied().flatten() {
                Some(cell) => atom.outcomes_in(std::iter::once(cell)),
                None => atom.outcomes_in(0..atom.outcomes.len()),
            }
        })
    }
}

/// Whether nothing that is known of variables with each other speaks against an assignment.
fn is_consistent(formulas: &Formulas<'_>, assignment: &Assignment) -> bool {
    let cell = |id: VariableId| {
        let at = assignment.get(id.0).copied().flatten()?;
        formulas.variables.get(id.0)?.cells.get(at)
    };
    formulas.variables.iter().enumerate().all(|(at, variable)| {
        let Some(own) = cell(VariableId(at)) else { return true };
        if let (Some(pattern), Cell::Value(Constant::Bool(holds))) = (&variable.pattern, own) {
            let side = variable.of.first().map_or(0, |(side, _)| *side);
            let subject = match cell(pattern.subject) {
                Some(Cell::Value(text)) => {
                    matches(formulas, side, &pattern.call, text).is_none_or(|of| of == *holds)
                }
                Some(Cell::Absent) => !holds,
                _ => true,
            };
            let others = formulas.variables.iter().enumerate().take(at).all(|(before, other)| {
                let Some(Cell::Value(Constant::Bool(other_holds))) = cell(VariableId(before)) else {
                    return true;
                };
                let Some(other_pattern) = other.pattern.as_ref().filter(|of| of.subject == pattern.subject)
                else {
                    return true;
                };
                let [own, other] = [(variable, pattern, *holds), (other, other_pattern, *other_holds)].map(
                    |(variable, pattern, holds)| {
                        Literal::of(formulas, variable, pattern).map(|of| (of, holds))
                    },
                );
                own.zip(other).is_none_or(|(own, other)| can_both_be(&own, &other))
            });
            return subject && others;
        }
        if !variable.is_pair() {
            return true;
        }
        let others = formulas.variables.iter().enumerate().take(at).all(|(before, other)| {
            match (own, cell(VariableId(before))) {
                (Cell::Order(own), Some(Cell::Order(of_other))) => {
                    are_orders_consistent((variable, *own), (other, *of_other))
                }
                _ => true,
            }
        });
        if !others {
            return false;
        }
        let sides = formulas.sides(VariableId(at));
        let [first, second] = sides.map(|of| of.and_then(cell));
        // Every other value is none of the constants of the variable.
        let is_known = |side: Option<VariableId>, value: &Cell| {
            side.and_then(|of| formulas.variables.get(of.0)).is_some_and(|of| of.cells.contains(value))
        };
        let excluded = match (first, second) {
            (Some(value @ Cell::Value(_)), Some(Cell::Other)) => is_known(sides[1], value),
            (Some(Cell::Other), Some(value @ Cell::Value(_))) => is_known(sides[0], value),
            _ => false,
        };
        !(excluded && *own == Cell::Order(Ordering::Equal)) && is_pair_consistent(own, first, second)
    })
}

/// Whether a text matches a call whose other operands are constants.
pub(crate) fn matches(
    formulas: &Formulas<'_>,
    side: usize,
    call: &bayplan_lang::typed::Expr,
    text: &Constant,
) -> Option<bool> {
    let ExprKind::Call(function, args, prepared) = &call.kind else { return None };
    let policy = formulas.policies.get(side)?;
    let rest = args.iter().skip(1).map(|arg| bayplan_lang::analysis::shape::constant(policy, arg));
    let args: Option<Vec<Constant>> = std::iter::once(Some(text.clone())).chain(rest).collect();
    let value = (function.def().body)(&args?, prepared);
    (!value.is_absent() && value.as_fault().is_none()).then(|| value.holds())
}

/// A pattern that is a literal text.
struct Literal {
    text: String,
    form: LooksFor,
}

impl Literal {
    fn of(formulas: &Formulas<'_>, variable: &Variable, pattern: &Pattern) -> Option<Self> {
        let ExprKind::Call(function, args, _) = &pattern.call.kind else { return None };
        let form = function.def().looks_for?;
        let policy = formulas.policies.get(variable.of.first()?.0)?;
        let text = bayplan_lang::analysis::shape::constant(policy, args.get(1)?)?;
        Some(Self { text: text.as_str()?.to_owned(), form })
    }

    /// Whether each text that matches this one matches the other.
    fn implies(&self, other: &Self) -> bool {
        match (self.form, other.form) {
            (LooksFor::Beginning, LooksFor::Beginning) => self.text.starts_with(&other.text),
            (LooksFor::End, LooksFor::End) => self.text.ends_with(&other.text),
            (_, LooksFor::Anywhere) => self.text.contains(&other.text),
            _ => false,
        }
    }

    /// Whether no text matches both.
    fn excludes(&self, other: &Self) -> bool {
        match (self.form, other.form) {
            (LooksFor::Beginning, LooksFor::Beginning) | (LooksFor::End, LooksFor::End) => {
                !self.implies(other) && !other.implies(self)
            }
            _ => false,
        }
    }
}

/// Whether a text can match, or not match, both patterns as it says.
fn can_both_be(one: &(Literal, bool), other: &(Literal, bool)) -> bool {
    match (one.1, other.1) {
        (true, true) => !one.0.excludes(&other.0),
        (true, false) => !one.0.implies(&other.0),
        (false, true) => !other.0.implies(&one.0),
        (false, false) => true,
    }
}

/// Whether two pairs of values that differ by constants alone can compare so: where the first value grows and the second does
/// not, the first does not become smaller than the second. Sums stop at the ends of their range, which keeps the order.
fn are_orders_consistent(
    (one, order): (&Variable, Ordering),
    (other, of_other): (&Variable, Ordering),
) -> bool {
    let ([Some(a), Some(b)], [Some(c), Some(d)]) = (&one.offsets, &other.offsets) else { return true };
    if a.base != c.base || b.base != d.base {
        return true;
    }
    let first = a.by.cmp(&c.by);
    let second = b.by.cmp(&d.by);
    // `other` compares at least as much as `one` does, or at most.
    let rises = first.is_le() && second.is_ge();
    let falls = first.is_ge() && second.is_le();
    (!rises || of_other >= order) && (!falls || of_other <= order)
}

/// Whether the cell of a pair fits the cells of its sides, as far as these are known.
fn is_pair_consistent(own: &Cell, first: Option<&Cell>, second: Option<&Cell>) -> bool {
    let is_there = |of: &Cell| !matches!(of, Cell::Absent | Cell::Fault | Cell::Stop);
    let absent = [first, second].into_iter().flatten().any(|of| *of == Cell::Absent);
    match own {
        Cell::Absent => absent || !(first.is_some_and(is_there) && second.is_some_and(is_there)),
        Cell::Order(_) | Cell::Unequal if absent => false,
        Cell::Order(order) => match (first, second) {
            (Some(first), Some(second)) => can_be(*order, first, second),
            _ => true,
        },
        Cell::Unequal => match (first, second) {
            (Some(Cell::Value(first)), Some(Cell::Value(second))) => !first.equals(second),
            _ => true,
        },
        _ => true,
    }
}

/// Whether a value of the first cell can be so to one of the second.
fn can_be(order: Ordering, first: &Cell, second: &Cell) -> bool {
    let least = |of: &Cell| match of {
        Cell::Value(value) => Some((value.clone(), true)),
        Cell::Between(below, _) => below.clone().map(|value| (value, false)),
        _ => None,
    };
    let most = |of: &Cell| match of {
        Cell::Value(value) => Some((value.clone(), true)),
        Cell::Between(_, above) => above.clone().map(|value| (value, false)),
        _ => None,
    };
    // Whether some value of `low` is below one of `high`, or (`equal`) not above it.
    let below = |low: &Cell, high: &Cell, equal: bool| match (least(low), most(high)) {
        (Some((low, a)), Some((high, b))) => match low.order(&high) {
            Ordering::Less => true,
            Ordering::Equal => equal && a && b,
            Ordering::Greater => false,
        },
        _ => true,
    };
    match (order, first, second) {
        (Ordering::Equal, Cell::Value(first), Cell::Value(second)) => first.equals(second),
        (Ordering::Equal, Cell::Value(_), Cell::Other) | (Ordering::Equal, Cell::Other, Cell::Value(_)) => {
            true
        }
        (Ordering::Equal, ..) => below(first, second, true) && below(second, first, true),
        (Ordering::Less, ..) => below(first, second, false),
        (Ordering::Greater, ..) => below(second, first, false),
    }
}
