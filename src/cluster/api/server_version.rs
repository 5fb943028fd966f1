//! [`ServerVersion`]: the Kubernetes version of an API server.

use bayplan_model::{NEWEST_SERVER, OLDEST_SERVER, SERVER_FEATURES, ServerFeature};
use serde_json::Value;
use std::fmt;

/// The version of an API server, as `/version` has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ServerVersion {
    major: u32,
    minor: u32,
    /// As it is shown, such as `v1.36.3`.
    text: String,
}

impl ServerVersion {
    /// The answer of `/version`; `None` if it names no version.
    pub(crate) fn of(answer: &Value) -> Option<Self> {
        Self::parse(answer.get("gitVersion")?.as_str()?)
    }

    /// The version of a text such as `v1.36.3`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        // Distributions add to it: `v1.34.1-gke.100`, and `34+` as the minor version.
        let mut numbers = text.strip_prefix('v').unwrap_or(text).split(['.', '-', '+']);
        let mut number = || numbers.next()?.parse().ok();
        Some(Self { major: number()?, minor: number()?, text: text.to_owned() })
    }

    /// Whether it is older than a major and minor version.
    pub(crate) fn is_before(&self, version: (u32, u32)) -> bool {
        (self.major, self.minor) < version
    }

    /// What a scheduler has less of on this API server.
    pub(crate) fn lacks(&self) -> impl Iterator<Item = &'static ServerFeature> {
        SERVER_FEATURES.iter().filter(|row| self.is_before(row.since))
    }

    /// Says in the log what is off on this API server, one line each, and whether it is older or newer than those that are
    /// known.
    pub(crate) fn tell(&self) {
        let ((_, oldest), (_, newest)) = (OLDEST_SERVER, NEWEST_SERVER);
        if self.is_before(OLDEST_SERVER) {
            tracing::warn!(server = %self, "API servers before 1.{oldest} are not supported");
        } else if !self.is_before((NEWEST_SERVER.0, newest + 1)) {
            tracing::info!(server = %self, "objects are known up to Kubernetes 1.{newest}; newer fields have no effect");
        }
        for row in self.lacks() {
            let (major, minor) = row.since;
            let gate = match row.gate {
                "" => String::new(),
                gate => format!(", unless it runs with the feature gate {gate}"),
            };
            tracing::info!(
                server = %self,
                "off below Kubernetes {major}.{minor}{gate}: {}: {}", row.what, row.without
            );
        }
    }
}

impl fmt::Display for ServerVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn versions_of_distributions_are_read() {
        for (text, before) in [
            ("v1.34.9", Some(true)),
            ("v1.34.1-gke.100", Some(true)),
            ("v1.35.0-alpha.1", Some(false)),
            ("v1.36.3+k3s1", Some(false)),
            ("v2.0", Some(false)),
            ("1.9.0", Some(true)),
            ("latest", None),
            ("v1", None),
        ] {
            let version = ServerVersion::of(&json!({ "gitVersion": text }));
            assert_eq!(version.as_ref().map(|of| of.is_before((1, 35))), before, "{text}");
            assert!(version.is_none_or(|of| of.to_string() == text));
        }
        assert_eq!(ServerVersion::of(&json!({ "major": "1" })), None);
    }

    #[test]
    fn an_older_server_has_less() {
        let lacks = |text: &str| ServerVersion::parse(text).map(|of| of.lacks().count());
        assert_eq!(lacks("v1.33.0"), Some(SERVER_FEATURES.len()));
        assert_eq!(lacks("v1.36.3"), Some(2));
        assert_eq!(lacks("v1.37.2-gke.1"), Some(0));
    }
}
