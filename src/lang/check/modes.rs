//! `mode`: how far the policy and its rules may go. It is read before the statements are checked, because the mode of a
//! rule is written inside of it.

use super::Checker;
use super::scope::Place;
use crate::language::statements::StatementId;
use crate::syntax::ast::{self, BlockKind, StatementKind};
use crate::typed::{Body, Expr, Head, Leave, LetId, Mode, Modes, Policy, Until};
use bayplan_diag::{Diagnostic, Span, codes, suggest};
use bayplan_model::Time;
use rustc_hash::FxHashMap;

/// The modes that rules say themselves, by the place of the rule; of `prefilter`, `permit` and `preempt` by the place of each
/// statement inside.
#[derive(Default)]
pub(super) struct RuleModes {
    modes: FxHashMap<Span, Mode>,
    /// The pods for which they decide, and the mode for the others, where they do not decide for all.
    some: FxHashMap<Span, (LetId, Span, Mode)>,
}

impl RuleModes {
    /// What the rule at a place has for its mode: its own one or that of the policy, and whom it leaves alone by it.
    pub(super) fn of(&self, rule: Span, policy: &Policy) -> (Mode, Vec<Leave>) {
        let mode = self.modes.get(&rule).copied().unwrap_or(policy.modes.policy);
        let some = self
            .some
            .get(&rule)
            .map(|(decides, span, otherwise)| Leave::by_mode((*decides, *span), *otherwise));
        (mode, some.into_iter().collect())
    }
}

impl<'a> Checker<'a> {
    /// The modes of a policy and of its rules.
    pub(super) fn modes(&mut self, policy: &'a ast::Policy) -> (Modes, RuleModes) {
        let (mut modes, mut rules) = (Modes::default(), RuleModes::default());
        let written = policy.statements.iter().filter_map(|statement| match &statement.kind {
            StatementKind::Mode(mode) => Some((mode, statement.span)),
            _ => None,
        });
        if let Some(mode) = self.one_mode(written) {
            modes.policy = mode;
        }
        for statement in &policy.statements {
            let own = self.one_mode(written_of(statement).into_iter());
            match inside_with_modes(statement) {
                Some(inside) => {
                    for inner in inside {
                        let said = self.one_mode(inner.mode.iter().map(|mode| (mode, inner.span)));
                        rules.modes.extend(said.or(own).map(|mode| (inner.span, mode)));
                    }
                }
                None => rules.modes.extend(own.map(|mode| (statement.span, mode))),
            }
        }
        self.queue_is_not_counted(policy, &modes);
        modes.until = self.days(policy);
        (modes, rules)
    }

    /// The days until which modes are meant.
    fn days(&mut self, policy: &'a ast::Policy) -> Vec<Until> {
        let mut written: Vec<&ast::Mode> = Vec::new();
        for statement in &policy.statements {
            if let StatementKind::Mode(mode) = &statement.kind {
                written.push(mode);
            }
            let block = statement.kind.block().into_iter().flat_map(|block| &block.statements);
            written.extend(&statement.mode);
            for inner in block {
                if let BlockKind::Mode(mode) = &inner.kind {
                    written.push(mode);
                }
                written.extend(&inner.mode);
            }
        }
        let mut days = Vec::new();
        for of in written {
            let Some(day) = &of.until else { continue };
            let mode = Mode::of(&of.mode.text).unwrap_or_default();
            if mode == Mode::Enforce && of.when.is_none() {
                let message = "a day is for modes that do not decide yet";
                self.mistake(&codes::WRONG_MODE, day.span, message, "remove `until`, or write another mode");
            }
            match Time::end_of_day(&day.text) {
                Some(end) => days.push(Until { mode, end, span: day.span }),
                None => {
                    let message = format!("`{}` is not a day", day.text);
                    self.mistake(
                        &codes::BAD_CONSTANT,
                        day.span,
                        message,
                        "a day is written as in `2027-01-31`",
                    );
                }
            }
        }
        days
    }

    /// The first of some modes; a second one is a mistake.
    fn one_mode<'m>(&mut self, written: impl Iterator<Item = (&'m ast::Mode, Span)>) -> Option<Mode> {
        let mut first: Option<(Option<Mode>, Span)> = None;
        for (mode, span) in written {
            let read = self.mode(mode, span);
            match first {
                None => first = Some((read, span)),
                Some((_, first)) => self.report(
                    Diagnostic::new(&codes::DUPLICATE_STATEMENT, span, "a second `mode`")
                        .with_place(first, "the first one")
                        .with_help("keep one of them"),
                ),
            }
        }
        first.and_then(|(mode, _)| mode)
    }

    fn mode(&mut self, mode: &ast::Mode, span: Span) -> Option<Mode> {
        let read = Mode::of(&mode.mode.text);
        if read.is_none() {
            let words = Mode::WORDS.map(|(word, _)| word);
            let help = match suggest::nearest(&mode.mode.text, words) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("modes are {}", words.map(|word| format!("`{word}`")).join(", ")),
            };
            let place = if span.contains(mode.mode.span) { mode.mode.span } else { span };
            self.mistake(
                &codes::UNKNOWN_NAME,
                place,
                format!("no mode is called `{}`", mode.mode.text),
                help,
            );
        }
        read
    }

    /// `mode enforce when E else M`: the pods for which the rules decide.
    pub(super) fn decides_for(
        &mut self,
        policy: &'a ast::Policy,
        rules: &mut RuleModes,
        result: &mut Policy,
    ) {
        self.rules_decide_for(policy, rules, result);
        let written = policy.statements.iter().find_map(|statement| match &statement.kind {
            StatementKind::Mode(mode) => Some(mode),
            _ => None,
        });
        let Some((mode, when)) = written.and_then(|mode| Some((mode, mode.when.as_ref()?))) else { return };
        for statement in &policy.statements {
            let inside = statement.kind.block().into_iter().flat_map(|block| &block.statements);
            let spans = std::iter::once(statement.span).chain(inside.map(|inner| inner.span));
            let wrong = |span: &Span| rules.modes.get(span) == Some(&Mode::Enforce);
            if let Some(span) = spans.into_iter().find(wrong) {
                let which = if rules.some.contains_key(&span) { "pods of its own" } else { "all pods" };
                let message = format!("this rule decides for {which}, and its policy for some");
                let help = "such a rule may count for all pods (`audit`, `warn`) or be `off`; move rules for other pods \
                            into another policy";
                self.mistake(&codes::WRONG_MODE, span, message, help);
            }
        }
        let always = ("the policy decides for every pod", "the policy decides for no pod");
        if let Some((condition, otherwise)) = self.decides_when(mode, when, always) {
            let head = Head::of("mode", condition.span);
            result.add_rule(head, Body::Mode(condition));
            result.modes.otherwise = otherwise;
        }
        // Elsewhere it was reported with the mode.
        let queues = policy.statements.iter().filter(|of| matches!(of.kind, StatementKind::Queue(_)));
        for queue in queues.filter(|_| result.modes.policy == Mode::Enforce) {
            let message = "`queue by` orders nothing in a policy that decides for some pods";
            self.mistake(&codes::QUEUE_NOT_COUNTED, queue.span, message, "write it into a policy of its own");
        }
    }

    /// `mode enforce when E else M` of rules. Their conditions become hidden lets, which are in the guards of the rules.
    fn rules_decide_for(&mut self, policy: &'a ast::Policy, rules: &mut RuleModes, result: &mut Policy) {
        let always = ("the rule decides for every pod", "the rule decides for no pod");
        let mut of_rule = |mode: &'a ast::Mode, places: Vec<Span>| {
            let Some(when) = &mode.when else { return };
            let Some((condition, otherwise)) = self.decides_when(mode, when, always) else { return };
            let span = condition.span;
            let holds = self.hidden_let("mode", condition, span);
            result.add_rule(Head::of("mode", span), Body::DecidesWhen(holds));
            rules.some.extend(places.into_iter().map(|place| (place, (holds, span, otherwise))));
        };
        for statement in &policy.statements {
            let own = written_of(statement).first().map(|(mode, _)| *mode);
            let Some(inside) = inside_with_modes(statement) else {
                own.into_iter().for_each(|mode| of_rule(mode, vec![statement.span]));
                continue;
            };
            let (said, rest): (Vec<_>, Vec<_>) = inside.iter().partition(|inner| inner.mode.is_some());
            for inner in said {
                inner.mode.iter().for_each(|mode| of_rule(mode, vec![inner.span]));
            }
            let declares = |kind: &BlockKind| {
                matches!(kind, BlockKind::Let(_) | BlockKind::Mode(_) | BlockKind::Except(_))
            };
            let rest: Vec<Span> =
                rest.iter().filter(|inner| !declares(&inner.kind)).map(|inner| inner.span).collect();
            own.into_iter().for_each(|mode| of_rule(mode, rest.clone()));
        }
    }

    /// The condition of a mode, and the mode for the other pods.
    fn decides_when(
        &mut self,
        mode: &'a ast::Mode,
        when: &'a ast::Expr,
        (always, never): (&str, &str),
    ) -> Option<(Expr, Mode)> {
        if Mode::of(&mode.mode.text).is_some_and(|mode| mode != Mode::Enforce) {
            let help = "write `mode enforce when … else audit` or `… else warn`";
            let message = "a condition says for which pods the rules decide";
            self.mistake(&codes::WRONG_MODE, mode.mode.span, message, help);
        }
        let otherwise = mode.otherwise.as_ref().map_or(Some(Mode::Audit), |word| {
            let known = Mode::of(&word.text).filter(|mode| mode.counts());
            if known.is_none() {
                let message = format!("`{}` is not a mode for the other pods", word.text);
                self.mistake(&codes::WRONG_MODE, word.span, message, "their rules count: `audit` or `warn`");
            }
            known
        });
        self.enter(Place::In(StatementId::Mode));
        let condition = self.condition(when);
        self.always(&condition, always, never);
        (!condition.ty.is_unknown()).then(|| (condition, otherwise.unwrap_or(Mode::Audit)))
    }

    /// Says where `queue by` has no effect.
    fn queue_is_not_counted(&mut self, policy: &ast::Policy, modes: &Modes) {
        if modes.policy == Mode::Enforce {
            return;
        }
        let queues = policy.statements.iter().filter(|of| matches!(of.kind, StatementKind::Queue(_)));
        for queue in queues {
            let message =
                format!("`queue by` orders nothing in mode `{}`, and is not counted", modes.policy.word());
            let help = "write it into a policy of its own, or give modes to single rules";
            self.mistake(&codes::QUEUE_NOT_COUNTED, queue.span, message, help);
        }
    }
}

/// The modes that a rule says: after its word, in its block, or as fields of a document.
fn written_of(statement: &ast::Statement) -> Vec<(&ast::Mode, Span)> {
    let inside = statement.kind.block().into_iter().flat_map(|block| &block.statements);
    let inside = inside.filter_map(|inner| match &inner.kind {
        BlockKind::Mode(mode) => Some((mode, inner.span)),
        _ => None,
    });
    statement.mode.iter().map(|mode| (mode, statement.span)).chain(inside).collect()
}

/// The statements of a block that have modes of their own; `None`: the rule has one.
fn inside_with_modes(statement: &ast::Statement) -> Option<&[ast::BlockStatement]> {
    match &statement.kind {
        StatementKind::Prefilter(block) | StatementKind::Permit(block) | StatementKind::Preempt(block) => {
            Some(&block.statements)
        }
        _ => None,
    }
}
