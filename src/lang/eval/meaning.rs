//! [`Meaning`]: what an expression means, as a number: the same for two expressions that always have the same value because
//! they are written alike.
//!
//! Indexes of the snapshot are named after what they keep, so that a reload keeps those that mean the same. Places,
//! names of lets, defs and variables, and the numbers of declarations do not count: a let is its value, a variable is
//! how many variables were bound after it. An index lives no longer than the process, so that a row of the tables of
//! fields and functions goes by its number.

use crate::typed::{DefId, Expr, ExprKind, GroupId, LedgerId, LetId, MemoId, Operation, Policy, SlotId};
use crate::types::Type;
use crate::types::value::Constant;
use rustc_hash::FxHashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::mem::discriminant;

/// What the expressions of a policy mean. Each declaration is computed once.
pub struct Meaning<'p> {
    policy: &'p Policy,
    /// The declarations that were met.
    known: FxHashMap<Named, u64>,
    /// The variables in scope, the innermost last.
    bound: Vec<SlotId>,
}

/// A declaration that expressions name.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Named {
    Let(LetId),
    Def(DefId),
    Group(GroupId),
    Ledger(LedgerId),
    Memo(MemoId),
}

impl<'p> Meaning<'p> {
    /// Of the expressions of a policy.
    pub fn new(policy: &'p Policy) -> Self {
        Self { policy, known: FxHashMap::default(), bound: Vec::new() }
    }

    /// What an expression means.
    pub fn of(&mut self, expr: &Expr) -> u64 {
        match &expr.kind {
            // What is proved to be there is the same value, and so is what a let stands for.
            ExprKind::Present(inner) => return self.of(inner),
            ExprKind::Let(id) => return self.named(Named::Let(*id)),
            // An argument of the policy is a constant.
            ExprKind::Param(id) => return constant(&self.policy[*id].value, &expr.ty),
            ExprKind::Constant(value) => return constant(value, &expr.ty),
            _ => {}
        }
        let mut hasher = DefaultHasher::new();
        hash_type(expr.ty.present(), &mut hasher);
        self.hash_head(expr, &mut hasher);
        for operand in expr.operands() {
            let depth = self.bound.len();
            self.bound.extend(operand.binds.iter().flatten());
            self.of(operand.expr).hash(&mut hasher);
            self.bound.truncate(depth);
        }
        hasher.finish()
    }

    /// What a memo remembers, and under which key.
    pub fn of_memo(&mut self, id: MemoId) -> u64 {
        self.named(Named::Memo(id))
    }

    /// What a ledger counts, of which pods and under which key.
    pub(crate) fn of_ledger(&mut self, id: LedgerId) -> u64 {
        self.named(Named::Ledger(id))
    }

    /// The paths of a group.
    pub fn of_group(&mut self, id: GroupId) -> u64 {
        self.named(Named::Group(id))
    }

    /// The head of an expression, without the numbers of declarations: these are not the ones of another compilation.
    fn hash_head(&mut self, expr: &Expr, hasher: &mut DefaultHasher) {
        discriminant(&expr.kind).hash(hasher);
        match &expr.kind {
            ExprKind::Slot(slot) => match self.bound.iter().rev().position(|bound| bound == slot) {
                Some(at) => at.hash(hasher),
                None => self.policy[*slot].name.hash(hasher),
            },
            ExprKind::LookUp(look_up, _) => {
                self.policy[look_up.kind].name.hash(hasher);
                look_up.by.hash(hasher);
            }
            ExprKind::Source(id, _) => {
                let of = &self.policy[*id];
                (of.window, of.max_age).hash(hasher);
            }
            ExprKind::CallDef(id, _) => self.named(Named::Def(*id)).hash(hasher),
            ExprKind::Group(id) => self.named(Named::Group(*id)).hash(hasher),
            ExprKind::Ledger(id, _) => self.named(Named::Ledger(*id)).hash(hasher),
            ExprKind::Memo(id) => self.named(Named::Memo(*id)).hash(hasher),
            // The types of operands and results are in their hashes, without the names of records.
            ExprKind::Arithmetic(op, ..) => op.hash(hasher),
            ExprKind::Macro(of) => {
                (of.kind, of.second.is_some(), of.condition.is_some(), of.body.is_some()).hash(hasher);
            }
            ExprKind::Dynamic(Operation::Exact(ty), _) => hash_type(ty, hasher),
            _ => expr.head().hash(hasher),
        }
        expr.operands().len().hash(hasher);
    }

    /// What a declaration means: it sees no variables but its own.
    fn named(&mut self, named: Named) -> u64 {
        if let Some(known) = self.known.get(&named) {
            return *known;
        }
        // The checker refuses circles; one would end here.
        self.known.insert(named, 0);
        let bound = std::mem::take(&mut self.bound);
        let policy = self.policy;
        let mut hasher = DefaultHasher::new();
        match named {
            Named::Let(id) => {
                let of = self.of(&policy[id].value);
                self.bound = bound;
                self.known.insert(named, of);
                return of;
            }
            Named::Def(id) => {
                self.bound.clone_from(&policy[id].parameters);
                self.of(&policy[id].body).hash(&mut hasher);
            }
            Named::Group(id) => {
                let of = &policy[id];
                self.bound.push(of.slot);
                (of.keys.len(), of.rest.len()).hash(&mut hasher);
                let keys = of.keys.iter().flat_map(|key| [&key.member, &key.pod]);
                keys.chain(&of.rest).for_each(|part| self.of(part).hash(&mut hasher));
            }
            Named::Ledger(id) => {
                let of = &policy[id];
                hash_type(&of.ty, &mut hasher);
                self.of(&of.key).hash(&mut hasher);
                for add in &of.adds {
                    self.of(&add.value).hash(&mut hasher);
                    add.when.as_ref().map(|when| self.of(when)).hash(&mut hasher);
                }
                for required in &of.required_lets {
                    self.named(Named::Let(*required)).hash(&mut hasher);
                }
                policy.narrows().for_each(|condition| self.of(condition).hash(&mut hasher));
                policy.to_all_pods.hash(&mut hasher);
            }
            Named::Memo(id) => {
                let of = &policy[id];
                of.name.hash(&mut hasher);
                hash_type(&of.ty, &mut hasher);
                self.of(&of.key).hash(&mut hasher);
            }
        }
        self.bound = bound;
        let of = hasher.finish();
        self.known.insert(named, of);
        of
    }
}

/// A constant of a type: `1` is another value as an amount.
fn constant(value: &Constant, ty: &Type) -> u64 {
    let mut hasher = DefaultHasher::new();
    hash_type(ty.present(), &mut hasher);
    discriminant(value).hash(&mut hasher);
    value.hash(&mut hasher);
    // Values that CEL calls equal have one hash.
    value.to_string().hash(&mut hasher);
    hasher.finish()
}

/// A type without the names of records, the fields of kinds and the numbers that the checker gave.
fn hash_type(ty: &Type, hasher: &mut DefaultHasher) {
    discriminant(ty).hash(hasher);
    match ty {
        Type::List(of) | Type::Set(of) | Type::Optional(of) | Type::CelOptional(of) | Type::TypeOf(of) => {
            hash_type(of, hasher)
        }
        Type::Map(key, value) => {
            hash_type(key, hasher);
            hash_type(value, hasher);
        }
        Type::Record(record) => {
            record.fields.len().hash(hasher);
            for (name, ty) in &record.fields {
                name.hash(hasher);
                hash_type(ty, hasher);
            }
        }
        Type::Object(of) => of.hash(hasher),
        Type::Api(of) => of.hash(hasher),
        Type::Kind(kind) => kind.name.hash(hasher),
        Type::Structure(of) => of.name.hash(hasher),
        Type::Cel(of) => of.hash(hasher),
        Type::Amount(_) | Type::Variable(_) => {}
        Type::Unknown
        | Type::Never
        | Type::Bool
        | Type::Int
        | Type::Uint
        | Type::Float
        | Type::String
        | Type::Blob
        | Type::Null
        | Type::Cpu
        | Type::Bytes
        | Type::Duration
        | Type::Count
        | Type::Time
        | Type::Resources
        | Type::Dyn
        | Type::Any
        | Type::TypeName
        | Type::Quantity => {}
    }
}
