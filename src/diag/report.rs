//! A diagnostic bound to its texts, as `miette::Diagnostic`.
//!
//! Made by `draw` for people; anything else that reads miette's protocol can use it as well.

use super::FixClass;
use super::excerpt::{self, Excerpt, Mark};
use super::{Diagnostic, Fix, Severity, SourceMap, escape};
use std::fmt;

/// How much of a line is shown, and how.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Columns of a line of source text.
    pub columns: usize,
    /// With `…` and `→`; else `...` and `->`.
    pub unicode: bool,
}

impl Default for Shape {
    fn default() -> Self {
        Shape { columns: 160, unicode: true }
    }
}

/// A diagnostic with the texts that it is about.
#[derive(Debug)]
pub struct Report<'a> {
    diagnostic: &'a Diagnostic,
    message: String,
    excerpt: Excerpt,
    elsewhere: Vec<Elsewhere>,
    notes: Vec<Note>,
}

/// The lines below the source text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// `effect`, `help` or `fix`.
    pub kind: &'static str,
    /// The words; may have several lines.
    pub text: String,
}

/// A place in another file that takes part in a diagnostic.
#[derive(Debug)]
pub struct Elsewhere {
    message: String,
    excerpt: Excerpt,
}

impl<'a> Report<'a> {
    /// Binds a diagnostic to its texts.
    pub fn new(sources: &SourceMap, diagnostic: &'a Diagnostic, shape: Shape) -> Self {
        let dots = if shape.unicode { "…" } else { "..." };
        let words = |text: &str| escape::line(text).into_owned();
        let primary = Mark {
            span: sources.in_file(diagnostic.span),
            primary: true,
            text: diagnostic.label.as_deref().map(words),
        };
        let home = primary.span.source;
        let mut marks = vec![primary];
        let mut elsewhere = Vec::new();
        for label in &diagnostic.labels {
            let span = sources.in_file(label.span);
            let text = words(&label.message);
            if span.source == home {
                marks.push(Mark { span, primary: false, text: Some(text).filter(|text| !text.is_empty()) });
            } else if let Some(file) = sources.get(span.source) {
                let marks = [Mark { span, primary: true, text: None }];
                let name = excerpt::name(sources, label.span);
                let excerpt = Excerpt::new(file, name, &marks, shape.columns, dots);
                elsewhere.push(Elsewhere { message: text, excerpt });
            }
        }
        let name = excerpt::name(sources, diagnostic.span);
        let excerpt = sources
            .get(home)
            .map(|file| Excerpt::new(file, name, &marks, shape.columns, dots))
            .unwrap_or_default();
        let notes = notes(sources, diagnostic, shape.unicode);
        Report { diagnostic, message: words(&diagnostic.message), excerpt, elsewhere, notes }
    }

    /// The diagnostic itself.
    pub fn diagnostic(&self) -> &Diagnostic {
        self.diagnostic
    }

    /// Effect, help and fixes, in the order in which they are shown.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// Places in other files.
    pub fn elsewhere(&self) -> &[Elsewhere] {
        &self.elsewhere
    }

    pub(super) fn excerpt(&self) -> &Excerpt {
        &self.excerpt
    }
}

impl Elsewhere {
    pub(super) fn excerpt(&self) -> &Excerpt {
        &self.excerpt
    }
}

/// Effect, help and fixes. A help that says the same as a fix is left out.
fn notes(sources: &SourceMap, diagnostic: &Diagnostic, unicode: bool) -> Vec<Note> {
    let mut notes = Vec::new();
    let mut note = |kind, text: &str| notes.push(Note { kind, text: escape::lines(text).into_owned() });
    if let Some(effect) = &diagnostic.effect {
        note("effect", effect);
    }
    let said = |help: &String| diagnostic.fixes.iter().any(|fix| fix.message == *help);
    if let Some(help) = diagnostic.help.as_ref().filter(|help| !said(help)) {
        note("help", help);
    }
    let arrow = if unicode { "→" } else { "->" };
    for fix in &diagnostic.fixes {
        let text = change(sources, fix, arrow);
        match fix.class {
            FixClass::Certain | FixClass::Placeholders => note("fix", &text),
            FixClass::MayChangeDecisions => note("fix", &format!("{text}  (only with `--unsafe-fixes`)")),
        }
    }
    notes
}

/// `old → new` for a short edit, else the message of the fix.
fn change(sources: &SourceMap, fix: &Fix, arrow: &str) -> String {
    if let [edit] = fix.edits.as_slice() {
        let old = sources.text(edit.span);
        let short = |text: &str| text.len() <= 240 && text.chars().count() <= 60 && !text.contains('\n');
        if !old.is_empty() && !edit.text.is_empty() && short(old) && short(&edit.text) {
            return format!("{old} {arrow} {}", edit.text);
        }
    }
    fix.message.clone()
}

fn severity(severity: Severity) -> miette::Severity {
    match severity {
        Severity::Error => miette::Severity::Error,
        Severity::Warning => miette::Severity::Warning,
        Severity::Note => miette::Severity::Advice,
    }
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Report<'_> {}

impl miette::Diagnostic for Report<'_> {
    fn code<'b>(&'b self) -> Option<Box<dyn fmt::Display + 'b>> {
        Some(Box::new(self.diagnostic.code.id))
    }

    fn severity(&self) -> Option<miette::Severity> {
        Some(severity(self.diagnostic.severity))
    }

    /// Help alone as it is; effect and fix with their names before them.
    fn help<'b>(&'b self) -> Option<Box<dyn fmt::Display + 'b>> {
        let line = |note: &Note| match note.kind {
            "help" => note.text.clone(),
            kind => format!("{kind}: {}", note.text),
        };
        let lines: Vec<String> = self.notes.iter().map(line).collect();
        (!lines.is_empty()).then(|| Box::new(lines.join("\n")) as Box<dyn fmt::Display>)
    }

    fn url<'b>(&'b self) -> Option<Box<dyn fmt::Display + 'b>> {
        Some(Box::new(self.diagnostic.code.url()))
    }

    fn source_code(&self) -> Option<&dyn miette::SourceCode> {
        Some(&self.excerpt)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = miette::LabeledSpan> + '_>> {
        Some(Box::new(self.excerpt.labels()))
    }

    fn related<'b>(&'b self) -> Option<Box<dyn Iterator<Item = &'b dyn miette::Diagnostic> + 'b>> {
        let all = self.elsewhere.iter().map(|place| place as &dyn miette::Diagnostic);
        (!self.elsewhere.is_empty()).then(|| Box::new(all) as Box<dyn Iterator<Item = _>>)
    }
}

impl fmt::Display for Elsewhere {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Elsewhere {}

impl miette::Diagnostic for Elsewhere {
    fn severity(&self) -> Option<miette::Severity> {
        Some(miette::Severity::Advice)
    }

    fn source_code(&self) -> Option<&dyn miette::SourceCode> {
        Some(&self.excerpt)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = miette::LabeledSpan> + '_>> {
        Some(Box::new(self.excerpt.labels()))
    }
}
