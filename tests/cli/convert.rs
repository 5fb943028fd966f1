//! `bayplan convert` on files and ConfigMaps: what it writes, and that it writes nothing where a part has no twin.

use crate::support::repository;
use std::path::{Path, PathBuf};
use std::process::Command;

const GOOD: &str = "/// Keeps pods off broken nodes.\npolicy healthy {\n  filter ready {\n    require node.ready else \"not ready\"\n  }\n}\n";
const NONE: &str =
    "/// A.\npolicy other { score s normalize minmax { give pod.priority * 10000000000 * 10000000000 } }\n";

fn bayplan(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output =
        Command::new(env!("CARGO_BIN_EXE_bayplan")).args(arguments).current_dir(folder).output().unwrap();
    let [out, err] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    (output.status.code().expect("no signal"), out, err)
}

fn folder(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("bayplan-convert-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    for (name, text) in files {
        std::fs::write(folder.join(name), text).unwrap();
    }
    folder
}

#[test]
fn a_file_is_converted_there_and_back() {
    let at = folder("file", &[("a.bay", GOOD)]);
    let (status, shown, err) = bayplan(&at, &["convert", "a.bay"]);
    assert_eq!(status, 0, "{err}");
    let (status, out, _) = bayplan(&at, &["convert", "--write", "a.bay"]);
    assert_eq!((status, out.as_str()), (0, "wrote a.yaml\n"));
    assert_eq!(std::fs::read_to_string(at.join("a.yaml")).unwrap(), shown);
    let (status, back, _) = bayplan(&at, &["convert", "a.yaml"]);
    assert_eq!((status, back.as_str()), (0, GOOD));
    let (status, _, err) = bayplan(&at, &["convert", "--write", "a.yaml"]);
    assert!(status == 2 && err.contains("a.bay exists already"), "{err}");
}

#[test]
fn nothing_is_written_where_a_part_has_no_twin() {
    let at = folder("none", &[("a.bay", GOOD), ("b.bay", NONE)]);
    for arguments in [["convert", "--write", "."], ["convert", "--check", "."]] {
        let (status, out, err) = bayplan(&at, &arguments);
        assert!(status == 1 && out.contains("BP0507") && out.contains("b.bay:2"), "{out}{err}");
    }
    assert!(!at.join("a.yaml").exists());
    let (status, out, _) = bayplan(&at, &["convert", "--check", "a.bay"]);
    assert_eq!((status, out.as_str()), (0, "1 text can be converted\n"));
    let at = folder("mistake", &[("a.bay", &GOOD.replace("node.", "nod."))]);
    assert_eq!(bayplan(&at, &["convert", "a.bay"]).0, 2);
}

#[test]
fn the_keys_of_config_maps_are_converted_in_place() {
    let head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: rules, labels: {bayplan.dev/policy: \"true\"}}\ndata:\n";
    let lines = GOOD.lines().map(|line| format!("    {line}\n")).collect::<String>();
    let map = format!(
        "{head}  other: stays\n  a.bay: |\n{lines}  last: too # here\n---\nkind: Pod\nmetadata: {{name: x}}\n"
    );
    let json = serde_json::json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "more", "labels": {"bayplan.dev/policy": "true"}},
        "data": {"b.bay": GOOD.replace("healthy", "more")},
    });
    let at = folder("maps", &[("map.yaml", &map), ("more.json", &json.to_string())]);
    for ending in [".yaml", ".bay"] {
        let (status, out, err) = bayplan(&at, &["convert", "--write", "map.yaml", "more.json"]);
        assert_eq!(status, 0, "{out}{err}");
        let written = std::fs::read_to_string(at.join("map.yaml")).unwrap();
        assert!(written.contains(&format!("  other: stays\n  a{ending}: |\n    ")), "{written}");
        assert!(written.contains("\n  last: too # here\n---\nkind: Pod\n"), "{written}");
        let (status, out, _) = bayplan(&at, &["lint", "map.yaml", "more.json"]);
        assert_eq!((status, out.as_str()), (0, "2 policies in 2 files: nothing to say.\n"), "{written}");
    }
    assert_eq!(std::fs::read_to_string(at.join("map.yaml")).unwrap(), map);
}

#[test]
fn the_included_policies_that_are_converted_decide_alike() {
    let root = repository("");
    let document = bayplan(&root, &["convert", "examples/first/gpu.bay"]);
    assert_eq!(document.0, 0, "{}{}", document.1, document.2);
    let at = folder("decide", &[("gpu.yaml", &document.1)]);
    let decisions = |policies: &str| {
        let arguments =
            ["dry-run", "--cluster", "examples/first/cluster.yaml", "--policies", policies, "-o", "json"];
        bayplan(&root, &arguments)
    };
    assert_eq!(decisions(at.to_str().unwrap()), decisions("examples/first/gpu.bay"));
}
