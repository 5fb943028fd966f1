//! Names, values and sizes of annotations and labels: what goes into a Binding or a patch is what the API server's
//! validation takes. The rule is restated here with patterns, as upstream has it, and compared on random texts.
//!
//! Source: `apimachinery/pkg/api/validate/content`, `apimachinery/pkg/api/validation/objectmeta.go`.

use bayplan::model::{PodMarks, Symbol, after_bind_mark, key_problem, value_problem};
use bayplan::testing::pod;
use proptest::prelude::*;
use regex::Regex;
use std::sync::{Arc, LazyLock};

static NAME: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\A([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]\z").unwrap());
static PREFIX: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\A[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\z").unwrap()
});

/// `IsQualifiedName`.
fn qualified(key: &str) -> bool {
    let name = |name: &str| name.len() <= 63 && NAME.is_match(name);
    match key.split('/').collect::<Vec<_>>()[..] {
        [of] => name(of),
        [prefix, of] => prefix.len() <= 253 && PREFIX.is_match(prefix) && name(of),
        _ => false,
    }
}

/// `IsValidLabelValue`.
fn label_value(value: &str) -> bool {
    value.is_empty() || value.len() <= 63 && NAME.is_match(value)
}

/// `ValidatePodSpecificAnnotations` and what an update may not add.
fn pod_annotation(key: &str, value: &str) -> bool {
    static NUMBER: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\A(-[0-9]+|0|[1-9][0-9]*)\z").unwrap());
    let parts = key.split_once('/');
    match parts {
        Some(("controller.kubernetes.io", "pod-deletion-cost")) => {
            NUMBER.is_match(value) && value.parse::<i64>().is_ok_and(|cost| i32::try_from(cost).is_ok())
        }
        Some(("kubernetes.io", "config.mirror") | ("scheduler.alpha.kubernetes.io", "tolerations")) => false,
        Some(("seccomp.security.alpha.kubernetes.io", name)) => name != "pod",
        Some((prefix, _)) => !matches!(
            prefix,
            "container.seccomp.security.alpha.kubernetes.io"
                | "container.apparmor.security.beta.kubernetes.io"
        ),
        None => true,
    }
}

/// Keys to which the API server gives a meaning on pods, and their neighbours.
fn known_key() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "controller.kubernetes.io/pod-deletion-cost",
        "controller.kubernetes.io/pod-deletion",
        "kubernetes.io/config.mirror",
        "kubernetes.io/config.mirrors",
        "scheduler.alpha.kubernetes.io/tolerations",
        "seccomp.security.alpha.kubernetes.io/pod",
        "seccomp.security.alpha.kubernetes.io/pods",
        "container.seccomp.security.alpha.kubernetes.io/c",
        "container.apparmor.security.beta.kubernetes.io/c",
        "own",
    ])
    .prop_map(str::to_owned)
}

/// Texts near the edge of what is valid.
fn text() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        4 => "[a-zA-Z0-9]{0,4}[-_./a-zA-Z0-9]{0,6}[a-zA-Z0-9]{0,2}",
        1 => "[a-z]{61,65}",
        1 => "[a-z0-9]{60,62}[-_.]{0,2}[a-z0-9]{0,2}",
        1 => "\\PC{0,5}",
        1 => Just("a\n".to_owned()),
    ];
    let prefix = prop_oneof![
        3 => Just(String::new()),
        2 => Just("example.com/".to_owned()),
        1 => "[a-z]{1,3}[-.A-Z]{0,2}[a-z0-9]{0,2}/",
        1 => "([a-z]{60}\\.){4}[a-z]{8,12}/",
    ];
    (prefix, part).prop_map(|(prefix, part)| prefix + &part)
}

/// Keys and values, and whether they are annotations.
fn entries() -> impl Strategy<Value = Vec<(String, String, bool)>> {
    let value = prop_oneof![
        4 => text(),
        2 => "-?0?[0-9]{1,10}",
        1 => (0..300_000usize).prop_map(|bytes| "v".repeat(bytes))
    ];
    let key = prop_oneof![3 => text(), 1 => known_key()];
    prop::collection::vec((key, value, any::<bool>()), 0..4)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn keys_and_values_are_those_of_the_api_server(text in text()) {
        prop_assert_eq!(key_problem(&text).is_none(), qualified(&text));
        prop_assert_eq!(value_problem(&text).is_none(), label_value(&text));
        prop_assert_eq!(key_problem(&after_bind_mark(&text)).is_none(), qualified(&after_bind_mark(&text)));
    }

    #[test]
    fn marks_are_taken_as_the_api_server_takes_the_pod_that_has_them(entries in entries(), own in 0..270_000usize) {
        let mut marks = PodMarks::default();
        for (key, value, annotation) in &entries {
            match annotation {
                true => drop(marks.annotations.insert(Symbol::new(key), Arc::from(value.as_str()))),
                false => drop(marks.labels.insert(Symbol::new(key), Symbol::new(value))),
            }
        }
        let pod = pod("p").annotation("own", &"o".repeat(own)).build();
        let replaced = marks.annotations.contains_key(&Symbol::new("own"));
        // What is too long to be kept counts, though it would be replaced.
        prop_assume!(!replaced || own <= 16 * 1024);
        let added: usize = marks.annotations.iter().map(|(key, value)| key.len() + value.len()).sum();
        let bytes = added + if replaced { 0 } else { "own".len() + own };
        let valid = marks.annotations.iter().all(|(key, value)| pod_annotation(key, value))
            && marks.annotations.keys().all(|key| qualified(&key.to_ascii_lowercase()))
            && marks.labels.iter().all(|(key, value)| qualified(key) && label_value(value))
            && bytes <= 256 * 1024;
        prop_assert_eq!(marks.problem_on(&pod).is_none(), valid);
    }
}
