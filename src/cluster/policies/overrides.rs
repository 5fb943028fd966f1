//! Overrides: entries of the ConfigMap `bayplan-overrides` in a namespace of policies, one key per
//! policy. An entry suspends the policy or pins an older revision of it, without touching the
//! policy's object. It ends by itself at `until`, or when the text of the object changes after it.
//! Pure; the commands write entries, `source` reads them.

use k8s_openapi::api::core::v1::ConfigMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// The key of the entry that suspends all policies of the namespace. No policy has this name.
pub const ALL: &str = "_all";

/// What an entry does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The policy has no effect.
    Suspend,
    /// An older revision is in service.
    Rollback,
}

impl Kind {
    /// The word in entries and metrics.
    pub fn word(self) -> &'static str {
        match self {
            Self::Suspend => "suspend",
            Self::Rollback => "rollback",
        }
    }
}

/// An entry.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// What it does.
    pub kind: Kind,
    /// Why.
    pub because: String,
    /// Who wrote it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub by: String,
    /// When it was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<jiff::Timestamp>,
    /// When it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<jiff::Timestamp>,
    /// The hash of the object's texts for which it holds; without it, for any texts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The pinned revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
}

impl Entry {
    /// An entry that begins now, for any texts; `None` if its end is too far.
    pub fn begin(kind: Kind, because: &str, by: String, lasts: Option<Duration>) -> Option<Self> {
        let now = jiff::Timestamp::now().round(jiff::Unit::Second).ok()?;
        let until = match lasts {
            // Whole seconds, as Kubernetes writes times.
            Some(lasts) => Some(now.checked_add(lasts).ok()?.round(jiff::Unit::Second).ok()?),
            None => None,
        };
        let because = because.to_owned();
        Some(Self { kind, because, by, at: Some(now), until, text: None, revision: None })
    }

    /// Whether it holds now, for an object with these texts.
    pub(crate) fn holds(&self, text: &str, now: jiff::Timestamp) -> bool {
        self.until.is_none_or(|until| now < until) && self.text.as_deref().is_none_or(|of| of == text)
    }

    /// What it does to a policy, in words.
    pub fn words(&self, policy: &str) -> String {
        let what = match (self.kind, &self.revision) {
            (Kind::Rollback, Some(revision)) => format!("is pinned to revision {revision}"),
            _ => "is suspended".to_owned(),
        };
        let until = self.until.map_or_else(String::new, |until| format!(" until {until}"));
        let by = if self.by.is_empty() { String::new() } else { format!(" by {}", self.by) };
        format!("policy `{policy}` {what}{until}{by} because: {}", self.because)
    }

    /// The text of the entry.
    pub(crate) fn text(&self) -> Result<String, String> {
        serde_saphyr::to_string(self).map_err(|error| error.to_string())
    }
}

/// The entries of a namespace.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Overrides {
    entries: BTreeMap<String, Entry>,
}

impl Overrides {
    /// The entries of the ConfigMap, and what is wrong with others.
    pub(crate) fn of(object: &ConfigMap) -> (Self, Vec<String>) {
        let (mut entries, mut problems) = (BTreeMap::new(), Vec::new());
        for (policy, text) in object.data.iter().flatten() {
            match serde_saphyr::from_str::<Entry>(text) {
                Ok(Entry { kind: Kind::Rollback, revision: None, .. }) => {
                    problems.push(format!("override of `{policy}`: a rollback names a `revision`"));
                }
                Ok(Entry { because, .. }) if because.trim().is_empty() => {
                    problems.push(format!("override of `{policy}`: `because` says why"));
                }
                Ok(entry) => drop(entries.insert(policy.clone(), entry)),
                Err(error) => {
                    let error = error.to_string();
                    let line = error.lines().next().unwrap_or_default();
                    problems.push(format!("override of `{policy}`: {line}"));
                }
            }
        }
        (Self { entries }, problems)
    }

    /// The entry that holds for a policy of an object with these texts. The entry for all policies
    /// comes first.
    pub(crate) fn of_policy(&self, policy: &str, text: &str, now: jiff::Timestamp) -> Option<&Entry> {
        let all = self.entries.get(ALL).filter(|entry| entry.kind == Kind::Suspend);
        let own = self.entries.get(policy);
        [all, own].into_iter().flatten().find(|entry| entry.holds(text, now))
    }

    /// The entry that holds at present.
    pub fn now(&self, policy: &str, text: &str) -> Option<&Entry> {
        self.of_policy(policy, text, jiff::Timestamp::now())
    }

    /// The entry under a key, whether it holds or not.
    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.get(key)
    }

    /// Whether an entry pins an older revision.
    pub(crate) fn roll_back(&self) -> bool {
        self.entries.values().any(|entry| entry.kind == Kind::Rollback)
    }

    /// The keys of the entries whose time has not come to an end.
    pub(crate) fn unexpired(&self, now: jiff::Timestamp) -> Vec<String> {
        let open = self.entries.iter().filter(|(_, entry)| entry.until.is_none_or(|until| now < until));
        open.map(|(key, _)| key.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(entries: &[(&str, &str)]) -> ConfigMap {
        let data = entries.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned()));
        ConfigMap { data: Some(data.collect()), ..ConfigMap::default() }
    }

    fn at(text: &str) -> jiff::Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn an_entry_ends_at_its_time_and_with_its_text() {
        let text = "kind: suspend\nbecause: OPS-1\nby: ann\nuntil: 2026-01-01T02:00:00Z\ntext: abc\n";
        let (overrides, problems) = Overrides::of(&map(&[("gpu", text)]));
        assert!(problems.is_empty(), "{problems:?}");
        let early = at("2026-01-01T01:00:00Z");
        let entry = overrides.of_policy("gpu", "abc", early).unwrap();
        assert_eq!(
            entry.words("gpu"),
            "policy `gpu` is suspended until 2026-01-01T02:00:00Z by ann because: OPS-1"
        );
        assert!(overrides.of_policy("gpu", "abd", early).is_none(), "the text changed");
        assert!(overrides.of_policy("gpu", "abc", at("2026-01-01T02:00:00Z")).is_none(), "its time is over");
        assert!(overrides.of_policy("other", "abc", early).is_none());
        let (again, _) = Overrides::of(&map(&[("gpu", &entry.text().unwrap())]));
        assert_eq!(again, overrides);
    }

    #[test]
    fn the_entry_for_all_holds_for_every_policy_and_bad_entries_for_none() {
        let (overrides, problems) = Overrides::of(&map(&[
            (ALL, "{\"kind\": \"suspend\", \"because\": \"out\"}"),
            ("a", "kind: rollback\nbecause: x\n"),
            ("b", "kind: suspend\nbecause: ' '\n"),
            ("c", "kind: delete\nbecause: x\n"),
            ("d", "kind: suspend\nbecause: x\nforever: true\n"),
        ]));
        assert_eq!(problems.len(), 4, "{problems:?}");
        assert!(overrides.of_policy("any", "", at("2026-01-01T00:00:00Z")).is_some());
    }
}
