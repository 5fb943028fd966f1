//! Reads a cluster, its policies and its configuration from files, or a live cluster. The only
//! place that decides in which order mistakes are collected.

use super::profiles::profiles;
use super::{From, Setup, complain, note, saved};
use crate::cli::Output;
use crate::cli::input::Policies;
#[cfg(feature = "cluster")]
use crate::cli::live;
#[cfg(feature = "cluster")]
use crate::cluster::viewer::follower::Follower;
use crate::config::{self, SchedulerConfig};
use crate::diag::{Diagnostic, Source, SourceId, Span, codes};
use crate::dry_run::saved::Saved;
use crate::dry_run::{self, Others, World, daemon_sets, dump, namespaces};
use crate::framework::Features;
use crate::lang::types::ObjectKind;
use crate::model::KubernetesVersion;
use std::sync::Arc;

/// The objects, and the namespace of those that name none.
pub(crate) struct Cluster {
    /// The objects.
    pub world: World,
    /// The namespace.
    pub namespace: String,
    /// Objects that policies may look up.
    pub others: Others,
    /// The first file of the cluster.
    pub file: Option<SourceId>,
    /// The configuration that its scheduler runs with, and where it is from.
    pub configuration: Option<(String, String)>,
    /// What snapshots have beside objects.
    pub saved: Vec<Saved>,
    /// As which version its scheduler decides.
    pub runs: Option<RunsAs>,
}

/// As which version of Kubernetes the scheduler of a live cluster decides, and which one that is: `of the pod
/// kube-system/kube-scheduler-a`.
pub(crate) type RunsAs = (KubernetesVersion, String);

/// Where the objects come from.
#[derive(Clone)]
pub(crate) enum Origin {
    /// Files, or the live cluster when there are none.
    FilesOrLive,
    /// Files, which may be none.
    Files,
    /// As `FilesOrLive`, but of a live cluster policies and configuration alone.
    FilesOrRules,
    /// A live cluster that is followed.
    #[cfg(feature = "cluster")]
    Followed(Follower),
}

#[cfg(feature = "cluster")]
impl Origin {
    /// How a live cluster is read; `None`: everything is of files.
    fn live<'a>(&'a self, from: &'a From) -> Option<live::Reader<'a>> {
        match self {
            Self::FilesOrLive | Self::FilesOrRules if from.cluster.is_empty() => {
                Some(live::Reader::Once(&from.connection))
            }
            Self::FilesOrLive | Self::FilesOrRules | Self::Files => None,
            Self::Followed(follower) => Some(live::Reader::Followed(follower)),
        }
    }

    /// Whether the objects of a live cluster are read.
    fn reads_objects(&self) -> bool {
        !matches!(self, Self::FilesOrRules)
    }
}

/// Reads everything and prints warnings. `None`: mistakes were printed, and nothing can be decided.
pub(crate) fn read(from: &From, out: &mut Output) -> anyhow::Result<Option<Setup>> {
    read_from(from, &Origin::FilesOrLive, out)
}

/// As [`read`], from objects of this origin.
pub(crate) fn read_from(from: &From, origin: &Origin, out: &mut Output) -> anyhow::Result<Option<Setup>> {
    let mut setup = match load(from, origin, out)? {
        Ok(setup) => setup,
        Err(policies) => {
            complain(&policies, out)?;
            return Ok(None);
        }
    };
    let help = format!("make a complete cluster file: `{}`", dump::to_file());
    let (policies, world) = (&setup.policies.set, &setup.world);
    let missing = namespaces::missing(policies, world, &help);
    let missing = missing.into_iter().chain(daemon_sets::missing(policies, world, &help));
    setup.policies.diagnostics.extend(missing.collect::<Vec<_>>());
    complain(&setup.policies, out)?;
    if setup.policies.read_metrics() && setup.world.metrics.is_empty() && !from.cluster.is_empty() {
        let how = "kubectl get --raw /apis/metrics.k8s.io/v1beta1/nodes > metrics.json";
        note(
            out,
            &format!("policies read metrics of the nodes, and the files have none: give them too (`{how}`)"),
        );
    }
    for warning in &setup.warnings {
        note(out, warning);
    }
    Ok(Some(setup))
}

/// Reads everything and prints nothing about it. `Err`: texts and mistakes, nothing can be decided.
pub(crate) fn load(
    from: &From,
    origin: &Origin,
    out: &mut Output,
) -> anyhow::Result<Result<Setup, Box<Policies>>> {
    let mut policies = Policies { size: from.declared.size(), ..Policies::default() };
    policies.read_schemas(&from.kinds.schemas)?;
    policies.read(&from.policies)?;
    let already: Vec<SourceId> = policies.texts.iter().map(|id| file_of(&policies, *id)).collect();
    let pods = policies.add_all(&from.pods)?;
    let Cluster { mut world, namespace, mut others, file, configuration, saved, runs } =
        cluster(from, origin, &already, &mut policies, out)?;
    let of_saved = saved.iter().find_map(|of| KubernetesVersion::parse(&of.kubernetes).ok());
    let version = from.decides_as.version(of_saved.or(runs.as_ref().map(|(version, _)| *version)))?;
    policies.decides = Features::of(version);
    runs.iter().for_each(|runs| say_version(version, runs, out));
    let mut said = std::mem::take(&mut policies.diagnostics);
    let mut not_understood = 0;
    if !pods.is_empty() {
        let (of_pods, unknown) = dry_run::load_pods(&mut policies.sources, &pods, &mut world, &mut others);
        said.extend(of_pods);
        not_understood = unknown;
    }
    policies.schemas.merge(&others.schemas);
    policies.compile();
    #[cfg(feature = "cluster")]
    if let Some(reader) = origin.live(from).filter(|_| origin.reads_objects()) {
        if !policies.kinds().is_empty() {
            world.objects.extend(reader.look_up(&policies.kinds(), out)?);
        }
        if policies.read_metrics() {
            world.metrics.extend(reader.metrics(out)?);
        }
    }
    look_up(&policies.kinds(), &others, file, (&mut world, &mut said));
    said.append(&mut policies.diagnostics);
    policies.diagnostics = said;
    if policies.has_errors() {
        return Ok(Err(Box::new(policies)));
    }
    let (mut config, config_source) = config(from, configuration, &mut policies, out)?;
    from.nodes.iter().for_each(|nodes| config.keep_to(nodes));
    if policies.has_errors() {
        return Ok(Err(Box::new(policies)));
    }
    Ok(match profiles(&config, config_source, &policies)? {
        Ok((profiles, warnings)) => Ok(Setup {
            policies,
            world,
            namespace,
            profiles,
            makers: others.makers(),
            others,
            taken: saved::taken(&saved),
            saved,
            version,
            warnings,
            not_understood,
            config,
            config_source,
        }),
        Err(mistakes) => {
            policies.diagnostics.extend(mistakes);
            Err(Box::new(policies))
        }
    })
}

impl Setup {
    /// This cluster under other policies, which look up no kinds of objects; `None`: mistakes were printed.
    pub(crate) fn under(&self, policies: Policies, out: &mut Output) -> anyhow::Result<Option<Setup>> {
        let mut policies = Policies { decides: self.policies.decides, ..policies };
        // The configuration is a text of its own; a mistake of it was reported before.
        let config_source = policies.sources.add("the configuration", "");
        match profiles(&self.config, config_source, &policies)? {
            Ok((profiles, warnings)) => Ok(Some(Setup {
                policies,
                world: self.world.clone(),
                namespace: self.namespace.clone(),
                profiles,
                makers: self.makers.clone(),
                others: self.others.clone(),
                saved: self.saved.clone(),
                version: self.version,
                taken: self.taken,
                warnings,
                not_understood: self.not_understood,
                config: self.config.clone(),
                config_source,
            })),
            Err(mistakes) => {
                policies.diagnostics.extend(mistakes);
                complain(&policies, out)?;
                Ok(None)
            }
        }
    }
}

/// Says which version counts: that of the running scheduler, or the one of the flag.
fn say_version(version: KubernetesVersion, (theirs, by): &RunsAs, out: &mut Output) {
    if version != *theirs {
        note(
            out,
            &format!(
                "the scheduler of the cluster decides as kube-scheduler {theirs} ({by}), and this as {version}"
            ),
        );
    } else if !out.quiet {
        let _ = writeln!(out.stderr(), "decides as kube-scheduler {version}, the version {by}");
    }
}

/// Adds the objects that policies look up.
fn look_up(
    kinds: &[Arc<ObjectKind>],
    others: &Others,
    file: Option<SourceId>,
    (world, said): (&mut World, &mut Vec<Diagnostic>),
) {
    if kinds.is_empty() {
        return;
    }
    let (found, unusable) = others.looked_up(kinds);
    world.objects.extend(found);
    let Some(file) = file else { return };
    let span = Span::new(file, 0, 0);
    said.extend(unusable.into_iter().map(|why| Diagnostic::new(&codes::BAD_OBJECT, span, why)));
    // What was skipped so far may be looked up.
    said.retain(|known| *known.code != codes::SKIPPED_KINDS || known.span.source != file);
    said.extend(others.skipped(kinds, file));
}

/// The file of a policy text: the text itself, or the one that it is embedded in.
fn file_of(policies: &Policies, text: SourceId) -> SourceId {
    policies.sources.get(text).and_then(Source::host).unwrap_or(text)
}

/// Reads the objects, and the policies among them except those of the files `already` read.
fn cluster(
    from: &From,
    origin: &Origin,
    already: &[SourceId],
    policies: &mut Policies,
    out: &mut Output,
) -> anyhow::Result<Cluster> {
    #[cfg(feature = "cluster")]
    if let Some(reader) = origin.live(from) {
        let asks = if from.config.is_none() { live::Asks::Configuration } else { live::Asks::Version };
        let parts = live::Parts { objects: origin.reads_objects(), asks };
        return live::read(reader, live::wanted(from), parts, policies, out);
    }
    #[cfg(not(feature = "cluster"))]
    let _ = origin;
    let cluster = policies.add_all(&from.cluster)?;
    let loaded = dry_run::load(&mut policies.sources, &cluster);
    policies.diagnostics.extend(loaded.diagnostics);
    let fresh = |id: &SourceId| !from.only_these_policies && !already.contains(&file_of(policies, *id));
    let texts: Vec<SourceId> = loaded.policies.into_iter().filter(fresh).collect();
    policies.texts.extend(texts);
    let file = cluster.first().copied();
    // Kinds of a snapshot are there before its policies are compiled.
    policies.schemas.merge(&loaded.others.schemas);
    let configuration = saved::take(&loaded.saved, policies, out);
    let named = loaded.saved.iter().map(|of| of.namespace.clone()).find(|name| !name.is_empty());
    Ok(Cluster {
        world: loaded.world,
        namespace: named.unwrap_or_else(|| "default".to_owned()),
        others: loaded.others,
        file,
        configuration,
        saved: loaded.saved,
        runs: None,
    })
}

/// Reads the configuration: of the file that is given, else the one that `runs`, else the default. Mistakes of a file are
/// added to the diagnostics.
fn config(
    from: &From,
    runs: Option<(String, String)>,
    policies: &mut Policies,
    out: &mut Output,
) -> anyhow::Result<(SchedulerConfig, SourceId)> {
    let Some(path) = &from.config else {
        if let Some((text, of)) = runs {
            let id = policies.sources.add(format!("the configuration {of}"), text.as_str());
            let read = policies.sources.get(id).map(config::read);
            match read {
                Some((config, said)) if !said.iter().any(Diagnostic::is_error) => return Ok((config, id)),
                _ => note(
                    out,
                    &format!(
                        "the configuration {of} cannot be read by this version: the default one counts; name \
                         another one with `--config FILE`"
                    ),
                ),
            }
        }
        let id = policies.sources.add("the default configuration", "");
        return Ok((SchedulerConfig::default(), id));
    };
    let id = policies.add(path)?;
    let Some(source) = policies.sources.get(id) else { return Ok((SchedulerConfig::default(), id)) };
    let (config, said): (_, Vec<Diagnostic>) = config::read(source);
    policies.diagnostics.extend(said);
    Ok((config, id))
}
