//! `extenders` of a configuration: what is read, refused and written.

use bayplan::config::{self, SchedulerConfig};
use bayplan::diag::{SourceId, SourceMap};
use bayplan::engine::{Decider, Plain};
use bayplan::framework::{Cycle, Silent};
use bayplan::model::{Change, Duration, Snapshot, Time};
use bayplan::plugins;
use bayplan::testing::{node, pod};

const HEADER: &str = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

/// The configuration, or its mistakes with the text that each is at.
fn read(text: &str) -> Result<SchedulerConfig, Vec<String>> {
    let mut sources = SourceMap::new();
    let id = sources.add("config.yaml", format!("{HEADER}{text}"));
    let (config, said) = config::read(sources.get(id).unwrap());
    let said: Vec<String> =
        said.iter().map(|one| format!("{}: {}", sources.text(one.span), one.message)).collect();
    if said.is_empty() { Ok(config) } else { Err(said) }
}

/// One extender with these fields.
fn says(fields: &str, words: &[&str]) {
    let all = read(&format!("extenders: [{{urlPrefix: 'http://x', {fields}}}]")).err().unwrap_or_default();
    let fits = |said: &String| words.iter().all(|word| said.contains(word));
    assert!(all.iter().any(fits), "{fields} should say {words:?}, says {all:#?}");
}

const ALL: &str = "
extenders:
- urlPrefix: https://example.com:8443/scheduler/
  ignorable: true
  filterVerb: filter
  preemptVerb: preempt
  prioritizeVerb: prioritize
  bindVerb: bind
  weight: 5
  enableHTTPS: true
  httpTimeout: 1m30s
  nodeCacheCapable: true
  tlsConfig: {serverName: other, certFile: c.pem, keyFile: k.pem, caData: Y2E=}
  managedResources: [{name: example.com/gpu, ignoredByScheduler: true}, {name: example.com/fpga}]
- urlPrefix: http://127.0.0.1:1
";

#[test]
fn every_field_is_read_and_written_as_it_was() {
    let config = read(ALL).unwrap();
    let text = config::yaml(&config).unwrap();
    let again = read(text.split_once("KubeSchedulerConfiguration\n").unwrap().1).unwrap();
    assert_eq!(again.extenders, config.extenders, "{text}");
    let first = &config.extenders[0];
    assert_eq!(first.extender.timeout, Duration::from_seconds(90));
    assert!(first.managed[0].ignored_by_scheduler && !first.managed[1].ignored_by_scheduler);
    let tls = first.tls.as_ref().unwrap();
    assert_eq!(
        (tls.server_name.as_str(), tls.key_file.as_str(), tls.ca_data.as_str()),
        ("other", "k.pem", "Y2E=")
    );
    let second = &config.extenders[1];
    assert_eq!(second.extender.timeout, Duration::ZERO);
    assert_eq!(second.in_force().timeout, Duration::from_seconds(5));
    // The ignorable one is asked last.
    let order: Vec<String> =
        config.extenders_in_order().iter().map(|config| config.extender.url.clone()).collect();
    assert_eq!(order, ["http://127.0.0.1:1", "https://example.com:8443/scheduler/"]);
    assert_eq!(config.shared_extenders().all()[1].url, order[1]);
}

#[test]
fn a_key_is_written_to_files_and_shown_to_nobody() {
    let with_key = "extenders: [{urlPrefix: 'https://x', tlsConfig: {certData: Yw==, keyData: c2VjcmV0}}]";
    let config = read(with_key).unwrap();
    assert!(config::yaml(&config).unwrap().contains("c2VjcmV0"));
    let shown = config::shown(&config).to_string();
    assert!(!shown.contains("c2VjcmV0") && shown.contains("Yw=="), "{shown}");
}

#[test]
fn mistakes_are_named_at_their_place() {
    says("weigth: 3", &["weigth: ", "unknown field `weigth`"]);
    says("prioritizeVerb: p", &["must have a positive weight applied to it"]);
    says("prioritizeVerb: p, weight: -2", &["-2: ", "`-2`: must have a positive weight applied to it"]);
    says("httpTimeout: soon", &["`soon` is not a duration"]);
    says("httpTimeout: -1s", &["must not be negative"]);
    says("tlsConfig: {insecure: true, caFile: ca.pem}", &["root certificates file with the insecure flag"]);
    says("tlsConfig: {certFile: c.pem}", &["a certificate needs its key"]);
    says("tlsConfig: {certificate: c.pem}", &["unknown field `certificate`"]);
    says("managedResources: [{name: cpu}]", &["`cpu`: is an invalid extended resource name"]);
    says("managedResources: [{name: kubernetes.io/x}]", &["is an invalid extended resource name"]);
    says("managedResources: [{name: 'a b'}]", &["`a b`: name part must consist of"]);
    says("managedResources: [{}]", &["name part must be non-empty"]);
    let twice = "managedResources: [{name: example.com/a}, {name: example.com/a}]";
    says(twice, &["duplicate extender managed resource name"]);
    let said = read("extenders: [{urlPrefix: here}]").unwrap_err();
    assert!(said[0].contains("`here` is not a URL"), "{said:?}");
    let said = read("extenders: [{filterVerb: f}]").unwrap_err();
    assert!(said[0].contains("is not a URL"), "{said:?}");
    let binders = "extenders: [{urlPrefix: 'http://a', bindVerb: b}, {urlPrefix: 'http://b', bindVerb: b}]";
    let said = read(binders).unwrap_err();
    let text = "found 2 extenders implementing bind: only one extender can implement bind";
    assert!(said[0].ends_with(text), "{said:?}");
    assert!(read("extenders: []").unwrap().extenders.is_empty());
    assert!(read("extenders: null").unwrap().extenders.is_empty());
}

#[test]
fn resources_that_extenders_manage_replace_those_that_the_plugin_ignores() {
    let fits = |text: &str, resource: &str| {
        let config = read(text).unwrap();
        let made =
            config.frameworks(&plugins::registry(), SourceId(0)).unwrap_or_else(|all| panic!("{all:?}"));
        let mut snapshot = Snapshot::default();
        for (key, index) in made.frameworks[0].plugins().iter().flat_map(|plugin| plugin.indexes()) {
            snapshot.add_index(key, index);
        }
        snapshot.apply(Change::NodeUpserted { node: node("n1").cpu("1").build() });
        let pod = pod("p").request(resource, "1").limit(resource, "1").build();
        let mut cycle = Cycle::new(pod, made.frameworks[0].clone(), Time(0));
        Plain::default().filter(&mut cycle, &snapshot, &mut Silent).is_ok_and(|left| !left.nodes.is_empty())
    };
    let managed = "extenders: [{urlPrefix: 'http://x', managedResources: [{name: example.com/gpu, \
                   ignoredByScheduler: true}, {name: example.com/fpga}]}]\n";
    assert!(fits(managed, "example.com/gpu"));
    assert!(!fits(managed, "example.com/fpga"));
    let args =
        "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {ignoredResources: [example.com/own]}}]}]";
    assert!(fits(args, "example.com/own"));
    // As upstream: what the arguments name is lost.
    assert!(!fits(&format!("{managed}{args}"), "example.com/own"));
    assert!(fits(&format!("{managed}{args}"), "example.com/gpu"));
}
