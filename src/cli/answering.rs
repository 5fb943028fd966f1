//! The options of a program that answers questions about policies and schedules nothing: `extender` and `webhook`.

use super::live;
use super::run::on_invalid;
use super::run_args::{ApiServerArgs, PolicyArgs};
use crate::cluster::api::client::Target;
use crate::cluster::policies::account::PolicyAccount;
use crate::cluster::policies::source;
use crate::cluster::port::access;
use crate::cluster::port::pages::Started;
use crate::cluster::port::zpages::ZPages;
use crate::cluster::process::leader;
use crate::cluster::process::run::{MakeProfiles, Options};
use crate::model::KubernetesVersion;
use std::time::Duration;

/// How long the user of a token, and what a user may read, are remembered.
const REVIEWED: Duration = Duration::from_secs(10);

/// What the flags about the API server and the policies mean. It leads without a lease and writes nothing; what it answers
/// is for the caller to add.
pub(super) fn options(
    user_agent: &'static str,
    api_server: &ApiServerArgs,
    policies: &PolicyArgs,
    version: KubernetesVersion,
    profiles: MakeProfiles,
) -> anyhow::Result<Options> {
    let named = &policies.namespaces;
    let namespaces =
        if named.is_empty() && policies.files.is_some() { Vec::new() } else { live::namespaces(named) };
    Ok(Options {
        target: Target {
            kubeconfig: api_server.kubeconfig.clone(),
            master: api_server.master.clone(),
            user_agent,
            ..Target::default()
        },
        qps: api_server.kube_api_qps.filter(|qps| *qps != 0.0).unwrap_or(-1.0),
        burst: api_server.kube_api_burst.unwrap_or(100),
        election: None,
        serve: None,
        authentication: None,
        authorization: None,
        review_ttl: access::CacheTtl { allowed: REVIEWED, refused: REVIEWED },
        delay_cache_until_active: false,
        watch_max_age: api_server.watch_max_age,
        max_unauthorized: api_server.max_unauthorized,
        policies: source::Settings {
            namespaces,
            files: policies.files.clone(),
            on_invalid: on_invalid(&policies.on_invalid)?,
            size: policies.declared.size(),
            identity: leader::identity(),
        },
        extenders: Vec::new(),
        statuses: Default::default(),
        namespace: String::new(),
        policy_account: PolicyAccount::beside(""),
        version: crate::model::VersionRows::default(),
        hidden_metrics: false,
        needs: Vec::new(),
        plugins: Vec::new(),
        answering: None,
        admission: None,
        judges_alone: false,
        scheduler: crate::scheduler::Options::default(),
        profiles,
        shown: Started {
            configuration: serde_json::Value::Null,
            zpages: ZPages {
                flags: None,
                statusz: false,
                emulates: version.word(),
                started: jiff::Timestamp::now(),
            },
        },
        gates: Vec::new(),
    })
}
