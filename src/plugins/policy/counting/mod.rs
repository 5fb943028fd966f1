//! The rules of a policy that do not decide (`mode warn`, `mode audit`): what each would have done to a decision that was
//! made without it.
//!
//! They are parts of the policy ([`PolicyPart::counting`](bayplan_lang::typed::PolicyPart::counting)), so that the plugin
//! of the policy has the rules that decide and nothing else. Each rule is counted for itself, as if it alone had decided
//! too. This file says what each rule would have done; `judge.rs` evaluates one rule, `explain.rs` names the rules that
//! would refuse a pod.
//!
//! They are evaluated after the plugin of the policy, on the nodes that were feasible; rules about evictions by one
//! more PostFilter. The decision record has what they would have done.

mod explain;
mod judge;

use super::attempt::Absent;
use super::{PolicyPlugin, numbers, queued};
use bayplan_framework::{Choice, Counting, Handle, PreemptionRules, Status, Would, WouldEffect, WouldRefuse};
use bayplan_lang::eval::context::EvalContext;
use bayplan_lang::policy_set::CompiledPolicy;
use bayplan_lang::typed::Mode;
use bayplan_model::{NodeId, NodeSet, Symbol};
use judge::Judged;

/// The name of all statements about evictions as one rule.
const PREEMPT: &str = "preempt";

/// The rules of a policy that do not decide for a pod: those that count for every pod, and those that decide for other pods.
pub(super) struct Counter {
    parts: Vec<Part>,
}

/// Some rules that count for the same pods.
struct Part {
    /// They alone, as if they decided.
    rules: PolicyPlugin,
    policy: Symbol,
}

/// Whether the policy applies to a pod.
enum Speaks {
    /// It leaves the pod alone.
    No,
    /// It would refuse the pod before its rules are evaluated: the name of what refuses, and why.
    Refuses(&'static str, Status),
    /// Its rules are evaluated; whether those that refuse are, too.
    Asks { refusals: bool },
}

impl Counter {
    /// The rules of a policy that do not decide; `None` when there is none.
    pub(super) fn of(compiled: &CompiledPolicy, exempt: &super::ExemptPods) -> Option<Box<Self>> {
        let parts = compiled.counts().iter().enumerate().map(|(at, counts)| Part {
            rules: PolicyPlugin { part: 1 + at, ..PolicyPlugin::new(counts.clone(), exempt.clone()) },
            policy: Symbol::new(compiled.name()),
        });
        let parts: Vec<Part> = parts.collect();
        (!parts.is_empty()).then(|| Box::new(Self { parts }))
    }

    /// The names of the filters, of the scores, and of the rules about evictions.
    pub(super) fn names(&self) -> impl Iterator<Item = Symbol> {
        self.parts.iter().flat_map(|part| {
            let of = &part.rules.compiled.statements;
            let filters = of.filters.iter().map(|filter| filter.name.clone());
            let scores = of.scores.iter().map(|score| score.name.clone());
            filters.chain(scores).chain(of.preempt.iter().map(|_| Symbol::new(PREEMPT)))
        })
    }

    /// How many parts there are.
    pub(super) fn parts(&self) -> usize {
        self.parts.len()
    }

    /// Whether there are rules about evictions.
    pub(super) fn preempts(&self) -> bool {
        self.evicting().next().is_some()
    }

    /// Whether a simulation of evictions changes what the rules read.
    pub(super) fn sees_other_pods(&self) -> bool {
        self.evicting().any(|part| part.rules.compiled.sees_other_pods)
    }

    /// The parts with rules about evictions.
    fn evicting(&self) -> impl Iterator<Item = &Part> {
        self.parts.iter().filter(|part| part.preempts())
    }

    /// What all parts say. Parts with rules of one name, such as `gate`, are one rule: what it would have done most.
    fn all(&self, out: &mut Vec<Would>, ask: impl Fn(&Part, &mut Vec<Would>)) {
        let mut own: Vec<Would> = Vec::new();
        self.parts.iter().for_each(|part| ask(part, &mut own));
        for would in own {
            match out.iter_mut().find(|of| of.rule == would.rule && of.policy == would.policy) {
                None => out.push(would),
                Some(of) => {
                    of.effect = of.effect.max(would.effect);
                    of.tells = of.tells.take().or(would.tells);
                }
            }
        }
    }
}

impl Part {
    fn preempts(&self) -> bool {
        self.rules.preempts().is_some()
    }

    fn speaks(&self, h: &Handle<'_>, context: EvalContext<'_>) -> Speaks {
        let refusals = !self.rules.never_refuses(context.pod, context.snapshot);
        match self.rules.applies_or_fails(context, Some(h)) {
            (false, _) => return Speaks::No,
            (true, None) => {}
            (true, Some(_)) if !refusals => return Speaks::No,
            (true, Some(fault)) => {
                let on_error = self.rules.compiled.rules().on_error();
                let status = self.rules.failed(numbers::APPLIES, on_error, &fault, false);
                return Speaks::Refuses("applies when", status);
            }
        }
        match self.rules.missing(context) {
            Absent::Nothing => Speaks::Asks { refusals },
            Absent::Skip => Speaks::No,
            Absent::Refused(status) => Speaks::Refuses("missing", status),
        }
    }

    /// The mode of what refuses the pod before the rules are evaluated.
    fn mode_before_rules(&self) -> Mode {
        self.rules.compiled.rules().mode_before_rules()
    }

    fn would(&self, rule: &str, judged: Judged) -> Would {
        let (policy, rule) = (self.policy.clone(), Symbol::new(rule));
        Would {
            policy,
            rule,
            effect: judged.effect,
            tells: judged.tells.map(|text| Symbol::from(text.as_str())),
        }
    }

    /// The text of the event where a rule that would refuse the pod warns.
    fn tells(&self, mode: Mode, text: impl FnOnce() -> String) -> Option<String> {
        (mode == Mode::Warn).then(text)
    }

    /// What the rules would have done, where `judge` decides about a statement and everything else stays as it is.
    fn each(
        &self,
        h: &Handle<'_>,
        context: EvalContext<'_>,
        out: &mut Vec<Would>,
        judge: impl FnOnce(&Self, bool, &mut Vec<Would>),
    ) {
        match self.speaks(h, context) {
            Speaks::No => {}
            Speaks::Asks { refusals } => judge(self, refusals, out),
            Speaks::Refuses(rule, status) => {
                let judged = Judged {
                    effect: WouldEffect::Waits,
                    tells: self.tells(self.mode_before_rules(), || status.message()),
                };
                out.push(self.would(rule, judged));
            }
        }
    }
}

impl Counting for Counter {
    fn chosen(&self, h: &Handle, choice: &Choice, out: &mut Vec<Would>) {
        self.all(out, |part, out| part.chosen(h, choice, out));
    }

    fn placed(&self, h: &Handle, node: NodeId, out: &mut Vec<Would>) {
        self.all(out, |part, out| part.placed(h, node, out));
    }

    fn refused(&self, h: &Handle, evictions: WouldEffect, out: &mut Vec<Would>) {
        self.all(out, |part, out| part.refused(h, evictions, out));
    }

    fn preemption(&self, h: &Handle) -> Vec<&dyn PreemptionRules> {
        // The slot of the attempt is that of the policy, whose plugin follows the simulation.
        let mut context = EvalContext::new(h.pod, h.snapshot, h.now);
        context.queued = queued(h);
        let speaking = self.evicting().filter(|part| matches!(part.speaks(h, context), Speaks::Asks { .. }));
        speaking.map(|part| &part.rules as &dyn PreemptionRules).collect()
    }

    fn refusals(&self, h: &Handle, nodes: &NodeSet) -> Vec<WouldRefuse> {
        self.parts.iter().flat_map(|part| part.explained(h, nodes)).collect()
    }
}

impl Part {
    fn chosen(&self, h: &Handle, choice: &Choice, out: &mut Vec<Would>) {
        let mut context = EvalContext::new(h.pod, h.snapshot, h.now);
        context.queued = queued(h);
        self.each(h, context, out, |this, refusals, out| {
            if refusals {
                out.extend(this.gates(h, context).map(|judged| this.would("gate", judged)));
                let judged = this.prefilters(h, context, choice);
                out.extend(judged.map(|judged| this.would("prefilter", judged)));
                this.filters(h, context, choice, out);
            }
            this.scores(context, choice, out);
            out.extend(this.preempts().then(|| this.would(PREEMPT, Judged::default())));
        });
    }

    fn placed(&self, h: &Handle, node: NodeId, out: &mut Vec<Would>) {
        let Some(node) = h.snapshot.node(node) else { return };
        let context = EvalContext::new(h.pod, h.snapshot, h.now).on(node);
        // What refuses the pod before these rules is counted in `chosen`.
        if let Speaks::Asks { refusals: true } = self.speaks(h, context) {
            out.extend(self.reserves(h, context).map(|judged| self.would("reserve", judged)));
            out.extend(self.permits(h, context).map(|judged| self.would("permit", judged)));
        }
    }

    fn refused(&self, h: &Handle, evictions: WouldEffect, out: &mut Vec<Would>) {
        let mut context = EvalContext::new(h.pod, h.snapshot, h.now);
        context.queued = queued(h);
        let of = &self.rules.compiled.statements;
        let same = |rule: &str| self.would(rule, Judged::default());
        match self.speaks(h, context) {
            Speaks::No => {}
            // The pod waits already.
            Speaks::Refuses(rule, _) => out.push(same(rule)),
            Speaks::Asks { refusals } => {
                if refusals {
                    out.extend((!of.gates.is_empty()).then(|| same("gate")));
                    out.extend((!of.prefilters.is_empty()).then(|| same("prefilter")));
                    out.extend(of.filters.iter().map(|filter| same(&filter.name)));
                }
                out.extend(of.scores.iter().map(|score| same(&score.name)));
                let judged = Judged { effect: evictions, tells: None };
                out.extend(self.preempts().then(|| self.would(PREEMPT, judged)));
                if refusals {
                    out.extend(self.checks_reserve().then(|| same("reserve")));
                    out.extend((!of.permits.is_empty()).then(|| same("permit")));
                }
            }
        }
    }
}
