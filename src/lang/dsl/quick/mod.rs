//! A right text read by its first letters: the rules of `bay.pest` one by one, without a second try.
//!
//! Called by `dsl::parse` and for the `{path}` of a reason. The grammar defines the meaning: what is found here is what pest
//! finds, to the byte (property test), and where nothing is found pest is asked, who also says what is wrong.
//! Statements are in `statements`, tokens in `tokens`.

mod statements;
mod tokens;
#[cfg(test)]
mod tests;

use super::grammar::Rule;
use super::nodes::{Entry, Nodes};

/// The rules of a file; none when the text is not right, or is something that only the grammar can tell.
pub(super) fn file(text: &str) -> Option<Nodes<'_>> {
    Reader::new(text).whole(Rule::file, Reader::items)
}

/// The rules of an expression.
pub(super) fn hole(text: &str) -> Option<Nodes<'_>> {
    Reader::new(text).whole(Rule::hole, Reader::expr)
}

/// How deep types may stand in each other; deeper ones are the grammar's business.
const MAX_TYPES: usize = 50;

/// A walk over the text. Every part skips white space before it, as the grammar does between two parts: so a rule whose last
/// part may be missing takes the white space behind it.
struct Reader<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
    types: usize,
    entries: Vec<Entry>,
}

/// `None`: this text is not read here.
type Read = Option<()>;

impl<'t> Reader<'t> {
    fn new(text: &'t str) -> Self {
        let entries = Vec::with_capacity(text.len() / 3);
        Self { text, bytes: text.as_bytes(), at: 0, types: 0, entries }
    }

    /// `{ SOI ~ … ~ EOI }`
    fn whole(mut self, rule: Rule, inside: impl FnOnce(&mut Self) -> Read) -> Option<Nodes<'t>> {
        let at = self.open(rule);
        inside(&mut self)?;
        self.skip();
        if self.at < self.bytes.len() {
            return None;
        }
        let end = self.open(Rule::EOI);
        self.close(end);
        self.close(at);
        Some(Nodes { text: self.text, entries: self.entries })
    }

    fn open(&mut self, rule: Rule) -> usize {
        let start = self.at as u32;
        self.entries.push(Entry { rule, start, end: start, next: 0 });
        self.entries.len() - 1
    }

    fn close(&mut self, at: usize) {
        let next = self.entries.len() as u32;
        if let Some(entry) = self.entries.get_mut(at) {
            entry.end = self.at as u32;
            entry.next = next;
        }
    }

    /// A rule with parts.
    fn rule(&mut self, rule: Rule, parts: impl FnOnce(&mut Self) -> Read) -> Read {
        self.skip();
        let at = self.open(rule);
        parts(self)?;
        self.close(at);
        Some(())
    }

    /// `(a ~ ("," ~ a)* ~ ","?)`, up to `close`. The last comma is allowed where `trailing`.
    fn list(&mut self, close: u8, trailing: bool, mut one: impl FnMut(&mut Self) -> Read) -> Read {
        loop {
            one(self)?;
            if self.next() != Some(b',') {
                return Some(());
            }
            self.mark(Rule::comma, ",")?;
            if trailing && self.next() == Some(close) {
                return Some(());
            }
        }
    }

    // ---- expressions

    /// `{ chain ~ (opt ~ chain ~ colon ~ chain)* }`
    fn expr(&mut self) -> Read {
        self.rule(Rule::expr, |r| {
            r.chain()?;
            r.skip();
            let mut before = r.at;
            while r.next() == Some(b'?') && r.peek(1) != Some(b'?') {
                r.mark(Rule::opt, "?")?;
                r.chain()?;
                r.mark(Rule::colon, ":")?;
                r.chain()?;
                before = r.at;
            }
            r.at = before;
            Some(())
        })
    }

    /// `unary ~ (infix ~ unary)*`
    fn chain(&mut self) -> Read {
        self.unary()?;
        self.skip();
        let mut before = self.at;
        while self.infix() {
            self.unary()?;
            before = self.at;
        }
        self.at = before;
        Some(())
    }

    /// An operator between operands; false when there is none.
    fn infix(&mut self) -> bool {
        let Some(first) = self.next() else { return false };
        let (rule, long) = match (first, self.peek(1)) {
            (b'&', Some(b'&')) => (Rule::and, 2),
            (b'=', Some(b'=')) => (Rule::eq, 2),
            (b'|', Some(b'|')) => (Rule::or, 2),
            (b'?', Some(b'?')) => (Rule::coalesce, 2),
            (b'!', Some(b'=')) => (Rule::ne, 2),
            (b'<', Some(b'=')) => (Rule::le, 2),
            (b'>', Some(b'=')) => (Rule::ge, 2),
            (b'<', _) => (Rule::lt, 1),
            (b'>', _) => (Rule::gt, 1),
            (b'+', _) => (Rule::plus, 1),
            (b'-', _) => (Rule::minus, 1),
            (b'*', _) => (Rule::star, 1),
            (b'/', _) => (Rule::slash, 1),
            (b'%', _) => (Rule::percent_op, 1),
            (b'i', _) if self.word() == "in" => (Rule::k_in, 2),
            (b'm', _) if self.word() == "matches" => (Rule::k_matches, 7),
            _ => return false,
        };
        self.leaf(rule, long);
        true
    }

    /// `{ (bang | minus)* ~ primary ~ (member | index)* }`
    fn unary(&mut self) -> Read {
        self.rule(Rule::unary, |r| {
            loop {
                match r.next() {
                    Some(b'!') if r.peek(1) != Some(b'=') => r.leaf(Rule::bang, 1),
                    Some(b'-') => r.leaf(Rule::minus, 1),
                    _ => break,
                }
            }
            r.primary()?;
            r.skip();
            let mut before = r.at;
            loop {
                match r.next() {
                    Some(b'.') => r.member()?,
                    Some(b'[') => r.index()?,
                    _ => break,
                }
                before = r.at;
            }
            r.at = before;
            Some(())
        })
    }

    fn primary(&mut self) -> Read {
        match self.next()? {
            b'(' => self.rule(Rule::paren, |r| {
                r.mark(Rule::lparen, "(")?;
                r.expr()?;
                r.mark(Rule::rparen, ")")
            }),
            b'[' => self.rule(Rule::list, |r| {
                r.mark(Rule::lbracket, "[")?;
                if r.next() != Some(b']') {
                    r.list(b']', true, |r| {
                        r.rule(Rule::elem, |r| {
                            r.optional();
                            r.expr()
                        })
                    })?;
                }
                r.mark(Rule::rbracket, "]")
            }),
            b'{' => self.map(),
            b'"' | b'\'' => self.string(),
            b'0'..=b'9' => self.number(),
            b'.' if self.peek(1).is_some_and(|byte| byte.is_ascii_digit()) => self.number(),
            b'.' => {
                self.leaf(Rule::root, 1);
                self.call()
            }
            _ => {
                let word = self.word();
                match word {
                    "true" => self.key(Rule::true_, word),
                    "false" => self.key(Rule::false_, word),
                    "null" => self.key(Rule::null_, word),
                    "none" => self.key(Rule::none_, word),
                    _ if !self.quote_at(word.len()) => self.call(),
                    "r" | "R" => self.string(),
                    _ => self.blob(),
                }
            }
        }
    }

    /// `ident ~ args?`
    fn call(&mut self) -> Read {
        self.ident()?;
        if self.next() == Some(b'(') { self.args() } else { Some(()) }
    }

    /// `{ dot ~ opt? ~ (field | quoted) ~ args? }`
    fn member(&mut self) -> Read {
        self.rule(Rule::member, |r| {
            r.leaf(Rule::dot, 1);
            r.optional();
            r.field()?;
            if r.next() == Some(b'(') { r.args() } else { Some(()) }
        })
    }

    /// `{ lbracket ~ opt? ~ expr ~ rbracket }`
    fn index(&mut self) -> Read {
        self.rule(Rule::index, |r| {
            r.leaf(Rule::lbracket, 1);
            r.optional();
            r.expr()?;
            r.mark(Rule::rbracket, "]")
        })
    }

    /// `{ lparen ~ (arg ~ (comma ~ arg)*)? ~ rparen }`
    fn args(&mut self) -> Read {
        self.rule(Rule::args, |r| {
            r.mark(Rule::lparen, "(")?;
            if r.next() != Some(b')') {
                r.list(b')', false, |r| {
                    r.rule(Rule::arg, |r| {
                        if r.is_named() {
                            r.ident()?;
                            r.mark(Rule::colon, ":")?;
                        }
                        r.expr()
                    })
                })?;
            }
            r.mark(Rule::rparen, ")")
        })
    }

    /// A word and a `:` behind it.
    fn is_named(&mut self) -> bool {
        self.skip();
        let at = self.at;
        let word = self.word();
        self.at += word.len();
        let named = word.starts_with(|first: char| !first.is_ascii_digit()) && self.next() == Some(b':');
        self.at = at;
        named
    }

    /// `{ lbrace ~ (entry ~ (comma ~ entry)* ~ comma?)? ~ rbrace }`
    fn map(&mut self) -> Read {
        self.rule(Rule::map, |r| {
            r.mark(Rule::lbrace, "{")?;
            if r.next() != Some(b'}') {
                r.list(b'}', true, |r| {
                    r.rule(Rule::entry, |r| {
                        r.optional();
                        r.expr()?;
                        r.mark(Rule::colon, ":")?;
                        r.expr()
                    })
                })?;
            }
            r.mark(Rule::rbrace, "}")
        })
    }

    // ---- types

    /// `{ (generic | record | string | ident) ~ opt? }`
    fn type_(&mut self) -> Read {
        self.types += 1;
        if self.types > MAX_TYPES {
            return None;
        }
        self.rule(Rule::type_, |r| {
            match r.next()? {
                b'{' => r.rule(Rule::record, |r| {
                    r.mark(Rule::lbrace, "{")?;
                    r.list(b'}', true, Self::arg_decl)?;
                    r.mark(Rule::rbrace, "}")
                })?,
                b'"' | b'\'' => r.string()?,
                _ => match r.word() {
                    "r" | "R" if r.quote_at(1) => r.string()?,
                    "list" if r.is_generic(4) => r.generic(Rule::t_list, "list")?,
                    "set" if r.is_generic(3) => r.generic(Rule::t_set, "set")?,
                    "map" if r.is_generic(3) => r.generic(Rule::t_map, "map")?,
                    _ => r.ident()?,
                },
            }
            r.optional();
            Some(())
        })?;
        self.types -= 1;
        Some(())
    }

    fn generic(&mut self, rule: Rule, word: &str) -> Read {
        self.rule(Rule::generic, |r| {
            r.key(rule, word)?;
            r.mark(Rule::lt, "<")?;
            r.type_()?;
            if rule == Rule::t_map {
                r.mark(Rule::comma, ",")?;
                r.type_()?;
            }
            r.mark(Rule::gt, ">")
        })
    }

    /// A `<` behind a word of so many letters.
    fn is_generic(&mut self, long: usize) -> bool {
        let at = self.at;
        self.at += long;
        let generic = self.next() == Some(b'<');
        self.at = at;
        generic
    }

    /// `{ ident ~ colon ~ type_ }`
    fn arg_decl(&mut self) -> Read {
        self.rule(Rule::arg_decl, |r| {
            r.ident()?;
            r.mark(Rule::colon, ":")?;
            r.type_()
        })
    }
}
