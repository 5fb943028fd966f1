//! What a fault of a rule in CEL becomes: a refusal by error, or the error of the attempt.

use super::PolicyPlugin;
use crate::framework::Status;
use crate::lang::syntax::ast::OnError;
use crate::lang::types::value::Fault;

/// The text of a refusal by error.
pub(super) const EVALUATION_ERROR: &str = "evaluation error";

impl PolicyPlugin {
    /// The status after a fault of a rule. Evicting pods may help a refusal by error, unless nothing that the rule
    /// reads depends on them.
    pub(super) fn failed(&self, rule: u16, on_error: OnError, fault: &Fault, resolvable: bool) -> Status {
        let name = usize::from(rule).checked_sub(1).and_then(|at| self.rules.get(at));
        let name = name.map_or("applies when", |name| name.as_str());
        let rule_of_policy = format!("{}/{name}", self.compiled.name());
        let status = match (on_error, resolvable) {
            (OnError::Error, _) => Status::error(format!("{rule_of_policy}: {}", fault.message)),
            (_, true) => Status::unschedulable(format!("{rule_of_policy}: {EVALUATION_ERROR}")),
            (_, false) => Status::unresolvable(format!("{rule_of_policy}: {EVALUATION_ERROR}")),
        };
        status.of_rule(rule)
    }
}
