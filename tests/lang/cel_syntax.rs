//! CEL's parser: for every expression that both languages have, its tree is that of the policy language, places
//! included.

use super::cel::recorded;
use bayplan::diag::draw::human;
use bayplan::diag::{Diagnostic, Fix, Look, SourceMap, Span};
use bayplan::lang::syntax::ast::*;
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

#[test]
fn recorded_expressions_have_one_tree_in_both_languages() {
    let (mut equal, mut wrong) = (0, Vec::new());
    for (text, refused) in expressions() {
        let (found, wanted) = (of_cel(&text), of_policies(&text));
        if found.is_err() != refused {
            wrong.push(format!("{text}: upstream refuses it: {refused}, ours: {found:?}"));
        }
        // `!!x` and `--x` are `x` in CEL.
        if text.contains("!!") || text.contains("--") {
            continue;
        }
        match (found, wanted) {
            (Ok(found), Ok(wanted)) if found == wanted => equal += 1,
            (Err(_), _) => {}
            (found, wanted) => wrong.push(format!("{text}\n  {found:?}\n  {wanted:?}")),
        }
    }
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(equal > 2000, "{equal}");
}

/// What is said about an expression, drawn.
fn drawn(text: &str) -> (SourceMap, Vec<Diagnostic>, String) {
    let mut sources = SourceMap::new();
    let id = sources.add("rule", text);
    let said = cel::parse(text, id, &|at| at).diagnostics;
    let report = human(&sources, &said, Look { unicode: true, ..Look::default() }).as_str().to_owned();
    (sources, said, report)
}

/// A text with the edits of a fix.
fn fixed(text: &str, fix: &Fix) -> String {
    let mut edits: Vec<_> = fix.edits.iter().collect();
    edits.sort_by_key(|edit| std::cmp::Reverse((edit.span.start, edit.span.end)));
    let mut text = text.to_owned();
    for edit in edits {
        text.replace_range(edit.span.range(), &edit.text);
    }
    text
}

/// `BAYPLAN_GOLDEN=write` writes what is said.
#[test]
fn mistakes_are_reported_as_recorded() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lang/cel_errors");
    let expressions = std::fs::read_to_string(folder.join("expressions.txt")).unwrap();
    let (mut all, mut wrong) = (String::new(), Vec::new());
    for line in expressions.lines() {
        let text = &line.replace('␤', "\n");
        let (_, said, report) = drawn(text);
        assert!(!said.is_empty(), "nothing is said about {text}");
        for diagnostic in &said {
            let words = format!("{} {:?}", diagnostic.message, diagnostic.help);
            assert!(!words.contains("input") && !words.contains("<EOF>"), "{words}");
        }
        for fix in said.iter().flat_map(|diagnostic| &diagnostic.fixes) {
            let (_, more, _) = drawn(&fixed(text, fix));
            if more.len() >= said.len() {
                wrong.push(format!("{text}: {} gives {}: {more:?}", fix.message, fixed(text, fix)));
            }
        }
        all.push_str(&format!("==== {line}\n{report}\n"));
    }
    let path = folder.join("reports.out");
    if std::env::var("BAYPLAN_GOLDEN").is_ok_and(|value| value == "write") {
        std::fs::write(&path, &all).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap_or_default(), all, "BAYPLAN_GOLDEN=write records");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Every span in a printed tree or list of diagnostics.
fn spans(printed: &str) -> Vec<(usize, usize)> {
    let number = |text: &str| text.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap();
    let parts = printed.split("Span { source: SourceId(0), start: ").skip(1);
    parts.map(|part| (number(part), number(part.split(", end: ").nth(1).unwrap()))).collect()
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

#[test]
fn generated_expressions_have_one_tree_in_both_languages() {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let (mut equal, mut wrong) = (0, Vec::new());
    for round in 0..6000 {
        let text = expression(&mut dice, 1 + round % 5);
        let prefixes = text.replace(char::is_whitespace, "");
        if ["!!", "--", "!-", "-!"].iter().any(|two| prefixes.contains(two)) {
            continue;
        }
        match (of_cel(&text), of_policies(&text)) {
            (Ok(found), Ok(wanted)) if found == wanted => equal += 1,
            (found, wanted) => wrong.push(format!("{text}\n  {found:?}\n  {wanted:?}")),
        }
    }
    wrong.sort_by_key(String::len);
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong[..wrong.len().min(12)].join("\n"));
    assert!(equal > 3000, "{equal}");
}

/// Tokens, or parts of them, by which a text is changed.
const STRAY: &[&str] = &[
    "a", "1", "'x'", "\"", "'", "(", ")", "[", "]", "{", "}", ",", ":", "?", "??", ".", "&&", "&", "|", "||",
    "=", "==", "!", "-", "+", "*", "/", "%", "<", ">", "in", "matches", "true", "null", "if", "and", "é",
    "\\", "`", "\0", "\r", "\u{0b}", "//", "/*", "500m", "1e", "0x", "u", "..", ";", "none", "T{", "50%",
    " ", "\n", "rb''", "\\q", "0X1",
];

/// A text with one fault.
fn with_fault(text: &str, dice: &mut Dice) -> String {
    let mut letters: Vec<char> = text.chars().collect();
    let at = dice.roll(letters.len());
    match dice.roll(5) {
        0 => {
            letters.remove(at);
        }
        1 => {
            let other = dice.roll(letters.len());
            letters.swap(at, other);
        }
        2 => letters.truncate(at.max(1)),
        _ => {
            let stray: Vec<char> = dice.pick(STRAY).chars().collect();
            letters.splice(at..at, stray);
        }
    }
    letters.into_iter().collect()
}

/// Why one language takes a text and the other does not: the reason, whether CEL is the one that takes it, and how a
/// text of this kind is known by itself and by the diagnostics of the other language.
type Difference = (&'static str, bool, fn(&str, &[Diagnostic]) -> bool);

const DIFFERENCES: &[Difference] = &[
    ("a number that touches `%` is a share", true, |_, said| has(said, "is a share here")),
    ("`none` is a literal", true, |text, _| text.contains("none")),
    ("a number that touches a word has a unit", true, |_, said| has(said, "is not a unit")),
    ("an unsigned number has no sign", true, |_, said| has(said, "is negative")),
    ("a lone comma is not a list", true, |text, _| {
        let text = text.replace(char::is_whitespace, "");
        text.contains("[,]") || text.contains("{,}")
    }),
    ("an operator, a unit or a word of the policy language", false, |_, said| {
        said.iter().any(|one| one.code.id == "BP0008")
    }),
    ("an uppercase `0X`", false, |text, said| text.contains("0X") && has(said, "is not a number")),
    ("a carriage return in a string", false, |text, said| text.contains('\r') && has(said, "has no closing")),
    ("`rb` before a string", false, |text, _| text.contains("rb'")),
    ("two minuses are none, so the least number has no sign", false, |text, said| {
        text.contains("--") && said.iter().any(|one| one.code.id == "BP0007")
    }),
];

fn has(said: &[Diagnostic], words: &str) -> bool {
    said.iter().any(|one| one.message.contains(words))
}

#[test]
fn faulty_expressions_are_refused_in_both_languages() {
    let mut dice = Dice(0x2545_f491_4f6c_dd1d);
    let mut texts: Vec<String> = expressions().into_iter().map(|(text, _)| text).collect();
    texts.extend((0..600).map(|round| expression(&mut dice, 1 + round % 4)));
    let (mut refused, mut wrong) = (0, Vec::new());
    for text in &texts {
        for _ in 0..3 {
            let faulty = with_fault(text, &mut dice);
            let (found, wanted) = (of_cel(&faulty), of_policies(&faulty));
            refused += usize::from(found.is_err() && wanted.is_err());
            if let Err(said) = &found {
                assert!(!said.is_empty() && said.iter().all(Diagnostic::is_error), "{faulty:?}");
                for (start, end) in spans(&format!("{said:?}")) {
                    assert!(start <= end && faulty.get(start..end).is_some(), "{faulty:?}: {start}..{end}");
                }
            }
            let said = match (&found, &wanted) {
                (Ok(_), Err(said)) => (true, said),
                (Err(said), Ok(_)) => (false, said),
                _ => continue,
            };
            let known = DIFFERENCES.iter().any(|(_, cel, told)| *cel == said.0 && told(&faulty, said.1));
            if !known {
                let messages: Vec<&str> = said.1.iter().map(|one| one.message.as_str()).collect();
                wrong.push(format!("{faulty:?} cel takes it: {}, the other says {messages:?}", said.0));
            }
        }
    }
    wrong.sort_by_key(String::len);
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong[..wrong.len().min(60)].join("\n"));
    assert!(refused > 1000, "{refused}");
}

#[test]
fn prefixes_in_pairs_and_leading_dots_are_those_of_cel() {
    let kind = |text: &str| {
        let expr = of_cel(text).unwrap();
        let mut kind = format!("{:?}", expr.kind);
        while let Some(at) = kind.find("Span {") {
            let end = at + kind[at..].find('}').unwrap();
            kind.replace_range(at..=end, "_");
        }
        (kind.replace(", span: _", ""), expr.span.start, expr.span.end)
    };
    for (text, same, start) in [
        ("!!x", "x", 2),
        ("!! !x", "!x", 0),
        ("--x", "x", 2),
        ("- - -x", "-x", 0),
        ("--5", "5", 2),
        ("---5", "-(5)", 0),
        ("--x.y", "x.y", 2),
        ("!!(x)", "(x)", 2),
        ("(!!x)", "(x)", 0),
        ("--0", "0", 2),
    ] {
        let (found, from, to) = kind(text);
        // `-(5)` is no number: the brackets are not in the folded tree.
        let wanted = kind(same).0.replace(
            "Expr { kind: Paren(Expr { kind: Literal(Int(5)) }) }",
            "Expr { kind: Literal(Int(5)) }",
        );
        let wanted = if same == "(x)" || !same.contains('(') { kind(same).0 } else { wanted };
        assert_eq!(found, wanted, "{text}");
        assert_eq!((from, to as usize), (start, text.len()), "{text}");
    }
    assert_eq!(kind("!!a && b").1, 0);
    assert_eq!(kind(".x"), ("Name(\".x\")".to_owned(), 0, 2));
    assert!(kind(".f(1).g").0.contains("text: \".f\""));
    assert!(kind("a in [.x]").0.contains("Name(\".x\")"));
}

#[test]
fn hostile_expressions_are_answered_quickly() {
    let long = |part: &str, times: usize| part.repeat(times);
    let deep =
        |open: &str, close: &str, levels: usize| format!("{}1{}", long(open, levels), long(close, levels));
    for (text, code) in [
        (long("a", 10 << 20), "BP0005"),
        (long("é", 10 << 20), "BP0005"),
        (deep("(", ")", 5000), "BP0005"),
        (deep("[", "]", 101), "BP0005"),
        (long("(", 10_000), "BP0005"),
        (format!("{}a", long("a.", 8000)), "BP0005"),
        (format!("{}a", long("a.", 1001)), "BP0005"),
        (format!("{}a", long("a?a:", 700)), "BP0005"),
        (format!("{}a", long("-", 5000)), "BP0005"),
        (format!("[{}]", long("!a,", 2000)), "BP0005"),
        (long("a ", 8000), "BP0001"),
        (long("'", 16_001), "BP0004"),
        (long("\\", 16_000), "BP0008"),
        (long(")", 16_000), "BP0004"),
        ("a\0b".to_owned(), "BP0008"),
        ("'\\ud83d\\ude00'".to_owned(), "BP0006"),
        (String::new(), "BP0001"),
    ] {
        let begin = std::time::Instant::now();
        let said = of_cel(&text).unwrap_err();
        let shown: String = text.chars().take(30).collect();
        assert!(said.iter().any(|one| one.code.id == code), "{shown}: {:?}", said.first());
        assert!(begin.elapsed().as_secs() < 5, "{shown}: {:?}", begin.elapsed());
        assert!(said.len() <= 20, "{shown}: {}", said.len());
    }
}

#[test]
fn the_largest_expressions_are_read() {
    let work = || {
        let deep = |open: &str, close: &str| format!("{}1{}", open.repeat(100), close.repeat(100));
        for text in [
            deep("(", ")"),
            deep("[", "]"),
            deep("{1:", "}"),
            deep("f(", ")"),
            deep("a||a&&a<a+a*!(", ")"),
            format!("{}a", "a.".repeat(1000)),
            format!("{}a", "a&&".repeat(1000)),
            format!("{}a", "a+".repeat(1000)),
            format!("{}a", "a?a:".repeat(240)),
            format!("a{}", "[0]".repeat(1000)),
            format!("[{}]", "'a',".repeat(4000)),
            "'a\0b'\r\n\t+ // ende\r\n'c'".to_owned(),
        ] {
            assert_eq!(of_cel(&text).unwrap(), of_policies(&text).unwrap(), "{text}");
        }
    };
    std::thread::Builder::new().stack_size(bayplan::lang::STACK).spawn(work).unwrap().join().unwrap();
}

#[test]
fn places_are_those_of_the_document() {
    let mut sources = SourceMap::new();
    let id = sources.add("rules.yaml", " ".repeat(200));
    for text in ["a.b[0] && (!c || f(-1, 'é'))", "a and é + ) 500m", "has(m['k'])", "T{}", "'\\q'", "a +"] {
        let here = cel::parse(text, id, &|at| at);
        let there = cel::parse(text, id, &|at| 3 * at + 7);
        let moved = |parsed: &cel::Parsed| -> Vec<_> {
            spans(&format!("{parsed:?}"))
                .into_iter()
                .map(|(start, end)| (3 * start + 7, 3 * end + 7))
                .collect()
        };
        assert_eq!(spans(&format!("{there:?}")), moved(&here), "{text}");
        assert!(!moved(&here).is_empty());
    }
}

#[test]
fn names_in_back_quotes_are_read_where_they_are_allowed() {
    let mut sources = SourceMap::new();
    let id = sources.add("<text>", "");
    for text in ["m.`a-b`", "m.?`a/b.c d`.e", "a.`in`"] {
        let parsed = cel::parse_with(text, cel::Syntax { backquotes: true }, id, &|at| at);
        assert_eq!(parsed.expr, of_policies(text).ok(), "{text}");
        assert!(of_cel(text).is_err(), "{text}");
    }
}

/// A tree without places, and without brackets if they are not wanted.
fn bare(expr: &Expr, brackets: bool) -> Expr {
    let of = |expr: &Expr| bare(expr, brackets);
    let span = Span::default();
    let name = |name: &Name| Name { text: name.text.clone(), span };
    let args = |args: &[Arg]| args.iter().map(|arg| Arg { name: None, value: of(&arg.value) }).collect();
    let kind = match &expr.kind {
        ExprKind::Paren(inner) if !brackets => return of(inner),
        ExprKind::Paren(inner) => ExprKind::Paren(Box::new(of(inner))),
        ExprKind::Literal(_) | ExprKind::Name(_) => expr.kind.clone(),
        ExprKind::Call(call) => {
            ExprKind::Call(Call { function: name(&call.function), args: args(&call.args) })
        }
        ExprKind::Method(call) => ExprKind::Method(Box::new(MethodCall {
            object: of(&call.object),
            method: name(&call.method),
            args: args(&call.args),
        })),
        ExprKind::Field(access) => ExprKind::Field(Box::new(FieldAccess {
            object: of(&access.object),
            field: name(&access.field),
            optional: access.optional,
        })),
        ExprKind::Index(access) => ExprKind::Index(Box::new(IndexAccess {
            object: of(&access.object),
            index: of(&access.index),
            optional: access.optional,
        })),
        ExprKind::Unary(unary) => {
            ExprKind::Unary(Box::new(Unary { op: unary.op, operand: of(&unary.operand) }))
        }
        ExprKind::Binary(binary) => ExprKind::Binary(Box::new(Binary {
            op: binary.op,
            op_span: span,
            left: of(&binary.left),
            right: of(&binary.right),
        })),
        ExprKind::Conditional(choice) => ExprKind::Conditional(Box::new(Conditional {
            condition: of(&choice.condition),
            then: of(&choice.then),
            otherwise: of(&choice.otherwise),
        })),
        ExprKind::List(elements) => ExprKind::List(
            elements.iter().map(|one| Element { value: of(&one.value), optional: one.optional }).collect(),
        ),
        ExprKind::Map(entries) => ExprKind::Map(
            entries
                .iter()
                .map(|one| Entry { key: of(&one.key), value: of(&one.value), optional: one.optional })
                .collect(),
        ),
    };
    Expr { kind, span }
}

#[test]
fn what_is_written_reads_as_the_same_tree() {
    let mut dice = Dice(0x51ed_270b_a5c1_3f09);
    let mut texts: Vec<String> = expressions().into_iter().map(|(text, _)| text).collect();
    texts.extend((0..2000).map(|round| expression(&mut dice, 1 + round % 5)));
    let mut count = 0;
    for text in &texts {
        let Ok(expr) = of_cel(text) else { continue };
        let written = cel::write(&expr).unwrap();
        assert_eq!(bare(&of_cel(&written).unwrap(), true), bare(&expr, true), "{text}\n{written}");
        // A tree that nobody wrote has the brackets that it needs.
        let made = bare(&expr, false);
        let written = cel::write(&made).unwrap();
        let again = of_cel(&written).unwrap_or_else(|said| panic!("{text}\n{written}\n{said:?}"));
        assert_eq!(bare(&again, false), made, "{text}\n{written}");
        count += 1;
    }
    assert!(count > 3000, "{count}");
}

#[test]
fn brackets_are_written_where_they_are_needed() {
    for (text, wanted) in [
        ("(a || b) && ((c)) == (d + e)", "(a || b) && c == d + e"),
        ("(a - b) - (c - d)", "a - b - (c - d)"),
        ("!(!a) && -(-b)", "!(!a) && -(-b)"),
        ("-(5) + -(5.f()) - (-5)", "-(5) + -(5.f()) - -5"),
        ("(a ? b : c) ? (d ? e : f) : (g ? h : i)", "(a ? b : c) ? (d ? e : f) : g ? h : i"),
        ("((a).b)[(c)].f((d))", "a.b[c].f(d)"),
        ("('é\\n\\x00\"') + r'\\d'", "\"é\\n\\u0000\\\"\" + \"\\\\d\""),
        ("b'\\xffa' + {?a: [?b]}", "b\"\\xffa\" + {?a: [?b]}"),
        ("1e3 + 0x1fu + .5", "1000.0 + 31u + 0.5"),
    ] {
        assert_eq!(cel::write(&bare(&of_cel(text).unwrap(), false)).unwrap(), wanted);
    }
    for (text, places) in [
        ("a > 500m && b < 4Gi", vec![(4, 8), (16, 19)]),
        ("a ?? (b + 50%)", vec![(2, 4), (10, 13)]),
        ("a matches 'x' == none", vec![(2, 9), (17, 21)]),
        ("f(window: 5)", vec![(2, 8)]),
        ("m.`a-b` + 1h", vec![(2, 7), (10, 12)]),
    ] {
        let said = cel::write(&of_policies(text).unwrap()).unwrap_err();
        let found: Vec<_> = said.iter().map(|one| (one.span.start as usize, one.span.end as usize)).collect();
        assert_eq!(found, places, "{text}: {said:?}");
    }
}
