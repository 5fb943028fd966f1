//! Test files: their fields as one page, and one of them.

use super::page::{Page, sentence};
use super::topics::Found;
use bayplan_diag::suggest::nearest;
use bayplan_dry_run::cases::{FIELDS, FieldDoc, Section};

/// A whole file, tested with the documentation.
const EXAMPLE: &str = r#"policies: [hours.bay]
now: 2026-03-02T10:00:00+01:00
namespaces: {shop: {tier: batch}}
nodes:
- {name: n1, labels: {zone: a}, allocatable: {cpu: 4, memory: 8Gi}}
- {name: n2, labels: {zone: b}, allocatable: {cpu: 8, memory: 8Gi}}
cases:
- name: a batch job waits during business hours
  pod: {name: nightly, namespace: shop, labels: {tier: batch}, requests: {cpu: 1}}
  expect: {gated: batch-hours}
- name: it starts in the evening, on a node with room
  now: 2026-03-02T20:00:00+01:00
  pod: {name: nightly, namespace: shop, labels: {tier: batch}, requests: {cpu: 6}}
  expect: {node: n2, refused: {n1: NodeResourcesFit}}
"#;

/// Every field.
pub(super) fn page() -> Page {
    let mut page = Page::new("Test files");
    page.text(
        "`bayplan test` runs every case of the files that end in `.test.yaml`. A case schedules its \
         pods with the policies under test, on the nodes of the file, and compares the outcome. A \
         field that the table lacks is an error, so that a typing mistake cannot make a test pass. \
         After the cases, `bayplan test` lists the conditions that no case has seen both true and \
         false.",
    );
    page.example("yaml", EXAMPLE);
    for section in Section::ALL {
        page.section(section.title());
        let fields = FIELDS.iter().filter(|field| field.section == section);
        page.table(&["field", "example", "meaning"], fields.map(row));
    }
    page
}

fn row(field: &FieldDoc) -> Vec<String> {
    vec![format!("`{}`", field.name), format!("`{}`", field.example), field.doc.to_owned()]
}

/// The page of one field; a field of several sections has a paragraph for each.
pub(super) fn look_up(word: &str) -> Found {
    let fields: Vec<&FieldDoc> = FIELDS.iter().filter(|field| field.name == word).collect();
    if fields.is_empty() {
        let names = FIELDS.iter().map(|field| field.name);
        return Found::Unknown { near: nearest(word, names).map(str::to_owned) };
    }
    let mut page = Page::new(word);
    for field in fields {
        page.section(field.section.title());
        page.text(sentence(field.doc)).example("yaml", format!("{}: {}", field.name, field.example));
    }
    Found::Page(page)
}
