//! [`Edit`]: one change of a pod, a node or a policy that may help a refused pod.
//!
//! A plugin states which edits may help against its refusals
//! ([`Plugin::remedies`](super::Plugin::remedies)).
//! `explain` tries each edit on a fork of the snapshot and reports those after which the pod fits.
//! What an edit does is in `apply.rs`, to the JSON of an object in `json.rs`, how it is described in
//! `words.rs`, the patch that makes it in `patch.rs`. The search is not here.

mod apply;
mod edit;
mod json;
mod patch;
mod words;

pub use edit::{
    CONDITION_TAINTS, CORDONED, DevicesOf, Edit, EditOwner, Exempted, describes_machine, is_of_lifecycle,
};
pub use patch::Patch;
