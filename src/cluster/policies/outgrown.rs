//! What of the cluster is larger than the size that policies are compiled for (`--size`): attempts may then take longer
//! than their bound. The metrics compare all numbers, and a policy object gets an Event when a number that its policies
//! depend on is exceeded, and again each hour. Decisions stay the same.

use super::verdict::ObjectName;
use bayplan_lang::analysis::cost::Size;
use bayplan_lang::language::fields::CountedPart;
use bayplan_model::{Kind, KindName, Snapshot};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tokio::time::Instant;

/// How many objects there are, by the name of the kind.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct ObjectCounts {
    /// Nodes.
    pub nodes: usize,
    /// Pods, pending and placed.
    pub pods: usize,
    /// Of the kinds that policies look up.
    pub looked_up: BTreeMap<KindName, usize>,
    /// Of all other kinds, by resource.
    pub others: BTreeMap<&'static str, usize>,
}

impl ObjectCounts {
    /// Those of a snapshot.
    pub(crate) fn of(snapshot: &Snapshot) -> Self {
        let mut counts = Self { nodes: snapshot.node_count(), pods: snapshot.pod_count(), ..Self::default() };
        counts.others.insert("namespaces", snapshot.namespace_count());
        for (kind, count) in snapshot.object_counts() {
            match (kind, kind.row()) {
                (Kind::LookedUp(name), _) => drop(counts.looked_up.insert(name.clone(), count)),
                (_, Some(row)) => drop(counts.others.insert(row.plural, count)),
                (_, None) => {}
            }
        }
        counts
    }

    /// Each number with what the size declares, if it declares it.
    pub(crate) fn beside(&self, size: Size) -> Vec<(String, usize, Option<u32>)> {
        let objects = size.of_object(CountedPart::Objects);
        let mut all =
            vec![("nodes".into(), self.nodes, Some(size.nodes)), ("pods".into(), self.pods, Some(size.pods))];
        all.extend(self.others.iter().map(|(resource, count)| ((*resource).to_owned(), *count, None)));
        all.extend(self.looked_up.iter().map(|(kind, count)| (kind.to_string(), *count, Some(objects))));
        all
    }

    /// What is exceeded for a policy that looks these kinds up, as sentences.
    fn exceeded<'k>(&self, size: Size, looks_up: impl IntoIterator<Item = &'k KindName>) -> Vec<String> {
        let say = |count: usize, what: String, name: &str, declared: u32| {
            let more = usize::try_from(declared).is_ok_and(|declared| count > declared);
            more.then(|| {
                format!("the cluster has {count} {what}, and the policy is compiled for `--size {name}={declared}`")
            })
        };
        let objects = size.of_object(CountedPart::Objects);
        let kinds = looks_up.into_iter().filter_map(|kind| {
            let count = self.looked_up.get(kind).copied().unwrap_or_default();
            say(count, format!("objects of `{kind}`"), "objects", objects)
        });
        let nodes = say(self.nodes, "nodes".to_owned(), "nodes", size.nodes);
        let pods = say(self.pods, "pods".to_owned(), "pods", size.pods);
        nodes.into_iter().chain(pods).chain(kinds).collect()
    }
}

/// The least time between two looks.
const LOOK: Duration = Duration::from_secs(60);
/// When an object whose numbers are still exceeded gets another Event.
const AGAIN: Duration = Duration::from_secs(3_600);

/// What has been told.
#[derive(Default)]
pub(super) struct Outgrown {
    looked: Option<Instant>,
    /// When an object last got an Event.
    told: BTreeMap<ObjectName, Instant>,
}

impl Outgrown {
    /// Whether the numbers are to be compared now.
    pub(super) fn is_due(&mut self, now: Instant) -> bool {
        let due = self.looked.is_none_or(|looked| now.duration_since(looked) >= LOOK);
        if due {
            self.looked = Some(now);
        }
        due
    }

    /// The notes of the Events that are due. `objects` are the policy objects with the kinds that their policies look up;
    /// `costly` those whose policies would be refused for objects with as many parts as there are, which `parts` says.
    pub(crate) fn due<'k>(
        &mut self,
        counts: &ObjectCounts,
        (costly, parts): (&BTreeSet<ObjectName>, &[String]),
        size: Size,
        objects: impl IntoIterator<Item = (ObjectName, Vec<&'k KindName>)>,
        now: Instant,
    ) -> Vec<(ObjectName, String)> {
        let mut due = Vec::new();
        let mut told = BTreeMap::new();
        for (object, looks_up) in objects {
            let mut exceeded = counts.exceeded(size, looks_up);
            if costly.contains(&object) {
                exceeded.extend_from_slice(parts);
            }
            if exceeded.is_empty() {
                continue;
            }
            let last = self.told.remove(&object).filter(|last| now.duration_since(*last) < AGAIN);
            told.insert(object.clone(), last.unwrap_or(now));
            if last.is_none() {
                let what = exceeded.join("; ");
                due.push((
                    object,
                    format!("{what}; an attempt may take longer than the bound: remove objects, or declare the size"),
                ));
            }
        }
        self.told = told;
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_is_told_of_what_it_depends_on_when_it_is_exceeded() {
        let kind = |text: &str| KindName::parse(text).unwrap();
        let (maps, quotas) = (kind("v1/ConfigMap"), kind("example.com/v1/Quota"));
        let counts = |nodes: usize, of_maps: usize| ObjectCounts {
            nodes,
            pods: 7,
            looked_up: [(maps.clone(), of_maps), (quotas.clone(), 3)].into(),
            ..ObjectCounts::default()
        };
        let size = Size::of(10, 10);
        let mut outgrown = Outgrown::default();
        let start = Instant::now();
        let mut due = |after: u64, counts: &ObjectCounts| {
            let objects = [
                ("n/maps".to_owned(), vec![&maps]),
                ("n/quotas".to_owned(), vec![&quotas]),
                ("n/plain".to_owned(), vec![]),
            ];
            let costly = BTreeSet::from(["n/plain".to_owned()]);
            let parts = if after >= 9_000 { vec!["an object has 900 labels".to_owned()] } else { vec![] };
            outgrown.due(counts, (&costly, &parts), size, objects, start + Duration::from_secs(after))
        };
        assert!(due(0, &counts(10, 10_000)).is_empty(), "the size itself is not exceeded");
        let said = due(60, &counts(10, 10_001));
        assert_eq!(said.len(), 1);
        assert_eq!(said[0].0, "n/maps");
        assert!(
            said[0].1.contains("10001 objects of `v1/ConfigMap`")
                && said[0].1.contains("--size objects=10000")
        );
        assert!(due(120, &counts(10, 20_000)).is_empty(), "once an hour");
        assert_eq!(due(3_700, &counts(10, 20_000)).len(), 1);
        assert!(due(3_760, &counts(10, 9)).is_empty());
        assert_eq!(due(3_820, &counts(10, 20_000)).len(), 1, "exceeded again");
        let said = due(3_880, &counts(11, 9));
        let names: Vec<&str> = said.iter().map(|(object, _)| object.as_str()).collect();
        assert_eq!(
            names,
            ["n/quotas", "n/plain"],
            "all depend on nodes and pods; the other had one a minute ago"
        );
        let said = due(9_000, &counts(10, 9));
        assert_eq!(said.len(), 1, "only the one that such an object makes too costly");
        assert!(said[0].0 == "n/plain" && said[0].1.starts_with("an object has 900 labels; "), "{said:?}");
        let beside = counts(11, 9).beside(size);
        assert!(beside.contains(&("nodes".to_owned(), 11, Some(10))), "{beside:?}");
        assert!(beside.contains(&("v1/ConfigMap".to_owned(), 9, Some(10_000))), "{beside:?}");
    }
}
