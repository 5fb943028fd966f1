//! `extenders` of a configuration: reading them, the conditions between their fields with upstream's messages, and
//! writing them.
//!
//! Source: `pkg/scheduler/apis/config/validation/validation.go` (`validateExtenders`), `pkg/scheduler/scheduler.go`
//! (`buildExtenders`), `pkg/scheduler/extender.go` (`NewHTTPExtender`).

use super::SchedulerConfig;
use super::read::{duration, owned, set};
use bayplan_framework::{
    ArgsError, At, Extender, Extenders, Field, PluginConfig, Profile, Tree, TreeEntry, TreeValue,
};
use bayplan_model::{Duration, Symbol, is_extended, key_problem};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// How long to wait for an extender that sets no `httpTimeout`.
const DEFAULT_TIMEOUT: Duration = Duration::from_seconds(5);

/// A resource that an extender manages.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ManagedResource {
    /// The name of an extended resource.
    pub name: String,
    /// Whether NodeResourcesFit leaves it to the extender.
    pub ignored_by_scheduler: bool,
}

/// How an extender is reached by HTTPS. Data takes precedence over the file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ExtenderTls {
    /// Its certificate is not verified.
    pub insecure: bool,
    /// The name in its certificate, if it is not that of the URL.
    pub server_name: String,
    /// Our certificate: a file in PEM.
    pub cert_file: String,
    /// Our key: a file in PEM.
    pub key_file: String,
    /// The certificates that it is verified with: a file in PEM.
    pub ca_file: String,
    /// Our certificate: PEM in base64.
    pub cert_data: String,
    /// Our key: PEM in base64.
    pub key_data: String,
    /// The certificates that it is verified with: PEM in base64.
    pub ca_data: String,
}

/// A configured extender.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ExtenderConfig {
    /// What the scheduler needs to know of it. The timeout is as written.
    pub extender: Extender,
    /// `enableHTTPS`: without a CA its certificate is not verified.
    pub enable_https: bool,
    /// `tlsConfig`.
    pub tls: Option<ExtenderTls>,
    /// `managedResources`.
    pub managed: Vec<ManagedResource>,
}

impl ExtenderConfig {
    /// The extender with its timeout in force.
    pub fn in_force(&self) -> Extender {
        let timeout = Some(self.extender.timeout).filter(|given| *given != Duration::ZERO);
        Extender { timeout: timeout.unwrap_or(DEFAULT_TIMEOUT), ..self.extender.clone() }
    }
}

impl SchedulerConfig {
    /// The extenders in the order of their calls: those that are ignorable last.
    pub fn extenders_in_order(&self) -> Vec<ExtenderConfig> {
        let mut all = self.extenders.clone();
        all.sort_by_key(|config| config.extender.ignorable);
        all
    }

    /// The extenders for frameworks. Frameworks that follow each other share them.
    pub fn shared_extenders(&self) -> Arc<Extenders> {
        Arc::new(Extenders::new(self.extenders.iter().map(ExtenderConfig::in_force).collect()))
    }
}

/// Reads `extenders`.
pub(super) fn read(list: &Field, errors: &mut Vec<ArgsError>) -> Vec<ExtenderConfig> {
    let all: Vec<ExtenderConfig> = list.list(errors).iter().map(|field| extender(field, errors)).collect();
    let binders = all.iter().filter(|config| config.extender.binds()).count();
    if binders > 1 {
        let text =
            format!("found {binders} extenders implementing bind: only one extender can implement bind");
        errors.push(list.error(text));
    }
    let mut named: Vec<&str> = Vec::new();
    for (at, config) in all.iter().enumerate() {
        for (place, resource) in config.managed.iter().enumerate() {
            if named.contains(&resource.name.as_str()) {
                errors.push(ArgsError {
                    path: format!("{}[{at}].managedResources[{place}].name", list.path),
                    at: list.tree.at,
                    message: format!("`{}`: duplicate extender managed resource name", resource.name),
                    help: None,
                });
            }
            named.push(&resource.name);
        }
    }
    all
}

fn extender(field: &Field, errors: &mut Vec<ArgsError>) -> ExtenderConfig {
    let known = [
        "urlPrefix",
        "filterVerb",
        "preemptVerb",
        "prioritizeVerb",
        "weight",
        "bindVerb",
        "enableHTTPS",
        "tlsConfig",
        "httpTimeout",
        "nodeCacheCapable",
        "managedResources",
        "ignorable",
    ];
    let fields = field.object(&known, errors);
    let mut config = ExtenderConfig::default();
    let of = &mut config.extender;
    for (place, name) in [
        (&mut of.url, "urlPrefix"),
        (&mut of.filter_verb, "filterVerb"),
        (&mut of.preempt_verb, "preemptVerb"),
        (&mut of.prioritize_verb, "prioritizeVerb"),
        (&mut of.bind_verb, "bindVerb"),
    ] {
        set(place, fields.get(name), owned, errors);
    }
    set(&mut of.weight, fields.get("weight"), Field::int, errors);
    set(&mut of.timeout, fields.get("httpTimeout"), duration, errors);
    set(&mut of.node_cache_capable, fields.get("nodeCacheCapable"), Field::bool, errors);
    set(&mut of.ignorable, fields.get("ignorable"), Field::bool, errors);
    set(&mut config.enable_https, fields.get("enableHTTPS"), Field::bool, errors);
    config.tls = fields.get("tlsConfig").map(|field| tls(&field, errors));
    config.managed = match fields.get("managedResources") {
        Some(list) => list.list(errors).iter().map(|field| managed(field, errors)).collect(),
        None => Vec::new(),
    };
    config.extender.managed = config.managed.iter().map(|resource| Symbol::new(&resource.name)).collect();
    if config.extender.prioritizes() && config.extender.weight <= 0 {
        let weight = config.extender.weight;
        let text = format!("`{weight}`: must have a positive weight applied to it");
        errors.push(fields.place("weight").error(text).with_help("write a whole number greater than 0"));
    }
    if config.extender.timeout < Duration::ZERO {
        errors.push(fields.place("httpTimeout").error("must not be negative"));
    }
    check_url(&config, &fields.place("urlPrefix"), errors);
    config
}

/// A URL that cannot be called would only show when the first pod comes.
fn check_url(config: &ExtenderConfig, place: &Field, errors: &mut Vec<ArgsError>) {
    let url = &config.extender.url;
    if !url.starts_with("http://") && !url.starts_with("https://") {
        let help = "write the URL of the extender, such as `http://localhost:8888/scheduler`";
        errors
            .push(place.error(format!("`{url}` is not a URL with `http://` or `https://`")).with_help(help));
    }
}

fn tls(field: &Field, errors: &mut Vec<ArgsError>) -> ExtenderTls {
    let known = ["insecure", "serverName", "certFile", "keyFile", "caFile", "certData", "keyData", "caData"];
    let fields = field.object(&known, errors);
    let mut tls = ExtenderTls::default();
    set(&mut tls.insecure, fields.get("insecure"), Field::bool, errors);
    for (place, name) in [
        (&mut tls.server_name, "serverName"),
        (&mut tls.cert_file, "certFile"),
        (&mut tls.key_file, "keyFile"),
        (&mut tls.ca_file, "caFile"),
        (&mut tls.cert_data, "certData"),
        (&mut tls.key_data, "keyData"),
        (&mut tls.ca_data, "caData"),
    ] {
        set(place, fields.get(name), owned, errors);
    }
    let given = |data: &str, file: &str| !data.is_empty() || !file.is_empty();
    if tls.insecure && given(&tls.ca_data, &tls.ca_file) {
        let text = "specifying a root certificates file with the insecure flag is not allowed";
        errors.push(field.error(text).with_help("leave out `insecure`, or the root certificates"));
    }
    if given(&tls.cert_data, &tls.cert_file) != given(&tls.key_data, &tls.key_file) {
        errors.push(field.error("a certificate needs its key, and a key its certificate"));
    }
    tls
}

fn managed(field: &Field, errors: &mut Vec<ArgsError>) -> ManagedResource {
    let fields = field.object(&["name", "ignoredByScheduler"], errors);
    let mut resource = ManagedResource::default();
    set(&mut resource.name, fields.get("name"), owned, errors);
    set(&mut resource.ignored_by_scheduler, fields.get("ignoredByScheduler"), Field::bool, errors);
    let (place, name) = (fields.place("name"), &resource.name);
    match key_problem(name) {
        Some(problem) => errors.push(place.error(format!("`{name}`: {problem}"))),
        None if !is_extended(name) => {
            let error = place.error(format!("`{name}`: is an invalid extended resource name"));
            errors.push(
                error.with_help("write a name with the domain of its vendor, such as `example.com/gpu`"),
            );
        }
        None => {}
    }
    resource
}

/// The name of the plugin whose arguments name ignored resources.
const FIT: &str = "NodeResourcesFit";

/// Replaces `ignoredResources` of NodeResourcesFit by the resources that extenders manage and the scheduler ignores, as
/// upstream does: what the arguments name is lost.
pub(super) fn ignore_managed(profile: &mut Profile, extenders: &[ExtenderConfig]) {
    let managed = extenders.iter().flat_map(|config| &config.managed);
    let ignored: Vec<Tree> = managed
        .filter(|resource| resource.ignored_by_scheduler)
        .map(|resource| Tree { at: At::default(), value: TreeValue::String(resource.name.clone()) })
        .collect();
    if ignored.is_empty() {
        return;
    }
    let known = profile.plugin_config.iter().position(|config| config.name == FIT);
    let at = known.unwrap_or_else(|| {
        let (name, at) = (FIT.to_owned(), profile.at);
        profile.plugin_config.push(PluginConfig { name, at, args: Tree::default() });
        profile.plugin_config.len() - 1
    });
    let args = &mut profile.plugin_config[at].args;
    if !matches!(args.value, TreeValue::Map(_)) {
        args.value = TreeValue::Map(Vec::new());
    }
    let value = Tree { at: args.at, value: TreeValue::List(ignored) };
    if let TreeValue::Map(entries) = &mut args.value {
        entries.retain(|entry| entry.key != "ignoredResources");
        entries.push(TreeEntry { key: String::from("ignoredResources"), key_at: value.at, value });
    }
}

/// An extender as the file names it. Fields without a value are left out, as upstream does.
pub(super) fn value(of: &ExtenderConfig) -> Value {
    let extender = &of.extender;
    let mut all = Map::new();
    let mut put = |name: &str, value: Value| {
        if !matches!(&value, Value::Null | Value::Bool(false)) && value != json!(0) && value != json!("") {
            all.insert(name.to_owned(), value);
        }
    };
    put("urlPrefix", json!(extender.url));
    put("filterVerb", json!(extender.filter_verb));
    put("preemptVerb", json!(extender.preempt_verb));
    put("prioritizeVerb", json!(extender.prioritize_verb));
    put("weight", json!(extender.weight));
    put("bindVerb", json!(extender.bind_verb));
    put("enableHTTPS", json!(of.enable_https));
    put("tlsConfig", of.tls.as_ref().map_or(Value::Null, tls_value));
    put("httpTimeout", json!(super::write::seconds(extender.timeout)));
    put("nodeCacheCapable", json!(extender.node_cache_capable));
    if !of.managed.is_empty() {
        let resource = |of: &ManagedResource| match of.ignored_by_scheduler {
            true => json!({"name": of.name, "ignoredByScheduler": true}),
            false => json!({"name": of.name}),
        };
        put("managedResources", of.managed.iter().map(resource).collect());
    }
    put("ignorable", json!(extender.ignorable));
    Value::Object(all)
}

fn tls_value(tls: &ExtenderTls) -> Value {
    let mut all = Map::new();
    if tls.insecure {
        all.insert(String::from("insecure"), json!(true));
    }
    for (name, text) in [
        ("serverName", &tls.server_name),
        ("certFile", &tls.cert_file),
        ("keyFile", &tls.key_file),
        ("caFile", &tls.ca_file),
        ("certData", &tls.cert_data),
        ("keyData", &tls.key_data),
        ("caData", &tls.ca_data),
    ] {
        if !text.is_empty() {
            all.insert(name.to_owned(), json!(text));
        }
    }
    Value::Object(all)
}

/// The configuration as others may see it: without keys.
pub(super) fn without_keys(config: &mut Value) {
    let extenders = config.get_mut("extenders").and_then(Value::as_array_mut);
    for extender in extenders.into_iter().flatten() {
        if let Some(key) = extender.get_mut("tlsConfig").and_then(|tls| tls.get_mut("keyData")) {
            *key = json!("REDACTED");
        }
    }
}
