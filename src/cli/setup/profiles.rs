//! The profiles of a configuration with every policy as a plugin, and policies with the arguments
//! that a profile gives them.

use super::Setup;
use crate::cli::input::Policies;
use crate::config::SchedulerConfig;
use crate::diag::{Diagnostic, SourceId, SourceMap, Span};
use crate::explain::except::{Exception, Terms};
use crate::framework::{ArgsError, At, Exempted, Features, Field, Framework, Registry, Tree, TreeValue};
use crate::lang::Given;
use crate::lang::analysis::cost::Size;
use crate::lang::check::Argument;
use crate::lang::exceptions::Outside;
use crate::lang::policy_set::{CompiledPolicy, PolicySet};
use crate::lang::schemas::Schemas;
use crate::model::{PodInfo, Time};
use crate::plugins::policy::{ExemptPods, PolicyPlugin};
use crate::scheduler::Profiles;
use anyhow::bail;
use std::sync::Arc;

impl Setup {
    /// The profiles with the same policies, made for another version of Kubernetes.
    pub(crate) fn as_decided_by(&self, decides: Features) -> anyhow::Result<Arc<Profiles>> {
        let registry = registry(&self.policies, decides)?;
        match self.config.frameworks(&registry, self.config_source) {
            Ok(made) => Ok(Arc::new(Profiles { frameworks: made.frameworks, revision: 1 })),
            Err(said) => {
                let said: Vec<String> = said.into_iter().map(|said| said.message).collect();
                bail!("the configuration is not one of that version: {}", said.join("; "))
            }
        }
    }

    /// The profile that serves a pod, where some policies or rules have an exception for it. `None` when a policy does
    /// not compile with it.
    pub(crate) fn excepting(&self, pod: &PodInfo, from: &[Exempted], now: Time) -> Option<Arc<Framework>> {
        let terms = Terms::usual(pod, now);
        let mut sources = self.policies.sources.clone();
        let mut changed = Vec::new();
        for compiled in self.policies.set.iter() {
            let Some(from) = from.iter().find(|from| from.policy.as_str() == compiled.name()) else {
                changed.push(compiled.clone());
                continue;
            };
            let source = self.policies.sources.source(compiled.policy.span)?;
            let exception = Exception { from, pod, terms: &terms };
            let (text, _) = exception.written_into(source, &compiled.policy)?;
            let id = sources.add_like(source, text);
            let (made, said) = self.policies.compiled(sources.get(id)?);
            if said.iter().any(Diagnostic::is_error) {
                return None;
            }
            let policy = made.into_iter().find(|policy| *policy.name == *compiled.name())?;
            changed.push(Arc::new(CompiledPolicy::new(policy, &sources)));
        }
        let (size, schemas) = (self.policies.size, self.policies.schemas.clone());
        let exceptions = self.policies.exceptions.clone();
        let set = PolicySet::new(changed);
        let policies = Policies { sources, set, size, schemas, exceptions, ..Policies::default() };
        let registry = registry(&policies, self.policies.decides).ok()?;
        let made = self.config.frameworks(&registry, self.config_source).ok()?;
        made.frameworks.into_iter().find(|framework| framework.scheduler_name == pod.scheduler_name)
    }
}

/// Profiles with the warnings about them, or mistakes of the configuration.
type Made = Result<(Arc<Profiles>, Vec<String>), Vec<Diagnostic>>;

/// Makes the profiles of the configuration, with every policy as a plugin. `policies` keeps them without the arguments of
/// profiles, of which each has its own.
pub(super) fn profiles(
    config: &SchedulerConfig,
    source: SourceId,
    policies: &Policies,
) -> anyhow::Result<Made> {
    let registry = registry(policies, policies.decides)?;
    match config.frameworks(&registry, source) {
        Ok(frameworks) => {
            let warnings: Vec<String> = not_asked(config).into_iter().collect();
            let profiles = Profiles { frameworks: frameworks.frameworks, revision: 1 };
            Ok(Ok((Arc::new(profiles), warnings)))
        }
        Err(said) => Ok(Err(said)),
    }
}

/// Extenders get whole pods and may count the calls, so only the scheduler calls them.
fn not_asked(config: &SchedulerConfig) -> Option<String> {
    let urls: Vec<String> =
        config.extenders.iter().map(|config| format!("`{}`", config.extender.url)).collect();
    let urls = Some(urls.join(", ")).filter(|urls| !urls.is_empty())?;
    Some(format!(
        "extenders are not called: {urls}; the scheduler may refuse nodes that fit here, or choose others"
    ))
}

/// The in-tree plugins and the policies.
fn registry(policies: &Policies, decides: Features) -> anyhow::Result<Registry> {
    let mut registry = crate::plugins::registry_with(decides);
    let (sources, schemas) = (Arc::new(policies.sources.clone()), Arc::new(policies.schemas.clone()));
    let exceptions = &policies.exceptions;
    for compiled in policies.set.iter() {
        let (sources, schemas, size) = (sources.clone(), schemas.clone(), policies.size);
        let exceptions = exceptions.clone();
        let compiled = compiled.clone();
        let (name, sorts) = (compiled.name().to_owned(), compiled.policy.orders_queue());
        registry.add_policy(&name, sorts, move |args| {
            let compiled = compiled_with(&compiled, &sources, &schemas, &exceptions, size, args)?;
            Ok(Arc::new(PolicyPlugin::new(compiled, ExemptPods::default())))
        })?;
    }
    Ok(registry)
}

/// The plugin of a policy with the arguments of a profile.
#[cfg(feature = "cluster")]
pub(crate) fn with_arguments(
    policy: &crate::cluster::policies::compiled::Policy,
    size: Size,
    exempt: &ExemptPods,
    args: &Tree,
) -> Result<Arc<dyn crate::framework::Plugin>, Vec<ArgsError>> {
    let compiled =
        compiled_with(&policy.compiled, &policy.sources, &policy.schemas, &policy.exceptions, size, args)?;
    let plugin = PolicyPlugin::new(compiled, exempt.clone());
    Ok(Arc::new(if policy.suspended { plugin.suspended() } else { plugin }))
}

/// A policy compiled again with the arguments of a profile.
fn compiled_with(
    compiled: &Arc<CompiledPolicy>,
    sources: &SourceMap,
    schemas: &Schemas,
    exceptions: &Outside,
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
    let given =
        Given { size, schemas, arguments: &given, sources: Some(sources), exceptions: Some(exceptions) };
    let (mut policies, diagnostics) = crate::lang::compile_given(source, given);
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

/// Stands for the configuration in places of arguments.
const NO_SOURCE: SourceId = SourceId(u32::MAX);
