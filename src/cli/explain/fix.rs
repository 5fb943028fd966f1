//! `explain --fix N`: the patch that makes a suggestion, of the pod, a node, or an exception in a policy.

use super::Args;
use crate::cli::output::yaml;
use crate::cli::setup::{Setup, quoted};
use crate::diag::{Diagnostic, Span, escape};
use crate::explain::Suggestion;
use crate::explain::except::{Exception, Terms};
use crate::framework::{Edit, Exempted, Patch};
use crate::model::{PodInfo, Time};
use anyhow::Context;
use serde_json::{Value, json};
use std::fmt::Write;

/// How many nodes are named that the patch could name as well.
const ALTERNATIVES: usize = 5;

/// Lines of unchanged text around a change.
const CONTEXT: usize = 3;

/// Whether any of the edits has an owner who can make it.
pub(super) fn has_patch(edits: &[Edit]) -> bool {
    edits.iter().any(|edit| *edit != Edit::PodsEnd)
}

/// The patch of one suggestion.
pub(super) struct Fix {
    number: usize,
    what: String,
    effect: String,
    patch: Patch,
    /// The object whose manifest has to change.
    pod: String,
    namespace: String,
    maker: Option<String>,
    /// Nodes that the patch could name as well.
    alternatives: Vec<String>,
    policies: Vec<PolicyChange>,
    /// No flag says until when and why there is the exception.
    usual_terms: bool,
}

/// What the patch is for.
pub(super) struct Asked<'a> {
    pub setup: &'a Setup,
    pub pod: &'a PodInfo,
    pub args: &'a Args,
    /// The instant of the decision.
    pub now: Time,
    pub number: usize,
    pub chosen: &'a Suggestion,
    /// A gate keeps the pod out of the queue.
    pub gated: bool,
}

impl Asked<'_> {
    /// Until when and why there is an exception.
    fn terms(&self) -> anyhow::Result<Terms> {
        let mut terms = Terms::usual(self.pod, self.now);
        if let Some(until) = &self.args.until {
            let end = Time::end_of_day(until)
                .with_context(|| format!("`--until {until}` is not a day; write one as {}", terms.until))?;
            if end <= self.now {
                anyhow::bail!(
                    "`--until {until}` is over; an exception needs a later day, such as {}",
                    terms.until
                );
            }
            terms.until.clone_from(until);
        }
        if let Some(because) = &self.args.because {
            if because.trim().is_empty() {
                anyhow::bail!("`--because` says nothing; say who needs the exception and for what");
            }
            terms.because.clone_from(because);
        }
        Ok(terms)
    }
}

/// The exception that a policy gets.
struct PolicyChange {
    policy: String,
    file: String,
    /// The object in a cluster or file that holds the policy.
    object: Option<String>,
    line: String,
    /// The new line comes after this line of the file.
    after: usize,
    diff: String,
}

impl Fix {
    /// The patch for a suggestion; fails where nothing can be patched.
    pub(super) fn of(asked: &Asked) -> anyhow::Result<Self> {
        let Asked { setup, pod, args, number, chosen, gated, .. } = *asked;
        if !has_patch(&chosen.edits) {
            anyhow::bail!("suggestion {number} needs no patch: {}", chosen.what);
        }
        let changes_node = chosen.edits.iter().any(|edit| edit.changes_node());
        let node = chosen.nodes.first().filter(|_| changes_node).map(String::as_str);
        let effect = match (chosen.nodes.len(), changes_node) {
            _ if gated => "the pod then enters the queue".to_owned(),
            (_, true) => format!("the pod then fits {}", node.unwrap_or_default()),
            (1, _) => format!("the pod then fits {}", chosen.nodes.join("")),
            (many, _) => format!("the pod then fits {many} nodes"),
        };
        let terms = asked.terms()?;
        let exempted: Vec<&Exempted> = chosen.edits.iter().filter_map(Edit::exempted).collect();
        let own_terms = args.until.is_some() || args.because.is_some();
        if exempted.is_empty() && own_terms {
            anyhow::bail!("suggestion {number} is not an exception, which `--until` and `--because` are for");
        }
        let change = |from: &&Exempted| policy_change(setup, &Exception { from, pod, terms: &terms });
        let policies: Vec<PolicyChange> = exempted.iter().map(change).collect::<Result<_, _>>()?;
        let maker = pod.owners.iter().find(|owner| owner.controller);
        Ok(Self {
            number,
            what: chosen.what.clone(),
            effect,
            patch: Patch::of(pod, &chosen.edits, node),
            pod: pod.name.to_string(),
            namespace: pod.namespace.to_string(),
            maker: maker.map(|owner| format!("{} {}", owner.kind, owner.name)),
            alternatives: chosen.nodes.iter().skip(1).filter(|_| changes_node).cloned().collect(),
            usual_terms: !policies.is_empty() && !own_terms,
            policies,
        })
    }

    /// Comments that say what to do with it, then the patch. YAML for a manifest, a script for
    /// commands, a diff for a policy.
    pub(super) fn to_text(&self) -> String {
        let head = format!("{}: {}; {}.", self.number, self.what, self.effect);
        let mut text = format!("# {}\n", escape::line(&head));
        match &self.alternatives[..] {
            [] => {}
            few => {
                let shown = few.iter().take(ALTERNATIVES).map(String::as_str).collect::<Vec<_>>().join(", ");
                let more = few.len().saturating_sub(ALTERNATIVES);
                let more = if more > 0 { format!(" and {more} others") } else { String::new() };
                let _ = writeln!(text, "# Instead of this node it can be {}{more}.", escape::line(&shown));
            }
        }
        for by_hand in &self.patch.by_hand {
            let _ = writeln!(text, "# In the manifest, {by_hand}.");
        }
        if self.patch.manifest.is_some() || !self.patch.by_hand.is_empty() {
            self.how_to_patch(&mut text);
        }
        let comment = if self.patch.manifest.is_some() { "# " } else { "" };
        for command in &self.patch.commands {
            let _ = writeln!(text, "{comment}{}", escape::line(command));
        }
        if let Some(manifest) = &self.patch.manifest {
            text.push_str(&yaml(manifest).unwrap_or_else(|_| format!("{manifest:#}\n")));
        }
        for change in &self.policies {
            let at = change.object.as_ref().map_or_else(String::new, |object| format!(" ({object})"));
            let _ =
                writeln!(text, "# {}:{}{at}; the policy compiles with this line.", change.file, change.after);
            if self.usual_terms {
                text.push_str("# --until DATE and --because TEXT write another end and why.\n");
            }
            text.push_str(&change.diff);
        }
        text
    }

    /// Where the patch of a manifest goes.
    fn how_to_patch(&self, text: &mut String) {
        let manifest = self.patch.manifest.is_some();
        if self.patch.in_place {
            let (pod, namespace) = (quoted(&self.pod), quoted(&self.namespace));
            let command =
                format!("kubectl patch pod {pod} -n {namespace} --type strategic --patch-file PATCH.yaml");
            let _ = writeln!(text, "# {}", escape::line(&command));
            return;
        }
        let _ = match &self.maker {
            Some(maker) => writeln!(
                text,
                "# These fields of a pod that exists cannot be changed: change the pod template of {}.",
                escape::line(maker)
            ),
            None => writeln!(
                text,
                "# These fields of a pod that exists cannot be changed: change its manifest and create it again."
            ),
        };
        if manifest && self.maker.is_none() {
            text.push_str(
                "# kubectl patch --local -f POD.yaml --type strategic --patch-file PATCH.yaml -o yaml\n",
            );
        }
    }

    pub(super) fn to_json(&self) -> Value {
        let policies: Vec<Value> = self
            .policies
            .iter()
            .map(|change| {
                json!({
                    "policy": change.policy, "file": change.file, "object": change.object, "line": change.line,
                    "after": change.after, "diff": change.diff,
                })
            })
            .collect();
        json!({
            "apiVersion": "bayplan.dev/v1", "kind": "Fix", "pod": format!("{}/{}", self.namespace, self.pod),
            "number": self.number, "what": self.what, "effect": self.effect,
            "manifestPatch": self.patch.manifest, "inPlace": self.patch.in_place,
            "commands": self.patch.commands, "byHand": self.patch.by_hand, "policies": policies,
        })
    }
}

/// The exception in the text of its policy.
fn policy_change(setup: &Setup, exception: &Exception) -> anyhow::Result<PolicyChange> {
    let policy = &exception.from.policy;
    let sources = &setup.policies.sources;
    let change = || {
        let compiled = setup.policies.set.get(policy)?;
        let source = sources.source(compiled.policy.span)?;
        let (changed, at) = exception.written_into(source, &compiled.policy)?;
        let span = Span::new(source.id(), at, at);
        let file = sources.file(span)?;
        let object = source.origin().map(|origin| format!("{} {}", origin.object, origin.key));
        let change = PolicyChange {
            policy: policy.to_string(),
            file: file.name().to_owned(),
            object,
            line: exception.text(source.form()),
            after: sources.places(span).0.line,
            diff: diff(source.name(), source.text(), &changed),
        };
        Some((change, source, changed))
    };
    let (change, source, changed) =
        change().with_context(|| format!("the text of the policy {policy} is not available"))?;
    // The suggestion was tried with the usual terms.
    let mut sources = sources.clone();
    let id = sources.add_like(source, changed);
    let said = sources.get(id).map(|source| setup.policies.compiled(source).1).unwrap_or_default();
    match said.into_iter().find(Diagnostic::is_error) {
        Some(error) => {
            anyhow::bail!("the policy {policy} does not compile with the exception: {}", error.message)
        }
        None => Ok(change),
    }
}

/// The difference of two texts as `patch -p0` takes it, where one run of lines differs.
fn diff(name: &str, old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let same = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let behind = old[same..].iter().rev().zip(new[same..].iter().rev()).take_while(|(a, b)| a == b).count();
    let from = same.saturating_sub(CONTEXT);
    let (old_end, new_end) = (old.len() - behind, new.len() - behind);
    let after = behind.min(CONTEXT);
    let (old_lines, new_lines) = (old_end + after - from, new_end + after - from);
    let mut text =
        format!("--- {name}\n+++ {name}\n@@ -{},{old_lines} +{},{new_lines} @@\n", from + 1, from + 1);
    old[from..same].iter().for_each(|line| text.push_str(&format!(" {line}\n")));
    old[same..old_end].iter().for_each(|line| text.push_str(&format!("-{line}\n")));
    new[same..new_end].iter().for_each(|line| text.push_str(&format!("+{line}\n")));
    old[old_end..old_end + after].iter().for_each(|line| text.push_str(&format!(" {line}\n")));
    text
}
