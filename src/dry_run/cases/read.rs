//! From the text of a test file to [`CaseFile`]: every mistake of the file at once, each with its
//! place.

use super::fields::Section;
use super::memos::Given;
use super::metrics;
use super::objects::{self, CasePod, PodFrom, Surroundings};
use crate::PodReport;
use bayplan_diag::{Diagnostic, SourceId, SourceMap, Span, codes};
use bayplan_framework::WouldEffect;
use bayplan_model::Time;
use bayplan_yaml::{self as yaml, Booleans, Field, FieldError, Fields, Tree, TreeValue};

/// Mistakes of a file.
pub(super) type Errors = Vec<FieldError>;

/// A file of tests.
#[derive(Clone, Debug, Default)]
pub struct CaseFile {
    /// Files with the policies under test, beside this one.
    pub policies: Vec<String>,
    /// Files with the cluster, beside this one.
    pub cluster: Vec<String>,
    /// A KubeSchedulerConfiguration, beside this one.
    pub config: Option<String>,
    pub(super) shared: Surroundings,
    /// The tests.
    pub cases: Vec<Case>,
}

/// One test.
#[derive(Clone, Debug)]
pub struct Case {
    /// What it shows.
    pub name: String,
    /// Its name, where it is written.
    pub name_span: Span,
    /// All of it.
    pub span: Span,
    pub(super) pods: Vec<CasePod>,
    pub(super) order: Vec<String>,
    pub(super) order_span: Span,
    pub(super) own: Surroundings,
    /// What memos remember as it begins.
    pub(super) memos: Vec<Given>,
    pub(super) expect: Vec<Expect>,
}

/// What is expected of a pod.
#[derive(Clone, Debug)]
pub(super) struct Expect {
    /// Its name, in a case with several pods.
    pub(super) pod: Option<String>,
    pub(super) span: Span,
    pub(super) all: Vec<Expectation>,
}

/// One expectation with its place.
#[derive(Clone, Debug)]
pub(super) struct Expectation {
    pub(super) span: Span,
    pub(super) what: What,
}

/// What is expected.
#[derive(Clone, Debug)]
pub(super) enum What {
    /// The pod is placed on one of these nodes.
    On(Vec<String>),
    /// The pod is not placed on any of these.
    NotOn(Vec<String>),
    /// A node refuses the pod: by this rule, or by any.
    RefusedOn { node: String, by: Option<String> },
    /// Whether the pod waits without a node.
    Unschedulable(bool),
    /// Why the pod waits, and how many nodes say so.
    Refused { reason: String, nodes: Option<usize> },
    /// A score of a policy for a node.
    Score { node: String, score: String, value: i64 },
    /// Whether the pod waits at permit.
    Waits(YesOr),
    /// Whether the pod is kept out of the queue.
    Gated(YesOr),
    /// The names of all pods that are evicted for the pod, in any order.
    Evicts(Vec<String>),
    /// What a rule that does not decide would have done to the last attempt.
    Would { rule: String, effect: WouldEffect },
    /// What a memo remembers for the pod at the end.
    Remembers(Given),
    /// What policies write into an object: `pod`, or `KIND/NAME`.
    Writes { object: String, fields: serde_json::Value },
    /// A part of the text of an event of a reason; `None`: there is no such event.
    Event { reason: String, text: Option<String> },
}

/// Yes, no, or by whom.
#[derive(Clone, Debug)]
pub(super) enum YesOr {
    Yes(bool),
    By(String),
}

/// Reads a file of tests; every mistake that it has.
pub fn read(sources: &SourceMap, file: SourceId) -> Result<CaseFile, Vec<Diagnostic>> {
    let text = sources.get(file).map(|source| source.shared_text()).unwrap_or_default();
    let root = yaml::document(&text, Booleans::Strict).map_err(|error| vec![error.diagnostic(file)])?;
    let reader = Reader { file, text: &text };
    let mut errors = Errors::new();
    let read = reader.file(&Field::root(&root), &mut errors);
    if errors.is_empty() {
        return Ok(read);
    }
    let said = errors.into_iter().map(|error| {
        let span = Span::new(file, error.at.start, error.at.end);
        Diagnostic { help: error.help, ..Diagnostic::new(&codes::BAD_TEST, span, error.message) }
    });
    Err(said.collect())
}

struct Reader<'t> {
    file: SourceId,
    text: &'t str,
}

impl Reader<'_> {
    fn file(&self, root: &Field, errors: &mut Errors) -> CaseFile {
        let fields = root.object(&Section::File.names(), errors);
        // A misspelt field is reported once, not as a missing one too.
        let misspelt = !errors.is_empty();
        let shared = self.surroundings(&fields, errors);
        let policies = fields.get("policies").map(|list| strings(&list, errors)).unwrap_or_default();
        let cluster = fields.get("cluster").map(|field| one_or_more(&field, errors)).unwrap_or_default();
        let config = fields.get("config").and_then(|field| field.string(errors)).map(str::to_owned);
        let has = |name: &str| misspelt || fields.get(name).is_some();
        if !has("cluster") && !has("nodes") {
            let error = self.at(root, "a test file needs a `cluster`, or `nodes`");
            errors.push(
                error.with_help("write `cluster: FILE`, or `nodes: [{name: n1, allocatable: {cpu: 4}}]`"),
            );
        }
        let list = fields.get("cases").map(|list| list.list(errors)).unwrap_or_default();
        if !has("cases") {
            errors.push(self.at(root, "a test file needs `cases`"));
        }
        let cases = list.iter().filter_map(|case| self.case(case, errors)).collect();
        CaseFile { policies, cluster, config, shared, cases }
    }

    fn case(&self, field: &Field, errors: &mut Errors) -> Option<Case> {
        let before = errors.len();
        let fields = field.object(&Section::Case.names(), errors);
        let name = fields.get("name").and_then(|name| name.string(errors)).map(str::to_owned);
        if name.is_none() && errors.len() == before {
            errors.push(self.at(field, "a case needs a `name`"));
        }
        let pods = self.pods(field, &fields, errors);
        let order = fields.get("order");
        let one = fields.get("pod").is_some();
        let expect = match fields.get("expect") {
            // Without pods it is not known what the keys of `expect` are.
            Some(_) if !one && fields.get("pods").is_none() => Vec::new(),
            Some(expect) => self.expectations(&expect, one, errors),
            None => {
                if errors.len() == before {
                    errors.push(self.at(&fields.place("name"), "a case needs `expect`"));
                }
                Vec::new()
            }
        };
        Some(Case {
            name: name?,
            name_span: self.span(fields.place("name").tree),
            span: Span::new(self.file, field.tree.at.start, end_of(field.tree)),
            pods,
            order_span: order.as_ref().map(|order| self.span(order.tree)).unwrap_or_default(),
            order: order.map(|order| strings(&order, errors)).unwrap_or_default(),
            own: self.surroundings(&fields, errors),
            memos: self.memos(fields.get("memos"), one, errors),
            expect,
        })
    }

    fn pods(&self, case: &Field, fields: &Fields, errors: &mut Errors) -> Vec<CasePod> {
        let one = fields.get("pod");
        let several = fields.get("pods");
        let place = fields.get("name").unwrap_or_else(|| case.clone());
        match (&one, &several) {
            (Some(_), Some(_)) => errors.push(self.at(&place, "a case has `pod` or `pods`, not both")),
            (None, None) => errors.push(self.at(&place, "a case needs a `pod`, or `pods`")),
            (None, Some(pods)) if pods.list(&mut Errors::new()).is_empty() => {
                errors.push(self.at(pods, "`pods` needs at least one pod"));
            }
            _ => {}
        }
        let listed = several.map(|list| list.list(errors)).unwrap_or_default();
        let made = one.iter().chain(&listed).filter_map(|field| {
            Some(CasePod { from: objects::pod(field, errors)?, span: self.span(field.tree) })
        });
        made.collect()
    }

    fn surroundings(&self, fields: &Fields, errors: &mut Errors) -> Surroundings {
        let now = fields.get("now").and_then(|field| {
            let text = field.string(errors)?;
            let parsed = Time::parse(text);
            if parsed.is_none() {
                let error = field.error(format!("`{text}` is not an instant"));
                errors.push(error.with_help("write RFC 3339, such as `2026-01-05T09:00:00+01:00`"));
            }
            parsed
        });
        let namespaces =
            fields.get("namespaces").map(|field| objects::namespaces(&field, errors)).unwrap_or_default();
        let nodes = fields.get("nodes").map(|list| list.list(errors)).unwrap_or_default();
        let nodes = nodes.iter().filter_map(|field| objects::node(field, errors)).collect();
        let metrics = fields.get("metrics");
        let metrics = entries(metrics, "nodes with what they used", errors).into_iter();
        let metrics = metrics
            .filter_map(|(node, field)| {
                Some((metrics::reading(&node, &field, errors)?, self.span(field.tree)))
            })
            .collect();
        Surroundings { now, namespaces, nodes, metrics }
    }

    /// What memos remember for the pod, or for each pod by its name.
    fn memos(&self, field: Option<Field>, one: bool, errors: &mut Errors) -> Vec<Given> {
        let what = "memos with what they remember";
        let mut given = Vec::new();
        let mut of_pod = |pod: Option<&str>, memos: Field, errors: &mut Errors| {
            for (memo, value) in entries(Some(memos), what, errors) {
                given.push(self.remembered(pod, memo, &value));
            }
        };
        match field {
            Some(field) if one => of_pod(None, field, errors),
            field => {
                let pods = entries(field, "pods with what memos remember for them", errors);
                pods.into_iter().for_each(|(pod, memos)| of_pod(Some(&pod), memos, errors));
            }
        }
        given
    }

    fn remembered(&self, pod: Option<&str>, memo: String, value: &Field) -> Given {
        let pod = pod.map(str::to_owned);
        Given { pod, memo, value: value.tree.to_json(), span: self.span(value.tree) }
    }

    /// What is expected of the pod, or of each pod by its name.
    fn expectations(&self, field: &Field, one: bool, errors: &mut Errors) -> Vec<Expect> {
        match &field.tree.value {
            TreeValue::Map(entries) if !one && !entries.is_empty() => {
                let of_pods = entries.iter().map(|entry| {
                    let field = Field { tree: &entry.value, path: format!("{}.{}", field.path, entry.key) };
                    let all = self.expect(&field, errors);
                    let span = Span::new(self.file, entry.key_at.start, entry.key_at.end);
                    Expect { pod: Some(entry.key.clone()), span, all }
                });
                of_pods.collect()
            }
            _ => {
                vec![Expect { pod: None, span: self.span(field.tree), all: self.expect(field, errors) }]
            }
        }
    }

    fn expect(&self, field: &Field, errors: &mut Errors) -> Vec<Expectation> {
        let before = errors.len();
        let fields = field.object(&Section::Expect.names(), errors);
        let mut all = Vec::new();
        let mut add = |tree: &Tree, what: What| all.push(Expectation { span: self.span(tree), what });
        if let Some(node) = fields.get("node")
            && let Some(name) = node.string(errors)
        {
            add(node.tree, What::On(vec![name.to_owned()]));
        }
        if let Some(nodes) = fields.get("one of") {
            add(nodes.tree, What::On(strings(&nodes, errors)));
        }
        if let Some(nodes) = fields.get("not") {
            add(nodes.tree, What::NotOn(one_or_more(&nodes, errors)));
        }
        for (node, by) in entries(fields.get("refused"), "nodes with the rule that refuses", errors) {
            if let Some(by) = rule(&by, errors) {
                add(by.0, What::RefusedOn { node, by: by.1 });
            }
        }
        if let Some(field) = fields.get("unschedulable")
            && let Some(what) = unschedulable(&field, errors)
        {
            add(field.tree, what);
        }
        for (node, scores) in entries(fields.get("scores"), "nodes with their scores", errors) {
            for (score, value) in entries(Some(scores), "scores", errors) {
                if let Some(number) = value.int(errors) {
                    add(value.tree, What::Score { node: node.clone(), score, value: number });
                }
            }
        }
        if let Some(pods) = fields.get("evicts") {
            add(pods.tree, What::Evicts(strings(&pods, errors)));
        }
        for (rule, effect) in entries(fields.get("would"), "rules with what they would do", errors) {
            let words = WouldEffect::WORDS;
            let known = effect.tree.as_str().and_then(|word| words.iter().find(|(known, _)| *known == word));
            match known {
                Some((_, known)) => add(effect.tree, What::Would { rule, effect: *known }),
                None => {
                    let words = words.map(|(word, _)| format!("`{word}`")).join(", ");
                    errors.push(
                        self.at(&effect, "this is nothing that a rule would do")
                            .with_help(format!("one of {words}")),
                    );
                }
            }
        }
        for (memo, value) in entries(fields.get("remembers"), "memos with what they remember", errors) {
            add(value.tree, What::Remembers(self.remembered(None, memo, &value)));
        }
        for (object, written) in
            entries(fields.get("writes"), "objects with what is written into them", errors)
        {
            match &written.tree.value {
                TreeValue::Map(_) => {
                    add(written.tree, What::Writes { object, fields: written.tree.to_json() })
                }
                _ => errors.push(
                    self.at(&written, "expected a map of fields")
                        .with_help("as in `{labels: {rack: a}}`; `{}` for nothing"),
                ),
            }
        }
        for (reason, text) in entries(fields.get("events"), "reasons of events with their texts", errors) {
            let part = match &text.tree.value {
                TreeValue::Null => Some(None),
                _ => text.string(errors).map(|text| Some(text.to_owned())),
            };
            if let Some(part) = part {
                add(text.tree, What::Event { reason, text: part });
            }
        }
        for (name, what) in [("waits", What::Waits as fn(YesOr) -> What), ("gated", What::Gated)] {
            if let Some(field) = fields.get(name)
                && let Some(yes) = yes_or(&field, errors)
            {
                add(field.tree, what(yes));
            }
        }
        if all.is_empty() && errors.len() == before {
            let error = self.at(field, "the case expects nothing: it could not fail");
            let names: Vec<String> = Section::Expect.names().iter().map(|name| format!("`{name}`")).collect();
            errors.push(error.with_help(format!("expect one of {}", names.join(", "))));
        }
        all
    }

    fn span(&self, tree: &Tree) -> Span {
        let at = tree.head(self.text);
        Span::new(self.file, at.start, at.end)
    }

    /// An error at the beginning of a value.
    fn at(&self, field: &Field, message: &str) -> FieldError {
        FieldError { at: field.tree.head(self.text), ..field.error(message) }
    }
}

/// The byte after the last one of a value.
fn end_of(tree: &Tree) -> usize {
    match &tree.value {
        TreeValue::List(items) => items.iter().map(end_of).max().unwrap_or(tree.at.end),
        TreeValue::Map(entries) => {
            entries.iter().map(|entry| end_of(&entry.value)).max().unwrap_or(tree.at.end)
        }
        _ => tree.at.end,
    }
}

fn strings(list: &Field, errors: &mut Errors) -> Vec<String> {
    let items = list.list(errors);
    items.iter().filter_map(|item| item.string(errors)).map(str::to_owned).collect()
}

/// A string, or a list of strings.
fn one_or_more(field: &Field, errors: &mut Errors) -> Vec<String> {
    match field.tree.as_str() {
        Some(one) => vec![one.to_owned()],
        None => strings(field, errors),
    }
}

/// The entries of a map with any keys.
fn entries<'t>(field: Option<Field<'t>>, what: &str, errors: &mut Errors) -> Vec<(String, Field<'t>)> {
    let Some(field) = field else { return Vec::new() };
    match &field.tree.value {
        TreeValue::Map(entries) => {
            let path = &field.path;
            let entries = entries.iter().map(|entry| {
                (entry.key.clone(), Field { tree: &entry.value, path: format!("{path}.{}", entry.key) })
            });
            entries.collect()
        }
        _ => {
            errors.push(field.error(format!("expected {what}, found {}", field.tree.kind())));
            Vec::new()
        }
    }
}

/// The rule that refuses, or `true` for any.
fn rule<'t>(field: &Field<'t>, errors: &mut Errors) -> Option<(&'t Tree, Option<String>)> {
    match &field.tree.value {
        TreeValue::Bool(true) => Some((field.tree, None)),
        TreeValue::String(rule) => Some((field.tree, Some(rule.clone()))),
        _ => {
            let error = field.error(format!("expected a rule or `true`, found {}", field.tree.kind()));
            errors.push(error.with_help("write `POLICY/RULE`, `POLICY` or the name of a plugin"));
            None
        }
    }
}

fn yes_or(field: &Field, errors: &mut Errors) -> Option<YesOr> {
    match &field.tree.value {
        TreeValue::Bool(yes) => Some(YesOr::Yes(*yes)),
        TreeValue::String(name) => Some(YesOr::By(name.clone())),
        _ => {
            let kind = field.tree.kind();
            errors.push(
                field.error(format!(
                    "expected `true`, `false` or the name of a policy or plugin, found {kind}"
                )),
            );
            None
        }
    }
}

/// `true`, `false`, or the reason with the number of nodes.
fn unschedulable(field: &Field, errors: &mut Errors) -> Option<What> {
    match &field.tree.value {
        TreeValue::Bool(yes) => return Some(What::Unschedulable(*yes)),
        TreeValue::Map(_) => {}
        _ => {
            let kind = field.tree.kind();
            let error = field.error(format!("expected `true`, `false` or a reason, found {kind}"));
            errors.push(error.with_help("write `unschedulable: {reason: Insufficient cpu, nodes: 2}`"));
            return None;
        }
    }
    let before = errors.len();
    let fields = field.object(&Section::Unschedulable.names(), errors);
    if errors.len() > before && fields.get("reason").is_some_and(|reason| reason.tree.as_str().is_some()) {
        // `{reason: a, b}`: the comma ends the text.
        if let Some(error) = errors.get_mut(before) {
            error.help =
                Some(format!("quote a reason that has a comma; {}", error.help.take().unwrap_or_default()));
        }
    }
    let reason = fields.get("reason").and_then(|reason| reason.string(errors)).map(str::to_owned);
    if reason.is_none() && errors.len() == before {
        let error = field.error("a refusal is expected without its `reason`");
        errors.push(error.with_help("write `reason: TEXT`, or `unschedulable: true`"));
    }
    let nodes = fields.get("nodes").and_then(|nodes| {
        let number = nodes.int(errors)?;
        let known = usize::try_from(number).ok();
        if known.is_none() {
            errors.push(nodes.error("expected a number of nodes, 0 or more"));
        }
        known
    });
    (errors.len() == before).then_some(What::Refused { reason: reason?, nodes })
}

impl CaseFile {
    /// The names of the pod files that cases name, each once.
    pub fn pod_files(&self) -> Vec<&str> {
        let pods = self.cases.iter().flat_map(|case| &case.pods);
        let mut names: Vec<&str> = pods
            .filter_map(|pod| match &pod.from {
                PodFrom::File(name) => Some(name.as_str()),
                PodFrom::Case(_) => None,
            })
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

impl Case {
    /// Where a pod of the case is written.
    pub(super) fn pod_span(&self, of: &PodReport) -> Span {
        let is = |pod: &&CasePod| matches!(&pod.from, PodFrom::Case(pod) if pod.key == of.pod.key);
        let file = |pod: &&CasePod| matches!(pod.from, PodFrom::File(_));
        let found = self.pods.iter().find(is).or_else(|| self.pods.iter().find(file));
        found.map_or(self.name_span, |pod| pod.span)
    }
}
