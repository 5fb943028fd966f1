//! `explain --fix N`: the patch that makes a suggestion, of the pod, a node, or an exception in a policy.

use super::diff;
use crate::cli::input::Policies;
use crate::cli::output::yaml;
use crate::cli::setup::{Setup, quoted};
use crate::diag::{Diagnostic, Source, SourceId, SourceMap, Span, escape};
use crate::explain::Suggestion;
use crate::explain::except::{Exception, Terms};
use crate::framework::{Edit, Exempted, Patch};
use crate::lang::typed::Policy;
use crate::model::{PodInfo, Time};
use crate::policy_files;
use anyhow::Context;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How many nodes are named that the patch could name as well.
const ALTERNATIVES: usize = 5;

/// Whether any of the edits has an owner who can make it.
pub(crate) fn has_patch(edits: &[Edit]) -> bool {
    edits.iter().any(|edit| !edit.is_wait())
}

/// The patch of one suggestion.
pub(crate) struct Fix {
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
pub(crate) struct Asked<'a> {
    pub setup: &'a Setup,
    pub pod: &'a PodInfo,
    /// Until when there is an exception, and why, if flags say so.
    pub until: Option<&'a str>,
    pub because: Option<&'a str>,
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
        if let Some(until) = self.until {
            let end = Time::end_of_day(until)
                .with_context(|| format!("`--until {until}` is not a day; write one as {}", terms.until))?;
            if end <= self.now {
                anyhow::bail!(
                    "`--until {until}` is over; an exception needs a later day, such as {}",
                    terms.until
                );
            }
            until.clone_into(&mut terms.until);
        }
        if let Some(because) = self.because {
            if because.trim().is_empty() {
                anyhow::bail!("`--because` says nothing; say who needs the exception and for what");
            }
            because.clone_into(&mut terms.because);
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
    /// Where the difference is applied.
    applied: Applied,
}

/// Where the difference is applied.
enum Applied {
    /// To the file, in the present folder or another one.
    InFolder(Option<PathBuf>),
    /// To a file of this name, which has to be written first: the text came from elsewhere.
    ToSaved(String),
}

impl Fix {
    /// The patch for a suggestion; fails where nothing can be patched.
    pub(crate) fn of(asked: &Asked) -> anyhow::Result<Self> {
        let Asked { setup, pod, number, chosen, gated, .. } = *asked;
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
        let own_terms = asked.until.is_some() || asked.because.is_some();
        if exempted.is_empty() && own_terms {
            anyhow::bail!("suggestion {number} is not an exception, which `--until` and `--because` are for");
        }
        let mut texts = Texts { setup, changed: BTreeMap::new() };
        let change = |from: &&Exempted| texts.change(&Exception { from, pod, terms: &terms });
        let policies: Vec<PolicyChange> = exempted.iter().map(change).collect::<Result<_, _>>()?;
        Ok(Self {
            number,
            what: chosen.what.clone(),
            effect,
            patch: Patch::of(pod, &chosen.edits, node),
            pod: pod.name.to_string(),
            namespace: pod.namespace.to_string(),
            maker: setup.makers_of(pod).pop().map(|(kind, name)| format!("{kind} {name}")),
            alternatives: chosen.nodes.iter().skip(1).filter(|_| changes_node).cloned().collect(),
            usual_terms: !policies.is_empty() && !own_terms,
            policies,
        })
    }

    /// Comments that say what to do with it, then the patch. YAML for a manifest, a script for
    /// commands, a diff for a policy.
    pub(crate) fn to_text(&self) -> String {
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
        for claim in &self.patch.claims {
            let _ = writeln!(text, "# {}.", escape::line(claim));
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
            let how = match &change.applied {
                Applied::InFolder(None) => "`patch -p1` and `git apply` take these lines.".to_owned(),
                Applied::InFolder(Some(folder)) => {
                    let folder = quoted(&folder.display().to_string());
                    format!("`patch -p1 -d {folder}` and `git -C {folder} apply` take these lines.")
                }
                Applied::ToSaved(name) => {
                    format!(
                        "save this text as {}: `patch -p1` and `git apply` then take these lines.",
                        quoted(name)
                    )
                }
            };
            let _ = writeln!(text, "# {}", escape::line(&how));
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
            "commands": self.patch.commands,
            "byHand": self.patch.by_hand.iter().chain(&self.patch.claims).collect::<Vec<_>>(),
             "policies": policies,
        })
    }
}

/// The texts of policies, with the exceptions that were written so far: several may go into one file.
struct Texts<'a> {
    setup: &'a Setup,
    /// By the name of the file.
    changed: BTreeMap<String, String>,
}

/// A text of a policy as it is now.
struct Current {
    sources: SourceMap,
    text: SourceId,
    policy: Arc<Policy>,
}

impl Current {
    fn source(&self) -> Option<&Source> {
        self.sources.get(self.text)
    }
}

impl Texts<'_> {
    /// Writes an exception into the text of its policy.
    fn change(&mut self, exception: &Exception) -> anyhow::Result<PolicyChange> {
        let name = exception.from.policy.to_string();
        let missing = || format!("the text of the policy {name} is not available");
        let current = self.current(&name).with_context(missing)?;
        let written = current.source().and_then(|source| exception.written_into(source, &current.policy));
        let (source, (changed, at)) = current.source().zip(written).with_context(missing)?;
        let added =
            changed.len().checked_sub(source.text().len()).and_then(|long| changed.get(at..at + long));
        let added = added.with_context(missing)?;
        let span = Span::new(source.id(), at, at);
        let file = current.sources.file(span).with_context(missing)?;
        // A text of an object of a live cluster, or of a file that cannot be written so, goes by the name of its key.
        let whole = policy_files::inserted(&current.sources, source, at, added);
        let (new, diff, applied) =
            match whole.filter(|_| source.origin().is_none() || source.host().is_some()) {
                Some(new) => {
                    let (diff, applied) = of_file(file, &new);
                    (new, diff, applied)
                }
                None => {
                    let key = source.origin().map_or(source.name(), |origin| &origin.key).to_owned();
                    (changed.clone(), diff::unified(&key, source.text(), &changed), Applied::ToSaved(key))
                }
            };
        let change = PolicyChange {
            policy: name.clone(),
            file: file.name().to_owned(),
            object: source.origin().map(|origin| format!("{} {}", origin.object, origin.key)),
            line: exception.text(source.form()),
            after: current.sources.places(span).0.line,
            diff,
            applied,
        };
        let file = file.name().to_owned();
        if matches!(change.applied, Applied::InFolder(_)) {
            self.changed.insert(file, new);
        }
        // The suggestion was tried with the usual terms.
        let said = match &change.applied {
            Applied::InFolder(_) => self.current_said(&name),
            Applied::ToSaved(_) => {
                let mut sources = current.sources.clone();
                let id = sources.add_like(source, changed);
                sources.get(id).map(|source| self.setup.policies.compiled(source).1).unwrap_or_default()
            }
        };
        match said.into_iter().find(Diagnostic::is_error) {
            Some(error) => {
                anyhow::bail!("the policy {name} does not compile with the exception: {}", error.message)
            }
            None => Ok(change),
        }
    }

    /// The text of a policy as it is now, and the policy in it.
    fn current(&self, name: &str) -> Option<Current> {
        let Policies { set, sources, .. } = &self.setup.policies;
        let compiled = set.get(name)?;
        let source = sources.source(compiled.policy.span)?;
        let file = sources.file(compiled.policy.span)?;
        match self.changed.get(file.name()) {
            Some(_) => {
                let (sources, text) = self.read_again(source, file)?;
                let (policies, _) = self.setup.policies.compiled(sources.get(text)?);
                let policy = policies.into_iter().find(|policy| *policy.name == *name)?;
                Some(Current { sources, text, policy: Arc::new(policy) })
            }
            None => {
                Some(Current { sources: sources.clone(), text: source.id(), policy: compiled.policy.clone() })
            }
        }
    }

    /// The diagnostics of the changed text of a policy.
    fn current_said(&self, name: &str) -> Vec<Diagnostic> {
        let Policies { set, sources, .. } = &self.setup.policies;
        let said = || {
            let span = set.get(name)?.policy.span;
            let (sources, text) = self.read_again(sources.source(span)?, sources.file(span)?)?;
            Some(self.setup.policies.compiled(sources.get(text)?).1)
        };
        said().unwrap_or_default()
    }

    /// Reads the changed text of a file, and finds the text of `source` in it.
    fn read_again(&self, source: &Source, file: &Source) -> Option<(SourceMap, SourceId)> {
        let mut sources = self.setup.policies.sources.clone();
        let id = sources.add_like(file, self.changed.get(file.name())?.as_str());
        let text = match source.host() {
            None => id,
            Some(_) => {
                let (found, _) = policy_files::policies_in(&mut sources, id);
                let same = |text: &policy_files::PolicyText| {
                    sources.get(text.source).is_some_and(|found| found.origin() == source.origin())
                };
                found.into_iter().find(same)?.source
            }
        };
        Some((sources, text))
    }
}

/// The difference of a file and its new text, as its bytes are on the disk.
fn of_file(file: &Source, new: &str) -> (String, Applied) {
    let path = Path::new(file.name());
    // The text has no byte order mark.
    let bytes = path.is_file().then(|| std::fs::read(path).unwrap_or_default());
    let mark = if bytes.as_ref().is_some_and(|bytes| bytes.starts_with("\u{feff}".as_bytes())) {
        "\u{feff}"
    } else {
        ""
    };
    let (old, new) = (format!("{mark}{}", file.text()), format!("{mark}{new}"));
    if bytes.is_none() {
        let ending = if file.text().trim_start().starts_with("policy") { "bay" } else { "yaml" };
        let name = format!("policies.{ending}");
        return (diff::unified(&name, &old, &new), Applied::ToSaved(name));
    }
    let (folder, name) = diff::place(path);
    (diff::unified(&name, &old, &new), Applied::InFolder(folder))
}
