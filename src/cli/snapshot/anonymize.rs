//! `--anonymize`: a snapshot without the names of its cluster. Where the verdict on a pod is known, it is decided again, and
//! a name without which it changes stays.

use super::collect::Content;
use super::reduce::{Subject, deciding};
use crate::cli::Output;
use crate::cli::progress::Progress;
use crate::cli::setup::Setup;
use crate::diag::escape;
use crate::dry_run::anonymous::{Named, Names};
use crate::dry_run::saved::SavedConfiguration;
use serde_json::Value;
use std::collections::BTreeSet;

/// How many words that stayed are named on one line.
const SHOWN: usize = 12;

/// Replaces the names of a snapshot, and says what stays; returns the pod with its name there.
pub(in crate::cli) fn anonymized(
    content: &mut Content,
    subject: Option<Subject>,
    setup: &Setup,
    progress: &Progress,
    out: &mut Output,
) -> anyhow::Result<Option<Subject>> {
    progress.stage("replacing names", 0);
    let mut named = Named::default();
    content.saved.policies.iter().for_each(|text| named.text(&text.text));
    let configuration = content.saved.configuration.as_ref().map_or("", |of| of.text.as_str());
    named.configuration(configuration);
    setup.profiles.frameworks.iter().for_each(|framework| named.word(&framework.scheduler_name));
    let (names, needed) = if let Some(subject) = &subject {
        let (pod, verdict) = (&subject.pod, &subject.verdict);
        let renamed =
            deciding(content, setup, progress, |how| how.renamed(&content.objects, pod, verdict, &named));
        let Some(renamed) = renamed else {
            anyhow::bail!(
                "the verdict on `{pod}` is another one each time, so it cannot be kept without names"
            );
        };
        (renamed.names, renamed.needed)
    } else {
        (Names::of(&content.objects, &named), Vec::new())
    };
    content.objects = renamed(&content.objects, &names);
    let policies: BTreeSet<String> =
        content.saved.policies.iter().flat_map(|text| text.serves.iter().cloned()).collect();
    let saved = &mut content.saved;
    saved.anonymous = true;
    saved.namespace = names.full_name(&saved.namespace);
    saved.reduced_to = names.full_name(&saved.reduced_to);
    for (at, text) in saved.policies.iter_mut().enumerate() {
        text.object = format!("policies-{}", at + 1);
    }
    saved.configuration = saved.configuration.take().map(|of| without_addresses(&of));
    // The messages of servers name users.
    let missing = saved.missing.len();
    saved.missing =
        (1..=missing).map(|at| format!("part {at} of {missing} that could not be read")).collect();
    if !out.quiet {
        let stayed: Vec<&str> = names.stayed().collect();
        say(out, "policies or the configuration name them, so they stay", &stayed)?;
        let devices: Vec<&str> = names.of_devices().collect();
        say(out, "selectors of devices may read them, so they stay", &devices)?;
        let needed: Vec<&str> = needed.iter().map(String::as_str).collect();
        say(out, "the verdict is another one without them, so they stay", &needed)?;
        let policies: Vec<&str> = policies.iter().map(String::as_str).collect();
        say(out, "policies stay as they are written", &policies)?;
    }
    Ok(subject.map(|subject| Subject { pod: names.full_name(&subject.pod), ..subject }))
}

fn say(out: &mut Output, what: &str, words: &[&str]) -> std::io::Result<()> {
    if words.is_empty() {
        return Ok(());
    }
    let shown: Vec<String> = words.iter().take(SHOWN).map(|word| format!("`{word}`")).collect();
    let more = words.len().saturating_sub(SHOWN);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    let line = escape::line(&format!("{what}: {}{more}", shown.join(", "))).into_owned();
    writeln!(out.stderr(), "{line}")
}

fn renamed(objects: &[Value], names: &Names) -> Vec<Value> {
    objects.iter().map(|object| names.object(object.clone())).collect()
}

/// A configuration without the addresses of extenders, which are not asked where a snapshot is read.
fn without_addresses(of: &SavedConfiguration) -> SavedConfiguration {
    let mut value: Value = serde_json::from_str(&of.text).unwrap_or_default();
    if let Some(fields) = value.as_object_mut() {
        fields.shift_remove("extenders");
    }
    SavedConfiguration { from: "of the snapshot".to_owned(), text: value.to_string() }
}
