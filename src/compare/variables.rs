//! [`Variable`]: a value that conditions test, with the finitely many [`Cell`]s of its values that the tests tell apart.
//!
//! A variable is numbered by what its expression means (`lang/eval/meaning.rs`), so that both texts have one variable for
//! one value. Variables are taken as independent: an assignment of cells to them may be impossible, and none that is
//! possible is missing.

use crate::outcome::{Outcome, Outcomes};
use bayplan_lang::eval::interpret::compare;
use bayplan_lang::language::fields::Meaning;
use bayplan_lang::typed::{ArithmeticOp, CompareOp, Expr, ExprKind, Operation};
use bayplan_lang::types::Type;
use bayplan_lang::types::range::Range;
use bayplan_lang::types::value::Constant;
use std::cmp::Ordering;

/// The number of a variable.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct VariableId(pub(crate) usize);

/// What makes two variables one.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Key {
    /// A value, by its meaning.
    Value(u64),
    /// How the first value compares with the second one, by their meanings.
    Pair(u64, u64),
}

/// A value that is tested.
#[derive(Clone, Debug)]
pub(crate) struct Variable {
    pub(crate) key: Key,
    /// The expression, with the side whose policy it is of; of a pair both.
    pub(crate) of: Vec<(usize, Expr)>,
    /// It may be absent; of a pair, one of the two.
    optional: bool,
    /// It may be a fault.
    may_fail: bool,
    /// Such a fault may end the evaluation.
    may_stop: bool,
    /// A policy in CEL reads it, whose floats may be NaN.
    cel: bool,
    /// The constants with which it is compared.
    constants: Vec<Constant>,
    /// Some test asks for an order.
    ordered: bool,
    /// The text whose pattern it is, with what tells of a constant whether it holds.
    pub(crate) pattern: Option<Pattern>,
    /// Of a pair whose sides are whole numbers: each side as another value and a constant.
    pub(crate) offsets: [Option<Offset>; 2],
    /// What its tests tell apart; filled by [`Variable::divide`].
    pub(crate) cells: Vec<Cell>,
}

/// A whole number as another one plus a constant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Offset {
    /// What the other one means.
    pub(crate) base: u64,
    /// The constant.
    pub(crate) by: i128,
}

/// A test of a text against a constant pattern.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    /// The text.
    pub(crate) subject: VariableId,
    /// The call, whose first operand is the text.
    pub(crate) call: Expr,
}

/// Values that no test tells apart.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Cell {
    /// No value.
    Absent,
    /// A fault.
    Fault,
    /// A fault that ends the evaluation.
    Stop,
    /// One value.
    Value(Constant),
    /// What lies between two constants; `None` at an end of the order.
    Between(Option<Constant>, Option<Constant>),
    /// Every other value.
    Other,
    /// Of a pair: the first is less, equal, greater.
    Order(Ordering),
    /// Of a pair without an order: not equal.
    Unequal,
}

/// A question to a variable.
#[derive(Clone, Debug)]
pub(crate) enum Test {
    /// It is true.
    Holds,
    /// It has a value.
    Present,
    /// It is one of these.
    OneOf(Vec<Constant>),
    /// It compares so with a constant.
    Compares(CompareOp, Constant),
    /// Of a pair: both are equal.
    Equal,
    /// Of a pair: the first compares so with the second.
    Pair(CompareOp),
}

/// A test of a variable in a formula.
#[derive(Clone, Debug)]
pub(crate) struct Atom {
    pub(crate) variable: VariableId,
    pub(crate) test: Test,
    /// The outcome for each cell; filled when the cells are known.
    pub(crate) outcomes: Vec<Outcome>,
}

impl Variable {
    /// A variable for an expression, or for two.
    pub(crate) fn new(
        key: Key,
        of: Vec<(usize, Expr)>,
        (may_fail, may_stop): (bool, bool),
        cel: bool,
    ) -> Self {
        let optional = of.iter().any(|(_, expr)| expr.ty.is_optional());
        Self {
            key,
            of,
            optional,
            may_fail,
            may_stop,
            cel,
            constants: Vec::new(),
            ordered: false,
            pattern: None,
            offsets: [None, None],
            cells: Vec::new(),
        }
    }

    /// The expression; of a pair the first.
    pub(crate) fn expr(&self) -> Option<&Expr> {
        self.of.first().map(|(_, expr)| expr)
    }

    fn ty(&self) -> &Type {
        self.expr().map_or(&Type::Unknown, |expr| expr.ty.present())
    }

    /// Whether it is a pair.
    pub(crate) fn is_pair(&self) -> bool {
        matches!(self.key, Key::Pair(..))
    }

    /// It occurs under another name too, where it may be absent, or a fault.
    pub(crate) fn widen(&mut self, expr: &Expr, (may_fail, may_stop): (bool, bool), cel: bool) {
        self.cel |= cel;
        self.optional |= expr.ty.is_optional();
        self.may_fail |= may_fail;
        self.may_stop |= may_stop;
    }

    /// A test of it was made.
    pub(crate) fn learn(&mut self, test: &Test) {
        match test {
            Test::OneOf(constants) => constants.iter().for_each(|constant| self.add(constant)),
            Test::Compares(_, constant) => {
                self.ordered = true;
                self.add(constant);
            }
            Test::Pair(_) => self.ordered = true,
            Test::Holds | Test::Present | Test::Equal => {}
        }
    }

    fn add(&mut self, constant: &Constant) {
        if !self.constants.iter().any(|known| known.equals(constant)) {
            self.constants.push(constant.clone());
        }
    }

    /// Divides its values into cells, when all tests are known.
    pub(crate) fn divide(&mut self) {
        let mut cells = match (self.is_pair(), self.ty()) {
            (true, _) if self.ordered || is_number(self.ty()) => {
                [Ordering::Less, Ordering::Equal, Ordering::Greater].map(Cell::Order).to_vec()
            }
            (true, _) => vec![Cell::Order(Ordering::Equal), Cell::Unequal],
            (false, Type::Bool) => [true, false].map(|of| Cell::Value(Constant::Bool(of))).to_vec(),
            (false, ty) if self.ordered || is_number(ty) => self.intervals(),
            (false, _) => self.values(),
        };
        // What is not a number has no order with any, and CEL has such floats.
        let is_number = self.expr().is_some_and(|expr| floats(expr) != Range::None);
        let may_be_nan = *self.ty() == Type::Float && self.cel && (self.is_pair() || !is_number);
        cells.extend((may_be_nan && !cells.contains(&Cell::Other)).then_some(Cell::Other));
        cells.extend(self.optional.then_some(Cell::Absent));
        cells.extend(self.may_fail.then_some(Cell::Fault));
        cells.extend(self.may_stop.then_some(Cell::Stop));
        self.cells = cells;
    }

    /// The constants, and every other value if there may be one.
    fn values(&self) -> Vec<Cell> {
        let closed = self.closed_values();
        let others = closed.iter().filter(|value| !self.constants.iter().any(|known| known.equals(value)));
        let constants = self
            .constants
            .iter()
            .filter(|of| closed.is_empty() || closed.iter().any(|value| value.equals(of)));
        let mut cells: Vec<Cell> = constants.chain(others).cloned().map(Cell::Value).collect();
        cells.extend(closed.is_empty().then_some(Cell::Other));
        cells
    }

    /// The values of a text that has no others; empty: it can be any.
    fn closed_values(&self) -> Vec<Constant> {
        let field = self.expr().and_then(|expr| match &expr.kind {
            ExprKind::Field(_, field) => Some(field.def()),
            _ => None,
        });
        field.map_or(&[][..], |field| field.values).iter().map(|value| Constant::text(*value)).collect()
    }

    /// The constants and what lies between them, as far as the values of the expression reach.
    fn intervals(&self) -> Vec<Cell> {
        let mut constants = self.constants.clone();
        constants.sort_by(Constant::order);
        let range = self.expr().map_or(Range::None, range_of);
        let mut cells = Vec::new();
        let mut below: Option<Constant> = None;
        for constant in constants {
            let between = Cell::Between(below.clone(), Some(constant.clone()));
            cells.extend(is_possible(&between, range).then_some(between));
            let value = Cell::Value(constant.clone());
            cells.extend(is_possible(&value, range).then_some(value));
            below = Some(constant);
        }
        let above = Cell::Between(below, None);
        cells.extend(is_possible(&above, range).then_some(above));
        cells
    }
}

/// The numbers that an expression can be wherever it is: its own range may hold behind a condition alone.
fn range_of(expr: &Expr) -> Range {
    let whole = Range::of(&expr.ty);
    let least_zero = || whole.intersect(Range::whole(0, i128::MAX));
    match &expr.kind {
        ExprKind::Field(_, field) => match field.def().range {
            Some((lo, hi)) => whole.intersect(Range::whole(lo.into(), hi.into())),
            None => whole,
        },
        ExprKind::Resource(of, _) => match &of.kind {
            ExprKind::Field(_, field)
                if matches!(field.def().meaning, Some(Meaning::Requests | Meaning::Allocatable)) =>
            {
                least_zero()
            }
            _ => whole,
        },
        ExprKind::Call(function, ..) if function.def().counts_elements => least_zero(),
        _ => match floats(expr) {
            Range::None => whole,
            known => whole.intersect(known),
        },
    }
}

/// The floats that an expression can be wherever it is, none of them NaN or infinite; [`Range::None`]: not known.
pub(crate) fn floats(expr: &Expr) -> Range {
    const FAR: f64 = 1e100;
    if *expr.ty.present() != Type::Float {
        return Range::None;
    }
    let combined = |op: ArithmeticOp, left: &Expr, right: &Expr| match (floats(left), floats(right)) {
        (Range::None, _) | (_, Range::None) => Range::None,
        // Far from the ends of their range both languages compute alike.
        (left, right) if left.within(-FAR, FAR) && right.within(-FAR, FAR) => match op {
            ArithmeticOp::Add => left.plus(right),
            ArithmeticOp::Subtract => left.minus(right),
            ArithmeticOp::Multiply => left.times(right),
            ArithmeticOp::Divide | ArithmeticOp::Remainder => Range::None,
        },
        _ => Range::None,
    };
    match &expr.kind {
        ExprKind::Constant(Constant::Float(value)) if value.is_finite() => Range::real(*value, *value),
        ExprKind::Present(inner) => floats(inner),
        ExprKind::Arithmetic(op, left, right) => combined(*op, left, right),
        ExprKind::Dynamic(Operation::Arithmetic(op), args) => match args.as_slice() {
            [left, right] => combined(*op, left, right),
            _ => Range::None,
        },
        ExprKind::Call(function, args, _) if !expr.ty.is_optional() => {
            let args: Vec<Range> = args.iter().map(range_of_argument).collect();
            match function.def().range {
                Some(range) if !args.contains(&Range::None) => range(&args),
                _ => Range::None,
            }
        }
        _ => Range::None,
    }
}

fn range_of_argument(expr: &Expr) -> Range {
    match expr.ty.present() {
        Type::Float => floats(expr),
        _ => range_of(expr),
    }
}

fn is_number(ty: &Type) -> bool {
    !matches!(Range::of(ty), Range::None) || *ty == Type::Time
}

/// Whether a value of the range is in the cell.
fn is_possible(cell: &Cell, range: Range) -> bool {
    let (lo, hi) = match range {
        Range::Whole { lo, hi, .. } => (Some(lo), Some(hi)),
        Range::Real { lo, hi, .. } => return is_possible_float(cell, lo, hi),
        Range::None => (None, None),
    };
    let whole = |constant: &Constant| match constant {
        Constant::Int(value) => Some(i128::from(*value)),
        Constant::Uint(value) => Some(i128::from(*value)),
        _ => None,
    };
    let (least, most) = match cell {
        Cell::Value(value) => (whole(value), whole(value)),
        Cell::Between(below, above) => {
            let least = below.as_ref().map(|of| whole(of).map(|of| of + 1));
            let most = above.as_ref().map(|of| whole(of).map(|of| of - 1));
            // Nothing is known of a constant that is not a whole number.
            if least == Some(None) || most == Some(None) {
                return true;
            }
            (least.flatten(), most.flatten())
        }
        _ => return true,
    };
    let (least, most) = (least.max(lo), [most, hi].into_iter().flatten().min());
    match (least, most) {
        (Some(least), Some(most)) => least <= most,
        _ => true,
    }
}

fn is_possible_float(cell: &Cell, lo: f64, hi: f64) -> bool {
    let float = |of: &Constant| match of {
        Constant::Float(value) => *value,
        _ => f64::NAN,
    };
    match cell {
        Cell::Value(value) => !(float(value) < lo || float(value) > hi),
        Cell::Between(below, above) => {
            let beyond = below.as_ref().is_some_and(|of| float(of) >= hi);
            let before = above.as_ref().is_some_and(|of| float(of) <= lo);
            !beyond && !before
        }
        _ => true,
    }
}

impl Atom {
    /// The outcome in a cell.
    pub(crate) fn in_cell(&self, cell: &Cell) -> Outcome {
        match (cell, &self.test) {
            (Cell::Fault, _) => Outcome::Fault,
            (Cell::Stop, _) => Outcome::Stop,
            (Cell::Absent, _) => Outcome::False,
            (_, Test::Present) => Outcome::True,
            (Cell::Value(value), Test::Holds) => value.holds().into(),
            (Cell::Value(value), Test::OneOf(of)) => of.iter().any(|of| value.equals(of)).into(),
            (Cell::Value(value), Test::Compares(op, constant)) => compare(*op, value, constant).into(),
            // Each constant is at or beyond an end of the interval.
            (Cell::Between(below, above), Test::Compares(op, constant)) => {
                let is_above = below.as_ref().is_some_and(|below| constant.order(below) != Ordering::Greater);
                let is_below = above.as_ref().is_some_and(|above| constant.order(above) != Ordering::Less);
                match op {
                    CompareOp::Less | CompareOp::LessEqual => (is_below && !is_above).into(),
                    CompareOp::Greater | CompareOp::GreaterEqual => is_above.into(),
                }
            }
            (Cell::Order(order), Test::Equal) => order.is_eq().into(),
            (Cell::Order(order), Test::Pair(op)) => match op {
                CompareOp::Less => order.is_lt().into(),
                CompareOp::LessEqual => order.is_le().into(),
                CompareOp::Greater => order.is_gt().into(),
                CompareOp::GreaterEqual => order.is_ge().into(),
            },
            _ => Outcome::False,
        }
    }

    /// The outcomes where the cell of its variable is one of these.
    pub(crate) fn outcomes_in(&self, cells: impl Iterator<Item = usize>) -> Outcomes {
        cells
            .filter_map(|cell| self.outcomes.get(cell))
            .fold(Outcomes::NONE, |all, of| all.or_else((*of).into()))
    }
}
