//! Statements: what each one wants of its expressions, in the order of the policy.

use super::Checker;
use super::expr::strip;
use super::facts::Facts;
use super::scope::{Frame, LocalKind, Place, State, World};
use crate::diag::{Diagnostic, Span, codes};
use crate::lang::language::fields::ObjectType;
use crate::lang::language::statements::StatementId;
use crate::lang::syntax::ast::{self, BlockKind, Resolvable, StatementKind, Text};
use crate::lang::typed::reads::Reads;
use crate::lang::typed::{
    Check, CompareOp, Expr, ExprKind, Filter, Group, GroupId, GroupKey, Let, LetId, Missing, Only, Policy,
    Prefilter, PrefilterStatement, Queue, QueueKey, Reason, ReasonPart, Root, SlotId,
};
use crate::lang::types::Type;
use crate::lang::types::value::Value;
use rustc_hash::FxHashMap;

impl<'a> Checker<'a> {
    /// `applies when`, first, because what it says narrows everything else.
    pub(super) fn applies(&mut self, policy: &'a ast::Policy, result: &mut Policy) {
        self.frame = Frame::new(Place::In(StatementId::Applies), World::Raw);
        for statement in &policy.statements {
            let StatementKind::Applies(applies) = &statement.kind else { continue };
            result.to_all_pods |= applies.to_all_pods.is_some();
            let Some(when) = &applies.when else { continue };
            let condition = self.condition(when);
            self.always(&condition, "the policy applies to every pod", "the policy applies to no pod");
            self.assume(&condition, true);
            split(condition, &mut result.applies);
        }
        self.policy_facts = std::mem::take(&mut self.frame.facts);
    }

    /// A finding about a condition with one outcome. Conditions of params and constants are left alone: they
    /// are switches.
    pub(super) fn always(&mut self, condition: &Expr, when_true: &str, when_false: &str) {
        let Some((truth, span)) = self.outcome(condition) else { return };
        let said = |d: &Diagnostic| d.code == &codes::CONTRADICTION && condition.span.contains(d.span);
        if self.diagnostics.iter().any(said) {
            return;
        }
        let consequence = if truth { when_true } else { when_false };
        let word = if truth { "true" } else { "false" };
        self.mistake(&codes::ALWAYS, span, format!("this is always {word}"), consequence);
    }

    /// The only outcome of a condition, from the ranges of its parts.
    pub(super) fn outcome(&self, condition: &Expr) -> Option<(bool, Span)> {
        match &condition.kind {
            ExprKind::Constant(Value::Bool(truth)) => Some((*truth, condition.span)),
            ExprKind::Not(inner) => self.outcome(inner).map(|(truth, _)| (!truth, condition.span)),
            ExprKind::And(left, right) => match (self.outcome(left), self.outcome(right)) {
                (Some((false, span)), _) | (_, Some((false, span))) => Some((false, span)),
                (Some((true, _)), Some((true, _))) => Some((true, condition.span)),
                _ => None,
            },
            ExprKind::Or(left, right) => match (self.outcome(left), self.outcome(right)) {
                (Some((true, span)), _) | (_, Some((true, span))) => Some((true, span)),
                (Some((false, _)), Some((false, _))) => Some((false, condition.span)),
                _ => None,
            },
            ExprKind::Compare(op, left, right) => {
                if self.constant(left).is_some() && self.constant(right).is_some() {
                    return None;
                }
                if left.range.is_empty() || right.range.is_empty() {
                    return None;
                }
                let ((a, b), (c, d)) = (left.range.ends()?, right.range.ends()?);
                let (yes, no) = match op {
                    CompareOp::Less => (b < c, a >= d),
                    CompareOp::LessEqual => (b <= c, a > d),
                    CompareOp::Greater => (a > d, b <= c),
                    CompareOp::GreaterEqual => (a >= d, b < c),
                };
                (yes || no).then_some((yes, condition.span))
            }
            ExprKind::Equal(left, right) => {
                if self.constant(left).is_some() && self.constant(right).is_some() {
                    return None;
                }
                let ((a, b), (c, d)) = (left.range.ends()?, right.range.ends()?);
                (b < c || d < a).then_some((false, condition.span))
            }
            _ => None,
        }
    }

    /// The statements of the policy but `applies`, in the order of the text.
    pub(super) fn statements(&mut self, policy: &'a ast::Policy, result: &mut Policy) {
        let mut names: FxHashMap<Text, Span> = FxHashMap::default();
        let mut prefers = 0;
        for statement in &policy.statements {
            let doc = statement.doc.as_ref().map(|doc| doc.text.clone());
            match &statement.kind {
                StatementKind::Applies(_)
                | StatementKind::Let(_)
                | StatementKind::Def(_)
                | StatementKind::Type(_)
                | StatementKind::Param(_)
                | StatementKind::Group(_)
                | StatementKind::Broken(_) => {}
                StatementKind::Gate(gate) => {
                    self.enter(Place::In(StatementId::Gate));
                    let condition = self.condition(&gate.when);
                    self.always(&condition, "no pod gets into the queue", "the gate keeps nothing");
                    self.assume(&condition, true);
                    let reason = self.reason(&gate.reason);
                    result.gates.push(Check {
                        condition: Some(condition),
                        refuses_when: true,
                        reason,
                        reads: Reads::default(),
                        doc,
                        span: statement.span,
                    });
                }
                StatementKind::Queue(keys) => {
                    if let Some(first) = &result.queue {
                        let first = first.span;
                        self.report(
                            Diagnostic::new(
                                &codes::DUPLICATE_STATEMENT,
                                statement.span,
                                "a second `queue by`",
                            )
                            .with_place(first, "the first one")
                            .with_help("its keys stand behind each other, with commas"),
                        );
                        continue;
                    }
                    result.queue = Some(self.queue(keys, statement.span));
                }
                StatementKind::Prefilter(block) => {
                    let statements = self.prefilter(block);
                    result.prefilters.push(Prefilter { statements, span: statement.span });
                }
                StatementKind::Filter(filter) => {
                    self.once(&mut names, &filter.name, "filter");
                    let checks = self.filter(policy, filter);
                    result.filters.push(Filter {
                        name: filter.name.text.clone(),
                        doc,
                        checks,
                        span: statement.span,
                    });
                }
                StatementKind::Score(score) => {
                    self.once(&mut names, &score.name, "score");
                    let score = self.score(score, doc, statement.span);
                    result.scores.push(score);
                }
                StatementKind::Prefer(prefer) => {
                    prefers += 1;
                    let name = Text::from(format!("prefer-{prefers}"));
                    let score = self.prefer(prefer, name, doc, statement.span);
                    result.scores.push(score);
                }
                StatementKind::Permit(block) => {
                    let permit = self.permit(block, statement.span);
                    result.permits.push(permit);
                }
                StatementKind::Preempt(_)
                | StatementKind::Ledger(_)
                | StatementKind::Memo(_)
                | StatementKind::Reserve(_)
                | StatementKind::BeforeBind(_)
                | StatementKind::AfterBind(_)
                | StatementKind::AfterFailure(_)
                | StatementKind::Source(_)
                | StatementKind::Mode(_)
                | StatementKind::Except(_) => {
                    if let Some(id) = statement.kind.id() {
                        self.refused(id, statement.span);
                    }
                }
            }
        }
    }

    /// A statement that this release does not have.
    fn refused(&mut self, statement: StatementId, span: Span) {
        let words = statement.def().words;
        let at_words = Span { end: span.start + words.len() as u32, ..span };
        self.not_built(at_words, format_args!("`{words}`"));
    }

    fn once(&mut self, names: &mut FxHashMap<Text, Span>, name: &ast::Name, what: &str) {
        if let Some(first) = names.insert(name.text.clone(), name.span) {
            self.report(
                Diagnostic::new(
                    &codes::DUPLICATE_NAME,
                    name.span,
                    format!("a second {what} is called `{}`", name.text),
                )
                .with_place(first, "the first one"),
            );
        }
    }

    /// A new block: nothing of the one before is known.
    pub(super) fn enter(&mut self, place: Place) {
        self.frame = Frame::new(place, World::Narrowed);
        self.frame.facts = self.policy_facts.clone();
    }

    /// Says which lets of the block nothing used.
    pub(super) fn leave(&mut self) {
        let broken = self.diagnostics.iter().any(Diagnostic::is_error);
        for local in std::mem::take(&mut self.frame.locals) {
            if !local.used && !broken && matches!(local.kind, LocalKind::Let(_)) {
                self.mistake(
                    &codes::UNUSED,
                    local.span,
                    format!("nothing uses the let `{}`", local.name),
                    "remove it, or use it",
                );
            }
        }
        self.frame.facts = Facts::default();
    }

    // ---- lets and groups

    /// A let; `None` when it has a mistake.
    pub(super) fn make_let(&mut self, of: &'a ast::Let, of_policy: bool) -> Option<LetId> {
        let declared = of.declared.as_ref().map(|declared| self.type_expr(declared));
        let wanted = match (&declared, &of.missing) {
            // The declared type is that of the name; the value may be absent.
            (Some(declared), Some(_)) => Some(declared.clone().optional()),
            (declared, _) => declared.clone(),
        };
        let value = self.expr(&of.value, wanted.as_ref());
        let value = match &wanted {
            Some(wanted) => self.fit(value, wanted, &format!("`{}`", of.name.text)),
            None => value,
        };
        let missing = match &of.missing {
            None => None,
            Some((_, span)) if !of_policy => {
                self.mistake(
                    &codes::MISSING_IN_BLOCK,
                    *span,
                    "`missing` stands behind lets of the policy only",
                    "move the let out of the block, or use `?? …`",
                );
                None
            }
            Some((missing, span)) => {
                if !value.ty.is_optional() && !value.ty.is_unknown() {
                    let text = self.excerpt(of.value.span);
                    self.mistake(
                        &codes::NEVER_ABSENT,
                        *span,
                        format!("`{text}` is never absent"),
                        "remove `missing`",
                    );
                }
                Some(match missing {
                    ast::Missing::Skip => Missing::Skip,
                    ast::Missing::Error => Missing::Error,
                    ast::Missing::Reject(reason) => Missing::Reject(self.reason(reason)),
                })
            }
        };
        if value.ty.is_unknown() {
            return None;
        }
        let id = LetId(self.lets.len() as u32);
        let key = match &value.kind {
            ExprKind::Call(..) => None,
            _ => self.key(&value),
        };
        let key = key.unwrap_or_else(|| {
            if of_policy { format!("let {}", of.name.text) } else { format!("let {}", id.0) }
        });
        self.let_keys.push(key);
        self.lets.push(Let { name: of.name.text.clone(), value, missing, of_policy, span: of.name.span });
        Some(id)
    }

    pub(super) fn block_let(&mut self, of: &'a ast::Let) {
        let kind = match self.make_let(of, false) {
            Some(id) => LocalKind::Let(id),
            None => LocalKind::Failed,
        };
        self.add_local(&of.name, kind);
    }

    pub(super) fn declare_group(&mut self, of: &'a ast::Group) -> State {
        let world = self.frame.world;
        self.frame.world = World::Raw;
        let ((condition, slot), _) = self.in_frame(Place::In(StatementId::Group), |this| {
            let ty = Type::Object(ObjectType::Pod);
            let slot = this.add_variable(
                &of.variable.text,
                of.variable.span,
                ty,
                crate::lang::types::range::Range::None,
            );
            (this.condition(&of.condition), slot)
        });
        self.frame.world = world;
        if condition.ty.is_unknown() {
            return State::Failed;
        }
        let span = condition.span;
        let mut conjuncts = Vec::new();
        split(condition, &mut conjuncts);
        let mut group = Group {
            name: of.name.text.clone(),
            slot,
            keys: Vec::new(),
            rest: Vec::new(),
            mutual: true,
            span: of.name.span,
        };
        for conjunct in conjuncts {
            match self.group_key(conjunct, slot) {
                Ok((key, same)) => {
                    group.mutual &= same;
                    group.keys.push(key);
                }
                Err(rest) => {
                    group.mutual = false;
                    group.rest.push(rest);
                }
            }
        }
        if group.keys.is_empty() {
            let p = &of.variable.text;
            self.mistake(
                &codes::GROUP_WITHOUT_KEY,
                span,
                format!("no equality keeps the group `{}` together", of.name.text),
                format!(
                    "add `{p}.namespace == pod.namespace`, or `{p}.labels[\"app\"] == pod.labels[\"app\"]`"
                ),
            );
            return State::Failed;
        }
        let id = GroupId(self.groups.len() as u32);
        self.groups.push(group);
        State::Group(id)
    }

    /// `p.path == pod.path`, and whether both paths are the same.
    fn group_key(&self, conjunct: Expr, slot: SlotId) -> Result<(GroupKey, bool), Expr> {
        let ExprKind::Equal(left, right) = conjunct.kind else { return Err(conjunct) };
        let of = |expr: &Expr| self.path_of(expr);
        let (left, right) = match (of(&left), of(&right)) {
            (Some(PathOf::Slot(a)), Some(PathOf::Pod)) if a == slot => (left, right),
            (Some(PathOf::Pod), Some(PathOf::Slot(b))) if b == slot => (right, left),
            _ => return Err(Expr { kind: ExprKind::Equal(left, right), ..conjunct }),
        };
        let tail = |expr: &Expr, root: &str| {
            self.key(expr).and_then(|key| key.strip_prefix(root).map(str::to_owned))
        };
        let same = tail(&left, &format!("${}", slot.0)) == tail(&right, "pod");
        Ok((GroupKey { member: *left, pod: *right }, same))
    }

    /// Whose path an expression is, keys constant.
    fn path_of(&self, expr: &Expr) -> Option<PathOf> {
        match &expr.kind {
            ExprKind::Slot(slot) => Some(PathOf::Slot(*slot)),
            ExprKind::Root(Root::Pod) => Some(PathOf::Pod),
            ExprKind::Let(id) => self.path_of(&self.lets[id.0 as usize].value),
            ExprKind::Present(inner) | ExprKind::Field(inner, _) | ExprKind::ApiField(inner, _) => {
                self.path_of(inner)
            }
            ExprKind::Index(object, key) => {
                self.constant(key)?;
                self.path_of(object)
            }
            _ => None,
        }
    }

    // ---- reasons

    pub(super) fn reason(&mut self, of: &ast::Reason) -> Reason {
        let mut parts = Vec::with_capacity(of.template.parts.len());
        let mut named = None;
        for part in &of.template.parts {
            match part {
                ast::TemplatePart::Text(text) => parts.push(ReasonPart::Text(text.clone())),
                ast::TemplatePart::Hole(hole) => {
                    let hole = self.expr(hole, None);
                    if names_object(&hole) && named.is_none() {
                        named = Some(hole.span);
                    }
                    self.showable(&hole);
                    parts.push(ReasonPart::Hole(hole));
                }
            }
        }
        if parts.is_empty() {
            parts.push(ReasonPart::Text(Text::from("")));
        }
        if let Some(span) = named {
            let path = self.excerpt(span);
            let (message, name) = match path.split('.').next() {
                Some("node") => ("the reason differs on every node", "node"),
                _ => ("the reason differs for every pod", "pod"),
            };
            let template = self.excerpt(of.template.span);
            let constant =
                template.replace(&format!(" on {{{path}}}"), "").replace(&format!("{{{path}}}"), "…");
            let constant = constant.trim_start_matches('"').trim_end_matches('"');
            let constant = match constant.strip_prefix("no ") {
                Some(rest) => format!("node(s) without {rest}"),
                None => constant.to_owned(),
            };
            self.report(
                Diagnostic::new(&codes::REASON_NAMES_OBJECT, of.template.span, message)
                    .with_help(format!("write `\"{constant}\" … with {{ {name}: {path} }}`")),
            );
        }
        let mut details: Vec<(Text, Expr)> = Vec::with_capacity(of.details.len());
        for detail in &of.details {
            let value = self.expr(&detail.value, None);
            self.showable(&value);
            if details.iter().any(|(name, _)| *name == detail.name.text) {
                let message = format!("`{}` is shown twice", detail.name.text);
                self.mistake(&codes::DUPLICATE_NAME, detail.name.span, message, "");
            }
            details.push((detail.name.text.clone(), value));
        }
        Reason {
            parts,
            resolvable: true,
            derived: true,
            written: of.resolvable.map(|(written, _)| written),
            details,
            span: of.span,
        }
    }

    /// What can be shown in a text.
    fn showable(&mut self, expr: &Expr) {
        if let Type::Object(object) = expr.ty.present() {
            let text = self.excerpt(expr.span);
            self.mistake(
                &codes::TYPE_MISMATCH,
                expr.span,
                format!("a {} is no text", object.name()),
                format!("`{text}.name`"),
            );
        }
    }

    // ---- statements

    fn queue(&mut self, keys: &'a [ast::QueueKey], span: Span) -> Queue {
        self.frame = Frame::new(Place::In(StatementId::Queue), World::Raw);
        let mut made = Vec::with_capacity(keys.len());
        for key in keys {
            let value = self.expr(&key.value, None);
            let value = self.value(value);
            if !value.ty.is_ordered() && !value.ty.is_unknown() {
                let message = format!("pods cannot be put in order by `{}`", value.ty);
                let help = "keys are truths, numbers, amounts, texts and times";
                self.mistake(&codes::TYPE_MISMATCH, value.span, message, help);
            }
            made.push(QueueKey { descending: key.descending, value });
        }
        Queue { keys: made, reads: Reads::default(), span }
    }

    fn prefilter(&mut self, block: &'a ast::Block) -> Vec<PrefilterStatement> {
        self.enter(Place::In(StatementId::Prefilter));
        let mut made = Vec::new();
        for statement in &block.statements {
            match &statement.kind {
                BlockKind::Let(of) => self.block_let(of),
                BlockKind::Reject(reject) => {
                    let check = self.reject(reject, statement);
                    made.push(PrefilterStatement::Check(check));
                }
                BlockKind::Only(only) => {
                    let mark = self.frame.facts.mark();
                    let when = only.when.as_ref().map(|when| self.guard(when));
                    let list = Type::String.optional().list();
                    let nodes = self.expr(&only.nodes, Some(&list));
                    let nodes = self.value(nodes);
                    let fits = match &nodes.ty {
                        Type::List(element) | Type::Set(element) => {
                            matches!(element.present(), Type::String | Type::Never)
                        }
                        Type::Unknown => true,
                        _ => false,
                    };
                    if !fits {
                        let help = match &nodes.ty {
                            Type::String => format!("write `[{}]`", self.excerpt(nodes.span)),
                            Type::List(element) if matches!(element.present(), Type::Object(_)) => {
                                format!("`{}.map(n, n.name)`", self.excerpt(nodes.span))
                            }
                            _ => String::new(),
                        };
                        let message = format!("`only nodes` wants a list of names, this is `{}`", nodes.ty);
                        self.mistake(&codes::TYPE_MISMATCH, nodes.span, message, help);
                    }
                    self.frame.facts.forget(mark);
                    made.push(PrefilterStatement::Only(Only {
                        nodes,
                        when,
                        reads: Reads::default(),
                        span: statement.span,
                    }));
                }
                other => self.refused_in_block(other, statement.span),
            }
        }
        self.leave();
        made
    }

    /// A `when`: looked at first, and known in what it guards.
    pub(super) fn guard(&mut self, when: &ast::Expr) -> Expr {
        let condition = self.condition(when);
        self.assume(&condition, true);
        condition
    }

    pub(super) fn refused_in_block(&mut self, kind: &BlockKind, span: Span) {
        match kind {
            BlockKind::Broken(broken) => {
                self.incomplete = true;
                if let Some(name) = &broken.declares {
                    self.add_local(name, LocalKind::Failed);
                }
            }
            kind => {
                if let Some(id) = kind.id() {
                    self.refused(id, span);
                }
            }
        }
    }

    pub(super) fn reject(&mut self, reject: &'a ast::Reject, statement: &ast::BlockStatement) -> Check {
        let mark = self.frame.facts.mark();
        let condition = reject.when.as_ref().map(|when| {
            let condition = self.condition(when);
            self.always(&condition, "everything is refused", "nothing is refused");
            condition
        });
        if let Some(condition) = &condition {
            self.assume(condition, true);
        }
        let reason = self.reason(&reject.reason);
        self.frame.facts.forget(mark);
        if let Some(condition) = &condition {
            self.assume(condition, false);
        }
        Check {
            condition,
            refuses_when: true,
            reason,
            reads: Reads::default(),
            doc: statement.doc.as_ref().map(|doc| doc.text.clone()),
            span: statement.span,
        }
    }

    fn filter(&mut self, policy: &ast::Policy, filter: &'a ast::Filter) -> Vec<Check> {
        self.enter(Place::In(StatementId::Filter));
        let mut checks = Vec::new();
        for statement in &filter.block.statements {
            match &statement.kind {
                BlockKind::Let(of) => self.block_let(of),
                BlockKind::Reject(reject) => {
                    let check = self.reject(reject, statement);
                    checks.push(check);
                }
                BlockKind::Require(require) => {
                    let condition = self.condition(&require.condition);
                    self.always(&condition, "nothing is refused", "everything is refused");
                    let mark = self.frame.facts.mark();
                    self.assume(&condition, false);
                    let reason = match &require.reason {
                        Some(reason) => self.reason(reason),
                        None => {
                            self.mistake(
                                &codes::MISSING_REASON,
                                statement.span,
                                "what is the pod's owner told?",
                                "`else \"node(s) without …\"`: it is read after a number",
                            );
                            let text = Text::from(format!("{}/{}", policy.name.text, filter.name.text));
                            Reason {
                                parts: vec![ReasonPart::Text(text)],
                                resolvable: true,
                                derived: true,
                                written: None,
                                details: Vec::new(),
                                span: statement.span,
                            }
                        }
                    };
                    self.frame.facts.forget(mark);
                    self.assume(&condition, true);
                    checks.push(Check {
                        condition: Some(condition),
                        refuses_when: false,
                        reason,
                        reads: Reads::default(),
                        doc: statement.doc.as_ref().map(|doc| doc.text.clone()),
                        span: statement.span,
                    });
                }
                other => self.refused_in_block(other, statement.span),
            }
        }
        self.leave();
        checks
    }
}

/// Whose path.
enum PathOf {
    Pod,
    Slot(SlotId),
}

/// Cuts a condition at `&&`.
fn split(condition: Expr, into: &mut Vec<Expr>) {
    match condition.kind {
        ExprKind::And(left, right) => {
            split(*left, into);
            split(*right, into);
        }
        _ => into.push(condition),
    }
}

/// `node.name`, `pod.name`, `pod.uid`: a text that is another for each.
fn names_object(expr: &Expr) -> bool {
    let ExprKind::Field(object, field) = strip(&expr.kind) else { return false };
    matches!(field.def().name, "name" | "uid")
        && matches!(object.kind, ExprKind::Root(Root::Node | Root::Pod))
}

impl Resolvable {
    /// Whether evicting pods may help, as it is written.
    pub fn helps(self) -> bool {
        self == Resolvable::Yes
    }
}
