//! Rights that installations need and do not have.

use crate::doctor::facts::{Facts, Installation, Part, Reviewed, some};
use crate::doctor::finding::Finding;
use crate::rights::right::quoted;

/// With more missing rights than this, roles are missing, or are not bound.
const FEW: usize = 5;

pub(super) fn check(facts: &Facts) -> Part<Vec<Finding>> {
    let missing = facts.rights.as_ref().map_err(Clone::clone)?;
    let mut users: Vec<&str> = missing.iter().map(|of| of.user.as_str()).collect();
    users.dedup();
    let mut found = Vec::new();
    for user in users {
        let of_user: Vec<&Reviewed> = missing.iter().filter(|of| of.user == user).collect();
        let account = |of: &&Installation| of.workload.user == user;
        let installation = facts.installations.iter().find(account).or(facts.installations.first());
        match installation {
            Some(of) if of_user.len() > FEW => found.push(many(user, &of_user, of)),
            _ => found.extend(of_user.into_iter().map(one)),
        }
    }
    Ok(found)
}

fn one(of: &Reviewed) -> Finding {
    let what = format!("{} may not {}", of.user, of.lacks);
    let finding = if of.needed.stops { Finding::error(what) } else { Finding::warning(what) };
    finding
        .because(format!("the process {}; without it: {}", of.needed.call, of.needed.without))
        .then(of.lacks.grant(&of.user))
}

fn many(user: &str, missing: &[&Reviewed], of: &Installation) -> Finding {
    let rights: Vec<String> = missing.iter().map(|of| of.lacks.to_string()).collect();
    let what = format!(
        "{user} lacks {} rights: it may not {}",
        missing.len(),
        some(rights.iter().map(String::as_str)).replace(", list", "; list")
    );
    let stops = missing.iter().any(|of| of.needed.stops);
    let finding = if stops { Finding::error(what) } else { Finding::warning(what) };
    finding
        .because("so many are missing if roles do not exist or are not bound to the account: apply those that it needs")
        .then(format!("bayplan rbac{} | kubectl apply --filename -", flags(user, of)))
}

/// The flags with which `rbac` prints the roles of an installation for a user.
fn flags(user: &str, of: &Installation) -> String {
    let wanted = &of.wanted;
    let mut flags = String::new();
    let mut add = |flag: &str, value: &str| flags.push_str(&format!(" --{flag} {}", quoted(value)));
    match user.strip_prefix("system:serviceaccount:").and_then(|account| account.split_once(':')) {
        Some((namespace, account)) => {
            add("namespace", namespace);
            add("service-account", account);
        }
        None => {
            add("namespace", &wanted.namespace);
            add("user", user);
        }
    }
    add("policy-namespaces", &wanted.policies.join(","));
    if wanted.extends {
        add("way", "extender");
    } else {
        let instead = of.names.iter().any(|name| name == "default-scheduler");
        add("way", if instead { "instead" } else { "beside" });
        let (namespace, account) = wanted.account.parts();
        add("policy-service-account", &format!("{namespace}/{account}"));
        if let Some((namespace, name)) = &wanted.lease {
            add("leader-elect-resource-namespace", namespace);
            add("leader-elect-resource-name", name);
        }
    }
    let statuses = wanted.statuses.kinds();
    if !statuses.is_empty() {
        add("write-status", &statuses.join(","));
    }
    if wanted.binds {
        flags.push_str(" --bind");
    }
    if wanted.reviews_tokens && wanted.extends {
        flags.push_str(" --secure-port 10259");
    }
    flags
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::facts::testing::{installed, nothing};
    use crate::doctor::finding::Severity;
    use crate::rights::needed::{Needed, needed};

    fn reviewed(needed: &Needed) -> Reviewed {
        let user = "system:serviceaccount:bayplan:bayplan".into();
        Reviewed { user, lacks: needed.right.clone(), needed: needed.clone() }
    }

    #[test]
    fn a_missing_right_says_what_it_is_for_and_how_to_grant_it() {
        let all = needed(&installed("bayplan").wanted);
        let of = |resource: &str| reviewed(all.iter().find(|of| of.right.resource == resource).unwrap());
        let facts = Facts { rights: Ok(vec![of("pods/binding"), of("events")]), ..nothing() };
        let found = check(&facts).unwrap();
        assert_eq!(found[0].what, "system:serviceaccount:bayplan:bayplan may not create pods/binding");
        assert_eq!(found[0].why, "the process binds a pod; without it: no pod is bound");
        assert!(found[0].command.contains("--serviceaccount=bayplan:bayplan"), "{found:?}");
        assert_eq!([found[0].severity, found[1].severity], [Severity::Error, Severity::Warning]);
    }

    #[test]
    fn where_many_are_missing_the_roles_are_applied() {
        let installation = installed("bayplan");
        let all = needed(&installation.wanted).iter().map(reviewed).collect();
        let facts = Facts { rights: Ok(all), installations: vec![installation], ..nothing() };
        let found = check(&facts).unwrap();
        assert_eq!((found.len(), found[0].severity), (1, Severity::Error));
        assert!(
            found[0]
                .what
                .contains("it may not list, watch pods; list, watch nodes; list, watch namespaces and "),
            "{found:?}"
        );
        assert_eq!(
            found[0].command,
            "bayplan rbac --namespace bayplan --service-account bayplan --policy-namespaces bayplan-policies --way beside \
             --policy-service-account bayplan/bayplan-policies --leader-elect-resource-namespace bayplan \
             --leader-elect-resource-name bayplan | kubectl apply --filename -"
        );
    }
}
