//! What follows for ledgers from the whole policy: on whose changes their entries depend. What changes without the
//! pod, its namespace, its node and the objects that are looked up by name is refused: an index cannot follow it.

use crate::eval::ledgers::index_keys;
use crate::language::fields::Meaning;
use crate::typed::walk::each_part;
use crate::typed::{Expr, ExprKind, LetId, Policy, Root};
use bayplan_diag::{Diagnostic, codes};
use bayplan_model::Kinds;

/// Fills in what ledgers read, and reports fields that an index cannot follow; `false` if there are any.
pub(super) fn derive(policy: &mut Policy, diagnostics: &mut Vec<Diagnostic>) -> bool {
    let found: Vec<Found> = policy
        .ledgers
        .iter()
        .map(|of| {
            let mut found = Found::default();
            let adds = of.adds.iter().flat_map(|add| add.when.iter().chain([&add.value]));
            let parts = [&of.key].into_iter().chain(adds);
            parts.for_each(|part| found.look(policy, part));
            found.required_lets.sort_unstable();
            // Which pods are counted.
            policy.chooses_by().for_each(|part| found.look(policy, part));
            found
        })
        .collect();
    let follows = found.iter().all(|found| found.said.is_empty());
    for (ledger, found) in policy.ledgers.iter_mut().zip(found) {
        ledger.required_lets = found.required_lets;
        ledger.reads_node = found.node;
        ledger.reads_namespace = found.namespace;
        ledger.reads_objects = found.objects;
        for said in found.said {
            if !diagnostics.contains(&said) {
                diagnostics.push(said);
            }
        }
    }
    follows
}

/// Names the indexes; called when the expressions are as they are evaluated.
pub(super) fn name(policy: &mut Policy) {
    let keys = index_keys(policy);
    for (ledger, key) in policy.ledgers.iter_mut().zip(keys) {
        ledger.index = key;
    }
}

/// What a ledger reads, through lets and defs.
#[derive(Default)]
struct Found {
    required_lets: Vec<LetId>,
    seen: Vec<LetId>,
    node: bool,
    namespace: bool,
    objects: bool,
    said: Vec<Diagnostic>,
}

impl Found {
    fn look(&mut self, policy: &Policy, expr: &Expr) {
        match &expr.kind {
            ExprKind::Root(Root::Node) => self.node = true,
            ExprKind::Root(Root::Namespace) => self.namespace = true,
            ExprKind::LookUp(..) => self.objects = true,
            ExprKind::Let(id) if self.seen.contains(id) => {}
            ExprKind::Let(id) => {
                self.seen.push(*id);
                if policy[*id].missing.is_some() {
                    self.required_lets.push(*id);
                }
                self.look(policy, &policy[*id].value);
            }
            ExprKind::CallDef(id, _) => self.look(policy, &policy[*id].body),
            ExprKind::Field(_, field) => {
                let def = field.def();
                let moves = matches!(
                    def.changed_by,
                    Kinds::PLACEMENT
                        | Kinds::QUEUE
                        | Kinds::ATTEMPTS
                        | Kinds::PODS_REQUESTS
                        | Kinds::PODS_OTHER
                        | Kinds::DEVICES
                );
                if moves || def.meaning == Some(Meaning::Nomination) {
                    let owner = def.owner.name();
                    let message = format!("a ledger cannot follow `{owner}.{}`", def.name);
                    let help = "ledgers only follow changes of the pod, its namespace and its node";
                    self.said
                        .push(Diagnostic::new(&codes::NOT_SEEN_HERE, expr.span, message).with_help(help));
                }
            }
            _ => {}
        }
        each_part(expr, &mut |part| self.look(policy, part));
    }
}
