//! [`Looked`]: the objects that an evaluation looked at, so that its result can be computed again when one of them
//! changes. Entries of ledgers are kept this way.

use bayplan_model::{Kind, Symbol};
use std::cell::Cell;
use std::collections::BTreeSet;

/// Where an object is, or would be: its kind, namespace and name. The namespace of a kind without namespaces is empty.
pub type Place = (Kind, Symbol, Symbol);

/// The places that an evaluation looked at, whether or not there was an object.
#[derive(Default)]
pub struct Looked(Cell<BTreeSet<Place>>);

impl Looked {
    /// Remembers a place.
    pub fn at(&self, kind: &Kind, namespace: &Symbol, name: &Symbol) {
        let mut places = self.0.take();
        places.insert((kind.clone(), namespace.clone(), name.clone()));
        self.0.set(places);
    }

    /// All places, in their order.
    pub fn places(self) -> Box<[Place]> {
        self.0.into_inner().into_iter().collect()
    }
}
