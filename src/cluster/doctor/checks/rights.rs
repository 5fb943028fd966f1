//! Rights that installations need and do not have.

use crate::doctor::facts::{Facts, Part};
use crate::doctor::finding::Finding;

pub(super) fn check(facts: &Facts) -> Part<Vec<Finding>> {
    let missing = facts.rights.as_ref().map_err(Clone::clone)?;
    let all = missing.iter().map(|of| {
        let what = format!("{} may not {}", of.user, of.lacks);
        let finding = if of.needed.stops { Finding::error(what) } else { Finding::warning(what) };
        finding
            .because(format!("the process {}; without it: {}", of.needed.call, of.needed.without))
            .then(of.lacks.grant(&of.user))
    });
    Ok(all.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::facts::Reviewed;
    use crate::doctor::facts::testing::{installed, nothing};
    use crate::doctor::finding::Severity;
    use crate::rights::needed::needed;

    #[test]
    fn a_missing_right_says_what_it_is_for_and_how_to_grant_it() {
        let all = needed(&installed("bayplan").wanted);
        let reviewed = |resource: &str| {
            let needed = all.iter().find(|of| of.right.resource == resource).unwrap().clone();
            Reviewed {
                user: "system:serviceaccount:bayplan:bayplan".into(),
                lacks: needed.right.clone(),
                needed,
            }
        };
        let facts = Facts { rights: Ok(vec![reviewed("pods/binding"), reviewed("events")]), ..nothing() };
        let found = check(&facts).unwrap();
        assert_eq!(found[0].what, "system:serviceaccount:bayplan:bayplan may not create pods/binding");
        assert_eq!(found[0].why, "the process binds a pod; without it: no pod is bound");
        assert!(found[0].command.contains("--serviceaccount=bayplan:bayplan"), "{found:?}");
        assert_eq!([found[0].severity, found[1].severity], [Severity::Error, Severity::Warning]);
    }
}
