//! Health checks of the secure port: the pages `/healthz`, `/livez` and `/readyz`, one page below them for each check, and
//! the results counted for `/metrics/slis`.
//!
//! Source: `apiserver/pkg/server/healthz/healthz.go`.

use super::metrics::HealthMetrics;
use std::fmt::Write;

/// One check of `/livez`, `/readyz` or `/healthz`.
pub(crate) struct Check {
    /// Its name.
    pub name: &'static str,
    /// The pages that include it.
    pub of: &'static [&'static str],
    /// Passes, or returns the reason of the failure. The part before the first `: ` is for everybody; the rest
    /// may name accounts and rules.
    pub run: Box<dyn Fn() -> Result<(), String> + Send + Sync>,
}

/// The check of a page that has no other.
const PING: &str = "ping";

/// How a check of a page ended.
enum Outcome {
    Passed,
    Failed(String),
    Excluded,
}

/// The results of the checks of a page.
pub(crate) struct Report<'p> {
    page: &'p str,
    outcomes: Vec<(&'static str, Outcome)>,
    /// Names that the caller excludes and no check has.
    unknown: Vec<&'p str>,
    verbose: bool,
}

/// All checks, and the results so far.
pub(crate) struct Health {
    checks: Vec<Check>,
    /// What `/metrics/slis` shows.
    pub metrics: HealthMetrics,
}

impl Health {
    /// With these checks.
    pub(crate) fn new(checks: Vec<Check>) -> Self {
        Self { checks, metrics: HealthMetrics::new() }
    }

    fn of<'s>(&'s self, page: &'s str) -> impl Iterator<Item = &'s Check> {
        self.checks.iter().filter(move |check| check.of.contains(&page))
    }

    /// Runs the checks of a page, such as `readyz`, but for those that the query excludes.
    pub(crate) fn report<'p>(&self, page: &'p str, query: &'p str) -> Report<'p> {
        let fields = || query.split('&').map(|field| field.split_once('=').unwrap_or((field, "")));
        let excluded: Vec<&str> =
            fields().filter(|(name, _)| *name == "exclude").map(|(_, value)| value).collect();
        let run = |name: &'static str, check: Option<&Check>| {
            if excluded.contains(&name) {
                return (name, Outcome::Excluded);
            }
            let result = check.map_or(Ok(()), |check| (check.run)());
            self.metrics.checked(name, page, result.is_ok());
            match result {
                Ok(()) => (name, Outcome::Passed),
                Err(why) => {
                    tracing::debug!(page, check = name, %why, "check failed");
                    (name, Outcome::Failed(why))
                }
            }
        };
        let mut outcomes: Vec<_> = self.of(page).map(|check| run(check.name, Some(check))).collect();
        if outcomes.is_empty() {
            outcomes.push(run(PING, None));
        }
        let is_known = |name: &str| outcomes.iter().any(|(known, _)| *known == name);
        let mut unknown: Vec<&str> = excluded.iter().copied().filter(|name| !is_known(name)).collect();
        unknown.sort_unstable();
        unknown.dedup();
        Report { page, outcomes, unknown, verbose: fields().any(|(name, _)| name == "verbose") }
    }

    /// Runs one check of a page; `None` if the page has no such check.
    pub(crate) fn single(&self, page: &str, name: &str) -> Option<Result<(), String>> {
        let found = self.of(page).find(|check| check.name == name).map(|check| (check.run)());
        let alone = || (name == PING && self.of(page).next().is_none()).then_some(Ok(()));
        found.or_else(alone)
    }
}

impl Report<'_> {
    /// Whether no check failed.
    pub(crate) fn passed(&self) -> bool {
        !self.outcomes.iter().any(|(_, outcome)| matches!(outcome, Outcome::Failed(_)))
    }

    /// The text of the page, with the reasons of failures or without.
    pub(crate) fn text(&self, reasons: bool) -> String {
        let mut lines = String::new();
        for (name, outcome) in &self.outcomes {
            // Writing to a string does not fail.
            let _ = match outcome {
                Outcome::Passed => writeln!(lines, "[+]{name} ok"),
                Outcome::Excluded => writeln!(lines, "[+]{name} excluded: ok"),
                Outcome::Failed(why) if reasons => writeln!(lines, "[-]{name} failed: {why}"),
                Outcome::Failed(_) => writeln!(lines, "[-]{name} failed: reason withheld"),
            };
        }
        if !self.unknown.is_empty() {
            let names: Vec<String> = self.unknown.iter().map(|name| format!("{name:?}")).collect();
            let names = names.join(",");
            let _ = writeln!(lines, "warn: some health checks cannot be excluded: no matches for {names}");
        }
        match (self.passed(), self.verbose) {
            (true, false) => "ok".into(),
            (true, true) => format!("{lines}{} check passed\n", self.page),
            (false, _) => format!("{lines}{} check failed\n", self.page),
        }
    }
}

/// The text of the page of one check that failed.
pub(crate) fn failed(why: &str, reasons: bool) -> String {
    let shown = if reasons { why } else { why.split(": ").next().unwrap_or_default() };
    format!("internal server error: {shown}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &'static str, of: &'static [&'static str], answer: Result<(), String>) -> Check {
        Check { name, of, run: Box::new(move || answer.clone()) }
    }

    fn health() -> Health {
        let late = "handlers are not fully synchronized: pods are not listed yet";
        Health::new(vec![
            check("leaderElection", &["healthz", "readyz"], Ok(())),
            check("sched-handler-sync", &["readyz"], Err(late.into())),
        ])
    }

    #[test]
    fn health_pages_read_as_those_of_kubernetes() {
        let health = health();
        let page = |path, query, reasons| health.report(path, query).text(reasons);
        assert_eq!(page("healthz", "", false), "ok");
        assert_eq!(page("livez", "verbose", false), "[+]ping ok\nlivez check passed\n");
        assert_eq!(page("healthz", "verbose=1", false), "[+]leaderElection ok\nhealthz check passed\n");
        assert_eq!(
            page("readyz", "", true),
            "[+]leaderElection ok\n[-]sched-handler-sync failed: handlers are not fully synchronized: pods are not \
             listed yet\nreadyz check failed\n"
        );
        let withheld =
            "[+]leaderElection ok\n[-]sched-handler-sync failed: reason withheld\nreadyz check failed\n";
        assert_eq!([page("readyz", "", false), page("readyz", "verbose", false)], [withheld, withheld]);
        assert_eq!(
            page("readyz", "verbose&exclude=sched-handler-sync&exclude=other", false),
            "[+]leaderElection ok\n[+]sched-handler-sync excluded: ok\nwarn: some health checks cannot be excluded: \
             no matches for \"other\"\nreadyz check passed\n"
        );
    }

    #[test]
    fn every_check_has_a_page_and_results_are_counted() {
        let health = health();
        assert_eq!(health.single("livez", "ping"), Some(Ok(())));
        assert_eq!(health.single("readyz", "leaderElection"), Some(Ok(())));
        assert_eq!(health.single("readyz", "ping"), None);
        assert_eq!(health.single("healthz", "sched-handler-sync"), None);
        let why = health.single("readyz", "sched-handler-sync").unwrap().unwrap_err();
        assert_eq!(failed(&why, false), "internal server error: handlers are not fully synchronized\n");
        assert_eq!(failed(&why, true), format!("internal server error: {why}\n"));
        for _ in 0..2 {
            health.report("readyz", "");
        }
        let text = health.metrics.encode();
        for line in [
            r#"kubernetes_healthcheck{name="leaderElection",type="readyz"} 1"#,
            r#"kubernetes_healthcheck{name="sched-handler-sync",type="readyz"} 0"#,
            r#"kubernetes_healthchecks_total{name="sched-handler-sync",type="readyz",status="error"} 2"#,
        ] {
            assert!(text.lines().any(|it| it == line), "{line}\nis not in\n{text}");
        }
        health.metrics.reset();
        assert!(!health.metrics.encode().contains("leaderElection"));
    }
}
