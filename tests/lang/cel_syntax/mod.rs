//! CEL's parser: for every expression that both languages have, its tree is that of the policy language, places
//! included; what cannot be read is reported with its place; a tree can be written.

mod differences;
mod faults;
mod mistakes;
mod trees;
mod write;

use super::cel::recorded;
use bayplan::diag::{Diagnostic, SourceMap};
use bayplan::lang::syntax::ast::Expr;
use bayplan::lang::syntax::cel;
use bayplan::lang::syntax::parse_expression;

/// What the parser of CEL makes of a text.
fn of_cel(text: &str) -> Result<Expr, Vec<Diagnostic>> {
    let mut sources = SourceMap::new();
    let id = sources.add("<text>", text);
    let parsed = cel::parse(text, id, &|at| at);
    parsed.expr.ok_or(parsed.diagnostics)
}

/// What the grammar of the policy language makes of it.
fn of_policies(text: &str) -> Result<Expr, Vec<Diagnostic>> {
    let mut sources = SourceMap::new();
    let id = sources.add("<text>", text);
    let (expr, said) = parse_expression(sources.get(id).unwrap());
    expr.ok_or(said)
}

/// The expressions of a recorded file, each with whether upstream's parser refuses it.
fn expressions() -> Vec<(String, bool)> {
    let files = ["kubernetes", "quantities", "random", "words"];
    let lines = files.iter().flat_map(|name| recorded(&format!("cel-{name}-1.36.jsonl.gz")));
    let expression = |line: serde_json::Value| {
        let error = line["compileError"].as_str().unwrap_or("");
        let refused = [
            "Syntax error",
            "reserved identifier",
            "unsupported syntax",
            "invalid int literal",
            "invalid double literal",
            "has() macro",
        ]
        .iter()
        .any(|words| error.contains(words));
        Some((line["expr"].as_str()?.to_owned(), refused))
    };
    // The arguments of macros are checked later, but for one frequent mistake.
    let macros = |line: &serde_json::Value| {
        line["compileError"].as_str().is_some_and(|error| error.contains("has() macro"))
    };
    lines.filter(|line| !macros(line)).filter_map(expression).collect()
}

/// Every span in a printed tree or list of diagnostics.
fn spans(printed: &str) -> Vec<(usize, usize)> {
    let number = |text: &str| text.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap();
    let parts = printed.split("Span { source: SourceId(0), start: ").skip(1);
    parts.map(|part| (number(part), number(part.split(", end: ").nth(1).unwrap()))).collect()
}

fn has(said: &[Diagnostic], words: &str) -> bool {
    said.iter().any(|one| one.message.contains(words))
}

/// How many cases are tried, the same number on every machine; `BAYPLAN_EXPRESSIONS` is how many times as many.
fn cases(usual: usize) -> usize {
    let asked = std::env::var("BAYPLAN_EXPRESSIONS").ok();
    usual * asked.and_then(|text| text.parse::<usize>().ok()).unwrap_or(1)
}

/// Whether CEL folds two prefixes of the text, so that its tree is another one.
fn folds(text: &str) -> bool {
    let text = text.replace(char::is_whitespace, "");
    ["!!", "--", "!-", "-!"].iter().any(|two| text.contains(two))
}

/// A small generator of numbers, the same on every machine.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides.max(1) as u64) as usize
    }

    fn pick<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.roll(all.len())]
    }
}

const LITERALS: &[&str] = &[
    "0",
    "7",
    "9223372036854775807",
    "0x1f",
    "0xFFu",
    "3u",
    "18446744073709551615u",
    "1.5",
    ".5",
    "1e3",
    "2.5E-3",
    "1.e",
    "'a'",
    "\"é\\n\\x41\\101\\u00e9\\U0001F600\"",
    "'''a\n'b'\\''''",
    "\"\"\"x\"y\"\"\"",
    "r'\\d+'",
    "R\"\"\"\\\n\"\"\"",
    "b'\\xff\\377é'",
    "r'''a\r\nb\rc'''",
    "'''a\r\nb\rc'''",
    "bR'''\r\n'''",
    "br'\\x'",
    "''",
    "true",
    "false",
    "null",
    "'a\\?\\`'",
];
const SIGNED: &[&str] =
    &["-0", "-7", "-9223372036854775808", "- 5", "-0x8000000000000000", "-1.5", "-.5", "-0.0", "- 1e3"];
const NAMES: &[&str] =
    &["a", "node", "_x1", "when", "matching", "inner", "nulls", "r", "b", "in_", "optional"];
const FIELDS: &[&str] = &["b", "labels", "if", "let", "none", "matches", "as", "E1"];
const BINARY: &[&str] =
    &["||", "&&", "==", "!=", "<", "<=", ">", ">=", " in ", "+", "-", "*", "/", " % ", "||", "&&", "&&"];

/// A random expression of both languages. No prefix precedes a prefix.
fn expression(dice: &mut Dice, depth: usize) -> String {
    let blank =
        |dice: &mut Dice| dice.pick(&["", "", "", " ", "  ", "\n", "\t", "\r\n", " // é \"(\n"]).to_owned();
    if depth == 0 {
        return match dice.roll(4) {
            0 => dice.pick(LITERALS).to_owned(),
            1 => dice.pick(SIGNED).to_owned(),
            _ => dice.pick(NAMES).to_owned(),
        };
    }
    let (left, right) = (blank(dice), blank(dice));
    let list = |dice: &mut Dice, optional: bool| {
        let some = dice.roll(3);
        let mut parts = Vec::new();
        for _ in 0..some {
            let mark = if optional && dice.roll(4) == 0 { "?" } else { "" };
            parts.push(format!("{mark}{}", expression(dice, depth - 1)));
        }
        parts
    };
    let object = |dice: &mut Dice| {
        let object = expression(dice, depth - 1);
        let sign = object.starts_with(['-', '!']) && dice.roll(2) == 0;
        let simple = object.chars().all(|c| c.is_ascii_alphanumeric() || "_.()[]'".contains(c));
        // a space, so that `1` and `.e` are no float
        if simple && !sign { format!("{object} ") } else { format!("({object})") }
    };
    match dice.roll(13) {
        0 => format!("({left}{}{right})", expression(dice, depth - 1)),
        1 => format!("!{left}({})", expression(dice, depth - 1)),
        2 => format!("-{left}({})", expression(dice, depth - 1)),
        3 => format!("{}{left}.{}{}", object(dice), dice.pick(&["", "", "?"]), dice.pick(FIELDS)),
        4 => {
            format!("{}{left}[{}{right}{}]", object(dice), dice.pick(&["", "?"]), expression(dice, depth - 1))
        }
        5 => format!("{}.{}{left}({})", object(dice), dice.pick(FIELDS), list(dice, false).join(",")),
        6 => format!("{}({left}{}{right})", dice.pick(NAMES), list(dice, false).join(" , ")),
        7 => {
            let mut list = list(dice, true);
            if !list.is_empty() && dice.roll(4) == 0 {
                list.push(String::new());
            }
            format!("[{left}{}{right}]", list.join(", "))
        }
        8 => {
            let entry = |dice: &mut Dice| {
                let mark = dice.pick(&["", "", "?"]);
                format!("{mark}{}{left}: {}", expression(dice, depth - 1), expression(dice, depth - 1))
            };
            let entries: Vec<String> = (0..dice.roll(3)).map(|_| entry(dice)).collect();
            format!("{{{}}}", entries.join(","))
        }
        9 => {
            let part = |dice: &mut Dice| format!("({})", expression(dice, depth - 1));
            format!("{} ?{left}{} :{right}{}", part(dice), part(dice), expression(dice, depth - 1))
        }
        _ => {
            let (a, b) = (expression(dice, depth - 1), expression(dice, depth - 1));
            format!("{a}{left}{}{right}{b}", dice.pick(BINARY))
        }
    }
}
