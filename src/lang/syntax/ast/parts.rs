//! A statement as its parts, and from its parts, by the rows of [`PartDef`]: the builders of both languages and `convert`
//! need nothing else of a statement that has such rows.
//!
//! [`PartDef`]: crate::language::statements::PartDef

use super::blocks::*;
use super::expressions::Expr;
use super::items::Except;
use super::names::{Name, StringLiteral, Template};
use super::statements::*;
use super::types::TypeExpr;
use crate::language::statements::StatementId;
use bayplan_diag::Span;

/// A part of a statement.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part<'a> {
    /// An expression.
    Expr(&'a Expr),
    /// A reason.
    Reason(&'a Reason),
    /// A name.
    Name(&'a Name),
    /// A plain text.
    Text(&'a StringLiteral),
    /// A text with holes.
    Template(&'a Template),
    /// A type.
    Type(&'a TypeExpr),
    /// The words of a flag, which are written.
    Flag,
    /// One of two words.
    Word(&'static str),
}

/// The parts of a statement, each with its key; those that are written.
pub(crate) type Parts<'a> = Vec<(&'static str, Part<'a>)>;

/// The parts of a statement that was read, to make it of.
#[derive(Debug, Default)]
pub(crate) struct Given {
    /// Expressions by their keys.
    pub(crate) exprs: Vec<(&'static str, Expr)>,
    /// Reasons.
    pub(crate) reasons: Vec<(&'static str, Reason)>,
    /// Names and days.
    pub(crate) names: Vec<(&'static str, Name)>,
    /// Plain texts.
    pub(crate) texts: Vec<(&'static str, StringLiteral)>,
    /// Texts with holes.
    pub(crate) templates: Vec<(&'static str, Template)>,
    /// Types.
    pub(crate) types: Vec<(&'static str, TypeExpr)>,
    /// Flags, with their places.
    pub(crate) flags: Vec<(&'static str, Span)>,
    /// Words of two.
    pub(crate) words: Vec<(&'static str, &'static str)>,
}

/// Takes the part of a key.
fn take<T>(from: &mut Vec<(&'static str, T)>, key: &str) -> Option<T> {
    let at = from.iter().position(|(known, _)| *known == key)?;
    Some(from.swap_remove(at).1)
}

impl Given {
    fn expr(&mut self, key: &str) -> Option<Expr> {
        take(&mut self.exprs, key)
    }

    fn reason(&mut self, key: &str) -> Option<Reason> {
        take(&mut self.reasons, key)
    }

    fn name(&mut self, key: &str) -> Option<Name> {
        take(&mut self.names, key)
    }

    fn require(&mut self, key: &str) -> Option<Require> {
        Some(Require { condition: self.expr(key)?, reason: self.reason("else") })
    }

    fn reject(&mut self, key: &str) -> Option<Reject> {
        Some(Reject { reason: self.reason(key)?, when: self.expr("when") })
    }

    fn give(&mut self) -> Option<Give> {
        Some(Give { value: self.expr("value")?, when: self.expr("when") })
    }

    fn victim(&mut self, key: &str) -> Option<Victim> {
        Some(Victim {
            variable: self.name("v")?,
            to_all_pods: take(&mut self.flags, "toAllPods"),
            when: self.expr(key)?,
        })
    }

    fn write(&mut self, verb: WriteVerb) -> Option<Write> {
        Some(Write {
            verb,
            object: self.name(verb.word())?,
            value: self.expr(verb.value_key())?,
            when: self.expr("when"),
        })
    }
}

impl BlockKind {
    /// The statement of a row, of its parts; none if one that it needs is missing, or if the row has no parts.
    pub(crate) fn of(id: StatementId, mut from: Given) -> Option<BlockKind> {
        Some(match id {
            StatementId::Require => BlockKind::Require(from.require("require")?),
            StatementId::Guard => BlockKind::Guard(from.require("guard")?),
            StatementId::Reject => BlockKind::Reject(from.reject("reject")?),
            StatementId::Never => BlockKind::Never(from.reject("never")?),
            StatementId::Only => {
                BlockKind::Only(Only { nodes: from.expr("onlyNodes")?, when: from.expr("when") })
            }
            StatementId::Give => BlockKind::Give(from.give()?),
            StatementId::Add => BlockKind::Add(from.give()?),
            StatementId::Victim => BlockKind::Victim(from.victim("victim")?),
            StatementId::Protect => BlockKind::Protect(from.victim("protect")?),
            StatementId::Wait => BlockKind::Wait(Wait {
                patience: from.expr("wait")?,
                group: from.name("for"),
                until: from.expr("until")?,
                reason: from.reason("else")?,
            }),
            StatementId::Event => BlockKind::Event(Event {
                object: from.name("event")?,
                warning: take(&mut from.words, "type") == Some("warning"),
                reason: take(&mut from.texts, "reason")?,
                text: take(&mut from.templates, "text")?,
                when: from.expr("when"),
            }),
            StatementId::Remember => BlockKind::Remember(Remember {
                memo: from.name("remember")?,
                value: from.expr("value")?,
                when: from.expr("when"),
            }),
            StatementId::Release => BlockKind::Release(Release {
                group: from.name("release")?,
                reason: from.reason("reason")?,
                when: from.expr("when"),
            }),
            StatementId::Activate => {
                BlockKind::Activate(Activate { group: from.name("activate")?, when: from.expr("when") })
            }
            id => BlockKind::Write(from.write(WriteVerb::of(id)?)?),
        })
    }

    /// Its parts; empty where its row has none.
    pub(crate) fn parts(&self) -> Parts<'_> {
        match self {
            BlockKind::Require(of) => of.parts("require"),
            BlockKind::Guard(of) => of.parts("guard"),
            BlockKind::Reject(of) => of.parts("reject"),
            BlockKind::Never(of) => of.parts("never"),
            BlockKind::Only(of) => with_when(vec![("onlyNodes", Part::Expr(&of.nodes))], &of.when),
            BlockKind::Give(of) | BlockKind::Add(of) => {
                with_when(vec![("value", Part::Expr(&of.value))], &of.when)
            }
            BlockKind::Victim(of) => of.parts("victim"),
            BlockKind::Protect(of) => of.parts("protect"),
            BlockKind::Wait(of) => {
                let mut parts = vec![("wait", Part::Expr(&of.patience))];
                parts.extend(of.group.as_ref().map(|group| ("for", Part::Name(group))));
                parts.extend([("until", Part::Expr(&of.until)), ("else", Part::Reason(&of.reason))]);
                parts
            }
            BlockKind::Write(of) => {
                let (object, value) = (Part::Name(&of.object), Part::Expr(&of.value));
                with_when(vec![(of.verb.word(), object), (of.verb.value_key(), value)], &of.when)
            }
            BlockKind::Event(of) => {
                let parts = vec![
                    ("event", Part::Name(&of.object)),
                    ("type", Part::Word(if of.warning { "warning" } else { "normal" })),
                    ("reason", Part::Text(&of.reason)),
                    ("text", Part::Template(&of.text)),
                ];
                with_when(parts, &of.when)
            }
            BlockKind::Remember(of) => with_when(
                vec![("remember", Part::Name(&of.memo)), ("value", Part::Expr(&of.value))],
                &of.when,
            ),
            BlockKind::Release(of) => with_when(
                vec![("release", Part::Name(&of.group)), ("reason", Part::Reason(&of.reason))],
                &of.when,
            ),
            BlockKind::Activate(of) => with_when(vec![("activate", Part::Name(&of.group))], &of.when),
            BlockKind::Let(_) | BlockKind::Mode(_) | BlockKind::Except(_) | BlockKind::Broken(_) => {
                Vec::new()
            }
        }
    }
}

impl StatementKind {
    /// The statement of a row that is a word and a block; none if the row is another one.
    pub(crate) fn of_block(id: StatementId, block: Block) -> Option<StatementKind> {
        Some(match id {
            StatementId::Prefilter => StatementKind::Prefilter(block),
            StatementId::Reserve => StatementKind::Reserve(block),
            StatementId::Permit => StatementKind::Permit(block),
            StatementId::Preempt => StatementKind::Preempt(block),
            StatementId::BeforeBind => StatementKind::BeforeBind(block),
            StatementId::AfterBind => StatementKind::AfterBind(block),
            StatementId::AfterFailure => StatementKind::AfterFailure(block),
            _ => return None,
        })
    }

    /// The statement of a row, of its parts; none if one that it needs is missing, or if the row has no parts.
    pub(crate) fn of(id: StatementId, mut from: Given) -> Option<StatementKind> {
        Some(match id {
            StatementId::Gate => {
                StatementKind::Gate(Gate { reason: from.reason("reason")?, when: from.expr("when")? })
            }
            StatementId::Prefer => {
                StatementKind::Prefer(Prefer { weight: from.expr("weight")?, when: from.expr("when")? })
            }
            StatementId::Group => StatementKind::Group(Group {
                name: from.name("name")?,
                variable: from.name("p")?,
                condition: from.expr("expression")?,
            }),
            StatementId::Memo => StatementKind::Memo(Memo {
                name: from.name("name")?,
                declared: take(&mut from.types, "type")?,
                key: from.expr("by")?,
                ttl: from.expr("ttl")?,
            }),
            StatementId::Except => StatementKind::Except(Except {
                target: from.name("rule"),
                until: from.name("until")?,
                because: take(&mut from.texts, "because")?,
                when: from.expr("when"),
            }),
            _ => return None,
        })
    }

    /// Its parts; empty where its row has none.
    pub(crate) fn parts(&self) -> Parts<'_> {
        match self {
            StatementKind::Gate(of) => {
                vec![("reason", Part::Reason(&of.reason)), ("when", Part::Expr(&of.when))]
            }
            StatementKind::Prefer(of) => {
                vec![("weight", Part::Expr(&of.weight)), ("when", Part::Expr(&of.when))]
            }
            StatementKind::Group(of) => vec![
                ("name", Part::Name(&of.name)),
                ("p", Part::Name(&of.variable)),
                ("expression", Part::Expr(&of.condition)),
            ],
            StatementKind::Memo(of) => vec![
                ("name", Part::Name(&of.name)),
                ("type", Part::Type(&of.declared)),
                ("by", Part::Expr(&of.key)),
                ("ttl", Part::Expr(&of.ttl)),
            ],
            StatementKind::Except(of) => of.parts(),
            _ => Vec::new(),
        }
    }
}

impl Except {
    /// Its parts.
    pub(crate) fn parts(&self) -> Parts<'_> {
        let mut parts: Parts<'_> = self.target.iter().map(|rule| ("rule", Part::Name(rule))).collect();
        parts.extend([("until", Part::Name(&self.until)), ("because", Part::Text(&self.because))]);
        with_when(parts, &self.when)
    }
}

impl Require {
    /// Its parts; `key` is that of the condition.
    pub(crate) fn parts(&self, key: &'static str) -> Parts<'_> {
        let mut parts = vec![(key, Part::Expr(&self.condition))];
        parts.extend(self.reason.as_ref().map(|reason| ("else", Part::Reason(reason))));
        parts
    }
}

impl Reject {
    fn parts(&self, key: &'static str) -> Parts<'_> {
        with_when(vec![(key, Part::Reason(&self.reason))], &self.when)
    }
}

impl Victim {
    fn parts(&self, key: &'static str) -> Parts<'_> {
        let mut parts = vec![("v", Part::Name(&self.variable))];
        parts.extend(self.to_all_pods.map(|_| ("toAllPods", Part::Flag)));
        parts.push((key, Part::Expr(&self.when)));
        parts
    }
}

fn with_when<'a>(mut parts: Parts<'a>, when: &'a Option<Expr>) -> Parts<'a> {
    parts.extend(when.as_ref().map(|when| ("when", Part::Expr(when))));
    parts
}
