//! Codes of diagnostics and the lints among them: all as one page, and one of them.

use super::page::Page;
use super::topics::Found;
use bayplan_diag::codes::{CODES, find, near};
use bayplan_diag::{Code, Severity};

/// Groups by the first two digits of a code.
const GROUPS: [(&str, &str); 7] = [
    ("BP00", "Reading a text"),
    ("BP01", "Types and units"),
    ("BP02", "Statements and names"),
    ("BP03", "What a cluster tells"),
    ("BP04", "Lints"),
    ("BP05", "YAML, configuration, clusters and tests"),
    ("BP09", "What is not built"),
];

/// Every code.
pub(super) fn page() -> Page {
    let mut page = Page::new("Codes");
    page.text(
        "Every diagnostic has a code and a name. An error keeps a policy from being loaded, a warning \
         is probably a mistake, a note is worth knowing. `// bayplan: allow(NAME) because REASON` on \
         the line above an item suppresses a finding there.",
    );
    for (prefix, title) in GROUPS {
        let mut codes = CODES.iter().filter(|code| code.id.starts_with(prefix)).peekable();
        if codes.peek().is_none() {
            continue;
        }
        page.section(title);
        page.table(
            &["code", "name", "severity", "meaning"],
            codes.map(|code| {
                vec![
                    format!("[{}](#{})", code.id, code.id.to_lowercase()),
                    format!("`{}`", code.slug),
                    code.severity.word().to_owned(),
                    code.title.to_owned(),
                ]
            }),
        );
    }
    for code in CODES {
        page.section_at(format!("{} {}", code.id, code.slug), code.id.to_lowercase());
        describe(&mut page, code);
    }
    page
}

fn describe(page: &mut Page, code: &Code) {
    let weight = match code.severity {
        Severity::Error => "Error",
        Severity::Warning => "Warning",
        Severity::Note => "Note",
    };
    page.text(format!("{weight}: {}.", code.title)).text(code.explanation);
    let language = match code.example_file.rsplit_once('.') {
        Some((_, "bay")) => "bay",
        Some(_) => "yaml",
        None => "text",
    };
    page.labelled("wrong", language, code.bad).labelled("right", language, code.good);
    if code.can_be_allowed() {
        page.text(format!("To keep it, write above the item: `// bayplan: allow({}) because …`.", code.slug));
    }
}

/// The page of one code or name.
pub fn look_up(word: &str) -> Found {
    let Some(code) = find(word) else {
        return Found::Unknown { near: near(word).first().map(|near| (*near).to_owned()) };
    };
    let mut page = Page::new(format!("{} {}", code.id, code.slug));
    describe(&mut page, code);
    page.text(format!("More: {}", code.url()));
    Found::Page(page)
}
