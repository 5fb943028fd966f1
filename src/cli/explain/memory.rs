//! What `explain` says of a snapshot with the memory of a scheduler: where it differs from the objects.

use super::{Output, Setup, Style};
use crate::cli::output::{Column, Table, count};
use crate::explain::memory::{Compared, Difference, differences};
use crate::model::{Kind, VersionRows};
use serde_json::{Value, json};
use std::fmt::Write;

/// How many differences are shown before the rest is counted.
const SHOWN: usize = 12;

/// The differences of a snapshot; `None` if it has no memory.
pub(super) fn found(setup: &Setup) -> Option<Vec<Difference>> {
    let memory = setup.world.memory.as_ref()?;
    let kinds: Vec<Kind> = setup.profiles.needs().into_iter().map(|need| need.kind).collect();
    Some(differences(&Compared {
        memory,
        world: &setup.world,
        rows: VersionRows::of(setup.version),
        program: &format!("bayplan {}", env!("CARGO_PKG_VERSION")),
        kinds: &kinds,
        ours: &|pod| setup.profiles.get(&pod.scheduler_name).is_some(),
    }))
}

/// The differences as a table; empty if there is no memory.
pub(super) fn text(setup: &Setup, all: bool, out: &Output) -> String {
    let Some(found) = found(setup).filter(|_| !out.quiet) else { return String::new() };
    let mut text = "\nTHE SCHEDULER'S MEMORY".to_owned();
    if found.is_empty() {
        text.push_str("   it differs from the API server in nothing\n");
        return text;
    }
    let places =
        if found.len() == 1 { "1 place".to_owned() } else { format!("{} places", count(found.len())) };
    let _ = writeln!(text, "   it differs from the API server in {places}");
    let mut table = Table::new(&[Column::words("KIND"), Column::words("OBJECT"), Column::words("WHAT")]);
    let shown = if all { found.len() } else { SHOWN };
    for of in found.iter().take(shown) {
        table.row([
            (Style::Plain, of.of.clone()),
            (Style::Name, of.object.clone()),
            (Style::Plain, of.what.clone()),
        ]);
    }
    text.push_str(&table.draw(out));
    if found.len() > shown {
        let line = format!("{} more (--all)", count(found.len() - shown));
        let _ = writeln!(text, "{}", out.paint(Style::Dim, &line));
    }
    text
}

/// Adds the differences to a document.
pub(super) fn add_to(document: &mut Value, setup: &Setup) {
    if let (Some(fields), Some(found)) = (document.as_object_mut(), found(setup)) {
        fields.insert("memory".to_owned(), json!({"differences": found}));
    }
}
