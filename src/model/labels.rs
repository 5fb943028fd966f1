//! Labels, annotations, and label selectors that are parsed once and matched often. The serde form of selectors is in
//! `objects/selectors.rs`; node selectors, which share requirements with them, are in `node_selector.rs`.
//!
//! Source of texts: `apimachinery/pkg/labels/selector.go`, `apimachinery/pkg/api/validate/content`.

use super::objects::selectors;
use super::shared::Shared;
use super::symbol::Symbol;
use std::fmt;
use std::sync::{Arc, LazyLock};

/// Labels of an object, ordered by key. A copy shares them.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Labels(Arc<[(Symbol, Symbol)]>);

thread_local! {
    static LABELS: Shared<Arc<[(Symbol, Symbol)]>, ()> = const { Shared::new() };
}

impl Labels {
    /// The value of `key`.
    #[inline]
    pub fn get(&self, key: &Symbol) -> Option<&Symbol> {
        self.0.iter().find(|(k, _)| k == key).map(|(_, value)| value)
    }

    /// Pairs in the order of their keys.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Symbol, &Symbol)> {
        self.0.iter().map(|(key, value)| (key, value))
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// These labels, as one copy with the equal labels of other pods.
    pub(super) fn shared(&self) -> Self {
        Self(LABELS.with(|table| table.same(self.0.clone())))
    }

    /// No labels.
    pub fn none() -> &'static Self {
        static NONE: LazyLock<Labels> = LazyLock::new(Labels::default);
        &NONE
    }
}

impl FromIterator<(Symbol, Symbol)> for Labels {
    fn from_iter<I: IntoIterator<Item = (Symbol, Symbol)>>(pairs: I) -> Self {
        let mut pairs: Vec<_> = pairs.into_iter().collect();
        pairs.sort_by(|a, b| a.0.cmp(&b.0));
        pairs.dedup_by(|later, earlier| {
            let same = later.0 == earlier.0;
            if same {
                earlier.1 = later.1.clone();
            }
            same
        });
        Self(pairs.into())
    }
}

/// Annotations of an object, ordered by key. Values are not interned: they may be long and are rarely compared.
#[derive(Clone, Debug, Default)]
pub struct Annotations {
    pairs: Box<[(Symbol, Arc<str>)]>,
    /// The bytes of those that were removed because nothing reads them. They count for what the API server takes.
    left_out: u32,
}

/// What nothing reads is not compared.
impl PartialEq for Annotations {
    fn eq(&self, other: &Self) -> bool {
        self.pairs == other.pairs
    }
}

impl Eq for Annotations {}

impl Annotations {
    /// The value of `key`.
    #[inline]
    pub fn get(&self, key: &str) -> Option<&str> {
        self.pairs.iter().find(|(k, _)| k.as_str() == key).map(|(_, value)| &**value)
    }

    /// Pairs in the order of their keys.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Symbol, &Arc<str>)> {
        self.pairs.iter().map(|(key, value)| (key, value))
    }

    /// Removes all but some, by key and value.
    pub fn retain(&mut self, keeps: impl Fn(&str, &str) -> bool) {
        if self.pairs.iter().all(|(key, value)| keeps(key, value)) {
            return;
        }
        let before = self.bytes();
        let kept = std::mem::take(&mut self.pairs).into_iter().filter(|(key, value)| keeps(key, value));
        // A new list: one whose elements are removed may keep its memory.
        let kept: Vec<_> = kept.collect();
        self.pairs = Box::from(kept.as_slice());
        let left_out = before - self.kept_bytes();
        self.left_out = u32::try_from(left_out).unwrap_or(u32::MAX);
    }

    /// The bytes of keys and values, also of those that were left out.
    pub fn bytes(&self) -> usize {
        self.kept_bytes() + self.left_out as usize
    }

    fn kept_bytes(&self) -> usize {
        self.pairs.iter().map(|(key, value)| key.len() + value.len()).sum()
    }

    /// These annotations, where those that were left out of `other` are left out too.
    pub(super) fn with_left_out_of(self, other: &Self) -> Self {
        Self { left_out: other.left_out, ..self }
    }
}

impl FromIterator<(Symbol, Arc<str>)> for Annotations {
    fn from_iter<I: IntoIterator<Item = (Symbol, Arc<str>)>>(pairs: I) -> Self {
        let mut pairs: Vec<_> = pairs.into_iter().collect();
        pairs.sort_by(|a, b| a.0.cmp(&b.0));
        Self { pairs: pairs.into(), left_out: 0 }
    }
}

/// How a requirement compares the value of its key.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum SelectorOperator {
    /// The value is one of the values.
    In,
    /// The value differs from all values, or the key is absent.
    NotIn,
    /// The key is there.
    Exists,
    /// The key is not there.
    DoesNotExist,
    /// The value, an integer, is greater than the one given. Node selectors only.
    Gt,
    /// The value, an integer, is less than the one given. Node selectors only.
    Lt,
}

/// One requirement of a selector.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Requirement {
    /// The label key.
    pub key: Symbol,
    /// How its value is compared.
    pub operator: SelectorOperator,
    /// What it is compared with; ordered, without duplicates.
    pub values: Box<[Symbol]>,
    /// The integer of `Gt` and `Lt`.
    pub number: i64,
}

/// Why a selector cannot be used; the text is upstream's.
#[derive(Clone, PartialEq, Eq, Hash, Debug, thiserror::Error)]
#[error("{0}")]
pub struct SelectorError(pub std::sync::Arc<str>);

/// A `metav1.LabelSelector`, parsed. The empty selector matches everything; an absent one is `None` where it stands.
/// Selectors are equal when they have the same requirements, however they are written.
#[derive(Clone, Debug, Default)]
pub struct LabelSelector {
    /// All must hold; ordered by key.
    pub requirements: Box<[Requirement]>,
    /// Upstream's canonical text.
    text: Box<str>,
}

impl PartialEq for LabelSelector {
    fn eq(&self, other: &Self) -> bool {
        self.requirements == other.requirements
    }
}

impl Eq for LabelSelector {}

impl PartialOrd for LabelSelector {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for LabelSelector {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.requirements.cmp(&other.requirements)
    }
}

impl std::hash::Hash for LabelSelector {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.requirements.hash(state);
    }
}

impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl SelectorOperator {
    /// The operator of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "In" => Self::In,
            "NotIn" => Self::NotIn,
            "Exists" => Self::Exists,
            "DoesNotExist" => Self::DoesNotExist,
            "Gt" => Self::Gt,
            "Lt" => Self::Lt,
            _ => return None,
        })
    }

    /// The name, as objects write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::In => "In",
            Self::NotIn => "NotIn",
            Self::Exists => "Exists",
            Self::DoesNotExist => "DoesNotExist",
            Self::Gt => "Gt",
            Self::Lt => "Lt",
        }
    }
}

impl SelectorError {
    /// Several complaints as upstream lists them: each once, in brackets when there are more. `None` without any.
    pub(super) fn from_messages(mut messages: Vec<String>) -> Option<Self> {
        let mut seen = rustc_hash::FxHashSet::default();
        messages.retain(|message| seen.insert(message.clone()));
        match messages.as_slice() {
            [] => None,
            [one] => Some(Self(Arc::from(one.as_str()))),
            more => Some(Self(Arc::from(format!("[{}]", more.join(", "))))),
        }
    }
}

impl Requirement {
    /// A requirement, checked. `path` is where it stands, with a dot at its end, for the complaints.
    pub(super) fn parse(
        key: &Symbol,
        operator: SelectorOperator,
        values: Option<&[Symbol]>,
        path: &str,
    ) -> Result<Self, Vec<String>> {
        let mut problems = Vec::new();
        if let Some(problem) = key_problem(key) {
            problems.push(format!("{path}key: Invalid value: {:?}: {problem}", key.as_str()));
        }
        let given = values.unwrap_or_default();
        let mut number = 0;
        let complaint = match operator {
            SelectorOperator::In | SelectorOperator::NotIn if given.is_empty() => {
                Some("for 'in', 'notin' operators, values set can't be empty")
            }
            SelectorOperator::Exists | SelectorOperator::DoesNotExist if !given.is_empty() => {
                Some("values set must be empty for exists and does not exist")
            }
            SelectorOperator::Gt | SelectorOperator::Lt if given.len() != 1 => {
                Some("for 'Gt', 'Lt' operators, exactly one value is required")
            }
            _ => None,
        };
        if let Some(complaint) = complaint {
            problems.push(format!("{path}values: Invalid value: {}: {complaint}", json_list(values)));
        }
        if matches!(operator, SelectorOperator::Gt | SelectorOperator::Lt) {
            for (at, value) in given.iter().enumerate() {
                match value.parse() {
                    Ok(value) => number = value,
                    Err(_) => problems.push(format!(
                        "{path}values[{at}]: Invalid value: {:?}: for 'Gt', 'Lt' operators, the value must be an integer",
                        value.as_str()
                    )),
                }
            }
        }
        for (at, value) in given.iter().enumerate() {
            if let Some(problem) = value_problem(value) {
                let value = value.as_str();
                problems.push(format!("{path}values[{at}][{key}]: Invalid value: {value:?}: {problem}"));
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let mut values = given.to_vec();
        values.sort();
        values.dedup();
        Ok(Self { key: key.clone(), operator, values: values.into(), number })
    }

    /// Whether it holds for an object with these labels.
    #[inline]
    pub fn matches(&self, labels: &Labels) -> bool {
        self.holds(labels.get(&self.key))
    }

    /// Whether it holds where the key has this value, or none.
    #[inline]
    pub fn holds(&self, value: Option<&Symbol>) -> bool {
        let number = || value.and_then(|value| value.parse::<i64>().ok());
        match self.operator {
            SelectorOperator::In => value.is_some_and(|value| self.values.contains(value)),
            SelectorOperator::NotIn => value.is_none_or(|value| !self.values.contains(value)),
            SelectorOperator::Exists => value.is_some(),
            SelectorOperator::DoesNotExist => value.is_none(),
            SelectorOperator::Gt => number().is_some_and(|number| number > self.number),
            SelectorOperator::Lt => number().is_some_and(|number| number < self.number),
        }
    }
}

impl LabelSelector {
    /// The selector of an object, checked.
    ///
    /// Source: `apimachinery/pkg/apis/meta/v1/helpers.go`, `LabelSelectorAsSelector`.
    pub fn parse(object: &selectors::LabelSelector) -> Result<Self, SelectorError> {
        let one =
            |problems| SelectorError::from_messages(problems).unwrap_or_else(|| SelectorError(Arc::from("")));
        let mut requirements = Vec::new();
        let mut texts = Vec::new();
        for (key, value) in object.match_labels.iter() {
            let values = Some(std::slice::from_ref(value));
            requirements.push(Requirement::parse(key, SelectorOperator::In, values, "").map_err(one)?);
            texts.push((key.clone(), format!("{key}={value}")));
        }
        for expression in &object.match_expressions {
            let key = &expression.key;
            let operator = match SelectorOperator::parse(&expression.operator) {
                Some(operator) if !matches!(operator, SelectorOperator::Gt | SelectorOperator::Lt) => {
                    operator
                }
                _ => {
                    let operator = expression.operator.as_str();
                    let text = format!("{operator:?} is not a valid label selector operator");
                    return Err(SelectorError(Arc::from(text)));
                }
            };
            // Upstream copies the list, and the copy of an empty one is absent.
            let values = expression.values.as_deref().filter(|values| !values.is_empty());
            requirements.push(Requirement::parse(key, operator, values, "").map_err(one)?);
            let mut values: Vec<&str> = values.unwrap_or_default().iter().map(Symbol::as_str).collect();
            values.sort_unstable();
            let values = values.join(",");
            texts.push((
                key.clone(),
                match operator {
                    SelectorOperator::In => format!("{key} in ({values})"),
                    SelectorOperator::NotIn => format!("{key} notin ({values})"),
                    SelectorOperator::DoesNotExist => format!("!{key}"),
                    _ => key.to_string(),
                },
            ));
        }
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        texts.sort_by(|a, b| a.0.cmp(&b.0));
        let texts: Vec<String> = texts.into_iter().map(|(_, text)| text).collect();
        Ok(Self { requirements: requirements.into(), text: texts.join(",").into() })
    }

    /// The selector of the objects that have all these labels. Keys and values are not checked.
    ///
    /// Source: `apimachinery/pkg/labels/selector.go`, `SelectorFromSet`.
    pub fn of_labels(labels: &Labels) -> Self {
        let requirement = |(key, value): (&Symbol, &Symbol)| Requirement {
            key: key.clone(),
            operator: SelectorOperator::In,
            values: Box::from([value.clone()]),
            number: 0,
        };
        let texts: Vec<String> = labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
        Self { requirements: labels.iter().map(requirement).collect(), text: texts.join(",").into() }
    }

    /// Whether it matches an object with these labels.
    #[inline]
    pub fn matches(&self, labels: &Labels) -> bool {
        self.requirements.iter().all(|requirement| requirement.matches(labels))
    }

    /// Whether it matches every object.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }
}

/// A list as Go writes it in complaints: as JSON, `null` when absent.
pub(super) fn json_list(values: Option<&[Symbol]>) -> String {
    match values {
        None => String::from("null"),
        Some(values) => serde_json::to_string(values)
            .unwrap_or_default()
            .replace('<', "\\u003c")
            .replace('>', "\\u003e")
            .replace('&', "\\u0026"),
    }
}

/// Alphanumeric at both ends, with `-`, `_` and `.` between.
fn is_name(text: &str) -> bool {
    let edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    edge(bytes.first())
        && edge(bytes.last())
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

/// Lower-case DNS labels joined by dots.
fn is_subdomain(text: &str) -> bool {
    let edge =
        |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    text.split('.').all(|label| {
        let bytes = label.as_bytes();
        edge(bytes.first())
            && edge(bytes.last())
            && bytes.iter().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-')
    })
}

const NAME_RULE: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
    alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
    '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

/// Why `key` is not a valid label key, in upstream's words; `None` when it is valid.
pub fn key_problem(key: &str) -> Option<String> {
    let mut problems: Vec<String> = Vec::new();
    let (prefix, name) = match key.split_once('/') {
        None => (None, key),
        Some((prefix, name)) if !name.contains('/') => (Some(prefix), name),
        Some(_) => {
            let optional = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
            return Some(format!("a valid label key {NAME_RULE} {optional}"));
        }
    };
    match prefix {
        None => {}
        Some("") => problems.push(String::from("prefix part must be non-empty")),
        Some(prefix) => {
            if prefix.len() > 253 {
                problems.push(String::from("prefix part must be no more than 253 bytes"));
            }
            if !is_subdomain(prefix) {
                problems.push(String::from(
                    "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, \
                     '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex \
                     used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
                ));
            }
        }
    }
    if name.is_empty() {
        problems.push(String::from("name part must be non-empty"));
    } else if name.len() > 63 {
        problems.push(String::from("name part must be no more than 63 bytes"));
    }
    if !is_name(name) {
        problems.push(format!("name part {NAME_RULE}"));
    }
    (!problems.is_empty()).then(|| problems.join("; "))
}

/// Why `value` is not a valid label value, in upstream's words; `None` when it is valid.
pub fn value_problem(value: &str) -> Option<String> {
    let mut problems: Vec<&str> = Vec::new();
    if value.len() > 63 {
        problems.push("must be no more than 63 bytes");
    }
    if !value.is_empty() && !is_name(value) {
        problems.push(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
             start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used \
             for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
        );
    }
    (!problems.is_empty()).then(|| problems.join("; "))
}

/// The most bytes of the keys and values of all annotations of an object.
///
/// Source: `apimachinery/pkg/api/validation/objectmeta.go`, `TotalAnnotationSizeLimitB`.
const MOST_ANNOTATIONS: usize = 256 * 1024;

/// Why the API server would not have these annotations and labels on an object, beside annotations of so many bytes;
/// `None` if it would.
///
/// Source: `apimachinery/pkg/api/validation/objectmeta.go`, `ValidateAnnotations`, and
/// `apimachinery/pkg/apis/meta/v1/validation/validation.go`, `ValidateLabels`.
pub(crate) fn metadata_problem<'a>(
    annotations: impl IntoIterator<Item = (&'a Symbol, &'a str)>,
    labels: impl IntoIterator<Item = (&'a Symbol, &'a Symbol)>,
    beside: usize,
) -> Option<String> {
    let invalid = |key: &str| key_problem(key).map(|why| format!("{key:?} is not a valid key: {why}"));
    let mut bytes = beside;
    for (key, value) in annotations {
        // The case of letters does not matter in keys of annotations.
        if let Some(problem) = invalid(&key.as_str().to_ascii_lowercase()) {
            return Some(problem);
        }
        bytes += key.len() + value.len();
    }
    for (key, value) in labels {
        let of_value = |why| format!("{:?} is not a valid value of label {key}: {why}", value.as_str());
        if let Some(problem) = invalid(key).or_else(|| value_problem(value).map(of_value)) {
            return Some(problem);
        }
    }
    (bytes > MOST_ANNOTATIONS).then(|| {
        format!(
            "its annotations would take {bytes} bytes together, and the API server takes {MOST_ANNOTATIONS}"
        )
    })
}
