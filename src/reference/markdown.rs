//! A guide in Markdown as a page: what our own files of `docs/` use of Markdown, and no more. Called for topics that are
//! guides, so that a terminal shows no raw Markdown.

use super::page::{Block, Page};

/// The page of a guide.
pub(super) fn page(text: &str) -> Page {
    let mut page = Page::default();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(title) = line.strip_prefix("# ") {
            page.title = title.to_owned();
        } else if let Some(title) = line.strip_prefix("## ") {
            page.section(title.trim());
        } else if let Some(title) = line.strip_prefix("### ") {
            page.part(title.trim());
        } else if let Some(fence) = line.trim_start().strip_prefix("```") {
            let _ = fence;
            let mut inside = String::new();
            for line in lines.by_ref().take_while(|line| !line.trim_start().starts_with("```")) {
                inside.push_str(line);
                inside.push('\n');
            }
            page.example("text", inside);
        } else if line.starts_with('|') {
            let heads = cells(line);
            let mut rows = Vec::new();
            while let Some(row) = lines.next_if(|line| line.starts_with('|')) {
                let cells = cells(row);
                if !cells.iter().all(|cell| cell.chars().all(|c| matches!(c, '-' | ':' | ' '))) {
                    rows.push(cells);
                }
            }
            page.blocks.push(Block::Table { heads, rows });
        } else if !line.trim().is_empty() && !line.starts_with("<a ") && !line.starts_with("<!--") {
            let mut paragraph = line.trim().to_owned();
            let goes_on = |line: &&str| {
                let words = line.trim();
                !words.is_empty()
                    && !words.starts_with("```")
                    && !line.starts_with(['|', '#'])
                    && !is_item(line)
            };
            while let Some(line) = lines.next_if(goes_on) {
                paragraph.push(' ');
                paragraph.push_str(line.trim());
            }
            page.blocks.push(if is_item(line) { Block::Item(paragraph) } else { Block::Text(paragraph) });
        }
    }
    page
}

/// Whether a line begins an item of a list.
fn is_item(line: &str) -> bool {
    let words = line.trim_start();
    let number = words.trim_start_matches(|c: char| c.is_ascii_digit());
    words.starts_with("- ")
        || words.starts_with("* ")
        || number.len() < words.len() && number.starts_with(". ")
}

/// The cells of a row; `\|` is a bar in a cell.
fn cells(row: &str) -> Vec<String> {
    let row = row.trim().trim_start_matches('|').replace("\\|", "\u{1}");
    let row = row.strip_suffix('|').unwrap_or(&row);
    row.split('|').map(|cell| cell.trim().replace('\u{1}', "|")).collect()
}

/// A text without what only Markdown needs: links become their words, bold words are plain, and anchors go.
pub(super) fn without_marks(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    if let Some((_, words)) = text.strip_prefix("- <a ").and_then(|anchor| anchor.split_once("</a>")) {
        out.push_str("- ");
        rest = words;
    }
    while let Some(open) = rest.find('[') {
        let link = rest.get(open + 1..).and_then(|after| {
            let (words, target) = after.split_once("](")?;
            let (target, behind) = target.split_once(')')?;
            (!words.contains('[') && !target.contains(' ')).then_some((words, behind))
        });
        match (link, rest.split_at(open)) {
            (Some((words, behind)), (before, _)) if before.matches('`').count() % 2 == 0 => {
                out.push_str(before);
                out.push_str(words);
                rest = behind;
            }
            (_, (before, after)) => {
                out.push_str(before);
                out.push('[');
                rest = after.get(1..).unwrap_or("");
                // A bracket within code begins no link: the search goes on after the code.
                if before.matches('`').count() % 2 == 1 {
                    let end = rest.find('`').map_or(rest.len(), |end| end + 1);
                    out.push_str(rest.get(..end).unwrap_or(""));
                    rest = rest.get(end..).unwrap_or("");
                }
            }
        }
    }
    out.push_str(rest);
    out.replace("**", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guide_becomes_plain_text() {
        let text = "# A guide\n\nSee **the** [page](x.md#y) and `a[0](b)`\nof it.\n\n## 1. Part\n\n- one\n  more\n- <a id=\"z\"></a>two\n\n### A part of it\n\n```bay\nlet a = 1\n```\n\n| a | b |\n|---|---|\n| `x` | y \\| z |\n";
        let plain = page(text).plain(60);
        assert_eq!(
            plain,
            "A guide\n\n  See the page and `a[0](b)` of it.\n\n1. PART\n\n  - one more\n  - two\n\nA PART OF IT\n\n    let a = 1\n\n  A  B\n  x  y | z\n"
        );
    }
}
