//! What the arguments of a container mean: the names that it serves, its lease, and the rights that it needs.

use crate::cli::{extender, run};
use crate::cluster::doctor::facts::{Installation, Workload};
use anyhow::{anyhow, bail};
use clap::Parser;
use std::time::Duration;

/// The arguments of `bayplan run`.
#[derive(Parser)]
struct RunLine {
    #[command(flatten)]
    args: run::Args,
}

/// The arguments of `bayplan extender`.
#[derive(Parser)]
struct ExtenderLine {
    #[command(flatten)]
    args: extender::Args,
}

/// The installation that a workload is.
pub(super) fn of(workload: &Workload) -> anyhow::Result<Installation> {
    let first_line = |error: clap::Error| anyhow!("{}", error.to_string().lines().next().unwrap_or_default());
    let arguments = &workload.arguments;
    let (options, names, nodes) = match arguments.first().map(String::as_str) {
        Some("extender") => {
            let args = ExtenderLine::try_parse_from(arguments).map_err(first_line)?.args;
            (extender::options(&args)?, Vec::new(), None)
        }
        _ => {
            let args = RunLine::try_parse_from(arguments).map_err(first_line)?.args;
            let file = match (&args.config, &workload.configuration) {
                (Some(_), Some(text)) => Some(("the configuration", text.clone().into_bytes())),
                (Some(path), None) => {
                    bail!("its configuration {} is in no ConfigMap that can be read here", path.display())
                }
                (None, _) => None,
            };
            let configured = run::configured(file, run::gates_of(&args)?, &args.feature_gates)?;
            let profiles = configured.config.profiles.iter();
            let names: Vec<String> = profiles.map(|profile| profile.scheduler_name.to_string()).collect();
            // With a kubeconfig it has no namespace of its own.
            let own = Some(workload.namespace.clone()).filter(|_| !workload.user.is_empty());
            (run::options_of(&args, configured, own)?, names, args.nodes.clone())
        }
    };
    let lease_duration = options.election.as_ref().map_or(Duration::from_secs(15), |election| election.lease);
    let wanted = options.wanted();
    Ok(Installation { workload: workload.clone(), wanted, names, nodes, lease_duration })
}

/// The user that the flag `--as` means.
pub(super) fn user(account: &str) -> String {
    match account.split_once('/') {
        Some((namespace, name)) => format!("system:serviceaccount:{namespace}:{name}"),
        None => account.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(arguments: &[&str], configuration: Option<&str>) -> Workload {
        Workload {
            namespace: "bayplan".into(),
            name: "deploy/bayplan".into(),
            user: "system:serviceaccount:bayplan:bayplan".into(),
            arguments: arguments.iter().map(|argument| (*argument).to_owned()).collect(),
            configuration: configuration.map(str::to_owned),
        }
    }

    #[test]
    fn the_arguments_say_what_is_served() {
        let text = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n- \
                    schedulerName: mine\n";
        let found = of(&workload(&["run", "--config=/etc/bayplan/config.yaml"], Some(text))).unwrap();
        assert_eq!(found.names, ["mine"]);
        assert_eq!(found.wanted.lease, Some(("bayplan".to_owned(), "mine".to_owned())));
        let found = of(&workload(&["extender", "--listen=127.0.0.1:1"], None)).unwrap();
        assert!(found.names.is_empty() && found.wanted.extends);
        let unread = of(&workload(&["run", "--config=/etc/bayplan/config.yaml"], None)).unwrap_err();
        assert!(unread.to_string().contains("is in no ConfigMap"), "{unread}");
        assert!(of(&workload(&["run", "--no-such-flag"], None)).is_err());
    }

    #[test]
    fn an_account_is_a_service_account_or_a_user() {
        assert_eq!(user("a/b"), "system:serviceaccount:a:b");
        assert_eq!(user("system:kube-scheduler"), "system:kube-scheduler");
    }
}
