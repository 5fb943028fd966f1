//! `PodTopologySpreadArgs`: the constraints of pods that have none of their own.
//!
//! Source: `pkg/scheduler/apis/config/validation/validation_pluginargs.go`, `ValidatePodTopologySpreadArgs`.

use bayplan_framework::{ArgsError, Field, Fields, Tree};
use bayplan_model::{SpreadConstraint, SpreadSelector, Symbol, key_problem};

pub(super) const HOSTNAME: &str = "kubernetes.io/hostname";
const ZONE: &str = "topology.kubernetes.io/zone";

/// The constraints of pods that have none, without their selectors, which come from Services and controllers.
#[derive(Debug)]
pub(super) struct Defaults {
    /// In the order of the arguments.
    pub(super) constraints: Vec<SpreadConstraint>,
    /// `defaultingType: System`: the constraints are those of Kubernetes, and nodes without one of their labels count.
    pub(super) system: bool,
}

/// A soft constraint of Kubernetes' own.
fn preferably(max_skew: i32, topology_key: &str) -> SpreadConstraint {
    SpreadConstraint {
        max_skew,
        topology_key: Symbol::new(topology_key),
        hard: false,
        selector: SpreadSelector::None,
        min_domains: 1,
        honor_affinity: true,
        honor_taints: false,
        match_label_keys: Box::default(),
    }
}

impl Defaults {
    /// Reads the arguments.
    pub(super) fn read(args: &Tree, errors: &mut Vec<ArgsError>) -> Self {
        let known = ["apiVersion", "kind", "defaultConstraints", "defaultingType"];
        let fields = Field::root(args).object(&known, errors);
        let list = fields.get("defaultConstraints").map(|list| list.list(errors)).unwrap_or_default();
        let kind = fields.get("defaultingType").and_then(|kind| kind.string(errors)).unwrap_or_default();
        let system = match kind {
            "" | "System" => true,
            "List" => false,
            other => {
                let error = fields.place("defaultingType").error(format!("unsupported value `{other}`"));
                errors.push(error.with_help("write one of `System`, `List`"));
                false
            }
        };
        if system && !list.is_empty() {
            let error = fields.place("defaultingType").error("when .defaultConstraints are not empty");
            errors.push(error.with_help("write `defaultingType: List`"));
        }
        let mut constraints: Vec<SpreadConstraint> = Vec::new();
        for place in &list {
            let Some(constraint) = read_constraint(place, errors) else { continue };
            let twin = |other: &SpreadConstraint| {
                (&other.topology_key, other.hard) == (&constraint.topology_key, constraint.hard)
            };
            if constraints.iter().any(twin) {
                let when = if constraint.hard { "DoNotSchedule" } else { "ScheduleAnyway" };
                let text = format!("duplicate value `{{{}, {when}}}`", constraint.topology_key);
                errors.push(place.error(text));
            }
            constraints.push(constraint);
        }
        match system {
            true => Self { constraints: vec![preferably(3, HOSTNAME), preferably(5, ZONE)], system },
            false => Self { constraints, system },
        }
    }
}

/// A number of 32 bits; `missing` when the field is not there.
fn read_number(fields: &Fields, name: &str, missing: i32, errors: &mut Vec<ArgsError>) -> i32 {
    let Some(field) = fields.get(name) else { return missing };
    let Some(number) = field.int(errors) else { return missing };
    i32::try_from(number).unwrap_or_else(|_| {
        errors.push(field.error(format!("{number} does not fit 32 bits")));
        missing
    })
}

/// A constraint of the list; `None` when key or action are missing.
fn read_constraint(place: &Field, errors: &mut Vec<ArgsError>) -> Option<SpreadConstraint> {
    let known = [
        "maxSkew",
        "topologyKey",
        "whenUnsatisfiable",
        "labelSelector",
        "minDomains",
        "nodeAffinityPolicy",
        "nodeTaintsPolicy",
        "matchLabelKeys",
    ];
    let fields = place.object(&known, errors);
    let before = errors.len();
    let max_skew = read_number(&fields, "maxSkew", 0, errors);
    if max_skew <= 0 && errors.len() == before {
        errors.push(fields.place("maxSkew").error("not in valid range (0, inf)"));
    }
    let key = fields.get("topologyKey").and_then(|key| key.string(errors)).unwrap_or_default();
    let problem = if key.is_empty() { Some(String::from("can not be empty")) } else { key_problem(key) };
    errors.extend(problem.map(|problem| fields.place("topologyKey").error(problem)));
    let when = fields.get("whenUnsatisfiable").and_then(|when| when.string(errors)).unwrap_or_default();
    let when_place = fields.place("whenUnsatisfiable");
    match when {
        "DoNotSchedule" | "ScheduleAnyway" => {}
        "" => errors.push(when_place.error("can not be empty")),
        other => {
            let error = when_place.error(format!("unsupported value `{other}`"));
            errors.push(error.with_help("write one of `DoNotSchedule`, `ScheduleAnyway`"));
        }
    }
    if let Some(selector) = fields.get("labelSelector") {
        let text = "constraint must not define a selector, as they deduced for each pod";
        errors.push(selector.error(text).with_help("leave `labelSelector` out"));
    }
    if let Some(keys) = fields.get("matchLabelKeys") {
        // The selector that is deduced for a pod replaces the one that they would be merged into.
        for key in keys.list(errors) {
            let _ = key.string(errors);
        }
    }
    let mut honors = |name: &str, missing: bool| match fields.get(name) {
        Some(policy) => policy.string(errors).map_or(missing, |policy| policy == "Honor"),
        None => missing,
    };
    let (honor_affinity, honor_taints) =
        (honors("nodeAffinityPolicy", true), honors("nodeTaintsPolicy", false));
    let min_domains = read_number(&fields, "minDomains", 1, errors);
    (errors.len() == before).then(|| SpreadConstraint {
        max_skew,
        topology_key: Symbol::new(key),
        hard: when == "DoNotSchedule",
        selector: SpreadSelector::None,
        min_domains,
        honor_affinity,
        honor_taints,
        match_label_keys: Box::default(),
    })
}
