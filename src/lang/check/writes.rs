//! `reserve`: its rejections, and the annotations and labels that it adds to the pod.

use super::Checker;
use super::scope::Place;
use crate::language::statements::StatementId;
use crate::syntax::ast::{self, BlockKind, Literal, WriteVerb};
use crate::typed::reads::RuleReads;
use crate::typed::{Expr, Reserve, Write, WriteEntry, WriteForm};
use crate::types::Type;
use bayplan_diag::{Diagnostic, Span, codes};
use bayplan_model::{key_problem, of_the_creator, pod_annotation_problem, value_problem};

/// Keys under this domain are the scheduler's own.
const OWN_DOMAIN: &str = "bayplan.dev";

impl<'a> Checker<'a> {
    pub(super) fn reserve(&mut self, block: &'a ast::Block) -> Reserve {
        self.enter(Place::In(StatementId::Reserve));
        let (mut checks, mut writes) = (Vec::new(), Vec::new());
        for statement in &block.statements {
            match &statement.kind {
                BlockKind::Let(of) => self.block_let(of),
                BlockKind::Reject(reject) => {
                    let check = self.reject(reject, statement);
                    checks.push(check);
                }
                BlockKind::Write(write) if write.verb != WriteVerb::Patch => {
                    let write = self.mark(write, statement.span);
                    writes.push(write);
                }
                BlockKind::Write(_) => {
                    self.no_patch(statement.span, "`reserve` does not patch");
                }
                other => self.refused_in_block(other, statement.span),
            }
        }
        self.leave();
        Reserve { checks, writes }
    }

    /// `annotate pod {…}` or `label pod {…}` of `reserve`.
    fn mark(&mut self, of: &'a ast::Write, span: Span) -> Write {
        if &*of.object.text != "pod" {
            self.mistake(
                &codes::WRONG_WRITE,
                of.object.span,
                format!("`reserve` writes to the pod only, not to `{}`", of.object.text),
                "the Binding of the pod takes what is written to the API server; write `pod`",
            );
        }
        let facts = self.frame.facts.mark();
        let when = of.when.as_ref().map(|when| self.guard(when));
        let entries = self.entries(of, false);
        self.own_annotations(of.verb, &entries);
        self.frame.facts.forget(facts);
        Write { verb: of.verb, entries, when, reads: RuleReads::default(), span }
    }

    /// The keys and values of a write. `removes`: a key whose value is the literal `none` is removed.
    pub(super) fn entries(&mut self, of: &'a ast::Write, removes: bool) -> Vec<WriteEntry> {
        let entries = match &of.value.kind {
            ast::ExprKind::Map(entries) => {
                entries.iter().filter_map(|entry| self.entry(of, entry, removes)).collect()
            }
            _ => {
                let help = format!("`{} {} {{\"example.com/key\": …}}`", of.verb.word(), of.object.text);
                self.mistake(
                    &codes::WRONG_WRITE,
                    of.value.span,
                    "this is not a map of keys and values",
                    help,
                );
                Vec::new()
            }
        };
        let mut kept: Vec<WriteEntry> = Vec::with_capacity(entries.len());
        for entry in entries {
            match kept.iter().find(|other| other.key == entry.key) {
                Some(first) => self.report(
                    Diagnostic::new(
                        &codes::WRONG_WRITE,
                        entry.span,
                        format!("`{}` is written twice", entry.key),
                    )
                    .with_place(first.span, "the first one")
                    .with_help("remove one of them"),
                ),
                None => kept.push(entry),
            }
        }
        kept
    }

    fn entry(&mut self, write: &ast::Write, of: &'a ast::Entry, removes: bool) -> Option<WriteEntry> {
        if self.key_without_quotes(&of.key) {
            return None;
        }
        let key = self.expr(&of.key, Some(&Type::String));
        let literal = matches!(of.value.kind, ast::ExprKind::Literal(Literal::None | Literal::Null));
        let removes = removes && literal && !of.optional;
        let value = match removes {
            true => Some(self.expr(&of.value, Some(&Type::String.optional()))),
            false => self.written_value(write, of),
        };
        let Some(key) = self.constant_str(&key) else {
            if !key.ty.is_unknown() {
                let help =
                    "write the key as a text: which keys a policy writes must be known when it is loaded";
                self.mistake(&codes::WRONG_WRITE, of.key.span, "the key is not a constant text", help);
            }
            return None;
        };
        self.own_key(&key, of.key.span);
        let (within, form) = (Box::default(), WriteForm::Plain);
        Some(WriteEntry { within, key, value: value?, form, removes, span: of.key.span })
    }

    /// `{example.com/a: …}`: reports it.
    fn key_without_quotes(&mut self, key: &ast::Expr) -> bool {
        // A key of a document is a text without quotes.
        if matches!(key.kind, ast::ExprKind::Literal(_)) {
            return false;
        }
        let written = self.excerpt(key.span).to_owned();
        let first = written.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next().unwrap_or("");
        let declared = self.names.contains_key(first)
            || self.frame.locals.iter().any(|local| *local.name == *first)
            || super::scope::root(first).is_some();
        if declared || !written.contains(['.', '/']) || key_problem(&written).is_some() {
            return false;
        }
        let right = format!("\"{written}\"");
        let said = Diagnostic::new(&codes::WRONG_WRITE, key.span, "a key is a text");
        self.report(said.with_help(format!("write `{right}`")).with_fix(
            format!("write `{right}`"),
            key.span,
            right,
        ));
        true
    }

    /// A key of annotations or labels that policies may write.
    pub(super) fn own_key(&mut self, key: &str, span: Span) {
        if let Some(problem) = key_problem(key) {
            let message = format!("`{key}` is not a valid key: {problem}");
            self.mistake(&codes::WRONG_WRITE, span, message, "write a key such as `example.com/zone`");
        }
        let domain = key.split_once('/').map_or("", |(domain, _)| domain);
        if domain == OWN_DOMAIN || domain.strip_suffix(OWN_DOMAIN).is_some_and(|rest| rest.ends_with('.')) {
            let message = format!("keys of `{OWN_DOMAIN}` belong to the scheduler");
            self.mistake(&codes::WRONG_WRITE, span, message, "write a key of your own domain");
        }
    }

    /// Annotations of a pod that its creator writes, or that have values of one form.
    pub(super) fn own_annotations(&mut self, verb: WriteVerb, entries: &[WriteEntry]) {
        let annotates = |entry: &&WriteEntry| {
            matches!(&*entry.within, [first, then] if &**first == "metadata" && &**then == "annotations")
                || verb == WriteVerb::Annotate
        };
        for entry in entries.iter().filter(annotates) {
            let (key, span) = (&entry.key, entry.span);
            if let Some(why) = of_the_creator(key) {
                let message = format!("policies do not write the annotation `{key}` of pods");
                self.mistake(&codes::WRONG_WRITE, span, message, why);
            } else if let Some(value) = self.constant_str(&entry.value)
                && let Some(problem) = pod_annotation_problem(key, &value)
            {
                self.mistake(
                    &codes::WRONG_WRITE,
                    entry.value.span,
                    problem,
                    "write a whole number, such as `\"100\"`",
                );
            }
        }
    }

    fn written_value(&mut self, write: &ast::Write, of: &'a ast::Entry) -> Option<Expr> {
        if of.optional || matches!(of.value.kind, ast::ExprKind::Literal(Literal::None | Literal::Null)) {
            self.mistake(
                &codes::WRONG_WRITE,
                of.value.span,
                "a Binding only adds, it removes nothing",
                "write a text; a key whose value is absent stays as it is; `after bind` may remove keys",
            );
            return None;
        }
        let value = self.expr(&of.value, Some(&Type::String.optional()));
        if value.ty.is_unknown() {
            return None;
        }
        let wanted = matches!(value.ty.present(), Type::String);
        if !wanted {
            let text = self.excerpt(value.span);
            let message = format!("`{}` wants a text, this is `{}`", write.verb.word(), value.ty);
            self.mistake(&codes::TYPE_MISMATCH, value.span, message, format!("`string({text})`"));
            return None;
        }
        if write.verb == WriteVerb::Label
            && let Some(text) = self.constant_str(&value)
            && let Some(problem) = value_problem(&text)
        {
            let message = format!("`{text}` is not a valid value of a label: {problem}");
            self.mistake(&codes::WRONG_WRITE, value.span, message, "use `annotate`, or another value");
        }
        Some(value)
    }
}
