//! The numbers of an impact against a count by hand, over random clusters and changes.

use super::impact::{Impact, View, count};
use super::judge::BothSides;
use crate::policies::compiled::{Policy, compile};
use crate::policies::store::Compiled;
use crate::policies::verdict::Texts;
use bayplan_compare::compare;
use bayplan_diag::SourceMap;
use bayplan_lang::analysis::cost::Size;
use bayplan_lang::eval::exempt::ExemptPods;
use bayplan_lang::schemas::Schemas;
use bayplan_model::testing::{Random, node, pod};
use bayplan_model::{Change, Placement, Snapshot, Symbol, Time};
use bayplan_scheduler::Profiles;
use std::sync::Arc;

const ZONES: [&str; 4] = ["a", "b", "c", "d"];

/// A policy: the zones that it refuses to all pods, and those that it refuses to quiet ones, as bits.
#[derive(Clone, Copy)]
struct Refused {
    all: usize,
    quiet: usize,
}

impl Refused {
    fn drawn(random: &mut Random) -> Self {
        // Never none: a list without values has no type.
        Self { all: 1 + random.below(15), quiet: 1 + random.below(15) }
    }

    fn compiled(self) -> Vec<Compiled<Policy>> {
        let list = |bits: usize| {
            let zones = ZONES.iter().enumerate().filter(|(at, _)| bits >> at & 1 == 1);
            zones.map(|(_, zone)| format!("{zone:?}")).collect::<Vec<_>>().join(", ")
        };
        let text = format!(
            "policy zones {{
  filter zone {{
    reject \"zone\" when node.labels[\"zone\"] in [{}]
  }}
  filter quiet {{
    reject \"quiet\" when pod.labels[\"app\"] == \"quiet\" && node.labels[\"zone\"] in [{}]
  }}
}}
",
            list(self.all),
            list(self.quiet)
        );
        let texts = Texts::from([("zones.bay".to_owned(), text)]);
        let schemas = Arc::new(Schemas::default());
        let compiled =
            compile("default/zones", &texts, Size::of(5_000, 50_000), &schemas, &Default::default());
        compiled.unwrap_or_else(|problems| panic!("{problems:?}")).0
    }

    /// Which of its two rules refuse a pod in a zone.
    fn of(self, quiet: bool, zone: usize) -> [bool; 2] {
        [self.all >> zone & 1 == 1, quiet && self.quiet >> zone & 1 == 1]
    }
}

fn profiles() -> Arc<Profiles> {
    let text = r#"{"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "profiles": [{}]}"#;
    let mut sources = SourceMap::new();
    let id = sources.add("config.json", text);
    let (config, complaints) = bayplan_config::read(sources.get(id).unwrap());
    assert!(complaints.is_empty(), "{complaints:#?}");
    let frameworks = config.frameworks(&bayplan_plugins::registry(), id).unwrap().frameworks;
    Arc::new(Profiles { frameworks, revision: 1 })
}

#[test]
fn an_impact_is_what_a_count_by_hand_gives() {
    let profiles = profiles();
    let mut total = Impact::default();
    for seed in 0..300 {
        let mut random = Random(seed);
        let mut snapshot = Snapshot::default();
        // Of each node: its zone, and how many pods of a CPU it has room for.
        let mut nodes = Vec::new();
        for at in 0..1 + random.below(5) {
            let (zone, room) = (random.below(4), random.below(4));
            let made = node(&format!("n{at}")).label("zone", ZONES[zone]).cpu(&room.to_string());
            snapshot.apply(Change::NodeUpserted { node: made.memory("8Gi").pods(100).build() });
            nodes.push((zone, room));
        }
        let [old, new] = [Refused::drawn(&mut random), Refused::drawn(&mut random)];
        let mut expected = Impact::default();
        let mut waiting = Vec::new();
        for at in 0..8 {
            let quiet = random.one_in(2);
            // One in six belongs to another scheduler.
            let ours = !random.one_in(6);
            let made = pod(&format!("p{at}")).cpu("1").label("app", if quiet { "quiet" } else { "loud" });
            let made = made.scheduler(if ours { "default-scheduler" } else { "other" });
            expected.applies_to += usize::from(ours);
            let on = random.below(nodes.len());
            if random.one_in(2) && nodes[on].1 > 0 {
                let name = format!("n{on}");
                let row = snapshot.node_by_name(&Symbol::new(&name)).unwrap();
                let pod = made.on(&name).build();
                snapshot.apply(Change::PodPlaced { pod, node: row, how: Placement::Bound });
                nodes[on].1 -= 1;
                let refuses = old.of(quiet, nodes[on].0).into_iter().zip(new.of(quiet, nodes[on].0));
                expected.refused += usize::from(ours && refuses.into_iter().any(|(old, new)| new && !old));
            } else {
                snapshot.apply(Change::PodPending { pod: made.build() });
                waiting.extend(ours.then_some(quiet));
            }
        }
        for quiet in waiting {
            let has = |policy: Refused| {
                nodes.iter().any(|(zone, room)| *room > 0 && policy.of(quiet, *zone) == [false, false])
            };
            expected.begin_to_wait += usize::from(has(old) && !has(new));
            expected.begin_to_run += usize::from(has(new) && !has(old));
        }
        let (old, new) = (old.compiled(), new.compiled());
        let sides = BothSides { old: &old, new: &new };
        let diffs = compare(sides.before("zones"), sides.after("zones"), None);
        if diffs.iter().all(|diff| matches!(diff.verdict, bayplan_compare::Verdict::Same)) {
            continue;
        }
        let mut view = View { snapshot, profiles: profiles.clone(), now: Time(0) };
        let counted = count(&mut view, &diffs, &sides, &ExemptPods::default());
        assert_eq!(counted, Some(expected), "seed {seed}");
        total.begin_to_wait += expected.begin_to_wait;
        total.begin_to_run += expected.begin_to_run;
        total.refused += expected.refused;
    }
    let Impact { begin_to_wait, begin_to_run, refused, .. } = total;
    assert!(begin_to_wait > 50 && begin_to_run > 50 && refused > 50, "{total:?}");
}
