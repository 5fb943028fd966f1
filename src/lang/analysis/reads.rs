//! What statements look at, in which direction more of it helps, and whether evicting pods can help.

use crate::diag::{Diagnostic, codes};
use crate::lang::language::fields::{Eviction, FieldId};
use crate::lang::language::functions::Influence;
use crate::lang::syntax::ast::Resolvable;
use crate::lang::syntax::ast::Text;
use crate::lang::typed::reads::{Polarity, ReadOf, ReadPath, Reads};
use crate::lang::typed::{
    ArithmeticOp, Check, CompareOp, Expr, ExprKind, MacroKind, Policy, PrefilterStatement, Reason, Root,
    SlotId,
};
use crate::lang::types::value::Value;
use rustc_hash::FxHashMap;

/// Fills in the reads of all statements, and what follows for their reasons.
pub(in crate::lang) fn derive(policy: &mut Policy, diagnostics: &mut Vec<Diagnostic>) {
    let mut taken = std::mem::take(&mut policy.gates);
    taken.iter_mut().for_each(|check| derive_check(policy, check, diagnostics));
    policy.gates = taken;

    let mut prefilters = std::mem::take(&mut policy.prefilters);
    for statement in prefilters.iter_mut().flat_map(|prefilter| &mut prefilter.statements) {
        match statement {
            PrefilterStatement::Check(check) => derive_check(policy, check, diagnostics),
            PrefilterStatement::Only(only) => {
                let mut walk = Walk::new(policy);
                walk.expr(&only.nodes, Polarity::Any);
                if let Some(when) = &only.when {
                    walk.expr(when, Polarity::Down);
                }
                only.reads = walk.done();
            }
        }
    }
    policy.prefilters = prefilters;

    let mut filters = std::mem::take(&mut policy.filters);
    for check in filters.iter_mut().flat_map(|filter| &mut filter.checks) {
        derive_check(policy, check, diagnostics);
    }
    policy.filters = filters;

    let mut scores = std::mem::take(&mut policy.scores);
    for score in &mut scores {
        let mut walk = Walk::new(policy);
        for give in &score.gives {
            if let Some(when) = &give.when {
                walk.expr(when, Polarity::Any);
            }
            if let Some(value) = &give.value {
                walk.expr(value, if score.reversed { Polarity::Down } else { Polarity::Up });
            }
        }
        score.reads = walk.done();
    }
    policy.scores = scores;

    let mut permits = std::mem::take(&mut policy.permits);
    for permit in &mut permits {
        permit.checks.iter_mut().for_each(|check| derive_check(policy, check, diagnostics));
        for wait in &mut permit.waits {
            let mut walk = Walk::new(policy);
            walk.expr(&wait.until, Polarity::Up);
            wait.reads = walk.done();
            derive_reason(&mut wait.reason, &wait.reads, diagnostics);
        }
    }
    policy.permits = permits;

    if let Some(mut queue) = policy.queue.take() {
        let mut walk = Walk::new(policy);
        for key in &queue.keys {
            walk.expr(&key.value, if key.descending { Polarity::Up } else { Polarity::Down });
        }
        queue.reads = walk.done();
        policy.queue = Some(queue);
    }
}

/// What decides whether a policy speaks of a pod at all: `applies when`, and lets with `missing`.
pub(in crate::lang) fn deciding(policy: &Policy) -> Reads {
    let mut walk = Walk::new(policy);
    policy.applies.iter().for_each(|condition| walk.expr(condition, Polarity::Any));
    let guards = policy.lets.iter().filter(|of| of.missing.is_some());
    guards.for_each(|of| walk.expr(&of.value, Polarity::Any));
    walk.done()
}

fn derive_check(policy: &Policy, check: &mut Check, diagnostics: &mut Vec<Diagnostic>) {
    let mut walk = Walk::new(policy);
    if let Some(condition) = &check.condition {
        walk.expr(condition, if check.refuses_when { Polarity::Down } else { Polarity::Up });
    }
    check.reads = walk.done();
    derive_reason(&mut check.reason, &check.reads, diagnostics);
}

fn derive_reason(reason: &mut Reason, reads: &Reads, diagnostics: &mut Vec<Diagnostic>) {
    reason.derived = eviction_helps(reads);
    reason.resolvable = reason.written.map_or(reason.derived, Resolvable::helps);
    if let Some(written) = reason.written
        && written.helps() != reason.derived
        && !reason.derived
    {
        diagnostics.push(
            Diagnostic::new(
                &codes::WRONG_RESOLVABILITY,
                reason.span,
                "evicting pods changes nothing that this reads",
            )
            .with_help("remove `resolvable`: the pod would evict others in vain"),
        );
    }
}

/// Whether something is read in a direction in which evicting pods from the node can help.
pub(in crate::lang) fn eviction_helps(reads: &Reads) -> bool {
    !reads.groups.is_empty()
        || reads.paths.iter().any(|(path, polarity)| {
            let on_pods = matches!(path.of, ReadOf::NodePods | ReadOf::Pods | ReadOf::Group);
            match path.field.map(|field| field.def().eviction) {
                // The collection itself: fewer pods after an eviction.
                None => on_pods && *polarity != Polarity::Up,
                Some(Eviction::None) => false,
                Some(Eviction::Raises) => path.of != ReadOf::Pod && *polarity != Polarity::Down,
                Some(Eviction::Lowers) => path.of != ReadOf::Pod && *polarity != Polarity::Up,
                Some(Eviction::Changes) => path.of != ReadOf::Pod,
            }
        })
}

/// One walk over the expressions of a statement.
struct Walk<'p> {
    policy: &'p Policy,
    reads: Reads,
    /// Whose object a slot holds.
    slots: FxHashMap<SlotId, ReadOf>,
}

impl<'p> Walk<'p> {
    fn new(policy: &'p Policy) -> Self {
        Walk { policy, reads: Reads::default(), slots: FxHashMap::default() }
    }

    fn done(mut self) -> Reads {
        self.reads.groups.sort_unstable();
        self.reads.groups.dedup();
        self.reads
    }

    fn add(&mut self, of: ReadOf, field: Option<FieldId>, key: Option<Text>, polarity: Polarity) {
        self.reads
            .paths
            .entry(ReadPath { of, field, key })
            .and_modify(|known| *known = known.join(polarity))
            .or_insert(polarity);
    }

    /// Whose object an expression is, where it is one or a list of them.
    fn owner(&self, expr: &Expr) -> Option<ReadOf> {
        match &expr.kind {
            ExprKind::Root(Root::Pod) => Some(ReadOf::Pod),
            ExprKind::Root(Root::Namespace) => Some(ReadOf::Namespace),
            ExprKind::Root(Root::Node) => Some(ReadOf::Node),
            ExprKind::Root(Root::Nodes) => Some(ReadOf::Nodes),
            ExprKind::Root(Root::Pods) => Some(ReadOf::Pods),
            ExprKind::Root(Root::Nominated) => Some(ReadOf::Nominated),
            ExprKind::Group(_) => Some(ReadOf::Group),
            ExprKind::Slot(slot) => self.slots.get(slot).copied(),
            ExprKind::Let(id) => self.owner(&self.policy.lets[id.0 as usize].value),
            ExprKind::Present(inner) => self.owner(inner),
            ExprKind::Field(object, field) => {
                let of = self.owner(object)?;
                Some(match (of, field.def().name) {
                    (ReadOf::Node, "pods") => ReadOf::NodePods,
                    (_, "pods") => ReadOf::Pods,
                    (_, "node") => ReadOf::Nodes,
                    // Containers and taints belong to their object.
                    _ => of,
                })
            }
            ExprKind::Index(object, _) | ExprKind::ApiField(object, _) => self.owner(object),
            ExprKind::Coalesce(left, right) => self.owner(left).or_else(|| self.owner(right)),
            ExprKind::Conditional(_, then, _) => self.owner(then),
            ExprKind::Macro(of) => match of.kind {
                MacroKind::Filter | MacroKind::First | MacroKind::SortBy => self.owner(&of.over),
                _ => of.body.as_ref().and_then(|body| self.owner(body)),
            },
            ExprKind::Call(_, args, _) => args.iter().find_map(|arg| self.owner(arg)),
            _ => None,
        }
    }

    /// A path that ends in a field: what is read of whom.
    fn field(&mut self, object: &Expr, field: FieldId, key: Option<Text>, polarity: Polarity) {
        let name = field.def().name;
        let of = self.owner(object);
        match (of, name) {
            (Some(ReadOf::Node), "pods") => {
                self.add(ReadOf::NodePods, None, None, polarity);
                // Which node it is does not change.
            }
            (Some(of), _) => self.add(of, Some(field), key, polarity),
            // A parameter of a def that was given something else: whose it is is not known.
            (None, _) => {
                self.add(ReadOf::Pods, Some(field), key.clone(), Polarity::Any);
                self.add(ReadOf::Nodes, Some(field), key, Polarity::Any);
            }
        }
        if !matches!(object.kind, ExprKind::Root(_) | ExprKind::Slot(_)) {
            self.expr(object, Polarity::Any);
        }
    }

    fn key_text(&self, key: &Expr) -> Option<Text> {
        let tables = crate::lang::analysis::fold::Tables {
            params: &self.policy.params,
            lets: &self.policy.lets,
            defs: &self.policy.defs,
        };
        match crate::lang::analysis::fold::constant(key, tables)? {
            Value::String(text) => Some(Text::from(text.as_str())),
            _ => None,
        }
    }

    fn expr(&mut self, expr: &Expr, polarity: Polarity) {
        match &expr.kind {
            ExprKind::Constant(_) | ExprKind::Param(_) | ExprKind::Slot(_) => {}
            ExprKind::Let(id) => {
                let policy = self.policy;
                self.expr(&policy.lets[id.0 as usize].value, polarity);
            }
            ExprKind::Root(root) => match root {
                Root::Nodes => self.add(ReadOf::Nodes, None, None, polarity),
                Root::Pods => self.add(ReadOf::Pods, None, None, polarity),
                Root::Nominated => self.add(ReadOf::Nominated, None, None, polarity),
                Root::Pod | Root::Namespace | Root::Node => {}
            },
            ExprKind::Group(id) => {
                self.reads.groups.push(id.0);
                self.add(ReadOf::Group, None, None, polarity);
                let policy = self.policy;
                let group = &policy.groups[id.0 as usize];
                self.slots.insert(group.slot, ReadOf::Group);
                for key in &group.keys {
                    let mut member = Walk { reads: Reads::default(), slots: self.slots.clone(), ..*self };
                    member.expr(&key.member, Polarity::Any);
                    for path in member.reads.paths.into_keys() {
                        self.reads.keys.insert(path.clone());
                        self.reads.paths.entry(path).or_insert(Polarity::Any);
                    }
                    self.expr(&key.pod, Polarity::Any);
                }
                for rest in &group.rest {
                    self.expr(rest, Polarity::Any);
                }
            }
            ExprKind::Now => self.reads.clock = true,
            ExprKind::Field(object, field) => self.field(object, *field, None, polarity),
            ExprKind::ApiField(object, name) => {
                // The whole path below the object, as far as it is fields.
                let (root, path) = api_path(object, name);
                match self.owner(root) {
                    Some(of) => self.add(of, None, Some(Text::from(path)), Polarity::Any),
                    None => self.expr(root, Polarity::Any),
                }
            }
            ExprKind::Index(object, key) => {
                self.expr(key, Polarity::Any);
                match &object.kind {
                    ExprKind::Field(owner, field) => {
                        let key = self.key_text(key);
                        self.field(owner, *field, key, polarity);
                    }
                    _ => self.expr(object, Polarity::Any),
                }
            }
            ExprKind::Resource(object, key) => {
                self.expr(key, Polarity::Any);
                match &object.kind {
                    ExprKind::Field(owner, field) => {
                        let key = self.key_text(key);
                        self.field(owner, *field, key, polarity);
                    }
                    _ => self.expr(object, polarity),
                }
            }
            ExprKind::RecordField(object, _) => self.expr(object, Polarity::Any),
            ExprKind::Present(inner) | ExprKind::Widen(inner) => self.expr(inner, polarity),
            ExprKind::Has(inner) => self.expr(inner, Polarity::Any),
            ExprKind::Not(inner) | ExprKind::Negate(inner) => self.expr(inner, polarity.flip()),
            ExprKind::And(left, right) | ExprKind::Or(left, right) => {
                self.expr(left, polarity);
                self.expr(right, polarity);
            }
            ExprKind::Equal(left, right) | ExprKind::In(left, right) => {
                self.expr(left, Polarity::Any);
                self.expr(right, Polarity::Any);
            }
            ExprKind::Compare(op, left, right) => {
                let (a, b) = match op {
                    CompareOp::Less | CompareOp::LessEqual => (polarity.flip(), polarity),
                    CompareOp::Greater | CompareOp::GreaterEqual => (polarity, polarity.flip()),
                };
                self.expr(left, a);
                self.expr(right, b);
            }
            ExprKind::Arithmetic(op, left, right) => {
                let (a, b) = match op {
                    ArithmeticOp::Add => (polarity, polarity),
                    ArithmeticOp::Subtract => (polarity, polarity.flip()),
                    ArithmeticOp::Multiply => (by_sign(polarity, right), by_sign(polarity, left)),
                    ArithmeticOp::Divide => {
                        let positive = right.range.is_positive_or_zero();
                        let over = if positive { by_sign(polarity, left).flip() } else { Polarity::Any };
                        (by_sign(polarity, right), over)
                    }
                    ArithmeticOp::Remainder => (Polarity::Any, Polarity::Any),
                };
                self.expr(left, a);
                self.expr(right, b);
            }
            ExprKind::Conditional(condition, then, otherwise) => {
                self.expr(condition, Polarity::Any);
                self.expr(then, polarity);
                self.expr(otherwise, polarity);
            }
            ExprKind::Coalesce(left, right) => {
                // Whether the left side has a value decides too.
                self.expr(left, Polarity::Any);
                self.expr(right, polarity);
            }
            ExprKind::List(items) => items.iter().for_each(|(item, _)| self.expr(item, Polarity::Any)),
            ExprKind::Map(entries) => entries.iter().for_each(|(key, value, _)| {
                self.expr(key, Polarity::Any);
                self.expr(value, Polarity::Any);
            }),
            ExprKind::Record(values) => values.iter().for_each(|value| self.expr(value, Polarity::Any)),
            ExprKind::Call(function, args, _) => {
                for (at, arg) in args.iter().enumerate() {
                    let p = match (function.def().influence(at), args.first()) {
                        (Influence::Raises, _) => polarity,
                        (Influence::Lowers, _) => polarity.flip(),
                        (Influence::Divides, Some(part)) => by_sign(polarity, part).flip(),
                        _ => Polarity::Any,
                    };
                    self.expr(arg, p);
                }
            }
            ExprKind::CallDef(id, args) => {
                let policy = self.policy;
                let def = &policy.defs[id.0 as usize];
                for (slot, arg) in def.parameters.iter().zip(args) {
                    if let Some(of) = self.owner(arg) {
                        // The same def may be called for another object too.
                        let of = match self.slots.get(slot) {
                            Some(known) if *known != of => ReadOf::Pods,
                            _ => of,
                        };
                        self.slots.insert(*slot, of);
                    }
                    self.expr(arg, Polarity::Any);
                }
                self.expr(&def.body, polarity);
            }
            ExprKind::Macro(of) => {
                let nonnegative = of.body.as_ref().is_some_and(|body| body.range.is_positive_or_zero());
                let (over, condition, body) = match of.kind {
                    MacroKind::Exists | MacroKind::Count | MacroKind::Filter => {
                        (polarity, polarity, Polarity::Any)
                    }
                    MacroKind::All => (polarity.flip(), polarity, Polarity::Any),
                    MacroKind::Sum if nonnegative => (polarity, polarity, polarity),
                    MacroKind::Sum => (Polarity::Any, Polarity::Any, polarity),
                    MacroKind::Map => (polarity, polarity, Polarity::Any),
                    _ => (Polarity::Any, Polarity::Any, Polarity::Any),
                };
                self.expr(&of.over, over);
                if let Some(owner) = self.owner(&of.over) {
                    self.slots.insert(of.slot, owner);
                    if let Some(second) = of.second {
                        self.slots.insert(second, owner);
                    }
                }
                if let Some(p) = &of.condition {
                    self.expr(p, condition);
                }
                if let Some(e) = &of.body {
                    self.expr(e, body);
                }
            }
        }
    }
}

/// The direction of one factor, by the sign of the other.
fn by_sign(polarity: Polarity, other: &Expr) -> Polarity {
    match other.range.ends() {
        Some((low, _)) if low >= 0.0 => polarity,
        Some((_, high)) if high <= 0.0 => polarity.flip(),
        _ => Polarity::Any,
    }
}

/// The object at the root of a path of API fields, and the path.
fn api_path<'e>(object: &'e Expr, name: &str) -> (&'e Expr, String) {
    match &object.kind {
        ExprKind::ApiField(inner, parent) => {
            let (root, path) = api_path(inner, parent);
            (root, format!("{path}.{name}"))
        }
        ExprKind::Present(inner) => api_path(inner, name),
        _ => (object, name.to_owned()),
    }
}
