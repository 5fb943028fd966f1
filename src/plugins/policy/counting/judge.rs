//! What one rule would have done to a decision.

use super::super::{numbers, refusal};
use super::Part;
use bayplan_framework::{Choice, Handle, Would, WouldEffect};
use bayplan_lang::codegen::{
    ColumnScan, CompiledCheck, CompiledFilter, CompiledOnly, CompiledPrefilter, CompiledScore, Env,
};
use bayplan_lang::eval::context::EvalContext;
use bayplan_lang::syntax::ast::OnError;
use bayplan_lang::types::value::{Constant, Value};
use bayplan_model::{NodeId, NodeSet, Symbol};

/// What a rule would have done, and the event for the pod's owner.
#[derive(Debug)]
pub(super) struct Judged {
    pub(super) effect: WouldEffect,
    pub(super) tells: Option<String>,
}

impl Default for Judged {
    fn default() -> Self {
        Self { effect: WouldEffect::Same, tells: None }
    }
}

/// What a rule would have done that leaves these of the feasible nodes. The chosen node may lose although it is left:
/// the highest score, by which others are normalized, may be that of a node that is not.
fn of_left(left: &NodeSet, choice: &Choice<'_>) -> WouldEffect {
    if left.is_empty() {
        return WouldEffect::Waits;
    }
    if !left.contains(choice.node) {
        return WouldEffect::Moves;
    }
    if left.len() == 1 || left.len() == choice.feasible.nodes.len() {
        return WouldEffect::Same;
    }
    match (choice.totals_among)(left) {
        Some(totals) if !wins(choice.node, left, |row| totals.get(row).copied().unwrap_or(0)) => {
            WouldEffect::Moves
        }
        _ => WouldEffect::Same,
    }
}

/// Whether no node has a higher total.
fn wins(chosen: NodeId, nodes: &NodeSet, total: impl Fn(usize) -> i64) -> bool {
    let of_chosen = total(chosen.row());
    nodes.iter().all(|node| total(node.row()) <= of_chosen)
}

impl Part {
    /// Whether a check of the pod refuses, and with which words; those of a fault, where it fails.
    pub(super) fn refuses(
        &self,
        h: &Handle<'_>,
        (rule, check): (u16, &CompiledCheck),
        env: &mut Env<'_, '_>,
        context: EvalContext<'_>,
    ) -> Option<String> {
        let refuses = check.refuses(env);
        self.rules.note_ignored(h, env, rule);
        refuses.then(|| match env.failed.take() {
            Some(fault) => self.rules.failed(rule, check.on_error, &fault, false).message(),
            None => refusal(&self.rules.compiled, check.reason(), context).message(),
        })
    }

    /// One check after the other: the first that refuses would let the pod wait, the first that warns tells its owner.
    fn checks<'c>(
        &self,
        h: &Handle<'_>,
        rule: u16,
        checks: impl IntoIterator<Item = &'c CompiledCheck>,
        context: EvalContext<'_>,
    ) -> Judged {
        let mut env = Env::new(&self.rules.compiled.policy, context, &[]);
        let mut judged = Judged::default();
        for check in checks {
            let Some(text) = self.refuses(h, (rule, check), &mut env, context) else { continue };
            judged.effect = WouldEffect::Waits;
            let tells = self.tells(check.mode, || text);
            judged.tells = judged.tells.or(tells);
        }
        judged
    }

    /// `gate`
    pub(super) fn gates(&self, h: &Handle<'_>, context: EvalContext<'_>) -> Option<Judged> {
        let gates = &self.rules.compiled.statements.gates;
        (!gates.is_empty()).then(|| self.checks(h, numbers::GATE, gates, context))
    }

    /// `prefilter`: it refuses the pod, or leaves some of the feasible nodes.
    pub(super) fn prefilters(
        &self,
        h: &Handle<'_>,
        context: EvalContext<'_>,
        choice: &Choice<'_>,
    ) -> Option<Judged> {
        let of = &self.rules.compiled;
        if of.statements.prefilters.is_empty() {
            return None;
        }
        let rejects = of.statements.prefilters.iter().filter_map(|statement| match statement {
            CompiledPrefilter::Check(check) => Some(&**check),
            CompiledPrefilter::Only(_) => None,
        });
        let mut judged = self.checks(h, numbers::PREFILTER, rejects, context);
        if judged.effect == WouldEffect::Same {
            let left = self.left_by_prefilters(h, context, &choice.feasible.nodes);
            judged.effect = of_left(&left, choice);
        }
        if judged.effect == WouldEffect::Waits && judged.tells.is_none() {
            let text = || format!("node(s) didn't satisfy plugin(s) [{}]", of.name());
            let mut tells = self.onlys().filter_map(|only| self.tells(only.mode, text));
            judged.tells = tells.next();
        }
        Some(judged)
    }

    /// `only nodes` of the prefilters.
    pub(super) fn onlys(&self) -> impl Iterator<Item = &CompiledOnly> {
        self.rules.compiled.statements.prefilters.iter().filter_map(|statement| match statement {
            CompiledPrefilter::Only(only) => Some(only),
            CompiledPrefilter::Check(_) => None,
        })
    }

    /// The nodes that `only nodes` would leave, of these.
    pub(super) fn left_by_prefilters(
        &self,
        h: &Handle<'_>,
        context: EvalContext<'_>,
        nodes: &NodeSet,
    ) -> NodeSet {
        let of = &self.rules.compiled;
        let mut env = Env::new(&of.policy, context, &[]);
        let mut left = nodes.clone();
        for only in self.onlys() {
            let chosen = only.when.as_ref().is_none_or(|when| when(&mut env));
            let names = if chosen { (only.nodes)(&mut env) } else { Value::Absent };
            self.rules.note_ignored(h, &mut env, numbers::PREFILTER);
            if env.failed.take().is_some() {
                return NodeSet::default();
            }
            if names.is_absent() {
                continue;
            }
            let named: NodeSet = names
                .elements()
                .unwrap_or_default()
                .iter()
                .filter_map(|name| context.node_named(&Symbol::new(name.as_str()?)))
                .collect();
            left.intersect(&named);
        }
        left
    }

    /// The nodes that a filter would leave, of these.
    pub(super) fn left_by(
        &self,
        h: &Handle<'_>,
        (rule, filter): (u16, &CompiledFilter),
        scan: &mut ColumnScan<'_, '_>,
        nodes: &NodeSet,
    ) -> NodeSet {
        let mut left = nodes.clone();
        for (word, open) in left.words_mut().iter_mut().enumerate() {
            for check in &filter.checks {
                if *open == 0 {
                    break;
                }
                *open &= !check.refused(scan, word, *open);
                scan.failed.clear();
                self.rules.note_ignored(h, &mut scan.env, rule);
            }
        }
        left
    }

    /// `filter`, each for itself.
    pub(super) fn filters(
        &self,
        h: &Handle<'_>,
        context: EvalContext<'_>,
        choice: &Choice<'_>,
        out: &mut Vec<Would>,
    ) {
        let of = &self.rules.compiled;
        if of.statements.filters.is_empty() {
            return;
        }
        let registers = self.rules.registers(context);
        let mut scan = ColumnScan::new(&of.policy, &of.statements.inputs, context, &registers);
        for (at, filter) in of.statements.filters.iter().enumerate() {
            let left = self.left_by(h, (numbers::filter(at), filter), &mut scan, &choice.feasible.nodes);
            let mut judged = Judged { effect: of_left(&left, choice), tells: None };
            if judged.effect == WouldEffect::Waits {
                judged.tells = self.tells(filter.mode, || {
                    self.reason_on(h, (numbers::filter(at), filter), context, choice.node, &registers)
                });
            }
            out.push(self.would(&filter.name, judged));
        }
    }

    /// Why a filter would refuse a node; empty when it would not.
    pub(super) fn reason_on(
        &self,
        h: &Handle<'_>,
        (rule, filter): (u16, &CompiledFilter),
        context: EvalContext<'_>,
        node: NodeId,
        registers: &[Constant],
    ) -> String {
        let Some(node) = h.snapshot.node(node) else { return String::new() };
        let context = context.on(node);
        let mut env = Env::new(&self.rules.compiled.policy, context, registers);
        let mut checks = filter.checks.iter();
        let text = checks.find_map(|check| self.refuses(h, (rule, check), &mut env, context));
        text.unwrap_or_default()
    }

    /// `score` and `prefer`, each for itself: whether the chosen node would still have the highest total.
    pub(super) fn scores(&self, context: EvalContext<'_>, choice: &Choice<'_>, out: &mut Vec<Would>) {
        let of = &self.rules.compiled;
        if of.statements.scores.is_empty() {
            return;
        }
        let registers = self.rules.registers(context);
        let mut scan = ColumnScan::new(&of.policy, &of.statements.inputs, context, &registers);
        for score in &of.statements.scores {
            let effect = match choice.totals {
                Some(totals) => with_score(score, &mut scan, choice, totals),
                // One node was feasible, and none was scored.
                None => WouldEffect::Same,
            };
            out.push(self.would(&score.name, Judged { effect, tells: None }));
        }
    }

    /// Whether `reserve` refuses pods.
    pub(super) fn checks_reserve(&self) -> bool {
        self.rules.compiled.statements.reserves.iter().any(|reserve| !reserve.checks.is_empty())
    }

    /// `reject` of `reserve`, on the node of the context.
    pub(super) fn reserves(&self, h: &Handle<'_>, context: EvalContext<'_>) -> Option<Judged> {
        let reserves = &self.rules.compiled.statements.reserves;
        let checks = reserves.iter().flat_map(|reserve| &reserve.checks);
        self.checks_reserve().then(|| self.checks(h, numbers::RESERVE, checks, context))
    }

    /// `permit`, on the node of the context: the pod would be refused, or would wait.
    pub(super) fn permits(&self, h: &Handle<'_>, context: EvalContext<'_>) -> Option<Judged> {
        let of = &self.rules.compiled;
        let permits = &of.statements.permits;
        if permits.is_empty() {
            return None;
        }
        let checks = permits.iter().flat_map(|permit| &permit.checks);
        let mut judged = self.checks(h, numbers::PERMIT, checks, context);
        let mut env = Env::new(&of.policy, context, &[]);
        for wait in permits.iter().flat_map(|permit| &permit.waits) {
            let holds = (wait.until)(&mut env);
            self.rules.note_ignored(h, &mut env, numbers::PERMIT);
            env.failed = None;
            if holds {
                continue;
            }
            judged.effect = WouldEffect::Waits;
            let tells = self.tells(wait.mode, || refusal(of, &wait.wait.reason, context).message());
            judged.tells = judged.tells.or(tells);
        }
        Some(judged)
    }
}

/// Whether another node would have had a higher total.
fn with_score(
    score: &CompiledScore,
    scan: &mut ColumnScan<'_, '_>,
    choice: &Choice<'_>,
    totals: &[i64],
) -> WouldEffect {
    let nodes = &choice.feasible.nodes;
    let raw = score.raw_range(scan, nodes);
    let failed = !std::mem::take(&mut scan.failed).is_empty();
    if failed && score.on_error == OnError::Error {
        return WouldEffect::Waits;
    }
    let scores = raw.normalized(score.normalize, score.reversed);
    let weight = score.weight.saturating_mul(choice.weight);
    let total = |row: usize| {
        let own = scores.get(row).copied().unwrap_or(0);
        totals.get(row).copied().unwrap_or(0).saturating_add(weight.saturating_mul(own))
    };
    if wins(choice.node, nodes, total) { WouldEffect::Same } else { WouldEffect::Moves }
}
