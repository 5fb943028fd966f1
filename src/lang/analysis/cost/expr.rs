//! The steps of expressions, as the closures of code generation take them (once per pod, once per
//! node, or in place) and as the reference evaluator takes them, which computes everything in
//! place.

use super::calls;
use super::collections::{SEARCH, lookup};
use super::extent::Extent;
use super::steps::{PartitionBy, Steps, Summation};
use super::walk::{Cost, EvaluationMode, Walk, pods_of_a_node};
use crate::analysis::index::answer_keys;
use crate::analysis::shape::resolve_alias;
use crate::analysis::stage::{is_path, is_register};
use crate::language::fields::{Access, CountedPart, FieldId, ObjectType};
use crate::language::functions::{FunctionId, Grows, Prepared};
use crate::typed::{ArithmeticOp, DefId, Expr, ExprKind, LetId, LookUpBy, Operation, Policy, Root, SlotId};
use crate::types::Type;
use bayplan_model::MOST_SAMPLES;

impl<'p> Walk<'p> {
    /// The steps of an expression in its place, and how large its value can be. What is computed
    /// once per pod or once per node is added there.
    pub(super) fn expr(&mut self, expr: &'p Expr) -> (Cost, Extent) {
        if self.mode == EvaluationMode::PerNode && !self.of_pod && is_register(self.policy, expr) {
            if let ExprKind::Let(id) = &expr.kind
                && let Some(known) = &self.lets[id.index()]
            {
                return (Cost::plain(1), known.clone());
            }
            self.of_pod = true;
            let (mut cost, extent) = self.inner(expr);
            self.of_pod = false;
            // Registers are kept beyond the call.
            self.sum(&mut cost, Cost { steps: extent.walk().plus_number(1), heaviest: None });
            self.pay_once(cost);
            return (Cost::plain(1), extent);
        }
        if self.mode == EvaluationMode::PerNode
            && !self.of_pod
            && !self.remembering
            && !self.policy.slots.is_empty()
            && let Some(keys) = answer_keys(self.policy, expr)
        {
            self.remembering = true;
            let (cost, extent) = self.inner(expr);
            self.remembering = false;
            // An answer for each value that nodes have; parts of one whole add up.
            let answers =
                extent.kept().for_each(&Steps::nodes(), PartitionBy::Node, Summation::AddUp, &self.shares);
            self.check_kept(expr, &answers);
            let mut asked = Cost::plain(2);
            // Each `has` doubles the answers that there may be for one value.
            let mut rounds = 1;
            for key in keys {
                rounds *= if matches!(key.kind, ExprKind::Has(_)) { 2 } else { 1 };
                let (key, _) = self.expr(key);
                self.sum(&mut asked, key);
            }
            for _ in 0..rounds {
                self.pay_per_node(cost.clone());
            }
            return (asked, extent);
        }
        self.inner(expr)
    }

    pub(super) fn parts(&mut self, parts: impl IntoIterator<Item = &'p Expr>) -> (Cost, Vec<Extent>) {
        let mut all = Cost::plain(1);
        let mut extents = Vec::new();
        for part in parts {
            let (cost, extent) = self.expr(part);
            self.sum(&mut all, cost);
            extents.push(extent);
        }
        (all, extents)
    }

    /// One part more, and something on top.
    pub(super) fn one(&mut self, part: &'p Expr) -> (Cost, Extent) {
        let (mut cost, extent) = self.expr(part);
        cost.steps = cost.steps.plus_number(1);
        (cost, extent)
    }

    fn inner(&mut self, expr: &'p Expr) -> (Cost, Extent) {
        let policy = self.policy;
        match &expr.kind {
            ExprKind::Constant(constant) => (Cost::plain(1), Extent::of_constant(constant)),
            ExprKind::Param(id) => (Cost::plain(1), Extent::of_constant(&policy[*id].value)),
            ExprKind::LookUp(which, args) => self.look_up(expr, which.by, args),
            ExprKind::Slot(slot) => {
                let known = self.slots.get(slot).cloned();
                (Cost::plain(1), known.unwrap_or_else(|| Extent::of_type(&expr.ty, self.size)))
            }
            ExprKind::Root(root) => self.root(expr, *root),
            ExprKind::Let(id) => self.let_value(*id),
            ExprKind::Group(id) => self.group(expr, *id),
            ExprKind::Ledger(id, key) => self.ledger(expr, *id, key),
            ExprKind::Memo(id) => self.memo(expr, *id),
            ExprKind::Source(_, node) => {
                let (mut cost, _) = self.one(node);
                // The closures find the load by the name of the node; its definition adds the samples up.
                cost.steps = cost.steps.plus_number(if self.closures() { 2 } else { MOST_SAMPLES as u128 });
                (cost, Extent::Plain)
            }
            ExprKind::Field(object, field) => self.field(expr, object, *field),
            ExprKind::ApiField(object, _) => {
                let (mut cost, _) = self.one(object);
                let extent = Extent::of_type(&expr.ty, self.size);
                if matches!(expr.ty.present(), Type::List(_) | Type::Map(..)) {
                    cost.steps.add(&extent.count());
                }
                (cost, extent)
            }
            ExprKind::RecordField(object, _) => {
                let (cost, extent) = self.one(object);
                let fits = matches!(extent, Extent::Many { .. })
                    == matches!(expr.ty.present(), Type::List(_) | Type::Map(..));
                (cost, if fits { extent } else { Extent::of_type(&expr.ty, self.size) })
            }
            ExprKind::Index(object, key) => self.index(object, key),
            ExprKind::Present(inner) | ExprKind::Widen(inner) => self.one(inner),
            ExprKind::Not(inner) | ExprKind::Negate(inner) => self.one(inner),
            ExprKind::Equal(left, right) | ExprKind::Compare(_, left, right) => {
                (self.comparison(left, right), Extent::Plain)
            }
            ExprKind::In(element, list) => (self.is_in(expr, element, list), Extent::Plain),
            ExprKind::Arithmetic(op, left, right) => self.arithmetic(expr, *op, left, right),
            ExprKind::Conditional(condition, then, otherwise) => self.conditional(condition, then, otherwise),
            ExprKind::Coalesce(left, right) => {
                let (cost, extents) = self.parts([&**left, &**right]);
                (cost, extents.iter().fold(Extent::Plain, |all, one| all.or(one)))
            }
            ExprKind::List(elements) => {
                let (cost, extents) = self.parts(elements.iter().map(|(element, _)| element));
                let kept = extents.iter().fold(Steps::default(), |all, one| all.plus(&one.kept()));
                self.check_kept(expr, &kept);
                let of = extents.iter().fold(Extent::Plain, |all, one| all.or(one));
                (cost, Extent::list(Steps::new(elements.len() as u128), of))
            }
            ExprKind::Map(entries) => {
                let (mut cost, keys) = self.parts(entries.iter().map(|(key, ..)| key));
                let (more, values) = self.parts(entries.iter().map(|(_, value, _)| value));
                self.sum(&mut cost, more);
                let join = |all: Vec<Extent>| all.iter().fold(Extent::Plain, |all, one| all.or(one));
                (cost, Extent::map(Steps::new(entries.len() as u128), join(keys), join(values)))
            }
            ExprKind::Record(values) => {
                let (cost, extents) = self.parts(values);
                (cost, extents.iter().fold(Extent::Plain, |all, one| all.or(one)))
            }
            ExprKind::Call(function, args, prepared) => self.call(expr, *function, args, prepared),
            ExprKind::CallDef(id, args) => self.def(*id, args),
            ExprKind::Macro(of) => self.macro_value(expr, of),
            ExprKind::Dynamic(operation, args) => self.dynamic(expr, operation, args),
            // A bool, an instant or an amount: it has no parts.
            _ => (self.parts(expr.operands().into_iter().map(|operand| operand.expr)).0, Extent::Plain),
        }
    }

    /// An operation of CEL: as the one of the policy language, of the largest values that there may be.
    fn dynamic(&mut self, expr: &'p Expr, operation: &Operation, args: &'p [Expr]) -> (Cost, Extent) {
        match (operation, args) {
            (Operation::Arithmetic(op), [left, right]) => self.arithmetic(expr, *op, left, right),
            (Operation::Equal | Operation::NotEqual | Operation::Compare(_), [left, right]) => {
                (self.comparison(left, right), Extent::Plain)
            }
            (Operation::Index | Operation::OptionalIndex, [object, key]) => self.index(object, key),
            (Operation::In(_), [element, list]) => (self.is_in(expr, element, list), Extent::Plain),
            (Operation::Call(rows), args) => match rows.first() {
                Some(row) => self.call(expr, *row, args, &Prepared::Nothing),
                None => (self.parts(args).0, Extent::Plain),
            },
            (Operation::Map(_), args) => {
                let (cost, extents) = self.parts(args);
                let part = |from: usize| {
                    extents.iter().skip(from).step_by(2).fold(Extent::Plain, |all, one| all.or(one))
                };
                (cost, Extent::map(Steps::new(args.len() as u128 / 2), part(0), part(1)))
            }
            (Operation::Select(..) | Operation::OptionalSelect(..), [object]) => {
                let (mut cost, of) = self.one(object);
                cost.steps.add(&lookup(&of, self.size, &self.shares));
                (cost, of.element().alone())
            }
            (_, args) => {
                let (cost, extents) = self.parts(args);
                (cost, extents.into_iter().next().unwrap_or(Extent::Plain))
            }
        }
    }

    /// The size of the list of all objects of a kind.
    pub(super) fn all_objects(&self) -> Extent {
        Extent::list(Steps::new(u128::from(self.size.of_object(CountedPart::Objects))), Extent::Plain)
    }

    /// Objects of a kind: all of them, or one, which is found by binary search.
    fn look_up(&mut self, expr: &'p Expr, by: LookUpBy, args: &'p [Expr]) -> (Cost, Extent) {
        if by == LookUpBy::All {
            let extent = self.all_objects();
            self.check_kept(expr, &extent.kept());
            return (self.collection(expr, extent.count(), 1), extent);
        }
        let (mut cost, _) = self.parts(args);
        cost.steps = cost.steps.plus_number(SEARCH);
        (cost, Extent::Plain)
    }

    fn root(&self, expr: &Expr, root: Root) -> (Cost, Extent) {
        match root {
            Root::Pod | Root::Namespace | Root::Node => (Cost::plain(1), Extent::Plain),
            Root::Nodes => {
                let mut extent = Extent::list(Steps::nodes(), Extent::Plain);
                if let Extent::Many { nodes, .. } = &mut extent {
                    *nodes = true;
                }
                (self.collection(expr, Steps::nodes(), 1), extent)
            }
            // They are sorted.
            Root::Pods => {
                (self.collection(expr, Steps::pods(), 2), Extent::list(Steps::pods(), Extent::Plain))
            }
            Root::Nominated => {
                let count = Steps::new(u128::from(self.size.of_object(CountedPart::Nominated)));
                (self.collection(expr, count.clone(), 2), Extent::list(count, Extent::Plain))
            }
        }
    }

    fn field(&mut self, expr: &Expr, object: &'p Expr, field: FieldId) -> (Cost, Extent) {
        let (mut cost, _) = self.one(object);
        let def = field.def();
        let mut extent = Extent::of_field(def, self.size);
        if def.owner == ObjectType::Node && matches!(def.objects(), Some(ObjectType::Pod | ObjectType::Gpu)) {
            let by = match &resolve_alias(self.policy, object).kind {
                ExprKind::Root(Root::Node) => Some(PartitionBy::Node),
                ExprKind::Slot(slot) => Some(PartitionBy::Slot(slot.0)),
                _ => None,
            };
            let on = match by {
                Some(by) => self.pods_on(by),
                None => Steps::new(u128::from(pods_of_a_node())),
            };
            cost.steps.add(&on);
            if def.objects() == Some(ObjectType::Pod) {
                return (cost, Extent::list(on, Extent::Plain));
            }
            if let Some(by) = by {
                extent = Extent::list(self.gpus_on(by, def), Extent::Plain);
            }
            // Each pod takes a step for its request, one for its placement and one for the GPUs.
            cost.steps.add(&on.times(&Steps::new(3)));
        }
        match &expr.ty.present() {
            Type::List(_) => cost.steps.add(&extent.count()),
            // The attributes of a device.
            Type::Map(..) if def.access == Access::Made => cost.steps.add(&extent.count()),
            Type::Resources => cost.steps.add(&Steps::new(8)),
            _ => {}
        }
        (cost, extent)
    }

    fn index(&mut self, object: &'p Expr, key: &'p Expr) -> (Cost, Extent) {
        let (mut cost, of) = self.one(object);
        let (key, _) = self.expr(key);
        self.sum(&mut cost, key);
        if !matches!(object.ty.present(), Type::List(_)) {
            cost.steps.add(&lookup(&of, self.size, &self.shares));
        }
        (cost, of.element().alone())
    }

    fn comparison(&mut self, left: &'p Expr, right: &'p Expr) -> Cost {
        let (mut cost, extents) = self.parts([left, right]);
        // Values are compared to the end of the shorter one.
        if let [a, b] = &extents[..] {
            let (a, b) = (a.walk(), b.walk());
            let shorter = if a.at(self.size, &self.shares) <= b.at(self.size, &self.shares) { a } else { b };
            cost.steps.add(&shorter);
        }
        cost
    }

    fn arithmetic(
        &mut self,
        expr: &Expr,
        op: ArithmeticOp,
        left: &'p Expr,
        right: &'p Expr,
    ) -> (Cost, Extent) {
        let (mut cost, extents) = self.parts([left, right]);
        let [a, b] = &extents[..] else { return (cost, Extent::Plain) };
        if op != ArithmeticOp::Add || matches!((a, b), (Extent::Plain, Extent::Plain)) {
            cost.steps.add(&a.walk().plus(&b.walk()));
            return (cost, a.or(b));
        }
        let extent = calls::joined(a, b);
        cost.steps.add(&extent.walk());
        if *expr.ty.present() != Type::Resources {
            self.check_size(expr, &extent);
        }
        let cost = self.weighed(expr, cost);
        (cost, if *expr.ty.present() == Type::Resources { a.or(b) } else { extent })
    }

    fn conditional(&mut self, condition: &'p Expr, then: &'p Expr, otherwise: &'p Expr) -> (Cost, Extent) {
        let (mut cost, _) = self.one(condition);
        let (a, then) = self.expr(then);
        let (b, otherwise) = self.expr(otherwise);
        let steps = cost.steps.clone().plus(&a.steps.or(&b.steps));
        self.sum(&mut cost, a);
        self.sum(&mut cost, b);
        cost.steps = steps;
        (cost, then.or(&otherwise))
    }

    fn call(
        &mut self,
        expr: &Expr,
        function: FunctionId,
        args: &'p [Expr],
        prepared: &Prepared,
    ) -> (Cost, Extent) {
        let (mut cost, extents) = self.parts(args);
        let def = function.def();
        let (mut steps, extent) =
            calls::call(def, args, prepared, &extents, &expr.ty, &|steps| steps.at(self.size, &self.shares));
        let extent = self.grown(expr, def.grows, args, &extents, extent);
        let takes = matches!(def.grows, Grows::Takes(_));
        if self.closures() && (takes || def.counts_elements) && is_sum(self.policy, args) {
            // Of the set that a ledger keeps only what is taken is visited.
            steps = if takes { extent.walk().plus_number(1) } else { Steps::new(1) };
        }
        cost.steps.add(&steps);
        (self.weighed(expr, cost), extent)
    }

    fn let_value(&mut self, id: LetId) -> (Cost, Extent) {
        let policy = self.policy;
        let of = &policy[id];
        if self.closures() && is_path(&of.value) {
            // A path, which is walked wherever it is named.
            return self.one(&of.value);
        }
        if let Some(known) = &self.lets[id.index()] {
            return (Cost::plain(1), known.clone());
        }
        let (cost, extent) = self.one(&of.value);
        self.lets[id.index()] = Some(extent.clone());
        // Computed once for a node, however many elements use it.
        if self.of_pod {
            self.pay_once(cost)
        } else {
            self.pay_per_node(cost)
        }
        (Cost::plain(1), extent)
    }

    fn def(&mut self, id: DefId, args: &'p [Expr]) -> (Cost, Extent) {
        let policy = self.policy;
        let (mut cost, extents) = self.parts(args);
        let def = &policy[id];
        let known = self.defs.get(&id).and_then(|all| all.iter().find(|(of, ..)| *of == extents)).cloned();
        let (_, body, extent) = known.unwrap_or_else(|| {
            for (slot, extent) in def.parameters.iter().zip(&extents) {
                self.slots.insert(*slot, extent.clone());
            }
            let (body, extent) = self.expr(&def.body);
            let all = (extents, body, extent);
            self.defs.entry(id).or_default().push(all.clone());
            all
        });
        // Pods of a parameter's node are those of any node: they do not add up.
        let mut body = body;
        for slot in &def.parameters {
            body = body.for_each(&Steps::new(1), PartitionBy::Slot(slot.0), Summation::Repeat, &self.shares);
        }
        self.sum(&mut cost, body);
        let extent = self.settled(extent, &def.parameters);
        (cost, extent)
    }

    /// How large a value can be outside of the macro or def whose variables its size depends on.
    pub(super) fn settled(&self, extent: Extent, slots: &[SlotId]) -> Extent {
        match extent {
            Extent::Many { mut count, of, key, nodes } => {
                for slot in slots {
                    count = count.for_each(
                        &Steps::new(1),
                        PartitionBy::Slot(slot.0),
                        Summation::Repeat,
                        &self.shares,
                    );
                }
                let of = std::sync::Arc::new(self.settled((*of).clone(), slots));
                Extent::Many { count, of, key, nodes }
            }
            other => other,
        }
    }
}

/// Whether the first argument is the sum of a ledger.
fn is_sum(policy: &Policy, args: &[Expr]) -> bool {
    args.first().is_some_and(|arg| matches!(resolve_alias(policy, arg).kind, ExprKind::Ledger(..)))
}
