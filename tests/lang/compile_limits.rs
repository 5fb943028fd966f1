//! Policies that are written to be slow, to be large or to overflow the stack: what they compile to is small, or they are
//! refused, and soon.

use bayplan::diag::SourceMap;
use bayplan::lang;
use bayplan::lang::analysis::cost::Size;
use bayplan::lang::analysis::load::Load;
use bayplan::lang::eval::budget::Budget;
use bayplan::lang::{Given, schemas::Schemas};
use std::fmt::Write;
use std::time::{Duration, Instant};

/// What is said first about a policy with these statements, on a stack as the binary has it. A test is slow where the
/// compiler is.
fn first_said(statements: &str) -> Option<(&'static str, String)> {
    let text = format!("/// Hostile.\npolicy hostile {{\n{statements}\n}}\n");
    let work = move || {
        let begin = Instant::now();
        let mut sources = SourceMap::new();
        let id = sources.add("hostile.bay", text.as_str());
        let (policies, said) = lang::compile(sources.get(id).unwrap());
        for policy in policies {
            lang::policy_set::CompiledPolicy::new(policy, &sources);
        }
        let took = begin.elapsed();
        assert!(took < Duration::from_secs(30), "{took:?}: {text:.300}");
        said.into_iter().find(|said| said.is_error()).map(|said| (said.code.slug, said.message))
    };
    std::thread::Builder::new().stack_size(lang::STACK).spawn(work).unwrap().join().unwrap()
}

/// What is said first about a text, with what it counts: steps of time are counted in a release build
/// and in a test alike.
fn first_said_of(text: String) -> Option<(&'static str, String)> {
    let work = move || {
        let mut sources = SourceMap::new();
        let id = sources.add("hostile.bay", text.as_str());
        let (policies, said) = lang::compile(sources.get(id).unwrap());
        let load = policies.iter().map(|policy| Load::of(policy, Size::default()));
        let load = load.fold(Load::default(), Load::plus);
        let error = said.iter().find(|said| said.is_error());
        // The checker adds conversions to what was written.
        let expressions = 3 * Load::MOST.expressions;
        let limit = Load { steps: u128::MAX, expressions, ..Load::MOST };
        assert!(error.is_some() || load.beyond(limit).is_none(), "{load:?}");
        for policy in policies {
            lang::policy_set::CompiledPolicy::new(policy, &sources);
        }
        error.map(|said| (said.code.slug, said.message.clone()))
    };
    std::thread::Builder::new().stack_size(lang::STACK).spawn(work).unwrap().join().unwrap()
}

/// Declarations that are each made of the one before, then a score of the last.
fn chain(first: &str, next: impl Fn(usize) -> String, length: usize, value: &str) -> String {
    let mut text = format!("{first}\n");
    for at in 1..length {
        writeln!(text, "{}", next(at)).unwrap();
    }
    write!(text, "score s normalize minmax {{ give {value} }}").unwrap();
    text
}

#[test]
fn what_doubles_with_every_line_is_refused() {
    let twice = |at: usize| format!("let d{at} = d{0} + d{0}", at - 1);
    let hostile = [
        chain(
            "def d0(x: int) = x + 1",
            |at| format!("def d{at}(x: int) = d{0}(x) + d{0}(x * 2)", at - 1),
            60,
            "d59(node.pods.size())",
        ),
        chain("let d0 = pod.priority", twice, 60, "d59 + node.pods.size()"),
        chain("let d0 = pod.name", twice, 60, "d59.size() + node.pods.size()"),
        chain("let d0 = [1, 2]", twice, 60, "d59.size() + node.pods.size()"),
        chain(
            "let d0 = pod.gated",
            |at| format!("let d{at} = d{0} && !d{0}", at - 1),
            60,
            "node.pods.size() when d59",
        ),
        chain(
            "type t0 = {a: int}",
            |at| format!("type t{at} = {{a: t{0}, b: t{0}}}", at - 1),
            60,
            "node.pods.size()",
        ),
        chain(
            "let d0 = pod.priority",
            |at| format!("let d{at} = d{}{}", at - 1, " + 1".repeat(900)),
            20,
            "d19 + node.pods.size()",
        ),
        chain(
            "let d9000 = pod.priority",
            |at| format!("let d{} = d{} + 1", 9000 - at, 9001 - at),
            9000,
            "d1 + node.pods.size()",
        ),
    ];
    for text in &hostile {
        let (code, message) = first_said(text).unwrap();
        assert!(code == "too-large" && message.contains("written out"), "{code}: {message}");
    }
}

#[test]
fn constants_are_no_larger_than_what_is_computed() {
    let ten = "\"".to_owned() + &"a".repeat(60_000) + "\"";
    let hostile = [
        chain(
            &format!("let d0 = {ten}"),
            |at| format!("let d{at} = d{0} + d{0}", at - 1),
            9,
            "d8.size() + node.pods.size()",
        ),
        chain(
            &format!("let d0 = {ten}"),
            |at| format!("let d{at} = d{}.replace(\"a\", \"aaaaaaaaaa\")", at - 1),
            6,
            "d5.size() + node.pods.size()",
        ),
        chain(
            "let d0 = lists.range(100000)",
            |at| format!("let d{at} = d{0} + d{0}", at - 1),
            9,
            "d8.size() + node.pods.size()",
        ),
        chain(
            "let d0 = lists.range(1000).map(x, lists.range(1000)).flatten()",
            |_| String::new(),
            1,
            "d0.size() + node.pods.size()",
        ),
    ];
    for text in &hostile {
        let (code, message) = first_said(text).unwrap();
        assert_eq!(code, "value-too-large", "{message}");
    }
}

#[test]
fn loops_in_loops_are_refused() {
    let values = [
        "nodes.sum(a, nodes.sum(b, nodes.count(c, a.free.cpu + b.free.cpu < c.free.cpu)))",
        "pods.count(a, pods.exists(b, b.priority < a.priority)) + node.pods.size()",
        "lists.range(100000).sum(x, lists.range(100000).sum(y, x * y)) + node.pods.size()",
        "node.pods.count(p, pods.exists(q, q.priority < p.priority))",
        "pods.sort_by(p, pods.count(q, q.priority < p.priority)).size() + node.pods.size()",
        "nodes.map(a, nodes.map(b, a.name + b.name)).size() + node.pods.size()",
        "[1, 2].map(a, pods.map(b, pods.size())).size() + node.pods.size()",
        "(node.annotations[\"a\"] ?? \"\").split(\"\").map(x, (node.annotations[\"b\"] ?? \"\").split(\"\")).size()",
    ];
    for value in values {
        let (code, message) = first_said(&format!("score s normalize minmax {{ give {value} }}")).unwrap();
        assert!(matches!(code, "too-costly" | "value-too-large"), "{message}: {value}");
    }
}

#[test]
fn what_is_as_large_as_it_may_be_compiles() {
    let mut many = String::new();
    for at in 0..3_000 {
        writeln!(many, "filter f{at} {{ require node.name != \"n{at}\" else \"x\" }}").unwrap();
    }
    let long = format!("score s normalize minmax {{ give node.pods.size(){} }}", " + 1".repeat(900));
    let not = format!("filter f {{ require {}node.ready else \"x\" }}", "!".repeat(900));
    let lets = chain(
        "let d0 = pod.priority",
        |at| format!("let d{at} = d{} + 1", at - 1),
        300,
        "d299 + node.pods.size()",
    );
    for text in [many, long, not, lets] {
        assert_eq!(first_said(&text), None, "{text:.300}");
    }
}

#[test]
fn texts_that_are_kept_for_every_node_or_pod_are_bounded() {
    let long = |length: usize| {
        let parts: Vec<String> = (0..length).map(|_| "pod.name".to_owned()).collect();
        format!("let long = {}", parts.join(" + "))
    };
    let hostile = [
        (400, "pods.map(p, p.name + long).size()"),
        (400, "nodes.map(n, n.name + long).distinct().size()"),
        (400, "nodes.sort_by(n, n.name + long).size()"),
        (400, "nodes.filter(n, n.name + long == node.name + long).size()"),
        (4, "pods.map(p, [p.name + long, p.name + long]).size()"),
        (4, "pods.map(p, (p.name + long).split(\"\")).size()"),
    ];
    for (length, value) in hostile {
        let text = format!(
            "{}\n// bayplan: allow(too-costly) because it is tried\nscore s normalize minmax {{ give node.pods.size() + {value} }}",
            long(length)
        );
        let (code, message) = first_said(&text).unwrap();
        assert!(code == "value-too-large" && message.contains("keep"), "{message}: {value}");
    }
    let harmless = [
        "pods.map(p, p.namespace + \"/\" + p.name).size()",
        "nodes.map(n, n.images).size()",
        "pods.map(p, (p.name + long).substring(0, 100) ?? \"\").size()",
        "nodes.filter(n, n.zone == node.zone).map(n, n.name).size()",
    ];
    for value in harmless {
        let text = format!("{}\nscore s normalize minmax {{ give node.pods.size() + {value} }}", long(40));
        assert_eq!(first_said(&text), None, "{value}");
    }
}

#[test]
fn many_rules_are_bounded_together() {
    let mut many = String::new();
    for at in 0..400 {
        writeln!(many, "score s{at} normalize max {{ give node.pods.count(p, p.priority > {at}) }}").unwrap();
    }
    let (code, message) = first_said(&many).unwrap();
    assert!(code == "too-costly" && message.contains("together"), "{message}");
}

#[test]
fn groups_are_few() {
    let groups = |number: usize| {
        let mut text = String::new();
        for at in 0..number {
            writeln!(text, "group g{at} = p in pods where p.labels[\"a{at}\"] == pod.labels[\"a{at}\"]")
                .unwrap();
        }
        text + "filter f { require g0.size() < 9 else \"x\" }"
    };
    assert_eq!(first_said(&groups(100)), None);
    assert_eq!(first_said(&groups(101)).unwrap().0, "too-large");
}

#[test]
fn a_match_costs_what_the_compiled_pattern_has() {
    let matches = |number: usize| {
        let parts: Vec<String> =
            (0..number).map(|at| format!("x.matches(\"[ab]*a[ab]{{400}}c{at}\")")).collect();
        format!(
            "filter f {{ let x = pod.annotations[\"x\"] ?? \"\"\n require {} else \"no\" }}",
            parts.join(" || ")
        )
    };
    let (code, message) = first_said(&matches(10)).unwrap();
    assert_eq!(code, "too-costly", "{message}");
    let costly = [
        "size((pod.annotations[\"x\"] ?? \"\").findAll(\"a*b|a\")) > 3",
        "size((pod.annotations[\"x\"] ?? \"\").findAll(\"(a{1,50}){1,20}b|a\", 100)) > 3",
        "(node.annotations[\"x\"] ?? \"\").matches(\"x\")",
    ];
    for condition in costly {
        let (code, message) = first_said(&format!("filter f {{ require {condition} else \"no\" }}")).unwrap();
        assert_eq!(code, "too-costly", "{condition}: {message}");
    }
    let cheap = [
        "(pod.annotations[\"x\"] ?? \"\").matches(\"^[a-z]+-[0-9]{1,3}$\")",
        "(node.labels[\"x\"] ?? \"\").matches(\"^[a-z]([-a-z0-9]*[a-z0-9])?$\")",
        "size(node.name.findAll(\"[a-z]+\")) > 3",
        "size(((pod.annotations[\"x\"] ?? \"\").substring(0, 500) ?? \"\").findAll(\"a*b|a\")) > 3",
        "size((pod.annotations[\"x\"] ?? \"\").findAll(\"[0-9]{1,3}\")) > 3",
    ];
    for condition in cheap {
        assert_eq!(
            first_said(&format!("filter f {{ require {condition} else \"no\" }}")),
            None,
            "{condition}"
        );
    }
}

#[test]
fn patterns_are_bounded_together() {
    // A tenth of a megabyte each.
    let mut many = String::from("/// A.\npolicy p {\n");
    for at in 0..2_400 {
        writeln!(many, "filter f{at} {{ require pod.name.matches(\"(a|bc){{800}}{at}\") else \"x\" }}")
            .unwrap();
    }
    let (code, message) = first_said_of(many + "}\n").unwrap();
    assert!(code == "too-large" && message.contains("patterns"), "{code}: {message}");
    // Patterns that are too large by themselves count too.
    let mut large = String::from("/// A.\npolicy p {\n");
    for at in 0..300 {
        writeln!(large, "filter f{at} {{ require pod.name.matches(\"(a{{900}}){{900}}{at}\") else \"x\" }}")
            .unwrap();
    }
    let mut sources = SourceMap::new();
    let id = sources.add("hostile.bay", large + "}\n");
    let (_, said) = lang::compile(sources.get(id).unwrap());
    assert!(said.len() < 200 && said.iter().any(|said| said.message.contains("patterns")), "{}", said.len());
}

/// Many policies, each of which is small enough.
#[test]
fn the_policies_of_a_text_are_bounded_together() {
    let policies = |number: usize, body: &dyn Fn(usize) -> String| {
        let mut text = String::new();
        for at in 0..number {
            write!(text, "/// A.\npolicy p{at} {{\n{}\n}}\n", body(at)).unwrap();
        }
        text
    };
    let doubling = |_| {
        let mut text = String::from("let a0 = size(pod.name)\n");
        for at in 1..11 {
            writeln!(text, "let a{at} = a{0} + a{0}", at - 1).unwrap();
        }
        for at in 0..40 {
            writeln!(text, "filter f{at} {{ require a10 > {at} else \"no\" }}").unwrap();
        }
        text
    };
    let small = |_| String::from("filter f { require node.ready else \"x\" }");
    let mut defs = String::new();
    for at in 0..5_000 {
        writeln!(defs, "def d{at}(x: int) = x").unwrap();
    }
    let wide: Vec<String> = (0..9_000).map(|at| format!("f{at}: int?")).collect();
    let calls = |at| format!("filter f {{ require f({{}}) > {at} && node.ready else \"x\" }}");
    let records = format!("type t = {{{}}}\ndef f(x: t) = x.f1 ?? 0\n", wide.join(", "));
    let long = format!("let s = \"{}\"\n", "a".repeat(200_000));
    let strings =
        (0..900).map(|at| format!("filter f{at} {{ require s + \"{at}\" == node.name else \"x\" }}\n"));
    let ranges =
        (0..900).map(|at| format!("filter f{at} {{ require node.ready && r.sum() > {at} else \"x\" }}\n"));
    let strings: String = strings.collect();
    let ranges: String = ranges.collect();
    let matched = (0..300).map(|at| {
        format!("filter f{at} {{ require s.matches(\"[ab]*a[ab]{{99}}c{at}\") || node.ready else \"x\" }}\n")
    });
    let matched: String = matched.collect();
    let cases = [
        (policies(60, &doubling), "parts"),
        (policies(1_001, &small), "policies"),
        (defs + &policies(900, &small), "parts"),
        (records + &policies(900, &calls), "parts"),
        (format!("/// A.\npolicy p {{\n{long}{strings}}}\n"), "constants"),
        (format!("/// A.\npolicy p {{\nlet r = lists.range(100000)\n{ranges}}}\n"), "constants"),
        (format!("/// A.\npolicy p {{\n{long}{matched}}}\n"), "constants"),
        (format!("/// A.\npolicy p {{\nlet l = [{}]\n}}\n", "1,".repeat(130_000)), "words and marks"),
    ];
    for (text, expected) in cases {
        let (code, message) = first_said_of(text.clone()).unwrap_or(("", "nothing".into()));
        assert!(code == "too-large" && message.contains(expected), "{code}: {message}: {text:.200}");
    }
    assert_eq!(first_said_of(policies(1_000, &small)), None);
}

#[test]
fn gpus_of_a_node_count_in_the_bound() {
    let (code, _) = first_said(
        "filter f { require node.gpus.all(g, node.gpus.count(h, h.free > g.free) > 3) else \"no\" }",
    )
    .unwrap();
    assert_eq!(code, "too-costly");
}

/// What the suggestions in the diagnostics of a text took.
fn suggesting(text: String) -> u64 {
    let work = move || {
        let mut sources = SourceMap::new();
        let id = sources.add("hostile.bay", text.as_str());
        let budget = Budget::default();
        let arguments = |_: &str| Vec::new();
        let schemas = Schemas::default();
        let given = Given {
            size: Size::default(),
            schemas: &schemas,
            arguments: &arguments,
            sources: None,
            exceptions: None,
        };
        let (_, said) = lang::compile_within(sources.get(id).unwrap(), given, &budget);
        assert!(
            said.iter().any(|said| said.help.as_deref().is_none_or(|help| !help.contains("did you mean")))
        );
        budget.suggestions.spent()
    };
    std::thread::Builder::new().stack_size(lang::STACK).spawn(work).unwrap().join().unwrap()
}

/// Suggestions share one effort for the text: without it a megabyte of unknown names takes minutes. A place that compares
/// letters beside it is seen by what is not spent here.
#[test]
fn many_unknown_names_among_many_known_ones_get_no_more_suggestions_than_there_is_effort() {
    let mut random = bayplan::testing::Random(7);
    let mut name = || -> String {
        (0..98).map(|_| random.of(&['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j'])).collect()
    };
    type Line = fn(&str, &str) -> String;
    let of_policy: [Line; 7] = [
        |known, unknown| format!("let {known} = {unknown} + 1"),
        |known, unknown| format!("param {known} = 1\n let {known}l = {unknown} + 1"),
        |known, unknown| format!("def {known}(x: int): int = {unknown}(x)"),
        |known, unknown| {
            format!("memo {known}: int by pod.name ttl 1s\n after failure {{ remember {unknown} = 1 }}")
        },
        |known, unknown| format!("ledger {known}: int by pod.name {{ add 1 when {unknown} }}"),
        |known, unknown| {
            format!("source {known} = metrics(window: 5min, max_age: 2min)\n let {known}l = {unknown}")
        },
        |known, unknown| {
            format!(
                "filter {known} {{ require pod.gated else \"x\" }}\n except {unknown} until 2030-01-01 because \"x\""
            )
        },
    ];
    let mut texts: Vec<String> = of_policy
        .iter()
        .map(|line| {
            let mut text = String::from("/// Hostile.\npolicy hostile {\n applies to all pods\n");
            while text.len() < (1 << 20) - 400 {
                writeln!(text, "{}", line(&name(), &name())).unwrap();
            }
            text + "}\n"
        })
        .collect();
    let names: Vec<String> = (0..4_800).map(|_| name()).collect();
    let fields: Vec<String> = names.iter().map(|name| format!("{name}: int")).collect();
    let reads: Vec<String> = (0..4_000).map(|at| format!("def r{at}(r: wide): int = r.{}", name())).collect();
    texts.push(format!(
        "type wide = {{{}}}\npolicy hostile {{ applies to all pods\n{}\n}}",
        fields.join(", "),
        reads.join("\n")
    ));
    let types: Vec<String> = (0..5_000).map(|_| format!("type {} = {{a: {}}}", name(), name())).collect();
    texts.push(format!("{}\npolicy hostile {{ applies to all pods }}", types.join("\n")));
    // Some texts are refused by another limit before names are compared.
    let most = bayplan::diag::suggest::Effort::MOST;
    let spent: Vec<_> = texts.into_iter().map(suggesting).collect();
    assert!(spent.iter().all(|spent| *spent <= most), "{spent:?}");
    assert!(spent.iter().filter(|spent| **spent == most).count() >= spent.len() / 2, "{spent:?}");
}

/// A type is read once, however often it is used.
#[test]
fn a_record_with_thousands_of_fields_is_used_thousands_of_times() {
    let fields: Vec<String> = (0..4_000).map(|at| format!("field_{at}: int")).collect();
    let defs: Vec<String> = (0..3_000).map(|at| format!("def d{at}(r: wide): int = r.field_{at}")).collect();
    let text = format!(
        "type wide = {{{}}}\n/// A.\npolicy wide_one {{\n{}\n}}\n",
        fields.join(", "),
        defs.join("\n")
    );
    let begin = std::time::Instant::now();
    first_said_of(text);
    assert!(begin.elapsed().as_secs() < 30, "{:?}", begin.elapsed());
}
