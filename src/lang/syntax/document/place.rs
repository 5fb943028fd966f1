//! Places of trees in the text of a document: the words to underline, and the bytes that a whole value takes.

use bayplan_diag::{Source, Span};
use bayplan_yaml::{At, Tree, TreeEntry, TreeValue};

/// The text of the documents.
#[derive(Clone, Copy)]
pub(super) struct Places<'a> {
    pub(super) source: &'a Source,
}

impl Places<'_> {
    pub(super) fn span(&self, at: At) -> Span {
        Span::new(self.source.id(), at.start, at.end)
    }

    /// The place of a key.
    pub(super) fn key(&self, entry: &TreeEntry) -> Span {
        self.span(entry.key_at)
    }

    /// A word without the quotes around it.
    pub(super) fn word(&self, at: At) -> Span {
        let quoted = at.end > at.start + 1
            && self.source.text().get(at.start..).is_some_and(|rest| rest.starts_with(['"', '\'']));
        let mark = usize::from(quoted);
        Span::new(self.source.id(), at.start + mark, at.end - mark)
    }

    /// What to underline of a value: all of a scalar, the first word or bracket of anything larger.
    pub(super) fn head(&self, tree: &Tree) -> Span {
        self.span(tree.head(self.source.text()))
    }

    /// All bytes of a value, from its first key or bracket to its last letter or bracket.
    pub(super) fn whole(&self, tree: &Tree) -> Span {
        let text = self.source.text();
        let At { start, end } = tree.at;
        let end = match &tree.value {
            TreeValue::List(items) => items.iter().map(|item| self.end_of(item)).max().unwrap_or(start),
            TreeValue::Map(entries) => entries
                .iter()
                .map(|entry| self.end_of(&entry.value).max(entry.key_at.end))
                .max()
                .unwrap_or(start),
            _ => return Span::new(self.source.id(), start, trimmed(text, start, end)),
        };
        // A list of a block begins with its first dash, a value in brackets ends with its bracket.
        let flow = text.get(start..).is_some_and(|rest| rest.starts_with(['{', '[']));
        let end = end.max(start);
        let close = text.get(end..).filter(|_| flow).and_then(|rest| rest.find(['}', ']']));
        Span::new(self.source.id(), start, close.map_or(end, |close| end + close + 1))
    }

    fn end_of(&self, tree: &Tree) -> usize {
        self.whole(tree).end as usize
    }

    /// From a key to the end of its value.
    pub(super) fn entry(&self, entry: &TreeEntry) -> Span {
        self.key(entry).to(self.whole(&entry.value))
    }

    /// Whether a scalar is written without quotes, on one line.
    pub(super) fn plain(&self, tree: &Tree) -> bool {
        let text = self.source.text().get(tree.at.start..tree.at.end).unwrap_or("");
        tree.as_str() == Some(text)
    }
}

/// The end of a scalar without white space after it, which a block scalar has.
fn trimmed(text: &str, start: usize, end: usize) -> usize {
    text.get(start..end).map_or(start, |inside| start + inside.trim_end().len())
}
