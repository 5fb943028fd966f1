//! The front end of the language from outside: what parses, what is said about what does not, and where.

use bayplan::diag::Look;
use bayplan::diag::draw::human;
use bayplan::diag::{Diagnostic, SourceMap};
use bayplan::lang::syntax::{self, ast};
use bayplan::policy_files::policies_in;
use std::path::{Path, PathBuf};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

/// Files of a folder with an ending, by name.
fn files(of: &str, ending: &str) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder(of))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == ending))
        .collect();
    found.sort();
    found
}

fn design() -> Vec<(String, String)> {
    let paths = files("lang/design", "bay");
    paths
        .iter()
        .map(|path| {
            (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read_to_string(path).unwrap())
        })
        .collect()
}

fn parse(text: &str) -> (SourceMap, ast::File, Vec<Diagnostic>) {
    let mut sources = SourceMap::new();
    let id = sources.add("test.bay", text);
    let (file, diagnostics) = syntax::parse(sources.get(id).unwrap());
    (sources, file, diagnostics)
}

/// Every span of the tree lies inside the text, on character boundaries.
fn assert_spans(text: &str, file: &ast::File, diagnostics: &[Diagnostic]) {
    let printed = format!("{file:?}{diagnostics:?}");
    // The whole beginning of a printed span: policies have words like `start:` of their own.
    let spans = printed.split("Span { source: SourceId(0), start: ").skip(1);
    for part in spans {
        let start: usize = part.split(',').next().unwrap().parse().unwrap();
        let end: usize = part.split(", end: ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
        assert!(start <= end && end <= text.len(), "{start}..{end} of {}", text.len());
        assert!(text.is_char_boundary(start) && text.is_char_boundary(end), "{start}..{end} in {text:?}");
    }
    let places = printed.matches("Span { source: SourceId(").count();
    assert!(places > 0 || text.trim().is_empty(), "what is written is somewhere: {text:?}");
}

#[test]
fn every_policy_of_the_design_parses() {
    let all = design();
    assert_eq!(all.len(), 39);
    for (name, text) in &all {
        let (_, file, diagnostics) = parse(text);
        assert!(diagnostics.is_empty(), "{name}: {diagnostics:#?}");
        assert_eq!(file.policies().count(), 1, "{name}");
        assert_spans(text, &file, &diagnostics);
        let printed = format!("{file:?}");
        assert!(!printed.contains("Broken("), "{name}");
        assert!(
            file.items.iter().all(|item| text[item.span.range()].trim() == &text[item.span.range()]),
            "{name}"
        );
    }
}

/// What is said about a file of `tests/lang/syntax_errors`, drawn.
fn report(path: &Path) -> String {
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let mut sources = SourceMap::new();
    let (id, not_utf8) = sources.add_bytes(name.as_str(), std::fs::read(path).unwrap());
    let mut diagnostics: Vec<Diagnostic> = not_utf8.into_iter().collect();
    let policies = if name.ends_with(".yaml") {
        let (found, more) = policies_in(&mut sources, id);
        diagnostics.extend(more);
        found.into_iter().map(|policy| policy.source).collect()
    } else {
        vec![id]
    };
    for policy in policies {
        let source = sources.get(policy).unwrap();
        let (file, more) = syntax::parse(source);
        assert_spans(source.text(), &file, &more);
        diagnostics.extend(more);
    }
    let json = bayplan::diag::json::report(&sources, &diagnostics, 1);
    assert_eq!(json["diagnostics"].as_array().unwrap().len(), diagnostics.len());
    human(&sources, &diagnostics, Look { unicode: true, ..Look::default() }).as_str().to_owned()
}

/// Every file of `tests/lang/syntax_errors` against the drawing beside it; `BAYPLAN_GOLDEN=write` writes the drawings.
#[test]
fn broken_policies_are_reported_as_recorded() {
    let bless = std::env::var("BAYPLAN_GOLDEN").is_ok_and(|value| value == "write");
    let mut all = files("lang/syntax_errors", "bay");
    all.extend(files("lang/syntax_errors", "yaml"));
    assert!(all.len() >= 100, "{}", all.len());
    let mut wrong = Vec::new();
    for path in &all {
        let said = report(path);
        assert!(!said.is_empty(), "nothing is said about {path:?}");
        let mut recorded = path.clone().into_os_string();
        recorded.push(".out");
        if bless {
            std::fs::write(&recorded, &said).unwrap();
        } else if std::fs::read_to_string(&recorded).unwrap_or_default() != said {
            wrong.push(format!("{}\n{said}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "other than recorded (BAYPLAN_GOLDEN=write records):\n{}", wrong.join("\n"));
}

/// Messages keep the house's grammar: lower case, no full stop, help that is no repetition.
#[test]
fn messages_keep_their_style() {
    for path in files("lang/syntax_errors", "bay") {
        let text = String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
        let (_, _, diagnostics) = parse(&text);
        for diagnostic in diagnostics {
            let message = &diagnostic.message;
            assert!(!message.ends_with('.') && !message.is_empty(), "{message}");
            assert!(!message.starts_with(|c: char| c.is_uppercase()), "{message}");
            assert!(
                !message.contains("Rule::") && !message.contains('_') || message.contains("`1_000"),
                "{message}"
            );
        }
    }
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
}

/// The tokens of a text that is right: strings, numbers and words whole, marks by letter; no comments.
fn tokens(text: &str) -> Vec<(usize, usize)> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        if bytes[at].is_ascii_whitespace() {
            at += 1;
            continue;
        }
        if text[at..].starts_with("//") {
            at += text[at..].find('\n').unwrap_or(text.len() - at);
            continue;
        }
        if bytes[at] == b'"' {
            at += 2 + text[at + 1..].find('"').unwrap();
        } else if bytes[at].is_ascii_alphanumeric() || bytes[at] == b'_' {
            at += text[at..].find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(1);
        } else {
            let two =
                ["==", "!=", "<=", ">=", "&&", "||", "??"].iter().any(|two| text[at..].starts_with(two));
            at += if two { 2 } else { text[at..].chars().next().unwrap().len_utf8() };
        }
        found.push((start, at));
    }
    found
}

/// A text with one fault, and the byte at which it is.
fn with_fault(text: &str, dice: &mut Dice) -> (String, usize, &'static str) {
    let tokens = tokens(text);
    let pick = |dice: &mut Dice, wanted: &dyn Fn(&str) -> bool| {
        let all: Vec<_> = tokens.iter().filter(|(start, end)| wanted(&text[*start..*end])).collect();
        all.get(dice.roll(all.len())).map(|(start, end)| (*start, *end))
    };
    let (kind, token) = match dice.roll(6) {
        0 => ("deleted", pick(dice, &|_| true)),
        1 => ("doubled", pick(dice, &|_| true)),
        2 => (
            "mistyped",
            pick(dice, &|token| token.len() > 3 && token.bytes().all(|b| b.is_ascii_lowercase())),
        ),
        3 => ("quote", pick(dice, &|token| token.starts_with('"'))),
        4 => ("bracket", pick(dice, &|token| "()[]{}".contains(token))),
        _ => ("stray", pick(dice, &|_| true)),
    };
    let Some((start, end)) = token else { return with_fault(text, dice) };
    let word = &text[start..end];
    let replaced = match kind {
        "doubled" => format!("{word} {word}"),
        "mistyped" => {
            let at = 1 + dice.roll(word.len() - 2);
            let mut letters: Vec<char> = word.chars().collect();
            letters.swap(at, at - 1);
            letters.into_iter().collect()
        }
        "quote" if dice.roll(2) == 0 => word[1..].to_owned(),
        "quote" => word[..word.len() - 1].to_owned(),
        "stray" => format!("{word} {}", ["$", "@", "}", ")", "]", "=", ",", "#"][dice.roll(8)]),
        _ => String::new(),
    };
    let mut out = text.to_owned();
    out.replace_range(start..end, &replaced);
    // what was put after a token is where the fault is
    let at = if kind == "stray" { start + word.len() } else { start };
    (out, at, kind)
}

/// Nineteen of twenty faults are reported on their line, and hardly anything else is said.
#[test]
fn injected_faults_are_reported_on_their_line() {
    let fixtures = design();
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let (mut faults, mut near, mut exact, mut spurious) = (0, 0, 0, 0);
    let mut missed = Vec::new();
    let mut extra = Vec::new();
    while faults < 600 {
        let (name, text) = &fixtures[dice.roll(fixtures.len())];
        let (broken, at, kind) = with_fault(text, &mut dice);
        let (sources, file, diagnostics) = parse(&broken);
        assert_spans(&broken, &file, &diagnostics);
        let line = broken[..at.min(broken.len())].matches('\n').count() + 1;
        let places: Vec<usize> = diagnostics.iter().map(|d| sources.places(d.span).0.line).collect();
        if diagnostics.is_empty() {
            // still a policy: a name, a number or a text that reads otherwise; that is the checker's business
            assert!(!format!("{file:?}").contains("Broken("), "{broken}");
            continue;
        }
        faults += 1;
        let closest = places.iter().map(|place| place.abs_diff(line)).min().unwrap();
        near += usize::from(closest <= 2);
        exact += usize::from(closest == 0);
        let far = places.iter().filter(|place| place.abs_diff(line) > 2).count();
        spurious += far;
        if closest > 0 {
            missed.push(format!(
                "{name} {kind} line {line}, reported {places:?}: {}",
                broken.lines().nth(line - 1).unwrap_or("")
            ));
        }
        if far > 0 {
            extra.push(format!("{name} {kind} line {line}, reported {places:?}"));
        }
    }
    println!("{faults} faults: {near} within two lines, {exact} on their line, {spurious} elsewhere");
    if std::env::var("BAYPLAN_SHOW").is_ok() {
        println!("{}\n---\n{}", missed.join("\n"), extra.join("\n"));
    }
    assert!(near * 100 >= faults * 98, "{near} of {faults} within two lines:\n{}", missed.join("\n"));
    assert!(exact * 20 >= faults * 19, "{exact} of {faults} on their line:\n{}", missed.join("\n"));
    assert!(spurious * 50 <= faults, "{spurious} reports elsewhere:\n{}", extra.join("\n"));
}

/// Texts made to be slow or deep: each is answered within a second, without a panic.
#[test]
fn hostile_texts_are_answered_quickly() {
    let repeat = |text: &str, bytes: usize| text.repeat(bytes / text.len());
    let in_policy = |text: String| format!("policy x {{ filter y {{ require {text} }} }}");
    // the parser is a hundred times slower without optimisation
    let kib100 = if cfg!(debug_assertions) { 10 << 10 } else { 100 << 10 };
    let mut texts = vec![
        repeat("(", 10_000),
        in_policy(repeat("(", 10_000) + &repeat(")", 10_000)),
        in_policy(repeat("!", kib100)),
        in_policy("1".to_owned() + &repeat(" + 1", kib100)),
        in_policy("a".to_owned() + &repeat(".b", kib100)),
        in_policy("a".to_owned() + &repeat(" ? b : c", kib100)),
        in_policy(repeat("[", 90) + &repeat("a, ", kib100)),
        in_policy(repeat("f(a, ", 450)),
        in_policy(repeat("f(", 180) + "a"),
        in_policy(repeat("{a: ", 360)),
        in_policy(repeat("a ? ", kib100)),
        in_policy(repeat("1e", kib100)),
        in_policy(repeat("9", kib100)),
        repeat("{", kib100),
        repeat("}", kib100),
        repeat("/*", kib100),
        repeat("/* */ /", kib100),
        repeat("\"", kib100),
        repeat("\"\"\"", kib100),
        repeat("r'", kib100),
        repeat("policy ", kib100),
        repeat("policy x {\n", kib100),
        repeat("policy x { filter y {\n", 2000),
        repeat("let ", kib100),
        repeat("let x = (\n", 900),
        repeat("filter x {\n", 1000),
        repeat("a\n", kib100),
        repeat("///\n", kib100),
        repeat("\\", kib100),
        repeat("\u{1F600}", kib100),
        format!("policy x {{\n{}\n}}", repeat("  requre a\n", kib100)),
        format!("policy x {{\n{}\n}}", repeat("  filter a { requre b }\n", kib100)),
        format!("policy x {{\n{}", repeat("  filter a { require b\n", 1800)),
        format!("policy x {{ gate \"{}\" when a }}", repeat("{a", kib100)),
    ];
    texts.push(repeat("x ", 1 << 20));
    texts.push(repeat("x ", (1 << 20) + 2));
    for text in &texts {
        let begin = std::time::Instant::now();
        let (_, file, diagnostics) = parse(text);
        let took = begin.elapsed();
        assert!(!diagnostics.is_empty() || text.starts_with('/'), "{text:.40}");
        assert!(diagnostics.len() <= 200);
        let shown: String = text.chars().take(60).collect();
        if std::env::var("BAYPLAN_SHOW").is_ok() {
            println!("{took:?} for {shown:?}");
        }
        // for a machine with other work to do; a tenth of it when it has none
        let allowed = if text.len() > 200 << 10 { 60 } else { 10 };
        assert!(took.as_secs() < allowed, "{took:?} for {shown:?}");
        drop(file);
    }
}

#[test]
fn limits_are_reported_with_a_place() {
    let large = format!("policy x {{ /*{}*/ }}", "a".repeat(1 << 20));
    let (_, file, diagnostics) = parse(&large);
    assert!(file.items.is_empty());
    assert_eq!(diagnostics[0].code.slug, "too-large");
    let fits = format!("policy x {{ /*{}*/ }}", "a".repeat((1 << 20) - 40));
    assert!(parse(&fits).2.is_empty());
    let nested = |levels: usize| format!("def f() = {}1{}", "(".repeat(levels), ")".repeat(levels));
    assert!(parse(&nested(100)).2.is_empty());
    let (_, _, diagnostics) = parse(&nested(101));
    assert_eq!((diagnostics[0].code.slug, diagnostics[0].span.start), ("too-large", 110));
    let long = |operators: usize| format!("def f() = 1{}", " + 1".repeat(operators));
    assert!(parse(&long(1000)).2.is_empty());
    assert_eq!(parse(&long(1001)).2[0].code.slug, "too-large");
}

#[test]
fn bytes_that_are_no_text_are_said_with_their_place() {
    let mut sources = SourceMap::new();
    let (id, diagnostic) = sources.add_bytes("x.bay", b"policy x {\n  // \xff\xfe\n}\n".to_vec());
    let diagnostic = diagnostic.unwrap();
    assert_eq!(diagnostic.code.slug, "not-utf8");
    let (start, _) = sources.places(diagnostic.span);
    assert_eq!((start.line, start.column, start.offset), (2, 6, 16));
    assert!(syntax::parse(sources.get(id).unwrap()).1.is_empty());
}

/// Literals, precedence and comments of the tree.
#[test]
fn the_tree_says_what_was_written() {
    let expr = |text: &str| {
        let mut sources = SourceMap::new();
        let id = sources.add("e", text);
        let (expr, diagnostics) = syntax::parse_expression(sources.get(id).unwrap());
        expr.unwrap_or_else(|| panic!("{text}: {diagnostics:?}"))
    };
    let shape = |text: &str| shape(&expr(text));
    assert_eq!(shape("a || b && c == d ?? e + f * g"), "(a || (b && (c == (d ?? (e + (f * g))))))");
    assert_eq!(shape("a ?? b ?? c"), "(a ?? (b ?? c))");
    assert_eq!(shape("a - b - c"), "((a - b) - c)");
    assert_eq!(shape("a ? b : c ? d : e"), "(a ? b : (c ? d : e))");
    assert_eq!(shape("!a.b[c].d(e) in f"), "(!a.b[c].d(e) in f)");
    assert_eq!(shape("-a.b + -1"), "(-a.b + -1)");
    assert_eq!(shape("x ?? 0 + 1"), "(x ?? (0 + 1))");
    assert_eq!(shape("l.exists(when, when > 0)"), "l.exists(when, (when > 0))");
    assert_eq!(shape(r#"m.`a-b` == r"\d""#), r#"(m.a-b == "\\d")"#);
    assert_eq!(shape("7 % 3 == 1"), "((7 % 3) == 1)");
    assert_eq!(shape("7%3"), "(7 % 3)");
    assert_eq!(shape(".a + b"), "(a + b)");
    assert_eq!(shape("1 /* x */ + 2"), "(1 + 2)");
    let literal = |text: &str| match expr(text).kind {
        ast::ExprKind::Literal(literal) => literal,
        other => panic!("{text}: {other:?}"),
    };
    assert_eq!(literal("5m"), ast::Literal::Cpu(5));
    assert_eq!(literal("5ms"), ast::Literal::Duration(5_000));
    assert_eq!(literal("5min"), ast::Literal::Duration(300_000_000));
    assert_eq!(literal("5M"), ast::Literal::Bytes(5_000_000));
    assert_eq!(literal("5Mi"), ast::Literal::Bytes(5 << 20));
    assert_eq!(literal("1E5"), ast::Literal::Float(1e5));
    assert_eq!(literal("5E"), ast::Literal::Bytes(5_000_000_000_000_000_000));
    assert_eq!(literal("0x1f"), ast::Literal::Int(31));
    assert_eq!(literal("7u"), ast::Literal::Uint(7));
    assert_eq!(literal("50%"), ast::Literal::Share(0.5));
    assert_eq!(literal("-9223372036854775808"), ast::Literal::Int(i64::MIN));
    assert_eq!(literal("b'\\xff'"), ast::Literal::Blob(vec![0xff].into()));

    let text = "/// One.\n/// Two.\npolicy p {\n  /// About f.\n  // bayplan: allow(reason-names-node, BP0104) because old\n  filter f {\n    require a else \"x {{y}} {node.labels['a']}\" with { b: c }\n    reject \"r\" // bayplan: allow(constant-condition) because so\n  }\n  applies to all pods when a\n}\n";
    let (_, file, diagnostics) = parse(text);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    assert_eq!(&*file.items[0].doc.as_ref().unwrap().text, "One.\nTwo.");
    let policy = file.policies().next().unwrap();
    assert_eq!(&*policy.statements[0].doc.as_ref().unwrap().text, "About f.");
    assert_eq!(file.allows.len(), 2);
    assert_eq!(file.allows[0].slugs.len(), 2);
    assert_eq!(&text[file.allows[0].slugs[1].span.range()], "BP0104");
    assert_eq!(file.allows[0].target, Some(policy.statements[0].span));
    let block = policy.statements[0].kind.block().unwrap();
    assert_eq!(file.allows[1].target, Some(block.statements[1].span));
    let ast::BlockKind::Require(require) = &block.statements[0].kind else { panic!() };
    let reason = require.reason.as_ref().unwrap();
    assert_eq!(reason.template.parts.len(), 2);
    assert!(reason.template.constant().is_none());
    let ast::TemplatePart::Text(first) = &reason.template.parts[0] else { panic!() };
    assert_eq!(&**first, "x {y} ");
    let ast::StatementKind::Applies(applies) = &policy.statements[1].kind else { panic!() };
    assert!(applies.to_all_pods.is_some() && applies.when.is_some());
}

fn shape(expr: &ast::Expr) -> String {
    let list = |args: &[ast::Arg]| args.iter().map(|arg| shape(&arg.value)).collect::<Vec<_>>().join(", ");
    match &expr.kind {
        ast::ExprKind::Literal(ast::Literal::Int(value)) => value.to_string(),
        ast::ExprKind::Literal(ast::Literal::String(value)) => format!("{value:?}"),
        ast::ExprKind::Literal(other) => format!("{other:?}"),
        ast::ExprKind::Name(name) => name.to_string(),
        ast::ExprKind::Paren(inner) => shape(inner),
        ast::ExprKind::Call(call) => format!("{}({})", call.function.text, list(&call.args)),
        ast::ExprKind::Method(call) => {
            format!("{}.{}({})", shape(&call.object), call.method.text, list(&call.args))
        }
        ast::ExprKind::Field(access) => format!("{}.{}", shape(&access.object), access.field.text),
        ast::ExprKind::Index(access) => format!("{}[{}]", shape(&access.object), shape(&access.index)),
        ast::ExprKind::Unary(unary) => {
            format!("{}{}", if unary.op == ast::UnaryOp::Not { "!" } else { "-" }, shape(&unary.operand))
        }
        ast::ExprKind::Binary(b) => format!("({} {} {})", shape(&b.left), b.op.symbol(), shape(&b.right)),
        ast::ExprKind::Conditional(c) => {
            format!("({} ? {} : {})", shape(&c.condition), shape(&c.then), shape(&c.otherwise))
        }
        ast::ExprKind::List(_) => "[]".to_owned(),
        ast::ExprKind::Map(_) => "{}".to_owned(),
    }
}

/// What is not built is in the tree by its name, so that the checker can refuse it.
#[test]
fn statements_that_are_not_built_are_in_the_tree() {
    let text = "use \"x.bay\"\nexcept a/b until 2027-01-31 because \"x\" when a\npolicy p {\n  mode audit\n  mode enforce when a else warn\n  mode audit until 2027-01-31\n  except until 2027-01-31 because \"x\"\n  preempt { victim v when a; protect v when b; never \"r\" when c; guard d else \"r\" }\n  ledger l: int by a { add 1 when b }\n  memo m: time by a ttl 1d\n  reserve { annotate pod { \"a\": b }; label pod { \"a\": b } when c }\n  before bind { patch node { \"a\": b } }\n  after bind { event pod normal \"R\" \"text {a}\" when b; remember m = a }\n  after failure { release g \"r\"; activate g when a }\n  source s = metrics(window: 5min, max_age: 1min)\n}\n";
    let (_, file, diagnostics) = parse(text);
    assert!(diagnostics.is_empty(), "{diagnostics:#?}");
    let words: Vec<&str> =
        file.policies().next().unwrap().statements.iter().map(|s| s.kind.id().unwrap().def().words).collect();
    let expected = [
        "mode",
        "mode",
        "mode",
        "except",
        "preempt",
        "ledger",
        "memo",
        "reserve",
        "before bind",
        "after bind",
        "after failure",
        "source",
    ];
    assert_eq!(words, expected);
    assert!(
        matches!(file.items[0].kind, ast::ItemKind::Use(_))
            && matches!(file.items[1].kind, ast::ItemKind::Except(_))
    );
    assert!(!format!("{file:?}").contains("Broken("));
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(300))]

    /// Whatever is cut out of policies and put together in any order, reading it ends, and every place is one.
    #[test]
    fn any_text_is_read(seed in 1u64.., cuts in 1usize..12, junk in "\\PC{0,8}") {
        let all: String = design().into_iter().map(|(_, text)| text).collect();
        let mut dice = Dice(seed);
        let mut text = String::new();
        for _ in 0..cuts {
            let mut start = dice.roll(all.len());
            while !all.is_char_boundary(start) {
                start -= 1;
            }
            let mut end = (start + dice.roll(200)).min(all.len());
            while !all.is_char_boundary(end) {
                end -= 1;
            }
            text.push_str(&all[start..end.max(start)]);
            if dice.roll(4) == 0 {
                text.push_str(&junk);
            }
        }
        let (sources, file, diagnostics) = parse(&text);
        assert_spans(&text, &file, &diagnostics);
        let _ = human(&sources, &diagnostics, Look::default());
    }
}
