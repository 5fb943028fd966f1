//! [`KindName`]: a kind of object as the API names it.

use super::super::symbol::Symbol;
use std::fmt;

/// A kind of object by group, version and kind: `scheduling.k8s.io/v1/PriorityClass`; `v1/Service` in the core group.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct KindName(Symbol);

impl KindName {
    /// The kind of an object that has this `apiVersion` and `kind`.
    pub fn of(api_version: &str, kind: &str) -> Self {
        Self(Symbol::from(format!("{api_version}/{kind}")))
    }

    /// Reads `group/version/Kind` or, of the core group, `version/Kind`. `None` when the text has another form.
    pub fn parse(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.split('/').collect();
        let (group, version, kind) = match parts.as_slice() {
            [version, kind] => (None, *version, *kind),
            [group, version, kind] => (Some(*group), *version, *kind),
            _ => return None,
        };
        let is_version = version.strip_prefix('v').is_some_and(|rest| {
            rest.starts_with(|c: char| c.is_ascii_digit()) && rest.chars().all(|c| c.is_ascii_alphanumeric())
        });
        let is_kind = kind.starts_with(|c: char| c.is_ascii_uppercase())
            && kind.chars().all(|c| c.is_ascii_alphanumeric())
            && kind.len() <= 63;
        let is_group = group.is_none_or(|group| {
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
            !group.is_empty() && group.len() <= 253 && group.chars().all(plain)
        });
        (is_version && is_kind && is_group).then(|| Self(Symbol::new(text)))
    }

    /// `group/version/Kind`
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    fn split(&self) -> (&str, &str) {
        self.as_str().rsplit_once('/').unwrap_or(("", self.as_str()))
    }

    /// `kind` of an object: `PriorityClass`.
    pub fn kind(&self) -> &str {
        self.split().1
    }

    /// `apiVersion` of an object: `scheduling.k8s.io/v1`.
    pub fn api_version(&self) -> &str {
        self.split().0
    }

    /// The API group; empty for the core group.
    pub fn group(&self) -> &str {
        self.api_version().split_once('/').map_or("", |(group, _)| group)
    }

    /// The version in the group.
    pub fn version(&self) -> &str {
        let api_version = self.api_version();
        api_version.split_once('/').map_or(api_version, |(_, version)| version)
    }

    /// The path of the group and version: `/apis/scheduling.k8s.io/v1`.
    pub fn root(&self) -> String {
        match self.group() {
            "" => format!("/api/{}", self.version()),
            group => format!("/apis/{group}/{}", self.version()),
        }
    }
}

impl fmt::Display for KindName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn names_have_a_group_a_version_and_a_kind() {
        let class = KindName::parse("scheduling.k8s.io/v1/PriorityClass").unwrap();
        assert_eq!(
            (class.group(), class.version(), class.kind(), class.root().as_str()),
            ("scheduling.k8s.io", "v1", "PriorityClass", "/apis/scheduling.k8s.io/v1")
        );
        let service = KindName::parse("v1/Service").unwrap();
        assert_eq!((service.group(), service.version(), service.root().as_str()), ("", "v1", "/api/v1"));
        assert_eq!(service, KindName::of("v1", "Service"));
        for wrong in
            ["", "Service", "a/b", "v1/service", "A/v1/Service", "a/v1/b/Service", "a.io/one/B", "/v1/B"]
        {
            assert_eq!(KindName::parse(wrong), None, "{wrong}");
        }
    }
}
