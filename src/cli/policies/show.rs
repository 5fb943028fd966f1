//! `bayplan policies show`: one policy.

use super::Cluster;
use super::list::{fields, reasons, short, state};
use crate::cli::output::{Column, Output, Style, Table};
use serde_json::{Value, json};

/// Prints the state, the history and the text of a policy.
pub(super) fn run(cluster: &Cluster, policy: &str, out: &mut Output) -> anyhow::Result<()> {
    let found = cluster.find(policy)?;
    let object = found.object;
    let (style, words, _) = state(object, policy);
    let (name, words, of) = (out.part(policy), out.paint(style, words), out.part(&object.name));
    writeln!(out.stdout(), "{name}: {words}, in {of}")?;
    let mut why = reasons(object);
    why.extend(cluster.holds(object, policy).map(|entry| entry.words(policy)));
    for line in why {
        let line = out.part(&line);
        writeln!(out.stdout(), "  {line}")?;
    }
    let key = (found.namespace.to_owned(), policy.to_owned());
    let history = cluster.session.found.history.get(&key).map(Vec::as_slice).unwrap_or_default();
    if !history.is_empty() {
        let mut table =
            Table::new(&[Column::words("revision"), Column::words("in service since"), Column::words("by")]);
        table.indent = 2;
        for revision in history {
            table.row(
                [short(&revision.revision), &revision.at, &revision.by]
                    .map(|text| (Style::Plain, text.to_owned())),
            );
        }
        let drawn = table.draw(out);
        write!(out.stdout(), "\n{drawn}")?;
    }
    let serving = object.serving.iter().find(|it| it.name == policy);
    let texts = serving.map_or(&object.present, |it| &*it.texts);
    for text in texts.values() {
        write!(out.stdout(), "\n{text}")?;
    }
    Ok(())
}

/// Prints the same as JSON.
pub(super) fn run_json(cluster: &Cluster, policy: &str, out: &mut Output) -> anyhow::Result<()> {
    let found = cluster.find(policy)?;
    let key = (found.namespace.to_owned(), policy.to_owned());
    let history = cluster.session.found.history.get(&key).map(Vec::as_slice).unwrap_or_default();
    let revisions = history.iter().map(|it| json!({"revision": it.revision, "at": it.at, "by": it.by}));
    let serving = found.object.serving.iter().find(|it| it.name == policy);
    let mut document = fields(cluster, found.object, policy);
    document.insert("apiVersion".into(), "bayplan.dev/v1".into());
    document.insert("kind".into(), "Policy".into());
    document.insert("history".into(), revisions.collect::<Vec<Value>>().into());
    document.insert("texts".into(), json!(serving.map_or(&found.object.present, |it| &*it.texts)));
    out.json(&Value::Object(document))?;
    Ok(())
}
