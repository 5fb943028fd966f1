//! What `convert` writes means what it was made of, or it is refused where the other meaning begins: absent values,
//! constants that hide what may be absent, names that are words of the other language, numbers at the end of their range,
//! and the texts that owners read.

use bayplan::diag::SourceMap;
use bayplan::lang::analysis::cost::Size;
use bayplan::lang::convert::convert_for;
use bayplan::lang::typed::Point;
use bayplan::lang::{self};

fn size() -> Size {
    Size::of(100, 1_000)
}

/// The text in the other language, or the line and the reason of everything that has no twin.
fn converted(text: &str) -> Result<String, Vec<(usize, String)>> {
    let mut sources = SourceMap::new();
    let name = if text.contains("apiVersion:") { "p.yaml" } else { "p.bay" };
    let id = sources.add(name, text);
    let source = sources.get(id).unwrap();
    let (_, said) = lang::compile_for(source, size(), &|_| Vec::new());
    assert!(!said.iter().any(|said| said.is_error()), "{said:?}\n{text}");
    let place = |of: &bayplan::lang::convert::NoTwin| (sources.places(of.span).0.line, of.why.clone());
    convert_for(source, size()).map_err(|without| without.iter().map(place).collect())
}

fn document(text: &str) -> String {
    converted(text).unwrap_or_else(|without| panic!("{without:?}\n{text}"))
}

/// The only place without a twin.
fn refused(text: &str) -> (usize, String) {
    let mut without = converted(text).expect_err("it has a twin");
    assert_eq!(without.len(), 1, "{without:?}\n{text}");
    without.remove(0)
}

fn filter(declared: &str, condition: &str) -> String {
    format!("/// A.\npolicy a {{\n{declared}  filter f {{\n    require {condition} else \"r\"\n  }}\n}}\n")
}

fn of_document(spec: &str) -> String {
    format!("apiVersion: bayplan.dev/v1\nkind: SchedulingPolicy\nmetadata:\n  name: p\nspec:\n{spec}")
}

/// An optional of what holds a value that may be absent takes in all of it.
#[test]
fn a_default_holds_wherever_in_an_expression_the_value_is_absent() {
    for condition in [
        "(float(int(node.labels[\"weight\"])) ?? 1.0) >= 1.0",
        "(string(pod.spec.terminationGracePeriodSeconds) ?? \"30\") != \"0\"",
        "(string(pod.owner.name) ?? \"x\") != \"y\"",
        "(float(int(node.labels[\"a\"]) ?? int(node.labels[\"b\"])) ?? 1.0) > 0.5",
        "(string(node.ready ? int(node.labels[\"a\"]) : int(node.labels[\"b\"])) ?? \"0\") == \"1\"",
        "(int(node.taints.map(t, t.key).max()) ?? 3) > 2",
    ] {
        document(&filter("", condition));
    }
}

/// `missing` takes in what the conversion inside cannot read.
#[test]
fn the_text_of_missing_is_said_for_every_absence() {
    let text = filter(
        "  let n = int(pod.labels[\"gang-size\"]) missing reject \"gang-size is no number\"\n",
        "n > 1",
    );
    let document = document(&text);
    let begins = document.find("apiVersion").unwrap();
    let compiled = crate::support::policies::try_compile(&document[begins..]).unwrap();
    let policy = &compiled.iter().next().unwrap().policy;
    for of in &policy.lets {
        assert!(!lang::analysis::faults::may_fail(policy, &of.value), "{document}");
        assert!(of.missing.is_some(), "{document}");
    }
}

/// A default stays although the value is known for the default of a param.
#[test]
fn a_default_that_a_constant_hides_stays() {
    let zones = "  param tier = \"bronze\"\n  let zone = {\"gold\": \"z1\", \"silver\": \"z2\"}[tier]\n";
    let written = document(&filter(zones, "node.zone == (zone ?? \"z9\")"));
    assert!(written.contains("variables.zone.orValue(\"z9\")"), "{written}");
    let gold = zones.replace("bronze", "gold");
    let written = document(&filter(&gold, "node.zone == (zone ?? \"z9\")"));
    assert!(written.contains("variables.zone.orValue(\"z9\")"), "{written}");
    for condition in ["zone != \"z1\"", "zone == \"z1\" || node.ready"] {
        let written = document(&filter(zones, condition));
        assert!(!written.contains(".value()"), "{written}");
    }
    let list = "  param zones = \"a,b\"\n";
    document(&filter(list, "(zones.split(\",\")[2] ?? \"z9\") == node.zone"));
}

#[test]
fn a_variable_with_a_word_of_documents_is_refused_where_it_would_mean_something_else() {
    let declared = "  param limit = 3\n  let name = pod.name\n  memo seen: int by pod.namespace ttl 1h\n";
    for (word, used) in [("variables", "name"), ("params", "string(limit)"), ("memos", "string(seen ?? 1)")] {
        let text = filter(declared, &format!("nodes.exists({word}, {word}.name == {used})"));
        let (line, why) = refused(&text);
        assert_eq!(line, 7, "{why}");
        assert!(why.contains(&format!("`{word}` is a variable")), "{why}");
        // Where nothing of the policy is meant it is a name as any other.
        document(&filter("", &format!("nodes.exists({word}, {word}.name == node.name)")));
    }
    let group = "  group mates = p in pods where p.namespace == pod.namespace\n";
    let (line, _) = refused(&filter(group, "nodes.exists(groups, mates.exists(m, m.name == groups.name))"));
    assert_eq!(line, 5);
}

#[test]
fn a_variable_that_is_called_desc_does_not_turn_the_queue_around() {
    let text = of_document(
        "  variables:\n  - name: desc\n    expression: size(pod.name)\n  queueBy:\n  - expression: variables.desc - \
         pod.priority\n",
    );
    let back = document(&text);
    assert!(back.contains("queue by (desc - pod.priority)"), "{back}");
}

/// The lines of what is said beside a text that is written.
fn remarks(text: &str) -> Vec<(usize, String)> {
    let mut sources = SourceMap::new();
    let id = sources.add(if text.contains("apiVersion:") { "p.yaml" } else { "p.bay" }, text);
    let schemas = lang::schemas::Schemas::default();
    let given = lang::Given {
        size: size(),
        schemas: &schemas,
        arguments: &|_| Vec::new(),
        sources: None,
        exceptions: None,
    };
    let made = lang::convert::convert_given(sources.get(id).unwrap(), given).unwrap();
    let said = made.remarks.iter().map(|of| (sources.places(of.span).0.line, of.why.clone()));
    said.collect()
}

/// Where numbers at the end of their range tell the two languages apart, that is said, in both directions.
#[test]
fn a_number_that_may_leave_its_range_is_said() {
    for condition in ["(int(node.labels[\"n\"]) ?? 0) + 1 > 0", "-(int(node.labels[\"n\"]) ?? 0) > 0"] {
        let text = filter("", condition);
        let said = remarks(&text);
        assert!(
            matches!(&said[..], [(4, why)] if why.contains("may leave the range")),
            "{condition}: {said:?}"
        );
        assert_eq!(remarks(&document(&text)).len(), 1, "the way back");
    }
    for condition in ["clamp(int(node.labels[\"n\"]) ?? 0, 0, 1000) + 1 > 0", "pod.priority + 1 > 0"] {
        assert_eq!(remarks(&filter("", condition)), []);
    }
    let (line, _) = refused(&filter("", "pod.priority * 10000000000 * 10000000000 > 3"));
    assert_eq!(line, 4, "what leaves the range of likely numbers has no twin");
}

#[test]
fn a_file_without_a_policy_says_so() {
    let (_, why) = refused("def big(p: pod): bool = p.priority > 3\n");
    assert!(why.contains("the text has no policy"), "{why}");
}

/// What describes a policy stays its description, and a licence does not become one.
#[test]
fn descriptions_and_notes_stay_apart_both_ways() {
    let text = "// Copyright: somebody.\n// All rights.\n\n/// What it is for.\n///\n/// In two parts.\npolicy a {\n  // Why \
                five.\n  param most = 5\n  /// The rule.\n  // bayplan: allow(missing-reason) because it is a test\n  filter f {\n    \
                require node.pods.count() < most\n  }\n}\n";
    let doc = |text: &str| {
        let compiled = crate::support::policies::try_compile(text).unwrap();
        let policy = &compiled.iter().next().unwrap().policy;
        let of = |doc: &Option<_>| doc.as_ref().map(|doc: &lang::syntax::ast::Text| doc.to_string());
        [
            of(&policy.doc),
            of(&policy.params[0].doc),
            of(&policy.rules_at(Point::Filter).next().unwrap().head.doc),
        ]
    };
    let wanted = doc(text);
    assert_eq!(wanted[0].as_deref(), Some("What it is for.\n\nIn two parts."));
    assert_eq!(wanted[1], None);
    let written = document(text);
    // A test finds the kind of a text by how it begins.
    let begins = written.find("apiVersion").unwrap();
    let (notes, rest) = written.split_at(begins);
    assert!(
        notes.starts_with("# Copyright: somebody.\n# All rights.\n\n# What it is for.\n#\n"),
        "{written}"
    );
    let compiled = {
        let mut sources = SourceMap::new();
        let id = sources.add("p.yaml", written.as_str());
        lang::compile_for(sources.get(id).unwrap(), size(), &|_| Vec::new()).0
    };
    let of = |doc: &Option<lang::syntax::ast::Text>| doc.as_ref().map(ToString::to_string);
    assert_eq!(of(&compiled[0].doc), wanted[0], "{written}");
    assert_eq!(of(&compiled[0].params[0].doc), wanted[1], "{rest}");
    assert_eq!(of(&compiled[0].rules_at(Point::Filter).next().unwrap().head.doc), wanted[2], "{rest}");
    let back = document(&written);
    assert_eq!(doc(&back), wanted, "{back}");
    assert!(back.starts_with("// Copyright: somebody.\n// All rights.\n\n/// What it is for.\n"), "{back}");
}

/// The annotation of a document is its description, whatever comments are around it.
#[test]
fn the_description_of_a_document_stays() {
    let text = "# A licence.\n\napiVersion: bayplan.dev/v1\nkind: SchedulingPolicy\nmetadata:\n  name: p\n  annotations:\n    \
                kubernetes.io/description: Keeps pods apart.\nspec:\n  filters:\n  # Ready ones.\n  - name: f\n    \
                expression: node.ready\n    reason: no\n";
    let back = document(text);
    assert_eq!(
        back,
        "// A licence.\n\n/// Keeps pods apart.\npolicy p {\n  /// Ready ones.\n  filter f {\n    require node.ready else \
         \"no\"\n  }\n}\n"
    );
}
