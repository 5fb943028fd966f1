//! `bayplan policies show`: one policy.

use super::Cluster;
use super::list::{short, state};
use crate::cli::output::{Column, Output, Style, Table};
use crate::cluster::policy_list::State;

/// Prints the state, the history and the text of a policy.
pub(super) fn run(cluster: &Cluster, policy: &str, out: &mut Output) -> anyhow::Result<()> {
    let found = cluster.find(policy)?;
    let object = found.object;
    let (style, words) = state(object, policy);
    let (name, words, of) = (out.part(policy), out.paint(style, words), out.part(&object.name));
    writeln!(out.stdout(), "{name}: {words}, in {of}")?;
    let mut why = Vec::new();
    match &object.state {
        State::Refused { problems, .. } => why.extend(problems.iter().map(ToString::to_string)),
        State::Waiting { why: reason } => why.push(reason.clone()),
        State::Overridden { .. } | State::Serving => {}
    }
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
