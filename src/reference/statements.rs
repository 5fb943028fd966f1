//! Statements and clauses: all of them as one page, and one of them.

use super::page::{Page, sentence};
use super::topics::Found;
use bayplan_diag::suggest::nearest;
use bayplan_lang::language::statements::{
    CLAUSES, Clause, Home, STATEMENTS, StatementDef, StatementId, statements_in,
};

/// Every statement, by where it stands.
pub(super) fn page() -> Page {
    let mut page = Page::new("Statements");
    page.text(
        "`E` is an expression, `N` a number or constant, `NAME` a name, `REASON` a text in double \
         quotes. A block is written in `{ … }`.",
    );
    page.table(
        &["statement", "extension point", "meaning"],
        everywhere().filter(|id| id.def().stands_in(Home::File) || id.def().stands_in(Home::Policy)).map(
            |id| {
                let def = id.def();
                let point = if def.points.is_empty() { "-".to_owned() } else { def.points.join(", ") };
                vec![link(def.words), point, first_sentence(def.doc)]
            },
        ),
    );
    for id in everywhere() {
        page.section_at(format!("`{}`", id.def().words), anchor(id.def().words));
        describe(&mut page, id);
    }
    page.section("Clauses").text("Words that continue a statement.");
    page.table(&["clause", "meaning"], CLAUSES.iter().map(clause_row));
    page
}

/// Every statement once: those of a file, those of a policy, those of blocks.
fn everywhere() -> impl Iterator<Item = StatementId> {
    let in_file = |id: &StatementId| id.def().stands_in(Home::File);
    let in_policy = move |id: &StatementId| !in_file(id) && id.def().stands_in(Home::Policy);
    let in_block = move |id: &StatementId| !in_file(id) && !id.def().stands_in(Home::Policy);
    let all = || STATEMENTS.iter().copied();
    all().filter(in_file).chain(all().filter(in_policy)).chain(all().filter(in_block))
}

fn link(words: &str) -> String {
    format!("[`{words}`](#{})", anchor(words))
}

fn anchor(words: &str) -> String {
    words.replace(' ', "-")
}

fn first_sentence(doc: &str) -> String {
    let words: Vec<&str> = doc.split_whitespace().collect();
    let doc = words.join(" ");
    doc.split_once(". ").map_or(doc.clone(), |(first, _)| format!("{first}."))
}

fn describe(page: &mut Page, id: StatementId) {
    let def = id.def();
    page.example("text", def.syntax);
    page.text(sentence(def.doc));
    let mut facts = vec![("place", stands(def))];
    if !def.points.is_empty() {
        facts.push(("extension point", def.points.join(", ")));
    }
    if let Some(names) = def.sees {
        let words: Vec<String> = names.words().map(|word| format!("`{word}`")).collect();
        let words = if words.is_empty() { "params, defs and constants".to_owned() } else { words.join(", ") };
        facts.push(("sees", words));
    }
    let inner: Vec<String> =
        statements_in(Home::Block(id)).map(|id| format!("`{}`", id.def().words)).collect();
    if !inner.is_empty() {
        facts.push(("its block holds", inner.join(", ")));
    }
    page.table(&["", ""], facts.into_iter().map(|(name, value)| vec![name.to_owned(), value]));
    page.example("bay", def.example);
}

/// Where a statement may stand, in words.
fn stands(def: &StatementDef) -> String {
    let homes = def.stands.iter().map(|home| match home {
        Home::File => "a file".to_owned(),
        Home::Policy => "a policy".to_owned(),
        Home::Block(block) => format!("`{}`", block.def().words),
    });
    homes.collect::<Vec<_>>().join(", ")
}

fn clause_row(clause: &Clause) -> Vec<String> {
    vec![format!("`{}`", clause.syntax), clause.doc.to_owned()]
}

/// The page of one statement or clause, by its first word or all of its words.
pub(super) fn look_up(word: &str) -> Found {
    let named = |id: &&StatementId| id.def().words == word || id.def().word() == word;
    let found: Vec<StatementId> = STATEMENTS.iter().filter(named).copied().collect();
    let clauses: Vec<&Clause> = CLAUSES.iter().filter(|clause| clause.word == word).collect();
    if found.is_empty() && clauses.is_empty() {
        let words =
            STATEMENTS.iter().map(|id| id.def().words).chain(CLAUSES.iter().map(|clause| clause.word));
        return Found::Unknown { near: nearest(word, words).map(str::to_owned) };
    }
    let mut page = Page::new(word);
    for id in found {
        describe(&mut page, id);
    }
    if !clauses.is_empty() {
        page.table(&["clause", "meaning"], clauses.into_iter().map(clause_row));
    }
    Found::Page(page)
}
