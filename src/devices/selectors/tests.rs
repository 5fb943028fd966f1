//! Selectors against texts and costs of cel-go.

use super::*;
use bayplan_model::{KubernetesVersion, ResourceSlice, Typed};

fn slice(driver: &str, device: &serde_json::Value) -> Arc<ResourceSlice> {
    let written = serde_json::json!({
        "metadata": {"name": "s"},
        "spec": {"driver": driver, "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1}, "devices": [device]},
    });
    let written: <ResourceSlice as Typed>::Slim = serde_json::from_value(written).unwrap();
    Arc::new(ResourceSlice::from_object(&written).unwrap())
}

fn said(
    version: KubernetesVersion,
    device: &serde_json::Value,
    expression: &str,
) -> Result<bool, SelectError> {
    let (selectors, slice) = (DeviceSelectors::new(VersionRows::of(version)), slice("d.ex", device));
    let device = DeviceOf::new(&slice, 0).unwrap();
    let first = selectors.selects(&expression.into(), &device);
    assert_eq!(selectors.selects(&expression.into(), &device), first, "{expression}");
    first
}

fn run(why: &str) -> Result<bool, SelectError> {
    Err(SelectError::Run(why.to_owned()))
}

/// Source: worked cases 35 and 36 of devices, recorded with `tests/conformance/generator -cel-devices`.
#[test]
fn lists_are_values_in_1_37() {
    let device = serde_json::json!({"name": "d", "attributes": {"l": {"ints": [1, 2]}}});
    let (older, newer) = (KubernetesVersion::V1_36, KubernetesVersion::V1_37);
    let exists = "device.attributes['d.ex'].l.exists(v, v == 1)";
    assert!(matches!(said(older, &device, exists), Err(SelectError::Compile(_))));
    assert_eq!(said(newer, &device, exists), Ok(true));
    assert_eq!(said(older, &device, "true"), run("attribute l: unsupported attribute value"));
    assert_eq!(said(newer, &device, "true"), Ok(true));
    let refused = "must evaluate to bool or the unknown type, not dyn".to_owned();
    assert_eq!(said(older, &device, "dyn(true)"), Err(SelectError::Compile(refused)));
    assert_eq!(said(newer, &device, "dyn(true)"), Ok(true));
}

#[test]
fn errors_have_the_texts_of_upstream() {
    let device = serde_json::json!({"name": "d", "attributes": {"n": {"int": 1}}});
    for version in KubernetesVersion::ALL {
        let said = |expression| said(version, &device, expression);
        assert_eq!(said("device.attributes['d.ex'].model == 'x'"), run("no such key: model"));
        assert_eq!(said("device.capacity['d.ex'].memory.isInteger()"), run("no such key: memory"));
        let why = "CEL result of type int could not be converted to bool: unsupported type conversion from 'int' to bool";
        assert_eq!(said("device.attributes['d.ex'].n"), run(why));
        let costly = "lists.range(500).all(a, lists.range(500).all(b, a + b >= 0)) || true";
        assert_eq!(said(costly), run("operation cancelled: actual cost limit exceeded"));
        assert_eq!(said("lists.range(300).all(a, lists.range(300).all(b, a + b >= 0))"), Ok(true));
        let why = "compilation failed: ERROR: <input>:1:1: undeclared reference to 'dev' (in container '')\n | dev.a\n | ^";
        assert_eq!(said("dev.a"), Err(SelectError::Compile(why.to_owned())));
        let why =
            "compilation failed: ERROR: <input>:1:7: undefined field 'nope'\n | device.nope\n | ......^";
        assert_eq!(said("device.nope"), Err(SelectError::Compile(why.to_owned())));
    }
    let bad = serde_json::json!({"name": "d", "attributes": {"v": {"version": "v1.2.3"}}});
    let why = "attribute v: parse semantic version: Invalid character(s) found in major number \"v1\"";
    assert_eq!(said(KubernetesVersion::V1_37, &bad, "true"), run(why));
}

#[test]
fn a_macro_over_one_value_has_the_texts_of_upstream() {
    let device = serde_json::json!({"name": "d", "attributes": {
        "n": {"int": 1}, "t": {"string": "a"}, "b": {"bool": true}, "v": {"version": "1.2.3"},
    }});
    let (older, newer) = (KubernetesVersion::V1_36, KubernetesVersion::V1_37);
    let types = [("n", "types.Int"), ("t", "types.String"), ("b", "types.Bool"), ("v", "cel.Semver")];
    for (name, ty) in types {
        let expression = format!("device.attributes[\"d.ex\"].{name}.exists(v, v == 1)");
        let dots = ".".repeat(25);
        let why = format!(
            "compilation failed: ERROR: <input>:1:26: expression of type 'any' cannot be range of a comprehension (must be \
             list, map, or dynamic)\n | {expression}\n | {dots}^"
        );
        assert_eq!(said(older, &device, &expression), Err(SelectError::Compile(why)));
        assert_eq!(said(newer, &device, &expression), run(&format!("got '{ty}', expected iterable type")));
    }
}

#[test]
fn scores_do_not_see_that_claims_share_a_device() {
    let slice = slice("d.ex", &serde_json::json!({"name": "d", "allowMultipleAllocations": true}));
    let device = DeviceOf::new(&slice, 0).unwrap();
    let rows = VersionRows::of(KubernetesVersion::V1_37);
    let expression: Arc<str> = "device.allowMultipleAllocations".into();
    assert_eq!(DeviceSelectors::new(rows).selects(&expression, &device), Ok(true));
    assert_eq!(DeviceSelectors::of_scores(rows).selects(&expression, &device), Ok(false));
}

/// What each part of an expression costs: recorded with `tests/conformance/generator -cel-devices`.
#[test]
fn costs_are_those_of_cel_go() {
    let device = serde_json::json!({"name": "d"});
    let slice = slice("dra.example.com", &device);
    let cost = |version, expression: &str| {
        let selectors = DeviceSelectors::new(VersionRows::of(version));
        let value = convert::device(&slice.pool.driver, &slice.devices[0], true, true).unwrap();
        match &*selectors.selector(&expression.into()).1 {
            Selector::Program(program) => program.cost(value),
            Selector::Refused(why) => panic!("{why}"),
        }
    };
    let rows = [
        ("device.driver == 'x'", 3, 3),
        ("device.driver.startsWith('d')", 4, 3),
        ("matches(device.driver, 'a+b+c+d+e+f')", 3, 8),
        ("device.driver in [device.driver, 'b', 'c']", 17, 17),
        ("lists.range(60).includes(3)", 72, 131),
        ("[1, 2, 3].all(x, x > 1)", 8, 8),
        ("[1, 2, 3].exists(x, x > 1)", 16, 16),
        ("[1, 2, 3].map(x, x > 1, x + 1).size() == 3", 37, 37),
        ("[1, 2, 3].transformMap(i, x, i + x).size() == 3", 21, 21),
        ("cel.bind(x, device.driver, x == x)", 6, 6),
        ("has(device.driver)", 1, 1),
    ];
    for (expression, older, newer) in rows {
        assert_eq!(cost(KubernetesVersion::V1_36, expression), older, "{expression}");
        assert_eq!(cost(KubernetesVersion::V1_37, expression), newer, "{expression}");
    }
}
