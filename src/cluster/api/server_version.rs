//! [`ServerVersion`]: the Kubernetes version of an API server.

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
}
