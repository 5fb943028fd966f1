//! `bayplan policies`: a table of the policies.

use super::Cluster;
use crate::cli::output::{Column, Output, Style, Table};
use crate::cluster::policy_choice::Origin;
use crate::cluster::policy_list::{PolicyObject, State};

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
            let (style, state) = state(object, &name);
            let revision = object.serving.iter().find(|it| it.name == name).map(|it| short(&it.revision));
            table.row([
                (Style::Plain, name.clone()),
                (style, state.to_owned()),
                (Style::Plain, revision.unwrap_or("-").to_owned()),
                (Style::Plain, object.name.clone()),
            ]);
            words.extend(cluster.holds(object, &name).map(|entry| entry.words(&name)));
        }
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

/// The state of a policy of an object, in words.
pub(super) fn state(object: &PolicyObject, name: &str) -> (Style, &'static str) {
    let serving = object.serving.iter().find(|it| it.name == name);
    match (serving.map(|it| it.origin), &object.state) {
        (Some(Origin::Suspended), _) => (Style::Warn, "suspended"),
        (Some(Origin::Pinned), _) => (Style::Warn, "rolled back"),
        (Some(Origin::StandIn), _) => (Style::Bad, "invalid; its pods wait"),
        (Some(Origin::Text), State::Refused { .. }) => (Style::Bad, "invalid; an earlier text serves"),
        (Some(Origin::Text), _) if object.written == "Waiting" => {
            (Style::Warn, "waiting; its object says for what")
        }
        (Some(Origin::Text), _) => (Style::Plain, "serving"),
        (None, State::Refused { .. }) => (Style::Bad, "invalid; no effect"),
        (None, _) => (Style::Warn, "waiting; another object has it"),
    }
}
