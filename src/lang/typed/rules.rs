//! [`Rule`]: what a person names, and what costs, plans and traces are reported of. A policy has one list of them,
//! [`Policy::rules`], in the order in which an attempt evaluates them.
//!
//! A new statement is a variant of [`Body`], with its arm in the methods here and in `visit.rs`.

use super::guard::Leave;
use super::modes::Mode;
use super::reads::RuleReads;
use super::statements::Statement;
use super::{
    Acts, Check, ExceptionId, Expr, Filter, LedgerId, LetId, Permit, Policy, Prefilter, Queue, Reserve,
    Score, Victim, Wait, Write,
};
use crate::syntax::ast::Text;
use bayplan_diag::Span;

/// A rule of a policy.
#[derive(Clone, Debug)]
pub struct Rule {
    /// What every rule has.
    pub head: Head,
    /// What it says.
    pub body: Body,
}

/// What every rule has.
#[derive(Clone, Debug)]
pub struct Head {
    /// The author's name for it, else the keyword of the statement.
    pub name: Text,
    /// The doc comment.
    pub doc: Option<Text>,
    /// How far it may go. Ledgers, and what narrows the policy, are the same whatever the rules may do: see [`Rule::mode`].
    pub mode: Mode,
    /// Its guard: the pods that it leaves alone, whatever its conditions say.
    pub guard: Vec<Leave>,
    /// The statement. The statements of a block that have modes of their own are several rules at one place.
    pub span: Span,
}

/// What a rule says.
#[derive(Clone, Debug)]
pub enum Body {
    /// `applies when`, split at `&&`; never empty. The policy does not apply to a pod for which one is false. Reads `pod` and
    /// `ns` only.
    Applies(Vec<Expr>),
    /// The pods for which the policy has its mode.
    Mode(Expr),
    /// The pods for which rules decide: the value of a hidden `let`.
    DecidesWhen(LetId),
    /// An exception of the policy or of a rule.
    Except(ExceptionId),
    /// A `let` with `missing`.
    Missing(LetId),
    /// `ledger`
    Ledger(LedgerId),
    /// `gate`
    Gate(Check),
    /// `queue by`
    Queue(Queue),
    /// `prefilter`
    Prefilter(Prefilter),
    /// `filter`
    Filter(Filter),
    /// `preempt` without a statement: the policy is a plugin that evicts.
    Preempt,
    /// `never`
    Never(Check),
    /// `victim` or `protect`
    Victim(Victim),
    /// `guard`
    EvictionGuard(Check),
    /// `score` or `prefer`
    Score(Score),
    /// `reserve`
    Reserve(Reserve),
    /// `permit`
    Permit(Permit),
    /// `before bind`, `after bind` or `after failure`
    Acts(Acts),
}

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

impl Body {
    /// Its place in the order in which an attempt evaluates rules; those of equal places are in the order of the text.
    fn rank(&self) -> u8 {
        match self {
            Body::Applies(_) => 0,
            Body::Mode(_) => 1,
            Body::DecidesWhen(_) => 2,
            Body::Except(_) => 3,
            Body::Missing(_) => 4,
            Body::Ledger(_) => 5,
            Body::Gate(_) => 6,
            Body::Queue(_) => 7,
            Body::Prefilter(_) => 8,
            Body::Filter(_) => 9,
            Body::Preempt => 10,
            Body::Never(_) => 11,
            Body::Victim(_) => 12,
            Body::EvictionGuard(_) => 13,
            Body::Score(_) => 14,
            Body::Reserve(_) => 15,
            Body::Permit(_) => 16,
            Body::Acts(_) => 17,
        }
    }

    /// Whether it belongs to the policy rather than to its mode: it is evaluated whatever the rules may do.
    pub(super) fn is_of_policy(&self) -> bool {
        matches!(
            self,
            Body::Applies(_)
                | Body::Mode(_)
                | Body::DecidesWhen(_)
                | Body::Except(_)
                | Body::Missing(_)
                | Body::Ledger(_)
        )
    }
}

impl Head {
    /// Of a rule that has neither a mode nor a guard of its own.
    pub(crate) fn of(name: &str, span: Span) -> Self {
        Self { name: Text::from(name), doc: None, mode: Mode::Enforce, guard: Vec::new(), span }
    }
}

impl Rule {
    /// The extension point.
    pub fn point(&self) -> Point {
        match &self.body {
            Body::Applies(_) | Body::Mode(_) | Body::DecidesWhen(_) | Body::Except(_) | Body::Missing(_) => {
                Point::Applies
            }
            Body::Ledger(_) => Point::Ledger,
            Body::Gate(_) => Point::PreEnqueue,
            Body::Queue(_) => Point::QueueSort,
            Body::Prefilter(_) => Point::PreFilter,
            Body::Filter(_) => Point::Filter,
            Body::Score(_) => Point::Score,
            Body::Reserve(_) => Point::Reserve,
            Body::Permit(_) => Point::Permit,
            Body::Acts(of) => of.point,
            Body::Preempt | Body::Never(_) | Body::Victim(_) | Body::EvictionGuard(_) => Point::PostFilter,
        }
    }

    /// The author's name for it, else the keyword of the statement.
    pub fn name(&self) -> &str {
        &self.head.name
    }

    /// Where it is written.
    pub fn span(&self) -> Span {
        self.head.span
    }

    /// How far it may go; `None` of ledgers and of what narrows the policy.
    pub fn mode(&self) -> Option<Mode> {
        (!self.body.is_of_policy() || matches!(self.body, Body::Missing(_))).then_some(self.head.mode)
    }

    /// The statements, in the order of evaluation.
    pub fn statements<'p>(&'p self, policy: &'p Policy) -> impl Iterator<Item = Statement<'p>> {
        let (mut checks, mut waits, mut writes) = (&[][..], &[][..], &[][..]);
        let (mut first, mut conditions, mut adds) = (None, &[][..], &[][..]);
        let (mut keys, mut prefilters, mut gives, mut acts) = (&[][..], &[][..], &[][..], &[][..]);
        match &self.body {
            Body::Applies(of) => conditions = of,
            Body::Mode(of) => conditions = std::slice::from_ref(of),
            Body::DecidesWhen(id) => conditions = std::slice::from_ref(&policy[*id].value),
            Body::Except(id) => conditions = std::slice::from_ref(&policy[policy[*id].holds].value),
            Body::Missing(id) => first = Statement::missing(&policy[*id]),
            Body::Ledger(id) => {
                (first, adds) = (Some(Statement::LedgerKey(&policy[*id])), &policy[*id].adds);
            }
            Body::Queue(of) => keys = &of.keys,
            Body::Prefilter(of) => prefilters = &of.statements,
            Body::Filter(of) => checks = &of.checks,
            Body::Score(of) => gives = &of.gives,
            Body::Reserve(of) => (checks, writes) = (&of.checks, &of.writes),
            Body::Permit(of) => (checks, waits) = (&of.checks, &of.waits),
            Body::Gate(of) | Body::Never(of) | Body::EvictionGuard(of) => checks = std::slice::from_ref(of),
            Body::Victim(of) => first = Some(Statement::Victim(of)),
            Body::Acts(of) => acts = &of.acts,
            Body::Preempt => {}
        }
        let conditions = conditions.iter().map(Statement::Condition);
        conditions
            .chain(first)
            .chain(adds.iter().map(Statement::Add))
            .chain(checks.iter().map(Statement::Check))
            .chain(keys.iter().map(Statement::Key))
            .chain(prefilters.iter().map(Statement::of_prefilter))
            .chain(gives.iter().map(Statement::Give))
            .chain(writes.iter().map(Statement::Write))
            .chain(waits.iter().map(Statement::Wait))
            .chain(acts.iter().map(Statement::Act))
    }

    /// The checks among the statements.
    pub fn checks(&self) -> impl Iterator<Item = &Check> {
        let (mut checks, mut prefilters) = (&[][..], &[][..]);
        match &self.body {
            Body::Gate(of) | Body::Never(of) | Body::EvictionGuard(of) => checks = std::slice::from_ref(of),
            Body::Prefilter(of) => prefilters = &of.statements,
            Body::Filter(of) => checks = &of.checks,
            Body::Reserve(of) => checks = &of.checks,
            Body::Permit(of) => checks = &of.checks,
            _ => {}
        }
        checks.iter().chain(prefilters.iter().filter_map(|statement| statement.check()))
    }

    /// The waits among the statements.
    pub fn waits(&self) -> &[Wait] {
        match &self.body {
            Body::Permit(of) => &of.waits,
            _ => &[],
        }
    }

    /// What the rule reads. What narrows the policy, and lets with `missing`, keep none: see `analysis::reads::deciding`.
    pub fn reads<'p>(&'p self, policy: &'p Policy) -> impl Iterator<Item = &'p RuleReads> {
        let whole = match &self.body {
            Body::Score(of) => Some(&of.reads),
            Body::Queue(of) => Some(&of.reads),
            _ => None,
        };
        let each = self.statements(policy).filter_map(|statement| match statement {
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

    /// The `score` or `prefer`, if it is one.
    pub fn score(&self) -> Option<&Score> {
        match &self.body {
            Body::Score(of) => Some(of),
            _ => None,
        }
    }
}

impl Policy {
    /// Puts a rule at its place in the order of evaluation.
    pub(crate) fn add_rule(&mut self, head: Head, body: Body) {
        let rank = body.rank();
        let at = self.rules.partition_point(|rule| rule.body.rank() <= rank);
        self.rules.insert(at, Rule { head, body });
    }

    /// Adds the rules that are declarations: lets with `missing`, and ledgers.
    pub(crate) fn add_declared_rules(&mut self) {
        let mode = self.modes.policy;
        let lets = self.lets.iter().enumerate().filter(|(_, of)| of.missing.is_some());
        let lets = lets.map(|(at, of)| (of.name.clone(), of.span, Body::Missing(LetId(at as u32))));
        let ledgers = self.ledgers.iter().enumerate();
        let ledgers = ledgers.map(|(at, of)| (of.name.clone(), of.span, Body::Ledger(LedgerId(at as u32))));
        for (name, span, body) in lets.chain(ledgers).collect::<Vec<_>>() {
            self.add_rule(Head { name, doc: None, mode, guard: Vec::new(), span }, body);
        }
    }

    /// The rules of one extension point.
    pub fn rules_at(&self, point: Point) -> impl Iterator<Item = &Rule> {
        self.rules.iter().filter(move |rule| rule.point() == point)
    }

    /// All statements, in the order of evaluation.
    pub fn statements(&self) -> impl Iterator<Item = Statement<'_>> {
        self.rules.iter().flat_map(|rule| rule.statements(self))
    }

    /// All checks of one extension point.
    pub fn checks_at(&self, point: Point) -> impl Iterator<Item = &Check> {
        self.rules_at(point).flat_map(Rule::checks)
    }

    /// The conjuncts of `applies when`.
    pub fn applies(&self) -> &[Expr] {
        match self.rules.first().map(|rule| &rule.body) {
            Some(Body::Applies(conditions)) => conditions,
            _ => &[],
        }
    }

    /// `queue by`
    pub fn queue(&self) -> Option<(&Head, &Queue)> {
        self.rules.iter().find_map(|rule| match &rule.body {
            Body::Queue(of) => Some((&rule.head, of)),
            _ => None,
        })
    }

    /// `score` and `prefer`, in the order of the text.
    pub fn scores(&self) -> impl Iterator<Item = (&Head, &Score)> {
        self.rules.iter().filter_map(|rule| Some((&rule.head, rule.score()?)))
    }

    /// `victim` and `protect`, in the order of the text.
    pub fn victims(&self) -> impl Iterator<Item = &Victim> {
        self.rules.iter().filter_map(|rule| match &rule.body {
            Body::Victim(of) => Some(of),
            _ => None,
        })
    }

    /// `annotate` and `label` of `reserve`, in the order of the text.
    pub fn marks(&self) -> impl Iterator<Item = &Write> {
        self.rules.iter().flat_map(|rule| match &rule.body {
            Body::Reserve(of) => of.writes.as_slice(),
            _ => &[],
        })
    }

    /// `before bind`, `after bind` and `after failure`, in the order of the text.
    pub fn acts(&self) -> impl Iterator<Item = &Acts> {
        self.rules.iter().filter_map(|rule| match &rule.body {
            Body::Acts(of) => Some(of),
            _ => None,
        })
    }

    /// Whether it has `preempt`, with statements or without.
    pub fn evicts(&self) -> bool {
        self.rules_at(Point::PostFilter).next().is_some()
    }
}
