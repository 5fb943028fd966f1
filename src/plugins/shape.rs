//! A broken line over utilization, as arguments of plugins have it in `shape`.
//!
//! Source: `pkg/scheduler/framework/plugins/helper/shape_score.go`, `BuildBrokenLinearFunction`;
//! `pkg/scheduler/apis/config/validation/validation_pluginargs.go`, `validateFunctionShape`.

use bayplan_framework::{ArgsError, Field, TreeValue};

/// The value at `x` of the broken line through `points`, flat outside of them.
pub(super) fn on_line(points: &[(i64, i64)], x: i64) -> i64 {
    let Some(at) = points.iter().position(|(end, _)| x <= *end) else {
        return points.last().map_or(0, |(_, y)| *y);
    };
    let (x1, y1) = points[at];
    match at.checked_sub(1).and_then(|before| points.get(before)) {
        None => y1,
        Some((x0, y0)) => y0 + (y1 - y0) * (x - x0) / (x1 - x0),
    }
}

/// The points of a shape, scores times ten.
pub(super) fn read_shape(field: &Field, errors: &mut Vec<ArgsError>) -> Vec<(i64, i64)> {
    let mut points: Vec<(i64, i64)> = Vec::new();
    let list = if matches!(field.tree.value, TreeValue::List(_)) { field.list(errors) } else { Vec::new() };
    if list.is_empty() {
        errors.push(field.error("at least one point must be specified"));
    }
    for point in list {
        let fields = point.object(&["utilization", "score"], errors);
        let read = |name: &str, most: i64, errors: &mut Vec<ArgsError>| {
            let value = fields.get(name).and_then(|value| value.int(errors)).unwrap_or(0);
            if !(0..=most).contains(&value) {
                errors.push(fields.place(name).error(format!("not in valid range [0, {most}]")));
            }
            value
        };
        let (utilization, score) = (read("utilization", 100, errors), read("score", 10, errors));
        if points.last().is_some_and(|(before, _)| *before >= utilization) {
            errors.push(fields.place("utilization").error("values must be sorted in increasing order"));
        }
        points.push((utilization, score * 10));
    }
    points
}
