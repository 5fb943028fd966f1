//! Policies that are written to be slow, to be large or to overflow the stack: what they compile to is small, or they are
//! refused, and soon.

use bayplan::diag::SourceMap;
use bayplan::lang;
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
