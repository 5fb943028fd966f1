//! The memos that rules read, under the key of the pod: what moves in them under another key does not concern it.

use bayplan_lang::eval::context::EvalContext;
use bayplan_lang::eval::ledgers::key_number;
use bayplan_lang::eval::memos::key_of;
use bayplan_lang::typed::{MemoId, Policy};

/// The numbers under which log records and events name these memos for the pod of a context.
pub(super) fn memo_numbers(policy: &Policy, memos: &[MemoId], context: EvalContext<'_>) -> Vec<u64> {
    let number = |memo: &MemoId| key_number(&policy[*memo].index, &key_of(policy, *memo, context));
    memos.iter().map(number).collect()
}
