//! Statements: what each one wants of its expressions, in the order of the policy.

use super::Checker;
use super::expr::strip;
use super::facts::Facts;
use super::scope::{DeclKind, Frame, LocalKind, Place, State, World};
use crate::diag::{Diagnostic, Span, codes};
use crate::lang::ast::{self, BlockKind, Normalize, Resolvable, StatementKind, Text};
use crate::lang::reads::Reads;
use crate::lang::schema::ObjectType;
use crate::lang::typed::{
    Check, CompareOp, Expr, ExprKind, Filing, Filter, Give, Group, GroupId, GroupKey, Let, LetId, Missing,
    Only, Permit, Policy, Prefilter, PrefilterStatement, Queue, QueueKey, Reason, ReasonPart, Root, Score,
    SlotId, Wait,
};
use crate::lang::types::Type;
use crate::lang::value::Value;
use rustc_hash::FxHashMap;

/// A pod waits at most 15 minutes at permit.
const LONGEST_WAIT: i64 = 15 * 60 * 1_000_000;

impl<'a> Checker<'a> {
    /// `applies when`, first, because what it says narrows everything else.
    pub(super) fn applies(&mut self, policy: &'a ast::Policy, result: &mut Policy) {
        self.frame = Frame::new(Place::Applies, World::Raw);
        let mut filed = false;
        let mut first = None;
        for statement in &policy.statements {
            let StatementKind::Applies(applies) = &statement.kind else { continue };
            result.to_all_pods |= applies.to_all_pods.is_some();
            let Some(when) = &applies.when else { continue };
            first.get_or_insert(when.span);
            let condition = self.condition(when);
            self.always(&condition, "the policy applies to every pod", "the policy applies to no pod");
            self.assume(&condition, true);
            let mut conjuncts = Vec::new();
            split(condition, &mut conjuncts);
            for conjunct in conjuncts {
                if let Some(filing) = self.filing(&conjunct) {
                    filed = true;
                    result.filings.push(filing);
                }
                result.applies.push(conjunct);
            }
        }
        if let Some(span) = first
            && !filed
            && !self.diagnostics.iter().any(Diagnostic::is_error)
        {
            self.mistake(
                &codes::CANNOT_BE_FILED,
                span,
                "every kind of pod is asked whether the policy applies",
                "add a conjunct like `has(pod.labels[\"app\"])` or `pod.namespace == \"shop\"`",
            );
        }
        self.policy_facts = std::mem::take(&mut self.frame.facts);
    }

    /// What the policy can be filed under.
    fn filing(&self, conjunct: &Expr) -> Option<Filing> {
        match &conjunct.kind {
            ExprKind::Equal(left, right) => {
                let (path, other) = if self.filed_path(left) { (left, right) } else { (right, left) };
                let value = self.constant(other)?;
                let path = self.resolved_path(path)?;
                Some(Filing::Equals { path, values: vec![value] })
            }
            ExprKind::In(path, values) => {
                let Value::List(values) = self.constant(values)? else { return None };
                Some(Filing::Equals { path: self.resolved_path(path)?, values: values.to_vec() })
            }
            ExprKind::Has(path) => match &path.kind {
                ExprKind::Resource(..) => None,
                _ => Some(Filing::Has(self.resolved_path(path)?)),
            },
            ExprKind::Compare(op, left, right) => {
                let ExprKind::Resource(resources, name) = strip(&left.kind) else { return None };
                let ExprKind::Field(object, field) = &resources.kind else { return None };
                let Value::Int(bound) = self.constant(right)? else { return None };
                let above = match op {
                    CompareOp::Greater => bound >= 0,
                    CompareOp::GreaterEqual => bound >= 1,
                    _ => false,
                };
                let requests =
                    field.def().name == "requests" && matches!(object.kind, ExprKind::Root(Root::Pod));
                (above && requests).then(|| self.constant_str(name)).flatten().map(Filing::Requests)
            }
            _ => None,
        }
    }

    fn filed_path(&self, expr: &Expr) -> bool {
        self.resolved_path(expr).is_some()
    }

    /// A path from `pod` or `ns` with constant keys, lets followed.
    fn resolved_path(&self, expr: &Expr) -> Option<Expr> {
        match &expr.kind {
            ExprKind::Let(id) => self.resolved_path(&self.lets[id.0 as usize].value),
            ExprKind::Present(inner) => self.resolved_path(inner),
            ExprKind::Field(object, _) => {
                matches!(object.kind, ExprKind::Root(Root::Pod | Root::Namespace)).then(|| expr.clone())
            }
            ExprKind::Index(object, key) => {
                self.resolved_path(object)?;
                let key = self.constant(key)?;
                let mut expr = expr.clone();
                if let ExprKind::Index(_, index) = &mut expr.kind {
                    index.kind = ExprKind::Constant(key);
                }
                Some(expr)
            }
            _ => None,
        }
    }

    /// A finding about a condition with one outcome. Conditions of params and constants are left alone: they
    /// are switches.
    fn always(&mut self, condition: &Expr, when_true: &str, when_false: &str) {
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
                    self.enter(Place::Gate);
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
                other => self.refused(other, statement.span),
            }
        }
    }

    /// What this release does not have.
    fn refused(&mut self, statement: &StatementKind, span: Span) {
        let first_line = Span { end: span.start + statement.word().len() as u32, ..span };
        self.not_built(first_line, format_args!("`{}`", statement.word()));
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
    fn enter(&mut self, place: Place) {
        self.frame = Frame::new(place, World::Narrowed);
        self.frame.facts = self.policy_facts.clone();
    }

    /// Says which lets of the block nothing used.
    fn leave(&mut self) {
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

    fn block_let(&mut self, of: &'a ast::Let) {
        let kind = match self.make_let(of, false) {
            Some(id) => LocalKind::Let(id),
            None => LocalKind::Failed,
        };
        self.add_local(&of.name, kind);
    }

    pub(super) fn declare_group(&mut self, of: &'a ast::Group) -> State {
        let world = self.frame.world;
        self.frame.world = World::Raw;
        let ((condition, slot), _) = self.in_frame(Place::Group, |this| {
            let ty = Type::Object(ObjectType::Pod);
            let slot =
                this.add_variable(&of.variable.text, of.variable.span, ty, crate::lang::range::Range::None);
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

    fn reason(&mut self, of: &ast::Reason) -> Reason {
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
        self.frame = Frame::new(Place::Queue, World::Raw);
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
        self.enter(Place::Prefilter);
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
    fn guard(&mut self, when: &ast::Expr) -> Expr {
        let condition = self.condition(when);
        self.assume(&condition, true);
        condition
    }

    fn refused_in_block(&mut self, kind: &BlockKind, span: Span) {
        match kind {
            BlockKind::Broken(broken) => {
                self.incomplete = true;
                if let Some(name) = &broken.declares {
                    self.add_local(name, LocalKind::Failed);
                }
            }
            kind => {
                let word = Span { end: span.start + kind.word().len() as u32, ..span };
                self.not_built(word, format_args!("`{}`", kind.word()));
            }
        }
    }

    fn reject(&mut self, reject: &'a ast::Reject, statement: &ast::BlockStatement) -> Check {
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
        self.enter(Place::Filter);
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

    fn weight(&mut self, of: &ast::Expr) -> i64 {
        self.frame = Frame::new(Place::Constant, World::Raw);
        let weight = self.expr(of, Some(&Type::Int));
        if weight.ty.is_unknown() {
            return 1;
        }
        match self.constant(&weight) {
            Some(Value::Int(value)) if value >= 1 && weight.ty == Type::Int => value,
            Some(value) => {
                let message = format!("a weight is a whole number from 1 up, this is `{value}`");
                self.mistake(&codes::BAD_WEIGHT, of.span, message, "");
                1
            }
            None => {
                self.mistake(
                    &codes::BAD_WEIGHT,
                    of.span,
                    "a weight is a constant",
                    "write a number or the name of a param",
                );
                1
            }
        }
    }

    fn score(&mut self, score: &'a ast::Score, doc: Option<Text>, span: Span) -> Score {
        let weight = score.weight.as_ref().map_or(1, |weight| self.weight(weight));
        let normalize = score.normalize.map_or(Normalize::None, |(normalize, _)| normalize);
        self.enter(Place::Score);
        let mut gives: Vec<Give> = Vec::new();
        let mut last: Option<Span> = None;
        for statement in &score.block.statements {
            match &statement.kind {
                BlockKind::Let(of) => self.block_let(of),
                BlockKind::Give(give) => {
                    if let Some(always) = last {
                        self.report(
                            Diagnostic::new(
                                &codes::UNREACHABLE_GIVE,
                                statement.span,
                                "this `give` is never reached",
                            )
                            .with_place(always, "this one always holds")
                            .with_help("add `when …` to the one before, or remove this one"),
                        );
                    }
                    let give = self.give(give, normalize, statement.span);
                    if give.when.is_none() {
                        last.get_or_insert(statement.span);
                    }
                    gives.push(give);
                }
                other => self.refused_in_block(other, statement.span),
            }
        }
        self.leave();
        self.score_kinds(&gives);
        self.constant_score(score, &gives, normalize);
        Score {
            name: score.name.text.clone(),
            doc,
            weight,
            normalize,
            reversed: score.reversed.is_some(),
            gives,
            prefer: false,
            reads: Reads::default(),
            span,
        }
    }

    fn give(&mut self, give: &'a ast::Give, normalize: Normalize, span: Span) -> Give {
        let mark = self.frame.facts.mark();
        let when = give.when.as_ref().map(|when| {
            let condition = self.condition(when);
            self.always(&condition, "the gives behind it are never reached", "it is never given");
            condition
        });
        if let Some(when) = &when {
            self.assume(when, true);
        }
        let value = self.expr(&give.value, None);
        let none = *value.ty.present() == Type::Never && value.ty.is_optional();
        let value = if none { None } else { Some(self.score_value(value, normalize)) };
        self.frame.facts.forget(mark);
        if let Some(when) = &when {
            self.assume(when, false);
        }
        Give { value, when, span }
    }

    /// A value that is given: a number, in 0 to 100 where nothing spreads it.
    fn score_value(&mut self, value: Expr, normalize: Normalize) -> Expr {
        if value.ty.is_unknown() {
            return value;
        }
        let text = self.excerpt(value.span).to_owned();
        let ty = value.ty.present().clone();
        if !ty.is_numeric() || ty == Type::Uint {
            let help = match ty {
                Type::Bool => format!("`give 100 when {text}`"),
                Type::String => format!("convert it: `int({text}) ?? 0`"),
                Type::Time => "a time is no number: `now() - …` is a duration".to_owned(),
                Type::List(_) => format!("`{text}.size()`"),
                Type::Resources => format!("one resource of it: `{text}.cpu`"),
                _ => String::new(),
            };
            let message = format!("a score is a number, this is `{ty}`");
            self.mistake(&codes::TYPE_MISMATCH, value.span, message, help);
            return self.unknown(value.span);
        }
        // A unit is said before a missing value: the two have one cause as a rule.
        let plain = matches!(ty, Type::Int | Type::Float | Type::Count);
        if normalize == Normalize::None && !plain {
            let help = self.percentage_help(&value, &text);
            let message = format!("a score is 0 to 100, this is `{ty}`");
            self.mistake(&codes::SCORE_RANGE, value.span, message, help);
            return self.unknown(value.span);
        }
        let value = self.value(value);
        if value.ty.is_unknown() {
            return value;
        }
        match normalize {
            Normalize::None => {
                if !value.range.within(0.0, 100.0) && !value.range.is_empty() {
                    let help = format!(
                        "`clamp({text}, 0, 100)`, `percent(a, b)`, `normalize max` or `normalize minmax`"
                    );
                    let message = format!("a score is 0 to 100, this is {}", range_words(&value));
                    self.mistake(&codes::SCORE_RANGE, value.span, message, help);
                } else if value.ty == Type::Float
                    && value.range.within(0.0, 1.0)
                    && value.range.ends().is_some_and(|(low, high)| low < high)
                {
                    self.mistake(
                        &codes::SCORE_IN_ZERO_TO_ONE,
                        value.span,
                        "a score goes from 0 to 100, this lies in 0 to 1",
                        format!("`100 * {text}`"),
                    );
                }
            }
            Normalize::Max => {
                if !value.range.is_positive_or_zero() {
                    let message =
                        format!("`normalize max` wants no number below 0, this is {}", range_words(&value));
                    let help = format!("`normalize minmax` takes any number; `max({text}, 0)`");
                    self.mistake(&codes::SCORE_RANGE, value.span, message, help);
                }
            }
            Normalize::MinMax => {}
        }
        value
    }

    /// How the part of a node is written as a percentage.
    fn percentage_help(&self, value: &Expr, text: &str) -> String {
        if let ExprKind::Resource(resources, _) = strip(&value.kind)
            && let ExprKind::Field(object, _) = strip(&resources.kind)
            && matches!(object.kind, ExprKind::Root(Root::Node))
        {
            let from = self.excerpt(resources.span);
            let whole = text.replacen(from, "node.allocatable", 1);
            return format!("`give percent({text}, {whole})`");
        }
        "`percent(a, b)`, `normalize max` or `normalize minmax`".to_owned()
    }

    /// All values of one score have one kind, or the values of two nodes cannot be compared.
    fn score_kinds(&mut self, gives: &[Give]) {
        let mut first: Option<&Expr> = None;
        let mut mixed = None;
        for value in gives.iter().filter_map(|give| give.value.as_ref()) {
            if value.ty.is_unknown() {
                continue;
            }
            match first {
                None => first = Some(value),
                Some(known) => {
                    let fits = self.join(&known.ty, &value.ty).is_some()
                        || super::types::is_zero(value)
                        || super::types::is_zero(known);
                    if !fits {
                        mixed = Some((known.clone(), value.clone()));
                    } else if super::types::is_zero(known) {
                        first = Some(value);
                    }
                }
            }
        }
        if let Some((known, value)) = mixed {
            self.two_types(&known, &value, "compare");
        }
    }

    fn constant_score(&mut self, score: &ast::Score, gives: &[Give], normalize: Normalize) {
        let mut values = gives.iter().filter_map(|give| give.value.as_ref());
        let (Some(first), None) = (values.next(), values.next()) else { return };
        if gives.len() == 1
            && gives[0].when.is_none()
            && !first.ty.is_unknown()
            && self.constant(first).is_some()
        {
            let help = match normalize {
                Normalize::None => "it moves no pod to another node: read something of `node`",
                _ => "values that are all equal give every node the same",
            };
            self.mistake(
                &codes::CONSTANT_SCORE,
                first.span,
                format!("the score `{}` is the same for every node", score.name.text),
                help,
            );
        }
    }

    fn prefer(&mut self, prefer: &'a ast::Prefer, name: Text, doc: Option<Text>, span: Span) -> Score {
        let weight = self.weight(&prefer.weight);
        self.enter(Place::Score);
        let condition = self.condition(&prefer.when);
        self.always(&condition, "every node is preferred", "no node is preferred");
        self.leave();
        let hundred = |value: i64| Expr {
            kind: ExprKind::Constant(Value::Int(value)),
            ty: Type::Int,
            range: crate::lang::range::Range::int(value),
            span,
        };
        let gives = vec![
            Give { value: Some(hundred(100)), when: Some(condition), span },
            Give { value: Some(hundred(0)), when: None, span },
        ];
        Score {
            name,
            doc,
            weight,
            normalize: Normalize::None,
            reversed: false,
            gives,
            prefer: true,
            reads: Reads::default(),
            span,
        }
    }

    fn permit(&mut self, block: &'a ast::Block, span: Span) -> Permit {
        self.enter(Place::Permit);
        let (mut checks, mut waits) = (Vec::new(), Vec::new());
        for statement in &block.statements {
            match &statement.kind {
                BlockKind::Let(of) => self.block_let(of),
                BlockKind::Reject(reject) => {
                    let check = self.reject(reject, statement);
                    checks.push(check);
                }
                BlockKind::Wait(wait) => {
                    let wait = self.wait(wait, statement.span);
                    waits.push(wait);
                }
                other => self.refused_in_block(other, statement.span),
            }
        }
        self.leave();
        Permit { checks, waits, span }
    }

    fn wait(&mut self, wait: &'a ast::Wait, span: Span) -> Wait {
        let patience = self.expr(&wait.patience, Some(&Type::Duration));
        let patience = self.fit(patience, &Type::Duration, "`wait`");
        if let Some(Value::Int(long)) = self.constant(&patience)
            && long > LONGEST_WAIT
            && patience.ty == Type::Duration
        {
            let text = self.excerpt(patience.span);
            self.mistake(
                &codes::WAIT_TOO_LONG,
                patience.span,
                format!("`{text}` is longer than 15 minutes"),
                "a pod that waits at permit holds its room on the node: at most `15min`",
            );
        }
        let group = wait.group.as_ref().and_then(|name| self.wait_group(name));
        let mark = self.frame.facts.mark();
        let until = self.condition(&wait.until);
        if wait.group.is_none()
            && let Some(group) = asked_group(&until, &self.lets)
        {
            let name = self.groups[group.0 as usize].name.clone();
            self.mistake(
                &codes::WAIT_WITHOUT_FOR,
                wait.until.span,
                format!("each member of `{name}` waits on its own"),
                format!("`wait {} for {name} until …`", self.excerpt(wait.patience.span)),
            );
        }
        self.assume(&until, false);
        let reason = self.reason(&wait.reason);
        self.frame.facts.forget(mark);
        Wait { patience, group, until, reason, reads: Reads::default(), span }
    }

    fn wait_group(&mut self, name: &ast::Name) -> Option<GroupId> {
        let id = self.names.get(&name.text).copied();
        let state = match id {
            Some(id) if matches!(self.decls[id.0 as usize].kind, DeclKind::Group(_) | DeclKind::Lost) => {
                self.resolve(id, name.span)
            }
            _ => {
                let known = self
                    .decls
                    .iter()
                    .filter(|decl| matches!(decl.kind, DeclKind::Group(_)))
                    .map(|decl| decl.name.text.to_string())
                    .collect::<Vec<_>>();
                let near = super::types::nearest(&name.text, known.iter().map(String::as_str));
                let help = match near {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "declare it: `group NAME = p in pods where …`".to_owned(),
                };
                let message = format!("no group is called `{}`", name.text);
                self.mistake(&codes::UNKNOWN_NAME, name.span, message, help);
                return None;
            }
        };
        let State::Group(id) = state else { return None };
        if !self.groups[id.0 as usize].mutual {
            let declared = self.groups[id.0 as usize].span;
            self.report(
                Diagnostic::new(
                    &codes::GROUP_NOT_MUTUAL,
                    name.span,
                    format!("not every member of `{}` has the same group", name.text),
                )
                .with_place(declared, "declared here")
                .with_help(
                    "the condition may hold `p.path == pod.path` only, with the same path on both sides",
                ),
            );
        }
        Some(id)
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

/// The group whose members a condition counts, when it counts one.
fn asked_group(expr: &Expr, lets: &[Let]) -> Option<GroupId> {
    match &expr.kind {
        ExprKind::Group(id) => Some(*id),
        ExprKind::Let(id) => asked_group(&lets[id.0 as usize].value, lets),
        ExprKind::Macro(of) => asked_group(&of.over, lets),
        ExprKind::Call(_, args, _) | ExprKind::CallDef(_, args) => {
            args.iter().find_map(|arg| asked_group(arg, lets))
        }
        ExprKind::Compare(_, left, right)
        | ExprKind::Equal(left, right)
        | ExprKind::And(left, right)
        | ExprKind::Or(left, right)
        | ExprKind::Arithmetic(_, left, right)
        | ExprKind::Coalesce(left, right) => asked_group(left, lets).or_else(|| asked_group(right, lets)),
        ExprKind::Not(inner) | ExprKind::Present(inner) | ExprKind::Widen(inner) => asked_group(inner, lets),
        _ => None,
    }
}

/// What a number can be, in words.
fn range_words(value: &Expr) -> String {
    match value.range.ends() {
        Some((low, high)) if low == high => format!("{low}"),
        Some(_) if value.range == crate::lang::range::Range::of(&value.ty) => {
            format!("any `{}`", value.ty)
        }
        Some((low, _)) if value.range.to_string().ends_with("..") => format!("{low} or more"),
        Some((_, high)) if value.range.to_string().starts_with("..") => format!("{high} or less"),
        _ => {
            let text = value.range.to_string();
            text.replacen("..", " to ", 1)
        }
    }
}

impl Resolvable {
    /// Whether evicting pods may help, as it is written.
    pub fn helps(self) -> bool {
        self == Resolvable::Yes
    }
}
