//! Translation of in-tree volumes to the CSI drivers that took them over: which driver, which handle, and the node
//! affinity in the keys of the driver. VolumeBinding and NodeVolumeLimits read it.
//!
//! Source: `staging/src/k8s.io/csi-translation-lib/translate.go` and `plugins/*.go`,
//! `component-helpers/storage/...` of Kubernetes 1.36.

use bayplan_model::{
    CsiNode, Labels, NodeSelector, NodeSelectorTerm, PersistentVolume, PersistentVolumeSource, Requirement,
    SelectorOperator, Symbol, VolumeSource,
};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// The zone of a node.
pub(crate) const ZONE: &str = "topology.kubernetes.io/zone";
/// The region of a node.
pub(crate) const REGION: &str = "topology.kubernetes.io/region";
/// The zone of a node, before 1.17.
pub(crate) const BETA_ZONE: &str = "failure-domain.beta.kubernetes.io/zone";
/// The region of a node, before 1.17.
pub(crate) const BETA_REGION: &str = "failure-domain.beta.kubernetes.io/region";
/// Between the values of a label that names several zones.
const ZONES_DELIMITER: &str = "__";
/// The part of a handle that is not known.
const UNSPECIFIED: &str = "UNSPECIFIED";
/// The only kind of Azure disk that the driver has.
const MANAGED: &str = "managed";

/// An in-tree volume plugin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum InTree {
    /// Amazon EBS.
    AwsEbs,
    /// Google persistent disks.
    GcePd,
    /// OpenStack Cinder.
    Cinder,
    /// Azure disks.
    AzureDisk,
    /// Portworx.
    Portworx,
    /// Azure files.
    AzureFile,
    /// vSphere volumes.
    Vsphere,
}

/// A volume as its CSI driver names it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct CsiVolume {
    /// The driver.
    pub(crate) driver: Symbol,
    /// The volume handle.
    pub(crate) handle: Symbol,
}

impl InTree {
    /// All of them.
    pub(crate) const ALL: [Self; 7] = [
        Self::AwsEbs,
        Self::GcePd,
        Self::Cinder,
        Self::AzureDisk,
        Self::Portworx,
        Self::AzureFile,
        Self::Vsphere,
    ];

    /// Its name: in `provisioner` of StorageClasses, and in the annotation of CSINodes.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::AwsEbs => "kubernetes.io/aws-ebs",
            Self::GcePd => "kubernetes.io/gce-pd",
            Self::Cinder => "kubernetes.io/cinder",
            Self::AzureDisk => "kubernetes.io/azure-disk",
            Self::Portworx => "kubernetes.io/portworx-volume",
            Self::AzureFile => "kubernetes.io/azure-file",
            Self::Vsphere => "kubernetes.io/vsphere-volume",
        }
    }

    /// The driver that took its volumes over.
    pub(crate) fn driver(self) -> &'static str {
        match self {
            Self::AwsEbs => "ebs.csi.aws.com",
            Self::GcePd => "pd.csi.storage.gke.io",
            Self::Cinder => "cinder.csi.openstack.org",
            Self::AzureDisk => "disk.csi.azure.com",
            Self::Portworx => "pxd.portworx.com",
            Self::AzureFile => "file.csi.azure.com",
            Self::Vsphere => "csi.vsphere.vmware.com",
        }
    }

    /// The node label in which the driver has zones; `None` where affinity is not translated.
    fn zone_key(self) -> Option<&'static str> {
        match self {
            Self::AwsEbs => Some("topology.ebs.csi.aws.com/zone"),
            Self::GcePd => Some("topology.gke.io/zone"),
            Self::Cinder => Some("topology.cinder.csi.openstack.org/zone"),
            _ => None,
        }
    }

    /// Whether the scheduler looks at its migration. Azure files and vSphere volumes have no node affinity and no
    /// limit of their own there.
    pub(crate) fn is_migrated(self) -> bool {
        !matches!(self, Self::AzureFile | Self::Vsphere)
    }

    /// The plugin of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|plugin| plugin.name() == name)
    }

    /// The plugin of a persistent volume; `None` for CSI volumes and others.
    pub(crate) fn of_volume(source: &PersistentVolumeSource) -> Option<Self> {
        use PersistentVolumeSource as S;
        match source {
            S::AwsElasticBlockStore { .. } => Some(Self::AwsEbs),
            S::GcePersistentDisk { .. } => Some(Self::GcePd),
            S::Cinder { .. } => Some(Self::Cinder),
            S::AzureDisk { .. } => Some(Self::AzureDisk),
            S::Portworx { .. } => Some(Self::Portworx),
            S::AzureFile => Some(Self::AzureFile),
            S::Vsphere => Some(Self::Vsphere),
            S::Csi { .. } | S::Other => None,
        }
    }

    /// The plugin of a volume that a pod names itself.
    pub(crate) fn of_inline(source: &VolumeSource) -> Option<Self> {
        use VolumeSource as S;
        match source {
            S::AwsElasticBlockStore { .. } => Some(Self::AwsEbs),
            S::GcePersistentDisk { .. } => Some(Self::GcePd),
            S::Cinder { .. } => Some(Self::Cinder),
            S::AzureDisk { .. } => Some(Self::AzureDisk),
            S::Portworx { .. } => Some(Self::Portworx),
            S::AzureFile => Some(Self::AzureFile),
            S::Vsphere => Some(Self::Vsphere),
            S::Claim { .. } | S::Ephemeral | S::Csi { .. } | S::Iscsi { .. } | S::Rbd { .. } => None,
        }
    }

    /// Whether the node's kubelet leaves the volumes of this plugin to the driver.
    ///
    /// Source: `pkg/scheduler/framework/plugins/volumebinding/binder.go`, `tryTranslatePVToCSI`.
    pub(crate) fn is_migrated_on(self, node: Option<&CsiNode>) -> bool {
        self.is_migrated() && node.is_some_and(|node| node.has_migrated(self.name()))
    }

    fn volume(self, handle: Symbol) -> CsiVolume {
        CsiVolume { driver: Symbol::new(self.driver()), handle }
    }
}

/// The volume of a claim as its driver names it: that of a CSI volume, or of a migrated in-tree volume. `Ok(None)` for
/// volumes of any other kind, `Err` with the reason where an in-tree volume cannot be translated.
pub(crate) fn csi_volume(volume: &PersistentVolume) -> Result<Option<CsiVolume>, String> {
    use PersistentVolumeSource as S;
    if let S::Csi { driver, handle } = &volume.source {
        return Ok(Some(CsiVolume { driver: driver.clone(), handle: handle.clone() }));
    }
    let Some(plugin) = InTree::of_volume(&volume.source).filter(|plugin| plugin.is_migrated()) else {
        return Ok(None);
    };
    let handle = match &volume.source {
        S::AwsElasticBlockStore { volume_id } => ebs_handle(volume_id)?,
        S::GcePersistentDisk { name } => gce_handle(name, &volume.metadata.labels)?,
        S::AzureDisk { uri, kind, .. } => azure_handle(uri, Some(kind).filter(|kind| !kind.is_empty()))?,
        S::Cinder { volume_id } | S::Portworx { volume_id } => volume_id.clone(),
        S::Csi { .. } | S::AzureFile | S::Vsphere | S::Other => return Ok(None),
    };
    Ok(Some(plugin.volume(handle)))
}

/// The CSI volume of an in-tree volume that a pod names itself.
pub(crate) fn inline_csi_volume(source: &VolumeSource) -> Result<Option<CsiVolume>, String> {
    use VolumeSource as S;
    let Some(plugin) = InTree::of_inline(source).filter(|plugin| plugin.is_migrated()) else {
        return Ok(None);
    };
    let handle = match source {
        S::AwsElasticBlockStore { volume_id, .. } => ebs_handle(volume_id)?,
        // The labels of a persistent volume are not there to tell the zone.
        S::GcePersistentDisk { name, .. } => gce_handle(name, &Labels::default())?,
        S::AzureDisk { uri, kind, .. } => azure_handle(uri, kind.as_ref())?,
        S::Cinder { volume_id } | S::Portworx { volume_id } => volume_id.clone(),
        _ => return Ok(None),
    };
    Ok(Some(plugin.volume(handle)))
}

/// `aws://zone/vol-1` names the volume `vol-1`; any other text is the volume itself.
fn ebs_handle(id: &Symbol) -> Result<Symbol, String> {
    let Some(rest) = id.strip_prefix("aws://") else { return Ok(id.clone()) };
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let path = rest.split_once('/').map_or("", |(_, path)| path).trim_matches('/');
    if path.starts_with("vol-") && !path.contains('/') {
        return Ok(Symbol::new(path));
    }
    let why = "failed to translate Kubernetes ID to EBS Volume ID";
    Err(format!("{why} Invalid format for AWS volume ({id})"))
}

/// Disks of one zone are named by the zone, those of several by the region.
fn gce_handle(disk: &Symbol, labels: &Labels) -> Result<Symbol, String> {
    let label = |key: &str| labels.get(&Symbol::new(key)).filter(|value| !value.is_empty());
    let zones = label(BETA_ZONE).or_else(|| label(ZONE));
    let zones: Vec<&str> = zones.map(|zones| zones.split(ZONES_DELIMITER).collect()).unwrap_or_default();
    let place = match zones[..] {
        [] => format!("zones/{UNSPECIFIED}"),
        [zone] => format!("zones/{zone}"),
        _ => format!("regions/{}", gce_region(&zones)?),
    };
    Ok(Symbol::from(format!("projects/{UNSPECIFIED}/{place}/disks/{disk}")))
}

/// The region of zones such as `us-central1-a`.
fn gce_region(zones: &[&str]) -> Result<String, String> {
    let why = "failed to get region from zones";
    let mut regions = BTreeSet::new();
    for zone in zones {
        match zone.split('-').collect::<Vec<&str>>()[..] {
            [locale, region, _] => regions.insert(format!("{locale}-{region}")),
            _ => {
                let expected = "zone in unexpected format, expected: {locale}-{region}-{zone}";
                return Err(format!("{why}: {expected}, got: {zone}"));
            }
        };
    }
    match regions.pop_first() {
        Some(region) if regions.is_empty() => Ok(region),
        _ => Err(format!("{why}: multiple or no regions gotten from zones, got: {}", zones.join(" "))),
    }
}

/// The URI of a managed disk; the driver has no others.
fn azure_handle(uri: &Symbol, kind: Option<&Symbol>) -> Result<Symbol, String> {
    match kind.filter(|kind| !kind.eq_ignore_ascii_case(MANAGED)) {
        Some(kind) => Err(format!("kind({kind}) is not supported in csi migration")),
        None => Ok(uri.clone()),
    }
}

/// The node affinity of a volume as it counts for the node of this CSINode: in the keys of the driver if the node has
/// migrated the volume's plugin. `Ok(None)`: any node.
///
/// Source: `pkg/scheduler/framework/plugins/volumebinding/binder.go`, `tryTranslatePVToCSI`.
pub(crate) fn affinity_on<'v>(
    volume: &'v PersistentVolume,
    node: Option<&CsiNode>,
) -> Result<Option<Cow<'v, NodeSelector>>, String> {
    let written = || volume.affinity.as_deref().map(Cow::Borrowed);
    match InTree::of_volume(&volume.source) {
        Some(plugin) if plugin.is_migrated_on(node) => {
            csi_volume(volume).map_err(|why| format!("could not translate pv: {why}"))?;
            let Some(key) = plugin.zone_key() else { return Ok(written()) };
            Ok(translated(volume.affinity.as_deref(), &volume.metadata.labels, key).map(Cow::Owned))
        }
        _ => Ok(written()),
    }
}

/// An affinity in the zone key of a driver. Zones come from the affinity, else from the labels of the volume.
///
/// Source: `csi-translation-lib/plugins/in_tree_volume.go`, `translateTopologyFromInTreeToCSI`.
fn translated(affinity: Option<&NodeSelector>, labels: &Labels, key: &'static str) -> Option<NodeSelector> {
    let requirements = || {
        let terms = affinity.map(|affinity| &*affinity.terms).unwrap_or_default();
        terms.iter().flat_map(|term| term.expressions.iter())
    };
    let names = |key: &str| requirements().any(|requirement| requirement.key == *key);
    let values = |key: &str| requirements().any(|it| it.key == *key && !it.values.is_empty());
    let label = |key: &str| labels.get(&Symbol::new(key));
    let is_beta = !names(ZONE) && (names(BETA_ZONE) || label(ZONE).is_none() && label(BETA_ZONE).is_some());
    let zone = if is_beta { BETA_ZONE } else { ZONE };
    let mut result = affinity.cloned();
    if values(zone) {
        rename(&mut result, zone, key);
    } else if let Some(label) = label(zone) {
        let zones = label.split(ZONES_DELIMITER).map(str::trim).filter(|zone| !zone.is_empty());
        let zones: BTreeSet<Symbol> = zones.map(Symbol::new).collect();
        if !zones.is_empty() {
            require(&mut result, key, zones);
        }
    }
    if is_beta && values(BETA_REGION) {
        rename(&mut result, BETA_REGION, REGION);
    }
    result
}

/// Renames the key of requirements.
fn rename(affinity: &mut Option<NodeSelector>, from: &str, to: &str) {
    let terms = affinity.iter_mut().flat_map(|affinity| affinity.terms.iter_mut());
    for requirement in terms.flat_map(|term| term.expressions.iter_mut()).filter(|it| it.key == *from) {
        requirement.key = Symbol::new(to);
    }
}

/// Adds a requirement to every term, or a term of it alone.
fn require(affinity: &mut Option<NodeSelector>, key: &str, zones: BTreeSet<Symbol>) {
    let values = zones.into_iter().collect();
    let requirement =
        Requirement { key: Symbol::new(key), operator: SelectorOperator::In, values, number: 0 };
    let affinity = affinity.get_or_insert_default();
    if affinity.terms.is_empty() {
        affinity.terms = Box::from([NodeSelectorTerm::default()]);
    }
    for term in &mut affinity.terms {
        let expressions = term.expressions.iter().cloned().chain([requirement.clone()]);
        term.expressions = expressions.collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bayplan_model::{KindRow, Object, Typed, downcast};
    use serde_json::{Value, json};
    use std::sync::Arc;

    fn parse<T: Typed + Clone>(value: Value) -> T {
        let text = |key: &str| value[key].as_str().unwrap().to_owned();
        let row = KindRow::named(&text("apiVersion"), &text("kind")).unwrap();
        let Object::Other(object) = (row.from_value)(Arc::new(value)).unwrap() else {
            panic!("a kind of the table")
        };
        downcast::<T>(object.as_ref()).unwrap().clone()
    }

    fn volume(labels: Value, spec: Value) -> PersistentVolume {
        let metadata = json!({"name": "v", "labels": labels});
        parse(json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": spec}))
    }

    fn migrated(plugins: &str) -> CsiNode {
        let annotations = json!({"storage.alpha.kubernetes.io/migrated-plugins": plugins});
        let metadata = json!({"name": "n", "annotations": annotations});
        parse(json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": metadata}))
    }

    fn handle(labels: Value, spec: Value) -> Result<String, String> {
        let found = csi_volume(&volume(labels, spec))?;
        Ok(found.map(|of| format!("{} {}", of.driver, of.handle)).unwrap_or_default())
    }

    #[test]
    fn handles_are_those_of_the_drivers() {
        let ebs = |id: &str| handle(json!({}), json!({"awsElasticBlockStore": {"volumeID": id}}));
        assert_eq!(ebs("aws://us-1a/vol-1").unwrap(), "ebs.csi.aws.com vol-1");
        assert_eq!(ebs("aws:///vol-1/").unwrap(), "ebs.csi.aws.com vol-1");
        assert_eq!(ebs("disk").unwrap(), "ebs.csi.aws.com disk");
        let why = ebs("aws://us-1a/disk").unwrap_err();
        assert!(why.ends_with("Invalid format for AWS volume (aws://us-1a/disk)"), "{why}");
        let gce = |labels: Value| handle(labels, json!({"gcePersistentDisk": {"pdName": "d"}}));
        let of = |place: &str| Ok(format!("pd.csi.storage.gke.io projects/UNSPECIFIED/{place}/disks/d"));
        assert_eq!(gce(json!({})), of("zones/UNSPECIFIED"));
        assert_eq!(gce(json!({ZONE: "us-c1-a"})), of("zones/us-c1-a"));
        assert_eq!(gce(json!({ZONE: "us-c1-a", BETA_ZONE: "us-c1-b"})), of("zones/us-c1-b"));
        assert_eq!(gce(json!({ZONE: "us-c1-a__us-c1-b"})), of("regions/us-c1"));
        assert!(gce(json!({ZONE: "us-c1-a__us-c2-b"})).is_err() && gce(json!({ZONE: "a__b"})).is_err());
        let azure = |kind: &str| {
            handle(json!({}), json!({"azureDisk": {"diskName": "d", "diskURI": "/sub/d", "kind": kind}}))
        };
        assert_eq!(azure("Managed").unwrap(), "disk.csi.azure.com /sub/d");
        assert_eq!(azure("Shared").unwrap_err(), "kind(Shared) is not supported in csi migration");
        let plain = |spec: Value| handle(json!({}), spec).unwrap();
        assert_eq!(plain(json!({"cinder": {"volumeID": "c"}})), "cinder.csi.openstack.org c");
        assert_eq!(plain(json!({"portworxVolume": {"volumeID": "p"}})), "pxd.portworx.com p");
        assert_eq!(plain(json!({"csi": {"driver": "d", "volumeHandle": "h"}})), "d h");
        assert_eq!(plain(json!({"vsphereVolume": {"volumePath": "x"}})), "");
        assert_eq!(plain(json!({"nfs": {"server": "s", "path": "/"}})), "");
    }

    #[test]
    fn a_disk_that_a_pod_names_itself_has_no_zone() {
        let gce = VolumeSource::GcePersistentDisk { name: "d".into(), partition: 0, read_only: true };
        let found = inline_csi_volume(&gce).unwrap().unwrap();
        assert_eq!(found.handle, "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d");
        let azure = |kind: Option<&str>| {
            let kind = kind.map(Symbol::from);
            inline_csi_volume(&VolumeSource::AzureDisk { name: "d".into(), uri: "/d".into(), kind })
        };
        assert!(azure(None).is_ok() && azure(Some("managed")).is_ok() && azure(Some("Dedicated")).is_err());
        assert_eq!(inline_csi_volume(&VolumeSource::AzureFile), Ok(None));
        assert_eq!(inline_csi_volume(&VolumeSource::Csi { driver: "d".into() }), Ok(None));
    }

    /// The affinity of an EBS volume on a node that has migrated EBS: the requirements of each term.
    fn affinity(labels: Value, terms: Value) -> Vec<Vec<String>> {
        let affinity = json!({"required": {"nodeSelectorTerms": terms}});
        let mut spec = json!({"awsElasticBlockStore": {"volumeID": "vol-1"}});
        if !terms.is_null() {
            spec["nodeAffinity"] = affinity;
        }
        let volume = volume(labels, spec);
        let node = migrated("kubernetes.io/gce-pd,kubernetes.io/aws-ebs");
        let of = affinity_on(&volume, Some(&node)).unwrap();
        let text = |requirement: &Requirement| format!("{} {:?}", requirement.key, requirement.values);
        of.iter()
            .flat_map(|of| of.terms.iter())
            .map(|term| term.expressions.iter().map(text).collect())
            .collect()
    }

    #[test]
    fn zones_are_in_the_key_of_the_driver() {
        let term = |key: &str, values: &[&str]| json!({"matchExpressions": [{"key": key, "operator": "In", "values": values}]});
        let of_driver = |values: &str| format!("topology.ebs.csi.aws.com/zone {values}");
        // The affinity precedes the labels.
        let found = affinity(json!({ZONE: "b"}), json!([term(ZONE, &["a"]), term("disk", &["ssd"])]));
        assert_eq!(found, [[of_driver("[\"a\"]")], ["disk [\"ssd\"]".to_owned()]]);
        // Without a zone in it the labels are added to every term, or are the only term.
        let found = affinity(json!({ZONE: "b__ a"}), json!([term("disk", &["ssd"])]));
        assert_eq!(found, [["disk [\"ssd\"]".to_owned(), of_driver("[\"a\", \"b\"]")]]);
        assert_eq!(affinity(json!({BETA_ZONE: "a"}), Value::Null), [[of_driver("[\"a\"]")]]);
        assert!(affinity(json!({}), Value::Null).is_empty());
        // With the beta zone, the beta region has its newer key.
        let found = affinity(json!({}), json!([term(BETA_ZONE, &["a"]), term(BETA_REGION, &["r"])]));
        assert_eq!(found, [[of_driver("[\"a\"]")], [format!("{REGION} [\"r\"]")]]);
        let found = affinity(json!({}), json!([term(ZONE, &["a"]), term(BETA_REGION, &["r"])]));
        assert_eq!(found[1], [format!("{BETA_REGION} [\"r\"]")]);
    }

    /// Worked case 11: only a node that has migrated the plugin needs the label of the driver.
    #[test]
    fn a_node_translates_the_volumes_of_plugins_that_it_has_migrated() {
        let volume = volume(json!({ZONE: "us-1a"}), json!({"awsElasticBlockStore": {"volumeID": "vol-1"}}));
        let terms = |node: Option<&CsiNode>| affinity_on(&volume, node).unwrap().map(|of| of.terms.len());
        assert_eq!(terms(Some(&migrated("kubernetes.io/aws-ebs"))), Some(1));
        assert_eq!(terms(Some(&migrated("kubernetes.io/gce-pd, kubernetes.io/aws-ebs"))), None);
        assert_eq!((terms(Some(&migrated(""))), terms(None)), (None, None));
        let broken =
            super::tests::volume(json!({}), json!({"awsElasticBlockStore": {"volumeID": "aws://a/b"}}));
        let why = affinity_on(&broken, Some(&migrated("kubernetes.io/aws-ebs"))).unwrap_err();
        assert!(why.starts_with("could not translate pv: failed to translate Kubernetes ID"), "{why}");
    }
}
