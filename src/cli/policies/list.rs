//! `bayplan policies`: a table of the policies.

use super::Cluster;
use crate::cli::output::{Column, Output, Style, Table};
use crate::cluster::policies::choice::Origin;
use crate::cluster::policies::listing::{PolicyObject, State};
use crate::cluster::policies::overrides::Entry;
use serde_json::{Map, Value, json};

/// Letters of a revision in a table.
const SHORT: usize = 12;

/// Prints the table, and the overrides below it.
pub(super) fn run(cluster: &Cluster, out: &mut Output) -> anyhow::Result<()> {
    let mut table = Table::new(&[
        Column::words("policy"),
        Column::words("state"),
        Column::words("revision"),
        Column::words("object"),
    ]);
    let mut words = Vec::new();
    for object in &cluster.session.found.objects {
        for name in Cluster::names(object) {
            let (style, state, _) = state(object, &name);
            let revision = object.serving.iter().find(|it| it.name == name).map(|it| short(&it.revision));
            table.row([
                (Style::Plain, name.clone()),
                (style, state.to_owned()),
                (Style::Plain, revision.unwrap_or("-").to_owned()),
                (Style::Plain, object.name.clone()),
            ]);
            words.extend(cluster.holds(object, &name).map(|entry| entry.words(&name)));
        }
        words.extend(reasons(object).into_iter().map(|why| format!("`{}`: {why}", object.name)));
    }
    if table.is_empty() {
        writeln!(out.stdout(), "no policies in {}", cluster.namespaces.join(", "))?;
        return Ok(());
    }
    let drawn = table.draw(out);
    write!(out.stdout(), "{drawn}")?;
    for line in words {
        let line = out.part(&line);
        writeln!(out.stdout(), "{line}")?;
    }
    Ok(())
}

/// The beginning of a revision.
pub(super) fn short(revision: &str) -> &str {
    revision.get(..SHORT).unwrap_or(revision)
}

/// Why the present text of an object is not in service.
pub(super) fn reasons(object: &PolicyObject) -> Vec<String> {
    match &object.state {
        State::Refused { problems, .. } => problems.iter().map(ToString::to_string).collect(),
        State::Waiting { why } => vec![why.clone()],
        State::Overridden { .. } | State::Serving => Vec::new(),
    }
}

/// The state of a policy of an object: in words, and as `-o json` has it.
pub(super) fn state(object: &PolicyObject, name: &str) -> (Style, &'static str, &'static str) {
    let serving = object.serving.iter().find(|it| it.name == name);
    let Some(serving) = serving else {
        return match &object.state {
            State::Refused { .. } => (Style::Bad, "invalid; no effect", "noEffect"),
            _ => (Style::Warn, "waiting", "waiting"),
        };
    };
    let present = serving.texts.iter().all(|(key, text)| object.present.get(key) == Some(text));
    match (serving.origin, &object.state) {
        (Origin::Suspended, _) => (Style::Warn, "suspended", "suspended"),
        (Origin::Pinned, _) => (Style::Warn, "rolled back", "rolledBack"),
        (Origin::StandIn, State::Refused { .. }) => (Style::Bad, "invalid; its pods wait", "podsWait"),
        (Origin::StandIn, _) => (Style::Warn, "waiting; its pods wait", "podsWait"),
        (Origin::Text, State::Refused { .. }) => {
            (Style::Bad, "invalid; an earlier text serves", "earlierText")
        }
        (Origin::Text, State::Waiting { .. }) if !present => {
            (Style::Warn, "waiting; an earlier text serves", "earlierText")
        }
        (Origin::Text, State::Serving) if object.written == "Waiting" => {
            (Style::Warn, "waiting; its object says for what", "waiting")
        }
        (Origin::Text, _) => (Style::Plain, "serving", "serving"),
    }
}

/// Prints all policies as JSON.
pub(super) fn run_json(cluster: &Cluster, out: &mut Output) -> anyhow::Result<()> {
    let objects = cluster.session.found.objects.iter();
    let of = |object| Cluster::names(object).into_iter().map(move |name| (object, name));
    let policies: Vec<Map<String, Value>> =
        objects.flat_map(of).map(|(object, name)| fields(cluster, object, &name)).collect();
    out.json(&json!({"apiVersion": "bayplan.dev/v1", "kind": "Policies", "policies": policies}))?;
    Ok(())
}

/// What JSON has of a policy of an object.
pub(super) fn fields(cluster: &Cluster, object: &PolicyObject, name: &str) -> Map<String, Value> {
    let serving = object.serving.iter().find(|it| it.name == name);
    let (_, _, state) = state(object, name);
    let mut fields = Map::new();
    fields.insert("name".into(), name.into());
    fields.insert("object".into(), object.name.as_str().into());
    fields.insert("state".into(), state.into());
    fields.insert("revision".into(), serving.map(|it| it.revision.as_str()).into());
    fields.insert("reasons".into(), reasons(object).into());
    fields.insert("override".into(), cluster.holds(object, name).map(entry).into());
    fields
}

fn entry(entry: &Entry) -> Value {
    json!({
        "kind": entry.kind.word(), "because": entry.because, "by": entry.by,
        "at": entry.at.map(|at| at.to_string()), "until": entry.until.map(|until| until.to_string()),
        "revision": entry.revision,
    })
}
