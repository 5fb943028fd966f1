//! What a snapshot has: the texts of configuration and policies, and the objects that they read.

use super::reduce::deciding;
use crate::cli::Output;
use crate::cli::output::count;
use crate::cli::progress::Progress;
use crate::cli::setup::{From, Setup};
use crate::config;
use crate::diag::{Form, Source};
use crate::dry_run::saved::{Saved, SavedConfiguration, SavedText};
use crate::explain::reduce::Decided;
use crate::lang::policy_set::CompiledPolicy;
use crate::lang::typed::reads::Keeps;
use crate::lang::uses;
use crate::model::objects::kept::kept_of_looked_up;
use crate::model::objects::projection::Projection;
use crate::model::{Kind, KindName, KindRow, Object, metrics};
use crate::yaml;
use serde_json::Value;
use std::collections::BTreeMap;

/// A snapshot before it is written.
pub(in crate::cli) struct Content {
    /// All but the objects.
    pub saved: Saved,
    /// The objects.
    pub objects: Vec<Value>,
    /// What could not be read this time.
    pub missing: Vec<String>,
}

/// Reads everything.
pub(in crate::cli) fn content(
    from: &From,
    setup: &Setup,
    progress: &Progress,
    out: &mut Output,
) -> anyhow::Result<Content> {
    let mut saved = header(setup);
    let reads = Reads::of(setup);
    #[cfg(feature = "cluster")]
    let (mut objects, missing) = match from.cluster.is_empty() {
        true => live(from, &reads, setup, &mut saved, progress, out)?,
        false => Default::default(),
    };
    #[cfg(not(feature = "cluster"))]
    let ((mut objects, missing), _) = ((Vec::new(), Vec::new()), (from, progress, out));
    objects.extend(of_files(setup, &reads));
    let kinds = setup.policies.kinds();
    let definitions = setup.policies.schemas.definitions(kinds.iter().map(|kind| &kind.name));
    objects.extend(definitions);
    saved.missing.extend(missing.iter().cloned());
    Ok(Content { saved, objects, missing })
}

/// What a decision on a pod of it comes to.
pub(in crate::cli) fn decided(
    content: &Content,
    pod: &str,
    setup: &Setup,
    progress: &Progress,
) -> anyhow::Result<Decided> {
    Ok(deciding(content, setup, progress, |how| how.decision(&content.objects, pod))?)
}

/// What is read of objects.
struct Reads {
    keeps: Keeps,
    /// Kinds of the table that plugins or policies read.
    kinds: Vec<Kind>,
}

impl Reads {
    fn of(setup: &Setup) -> Self {
        let mut keeps = Keeps::default();
        setup.policies.set.iter().for_each(|policy| keeps.merge(&policy.policy.keeps));
        let mut kinds = vec![Kind::Pod, Kind::Node, Kind::Namespace, Kind::DaemonSet];
        kinds.extend(setup.profiles.needs().into_iter().map(|need| need.kind));
        Self { keeps, kinds }
    }

    /// What is kept of an object; `None` if nothing reads the kind.
    fn kept(&self, name: &KindName, object: Value) -> Option<Value> {
        let looked_up = self.keeps.objects.get(name);
        let row = KindRow::named(name.api_version(), name.kind());
        match (row, looked_up) {
            (Some(row), _) if looked_up.is_some() || self.kinds.contains(&row.kind) => {
                let mut keep = match row.kind {
                    Kind::Pod => self.keeps.pods.clone(),
                    Kind::Node => self.keeps.nodes.clone(),
                    Kind::Namespace => self.keeps.namespaces.clone(),
                    _ => Projection::default(),
                };
                keep.merge(looked_up.unwrap_or(&Projection::default()));
                Some(row.kept(object, &keep))
            }
            (Some(_), _) => None,
            (None, Some(keep)) => Some(kept_of_looked_up(name.api_version(), name.kind(), object, keep)),
            (None, None) if metrics::is_node_metrics(name.api_version(), name.kind()) => Some(object),
            (None, None) => None,
        }
    }
}

/// The objects of the files, as they are kept: nodes first, pods last.
fn of_files(setup: &Setup, reads: &Reads) -> Vec<Value> {
    let (pod, node) = (KindName::of("v1", "Pod"), KindName::of("v1", "Node"));
    let of = |object: &Object| match object {
        Object::Node(of) => Some((&node, of.raw.clone()?)),
        Object::Pod(of) => Some((&pod, of.raw.clone()?)),
        _ => None,
    };
    let kept = |(name, raw): (&KindName, std::sync::Arc<Value>)| reads.kept(name, (*raw).clone());
    let nodes = setup.world.objects.iter().filter(|object| object.kind() == Kind::Node);
    let pods = setup.world.objects.iter().filter(|object| object.kind() == Kind::Pod);
    let pending = setup.world.pending.iter().filter_map(|of| Some((&pod, of.raw.clone()?)));
    let mut all: Vec<Value> = nodes.filter_map(of).filter_map(kept).collect();
    let others = setup.others.written().filter_map(|(name, value)| reads.kept(name, value.clone()));
    all.extend(others);
    all.extend(pods.filter_map(of).chain(pending).filter_map(kept));
    all
}

/// The objects of the live cluster; says first how much that is.
#[cfg(feature = "cluster")]
fn live(
    from: &From,
    reads: &Reads,
    setup: &Setup,
    saved: &mut Saved,
    progress: &Progress,
    out: &mut Output,
) -> anyhow::Result<(Vec<Value>, Vec<String>)> {
    use crate::cli::live;
    use crate::cluster::inputs::save::{Saving, Wanted};
    progress.stage("asking how many objects there are", 0);
    let (saving, amounts) = Saving::begin(&Wanted {
        target: live::target(&from.connection),
        needs: setup.profiles.needs(),
        keeps: reads.keeps.clone(),
        looked_up: setup.policies.kinds(),
        metrics: setup.policies.read_metrics(),
    })?;
    let all: usize = amounts.iter().map(|of| of.objects).sum();
    if !out.quiet {
        let bytes: usize = amounts.iter().map(|of| of.bytes).sum();
        let each = amounts.iter().filter(|of| of.objects > 0);
        let each: Vec<String> = each.map(|of| format!("{} {}", count(of.objects), of.resource)).collect();
        let each = if each.is_empty() { String::new() } else { format!(": {}", each.join(", ")) };
        writeln!(out.stderr(), "reading {} objects, about {}{each}", count(all), size(bytes))?;
    }
    progress.stage("reading objects", all);
    let found = saving.read(&|objects| progress.steps().steps(objects))?;
    saved.source = "the API server".to_owned();
    saved.server = found.server;
    saved.taken = now();
    Ok((found.objects, found.missing))
}

/// This instant, in whole seconds, as the API server writes times.
fn now() -> String {
    let second = jiff::Timestamp::now().as_second();
    jiff::Timestamp::from_second(second).unwrap_or_default().to_string()
}

/// Bytes as people say them.
pub(super) fn size(bytes: usize) -> String {
    match bytes {
        0..10_000 => format!("{} bytes", count(bytes)),
        10_000..10_000_000 => format!("{} kB", count(bytes / 1_000)),
        _ => format!("{} MB", count(bytes / 1_000_000)),
    }
}

/// All but the objects.
fn header(setup: &Setup) -> Saved {
    let before = setup.saved.first();
    Saved {
        program: format!("bayplan {}", env!("CARGO_PKG_VERSION")),
        taken: before.map_or_else(now, |before| before.taken.clone()),
        kubernetes: setup.version.word().to_owned(),
        server: before.map(|before| before.server.clone()).unwrap_or_default(),
        source: before.map_or_else(|| "files".to_owned(), |before| before.source.clone()),
        namespace: setup.namespace.clone(),
        configuration: configuration(setup),
        policies: texts(setup),
        missing: setup.saved.iter().flat_map(|before| before.missing.clone()).collect(),
        memory: setup.world.memory.clone(),
        ..Saved::default()
    }
}

/// The configuration in force, with the nodes of `--nodes`, and without what says how the scheduler reaches others.
fn configuration(setup: &Setup) -> Option<SavedConfiguration> {
    let name = setup.policies.sources.get(setup.config_source)?.name();
    // The reader of a snapshot names it so.
    let from = name.strip_prefix("the configuration ").unwrap_or(name).to_owned();
    let mut value = config::shown(&setup.config);
    let fields = value.as_object_mut()?;
    for other in ["clientConnection", "leaderElection", "enableProfiling", "enableContentionProfiling"] {
        fields.shift_remove(other);
    }
    Some(SavedConfiguration { from, text: value.to_string() })
}

/// The texts of the policies in service, and those that they use or that have exceptions from them.
fn texts(setup: &Setup) -> Vec<SavedText> {
    let sources = &setup.policies.sources;
    let mut all: Vec<(Source, Vec<String>)> = Vec::new();
    let mut add = |source: &Source, serves: Option<&CompiledPolicy>| {
        let at = all.iter().position(|(known, _)| known.id() == source.id());
        let at = at.unwrap_or_else(|| {
            all.push((source.clone(), Vec::new()));
            all.len() - 1
        });
        if let (Some((_, names)), Some(policy)) = (all.get_mut(at), serves) {
            names.push(policy.name().to_owned());
        }
    };
    for policy in setup.policies.set.iter() {
        let Some(source) = sources.source(policy.policy.span) else { continue };
        uses::reached(sources, source).into_iter().for_each(|used| add(used, None));
        add(source, Some(policy));
    }
    let excepting = setup.policies.texts.iter().chain(&setup.policies.elsewhere);
    let excepting =
        excepting.filter_map(|id| sources.get(*id)).filter(|source| source.text().contains("except"));
    excepting.for_each(|source| add(source, None));
    let mut taken: BTreeMap<(String, String), usize> = BTreeMap::new();
    all.into_iter()
        .map(|(source, serves)| {
            let (object, key, text) = named(&source, &serves);
            // A text and its last good version have the same name.
            let again = taken.entry((object.clone(), key.clone())).or_default();
            *again += 1;
            let object = if *again > 1 { format!("{object} ({again})") } else { object };
            SavedText { object, key, text, serves }
        })
        .collect()
}

/// Object, key and text of a source. A file of documents may have other objects beside its policies, which are left out.
fn named(source: &Source, serves: &[String]) -> (String, String, String) {
    if let Some(origin) = source.origin() {
        return (origin.object.clone(), origin.key.clone(), source.text().to_owned());
    }
    let (folder, name) = source.name().rsplit_once('/').unwrap_or(("snapshot", source.name()));
    if source.form() == Form::Language {
        return (folder.to_owned(), name.to_owned(), source.text().to_owned());
    }
    let ours = |object: &Value| {
        let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        object.get("kind").and_then(Value::as_str) == Some(crate::policy_files::KIND)
            && serves.iter().any(|of| of == name)
    };
    let documents = yaml::values(source.text(), false).unwrap_or_default();
    let items =
        documents.into_iter().flat_map(|document| match document.get("items").and_then(Value::as_array) {
            Some(items) => items.clone(),
            None => vec![document],
        });
    let documents: Vec<String> = items.filter(ours).map(|document| format!("{document:#}\n")).collect();
    (folder.to_owned(), name.to_owned(), documents.join("---\n"))
}
