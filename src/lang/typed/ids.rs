//! The ids of a policy's tables. `policy[id]` is the way from an id to what it names: an id that
//! the table does not hold is a bug of the compiler, and panics.

use super::{Def, Exception, Group, Ledger, Let, Memo, Param, Policy, Slot, Source};
use crate::types::ObjectKind;
use std::ops::Index;
use std::sync::Arc;

/// Declares ids, each an index into one table of [`Policy`].
macro_rules! ids {
    ($($id:ident, $table:ident: $of:ty;)*) => { $(
        #[doc = concat!("Index into [`Policy::", stringify!($table), "`].")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $id(pub u32);

        impl $id {
            /// The position in the table, and in every list kept beside it.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl Index<$id> for Policy {
            type Output = $of;

            fn index(&self, id: $id) -> &$of {
                &self.$table[id.index()]
            }
        }
    )* };
}

ids! {
    ParamId, params: Param;
    LetId, lets: Let;
    DefId, defs: Def;
    GroupId, groups: Group;
    LedgerId, ledgers: Ledger;
    ExceptionId, exceptions: Exception;
    MemoId, memos: Memo;
    SourceId, sources: Source;
    SlotId, slots: Slot;
    KindId, kinds: Arc<ObjectKind>;
}
