//! [`SpreadConstraint`]: a topology spread constraint of a pod, parsed.

use super::super::labels::LabelSelector;
use super::super::symbol::Symbol;

/// The pods that a topology spread constraint counts.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum SpreadSelector {
    /// No `labelSelector`: counts no pod.
    None,
    /// The pods that the selector matches, with the values of `matchLabelKeys` merged into it.
    Of(LabelSelector),
    /// The selector cannot be parsed; the text is upstream's.
    Invalid(Box<str>),
}

/// A topology spread constraint, parsed.
///
/// Source: `plugins/podtopologyspread/common.go`, `topologySpreadConstraint`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SpreadConstraint {
    /// `maxSkew`, in pods.
    pub max_skew: i32,
    /// The node label whose values are the domains.
    pub topology_key: Symbol,
    /// `whenUnsatisfiable: DoNotSchedule`; otherwise `ScheduleAnyway`.
    pub hard: bool,
    /// The pods that are counted.
    pub selector: SpreadSelector,
    /// `minDomains`; 1 when it is not given.
    pub min_domains: i32,
    /// `nodeAffinityPolicy: Honor` (the default): only nodes that match the pod's node selector and required node
    /// affinity count.
    pub honor_affinity: bool,
    /// `nodeTaintsPolicy: Honor`: only nodes whose taints the pod tolerates count. The default is `Ignore`.
    pub honor_taints: bool,
    /// `matchLabelKeys`, for explanations: their values are merged into the selector.
    pub match_label_keys: Box<[Symbol]>,
}

impl SpreadConstraint {
    /// The selector; `None` when there is none or it cannot be parsed.
    pub fn selector(&self) -> Option<&LabelSelector> {
        match &self.selector {
            SpreadSelector::Of(selector) => Some(selector),
            SpreadSelector::None | SpreadSelector::Invalid(_) => None,
        }
    }
}
