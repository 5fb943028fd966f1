//! [`accounts`]: what a policy's filters say of one node, condition by condition, with the value of every
//! sub-expression. The reference evaluator's account of why; read by `explain` and `test`.

use super::context::EvalContext;
use super::interpret::Shown;
use crate::lang::policy_set::CompiledPolicy;

/// What one statement of a filter says of a node.
#[derive(Clone, Debug, PartialEq)]
pub struct Account {
    /// The filter.
    pub filter: String,
    /// The author's words about it.
    pub doc: Option<String>,
    /// Where the statement is written (`gpu.bay:12`).
    pub place: String,
    /// Whether it refuses the node.
    pub refuses: bool,
    /// Its reason, holes filled.
    pub reason: String,
    /// `with { … }`: names and values.
    pub details: Vec<(String, String)>,
    /// Whether no statement of the same filter before it refused: behind one that did, what it rests on may not hold.
    pub reached: bool,
    /// The condition with its parts; `None` when there is none.
    pub condition: Option<Shown>,
}

/// What all filters of a policy say of the node of `context`, in the order of the text.
pub fn accounts(compiled: &CompiledPolicy, context: EvalContext<'_>) -> Vec<Account> {
    let policy = &compiled.policy;
    let mut evaluator = compiled.evaluator(context);
    let mut accounts = Vec::new();
    for (filter, places) in policy.filters.iter().zip(&compiled.places) {
        let mut reached = true;
        for (check, place) in filter.checks.iter().zip(places) {
            let holds = check.condition.as_ref().map(|condition| evaluator.holds(condition));
            let refuses = holds.unwrap_or(check.refuses_when) == check.refuses_when;
            let details = check
                .reason
                .details
                .iter()
                .map(|(name, expr)| {
                    let value = evaluator.value(expr);
                    let shown = if value.is_absent() {
                        String::from("none")
                    } else {
                        super::convert::show(&value, &expr.ty, &context)
                    };
                    (name.to_string(), shown)
                })
                .collect();
            accounts.push(Account {
                filter: filter.name.to_string(),
                doc: filter.doc.as_ref().or(check.doc.as_ref()).map(|doc| doc.to_string()),
                place: place.clone(),
                refuses,
                reason: evaluator.reason(&check.reason),
                details,
                reached,
                condition: check.condition.as_ref().map(|condition| evaluator.tree(condition)),
            });
            reached &= !refuses;
        }
    }
    accounts
}
