//! The functions that the fuzzers run, one for each target, on any bytes. They must not panic, and their assertions
//! must hold. The
//! programs of `fuzz/` only call these; the corpora in `fuzz/corpus/<target>/` are run by ordinary tests too.
//!
//! To add a target: a row here, a file in `fuzz/fuzz_targets/`, a `[[bin]]` in `fuzz/Cargo.toml`, a corpus.

use crate::cli::eval::batch::{Language, Lines, answer_all};
use crate::compare::{RuleDiff, Verdict, compare};
use crate::config;
use crate::diag::{Diagnostic, Look, SourceMap, draw, json};
use crate::dry_run::anonymous::{Named, Names};
use crate::dry_run::items::Item;
use crate::dry_run::{self, Options, World, cases, load};
use crate::explain::memory::{Compared, differences};
use crate::framework::{Instances, Profile};
use crate::lang::analysis::cost::Size;
use crate::lang::analysis::load::Load;
use crate::lang::policy_set::CompiledPolicy;
use crate::lang::schemas::Schemas;
use crate::lang::syntax::{cel, parse_expression};
use crate::lang::{Given, STACK, compile, compile_given};
use crate::model::objects::projection::Projection;
use crate::model::objects::{node, pod, selectors};
use crate::model::{
    Duration, KINDS, LabelSelector, Labels, Node, NodeSelector, PodInfo, Quantity, Symbol, VersionRows,
};
use crate::plugins::registry;
use crate::policy_files::policies_in;
use crate::scheduler::Profiles;
use std::sync::Arc;

/// A target: its name, and what it does with any bytes.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: &[Target] = &[
    ("quantity", quantity),
    ("selector", selector),
    ("object", object),
    ("policy", policy),
    ("document", document),
    ("load", load_text),
    ("cluster", cluster),
    ("snapshot", snapshot),
    ("devices", devices),
    ("configuration", configuration),
    ("batch", batch),
    ("cel", cel_text),
    ("schemas", schemas),
    ("compare", compared),
];

/// Runs the target `name`.
pub fn run(name: &str, data: &[u8]) {
    let (_, target) = TARGETS.iter().find(|(target, _)| *target == name).expect("the target is in the table");
    target(data);
}

/// Two quantities, one a line: reading, printing, rounding, comparing, adding.
fn quantity(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (first, second) = text.split_once('\n').unwrap_or((text, "1"));
    let Ok(first_read) = Quantity::parse(first) else {
        assert!(Quantity::reprint(first).is_err());
        return;
    };
    let printed = first_read.to_string();
    let kept = Quantity::reprint(first).expect("what is read can be printed");
    let again = Quantity::parse(&printed).expect("what is printed can be read");
    let kept_again = Quantity::parse(&kept).expect("what is kept can be read");
    // Powers of ten above `E` have no suffix: upstream prints the digits alone.
    if first_read.checked_value().is_some() {
        assert_eq!(again, first_read, "{first:?} is printed as {printed:?}");
        assert_eq!(kept_again, first_read, "{first:?} is kept as {kept:?}");
        assert_eq!(printed, again.to_string());
    }
    if let (Some(value), Some(milli)) = (first_read.checked_value(), first_read.checked_milli_value()) {
        // Whole numbers: beyond 2^53 a float rounds by more than what is compared.
        assert!(first_read.sign() < 0 || i128::from(milli) <= i128::from(value) * 1000, "{first:?}");
    }
    let Ok(second_read) = Quantity::parse(second) else { return };
    assert_eq!(first_read.cmp(&second_read), second_read.cmp(&first_read).reverse());
    let sum = first_read + second_read;
    assert_eq!(sum, second_read + first_read);
    if second_read.sign() >= 0 {
        assert!(sum >= first_read, "{first:?} + {second:?} = {sum}");
    }
}

/// JSON with `labels`, `node`, `selector` and `nodeSelector`: parsing and matching.
fn selector(data: &[u8]) {
    let Ok(case) = serde_json::from_slice::<serde_json::Value>(data) else { return };
    let read = |name: &str| case.get(name).cloned().unwrap_or_default();
    let labels: Labels = serde_json::from_value(read("labels")).unwrap_or_default();
    let name = Symbol::from(read("node").as_str().unwrap_or_default());
    if let Ok(object) = serde_json::from_value::<selectors::LabelSelector>(read("selector"))
        && let Ok(selector) = LabelSelector::parse(&object)
    {
        let all = selector.requirements.iter().all(|requirement| requirement.matches(&labels));
        assert_eq!(selector.matches(&labels), all);
        assert_eq!(selector.is_empty(), selector.to_string().is_empty());
    }
    if let Ok(object) = serde_json::from_value::<selectors::NodeSelector>(read("nodeSelector")) {
        let selector = NodeSelector::parse(&object);
        let any = selector.terms.iter().any(|term| term.matches(&name, &labels));
        match selector.matches(&name, &labels) {
            Ok(matches) => assert_eq!(matches, any),
            Err(error) => assert!(!any && selector.error == Some(error)),
        }
    }
}

/// A pod or node as JSON: what comes out is within bounds, or an error with a text.
fn object(data: &[u8]) {
    if let Ok(object) = serde_json::from_slice::<pod::Pod>(data) {
        match PodInfo::from_object(&object) {
            Ok(pod) => {
                assert!(pod.requests.milli_cpu >= 0 && pod.requests.memory >= 0, "{:?}", pod.requests);
                assert!(pod.nonzero_milli_cpu >= pod.requests.milli_cpu, "{pod:?}");
                // Scores leave the resources of the pod as a whole out.
                let whole = object.spec.resources.is_some();
                assert!(whole || pod.score_requests.memory >= pod.nonzero_memory, "{pod:?}");
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    if let Ok(object) = serde_json::from_slice::<node::Node>(data) {
        match Node::from_object(&object) {
            Ok(node) => assert!(node.allocatable.milli_cpu >= 0 && node.allocatable.pods >= 0),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

/// A policy text: checked, and lowered when it compiles. All places of diagnostics are inside the text and can be drawn.
/// A line `// file NAME` begins a further file, which the text may use.
fn policy(data: &[u8]) {
    with_stack(|| policy_text(data));
}

fn policy_text(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut sources = SourceMap::new();
    let mut parts = text.split("\n// file ");
    let id = sources.add("fuzz.bay", parts.next().unwrap_or_default());
    for part in parts {
        let (name, text) = part.split_once('\n').unwrap_or((part, ""));
        sources.add(name, text);
    }
    let Some(source) = sources.get(id) else { return };
    let schemas = Schemas::default();
    let arguments = |_: &str| Vec::new();
    let given = Given {
        size: Size::default(),
        schemas: &schemas,
        arguments: &arguments,
        sources: Some(&sources),
        exceptions: None,
    };
    let (policies, diagnostics) = compile_given(source, given);
    said_well(&sources, &diagnostics);
    assert!(diagnostics.iter().all(|said| said.span.source == id), "findings have their place in the text");
    for policy in policies {
        let compiled = CompiledPolicy::new(policy, &sources);
        assert!(!compiled.name().is_empty());
    }
}

/// A text of policy documents: the same, and every fix that is offered has its place in the text.
fn document(data: &[u8]) {
    with_stack(|| document_text(data));
}

fn document_text(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut sources = SourceMap::new();
    let id = sources.add("fuzz.yaml", text);
    let Some(source) = sources.get(id) else { return };
    let (policies, diagnostics) = compile(source);
    said_well(&sources, &diagnostics);
    for edit in diagnostics.iter().flat_map(|said| &said.fixes).flat_map(|fix| &fix.edits) {
        assert!(text.get(edit.span.range()).is_some(), "{edit:?}");
    }
    for policy in policies {
        let compiled = CompiledPolicy::new(policy, &sources);
        assert!(!compiled.name().is_empty());
    }
}

/// A CEL expression: it is read or refused with places inside of it, and what both languages read is one tree.
fn cel_text(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    with_stack(|| one_tree(text));
}

fn one_tree(text: &str) {
    let mut sources = SourceMap::new();
    let id = sources.add("fuzz.cel", text);
    let Some(source) = sources.get(id) else { return };
    let parsed = cel::parse(text, id, &|at| at);
    assert_eq!(parsed.expr.is_none(), parsed.diagnostics.iter().any(Diagnostic::is_error));
    said_well(&sources, &parsed.diagnostics);
    // What CEL folds, names with a leading dot, and a word that is a literal of the policy language.
    let close = text.replace(char::is_whitespace, "");
    let differs = ["!!", "--", "//", "none"].iter().any(|part| close.contains(part));
    if let (Some(found), false) = (parsed.expr, differs)
        && let (Some(wanted), _) = parse_expression(source)
        && !format!("{found:?}").contains("\".")
    {
        assert_eq!(found, wanted, "{text:?}");
    }
}

/// A policy text whose middle is repeated until the text has a megabyte, or as often as its first byte says: what
/// compiles stays within the limits of a load, and what is refused names a place.
///
/// Three parts, separated by lines `---`: a beginning, a middle in which `@` is the number of the repetition, an end.
fn load_text(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut parts = text.split("\n---\n");
    let (Some(begin), Some(middle), end) = (parts.next(), parts.next(), parts.next().unwrap_or("")) else {
        return;
    };
    let doublings = begin.bytes().next().map_or(0, |first| u32::from(first) % 20);
    let begin = begin.get(1..).unwrap_or("");
    let mut text = begin.to_owned();
    for at in 0..1usize << doublings {
        if text.len() + middle.len() + end.len() > 1 << 20 {
            break;
        }
        text.push_str(&middle.replace('@', &at.to_string()));
    }
    text.push_str(end);
    let mut sources = SourceMap::new();
    let id = sources.add("fuzz.bay", text);
    let Some(source) = sources.get(id) else { return };
    let (policies, diagnostics) = compile(source);
    said_well(&sources, &diagnostics);
    let refused = diagnostics.iter().any(Diagnostic::is_error);
    let loads = policies.iter().map(|policy| Load::of(policy, Size::default()));
    let load = loads.fold(Load::default(), Load::plus);
    // The checker adds conversions to what was written.
    let limit = Load { steps: u128::MAX, expressions: 3 * Load::MOST.expressions, ..Load::MOST };
    assert!(refused || load.beyond(limit).is_none(), "{load:?}");
    if load.beyond(Load::MOST).is_none() {
        policies.into_iter().for_each(|policy| drop(CompiledPolicy::new(policy, &sources)));
    }
}

/// A file with a cluster, ConfigMaps with policies, or tests: objects, or what is wrong with a place.
fn cluster(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut sources = SourceMap::new();
    let id = sources.add("fuzz.yaml", text);
    let loaded = load::load(&mut sources, &[id]);
    said_well(&sources, &loaded.diagnostics);
    let (found, diagnostics) = policies_in(&mut sources, id);
    said_well(&sources, &diagnostics);
    for found in found {
        let (_, diagnostics) = sources.get(found.source).map(compile).unwrap_or_default();
        said_well(&sources, &diagnostics);
    }
    if let Err(said) = cases::read(&sources, id) {
        said_well(&sources, &said);
    }
}

/// A snapshot: read or refused with places inside of it. What is read can be written, read again, and made anonymous, after
/// which equal names are equal still.
fn snapshot(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut sources = SourceMap::new();
    let id = sources.add("fuzz.json", text);
    let loaded = load::load(&mut sources, &[id]);
    said_well(&sources, &loaded.diagnostics);
    let Some(saved) = loaded.saved.first() else { return };
    let Ok(document) = serde_json::from_str::<serde_json::Value>(text.trim_start_matches('\u{feff}')) else {
        return;
    };
    let objects = document["objects"].as_array().cloned().unwrap_or_default();
    let mut written = Vec::new();
    saved.write(&objects, &mut written).expect("a vector takes all bytes");
    let written = String::from_utf8(written).expect("JSON is UTF-8");
    let id = sources.add("again.json", written);
    let again = load::load(&mut sources, &[id]);
    assert_eq!(again.saved.first(), Some(saved));
    assert_eq!(again.world.objects.len(), loaded.world.objects.len());
    if let Some(memory) = &loaded.world.memory {
        let found = differences(&Compared {
            memory,
            world: &loaded.world,
            rows: VersionRows::default(),
            program: "",
            kinds: &[],
            ours: &|_| true,
        });
        assert!(found.iter().all(|of| !of.what.is_empty()));
        // The queue of a hostile file is taken over, and the run ends.
        decided(&loaded.world);
    }
    let mut named = Named::default();
    saved.policies.iter().for_each(|text| named.text(&text.text));
    saved.configuration.iter().for_each(|of| named.configuration(&of.text));
    let names = Names::of(&objects, &named);
    let anonymous: Vec<_> = objects.iter().map(|object| names.object(object.clone())).collect();
    let items: Vec<Item> = anonymous.iter().map(|object| Item::of(object.clone(), &[])).collect();
    assert!(Item::world(&items).objects.len() <= anonymous.len() + items.len());
    for row in KINDS {
        for object in &objects {
            let kept = row.kept(object.clone(), &Projection::default());
            assert_eq!(row.kept(kept.clone(), &Projection::default()), kept);
        }
    }
}

/// Decides the pods of a world with the default profile, for a second of its time.
fn decided(world: &World) {
    let options = Options { longest: Duration::from_seconds(1), ..Options::default() };
    let profile = Profile::new("default-scheduler").build(&registry(), &mut Instances::default());
    let frameworks = vec![Arc::new(profile.expect("the default profile"))];
    let _ = dry_run::run(world, Arc::new(Profiles { frameworks, revision: 1 }), &options);
}

/// A file with devices, claims and pods that name them: whatever their objects say, decisions end.
fn devices(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut sources = SourceMap::new();
    let id = sources.add("fuzz.json", text);
    let loaded = load::load(&mut sources, &[id]);
    said_well(&sources, &loaded.diagnostics);
    with_stack(|| decided(&loaded.world));
}

/// A configuration of the scheduler.
fn configuration(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut sources = SourceMap::new();
    let id = sources.add("fuzz.yaml", text);
    let Some(source) = sources.get(id) else { return };
    let (_, diagnostics) = config::read(source);
    said_well(&sources, &diagnostics);
}

/// Does the work with the stack of the commands, which is enough for the deepest expression.
fn with_stack(work: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
        if let Err(panic) = thread.expect("a thread").join() {
            std::panic::resume_unwind(panic);
        }
    });
}

/// Definitions of kinds, and objects of these kinds.
fn schemas(data: &[u8]) {
    with_stack(|| {
        super::fuzz_schemas::schemas(data);
    });
}

/// The lines of `eval --batch`, in either language: one answer for each line after the first that is not blank.
fn batch(data: &[u8]) {
    with_stack(|| [Language::Cel, Language::Policy].iter().for_each(|of| answered(data, *of)));
}

/// Every answer has an expression and one outcome; only what compiles has a type.
fn answered(data: &[u8], language: Language) {
    let mut answers = 0;
    let read = answer_all(&mut Lines::of(data), language, &mut |answer| {
        answers += 1;
        let outcomes = ["compileError", "value", "error"].iter().filter(|key| answer.get(**key).is_some());
        assert!(outcomes.count() == 1 && answer["expr"].is_string(), "{answer}");
        assert_eq!(answer.get("type").is_some(), answer.get("compileError").is_none(), "{answer}");
        Ok(())
    });
    let lines = data.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    assert!(answers <= lines.count(), "{answers} answers: {read:?}");
}

/// Every diagnostic has words, lies inside its text, and can be drawn and written.
pub(super) fn said_well(sources: &SourceMap, diagnostics: &[Diagnostic]) {
    for diagnostic in diagnostics {
        assert!(!diagnostic.message.is_empty());
        let source = sources.source(diagnostic.span).expect("a diagnostic names a text");
        let span = diagnostic.span.range();
        assert!(source.text().get(span.clone()).is_some(), "{span:?} is outside of the text: {diagnostic:?}");
    }
    let look = Look { unicode: true, limit: Some(20), ..Look::default() };
    assert_eq!(draw::human(sources, diagnostics, look).is_empty(), diagnostics.is_empty());
    assert!(json::report(sources, diagnostics, 1).is_object());
}

/// Two texts of policies with a line `---8<---` between: a policy means what itself means, and what makes it stricter one way
/// makes it looser the other way.
fn compared(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (old, new) = text.split_once("---8<---").unwrap_or((text, text));
    let policies = |text: &str| {
        let mut sources = SourceMap::new();
        let id = sources.add("p.bay", text);
        sources.get(id).map(compile).map(|(policies, _)| policies).unwrap_or_default()
    };
    let (olds, news) = (policies(old), policies(new));
    for policy in olds.iter().chain(&news) {
        let itself = compare(Some(policy), Some(policy), None);
        assert!(itself.iter().all(|diff| matches!(diff.verdict, Verdict::Same)), "{itself:?}");
    }
    for old in &olds {
        let Some(new) = news.iter().find(|new| new.name == old.name) else { continue };
        let (there, back) = (compare(Some(old), Some(new), None), compare(Some(new), Some(old), None));
        let word = |diffs: &[RuleDiff], name: &str| {
            let of = diffs.iter().find(|diff| diff.name == name && diff.renamed_from.is_none());
            of.map(|diff| diff.verdict.word())
        };
        for diff in there.iter().filter(|diff| diff.renamed_from.is_none()) {
            match (diff.verdict.word(), word(&back, &diff.name)) {
                ("stricter", Some(back)) => assert!(["looser", "unknown"].contains(&back), "{diff:?}"),
                ("looser", Some(back)) => assert!(["stricter", "unknown"].contains(&back), "{diff:?}"),
                _ => {}
            }
        }
    }
}
