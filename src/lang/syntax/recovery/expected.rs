//! What the grammar would have accepted at a place, in words of the language.
//!
//! Called by `recovery` with pest's error, which names the rules that were tried at the furthest place.

use crate::language::statements::{STATEMENTS, beginning_with};
use crate::syntax::Rule;
use pest::error::{Error, ErrorVariant, InputLocation};

/// What could have stood at the place of an error.
#[derive(Debug, Default)]
pub(in crate::syntax) struct Expected {
    /// Byte of the text that the grammar was given.
    pub(in crate::syntax) at: usize,
    /// Single words of the language.
    pub(in crate::syntax) words: Vec<String>,
    /// Marks in backticks and kinds of things, such as "a name".
    things: Vec<String>,
    /// Words that begin statements.
    statements: Vec<&'static str>,
    /// An operator is allowed here, so an expression has just ended.
    pub(in crate::syntax) operator: bool,
    /// A text in double quotes.
    pub(in crate::syntax) template: bool,
    /// A name is allowed here.
    pub(in crate::syntax) name: bool,
    /// An expression is allowed here.
    pub(in crate::syntax) expression: bool,
}

impl Expected {
    pub(in crate::syntax) fn of(error: &Error<Rule>) -> Self {
        let at = match error.location {
            InputLocation::Pos(at) => at,
            InputLocation::Span((at, _)) => at,
        };
        let mut expected = Expected { at, ..Expected::default() };
        if let ErrorVariant::ParsingError { positives, .. } = &error.variant {
            for rule in positives {
                expected.add(*rule);
            }
        }
        // `>` alone closes a type; among comparisons it is an operator
        if let ErrorVariant::ParsingError { positives, .. } = &error.variant
            && positives.contains(&Rule::gt)
            && !positives.contains(&Rule::ge)
        {
            expected.operator = false;
        }
        for list in [&mut expected.words, &mut expected.things] {
            list.sort_unstable();
            list.dedup();
        }
        expected.statements.sort_unstable();
        expected.statements.dedup();
        expected
    }

    /// "expected `when`, a name or an operator"; none when nothing is known.
    pub(in crate::syntax) fn sentence(&self) -> Option<String> {
        let mut parts: Vec<String> = self.things.clone();
        // a call's bracket is an operator too
        parts.retain(|part| !(self.operator && (part == "`(`" || part == "`>`")));
        parts.extend(self.words.iter().map(|word| format!("`{word}`")));
        match self.statements.len() {
            0 => {}
            1..=3 => parts.extend(self.statements.iter().map(|word| format!("`{word}`"))),
            _ => parts.push("a statement".to_owned()),
        }
        if self.operator && parts.len() < 4 {
            parts.push("an operator".to_owned());
        }
        if parts.is_empty() || parts.len() > 8 {
            return None;
        }
        Some(format!("expected {}", joined(&parts, "or")))
    }

    /// All words of the language that are allowed here.
    pub(in crate::syntax) fn all_words(&self) -> impl Iterator<Item = &str> {
        self.words.iter().map(String::as_str).chain(self.statements.iter().copied())
    }

    /// Whether this mark, written as in "`{`", is all that could have stood here.
    pub(in crate::syntax) fn only(&self, mark: &str) -> bool {
        self.wants(mark) && self.things.len() == 1 && !self.operator && self.statements.is_empty()
    }

    /// Whether a mark could have stood here.
    pub(in crate::syntax) fn wants(&self, mark: &str) -> bool {
        self.things.iter().any(|thing| thing == mark)
    }

    fn thing(&mut self, text: &str) {
        self.things.push(text.to_owned());
    }

    fn add(&mut self, rule: Rule) {
        match rule {
            Rule::expr | Rule::unary | Rule::arg | Rule::elem | Rule::entry | Rule::key | Rule::chain => {
                self.expression = true;
                self.thing("an expression");
            }
            Rule::or
            | Rule::and
            | Rule::eq
            | Rule::ne
            | Rule::le
            | Rule::ge
            | Rule::plus
            | Rule::minus
            | Rule::star
            | Rule::slash
            | Rule::percent_op
            | Rule::coalesce
            | Rule::k_matches
            | Rule::dot
            | Rule::opt
            | Rule::an_operator
            | Rule::member
            | Rule::index
            | Rule::args
            | Rule::infix
            | Rule::bang
            | Rule::lbracket => {
                self.operator = true;
            }
            Rule::gt => self.thing("`>`"),
            Rule::lt => self.operator = true,
            Rule::semicolon | Rule::EOI | Rule::WHITESPACE | Rule::root => {}
            Rule::a_statement => self.thing("a statement"),
            Rule::named => {}
            Rule::ident | Rule::name | Rule::arg_decl | Rule::detail => {
                self.name = true;
                self.thing("a name");
            }
            Rule::rule_name => self.thing("the name of a rule"),
            Rule::field | Rule::quoted => self.thing("a field"),
            Rule::type_ | Rule::generic | Rule::record | Rule::t_list | Rule::t_set | Rule::t_map => {
                self.thing("a type")
            }
            Rule::template | Rule::reason => {
                self.template = true;
                self.thing("a text in double quotes");
            }
            Rule::string | Rule::bytes => self.thing("a string"),
            Rule::int => self.thing("a whole number"),
            Rule::duration | Rule::quantity | Rule::percent | Rule::float | Rule::bound => {
                self.thing("a number")
            }
            Rule::date => self.thing("a date such as `2027-01-31`"),
            Rule::map => self.thing("`{` of a map"),
            Rule::lbrace => self.thing("`{`"),
            Rule::rbrace => self.thing("`}`"),
            Rule::lparen => self.thing("`(`"),
            Rule::rparen => self.thing("`)`"),
            Rule::rbracket => self.thing("`]`"),
            Rule::comma => self.thing("`,`"),
            Rule::colon => self.thing("`:`"),
            Rule::assign => self.thing("`=`"),
            Rule::dotdot => self.thing("`..`"),
            Rule::all_pods => self.words.push("to all pods".to_owned()),
            Rule::except_item => self.statements.push("except"),
            Rule::true_ | Rule::false_ | Rule::null_ | Rule::none_ | Rule::list | Rule::paren => {
                self.expression = true;
                self.thing("an expression");
            }
            _ => {
                let name = format!("{rule:?}");
                let statement = STATEMENTS.iter().map(|id| id.def()).find(|def| def.rule == name);
                match statement {
                    Some(def) => self.statements.push(def.word()),
                    None => self.token(&name),
                }
            }
        }
    }

    /// A rule that reads one word is named after it: `k_when`, `by_max`.
    fn token(&mut self, rule: &str) {
        let word = rule.strip_prefix("k_").or(rule.strip_prefix("by_")).unwrap_or(rule).trim_end_matches('_');
        match beginning_with(word).next() {
            Some(id) => self.statements.push(id.def().word()),
            None if word == "to" => self.words.push("to all pods".to_owned()),
            None => self.words.push(word.to_owned()),
        }
    }
}

/// "a, b or c".
pub(in crate::syntax) fn joined(words: &[String], joint: &str) -> String {
    match words.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} {joint} {last}", rest.join(", ")),
        None => String::new(),
    }
}
