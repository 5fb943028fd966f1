//! Exceptions outside of the policies they are about: `except POLICY[/RULE] until … because … when …` at the
//! top level of a text, which may be another text than the policy's.
//!
//! The caller collects them from all texts that are in service together ([`Outside::of`]) and gives them to the compiler
//! with each policy's text. A mistake in one is reported where it is written, and is never the policy's: an exception that
//! cannot be joined to its policy is left out, with a finding.

use super::syntax;
use super::syntax::ast::{self, ItemKind, Text};
use bayplan_diag::{Diagnostic, Source, SourceId, Span, codes};
use std::sync::Arc;

/// An exception at the top level of a text.
#[derive(Clone, Debug)]
pub struct OutsideException {
    /// The policy that it is about.
    pub policy: Text,
    /// The rule of the policy; `None`: all of it.
    pub rule: Option<Text>,
    /// What it says.
    pub except: ast::Except,
    /// The policy or rule in the text.
    pub target: Span,
    /// The statement.
    pub span: Span,
    /// The text in which it stands.
    text: Arc<str>,
    /// What comments of its text allow of it.
    allowed: Vec<Text>,
}

impl OutsideException {
    /// The source in which it stands.
    pub fn source(&self) -> SourceId {
        self.span.source
    }

    /// The text in which it stands.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether a comment of its text allows a finding about it.
    pub fn allows(&self, said: &Diagnostic) -> bool {
        let span = self.span;
        said.span.source == span.source
            && span.contains(said.span)
            && self.allowed.iter().any(|slug| codes::find(slug) == Some(said.code))
    }

    /// The statement as it is written.
    pub fn written(&self) -> &str {
        self.text.get(self.span.range()).unwrap_or_default()
    }
}

/// The exceptions of some texts, in the order of the texts.
#[derive(Clone, Debug, Default)]
pub struct Outside {
    all: Vec<OutsideException>,
}

impl Outside {
    /// Those of some texts. Texts with mistakes count as far as they can be read.
    pub fn of<'s>(sources: impl IntoIterator<Item = &'s Source>) -> Self {
        let mut all = Vec::new();
        for source in sources {
            // Most texts have none, and are not parsed twice.
            if source.text().contains("except") {
                let (file, _) = syntax::parse(source);
                all.extend(in_file(&file, source));
            }
        }
        Self { all }
    }

    /// Those that concern a file: its own, and those from elsewhere about its policies.
    pub(super) fn with(&self, file: &ast::File, source: &Source) -> Self {
        let concerns = |of: &&OutsideException| {
            of.source() != source.id() && file.policies().any(|policy| policy.name.text == of.policy)
        };
        Self { all: in_file(file, source).chain(self.all.iter().filter(concerns).cloned()).collect() }
    }

    /// Those of a source alone.
    pub(super) fn of_file(&self, source: &Source) -> Self {
        let own = self.all.iter().filter(|of| of.source() == source.id());
        Self { all: own.cloned().collect() }
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &OutsideException> {
        self.all.iter()
    }

    /// Those about a policy.
    pub fn about<'o>(&'o self, policy: &'o str) -> impl Iterator<Item = &'o OutsideException> {
        self.all.iter().filter(move |of| &*of.policy == policy)
    }

    /// Whether a comment of another text allows a finding about one of them.
    pub(super) fn allow(&self, said: &Diagnostic) -> bool {
        self.all.iter().any(|of| of.allows(said))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

fn in_file(file: &ast::File, source: &Source) -> impl Iterator<Item = OutsideException> {
    let text = source.shared_text();
    file.items.iter().filter_map(move |item| {
        let ItemKind::Except(except) = &item.kind else { return None };
        let target = except.target.as_ref()?;
        let (policy, rule) = except.about()?;
        let comments = file.allows.iter().filter(|of| of.target.is_some_and(|on| on.contains(item.span)));
        let allowed = comments.flat_map(|of| &of.slugs).map(|slug| slug.text.clone()).collect();
        Some(OutsideException {
            policy: Text::from(policy),
            rule: rule.map(Text::from),
            target: target.span,
            except: except.clone(),
            span: item.span,
            text: text.clone(),
            allowed,
        })
    })
}
