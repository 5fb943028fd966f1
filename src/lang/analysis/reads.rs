//! Derives what statements read, in which direction a change helps, and whether evicting pods can
//! help.

use crate::diag::{Diagnostic, codes};
use crate::lang::language::fields::{Eviction, FieldId};
use crate::lang::language::functions::{FunctionId, Influence};
use crate::lang::syntax::ast::Resolvable;
use crate::lang::syntax::ast::Text;
use crate::lang::typed::reads::{Polarity, ReadOf, ReadPath, Reads};
use crate::lang::typed::{
    ArithmeticOp, Check, CompareOp, DefId, Expr, ExprKind, GroupId, Macro, MacroKind, Point, Policy,
    PrefilterStatement, Reason, Root, Rule, RuleMut, SlotId, Statement,
};
use crate::lang::types::value::Value;
use rustc_hash::FxHashMap;

/// Fills in the reads of all statements, and whether evicting pods can help where they refuse.
pub fn derive(policy: &mut Policy, diagnostics: &mut Vec<Diagnostic>) {
    let found: Vec<Reads> = policy.rules().flat_map(|rule| reads_of(policy, rule)).collect();
    for ((reads, reason), found) in policy.rules_mut().flat_map(places).zip(found) {
        if let Some(reason) = reason {
            derive_reason(reason, &found, diagnostics);
        }
        *reads = found;
    }
}

/// The reads of a rule's statements, or of the whole rule where it keeps them as one.
fn reads_of(policy: &Policy, rule: Rule<'_>) -> Vec<Reads> {
    let up_if = |up| if up { Polarity::Up } else { Polarity::Down };
    match rule {
        // Kept of the whole policy: see `deciding`.
        Rule::Applies(_) | Rule::Guard(_) => return Vec::new(),
        Rule::Queue(queue) => {
            let mut walk = Walk::new(policy);
            queue.keys.iter().for_each(|key| walk.expr(&key.value, up_if(key.descending)));
            return vec![walk.done()];
        }
        Rule::Score(score) => {
            let mut walk = Walk::new(policy);
            for give in &score.gives {
                give.when.iter().for_each(|when| walk.expr(when, Polarity::Any));
                give.value.iter().for_each(|value| walk.expr(value, up_if(!score.reversed)));
            }
            return vec![walk.done()];
        }
        _ => {}
    }
    let of_statement = |statement: Statement<'_>| {
        let mut walk = Walk::new(policy);
        if let Statement::Only(only) = statement {
            walk.expr(&only.nodes, Polarity::Any);
        }
        let holding_helps = match statement {
            Statement::Check(check) => !check.refuses_when,
            Statement::Only(_) => false,
            _ => true,
        };
        statement.condition().iter().for_each(|condition| walk.expr(condition, up_if(holding_helps)));
        walk.done()
    };
    rule.statements().map(of_statement).collect()
}

/// Where the reads of [`reads_of`] are kept, in its order, each with the reason that depends on
/// them.
fn places(rule: RuleMut<'_>) -> Vec<(&mut Reads, Option<&mut Reason>)> {
    fn check(of: &mut Check) -> (&mut Reads, Option<&mut Reason>) {
        (&mut of.reads, Some(&mut of.reason))
    }
    match rule {
        RuleMut::Gate(of) => vec![check(of)],
        RuleMut::Queue(of) => vec![(&mut of.reads, None)],
        RuleMut::Score(of) => vec![(&mut of.reads, None)],
        RuleMut::Filter(of) => of.checks.iter_mut().map(check).collect(),
        RuleMut::Prefilter(of) => {
            let statements = of.statements.iter_mut().map(|statement| match statement {
                PrefilterStatement::Check(of) => check(of),
                PrefilterStatement::Only(of) => (&mut of.reads, None),
            });
            statements.collect()
        }
        RuleMut::Permit(of) => {
            let waits = of.waits.iter_mut().map(|of| (&mut of.reads, Some(&mut of.reason)));
            of.checks.iter_mut().map(check).chain(waits).collect()
        }
    }
}

/// The reads of `applies when` and of lets with `missing`, which decide whether the policy applies.
pub(in crate::lang) fn deciding(policy: &Policy) -> Reads {
    let mut walk = Walk::new(policy);
    for statement in policy.rules_at(Point::Applies).flat_map(Rule::statements) {
        let looked_at = statement.condition().or(statement.value());
        looked_at.iter().for_each(|expr| walk.expr(expr, Polarity::Any));
    }
    walk.done()
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
            .with_help("remove `resolvable`: the pod would evict others without effect"),
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

    fn done(self) -> Reads {
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
            ExprKind::Let(id) => self.owner(&self.policy[*id].value),
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

    /// A path that ends in a field.
    fn field(&mut self, object: &Expr, field: FieldId, key: Option<Text>, polarity: Polarity) {
        let name = field.def().name;
        let of = self.owner(object);
        match (of, name) {
            (Some(ReadOf::Node), "pods") => {
                self.add(ReadOf::NodePods, None, None, polarity);
                // Which node it is does not change.
            }
            (Some(of), _) => self.add(of, Some(field), key, polarity),
            // A parameter of a def whose argument is not a known object.
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
        let tables = crate::lang::eval::constant::Tables {
            params: &self.policy.params,
            lets: &self.policy.lets,
            defs: &self.policy.defs,
        };
        match crate::lang::eval::constant::constant(key, tables)? {
            Value::String(text) => Some(Text::from(text.as_str())),
            _ => None,
        }
    }

    fn expr(&mut self, expr: &Expr, polarity: Polarity) {
        match &expr.kind {
            ExprKind::Constant(_) | ExprKind::Param(_) | ExprKind::Slot(_) => {}
            ExprKind::Let(id) => {
                let policy = self.policy;
                self.expr(&policy[*id].value, polarity);
            }
            ExprKind::Root(root) => match root {
                Root::Nodes => self.add(ReadOf::Nodes, None, None, polarity),
                Root::Pods => self.add(ReadOf::Pods, None, None, polarity),
                Root::Nominated => self.add(ReadOf::Nominated, None, None, polarity),
                Root::Pod | Root::Namespace | Root::Node => {}
            },
            ExprKind::Group(id) => self.group(*id, polarity),
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
            ExprKind::Index(object, key) => self.element(object, key, polarity, Polarity::Any),
            ExprKind::Resource(object, key) => self.element(object, key, polarity, polarity),
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
                let (a, b) = of_operands(*op, left, right, polarity);
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
            ExprKind::Call(function, args, _) => self.call(*function, args, polarity),
            ExprKind::CallDef(id, args) => self.def(*id, args, polarity),
            ExprKind::Macro(of) => self.macro_parts(of, polarity),
        }
    }

    /// The members of a group, and the paths by which it is kept.
    fn group(&mut self, id: GroupId, polarity: Polarity) {
        self.reads.groups.insert(id);
        self.add(ReadOf::Group, None, None, polarity);
        let policy = self.policy;
        let group = &policy[id];
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

    /// An element of a field by its key, or of another value, which is read in direction
    /// `of_value`.
    fn element(&mut self, object: &Expr, key: &Expr, polarity: Polarity, of_value: Polarity) {
        self.expr(key, Polarity::Any);
        match &object.kind {
            ExprKind::Field(owner, field) => {
                let key = self.key_text(key);
                self.field(owner, *field, key, polarity);
            }
            _ => self.expr(object, of_value),
        }
    }

    fn call(&mut self, function: FunctionId, args: &[Expr], polarity: Polarity) {
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

    fn def(&mut self, id: DefId, args: &[Expr], polarity: Polarity) {
        let policy = self.policy;
        let def = &policy[id];
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

    fn macro_parts(&mut self, of: &Macro, polarity: Polarity) {
        let nonnegative = of.body.as_ref().is_some_and(|body| body.range.is_positive_or_zero());
        let (over, condition, body) = match of.kind {
            MacroKind::Exists | MacroKind::Count | MacroKind::Filter => (polarity, polarity, Polarity::Any),
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

/// The directions of both operands of an arithmetic operation.
fn of_operands(op: ArithmeticOp, left: &Expr, right: &Expr, polarity: Polarity) -> (Polarity, Polarity) {
    match op {
        ArithmeticOp::Add => (polarity, polarity),
        ArithmeticOp::Subtract => (polarity, polarity.flip()),
        ArithmeticOp::Multiply => (by_sign(polarity, right), by_sign(polarity, left)),
        ArithmeticOp::Divide => {
            let positive = right.range.is_positive_or_zero();
            let divisor = if positive { by_sign(polarity, left).flip() } else { Polarity::Any };
            (by_sign(polarity, right), divisor)
        }
        ArithmeticOp::Remainder => (Polarity::Any, Polarity::Any),
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
