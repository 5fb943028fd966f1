//! Mistakes that a program makes in documents that are right: nineteen of twenty overlap a report, several mistakes
//! have several reports, and what is offered as a fix mends.

mod faults;
mod statements;

use super::fixtures::files;
use bayplan::diag::{Diagnostic, Fix, Source, SourceMap, fix};
use bayplan::lang;
use bayplan::lang::convert::convert_for;
use bayplan::testing::Random;
use faults::{Fault, KINDS};
use std::collections::BTreeMap;
use std::path::Path;

/// What is said of a document, with the fixes that are certain.
fn said(text: &str) -> (SourceMap, Vec<Diagnostic>) {
    let mut sources = SourceMap::new();
    let id = sources.add("p.yaml", text);
    let size = lang::analysis::cost::Size::of(100, 1_000);
    let compile = |source: &Source| fix::Compiled {
        diagnostics: lang::compile_for(source, size, &|_| Vec::new()).1,
        statements: lang::statements(source),
    };
    let mut said = compile(sources.get(id).unwrap()).diagnostics;
    fix::verify(&sources, &mut said, &[id], &compile);
    (sources, said)
}

fn errors(said: &[Diagnostic]) -> usize {
    said.iter().filter(|said| said.is_error()).count()
}

/// Documents without a mistake: those of the tree, and every policy of the tree in the policy language that has a
/// twin.
fn documents() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut texts: Vec<String> = Vec::new();
    for path in files("documents/twins", "yaml") {
        texts.push(std::fs::read_to_string(path).unwrap());
    }
    for path in [
        "examples/cel/gpu.yaml",
        "examples/cel-errors/gpu.yaml",
        "tests/lang/documents/proved.converted.yaml",
    ] {
        texts.push(std::fs::read_to_string(root.join(path)).unwrap());
    }
    for folder in ["policies", "examples/first", "examples/gang", "examples/hours", "tests/lang/design"] {
        let Ok(entries) = std::fs::read_dir(root.join(folder)) else { continue };
        let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        for path in paths.iter().filter(|path| path.extension().is_some_and(|ending| ending == "bay")) {
            let mut sources = SourceMap::new();
            let id = sources.add("p.bay", std::fs::read_to_string(path).unwrap());
            let source = sources.get(id).unwrap();
            let size = lang::analysis::cost::Size::of(100, 1_000);
            let (_, said) = lang::compile_for(source, size, &|_| Vec::new());
            if errors(&said) == 0
                && let Ok(document) = convert_for(source, size)
            {
                texts.push(document);
            }
        }
    }
    texts.retain(|text| errors(&said(text).1) == 0);
    assert!(texts.len() > 12, "{}", texts.len());
    texts
}

/// Whether a report touches a mistake.
fn overlaps(said: &[Diagnostic], fault: &Fault) -> bool {
    let touches = |span: bayplan::diag::Span| {
        (span.start as usize) <= fault.range.end && fault.range.start <= span.end as usize
    };
    let counts = |said: &&Diagnostic| said.is_error() || said.severity == bayplan::diag::Severity::Warning;
    said.iter()
        .filter(counts)
        .any(|said| touches(said.span) || said.labels.iter().any(|label| touches(label.span)))
}

fn shown(sources: &SourceMap, said: &[Diagnostic]) -> String {
    said.iter()
        .map(|said| {
            let place = sources.places(said.span).0;
            format!("    {}:{} {} {}\n", place.line, place.column, said.code.id, said.message)
        })
        .collect()
}

fn wanted(few: usize) -> usize {
    let times: Option<usize> = std::env::var("BAYPLAN_PROGRAMS").ok().and_then(|text| text.parse().ok());
    times.map_or(few, |times| few.max(times))
}

#[test]
fn injected_mistakes_overlap_their_report() {
    let documents = documents();
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut missed = Vec::new();
    let mut seed = 0;
    while counts.values().map(|(all, _)| all).sum::<usize>() < wanted(400) {
        seed += 1;
        let mut random = Random(41_000_000 + seed);
        let text = random.of(&documents);
        let kind = random.of(KINDS);
        let Some((broken, fault)) = faults::inject(&mut random, &text, kind) else { continue };
        let (sources, said) = said(&broken);
        let silent = errors(&said) == 0;
        if silent && !fault.certain {
            continue;
        }
        let (all, found) = counts.entry(kind).or_default();
        *all += 1;
        if overlaps(&said, &fault) {
            *found += 1;
        } else {
            let line = broken[..fault.range.start].matches('\n').count();
            let lines: Vec<&str> = broken.lines().skip(line.saturating_sub(1)).take(3).collect();
            missed.push(format!(
                "{kind} at line {}:\n{}\n{}",
                line + 1,
                lines.join("\n"),
                shown(&sources, &said)
            ));
        }
    }
    let all: usize = counts.values().map(|(all, _)| all).sum();
    let found: usize = counts.values().map(|(_, found)| found).sum();
    println!("{found} of {all} mistakes overlap their report: {counts:?}");
    assert!(found * 20 >= all * 19, "{found} of {all}, {counts:?}\n{}", missed.join("\n"));
    for (kind, (all, found)) in counts {
        assert!(found * 10 >= all * 8, "{kind}: {found} of {all}\n{}", missed.join("\n"));
    }
}

#[test]
fn several_mistakes_have_several_reports() {
    let documents = documents();
    let (mut all, mut found, mut missed) = (0, 0, Vec::new());
    let mut seed = 0;
    while all < wanted(200) {
        seed += 1;
        let mut random = Random(42_000_000 + seed);
        let mut text = random.of(&documents);
        let mut faults: Vec<Fault> = Vec::new();
        for _ in 0..3 {
            let kind = random.of(faults::BESIDE_OTHERS);
            let Some((broken, fault)) = faults::inject(&mut random, &text, kind) else { continue };
            // Two in one line may be one mistake.
            let line = |at: usize| text[..at.min(text.len())].matches('\n').count();
            if faults.iter().any(|other| line(other.range.start) == line(fault.range.start)) {
                continue;
            }
            let grown = broken.len() as isize - text.len() as isize;
            for other in &mut faults {
                if other.range.start > fault.range.start {
                    let moved = |at: usize| at.saturating_add_signed(grown);
                    other.range = moved(other.range.start)..moved(other.range.end);
                }
            }
            text = broken;
            faults.push(fault);
        }
        if faults.len() < 2 {
            continue;
        }
        let (sources, said) = said(&text);
        all += faults.len();
        for fault in &faults {
            if overlaps(&said, fault) {
                found += 1;
            } else {
                let line = text[..fault.range.start].matches('\n').count();
                let words = text.lines().nth(line).unwrap_or("");
                missed.push(format!("line {}: {words}\n{}", line + 1, shown(&sources, &said)));
            }
        }
    }
    println!("{found} of {all} mistakes beside others have a report");
    assert!(found * 20 >= all * 19, "{found} of {all}\n{}", missed.join("\n"));
}

fn applied(text: &str, fix: &Fix) -> String {
    let mut edits: Vec<_> = fix.edits.iter().collect();
    edits.sort_by_key(|edit| std::cmp::Reverse((edit.span.start, edit.span.end)));
    let mut text = text.to_owned();
    for edit in edits {
        text.replace_range(edit.span.range(), &edit.text);
    }
    text
}

#[test]
fn offered_fixes_mend() {
    let documents = documents();
    let (mut tried, mut wrong) = (0, Vec::new());
    let mut seed = 0;
    while tried < wanted(120) {
        seed += 1;
        let mut random = Random(43_000_000 + seed);
        let text = random.of(&documents);
        let kind = random.of(faults::FIXABLE);
        let Some((broken, _)) = faults::inject(&mut random, &text, kind) else { continue };
        let (sources, before) = said(&broken);
        for mistake in before.iter().filter(|mistake| mistake.is_error()) {
            for fix in &mistake.fixes {
                tried += 1;
                let fixed = applied(&broken, fix);
                let (after_sources, after) = said(&fixed);
                let same = |of: &[Diagnostic]| {
                    of.iter()
                        .filter(|said| said.code == mistake.code && said.message == mistake.message)
                        .count()
                };
                // Once it is read, the checker may find more; nothing more may be unreadable.
                let unread = |of: &[Diagnostic]| {
                    of.iter().filter(|said| said.is_error() && said.code.id.starts_with("BP00")).count()
                };
                let parser = mistake.code.id.starts_with("BP00") || mistake.code.id.starts_with("BP05");
                let new =
                    if parser { unread(&after) > unread(&before) } else { errors(&after) >= errors(&before) };
                if new || same(&after) >= same(&before) {
                    wrong.push(format!(
                        "{kind}: {}\n{}to\n{}{fixed}",
                        fix.message,
                        shown(&sources, &before),
                        shown(&after_sources, &after)
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {tried}\n{}", wrong.len(), wrong.join("\n"));
}
