//! Typed expressions as terms.

use super::terms::{ABSENT, CALL, EQUAL, EQUAL_OPTIONALS, MACRO, Term, Terms, may_be_absent};
use crate::language::functions::{Absence, FunctionDef, Presence};
use crate::typed::{Expr, ExprKind, LetId, Macro, MacroKind, Operation, Policy, SlotId};
use crate::types::Type;
use rustc_hash::FxHashMap;

/// Reads the expressions of one policy.
pub(super) struct Reader<'p, 't> {
    pub(super) policy: &'p Policy,
    pub(super) terms: &'t mut Terms,
    slots: FxHashMap<SlotId, Term>,
    lets: FxHashMap<LetId, Term>,
}

impl<'p, 't> Reader<'p, 't> {
    pub(super) fn new(policy: &'p Policy, terms: &'t mut Terms) -> Self {
        Reader { policy, terms, slots: FxHashMap::default(), lets: FxHashMap::default() }
    }

    /// The variable of a group or of `victim`, which both languages name as they like.
    pub(super) fn member(&mut self, slot: SlotId) {
        let member = self.terms.leaf("member");
        self.slots.insert(slot, member);
    }

    fn make(&mut self, label: impl Into<String>, parts: &[&Expr]) -> Term {
        let parts = parts.iter().map(|part| self.term(part)).collect();
        self.terms.make(label, parts)
    }

    /// What an expression means.
    pub(super) fn term(&mut self, expr: &Expr) -> Term {
        match &expr.kind {
            ExprKind::Constant(value) => self.terms.constant(value),
            ExprKind::Param(id) => self.terms.leaf(format!("param {}", self.policy[*id].name)),
            ExprKind::Let(id) => self.of_let(*id),
            ExprKind::Slot(slot) => match self.slots.get(slot) {
                Some(known) => *known,
                None => self.terms.leaf(format!("slot {}", self.policy[*slot].name)),
            },
            ExprKind::Root(root) => self.terms.leaf(root.word()),
            ExprKind::Group(id) => self.terms.leaf(format!("group {}", self.policy[*id].name)),
            ExprKind::Ledger(id, key) => self.make(format!("ledger {}", self.policy[*id].name), &[key]),
            ExprKind::Memo(id) => self.terms.leaf(format!("memo {}", self.policy[*id].name)),
            ExprKind::Source(id, node) => self.make(format!("source {}", self.policy[*id].name), &[node]),
            ExprKind::Now => self.terms.leaf("now"),
            ExprKind::LookUp(which, args) => {
                let label = format!("look up {:?} {}", which.by, self.policy[which.kind].name);
                self.make(label, &args.iter().collect::<Vec<_>>())
            }
            ExprKind::Field(object, field) => self.make(format!("field {field:?}"), &[object]),
            ExprKind::ApiField(object, name) => self.select(object, name),
            ExprKind::RecordField(object, at) => self.make(format!("record {at}"), &[object]),
            ExprKind::Index(object, index) => self.make("index", &[object, index]),
            ExprKind::Resource(resources, name) => self.make("resource", &[resources, name]),
            ExprKind::Present(inner) => self.term(inner),
            ExprKind::Widen(inner) => {
                let inner = self.term(inner);
                self.terms.widen(inner)
            }
            ExprKind::Has(inner) => {
                let inner = self.term(inner);
                self.terms.has(inner)
            }
            ExprKind::Not(inner) => {
                let inner = self.term(inner);
                self.terms.not(inner)
            }
            ExprKind::Negate(inner) => {
                let inner = self.term(inner);
                self.terms.negate(inner)
            }
            ExprKind::And(left, right) => {
                let sides = vec![self.term(left), self.term(right)];
                self.terms.and(sides)
            }
            ExprKind::Or(left, right) => {
                let sides = vec![self.term(left), self.term(right)];
                self.terms.or(sides)
            }
            ExprKind::Equal(left, right) => self.equal(left, right),
            ExprKind::Compare(op, left, right) => self.make(format!("compare {op:?}"), &[left, right]),
            ExprKind::In(left, right) => self.is_in(left, right),
            ExprKind::Arithmetic(op, left, right) => self.make(format!("arithmetic {op:?}"), &[left, right]),
            ExprKind::Conditional(condition, then, otherwise) => {
                let (condition, then) = (self.term(condition), self.term(then));
                let otherwise = self.term(otherwise);
                self.terms.choice(condition, then, otherwise)
            }
            ExprKind::Coalesce(left, right) => self.coalesce(left, right),
            ExprKind::List(elements) => {
                let of = |(element, optional): &(Expr, bool)| (element.clone(), *optional);
                self.list(&elements.iter().map(of).collect::<Vec<_>>())
            }
            ExprKind::Map(entries) => {
                let mut parts = Vec::new();
                for (key, value, optional) in entries {
                    let left_out = *optional && may_be_absent(&value.ty);
                    parts.push((self.term(key), self.term(value), left_out));
                }
                self.terms.map(parts)
            }
            ExprKind::Record(values) => self.make("record", &values.iter().collect::<Vec<_>>()),
            ExprKind::Call(function, args, _) => self.call(function.def(), &args.iter().collect::<Vec<_>>()),
            ExprKind::CallDef(id, args) => {
                let def = &self.policy[*id];
                let args: Vec<Term> = args.iter().map(|arg| self.term(arg)).collect();
                let before = self.slots.clone();
                self.slots.extend(def.parameters.iter().copied().zip(args));
                let body = self.term(&def.body);
                self.slots = before;
                body
            }
            ExprKind::Macro(of) => self.of_macro(of),
            ExprKind::Dynamic(operation, args) => self.dynamic(operation, &args.iter().collect::<Vec<_>>()),
        }
    }

    /// A let is its value, which reads no variable of a macro.
    fn of_let(&mut self, id: LetId) -> Term {
        if let Some(known) = self.lets.get(&id) {
            return *known;
        }
        let before = std::mem::take(&mut self.slots);
        let value = self.term(&self.policy[id].value);
        self.slots = before;
        self.lets.insert(id, value);
        value
    }

    fn select(&mut self, object: &Expr, name: &str) -> Term {
        let is_map = matches!(held(&object.ty), Type::Map(..));
        let of = self.term(object);
        match is_map {
            true => {
                let key = self.terms.leaf(format!("text {name}"));
                self.terms.make("index", vec![of, key])
            }
            false => self.terms.make(format!("api {name}"), vec![of]),
        }
    }

    fn equal(&mut self, left: &Expr, right: &Expr) -> Term {
        let optional = |expr: &Expr| matches!(expr.ty, Type::CelOptional(_)) && !is_full(expr);
        let label = if optional(left) && optional(right) { EQUAL_OPTIONALS } else { EQUAL };
        self.make(label, &[left, right])
    }

    /// Of a map, and of resources, `in` asks for the key.
    fn is_in(&mut self, element: &Expr, of: &Expr) -> Term {
        let key = match held(&of.ty) {
            Type::Map(..) => "index",
            Type::Resources => "resource",
            _ => return self.make("in", &[element, of]),
        };
        let found = self.make(key, &[of, element]);
        self.terms.has(found)
    }

    fn coalesce(&mut self, left: &Expr, right: &Expr) -> Term {
        let value = self.term(left);
        if !may_be_absent(&left.ty) {
            return value;
        }
        let otherwise = self.term(right);
        self.terms.coalesce(value, otherwise)
    }

    fn list(&mut self, elements: &[(Expr, bool)]) -> Term {
        let mut parts = Vec::new();
        for (element, optional) in elements {
            parts.push((self.term(element), *optional && is_left_out(element)));
        }
        self.terms.list(parts)
    }

    fn call(&mut self, def: &FunctionDef, args: &[&Expr]) -> Term {
        match (def.presence, args) {
            (Some(Presence::Wraps | Presence::Catches | Presence::Holds | Presence::Takes), [of]) => {
                self.term(of)
            }
            (Some(Presence::HoldsNothing), []) => self.terms.leaf(ABSENT),
            (Some(Presence::Tests), [of]) => {
                let of = self.term(of);
                self.terms.has(of)
            }
            (Some(Presence::Or | Presence::TakesOr), [value, otherwise]) => self.coalesce(value, otherwise),
            (Some(Presence::Compacts | Presence::TakesAll), [list]) => match &list.kind {
                ExprKind::List(elements) => {
                    let all: Vec<_> = elements.iter().map(|(element, _)| (element.clone(), true)).collect();
                    self.list(&all)
                }
                _ => {
                    let may = matches!(list.ty.present(), Type::List(of) if may_be_absent(of));
                    let list = self.term(list);
                    self.terms.present(list, may)
                }
            },
            (_, [of]) if def.makes_float() && *held(&of.ty) == Type::Float => self.term(of),
            (_, [of]) if def.makes_float() && held(&of.ty).is_whole() => {
                let of = self.term(of);
                self.terms.widen(of)
            }
            (_, args) => {
                let begin = if matches!(def.absent, Absence::Taken) { "takes " } else { CALL };
                self.make(format!("{begin}{}", def.name), args)
            }
        }
    }

    fn of_macro(&mut self, of: &Macro) -> Term {
        let over = self.term(&of.over);
        let before = self.slots.clone();
        if of.kind == MacroKind::Bind {
            self.slots.insert(of.slot, over);
            let body = of.body.as_ref().map(|body| self.term(body));
            self.slots = before;
            return body.unwrap_or(over);
        }
        if matches!(of.kind, MacroKind::OptMap | MacroKind::OptFlatMap)
            && let Some(body) = &of.body
        {
            // The body for the value that is there: as if it were written in its place, if it has no value without.
            self.slots.insert(of.slot, over);
            let made = self.term(body);
            self.slots.clone_from(&before);
            if self.terms.is_false_without(made, over) {
                return made;
            }
        }
        let variables: Vec<Term> = std::iter::once(of.slot)
            .chain(of.second)
            .map(|slot| {
                let variable = self.terms.fresh();
                self.slots.insert(slot, variable);
                variable
            })
            .collect();
        let mut shape = String::new();
        let mut parts = Vec::new();
        for (mark, part) in [('c', &of.condition), ('b', &of.body)] {
            if let Some(part) = part {
                shape.push(mark);
                parts.push(self.term(part));
            }
        }
        self.slots = before;
        let mut all = vec![over];
        all.extend(self.terms.bind(&variables, parts));
        self.terms.make(format!("{MACRO}{:?} {} {shape}", of.kind, variables.len()), all)
    }

    fn dynamic(&mut self, operation: &Operation, args: &[&Expr]) -> Term {
        match (operation, args) {
            (
                Operation::Demand(_)
                | Operation::Truth
                | Operation::Iterable
                | Operation::Sortable
                | Operation::Mapping
                | Operation::Optional
                | Operation::Branch
                | Operation::Counted(_)
                | Operation::Hashed
                | Operation::Plain
                | Operation::Held
                | Operation::Valid
                | Operation::Exact(_),
                [of],
            ) => self.term(of),
            (Operation::Arithmetic(op), args) => self.make(format!("arithmetic {op:?}"), args),
            (Operation::Negate, [of]) => {
                let of = self.term(of);
                self.terms.negate(of)
            }
            (Operation::Equal, [left, right]) => self.equal(left, right),
            (Operation::NotEqual, [left, right]) => {
                let equal = self.equal(left, right);
                self.terms.not(equal)
            }
            (Operation::Compare(op), args) => self.make(format!("compare {op:?}"), args),
            (Operation::In(_), [element, of]) => self.is_in(element, of),
            (Operation::Select(name) | Operation::OptionalSelect(name), [object]) => {
                self.select(object, name)
            }
            (Operation::HasField(name) | Operation::HasValue(name), [object]) => {
                let of = self.select(object, name);
                self.terms.has(of)
            }
            (Operation::Index | Operation::OptionalIndex, args) => self.make("index", args),
            (Operation::OrElse(_), [value, otherwise]) => self.coalesce(value, otherwise),
            (Operation::Call(rows), args) if let Some(row) = rows.first() => self.call(row.def(), args),
            (Operation::Map(optional), args) => {
                let mut parts = Vec::new();
                for (at, entry) in args.chunks_exact(2).enumerate() {
                    let [key, value] = entry else { continue };
                    let left_out = optional.get(at) == Some(&true) && is_left_out(value);
                    parts.push((self.term(key), self.term(value), left_out));
                }
                self.terms.map(parts)
            }
            (operation, args) => self.make(format!("operation {operation:?}"), args),
        }
    }
}

/// The type of what is there.
fn held(ty: &Type) -> &Type {
    match ty.present() {
        Type::CelOptional(of) => of.present(),
        other => other,
    }
}

/// Whether an optional of CEL is never empty.
fn is_full(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Call(function, ..) => function.def().presence == Some(Presence::Holds),
        ExprKind::Dynamic(Operation::Branch, inner) => inner.iter().all(is_full),
        _ => false,
    }
}

/// Whether an element of a list or map may be left out.
fn is_left_out(element: &Expr) -> bool {
    let held = matches!(&element.kind, ExprKind::Dynamic(Operation::Held, _));
    held || may_be_absent(&element.ty)
}
