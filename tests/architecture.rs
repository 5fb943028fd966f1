//! Keeps the walls: who imports whom, which outside crates are used where, that every file says what lives in it,
//! and how large files may grow. What a room may use is in its manifest; here is what no manifest can say, and that
//! the tables of `ARCHITECTURE.md` are true.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Rooms in the order of dependency. All but the last one are crates.
const ROOMS: &[&str] = &[
    "diag",
    "model",
    "yaml",
    "policy_files",
    "lang",
    "devices",
    "framework",
    "engine",
    "plugins",
    "plugins/policy",
    "scheduler",
    "config",
    "dry_run",
    "explain",
    "compare",
    "page",
    "reference",
    "cluster",
    "cli",
];

/// Outside crates that only some places may use.
const CRATES: &[(&str, &[&str])] = &[
    ("bayplan_yaml", &["lang/syntax/document", "policy_files", "framework", "config", "dry_run"]),
    ("pest", &["lang/syntax"]),
    ("pest_derive", &["lang/syntax"]),
    ("cel::Env", &["lang/syntax/cel/parse"]),
    ("cel::common", &["lang/syntax/cel/parse"]),
    ("serde_saphyr", &["yaml", "config/write", "cluster", "cli/output"]),
    ("miette", &["diag"]),
    ("owo_colors", &["diag/draw"]),
    ("textwrap", &["diag/draw", "cli/output"]),
    ("unicode_width", &["diag/width"]),
    ("signal_hook", &["cli/progress"]),
    ("clap_mangen", &["cli/man"]),
    ("terminal_size", &["cli/output"]),
    ("supports_hyperlinks", &["cli/output"]),
    ("flate2", &["page"]),
    ("serde_ignored", &["model/objects/kept"]),
    ("hmac", &["model/mark_key"]),
    ("sha2", &["model/mark_key"]),
    ("kube", &["cluster"]),
    ("k8s_openapi", &["cluster"]),
    ("tokio", &["cluster"]),
    ("axum", &["cluster"]),
    ("futures", &["cluster"]),
    ("http", &["cluster"]),
    ("hyper_util", &["cluster"]),
    ("rcgen", &["cluster"]),
    ("rustls", &["cluster"]),
    ("tokio_rustls", &["cluster"]),
    ("tracing_subscriber", &["cluster"]),
    ("prometheus_client", &["cluster"]),
    ("aws_lc_rs", &["cluster"]),
    ("backon", &["cluster"]),
    ("fastrand", &["cluster"]),
    ("percent_encoding", &["cluster"]),
    ("rustix", &["cluster"]),
    ("uuid", &["cluster"]),
    ("webpki", &["cluster"]),
    ("yasna", &["cluster"]),
    ("clap", &["cli"]),
    ("anyhow", &["cli"]),
];

/// The most lines a file may have unless its first lines say why ("Why so long: …").
const CEILING: usize = 800;

fn sources() -> Vec<(PathBuf, String)> {
    let found = files_below("src");
    assert!(found.len() > 20, "the sources are not where this test looks for them");
    found
}

/// The Rust files below a folder of the repository, by their paths in it.
fn files_below(folder: &str) -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut found = Vec::new();
    let mut open = vec![root.clone()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                found.push((path.strip_prefix(&root).unwrap().to_owned(), text));
            }
        }
    }
    found.sort();
    found
}

/// The room of a file. A room in the folder of another one is not part of that.
fn room_of(path: &Path) -> Option<&'static str> {
    let rooms = ROOMS.iter().filter(|room| path.starts_with(room));
    rooms.max_by_key(|room| room.len()).copied()
}

/// Whether a room is a crate of its own.
fn is_crate(room: &str) -> bool {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(room).join("Cargo.toml").exists()
}

/// Lines of code: without comments, and without the module of tests and what follows it.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let tests = text.find("\nmod tests {").unwrap_or(text.len());
    let lines = text[..tests].lines().enumerate().map(|(at, line)| (at + 1, line));
    lines.filter(|(_, line)| !line.trim_start().starts_with("//"))
}

fn words_after<'a>(line: &'a str, mark: &str) -> Vec<&'a str> {
    line.match_indices(mark)
        .map(|(at, _)| &line[at + mark.len()..])
        .map(|rest| &rest[..rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())])
        .collect()
}

/// The crate of a room, by the name of its package.
fn package_of(room: &str) -> String {
    format!("bayplan-{}", room.rsplit('/').next().unwrap_or(room).replace('_', "-"))
}

/// The rooms whose crates a manifest names as dependencies.
fn used_by(manifest: &Path) -> BTreeSet<&'static str> {
    let manifest = fs::read_to_string(manifest).unwrap();
    let (_, dependencies) = manifest.split_once("\n[dependencies]\n").unwrap_or_default();
    let dependencies = dependencies.split("\n[").next().unwrap_or_default();
    let names: HashSet<&str> =
        dependencies.lines().filter_map(|line| line.split(['.', ' ']).next()).collect();
    ROOMS.iter().copied().filter(|room| names.contains(package_of(room).as_str())).collect()
}

/// The names in backticks that are names of rooms.
fn rooms_named(text: &str) -> BTreeSet<&'static str> {
    let named: HashSet<&str> = text.split('`').skip(1).step_by(2).collect();
    ROOMS.iter().copied().filter(|room| named.contains(room)).collect()
}

/// Cargo forbids every import that a manifest does not allow. A room uses rooms above it, since crates form no circle.
#[test]
fn the_table_of_imports_says_what_the_manifests_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let map = fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    let (_, table) = map.split_once("| room | uses |\n|---|---|\n").unwrap();
    let mut seen = Vec::new();
    for row in table.lines().take_while(|line| line.starts_with('|')) {
        let (names, uses) = row.trim_matches('|').split_once('|').unwrap();
        let of_row = rooms_named(names);
        for room in ROOMS.iter().filter(|room| of_row.contains(*room)) {
            let above = || ROOMS.iter().copied().take_while(|above| above != room);
            let expected: BTreeSet<&str> = match uses.trim() {
                "no room" => BTreeSet::new(),
                all if all.starts_with("all above") => {
                    let but = rooms_named(all);
                    above().filter(|room| !but.contains(room)).collect()
                }
                list => rooms_named(list),
            };
            let folder = if is_crate(room) { root.join("src").join(room) } else { root.to_owned() };
            assert_eq!(used_by(&folder.join("Cargo.toml")), expected, "the row of `{room}`");
            seen.push(*room);
        }
    }
    assert_eq!(seen, ROOMS);
}

/// Everything that is printed goes through the writer that escapes what somebody else wrote.
#[test]
fn only_the_output_writes_to_stdout_and_stderr() {
    const MARKS: [&str; 8] =
        ["stdout()", "stderr()", "println!", "eprintln!", "print!(", "io::stdout", "io::stderr", "dbg!"];
    const PLACES: [&str; 3] = ["cli/output/", "cluster/process/logs.rs", "main.rs"];
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        let place = path.to_string_lossy().replace('\\', "/");
        if PLACES.iter().any(|writer| place.starts_with(writer)) {
            continue;
        }
        for (line, code) in code(&text) {
            let code =
                code.replace("out.stdout()", "").replace("out.stderr()", "").replace("use_stderr()", "");
            if MARKS.iter().any(|mark| code.contains(mark)) {
                wrong.push(format!("src/{place}:{line}: print through `cli::Output`"));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// A task that nobody watches could panic and leave a replica that leads and does nothing. A connection of the
/// secure port may end at any time.
#[test]
fn only_the_supervisor_starts_tasks_and_threads() {
    const MARKS: [&str; 6] =
        ["tokio::spawn(", "spawn_blocking(", "thread::spawn(", "thread::Builder", "JoinSet", "spawn_local("];
    const PLACES: [&str; 2] = ["cluster/process/supervisor.rs", "cluster/port/serve.rs"];
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        let place = path.to_string_lossy().replace('\\', "/");
        if !place.starts_with("cluster/") || PLACES.contains(&place.as_str()) {
            continue;
        }
        for (line, code) in code(&text) {
            if MARKS.iter().any(|mark| code.contains(mark)) {
                wrong.push(format!("src/{place}:{line}: start it with `Supervisor::spawn`"));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// `bayplan ui` only reads: its connection refuses to send anything but GET, and its files use nothing that writes.
#[test]
fn what_follows_a_cluster_for_the_page_has_no_code_that_writes() {
    const MARKS: [&str; 5] = ["crate::writes", "with_body", "_PATCH", "Method::PATCH", "Method::PUT"];
    let of_page = |path: &Path| path.starts_with("cluster/viewer") || path.starts_with("cli/ui");
    let files: Vec<_> = sources().into_iter().filter(|(path, _)| of_page(path)).collect();
    assert!(files.len() > 5, "the files are not where this test looks for them");
    for (path, text) in &files {
        for (line, code) in code(text) {
            let used = MARKS.iter().find(|mark| code.contains(**mark));
            assert!(used.is_none(), "src/{}:{line}: {used:?} writes to the cluster", path.display());
        }
    }
    let connects: Vec<&str> = files
        .iter()
        .flat_map(|(_, text)| code(text))
        .filter(|(_, line)| line.contains("Api::new("))
        .map(|(_, line)| line.trim())
        .collect();
    assert_eq!(connects.len(), 1, "{connects:?}");
    let (_, follower) = files.iter().find(|(path, _)| path.ends_with("follower.rs")).unwrap();
    assert!(follower.contains("api.only_reading()"));
}

#[test]
fn outside_crates_stay_in_their_rooms() {
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        let place = path.to_string_lossy().replace('\\', "/");
        for (line, code) in code(&text) {
            for (name, rooms) in CRATES.iter().filter(|(name, _)| code.contains(name)) {
                let marks = [
                    format!("use {name}::"),
                    format!(" {name}::"),
                    format!("({name}::"),
                    format!("<{name}::"),
                ];
                let used = marks.iter().any(|mark| code.contains(mark.as_str()));
                let allowed = rooms.iter().any(|room| place.starts_with(room)) || place == "main.rs";
                if used && !allowed && !code.contains(&format!("crate::{name}")) {
                    wrong.push(format!("src/{place}:{line}: `{name}` is used in {} only", rooms.join(", ")));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn every_file_says_what_lives_in_it_and_stays_small() {
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        let place = path.display();
        if !text.starts_with("//!") {
            wrong.push(format!(
                "src/{place}: starts with `//!`: what lives here, who calls it, what does not"
            ));
        }
        let lines = text.lines().count();
        if lines > CEILING && !text.lines().take(15).any(|line| line.contains("Why so long:")) {
            wrong.push(format!(
                "src/{place}: {lines} lines; more than {CEILING} want a reason (`Why so long:`)"
            ));
        }
        if text.contains(concat!("TO", "DO")) || text.contains(concat!("FIX", "ME")) {
            wrong.push(format!("src/{place}: holds an open end"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn pure_rooms_forbid_clocks_files_and_shared_state() {
    for room in ROOMS.iter().filter(|room| !matches!(**room, "dry_run" | "explain" | "cluster" | "cli")) {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(room).join("lib.rs");
        let text = fs::read_to_string(&file).unwrap();
        assert!(
            text.contains("#![deny(clippy::disallowed_methods, clippy::disallowed_types)]"),
            "{} lacks `#![deny(clippy::disallowed_methods, clippy::disallowed_types)]`",
            file.display()
        );
    }
}

#[test]
fn rooms_are_declared_in_the_order_of_dependency() {
    let lib = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs")).unwrap();
    let declared: Vec<&str> = lib
        .lines()
        .filter_map(|line| match line.split_once(" as ") {
            Some((start, name)) => start.starts_with("pub use ").then_some(name),
            None => line.strip_prefix("pub mod "),
        })
        .map(|rest| rest.trim_end_matches([';', ' ', '{']))
        .filter(|name| *name != "testing")
        .collect();
    let expected: Vec<&str> = ROOMS.iter().copied().filter(|room| !room.contains('/')).collect();
    assert_eq!(declared, expected);
}

/// The identifiers of a piece of code.
fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// The kind and name of the item that a line declares public.
fn public_item(line: &str) -> Option<(&str, &str)> {
    let mut rest = line.trim_start().strip_prefix("pub ")?;
    for word in ["const ", "unsafe ", "async "] {
        let after = rest.strip_prefix(word).filter(|after| after.starts_with("fn ") || word != "const ");
        rest = after.unwrap_or(rest);
    }
    let (kind, rest) = rest.split_once(' ')?;
    let kinds = ["fn", "struct", "enum", "trait", "type", "static", "const", "mod"];
    let name = words(rest).next().filter(|name| rest.starts_with(name))?;
    kinds.contains(&kind).then_some((kind, name))
}

/// The identifiers in what a file promises to other crates: signatures, fields, variants, and what implementations of
/// traits name. Types among them are public because of these, named elsewhere or not.
fn promised(text: &str, promised: &mut BTreeSet<String>) {
    let lines: Vec<&str> = code(text).map(|(_, line)| line).collect();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let indented = line.len() - line.trim_start().len();
        let start = line.trim_start();
        let item = public_item(line);
        let whole = item.is_some_and(|(kind, _)| matches!(kind, "enum" | "trait"));
        let begins = start.starts_with("pub ") && !start.starts_with("pub use ");
        if begins || start.starts_with("type ") || start.starts_with("impl") {
            let own = item.filter(|(kind, _)| *kind != "fn").map(|(_, name)| name);
            loop {
                let Some(line) = lines.get(at) else { return };
                promised.extend(words(line).filter(|word| Some(*word) != own).map(str::to_owned));
                let last = line.trim_end();
                let closed = last.len() - last.trim_start().len() == indented && last.ends_with('}');
                let ends: &[char] = if item.is_none() { &['{', ';', ','] } else { &['{', ';'] };
                if closed || !whole && last.ends_with(ends) {
                    break;
                }
                at += 1;
            }
        }
        at += 1;
    }
}

/// In a crate, `pub` means that another crate names the item. The compiler finds what nobody uses only among the rest.
#[test]
fn what_a_crate_makes_public_is_named_by_another_crate() {
    let folders = ["src", "tests", "benches", "fuzz/fuzz_targets"].map(files_below);
    let [sources, tests, benches, fuzzers] = &folders;
    // By whom a word is named: a bit for each room, and one for all that is in none.
    let bit = |room: Option<&str>| {
        let at = ROOMS.iter().position(|of| Some(*of) == room);
        1_u64 << at.unwrap_or(ROOMS.len())
    };
    let inside = sources.iter().map(|(path, text)| (bit(room_of(path)), text));
    let outside = tests.iter().chain(benches).chain(fuzzers).map(|(_, text)| (bit(None), text));
    let mut named: HashMap<&str, u64> = HashMap::new();
    for (by, text) in inside.chain(outside) {
        let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        lines.flat_map(words).for_each(|word| *named.entry(word).or_default() |= by);
    }
    let mut wrong = Vec::new();
    for room in ROOMS.iter().filter(|room| is_crate(room)) {
        let own: Vec<_> = sources.iter().filter(|(path, _)| room_of(path) == Some(*room)).collect();
        let is_named = |name: &str| named.get(name).is_some_and(|by| by & !bit(Some(room)) != 0);
        let mut seen = BTreeSet::new();
        own.iter().for_each(|(_, text)| promised(text, &mut seen));
        for (path, text) in &own {
            for (line, code) in code(text) {
                let Some((kind, name)) = public_item(code) else { continue };
                let is_type = matches!(kind, "struct" | "enum" | "trait" | "type");
                if !(is_named(name) || is_type && seen.contains(name)) {
                    wrong.push(format!(
                        "src/{}:{line}: no other crate names the {kind} `{name}`: make it `pub(crate)`",
                        path.display()
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// The stages of `lang`, in the order in which a text goes through them.
const STAGES: &[&str] = &[
    "types",
    "language",
    "syntax",
    "typed",
    "eval",
    "check",
    "analysis",
    "lint",
    "codegen",
    "policy_set",
    "cel",
];

#[test]
fn no_stage_of_the_language_uses_a_later_one() {
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        let place = path.to_string_lossy().replace('\\', "/");
        let Some(stage) = place.strip_prefix("lang/").and_then(|rest| rest.split(['/', '.']).next()) else {
            continue;
        };
        let Some(own) = STAGES.iter().position(|name| *name == stage) else { continue };
        for (line, code) in code(&text) {
            for used in words_after(code, "crate::") {
                let later = STAGES.iter().position(|name| *name == used).is_some_and(|at| at > own);
                if later {
                    wrong.push(format!("src/{place}:{line}: `{stage}` must not use `{used}`"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// What code wants to know of a function, macro or field is a property of its row.
#[test]
fn no_code_compares_the_name_of_a_row() {
    const COMPARED: [&str; 4] = ["def().name ==", "def().name !=", "def().name)", "def().name {"];
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        for (line, code) in code(&text) {
            let compares = COMPARED.iter().any(|mark| code.contains(mark))
                && ["==", "!=", "match", "contains(&"].iter().any(|mark| code.contains(mark));
            if compares || code.contains("matches!(") && code.contains("def().name,") {
                wrong.push(format!("src/{}:{line}: {}", path.display(), code.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Plugins state their remedies themselves: a new plugin needs no change in `explain`.
#[test]
fn explain_names_no_plugin() {
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        if !path.starts_with("explain") {
            continue;
        }
        for (line, code) in code(&text) {
            for plugin in bayplan::plugins::IN_TREE {
                if code.contains(plugin.name) {
                    wrong.push(format!("src/{}:{line}: names {}", path.display(), plugin.name));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
