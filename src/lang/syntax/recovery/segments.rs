//! Where the segments of a broken file begin and end, by its tokens alone. Nothing is reported here.
//!
//! Called by `recovery`. Two facts make it work: words of statements begin lines, and two operands never
//! follow each other, so a word after an operand begins something.

use crate::language::statements::{CLAUSES, Home, StatementId, beginning_with, statements_in};
use crate::syntax::build::Builder;
use crate::syntax::tokens::{Kind, Token};
use crate::syntax::{Grammar, Rule};
use bayplan_diag::Span;
use pest::Parser as _;

/// Words of operators, ours and those of other languages: a statement does not begin at them.
const OPERATOR_WORDS: [&str; 7] = ["in", "matches", "none", "and", "or", "not", "is"];

/// Whether a word begins an item of a file.
pub(in crate::syntax) fn in_files(word: &str) -> bool {
    beginning_with(word).any(|id| id.def().stands_in(Home::File))
}

/// Whether a word begins a statement of a policy.
pub(in crate::syntax) fn in_policies(word: &str) -> bool {
    beginning_with(word).any(|id| id.def().stands_in(Home::Policy))
}

/// Whether a word begins a statement of some block.
pub(in crate::syntax) fn in_blocks(word: &str) -> bool {
    beginning_with(word).any(|id| id.def().stands_in_a_block())
}

/// Whether a word begins any statement.
pub(in crate::syntax) fn in_language(word: &str) -> bool {
    beginning_with(word).next().is_some()
}

/// The words that begin a statement of a place, each once, in the order of the table.
pub(in crate::syntax) fn words_in(home: Home) -> Vec<&'static str> {
    let mut words: Vec<&str> = Vec::new();
    for word in statements_in(home).map(|id| id.def().word()) {
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words
}

/// The statement with a block that begins at a token: the one that has all its words there, else the first one that
/// begins with its word.
pub(in crate::syntax) fn block_at(builder: &Builder<'_>, at: usize) -> Option<StatementId> {
    let written = |id: &StatementId| {
        let words = id.def().words.split(' ').enumerate();
        words.into_iter().all(|(next, word)| builder.token_text(at + next) == word)
    };
    let mut blocks = beginning_with(builder.token_text(at)).filter(|id| id.has_block());
    let first = blocks.next()?;
    Some(if written(&first) { first } else { blocks.find(written).unwrap_or(first) })
}

/// Whether a word continues a statement or an expression, so that none begins at it.
pub(in crate::syntax) fn continues(word: &str) -> bool {
    OPERATOR_WORDS.contains(&word) || word == "skip" || CLAUSES.iter().any(|clause| clause.word == word)
}

/// Whether a word of a clause may end a statement.
fn ends_a_clause(word: &str) -> bool {
    let value = CLAUSES.iter().any(|clause| clause.values.contains(&word)) && !in_language(word);
    value || CLAUSES.iter().any(|clause| clause.word == word && clause.syntax == word)
}

/// Whether a number with letters is one of the language.
pub(in crate::syntax) fn is_number(text: &str) -> bool {
    Grammar::parse(Rule::hole, text).is_ok()
}

/// A stretch of tokens that is read alone: `tokens[start..end]`.
#[derive(Clone, Debug)]
pub(in crate::syntax) struct Segment {
    pub(in crate::syntax) start: usize,
    pub(in crate::syntax) end: usize,
    /// What it is, for messages: the word of a statement.
    pub(in crate::syntax) word: String,
}

impl Segment {
    /// The whole text as one segment.
    pub(in crate::syntax) fn whole(builder: &Builder<'_>, word: &str) -> Self {
        Segment { start: 0, end: builder.scan.tokens.len(), word: word.to_owned() }
    }
}

// ---- where segments begin

impl<'a> Builder<'a> {
    pub(in crate::syntax) fn token(&self, at: usize) -> Option<&'a Token> {
        self.scan.tokens.get(at)
    }

    pub(in crate::syntax) fn token_text(&self, at: usize) -> &'a str {
        self.token(at).and_then(|token| self.text.get(token.start..token.end)).unwrap_or("")
    }

    pub(in crate::syntax) fn word_at(&self, at: usize) -> Option<&'a str> {
        self.token(at).and_then(|token| self.word(token))
    }

    pub(in crate::syntax) fn is_first(&self, at: usize) -> bool {
        self.token(at).is_some_and(|token| token.first)
    }

    /// Bytes between the beginning of its line and a token.
    pub(in crate::syntax) fn column(&self, at: usize) -> usize {
        let Some(token) = self.token(at) else { return 0 };
        let before = self.text.get(..token.start).unwrap_or("");
        before.len() - before.rfind('\n').map_or(0, |end| end + 1)
    }

    pub(in crate::syntax) fn span_of(&self, at: usize) -> Span {
        match self.token(at) {
            Some(token) => self.span(token.start, token.end),
            None => self.span(self.text.len(), self.text.len()),
        }
    }

    /// Whether the token before ends a statement or opens a block.
    pub(in crate::syntax) fn after_mark(&self, at: usize) -> bool {
        at.checked_sub(1).is_none_or(|at| matches!(self.token_text(at), "{" | "}" | ";"))
    }

    /// Whether the token before could be the end of an expression or a reason.
    pub(in crate::syntax) fn after_operand(&self, at: usize) -> bool {
        let Some(before) = at.checked_sub(1) else { return true };
        match self.token(before).map(|token| token.kind) {
            Some(Kind::Number | Kind::String) => true,
            Some(Kind::Mark) => matches!(self.token_text(before), ")" | "]" | "}" | "%"),
            Some(Kind::Word) => {
                let word = self.token_text(before);
                let dotted = before.checked_sub(1).is_some_and(|at| self.token_text(at) == ".");
                let keyword = in_language(word) || continues(word);
                dotted || ends_a_clause(word) || !keyword
            }
            None => false,
        }
    }

    /// Whether what follows a word of a statement does not show that the word is a name here.
    pub(in crate::syntax) fn starts_here(&self, at: usize, word: &str) -> bool {
        let next = self.token_text(at + 1);
        let expression_follows = beginning_with(word).any(|id| id.def().expression_first);
        match self.token(at + 1).map(|token| token.kind) {
            Some(Kind::Word) => !matches!(next, "in" | "matches" | "and" | "or"),
            Some(Kind::String | Kind::Number) => true,
            Some(Kind::Mark) if expression_follows => {
                !matches!(next, "." | ":" | "," | ")" | "]" | "==" | "!=" | "<=" | ">=" | "&&" | "||" | "??")
            }
            Some(Kind::Mark) => matches!(next, "{" | "}" | "=" | ";" | "\u{201c}"),
            None => true,
        }
    }

    /// Whether a statement of a word that we do not know begins here: two operands are never adjacent.
    pub(in crate::syntax) fn unknown_starts(&self, at: usize) -> bool {
        let Some(word) = self.word_at(at) else { return false };
        if continues(word) {
            return false;
        }
        let next = self.token(at + 1);
        let joined =
            matches!(
                self.token_text(at + 1),
                "." | ":" | "," | "==" | "!=" | "<=" | ">=" | "&&" | "||" | "??" | "="
            ) || matches!(self.token_text(at + 1), "<" | ">" | "+" | "*" | "/" | "%" | "?" | ")" | "]");
        let follows = next.is_some_and(|next| matches!(next.kind, Kind::Word | Kind::String | Kind::Number))
            && !matches!(self.token_text(at + 1), "in" | "matches" | "and" | "or" | "when" | "else");
        let opens = self.token_text(at + 1) == "{";
        match (self.is_first(at), self.after_mark(at)) {
            (_, true) => follows || opens || !joined,
            (true, false) => self.after_operand(at) && (follows || opens || !joined),
            (false, false) => false,
        }
    }
}

/// Where the items of a file begin: in the first column whatever is open, elsewhere when all is closed.
pub(in crate::syntax) fn items(builder: &Builder<'_>) -> Vec<Segment> {
    let mut starts = Vec::new();
    let mut braces = 0usize;
    let count = builder.scan.tokens.len();
    for at in 0..count {
        if let Some(word) = builder.word_at(at).filter(|_| builder.is_first(at)) {
            let known = in_files(word) && builder.starts_here(at, word);
            let unindented = builder.column(at) == 0 && word != "except";
            let closed = braces == 0 && (starts.is_empty() || builder.after_mark(at));
            // a statement that is indented below a policy is one of it, whatever a `}` too many says
            let outer = starts.last().map_or(0, |&start| builder.column(start));
            let inside = in_policies(word) || in_blocks(word);
            let below = !starts.is_empty() && builder.column(at) > outer && inside;
            if known && (unindented || braces == 0 && !below)
                || closed && !below && builder.unknown_starts(at)
            {
                braces = 0;
                starts.push(at);
            }
        }
        match builder.token_text(at) {
            "{" => braces += 1,
            "}" => braces = braces.saturating_sub(1),
            _ => {}
        }
        if at == 0 && starts.is_empty() {
            starts.push(0);
        }
    }
    let ends = starts.iter().skip(1).copied().chain([count]);
    let segments = starts.iter().copied().zip(ends);
    segments.map(|(start, end)| Segment { start, end, word: builder.token_text(start).to_owned() }).collect()
}

/// A policy's body: where its statements begin and end.
pub(in crate::syntax) struct Body {
    /// Token after the head.
    pub(in crate::syntax) head: usize,
    /// The head ends with `{`.
    pub(in crate::syntax) open: bool,
    /// The `}` of the policy.
    pub(in crate::syntax) close: Option<usize>,
    /// A `}` that closes the policy although statements follow.
    pub(in crate::syntax) stray: Option<usize>,
    /// Beginnings of statements; the flag says that the statement before lost its `}`.
    pub(in crate::syntax) starts: Vec<(usize, bool)>,
    /// Tokens after the policy's `}`.
    pub(in crate::syntax) tail: std::ops::Range<usize>,
    /// The last statement lost its `}`.
    pub(in crate::syntax) unclosed: bool,
}

pub(in crate::syntax) fn body_of_policy(builder: &Builder<'_>, segment: &Segment) -> Body {
    let (head, open) = head_of_policy(builder, segment);
    let mut scan = BodyScan {
        builder,
        segment,
        indent: builder.column(segment.start),
        body: Body {
            head,
            open,
            close: None,
            stray: None,
            starts: Vec::new(),
            tail: segment.end..segment.end,
            unclosed: false,
        },
        braces: 0,
        begun: false,
        closed_headless: false,
        opened: false,
    };
    for at in head..segment.end {
        let headless = scan.begin(at);
        match builder.token_text(at) {
            "{" => {
                scan.braces += 1;
                scan.opened = true;
            }
            "}" => scan.close(at, headless),
            _ => {}
        }
    }
    let mut body = scan.body;
    if let Some(close) = body.close {
        body.tail = close + 1..segment.end;
    }
    body
}

/// The token after the head of a policy, and whether the head ends with `{`.
fn head_of_policy(builder: &Builder<'_>, segment: &Segment) -> (usize, bool) {
    let mut at = segment.start + 1;
    while at < segment.end {
        if builder.token_text(at) == "{" {
            return (at + 1, true);
        }
        let word = builder.word_at(at).unwrap_or("");
        if builder.is_first(at) && in_language(word) {
            break;
        }
        at += 1;
    }
    (at, false)
}

/// The search for the statements of a policy, token by token.
struct BodyScan<'s, 'b> {
    builder: &'s Builder<'b>,
    segment: &'s Segment,
    /// The column of the policy.
    indent: usize,
    body: Body,
    /// Braces that are open inside of the statement that was begun last.
    braces: usize,
    /// A statement, or what is in place of one, has begun.
    begun: bool,
    /// The `}` of a block without `{` has been passed.
    closed_headless: bool,
    /// The statement that was begun last has had a `{`.
    opened: bool,
}

impl BodyScan<'_, '_> {
    /// Begins a statement at a token when one begins there. Returns whether the statement before the
    /// token has a block and has lost its `{`.
    fn begin(&mut self, at: usize) -> bool {
        let builder = self.builder;
        // the statements of a block that has lost its `{` stay with its head, and those after a `}` too many
        // with their block
        let head = self.body.starts.last().map(|&(start, _)| start);
        let block = head.and_then(|head| block_at(builder, head));
        let headless = block.is_some() && !self.opened;
        let inner = builder.word_at(at).filter(|word| {
            let stands = |block| beginning_with(word).any(|id| id.def().stands_in(Home::Block(block)));
            block.is_some_and(stands)
        });
        // a column is counted from the beginning of the line, so only where it is needed
        let first = inner.is_some() && builder.is_first(at);
        let deeper = first && head.is_some_and(|head| builder.column(at) > builder.column(head));
        let stays = inner.is_some() && (headless || deeper);
        if stays && !headless && self.braces == 0 {
            // the `}` before it was one too many
            self.braces = 1;
            self.body.close = None;
        }
        let is_mark = matches!(builder.token_text(at), "}" | ";");
        if !stays && statement_starts(builder, at, self.braces) {
            if let Some(close) = self.body.close.take() {
                self.body.stray = self.body.stray.or(Some(close));
            }
            self.body.starts.push((at, self.braces > 0));
            self.closed_headless = false;
            self.opened = false;
            self.braces = 0;
            self.begun = true;
        } else if !self.begun && self.body.close.is_none() && !is_mark {
            // what begins no statement is a segment of its own, up to the next one
            self.body.starts.push((at, false));
            self.begun = true;
        }
        headless
    }

    /// A `}`: of a block inside of a statement, of a block without `{`, or of the policy.
    fn close(&mut self, at: usize, headless: bool) {
        let (builder, segment, indent) = (self.builder, self.segment, self.indent);
        let outdented =
            builder.is_first(at) && builder.column(at) <= indent && builder.is_first(segment.start);
        let ends = outdented && self.braces > 0 && at + 1 >= segment.end;
        if self.braces == 0 && headless && !outdented && !self.closed_headless {
            self.closed_headless = true;
            return;
        }
        if self.braces > 0 && !ends {
            self.braces -= 1;
            return;
        }
        let last = self.body.starts.last();
        self.body.unclosed |= ends && last.is_some_and(|&(start, _)| builder.column(start) > indent);
        self.body.close = self.body.close.or(Some(at));
        self.braces = 0;
    }
}

pub(in crate::syntax) fn statement_starts(builder: &Builder<'_>, at: usize, braces: usize) -> bool {
    let Some(word) = builder.word_at(at) else { return false };
    let both = in_policies(word) && in_blocks(word);
    let closed = braces == 0;
    if in_policies(word) {
        let begins = builder.is_first(at) && (closed || !both) || builder.after_mark(at) && closed;
        return begins && builder.starts_here(at, word);
    }
    if in_blocks(word) && closed && (builder.is_first(at) || builder.after_mark(at)) {
        return builder.starts_here(at, word);
    }
    closed && builder.unknown_starts(at)
}

/// The `{` that opens the body; the head of a ledger may hold others.
pub(in crate::syntax) fn opening(
    builder: &Builder<'_>,
    segment: &Segment,
    allowed: &[&str],
) -> Option<usize> {
    let mut braces = (segment.start..segment.end).filter(|&at| builder.token_text(at) == "{");
    let first = braces.next()?;
    let record_before = block_at(builder, segment.start) == Some(StatementId::Ledger);
    if !record_before {
        // a word of the block before the brace: the brace is one of an expression
        let early = (segment.start + 1..first).any(|at| {
            builder.is_first(at) && builder.word_at(at).is_some_and(|word| allowed.contains(&word))
        });
        return (!early).then_some(first);
    }
    let opens = |at: usize| {
        let text = builder.token_text(at + 1);
        text == "}" || allowed.contains(&text)
    };
    std::iter::once(first).chain(braces).find(|&at| opens(at)).or(Some(first))
}

/// Where the statements of a block begin, and the `}` that closes it.
pub(in crate::syntax) fn body_of_block(
    builder: &Builder<'_>,
    segment: &Segment,
    open: usize,
) -> (Vec<usize>, Option<usize>) {
    let mut starts: Vec<usize> = Vec::new();
    let mut braces = 0usize;
    let mut close = None;
    for at in open + 1..segment.end {
        if block_statement_starts(builder, at, braces) {
            starts.push(at);
            braces = 0;
            close = None;
        } else if starts.is_empty() && !matches!(builder.token_text(at), "}" | ";") {
            starts.push(at);
        }
        match builder.token_text(at) {
            "{" => braces += 1,
            "}" if braces == 0 => close = close.or(Some(at)),
            "}" => braces -= 1,
            _ => {}
        }
    }
    (starts, close)
}

fn block_statement_starts(builder: &Builder<'_>, at: usize, braces: usize) -> bool {
    let Some(word) = builder.word_at(at) else { return false };
    let first = builder.is_first(at);
    if in_blocks(word) {
        let begins =
            first || builder.after_mark(at) && (braces == 0 || builder.token_text(at.wrapping_sub(1)) != "{");
        let field = at.checked_sub(1).is_some_and(|at| builder.token_text(at) == ".");
        return begins
            && !field
            && builder.starts_here(at, word)
            && (braces == 0 || builder.token_text(at + 1) != ":");
    }
    braces == 0 && builder.unknown_starts(at)
}
