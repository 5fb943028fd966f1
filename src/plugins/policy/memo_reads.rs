//! The memos that rules read, under the key of the pod: what moves in them under another key does not concern it.

use crate::lang::eval::context::EvalContext;
use crate::lang::eval::ledgers::key_number;
use crate::lang::eval::memos::key_of;
use crate::lang::typed::{MemoId, Policy};

/// The numbers under which log records and events name these memos for the pod of a context.
pub(super) fn memo_numbers(policy: &Policy, memos: &[MemoId], context: EvalContext<'_>) -> Vec<u64> {
    let number = |memo: &MemoId| key_number(&policy[*memo].index, &key_of(policy, *memo, context));
    memos.iter().map(number).collect()
}
