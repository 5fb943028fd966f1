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

/// A small generator of numbers: the same seed gives the same mutants.
struct Numbers(u64);

impl Numbers {
    /// A number below `end`; 0 where there is none.
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        if end == 0 { 0 } else { (self.0 >> 11) as usize % end }
    }

    fn range(&mut self, of: &[u8]) -> std::ops::Range<usize> {
        let from = self.below(of.len() + 1);
        let longest = if self.below(3) == 0 { of.len() } else { 24 };
        from..of.len().min(from + self.below(longest + 1))
    }

    /// A text with a few parts removed, doubled, changed, or taken from another text.
    fn mutant(&mut self, of: &[u8], others: &[Vec<u8>]) -> Vec<u8> {
        let mut made = of.to_vec();
        for _ in 0..1 + self.below(4) {
            let range = self.range(&made);
            let (start, part) = (range.start, made[range.clone()].to_vec());
            match self.below(6) {
                0 => drop(made.drain(range)),
                1 => drop(made.splice(start..start, part)),
                2 if start < made.len() => made[start] ^= 1 << self.below(8),
                3 => {
                    let odd = [
                        " ", "\n", "\"", "'", "[", ")", "{", "\\", "?", "&a ", "*a", ": ", "- ", "\u{e9}",
                        "\0", "%s",
                    ];
                    made.splice(range, odd[self.below(odd.len())].bytes()).for_each(drop);
                }
                _ => {
                    let other = &others[self.below(others.len())];
                    let taken = other[self.range(other)].to_vec();
                    made.splice(range, taken).for_each(drop);
                }
            }
        }
        made
    }
}

/// `BAYPLAN_MUTANTS=100000` tries more of them than `make test`, `BAYPLAN_TARGET=cel` those of one target.
#[test]
fn mutants_of_the_corpora_pass_their_targets() {
    let count = std::env::var("BAYPLAN_MUTANTS").map_or(40, |count| count.parse().unwrap());
    let only = std::env::var("BAYPLAN_TARGET").ok();
    for (name, target) in
        fuzz::TARGETS.iter().filter(|(name, _)| only.as_ref().is_none_or(|only| only == name))
    {
        let mut corpus: Vec<_> = std::fs::read_dir(repository(&format!("fuzz/corpus/{name}")))
            .unwrap()
            .map(|file| file.unwrap().path())
            .collect();
        corpus.sort();
        let texts: Vec<Vec<u8>> = corpus.iter().map(|path| std::fs::read(path).unwrap()).collect();
        for seed in 0..count {
            let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15 ^ (seed + 1));
            let base = numbers.below(texts.len());
            let mutant = numbers.mutant(&texts[base], &texts);
            let begin = std::time::Instant::now();
            let passed = std::panic::catch_unwind(|| target(&mutant)).is_ok();
            let text = String::from_utf8_lossy(&mutant);
            assert!(passed, "{name}, seed {seed}, of {:?}:\n{text}", corpus[base]);
            assert!(
                begin.elapsed().as_secs() < 60,
                "{name}, seed {seed}, of {:?} takes long:\n{text}",
                corpus[base]
            );
        }
    }
}
