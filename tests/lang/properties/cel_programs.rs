//! Random policies in CEL as documents: well-typed expressions with keys and fields missing, lists too short,
//! divisors of 0 and conversions of bad texts in every place, or with each of them tested first.

use super::Random;
use bayplan::lang::language::functions::{FUNCTIONS, FunctionDef};
use serde_json::{Value as Json, json};

/// Types that expressions are made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ty {
    Bool,
    Int,
    Float,
    Text,
    Texts,
    Ints,
    Map,
    MaybeText,
    Dyn,
    Duration,
    Time,
    Quantity,
}

const KEYS: [&str; 4] = ["team", "tier", "zone", "size"];
const TEXTS: [&str; 7] = ["a", "b", "shop", "true", "3", "", "2026-01-02T03:04:05Z"];
const NUMBERS: [&str; 8] = ["0", "1", "2", "3", "-1", "7", "9223372036854775807", "-9223372036854775807"];

/// A maker of expressions.
pub(super) struct CelPrograms<'r> {
    pub random: &'r mut Random,
    /// Whether what may fail is tested first, wherever that can be written.
    careful: bool,
    pods: Vec<String>,
    nodes: Vec<String>,
    /// Whether other pods and nodes can be named.
    cluster: bool,
    /// Variables in scope with their types: those of the policy and those of macros.
    known: Vec<(String, Ty)>,
    fresh: usize,
}

impl<'r> CelPrograms<'r> {
    pub(super) fn new(random: &'r mut Random, careful: bool) -> Self {
        let (pods, nodes) = (vec!["pod".into()], vec!["node".into()]);
        Self { random, careful, pods, nodes, cluster: false, known: Vec::new(), fresh: 0 }
    }

    /// A policy with variables and every statement that is asked about pods and nodes.
    pub(super) fn policy(&mut self) -> String {
        let nodes = std::mem::take(&mut self.nodes);
        let mut variables = Vec::new();
        for at in 0..self.random.below(4) {
            let ty = self.random.of(&[Ty::Bool, Ty::Int, Ty::Text, Ty::Texts, Ty::Dyn, Ty::MaybeText]);
            let expression = self.expr(ty, 2);
            variables.push(json!({"name": format!("v{at}"), "expression": expression}));
            self.known.push((format!("variables.v{at}"), ty));
        }
        let applies = self.random.one_in(4).then(|| self.expr(Ty::Bool, 2));
        let gates = self.list(2, |this| {
            let when = this.expr(Ty::Bool, 2);
            this.with_on_error(json!({"reason": "gated", "when": when}))
        });
        self.cluster = true;
        let prefilter = self.list(2, |this| {
            let rule = match this.random.below(3) {
                0 => json!({"onlyNodes": this.expr(Ty::Texts, 2), "when": this.expr(Ty::Bool, 1)}),
                _ => json!({"reject": "before", "when": this.expr(Ty::Bool, 2)}),
            };
            this.with_on_error(rule)
        });
        self.nodes = nodes;
        for at in 0..self.random.below(3) {
            let ty = self.random.of(&[Ty::Bool, Ty::Int, Ty::Text, Ty::Float]);
            let expression = format!("[node].map(n, {})[0]", self.expr(ty, 2));
            let expression = if self.random.one_in(3) { expression } else { self.expr(ty, 2) };
            variables.push(json!({"name": format!("w{at}"), "expression": expression}));
            self.known.push((format!("variables.w{at}"), ty));
        }
        let mut filters = Vec::new();
        for at in 0..1 + self.random.below(2) {
            let rules = self.list(3, |this| {
                let rule = match this.random.below(2) {
                    0 => json!({"require": this.expr(Ty::Bool, 3), "else": format!("r{at}")}),
                    _ => json!({"reject": format!("r{at}"), "when": this.expr(Ty::Bool, 3)}),
                };
                this.with_on_error(rule)
            });
            match rules.is_empty() {
                true => {
                    let filter = json!({"name": format!("f{at}"), "expression": self.expr(Ty::Bool, 3)});
                    filters.push(self.with_on_error(filter));
                }
                false => filters.push(json!({"name": format!("f{at}"), "rules": rules})),
            }
        }
        let permit = self.list(2, |this| {
            let rule = match this.random.below(2) {
                0 => json!({"reject": "late", "when": this.expr(Ty::Bool, 2)}),
                _ => json!({"wait": "60s", "until": this.expr(Ty::Bool, 2), "else": "waited"}),
            };
            this.with_on_error(rule)
        });
        let queue = self.list(2, |this| this.queue_key());
        let mut scores = Vec::new();
        for at in 0..self.random.below(3) {
            let ty = self.random.of(&[Ty::Int, Ty::Int, Ty::Float]);
            let score = json!({"name": format!("s{at}"), "weight": at + 1, "normalize": "minmax"});
            let mut score = self.with_on_error(score);
            if self.random.one_in(2) {
                score["expression"] = json!(self.expr(ty, 2));
            } else {
                let first = json!({"value": self.expr(ty, 2), "when": self.expr(Ty::Bool, 2)});
                score["gives"] = json!([first, {"value": self.expr(ty, 1)}]);
            }
            scores.push(score);
        }
        let mut spec = json!({"appliesToAllPods": true, "variables": variables, "gates": gates,
            "prefilter": prefilter, "filters": filters, "scores": scores, "permit": permit});
        if !queue.is_empty() {
            spec["queueBy"] = json!(queue);
        }
        if let Some(applies) = applies {
            spec["appliesWhen"] = json!(applies);
        }
        let spec = self.with_on_error(spec);
        json!({"apiVersion": "bayplan.dev/v1", "kind": "SchedulingPolicy",
            "metadata": {"name": "random"}, "spec": spec})
        .to_string()
    }

    /// A key of the queue: it must not fail.
    fn queue_key(&mut self) -> Json {
        let key = self.random.of(&KEYS);
        let expression = match self.random.below(9) {
            6 => format!("optional.ofValid(string(int(pod.annotations['{key}']) + 1)).orValue('none')"),
            7 => format!("optional.ofValid(100 / size(pod.labels['{key}'])).orValue(7)"),
            8 => format!("optional.ofValid(pod.labels['{key}'] == 'a' && pod.priority > 0).hasValue()"),
            0 => "pod.priority".to_owned(),
            1 => format!("pod.labels[?'{key}'].orValue('x')"),
            2 => format!("'{key}' in pod.labels ? size(pod.labels['{key}']) : 0"),
            3 => format!("has(pod.labels.{key}) && pod.labels.{key} == 'a'"),
            4 => format!("optional.ofValid(int(pod.annotations['{key}'])).orValue(7)"),
            _ => "size(pod.labels) > 0 ? 100 / size(pod.labels) : 0".to_owned(),
        };
        match self.random.one_in(3) {
            true => json!({"expression": expression, "order": "desc"}),
            false => json!({"expression": expression}),
        }
    }

    fn list(&mut self, most: usize, mut make: impl FnMut(&mut Self) -> Json) -> Vec<Json> {
        (0..self.random.below(most + 1)).map(|_| make(self)).collect()
    }

    fn with_on_error(&mut self, mut of: Json) -> Json {
        if self.random.one_in(2) {
            of["onError"] = json!(self.random.of(&["reject", "ignore", "ignore", "error"]));
        }
        of
    }

    /// An expression of a type.
    pub(super) fn expr(&mut self, ty: Ty, depth: usize) -> String {
        let fits = |of: &&(String, Ty)| of.1 == ty;
        let fitting: Vec<String> = self.known.iter().filter(fits).map(|(name, _)| name.clone()).collect();
        if !fitting.is_empty() && self.random.one_in(3) {
            return self.random.of(&fitting);
        }
        if depth == 0 {
            return self.leaf(ty);
        }
        let d = depth - 1;
        if self.random.one_in(12) {
            let (c, a, b) = (self.expr(Ty::Bool, d), self.expr(ty, d), self.expr(ty, d));
            return format!("({c} ? {a} : {b})");
        }
        if self.random.one_in(7)
            && let Some(call) = self.of_table(ty, d)
        {
            return call;
        }
        match ty {
            Ty::Bool => self.bool(d),
            Ty::Int => self.int(d),
            Ty::Float => self.float(d),
            Ty::Text => self.text(d),
            Ty::Texts => self.texts(d),
            Ty::Ints => match self.random.below(4) {
                0 => format!("[{}, {}]", self.expr(Ty::Int, d), self.expr(Ty::Int, d)),
                1 => self.over(Ty::Texts, Ty::Text, d, "map", |this, d| this.expr(Ty::Int, d)),
                2 => self.over(Ty::Ints, Ty::Int, d, "filter", |this, d| this.expr(Ty::Bool, d)),
                _ => format!("({} + {})", self.expr(Ty::Ints, d), self.expr(Ty::Ints, d)),
            },
            Ty::Map => match self.random.below(4) {
                0 => format!("{{'a': {}, {}: {}}}", self.text(d), self.leaf(Ty::Text), self.leaf(Ty::Text)),
                1 => self.over_two("transformMap", d, |this, d| this.expr(Ty::Text, d)),
                2 => self.over_two("transformMapEntry", d, |this, d| {
                    format!("{{{}: {}}}", this.expr(Ty::Text, d), this.expr(Ty::Text, d))
                }),
                _ => self.leaf(ty),
            },
            Ty::MaybeText => match self.random.below(7) {
                0 => format!("{}[?{}]", self.expr(Ty::Map, d), self.expr(Ty::Text, d)),
                1 => format!("{}[?{}]", self.expr(Ty::Texts, d), self.expr(Ty::Int, d)),
                2 => format!("{}.or({})", self.expr(ty, d), self.expr(ty, d)),
                3 => format!("optional.of({})", self.expr(Ty::Text, d)),
                4 => self.over(Ty::MaybeText, Ty::Text, d, "optMap", |this, d| this.expr(Ty::Text, d)),
                5 => {
                    self.over(Ty::MaybeText, Ty::Text, d, "optFlatMap", |this, d| this.expr(Ty::MaybeText, d))
                }
                _ => self.leaf(ty),
            },
            Ty::Dyn => match self.random.below(6) {
                0 if !self.careful => format!("({} + {})", self.expr(ty, d), self.expr(ty, d)),
                1 if !self.careful => format!("{}[{}]", self.expr(ty, d), self.expr(Ty::Text, d)),
                2 if !self.careful => format!("{}.{}", self.expr(ty, d), self.random.of(&KEYS)),
                3 => format!("dyn([dyn({}), {}])", self.expr(Ty::Int, d), self.expr(ty, d)),
                4 => format!("dyn({{'team': dyn({}), 'tier': {}}})", self.expr(Ty::Int, d), self.expr(ty, d)),
                _ => {
                    let of = self.random.of(&[Ty::Bool, Ty::Int, Ty::Text, Ty::Float, Ty::Texts, Ty::Map]);
                    format!("dyn({})", self.expr(of, d))
                }
            },
            Ty::Duration => match self.random.below(4) {
                0 if !self.careful => format!("({} - {})", self.expr(Ty::Time, d), self.expr(Ty::Time, d)),
                1 if !self.careful => format!("({} + {})", self.expr(ty, d), self.expr(ty, d)),
                2 if !self.careful => format!("duration({})", self.found(d)),
                _ => self.leaf(ty),
            },
            Ty::Time => match self.random.below(4) {
                0 if !self.careful => format!("({} + {})", self.expr(ty, d), self.expr(Ty::Duration, d)),
                1 if !self.careful => format!("timestamp({})", self.found(d)),
                _ => self.leaf(ty),
            },
            Ty::Quantity => match self.random.below(2) {
                0 if !self.careful => format!("quantity({})", self.found(d)),
                _ => self.leaf(ty),
            },
        }
    }

    /// A call of a row of the table of functions.
    fn of_table(&mut self, ty: Ty, d: usize) -> Option<String> {
        use bayplan::lang::types::{CelType, Ty as Row};
        let of = |row: &Row| {
            Some(match row {
                Row::Bool => Ty::Bool,
                Row::Int => Ty::Int,
                Row::Float => Ty::Float,
                Row::String => Ty::Text,
                Row::Quantity => Ty::Quantity,
                Row::Dyn => Ty::Dyn,
                Row::Cel(CelType::Duration) => Ty::Duration,
                Row::Cel(CelType::Timestamp) => Ty::Time,
                Row::List(Row::String) => Ty::Texts,
                Row::List(Row::Int | Row::Var(_)) => Ty::Ints,
                Row::Map(Row::String, Row::String) => Ty::Map,
                Row::Var(_) => Ty::Int,
                Row::CelOptional(Row::String) => Ty::MaybeText,
                _ => return None,
            })
        };
        let fits = |row: &&FunctionDef| {
            let params: Option<Vec<Ty>> = row.params.iter().map(of).collect();
            let called = !row.params.is_empty() && row.prepare.is_none() && !row.name.starts_with('@');
            row.dialects.kubernetes && called && params.is_some() && of(&row.result) == Some(ty)
        };
        let rows: Vec<&FunctionDef> =
            FUNCTIONS.iter().flat_map(|family| family.iter()).filter(fits).collect();
        if rows.is_empty() {
            return None;
        }
        let row = self.random.of(&rows);
        let mut args = Vec::new();
        for ty in row.params.iter().filter_map(of) {
            // A constant that a function refuses is a mistake of the policy.
            let arg = self.expr(ty, d);
            let pod = self.pod();
            args.push(match (ty, arg.starts_with(['\'', '9', '-'])) {
                (Ty::Text, true) => format!("{pod}.name"),
                (Ty::Int, true) => format!("{pod}.priority"),
                _ => arg,
            });
        }
        Some(match (row.method, args.split_first()) {
            (true, Some((object, rest))) => format!("{object}.{}({})", row.name, rest.join(", ")),
            _ => format!("{}({})", row.name, args.join(", ")),
        })
    }

    /// A text that is no constant.
    fn found(&mut self, d: usize) -> String {
        let text = self.expr(Ty::Text, d);
        if text.starts_with('\'') { format!("{}.labels.{}", self.pod(), self.random.of(&KEYS)) } else { text }
    }

    fn name(&mut self) -> String {
        self.fresh += 1;
        format!("x{}", self.fresh)
    }

    /// A macro with one variable.
    fn over(
        &mut self,
        object: Ty,
        element: Ty,
        d: usize,
        word: &str,
        body: impl Fn(&mut Self, usize) -> String,
    ) -> String {
        let (object, name) = (self.expr(object, d), self.name());
        self.known.push((name.clone(), element));
        let condition = match word {
            "map" if self.random.one_in(3) => format!("{}, ", self.expr(Ty::Bool, d)),
            _ => String::new(),
        };
        let body = body(self, d);
        self.known.pop();
        format!("{object}.{word}({name}, {condition}{body})")
    }

    /// A macro with two variables over a map.
    fn over_two(&mut self, word: &str, d: usize, body: impl Fn(&mut Self, usize) -> String) -> String {
        let (object, key, value) = (self.expr(Ty::Map, d), self.name(), self.name());
        self.known.extend([(key.clone(), Ty::Text), (value.clone(), Ty::Text)]);
        let condition = match word.starts_with("transform") && self.random.one_in(2) {
            true => format!("{}, ", self.expr(Ty::Bool, d)),
            false => String::new(),
        };
        let body = body(self, d);
        self.known.truncate(self.known.len() - 2);
        format!("{object}.{word}({key}, {value}, {condition}{body})")
    }

    fn bool(&mut self, d: usize) -> String {
        let quantifier = self.random.of(&["all", "exists", "exists_one"]);
        match self.random.below(22) {
            0..=2 => format!("({} && {})", self.expr(Ty::Bool, d), self.expr(Ty::Bool, d)),
            3..=5 => format!("({} || {})", self.expr(Ty::Bool, d), self.expr(Ty::Bool, d)),
            6 => format!("!{}", self.expr(Ty::Bool, d)),
            7..=9 => {
                let ty = self.random.of(&[
                    Ty::Int,
                    Ty::Int,
                    Ty::Float,
                    Ty::Text,
                    Ty::Text,
                    Ty::Duration,
                    Ty::Time,
                    Ty::Bool,
                ]);
                let op = self.random.of(&["<", "<=", ">", ">=", "==", "!="]);
                format!("({} {op} {})", self.expr(ty, d), self.expr(ty, d))
            }
            10 => {
                let ty = self.random.of(&[Ty::Texts, Ty::Map, Ty::Dyn, Ty::MaybeText]);
                let op = self.random.of(&["==", "!="]);
                format!("({} {op} {})", self.expr(ty, d), self.expr(ty, d))
            }
            11 => format!("({} in {})", self.expr(Ty::Text, d), self.expr(Ty::Texts, d)),
            12 => format!("({} in {})", self.expr(Ty::Text, d), self.expr(Ty::Map, d)),
            13 => self.over(Ty::Texts, Ty::Text, d, quantifier, |this, d| this.expr(Ty::Bool, d)),
            14 => self.over_two(quantifier, d, |this, d| this.expr(Ty::Bool, d)),
            15 | 16 if self.cluster => {
                let (over, name) = (self.some_pods(), self.name());
                self.pods.push(name.clone());
                let condition = self.expr(Ty::Bool, d.min(1));
                self.pods.pop();
                format!("{over}.{quantifier}({name}, {condition})")
            }
            17 if self.cluster => {
                let name = self.name();
                let node = self.node();
                self.nodes.push(name.clone());
                let key = self.random.of(&KEYS);
                let other =
                    node.map_or(format!("{}.labels.{key}", self.pod()), |it| format!("{it}.labels.{key}"));
                let rest = self.expr(Ty::Bool, d.min(1));
                self.nodes.pop();
                let form = self.random.of(&[
                    "nodes.Q(n, n.labels.K == O && (R))",
                    "nodes.Q(n, (R) || n.labels.K != O)",
                    "(nodes.filter(n, n.labels.K == O).size() > 0)",
                    "(nodes.filter(n, n.name == O).map(n, R).size() == 0)",
                ]);
                let form = form.replace("(n,", &format!("({name},")).replace("n.", &format!("{name}."));
                form.replace('Q', quantifier).replace('K', key).replace('O', &other).replace('R', &rest)
            }
            18 => format!("{}.hasValue()", self.expr(Ty::MaybeText, d)),
            19 if !self.careful => {
                let op = self.random.of(&["<", ">=", "=="]);
                format!("({} {op} {})", self.expr(Ty::Dyn, d), self.expr(Ty::Dyn, d))
            }
            20 if !self.careful => format!("(true && {})", self.expr(Ty::Dyn, d)),
            _ => self.leaf(Ty::Bool),
        }
    }

    fn int(&mut self, d: usize) -> String {
        if self.careful {
            return match self.random.below(6) {
                0 => format!("size({})", self.expr(Ty::Texts, d)),
                1 => format!("(pod.priority {} {})", self.random.of(&["+", "-", "*"]), self.random.below(9)),
                2 => {
                    let (a, b) = (self.expr(Ty::Texts, d), self.expr(Ty::Map, d));
                    format!("(size({a}) - size({b}))")
                }
                3 => {
                    let by = self.expr(Ty::Texts, d);
                    format!("(size({by}) != 0 ? pod.priority / size({by}) : {})", self.leaf(Ty::Int))
                }
                4 => format!("(pod.priority % {})", 1 + self.random.below(9)),
                _ => self.leaf(Ty::Int),
            };
        }
        match self.random.below(9) {
            0..=2 => {
                let op = self.random.of(&["+", "-", "*", "/", "%"]);
                format!("({} {op} {})", self.expr(Ty::Int, d), self.expr(Ty::Int, d))
            }
            3 => format!("(-{})", self.expr(Ty::Int, d)),
            4 => format!("int({})", self.found(d)),
            5 => format!("{}[{}]", self.expr(Ty::Ints, d), self.expr(Ty::Int, d)),
            6 => format!("size({})", self.expr(Ty::Texts, d)),
            7 => format!("{}.size()", self.expr(Ty::Map, d)),
            _ => format!("{}.indexOf({})", self.expr(Ty::Text, d), self.expr(Ty::Text, d)),
        }
    }

    fn float(&mut self, d: usize) -> String {
        match self.random.below(5) {
            0..=1 => {
                let op = self.random.of(&["+", "-", "*", "/"]);
                format!("({} {op} {})", self.expr(Ty::Float, d), self.expr(Ty::Float, d))
            }
            2 if !self.careful => format!("double({})", self.found(d)),
            3 => format!("double({})", self.expr(Ty::Int, d)),
            _ => self.leaf(Ty::Float),
        }
    }

    fn text(&mut self, d: usize) -> String {
        let risky = if self.careful { 5 } else { 11 };
        match self.random.below(risky) {
            0 => format!("({} + {})", self.expr(Ty::Text, d), self.expr(Ty::Text, d)),
            1 => format!("string({})", self.expr(Ty::Int, d)),
            2 => format!("{}.orValue({})", self.expr(Ty::MaybeText, d), self.expr(Ty::Text, d)),
            3 => {
                let (map, key) = (self.leaf(Ty::Map), self.random.of(&KEYS));
                let form = self.random.of(&["('K' in M ? M['K'] : E)", "(has(M.K) ? M.K : E)"]);
                let other = self.expr(Ty::Text, d);
                form.replace('M', &map).replace('K', key).replace('E', &other)
            }
            4 => {
                let (list, at) = (self.leaf(Ty::Texts), self.random.below(3));
                format!("({list}.size() > {at} ? {list}[{at}] : {})", self.expr(Ty::Text, d))
            }
            5 | 6 => format!("{}[{}]", self.expr(Ty::Map, d), self.expr(Ty::Text, d)),
            7 => format!("{}[{}]", self.expr(Ty::Texts, d), self.expr(Ty::Int, d)),
            8 => format!("{}.value()", self.expr(Ty::MaybeText, d)),
            9 => format!("{}.substring({})", self.expr(Ty::Text, d), self.expr(Ty::Int, d)),
            _ => format!("{}.charAt({})", self.expr(Ty::Text, d), self.expr(Ty::Int, d)),
        }
    }

    fn texts(&mut self, d: usize) -> String {
        match self.random.below(9) {
            0 => format!("[{}, {}]", self.expr(Ty::Text, d), self.expr(Ty::Text, d)),
            1 => format!("[?{}, {}]", self.expr(Ty::MaybeText, d), self.expr(Ty::Text, d)),
            2 => self.over(Ty::Texts, Ty::Text, d, "map", |this, d| this.expr(Ty::Text, d)),
            3 => self.over(Ty::Texts, Ty::Text, d, "filter", |this, d| this.expr(Ty::Bool, d)),
            4 => self.over_two("transformList", d, |this, d| this.expr(Ty::Text, d)),
            5 => self.over(Ty::Texts, Ty::Text, d, "sortBy", |this, d| this.expr(Ty::Int, d)),
            6 => format!("({} + {})", self.expr(Ty::Texts, d), self.expr(Ty::Texts, d)),
            7 if self.cluster => {
                let (over, name) = (self.some_pods(), self.name());
                self.pods.push(name.clone());
                let text = self.expr(Ty::Text, d.min(1));
                self.pods.pop();
                format!("{over}.map({name}, {text})")
            }
            _ => self.leaf(Ty::Texts),
        }
    }

    fn some_pods(&mut self) -> String {
        match self.node() {
            Some(node) if self.random.one_in(2) => format!("{node}.pods"),
            _ => "pods".to_owned(),
        }
    }

    fn pod(&mut self) -> String {
        let pods = self.pods.clone();
        self.random.of(&pods)
    }

    fn node(&mut self) -> Option<String> {
        let nodes = self.nodes.clone();
        if nodes.is_empty() { None } else { Some(self.random.of(&nodes)) }
    }

    fn leaf(&mut self, ty: Ty) -> String {
        let pod = self.pod();
        let node = self.node();
        let key = self.random.of(&KEYS);
        let text = self.random.of(&TEXTS);
        let node_or = |of: &str, otherwise: String| match &node {
            Some(node) => format!("{node}.{of}"),
            None => otherwise,
        };
        let owner = match self.random.one_in(2) {
            true => node_or("labels", format!("{pod}.labels")),
            false => format!("{pod}.labels"),
        };
        let risky = !self.careful;
        let turn = self.random.below(6);
        match (ty, turn) {
            (Ty::Bool, 0) => node_or("ready", format!("{pod}.gated")),
            (Ty::Bool, 1) => format!("has({owner}.{key})"),
            (Ty::Bool, 2) => format!("('{key}' in {owner})"),
            (Ty::Bool, 3) if risky => format!("({owner}.{key} == '{text}')"),
            (Ty::Bool, 3) => format!("(has({owner}.{key}) && {owner}.{key} == '{text}')"),
            (Ty::Bool, 4) => match &node {
                Some(node) => format!("({node}.free.cpu >= {pod}.requests.cpu)"),
                None => format!("{pod}.placed"),
            },
            (Ty::Bool, _) if risky => format!("(1 / {pod}.priority > {})", self.random.below(2)),
            (Ty::Bool, _) => format!("({owner}[?'{key}'].orValue('') == '{text}')"),
            (Ty::Int, 0) => format!("{pod}.priority"),
            (Ty::Int, 1) => format!("size({owner})"),
            (Ty::Int, 2) => node_or("pods.size()", format!("{pod}.images.size()")),
            (Ty::Int, 3) if risky => format!("int({owner}['{key}'])"),
            (Ty::Int, _) => self.random.of(&NUMBERS).to_owned(),
            (Ty::Float, 0) => format!("double({pod}.priority)"),
            (Ty::Float, 1) => "1e308".to_owned(),
            (Ty::Float, _) => format!("{}.5", self.random.below(9)),
            (Ty::Text, 0) => format!("{pod}.name"),
            (Ty::Text, 1) => node_or("name", format!("{pod}.namespace")),
            (Ty::Text, 2) if risky => format!("{owner}['{key}']"),
            (Ty::Text, 3) if risky => format!("{owner}.{key}"),
            (Ty::Text, 4) if risky => node_or("zone", format!("{pod}.priority_class")),
            (Ty::Text, 2..=4) => format!("{owner}.?{key}.orValue('{text}')"),
            (Ty::Text, _) => format!("'{text}'"),
            (Ty::Texts, 0) => format!("{pod}.images"),
            (Ty::Texts, 1) => format!("{owner}.map(k, k)"),
            (Ty::Texts, 2) if risky => format!("{pod}.labels.map(k, {owner}[k])"),
            (Ty::Texts, _) => format!("['{text}', '{}']", self.random.of(&TEXTS)),
            (Ty::Ints, 0) => format!("[{pod}.priority, {}]", self.random.below(3)),
            (Ty::Ints, _) => "[3, 1, 2]".to_owned(),
            (Ty::Map, 0) => format!("{pod}.annotations"),
            (Ty::Map, 1) => format!("{{'team': {}}}", self.random.of(&["'a'", "'b'"])),
            (Ty::Map, _) => owner,
            (Ty::MaybeText, 0) => format!("{owner}[?'{key}']"),
            (Ty::MaybeText, 1) => "optional.none()".to_owned(),
            (Ty::MaybeText, 2) => node_or("?zone", format!("{pod}.?priority_class")),
            (Ty::MaybeText, _) => format!("{owner}.?{key}"),
            (Ty::Dyn, 0) => "dyn(null)".to_owned(),
            (Ty::Dyn, 1) => format!("dyn({owner})"),
            (Ty::Dyn, 2) => format!("dyn({pod}.priority)"),
            (Ty::Dyn, 3) => format!("dyn({}u)", self.random.below(3)),
            (Ty::Dyn, 4) if risky => format!("dyn({owner})['{key}']"),
            (Ty::Dyn, _) => format!("dyn('{text}')"),
            (Ty::Duration, 0) => node_or("age", format!("{pod}.age")),
            (Ty::Duration, 1) => "duration('1h30m')".to_owned(),
            (Ty::Duration, _) => format!("duration('{}ms')", self.random.below(9999)),
            (Ty::Time, 0) => node_or("created", "now()".to_owned()),
            (Ty::Time, 1) => "timestamp('2026-01-02T03:04:05.000000001Z')".to_owned(),
            (Ty::Time, _) => format!("{pod}.created"),
            (Ty::Quantity, _) => format!("quantity('{}')", self.random.of(&["1", "500m", "2Gi", "1e3"])),
        }
    }
}
