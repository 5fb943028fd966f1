//! The rows of `policies/README.md`: every policy has one where it is described and one with its figures, and what is
//! counted there is true. `BAYPLAN_GOLDEN=write` writes the counted cells anew; times are measured by hand.

use super::{Shipped, shipped, writes};
use crate::support::repository;
use bayplan::lang::analysis::cost::{Costs, Size};
use bayplan::lang::syntax::ast::StatementKind;
use bayplan::lang::typed::Point;

/// The statements that do something, in the order of the text.
fn statements(policy: &Shipped) -> String {
    let (file, _) = policy.checked(Size::default());
    let mut words: Vec<&str> = Vec::new();
    for statement in file.policies().flat_map(|policy| &policy.statements) {
        let names = matches!(
            statement.kind,
            StatementKind::Applies(_)
                | StatementKind::Let(_)
                | StatementKind::Def(_)
                | StatementKind::Param(_)
                | StatementKind::Type(_)
        );
        let word = statement.kind.id().unwrap().def().words;
        if !names && !words.contains(&word) {
            words.push(word);
        }
    }
    words.join(", ")
}

/// The most steps for one pod, as `bayplan plan` adds them up.
fn steps(policy: &Shipped, size: Size) -> String {
    let (_, checked) = policy.checked(size);
    let costs = Costs::new(&checked, size);
    let rules = checked.rules.iter().filter(|rule| rule.point() != Point::Applies);
    let all = rules.fold(0u128, |all, rule| all.saturating_add(costs.rule(rule).steps));
    with_commas(all)
}

fn with_commas(number: u128) -> String {
    let digits = number.to_string();
    let places = digits.chars().enumerate();
    places.fold(String::new(), |text, (at, digit)| {
        let comma = at > 0 && (digits.len() - at).is_multiple_of(3);
        format!("{text}{}{digit}", if comma { "," } else { "" })
    })
}

/// Lines without comments and empty lines.
fn lines(policy: &Shipped) -> usize {
    policy.text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")).count()
}

/// Its document, or the first reason why it has none.
fn in_cel(policy: &Shipped) -> String {
    match policy.converted() {
        Ok(_) => format!("[yes](../policies-cel/{}/{}.yaml)", policy.origin, policy.name),
        Err(why) => format!("no: {}", why.split("; ").next().unwrap_or_default()),
    }
}

/// The row of figures, with the times of the README.
fn row(policy: &Shipped, known: &[&str]) -> String {
    let cells = [
        format!("`{}`", policy.name),
        statements(policy),
        lines(policy).to_string(),
        steps(policy, Size::of(1_000, 20_000)),
        steps(policy, Size::of(5_000, 100_000)),
        known[5].to_owned(),
        known[6].to_owned(),
        in_cel(policy),
    ];
    format!("| {} |", cells.join(" | "))
}

#[test]
fn every_policy_has_its_rows_and_what_is_counted_is_true() {
    let path = repository("policies/README.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (described, figures) = text.split_once("\n## Size, bound and time\n").unwrap();
    let mut now = format!("{described}\n## Size, bound and time\n");
    let policies = shipped();
    for line in figures.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let named =
            policies.iter().find(|policy| cells.len() > 8 && cells[1] == format!("`{}`", policy.name));
        now.push_str(&named.map_or_else(|| line.to_owned(), |policy| row(policy, &cells[1..])));
        now.push('\n');
    }
    if writes() {
        std::fs::write(&path, &now).unwrap();
    } else {
        let differs = text.lines().zip(now.lines()).find(|(old, new)| old != new);
        assert_eq!(differs, None, "BAYPLAN_GOLDEN=write writes it");
    }
    for policy in &policies {
        let link = format!("| [`{}`]({}/{}.bay) |", policy.name, policy.origin, policy.name);
        assert!(described.contains(&link), "no row begins with {link}");
        let figures: Vec<&str> =
            figures.lines().filter(|line| line.starts_with(&format!("| `{}` |", policy.name))).collect();
        let [row] = figures[..] else { panic!("{}: {figures:?}", policy.name) };
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let is_time = |cell: &str| {
            let cell = cell.strip_prefix("< ").unwrap_or(cell);
            let number = cell.strip_suffix(" µs").or(cell.strip_suffix(" ms"));
            ["once a pod", "in preemption", "not measured"].contains(&cell)
                || number.is_some_and(|number| number.parse::<f64>().is_ok())
        };
        assert!(is_time(cells[6]) && is_time(cells[7]), "{}: times of `make bench`: {row}", policy.name);
    }
    let rows = figures.lines().filter(|line| line.starts_with("| `")).count();
    assert_eq!(rows, policies.len(), "a row of a policy that is not there");
}
