//! The status of PodGroups of scheduler-plugins: the phase, and how many of the group's pods run, succeeded and failed.
//! Counts are kept by group, so that a change of a pod costs the same in a group of any size. `statuses` calls this
//! module, which neither waits nor sends.

use super::status_writer::{Name, Status};
use crate::inputs::watch::Watched;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The label by which a pod names its group, which is in its namespace.
pub(crate) const LABEL: &str = "scheduling.x-k8s.io/pod-group";
/// The fields of the status that are written.
pub(super) const FIELDS: &[&str] =
    &["phase", "occupiedBy", "running", "succeeded", "failed", "scheduleStartTime"];

/// A pod as the API server gives it, as far as its group has to know it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub(crate) struct Pod {
    #[serde(default)]
    metadata: Metadata,
    #[serde(default)]
    status: PodStatus,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    #[serde(default)]
    name: String,
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    resource_version: String,
    #[serde(default)]
    labels: Labels,
    #[serde(default)]
    owner_references: Vec<Owner>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
struct Labels {
    #[serde(default, rename = "scheduling.x-k8s.io/pod-group")]
    group: String,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Owner {
    #[serde(default)]
    name: String,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
struct PodStatus {
    #[serde(default)]
    phase: String,
}

impl Watched for Pod {
    fn resource_version(&self) -> &str {
        &self.metadata.resource_version
    }
}

/// The pods of a group.
#[derive(Clone, Debug, Default, PartialEq)]
struct Members {
    /// By name: whether it runs, succeeded or failed, and the names of its owners.
    pods: BTreeMap<String, (Stage, Vec<String>)>,
    counts: Counts,
}

/// What counts of a pod's phase.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    Waits,
    Runs,
    Succeeded,
    Failed,
}

/// How many pods of a group there are.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Counts {
    running: usize,
    succeeded: usize,
    failed: usize,
}

impl Counts {
    /// The number of pods at a stage, of those that are counted.
    fn of(&mut self, stage: Stage) -> Option<&mut usize> {
        match stage {
            Stage::Waits => None,
            Stage::Runs => Some(&mut self.running),
            Stage::Succeeded => Some(&mut self.succeeded),
            Stage::Failed => Some(&mut self.failed),
        }
    }
}

/// A PodGroup.
#[derive(Clone, Debug)]
struct Group {
    min_member: i64,
    /// The status that the watch showed last.
    status: Status,
    /// When its pods were all there for the first time.
    began: Option<String>,
}

/// All groups and their pods.
#[derive(Debug, Default)]
pub(super) struct Groups {
    groups: BTreeMap<Name, Group>,
    members: BTreeMap<Name, Members>,
    /// The group of each pod.
    group_of: BTreeMap<Name, Name>,
}

impl Groups {
    /// A pod was added or changed; returns the groups whose counts may differ.
    pub(super) fn put_pod(&mut self, pod: &Pod) -> BTreeSet<Name> {
        let Metadata { name, namespace, labels, owner_references, .. } = &pod.metadata;
        let mut changed = self.remove_pod(pod);
        if labels.group.is_empty() {
            return changed;
        }
        let stage = match pod.status.phase.as_str() {
            "Running" => Stage::Runs,
            "Succeeded" => Stage::Succeeded,
            "Failed" => Stage::Failed,
            _ => Stage::Waits,
        };
        let group = (namespace.clone(), labels.group.clone());
        let members = self.members.entry(group.clone()).or_default();
        let owners = owner_references.iter().map(|owner| owner.name.clone()).collect();
        members.pods.insert(name.clone(), (stage, owners));
        if let Some(count) = members.counts.of(stage) {
            *count += 1;
        }
        self.group_of.insert((namespace.clone(), name.clone()), group.clone());
        changed.insert(group);
        changed
    }

    /// A pod was deleted; returns the group that had it.
    pub(super) fn remove_pod(&mut self, pod: &Pod) -> BTreeSet<Name> {
        let Metadata { name, namespace, .. } = &pod.metadata;
        let Some(group) = self.group_of.remove(&(namespace.clone(), name.clone())) else {
            return BTreeSet::new();
        };
        if let Some(members) = self.members.get_mut(&group) {
            if let Some((stage, _)) = members.pods.remove(name)
                && let Some(count) = members.counts.of(stage)
            {
                *count = count.saturating_sub(1);
            }
            if members.pods.is_empty() {
                self.members.remove(&group);
            }
        }
        BTreeSet::from([group])
    }

    /// All pods that there are.
    pub(super) fn replace_pods(&mut self, pods: &[Pod]) {
        self.members.clear();
        self.group_of.clear();
        for pod in pods {
            self.put_pod(pod);
        }
    }

    /// A PodGroup was added or changed.
    pub(crate) fn put(&mut self, name: &Name, object: &Value, status: Status) {
        let min_member = object.pointer("/spec/minMember").and_then(Value::as_i64).unwrap_or(1).max(1);
        // Another one under the same name has no beginning yet, and no status either.
        let known = self.groups.remove(name).filter(|known| known.status.is_empty() || !status.is_empty());
        let began = status.get("scheduleStartTime").and_then(Value::as_str).map(str::to_owned);
        let began = began.or_else(|| known.and_then(|known| known.began));
        self.groups.insert(name.clone(), Group { min_member, status, began });
    }

    /// A PodGroup was deleted.
    pub(crate) fn remove(&mut self, name: &Name) {
        self.groups.remove(name);
    }

    /// The status that a PodGroup should have. `now`: the present time as `metav1.Time`.
    ///
    /// Source: `scheduler-plugins/pkg/controllers/podgroup_controller.go`, `syncHandler`; the counts are written in every
    /// phase, and of pods in the namespace of the group alone.
    pub(super) fn status_of(&mut self, name: &Name, now: &str) -> Option<Status> {
        let group = self.groups.get_mut(name)?;
        let text =
            |field: &str| group.status.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
        if matches!(text("phase"), Some("Finished" | "Failed")) {
            return Some(group.status.clone());
        }
        let none = Members::default();
        let members = self.members.get(name).unwrap_or(&none);
        let phase = phase(group.min_member, members.pods.len(), members.counts);
        let Counts { running, succeeded, failed } = members.counts;
        let mut status = Status::new();
        status.insert("phase".into(), json!(phase));
        for (field, count) in [("running", running), ("succeeded", succeeded), ("failed", failed)] {
            status.insert(field.into(), json!(count));
        }
        let occupied_by = text("occupiedBy").map(str::to_owned);
        if phase != "Pending" {
            group.began.get_or_insert_with(|| now.to_owned());
        }
        let first = members.pods.values().next().filter(|_| phase != "Pending");
        let owners = || first.and_then(|(_, owners)| owners_of(&name.0, owners));
        if let Some(owners) = occupied_by.or_else(owners) {
            status.insert("occupiedBy".into(), json!(owners));
        }
        if let Some(began) = &group.began {
            status.insert("scheduleStartTime".into(), json!(began));
        }
        Some(status)
    }
}

/// The phase of a group that is not finished and did not fail before.
fn phase(min_member: i64, pods: usize, counts: Counts) -> &'static str {
    let least = usize::try_from(min_member).unwrap_or_default();
    let Counts { running, succeeded, failed } = counts;
    match () {
        () if pods < least => "Pending",
        () if succeeded >= least => "Finished",
        () if failed > 0 && failed + running + succeeded >= least => "Failed",
        () if running + succeeded >= least => "Running",
        () => "Scheduling",
    }
}

/// The owners of a pod as `occupiedBy` names them.
fn owners_of(namespace: &str, owners: &[String]) -> Option<String> {
    let mut names: Vec<String> = owners.iter().map(|owner| format!("{namespace}/{owner}")).collect();
    names.sort();
    (!names.is_empty()).then(|| names.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-01-05T09:00:00Z";

    fn pod(namespace: &str, name: &str, group: &str, phase: &str) -> Pod {
        let labels = json!({ LABEL: group });
        let owners = json!([{"name": "b"}, {"name": "a"}]);
        let metadata =
            json!({"name": name, "namespace": namespace, "labels": labels, "ownerReferences": owners});
        serde_json::from_value(json!({"metadata": metadata, "status": {"phase": phase}})).unwrap()
    }

    fn name() -> Name {
        ("n".into(), "g".into())
    }

    /// Groups with one of this `minMember`.
    fn groups(min_member: i64) -> Groups {
        let mut groups = Groups::default();
        groups.put(&name(), &json!({"spec": {"minMember": min_member}}), Status::new());
        groups
    }

    #[test]
    fn a_group_goes_through_its_phases() {
        let mut groups = groups(2);
        let mut phases = Vec::new();
        let steps = [
            [None, None],
            [Some("Pending"), None],
            [Some("Pending"), Some("Pending")],
            [Some("Running"), Some("Pending")],
            [Some("Running"), Some("Running")],
            [Some("Succeeded"), Some("Running")],
            [Some("Succeeded"), None],
            [Some("Succeeded"), Some("Succeeded")],
            [Some("Failed"), None],
        ];
        for step in steps {
            for (at, pod_phase) in step.into_iter().enumerate() {
                let pod = pod("n", &format!("p{at}"), "g", pod_phase.unwrap_or_default());
                match pod_phase {
                    Some(_) => groups.put_pod(&pod),
                    None => groups.remove_pod(&pod),
                };
            }
            let status = groups.status_of(&name(), NOW).unwrap();
            phases.push(status["phase"].as_str().unwrap().to_owned());
            groups.put(&name(), &json!({"spec": {"minMember": 2}}), status);
        }
        let expected = [
            "Pending",
            "Pending",
            "Scheduling",
            "Scheduling",
            "Running",
            "Running",
            "Pending",
            "Finished",
            "Finished",
        ];
        assert_eq!(phases, expected);
    }

    #[test]
    fn a_pod_that_failed_fails_its_group_when_as_many_as_it_needs_began() {
        let mut groups = groups(2);
        groups.put_pod(&pod("n", "a", "g", "Failed"));
        groups.put_pod(&pod("n", "b", "g", "Pending"));
        assert_eq!(groups.status_of(&name(), NOW).unwrap()["phase"], "Scheduling");
        groups.put_pod(&pod("n", "b", "g", "Running"));
        let status = groups.status_of(&name(), NOW).unwrap();
        let expected = json!({
            "phase": "Failed", "running": 1, "succeeded": 0, "failed": 1, "occupiedBy": "n/a,n/b",
            "scheduleStartTime": NOW,
        });
        assert_eq!(Value::Object(status), expected);
        assert!(FIELDS.iter().all(|field| expected.get(field).is_some()));
    }

    #[test]
    fn what_was_written_once_stays() {
        let mut groups = groups(1);
        let before = json!({"phase": "Scheduling", "occupiedBy": "n/first", "scheduleStartTime": NOW});
        groups.put(&name(), &json!({"spec": {"minMember": 1}}), before.as_object().cloned().unwrap());
        groups.put_pod(&pod("n", "a", "g", "Running"));
        let status = groups.status_of(&name(), "2027-01-05T09:00:00Z").unwrap();
        assert_eq!((&status["occupiedBy"], &status["scheduleStartTime"]), (&json!("n/first"), &json!(NOW)));
        assert_eq!(groups.status_of(&("n".into(), "h".into()), NOW), None);
    }

    #[test]
    fn pods_of_another_namespace_do_not_count() {
        let mut groups = groups(1);
        groups.put_pod(&pod("m", "a", "g", "Running"));
        assert_eq!(groups.status_of(&name(), NOW).unwrap()["running"], 0);
    }

    proptest::proptest! {
        #[test]
        fn counts_are_those_of_a_recount(steps in proptest::collection::vec((0..6_u8, 0..3_u8, 0..5_u8), 0..60)) {
            let mut groups = Groups::default();
            let mut present: BTreeMap<String, Pod> = BTreeMap::new();
            for (pod_at, group_at, phase_at) in steps {
                let phases = ["Pending", "Running", "Succeeded", "Failed"];
                let group = ["", "g", "h"][usize::from(group_at)];
                let name = format!("p{pod_at}");
                match phases.get(usize::from(phase_at)) {
                    Some(phase) => {
                        let pod = pod("n", &name, group, phase);
                        groups.put_pod(&pod);
                        present.insert(name, pod);
                    }
                    None => {
                        groups.remove_pod(&pod("n", &name, group, ""));
                        present.remove(&name);
                    }
                }
                let mut anew = Groups::default();
                anew.replace_pods(&present.values().cloned().collect::<Vec<_>>());
                proptest::prop_assert_eq!(&groups.members, &anew.members);
                proptest::prop_assert_eq!(&groups.group_of, &anew.group_of);
                for (group, members) in &groups.members {
                    let count = |phase: &str| {
                        let of = present.values().filter(|pod| pod.metadata.labels.group == group.1);
                        of.filter(|pod| pod.status.phase == phase).count()
                    };
                    let counts = Counts {
                        running: count("Running"), succeeded: count("Succeeded"), failed: count("Failed"),
                    };
                    proptest::prop_assert_eq!(members.counts, counts);
                }
            }
        }
    }
}
