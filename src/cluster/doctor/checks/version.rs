//! The version of the API server.

use crate::api::server_version::ServerVersion;
use crate::doctor::facts::{Facts, Part};
use crate::doctor::finding::Finding;
use bayplan_model::{Kind, NEWEST_SERVER, OLDEST_SERVER};

pub(super) fn check(facts: &Facts) -> Part<Vec<Finding>> {
    let text = facts.version.as_ref().map_err(Clone::clone)?;
    let Some(version) = ServerVersion::parse(text) else {
        return Ok(vec![
            Finding::warning(format!("the API server says that its version is `{text}`"))
                .because("whether it is supported is not known"),
        ]);
    };
    let (major, minor) = OLDEST_SERVER;
    if version.is_before(OLDEST_SERVER) {
        return Ok(vec![Finding::error(format!("the API server has version {version}")).because(format!(
            "Bayplan works with Kubernetes {major}.{minor} and newer: upgrade the control plane first"
        ))]);
    }
    if let Some(since) =
        Kind::ResourceClaim.row().and_then(|row| row.since).filter(|since| version.is_before(*since))
    {
        return Ok(vec![
            Finding::note(format!("the API server has version {version}, without `resource.k8s.io/v1`")).because(format!(
                "nothing of that group is watched, and pods with resource claims wait; Kubernetes {}.{} and newer have it",
                since.0, since.1
            )),
        ]);
    }
    let (major, newest) = NEWEST_SERVER;
    if !version.is_before((major, newest + 1)) {
        return Ok(vec![Finding::note(format!("the API server has version {version}"))
            .because(format!("Bayplan knows the objects of Kubernetes up to {major}.{newest}; fields that are newer have no effect"))]);
    }
    Ok(Vec::new())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::facts::testing::nothing;
    use crate::doctor::finding::Severity;

    #[test]
    fn versions_that_are_too_old_are_errors_and_those_without_claims_notes() {
        let of = |version: &str| {
            let facts = Facts { version: Ok(version.to_owned()), ..nothing() };
            check(&facts).unwrap().first().map(|finding| finding.severity)
        };
        assert_eq!(of("v1.32.9"), Some(Severity::Error));
        assert_eq!(of("v1.33.0-gke.1"), Some(Severity::Note));
        assert_eq!(of("v1.34.0-gke.1"), None);
        assert_eq!(of("v1.38.0"), Some(Severity::Note));
        assert_eq!(of("latest"), Some(Severity::Warning));
    }
}
