//! `before bind`, `after bind`, `after failure`: writes to objects, events, and releases of groups.

use super::Checker;
use super::scope::Place;
use crate::language::fields::ObjectType;
use crate::language::statements::StatementId;
use crate::syntax::ast::{self, BlockKind, WriteVerb};
use crate::typed::acts::field_manager;
use crate::typed::reads::RuleReads;
use crate::typed::{Act, Acts, Does, EventOf, Point, Policy, Target};
use crate::types::Type;
use bayplan_diag::{Span, codes};
use bayplan_model::{KindName, after_bind_mark, key_problem};

/// The longest reason of an event. Source: `pkg/apis/core/validation/events.go`, `ReasonLengthLimit`.
const LONGEST_REASON: usize = 128;

/// The longest name of a field manager. Source: `apimachinery/pkg/apis/meta/v1/validation/validation.go`,
/// `FieldManagerMaxLength`.
const LONGEST_MANAGER: usize = 128;

/// Why policies never write to objects of a kind.
fn never_written(kind: &KindName) -> Option<&'static str> {
    match (kind.group(), kind.kind()) {
        ("", "Secret") => Some("who may write policies must not write Secrets by them"),
        ("", "ConfigMap") => Some("policies are in ConfigMaps, and a policy does not change policies"),
        ("rbac.authorization.k8s.io" | "certificates.k8s.io", _) => {
            Some("these objects grant rights, and policies grant none")
        }
        ("admissionregistration.k8s.io" | "apiregistration.k8s.io" | "apiextensions.k8s.io", _) => {
            Some("these objects decide what the API server accepts")
        }
        ("coordination.k8s.io", _) => Some("the scheduler's own lease is of this kind"),
        ("", "Binding") => Some("the scheduler binds pods"),
        ("", "ServiceAccount") | ("authentication.k8s.io" | "authorization.k8s.io", _) => {
            Some("these objects tell who a user is and what the user may do")
        }
        _ => None,
    }
}

impl<'a> Checker<'a> {
    pub(super) fn acts(&mut self, statement: StatementId, point: Point, block: &'a ast::Block) -> Acts {
        self.enter(Place::In(statement));
        let mut acts = Vec::new();
        for statement in &block.statements {
            let act = match &statement.kind {
                BlockKind::Let(of) => {
                    self.block_let(of);
                    continue;
                }
                BlockKind::Release(of) => self.act(of.when.as_ref(), statement.span, |this| {
                    let reason = this.reason(&of.reason);
                    this.named_group(&of.group).map(|group| Does::Release(group, reason))
                }),
                BlockKind::Activate(of) => self.act(of.when.as_ref(), statement.span, |this| {
                    this.named_group(&of.group).map(Does::Activate)
                }),
                BlockKind::Remember(of) => {
                    self.act(of.when.as_ref(), statement.span, |this| this.remember(of))
                }
                BlockKind::Write(of) if of.verb != WriteVerb::Patch => {
                    self.act(of.when.as_ref(), statement.span, |this| this.write(of))
                }
                BlockKind::Write(of) => self.act(of.when.as_ref(), statement.span, |this| this.patch(of)),
                BlockKind::Event(of) => self.act(of.when.as_ref(), statement.span, |this| this.event(of)),
                other => {
                    self.refused_in_block(other, statement.span);
                    continue;
                }
            };
            acts.extend(act);
        }
        self.leave();
        Acts { point, acts }
    }

    /// `annotate X {…}`, `label X {…}`
    fn write(&mut self, of: &'a ast::Write) -> Option<Does> {
        let target = self.target(&of.object, of.verb.word());
        let entries = self.entries(of, true);
        if matches!(target, Some(Target::Pod)) {
            self.own_annotations(of.verb, &entries);
        }
        Some(Does::Write(target?, of.verb, entries))
    }

    /// `event X normal "R" "text"`
    fn event(&mut self, of: &'a ast::Event) -> Option<Does> {
        let target = self.target(&of.object, "event");
        let word = &of.reason.text;
        let is_word = word.starts_with(|c: char| c.is_ascii_uppercase())
            && word.len() <= LONGEST_REASON
            && word.chars().all(|c| c.is_ascii_alphanumeric());
        if !is_word {
            self.mistake(
                &codes::WRONG_WRITE,
                of.reason.span,
                format!("`{word}` is not a reason of events"),
                "write a word such as `Pinned`: a capital letter first, then letters and digits, 128 at most",
            );
        }
        let text = self.event_text(&of.text);
        Some(Does::Event(target?, EventOf { warning: of.warning, reason: word.clone(), text }))
    }

    /// The object that is written, or that an event is about.
    pub(super) fn target(&mut self, name: &'a ast::Name, verb: &str) -> Option<Target> {
        if &*name.text == "pod" {
            return Some(Target::Pod);
        }
        let object =
            self.expr(&ast::Expr { kind: ast::ExprKind::Name(name.text.clone()), span: name.span }, None);
        let object = self.held(object).0;
        let kind = match object.ty.present() {
            Type::Unknown => return None,
            Type::Object(ObjectType::Node) if &*name.text == "node" => return Some(Target::Node),
            Type::Kind(kind) => kind.clone(),
            other => {
                let message = format!("`{}` is not an object, it is `{other}`", name.text);
                let help = "write `pod`, `node`, or a `let` whose value is `lookup(…)` or `….owner(…)`";
                self.mistake(&codes::WRONG_WRITE, name.span, message, help);
                return None;
            }
        };
        if verb != "event"
            && let Some(why) = never_written(&kind.name)
        {
            let message = format!("policies do not write to `{}`", kind.name);
            self.mistake(&codes::WRONG_WRITE, name.span, message, why);
            return None;
        }
        Some(Target::Object(object, kind))
    }

    /// The name of the policy becomes a part of what it writes: of the mark on the pod, and of the field manager.
    pub(super) fn name_in_writes(&mut self, policy: &ast::Policy, checked: &Policy) {
        let (name, span) = (&*policy.name.text, policy.name.span);
        let writes = |point: Option<Point>, verb: Option<WriteVerb>| {
            let acts = checked.acts().filter(|acts| point.is_none_or(|point| acts.point == point));
            acts.flat_map(|acts| &acts.acts)
                .any(|act| matches!(&act.does, Does::Write(_, of, _) if verb.is_none_or(|verb| *of == verb)))
        };
        if writes(Some(Point::PostBind), None)
            && let Some(problem) = key_problem(&after_bind_mark(name))
        {
            let message =
                format!("a policy that writes in `after bind` cannot be called `{name}`: {problem}");
            let help = "until everything is written, the pod has an annotation whose key ends in the name: choose one \
                        of 63 characters at most that begins and ends with a letter or digit";
            self.mistake(&codes::WRONG_WRITE, span, message, help);
        }
        if writes(None, Some(WriteVerb::Patch)) && field_manager(name).len() > LONGEST_MANAGER {
            let most = LONGEST_MANAGER - field_manager("").len();
            let message = "the name of a policy that uses `patch` is too long";
            let help = format!("it is the name of the field manager: choose one of {most} bytes at most");
            self.mistake(&codes::WRONG_WRITE, span, message, help);
        }
    }

    /// An act. What its condition shows is known in it, and only there.
    fn act(
        &mut self,
        when: Option<&'a ast::Expr>,
        span: Span,
        does: impl FnOnce(&mut Self) -> Option<Does>,
    ) -> Option<Act> {
        let mark = self.frame.facts.mark();
        let when = when.map(|when| self.guard(when));
        let does = does(self);
        self.frame.facts.forget(mark);
        Some(Act { does: does?, when, reads: RuleReads::default(), span })
    }
}
