//! Every command reads policies that are written as documents, as files and in ConfigMaps.

use crate::support::command::{Ended, bayplan, folder};
use crate::support::repository;
use bayplan::diag::SourceMap;
use serde_json::Value;
use std::path::Path;

const CLUSTER: &str = "examples/first/cluster.yaml";

/// The document of the example, alone and in a labelled ConfigMap.
fn forms() -> Vec<String> {
    let document = std::fs::read_to_string(repository("examples/cel/gpu.yaml")).unwrap();
    let document = document.replace("gpu-placement-cel", "gpu-placement");
    let lines = document.lines().map(|line| format!("    {line}\n")).collect::<String>();
    let map = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: rules, labels: {{bayplan.dev/policy: \"\"}}}}\ndata:\n  \
         gpu.yaml: |\n{lines}"
    );
    vec![document, map]
}

#[test]
fn decisions_are_those_of_the_policy_language() {
    let decisions = |policies: &str| {
        let Ended { status, out, err } =
            bayplan(&["dry-run", "--cluster", CLUSTER, "--policies", policies, "-o", "json"]);
        assert_eq!(status, 0, "{err}");
        serde_json::from_str::<Value>(&out).unwrap()
    };
    let language = decisions("examples/first/gpu.bay");
    for text in &forms() {
        let folder = folder(&[("gpu.yaml", text)]);
        assert_eq!(decisions(folder.to_str().unwrap()), language, "{text}");
    }
}

#[test]
fn the_tests_of_the_policy_pass_with_the_document() {
    let tests = std::fs::read_to_string(repository("examples/first/gpu.test.yaml")).unwrap();
    let cluster = std::fs::read_to_string(repository(CLUSTER)).unwrap();
    for text in &forms() {
        let tests = tests.replace("gpu.bay", "gpu.yaml");
        let files = [("gpu.yaml", text.as_str()), ("gpu.test.yaml", &tests), ("cluster.yaml", &cluster)];
        let folder = folder(&files);
        let Ended { status, out, err } = bayplan(&["test", folder.to_str().unwrap()]);
        assert_eq!(status, 0, "{out}{err}");
    }
}

#[test]
fn plan_and_explain_name_places_of_the_document() {
    for text in &forms() {
        let folder = folder(&[("gpu.yaml", text)]);
        let policies = folder.to_str().unwrap();
        let Ended { status, out, err } = bayplan(&["plan", policies]);
        assert!(status == 0 && out.contains("not-avoided"), "{out}{err}");
        let Ended { out, err, .. } =
            bayplan(&["explain", "train-c", "--cluster", CLUSTER, "--policies", policies]);
        let line = text.lines().position(|line| line.contains("reject: node(s)")).unwrap() + 1;
        assert!(out.contains(&format!("gpu.yaml:{line}")), "{out}{err}");
        // The exception is an item of `exceptions`.
        assert!(out.contains("except this pod from gpu-placement"), "{out}");
    }
}

#[test]
fn lint_fixes_documents_in_place() {
    for text in &forms() {
        let broken = text.replace("params.resource] > 0", "resource] > 0").replace("weight: 3", "wieght: 3");
        let folder = folder(&[("gpu.yaml", &broken)]);
        let Ended { status, out, err } = bayplan(&["lint", "--fix", folder.to_str().unwrap()]);
        assert_eq!(status, 0, "{out}{err}");
        assert_eq!(&std::fs::read_to_string(folder.join("gpu.yaml")).unwrap(), text);
    }
}

#[test]
fn policies_of_one_name_exclude_each_other_across_both_languages() {
    let forms = forms();
    let language = std::fs::read_to_string(repository("examples/first/gpu.bay")).unwrap();
    let folder = folder(&[("a.bay", &language), ("b.yaml", &forms[0]), ("c.yaml", &forms[1])]);
    let Ended { status, out, .. } = bayplan(&["lint", folder.to_str().unwrap(), "--format", "json"]);
    let report: Value = serde_json::from_str(&out).unwrap();
    let codes: Vec<&str> =
        report["diagnostics"].as_array().unwrap().iter().map(|said| said["code"].as_str().unwrap()).collect();
    assert_eq!((status, codes), (1, vec!["BP0209", "BP0209"]));
}

#[test]
fn yaml_of_other_kinds_is_not_a_policy() {
    let folder = folder(&[("pod.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n")]);
    let Ended { status, err, .. } = bayplan(&["lint", folder.to_str().unwrap()]);
    assert!(status == 2 && err.contains("no policies in"), "{err}");
    let Ended { out, err, .. } =
        bayplan(&["dry-run", "--cluster", CLUSTER, "--cluster", "examples/cel/gpu.yaml"]);
    assert!(!format!("{out}{err}").contains("SchedulingPolicy"), "{out}{err}");
}

/// Whether a value fits a schema, of the keywords that `bayplan schema` uses.
fn fits(value: &Value, schema: &Value, root: &Value) -> Result<(), String> {
    let wrong = |what: &str| Err(format!("{what}: {value} against {schema}"));
    for (keyword, rule) in schema.as_object().unwrap() {
        let ok = match keyword.as_str() {
            "$schema" | "$defs" | "title" | "description" => true,
            "$ref" => {
                let path = rule.as_str().unwrap().trim_start_matches('#');
                fits(value, root.pointer(path).unwrap(), root)?;
                true
            }
            "type" => {
                let types = rule.as_array().cloned().unwrap_or_else(|| vec![rule.clone()]);
                types.iter().any(|name| match name.as_str().unwrap() {
                    "object" => value.is_object(),
                    "array" => value.is_array(),
                    "string" => value.is_string(),
                    "boolean" => value.is_boolean(),
                    "integer" => value.is_i64(),
                    "number" => value.is_number(),
                    "null" => value.is_null(),
                    other => panic!("type {other}"),
                })
            }
            "enum" => rule.as_array().unwrap().contains(value),
            "pattern" => {
                regex::Regex::new(rule.as_str().unwrap()).unwrap().is_match(value.as_str().unwrap_or("?"))
            }
            "minimum" => value.as_f64().is_none_or(|number| number >= rule.as_f64().unwrap()),
            "maximum" => value.as_f64().is_none_or(|number| number <= rule.as_f64().unwrap()),
            "minProperties" => value.as_object().is_none_or(|of| of.len() as u64 >= rule.as_u64().unwrap()),
            "required" => {
                rule.as_array().unwrap().iter().all(|name| value.get(name.as_str().unwrap()).is_some())
            }
            "items" => {
                for item in value.as_array().into_iter().flatten() {
                    fits(item, rule, root)?;
                }
                true
            }
            "properties" => {
                for (name, rule) in rule.as_object().unwrap() {
                    if let Some(value) = value.get(name) {
                        fits(value, rule, root)?;
                    }
                }
                true
            }
            "additionalProperties" => {
                let known = schema.get("properties").and_then(Value::as_object);
                for (name, value) in value.as_object().into_iter().flatten() {
                    let known = known.is_some_and(|known| known.contains_key(name));
                    if !known && rule == &Value::Bool(false) {
                        return wrong(name);
                    } else if !known {
                        fits(value, rule, root)?;
                    }
                }
                true
            }
            "anyOf" => rule.as_array().unwrap().iter().any(|rule| fits(value, rule, root).is_ok()),
            "oneOf" => {
                rule.as_array().unwrap().iter().filter(|rule| fits(value, rule, root).is_ok()).count() == 1
            }
            "not" => fits(value, rule, root).is_err(),
            other => panic!("keyword {other}"),
        };
        if !ok {
            return wrong(keyword);
        }
    }
    Ok(())
}

fn documents(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    bayplan::yaml::values(&text, false).unwrap()
}

/// Every limit of a number in the schema is that of the compiler: the ends are taken, what is beyond them is not.
#[test]
fn the_limits_of_the_schema_are_those_of_the_compiler() {
    let Ended { out, .. } = bayplan(&["schema"]);
    let schema: Value = serde_json::from_str(&out).unwrap();
    let score = |weight: i64| {
        format!(
            "{{name: p}}\nspec:\n  scores:\n  - {{name: s, weight: {weight}, expression: \"node.ready ? 100 : 0\"}}\n"
        )
    };
    let prefer =
        |weight: i64| format!("{{name: p}}\nspec:\n  prefer:\n  - {{weight: {weight}, when: node.ready}}\n");
    let version = |version: i64| {
        format!(
            "{{name: p}}\nspec:\n  version: {version}\n  filters:\n  - {{name: f, expression: node.ready, reason: no}}\n"
        )
    };
    let fields: [(&str, &dyn Fn(i64) -> String); 3] = [
        ("/$defs/score/properties/weight", &score),
        ("/$defs/preference/properties/weight", &prefer),
        ("/$defs/spec/properties/version", &version),
    ];
    for (at, document) in fields {
        let field = schema.pointer(at).unwrap_or_else(|| panic!("{at}: {schema:#}"));
        let (least, most) = (field["minimum"].as_i64().unwrap(), field["maximum"].as_i64().unwrap());
        for (value, right) in
            [(least - 1, false), (least, true), (most, true), (most + 1, false), (-1, false)]
        {
            let text = format!(
                "# A.\napiVersion: bayplan.dev/v1\nkind: SchedulingPolicy\nmetadata: {}",
                document(value)
            );
            let values = bayplan::yaml::values(&text, false).unwrap();
            assert_eq!(fits(&values[0], &schema, &schema).is_ok(), right, "{at} {value}");
            let mut sources = SourceMap::new();
            let id = sources.add("p.yaml", text);
            let (_, said) = bayplan::lang::compile(sources.get(id).unwrap());
            assert_eq!(!said.iter().any(|said| said.is_error()), right, "{at} {value}: {said:?}");
        }
    }
}

#[test]
fn the_schema_takes_good_documents_and_refuses_those_of_a_wrong_shape() {
    let Ended { status, out, .. } = bayplan(&["schema"]);
    assert_eq!(status, 0);
    let schema: Value = serde_json::from_str(&out).unwrap();
    for name in [
        "tests/lang/documents/twins/everything.yaml",
        "tests/lang/documents/twins/proved.yaml",
        "examples/cel/gpu.yaml",
    ] {
        for document in documents(&repository(name)) {
            fits(&document, &schema, &schema).unwrap();
        }
    }
    // The reader and the schema agree on every broken document: both read the same table.
    let mut refused = 0;
    for entry in std::fs::read_dir(repository("tests/lang/documents/broken")).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        // Only the reader of documents has a limit of depth.
        if path.ends_with("deep.yaml") {
            continue;
        }
        let Ok(values) = bayplan::yaml::values(&text, false) else { continue };
        let [document] = &values[..] else { continue };
        if path.extension().is_none_or(|ending| ending != "yaml") || !document.is_object() {
            continue;
        }
        let mut sources = SourceMap::new();
        let id = sources.add("p.yaml", text);
        let (_, said) = bayplan::lang::compile(sources.get(id).unwrap());
        let shape = said.iter().any(|said| said.code.id == "BP0506" || said.code.id == "BP0901");
        // What only the reader sees: a text that is empty, a type or an end of a range that cannot be read. Of a number
        // beyond its limits the reader mentions the limits.
        let inside = ["empty-expressions", "params", "language-version"]
            .iter()
            .any(|name| path.ends_with(format!("{name}.yaml")));
        if !inside {
            assert_eq!(fits(document, &schema, &schema).is_err(), shape, "{}: {said:?}", path.display());
        }
        refused += usize::from(shape);
    }
    assert!(refused >= 20, "{refused}");
}
