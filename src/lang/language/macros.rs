//! [`MACROS`]: the methods that evaluate an expression for each element of a collection, one row an
//! overload, and [`FORMS`]: `has(x)`, `now()` and what looks objects up, which look like functions.
//!
//! Both languages find a macro by its row, which says which of them have it; help and docs print the rows of the policy
//! language, and the examples run as tests. What each [`MacroKind`] computes is in `eval` and `codegen`.

use super::functions::{Dialects, Examples, Influence};

/// What a macro computes. `condition` and `body` name the parts of the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MacroKind {
    /// True if the condition holds for every element.
    All,
    /// True if the condition holds for at least one element.
    Exists,
    /// True if the condition holds for exactly one element.
    ExistsOne,
    /// The elements for which the condition holds.
    Filter,
    /// The value of the body for each element, or for those for which the condition holds.
    Map,
    /// A map with the same keys, whose values are those of the body.
    TransformMap,
    /// The number of elements for which the condition holds.
    Count,
    /// The sum of the values of the body; 0, or empty resources, for an empty collection.
    Sum,
    /// The smallest value of the body; absent for an empty collection.
    Min,
    /// The largest value of the body; absent for an empty collection.
    Max,
    /// The elements in ascending order of the body; the sort is stable.
    SortBy,
    /// The first element for which the condition holds; absent if there is none.
    First,
    /// A CEL optional that holds the body for the value that the object holds.
    OptMap,
    /// The body, itself a CEL optional, for the value that the object holds.
    OptFlatMap,
    /// A map of the entries of the maps that the body gives; two equal keys are a fault. Of CEL alone.
    TransformMapEntry,
    /// The body, with the object as the variable. Of CEL alone.
    Bind,
}

impl MacroKind {
    /// What more elements, more of them that meet the condition, and more of the body do to the result. `adds`: the body
    /// is never negative.
    pub fn influence(self, adds: bool) -> [Influence; 3] {
        use Influence::{Lowers, Raises, Unknown};
        match self {
            MacroKind::Exists | MacroKind::Count | MacroKind::Filter | MacroKind::Map => {
                [Raises, Raises, Unknown]
            }
            MacroKind::All => [Lowers, Raises, Unknown],
            MacroKind::Sum if adds => [Raises, Raises, Raises],
            MacroKind::Sum => [Unknown, Unknown, Raises],
            _ => [Unknown, Unknown, Unknown],
        }
    }
}

/// What a macro is given after its variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parts {
    /// A condition.
    Condition,
    /// A value.
    Body,
    /// A condition and a value.
    ConditionAndBody,
    /// The value of the variable, and a value that may read it. What the method is called on is a name.
    ValueAndBody,
}

impl Parts {
    /// How many arguments these are.
    pub fn count(self) -> usize {
        match self {
            Parts::Condition | Parts::Body => 1,
            Parts::ConditionAndBody | Parts::ValueAndBody => 2,
        }
    }
}

/// One overload of a macro.
#[derive(Debug)]
pub struct MacroDef {
    /// Its name; with what it is called on in front where that is a name (`cel.bind`).
    pub name: &'static str,
    /// The languages that have it.
    pub dialects: Dialects,
    /// What it computes.
    pub kind: MacroKind,
    /// How many variables it declares.
    pub variables: usize,
    /// What follows the variables.
    pub parts: Parts,
    /// How it is written, with the type of the collection in front and the type of the result.
    pub signature: &'static str,
    /// What it means, in a sentence or two.
    pub doc: &'static str,
    /// Expressions and their values, as the policy language writes them, or CEL if that alone has it; they run as tests.
    pub examples: Examples,
}

impl MacroDef {
    /// How many arguments a call has.
    pub fn arguments(&self) -> usize {
        self.variables + self.parts.count()
    }

    /// Whether it takes a CEL optional instead of a collection.
    pub fn is_optional(&self) -> bool {
        matches!(self.kind, MacroKind::OptMap | MacroKind::OptFlatMap)
    }
}

macro_rules! rows {
    ($($name:literal $dialects:ident $kind:ident $variables:literal $parts:ident $signature:literal
        $doc:literal $($example:literal => $value:literal),+;)*) => {
        /// Every macro.
        pub static MACROS: &[MacroDef] = &[$(MacroDef {
            name: $name,
            dialects: Dialects::$dialects,
            kind: MacroKind::$kind,
            variables: $variables,
            parts: Parts::$parts,
            signature: $signature,
            doc: $doc,
            examples: &[$(($example, $value)),+],
        }),*];
    };
}

rows! {
    "all" ALL All 1 Condition "collection.all(x, condition): bool"
        "true if the condition holds for every element of a list, or every key of a map; true for \
         an empty one"
        "[1, 2].all(x, x > 0)" => "true", "[1, 2].all(x, x > 1)" => "false";
    "all" ALL All 2 Condition "collection.all(k, v, condition): bool"
        "the same with two variables: index and element of a list, or key and value of a map"
        r#"{"a": 1}.all(k, v, k == "a" && v == 1)"# => "true";
    "exists" ALL Exists 1 Condition "collection.exists(x, condition): bool"
        "true if the condition holds for at least one element of a list, or key of a map"
        "[1, 2].exists(x, x > 1)" => "true";
    "exists" ALL Exists 2 Condition "collection.exists(k, v, condition): bool"
        "the same with two variables: index and element of a list, or key and value of a map"
        "[3, 4].exists(i, x, i == 1 && x == 4)" => "true";
    "exists_one" ALL ExistsOne 1 Condition "collection.exists_one(x, condition): bool"
        "true if the condition holds for exactly one element of a list, or key of a map"
        "[1, 2, 3].exists_one(x, x > 2)" => "true", "[1, 2, 3].exists_one(x, x > 1)" => "false";
    "exists_one" ALL ExistsOne 2 Condition "collection.exists_one(k, v, condition): bool"
        "the same with two variables: index and element of a list, or key and value of a map"
        r#"{"a": 1, "b": 2}.exists_one(k, v, v > 1)"# => "true";
    "existsOne" POLICY ExistsOne 1 Condition "collection.existsOne(x, condition): bool"
        "CEL's other name for `exists_one`"
        "[1, 2, 3].existsOne(x, x > 2)" => "true";
    "existsOne" ALL ExistsOne 2 Condition "collection.existsOne(k, v, condition): bool"
        "CEL's other name for `exists_one`"
        "[3, 4].existsOne(i, x, i + x == 3)" => "true";
    "filter" ALL Filter 1 Condition "collection.filter(x, condition): list"
        "the elements of a list, or keys of a map, for which the condition holds, in their order"
        "[1, 2, 3].filter(x, x > 1)" => "[2, 3]";
    "map" ALL Map 1 Body "collection.map(x, value): list"
        "the value for each element of a list, or key of a map, in their order"
        "[1, 2].map(x, x * 10)" => "[10, 20]";
    "map" ALL Map 1 ConditionAndBody "collection.map(x, condition, value): list"
        "the value for each element of a list, or key of a map, for which the condition holds"
        "[1, 2, 3].map(x, x > 1, x * 10)" => "[20, 30]";
    "count" POLICY Count 1 Condition "collection.count(x, condition): int"
        "the number of elements of a list, or keys of a map, for which the condition holds"
        "[1, 2, 3].count(x, x > 1)" => "2";
    "sum" POLICY Sum 1 Body "collection.sum(x, value): T"
        "the sum of the value over the elements of a list, or keys of a map; 0 if it is empty"
        "[1, 2].sum(x, x * 10)" => "30", "[1, 2].sum(x, x * 500m)" => "1500m";
    "min" POLICY Min 1 Body "collection.min(x, value): T?"
        "the smallest value over the elements of a list, or keys of a map; absent if it is empty"
        "[3, 1, 2].min(x, x * 10)" => "10";
    "max" POLICY Max 1 Body "collection.max(x, value): T?"
        "the largest value over the elements of a list, or keys of a map; absent if it is empty"
        "[3, 1, 2].max(x, x * 10)" => "30";
    "sort_by" POLICY SortBy 1 Body "collection.sort_by(x, value): list"
        "the elements in ascending order of the value; elements with equal values keep their order"
        "[1, 2, 3].sort_by(x, 0 - x)" => "[3, 2, 1]";
    "sortBy" ALL SortBy 1 Body "collection.sortBy(x, value): list"
        "CEL's name for `sort_by`"
        "[1, 2, 3].sortBy(x, 0 - x)" => "[3, 2, 1]";
    "first" POLICY First 1 Condition "collection.first(x, condition): T?"
        "the first element of a list, or key of a map, for which the condition holds; absent if \
         there is none"
        "[1, 2, 3].first(x, x > 1)" => "2", "[1].first(x, x > 1)" => "none";
    "transformList" ALL Map 2 Body "collection.transformList(k, v, value): list"
        "the value for each index and element of a list, or key and value of a map, as a list"
        "[5, 6].transformList(i, x, i + x)" => "[5, 7]";
    "transformList" ALL Map 2 ConditionAndBody "collection.transformList(k, v, condition, value): list"
        "the value for each index and element, or key and value, for which the condition holds, as \
         a list"
        "[5, 6].transformList(i, x, i > 0, i + x)" => "[7]";
    "transformMap" ALL TransformMap 2 Body "collection.transformMap(k, v, value): map"
        "a map with the same keys, or the indexes of a list as keys, and the value for each as its \
         value"
        r#"{"a": 1}.transformMap(k, v, v * 10)"# => r#"{"a": 10}"#;
    "transformMap" ALL TransformMap 2 ConditionAndBody "collection.transformMap(k, v, condition, value): map"
        "the same with only those keys for which the condition holds"
        r#"{"a": 1, "b": 2}.transformMap(k, v, v > 1, v * 10)"# => r#"{"b": 20}"#;
    "transformMapEntry" CEL TransformMapEntry 2 Body "collection.transformMapEntry(k, v, entries): map"
        "a map of the entries of the maps that the value is for each key and value, or index and element; an error if two \
         have the same key"
        "{'a': 1}.transformMapEntry(k, v, {k + k: v})" => "{'aa': 1}";
    "transformMapEntry" CEL TransformMapEntry 2 ConditionAndBody
        "collection.transformMapEntry(k, v, condition, entries): map"
        "the same for those keys alone for which the condition holds"
        "[3, 4].transformMapEntry(i, x, i > 0, {x: i})" => "{4: 1}";
    "optMap" ALL OptMap 1 Body "optional.optMap(x, value): optional"
        "a CEL optional that holds the value for what the optional holds; empty if the optional is \
         empty"
        "optional.of(1).optMap(x, x + 1)" => "optional.of(2)";
    "optFlatMap" ALL OptFlatMap 1 Body "optional.optFlatMap(x, value): optional"
        "the value, itself a CEL optional, for what the optional holds; empty if the optional is \
         empty"
        "optional.of([4]).optFlatMap(x, x[?0])" => "optional.of(4)";
    "cel.bind" DEVICES Bind 1 ValueAndBody "cel.bind(x, value, body): T"
        "the body, in which the variable is the value"
        "cel.bind(x, 2, x * x)" => "4";
}

/// The rows of a name in the policy language.
pub fn named(name: &str) -> impl Iterator<Item = &'static MacroDef> {
    of_policies().filter(move |row| row.name == name)
}

/// The row that a call fits in the policy language: its name, and as many arguments, of which the variables are names.
pub fn fitting(name: &str, arguments: usize, is_name: impl Fn(usize) -> bool) -> Option<&'static MacroDef> {
    named(name).find(|row| row.arguments() == arguments && (0..row.variables).all(&is_name))
}

/// The row of CEL that has a name and so many arguments, in one of its environments. An expression other than a name in
/// the place of a variable is a mistake there.
pub(crate) fn fitting_in_cel(name: &str, arguments: usize) -> Option<&'static MacroDef> {
    let mut rows = MACROS.iter().filter(|row| row.dialects.kubernetes || row.dialects.devices);
    rows.find(|row| row.name == name && row.arguments() == arguments)
}

/// Every row of the policy language.
pub fn of_policies() -> impl Iterator<Item = &'static MacroDef> {
    MACROS.iter().filter(|row| row.dialects.policy)
}

/// Every name of the policy language once, in the order of the table.
pub fn names() -> impl Iterator<Item = &'static str> {
    let first = |at: usize| MACROS.iter().take(at).all(|row| row.name != MACROS[at].name);
    let own = |at: &usize| MACROS[*at].dialects.policy;
    (0..MACROS.len()).filter(move |at| own(at) && first(*at)).map(|at| MACROS[at].name)
}

/// Which form it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormKind {
    /// Whether something is there.
    Has,
    /// The instant of the attempt.
    Now,
    /// An object, by its name.
    LookUp,
    /// All objects of a kind.
    Objects,
    /// The controller of an object: a method.
    Owner,
}

/// An expression that looks like a function or method and is part of the language.
#[derive(Debug)]
pub struct FormDef {
    /// Its name.
    pub name: &'static str,
    /// Which form it is.
    pub kind: FormKind,
    /// How it is written.
    pub signature: &'static str,
    /// What it means, in a sentence or two.
    pub doc: &'static str,
    /// Expressions and their values, as the language writes them; they run as tests.
    pub examples: Examples,
}

/// Every form.
pub static FORMS: &[FormDef] = &[
    FormDef {
        name: "has",
        kind: FormKind::Has,
        signature: "has(x): bool",
        doc: "true if x has a value: the field, label, element or resource exists",
        examples: &[("has({\"a\": 1}[\"a\"])", "true"), ("has([1].first(x, x > 1))", "false")],
    },
    FormDef {
        name: "now",
        kind: FormKind::Now,
        signature: "now(): time",
        doc: "the instant of the scheduling cycle; it is the same in all rules of one attempt",
        examples: &[("now() - now()", "0s")],
    },
    FormDef {
        name: "lookup",
        kind: FormKind::LookUp,
        signature: "lookup(kind, namespace, name): object?",
        doc: "the object of a kind by its namespace and name, or by its name alone for a kind without namespaces; the kind \
              is a constant, such as `\"PriorityClass\"` or `\"group/version/Kind\"`",
        examples: &[("has(lookup(\"PriorityClass\", \"none-such\"))", "false")],
    },
    FormDef {
        name: "objects",
        kind: FormKind::Objects,
        signature: "objects(kind): list<object>",
        doc: "all objects of a kind, ordered by namespace and name",
        examples: &[("objects(\"ResourceQuota\").size()", "0")],
    },
    FormDef {
        name: "owner",
        kind: FormKind::Owner,
        signature: "x.owner(kind): object?",
        doc: "the controller of a pod, or of an object that is looked up, if it is of this kind",
        examples: &[("has(pod.owner(\"apps/v1/ReplicaSet\"))", "false")],
    },
];

/// The form of a name.
pub fn form(name: &str) -> Option<FormKind> {
    FORMS.iter().find(|row| row.name == name).map(|row| row.kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_fits_at_most_one_row() {
        for (at, row) in MACROS.iter().enumerate() {
            let same = |other: &&MacroDef| {
                other.name == row.name
                    && other.variables == row.variables
                    && other.arguments() == row.arguments()
            };
            assert_eq!(MACROS.iter().skip(at + 1).find(same).map(|row| row.signature), None);
        }
    }
}
