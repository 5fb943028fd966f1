//! The scheduling framework of Kubernetes as types. Plugins implement the traits of `points`; a [`Framework`] runs
//! them in the order of a profile. This room knows nothing about policies, queues or clusters.
//!
//! ```text
//! scheduling cycle:  PreFilter ► Filter ► (PostFilter) ► PreScore ► Score ► NormalizeScore ► Reserve ► Permit
//! binding cycle:     wait on Permit ► PreBind ► Bind ► PostBind          undo: Unreserve, in reverse order
//! before the queue:  PreEnqueue, QueueSort                               after a refusal: EnqueueExtensions
//! ```
//!
//! Not built, and without types here: group cycles and savepoints, remembered verdicts, allocation of devices.

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod status;
mod preconditions;
mod cycle_state;
mod calls;
mod intent;
mod patch_body;
mod reads;
mod events;
mod extenders;
pub mod features;
mod handle;
mod candidates;
mod claim_patch;
mod points;
mod plugin_id;
mod order;
mod waits;
mod plugin;
mod queued;
mod remedies;
mod rule_plugin;
mod diagnosis;
mod recorder;
mod probe;
mod scale;
mod runtime;
mod counting;
mod left_alone;
mod simulation;
mod preemption;
mod registry;
mod profile;

pub use bayplan_yaml::{At, Field, FieldError as ArgsError, Fields, Tree, TreeEntry, TreeValue};
pub use calls::{
    Answer, ApiCall, AttemptResult, CallError, ConditionPatch, EventRecord, EventType, HELD_BY_POLICY,
    ObjectPart, Ticket,
};
pub use candidates::{Candidate, placement_found, sort_by_importance};
pub use claim_patch::ClaimPatch;
pub use counting::{Choice, Counting, Would, WouldEffect, WouldRefuse};
pub use cycle_state::{CycleState, StateData, StateSlot};
pub use diagnosis::{Diagnosis, FitError, NodeToStatus};
pub use events::{ActionType, ClusterEvent, EventObjects, EventRegistration, EventResource, QueueingHint};
pub use extenders::{Extender, ExtenderAnswer, ExtenderAsk, Filtered, NodeVictims};
pub use features::{Features, Gate};
pub use handle::{Act, Actor, Handle, PluginEvent};
pub use intent::{Intent, Write};
pub use left_alone::LeftAlone;
pub use order::{Points, ScorePlugin};
pub use patch_body::{PatchBody, RequestMapping, merged};
pub use plugin::Plugin;
pub use plugin_id::{PluginId, PluginSet};
pub use points::*;
pub use preconditions::Preconditions;
pub use preemption::{
    AppliedRules, Judged, JudgedPods, PreemptionRules, RuleFaults, RuleNotes, TakeOffError, Verdict,
};
pub use probe::{Counted, Mark, Outcome, Probe, RuleTimes, Tally, TimedPoint};
pub use profile::{Instances, Named, PluginConfig, Point, Profile, ProfileError, Selection};
pub use queued::{Blame, QueuedPodInfo, SortKey, SortShare};
pub use reads::{Interest, Need, Reads};
pub use recorder::{Recorder, Silent};
pub use registry::{DuplicateName, Entry, Make, NewPlugin, PluginDescriptor, Registry};
pub use remedies::{
    CONDITION_TAINTS, CORDONED, DevicesOf, Edit, EditOwner, Exempted, Patch, describes_machine,
    is_of_lifecycle,
};
pub use rule_plugin::RulePlugin;
pub use runtime::{
    Acting, Cycle, Extenders, Framework, MAX_PERMIT_WAIT, NominatedTry, PostFilterAnswer, PostFilterWait,
    Runner,
};
pub use scale::{MAX_SCORE, Scale};
pub use simulation::{NodeFilters, Simulation};
pub use status::{Code, RuleFault, Status};
pub use waits::Waits;
