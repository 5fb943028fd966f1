//! Diagnostics as drawings for people: miette's graphical handler with our theme, or its narration for
//! screen readers. Nothing is decided here.
//!
//! Called by every command that prints diagnostics. The first line is `error[BP0104]: …`; effect, help
//! and fix are printed below the source text. The forms for programs are in `json` and `formats`.

use super::excerpt::Excerpt;
use super::report::{Elsewhere, Note, Report, Shape};
use super::{Diagnostic, Severity, SourceMap, unbroken, width};
use miette::{GraphicalReportHandler, GraphicalTheme, NarratableReportHandler, ThemeCharacters, ThemeStyles};
use owo_colors::Style;
use std::fmt;

/// How to draw.
#[derive(Clone, Copy, Debug, Default)]
pub struct Look {
    /// With colours of the eight-colour palette.
    pub colour: bool,
    /// With `╭ │ ╰ →`; else with ASCII characters.
    pub unicode: bool,
    /// With links of the terminal from codes to their pages.
    pub links: bool,
    /// In sentences instead of a drawing, for screen readers.
    pub narrate: bool,
    /// Columns of the terminal. A pipe has none: texts are wrapped at 100 columns there.
    pub width: Option<usize>,
    /// How many diagnostics are drawn; the others are counted.
    pub limit: Option<usize>,
}

/// A text with the escapes of our own styles in it, and no others: only this file makes one, of parts
/// that were escaped. `cli::Output` prints it as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drawn(String);

impl Drawn {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether there is nothing to print.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Columns at which texts are wrapped where there is no terminal.
const USUAL_WIDTH: usize = 100;
/// The narrowest drawing.
const LEAST_WIDTH: usize = 40;
/// Columns of a source line that are shown where there is no terminal.
const USUAL_LINE: usize = 160;

/// All diagnostics, a blank line between two; ends with a line end unless there are none.
pub fn human(sources: &SourceMap, diagnostics: &[Diagnostic], look: Look) -> Drawn {
    let shown = look.limit.unwrap_or(usize::MAX).min(diagnostics.len());
    let mut out = String::new();
    for (index, diagnostic) in diagnostics.iter().take(shown).enumerate() {
        if index > 0 {
            out.push('\n');
        }
        // Writing to a string does not fail; miette fails only for a label outside of its text.
        if look.one(sources, diagnostic, &mut out).is_err() {
            out.push('\n');
        }
    }
    if shown < diagnostics.len() {
        out.push_str(&format!("\n{} more (--all)\n", diagnostics.len() - shown));
    }
    Drawn(out)
}

impl Look {
    fn one(&self, sources: &SourceMap, diagnostic: &Diagnostic, out: &mut String) -> fmt::Result {
        // A frame has a line number and its bar at the left.
        let frame = 8;
        let columns = self.width.map_or(USUAL_LINE, |width| width.max(LEAST_WIDTH) - frame);
        let report = Report::new(sources, diagnostic, Shape { columns, unicode: self.unicode });
        if self.narrate {
            return NarratableReportHandler::new().with_context_lines(0).render_report(out, &report);
        }
        let head = format!("{}[{}]", diagnostic.severity.word(), diagnostic.code.id);
        let bare = Bare { text: report.to_string(), excerpt: report.excerpt() };
        let mut drawn = self.draw(&bare, diagnostic.severity, &head)?;
        if self.links {
            let link = format!("\u{1b}]8;;{}\u{1b}\\{head}\u{1b}]8;;\u{1b}\\", diagnostic.code.url());
            drawn = drawn.replacen(&head, &link, 1);
        }
        out.push_str(&drawn);
        for place in report.elsewhere() {
            out.push_str(&self.elsewhere(place)?);
        }
        for note in report.notes() {
            out.push_str(&self.note(note));
        }
        Ok(())
    }

    fn elsewhere(&self, place: &Elsewhere) -> Result<String, fmt::Error> {
        self.draw(&Bare { text: place.to_string(), excerpt: place.excerpt() }, Severity::Note, "note")
    }

    /// A head with its message, and the source text with its marks.
    fn draw(&self, bare: &Bare<'_>, severity: Severity, head: &str) -> Result<String, fmt::Error> {
        let handler = GraphicalReportHandler::new_themed(self.theme(severity, head, bare.excerpt))
            .with_width(self.columns() + 2)
            .with_context_lines(0)
            .with_urls(false)
            .with_break_words(false)
            .with_word_separator(textwrap::WordSeparator::AsciiSpace)
            .with_word_splitter(textwrap::WordSplitter::NoHyphenation)
            .without_syntax_highlighting();
        let mut out = String::new();
        handler.render_report(&mut out, bare)?;
        // miette indents the head by two blanks.
        let drawn = out.strip_prefix("  ").unwrap_or(&out);
        let lines: Vec<&str> = drawn.lines().map(str::trim_end).collect();
        Ok(lines.join("\n") + "\n")
    }

    fn columns(&self) -> usize {
        self.width.unwrap_or(USUAL_WIDTH).max(LEAST_WIDTH)
    }

    /// Our colours and marks. miette's mark of a severity becomes our head, `error[BP0104]:`.
    fn theme(&self, severity: Severity, head: &str, excerpt: &Excerpt) -> GraphicalTheme {
        let mut characters = match self.unicode {
            true => ThemeCharacters::unicode(),
            false => ThemeCharacters { ltop: '+', lbot: '+', underbar: '^', ..ThemeCharacters::ascii() },
        };
        for mark in [&mut characters.error, &mut characters.warning, &mut characters.advice] {
            *mark = format!("{head}:");
        }
        let mut styles = ThemeStyles::none();
        if self.colour {
            let main = match severity {
                Severity::Error => Style::new().red().bold(),
                Severity::Warning => Style::new().yellow(),
                Severity::Note => Style::new().cyan(),
            };
            let other = Style::new().blue();
            (styles.error, styles.warning, styles.advice) = (main, main, main);
            (styles.link, styles.linum) = (Style::new().cyan(), other);
            styles.highlights = excerpt.primary().map(|primary| if primary { main } else { other }).collect();
            if styles.highlights.is_empty() {
                styles.highlights.push(main);
            }
        }
        GraphicalTheme { characters, styles }
    }

    /// `help: …`, as miette would indent it.
    fn note(&self, note: &Note) -> String {
        let style = match (self.colour, note.kind) {
            (false, _) => Style::new(),
            (true, "effect") => Style::new().yellow(),
            (true, "fix") => Style::new().green(),
            _ => Style::new().cyan(),
        };
        let word = format!("{}:", note.kind);
        let gap = " ".repeat(8 - width::width(&word).min(7));
        let first = format!("  {}{gap}", style.style(&word));
        let options = textwrap::Options::new(self.columns())
            .initial_indent(&first)
            .subsequent_indent("          ")
            .break_words(false)
            .word_separator(textwrap::WordSeparator::AsciiSpace)
            .word_splitter(textwrap::WordSplitter::NoHyphenation);
        unbroken::release(&textwrap::fill(&unbroken::hold(&note.text), options)) + "\n"
    }
}

/// What miette draws of a diagnostic: the message and the source text. Code and notes are drawn here.
#[derive(Debug)]
struct Bare<'a> {
    text: String,
    excerpt: &'a Excerpt,
}

impl fmt::Display for Bare<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl std::error::Error for Bare<'_> {}

impl miette::Diagnostic for Bare<'_> {
    fn source_code(&self) -> Option<&dyn miette::SourceCode> {
        Some(self.excerpt)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = miette::LabeledSpan> + '_>> {
        Some(Box::new(self.excerpt.labels()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::{Origin, Span, codes};

    fn plain() -> Look {
        Look { unicode: true, ..Look::default() }
    }

    fn one(text: &str, start: usize, end: usize) -> (SourceMap, Vec<Diagnostic>) {
        let mut sources = SourceMap::new();
        let file = sources.add("a.bay", text);
        let said = Diagnostic::new(&codes::FOREIGN_WORD, Span::new(file, start, end), "`x` is wrong");
        (sources, vec![said])
    }

    #[test]
    fn effect_help_and_fix_stand_below_the_source_in_this_order() {
        let (sources, mut said) = one("let x == 3", 6, 8);
        let at = said[0].span;
        said[0] = said[0].clone().with_fix("write =", at, "=").with_help("look").with_effect("all wait");
        let expected = "\
error[BP0008]: `x` is wrong
   ╭─[a.bay:1:7]
 1 │ let x == 3
   ·       ──
   ╰────
  effect: all wait
  help:   look
  fix:    == → =
";
        assert_eq!(human(&sources, &said, plain()).as_str(), expected);
        let ascii = human(&sources, &said, Look::default());
        assert!(ascii.as_str().is_ascii(), "{}", ascii.as_str());
    }

    #[test]
    fn labels_that_overlap_keep_their_words_and_the_primary_place_stays_whole() {
        let (sources, mut said) = one("abc def ghi", 4, 7);
        let file = said[0].span.source;
        said[0] = said[0]
            .clone()
            .with_label("here")
            .with_place(Span::new(file, 0, 11), "all")
            .with_place(Span::new(file, 4, 7), "again");
        let drawn = human(&sources, &said, plain());
        for words in ["here", "all", "again"] {
            assert_eq!(drawn.as_str().matches(words).count(), 1, "{}", drawn.as_str());
        }
        assert!(drawn.as_str().contains("a.bay:1:5"), "{}", drawn.as_str());
    }

    #[test]
    fn a_place_in_an_object_and_one_in_another_file_are_named() {
        let mut sources = SourceMap::new();
        let file = sources.add("maps.yaml", "data:\n  a.bay: |\n    one two\n");
        let origin = Origin { object: "team/rules".into(), key: "a.bay".into() };
        let inner = sources.embed(file, 17..29, "one two\n", origin);
        let other = sources.add("b.bay", "three");
        let said = Diagnostic::new(&codes::POLICY_NAME_CLASH, Span::new(inner, 4, 7), "twice")
            .with_place(Span::new(other, 0, 5), "the first one");
        let expected = "\
error[BP0209]: twice
   ╭─[team/rules a.bay:1, maps.yaml:3:9]
 3 │     one two
   ·         ───
   ╰────
note: the first one
   ╭─[b.bay:1:1]
 1 │ three
   · ─────
   ╰────
";
        assert_eq!(human(&sources, std::slice::from_ref(&said), plain()).as_str(), expected);
        let told = human(&sources, &[said], Look { narrate: true, ..plain() });
        for words in ["twice", "maps.yaml", "line 3, columns 9 to 11", "the first one", "BP0209", "bp0209"] {
            assert!(told.as_str().contains(words), "{words}: {}", told.as_str());
        }
        assert!(!told.as_str().contains(['╭', '│', '─']), "{}", told.as_str());
    }

    #[test]
    fn what_a_file_or_a_message_holds_is_escaped_and_the_marks_fit() {
        let mut sources = SourceMap::new();
        let file = sources.add("a\u{1b}[31m\n.bay", "x \u{202e}\u{1b}[2J y");
        let said =
            Diagnostic::new(&codes::FOREIGN_WORD, Span::new(file, 10, 11), "`\u{1b}]0;x\u{7}\n` is\u{2066}")
                .with_label("here\u{9b}")
                .with_help("a\u{200b}\nb");
        let drawn = human(&sources, std::slice::from_ref(&said), plain());
        assert!(!drawn.as_str().contains(|c| crate::escape::is_unsafe(c) && c != '\n'), "{drawn:?}");
        let expected = "\
error[BP0008]: `\\u{1b}]0;x\\u{7}\\n` is\\u{2066}
   ╭─[a\\u{1b}[31m\\n.bay:1:9]
 1 │ x \\u{202e}\\u{1b}[2J y
   ·                     ┬
   ·                     ╰── here\\u{9b}
   ╰────
  help:   a\\u{200b}
          b
";
        assert_eq!(drawn.as_str(), expected);
        let told = human(&sources, &[said], Look { narrate: true, ..plain() });
        assert!(!told.as_str().contains(|c| crate::escape::is_unsafe(c) && c != '\n'), "{told:?}");
    }

    #[test]
    fn wide_characters_and_tabs_keep_the_marks_in_place() {
        let (sources, said) = one("\t数据 x", 8, 9);
        let drawn = human(&sources, &said, plain());
        let lines: Vec<&str> = drawn.as_str().lines().collect();
        assert_eq!(lines[2], " 1 │     数据 x");
        assert_eq!(lines[3], format!("   · {}─", " ".repeat(9)));
    }

    #[test]
    fn texts_wrap_and_lines_are_cut_at_the_width_of_the_terminal() {
        let long = format!("{} here {}", "a".repeat(5_000), "b".repeat(1_000_000));
        let (sources, mut said) = one(&long, 5_001, 5_005);
        said[0].message = "some words that are many ".repeat(6).trim_end().to_owned();
        said[0] = said[0].clone().with_help("more words that are many ".repeat(6).trim_end());
        for width in [None, Some(40), Some(60), Some(120)] {
            let drawn = human(&sources, &said, Look { width, ..plain() });
            let most = width.unwrap_or(170);
            for line in drawn.as_str().lines() {
                assert!(width::width(line) <= most, "{width:?}: {line}");
            }
            assert!(drawn.as_str().contains(" here "), "{}", drawn.as_str());
            assert!(drawn.as_str().contains("a.bay:1:5002"), "{}", drawn.as_str());
            let flat = drawn.as_str().replace([' ', '\n', '│'], "");
            assert!(flat.contains(&said[0].message.replace(' ', "")), "{flat}");
        }
    }

    #[test]
    fn links_and_colours_are_there_only_when_wanted() {
        let (sources, said) = one("let x == 3", 6, 8);
        assert!(!human(&sources, &said, plain()).as_str().contains('\u{1b}'));
        let drawn = human(&sources, &said, Look { colour: true, links: true, ..plain() });
        assert!(
            drawn
                .as_str()
                .contains("\u{1b}]8;;https://bayplan.dev/docs/codes.md#bp0008\u{1b}\\error[BP0008]")
        );
        assert!(drawn.as_str().contains("\u{1b}[31;1m"), "{drawn:?}");
    }

    #[test]
    fn a_thousand_diagnostics_of_a_large_line_are_drawn_in_no_time() {
        let text = "x ".repeat(500_000);
        let mut sources = SourceMap::new();
        let file = sources.add("large.bay", text);
        let at = |n: usize| Span::new(file, n * 1_000, n * 1_000 + 1);
        let said: Vec<Diagnostic> = (0..1_000)
            .map(|n| Diagnostic::new(&codes::FOREIGN_WORD, at(n), "x").with_place(at(999 - n), "y"))
            .collect();
        let drawn = human(&sources, &said, plain());
        assert!(drawn.as_str().len() < 2_000_000, "{}", drawn.as_str().len());
    }
}
