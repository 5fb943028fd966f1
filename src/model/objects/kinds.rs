//! [`KINDS`]: the kinds of objects that the core knows, one row each. Watches, files, rights, readiness, the API server
//! in memory and the simulation read the table.
//!
//! A kind costs one row here and one file: a struct with the fields that are read (`Typed`), whose equality says
//! whether an update makes a record and an event. `Plugin::kinds` says which kinds are watched.

use super::super::changes::Kinds;
use super::super::node::Node;
use super::super::pod::PodInfo;
use super::super::server_features::{DEVICES_SINCE, TAINT_RULES_SINCE};
use super::kept::{Step, unread};
use super::problems::{Problems, as_far_as_possible, decode_as_far_as_possible};
use super::typed::{Typed, parsed};
use super::{
    CsiDriver, CsiNode, CsiStorageCapacity, DaemonSet, DeviceClass, DeviceTaintRule, KindName, Object,
    ObjectError, PersistentVolume, PersistentVolumeClaim, PodDisruptionBudget, ReplicaSet,
    ReplicationController, ResourceClaim, ResourceClaimTemplate, ResourceSlice, Seen, Service, StatefulSet,
    StorageClass, VolumeAttachment, decode, decode_json, namespace, node, pod,
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::sync::Arc;

/// Makes [`Kind`] and the list of its values.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident,)*) => {
        /// A kind of object that the core knows.
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum Kind {
            $($(#[$doc])* $kind,)*
            /// Any kind that policies look up. It has no row: the API server tells what is in its place.
            LookedUp(KindName),
        }

        #[cfg(test)]
        const ALL: &[Kind] = &[$(Kind::$kind),*];
    };
}

kinds! {
    /// `v1/Pod`.
    Pod,
    /// `v1/Node`.
    Node,
    /// `v1/Namespace`.
    Namespace,
    /// `v1/PersistentVolume`.
    PersistentVolume,
    /// `v1/PersistentVolumeClaim`.
    PersistentVolumeClaim,
    /// `storage.k8s.io/v1/StorageClass`.
    StorageClass,
    /// `storage.k8s.io/v1/CSINode`.
    CsiNode,
    /// `storage.k8s.io/v1/CSIDriver`.
    CsiDriver,
    /// `storage.k8s.io/v1/CSIStorageCapacity`.
    CsiStorageCapacity,
    /// `storage.k8s.io/v1/VolumeAttachment`.
    VolumeAttachment,
    /// `policy/v1/PodDisruptionBudget`.
    PodDisruptionBudget,
    /// `v1/Service`.
    Service,
    /// `v1/ReplicationController`.
    ReplicationController,
    /// `apps/v1/ReplicaSet`.
    ReplicaSet,
    /// `apps/v1/StatefulSet`.
    StatefulSet,
    /// `apps/v1/DaemonSet`.
    DaemonSet,
    /// `resource.k8s.io/v1/DeviceClass`.
    DeviceClass,
    /// `resource.k8s.io/v1/ResourceSlice`.
    ResourceSlice,
    /// `resource.k8s.io/v1/DeviceTaintRule`.
    DeviceTaintRule,
    /// `resource.k8s.io/v1/ResourceClaimTemplate`. The scheduler itself does not read it.
    ResourceClaimTemplate,
    /// `resource.k8s.io/v1/ResourceClaim`.
    ResourceClaim,
}

/// A kind of object: what the API calls it, and how it is read.
#[derive(Debug)]
pub struct KindRow {
    /// The kind.
    pub kind: Kind,
    /// `kind` in files: `PersistentVolume`.
    pub name: &'static str,
    /// The API group; empty for the core group.
    pub group: &'static str,
    /// The version in its group.
    pub version: &'static str,
    /// The version that API servers may have which lack that one.
    pub older: Option<&'static str>,
    /// The name of the resource: `persistentvolumes`.
    pub plural: &'static str,
    /// Whether objects are in namespaces.
    pub namespaced: bool,
    /// The first Kubernetes whose API server has it with the defaults of its gates, if supported ones lack it.
    pub since: Option<(u32, u32)>,
    /// The bits of a change of such an object in the log.
    pub kinds: Kinds,
    /// Reads an object of an API server from JSON, as far as it can be read; only the fields that are read are kept.
    pub parse: fn(&[u8]) -> Result<Seen, ObjectError>,
    /// Reads an object that is held as a tree, with the API server's defaults, because files leave them out. Pods,
    /// nodes and namespaces keep the tree for policies.
    pub from_value: fn(Arc<Value>) -> Result<Object, ObjectError>,
    /// The fields of an object that nothing of the core reads.
    pub(super) unread: fn(&Value) -> Vec<Vec<Step>>,
}

/// The kinds, in the order in which a cluster is read.
pub static KINDS: &[KindRow] = &[
    KindRow {
        kind: Kind::Pod,
        name: "Pod",
        group: "",
        version: "v1",
        older: None,
        plural: "pods",
        namespaced: true,
        since: None,
        kinds: Kinds::OF_PODS,
        parse: |bytes| {
            seen::<pod::Pod>(bytes, |pod, problems| Ok(Object::Pod(Arc::new(PodInfo::read(pod, problems)?))))
        },
        from_value: |value| Ok(Object::Pod(Arc::new(PodInfo::from_file(value)?))),
        unread: unread::<pod::Pod>,
    },
    KindRow {
        kind: Kind::Node,
        name: "Node",
        group: "",
        version: "v1",
        older: None,
        plural: "nodes",
        namespaced: false,
        since: None,
        kinds: Kinds::LIFE,
        parse: |bytes| {
            seen::<node::Node>(bytes, |node, problems| {
                Ok(Object::Node(Arc::new(Node::read(node, problems)?)))
            })
        },
        from_value: |value| Ok(Object::Node(Arc::new(Node::from_value(value)?))),
        unread: unread::<node::Node>,
    },
    KindRow {
        kind: Kind::Namespace,
        name: "Namespace",
        group: "",
        version: "v1",
        older: None,
        plural: "namespaces",
        namespaced: false,
        since: None,
        kinds: Kinds::NAMESPACES,
        parse: |bytes| {
            seen::<namespace::Namespace>(bytes, |namespace, _| {
                Ok(Object::Namespace(Arc::new(super::Namespace::from_object(namespace)?)))
            })
        },
        from_value: |value| Ok(Object::Namespace(Arc::new(super::Namespace::from_value(value)?))),
        unread: unread::<namespace::Namespace>,
    },
    of::<StorageClass>("StorageClass", "storage.k8s.io", "storageclasses", false, Kinds::VOLUMES),
    of::<PersistentVolume>("PersistentVolume", "", "persistentvolumes", false, Kinds::VOLUMES),
    of::<PersistentVolumeClaim>("PersistentVolumeClaim", "", "persistentvolumeclaims", true, Kinds::VOLUMES),
    of::<CsiDriver>("CSIDriver", "storage.k8s.io", "csidrivers", false, Kinds::VOLUMES),
    of::<CsiStorageCapacity>(
        "CSIStorageCapacity",
        "storage.k8s.io",
        "csistoragecapacities",
        true,
        Kinds::VOLUMES,
    ),
    of::<CsiNode>("CSINode", "storage.k8s.io", "csinodes", false, Kinds::VOLUMES),
    of::<VolumeAttachment>("VolumeAttachment", "storage.k8s.io", "volumeattachments", false, Kinds::VOLUMES),
    of::<PodDisruptionBudget>("PodDisruptionBudget", "policy", "poddisruptionbudgets", true, Kinds::BUDGETS),
    of::<Service>("Service", "", "services", true, Kinds::SERVICES),
    of::<ReplicationController>("ReplicationController", "", "replicationcontrollers", true, Kinds::SERVICES),
    of::<ReplicaSet>("ReplicaSet", "apps", "replicasets", true, Kinds::SERVICES),
    of::<StatefulSet>("StatefulSet", "apps", "statefulsets", true, Kinds::SERVICES),
    of::<DaemonSet>("DaemonSet", "apps", "daemonsets", true, Kinds::DAEMON_SETS),
    of::<DeviceClass>("DeviceClass", "resource.k8s.io", "deviceclasses", false, Kinds::DEVICES)
        .since(DEVICES_SINCE),
    of::<ResourceSlice>("ResourceSlice", "resource.k8s.io", "resourceslices", false, Kinds::DEVICES)
        .since(DEVICES_SINCE),
    of::<DeviceTaintRule>("DeviceTaintRule", "resource.k8s.io", "devicetaintrules", false, Kinds::DEVICES)
        .since(TAINT_RULES_SINCE)
        .older("v1beta2"),
    of::<ResourceClaimTemplate>(
        "ResourceClaimTemplate",
        "resource.k8s.io",
        "resourceclaimtemplates",
        true,
        Kinds::DEVICES,
    )
    .since(DEVICES_SINCE),
    of::<ResourceClaim>("ResourceClaim", "resource.k8s.io", "resourceclaims", true, Kinds::DEVICES)
        .since(DEVICES_SINCE),
];

/// The row of a kind of the table at version `v1` of its group.
const fn of<T: Typed + Clone>(
    name: &'static str,
    group: &'static str,
    plural: &'static str,
    namespaced: bool,
    kinds: Kinds,
) -> KindRow {
    KindRow {
        kind: T::KIND,
        name,
        group,
        version: "v1",
        older: None,
        plural,
        namespaced,
        since: None,
        kinds,
        parse: |bytes| match decode_json(bytes).and_then(|slim| parsed::<T>(&slim)) {
            Ok(object) => Ok(object.into()),
            Err(_) => seen_in_parts(decode_json(bytes)?, |object| parsed::<T>(&decode(object)?)),
        },
        from_value: |value| parsed::<T>(&decode(&value)?),
        unread: unread::<T::Slim>,
    }
}

/// Reads an object whose kind notes its problems itself.
fn seen<T: DeserializeOwned>(
    bytes: &[u8],
    read: impl Fn(&T, &mut Problems) -> Result<Object, ObjectError>,
) -> Result<Seen, ObjectError> {
    let mut problems = Problems::default();
    let slim: T = match decode_json(bytes) {
        Ok(slim) => slim,
        Err(_) => decode_as_far_as_possible(&decode_json(bytes)?, &mut problems)?,
    };
    let object = read(&slim, &mut problems)?;
    Ok(Seen { object, problem: problems.into_first() })
}

/// Reads an object without the parts that cannot be read.
fn seen_in_parts(
    object: Value,
    read: impl Fn(&Value) -> Result<Object, ObjectError>,
) -> Result<Seen, ObjectError> {
    let mut problems = Problems::default();
    let object = as_far_as_possible(object, &mut problems, read)?;
    Ok(Seen { object, problem: problems.into_first() })
}

impl KindRow {
    const fn since(mut self, version: (u32, u32)) -> Self {
        self.since = Some(version);
        self
    }

    const fn older(mut self, version: &'static str) -> Self {
        self.older = Some(version);
        self
    }

    /// Reads an object of an API server that is held as a tree, as far as it can be read. Not for pods and nodes, which
    /// note their problems themselves (`PodInfo::read`, `Node::read`).
    pub fn seen(&self, object: Value) -> Result<Seen, ObjectError> {
        let whole = Arc::new(object);
        match (self.from_value)(whole.clone()) {
            Ok(object) => Ok(object.into()),
            Err(_) => seen_in_parts(Arc::unwrap_or_clone(whole), |object| {
                (self.from_value)(Arc::new(object.clone()))
            }),
        }
    }

    /// The row of a kind in files: `apps/v1` and `ReplicaSet`.
    pub fn named(api_version: &str, kind: &str) -> Option<&'static Self> {
        KINDS.iter().find(|row| row.name == kind && row.is_version(api_version))
    }

    fn is_version(&self, api_version: &str) -> bool {
        match api_version.split_once('/') {
            Some((group, version)) => {
                group == self.group && (version == self.version || self.older == Some(version))
            }
            None => self.group.is_empty() && api_version == self.version,
        }
    }

    /// `apiVersion` in files: `apps/v1`.
    pub fn api_version(&self) -> String {
        match self.group {
            "" => self.version.to_owned(),
            group => format!("{group}/{}", self.version),
        }
    }

    /// The path of the collection over all namespaces: `/apis/apps/v1/replicasets`.
    pub fn path(&self) -> String {
        format!("{}/{}", self.root(), self.plural)
    }

    /// The path of the collection in an older API server that lacks that one.
    pub fn older_path(&self) -> Option<String> {
        self.older.map(|version| format!("/apis/{}/{version}/{}", self.group, self.plural))
    }

    /// The path of an object; the namespace of a kind without namespaces is not looked at.
    pub fn path_of(&self, namespace: &str, name: &str) -> String {
        match self.namespaced {
            true => format!("{}/namespaces/{namespace}/{}/{name}", self.root(), self.plural),
            false => format!("{}/{}/{name}", self.root(), self.plural),
        }
    }

    fn root(&self) -> String {
        match self.group {
            "" => format!("/api/{}", self.version),
            group => format!("/apis/{group}/{}", self.version),
        }
    }
}

impl Kind {
    /// The row of the kind; `None` for kinds that policies look up.
    pub fn row(&self) -> Option<&'static KindRow> {
        KINDS.iter().find(|row| row.kind == *self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_one_row() {
        assert_eq!(KINDS.len(), ALL.len());
        for kind in ALL {
            let row = kind.row().unwrap();
            assert_eq!(KindRow::named(&row.api_version(), row.name).unwrap().kind, *kind);
        }
    }

    #[test]
    fn paths_follow_group_and_scope() {
        let path = |kind: Kind| kind.row().unwrap().path_of("n", "a");
        assert_eq!(path(Kind::Service), "/api/v1/namespaces/n/services/a");
        assert_eq!(path(Kind::PersistentVolume), "/api/v1/persistentvolumes/a");
        assert_eq!(path(Kind::ReplicaSet), "/apis/apps/v1/namespaces/n/replicasets/a");
        assert_eq!(path(Kind::CsiNode), "/apis/storage.k8s.io/v1/csinodes/a");
        let rules = Kind::DeviceTaintRule.row().unwrap();
        let older = rules.older_path();
        assert_eq!(older.as_deref(), Some("/apis/resource.k8s.io/v1beta2/devicetaintrules"));
        assert!(KindRow::named("resource.k8s.io/v1beta2", "DeviceTaintRule").is_some());
        assert!(KindRow::named("resource.k8s.io/v1beta2", "ResourceClaim").is_none());
        let budgets = Kind::PodDisruptionBudget.row().unwrap();
        assert_eq!(budgets.path(), "/apis/policy/v1/poddisruptionbudgets");
        assert!(
            KindRow::named("v1", "ReplicaSet").is_none() && KindRow::named("apps/v2", "ReplicaSet").is_none()
        );
    }
}
