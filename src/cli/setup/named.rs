//! Finds the pod that is meant by a name on the command line.

use crate::diag::{escape, suggest};
use crate::model::PodInfo;
use std::sync::Arc;

/// The pod called `NAME` or `NAMESPACE/NAME`. Among several of one name, the one in the namespace
/// `preferred`.
pub(crate) fn named<'a>(
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
