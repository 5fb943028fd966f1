//! `mode`: how far the policy and its rules may go. It is read before the statements are checked, because the mode of a
//! rule is written inside of it.

use super::Checker;
use crate::diag::{Diagnostic, Span, codes, suggest};
use crate::lang::syntax::ast::{self, BlockKind, StatementKind};
use crate::lang::typed::{Mode, Modes};

impl<'a> Checker<'a> {
    /// The modes of a policy and of its rules.
    pub(super) fn modes(&mut self, policy: &'a ast::Policy) -> Modes {
        let mut modes = Modes::default();
        let written = policy.statements.iter().filter_map(|statement| match &statement.kind {
            StatementKind::Mode(mode) => Some((mode, statement.span)),
            _ => None,
        });
        if let Some(mode) = self.one_mode(written) {
            modes.policy = mode;
        }
        for statement in &policy.statements {
            let block = statement.kind.block();
            let inside = block.into_iter().flat_map(|block| &block.statements);
            let written = inside.filter_map(|inner| match &inner.kind {
                BlockKind::Mode(mode) => Some((mode, inner.span)),
                _ => None,
            });
            let beside = statement.mode.iter().map(|mode| (mode, statement.span));
            let own = self.one_mode(beside.chain(written));
            match (&statement.kind, block) {
                (
                    StatementKind::Prefilter(_) | StatementKind::Permit(_) | StatementKind::Preempt(_),
                    Some(block),
                ) => {
                    for inner in &block.statements {
                        let said = self.one_mode(inner.mode.iter().map(|mode| (mode, inner.span)));
                        modes.rules.extend(said.or(own).map(|mode| (inner.span, mode)));
                    }
                }
                _ => modes.rules.extend(own.map(|mode| (statement.span, mode))),
            }
        }
        self.queue_is_not_counted(policy, &modes);
        modes
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
        if let Some(when) = &mode.when {
            self.not_built(when.span, "`mode … when`");
        }
        if let Some(until) = &mode.until {
            self.not_built(until.span, "`mode … until`");
        }
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
