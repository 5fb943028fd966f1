//! Cluster files and files of pods to a [`World`]: YAML and JSON, single objects, streams of
//! documents, lists, the output of `kubectl get -o json`. Objects of all kinds of the table are read.
//! What cannot be read is a diagnostic with its place, never a panic. `cli` reads the files;
//! `policy_files` finds ConfigMaps with policies; `workloads` makes the pods of Jobs, Deployments and
//! other controllers.

use super::dump;
use super::remembered;
use super::saved::{self, Saved};
use super::workloads::{self, Expanded};
use super::world::World;
use bayplan_diag::{Diagnostic, Severity, SourceId, SourceMap, Span, codes};
use bayplan_lang::schemas::Schemas;
use bayplan_lang::types::ObjectKind;
use bayplan_model::metrics;
use bayplan_model::objects::projection::Projection;
use bayplan_model::{Kind, KindName, KindRow, LookedUp, Node, Object, ObjectKey, PodInfo, PodKey, Symbol};
use bayplan_policy_files::{self as policy_files, KIND, policies_in};
use bayplan_yaml as yaml;
use rustc_hash::FxHashSet;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What cluster files hold.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The objects that can be used.
    pub world: World,
    /// Texts of policies in labelled ConfigMaps, in the order they were found.
    pub policies: Vec<SourceId>,
    /// What there is to say, in the order of the files.
    pub diagnostics: Vec<Diagnostic>,
    /// The number of objects of `--pods` that were skipped and may create pods.
    pub not_understood: usize,
    /// Objects that policies may look up.
    pub others: Others,
    /// What the snapshots among the files have beside objects.
    pub saved: Vec<Saved>,
}

impl Loaded {
    /// Whether anything could not be read.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }
}

/// Reads the cluster files that were added to `sources`. Adds the namespaces that pods name and no
/// file holds, since they exist in every cluster.
pub fn load(sources: &mut SourceMap, files: &[SourceId]) -> Loaded {
    read(sources, files, None)
}

fn read(sources: &mut SourceMap, files: &[SourceId], nodes_for_pods: Option<Vec<Arc<Node>>>) -> Loaded {
    let mut reading = Loading { nodes_for_pods, ..Loading::default() };
    for file in files {
        let is_saved = sources.get(*file).is_some_and(|source| saved::may_be(source.text()));
        // A snapshot has its policies as texts.
        let (found, diagnostics) = if is_saved { Default::default() } else { policies_in(sources, *file) };
        let labelled = found.into_iter().filter(|found| found.labelled).map(|found| found.source);
        reading.loaded.policies.extend(labelled);
        let Some((name, text)) =
            sources.get(*file).map(|source| (source.name().to_owned(), source.shared_text()))
        else {
            continue;
        };
        match yaml::values(&text, is_saved || name.ends_with(".json")) {
            Ok(documents) => {
                // Mistakes of YAML were reported when policies were looked for.
                reading.loaded.diagnostics.extend(diagnostics);
                let documents = documents.into_iter().filter(|document| !document.is_null());
                let before = reading.objects;
                for (at, document) in documents.enumerate() {
                    let place = Place { file: *file, text: &text, document: at, path: String::new() };
                    reading.value(document, Listed::default(), &place);
                }
                if reading.objects == before && text.trim().is_empty() {
                    reading.loaded.diagnostics.push(empty(*file));
                }
            }
            Err(error) => reading.loaded.diagnostics.push(error.diagnostic(*file)),
        }
    }
    reading.finish(files)
}

/// A file without any object: most likely the command before the pipe failed.
fn empty(file: SourceId) -> Diagnostic {
    let said = Diagnostic::new(&codes::BAD_OBJECT, Span::new(file, 0, 0), "the file is empty");
    said.with_help(format!("give nodes and pods, as `{}` prints them", dump::command()))
}

/// Reads files of pods (`--pods`) into a world: pods, the pods of workloads, and the objects of other
/// kinds that the world does not have yet; `others` takes what policies may look up. Returns what there is to say, and how many objects were
/// not understood.
pub fn load_pods(
    sources: &mut SourceMap,
    files: &[SourceId],
    world: &mut World,
    others: &mut Others,
) -> (Vec<Diagnostic>, usize) {
    let nodes = world.objects.iter().filter_map(|object| match object {
        Object::Node(node) => Some(node.clone()),
        _ => None,
    });
    let loaded = read(sources, files, Some(nodes.collect()));
    let mut diagnostics = loaded.diagnostics;
    let given = world.objects.iter().filter_map(|object| match object {
        Object::Pod(pod) => Some(&pod.key),
        _ => None,
    });
    let given: FxHashSet<PodKey> = given.chain(world.pending.iter().map(|pod| &pod.key)).cloned().collect();
    for pod in &loaded.world.pending {
        if given.contains(&pod.key)
            && let Some(file) = files.first()
        {
            let text = format!("pod `{}` is in the cluster already", pod.full_name());
            diagnostics.push(Diagnostic::new(&codes::BAD_OBJECT, Span::new(*file, 0, 0), text));
        }
    }
    world.pending.extend(loaded.world.pending);
    let assumed = loaded.world.assumed;
    world.metrics.extend(loaded.world.metrics);
    others.join(loaded.others);
    let known: FxHashSet<ObjectKey> = world.objects.iter().filter_map(other).collect();
    for object in loaded.world.objects {
        match &object {
            Object::Namespace(namespace) if !assumed.contains(&namespace.name) => {
                world.give_namespace(object);
            }
            Object::Pod(_) => world.objects.push(object),
            Object::Other(_) if !other(&object).is_some_and(|key| known.contains(&key)) => {
                world.objects.push(object);
            }
            _ => {}
        }
    }
    world.add_missing_namespaces();
    (diagnostics, loaded.not_understood)
}

/// What names an object of another kind than pods, nodes and namespaces, whatever its UID.
fn other(object: &Object) -> Option<ObjectKey> {
    matches!(object, Object::Other(_)).then(|| ObjectKey { uid: Symbol::default(), ..object.key() })
}

/// Where an object is written.
#[derive(Clone)]
struct Place<'t> {
    file: SourceId,
    text: &'t str,
    document: usize,
    /// Of the object in its document: `items[3]`.
    path: String,
}

impl Place<'_> {
    fn inside(&self, path: &str) -> Self {
        let join = if self.path.is_empty() || path.is_empty() || path.starts_with('[') { "" } else { "." };
        Self { path: format!("{}{join}{path}", self.path), ..self.clone() }
    }

    /// The place in the text; the file is read once more for it.
    fn span(&self) -> Span {
        let at = yaml::place(self.text, self.document, &self.path);
        Span::new(self.file, at.start, at.end)
    }
}

/// What a typed list says about its items, which may leave it out.
#[derive(Clone, Copy, Default)]
struct Listed<'t> {
    version: &'t str,
    kind: &'t str,
}

/// Numbers of objects that were skipped, by kind.
type Skipped = BTreeMap<KindName, usize>;

/// Objects of files that policies may look up, and what their kinds are.
#[derive(Clone, Debug, Default)]
pub struct Others {
    /// The CustomResourceDefinitions of the files.
    pub schemas: Schemas,
    /// Every object that is neither a pod nor a node, as it is written.
    objects: Vec<(KindName, Value)>,
    /// Those that were skipped because only policies may look them up.
    skipped: Skipped,
    /// Whether they are from a file of pods.
    of_pods: bool,
}

/// The kind and name of what made an object, by its kind, namespace and name; `None`: nothing made it.
pub type Makers = BTreeMap<(String, String, String), Option<(String, String)>>;

impl Others {
    /// Adds those of further files.
    fn join(&mut self, others: Self) {
        self.schemas.merge(&others.schemas);
        self.objects.extend(others.objects);
    }

    /// The objects of the kinds that policies look up. An object that cannot be used is left out, with a reason.
    pub fn looked_up(&self, kinds: &[Arc<ObjectKind>]) -> (Vec<Object>, Vec<String>) {
        let (mut found, mut unusable) = (Vec::new(), Vec::new());
        for (name, value) in &self.objects {
            let Some(kind) = kinds.iter().find(|kind| kind.name == *name) else { continue };
            let mut value = value.clone();
            if let Some(namespaced) = kind.namespaced {
                settle_scope(&mut value, namespaced);
            }
            match LookedUp::new(name, value, &Projection::everything()) {
                Ok(object) => found.push(Object::Other(Arc::new(object))),
                Err(error) => unusable.push(format!("{} is left out: {error}", name.kind())),
            }
        }
        (found, unusable)
    }

    /// The objects as they are written, without pods and nodes, which keep that themselves.
    pub fn written(&self) -> impl Iterator<Item = &(KindName, Value)> {
        self.objects.iter()
    }

    /// What made each of these objects that make pods, by kind, namespace and name; `None`: nothing did.
    pub fn makers(&self) -> Makers {
        let of = |(name, value): &(KindName, Value)| {
            let metadata = &value["metadata"];
            let namespace = metadata["namespace"].as_str().unwrap_or("default");
            let key = (name.kind().to_owned(), namespace.to_owned(), metadata["name"].as_str()?.to_owned());
            let owners = metadata["ownerReferences"].as_array();
            let controller = owners.into_iter().flatten().find(|owner| owner["controller"] == true);
            let maker = controller.and_then(|owner| {
                Some((owner["kind"].as_str()?.to_owned(), owner["name"].as_str()?.to_owned()))
            });
            ["ReplicaSet", "Job"].contains(&name.kind()).then_some((key, maker))
        };
        self.objects.iter().filter_map(of).collect()
    }

    /// The note about skipped objects, without those of kinds that policies look up.
    pub fn skipped(&self, kinds: &[Arc<ObjectKind>], file: SourceId) -> Option<Diagnostic> {
        let read = |name: &KindName| kinds.iter().any(|kind| kind.name == *name);
        let left = self.skipped.iter().filter(|(name, _)| !read(name));
        skipped_note(&left.map(|(name, count)| (name.clone(), *count)).collect(), file, self.of_pods)
    }
}

/// The note about skipped objects.
fn skipped_note(skipped: &Skipped, file: SourceId, of_pods: bool) -> Option<Diagnostic> {
    let count: usize = skipped.values().sum();
    let mut by_kind: BTreeMap<&str, usize> = BTreeMap::new();
    skipped.iter().for_each(|(name, count)| *by_kind.entry(name.kind()).or_default() += count);
    let kinds: Vec<String> = by_kind.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    let objects = if count == 1 { "object" } else { "objects" };
    let message = format!("skipped {count} {objects} of other kinds: {}", kinds.join(", "));
    let said = Diagnostic::new(&codes::SKIPPED_KINDS, Span::new(file, 0, 0), message);
    let help = match of_pods {
        true => {
            "read are pods, the pods of Job, CronJob, Deployment, ReplicaSet, StatefulSet, DaemonSet and \
             PodTemplate, and the other objects that kube-scheduler reads, such as claims and Services"
        }
        false if by_kind.keys().any(|kind| workloads::makes_pods(kind)) => {
            "give a file of workloads with `--pods` to add their pods"
        }
        false => "no policy looks them up, and nothing else reads them",
    };
    (count > 0).then(|| said.with_help(help))
}

#[derive(Default)]
struct Loading {
    loaded: Loaded,
    /// For a file of pods the nodes of the cluster: workloads are expanded to their pods.
    nodes_for_pods: Option<Vec<Arc<Node>>>,
    /// How many objects were read.
    objects: usize,
    /// Kinds that are not read, with their numbers.
    skipped: Skipped,
    known: BTreeSet<(Kind, Symbol, Symbol)>,
    /// Objects that controllers make beside the pods of workloads, unless a file has them.
    made: Vec<Value>,
    /// Whether objects are of a snapshot: an API server had them, so that they are read as far as they can be.
    of_saved: bool,
}

impl Loading {
    /// One document or one item of a list.
    fn value(&mut self, value: Value, listed: Listed<'_>, place: &Place) {
        match value {
            Value::Null => {}
            Value::Array(items) => {
                for (at, item) in items.into_iter().enumerate() {
                    self.value(item, listed, &place.inside(&format!("[{at}]")));
                }
            }
            Value::Object(object) => {
                let text = |field: &str, or: &str| -> String {
                    object.get(field).and_then(Value::as_str).unwrap_or(or).to_owned()
                };
                let (version, own) = (text("apiVersion", listed.version), text("kind", listed.kind));
                if saved::is_one(&version, &own) {
                    return self.saved(Value::Object(object), place);
                }
                if own.is_empty() {
                    let message = "the object has no `kind`";
                    let help = "write `apiVersion` and `kind`, as `kubectl get -o yaml` does";
                    self.complain(place, message.to_owned(), Some(help));
                } else if own.ends_with("List") && object.get("items").is_some_and(Value::is_array) {
                    let kind = own.strip_suffix("List").unwrap_or_default();
                    let listed = Listed { version: &version, kind };
                    let items = object.into_iter().find(|(key, _)| key == "items");
                    if let Some((_, items)) = items {
                        self.value(items, listed, &place.inside("items"));
                    }
                } else {
                    self.object(Value::Object(object), &version, &own, place);
                }
            }
            _ => self.complain(place, "expected an object".to_owned(), None),
        }
    }

    /// The objects of a snapshot, and what it has beside them.
    fn saved(&mut self, document: Value, place: &Place) {
        self.objects += 1;
        match Saved::taken_apart(document) {
            Ok((saved, mut objects)) => {
                if let Some(memory) = &saved.memory {
                    remembered::settle(memory, &mut objects);
                    self.loaded.world.memory.get_or_insert_with(|| memory.clone());
                }
                self.loaded.saved.push(saved);
                let before = std::mem::replace(&mut self.of_saved, true);
                let place = place.inside("objects");
                for (at, object) in objects.into_iter().enumerate() {
                    let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
                    let (version, kind) = (text("apiVersion").to_owned(), text("kind").to_owned());
                    let place = place.inside(&format!("[{at}]"));
                    if kind.is_empty() {
                        self.complain(&place, "the object has no `kind`".to_owned(), None);
                    } else {
                        self.object(object, &version, &kind, &place);
                    }
                }
                self.of_saved = before;
            }
            Err((said, help)) => self.complain(place, said, help),
        }
    }

    fn object(&mut self, value: Value, version: &str, kind: &str, place: &Place) {
        self.objects += 1;
        let version = if version.is_empty() { "v1" } else { version };
        // Their policies are found by `policy_files`.
        if kind == KIND || (version, kind) == ("v1", "ConfigMap") && policy_files::is_of_policies(&value) {
            return;
        }
        let name = KindName::of(version, kind);
        if metrics::is_node_metrics(version, kind) {
            self.metrics(&value, place);
            self.loaded.others.objects.push((name, value));
            return;
        }
        if Schemas::is_definition(&value) {
            if let Err(why) = self.loaded.others.schemas.add_definition(&value) {
                self.complain(place, format!("the CustomResourceDefinition cannot be used: {why}"), None);
            }
            return;
        }
        if !matches!(kind, "Pod" | "Node") {
            self.loaded.others.objects.push((name.clone(), value.clone()));
        }
        let pods = self.nodes_for_pods.is_some();
        match KindRow::named(version, kind) {
            Some(row) => {
                if pods && workloads::makes_pods(kind) {
                    self.workload(&value, kind, &name, place);
                }
                self.take(value, row, place);
            }
            None if pods => self.workload(&value, kind, &name, place),
            // Others than those with policies are nothing to a scheduler.
            None if kind == "ConfigMap" => {}
            None => self.skip(&name),
        }
    }

    /// What a node used: several objects of one node are samples of several instants.
    fn metrics(&mut self, value: &Value, place: &Place) {
        match metrics::Reading::from_value(value) {
            Ok(reading) => self.loaded.world.metrics.push(reading),
            Err(error) => {
                let message = match error.value.is_empty() {
                    true => format!("`{}`: {}", error.path, error.reason),
                    false => {
                        format!("`{}` cannot be `{}`: {}", error.path, shortened(&error.value), error.reason)
                    }
                };
                self.complain(&place.inside(&error.path), message, None);
            }
        }
    }

    fn skip(&mut self, kind: &KindName) {
        *self.skipped.entry(kind.clone()).or_default() += 1;
    }

    /// An object of a file of pods that is not a pod itself.
    fn workload(&mut self, value: &Value, kind: &str, name: &KindName, place: &Place) {
        let nodes = self.nodes_for_pods.take().unwrap_or_default();
        let of: Vec<&Node> = nodes.iter().map(|node| &**node).collect();
        let expanded = workloads::expand(value, kind, &of);
        self.nodes_for_pods = Some(nodes);
        match expanded {
            Expanded::Pods { pods, beside } => {
                self.made.extend(beside);
                let template = place.inside(workloads::template_of(kind));
                let before = self.loaded.diagnostics.len();
                for pod in pods {
                    self.take_as(pod, &Kind::Pod, &template);
                    // The other pods of the template have the same mistake.
                    if self.loaded.diagnostics.len() > before {
                        break;
                    }
                }
            }
            Expanded::NoPods => self.skip(name),
            Expanded::Unknown => {
                self.loaded.not_understood += 1;
                self.skip(name);
            }
            Expanded::Wrong(field, message) => {
                self.complain(&place.inside(field), format!("`{field}`: {message}"), None);
            }
        }
    }

    fn take_as(&mut self, value: Value, kind: &Kind, place: &Place) {
        if let Some(row) = kind.row() {
            self.take(value, row, place);
        }
    }

    /// Takes an object of a kind of the table.
    fn take(&mut self, mut value: Value, row: &KindRow, place: &Place) {
        if self.nodes_for_pods.is_some() && row.kind == Kind::Pod {
            workloads::name_generated(&mut value, self.objects);
        }
        settle_namespace(&mut value, row);
        let value = Arc::new(value);
        match (row.from_value)(value.clone()) {
            Ok(object) => self.add(object, row, place),
            Err(_) if self.of_saved => self.take_what_can_be_read(value, row, place),
            Err(error) => {
                let place = place.inside(&error.path);
                let of = if error.path.is_empty() { row.name } else { &error.path };
                let message = match error.value.is_empty() {
                    true => format!("`{of}`: {}", error.reason),
                    false => format!("`{of}` cannot be `{}`: {}", shortened(&error.value), error.reason),
                };
                self.complain(&place, message, None);
            }
        }
    }

    /// Takes an object that an API server had as a watch does: with a warning about what cannot be read.
    fn take_what_can_be_read(&mut self, value: Arc<Value>, row: &KindRow, place: &Place) {
        let read = match row.kind {
            Kind::Pod => PodInfo::seen(value).map(|(pod, problem)| (Object::Pod(Arc::new(pod)), problem)),
            _ => row.seen(Arc::unwrap_or_clone(value)).map(|seen| (seen.object, seen.problem)),
        };
        let (problem, consequence) = match read {
            Ok((object, problem)) => {
                self.add(object, row, place);
                (problem, "counts with what can be read of it")
            }
            Err(problem) => (Some(problem), "is left out"),
        };
        if let Some(problem) = problem {
            let message = format!("the {} {consequence}: {problem}", row.name);
            let said = Diagnostic::new(&codes::BAD_OBJECT, place.inside(&problem.path).span(), message);
            self.loaded.diagnostics.push(Diagnostic { severity: Severity::Warning, ..said });
        }
    }

    fn add(&mut self, object: Object, row: &KindRow, place: &Place) {
        let key = object.key();
        let name = match key.namespace.is_empty() {
            true => key.name.to_string(),
            false => format!("{}/{}", key.namespace, key.name),
        };
        if self.known.insert((key.kind, key.namespace, key.name)) {
            self.loaded.world.add(object);
        } else {
            let message = format!("{} `{name}` is given twice", row.name.to_lowercase());
            self.complain(place, message, Some("take one of them out"));
        }
    }

    fn complain(&mut self, place: &Place, message: String, help: Option<&str>) {
        let diagnostic = Diagnostic::new(&codes::BAD_OBJECT, place.span(), message);
        let diagnostic = match help {
            Some(help) => diagnostic.with_help(help),
            None => diagnostic,
        };
        self.loaded.diagnostics.push(diagnostic);
    }

    /// Adds what controllers make beside the pods of workloads, unless a file has it.
    fn add_made(&mut self) {
        for mut value in std::mem::take(&mut self.made) {
            let text = |field: &str| value.get(field).and_then(Value::as_str).unwrap_or_default();
            let Some(row) = KindRow::named(text("apiVersion"), text("kind")) else { continue };
            settle_namespace(&mut value, row);
            // Whatever cannot be read of it, such as a selector, was reported with the pods, or stands for no object.
            let Ok(object) = (row.from_value)(Arc::new(value)) else { continue };
            let ObjectKey { kind, namespace, name, .. } = object.key();
            if self.known.insert((kind, namespace, name)) {
                self.loaded.world.add(object);
            }
        }
    }

    fn finish(mut self, files: &[SourceId]) -> Loaded {
        self.add_made();
        if let Some(file) = files.first() {
            let said = skipped_note(&self.skipped, *file, self.nodes_for_pods.is_some());
            self.loaded.diagnostics.extend(said);
        }
        self.loaded.others.skipped = self.skipped;
        self.loaded.others.of_pods = self.nodes_for_pods.is_some();
        self.loaded.world.add_missing_namespaces();
        self.loaded
    }
}

/// An object of a kind with namespaces is in `default` when its file names none; others are in none.
pub(super) fn settle_namespace(value: &mut Value, row: &KindRow) {
    // A pod without a namespace is read as one of `default`.
    if row.kind == Kind::Pod {
        return;
    }
    settle_scope(value, row.namespaced);
}

pub(super) fn settle_scope(value: &mut Value, namespaced: bool) {
    let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    let named = metadata.get("namespace").and_then(Value::as_str).is_some_and(|name| !name.is_empty());
    match namespaced {
        true if !named => drop(metadata.insert("namespace".to_owned(), json!("default"))),
        false => drop(metadata.remove("namespace")),
        true => {}
    }
}

fn shortened(value: &str) -> String {
    match value.char_indices().nth(60) {
        Some((at, _)) => format!("{}…", &value[..at]),
        None => value.to_owned(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use bayplan_model::{ReplicaSet, downcast};

    fn read(name: &str, text: &str) -> (SourceMap, Loaded) {
        let mut sources = SourceMap::new();
        let file = sources.add(name, text);
        let loaded = load(&mut sources, &[file]);
        (sources, loaded)
    }

    fn said(loaded: &Loaded) -> Vec<&str> {
        loaded.diagnostics.iter().map(|diagnostic| &*diagnostic.message).collect()
    }

    #[test]
    fn streams_lists_and_json_are_read() {
        let yaml = "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n---\n---\napiVersion: v1\nkind: List\nitems:\n\
                    - {apiVersion: v1, kind: Pod, metadata: {name: a, namespace: x}, spec: {containers: []}}\n\
                    - {apiVersion: apps/v1, kind: Deployment, metadata: {name: d}}\n";
        let (_, loaded) = read("c.yaml", yaml);
        assert_eq!(said(&loaded), ["skipped 1 object of other kinds: 1 Deployment"]);
        assert_eq!((loaded.world.objects.len(), loaded.world.pending.len()), (2, 1));
        let json = r#"{"kind":"PodList","items":[{"metadata":{"name":"a"},"spec":{"nodeName":"n1"}}]}"#;
        let (_, loaded) = read("c.json", json);
        assert_eq!(said(&loaded), [""; 0]);
        assert_eq!((loaded.world.objects.len(), loaded.world.pending.len()), (2, 0));
    }

    #[test]
    fn objects_of_the_table_are_read_with_their_namespaces() {
        let yaml = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: {app: web}}\n---\n\
                    apiVersion: policy/v1\nkind: PodDisruptionBudgetList\nitems:\n\
                    - {metadata: {name: web, namespace: x}, status: {disruptionsAllowed: 2}}\n---\n\
                    apiVersion: apps/v1beta1\nkind: StatefulSet\nmetadata: {name: old}\n";
        let (_, loaded) = read("c.yaml", yaml);
        assert_eq!(said(&loaded), ["skipped 1 object of other kinds: 1 StatefulSet"]);
        let keys: Vec<String> = loaded.world.objects.iter().map(name).collect();
        assert_eq!(keys, ["Service default/web", "PodDisruptionBudget x/web"]);
        let wrong = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: [a]}\n";
        let (sources, loaded) = read("c.yaml", wrong);
        assert!(
            said(&loaded)[0].starts_with("`spec.selector`: invalid type: sequence"),
            "{:?}",
            said(&loaded)
        );
        assert_eq!(sources.text(loaded.diagnostics[0].span), "[");
    }

    fn name(object: &Object) -> String {
        let key = object.key();
        format!("{:?} {}/{}", key.kind, key.namespace, key.name)
    }

    #[test]
    fn workloads_are_stored_beside_their_pods() {
        let yaml = "apiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: set, namespace: x}\n\
                    spec: {replicas: 2, selector: {matchLabels: {app: a}}, template: {spec: {containers: []}}}\n---\n\
                    apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n\
                    spec: {replicas: 1, selector: {matchLabels: {app: b}}, template: {spec: {containers: []}}}\n---\n\
                    apiVersion: v1\nkind: Service\nmetadata: {name: known}\nspec: {selector: {app: other}}\n---\n\
                    apiVersion: v1\nkind: Service\nmetadata: {name: new}\n";
        let mut sources = SourceMap::new();
        let known =
            "apiVersion: v1\nkind: Service\nmetadata: {name: known, uid: u}\nspec: {selector: {app: c}}\n";
        let cluster = sources.add("c.yaml", known);
        let mut world = load(&mut sources, &[cluster]).world;
        let file = sources.add("pods.yaml", yaml);
        let (diagnostics, not_understood) =
            load_pods(&mut sources, &[file], &mut world, &mut Others::default());
        assert_eq!((diagnostics.len(), not_understood), (0, 0), "{diagnostics:?}");
        let made: Vec<String> =
            world.objects.iter().map(name).filter(|name| !name.starts_with("Namespace")).collect();
        let [known, set, new, of_deployment] = &made[..] else { panic!("{made:?}") };
        assert_eq!(
            [&**known, &**set, &**new],
            ["Service default/known", "ReplicaSet x/set", "Service default/new"]
        );
        let owner = &world.pending[2].owners[0];
        assert_eq!(*of_deployment, format!("ReplicaSet default/{}", owner.name));
        let selected = world.objects.iter().any(|object| match object {
            Object::Other(object) => downcast::<ReplicaSet>(object.as_ref()).is_some_and(|set| {
                set.selector
                    .as_ref()
                    .is_some_and(|selector| selector.to_string().starts_with("app=b,pod-template-hash="))
            }),
            _ => false,
        });
        assert!(selected);
    }

    #[test]
    fn what_cannot_be_read_has_a_place() {
        let yaml = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - name: c\n    \
                    resources:\n      requests:\n        cpu: lots\n";
        let (sources, loaded) = read("c.yaml", yaml);
        assert_eq!(loaded.diagnostics.len(), 1, "{:?}", said(&loaded));
        assert!(said(&loaded)[0].contains("cannot be `lots`"), "{:?}", said(&loaded));
        assert_eq!(sources.text(loaded.diagnostics[0].span), "lots");
        let (_, loaded) = read("c.yaml", "kind: Pod\nmetadata: {name: [");
        assert_eq!(loaded.diagnostics[0].code.id, "BP0502");
        let (_, loaded) = read("c.json", "{\"kind\": \"Pod\", ");
        assert_eq!(said(&loaded), ["the file is not valid JSON: EOF while parsing a value"]);
        let (_, loaded) = read("c.yaml", "metadata: {name: a}");
        assert_eq!(said(&loaded), ["the object has no `kind`"]);
        let (sources, loaded) = read("c.yaml", "kind: Pod\nmetadata: {name: b}\nspec: {containers: {}}");
        assert_eq!(said(&loaded), ["`spec.containers`: invalid type: map, expected a sequence"]);
        assert_eq!(sources.text(loaded.diagnostics[0].span), "{");
        let twice = "kind: Node\nmetadata: {name: n}\n---\nkind: Node\nmetadata: {name: n}\n";
        let (_, loaded) = read("c.yaml", twice);
        assert_eq!(said(&loaded), ["node `n` is given twice"]);
    }
}
