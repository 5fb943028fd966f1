//! Policy documents: their fields as one page, and one of them.

use super::page::{Page, sentence};
use super::topics::Found;
use bayplan_diag::suggest::nearest;
use bayplan_lang::language::documents::{DOCUMENT, FieldDef, ObjectDef, SPEC, Shape};

/// A document with most fields, tested with the documentation.
const EXAMPLE: &str = r#"# GPU work goes to GPU nodes, and fills the fullest one first.
apiVersion: bayplan.dev/v1
kind: SchedulingPolicy
metadata: {name: gpu-placement}
spec:
  params:
  - {name: resource, default: nvidia.com/gpu}
  variables:
  - {name: wanted, expression: 'pod.requests[params.resource]'}
  appliesWhen: variables.wanted > 0
  filters:
  # Nodes that are being emptied carry the label avoid=true.
  - name: not-avoided
    expression: '!("avoid" in node.labels) || node.labels["avoid"] != "true"'
    reason: node(s) labeled avoid=true
  scores:
  - name: fullest
    weight: 3
    expression: percent(node.requested[params.resource] + variables.wanted, node.allocatable[params.resource])
"#;

/// Every field.
pub(super) fn page() -> Page {
    let mut page = Page::new("Policy documents");
    page.text(
        "A policy can be written as a YAML or JSON document of `kind: SchedulingPolicy`, for people whose tools speak \
         YAML. It is the same plugin as a policy of the policy language: every command reads both, and both may be \
         loaded together. Its expressions are CEL, with the variables, fields and functions of the language.",
    );
    page.example("yaml", EXAMPLE);
    page.text(
        "Documents are in files that end in `.yaml`, `.yml` or `.json`, and in a cluster under keys of that ending in \
         ConfigMaps with the label `bayplan.dev/policy`. A text may hold several. They need no CRD.",
    );
    page.text(
        "Names of the policy have a prefix: `params.NAME`, `variables.NAME`, `groups.NAME`. A name is declared once, \
         whatever its prefix. A variable may read `node`; `filters`, `scores`, `prefer`, `preempt` and `permit` may then use it. In \
         a reason `{path}` is replaced, and `{{` is a brace.",
    );
    page.text(
        "A comment right above an item is its description, as `///` is in the policy language, and after a \
         blank line it is a note, such as a licence; the annotation \
         `kubernetes.io/description` describes the policy as well. `# bayplan: allow(LINT) because REASON` above an item \
         silences a finding. Quote an expression that begins with a bracket or `!`, or that holds `: ` or ` #`: `'…'`, \
         or `|` and the expression below it.",
    );
    page.text(
        "A macro that compares something of its elements with something of the node by `==` finds them by that value, \
         where neither side may end with an error: `groups.same.count(s, s.?node.?labels[?\"rack\"] == \
         node.labels[?\"rack\"])`, or with `has` and `in` in front. A ledger `by: '[pod.namespace, \
         node.labels[?\"rack\"].orValue(\"\")]'` counts the same without a group.",
    );
    page.text(
        "An unknown field is an error. `bayplan schema` prints this page as a JSON schema, for editors and other tools.",
    );
    let mut done: Vec<&str> = Vec::new();
    for (title, of) in objects() {
        if !done.contains(&of.name) {
            done.push(of.name);
            describe(&mut page, title, of);
        }
    }
    page
}

/// Every map of a document, with the field that holds it, in the order of the tables.
fn objects() -> Vec<(String, &'static ObjectDef)> {
    fn add(title: String, of: &'static ObjectDef, found: &mut Vec<(String, &'static ObjectDef)>) {
        found.push((title, of));
        for field in of.fields {
            if let Shape::Object(inner) | Shape::List(inner) | Shape::WordOr(_, inner) = field.shape {
                add(format!("`{}`", field.name), inner, found);
            }
        }
    }
    let mut found = Vec::new();
    add("The document".to_owned(), &DOCUMENT, &mut found);
    found
}

fn describe(page: &mut Page, title: String, of: &ObjectDef) {
    page.section(title);
    if !of.forms.is_empty() {
        let keys: Vec<String> = of.keys().map(|key| format!("`{key}`")).collect();
        page.text(format!("One of {}.", keys.join(" and ")));
    }
    page.table(&["field", "value", "meaning"], of.fields.iter().map(row));
}

fn row(field: &FieldDef) -> Vec<String> {
    let needed = if field.needed { ", required" } else { "" };
    vec![format!("`{}`", field.name), format!("{}{needed}", value(field.shape)), field.doc.to_owned()]
}

fn value(shape: Shape) -> String {
    let words = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
        words.join(" or ")
    };
    match shape {
        Shape::Expression => "expression".to_owned(),
        Shape::Reason => "reason".to_owned(),
        Shape::Identifier | Shape::Name => "name".to_owned(),
        Shape::Text => "text".to_owned(),
        Shape::Bool => "`true` or `false`".to_owned(),
        Shape::Whole(..) => "whole number".to_owned(),
        Shape::Weight => "whole number or expression".to_owned(),
        Shape::Duration => "duration or expression".to_owned(),
        Shape::Word(known) => words(known),
        Shape::Value => "value".to_owned(),
        Shape::Type => "type".to_owned(),
        Shape::Object(_) => "map".to_owned(),
        Shape::List(_) => "list".to_owned(),
        Shape::WordOr(known, _) => format!("{}, or a map", words(known)),
        Shape::Expressions => "map of expressions".to_owned(),
        Shape::Fields => "map of expressions and maps".to_owned(),
        Shape::Texts => "map of texts".to_owned(),
    }
}

/// The page of one field; a field of several maps has a section for each.
pub(super) fn look_up(word: &str) -> Found {
    let all = objects();
    let mut page = Page::new(word);
    let mut done: Vec<&str> = Vec::new();
    for (title, of) in &all {
        if let Some(field) = of.field(word)
            && !done.contains(&of.name)
        {
            done.push(of.name);
            page.section(title.clone());
            page.text(format!("{}: {}", value(field.shape), sentence(field.doc)));
        }
    }
    if done.is_empty() {
        let names = all.iter().flat_map(|(_, of)| of.fields).chain(SPEC.fields).map(|field| field.name);
        return Found::Unknown { near: nearest(word, names).map(str::to_owned) };
    }
    Found::Page(page)
}
