//! `docs/cel-conformance.md`: its tables are what the tests of this folder count. `BAYPLAN_GOLDEN=write` writes them.

use std::sync::Mutex;

/// Tests write one section each, at the same time.
static PAGE: Mutex<()> = Mutex::new(());

/// The section of this heading ends with this text, after a line of `<!-- counted -->`.
pub(super) fn published(heading: &str, text: &str) {
    const MARK: &str = "<!-- counted -->\n";
    let _one = PAGE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let path = crate::support::repository("docs/cel-conformance.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(&format!("## {heading}\n")).expect("the page has the section");
    let (section, after) =
        rest.split_once("\n## ").map_or((rest, None), |(section, after)| (section, Some(after)));
    let (said, counted) = section.split_once(MARK).expect("the section has a counted part");
    if std::env::var("BAYPLAN_GOLDEN").is_ok_and(|mode| mode == "write") {
        let after = after.map(|after| format!("\n## {after}")).unwrap_or_default();
        let made = format!("{before}## {heading}\n{said}{MARK}{}\n{after}", text.trim_end());
        return std::fs::write(&path, made).unwrap();
    }
    assert_eq!(counted.trim_end(), text.trim_end(), "{heading} in {}: run `make golden`", path.display());
}
