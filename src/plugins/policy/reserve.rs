//! `reserve`: rejections once a node is chosen, and the annotations and labels that the Binding takes to the pod.

use super::attempt::{Absent, Attempt};
use super::{PolicyPlugin, numbers, refusal_of};
use bayplan_framework::{Actor, Handle, Reserve, Status};
use bayplan_lang::codegen::{CompiledCheck, CompiledWrite, Env};
use bayplan_lang::eval::context::EvalContext;
use bayplan_lang::syntax::ast::WriteVerb;
use bayplan_lang::types::value::Value;
use bayplan_model::{NodeId, PodMarks, Symbol, value_problem};
use std::sync::Arc;

impl PolicyPlugin {
    /// What the policy adds to the pod of the call on this node.
    fn marks(&self, h: &Handle<'_>, node: NodeId) -> Result<PodMarks, Status> {
        let Some(node) = h.snapshot.node(node) else { return Ok(PodMarks::default()) };
        let context = EvalContext::new(h.pod, h.snapshot, h.now).on(node);
        let attempt = h.state::<Attempt>();
        if !attempt.is_some_and(|attempt| attempt.applies) {
            return Ok(PodMarks::default());
        }
        match self.missing(context) {
            Absent::Nothing => {}
            Absent::Skip => return Ok(PodMarks::default()),
            Absent::Refused(status) => return Err(status),
        }
        let mut env = Env::new(&self.compiled.policy, context, &[]);
        let reserves = &self.compiled.statements.reserves;
        if attempt.is_some_and(|attempt| attempt.refuses) {
            for check in reserves.iter().flat_map(|reserve| &reserve.checks) {
                self.check_reserve(check, &mut env, context)?;
            }
        }
        let mut marks = PodMarks::default();
        for write in reserves.iter().flat_map(|reserve| &reserve.writes) {
            self.write(write, &mut env, &mut marks)?;
        }
        Ok(marks)
    }

    fn check_reserve(
        &self,
        check: &CompiledCheck,
        env: &mut Env<'_, '_>,
        context: EvalContext<'_>,
    ) -> Result<(), Status> {
        if !check.refuses(env) {
            return Ok(());
        }
        if let Some(fault) = env.failed.take() {
            return Err(self.failed(numbers::RESERVE, check.on_error, &fault, check.reason().resolvable));
        }
        Err(refusal_of(&self.compiled, check, context).of_rule(numbers::RESERVE))
    }

    fn write(
        &self,
        write: &CompiledWrite,
        env: &mut Env<'_, '_>,
        marks: &mut PodMarks,
    ) -> Result<(), Status> {
        if !write.when.as_ref().is_none_or(|when| when(env)) {
            return Ok(());
        }
        for (key, value) in &write.entries {
            let Value::String(text) = value(env) else { continue };
            let text = text.as_str();
            match write.verb {
                WriteVerb::Label => {
                    if let Some(problem) = value_problem(text) {
                        let name = self.compiled.name();
                        let text = format!(
                            "{name}/reserve: {text:?} is not a valid value of label {key}: {problem}"
                        );
                        return Err(Status::unresolvable(text).of_rule(numbers::RESERVE));
                    }
                    marks.labels.insert(key.clone(), Symbol::new(text));
                }
                WriteVerb::Annotate | WriteVerb::Patch => {
                    marks.annotations.insert(key.clone(), Arc::from(text));
                }
            }
        }
        Ok(())
    }
}

impl Reserve for PolicyPlugin {
    fn reserve(&self, a: &mut Actor, node: NodeId) -> Result<(), Status> {
        let marks = self.marks(&a.handle(), node)?;
        if !marks.is_empty() {
            a.mark(marks);
        }
        Ok(())
    }

    /// The marks go when the pod loses its node.
    fn unreserve(&self, _: &mut Actor, _: NodeId) {}
}
