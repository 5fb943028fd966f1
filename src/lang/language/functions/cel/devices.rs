//! The function of selectors of devices.
//!
//! Source: `k8s.io/dynamic-resource-allocation/cel/compile.go` (1.36), `k8s.io/apiserver/pkg/cel/library/lists.go` (1.37).

use super::{METHOD, comparisons, refused};
use crate::language::functions::{Absence, Body, Dialects, FunctionDef};
use crate::types::Ty;
use crate::types::value::Value;

/// Values that a list may have: as many as an attribute of a device.
const MOST: usize = 48;

/// The family's rows.
pub(in super::super) static FUNCTIONS: &[FunctionDef] = &[
    includes(Dialects::DEVICES, |args, _| match args {
        [attribute, value] => is_included(attribute, value, MOST),
        _ => Value::Absent,
    }),
    includes(Dialects::NEWER_DEVICES, |args, _| match args {
        [attribute, value] => is_included(attribute, value, usize::MAX),
        _ => Value::Absent,
    }),
];

const fn includes(dialects: Dialects, body: Body) -> FunctionDef {
    FunctionDef {
        name: "includes",
        dialects,
        params: &[Ty::Dyn, Ty::Dyn],
        names: &["attribute", "value"],
        result: Ty::Bool,
        absent: Absence::Maybe,
        body,
        doc: "true if the attribute is the value, or a list that has it",
        examples: &[("[1, 2].includes(2)", "true")],
        ..METHOD
    }
}

fn is_included<'a>(attribute: &Value<'a>, value: &Value<'a>, most: usize) -> Value<'a> {
    let same = |item: &Value<'_>| comparisons::equal(item, value).unwrap_or(false);
    let Some(items) = attribute.elements() else { return Value::Bool(same(attribute)) };
    match items.iter().take(most).any(same) {
        false if items.len() > most => {
            refused(format!("'includes' function cannot be applied to lists longer than {most} values"))
        }
        found => Value::Bool(found),
    }
}
