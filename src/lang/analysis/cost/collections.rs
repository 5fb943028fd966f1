//! The steps of collections: macros, groups and `x in list`, walked or looked up by value.

use super::Size;
use super::calls;
use super::extent::{ENTRIES_PER_STEP, Extent};
use super::steps::{PartitionBy, Share, Steps, Summation};
use super::walk::{Cost, Walk};
use crate::analysis::index::{Equalities, can_be_indexed, equalities, in_namespace, is_looked_up};
use crate::analysis::shape::resolve_alias;
use crate::analysis::stage::depends;
use crate::language::fields::{Meaning, ObjectType};
use crate::typed::{Expr, ExprKind, GroupId, LedgerId, Macro, MacroKind, MemoId, Policy, SlotId};
use crate::types::Type;

/// Comparisons of names until an object is found.
pub(super) const SEARCH: u128 = 4;

impl<'p> Walk<'p> {
    pub(super) fn group(&mut self, expr: &'p Expr, id: GroupId) -> (Cost, Extent) {
        let policy = self.policy;
        let extent = Extent::list(Steps::pods(), Extent::Plain);
        let of = &policy[id];
        let mut each = Cost::plain(2);
        let mut asked = Cost::plain(1);
        for key in &of.keys {
            let (member, _) = self.expr(&key.member);
            let (pod, _) = self.expr(&key.pod);
            if !self.closures() {
                self.sum(&mut each, pod.clone());
            }
            if !self.closures() || !can_be_indexed(policy, id) {
                self.sum(&mut each, member);
            }
            self.sum(&mut asked, pod);
        }
        for condition in &of.rest {
            let (cost, _) = self.expr(condition);
            self.sum(&mut each, cost);
        }
        let mut cost =
            each.for_each(&Steps::pods(), PartitionBy::Slot(of.slot.0), Summation::Repeat, &self.shares);
        // Without the index all pods are put in order.
        cost.steps.add(&Steps::pods().times(&Steps::new(2)));
        self.sum(&mut cost, asked);
        (self.weighed(expr, cost), extent)
    }

    /// The sum of a ledger: found by its key, and a list where it is a set.
    pub(super) fn ledger(&mut self, expr: &'p Expr, id: LedgerId, key: &'p Expr) -> (Cost, Extent) {
        let policy = self.policy;
        let of = &policy[id];
        let (asked, size) = self.expr(key);
        let mut cost = Cost::plain(4);
        self.sum(&mut cost, asked);
        cost.steps.add(&size.walk());
        let extent = match &of.ty {
            Type::Set(element) => {
                // A pod adds so many elements; an element that several add is one.
                let each = of.adds.iter().fold(Steps::default(), |all, add| {
                    let (_, extent) = self.expr(&add.value);
                    all.plus(&match extent {
                        Extent::Many { count, .. } => count,
                        _ => Steps::new(1),
                    })
                });
                Extent::list(each.times(&Steps::pods()), Extent::of_type(element, self.size))
            }
            ty => Extent::of_type(ty, self.size),
        };
        // The elements of a set are kept in their order.
        if self.closures() {
            return (cost, extent);
        }
        cost.steps.add(&extent.count());
        // Without an index the entries of all pods are added up.
        let parts = of.adds.iter().flat_map(|add| add.when.iter().chain([&add.value]));
        let required = of.required_lets.iter().map(|id| &policy[*id].value);
        let parts: Vec<&'p Expr> =
            [&of.key].into_iter().chain(parts).chain(required).chain(policy.narrows()).collect();
        let (each, _) = self.parts(parts);
        let all = each.for_each(&Steps::pods(), PartitionBy::Slot(u32::MAX), Summation::Repeat, &self.shares);
        self.sum(&mut cost, all);
        (self.weighed(expr, cost), extent)
    }

    /// What a memo remembers: found by the key of the pod.
    pub(super) fn memo(&mut self, expr: &'p Expr, id: MemoId) -> (Cost, Extent) {
        let policy = self.policy;
        let (asked, size) = self.expr(&policy[id].key);
        let mut cost = Cost::plain(4);
        self.sum(&mut cost, asked);
        cost.steps.add(&size.walk());
        (self.weighed(expr, cost), Extent::of_type(&policy[id].ty, self.size))
    }

    pub(super) fn is_in(&mut self, expr: &'p Expr, element: &'p Expr, list: &'p Expr) -> Cost {
        let (asked, x) = self.expr(element);
        let (mut made, of) = self.expr(list);
        let mut cost = Cost::plain(2);
        self.sum(&mut cost, asked);
        if !matches!(list.ty.present(), Type::List(_) | Type::Set(_)) {
            cost.steps.add(&lookup(&of, self.size, &self.shares));
            self.sum(&mut cost, made);
            return cost;
        }
        let walked = of.count().times(&of.element().walk().plus(&x.walk()).plus_number(2));
        if !self.closures() || !is_looked_up(self.policy, element, list) {
            cost.steps.add(&walked);
            self.sum(&mut cost, made);
            return self.weighed(expr, cost);
        }
        // The list is made and kept by value where it changes, and x is found in it.
        made.steps.add(&walked);
        let made = self.weighed(list, made);
        if depends(self.policy, list, &mut Vec::new()).node {
            self.pay_per_node(made)
        } else {
            self.pay_once(made)
        }
        cost.steps.add(&x.walk().plus_number(1));
        cost
    }

    pub(super) fn macro_value(&mut self, expr: &'p Expr, of: &'p Macro) -> (Cost, Extent) {
        let found = if self.closures() { equalities(self.policy, of) } else { None };
        let namespace = if self.closures() { in_namespace(self.policy, of) } else { None };
        let (over, extent) = match namespace {
            // The list of all is not made.
            Some(_) => (Cost::default(), self.all_objects()),
            None => self.expr(&of.over),
        };
        let total = match of.over.ty.present() {
            // What it holds, if anything.
            Type::CelOptional(_) => Steps::new(1),
            _ => extent.count(),
        };
        let distinct = matches!(extent, Extent::Many { nodes: true, .. });
        let (first, second) = elements(of, &extent);
        self.slots.insert(of.slot, first.clone());
        if let Some(slot) = of.second {
            self.slots.insert(slot, second.clone());
        }
        let element = if of.second.is_some() && of.body.is_none() { second } else { first };
        let mut cost = Cost::plain(2);
        let at_once = matches!(of.kind, MacroKind::First | MacroKind::Exists);
        let visited = match (namespace, found) {
            (Some(in_namespace), _) => {
                let (asked, _) = self.expr(in_namespace.namespace);
                self.sum(&mut cost, asked);
                cost.steps = cost.steps.plus_number(SEARCH);
                // A namespace may have all objects of the kind.
                if at_once && in_namespace.covers { Steps::new(1) } else { total }
            }
            (None, None) => {
                self.sum(&mut cost, over);
                total
            }
            (None, Some(found)) => {
                let (wanted, visited) = self.looked_up(expr, of, &found, over, total, distinct);
                self.sum(&mut cost, wanted);
                visited
            }
        };
        let (each_cost, body_extent) = self.for_element(of, &element);
        // The pods on nodes that are visited once add up, to those of this node's part where it is
        // a part.
        let pods = (distinct && visited.has_part_of(PartitionBy::Node, &self.shares)).then(|| {
            let id = self.share(Steps::pods(), Steps::pods(), PartitionBy::Node);
            Steps::share(id)
        });
        let summation = match &pods {
            Some(pods) => Summation::AddUpTo(pods),
            None if distinct => Summation::AddUp,
            None => Summation::Repeat,
        };
        let all = each_cost.for_each(&visited, PartitionBy::Slot(of.slot.0), summation, &self.shares);
        self.sum(&mut cost, all);
        let own: Vec<SlotId> = std::iter::once(of.slot).chain(of.second).collect();
        let body_extent = self.settled(body_extent, &own);
        if of.kind == MacroKind::SortBy {
            cost.steps.add(&visited.times(&calls::sorting(visited.at(self.size, &self.shares))));
            self.check_kept(expr, &visited.times(&body_extent.kept()));
        }
        let result = result(of.kind, visited, element, body_extent, &extent, distinct);
        if matches!(of.kind, MacroKind::Map | MacroKind::TransformMap) {
            self.check_kept(expr, &result.kept());
        }
        (self.weighed(expr, cost), result)
    }

    /// What an element costs, and how large the value of the body is.
    fn for_element(&mut self, of: &'p Macro, element: &Extent) -> (Cost, Extent) {
        let mut cost = Cost::plain(2);
        if let Some(condition) = &of.condition {
            let (condition, _) = self.expr(condition);
            self.sum(&mut cost, condition);
        }
        let mut extent = element.clone();
        if let Some(body) = &of.body {
            let (body, of_body) = self.expr(body);
            self.sum(&mut cost, body);
            extent = of_body;
        }
        if matches!(of.kind, MacroKind::Sum | MacroKind::Min | MacroKind::Max | MacroKind::SortBy) {
            cost.steps.add(&extent.walk());
        }
        (cost, extent)
    }

    /// Elements that are kept by value once: the cost of the wanted values, and how many elements
    /// have them.
    fn looked_up(
        &mut self,
        expr: &Expr,
        of: &Macro,
        found: &Equalities<'p>,
        over: Cost,
        total: Steps,
        distinct: bool,
    ) -> (Cost, Steps) {
        let mut wanted = Cost::default();
        let mut kept = Cost::plain(3);
        let mut unique = false;
        for (mine, other) in &found.pairs {
            let (mine_cost, size) = self.expr(mine);
            self.sum(&mut kept, mine_cost);
            kept.steps.add(&size.walk());
            self.check_kept(expr, &total.times(&size.kept()));
            let (other, _) = self.expr(other);
            self.sum(&mut wanted, other);
            unique |= distinct && is_name(self.policy, mine, of.slot);
        }
        let summation = if distinct { Summation::AddUp } else { Summation::Repeat };
        let mut table = kept.for_each(&total, PartitionBy::Slot(of.slot.0), summation, &self.shares);
        self.sum(&mut table, over);
        let table = self.weighed(expr, table);
        self.pay_once(table);
        let visited = match (unique, self.remembering) {
            (true, _) => Steps::new(1),
            (_, true) => Steps::share(self.share(total.clone(), total, PartitionBy::Node)),
            _ => total,
        };
        (wanted, visited)
    }
}

/// How large the variables of a macro are.
fn elements(of: &Macro, over: &Extent) -> (Extent, Extent) {
    let ty = of.over.ty.present();
    let is_map = matches!(ty, Type::Map(..) | Type::Resources);
    match (is_map, of.second) {
        (true, Some(_)) => (over.key(), over.element()),
        (true, None) => (over.key(), Extent::Plain),
        (false, Some(_)) => (Extent::Plain, over.element()),
        (false, None) if matches!(ty, Type::CelOptional(_)) => (over.clone(), Extent::Plain),
        (false, None) => (over.element(), Extent::Plain),
    }
}

/// How large the result of a macro is.
fn result(
    kind: MacroKind,
    visited: Steps,
    element: Extent,
    body: Extent,
    over: &Extent,
    distinct: bool,
) -> Extent {
    match kind {
        MacroKind::All | MacroKind::Exists | MacroKind::ExistsOne | MacroKind::Count => Extent::Plain,
        MacroKind::Filter | MacroKind::SortBy => {
            Extent::Many { count: visited, of: std::sync::Arc::new(element), key: None, nodes: distinct }
        }
        MacroKind::Map => Extent::list(visited, body),
        MacroKind::TransformMap => Extent::map(visited, over.key(), body),
        MacroKind::TransformMapEntry => Extent::map(visited, body.key(), body.element()),
        MacroKind::Bind => body,
        MacroKind::Sum
        | MacroKind::Min
        | MacroKind::Max
        | MacroKind::First
        | MacroKind::OptMap
        | MacroKind::OptFlatMap => body.alone(),
    }
}

/// The steps of finding an entry of a map.
pub(super) fn lookup(map: &Extent, size: Size, shares: &[Share]) -> Steps {
    Steps::new(map.count().at(size, shares) / ENTRIES_PER_STEP)
}

/// The name or uid of a macro's element: no two nodes have the same.
fn is_name(policy: &Policy, expr: &Expr, slot: SlotId) -> bool {
    match &resolve_alias(policy, expr).kind {
        ExprKind::Field(object, field) => {
            field.def().meaning == Some(Meaning::Identity)
                && is_name(policy, object, slot)
                && field.def().owner == ObjectType::Node
        }
        ExprKind::Slot(own) => *own == slot,
        _ => false,
    }
}
