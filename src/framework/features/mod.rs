//! Feature gates of Kubernetes as a table: what `--feature-gates` may set, and to which value. `gates` has the gates that
//! concern a scheduler, `other_gates` those of other components. `cli::run` reads the flag; the registry gives the
//! values to plugins.
//!
//! Source: `component-base/featuregate/feature_gate.go`, `pkg/features/kube_features.go`.

mod gates;
mod other_gates;

pub use gates::{GATES, Gate};
pub use other_gates::OTHER_GATES;

use std::collections::BTreeMap;

/// How mature a feature is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// Off unless said; may change or go at any time.
    Alpha,
    /// Complete.
    Beta,
    /// Kept; the gate goes after some releases.
    Ga,
    /// The gate and what it turns off go after some releases.
    Deprecated,
}

impl Stage {
    /// As in the metric `kubernetes_feature_enabled`, where GA is the empty text.
    pub fn word(self) -> &'static str {
        match self {
            Self::Alpha => "ALPHA",
            Self::Beta => "BETA",
            Self::Ga => "",
            Self::Deprecated => "DEPRECATED",
        }
    }
}

/// Which values of a gate this scheduler takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Built {
    /// Both, each with its meaning.
    Both,
    /// Both, and decisions are the same, for this reason.
    Same(&'static str),
    /// The default, for this reason; the other value is refused.
    Fixed(&'static str),
    /// The default, because Kubernetes has locked it.
    Locked,
}

/// A feature gate.
#[derive(Clone, Copy, Debug)]
pub struct GateRow {
    /// Its name in Kubernetes.
    pub name: &'static str,
    /// What it turns on, with the source; empty if it concerns other components only.
    pub what: &'static str,
    /// Its stage in 1.36.
    pub stage: Stage,
    /// Its value unless it is set.
    pub default: bool,
    /// Whether only the default may be set.
    pub locked: bool,
    /// Gates that must be on when it is.
    pub needs: &'static [&'static str],
    /// Which values are taken.
    pub built: Built,
}

/// The values of the gates that concern a scheduler. `default()` is that of Kubernetes 1.36.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Features(u64);

const _: () = assert!(GATES.len() <= u64::BITS as usize);

impl Default for Features {
    fn default() -> Self {
        let on = GATES.iter().enumerate().filter(|(_, row)| row.default);
        Self(on.fold(0, |bits, (at, _)| bits | 1 << at))
    }
}

impl Features {
    /// Whether the gate is on.
    pub fn on(&self, gate: Gate) -> bool {
        self.0 & 1 << gate as u64 != 0
    }

    /// These gates with another value of one of them.
    #[must_use]
    pub fn with(self, gate: Gate, on: bool) -> Self {
        let bit = 1 << gate as u64;
        Self(if on { self.0 | bit } else { self.0 & !bit })
    }
}

/// What is wrong with the text of `--feature-gates`.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum GateError {
    /// A part without `=`.
    #[error("`--feature-gates` has `{0}`, which is not of the form `Name=true`")]
    Form(String),
    /// A value that is neither true nor false.
    #[error("feature gate `{0}` is neither true nor false")]
    Value(String),
    /// A component that is not `kube`.
    #[error("`--feature-gates` has the component `{0}`; the only one is `kube`")]
    Component(String),
    /// A name that no gate has.
    #[error("unrecognized feature gate: {0}")]
    Unknown(String),
    /// The gate has only one value in Kubernetes.
    #[error("cannot set feature gate {name} to {}, feature is locked to {locked}", !locked)]
    Locked {
        /// The gate.
        name: &'static str,
        /// Its value.
        locked: bool,
    },
    /// Gates that need others are on without them.
    #[error("{0} is enabled, but depends on features that are disabled: {1}")]
    Needs(&'static str, String),
    /// Values that are not built.
    #[error("{0}")]
    NotBuilt(String),
}

/// The values of all gates of Kubernetes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FeatureGates {
    /// Values other than the default, and those that were set to it.
    set: BTreeMap<&'static str, bool>,
}

/// Both tables.
fn rows() -> impl Iterator<Item = &'static GateRow> {
    GATES.iter().chain(OTHER_GATES)
}

/// The gates that set all gates of a stage, unless a gate is set itself.
const ALL_OF: [(&str, Stage); 2] = [("AllAlpha", Stage::Alpha), ("AllBeta", Stage::Beta)];

/// The names of all gates.
pub fn gate_names() -> impl Iterator<Item = &'static str> {
    rows().map(|row| row.name).chain(ALL_OF.map(|(name, _)| name))
}

/// A boolean as Go's `strconv.ParseBool` reads it.
fn boolean(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

impl FeatureGates {
    /// Reads parts of the form `Name=true` or `kube:Name=true`; empty parts are left out, and of two values of a gate
    /// the last counts. A gate that is set itself precedes `AllAlpha` and `AllBeta`.
    pub fn parse<'t>(parts: impl IntoIterator<Item = &'t str>) -> Result<Self, GateError> {
        let mut gates = Self::default();
        let mut all = BTreeMap::new();
        for part in parts.into_iter().map(str::trim).filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').ok_or_else(|| GateError::Form(part.to_owned()))?;
            let name = match name.trim().split_once(':') {
                Some(("kube", name)) => name,
                Some((component, _)) => return Err(GateError::Component(component.to_owned())),
                None => name.trim(),
            };
            let value = boolean(value.trim()).ok_or_else(|| GateError::Value(name.to_owned()))?;
            if let Some((_, stage)) = ALL_OF.iter().find(|(all, _)| *all == name) {
                all.insert(stage.word(), value);
                continue;
            }
            let row = rows().find(|row| row.name == name);
            let row = row.ok_or_else(|| GateError::Unknown(name.to_owned()))?;
            if row.locked && row.default != value {
                return Err(GateError::Locked { name: row.name, locked: row.default });
            }
            gates.set.insert(row.name, value);
        }
        for row in rows().filter(|row| !row.locked) {
            if let Some(value) = all.get(row.stage.word()) {
                gates.set.entry(row.name).or_insert(*value);
            }
        }
        let all = ALL_OF.iter().filter_map(|(name, stage)| Some((*name, *all.get(stage.word())?)));
        gates.set.extend(all.collect::<Vec<_>>());
        gates.needs()?;
        gates.built()?;
        Ok(gates)
    }

    /// Refuses a gate that is on without a gate that it needs.
    fn needs(&self) -> Result<(), GateError> {
        let is_off = |name: &&&str| rows().any(|row| row.name == **name && !self.value(row));
        for row in rows().filter(|row| self.value(row)) {
            let off: Vec<&str> = row.needs.iter().filter(is_off).copied().collect();
            if !off.is_empty() {
                return Err(GateError::Needs(row.name, off.join(", ")));
            }
        }
        Ok(())
    }

    /// Refuses values that are not built.
    fn built(&self) -> Result<(), GateError> {
        let refused = GATES.iter().filter(|row| self.value(row) != row.default);
        let refused = refused.filter_map(|row| match row.built {
            Built::Fixed(why) => Some((row, why)),
            _ => None,
        });
        let refused: Vec<String> = refused
            .map(|(row, why)| {
                let (name, default) = (row.name, row.default);
                let way = if default { "off" } else { "on" };
                format!("feature gate `{name}` cannot be turned {way}: {why}; leave it out or write `{name}={default}`")
            })
            .collect();
        if refused.is_empty() { Ok(()) } else { Err(GateError::NotBuilt(refused.join("\n"))) }
    }

    /// The value of a gate.
    fn value(&self, row: &GateRow) -> bool {
        self.set.get(row.name).copied().unwrap_or(row.default)
    }

    /// The values that plugins read.
    pub fn features(&self) -> Features {
        let on = GATES.iter().enumerate().filter(|(_, row)| self.value(row));
        Features(on.fold(0, |bits, (at, _)| bits | 1 << at))
    }

    /// Name, stage and value of every gate, as the metric `kubernetes_feature_enabled` shows them.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, Stage, bool)> {
        let all = ALL_OF.map(|(name, stage)| (name, stage, self.set.get(name) == Some(&true)));
        rows().map(|row| (row.name, row.stage, self.value(row))).chain(all)
    }

    /// The gates that were set, as a flag.
    pub fn flag(&self) -> String {
        let set = self.set.iter().map(|(name, value)| format!("{name}={value}"));
        set.collect::<Vec<_>>().join(",")
    }
}

/// The gates that a user may set, for the help of `--feature-gates`.
pub fn help() -> String {
    let free = GATES.iter().filter(|row| matches!(row.built, Built::Both));
    let line = |row: &GateRow| {
        let stage = row.stage.word();
        format!("  {}=true|false ({stage} - default={})", row.name, row.default)
    };
    let lines: Vec<String> = free.map(line).collect();
    format!(
        "Kubernetes feature gates, as `Name=true,Other=false`. These change something:\n{}\nEvery gate of Kubernetes \
         1.36 is accepted at its default, and so is every gate that concerns other components. `AllAlpha` and `AllBeta` \
         set all gates of a stage.",
        lines.join("\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<FeatureGates, String> {
        FeatureGates::parse(text.split(',')).map_err(|error| error.to_string())
    }

    #[test]
    fn a_gate_has_its_default_unless_it_is_set() {
        let usual = parse("").unwrap();
        assert_eq!(usual.features(), Features::default());
        assert!(usual.features().on(Gate::NodeDeclaredFeatures));
        assert!(!usual.features().on(Gate::TaintTolerationComparisonOperators));
        let set = parse("TaintTolerationComparisonOperators=1,kube:OpportunisticBatching=False").unwrap();
        assert!(set.features().on(Gate::TaintTolerationComparisonOperators));
        assert!(!set.features().on(Gate::OpportunisticBatching));
        assert_eq!(set.flag(), "OpportunisticBatching=false,TaintTolerationComparisonOperators=true");
        let last = parse("OpportunisticBatching=false,OpportunisticBatching=true").unwrap();
        assert_eq!(last.features(), Features::default());
    }

    #[test]
    fn what_cannot_be_set_is_refused_by_name() {
        let said = |text: &str| parse(text).unwrap_err();
        assert_eq!(said("Nonsense=true"), "unrecognized feature gate: Nonsense");
        assert_eq!(
            said("SchedulerQueueingHints=false"),
            "cannot set feature gate SchedulerQueueingHints to false, feature is locked to true"
        );
        assert_eq!(
            said("StorageCapacityScoring=true"),
            "feature gate `StorageCapacityScoring` cannot be turned on: scores of volumes are not built; leave it out \
             or write `StorageCapacityScoring=false`"
        );
        assert_eq!(
            said("GangScheduling=true"),
            "GangScheduling is enabled, but depends on features that are disabled: GenericWorkload"
        );
        assert!(said("wardle:A=true").contains("`wardle`"));
        assert!(said("A").contains("not of the form") && said("A=yes").contains("neither true nor false"));
        // Other components' gates are taken.
        assert!(parse("MemoryQoS=true,SELinuxMount=true").is_ok());
    }

    #[test]
    fn a_gate_that_is_set_itself_precedes_those_for_a_stage() {
        let said = parse("AllAlpha=true").unwrap_err();
        assert!(said.contains("`GenericWorkload` cannot be turned on") && said.lines().count() > 5, "{said}");
        assert!(!said.contains("TaintToleration"), "{said}");
        let refused = GATES.iter().filter(|row| matches!(row.built, Built::Fixed(_)));
        let kept: Vec<String> = refused
            .filter(|row| row.stage == Stage::Alpha)
            .map(|row| format!("{}=false", row.name))
            .chain(["DRAWorkloadResourceClaims=false,WorkloadWithJob=false".to_owned()])
            .collect();
        let all = parse(&format!("AllAlpha=true,{}", kept.join(","))).unwrap();
        assert!(all.features().on(Gate::TaintTolerationComparisonOperators));
        assert!(all.all().any(|row| row == ("MemoryQoS", Stage::Alpha, true)));
        assert!(all.all().any(|row| row == ("AllAlpha", Stage::Alpha, true)));
        assert!(
            parse("AllAlpha=false,AllBeta=false")
                .unwrap_err()
                .contains("`PodLevelResources` cannot be turned off")
        );
    }

    #[test]
    fn a_gate_with_both_values_can_have_the_other() {
        for row in GATES.iter().filter(|row| matches!(row.built, Built::Both | Built::Same(_))) {
            let mut set = BTreeMap::from([(row.name, !row.default)]);
            // With a gate go those that need it off, or those that it needs on.
            loop {
                let count = set.len();
                for other in rows() {
                    if other.needs.iter().any(|name| set.get(name) == Some(&false)) {
                        set.entry(other.name).or_insert(false);
                    }
                    if set.get(other.name) == Some(&true) {
                        for name in other.needs {
                            set.entry(name).or_insert(true);
                        }
                    }
                }
                if set.len() == count {
                    break;
                }
            }
            let text: Vec<String> = set.iter().map(|(name, value)| format!("{name}={value}")).collect();
            assert!(parse(&text.join(",")).is_ok(), "{}: {:?}", row.name, parse(&text.join(",")));
        }
    }

    #[test]
    fn rows_are_consistent() {
        let mut names: Vec<&str> = gate_names().collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!((names.len(), count), (count, 241));
        for row in rows() {
            assert!(row.needs.iter().all(|name| names.binary_search(name).is_ok()), "{row:?}");
            assert_eq!(
                row.locked,
                row.built == Built::Locked || row.what.is_empty() && row.locked,
                "{row:?}"
            );
        }
    }
}
