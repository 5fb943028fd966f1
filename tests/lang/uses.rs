//! `use "file.bay"`: what the files bring, and what is said where one cannot be used.

use bayplan::diag::{Origin, SourceId, SourceMap, draw};
use bayplan::lang::uses::{self, Wanted};
use bayplan::lang::{self, Given, typed::Policy};
use bayplan::testing::Random;

/// The policies of the first of some files, and what is said of it: code, place, message and the other places.
fn compiled(files: &[(&str, &str)]) -> (Vec<Policy>, Vec<String>) {
    let mut sources = SourceMap::new();
    for (name, text) in files {
        sources.add(*name, *text);
    }
    compiled_of(&sources, SourceId(0))
}

fn compiled_of(sources: &SourceMap, id: SourceId) -> (Vec<Policy>, Vec<String>) {
    let given = Given {
        exceptions: None,
        size: Default::default(),
        schemas: &Default::default(),
        arguments: &|_| Vec::new(),
        sources: Some(sources),
    };
    let (policies, said) = lang::compile_given(sources.get(id).unwrap(), given);
    let place = |span: bayplan::diag::Span| {
        let source = sources.get(span.source).unwrap();
        format!("{}:{}", source.name(), source.own_place(span.start as usize).line)
    };
    let said = said.iter().map(|said| {
        let others = said.labels.iter().map(|label| format!(" [{} {}]", place(label.span), label.message));
        format!("{} {} {}{}", place(said.span), said.code.slug, said.message, others.collect::<String>())
    });
    (policies, said.collect())
}

const RULE: &str = "use \"lib/half.bay\"\n/// Keeps half of each node free.\npolicy half-empty {\n  filter free { require \
                    node.requested.cpu <= half(node) else \"node(s) half full\" }\n}\n";
const HALF: &str = "def half(n: node): cpu = n.allocatable.cpu / 2\n";

#[test]
fn types_and_defs_come_from_other_files() {
    let (policies, said) = compiled(&[("rules/a.bay", RULE), ("rules/lib/half.bay", HALF)]);
    assert_eq!((policies.len(), said), (1, vec![]));
    // Through another file, and from the folder above.
    let files = [
        ("rules/a.bay", RULE),
        ("rules/lib/half.bay", "use \"../units.bay\"\ndef half(n: node): cpu = part(n, 2)\n"),
        ("./rules/units.bay", "def part(n: node, of: int): cpu = n.allocatable.cpu / max(of, 1)\n"),
    ];
    let (policies, said) = compiled(&files);
    assert_eq!((policies.len(), said), (1, vec![]));
    assert_eq!(policies[0].file_items.len(), 2, "what the digest of a policy is made of");
}

#[test]
fn keys_of_one_config_map_use_each_other_and_no_other() {
    let mut sources = SourceMap::new();
    let mut add = |object: &str, key: &str, text: &str| {
        sources.add_object(Origin { object: object.into(), key: key.into() }, text)
    };
    let rule = RULE.replace("lib/", "");
    let first = add("ns/rules", "a.bay", &rule);
    let other = add("ns/other", "a.bay", &rule);
    add("ns/rules", "half.bay", HALF);
    let outside = add("ns/rules", "b.bay", &rule.replace("half.bay", "../half.bay"));
    assert_eq!(compiled_of(&sources, first).1, [""; 0]);
    let said = compiled_of(&sources, other).1;
    let wanted = "`half.bay` does not exist: looked for the key `half.bay` of the ConfigMap `ns/other`";
    assert_eq!(said, [format!("ns/other a.bay:1 unknown-file {wanted}")]);
    assert!(compiled_of(&sources, outside).1[0].contains("unknown-file"));
    let wanted = uses::wanted(sources.get(other).unwrap());
    assert_eq!(wanted, [Wanted::Key("ns/other".into(), "half.bay".into())]);
}

/// Nothing else is said of a text when one of its files cannot be used.
#[test]
fn what_is_wrong_is_said_at_the_use_with_the_other_place() {
    let one = |files: &[(&str, &str)]| {
        let (policies, mut said) = compiled(files);
        assert_eq!((policies.len(), said.len()), (0, 1), "{said:?}");
        said.remove(0)
    };
    let rule = RULE.replace("lib/", "");
    let with = |text: &str| one(&[("a.bay", &rule), ("half.bay", text), ("more.bay", HALF)]);
    assert_eq!(
        one(&[("a.bay", &rule)]),
        "a.bay:1 unknown-file `half.bay` does not exist: looked for `half.bay`"
    );
    assert!(one(&[("a.bay", &rule.replace("half.bay", "/half.bay"))]).contains("cannot be used"));
    assert!(one(&[("a.bay", &rule.replace("half.bay", "half.yaml"))]).contains("cannot be used"));
    assert_eq!(
        with("\nuse \"none.bay\"\n"),
        "a.bay:1 unknown-file `none.bay` does not exist: looked for `none.bay` [half.bay:2 here]"
    );
    assert_eq!(
        with("use \"a.bay\""),
        "a.bay:1 use-circle files use each other in a circle: `a.bay` → `half.bay` → `a.bay` [half.bay:1 here]"
    );
    assert!(one(&[("a.bay", &rule.replace("half", "a"))]).contains("circle: `a.bay` → `a.bay`"));
    let said = with("def half(n: node): cpu = \n");
    assert!(
        said.starts_with("a.bay:1 used-file `half.bay` has a mistake: ") && said.contains("[half.bay:"),
        "{said}"
    );
    assert_eq!(
        with("def half(n: node): cpu = 1cpu\n\n/// A.\npolicy b { prefer 1 when true }"),
        "a.bay:1 used-file `half.bay` has more than types and defs [half.bay:4 here]"
    );
    let said = with("def third(n: node): cpu = 1cpu\ndef half(n: node): cpu = n.allocatable.cpus / 2\n");
    assert!(said.starts_with("a.bay:1 unknown-field `half.bay` cannot be used: "), "{said}");
    assert!(said.contains("[half.bay:2 here]"), "{said}");
}

#[test]
fn names_must_be_new() {
    let used = "use \"half.bay\"\nuse \"more.bay\"\n";
    let policy = "/// A.\npolicy a { filter f { require node.free.cpu > half(node) else \"no\" } }\n";
    let said = |own: &str, more: &str| {
        let text = format!("{used}{own}{policy}");
        compiled(&[("a.bay", &text), ("half.bay", HALF), ("more.bay", more)]).1
    };
    assert_eq!(said("", "type T = {a: int}\n"), [""; 0]);
    assert_eq!(
        said("def half(n: node): cpu = 1cpu\n", ""),
        ["a.bay:3 duplicate-name `half` is declared twice [half.bay:1 the first one]"]
    );
    assert_eq!(
        said("", "type T = {a: int}\ndef half(n: node): cpu = 1cpu\n"),
        ["a.bay:2 duplicate-name `more.bay` cannot be used: `half` is declared twice [more.bay:2 here] \
          [half.bay:1 the first one]"]
    );
    let hides = policy.replace("{ filter", "{ let half = 3  filter");
    let text = format!("{used}{hides}");
    let said = compiled(&[("a.bay", &text), ("half.bay", HALF), ("more.bay", "")]).1;
    assert_eq!(said, ["a.bay:4 duplicate-name `half` is declared twice [half.bay:1 the first one]"]);
}

/// Findings about a file belong to that file: they come when it is compiled itself.
#[test]
fn findings_of_a_used_file_are_its_own() {
    let half = "def half(n: node): cpu = n.allocatable.cpu / 2 + [1cpu].map(n, n).sum(x, x)\n";
    let rule = RULE.replace("lib/", "");
    let (policies, said) = compiled(&[("a.bay", &rule), ("half.bay", half)]);
    assert_eq!((policies.len(), said), (1, vec![]));
    let (_, said) = compiled(&[("half.bay", half)]);
    assert!(said.iter().any(|said| said.contains("hides-name")), "{said:?}");
}

/// Places of two files are drawn with the text of each.
#[test]
fn both_files_are_shown() {
    let mut sources = SourceMap::new();
    let rule = RULE.replace("lib/", "");
    let id = sources.add("a.bay", rule.as_str());
    sources.add("half.bay", "def half(n: node): cpu = n.allocatable.cpus / 2\n");
    let given = Given {
        size: Default::default(),
        schemas: &Default::default(),
        arguments: &|_| Vec::new(),
        sources: Some(&sources),
        exceptions: None,
    };
    let (_, said) = lang::compile_given(sources.get(id).unwrap(), given);
    let drawn = draw::human(&sources, &said, draw::Look::default());
    let drawn = drawn.as_str();
    assert!(drawn.contains("use \"half.bay\"") && drawn.contains("n.allocatable.cpus"), "{drawn}");
}

/// The filters and defs of a policy with names in the place of numbers, which follow the order of the files, and without
/// places.
fn meaning(policy: &Policy) -> (String, Vec<String>) {
    let spans = regex::Regex::new(r"Span \{ source: SourceId\(\d+\), start: \d+, end: \d+ \}").unwrap();
    let numbers = regex::Regex::new(r"(DefId|SlotId)\((\d+)\)").unwrap();
    let named = |text: String| {
        let text = spans.replace_all(&text, "Span");
        let name = |found: &regex::Captures<'_>| {
            let at: usize = found[2].parse().unwrap();
            match &found[1] {
                "DefId" => policy.defs[at].name.to_string(),
                _ => policy.slots[at].name.to_string(),
            }
        };
        numbers.replace_all(&text, name).into_owned()
    };
    let mut defs: Vec<String> = policy.defs.iter().map(|def| named(format!("{def:?}"))).collect();
    defs.sort();
    (named(format!("{:?}", policy.rules)), defs)
}

/// Types and defs in other files, in whatever way these use each other, mean what they mean in one file.
#[test]
fn a_text_in_several_files_is_the_text_in_one() {
    for seed in 0..200 {
        let mut random = Random(seed);
        let files = 1 + random.below(5);
        let mut texts = vec![String::new(); files];
        let mut whole = String::new();
        let mut defs: Vec<usize> = Vec::new();
        for at in 0..1 + random.below(8) {
            let file = random.below(files);
            let called = match defs.is_empty() {
                true => "n.free.cpu".to_owned(),
                false => {
                    let known = random.below(defs.len());
                    // A file sees what it uses, and what its users bring beside it.
                    format!("d{known}(n) + d{}(n)", random.below(defs.len()))
                }
            };
            let item = match random.below(4) {
                0 => format!("type T{at} = {{a: int, b: cpu}}\ndef d{at}(n: node): cpu = {called}\n"),
                1 => format!("def d{at}(n: node): cpu = {called} * {}\n", random.below(5)),
                _ => format!("def d{at}(n: node): cpu = min({called}, {}cpu)\n", 1 + random.below(5)),
            };
            defs.push(file);
            texts[file].push_str(&item);
            whole.push_str(&item);
        }
        let called = random.below(defs.len());
        let policy = format!(
            "/// A.\npolicy a {{\n  filter f {{ require d{called}(node) >= 500m else \"no\" }}\n}}\n"
        );
        // Every file is used by the text, or by a file before it.
        let mut heads = vec![String::new(); files + 1];
        for file in 0..files {
            let by = if random.one_in(2) { 0 } else { random.below(file + 1) };
            heads[by].push_str(&format!("use \"f{file}.bay\"\n"));
            if random.one_in(3) {
                heads[0].push_str(&format!("use \"f{file}.bay\"\n"));
            }
        }
        let main = format!("{}{policy}", heads[0]);
        let named: Vec<(String, String)> = (0..files)
            .map(|file| (format!("f{file}.bay"), format!("{}{}", heads[file + 1], texts[file])))
            .collect();
        let mut all = vec![("a.bay", main.as_str())];
        all.extend(named.iter().map(|(name, text)| (name.as_str(), text.as_str())));
        let (several, said) = compiled(&all);
        let (one, expected) = compiled(&[("a.bay", &format!("{whole}{policy}"))]);
        let strip = |said: Vec<String>| -> Vec<String> {
            said.iter().map(|said| said.split_once(' ').unwrap().1.to_owned()).collect()
        };
        assert_eq!(strip(said), strip(expected), "seed {seed}: {all:?}");
        assert_eq!(one.len(), 1, "seed {seed}");
        assert_eq!(meaning(&several[0]), meaning(&one[0]), "seed {seed}: {all:?}");
    }
}
