//! [`Status`]: why a plugin refused. It is the error side of every result of a plugin; success is `Ok`.
//!
//! A status has its reasons as one symbol: it is cheap to clone, and a plugin makes one without a context. Range
//! forms of filters write words of 64 rows with the number of a status, so that a pass over nodes clones none.

use super::plugin_id::PluginId;
use bayplan_model::Symbol;
use std::sync::Arc;

/// What a refusal means for the queue and for preemption. Numbers are upstream's, for logs and metrics.
///
/// Source: `staging/src/k8s.io/kube-scheduler/framework/interface.go`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Code {
    /// An internal failure; the attempt ends and the pod backs off.
    Error = 1,
    /// Refused; evicting pods may help.
    Unschedulable = 2,
    /// Refused; evicting pods does not help.
    UnschedulableAndUnresolvable = 3,
    /// Refused until something the plugin waits for has happened.
    Pending = 6,
}

impl Code {
    /// The name as upstream writes it.
    pub fn name(self) -> &'static str {
        match self {
            Code::Error => "Error",
            Code::Unschedulable => "Unschedulable",
            Code::UnschedulableAndUnresolvable => "UnschedulableAndUnresolvable",
            Code::Pending => "Pending",
        }
    }
}

/// A rule of a plugin that ended with an error instead of an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RuleFault {
    /// The name of the rule.
    pub rule: Symbol,
    /// Where it failed, as people name it (`gpu.yaml:12`); empty if that is not known.
    pub place: Box<str>,
    /// What went wrong, with the values.
    pub message: Arc<str>,
}

/// The fault that a status comes from. Comparisons leave it out: statuses of nodes at which one rule failed on
/// different values are equal, so that they are counted and kept as one.
#[derive(Clone, Default, Debug)]
struct Cause(Option<Arc<RuleFault>>);

impl PartialEq for Cause {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Cause {}

impl std::hash::Hash for Cause {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
}

/// Separates the reasons inside their symbol; no reason contains it.
const SEPARATOR: char = '\u{1f}';
/// One reason that is empty.
const BLANK: &str = "\u{1f}";

/// A refusal: code, the plugin that refuses, and its reasons. Cheap to clone.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Status {
    /// Its meaning.
    pub code: Code,
    /// The plugin that refuses. Set by the framework, not by the plugin.
    pub plugin: PluginId,
    /// The number of the plugin's rule that refuses, from 1 ([`RulePlugin::rules`](super::RulePlugin::rules));
    /// 0 without one.
    pub rule: u16,
    /// Whether no node that does not exist yet could pass either: the refusal reads nothing of nodes.
    pub no_node_helps: bool,
    reasons: Symbol,
    cause: Cause,
}

impl Status {
    /// A refusal with one reason.
    #[inline]
    pub fn new(code: Code, reason: impl Into<Symbol>) -> Self {
        Self {
            code,
            plugin: PluginId::NONE,
            rule: 0,
            no_node_helps: false,
            reasons: reason.into(),
            cause: Cause::default(),
        }
    }

    /// A refusal with one reason, which counts also when it is empty: extenders give such.
    pub fn with_reason(code: Code, reason: &str) -> Self {
        Self::new(code, if reason.is_empty() { BLANK } else { reason })
    }

    /// A refusal with several reasons, in order.
    pub fn with_reasons<'r>(code: Code, reasons: impl IntoIterator<Item = &'r str>) -> Self {
        let mut joined = String::new();
        for reason in reasons {
            if !joined.is_empty() {
                joined.push(SEPARATOR);
            }
            joined.push_str(reason);
        }
        Self::new(code, joined)
    }

    /// Refused; evicting pods may help.
    pub fn unschedulable(reason: impl Into<Symbol>) -> Self {
        Self::new(Code::Unschedulable, reason)
    }

    /// Refused; evicting pods does not help.
    pub fn unresolvable(reason: impl Into<Symbol>) -> Self {
        Self::new(Code::UnschedulableAndUnresolvable, reason)
    }

    /// Refused until something the plugin waits for has happened.
    pub fn pending(reason: impl Into<Symbol>) -> Self {
        Self::new(Code::Pending, reason)
    }

    /// An internal failure.
    pub fn error(reason: impl Into<Symbol>) -> Self {
        Self::new(Code::Error, reason)
    }

    /// This status; `helps_not`: no node that does not exist yet could pass either.
    pub fn whatever_the_node(mut self, helps_not: bool) -> Self {
        self.no_node_helps = helps_not;
        self
    }

    /// This status, attributed to `plugin`.
    #[inline]
    pub fn by(mut self, plugin: PluginId) -> Self {
        self.plugin = plugin;
        self
    }

    /// This status, attributed to a rule of the plugin.
    #[inline]
    pub fn of_rule(mut self, rule: u16) -> Self {
        self.rule = rule;
        self
    }

    /// This status, with the fault of a rule as its cause.
    pub fn because(mut self, fault: Arc<RuleFault>) -> Self {
        self.cause = Cause(Some(fault));
        self
    }

    /// This status, with the cause of `other`.
    pub fn because_of(mut self, other: &Self) -> Self {
        self.cause = other.cause.clone();
        self
    }

    /// The fault that it comes from.
    #[inline]
    pub fn fault(&self) -> Option<&Arc<RuleFault>> {
        self.cause.0.as_ref()
    }

    /// The reasons in order.
    pub fn reasons(&self) -> impl Iterator<Item = &str> {
        let blank = self.reasons.as_str() == BLANK;
        self.reasons.split(SEPARATOR).filter(|reason| !reason.is_empty()).chain(blank.then_some(""))
    }

    /// The reasons joined with `, `, as upstream's `Status.Message()`.
    pub fn message(&self) -> String {
        self.reasons().collect::<Vec<_>>().join(", ")
    }

    /// Whether the pod was refused (and not: something failed).
    #[inline]
    pub fn is_rejected(&self) -> bool {
        self.code != Code::Error
    }
}
