//! Names and texts: words with their places, comments, strings, and templates of messages.

use super::expressions::Expr;
use bayplan_diag::Span;
use std::sync::Arc;

/// Text of names and strings; a copy is a count.
pub type Text = Arc<str>;

/// A word with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The word; without the back quotes of a quoted field.
    pub text: Text,
    /// Where it stands.
    pub span: Span,
}

/// The `///` lines above an item or a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doc {
    /// Its lines without `///` and one blank, joined by line ends.
    pub text: Text,
    /// From the first `///` to the end of the last line.
    pub span: Span,
}

/// A comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    /// How it is written.
    pub kind: CommentKind,
    /// With its marks, without the line end.
    pub span: Span,
}

/// How a comment is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommentKind {
    /// `// …`
    Line,
    /// `/// …`
    Doc,
    /// `/* … */`
    Block,
}

/// `// bayplan: allow(slug, …) because …`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allow {
    /// The slugs or codes that are allowed.
    pub slugs: Vec<Name>,
    /// The text after `because`; none when it is missing.
    pub because: Option<Text>,
    /// The comment.
    pub span: Span,
    /// The item or statement that it is on: the one it ends the line of, else the next one below.
    pub target: Option<Span>,
}

/// A part that could not be read. Its mistake has been reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The word it began with, as in `let`; empty when it had none.
    pub word: Text,
    /// The name it would have declared, if that could be read: known to exist, of unknown type.
    pub declares: Option<Name>,
}

/// A text in double quotes in which `{path}` is replaced.
#[derive(Clone, Debug, PartialEq)]
pub struct Template {
    /// Texts and holes in turn; a template without holes has at most one part, a text.
    pub parts: Vec<TemplatePart>,
    /// With its quotes.
    pub span: Span,
}

impl Template {
    /// The text, if it has no interpolation.
    pub fn constant(&self) -> Option<Text> {
        match self.parts.as_slice() {
            [] => Some(Text::from("")),
            [TemplatePart::Text(text)] => Some(text.clone()),
            _ => None,
        }
    }
}

/// A part of a template.
#[derive(Clone, Debug, PartialEq)]
pub enum TemplatePart {
    /// As it is; escapes and `{{` are resolved.
    Text(Text),
    /// A path: names, fields and indices.
    Hole(Expr),
}

/// A string that is not an expression, as in `use "file.bay"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StringLiteral {
    /// Its value.
    pub text: Text,
    /// With its quotes.
    pub span: Span,
}
