//! Texts and places in them: offsets, lines and columns, also of texts inside of YAML files.
//!
//! Every span names its source, so one list of diagnostics can refer to several files. A policy in a
//! ConfigMap is a source of its own; [`SourceMap::embed`] maps its bytes to those of the YAML file. The
//! caller reads the files.

use super::embed::{Edits, Embedded};
use super::{Diagnostic, codes};
use std::ops::Range;
use std::sync::Arc;

/// A source of a [`SourceMap`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceId(pub u32);

/// A range of bytes in a source. Both ends are at character boundaries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The source.
    pub source: SourceId,
    /// First byte.
    pub start: u32,
    /// The byte after the last one.
    pub end: u32,
}

impl Span {
    /// The bytes `start..end` of a source. Callers refuse texts beyond 4 GiB.
    pub fn new(source: SourceId, start: usize, end: usize) -> Self {
        let short = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Span { source, start: short(start), end: short(end.max(start)) }
    }

    /// From the beginning of `self` to the end of `other`.
    pub fn to(self, other: Span) -> Self {
        Span { source: self.source, start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// The empty span at the beginning.
    pub fn at_start(self) -> Self {
        Span { end: self.start, ..self }
    }

    /// The empty span at the end.
    pub fn at_end(self) -> Self {
        Span { start: self.end, ..self }
    }

    /// The bytes as a range of the source's text.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// Whether `other` lies inside.
    pub fn contains(self, other: Span) -> bool {
        self.source == other.source && self.start <= other.start && other.end <= self.end
    }
}

/// A place of a file: line and column from 1, columns in characters, offset in bytes of the file on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Byte of the file, from 0.
    pub offset: usize,
}

/// The object and key that a text came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// `namespace/name` of the ConfigMap.
    pub object: String,
    /// The key in its `data`, as in `gpu.bay`.
    pub key: String,
}

/// A text with a name.
#[derive(Clone, Debug)]
pub struct Source {
    id: SourceId,
    name: Arc<str>,
    text: Arc<str>,
    origin: Option<Origin>,
    form: Form,
    lines: Vec<u32>,
    /// The number of characters before each block of [`BLOCK`] bytes, so that the column of a place
    /// in a line of a million characters costs no more than that of any other.
    letters: Vec<u32>,
    host: Option<Host>,
}

/// Bytes between two entries of `Source::letters`.
const BLOCK: usize = 1024;

/// How many characters begin in these bytes.
fn letters(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&byte| byte & 0b1100_0000 != 0b1000_0000).count()
}

/// Where an embedded text is in its file.
#[derive(Clone, Debug)]
struct Host {
    source: SourceId,
    embedded: Embedded,
}

/// How policies are written in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// In the policy language.
    Language,
    /// As YAML or JSON documents.
    Document,
}

impl Form {
    /// The form of a file or of a key of a ConfigMap, by its ending.
    pub fn of(name: &str) -> Self {
        let document = [".yaml", ".yml", ".json"].iter().any(|ending| name.ends_with(ending));
        if document { Form::Document } else { Form::Language }
    }
}

impl Source {
    /// The id in spans of this text.
    pub fn id(&self) -> SourceId {
        self.id
    }

    /// The file's name as the user gave it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text, shared, so that the map can change meanwhile.
    pub fn shared_text(&self) -> Arc<str> {
        self.text.clone()
    }

    /// The object and key, for a text of a ConfigMap.
    pub fn origin(&self) -> Option<&Origin> {
        self.origin.as_ref()
    }

    /// How policies are written in it: by the ending of its key or of its name, or by its content.
    pub fn form(&self) -> Form {
        self.form
    }

    /// The file of an embedded text.
    pub fn host(&self) -> Option<SourceId> {
        self.host.as_ref().map(|host| host.source)
    }

    /// The whole text as a span.
    pub fn span(&self) -> Span {
        Span::new(self.id, 0, self.text.len())
    }

    /// The text of a span; empty if the span does not fit this text.
    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.range()).unwrap_or("")
    }

    /// Line and column of a byte in this text, not in the file around it.
    pub fn own_place(&self, offset: usize) -> Place {
        let offset = offset.min(self.text.len());
        let line = self.lines.partition_point(|&start| start as usize <= offset);
        let start = self.lines.get(line.saturating_sub(1)).map_or(0, |&start| start as usize);
        let column = self.letters_before(offset).saturating_sub(self.letters_before(start)) + 1;
        Place { line: line.max(1), column, offset }
    }

    /// How many characters begin before a byte.
    fn letters_before(&self, offset: usize) -> usize {
        let block = offset / BLOCK;
        let known = self.letters.get(block).map_or(0, |&count| count as usize);
        known + self.text.as_bytes().get(block * BLOCK..offset).map_or(0, letters)
    }

    /// The first byte of a line; lines count from 1.
    pub fn line_start(&self, line: usize) -> usize {
        let start = line.checked_sub(1).and_then(|index| self.lines.get(index));
        start.map_or(self.text.len(), |&start| start as usize)
    }

    /// A line's text without its end; lines count from 1.
    pub fn line(&self, line: usize) -> &str {
        let start = line.checked_sub(1).and_then(|index| self.lines.get(index));
        let Some(&start) = start else { return "" };
        let end = self.lines.get(line).map_or(self.text.len(), |&next| next as usize);
        self.text.get(start as usize..end).unwrap_or("").trim_end_matches(['\n', '\r'])
    }
}

/// All texts of one run of a command or one load of policies.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    sources: Vec<Source>,
}

impl SourceMap {
    /// Without texts.
    pub fn new() -> Self {
        Self::default()
    }

    /// A file's text.
    pub fn add(&mut self, name: impl Into<Arc<str>>, text: impl Into<Arc<str>>) -> SourceId {
        self.push(name.into(), text.into(), None, None)
    }

    /// Another text in place of a source, with its name, origin and form.
    pub fn add_like(&mut self, source: &Source, text: impl Into<Arc<str>>) -> SourceId {
        let id = self.push(source.name.clone(), text.into(), source.origin.clone(), None);
        self.set_form(id, source.form);
        id
    }

    /// A file's bytes, without a byte order mark. Bytes that are not UTF-8 are replaced, and the
    /// first one gets a diagnostic.
    pub fn add_bytes(
        &mut self,
        name: impl Into<Arc<str>>,
        mut bytes: Vec<u8>,
    ) -> (SourceId, Option<Diagnostic>) {
        if bytes.starts_with("\u{feff}".as_bytes()) {
            bytes.drain(..'\u{feff}'.len_utf8());
        }
        match String::from_utf8(bytes) {
            Ok(text) => (self.add(name, text), None),
            Err(error) => {
                let at = error.utf8_error().valid_up_to();
                let id = self.add(name, String::from_utf8_lossy(error.as_bytes()).into_owned());
                let span = Span::new(id, at, at + '\u{fffd}'.len_utf8());
                let diagnostic = Diagnostic::new(&codes::NOT_UTF8, span, "the file is not valid UTF-8")
                    .with_label("this byte begins no character")
                    .with_help("save the file as UTF-8");
                (id, Some(diagnostic))
            }
        }
    }

    /// A text of an object of the cluster, for which there is no file: `namespace/name key`.
    pub fn add_object(&mut self, origin: Origin, text: impl Into<Arc<str>>) -> SourceId {
        let name = format!("{} {}", origin.object, origin.key);
        self.push(name.into(), text.into(), Some(origin), None)
    }

    /// A source by its id. The ids of a map are those it gave out.
    pub fn get(&self, id: SourceId) -> Option<&Source> {
        self.sources.get(id.0 as usize)
    }

    /// All sources, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = &Source> {
        self.sources.iter()
    }

    /// The source of a span.
    pub fn source(&self, span: Span) -> Option<&Source> {
        self.get(span.source)
    }

    /// The text of a span.
    pub fn text(&self, span: Span) -> &str {
        self.source(span).map_or("", |source| source.slice(span))
    }

    /// Adds a text that is the value of a YAML scalar of `host`. `scalar` is the range that the YAML reader
    /// gave for the scalar (a block scalar begins with its first line of content), `text` its value. If the
    /// two cannot be aligned, every place of the text is the beginning of the scalar.
    pub fn embed(
        &mut self,
        host: SourceId,
        scalar: Range<usize>,
        text: impl Into<Arc<str>>,
        origin: Origin,
    ) -> SourceId {
        let text = text.into();
        let (name, host) = match self.get(host) {
            Some(source) => {
                let embedded = Embedded::new(source.text(), scalar, &text);
                (source.name.clone(), Some(Host { source: host, embedded }))
            }
            None => (Arc::from(""), None),
        };
        self.push(name, text, Some(origin), host)
    }

    /// The file of a span: the YAML file for an embedded text, else the text itself.
    pub fn file(&self, span: Span) -> Option<&Source> {
        let source = self.source(span)?;
        match source.host() {
            Some(host) => self.get(host),
            None => Some(source),
        }
    }

    /// A span in the coordinates of its file (the YAML file for an embedded text).
    pub fn in_file(&self, span: Span) -> Span {
        match self.source(span).and_then(|source| source.host.as_ref()) {
            Some(host) => {
                let start = host.embedded.outer(span.start);
                let end =
                    if span.end > span.start { host.embedded.outer_end(span.end).max(start) } else { start };
                Span { source: host.source, start, end }
            }
            None => span,
        }
    }

    /// Says how policies are written in a text whose name does not, such as that of a pipe.
    pub fn set_form(&mut self, id: SourceId, form: Form) {
        if let Some(source) = self.sources.get_mut(id.0 as usize) {
            source.form = form;
        }
    }

    /// A text that replaces a span as it is written in the file: escaped within a quoted YAML scalar. `None` where the
    /// file cannot hold it at that place.
    pub fn written(&self, span: Span, text: &str) -> Option<String> {
        let Some(host) = self.source(span).and_then(|source| source.host.as_ref()) else {
            return self.source(span).map(|_| text.to_owned());
        };
        match host.embedded.edits {
            Edits::Verbatim => (!text.contains('\n')).then(|| text.to_owned()),
            Edits::Double => {
                let quoted = serde_json::Value::from(text).to_string();
                quoted.get(1..quoted.len() - 1).map(str::to_owned)
            }
            Edits::Single => (!text.contains('\n')).then(|| text.replace('\'', "''")),
            Edits::No => None,
        }
    }

    /// Beginning and end of a span in its file (the YAML file, for an embedded text).
    pub fn places(&self, span: Span) -> (Place, Place) {
        let span = self.in_file(span);
        match self.get(span.source) {
            Some(file) => (file.own_place(span.start as usize), file.own_place(span.end as usize)),
            None => {
                let nowhere = Place { line: 1, column: 1, offset: 0 };
                (nowhere, nowhere)
            }
        }
    }

    fn push(
        &mut self,
        name: Arc<str>,
        text: Arc<str>,
        origin: Option<Origin>,
        host: Option<Host>,
    ) -> SourceId {
        let id = SourceId(u32::try_from(self.sources.len()).unwrap_or(u32::MAX));
        let ends = text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n');
        let lines = std::iter::once(0).chain(ends.map(|(at, _)| at as u32 + 1)).collect();
        let mut before = 0;
        let blocks = text.as_bytes().chunks(BLOCK).map(|block| {
            before += letters(block) as u32;
            before
        });
        let letters = std::iter::once(0).chain(blocks).collect();
        let form = Form::of(origin.as_ref().map_or(&name, |origin| &origin.key));
        self.sources.push(Source { id, name, text, origin, form, lines, letters, host });
        id
    }
}
