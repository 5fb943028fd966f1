//! The kinds that are read for the selector of their pods alone: Services and controllers. Default spreading keeps the pods
//! of each apart. Of controllers the disruption controller of the API server in memory reads the replicas, too.

use super::super::labels::{LabelSelector, Labels};
use super::metadata::ObjectMeta;
use super::read::or_default;
use super::slim::Slim;
use super::typed::metadata_field;
use super::{Kind, ObjectError, Typed, Unread, selectors};
use serde::Deserialize;
use serde_json::Value;

/// `spec` of a kind that selects pods; `Selector` is the form in which it does.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, bound = "Selector: Deserialize<'de> + Default")]
pub struct Spec<Selector> {
    /// `selector`.
    #[serde(deserialize_with = "or_default")]
    pub selector: Selector,
    /// `replicas`. An invalid number does not refuse the object: the diagnostic about the pods of the workload names it.
    pub replicas: Option<Value>,
}

/// Makes a kind from its name, the form of its selector in the API, what is kept of it, how that is read, and the field of
/// its replicas if it has any.
macro_rules! selecting {
    ($(#[$doc:meta])* $kind:ident, $written:ty, $(#[$selector_doc:meta])* $kept:ty, $read:expr $(, $replicas:ident)?) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Debug, Default)]
        pub struct $kind {
            /// Namespace, name, UID, version.
            pub metadata: ObjectMeta,
            $(#[$selector_doc])*
            pub selector: $kept,
            $(
                /// `spec.replicas`.
                pub $replicas: Unread<i32>,
            )?
        }

        impl Typed for $kind {
            const KIND: Kind = Kind::$kind;
            type Slim = Slim<Spec<$written>>;

            fn from_object(object: &Self::Slim) -> Result<Self, ObjectError> {
                let read: fn(&$written) -> $kept = $read;
                Ok(Self {
                    metadata: ObjectMeta::name_of(&object.metadata)?,
                    selector: read(&object.spec.selector),
                    $($replicas: Unread(number(object.spec.replicas.as_ref())),)?
                })
            }

            metadata_field!();
        }
    };
}

selecting!(
    /// `v1/Service` with the fields that are read.
    Service,
    Labels,
    /// `spec.selector`; an empty one selects no pod.
    Labels,
    Labels::clone
);

selecting!(
    /// `v1/ReplicationController` with the fields that are read.
    ReplicationController,
    Labels,
    /// `spec.selector`; an empty one selects no pod.
    Labels,
    Labels::clone,
    replicas
);

selecting!(
    /// `apps/v1/ReplicaSet` with the fields that are read.
    ReplicaSet,
    Option<selectors::LabelSelector>,
    /// `spec.selector`; `None` when it is absent or invalid: it selects no pod.
    Option<LabelSelector>,
    valid,
    replicas
);

selecting!(
    /// `apps/v1/StatefulSet` with the fields that are read.
    StatefulSet,
    Option<selectors::LabelSelector>,
    /// `spec.selector`; `None` when it is absent or invalid: it selects no pod.
    Option<LabelSelector>,
    valid,
    replicas
);

selecting!(
    /// `apps/v1/DaemonSet` with the fields that are read. Policies do not refuse its pods.
    DaemonSet,
    Option<selectors::LabelSelector>,
    /// `spec.selector`; `None` when it is absent or invalid: it selects no pod.
    Option<LabelSelector>,
    valid
);

/// The replicas that are written; 1 when there is no such number.
fn number(replicas: Option<&Value>) -> i32 {
    replicas.and_then(Value::as_i64).and_then(|number| i32::try_from(number).ok()).unwrap_or(1)
}

fn valid(selector: &Option<selectors::LabelSelector>) -> Option<LabelSelector> {
    selector.as_ref().and_then(|selector| LabelSelector::parse(selector).ok())
}
