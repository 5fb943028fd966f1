//! Feature gates of Kubernetes as a table, with the state of each in each version: what `--feature-gates` may set, and to which value. `gates` has the gates that
//! concern a scheduler, `other_gates` those of other components. `cli::run` reads the flag; the registry gives the
//! values to plugins.
//!
//! Source: `component-base/featuregate/feature_gate.go`, `pkg/features/kube_features.go`.

mod gates;
mod other_gates;

pub use gates::{GATES, Gate};
pub use other_gates::OTHER_GATES;

use bayplan_model::{KubernetesVersion, VersionRow, VersionRows};
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

/// What a version of Kubernetes says of a gate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GateState {
    /// How mature it is.
    pub stage: Stage,
    /// Its value unless it is set.
    pub default: bool,
    /// Whether only the default may be set.
    pub locked: bool,
}

/// A feature gate.
#[derive(Clone, Copy, Debug)]
pub struct GateRow {
    /// Its name in Kubernetes.
    pub name: &'static str,
    /// What it turns on, with the source; empty if it concerns other components only.
    pub what: &'static str,
    /// What each version says of it, in the order of [`KubernetesVersion::ALL`]; `None`: the version does not have it.
    pub states: [Option<GateState>; KubernetesVersion::ALL.len()],
    /// Gates that must be on when it is, of those that the version has.
    pub needs: &'static [&'static str],
    /// More of them since 1.37.
    pub needs_since_1_37: &'static [&'static str],
    /// Whether it is on by default where all components have the newest version.
    pub on_among_newest: bool,
    /// Which values are taken.
    pub built: Built,
}

impl GateRow {
    /// What a version says of it.
    pub fn state(&self, version: KubernetesVersion) -> Option<GateState> {
        self.states.get(version as usize).copied().flatten()
    }
}

/// Whose gates count: those of a binary, as a version had them that it emulates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GatesOf {
    /// The version of the binary.
    pub binary: KubernetesVersion,
    /// The version that gives stages, defaults and locks: `--emulated-version`.
    pub emulated: KubernetesVersion,
    /// Whether all other components have the newest version that is known: `--min-compatibility-version=1.37`.
    pub among_newest: bool,
}

impl Default for GatesOf {
    fn default() -> Self {
        Self::version(KubernetesVersion::default())
    }
}

impl GatesOf {
    /// The gates of a version, nothing emulated, beside components of the version before.
    pub fn version(version: KubernetesVersion) -> Self {
        Self { binary: version, emulated: version, among_newest: false }
    }

    /// What is true of a gate; `None`: there is no such gate.
    fn state(self, row: &GateRow) -> Option<GateState> {
        let state = row.state(self.binary).and(row.state(self.emulated))?;
        Some(GateState { default: state.default || self.among_newest && row.on_among_newest, ..state })
    }

    /// The gates that must be on when this one is.
    fn needs(self, row: &GateRow) -> impl Iterator<Item = &'static str> {
        let since = if self.binary >= KubernetesVersion::V1_37 { row.needs_since_1_37 } else { &[] };
        let known = move |name: &&str| rows().any(|row| row.name == *name && self.state(row).is_some());
        row.needs.iter().chain(since).copied().filter(known)
    }
}

/// What a plugin is made for: the values of the gates that concern a scheduler, and the rows of the version. `default()`
/// is that of Kubernetes 1.37.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Features {
    on: u128,
    rows: VersionRows,
}

const _: () = assert!(GATES.len() <= u128::BITS as usize);

impl Default for Features {
    fn default() -> Self {
        Self::of(KubernetesVersion::default())
    }
}

impl Features {
    /// Those of a version, with the defaults of its gates.
    pub fn of(version: KubernetesVersion) -> Self {
        FeatureGates { of: GatesOf::version(version), set: BTreeMap::new() }.features()
    }

    /// 1.36 with some of the rows of 1.37. A row with a gate moves its default.
    pub fn under(rows: VersionRows) -> Self {
        let mut features = Self { rows, ..Self::of(KubernetesVersion::V1_36) };
        for row in VersionRow::ALL.iter().filter(|row| rows.has(**row)) {
            if let Some(at) = GATES.iter().position(|gate| gate.name == row.def().gate) {
                features.on |= 1 << at;
            }
        }
        features
    }

    /// Whether the gate is on.
    pub fn on(&self, gate: Gate) -> bool {
        self.on & 1 << gate as u128 != 0
    }

    /// The rows of the version.
    pub fn rows(&self) -> VersionRows {
        self.rows
    }

    /// Whether the version has a row.
    pub fn has(&self, row: VersionRow) -> bool {
        self.rows.has(row)
    }

    /// These gates with another value of one of them.
    #[must_use]
    pub fn with(self, gate: Gate, on: bool) -> Self {
        let bit = 1 << gate as u128;
        Self { on: if on { self.on | bit } else { self.on & !bit }, ..self }
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
    /// A name that no gate of the version has. The second text says which version has it, or which name is near.
    #[error("unrecognized feature gate: {0}{1}")]
    Unknown(String, String),
    /// The version that is emulated does not have the gate yet.
    #[error("cannot set feature gate {name} to {value}, feature is PreAlpha at emulated version {emulated}")]
    PreAlpha {
        /// The gate.
        name: &'static str,
        /// The value that was given.
        value: bool,
        /// The version that is emulated.
        emulated: KubernetesVersion,
    },
    /// The gate has only one value in Kubernetes.
    #[error("cannot set feature gate {name} to {}, feature is locked to {locked}", !locked)]
    Locked {
        /// The gate.
        name: &'static str,
        /// Its value.
        locked: bool,
    },
    /// Gates that need others are on without them.
    #[error("{0} is enabled, but depends on features that are disabled: [{1}]")]
    Needs(&'static str, String),
    /// Values that are not built.
    #[error("{0}")]
    NotBuilt(String),
}

/// The values of all gates of Kubernetes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FeatureGates {
    of: GatesOf,
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
    pub fn parse<'t>(of: GatesOf, parts: impl IntoIterator<Item = &'t str>) -> Result<Self, GateError> {
        let mut gates = Self { of, ..Self::default() };
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
            let row = rows().find(|row| row.name == name && row.state(of.binary).is_some());
            let row = row.ok_or_else(|| GateError::Unknown(name.to_owned(), elsewhere(name, of.binary)))?;
            let Some(state) = of.state(row) else {
                return Err(GateError::PreAlpha { name: row.name, value, emulated: of.emulated });
            };
            if state.locked && state.default != value {
                return Err(GateError::Locked { name: row.name, locked: state.default });
            }
            gates.set.insert(row.name, value);
        }
        for (row, state) in rows().filter_map(|row| Some((row, of.state(row)?))) {
            if let Some(value) = all.get(state.stage.word()).filter(|_| !state.locked) {
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
        let is_off = |name: &&str| rows().any(|row| row.name == *name && !self.value(row));
        for row in rows().filter(|row| self.value(row)) {
            let off: Vec<&str> = self.of.needs(row).filter(is_off).collect();
            if !off.is_empty() {
                return Err(GateError::Needs(row.name, off.join(" ")));
            }
        }
        Ok(())
    }

    /// Refuses values that are not built.
    fn built(&self) -> Result<(), GateError> {
        let known = GATES.iter().filter_map(|row| Some((row, self.of.state(row)?.default)));
        let refused = known.filter(|(row, default)| self.value(row) != *default);
        let refused = refused.filter_map(|(row, default)| match row.built {
            Built::Fixed(why) => Some((row.name, default, why)),
            _ => None,
        });
        let refused: Vec<String> = refused
            .map(|(name, default, why)| {
                let way = if default { "off" } else { "on" };
                format!("feature gate `{name}` cannot be turned {way}: {why}; leave it out or write `{name}={default}`")
            })
            .collect();
        if refused.is_empty() { Ok(()) } else { Err(GateError::NotBuilt(refused.join("\n"))) }
    }

    /// The value of a gate; off where there is no such gate.
    fn value(&self, row: &GateRow) -> bool {
        let default = || self.of.state(row).is_some_and(|state| state.default);
        self.set.get(row.name).copied().unwrap_or_else(default)
    }

    /// What plugins are made for.
    pub fn features(&self) -> Features {
        let on = GATES.iter().enumerate().filter(|(_, row)| self.value(row));
        Features { on: on.fold(0, |bits, (at, _)| bits | 1 << at), rows: VersionRows::of(self.of.binary) }
    }

    /// Name, stage and value of every gate, as the metric `kubernetes_feature_enabled` shows them.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, Stage, bool)> {
        let all = ALL_OF.map(|(name, stage)| (name, stage, self.set.get(name) == Some(&true)));
        rows().filter_map(|row| Some((row.name, self.of.state(row)?.stage, self.value(row)))).chain(all)
    }

    /// The gates that were set, as a flag.
    pub fn flag(&self) -> String {
        let set = self.set.iter().map(|(name, value)| format!("{name}={value}"));
        set.collect::<Vec<_>>().join(",")
    }
}

/// What to say of a gate that a version does not have.
fn elsewhere(name: &str, version: KubernetesVersion) -> String {
    let mut others = KubernetesVersion::ALL.into_iter().filter(|other| *other != version);
    let has = |other: &KubernetesVersion| rows().any(|row| row.name == name && row.state(*other).is_some());
    match others.find(has) {
        Some(other) if other < version => format!(" (Kubernetes {version} has removed it; leave it out)"),
        Some(other) => format!(" (Kubernetes {other} has it, and this is `--kubernetes {version}`)"),
        None => String::new(),
    }
}

/// The gates that a user may set, for the help of `--feature-gates`.
pub fn help() -> String {
    let version = KubernetesVersion::default();
    let free = GATES.iter().filter(|row| row.built == Built::Both);
    let free = free.filter_map(|row| Some((row.name, row.state(version).filter(|state| !state.locked)?)));
    let line = |(name, state): (&str, GateState)| {
        format!("  {name}=true|false ({} - default={})", state.stage.word(), state.default)
    };
    let lines: Vec<String> = free.map(line).collect();
    format!(
        "Kubernetes feature gates, as `Name=true,Other=false`. These change something:\n{}\nEvery gate of Kubernetes \
         {version}, or of the version that `--kubernetes` names, is accepted at its default, and so is every gate that \
         concerns other components. `AllAlpha` and `AllBeta` set all gates of a stage.",
        lines.join("\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLDER: GatesOf =
        GatesOf { binary: KubernetesVersion::V1_36, emulated: KubernetesVersion::V1_36, among_newest: false };

    fn parse(text: &str) -> Result<FeatureGates, String> {
        parse_as(OLDER, text)
    }

    fn parse_as(of: GatesOf, text: &str) -> Result<FeatureGates, String> {
        FeatureGates::parse(of, text.split(',')).map_err(|error| error.to_string())
    }

    #[test]
    fn a_gate_has_its_default_unless_it_is_set() {
        let usual = parse("").unwrap();
        assert_eq!(usual.features(), Features::of(KubernetesVersion::V1_36));
        assert!(usual.features().on(Gate::NodeDeclaredFeatures));
        assert!(!usual.features().on(Gate::TaintTolerationComparisonOperators));
        let set = parse("TaintTolerationComparisonOperators=1,kube:OpportunisticBatching=False").unwrap();
        assert!(set.features().on(Gate::TaintTolerationComparisonOperators));
        assert!(!set.features().on(Gate::OpportunisticBatching));
        assert_eq!(set.flag(), "OpportunisticBatching=false,TaintTolerationComparisonOperators=true");
        let last = parse("OpportunisticBatching=false,OpportunisticBatching=true").unwrap();
        assert_eq!(last.features(), Features::of(KubernetesVersion::V1_36));
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
            said("GenericWorkload=true"),
            "feature gate `GenericWorkload` cannot be turned on: groups of pods are not built; leave it out or write \
             `GenericWorkload=false`"
        );
        assert_eq!(
            said("GangScheduling=true"),
            "GangScheduling is enabled, but depends on features that are disabled: [GenericWorkload]"
        );
        assert!(said("wardle:A=true").contains("`wardle`"));
        assert!(said("A").contains("not of the form") && said("A=yes").contains("neither true nor false"));
        // Other components' gates are taken.
        assert!(parse("MemoryQoS=true,SELinuxMount=true").is_ok());
    }

    #[test]
    fn gates_of_devices_have_their_meaning_or_are_refused_by_name() {
        let newer = |text: &str| parse_as(GatesOf::version(KubernetesVersion::V1_37), text);
        let [of_older, of_newer] = [parse("").unwrap().features(), newer("").unwrap().features()];
        assert!(!of_older.on(Gate::DRADeviceTaintRules) && of_newer.on(Gate::DRADeviceTaintRules));
        assert!(of_older.on(Gate::DRAConsumableCapacity) && !of_newer.on(Gate::DRAFractionalCapacityRange));
        assert!(parse("DRADeviceTaintRules=true").unwrap().features().on(Gate::DRADeviceTaintRules));
        assert!(!newer("DRADeviceTaintRules=false").unwrap().features().on(Gate::DRADeviceTaintRules));
        assert!(!parse("DRADeviceTaints=false").unwrap().features().on(Gate::DRADeviceTaints));
        assert_eq!(
            newer("DRADeviceTaints=false").unwrap_err(),
            "DRADeviceTaintRules is enabled, but depends on features that are disabled: [DRADeviceTaints]"
        );
        assert_eq!(
            parse("DRAResourceClaimDeviceStatus=false,DRAResourceClaimGranularStatusAuthorization=false")
                .unwrap_err(),
            "DRADeviceBindingConditions is enabled, but depends on features that are disabled: \
             [DRAResourceClaimDeviceStatus]"
        );
        assert_eq!(
            newer("DRAConsumableCapacity=false,DRAFractionalCapacityRange=true").unwrap_err(),
            "DRAFractionalCapacityRange is enabled, but depends on features that are disabled: [DRAConsumableCapacity]"
        );
        let among_newest = GatesOf { among_newest: true, ..GatesOf::version(KubernetesVersion::V1_37) };
        assert!(parse_as(among_newest, "").unwrap().features().on(Gate::DRAFractionalCapacityRange));
        for name in [
            "DRAListTypeAttributes",
            "DRANodeAllocatableResources",
            "DRADerivedAttributes",
            "DRADeviceCompatibilityGroups",
            "DRAOptionalNodeOperations",
        ] {
            let said = newer(&format!("{name}=true")).unwrap_err();
            assert!(said.starts_with(&format!("feature gate `{name}` cannot be turned on: ")), "{said}");
            assert!(newer(&format!("{name}=false")).is_ok(), "{name}");
        }
    }

    #[test]
    fn a_gate_that_is_set_itself_precedes_those_for_a_stage() {
        let said = parse("AllAlpha=true").unwrap_err();
        assert!(said.contains("`GenericWorkload` cannot be turned on") && said.lines().count() > 5, "{said}");
        assert!(!said.contains("TaintToleration"), "{said}");
        let refused = GATES.iter().filter(|row| matches!(row.built, Built::Fixed(_)));
        let kept: Vec<String> = refused
            .filter(|row| row.state(OLDER.binary).is_some_and(|state| state.stage == Stage::Alpha))
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
        for of in KubernetesVersion::ALL.map(GatesOf::version) {
            let known = || rows().filter_map(move |row| Some((row, of.state(row)?)));
            let free = known().filter(|(_, state)| !state.locked);
            for (row, state) in free.filter(|(row, _)| matches!(row.built, Built::Both | Built::Same(_))) {
                let mut set = BTreeMap::from([(row.name, !state.default)]);
                // With a gate go those that need it off, or those that it needs on.
                loop {
                    let count = set.len();
                    for (other, _) in known() {
                        if of.needs(other).any(|name| set.get(name) == Some(&false)) {
                            set.entry(other.name).or_insert(false);
                        }
                        if set.get(other.name) == Some(&true) {
                            for name in of.needs(other) {
                                set.entry(name).or_insert(true);
                            }
                        }
                    }
                    if set.len() == count {
                        break;
                    }
                }
                let text: Vec<String> = set.iter().map(|(name, value)| format!("{name}={value}")).collect();
                let refused = parse_as(of, &text.join(",")).err();
                // A gate that goes along may be one whose other value is not built, or locked.
                let along = |said: &String| set.keys().any(|name| *name != row.name && said.contains(name));
                assert!(refused.as_ref().is_none_or(along), "{}: {refused:?}", row.name);
            }
        }
    }

    #[test]
    fn a_version_has_its_own_gates() {
        let newer = |text: &str| parse_as(GatesOf::version(KubernetesVersion::V1_37), text);
        let said = |text: &str| newer(text).unwrap_err();
        assert!(
            said("SchedulerQueueingHints=true")
                .starts_with("unrecognized feature gate: SchedulerQueueingHints")
        );
        assert_eq!(
            said("NodeDeclaredFeatures=false"),
            "cannot set feature gate NodeDeclaredFeatures to false, feature is locked to true"
        );
        let said = parse("NodeDeclaredFeatures=false").unwrap_err();
        assert!(
            said.ends_with("is enabled, but depends on features that are disabled: [NodeDeclaredFeatures]"),
            "{said}"
        );
        assert!(parse("SchedulerPreQueueingHints=true").unwrap_err().contains("Kubernetes 1.37 has it"));
        let usual = newer("").unwrap().features();
        assert!(usual.on(Gate::StorageCapacityScoring) && usual.on(Gate::VolumeLimitScaling));
        assert!(!newer("StorageCapacityScoring=false").unwrap().features().on(Gate::StorageCapacityScoring));
    }

    #[test]
    fn an_emulated_version_has_the_gates_of_both() {
        let newest = GatesOf::version(KubernetesVersion::V1_37);
        let of = GatesOf { emulated: KubernetesVersion::V1_36, ..newest };
        let features = parse_as(of, "").unwrap().features();
        assert!(!features.on(Gate::StorageCapacityScoring) && features.has(VersionRow::ImageVolumes));
        assert!(parse_as(of, "SidecarContainers=true").unwrap_err().contains("unrecognized"));
        assert_eq!(
            parse_as(of, "SchedulerPreQueueingHints=true").unwrap_err(),
            "cannot set feature gate SchedulerPreQueueingHints to true, feature is PreAlpha at emulated version 1.36"
        );
    }

    #[test]
    fn single_rows_move_the_defaults_of_their_gates() {
        let older = VersionRows::of(KubernetesVersion::V1_36);
        let one = Features::under(older.with(VersionRow::MissingDrivers, true));
        assert!(one.on(Gate::VolumeLimitScaling) && !one.on(Gate::StorageCapacityScoring));
        assert_eq!(Features::under(older), Features::of(KubernetesVersion::V1_36));
    }

    #[test]
    fn rows_are_consistent() {
        let mut names: Vec<&str> = gate_names().collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
        for (version, expected) in KubernetesVersion::ALL.into_iter().zip([COUNT_1_36, COUNT_1_37]) {
            let of = GatesOf::version(version);
            assert_eq!(
                rows().filter(|row| of.state(row).is_some()).count() + ALL_OF.len(),
                expected,
                "{version}"
            );
        }
        for row in rows() {
            let needs = row.needs.iter().chain(row.needs_since_1_37);
            assert!(needs.into_iter().all(|name| names.binary_search(name).is_ok()), "{row:?}");
            assert!(row.states.iter().any(Option::is_some), "{row:?}");
            if row.built == Built::Locked {
                assert!(row.states.iter().flatten().all(|state| state.locked), "{row:?}");
            }
        }
    }

    /// As many as kube-scheduler of the version knows, `AllAlpha` and `AllBeta` with them.
    const COUNT_1_36: usize = 241;
    const COUNT_1_37: usize = 253;
}
