//! A plugin that refuses or fails at one point of an attempt, for pods labelled `refused=yes`; a PostFilter plugin with a
//! given answer; a gate that opens in time.

use bayplan::framework::*;
use bayplan::model::*;

/// Where a [`Refuser`] refuses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Where {
    PreFilter,
    Reserve,
    Permit,
    /// The pod waits; the plugin refuses it when it is asked again, which every change of a node brings about.
    WaitOnPermit,
    PreBind,
    Bind,
}

pub(super) struct Refuser(pub Where, pub Code);

impl Refuser {
    fn answer(&self, at: Where, pod: &PodInfo) -> Result<(), Status> {
        let meant = pod.labels.get(&Symbol::new("refused")).is_some();
        if self.0 == at && meant { Err(Status::new(self.1, "no luck")) } else { Ok(()) }
    }
}

impl Plugin for Refuser {
    fn name(&self) -> &str {
        "Refuser"
    }
    fn reads(&self) -> Reads {
        Reads::of(Kinds::LABELS)
    }
    bayplan::serves!(PreFilter, Reserve, Permit, PreBind, Bind);
}

impl PreFilter for Refuser {
    fn pre_filter(&self, h: &Handle, _: &mut StateSlot) -> Result<PreFilterOutcome, Status> {
        self.answer(Where::PreFilter, h.pod).map(|()| PreFilterOutcome::AllNodes)
    }
}

impl Reserve for Refuser {
    fn reserve(&self, a: &mut Actor, _: NodeId) -> Result<(), Status> {
        self.answer(Where::Reserve, a.pod)
    }
    fn unreserve(&self, _: &mut Actor, _: NodeId) {}
}

impl Permit for Refuser {
    fn permit(&self, a: &mut Actor, _: NodeId) -> Result<PermitOutcome, Status> {
        self.answer(Where::Permit, a.pod)?;
        match self.answer(Where::WaitOnPermit, a.pod) {
            Ok(()) => Ok(PermitOutcome::Allow),
            Err(_) => Ok(PermitOutcome::Wait { until: a.now + Duration::from_seconds(60) }),
        }
    }
    fn reconsider(&self, a: &mut Actor, node: NodeId) -> Result<PermitOutcome, Status> {
        let labelled = a.handle().snapshot.node(node).is_some_and(|node| !node.node().labels.is_empty());
        match labelled {
            true => self.answer(Where::WaitOnPermit, a.pod).map(|()| PermitOutcome::Allow),
            false => Ok(PermitOutcome::Wait { until: a.now + Duration::from_seconds(60) }),
        }
    }
}

impl PreBind for Refuser {
    fn pre_flight(&self, h: &Handle, _: NodeId) -> Result<PreFlight, Status> {
        let refuses = self.answer(Where::PreBind, h.pod).is_err();
        Ok(if refuses { PreFlight::Run { parallel: false } } else { PreFlight::Skip })
    }
    fn start(&self, a: &mut Actor, _: NodeId) -> Result<Box<dyn BindTask>, Status> {
        self.answer(Where::PreBind, a.pod).map(|()| Box::new(Nothing) as Box<dyn BindTask>)
    }
}

struct Nothing;

impl BindTask for Nothing {
    fn poll(&mut self, _: &mut Actor, _: &Wake) -> Result<TaskPoll, Status> {
        Ok(TaskPoll::Done)
    }
    fn fork(&self) -> Box<dyn BindTask> {
        Box::new(Nothing)
    }
}

impl Bind for Refuser {
    fn bind(&self, h: &Handle, _: NodeId) -> Result<BindOutcome, Status> {
        self.answer(Where::Bind, h.pod).map(|()| BindOutcome::Skip)
    }
}

/// Keeps pods out of the queue until an instant. It registers for no events: it is asked again for all of them.
pub(super) struct Until(pub Time);

impl Plugin for Until {
    fn name(&self) -> &str {
        "Until"
    }
    fn reads(&self) -> Reads {
        Reads::default()
    }
    bayplan::serves!(PreEnqueue);
}

impl PreEnqueue for Until {
    fn pre_enqueue(&self, h: &Handle) -> Result<(), Status> {
        if h.now >= self.0 { Ok(()) } else { Err(Status::unresolvable("too early")) }
    }
}

/// A PostFilter plugin with this answer; without one it panics.
pub(super) struct After(pub &'static str, pub Option<PostFilterOutcome>);

impl Plugin for After {
    fn name(&self) -> &str {
        self.0
    }
    fn reads(&self) -> Reads {
        Reads::default()
    }
    bayplan::serves!(PostFilter);
}

impl PostFilter for After {
    fn post_filter(&self, _: &Handle, _: &NodeToStatus, _: &mut dyn PluginsRunner) -> PostFilterOutcome {
        self.1.clone().expect("it was made without an answer")
    }
}
