//! What could not be read: each resource once, with the rule to add. Checks that need it said nothing.

use crate::doctor::facts::{Facts, Part, Why};
use crate::doctor::finding::Finding;

pub(super) fn check(facts: &Facts) -> Part<Vec<Finding>> {
    let all = facts.unread().into_iter().map(|unread| {
        let resource = &unread.resource;
        match &unread.why {
            Why::Forbidden(right) => Finding::warning(format!("you may not {right}"))
                .because(format!(
                    "checks that read {resource} are left out; the rule to add is {}",
                    right.rule()
                ))
                .then(right.grant(&facts.user)),
            Why::Absent => Finding::note(format!("the API server has no {resource}"))
                .because("checks that read them are left out"),
            Why::Failed(why) => Finding::warning(format!("{resource} cannot be read: {why}"))
                .because("checks that read them are left out"),
        }
    });
    Ok(all.collect())
}
