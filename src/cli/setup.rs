//! What `dry-run`, `explain` and `eval` share: a cluster from files or a live one, its policies, and the profiles made
//! of them. How a live one is read is `live`'s.

use super::Output;
use super::input::Policies;
#[cfg(feature = "cluster")]
use super::live;
use crate::config::{self, SchedulerConfig};
use crate::diag::{Diagnostic, Severity, Source, SourceId, SourceMap, Span, Tally, draw, suggest};
use crate::dry_run::{self, World};
use crate::framework::{ArgsError, At, Field, Framework, Plugin, Registry, Tree, TreeValue};
use crate::lang::analysis::cost::Size;
use crate::lang::check::Argument;
use crate::lang::policy_set::{CompiledPolicy, PolicySet};
use crate::model::{PodInfo, Symbol};
use crate::plugins::policy::{LeftAlone, PolicyPlugin};
use crate::scheduler::Profiles;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Where the cluster and its rules come from.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct From {
    /// Files of the cluster: YAML or JSON, streams, lists, `kubectl get -o json`; `-` is stdin.
    #[arg(long, value_name = "FILE", required = !cfg!(feature = "cluster"), num_args = 1..)]
    pub cluster: Vec<PathBuf>,
    /// The live cluster, when there are no files.
    #[cfg(feature = "cluster")]
    #[command(flatten)]
    pub connection: live::Connection,
    /// Files of more pods, to be placed.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub pods: Vec<PathBuf>,
    /// A KubeSchedulerConfiguration.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Policy files, files with ConfigMaps, folders of both. Beside a live cluster: one takes the place of the
    /// cluster's policy of the same name, as if it had been applied.
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub policies: Vec<PathBuf>,
    /// Namespaces of a live cluster whose ConfigMaps with the label `bayplan.dev/policy` are read; without it all.
    #[cfg(feature = "cluster")]
    #[arg(
        long,
        value_name = "NAMESPACE",
        value_delimiter = ',',
        conflicts_with = "cluster",
        help_heading = "Live cluster"
    )]
    pub policy_namespaces: Vec<String>,
    #[command(flatten)]
    pub declared: Declared,
}

/// The size of cluster that policies are compiled for.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub struct Declared {
    /// The largest cluster that rules must be cheap enough for; 5,000 nodes and 100,000 pods unless said.
    #[arg(long, value_name = "nodes=N,pods=N")]
    size: Option<Size>,
}

impl Declared {
    /// The size.
    pub fn size(self) -> Size {
        self.size.unwrap_or_default()
    }
}

impl From {
    /// The flags as they were typed, for the next command.
    pub fn flags(&self) -> String {
        let mut text = String::new();
        #[cfg(feature = "cluster")]
        {
            text.push_str(&self.connection.flags());
            if !self.policy_namespaces.is_empty() {
                let _ = write!(text, " --policy-namespaces {}", quoted(&self.policy_namespaces.join(",")));
            }
        }
        let lists = [("--cluster", &self.cluster), ("--pods", &self.pods), ("--policies", &self.policies)];
        for (flag, paths) in lists {
            if !paths.is_empty() {
                let _ = write!(text, " {flag}");
                for path in paths {
                    let _ = write!(text, " {}", quoted(&path.display().to_string()));
                }
            }
        }
        if let Some(config) = &self.config {
            let _ = write!(text, " --config {}", quoted(&config.display().to_string()));
        }
        if let Some(size) = self.declared.size {
            let _ = write!(text, " --size nodes={},pods={}", size.nodes, size.pods);
        }
        text
    }
}

/// A word as a shell takes it.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// A cluster, ready to be decided on.
pub struct Setup {
    /// Policies with their texts; the files of the cluster are among the sources.
    pub policies: Policies,
    /// The objects.
    pub world: World,
    /// Where a pod is looked for first when only its name is given.
    pub namespace: String,
    /// The profiles with the policies in them.
    pub profiles: Arc<Profiles>,
    config: SchedulerConfig,
    config_source: SourceId,
}

impl Setup {
    /// The profile that serves a scheduler name, without some rules of policies; a policy's prefilters are its rule
    /// `prefilter`.
    pub fn without(&self, scheduler_name: &Symbol, rules: &[(String, String)]) -> Option<Arc<Framework>> {
        let mut registry = crate::plugins::registry();
        for compiled in self.policies.set.iter() {
            let left_out =
                |rule: &str| rules.iter().any(|(policy, known)| policy == compiled.name() && known == rule);
            let compiled = if rules.iter().any(|(policy, _)| policy == compiled.name()) {
                let mut changed = crate::lang::typed::Policy::clone(&compiled.policy);
                changed.filters.retain(|known| !left_out(&known.name));
                if left_out("prefilter") {
                    changed.prefilters.clear();
                }
                Arc::new(CompiledPolicy::new(changed, &self.policies.sources))
            } else {
                compiled.clone()
            };
            let (name, sorts) = (compiled.name().to_owned(), compiled.policy.queue.is_some());
            let plugin: Arc<dyn Plugin> = Arc::new(PolicyPlugin::new(compiled, LeftAlone::default()));
            registry.add_policy(&name, sorts, move |_| Ok(plugin.clone())).ok()?;
        }
        let made = self.config.frameworks(&registry, self.config_source).ok()?;
        made.frameworks.into_iter().find(|framework| framework.scheduler_name == *scheduler_name)
    }
}

/// Which of the pods is meant by `NAME` or `NAMESPACE/NAME`: of several of one name that in the namespace `preferred`.
pub fn named<'a>(
    pods: impl Iterator<Item = &'a Arc<PodInfo>>,
    asked: &str,
    namespace: Option<&str>,
    preferred: &str,
) -> anyhow::Result<usize> {
    let (namespace, name) = match asked.split_once('/') {
        Some((namespace, name)) => (Some(namespace), name),
        None => (namespace, asked),
    };
    let pods: Vec<&PodInfo> = pods.map(|pod| &**pod).collect();
    let called: Vec<usize> = (0..pods.len()).filter(|at| pods[*at].name.as_str() == name).collect();
    let among = |namespace: &str| -> Vec<usize> {
        called.iter().copied().filter(|at| pods[*at].namespace.as_str() == namespace).collect()
    };
    let full_names =
        |which: &[usize]| which.iter().map(|at| pods[*at].full_name()).collect::<Vec<_>>().join(", ");
    let found = namespace.map_or_else(|| called.clone(), among);
    match (&found[..], &among(preferred)[..]) {
        ([one], _) | ([_, _, ..], [one]) => Ok(*one),
        ([], _) => {
            let asked = namespace.map_or_else(|| name.to_owned(), |namespace| format!("{namespace}/{name}"));
            if !called.is_empty() {
                anyhow::bail!(
                    "no pod that waits or runs is called `{asked}`; there is {}",
                    full_names(&called)
                );
            }
            let inside = pods.iter().filter(|pod| namespace.is_none_or(|it| pod.namespace.as_str() == it));
            let near = suggest::nearest(name, inside.map(|pod| pod.name.as_str()))
                .map(str::to_owned)
                .or_else(|| {
                    let names: Vec<String> = pods.iter().map(|pod| pod.full_name()).collect();
                    suggest::nearest(&asked, names.iter().map(String::as_str)).map(str::to_owned)
                });
            let hint = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            anyhow::bail!("no pod that waits or runs is called `{asked}`{hint}")
        }
        _ => anyhow::bail!("several pods are called `{name}`: {}; name one of them", full_names(&found)),
    }
}

/// Reads everything. `None`: mistakes were printed, and nothing can be decided.
pub fn read(from: &From, out: &mut Output) -> anyhow::Result<Option<Setup>> {
    read_saying(from, true, out)
}

/// The same without what is only worth a warning.
pub fn read_quietly(from: &From, out: &mut Output) -> anyhow::Result<Option<Setup>> {
    read_saying(from, false, out)
}

fn read_saying(from: &From, warn: bool, out: &mut Output) -> anyhow::Result<Option<Setup>> {
    let mut policies = Policies { size: from.declared.size(), ..Policies::default() };
    policies.read(&from.policies)?;
    let already: Vec<SourceId> =
        policies.texts.iter().filter_map(|id| policies.sources.get(*id)?.host()).collect();
    let pods = policies.add_all(&from.pods)?;
    let Cluster { mut world, namespace } = cluster(from, &already, &mut policies, out)?;
    let mut said = std::mem::take(&mut policies.diagnostics);
    if !pods.is_empty() {
        said.extend(dry_run::load_pods(&mut policies.sources, &pods, &mut world));
    }
    policies.compile();
    said.append(&mut policies.diagnostics);
    policies.diagnostics = said;
    if !warn {
        policies.diagnostics.retain(Diagnostic::is_error);
    }
    if complain(&policies, out)? {
        return Ok(None);
    }
    let Some((config, config_source)) = config(from, &mut policies, out)? else { return Ok(None) };
    let Some(profiles) = profiles(&config, config_source, warn, &mut policies, out)? else { return Ok(None) };
    Ok(Some(Setup { policies, world, namespace, profiles, config, config_source }))
}

/// The objects, and the namespace of those who name none.
pub struct Cluster {
    /// The objects.
    pub world: World,
    /// The namespace.
    pub namespace: String,
}

/// Reads the cluster, and what policies it has beside those that were read already from the files `already`.
fn cluster(
    from: &From,
    already: &[SourceId],
    policies: &mut Policies,
    out: &mut Output,
) -> anyhow::Result<Cluster> {
    #[cfg(feature = "cluster")]
    if from.cluster.is_empty() {
        return live::read(&from.connection, live::wanted(from), policies, out);
    }
    #[cfg(not(feature = "cluster"))]
    let _ = out;
    let cluster = policies.add_all(&from.cluster)?;
    let loaded = dry_run::load(&mut policies.sources, &cluster);
    policies.diagnostics.extend(loaded.diagnostics);
    let fresh = |id: &SourceId| {
        let host = policies.sources.get(*id).and_then(Source::host);
        host.is_none_or(|host| !already.contains(&host))
    };
    let texts: Vec<SourceId> = loaded.policies.into_iter().filter(fresh).collect();
    policies.texts.extend(texts);
    Ok(Cluster { world: loaded.world, namespace: "default".to_owned() })
}

/// Reads the configuration. `None`: mistakes were printed.
fn config(
    from: &From,
    policies: &mut Policies,
    out: &mut Output,
) -> anyhow::Result<Option<(SchedulerConfig, SourceId)>> {
    let Some(path) = &from.config else {
        let id = policies.sources.add("the default configuration", "");
        return Ok(Some((SchedulerConfig::default(), id)));
    };
    let id = policies.add(path)?;
    let Some(source) = policies.sources.get(id) else { return Ok(None) };
    let (config, said) = config::read(source);
    policies.diagnostics = said;
    Ok(if complain(policies, out)? { None } else { Some((config, id)) })
}

/// Makes the profiles of the configuration, with every policy as a plugin. The policies are then those that are in
/// service: with the arguments of the configuration.
fn profiles(
    config: &SchedulerConfig,
    source: SourceId,
    warn: bool,
    policies: &mut Policies,
    out: &mut Output,
) -> anyhow::Result<Option<Arc<Profiles>>> {
    let made = Arc::new(Mutex::new(Vec::new()));
    let registry = registry(policies, &made)?;
    match config.frameworks(&registry, source) {
        Ok(frameworks) => {
            for warning in frameworks.warnings.into_iter().filter(|_| warn) {
                note(out, &warning.message);
            }
            let mut in_service: Vec<Arc<CompiledPolicy>> = policies.set.iter().cloned().collect();
            for compiled in made.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
                in_service.retain(|known| known.name() != compiled.name());
                in_service.push(compiled);
            }
            policies.set = PolicySet::new(in_service);
            Ok(Some(Arc::new(Profiles { frameworks: frameworks.frameworks, revision: 1 })))
        }
        Err(said) => {
            policies.diagnostics = said;
            complain(policies, out)?;
            Ok(None)
        }
    }
}

/// Policies that were compiled with arguments.
type Made = Arc<Mutex<Vec<Arc<CompiledPolicy>>>>;

/// The in-tree plugins and the policies.
fn registry(policies: &Policies, made: &Made) -> anyhow::Result<Registry> {
    let mut registry = crate::plugins::registry();
    let sources = Arc::new(policies.sources.clone());
    for compiled in policies.set.iter() {
        let (sources, size) = (sources.clone(), policies.size);
        let compiled = compiled.clone();
        let made = made.clone();
        let (name, sorts) = (compiled.name().to_owned(), compiled.policy.queue.is_some());
        registry.add_policy(&name, sorts, move |args| {
            let compiled = compiled_with(&compiled, &sources, size, args)?;
            if !matches!(args.value, TreeValue::Null) {
                made.lock().unwrap_or_else(PoisonError::into_inner).push(compiled.clone());
            }
            Ok(Arc::new(PolicyPlugin::new(compiled, LeftAlone::default())))
        })?;
    }
    Ok(registry)
}

/// The plugin of a policy with the arguments of a profile.
#[cfg(feature = "cluster")]
pub fn with_arguments(
    compiled: &Arc<CompiledPolicy>,
    sources: &SourceMap,
    left_alone: &LeftAlone,
    args: &Tree,
) -> Result<Arc<dyn Plugin>, Vec<ArgsError>> {
    let compiled = compiled_with(compiled, sources, Size::default(), args)?;
    Ok(Arc::new(PolicyPlugin::new(compiled, left_alone.clone())))
}

/// A policy with the arguments of a profile: it is checked again with them.
fn compiled_with(
    compiled: &Arc<CompiledPolicy>,
    sources: &SourceMap,
    size: Size,
    args: &Tree,
) -> Result<Arc<CompiledPolicy>, Vec<ArgsError>> {
    let entries = match &args.value {
        TreeValue::Null => return Ok(compiled.clone()),
        TreeValue::Map(entries) => entries,
        _ => {
            return Err(vec![
                Field::root(args).error("arguments of a policy are a map from params to values"),
            ]);
        }
    };
    let Some(source) = sources.source(compiled.policy.span) else { return Ok(compiled.clone()) };
    let arguments: Vec<Argument> = entries
        .iter()
        .map(|entry| Argument {
            name: entry.key.clone(),
            value: entry.value.to_json(),
            span: Span::new(NO_SOURCE, entry.value.at.start, entry.value.at.end),
        })
        .collect();
    let wanted = compiled.name();
    let given = |name: &str| if name == wanted { arguments.clone() } else { Vec::new() };
    let (mut policies, diagnostics) = crate::lang::compile_for(source, size, &given);
    let errors: Vec<ArgsError> = diagnostics
        .into_iter()
        .filter(Diagnostic::is_error)
        .map(|said| ArgsError {
            path: String::new(),
            at: if said.span.source == NO_SOURCE {
                At { start: said.span.start as usize, end: said.span.end as usize }
            } else {
                args.at
            },
            message: said.message,
            help: said.help,
        })
        .collect();
    match policies.iter().position(|policy| *policy.name == *wanted) {
        Some(at) if errors.is_empty() => Ok(Arc::new(CompiledPolicy::new(policies.swap_remove(at), sources))),
        _ => Err(errors),
    }
}

/// A source that is none: places of arguments are places of the configuration.
const NO_SOURCE: SourceId = SourceId(u32::MAX);

/// Prints diagnostics on stderr; whether one of them is an error.
pub fn complain(policies: &Policies, out: &mut Output) -> anyhow::Result<bool> {
    let failed = policies.has_errors();
    let worth: Vec<Diagnostic> =
        policies.diagnostics.iter().filter(|said| said.severity > Severity::Note).cloned().collect();
    if worth.is_empty() || (out.quiet && !failed) {
        return Ok(failed);
    }
    let drawn = draw::human(&policies.sources, &worth, out.stderr_look(Some(20)));
    out.draw_on_stderr(&drawn)?;
    if failed {
        writeln!(out.stderr(), "\n{}: nothing was decided", Tally::of(&worth).sentence())?;
    }
    Ok(failed)
}

/// One line of warning on stderr.
pub fn note(out: &mut Output, text: &str) {
    if !out.quiet {
        let _ = writeln!(out.stderr(), "warning: {text}");
    }
}
