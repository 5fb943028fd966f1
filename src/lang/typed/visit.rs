//! The one visitor over a checked policy: [`Policy::rules`] lists its rules in the order in which
//! an attempt evaluates them, each with its statements, conditions, values and reads.
//! [`Policy::for_each_expr`] and its mutable twin reach every expression, definitions included.
//!
//! Everything that visits all statements of a policy goes through here, so that a new statement is
//! added in one place. Only code generation matches on the fields of [`Policy`] itself.

use super::reads::Reads;
use super::{
    Act, Acts, Add, Canary, Check, Does, Exception, Expr, Filter, Give, Ledger, Let, Missing, Only, Permit,
    Policy, Prefilter, PrefilterStatement, Queue, QueueKey, Reason, ReasonPart, Reserve, Score, Target,
    Victim, Wait, Write,
};
use crate::diag::Span;

/// The extension point at which a rule is evaluated, in the order of the scheduling cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Point {
    /// When an attempt begins: `applies when`, and every `let` with `missing`.
    Applies,
    /// `ledger`: whenever a placed pod, its namespace or its node changes.
    Ledger,
    /// `gate`
    PreEnqueue,
    /// `queue by`
    QueueSort,
    /// `prefilter`
    PreFilter,
    /// `filter`
    Filter,
    /// `preempt`
    PostFilter,
    /// `score` and `prefer`
    Score,
    /// `reserve`
    Reserve,
    /// `permit`
    Permit,
    /// `before bind`
    PreBind,
    /// `after bind`
    PostBind,
    /// `after failure`
    Failure,
}

impl Point {
    /// The name of the extension point in Kubernetes.
    pub fn name(self) -> &'static str {
        match self {
            Point::Applies | Point::PreFilter => "PreFilter",
            Point::Ledger => "Reserve",
            Point::PreEnqueue => "PreEnqueue",
            Point::QueueSort => "QueueSort",
            Point::Filter => "Filter",
            Point::PostFilter => "PostFilter",
            Point::Score => "Score",
            Point::Reserve => "Reserve",
            Point::Permit => "Permit",
            Point::PreBind => "PreBind",
            Point::PostBind => "PostBind",
            Point::Failure => "failure",
        }
    }
}

/// A rule: what a person names, and what costs and plans are reported of.
#[derive(Clone, Copy, Debug)]
pub enum Rule<'p> {
    /// `applies when`: the conjuncts, never empty.
    Applies(&'p [Expr]),
    /// The pods for which the policy has its mode, or those for which a rule decides.
    Mode(&'p Expr, Option<&'p Canary>),
    /// An exception of the policy or of a rule, and the `let` that says whether it holds.
    Except(&'p Exception, &'p Let),
    /// A `let` with `missing`.
    Guard(&'p Let),
    /// `ledger`
    Ledger(&'p Ledger),
    /// `gate`
    Gate(&'p Check),
    /// `queue by`
    Queue(&'p Queue),
    /// `prefilter`
    Prefilter(&'p Prefilter),
    /// `filter`
    Filter(&'p Filter),
    /// `score` or `prefer`
    Score(&'p Score),
    /// `reserve`
    Reserve(&'p Reserve),
    /// `permit`
    Permit(&'p Permit),
    /// `never`
    Never(&'p Check),
    /// `victim` or `protect`
    Victim(&'p Victim),
    /// `guard`
    EvictionGuard(&'p Check),
    /// `before bind`, `after bind` or `after failure`
    Acts(&'p Acts),
}

/// The rules that keep derived values (reads, resolvability), to change.
#[derive(Debug)]
pub enum RuleMut<'p> {
    /// `ledger`
    Ledger(&'p mut Ledger),
    /// `gate`
    Gate(&'p mut Check),
    /// `queue by`
    Queue(&'p mut Queue),
    /// `prefilter`
    Prefilter(&'p mut Prefilter),
    /// `filter`
    Filter(&'p mut Filter),
    /// `score` or `prefer`
    Score(&'p mut Score),
    /// `reserve`
    Reserve(&'p mut Reserve),
    /// `permit`
    Permit(&'p mut Permit),
    /// `never` or `guard`
    Eviction(&'p mut Check),
    /// `victim` or `protect`
    Victim(&'p mut Victim),
    /// `before bind`, `after bind` or `after failure`
    Acts(&'p mut Acts),
}

/// A statement of a rule.
#[derive(Clone, Copy, Debug)]
pub enum Statement<'p> {
    /// A conjunct of `applies when`.
    Condition(&'p Expr),
    /// A `let` with `missing`.
    Guard(&'p Let),
    /// `reject … when`, `require`, or a gate.
    Check(&'p Check),
    /// The key of a ledger.
    LedgerKey(&'p Ledger),
    /// `add`
    Add(&'p Add),
    /// A key of `queue by`.
    Key(&'p QueueKey),
    /// `only nodes`
    Only(&'p Only),
    /// `give`
    Give(&'p Give),
    /// `annotate`, `label`
    Write(&'p Write),
    /// `wait`
    Wait(&'p Wait),
    /// `victim` or `protect`
    Victim(&'p Victim),
    /// What is done after an attempt.
    Act(&'p Act),
}

impl Policy {
    /// The rules, in the order in which an attempt evaluates them.
    pub fn rules(&self) -> impl Iterator<Item = Rule<'_>> {
        let applies = (!self.applies.is_empty()).then_some(Rule::Applies(&self.applies));
        let guards = self.lets.iter().filter(|of| of.missing.is_some()).map(Rule::Guard);
        applies
            .into_iter()
            .chain(self.mode_conditions().map(|(when, of)| Rule::Mode(when, of)))
            .chain(self.exceptions.iter().map(|of| Rule::Except(of, &self[of.holds])))
            .chain(guards)
            .chain(self.ledgers.iter().map(Rule::Ledger))
            .chain(self.gates.iter().map(Rule::Gate))
            .chain(self.queue.iter().map(Rule::Queue))
            .chain(self.prefilters.iter().map(Rule::Prefilter))
            .chain(self.filters.iter().map(Rule::Filter))
            .chain(self.preempt.iter().flat_map(|preempt| {
                let nevers = preempt.nevers.iter().map(Rule::Never);
                let victims = preempt.victims.iter().map(Rule::Victim);
                nevers.chain(victims).chain(preempt.guards.iter().map(Rule::EvictionGuard))
            }))
            .chain(self.scores.iter().map(Rule::Score))
            .chain(self.reserves.iter().map(Rule::Reserve))
            .chain(self.permits.iter().map(Rule::Permit))
            .chain(self.acts.iter().map(Rule::Acts))
    }

    /// The rules of one extension point.
    pub fn rules_at(&self, point: Point) -> impl Iterator<Item = Rule<'_>> {
        self.rules().filter(move |rule| rule.point() == point)
    }

    /// The rules that keep derived values, to change; in the order of [`Policy::rules`].
    pub fn rules_mut(&mut self) -> impl Iterator<Item = RuleMut<'_>> {
        let ledgers = self.ledgers.iter_mut().map(RuleMut::Ledger);
        ledgers
            .chain(self.gates.iter_mut().map(RuleMut::Gate))
            .chain(self.queue.iter_mut().map(RuleMut::Queue))
            .chain(self.prefilters.iter_mut().map(RuleMut::Prefilter))
            .chain(self.filters.iter_mut().map(RuleMut::Filter))
            .chain(self.preempt.iter_mut().flat_map(|preempt| {
                let nevers = preempt.nevers.iter_mut().map(RuleMut::Eviction);
                let victims = preempt.victims.iter_mut().map(RuleMut::Victim);
                nevers.chain(victims).chain(preempt.guards.iter_mut().map(RuleMut::Eviction))
            }))
            .chain(self.scores.iter_mut().map(RuleMut::Score))
            .chain(self.reserves.iter_mut().map(RuleMut::Reserve))
            .chain(self.permits.iter_mut().map(RuleMut::Permit))
            .chain(self.acts.iter_mut().map(RuleMut::Acts))
    }
}

impl<'p> Rule<'p> {
    /// The extension point.
    pub fn point(self) -> Point {
        match self {
            Rule::Applies(_) | Rule::Mode(..) | Rule::Except(..) | Rule::Guard(_) => Point::Applies,
            Rule::Ledger(_) => Point::Ledger,
            Rule::Gate(_) => Point::PreEnqueue,
            Rule::Queue(_) => Point::QueueSort,
            Rule::Prefilter(_) => Point::PreFilter,
            Rule::Filter(_) => Point::Filter,
            Rule::Score(_) => Point::Score,
            Rule::Reserve(_) => Point::Reserve,
            Rule::Permit(_) => Point::Permit,
            Rule::Acts(of) => of.point,
            Rule::Never(_) | Rule::Victim(_) | Rule::EvictionGuard(_) => Point::PostFilter,
        }
    }

    /// The author's name for it, else the keyword of the statement.
    pub fn name(self) -> &'p str {
        match self {
            Rule::Applies(_) => "applies when",
            Rule::Mode(..) => "mode",
            Rule::Except(..) => "except",
            Rule::Guard(of) => &of.name,
            Rule::Ledger(of) => &of.name,
            Rule::Gate(_) => "gate",
            Rule::Queue(_) => "queue",
            Rule::Prefilter(_) => "prefilter",
            Rule::Filter(of) => &of.name,
            Rule::Score(of) => &of.name,
            Rule::Reserve(_) => "reserve",
            Rule::Permit(_) => "permit",
            Rule::Acts(of) => of.words(),
            Rule::Never(_) => "never",
            Rule::Victim(of) => of.word(),
            Rule::EvictionGuard(_) => "guard",
        }
    }

    /// Where it is written.
    pub fn span(self) -> Span {
        match self {
            Rule::Applies(conditions) => {
                let (first, last) = (conditions.first(), conditions.last());
                first.zip(last).map_or_else(Span::default, |(a, b)| Span { end: b.span.end, ..a.span })
            }
            Rule::Mode(of, _) => of.span,
            Rule::Except(of, _) => of.span,
            Rule::Guard(of) => of.span,
            Rule::Ledger(of) => of.span,
            Rule::Gate(of) => of.span,
            Rule::Queue(of) => of.span,
            Rule::Prefilter(of) => of.span,
            Rule::Filter(of) => of.span,
            Rule::Score(of) => of.span,
            Rule::Reserve(of) => of.span,
            Rule::Permit(of) => of.span,
            Rule::Acts(of) => of.span,
            Rule::Never(of) | Rule::EvictionGuard(of) => of.span,
            Rule::Victim(of) => of.span,
        }
    }

    /// The statements, in the order of evaluation.
    pub fn statements(self) -> impl Iterator<Item = Statement<'p>> {
        let (mut conditions, mut guards, mut checks, mut keys) = (&[][..], &[][..], &[][..], &[][..]);
        let (mut prefilters, mut gives, mut writes, mut waits) = (&[][..], &[][..], &[][..], &[][..]);
        let (mut ledgers, mut adds, mut victims, mut acts) = (&[][..], &[][..], &[][..], &[][..]);
        match self {
            Rule::Applies(of) => conditions = of,
            Rule::Mode(of, _) => conditions = std::slice::from_ref(of),
            Rule::Except(_, of) => conditions = std::slice::from_ref(&of.value),
            Rule::Guard(of) => guards = std::slice::from_ref(of),
            Rule::Ledger(of) => (ledgers, adds) = (std::slice::from_ref(of), &of.adds),
            Rule::Gate(of) => checks = std::slice::from_ref(of),
            Rule::Queue(of) => keys = &of.keys,
            Rule::Prefilter(of) => prefilters = &of.statements,
            Rule::Filter(of) => checks = &of.checks,
            Rule::Score(of) => gives = &of.gives,
            Rule::Reserve(of) => (checks, writes) = (&of.checks, &of.writes),
            Rule::Permit(of) => (checks, waits) = (&of.checks, &of.waits),
            Rule::Never(of) | Rule::EvictionGuard(of) => checks = std::slice::from_ref(of),
            Rule::Victim(of) => victims = std::slice::from_ref(of),
            Rule::Acts(of) => acts = &of.acts,
        }
        let prefilters = prefilters.iter().map(|statement| match statement {
            PrefilterStatement::Check(of) => Statement::Check(of),
            PrefilterStatement::Only(of) => Statement::Only(of),
        });
        let conditions = conditions.iter().map(Statement::Condition);
        conditions
            .chain(guards.iter().map(Statement::Guard))
            .chain(ledgers.iter().map(Statement::LedgerKey))
            .chain(adds.iter().map(Statement::Add))
            .chain(checks.iter().map(Statement::Check))
            .chain(keys.iter().map(Statement::Key))
            .chain(prefilters)
            .chain(gives.iter().map(Statement::Give))
            .chain(writes.iter().map(Statement::Write))
            .chain(waits.iter().map(Statement::Wait))
            .chain(victims.iter().map(Statement::Victim))
            .chain(acts.iter().map(Statement::Act))
    }

    /// The checks among the statements.
    pub fn checks(self) -> impl Iterator<Item = &'p Check> {
        self.statements().filter_map(|statement| match statement {
            Statement::Check(check) => Some(check),
            _ => None,
        })
    }

    /// The waits among the statements.
    pub fn waits(self) -> impl Iterator<Item = &'p Wait> {
        self.statements().filter_map(|statement| match statement {
            Statement::Wait(wait) => Some(wait),
            _ => None,
        })
    }

    /// What the rule reads. `applies when` and guards keep none: see `analysis::reads::deciding`.
    pub fn reads(self) -> impl Iterator<Item = &'p Reads> {
        let whole = match self {
            Rule::Score(of) => Some(&of.reads),
            Rule::Queue(of) => Some(&of.reads),
            _ => None,
        };
        let each = self.statements().filter_map(|statement| match statement {
            Statement::Check(of) => Some(&of.reads),
            Statement::Only(of) => Some(&of.reads),
            Statement::Write(of) => Some(&of.reads),
            Statement::Wait(of) => Some(&of.reads),
            Statement::Victim(of) => Some(&of.reads),
            Statement::Act(of) => Some(&of.reads),
            _ => None,
        });
        whole.into_iter().chain(each)
    }
}

impl<'p> Statement<'p> {
    /// The condition, which is evaluated first.
    pub fn condition(self) -> Option<&'p Expr> {
        match self {
            Statement::Condition(condition) => Some(condition),
            Statement::Check(of) => of.condition.as_ref(),
            Statement::Only(of) => of.when.as_ref(),
            Statement::Give(of) => of.when.as_ref(),
            Statement::Write(of) => of.when.as_ref(),
            Statement::Wait(of) => Some(&of.until),
            Statement::Add(of) => of.when.as_ref(),
            Statement::Act(of) => of.when.as_ref(),
            Statement::Victim(of) => Some(&of.condition),
            Statement::Guard(_) | Statement::Key(_) | Statement::LedgerKey(_) => None,
        }
    }

    /// The value: of a `let`, a key, an `add` or a `give`, the names of nodes, how long to wait.
    pub fn value(self) -> Option<&'p Expr> {
        match self {
            Statement::Guard(of) => Some(&of.value),
            Statement::LedgerKey(of) => Some(&of.key),
            Statement::Add(of) => Some(&of.value),
            Statement::Key(of) => Some(&of.value),
            Statement::Only(of) => Some(&of.nodes),
            Statement::Give(of) => of.value.as_ref(),
            Statement::Wait(of) => Some(&of.patience),
            Statement::Condition(_)
            | Statement::Check(_)
            | Statement::Write(_)
            | Statement::Victim(_)
            | Statement::Act(_) => None,
        }
    }

    /// The values that it writes, beside [`Statement::value`].
    pub fn written(self) -> impl Iterator<Item = &'p Expr> {
        let (entries, does) = match self {
            Statement::Write(of) => (of.entries.as_slice(), None),
            Statement::Act(of) => (&[][..], Some(&of.does)),
            _ => (&[][..], None),
        };
        entries.iter().map(|entry| &entry.value).chain(does.into_iter().flat_map(Does::values))
    }

    /// Why it refuses, where it can.
    pub fn reason(self) -> Option<&'p Reason> {
        match self {
            Statement::Check(of) => Some(&of.reason),
            Statement::Wait(of) => Some(&of.reason),
            Statement::Act(of) => of.does.reason(),
            Statement::Guard(Let { missing: Some(Missing::Reject(reason)), .. }) => Some(reason),
            _ => None,
        }
    }

    /// Where it is written.
    pub fn span(self) -> Span {
        match self {
            Statement::Condition(of) => of.span,
            Statement::Guard(of) => of.span,
            Statement::Check(of) => of.span,
            Statement::LedgerKey(of) => of.key.span,
            Statement::Add(of) => of.span,
            Statement::Key(of) => of.value.span,
            Statement::Only(of) => of.span,
            Statement::Give(of) => of.span,
            Statement::Write(of) => of.span,
            Statement::Wait(of) => of.span,
            Statement::Victim(of) => of.span,
            Statement::Act(of) => of.span,
        }
    }
}

impl Reason {
    /// The values that its text shows.
    pub fn holes(&self) -> impl Iterator<Item = &Expr> {
        self.parts.iter().filter_map(|part| match part {
            ReasonPart::Hole(hole) => Some(hole),
            ReasonPart::Text(_) => None,
        })
    }
}

/// Calls `$f` for the expressions of a reason.
macro_rules! for_each_of_reason {
    ($reason:expr, $iter:ident, $f:ident) => {{
        for part in $reason.parts.$iter() {
            if let ReasonPart::Hole(hole) = part {
                $f(hole);
            }
        }
        $reason.details.$iter().for_each(|(_, value)| $f(value));
    }};
}

/// Calls `$f` for the expressions of a check.
macro_rules! for_each_of_check {
    ($check:expr, $iter:ident, $f:ident) => {{
        $check.condition.$iter().for_each(|condition| $f(condition));
        for_each_of_reason!($check.reason, $iter, $f);
    }};
}

/// Calls `$f` for every whole expression of `$policy`; `mut` and `iter_mut` for expressions to
/// change.
macro_rules! for_each_whole {
    ($policy:expr, $iter:ident, $f:ident $(, $mut:tt)?) => {{
        let policy = $policy;
        policy.applies.$iter().for_each(|condition| $f(condition));
        policy.unless.$iter().for_each(|condition| $f(condition));
        policy.modes.when.$iter().for_each(|condition| $f(condition));
        for of in policy.lets.$iter() {
            $f(&$($mut)? of.value);
            if let Some(Missing::Reject(reason)) = &$($mut)? of.missing {
                for_each_of_reason!(reason, $iter, $f);
            }
        }
        policy.defs.$iter().for_each(|def| $f(&$($mut)? def.body));
        for group in policy.groups.$iter() {
            for key in group.keys.$iter() {
                $f(&$($mut)? key.member);
                $f(&$($mut)? key.pod);
            }
            group.rest.$iter().for_each(|condition| $f(condition));
        }
        for ledger in policy.ledgers.$iter() {
            $f(&$($mut)? ledger.key);
            for add in ledger.adds.$iter() {
                $f(&$($mut)? add.value);
                add.when.$iter().for_each(|when| $f(when));
            }
        }
        for memo in policy.memos.$iter() {
            $f(&$($mut)? memo.key);
            $f(&$($mut)? memo.ttl);
        }
        for gate in policy.gates.$iter() {
            for_each_of_check!(gate, $iter, $f);
        }
        for queue in policy.queue.$iter() {
            queue.keys.$iter().for_each(|key| $f(&$($mut)? key.value));
        }
        for statement in policy.prefilters.$iter().flat_map(|prefilter| prefilter.statements.$iter()) {
            match statement {
                PrefilterStatement::Check(of) => for_each_of_check!(of, $iter, $f),
                PrefilterStatement::Only(of) => {
                    $f(&$($mut)? of.nodes);
                    of.when.$iter().for_each(|when| $f(when));
                }
            }
        }
        for of in policy.filters.$iter().flat_map(|filter| filter.checks.$iter()) {
            for_each_of_check!(of, $iter, $f);
        }
        for preempt in policy.preempt.$iter() {
            preempt.victims.$iter().for_each(|of| $f(&$($mut)? of.condition));
            for of in preempt.nevers.$iter().chain(preempt.guards.$iter()) {
                for_each_of_check!(of, $iter, $f);
            }
        }
        for give in policy.scores.$iter().flat_map(|score| score.gives.$iter()) {
            give.when.$iter().for_each(|when| $f(when));
            give.value.$iter().for_each(|value| $f(value));
        }
        for reserve in policy.reserves.$iter() {
            for of in reserve.checks.$iter() {
                for_each_of_check!(of, $iter, $f);
            }
            for write in reserve.writes.$iter() {
                write.when.$iter().for_each(|when| $f(when));
                write.entries.$iter().for_each(|entry| $f(&$($mut)? entry.value));
            }
        }
        for permit in policy.permits.$iter() {
            for of in permit.checks.$iter() {
                for_each_of_check!(of, $iter, $f);
            }
            for wait in permit.waits.$iter() {
                $f(&$($mut)? wait.patience);
                $f(&$($mut)? wait.until);
                for_each_of_reason!(wait.reason, $iter, $f);
            }
        }
        for act in policy.acts.$iter().flat_map(|acts| acts.acts.$iter()) {
            act.when.$iter().for_each(|when| $f(when));
            match &$($mut)? act.does {
                Does::Release(_, reason) => for_each_of_reason!(reason, $iter, $f),
                Does::Activate(_) => {}
                Does::Remember(_, value) => $f(value),
                Does::Write(target, _, entries) => {
                    if let Target::Object(object, _) = target {
                        $f(object);
                    }
                    entries.$iter().for_each(|entry| $f(&$($mut)? entry.value));
                }
                Does::Event(target, event) => {
                    if let Target::Object(object, _) = target {
                        $f(object);
                    }
                    for_each_of_reason!(event.text, $iter, $f);
                }
            }
        }
    }};
}

impl Policy {
    /// Calls `f` for every whole expression: of definitions, of statements, of reasons.
    pub fn for_each_expr<'p>(&'p self, f: &mut dyn FnMut(&'p Expr)) {
        for_each_whole!(self, iter, f);
    }

    /// [`Policy::for_each_expr`] for expressions to change.
    pub fn for_each_expr_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        for_each_whole!(self, iter_mut, f, mut);
    }
}
