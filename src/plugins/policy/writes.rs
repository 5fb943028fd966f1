//! What policies write to objects: before the binding, where each write is a call that must succeed, and after it, where
//! the scheduler repeats them until they did.

use super::PolicyPlugin;
use super::attempt::{Absent, Attempt};
use super::patches::intents;
use bayplan_framework::{
    Actor, AfterBind, BindTask, CallError, Handle, PreBind, PreFlight, Status, TaskPoll, Wake, Write,
};
use bayplan_lang::codegen::{CompiledAct, CompiledDoes, CompiledEntry, CompiledTarget, Env};
use bayplan_lang::eval::context::EvalContext;
use bayplan_lang::syntax::ast::WriteVerb;
use bayplan_lang::types::value::Value;
use bayplan_model::{ApiObject, Duration, Kind, MetadataChange, NodeId, ObjectKey, Symbol};
use std::collections::VecDeque;
use std::sync::Arc;

/// The pause before a write whose outcome is unknown is sent again.
const AGAIN: Duration = Duration::from_seconds(1);

/// One object after the other.
type Writes = Vec<Write>;

/// The object that an act is about; `None` while it is absent.
pub(super) fn object_of<'a>(
    target: &CompiledTarget,
    env: &mut Env<'a, '_>,
    context: EvalContext<'a>,
) -> Option<ObjectKey> {
    match target {
        CompiledTarget::Pod => {
            let pod = context.pod;
            let (namespace, name, uid) = (pod.namespace.clone(), pod.name.clone(), pod.uid.clone());
            Some(ObjectKey { kind: Kind::Pod, namespace, name, uid })
        }
        CompiledTarget::Node => {
            let node = context.node?.node();
            let (name, uid) = (node.name.clone(), node.uid.clone());
            Some(ObjectKey { kind: Kind::Node, namespace: Symbol::default(), name, uid })
        }
        CompiledTarget::Object(object) => match object(env) {
            Value::LookedUp(object) => Some(object.key()),
            _ => None,
        },
    }
}

/// The keys that a write sets and removes.
fn change(verb: WriteVerb, entries: &[CompiledEntry], env: &mut Env<'_, '_>) -> MetadataChange {
    let mut change = MetadataChange::default();
    for CompiledEntry { key, value, .. } in entries {
        let text = match value.as_ref().map(|value| value(env)) {
            None => None,
            Some(Value::String(text)) => Some(text),
            // A key whose value is absent stays as it is.
            Some(_) => continue,
        };
        match verb {
            WriteVerb::Label => {
                change.labels.insert(key.clone(), text.map(|text| Symbol::new(text.as_str())));
            }
            WriteVerb::Annotate | WriteVerb::Patch => {
                change.annotations.insert(key.clone(), text.map(|text| Arc::from(text.as_str())));
            }
        }
    }
    change
}

impl PolicyPlugin {
    /// The writes among some acts, in the order of the text.
    fn writes_of(&self, acts: &[CompiledAct], context: EvalContext<'_>) -> Writes {
        let mut env = Env::new(&self.compiled.policy, context, &[]);
        let mut writes = Vec::new();
        for act in acts {
            let CompiledDoes::Write(target, verb, entries) = &act.does else { continue };
            if !act.holds(&mut env) {
                continue;
            }
            let Some(of) = object_of(target, &mut env, context) else { continue };
            if *verb == WriteVerb::Patch {
                for intent in intents(&of, self.compiled.name(), entries, &mut env) {
                    if !writes.iter_mut().any(|known: &mut Write| known.take_in(&intent)) {
                        writes.push(intent);
                    }
                }
                continue;
            }
            let change = change(*verb, entries, &mut env);
            if !change.is_empty() {
                writes.push(Write::metadata(of, change));
            }
        }
        writes
    }

    /// What is written before the binding to this node.
    fn before(&self, h: &Handle<'_>, node: NodeId) -> Result<Writes, Status> {
        let Some(node) = h.snapshot.node(node) else { return Ok(Vec::new()) };
        let context = EvalContext::new(h.pod, h.snapshot, h.now).on(node);
        if !h.state::<Attempt>().is_some_and(|attempt| attempt.applies) {
            return Ok(Vec::new());
        }
        match self.missing(context) {
            Absent::Nothing => Ok(self.writes_of(&self.compiled.statements.acts.before_bind, context)),
            Absent::Skip => Ok(Vec::new()),
            Absent::Refused(status) => Err(status),
        }
    }

    /// Whether `after bind` writes to objects.
    pub(super) fn writes_after_bind(&self) -> bool {
        let acts = &self.compiled.statements.acts.after_bind;
        acts.iter().any(|act| matches!(act.does, CompiledDoes::Write(..))) && !self.suspended
    }
}

impl AfterBind for PolicyPlugin {
    fn marks(&self, h: &Handle<'_>) -> bool {
        match h.state::<Attempt>() {
            Some(attempt) => attempt.applies,
            None => self.applies(EvalContext::new(h.pod, h.snapshot, h.now)),
        }
    }

    fn writes(&self, h: &Handle<'_>, node: NodeId) -> Writes {
        let Some(node) = h.snapshot.node(node) else { return Vec::new() };
        let context = EvalContext::new(h.pod, h.snapshot, h.now).on(node);
        match self.acts_for(h, context, false) {
            true => self.writes_of(&self.compiled.statements.acts.after_bind, context),
            false => Vec::new(),
        }
    }
}

impl PreBind for PolicyPlugin {
    fn pre_flight(&self, h: &Handle, node: NodeId) -> Result<PreFlight, Status> {
        match self.before(h, node) {
            Ok(writes) if writes.is_empty() => Ok(PreFlight::Skip),
            _ => Ok(PreFlight::Run { parallel: false }),
        }
    }

    fn start(&self, a: &mut Actor, node: NodeId) -> Result<Box<dyn BindTask>, Status> {
        let rest = self.before(&a.handle(), node)?.into();
        Ok(Box::new(WriteTask { policy: Symbol::new(self.compiled.name()), rest }))
    }
}

/// The writes of `before bind`, one call after the other.
#[derive(Clone)]
struct WriteTask {
    policy: Symbol,
    /// The first one is sent.
    rest: VecDeque<Write>,
}

impl BindTask for WriteTask {
    fn poll(&mut self, a: &mut Actor, wake: &Wake) -> Result<TaskPoll, Status> {
        let waits = |until| Ok(TaskPoll::Pending { until, watch: Vec::new() });
        match wake {
            Wake::Start | Wake::Deadline => {}
            Wake::Changed(_) => return waits(None),
            Wake::Answer(_, Ok(_)) => {
                self.rest.pop_front();
            }
            // The write sets the same keys again.
            Wake::Answer(_, Err(CallError::Unknown(_))) => return waits(Some(a.now + AGAIN)),
            Wake::Answer(_, Err(error)) => {
                let of = self.rest.front().map_or("", |write| write.of.name.as_str());
                let text = format!("{}/before bind: writing to {of:?}: {}", self.policy, error.message());
                return Err(Status::error(text));
            }
        }
        let Some(write) = self.rest.front().cloned() else { return Ok(TaskPoll::Done) };
        if let Some(problem) = write.problem() {
            return Err(Status::error(format!("{}/before bind: {problem}", self.policy)));
        }
        a.call(write.call());
        waits(None)
    }

    fn fork(&self) -> Box<dyn BindTask> {
        Box::new(self.clone())
    }
}
