//! Equality, order and hash of values: a table that was written by hand, and what must hold of all
//! values.

use bayplan::lang::types::value::ExactQuantity;
use bayplan::lang::types::value::{Ordered, Resources, Str, Value};
use bayplan::model::{Container, Effect, NodeId, Resource, Symbol, Taint, Time};
use rustc_hash::FxHasher;
use serde_json::json;
use std::cmp::Ordering::{self, Equal, Greater, Less};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

fn hash(value: &Value<'_>) -> u64 {
    let mut hasher = FxHasher::default();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Something that lives as long as the test.
fn leak<T>(of: T) -> &'static T {
    Box::leak(Box::new(of))
}

fn text(text: &'static str) -> Value<'static> {
    Value::text(text)
}

fn list(items: &[Value<'static>]) -> Value<'static> {
    Value::list(items.iter().cloned())
}

fn map(entries: &[(&'static str, Value<'static>)]) -> Value<'static> {
    Value::map(entries.iter().map(|(key, value)| (text(key), value.clone())))
}

fn record(fields: &[Value<'static>]) -> Value<'static> {
    Value::Record(fields.into())
}

fn some(held: Value<'static>) -> Value<'static> {
    Value::Optional(Some(Arc::new(held)))
}

fn json_value(value: serde_json::Value) -> Value<'static> {
    Value::Json(leak(value))
}

fn amounts(cpu: i64, scalars: &[(&str, i64)]) -> Resource {
    let mut resource = Resource { milli_cpu: cpu, ..Resource::default() };
    for (name, amount) in scalars {
        resource.set_scalar(Symbol::new(name), *amount);
    }
    resource
}

fn resources(cpu: i64, scalars: &[(&str, i64)]) -> Value<'static> {
    Value::resources(amounts(cpu, scalars))
}

fn container(image: &str, requests: Resource) -> Value<'static> {
    Value::Container(leak(Container {
        name: Symbol::new("main"),
        image: Symbol::new(image),
        requests,
        limits: Resource::default(),
        init: false,
        sidecar: false,
    }))
}

fn taint(value: &str) -> Value<'static> {
    Value::Taint(leak(Taint { key: Symbol::new("k"), value: Symbol::new(value), effect: Effect::NoSchedule }))
}

fn quantity(text: &str) -> Value<'static> {
    Value::Quantity(Arc::new(ExactQuantity::parse(text).unwrap()))
}

fn pod(uid: &str, priority: i32) -> Value<'static> {
    let object =
        json!({"metadata": {"name": "p", "namespace": "n", "uid": uid}, "spec": {"priority": priority}});
    Value::Pod(leak(bayplan::model::PodInfo::from_value(Arc::new(object)).unwrap()))
}

/// Two values, whether `==` holds, how they are ordered, and whether they have one hash. Values
/// that differ may have one hash too, as `1` and `true` do.
type Row = (Value<'static>, Value<'static>, bool, Ordering, bool);

fn table() -> Vec<Row> {
    use Value::{Absent, Bool, Float, Int, Null, Uint};
    const BIG: i64 = 9_007_199_254_740_993; // 2^53 + 1, which no float is
    vec![
        // Absent values equal nothing and sort first.
        (Absent, Absent, false, Equal, true),
        (Absent, Null, false, Less, false),
        (Absent, Bool(false), false, Less, false),
        (Absent, Int(i64::MIN), false, Less, false),
        (Null, Null, true, Equal, true),
        (Null, Bool(false), false, Less, false),
        (Bool(false), Bool(true), false, Less, false),
        // Numbers compare by amount.
        (Int(1), Int(1), true, Equal, true),
        (Int(1), Int(2), false, Less, false),
        (Int(1), Float(1.0), true, Equal, true),
        (Int(1), Uint(1), true, Equal, true),
        (Uint(1), Float(1.0), true, Equal, true),
        (Int(-1), Uint(u64::MAX), false, Less, false),
        (Int(i64::MAX), Uint(u64::MAX), false, Less, false),
        (Int(1), Float(1.5), false, Less, false),
        (Int(2), Float(1.5), false, Greater, false),
        (Float(0.0), Float(-0.0), true, Equal, true),
        (Int(0), Float(-0.0), true, Equal, true),
        (Int(BIG), Float(BIG as f64), false, Greater, false),
        (Int(BIG - 1), Float((BIG - 1) as f64), true, Equal, true),
        (Int(i64::MAX), Float(i64::MAX as f64), false, Less, false),
        (Uint(u64::MAX), Float(u64::MAX as f64), false, Less, false),
        (Uint(1 << 63), Float(9_223_372_036_854_775_808.0), true, Equal, true),
        (Int(i64::MIN), Float(-9_223_372_036_854_775_808.0), true, Equal, true),
        (Float(f64::MAX), Uint(u64::MAX), false, Greater, false),
        (Int(1), text("1"), false, Less, false),
        (Int(1), Bool(true), false, Greater, true),
        // Durations are whole microseconds; instants are a kind of their own.
        (Int(60_000_000), Float(6e7), true, Equal, true),
        (Value::Time(Time(1)), Value::Time(Time(1)), true, Equal, true),
        (Value::Time(Time(1)), Value::Time(Time(2)), false, Less, false),
        (Value::Time(Time(1)), Int(1), false, Greater, true),
        // Texts in whatever form.
        (text("a"), Value::String(Str::Symbol(Symbol::new("a"))), true, Equal, true),
        (text("a"), Value::borrowed("a"), true, Equal, true),
        (text("a"), json_value(json!("a")), true, Equal, true),
        (text("a"), text("b"), false, Less, false),
        (text("a"), text("ab"), false, Less, false),
        (text("a"), Value::Blob(Arc::from(*b"a")), false, Less, false),
        // Lists by their first difference, and those that hold something absent equal nothing.
        (list(&[]), list(&[]), true, Equal, true),
        (list(&[Int(1)]), list(&[Float(1.0)]), true, Equal, true),
        (list(&[Int(1)]), list(&[Int(1), Int(0)]), false, Less, false),
        (list(&[Int(2)]), list(&[Int(1), Int(0)]), false, Greater, false),
        (list(&[Absent]), list(&[Absent]), false, Equal, true),
        (list(&[list(&[Absent])]), list(&[list(&[Absent])]), false, Equal, true),
        (list(&[Int(1), text("a")]), json_value(json!([1, "a"])), true, Equal, true),
        (json_value(json!([null])), list(&[Absent]), false, Equal, true),
        // Maps in whatever form; a key decides before a value.
        (map(&[("a", Int(1))]), map(&[("a", Float(1.0))]), true, Equal, true),
        (map(&[("b", Int(1)), ("a", Int(2))]), map(&[("a", Int(2)), ("b", Int(1))]), true, Equal, true),
        (map(&[("a", Int(1))]), map(&[("a", Int(2))]), false, Less, false),
        (map(&[("a", Int(9))]), map(&[("b", Int(1))]), false, Less, false),
        (map(&[("a", Int(1))]), json_value(json!({"a": 1})), true, Equal, true),
        (map(&[("a", Absent)]), map(&[("a", Absent)]), false, Equal, true),
        (map(&[]), list(&[]), false, Greater, true),
        // Resources by what they hold: an amount of 0 is the same as none.
        (resources(1, &[("gpu", 0)]), resources(1, &[]), true, Equal, true),
        (resources(0, &[("gpu", 0)]), resources(0, &[]), true, Equal, true),
        (resources(1, &[("b", 2), ("a", 1)]), resources(1, &[("a", 1), ("b", 2)]), true, Equal, true),
        (resources(1, &[]), resources(2, &[]), false, Less, false),
        (resources(1, &[("gpu", 1)]), resources(1, &[]), false, Greater, false),
        (resources(1, &[]), map(&[("cpu", Int(1))]), false, Greater, false),
        (resources(1, &[]), Value::Resources(Resources::Borrowed(leak(amounts(1, &[])))), true, Equal, true),
        // Fields of records may be absent on both sides.
        (record(&[Int(1), Absent]), record(&[Int(1), Absent]), true, Equal, true),
        (record(&[Int(1), Absent]), record(&[Int(1), Int(0)]), false, Less, false),
        (record(&[Int(1)]), record(&[Float(1.0)]), true, Equal, true),
        // CEL's optionals.
        (Value::Optional(None), Value::Optional(None), true, Equal, true),
        (Value::Optional(None), some(Int(0)), false, Less, false),
        (some(Int(1)), some(Float(1.0)), true, Equal, true),
        (some(Int(1)), Int(1), false, Greater, false),
        // Objects of the cluster: pods, nodes and namespaces by identity, containers and taints by
        // content.
        (pod("1", 0), pod("1", 5), true, Equal, true),
        (pod("1", 0), pod("2", 0), false, Less, false),
        (Value::Node(NodeId::from_row(1)), Value::Node(NodeId::from_row(1)), true, Equal, true),
        (Value::Node(NodeId::from_row(1)), Value::Node(NodeId::from_row(2)), false, Less, false),
        (container("a", amounts(1, &[])), container("a", amounts(1, &[])), true, Equal, true),
        (container("a", amounts(1, &[])), container("b", amounts(1, &[])), false, Less, false),
        (container("a", amounts(1, &[])), container("a", amounts(2, &[])), false, Less, true),
        (taint("a"), taint("a"), true, Equal, true),
        (taint("a"), taint("b"), false, Less, false),
        // Quantities by amount.
        (quantity("1000m"), quantity("1"), true, Equal, true),
        (quantity("1Ki"), quantity("1k"), false, Greater, true),
        (Value::TypeName(Symbol::new("int")), Value::TypeName(Symbol::new("int")), true, Equal, true),
    ]
}

#[test]
fn values_are_equal_ordered_and_hashed_as_the_table_says() {
    let mut wrong = String::new();
    for (left, right, equal, order, one_hash) in table() {
        let got = (left.equals(&right), left.order(&right), hash(&left) == hash(&right));
        if got != (equal, order, one_hash) {
            wrong.push_str(&format!("{left} and {right}: {got:?}, not {:?}\n", (equal, order, one_hash)));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn what_a_rule_can_see_tells_equal_resources_apart() {
    use bayplan::lang::types::convert::keep_seen;
    let seen = |value: &Value<'_>| Ordered(keep_seen(value));
    let (named, without) = (resources(1, &[("gpu", 0)]), resources(1, &[]));
    assert!(named.equals(&without));
    assert_ne!(seen(&named), seen(&without));
    let one = std::slice::from_ref::<Value<'static>>;
    assert_ne!(seen(&list(one(&named))), seen(&list(one(&without))));
    assert_ne!(seen(&record(one(&named))), seen(&record(one(&without))));
    assert_eq!(seen(&named), seen(&named));
}

/// Random values, nested up to `depth`.
fn random_value(random: &mut crate::lang::properties::Random, depth: usize) -> Value<'static> {
    let below = if depth == 0 { 12 } else { 18 };
    let items = |random: &mut crate::lang::properties::Random| -> Vec<Value<'static>> {
        (0..random.below(3)).map(|_| random_value(random, depth - 1)).collect()
    };
    match random.below(below) {
        0 => Value::Absent,
        1 => Value::Null,
        2 => Value::Bool(random.one_in(2)),
        3 | 4 => Value::Int(random.of(&[0, 1, -1, 1 << 53, (1 << 53) + 1, i64::MAX, i64::MIN])),
        5 => Value::Uint(random.of(&[0, 1, 1 << 53, 1 << 63, u64::MAX])),
        6 | 7 => {
            Value::Float(random.of(&[0.0, -0.0, 0.5, 1.0, -1.0, 9_007_199_254_740_992.0, 1.8e19, 1e300]))
        }
        8 => text(random.of(&["", "a", "b"])),
        9 => Value::Time(Time(random.below(2) as i64)),
        10 => resources(random.below(2) as i64, &[("gpu", random.below(2) as i64)]),
        11 => json_value(random.of(&[json!(null), json!(1), json!("a"), json!([1]), json!({"a": 0})])),
        12 | 13 => list(&items(random)),
        14 => record(&items(random)),
        15 => some(random_value(random, depth - 1)),
        16 => Value::Optional(None),
        _ => {
            let values = items(random);
            Value::map(values.into_iter().enumerate().map(|(at, value)| (text(["a", "b"][at]), value)))
        }
    }
}

#[test]
fn equality_order_and_hash_agree_for_all_values() {
    let mut values: Vec<Value<'static>> = table().into_iter().flat_map(|row| [row.0, row.1]).collect();
    let mut random = crate::lang::properties::Random(7);
    values.extend((0..400).map(|_| random_value(&mut random, 2)));
    for left in &values {
        assert_eq!(left.order(left), Equal, "{left} is the same as itself");
        for right in &values {
            let order = left.order(right);
            assert_eq!(order, right.order(left).reverse(), "{left} and {right}");
            assert_eq!(left.equals(right), right.equals(left), "{left} and {right}");
            assert!(!left.equals(right) || order == Equal, "{left} and {right} are equal and differ");
            assert!(order != Equal || hash(left) == hash(right), "{left} and {right} have two hashes");
            assert!(
                order != Equal || left.equals(right) == left.equals(left),
                "{left} and {right} are the same, and only one equals itself"
            );
        }
    }
    // Transitive: after a sort by the order every pair is in order.
    values.sort_by(Value::order);
    for (at, left) in values.iter().enumerate() {
        for right in &values[at..] {
            assert_ne!(left.order(right), Greater, "{left} stands before {right}");
        }
    }
    let set: std::collections::BTreeSet<Ordered<'_>> = values.iter().cloned().map(Ordered).collect();
    let hashed: std::collections::HashSet<Ordered<'_>> = values.iter().cloned().map(Ordered).collect();
    assert_eq!(set.len(), hashed.len());
}
