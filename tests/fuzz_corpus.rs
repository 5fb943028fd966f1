//! The fuzzers' corpora, and random inputs, through the fuzz targets.

use crate::support::repository;
use bayplan::testing::fuzz;
use proptest::prelude::*;

#[test]
fn corpora_pass_their_targets() {
    let manifest = std::fs::read_to_string(repository("fuzz/Cargo.toml")).unwrap();
    for (name, target) in fuzz::TARGETS {
        assert!(manifest.contains(&format!("name = \"{name}\"")), "fuzz/Cargo.toml has no [[bin]] {name}");
        assert!(repository(&format!("fuzz/fuzz_targets/{name}.rs")).exists(), "{name} has no program");
        let files = std::fs::read_dir(repository(&format!("fuzz/corpus/{name}"))).unwrap();
        let mut count = 0;
        for file in files {
            target(&std::fs::read(file.unwrap().path()).unwrap());
            count += 1;
        }
        assert!(count > 0, "the corpus of {name} is empty");
    }
}

/// Text that is nearly a quantity.
fn quantity() -> impl Strategy<Value = String> {
    let suffix = "(|n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][+-]?[0-9]{1,12}|[a-zA-Z]{1,2})";
    proptest::string::string_regex(&format!("[+-]?[0-9]{{0,45}}(\\.[0-9]{{0,45}})?{suffix}")).unwrap()
}

/// JSON that is nearly a selector.
fn selector() -> impl Strategy<Value = serde_json::Value> {
    let word = || {
        proptest::sample::select(vec![
            "",
            "a",
            "zone",
            "a/b",
            "a/b/c",
            "-x",
            "é",
            "5",
            "-5",
            "007",
            "metadata.name",
        ])
    };
    let operator =
        proptest::sample::select(vec!["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Near", ""]);
    let values = proptest::option::of(proptest::collection::vec(word(), 0..3));
    let expression = (word(), operator, values).prop_map(
        |(key, operator, values)| serde_json::json!({ "key": key, "operator": operator, "values": values }),
    );
    let expressions = || proptest::collection::vec(expression.clone(), 0..3);
    let labels = || proptest::collection::btree_map(word(), word(), 0..3);
    let terms = proptest::collection::vec((expressions(), expressions()), 0..3);
    (labels(), labels(), expressions(), terms, word()).prop_map(
        |(labels, match_labels, expressions, terms, node)| {
            let terms: Vec<_> = terms
            .into_iter()
            .map(|(labels, fields)| serde_json::json!({ "matchExpressions": labels, "matchFields": fields }))
            .collect();
            serde_json::json!({
                "labels": labels,
                "node": node,
                "selector": { "matchLabels": match_labels, "matchExpressions": expressions },
                "nodeSelector": { "nodeSelectorTerms": terms },
            })
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn near_quantities_never_panic(first in quantity(), second in quantity()) {
        fuzz::run("quantity", format!("{first}\n{second}").as_bytes());
    }

    #[test]
    fn near_selectors_never_panic(case in selector()) {
        fuzz::run("selector", case.to_string().as_bytes());
    }

    #[test]
    fn any_bytes_never_panic(data in proptest::collection::vec(any::<u8>(), 0..64)) {
        for (_, target) in fuzz::TARGETS {
            target(&data);
        }
    }

    #[test]
    fn any_text_never_panics(text in ".{0,40}") {
        for (_, target) in fuzz::TARGETS {
            target(text.as_bytes());
        }
    }
}
