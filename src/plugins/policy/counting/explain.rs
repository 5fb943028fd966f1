//! The rules that would refuse a pod or nodes, for explanations.

use super::super::{numbers, queued};
use super::{Part, Speaks};
use bayplan_framework::{Handle, WouldRefuse};
use bayplan_lang::codegen::{ColumnScan, CompiledCheck, CompiledPrefilter, Env};
use bayplan_lang::eval::context::EvalContext;
use bayplan_model::{NodeSet, Symbol};

impl Part {
    /// The rules up to `filter` that would refuse the pod, or some of these nodes, in the order of an attempt.
    pub(super) fn explained(&self, h: &Handle<'_>, nodes: &NodeSet) -> Vec<WouldRefuse> {
        let mut context = EvalContext::new(h.pod, h.snapshot, h.now);
        context.queued = queued(h);
        let of = &self.rules.compiled;
        match self.speaks(h, context) {
            Speaks::Asks { refusals: true } => {}
            Speaks::No | Speaks::Asks { .. } => return Vec::new(),
            Speaks::Refuses(rule, status) => {
                return vec![WouldRefuse {
                    rule: Symbol::new(rule),
                    mode: self.mode_before_rules().word(),
                    place: String::new(),
                    reason: status.message(),
                    nodes: None,
                }];
            }
        }
        let mut found = Vec::new();
        for gate in &of.statements.gates {
            found.extend(self.once(h, ("gate", numbers::GATE), gate, context));
        }
        for statement in &of.statements.prefilters {
            if let CompiledPrefilter::Check(check) = statement {
                found.extend(self.once(h, ("prefilter", numbers::PREFILTER), check, context));
            }
        }
        if let Some(only) = self.onlys().last()
            && self.left_by_prefilters(h, context, nodes).is_empty()
        {
            found.push(WouldRefuse {
                rule: Symbol::new("prefilter"),
                mode: only.mode.word(),
                place: String::new(),
                reason: format!("node(s) didn't satisfy plugin(s) [{}]", of.name()),
                nodes: None,
            });
        }
        let registers = self.rules.registers(context);
        let mut scan = ColumnScan::new(&of.policy, &of.statements.inputs, context, &registers);
        for (at, filter) in of.statements.filters.iter().enumerate() {
            let rule = (numbers::filter(at), filter);
            let left = self.left_by(h, rule, &mut scan, nodes);
            let Some(first) = nodes.iter().find(|node| !left.contains(*node)) else { continue };
            found.push(WouldRefuse {
                rule: filter.name.clone(),
                mode: filter.mode.word(),
                place: filter.checks.first().map_or("", |check| of.place(check.span)).to_owned(),
                reason: self.reason_on(h, rule, context, first, &registers),
                nodes: Some(nodes.len() - left.len()),
            });
        }
        found
    }

    fn once(
        &self,
        h: &Handle<'_>,
        (name, rule): (&str, u16),
        check: &CompiledCheck,
        context: EvalContext<'_>,
    ) -> Option<WouldRefuse> {
        let mut env = Env::new(&self.rules.compiled.policy, context, &[]);
        let reason = self.refuses(h, (rule, check), &mut env, context)?;
        Some(WouldRefuse {
            rule: Symbol::new(name),
            mode: check.mode.word(),
            place: self.rules.compiled.place(check.span).to_owned(),
            reason,
            nodes: None,
        })
    }
}
