//! Finds a word in every topic: the page of a statement, field, function or code, sections by their heading, rows of
//! tables (metrics, flags, units), and where the texts mention it in code.

use super::page::{Block, Page};
use super::topics::{Content, Found, TOPICS, Topic};
use bayplan_diag::suggest;

/// A part of a topic.
pub struct Part {
    /// The topic.
    pub topic: &'static Topic,
    /// What follows the topic in `bayplan help TOPIC WORDS`.
    pub words: String,
    /// The part.
    pub page: Page,
}

/// What is known of a word.
#[derive(Default)]
pub struct Search {
    /// Pages of the word itself.
    pub pages: Vec<Part>,
    /// Sections whose heading has the word, or whose tables have a row of it.
    pub sections: Vec<Part>,
    /// Sections that mention it in code; else in their text.
    pub mentions: Vec<Part>,
    /// The nearest words, if nothing was found.
    pub near: Vec<String>,
}

/// Topics with pages of words, the most useful first. Those of CEL repeat functions.
const ASKED: [&str; 7] = ["statements", "functions", "fields", "codes", "documents", "tests", "cel"];

/// Finds a word, or several words of a heading.
pub fn search(word: &str) -> Search {
    let mut found = Search::default();
    let topics = ASKED.iter().filter_map(|name| TOPICS.iter().find(|topic| topic.name == *name));
    for topic in topics {
        let Content::Table { look_up, .. } = &topic.content else { continue };
        if topic.name == "cel" && !found.pages.is_empty() {
            continue;
        }
        match look_up(word) {
            Found::Page(page) => found.pages.push(Part { topic, words: word.to_owned(), page }),
            Found::Unknown { near } => found.near.extend(near),
        }
    }
    let wanted = plain(word);
    let unit = unit_meant(&wanted);
    let mut known: Vec<String> = Vec::new();
    for topic in TOPICS {
        for (title, page) in sections(&topic.page()) {
            let heading = plain(&title);
            let part = |page: Page| Part { topic, words: title.replace('`', ""), page };
            let has_page = found.pages.iter().any(|part| part.topic.name == topic.name);
            if is_within(&heading, &wanted) || is_within(&heading, &format!("{wanted}s")) {
                // Headings first: they are about the word.
                let at = found
                    .sections
                    .iter()
                    .take_while(|known| is_within(&plain(&known.words), &wanted))
                    .count();
                if !has_page {
                    found.sections.insert(at, part(page.clone()));
                }
            } else if let Some(rows) = rows_of(&page, unit.as_deref().unwrap_or(&wanted)) {
                if !has_page {
                    found.sections.push(part(rows));
                }
            } else if unit.is_none() && page.blocks.iter().any(|block| speaks_of(block, &wanted)) {
                found.mentions.push(part(page.clone()));
            }
            known.extend(page.blocks.iter().flat_map(first_cells));
            known.push(heading);
        }
    }
    if found.pages.is_empty() && found.sections.is_empty() && found.mentions.is_empty() {
        found.mentions = in_prose(&wanted);
    }
    if found.pages.is_empty() && found.sections.is_empty() && found.mentions.is_empty() {
        known.append(&mut found.near);
        known.extend(TOPICS.iter().map(|topic| topic.name.to_owned()));
        known.retain(|word| !word.is_empty());
        found.near = suggest::near(&wanted, known.iter().map(String::as_str), 3)
            .into_iter()
            .map(str::to_owned)
            .collect();
    } else {
        found.near.clear();
    }
    found
}

/// The sections whose text has the words, where they are in no code: `leader election`.
fn in_prose(words: &str) -> Vec<Part> {
    let mut found = Vec::new();
    for topic in TOPICS {
        for (title, page) in sections(&topic.page()) {
            let says = |text: &str| is_within(&text.to_lowercase(), words);
            let mentions = page.blocks.iter().any(|block| match block {
                Block::Text(text) | Block::Item(text) => says(text),
                Block::Table { rows, .. } => rows.iter().flatten().any(|cell| says(cell)),
                Block::Example { .. } | Block::Section { .. } => false,
            });
            if mentions {
                found.push(Part { topic, words: title.replace('`', ""), page });
            }
        }
    }
    found
}

/// The unit of bytes that is elsewhere written with a `B`: `gi` for `GiB`.
fn unit_meant(wanted: &str) -> Option<String> {
    let unit = wanted.strip_suffix('b')?;
    let letter = unit.strip_suffix('i').unwrap_or(unit);
    matches!(letter, "k" | "m" | "g" | "t" | "p" | "e").then(|| unit.to_owned())
}

/// The sections of a topic whose heading has a word or a number; one whose heading is the word has its parts.
pub fn sections_of(topic: &Topic, word: &str) -> Vec<Page> {
    let wanted = plain(word);
    let page = topic.page();
    let all = sections(&page);
    let numbered = |title: &str| title.split_once(". ").is_some_and(|(number, _)| number == word);
    let exact: Vec<Page> = all
        .iter()
        .filter(|(title, _)| numbered(title) || plain(title) == wanted)
        .map(|(title, own)| with_parts(&page, title).unwrap_or_else(|| own.clone()))
        .collect();
    if !exact.is_empty() {
        return exact;
    }
    let within = |(title, page): &(String, Page)| {
        is_within(&plain(title), &wanted) || rows_of(page, &wanted).is_some()
    };
    all.into_iter().filter(within).map(|(_, page)| page).collect()
}

/// The section of a page under this heading, with its parts.
fn with_parts(page: &Page, heading: &str) -> Option<Page> {
    let is = |block: &Block| matches!(block, Block::Section { title, .. } if title == heading);
    let at = page.blocks.iter().position(is)?;
    let whole = matches!(page.blocks.get(at), Some(Block::Section { part: false, .. }));
    let goes_on = |block: &&Block| match block {
        Block::Section { part, .. } => whole && *part,
        _ => true,
    };
    let blocks = page.blocks.get(at + 1..)?.iter().take_while(goes_on).cloned().collect();
    Some(Page { title: heading.to_owned(), blocks })
}

/// The headings of a topic, for suggestions.
pub fn headings(topic: &Topic) -> Vec<String> {
    sections(&topic.page()).into_iter().map(|(title, _)| plain(&title)).collect()
}

/// The sections of a page with their titles; what precedes the first one is under the title of the page.
fn sections(page: &Page) -> Vec<(String, Page)> {
    let mut found = vec![(page.title.clone(), Page::new(page.title.clone()))];
    for block in &page.blocks {
        match block {
            Block::Section { title, .. } => found.push((title.clone(), Page::new(title.clone()))),
            block => {
                if let Some((_, page)) = found.last_mut() {
                    page.blocks.push(block.clone());
                }
            }
        }
    }
    found
}

/// Words as they are compared: without marks, numbers of headings, and capitals.
fn plain(words: &str) -> String {
    let words = words.replace(['`', '*'], "").to_lowercase();
    let words = words.trim().trim_start_matches("--").trim_end_matches("()");
    match words.split_once(". ") {
        Some((number, rest)) if number.chars().all(|c| c.is_ascii_digit()) => rest.to_owned(),
        _ => words.to_owned(),
    }
}

/// The rows about a word of the tables of a page.
fn rows_of(page: &Page, word: &str) -> Option<Page> {
    let mut found = Page::new(page.title.clone());
    for block in &page.blocks {
        let Block::Table { heads, rows } = block else { continue };
        let rows: Vec<Vec<String>> = rows.iter().filter(|row| is_about(row, word)).cloned().collect();
        if !rows.is_empty() {
            found.blocks.push(Block::Table { heads: heads.clone(), rows });
        }
    }
    (!found.blocks.is_empty()).then_some(found)
}

/// Whether a text has the words as whole words.
fn is_within(text: &str, words: &str) -> bool {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '-');
    text.match_indices(words).any(|(at, _)| {
        let (before, after) = (text.get(..at), text.get(at + words.len()..));
        !is_part(before.and_then(|before| before.chars().next_back()))
            && !is_part(after.and_then(|after| after.chars().next()))
    })
}

/// The words of the first cells of a table.
fn first_cells(block: &Block) -> Vec<String> {
    let Block::Table { rows, .. } = block else { return Vec::new() };
    rows.iter()
        .filter_map(|row| row.first())
        .map(|cell| plain(&super::markdown::without_marks(cell)))
        .collect()
}

/// Whether the first cell of a row names a word: alone, in a list, or with what follows it.
fn is_about(row: &[String], word: &str) -> bool {
    let ends = |c: char| !(c.is_alphanumeric() || "_-./".contains(c));
    let cell = row.first().map(|cell| plain(&super::markdown::without_marks(cell))).unwrap_or_default();
    let names = |one: &str| one == word || one.strip_prefix(word).is_some_and(|rest| rest.starts_with(ends));
    // `Gi` in a row with `2Gi` is a unit.
    let is_unit = |code: &str| {
        let unit = code.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        unit.len() < code.len() && unit.to_lowercase() == word
    };
    let code = row.iter().flat_map(|cell| cell.split('`').enumerate().filter(|(at, _)| at % 2 == 1));
    names(&cell)
        || cell.split([' ', ',']).any(|one| one == word)
        || code.into_iter().any(|(_, code)| is_unit(code))
}

/// Whether a text has a word in code.
fn speaks_of(block: &Block, word: &str) -> bool {
    let in_code = |text: &str| {
        let code = text.split('`').enumerate().filter(|(at, _)| at % 2 == 1);
        code.map(|(_, code)| code.to_lowercase()).any(|code| is_within(&code, word))
    };
    match block {
        Block::Text(text) | Block::Item(text) => in_code(text),
        Block::Table { rows, .. } => rows.iter().flatten().any(|cell| in_code(cell)),
        Block::Example { text, .. } => is_within(&text.to_lowercase(), word),
        Block::Section { .. } => false,
    }
}
