//! The ledgers that rules read, and under which keys: what a pod whose key is known needs no other key for.

use super::PolicyPlugin;
use bayplan_framework::{ActionType, EventResource, Handle};
use bayplan_lang::analysis::same::same;
use bayplan_lang::eval::amounts::Amount;
use bayplan_lang::eval::context::EvalContext;
use bayplan_lang::eval::interpret::Evaluator;
use bayplan_lang::eval::ledgers::{Key, LedgerIndex, key_number, ledger_number};
use bayplan_lang::language::fields::Meaning;
use bayplan_lang::typed::reads::{Polarity, ReadOf, ReadPath, RuleReads};
use bayplan_lang::typed::walk::{each_part, parts};
use bayplan_lang::typed::{Expr, ExprKind, LedgerId, Policy, Root};
use bayplan_lang::types::convert;
use bayplan_lang::types::value::Ordered;
use bayplan_model::Kinds;
use bayplan_model::PodInfo;
use std::collections::BTreeMap;

/// A ledger that rules read.
#[derive(Clone, Debug)]
pub(super) struct LedgerRead {
    pub(super) ledger: LedgerId,
    /// The keys, which depend on the pod and its namespace alone; `None`: some key depends on more.
    pub(super) keys: Option<Vec<Expr>>,
    /// The direction in which a change of a sum helps.
    pub(super) helps: Polarity,
}

/// The ledgers that expressions with these reads read.
pub(super) fn read_by<'p>(
    policy: &'p Policy,
    parts: impl IntoIterator<Item = &'p Expr>,
    reads: &RuleReads,
) -> Vec<LedgerRead> {
    if reads.ledgers.is_empty() {
        return Vec::new();
    }
    let mut keys: BTreeMap<LedgerId, Option<Vec<Expr>>> = BTreeMap::new();
    parts.into_iter().for_each(|part| collect(policy, part, &mut keys));
    let found = reads.ledgers.iter();
    found
        .map(|(ledger, helps)| LedgerRead {
            ledger: *ledger,
            keys: keys.get(ledger).cloned().flatten(),
            helps: *helps,
        })
        .collect()
}

fn collect(policy: &Policy, expr: &Expr, keys: &mut BTreeMap<LedgerId, Option<Vec<Expr>>>) {
    match &expr.kind {
        ExprKind::Ledger(id, key) => {
            let known = keys.entry(*id).or_insert_with(|| Some(Vec::new()));
            if !is_of_the_pod(policy, key) {
                *known = None;
            } else if let Some(known) = known
                && !known.iter().any(|other| same(policy, other, key))
            {
                known.push((**key).clone());
            }
        }
        ExprKind::Let(id) => collect(policy, &policy[*id].value, keys),
        ExprKind::CallDef(id, _) => collect(policy, &policy[*id].body, keys),
        ExprKind::Memo(id) => collect(policy, &policy[*id].key, keys),
        _ => {}
    }
    each_part(expr, &mut |part| collect(policy, part, keys));
}

/// Whether an expression depends on fields of the pod and its namespace alone, which change with the objects only.
pub(super) fn is_of_the_pod(policy: &Policy, expr: &Expr) -> bool {
    reads_only_the_pod(policy, expr, false)
}

/// Whether an expression depends on fields of the pod and its namespace alone; with `queued` also on fields that stay as
/// they are while the pod is queued.
pub(super) fn reads_only_the_pod(policy: &Policy, expr: &Expr, queued: bool) -> bool {
    match &expr.kind {
        ExprKind::Root(Root::Pod | Root::Namespace) => true,
        ExprKind::Root(_)
        | ExprKind::Group(_)
        | ExprKind::Ledger(..)
        | ExprKind::Memo(_)
        | ExprKind::Source(..)
        | ExprKind::LookUp(..)
        | ExprKind::Now
        | ExprKind::Slot(_)
        | ExprKind::Macro(_)
        | ExprKind::CallDef(..) => false,
        ExprKind::Field(object, field) => {
            let moves = match field.def().changed_by {
                Kinds::PLACEMENT | Kinds::TIME => true,
                Kinds::QUEUE | Kinds::ATTEMPTS => !queued,
                _ => false,
            };
            !moves
                && field.def().meaning != Some(Meaning::Nomination)
                && reads_only_the_pod(policy, object, queued)
        }
        ExprKind::Let(id) => reads_only_the_pod(policy, &policy[*id].value, queued),
        _ => {
            let mut all = true;
            each_part(expr, &mut |part| all = all && reads_only_the_pod(policy, part, queued));
            all
        }
    }
}

/// Adds the sums that an expression reads, with their keys; `false` where it reads anything but constants and sums
/// under keys of the pod.
pub(super) fn sums_alone<'p>(
    policy: &'p Policy,
    expr: &'p Expr,
    sums: &mut Vec<(LedgerId, &'p Expr)>,
) -> bool {
    match &expr.kind {
        ExprKind::Ledger(id, key) => {
            sums.push((*id, key));
            is_of_the_pod(policy, key)
        }
        ExprKind::Let(id) => sums_alone(policy, &policy[*id].value, sums),
        ExprKind::Root(_)
        | ExprKind::Group(_)
        | ExprKind::Memo(_)
        | ExprKind::Source(..)
        | ExprKind::LookUp(..)
        | ExprKind::Now
        | ExprKind::Slot(_)
        | ExprKind::Macro(_)
        | ExprKind::CallDef(..) => false,
        _ => parts(expr).into_iter().all(|part| sums_alone(policy, part, sums)),
    }
}

impl LedgerRead {
    /// The keys for the pod of a context; `None`: any key.
    pub(super) fn keys(&self, policy: &Policy, context: EvalContext<'_>) -> Option<Vec<Key>> {
        let mut evaluator = Evaluator::new(policy, context);
        let keys = self.keys.as_ref()?.iter();
        Some(keys.map(|key| Ordered(convert::keep(&evaluator.value(key)))).collect())
    }

    /// The numbers under which log records and events name the sums that the pod of a context reads: all of the ledger
    /// where its keys cannot be computed.
    pub(super) fn numbers(&self, policy: &Policy, context: EvalContext<'_>) -> Vec<u64> {
        let index = &policy[self.ledger].index;
        match self.keys(policy, context) {
            Some(keys) => keys.iter().map(|key| key_number(index, key)).collect(),
            None => vec![ledger_number(index)],
        }
    }

    /// Which actions of placed pods can move a sum in the direction that helps.
    pub(super) fn actions(&self, policy: &Policy) -> ActionType {
        match (policy[self.ledger].only_adds(), self.helps) {
            (true, Polarity::Up) => ActionType::ADD.with(ActionType::UPDATE),
            (true, Polarity::Down) => ActionType::DELETE.with(ActionType::UPDATE),
            _ => ActionType::ALL,
        }
    }

    /// What else moves its entries: paths of any node, of namespaces and of objects.
    pub(super) fn moved_by<'p>(&self, policy: &'p Policy) -> impl Iterator<Item = ReadPath> + use<'p> {
        policy[self.ledger].reads.paths.keys().filter_map(|path| match path.of {
            ReadOf::Node => Some(ReadPath { of: ReadOf::Nodes, ..path.clone() }),
            ReadOf::Namespace | ReadOf::Objects => Some(path.clone()),
            _ => None,
        })
    }
}

impl PolicyPlugin {
    /// Whether a placed pod that came, went or changed moved a sum that the pod of the handle reads, in the direction
    /// that helps.
    pub(super) fn helps_by_ledgers(
        &self,
        h: &Handle,
        ledgers: &[LedgerRead],
        resource: EventResource,
        (old, new): (Option<&PodInfo>, Option<&PodInfo>),
    ) -> bool {
        // A pod without a node counts nothing; one that lost its promised node did in simulations.
        let placed = matches!(resource, EventResource::AssignedPod | EventResource::DecidedPod);
        if ledgers.is_empty() || !placed {
            return false;
        }
        let policy = &self.compiled.policy;
        ledgers.iter().any(|read| {
            let Some(index) = h.snapshot.index::<LedgerIndex>(&policy[read.ledger].index) else {
                return true;
            };
            let mut unknown = false;
            let mut entry = |pod: Option<&PodInfo>| {
                let pod = pod?;
                let node = pod.node_name.as_ref().or(pod.nominated_node.as_ref());
                let row = node.and_then(|name| h.snapshot.row_by_name(name));
                unknown |= row.is_none();
                index.entry_on(pod, row?, h.snapshot)
            };
            let (before, after) = (entry(old), entry(new));
            if unknown {
                return true;
            }
            if before == after {
                return false;
            }
            let wanted = read.keys(policy, EvalContext::new(h.pod, h.snapshot, h.now));
            let moves = |key: &Key| {
                wanted.as_ref().is_none_or(|wanted| wanted.contains(key))
                    && helpful(&sum_of(&before, key), &sum_of(&after, key), read.helps)
            };
            before.iter().chain(&after).any(|(key, _)| moves(key))
        })
    }
}

/// What an entry adds under a key.
fn sum_of<'e>(entry: &'e Option<(Key, Amount)>, key: &Key) -> Option<&'e Amount> {
    entry.as_ref().filter(|(of, _)| of == key).map(|(_, amount)| amount)
}

/// Whether a change of what a pod adds helps.
fn helpful(before: &Option<&Amount>, after: &Option<&Amount>, helps: Polarity) -> bool {
    let whole = |amount: &Option<&Amount>| match amount {
        None => Some(0),
        Some(Amount::Whole(number)) => Some(*number),
        Some(_) => None,
    };
    match (whole(before), whole(after), helps) {
        (Some(before), Some(after), Polarity::Up) => after > before,
        (Some(before), Some(after), Polarity::Down) => after < before,
        _ => before != after,
    }
}
