//! Reads the fields of a configuration strictly: unknown and repeated fields are errors, each with
//! its place. `validate` checks conditions between fields.

use super::{SchedulerConfig, diagnostic, extenders, span, validate};
use bayplan_diag::{Diagnostic, Source, codes};
use bayplan_framework::{ArgsError, Field, Fields, Named, PluginConfig, Point, Profile, Selection, Tree};
use bayplan_model::{Duration, Symbol};
use bayplan_yaml::{self as yaml, Booleans};

const API_VERSION: &str = "kubescheduler.config.k8s.io/v1";
const KIND: &str = "KubeSchedulerConfiguration";

/// Reads a configuration: the fields that could be read, defaults for the rest, and every mistake.
/// Do not use the configuration when one of them is an error.
pub fn read(source: &Source) -> (SchedulerConfig, Vec<Diagnostic>) {
    let root = match yaml::document(source.text(), Booleans::Yaml11) {
        Ok(root) => root,
        Err(error) => return (SchedulerConfig::default(), vec![error.diagnostic(source.id())]),
    };
    let mut errors = Vec::new();
    let mut complaints = Vec::new();
    let config = top(&Field::root(&root), &mut errors, &mut |place, text: String| {
        complaints.push(Diagnostic::new(&codes::NOT_BUILT, span(source.id(), place), text));
    });
    complaints.extend(errors.into_iter().map(|error| diagnostic(source.id(), error)));
    (config, complaints)
}

type Errors = Vec<ArgsError>;
type NotBuilt<'a> = dyn FnMut(bayplan_framework::At, String) + 'a;

fn top(root: &Field, errors: &mut Errors, not_built: &mut NotBuilt) -> SchedulerConfig {
    let known = [
        "apiVersion",
        "kind",
        "parallelism",
        "leaderElection",
        "clientConnection",
        "enableProfiling",
        "enableContentionProfiling",
        "percentageOfNodesToScore",
        "podInitialBackoffSeconds",
        "podMaxBackoffSeconds",
        "delayCacheUntilActive",
        "profiles",
        "extenders",
    ];
    let fields = root.object(&known, errors);
    for (name, wanted) in [("apiVersion", API_VERSION), ("kind", KIND)] {
        match fields.get(name) {
            None => errors.push(
                root.error(format!("`{name}` is missing")).with_help(format!("write `{name}: {wanted}`")),
            ),
            Some(field) => {
                if let Some(text) = field.string(errors).filter(|text| *text != wanted) {
                    let error = field.error(format!("`{text}` is not supported"));
                    errors.push(error.with_help(format!("write `{wanted}`")));
                }
            }
        }
    }
    let mut config = SchedulerConfig::default();
    set(&mut config.parallelism, fields.get("parallelism"), Field::int, errors);
    if let Some(field) = fields.get("leaderElection") {
        leader_election(&field, &mut config, errors);
    }
    if let Some(field) = fields.get("clientConnection") {
        let known = ["kubeconfig", "acceptContentTypes", "contentType", "qps", "burst"];
        let fields = field.object(&known, errors);
        let client = &mut config.client_connection;
        set(&mut client.kubeconfig, fields.get("kubeconfig"), owned, errors);
        set(&mut client.qps, fields.get("qps"), Field::number, errors);
        set(&mut client.burst, fields.get("burst"), Field::int, errors);
        // As upstream, 0 is a field that is not set.
        let default = SchedulerConfig::default().client_connection;
        if client.qps == 0.0 {
            client.qps = default.qps;
        }
        if client.burst == 0 {
            client.burst = default.burst;
        }
        set(&mut client.accept_content_types, fields.get("acceptContentTypes"), owned, errors);
        set(&mut client.content_type, fields.get("contentType"), owned, errors);
    }
    set(&mut config.enable_profiling, fields.get("enableProfiling"), Field::bool, errors);
    set(
        &mut config.enable_contention_profiling,
        fields.get("enableContentionProfiling"),
        Field::bool,
        errors,
    );
    config.percentage_of_nodes_to_score = percentage(&fields, errors);
    let seconds = |field: &Field, errors: &mut Errors| field.int(errors).map(Duration::from_seconds);
    set(&mut config.pod_initial_backoff, fields.get("podInitialBackoffSeconds"), seconds, errors);
    set(&mut config.pod_max_backoff, fields.get("podMaxBackoffSeconds"), seconds, errors);
    set(&mut config.delay_cache_until_active, fields.get("delayCacheUntilActive"), Field::bool, errors);
    if let Some(list) = fields.get("extenders") {
        config.extenders = extenders::read(&list, errors);
    }
    if let Some(list) = fields.get("profiles") {
        let profiles = list.list(errors);
        let only = profiles.len() == 1;
        let read = profiles.iter().map(|field| profile(field, only, errors, not_built)).collect::<Vec<_>>();
        if read.is_empty() {
            errors.push(list.error("at least one profile is required"));
        } else {
            config.profiles = read;
        }
    }
    validate::check(&config, &fields, errors);
    config
}

/// Reads a field; `place` keeps its default when the field is missing or wrong.
pub(super) fn set<'t, T>(
    place: &mut T,
    field: Option<Field<'t>>,
    read: impl Fn(&Field<'t>, &mut Errors) -> Option<T>,
    errors: &mut Errors,
) {
    if let Some(value) = field.and_then(|field| read(&field, errors)) {
        *place = value;
    }
}

pub(super) fn owned(field: &Field, errors: &mut Errors) -> Option<String> {
    field.string(errors).map(str::to_owned)
}

fn leader_election(field: &Field, config: &mut SchedulerConfig, errors: &mut Errors) {
    let known = [
        "leaderElect",
        "leaseDuration",
        "renewDeadline",
        "retryPeriod",
        "resourceLock",
        "resourceName",
        "resourceNamespace",
    ];
    let fields = field.object(&known, errors);
    let election = &mut config.leader_election;
    set(&mut election.leader_elect, fields.get("leaderElect"), Field::bool, errors);
    set(&mut election.lease_duration, fields.get("leaseDuration"), duration, errors);
    set(&mut election.renew_deadline, fields.get("renewDeadline"), duration, errors);
    set(&mut election.retry_period, fields.get("retryPeriod"), duration, errors);
    set(&mut election.resource_name, fields.get("resourceName"), owned, errors);
    set(&mut election.resource_namespace, fields.get("resourceNamespace"), owned, errors);
    if let Some(lock) = fields.get("resourceLock")
        && lock.string(errors).is_some_and(|lock| lock != "leases")
    {
        errors.push(lock.error("resourceLock value must be \"leases\""));
    }
}

/// A duration as Go writes it (`15s`, `1m30s`, `1.5h`).
pub(super) fn duration(field: &Field, errors: &mut Errors) -> Option<Duration> {
    let text = field.string(errors)?;
    match Duration::parse(text) {
        Ok(duration) => Some(duration),
        Err(error) => {
            errors.push(field.error(format!("`{text}` is not a duration")).with_help(error.to_string()));
            None
        }
    }
}

fn percentage(fields: &Fields, errors: &mut Errors) -> Option<i32> {
    let field = fields.get("percentageOfNodesToScore")?;
    let value = field.int(errors)?;
    if !(0..=100).contains(&value) {
        errors.push(field.error("not in valid range [0-100]"));
    }
    i32::try_from(value).ok()
}

fn profile(field: &Field, only: bool, errors: &mut Errors, not_built: &mut NotBuilt) -> Profile {
    let known = ["schedulerName", "percentageOfNodesToScore", "plugins", "pluginConfig"];
    let fields = field.object(&known, errors);
    let name = fields.get("schedulerName").and_then(|name| name.string(errors)).unwrap_or_default();
    let name = if name.is_empty() && only { super::DEFAULT_SCHEDULER_NAME } else { name };
    if name.is_empty() {
        errors.push(fields.place("schedulerName").error("a profile needs a name"));
    }
    let mut profile = Profile { scheduler_name: Symbol::new(name), at: field.tree.at, ..Profile::default() };
    profile.percentage_of_nodes_to_score = percentage(&fields, errors);
    if let Some(plugins) = fields.get("plugins") {
        let unbuilt = super::UNBUILT_POINTS;
        let mut known: Vec<&str> = Point::ALL.iter().map(|point| point.field()).collect();
        known.push("multiPoint");
        known.extend(unbuilt);
        let lists = plugins.object(&known, errors);
        for name in unbuilt {
            // kube-scheduler writes empty lists: they enable nothing.
            let asked = lists.get(name).map(|list| selection(&list, errors)).unwrap_or_default();
            for plugin in asked.enabled {
                let message = format!("extension point `{name}` is not built in this release");
                not_built(plugin.at, message);
            }
        }
        if let Some(list) = lists.get("multiPoint") {
            profile.multi_point = selection(&list, errors);
        }
        for point in Point::ALL {
            if let Some(list) = lists.get(point.field()) {
                profile.points.push((point, selection(&list, errors)));
            }
        }
    }
    for entry in fields.get("pluginConfig").map(|list| list.list(errors)).unwrap_or_default() {
        let fields = entry.object(&["name", "args"], errors);
        let place = fields.place("name");
        let name = fields.get("name").and_then(|name| name.string(errors)).unwrap_or_default();
        if profile.plugin_config.iter().any(|known| known.name == name) {
            errors.push(place.error(format!("arguments of `{name}` are given twice")));
            continue;
        }
        let args = fields.get("args").map(|args| args.tree.clone());
        if let Some(args) = &args {
            validate::args_header(name, &Field { tree: args, path: format!("{}.args", entry.path) }, errors);
        }
        let args = args.unwrap_or_else(Tree::default);
        profile.plugin_config.push(PluginConfig { name: name.to_owned(), at: place.tree.at, args });
    }
    profile
}

fn selection(field: &Field, errors: &mut Errors) -> Selection {
    let fields = field.object(&["enabled", "disabled"], errors);
    let mut read = |list: &str| -> Vec<Named> {
        let list = fields.get(list).map(|list| list.list(errors)).unwrap_or_default();
        let mut plugins = Vec::new();
        for entry in list {
            let fields = entry.object(&["name", "weight"], errors);
            let place = fields.place("name");
            let name = fields.get("name").and_then(|name| name.string(errors)).unwrap_or_default();
            if name.is_empty() {
                errors.push(place.error("a plugin needs a name"));
                continue;
            }
            let mut weight = 0;
            set(&mut weight, fields.get("weight"), Field::int, errors);
            if !(0..=i64::from(i32::MAX)).contains(&weight) {
                errors.push(fields.place("weight").error("a weight must be a positive number of 32 bits"));
            }
            plugins.push(Named { name: name.to_owned(), weight, at: place.tree.at });
        }
        plugins
    };
    let enabled = read("enabled");
    let disabled = read("disabled");
    Selection { enabled, disabled }
}
