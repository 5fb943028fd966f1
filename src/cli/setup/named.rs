//! Finds the pod that is meant by a name on the command line.

use super::Setup;
use crate::diag::{escape, suggest};
use crate::explain::except::maker;
use crate::model::PodInfo;
use std::collections::BTreeSet;
use std::sync::Arc;

impl Setup {
    /// The objects that made a pod, the nearest first: as the files have them, else as names tell.
    pub(crate) fn makers_of(&self, pod: &PodInfo) -> Vec<(String, String)> {
        let Some(controller) = pod.owners.iter().find(|owner| owner.controller) else { return Vec::new() };
        let mut found = vec![(controller.kind.to_string(), controller.name.to_string())];
        while let Some((kind, name)) = found.last().filter(|_| found.len() < LINKS) {
            let known = self.makers.get(&(kind.clone(), pod.namespace.to_string(), name.clone()));
            let next = match known {
                Some(made_by) => made_by.clone(),
                None if found.len() == 1 => {
                    maker(pod).map(|of| (of.kind, of.name)).filter(|of| !found.contains(of))
                }
                None => None,
            };
            match next {
                Some(next) => found.push(next),
                None => break,
            }
        }
        found
    }
}

/// How many objects that made one another are followed.
const LINKS: usize = 4;

/// The words of kubectl for the kinds that make pods.
const KINDS: [(&str, &[&str]); 6] = [
    ("Deployment", &["deployment", "deployments", "deploy"]),
    ("ReplicaSet", &["replicaset", "replicasets", "rs"]),
    ("StatefulSet", &["statefulset", "statefulsets", "sts"]),
    ("DaemonSet", &["daemonset", "daemonsets", "ds"]),
    ("Job", &["job", "jobs"]),
    ("CronJob", &["cronjob", "cronjobs", "cj"]),
];

/// Kind, namespace and name of `web`, `deployment/web` or `shop/web`.
fn workload<'a>(
    asked: &'a str,
    namespace: Option<&'a str>,
) -> (Option<&'static str>, Option<&'a str>, &'a str) {
    let kind_of = |word: &str| {
        let word = word.to_ascii_lowercase();
        KINDS.iter().find(|(_, words)| words.contains(&word.as_str())).map(|(kind, _)| *kind)
    };
    match asked.split_once('/') {
        None => (None, namespace, asked),
        Some((word, name)) => match kind_of(word) {
            Some(kind) => (Some(kind), namespace, name),
            None => (None, Some(word), name),
        },
    }
}

/// What makes pods and is called nearly like this, in the form of the request.
pub(crate) fn nearly_made_by<'a>(
    setup: &Setup,
    pods: impl Iterator<Item = &'a Arc<PodInfo>>,
    asked: &str,
    namespace: Option<&str>,
) -> Option<String> {
    let (kind, namespace, name) = workload(asked, namespace);
    let inside = pods.filter(|pod| namespace.is_none_or(|of| pod.namespace.as_str() == of));
    let makers: BTreeSet<(String, String)> = inside.flat_map(|pod| setup.makers_of(pod)).collect();
    let of_kind = makers.iter().filter(|(of, _)| kind.is_none_or(|kind| kind == of));
    let names: BTreeSet<&str> = of_kind.map(|(_, name)| name.as_str()).collect();
    let near = match names.contains(name) {
        true => name,
        false => suggest::nearest(name, names.iter().copied())?,
    };
    let before = asked.strip_suffix(name).unwrap_or("");
    Some(format!("{before}{near}"))
}

/// The pods that an object made which is called like this: `web`, `deployment/web`, `shop/web`.
pub(crate) fn made_by<'a>(
    setup: &Setup,
    pods: impl Iterator<Item = &'a Arc<PodInfo>>,
    asked: &str,
    namespace: Option<&str>,
) -> Vec<usize> {
    let (kind, namespace, name) = workload(asked, namespace);
    let made = |pod: &PodInfo| {
        let makers = setup.makers_of(pod);
        makers.iter().any(|(of, called)| called == name && kind.is_none_or(|kind| kind == of))
    };
    let inside = |pod: &PodInfo| namespace.is_none_or(|of| pod.namespace.as_str() == of);
    let found = pods.enumerate().filter(|(_, pod)| inside(pod) && made(pod));
    found.map(|(at, _)| at).collect()
}

/// Namespace and name of the pod that is called `NAME`, `NAMESPACE/NAME` or `pod/NAME`.
#[cfg(feature = "cluster")]
pub(crate) fn full_name<'a>(
    asked: &'a str,
    namespace: Option<&'a str>,
    preferred: &'a str,
) -> (&'a str, &'a str) {
    match asked.split_once('/') {
        None | Some(("pod" | "pods" | "po", _)) => {
            (namespace.unwrap_or(preferred), asked.rsplit('/').next().unwrap_or(asked))
        }
        Some(both) => both,
    }
}

/// The pod called `NAME`, `NAMESPACE/NAME` or `pod/NAME`. Among several of one name, the one in the namespace
/// `preferred`.
pub(crate) fn named<'a>(
    pods: impl Iterator<Item = &'a Arc<PodInfo>>,
    asked: &str,
    namespace: Option<&str>,
    preferred: &str,
) -> anyhow::Result<usize> {
    let pods: Vec<&Arc<PodInfo>> = pods.collect();
    // `pod/web-0`, as kubectl has it, unless a namespace is called so.
    let asked = match asked.split_once('/') {
        Some((word @ ("pod" | "pods" | "po"), name))
            if !pods.iter().any(|pod| pod.namespace.as_str() == word) =>
        {
            name
        }
        _ => asked,
    };
    let pods = pods.into_iter();
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
                let there_is = full_names(&called);
                return no_pod(&format!(
                    "no pod that waits or runs is called `{asked}`; there is {there_is}"
                ));
            }
            let inside = pods.iter().filter(|pod| namespace.is_none_or(|it| pod.namespace.as_str() == it));
            let near = suggest::nearest(name, inside.map(|pod| pod.name.as_str()))
                .map(str::to_owned)
                .or_else(|| {
                    let names: Vec<String> = pods.iter().map(|pod| pod.full_name()).collect();
                    suggest::nearest(&asked, names.iter().map(String::as_str)).map(str::to_owned)
                });
            let hint = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            no_pod(&format!("no pod that waits or runs is called `{asked}`{hint}"))
        }
        _ => no_pod(&format!("several pods are called `{name}`: {}; name one of them", full_names(&found))),
    }
}

/// An error that names pods: one line, whatever is in the names.
fn no_pod(message: &str) -> anyhow::Result<usize> {
    anyhow::bail!("{}", escape::line(message))
}
