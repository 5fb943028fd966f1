//! The function of selectors of devices.
//!
//! Source: `k8s.io/dynamic-resource-allocation/cel/compile.go`.

use super::{METHOD, comparisons, refused};
use crate::language::functions::{Absence, Dialects, FunctionDef};
use crate::types::Ty;
use crate::types::value::Value;

/// Values that a list may have: as many as an attribute of a device.
const MOST: usize = 48;

/// The family's rows.
pub(in super::super) static FUNCTIONS: &[FunctionDef] = &[FunctionDef {
    name: "includes",
    dialects: Dialects::DEVICES,
    params: &[Ty::Dyn, Ty::Dyn],
    names: &["attribute", "value"],
    result: Ty::Bool,
    absent: Absence::Maybe,
    body: |args, _| {
        let [attribute, value] = args else { return Value::Absent };
        let same = |item: &Value<'_>| comparisons::equal(item, value).unwrap_or(false);
        let Some(items) = attribute.elements() else { return Value::Bool(same(attribute)) };
        match items.iter().take(MOST).any(same) {
            false if items.len() > MOST => refused(format!("`includes` takes lists of up to {MOST} values")),
            found => Value::Bool(found),
        }
    },
    doc: "true if the attribute is the value, or a list that has it",
    examples: &[("[1, 2].includes(2)", "true")],
    ..METHOD
}];
