//! Before a removal: objects that make pods with a scheduler name of ours.

use crate::doctor::facts::{Facts, Part, some};
use crate::doctor::finding::Finding;

pub(super) fn check(facts: &Facts) -> Part<Vec<Finding>> {
    let Some(removal) = &facts.removal else { return Ok(Vec::new()) };
    let makers = removal.makers.as_ref().map_err(Clone::clone)?;
    let names = facts.our_names();
    let still: Vec<&(String, String)> = makers
        .iter()
        .filter(|(_, name)| names.contains(&name.as_str()) && name != "default-scheduler")
        .collect();
    let Some((first, _)) = still.first() else { return Ok(Vec::new()) };
    let (kind, of) = first.split_once(' ').unwrap_or(("deployment", first));
    let (namespace, name) = of.split_once('/').unwrap_or(("default", of));
    let path = if kind == "cronjob" { "jobTemplate\":{\"spec\":{\"template" } else { "template" };
    let close = if kind == "cronjob" { "}}" } else { "" };
    let patch = format!(
        "{{\"spec\":{{\"{path}\":{{\"spec\":{{\"schedulerName\":\"default-scheduler\"}}}}}}}}{close}"
    );
    Ok(vec![
        Finding::error(format!(
            "{} objects make pods with a scheduler name of ours: {}",
            still.len(),
            some(still.iter().map(|(of, _)| of.as_str()))
        ))
        .because("their next pods would wait for ever: take the name out of each template, at its source if a GitOps tool owns it")
        .then(format!("kubectl --namespace {namespace} patch {kind} {name} --type merge --patch '{patch}'")),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::facts::Removal;
    use crate::doctor::facts::testing::{installed, nothing};

    #[test]
    fn a_template_comes_with_the_patch_that_takes_the_name_out() {
        let said = |of: &str| {
            let removal = Removal {
                makers: Ok(vec![
                    (of.to_owned(), "bayplan".to_owned()),
                    ("job a/b".to_owned(), "other".to_owned()),
                ]),
                marked: Ok(Vec::new()),
                required: Ok(Vec::new()),
                stays: Vec::new(),
                admission: Ok(Vec::new()),
            };
            let facts =
                Facts { installations: vec![installed("bayplan")], removal: Some(removal), ..nothing() };
            let found = check(&facts).unwrap();
            assert!(found[0].what.starts_with("1 objects make pods"), "{found:?}");
            let (_, patch) = found[0].command.split_once("--patch '").unwrap();
            serde_json::from_str::<serde_json::Value>(patch.trim_end_matches('\'')).unwrap()
        };
        let name = "default-scheduler";
        assert_eq!(said("deployment shop/web")["spec"]["template"]["spec"]["schedulerName"], name);
        let cron = said("cronjob shop/nightly");
        assert_eq!(cron["spec"]["jobTemplate"]["spec"]["template"]["spec"]["schedulerName"], name);
    }
}
