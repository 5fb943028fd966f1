//! Clocks: ours against the `Date` of the API server, and that of the leader by the renewals of its lease. Clocks that differ
//! move dates of policies (`until`, `now`), exceptions and the times of events; leases do not depend on them.

use crate::doctor::facts::{Facts, Part, ServerClock, holder};
use crate::doctor::finding::Finding;

/// The skew that a finding needs, in seconds. The header has whole seconds, and an answer takes a moment.
const SKEW: i64 = 5;
const WATCH: &str = "chronyc tracking || timedatectl timesync-status";

pub(super) fn check(facts: &Facts) -> Part<Vec<Finding>> {
    let mut found = Vec::new();
    if let Some(clock) = facts.clock {
        let ahead = skew(clock);
        if ahead.abs() > SKEW {
            found.push(
                Finding::warning(format!(
                    "the clock of this machine is {} that of the API server",
                    words(ahead)
                ))
                .because(
                    "ages and dates that commands print here are wrong by as much; synchronize the clocks",
                )
                .then(WATCH),
            );
        }
    }
    for of in facts.leases.iter().flatten() {
        let Some(lease) = &of.lease else { continue };
        let (Some(holder), Some(renewed)) =
            (holder(lease), lease.spec.as_ref().and_then(|spec| spec.renew_time.as_ref()))
        else {
            continue;
        };
        let ahead = renewed.0.duration_since(facts.server_now()).as_secs();
        if ahead > SKEW {
            found.push(
                Finding::warning(format!(
                    "the clock of {holder}, which holds the lease {}/{}, is {} that of the API server",
                    of.namespace,
                    of.name,
                    words(ahead)
                ))
                .because(
                    "it renewed the lease in the future; by that clock policies decide what `now` and `until` mean: \
                     synchronize the clocks of the nodes",
                )
                .then(WATCH),
            );
        }
    }
    Ok(found)
}

/// By how many seconds our clock is certainly ahead; negative if it is behind.
fn skew(clock: ServerClock) -> i64 {
    // The server wrote a second that had begun, at some moment between our two times.
    let ahead = clock.before.duration_since(clock.server).as_secs() - 1;
    let behind = clock.server.duration_since(clock.after).as_secs();
    if ahead > 0 { ahead } else { -behind.max(0) }
}

fn words(ahead: i64) -> String {
    let side = if ahead > 0 { "ahead of" } else { "behind" };
    format!("{} s {side}", ahead.abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::facts::testing::{lease, nothing, now};
    use jiff::SignedDuration;

    #[test]
    fn a_clock_that_differs_is_named_with_its_side() {
        let said = |ahead: i64| {
            let ours = now() + SignedDuration::from_secs(ahead);
            let clock = ServerClock { server: now(), before: ours, after: ours };
            check(&Facts { clock: Some(clock), ..nothing() }).unwrap().pop().map(|finding| finding.what)
        };
        assert_eq!((said(0), said(3), said(-4)), (None, None, None));
        assert_eq!(said(100).unwrap(), "the clock of this machine is 99 s ahead of that of the API server");
        assert_eq!(said(-100).unwrap(), "the clock of this machine is 100 s behind that of the API server");
    }

    #[test]
    fn a_leader_from_the_future_has_a_wrong_clock() {
        let said = |ago: i64| {
            let leases = Ok(vec![lease("bayplan", "bayplan", "bayplan-1_id", ago)]);
            check(&Facts { leases, ..nothing() }).unwrap()
        };
        assert!(said(10).is_empty());
        assert!(said(-60)[0].what.starts_with("the clock of bayplan-1_id"), "{:?}", said(-60));
    }
}
