//! The status of ElasticQuotas of scheduler-plugins: `used` is the sum of a ledger under the name of the quota's namespace,
//! the one by which a policy decides. `statuses` calls this module, which neither waits nor sends.

use super::status_writer::{Name, Status};
use bayplan_lang::types::value::named_resources;
use bayplan_model::{Generation, Quantity, Resource};
use bayplan_scheduler::Scheduler;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The fields of the status that are written.
pub(super) const FIELDS: &[&str] = &["used"];

/// A ledger of a policy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LedgerName {
    /// The name of the policy.
    pub policy: String,
    /// The name of the ledger, whose sums are resources by the name of a namespace.
    pub ledger: String,
}

impl Default for LedgerName {
    /// The ledger of the policy that stands for the plugin CapacityScheduling.
    fn default() -> Self {
        Self { policy: String::from("capacity-scheduling"), ledger: String::from("used") }
    }
}

impl std::str::FromStr for LedgerName {
    type Err = String;

    /// Reads `POLICY.LEDGER`.
    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('.').filter(|(policy, ledger)| !policy.is_empty() && !ledger.is_empty());
        let (policy, ledger) =
            parts.ok_or_else(|| format!("`{text}` does not have the form `POLICY.LEDGER`"))?;
        Ok(Self { policy: policy.to_owned(), ledger: ledger.to_owned() })
    }
}

impl std::fmt::Display for LedgerName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.policy, self.ledger)
    }
}

/// A state of the cluster and of the policies in service: sums of the same state are the same.
pub(crate) type State = (Generation, u64);
/// The sums of namespaces.
pub(super) type Sums = BTreeMap<String, Resource>;

/// The present sums of these namespaces with their state; no sums if the state is still `known`, or why there are none.
pub(crate) fn sums(
    of: &Scheduler,
    ledger: &LedgerName,
    namespaces: &BTreeSet<String>,
    known: Option<State>,
) -> (State, Option<Result<Sums, String>>) {
    let state = (of.snapshot().generation(), of.profiles().revision);
    if known == Some(state) {
        return (state, None);
    }
    let plugins = of.profiles().frameworks.iter().flat_map(|framework| framework.plugins());
    let plugins: Vec<_> = plugins.filter(|plugin| plugin.name() == ledger.policy).collect();
    if plugins.is_empty() {
        return (state, Some(Err(format!("the policy `{}` is not in service", ledger.policy))));
    }
    let mut sums = Sums::new();
    for namespace in namespaces {
        for plugin in &plugins {
            let of_rules = plugin.rule_plugin();
            let Some(sum) = of_rules.and_then(|rules| rules.sum(&ledger.ledger, namespace, of.snapshot()))
            else {
                let why = format!("no ledger `{ledger}` of resources by namespace is in service");
                return (state, Some(Err(why)));
            };
            if sums.insert(namespace.clone(), sum.clone()).is_some_and(|other| other != sum) {
                let why = format!("the sums of `{ledger}` differ between the profiles that have the policy");
                return (state, Some(Err(why)));
            }
        }
    }
    (state, Some(Ok(sums)))
}

/// The ElasticQuotas.
#[derive(Debug, Default)]
pub(super) struct Quotas {
    /// The resources that each names, by namespace and name.
    named: BTreeMap<Name, BTreeSet<String>>,
}

impl Quotas {
    /// A quota was added or changed.
    pub(crate) fn put(&mut self, name: &Name, object: &Value) {
        let lists = ["/spec/min", "/spec/max"].into_iter().filter_map(|path| object.pointer(path));
        let named = lists.filter_map(Value::as_object).flat_map(Map::keys).cloned().collect();
        self.named.insert(name.clone(), named);
    }

    /// A quota was deleted.
    pub(crate) fn remove(&mut self, name: &Name) {
        self.named.remove(name);
    }

    /// The namespaces that have a quota.
    pub(crate) fn namespaces(&self) -> BTreeSet<String> {
        self.named.keys().map(|(namespace, _)| namespace.clone()).collect()
    }

    /// The status that each quota should have; `None`: it stays as it is. Of several quotas of a namespace the first by
    /// name counts, as in the policy.
    ///
    /// Source: `scheduler-plugins/pkg/controllers/elasticquota_controller.go`, `newZeroUsed`: resources that the quota
    /// names are in `used` even when nothing is used of them.
    pub(crate) fn statuses(&self, sums: &Sums) -> Vec<(Name, Option<Status>)> {
        let mut last = None;
        let status = |(name, named): (&Name, &BTreeSet<String>)| {
            let is_first = last.replace(name.0.clone()).as_ref() != Some(&name.0);
            let sum = sums.get(&name.0).filter(|_| is_first);
            (name.clone(), sum.map(|sum| status(named, sum)))
        };
        self.named.iter().map(status).collect()
    }
}

/// The status of a quota that names these resources.
fn status(named: &BTreeSet<String>, sum: &Resource) -> Status {
    let mut used: Map<String, Value> = named.iter().map(|name| (name.clone(), json!("0"))).collect();
    for (name, amount) in named_resources(sum) {
        used.insert(name.to_string(), json!(quantity(&name, amount).to_string()));
    }
    let mut status = Status::new();
    status.insert(String::from("used"), Value::Object(used));
    status
}

/// An amount of a resource, in its base unit.
fn quantity(name: &str, amount: i64) -> Quantity {
    match name {
        "cpu" => Quantity::from_milli(amount),
        "memory" | "ephemeral-storage" => Quantity::from_bytes(amount),
        name if name.starts_with("hugepages-") => Quantity::from_bytes(amount),
        _ => Quantity::from_value(amount),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(namespace: &str, name: &str) -> Name {
        (namespace.into(), name.into())
    }

    #[test]
    fn used_has_what_the_quota_names_and_what_the_ledger_counts() {
        let mut quotas = Quotas::default();
        quotas.put(&name("a", "q"), &json!({"spec": {"min": {"cpu": 2}, "max": {"memory": "1Gi"}}}));
        quotas.put(&name("a", "r"), &json!({"spec": {}}));
        quotas.put(&name("b", "q"), &json!({}));
        assert_eq!(quotas.namespaces().into_iter().collect::<Vec<_>>(), ["a", "b"]);
        let mut sum = Resource { milli_cpu: 1_500, ..Resource::default() };
        sum.scalars.push(("example.com/gpu".into(), 4));
        sum.scalars.push(("hugepages-2Mi".into(), 4 << 20));
        let sums = Sums::from([
            ("a".into(), sum),
            ("b".into(), Resource { memory: 3 << 30, ..Resource::default() }),
        ]);
        let all = quotas.statuses(&sums);
        let shown: Vec<_> =
            all.iter().map(|(name, status)| (name.1.as_str(), status.clone().map(Value::Object))).collect();
        let used = json!({"used": {
            "cpu": "1500m", "memory": "0", "example.com/gpu": "4", "hugepages-2Mi": "4Mi",
        }});
        assert_eq!(shown, [("q", Some(used)), ("r", None), ("q", Some(json!({"used": {"memory": "3Gi"}})))]);
        quotas.remove(&name("a", "q"));
        assert!(quotas.statuses(&sums).iter().all(|(_, status)| status.is_some()), "the next one counts");
        assert!(quotas.statuses(&Sums::new()).iter().all(|(_, status)| status.is_none()));
    }

    #[test]
    fn ledgers_are_named_by_their_policy() {
        let text = LedgerName::default().to_string();
        assert_eq!(text.parse(), Ok(LedgerName::default()));
        for bad in ["", "a", "a.", ".b"] {
            assert!(bad.parse::<LedgerName>().is_err(), "{bad}");
        }
    }
}
