//! Pictures of the pages are what the commands print.

use super::run;
use crate::support::repository;

#[test]
fn the_picture_of_the_bays_is_what_dry_run_prints() {
    let flags = "--cluster examples/first/cluster.yaml --policies examples/first";
    let (made, status, errors) = run(&format!("bayplan dry-run {flags} -o svg"));
    assert_eq!(status, Some(0), "{errors}");
    let path = repository("docs/pictures/bays.svg");
    if std::env::var("BAYPLAN_GOLDEN").is_ok_and(|mode| mode == "write") {
        std::fs::write(&path, &made).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap_or_default(), made, "run `make golden`");
    for page in ["README.md", "docs/page.md"] {
        let text = std::fs::read_to_string(repository(page)).unwrap();
        assert!(text.contains("pictures/bays.svg)"), "{page}");
    }
}
