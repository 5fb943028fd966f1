//! [`Walk`]: one walk over the expressions of a statement, which collects what they read.

use super::direction::{of_argument, of_operands, through};
use super::owners::{Followed, Owners};
use crate::eval::budget::Counter;
use crate::eval::constant::{Known, Tables, constant};
use crate::language::fields::{FieldId, ObjectType};
use crate::language::functions::FunctionId;
use crate::syntax::ast::Text;
use crate::typed::reads::{Polarity, ReadOf, ReadPath, RuleReads};
use crate::typed::{
    CompareOp, DefId, Expr, ExprKind, GroupId, LetId, Macro, Operation, Policy, Root, SlotId,
};
use crate::types::value::Value;
use crate::types::{Ty, Type};
use bayplan_model::Kinds;
use rustc_hash::{FxHashMap, FxHashSet};

/// What computing the keys of a statement may take.
const KEY_EFFORT: u64 = 1 << 16;

/// One walk over the expressions of a statement.
pub(super) struct Walk<'p> {
    pub(super) policy: &'p Policy,
    pub(super) followed: Followed,
    reads: RuleReads,
    /// The directions in which the parameters of defs were read.
    uses: FxHashMap<SlotId, Polarity>,
    /// What computing keys may take; later ones are then read as all keys.
    effort: Counter,
    known: Known,
    /// Lets that were walked over, and in which direction.
    lets: FxHashSet<(LetId, Polarity)>,
    /// Groups that were walked over, and in which direction.
    groups: FxHashSet<(GroupId, Polarity)>,
    /// Defs that were walked over: with which objects and in which direction, and the directions in
    /// which they read their parameters.
    defs: FxHashMap<(DefId, Vec<Owners>, Polarity), Vec<Polarity>>,
}

impl<'p> Walk<'p> {
    pub(super) fn new(policy: &'p Policy) -> Self {
        Walk {
            policy,
            followed: Followed::default(),
            reads: RuleReads::default(),
            uses: FxHashMap::default(),
            effort: Counter::new(KEY_EFFORT),
            known: Known::default(),
            lets: FxHashSet::default(),
            groups: FxHashSet::default(),
            defs: FxHashMap::default(),
        }
    }

    pub(super) fn done(self) -> RuleReads {
        self.reads
    }

    /// The variable of a pod that may be evicted: one of those on the node.
    pub(super) fn bind_victim(&mut self, slot: SlotId) {
        self.followed.bind(slot, Owners::of(ReadOf::NodePods));
    }

    fn add(&mut self, of: ReadOf, field: Option<FieldId>, key: Option<Text>, polarity: Polarity) {
        self.reads
            .paths
            .entry(ReadPath { of, field, key })
            .and_modify(|known| *known = known.join(polarity))
            .or_insert(polarity);
    }

    /// A path that ends in a field.
    fn field(&mut self, object: &Expr, field: FieldId, key: Option<Text>, polarity: Polarity) {
        let def = field.def();
        // Whether there is a value decides too.
        let polarity = if matches!(def.ty, Ty::Optional(_)) { Polarity::Any } else { polarity };
        // A pod that waits is tried again in time, and then has more attempts.
        self.reads.clock |= def.changed_by == Kinds::ATTEMPTS;
        for of in self.owners(object).reached(def.owner) {
            match (of, def.objects()) {
                // Which node it is does not change.
                (ReadOf::Node, Some(ObjectType::Pod)) => self.add(ReadOf::NodePods, None, None, polarity),
                _ => self.add(of, Some(field), key.clone(), polarity),
            }
        }
        self.object(object);
    }

    /// What is read to get at an object.
    fn object(&mut self, object: &Expr) {
        if !matches!(object.kind, ExprKind::Root(_) | ExprKind::Slot(_)) {
            self.expr(object, Polarity::Any);
        }
    }

    /// A path below `spec`, `status` or `metadata`: as far as it is fields of an object.
    fn api_field(&mut self, object: &Expr, name: &str) {
        let (root, path) = api_path(object, name);
        let Type::Object(of) = root.ty.present() else {
            // The path to the value, which covers what is below it.
            return self.expr(root, Polarity::Any);
        };
        for of in self.owners(root).reached(*of) {
            self.add(of, None, Some(Text::from(path.as_str())), Polarity::Any);
        }
        self.object(root);
    }

    fn key_text(&self, key: &Expr) -> Option<Text> {
        let Policy { params, lets, defs, .. } = self.policy;
        match constant(key, Tables { params, lets, defs, effort: &self.effort, known: &self.known })? {
            Value::String(text) => Some(Text::from(text.as_str())),
            _ => None,
        }
    }

    /// An expression, of which a change in this direction helps.
    pub(super) fn expr(&mut self, expr: &Expr, polarity: Polarity) {
        match &expr.kind {
            ExprKind::Slot(slot) => self.parameter(*slot, polarity),
            ExprKind::Let(id) => {
                let policy = self.policy;
                if self.lets.insert((*id, polarity)) {
                    self.expr(&policy[*id].value, polarity);
                }
            }
            ExprKind::Root(root) => match root {
                Root::Nodes => self.add(ReadOf::Nodes, None, None, polarity),
                Root::Pods => self.add(ReadOf::Pods, None, None, polarity),
                Root::Nominated => self.add(ReadOf::Nominated, None, None, polarity),
                Root::Pod | Root::Namespace | Root::Node => {}
            },
            ExprKind::Group(id) => self.group(*id, polarity),
            ExprKind::Ledger(id, key) => {
                let known = self.reads.ledgers.entry(*id);
                known.and_modify(|known| *known = known.join(polarity)).or_insert(polarity);
                self.expr(key, Polarity::Any);
            }
            ExprKind::Memo(id) => {
                if self.reads.memos.insert(*id) {
                    let policy = self.policy;
                    self.expr(&policy[*id].key, Polarity::Any);
                }
            }
            ExprKind::Source(_, key) => {
                self.add(ReadOf::Metrics, None, None, Polarity::Any);
                self.expr(key, Polarity::Any);
            }
            ExprKind::Now => self.reads.clock = true,
            ExprKind::LookUp(which, args) => {
                self.reads.objects.insert(which.kind);
                self.add(ReadOf::Objects, None, None, Polarity::Any);
                args.iter().for_each(|arg| self.expr(arg, Polarity::Any));
            }
            ExprKind::Field(object, field) => self.field(object, *field, None, polarity),
            ExprKind::ApiField(object, name) => self.api_field(object, name),
            ExprKind::Index(object, key) => self.element(object, key, polarity, Polarity::Any),
            ExprKind::Resource(object, key) => self.element(object, key, polarity, polarity),
            ExprKind::Present(inner) | ExprKind::Widen(inner) => self.expr(inner, polarity),
            ExprKind::Not(inner) | ExprKind::Negate(inner) => self.expr(inner, polarity.flip()),
            ExprKind::And(left, right) | ExprKind::Or(left, right) => {
                self.expr(left, polarity);
                self.expr(right, polarity);
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
            ExprKind::Call(function, args, _) => {
                self.call(*function, args, polarity, expr.ty.is_optional());
            }
            ExprKind::CallDef(id, args) => self.def(*id, args, polarity),
            ExprKind::Dynamic(Operation::Exact(_) | Operation::Truth, args) => {
                args.iter().for_each(|arg| self.expr(arg, polarity));
            }
            ExprKind::Macro(of) => self.macro_parts(of, polarity),
            // A change in any direction may help; whether there is a value at all decides too.
            _ => expr.operands().into_iter().for_each(|operand| self.expr(operand.expr, Polarity::Any)),
        }
    }

    /// The members of a group, and the paths by which it is kept.
    pub(super) fn group(&mut self, id: GroupId, polarity: Polarity) {
        self.reads.groups.insert(id);
        self.add(ReadOf::Group, None, None, polarity);
        if !self.groups.insert((id, polarity)) {
            return;
        }
        let policy = self.policy;
        let group = &policy[id];
        self.followed.bind(group.slot, Owners::of(ReadOf::Group));
        for key in &group.keys {
            let mut member = Walk::new(policy);
            member.followed.bind(group.slot, Owners::of(ReadOf::Group));
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

    fn call(&mut self, function: FunctionId, args: &[Expr], polarity: Polarity, may_lack: bool) {
        for (at, arg) in args.iter().enumerate() {
            self.expr(arg, of_argument(function.def(), args, at, polarity, may_lack));
        }
    }

    /// A parameter of a def, or a variable.
    fn parameter(&mut self, slot: SlotId, polarity: Polarity) {
        self.uses.entry(slot).and_modify(|known| *known = known.join(polarity)).or_insert(polarity);
    }

    /// The body with these arguments, and the arguments in the directions in which the body reads
    /// them.
    fn def(&mut self, id: DefId, args: &[Expr], polarity: Polarity) {
        let def = &self.policy[id];
        let owners: Vec<Owners> = args.iter().map(|arg| self.owners(arg)).collect();
        let key = (id, owners, polarity);
        let directions = match self.defs.get(&key) {
            Some(known) => known.clone(),
            None => {
                self.bind_all(&def.parameters, &key.1);
                for slot in &def.parameters {
                    self.uses.remove(slot);
                }
                self.expr(&def.body, polarity);
                let direction = |slot| self.uses.get(slot).copied().unwrap_or(Polarity::Any);
                let directions: Vec<Polarity> = def.parameters.iter().map(direction).collect();
                self.defs.insert(key, directions.clone());
                directions
            }
        };
        args.iter().zip(directions).for_each(|(arg, direction)| self.expr(arg, direction));
    }

    fn macro_parts(&mut self, of: &Macro, polarity: Polarity) {
        let nonnegative = of.body.as_ref().is_some_and(|body| body.range.is_positive_or_zero());
        let [over, condition, body] = of.kind.influence(nonnegative).map(|part| through(polarity, part));
        self.expr(&of.over, over);
        self.bind_elements(of);
        if let Some(p) = &of.condition {
            self.expr(p, condition);
        }
        if let Some(e) = &of.body {
            self.expr(e, body);
        }
    }
}

/// The value at the root of a path of API fields, and the path.
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
