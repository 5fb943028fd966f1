//! Events about rules that failed, on the objects of their policies: at most one a minute for an object, with every rule
//! that failed since the one before. `source` asks the scheduler for the faults, `writer`
//! writes the Events.

use super::verdict::ObjectName;
use bayplan_model::Symbol;
use bayplan_scheduler::RuleErrors;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::Instant;

/// The least time between two Events about the faults of an object.
const APART: Duration = Duration::from_secs(60);
/// The most rules that an Event names.
const NAMED: usize = 5;

/// What has been told.
#[derive(Default)]
pub(super) struct FaultReports {
    /// The count of each rule, by policy and rule, when an Event last named it.
    told: BTreeMap<(Symbol, Symbol), u64>,
    /// When an object last got an Event.
    last: BTreeMap<ObjectName, Instant>,
}

impl FaultReports {
    /// The notes of the Events that are due, each with its object. `object_of` is the object of a policy; policies of
    /// files have none.
    pub(crate) fn due(
        &mut self,
        errors: &[RuleErrors],
        object_of: impl Fn(&str) -> Option<ObjectName>,
        now: Instant,
    ) -> Vec<(ObjectName, String)> {
        self.last.retain(|_, last| now.duration_since(*last) < APART);
        let rule = |of: &RuleErrors| (of.policy.clone(), of.last.rule.clone());
        self.told.retain(|told, _| errors.iter().any(|of| rule(of) == *told));
        let mut due: BTreeMap<ObjectName, Vec<&RuleErrors>> = BTreeMap::new();
        for of in errors.iter().filter(|of| self.told.get(&rule(of)) != Some(&of.count)) {
            if let Some(object) = object_of(&of.policy).filter(|object| !self.last.contains_key(object)) {
                due.entry(object).or_default().push(of);
            }
        }
        for (object, failed) in &due {
            self.last.insert(object.clone(), now);
            self.told.extend(failed.iter().map(|of| (rule(of), of.count)));
        }
        due.into_iter().map(|(object, failed)| (object, note(&failed))).collect()
    }
}

/// One line for each rule: its name, the place and the values of its last fault, and how often it failed.
fn note(failed: &[&RuleErrors]) -> String {
    let mut lines: Vec<String> = failed.iter().take(NAMED).map(|of| line(of)).collect();
    if failed.len() > NAMED {
        lines.push(format!("and {} more rules", failed.len() - NAMED));
    }
    lines.join("\n")
}

fn line(of: &RuleErrors) -> String {
    let fault = &of.last;
    let place = if fault.place.is_empty() { String::new() } else { format!(" at {}", fault.place) };
    let times = if of.count == 1 { String::from("once") } else { format!("{} times", of.count) };
    format!("{}/{} ended with an error{place}: {} ({times} so far)", of.policy, fault.rule, fault.message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bayplan_framework::RuleFault;
    use std::sync::Arc;

    fn failed(policy: &str, rule: &str, count: u64) -> RuleErrors {
        let last =
            RuleFault { rule: rule.into(), place: "p.yaml:9".into(), message: "no such key: tier".into() };
        RuleErrors { policy: policy.into(), count, last: Arc::new(last) }
    }

    #[test]
    fn an_object_gets_one_event_a_minute_about_what_failed_since() {
        let mut reports = FaultReports::default();
        let object_of = |policy: &str| (policy != "of-file").then(|| format!("n/{policy}"));
        let start = Instant::now();
        let mut at = |seconds: u64, errors: &[RuleErrors]| {
            reports.due(errors, object_of, start + Duration::from_secs(seconds))
        };
        let said = at(0, &[failed("a", "f", 1), failed("of-file", "f", 1)]);
        let text = "a/f ended with an error at p.yaml:9: no such key: tier (once so far)";
        assert_eq!(said, [("n/a".to_owned(), text.to_owned())]);
        let more = [failed("a", "f", 3), failed("a", "g", 1), failed("b", "f", 2)];
        let objects =
            |said: Vec<(ObjectName, String)>| said.into_iter().map(|(object, _)| object).collect::<Vec<_>>();
        assert_eq!(objects(at(30, &more)), ["n/b"]);
        let said = at(60, &more);
        assert_eq!(said.len(), 1);
        assert!(said[0].1.contains("(3 times so far)\na/g ended"), "{said:?}");
        assert!(at(200, &more).is_empty(), "nothing failed since");
        // The policy was removed and came back: its counts begin anew.
        assert!(at(300, &[]).is_empty());
        assert_eq!(objects(at(400, &[failed("a", "f", 3)])), ["n/a"]);
    }
}
