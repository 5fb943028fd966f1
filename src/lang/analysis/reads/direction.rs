//! In which direction operands and arguments change a result.

use crate::language::functions::{Absence, FunctionDef, Influence};
use crate::typed::reads::Polarity;
use crate::typed::{ArithmeticOp, Expr};
use crate::types::Type;

/// The directions of both operands of an arithmetic operation.
pub(super) fn of_operands(
    op: ArithmeticOp,
    left: &Expr,
    right: &Expr,
    polarity: Polarity,
) -> (Polarity, Polarity) {
    match op {
        ArithmeticOp::Add => (polarity, polarity),
        ArithmeticOp::Subtract => (polarity, polarity.flip()),
        ArithmeticOp::Multiply => (by_sign(polarity, right), by_sign(polarity, left)),
        ArithmeticOp::Divide => (by_sign(polarity, right), of_divisor(polarity, left, right)),
        ArithmeticOp::Remainder => (Polarity::Any, Polarity::Any),
    }
}

/// The direction of an argument of a function; `may_lack` says that the result may be absent.
pub(super) fn of_argument(
    def: &FunctionDef,
    args: &[Expr],
    at: usize,
    polarity: Polarity,
    may_lack: bool,
) -> Polarity {
    // Arguments then also decide whether there is a result.
    if may_lack && !matches!(def.absent, Absence::Never | Absence::Taken) {
        return Polarity::Any;
    }
    // Of a collection, more elements and greater elements are different things.
    let of_elements = matches!(
        args.get(at).map(|arg| arg.ty.present()),
        Some(Type::List(_) | Type::Set(_) | Type::Map(..))
    );
    if of_elements && !def.counts_elements {
        return Polarity::Any;
    }
    let divisor = (0..args.len()).find(|at| def.influence(*at) == Influence::Divides);
    let divisor = divisor.and_then(|at| args.get(at));
    match (def.influence(at), args.first(), args.get(at)) {
        (Influence::Raises, ..) => divisor.map_or(polarity, |divisor| by_sign(polarity, divisor)),
        (Influence::Lowers, ..) => polarity.flip(),
        (Influence::Divides, Some(part), Some(divisor)) => of_divisor(polarity, part, divisor),
        _ => Polarity::Any,
    }
}

/// The direction of a part whose growth does this to the whole.
pub(super) fn through(polarity: Polarity, influence: Influence) -> Polarity {
    match influence {
        Influence::Raises => polarity,
        Influence::Lowers => polarity.flip(),
        Influence::Divides | Influence::Unknown => Polarity::Any,
    }
}

/// The direction of one factor, or of what is divided, by the sign of the other.
fn by_sign(polarity: Polarity, other: &Expr) -> Polarity {
    match other.range.ends() {
        Some((low, _)) if low >= 0.0 => polarity,
        Some((_, high)) if high <= 0.0 => polarity.flip(),
        _ => Polarity::Any,
    }
}

/// The direction of a divisor. Around 0 a quotient jumps, and at 0 there is none, or it is 0.
fn of_divisor(polarity: Polarity, part: &Expr, divisor: &Expr) -> Polarity {
    match divisor.range.ends() {
        Some((low, high)) if low > 0.0 || high < 0.0 => by_sign(polarity, part).flip(),
        _ => Polarity::Any,
    }
}
