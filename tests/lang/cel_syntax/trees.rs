//! The trees of both languages are compared.

use super::*;

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

#[test]
fn generated_expressions_have_one_tree_in_both_languages() {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let (mut equal, mut wrong) = (0, Vec::new());
    for round in 0..cases(4000) {
        let text = expression(&mut dice, 1 + round % 5);
        if folds(&text) {
            continue;
        }
        match (of_cel(&text), of_policies(&text)) {
            (Ok(found), Ok(wanted)) if found == wanted => equal += 1,
            (found, wanted) => wrong.push(format!("{text}\n  {found:?}\n  {wanted:?}")),
        }
    }
    wrong.sort_by_key(String::len);
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong[..wrong.len().min(12)].join("\n"));
    assert!(equal > 2000, "{equal}");
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
        ("(--x).y", "(x).y", 0),
        ("(!!(x))[0]", "((x))[0]", 0),
        ("-(--x).y", "-(x).y", 0),
        ("(--(!!x)).f(y)", "((x)).f(y)", 0),
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
