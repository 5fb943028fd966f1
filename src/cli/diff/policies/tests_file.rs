//! `--write-tests`: witnesses as cases of `bayplan test`, which hold under the new policies.

use super::Change;
use crate::cli::output::yaml;
use crate::cli::{Output, setup};
use crate::compare::{Effect, GroupKind, Objects, RuleDiff};
use crate::diag::SourceMap;
use crate::dry_run::cases::{self, Bench};
use crate::lang::analysis::coverage::Coverage;
use anyhow::{Context, bail};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;

/// How many cases were written, and how many witnesses are none.
pub(super) struct Written {
    pub(super) cases: usize,
    pub(super) left_out: usize,
}

/// Writes the cases that hold into a new file.
pub(super) fn write(
    change: &Change,
    from: &setup::From,
    file: &Path,
    out: &mut Output,
) -> anyhow::Result<Written> {
    let [_, new] = &change.paths;
    let from = setup::From {
        policies: vec![new.into()],
        kinds: from.kinds.clone(),
        declared: from.declared,
        ..setup::From::default()
    };
    let Ok(setup) = setup::load(&from, &setup::Origin::Files, out)? else {
        bail!("the policies of {new} do not compile");
    };
    let made: Vec<Value> = change.rules.iter().flat_map(cases_of).collect();
    let witnesses: usize = change.rules.iter().map(|rule| rule.verdict.witnesses().len()).sum();
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let document = |cases: Vec<Value>| json!({"policies": [relative(Path::new(new), folder)], "nodes": [], "cases": cases});
    // Another plugin may refuse first what a rule would let pass.
    let holds = |case: &Value| -> anyhow::Result<bool> {
        let mut sources = SourceMap::new();
        let id = sources.add("case", yaml(&document(vec![case.clone()]))?);
        let Ok(read) = cases::read(&sources, id) else { return Ok(false) };
        let bench = Bench {
            sources: &sources,
            cluster: &setup.world,
            profiles: &setup.profiles,
            policies: &setup.policies.set,
            pod_file: &|_| None,
        };
        let mut coverage = Coverage::of(setup.policies.set.iter().map(|compiled| &*compiled.policy));
        Ok(read.run_case(0, &bench, &mut coverage, false).is_ok_and(|ended| ended.mismatches.is_empty()))
    };
    let mut kept = Vec::new();
    for case in made {
        if holds(&case)? {
            kept.push(case);
        }
    }
    let written = Written { cases: kept.len(), left_out: witnesses - kept.len() };
    if kept.is_empty() {
        return Ok(written);
    }
    let text = format!(
        "# Made of the witnesses of `bayplan diff`. Run by: bayplan test {}\n{}",
        file.display(),
        yaml(&document(kept))?
    );
    let what = || format!("cannot write {}", file.display());
    let mut to = std::fs::File::create_new(file).with_context(what)?;
    if let Err(error) = to.write_all(text.as_bytes()).and_then(|()| to.sync_all()) {
        // Nothing half written stays.
        let _ = std::fs::remove_file(file);
        return Err(error).with_context(what);
    }
    Ok(written)
}

/// The path of a file from a folder.
fn relative(path: &Path, folder: &Path) -> String {
    let full = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let (path, folder) = (full(path), full(folder));
    let shared = path.components().zip(folder.components()).take_while(|(a, b)| a == b).count();
    let up = folder.components().skip(shared).map(|_| "..".to_owned());
    let down = path.components().skip(shared).map(|part| part.as_os_str().to_string_lossy().into_owned());
    up.chain(down).collect::<Vec<_>>().join("/")
}

fn cases_of(rule: &RuleDiff) -> Vec<Value> {
    let of = rule.verdict.witnesses();
    of.into_iter().filter_map(|(effect, witness)| case(rule, effect, witness.made_of.as_ref()?)).collect()
}

/// A case of a witness that is made up; `None` where a test cannot say what it shows.
fn case(rule: &RuleDiff, effect: Effect, objects: &Objects) -> Option<Value> {
    let name = objects.node.pointer("/metadata/name")?.clone();
    let node = name.as_str()?;
    let rule_name = format!("{}/{}", rule.policy, rule.name);
    let expect = match (effect, rule.kind) {
        (Effect::Refused, GroupKind::Filter) => json!({"refused": {node: rule_name}}),
        (Effect::Refused, GroupKind::Gate) => json!({"gated": rule.policy}),
        (Effect::Refused, GroupKind::Prefilter | GroupKind::Missing) => json!({"unschedulable": true}),
        (Effect::Passes, GroupKind::Filter | GroupKind::Gate | GroupKind::Prefilter | GroupKind::Missing) => {
            json!({"node": node})
        }
        (Effect::Scored, GroupKind::Score) => {
            let (_, now) = rule.scores.as_ref()?;
            let value: i64 = now.parse().ok().filter(|value| (0..=100).contains(value))?;
            json!({"scores": {node: {rule_name.clone(): value}}})
        }
        _ => return None,
    };
    let namespace = objects.pod.pointer("/metadata/namespace")?.as_str()?.to_owned();
    let labels = objects.namespace.pointer("/metadata/labels").cloned().unwrap_or_else(|| json!({}));
    let title = match effect {
        Effect::Refused => format!("{rule_name} refuses now"),
        Effect::Passes => format!("{rule_name} lets pass now"),
        Effect::Scored => format!("{rule_name} gives another score"),
    };
    let mut pods = vec![objects.pod.clone()];
    for at in 0..objects.pods_on_node {
        let mut pod = objects.victim.clone();
        *pod.pointer_mut("/metadata/name")? = json!(format!("pod-{at}"));
        *pod.pointer_mut("/spec")?.as_object_mut()?.entry("nodeName").or_insert(Value::Null) = name.clone();
        pods.push(pod);
    }
    let mut case = json!({"name": title, "now": objects.now.to_rfc3339(), "namespaces": {namespace: labels}, "nodes": [objects.node]});
    let fields = case.as_object_mut()?;
    if let Some(load) = &objects.load {
        fields.insert("metrics".into(), json!({node: load.in_test()?}));
    }
    if pods.len() == 1 {
        fields.insert("pod".into(), pods.pop()?);
        fields.insert("expect".into(), expect);
    } else {
        let pod = objects.pod.pointer("/metadata/name")?.as_str()?.to_owned();
        fields.insert("pods".into(), pods.into());
        fields.insert("expect".into(), json!({pod: expect}));
    }
    Some(case)
}
