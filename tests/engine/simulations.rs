//! Simulations on one node: what they copy of a plugin's state.

use bayplan::framework::*;
use bayplan::model::*;
use bayplan::testing::{node, pod};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

static COPIES: AtomicUsize = AtomicUsize::new(0);

/// Counts the pods of the node; copies of it are counted.
struct Counted(usize);

impl Clone for Counted {
    fn clone(&self) -> Self {
        COPIES.fetch_add(1, Ordering::SeqCst);
        Self(self.0)
    }
}

struct Counting;

impl Plugin for Counting {
    fn name(&self) -> &str {
        "Counting"
    }
    fn reads(&self) -> Reads {
        Reads::default()
    }
    bayplan::serves!(PreFilter, Filter);
}

impl PreFilter for Counting {
    fn pre_filter(&self, _: &Handle, state: &mut StateSlot) -> Result<PreFilterOutcome, Status> {
        state.put(Counted(10));
        Ok(PreFilterOutcome::AllNodes)
    }
    fn extensions(&self) -> Option<&dyn PreFilterExtensions> {
        Some(self)
    }
}

impl PreFilterExtensions for Counting {
    fn add_pod(&self, _: &Handle, state: &mut StateSlot, _: &PodInfo, _: NodeInfo) -> Result<(), Status> {
        state.get_mut::<Counted>().unwrap().0 += 1;
        Ok(())
    }
    fn remove_pod(&self, _: &Handle, state: &mut StateSlot, of: &PodInfo, _: NodeInfo) -> Result<(), Status> {
        state.get_mut::<Counted>().unwrap().0 -= 1;
        if of.name == *"bad" { Err(Status::error("it fails")) } else { Ok(()) }
    }
}

impl Filter for Counting {
    fn filter(&self, h: &Handle, _: NodeInfo) -> Result<(), Status> {
        match h.state::<Counted>().map(|counted| counted.0) {
            Some(count) => Err(Status::unschedulable(count.to_string())),
            None => Err(Status::error("the state is lost")),
        }
    }
}

#[test]
fn a_simulation_copies_the_state_of_a_plugin_once() {
    let ids = vec![PluginId(0)];
    let points = Points { pre_filter: ids.clone(), filter: ids, ..Points::default() };
    let framework = Arc::new(Framework::new(Symbol::new("test"), vec![Arc::new(Counting)], points));
    let mut snapshot = Snapshot::default();
    snapshot.apply(Change::NodeUpserted { node: node("n").cpu("4").build() });
    let row = snapshot.node_by_name(&Symbol::new("n")).unwrap();
    let mut cycle = Cycle::new(pod("p").build(), framework.clone(), Time(0));
    framework.run_pre_filter(&mut cycle, &snapshot, &mut Silent).unwrap();
    let handle = cycle.handle(&snapshot);
    let before = COPIES.load(Ordering::SeqCst);
    let mut simulation = Simulation::new(&*framework, handle, snapshot.node(row).unwrap());
    for at in 0..5 {
        simulation.add_pod(&pod(&format!("more-{at}")).build()).unwrap();
        simulation.remove_pod(&pod(&format!("more-{at}")).build()).unwrap();
    }
    simulation.add_pod(&pod("stays").build()).unwrap();
    assert_eq!(COPIES.load(Ordering::SeqCst) - before, 1);
    let count = |of: Result<(), Status>| of.unwrap_err().message();
    assert_eq!(count(simulation.passes()), "11");
    // A failure loses no state.
    assert!(simulation.remove_pod(&pod("bad").build()).is_err());
    assert_eq!(count(simulation.passes()), "10");
    assert_eq!(
        count(framework.filter_node(handle, snapshot.node(row).unwrap())),
        "10",
        "the attempt has its own"
    );
}
