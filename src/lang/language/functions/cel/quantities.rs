//! Kubernetes' quantities where CEL has an error or an infinite float. The other functions of quantities are those of
//! the policy language.

use super::{no_overload, of_text, partial};
use crate::language::functions::FunctionDef;
use crate::language::functions::quantities::{AS_APPROXIMATE_FLOAT, made};
use crate::types::Ty;
use crate::types::value::{ExactQuantity, FaultKind, Value};

/// The family's rows.
pub(in super::super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef {
        converts: true,
        ..partial(
            "quantity",
            &[Ty::String],
            Ty::Quantity,
            |args, _| {
                of_text("quantity", args, |text| match ExactQuantity::parse(text) {
                    Ok(amount) => made(amount),
                    Err(why) => {
                        Value::fault(FaultKind::BadConversion, format!("{text:?} is not a quantity: {why}"))
                    }
                })
            },
            "the Kubernetes quantity that a string holds; an error if it holds none",
            &[("quantity('1000m') == quantity('1')", "true")],
        )
    },
    FunctionDef {
        doc: "the double that is closest to the quantity",
        examples: &[("quantity('50m').asApproximateFloat()", "0.05")],
        ..AS_APPROXIMATE_FLOAT.in_cel(|args, _| match args {
            [Value::Quantity(amount)] => Value::Float(amount.approximate()),
            _ => no_overload("asApproximateFloat", args),
        })
    },
];
