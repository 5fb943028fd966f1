//! [`ApiObject`]: an object of a kind that the core handles by the table alone. [`Typed`]: what such a kind implements.

use super::super::pod::OwnerReference;
use super::kinds::Kind;
use super::metadata::ObjectMeta;
use super::{Object, ObjectError, ObjectKey};
use serde::de::DeserializeOwned;
use std::any::Any;
use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;

/// A kind of object with a row of its own in [`KINDS`](super::KINDS): a struct with the fields that are read.
///
/// Equality of the struct says whether an update matters: an update without a difference makes neither a record of the
/// log nor an event. The struct therefore holds only what a plugin or rule reads, and [`ObjectMeta`] compares everything
/// but the version.
pub trait Typed: Any + Send + Sync + Debug + PartialEq + Sized {
    /// The kind.
    const KIND: Kind;
    /// The object as the API writes it, as far as it is read.
    type Slim: DeserializeOwned;
    /// The parsed object. Fails where the API server would have refused the object.
    fn from_object(object: &Self::Slim) -> Result<Self, ObjectError>;
    /// Its metadata.
    fn metadata(&self) -> &ObjectMeta;
    /// Its metadata, to change them.
    fn metadata_mut(&mut self) -> &mut ObjectMeta;
    /// Whether a write of what a pod assumes would be refused, since the object is like this.
    fn refutes(&self, _assumed: &Self) -> bool {
        false
    }
}

/// A field that neither plugin nor rule reads, only the controllers of an API server in memory: two versions of an object
/// that differ in nothing else are equal.
#[derive(Clone, Copy, Default)]
pub struct Unread<T>(pub T);

impl<T> PartialEq for Unread<T> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// Equal objects have equal texts.
impl<T> Debug for Unread<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("_")
    }
}

/// The metadata of a [`Typed`] whose field `metadata` has them.
macro_rules! metadata_field {
    () => {
        fn metadata(&self) -> &ObjectMeta {
            &self.metadata
        }

        fn metadata_mut(&mut self) -> &mut ObjectMeta {
            &mut self.metadata
        }
    };
}
pub(super) use metadata_field;

/// An object of a kind that the core handles by the table alone. Every [`Typed`] is one.
pub trait ApiObject: Any + Send + Sync + Debug {
    /// Its kind.
    fn kind(&self) -> Kind;
    /// Its metadata.
    fn metadata(&self) -> &ObjectMeta;
    /// Kind, namespace, name and UID.
    fn key(&self) -> ObjectKey {
        let ObjectMeta { namespace, name, uid, .. } = self.metadata();
        let (namespace, name, uid) = (namespace.clone(), name.clone(), uid.clone());
        ObjectKey { kind: self.kind(), namespace, name, uid }
    }
    /// `metadata.resourceVersion`; empty when unknown.
    fn version(&self) -> &str {
        &self.metadata().version
    }
    /// The owner that controls it.
    fn controller(&self) -> Option<&OwnerReference> {
        self.metadata().owners.iter().find(|owner| owner.controller)
    }
    /// For downcasts; [`downcast`] does them.
    fn as_any(&self) -> &dyn Any;
    /// Itself as `Arc<T>` behind a type that can be asked for it.
    fn shared(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
    /// Whether it differs from `old`, another version of it, in something that a plugin or rule reads.
    fn differs(&self, old: &dyn ApiObject) -> bool;
    /// Whether a write of what a pod assumes would be refused, since the object is like this.
    fn refutes(&self, assumed: &dyn ApiObject) -> bool;
    /// All that is read of it but for its metadata, as a text: objects whose texts differ differ.
    fn contents(&self) -> String;
    /// A copy of this version, as a server that keeps objects in memory writes it.
    fn at_version(&self, version: Box<str>) -> Arc<dyn ApiObject>;
}

impl<T: Typed + Clone> ApiObject for T {
    fn kind(&self) -> Kind {
        T::KIND
    }

    fn metadata(&self) -> &ObjectMeta {
        Typed::metadata(self)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn shared(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        Arc::new(self)
    }

    fn differs(&self, old: &dyn ApiObject) -> bool {
        downcast::<T>(old).is_none_or(|old| self != old)
    }

    fn refutes(&self, assumed: &dyn ApiObject) -> bool {
        downcast::<T>(assumed).is_some_and(|assumed| Typed::refutes(self, assumed))
    }

    fn contents(&self) -> String {
        let mut copy = self.clone();
        *copy.metadata_mut() = ObjectMeta::default();
        format!("{copy:?}")
    }

    fn at_version(&self, version: Box<str>) -> Arc<dyn ApiObject> {
        let mut copy = self.clone();
        copy.metadata_mut().version = version;
        Arc::new(copy)
    }
}

/// The object as its type; `None` when it is of another kind.
pub fn downcast<T: Typed>(object: &dyn ApiObject) -> Option<&T> {
    object.as_any().downcast_ref()
}

/// Reads an object of a kind from its slim form.
pub(super) fn parsed<T: Typed + Clone>(slim: &T::Slim) -> Result<Object, ObjectError> {
    Ok(Object::Other(Arc::new(T::from_object(slim)?)))
}
