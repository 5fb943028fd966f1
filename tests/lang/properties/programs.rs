//! Random policies as text: well-typed expressions of every type, over everything that a rule for
//! nodes can read.

use super::Random;

/// Types that expressions are made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ty {
    Bool,
    Int,
    Float,
    Cpu,
    Bytes,
    Count,
    Duration,
    Time,
    Text,
    MaybeText,
    Texts,
    Resources,
    Pods,
    Nodes,
}

const KEYS: [&str; 5] = ["team", "tier", "zone", "job", "size"];
const TEXTS: [&str; 6] = ["a", "b", "shop", "true", "3", ""];

/// Ledgers of every type, with simple and composite keys.
const LEDGERS: &str = r#"  ledger used: int by pod.labels["team"] ?? "" { add 1  add limit when pod.priority > 2 }
  ledger busy: cpu by [pod.labels["team"] ?? "", node.zone ?? ""] { add pod.requests.cpu }
  ledger kinds: set<string> by pod.priority > 3 { add pod.labels.map(k, k) }
  ledger asked: resources by pod.namespace { add pod.requests }
"#;

/// Memos of several types, with simple and composite keys.
const MEMOS: &str = r#"  memo last: string by pod.labels["team"] ?? "" ttl 1h
  memo tries: int by [pod.namespace, pod.labels["job"] ?? ""] ttl 10min
  memo resting: bool by pod.priority ttl 1min
"#;
/// Metrics over two windows.
const SOURCES: &str = "  source load = metrics(window: 5min, max_age: 2min)\n  source late = metrics(window: 30s, max_age: 1min)\n";

/// A maker of expressions.
pub(super) struct Programs<'r> {
    pub random: &'r mut Random,
    /// Variables in scope.
    pub pods: Vec<String>,
    pub nodes: Vec<String>,
    /// Names of lets with their types.
    pub lets: Vec<(String, Ty)>,
    /// Whether the policy has the ledgers of [`LEDGERS`].
    ledgers: bool,
    /// Whether the policy has the memos of [`MEMOS`].
    memos: bool,
    /// Whether the policy has the sources of [`SOURCES`].
    sources: bool,
    fresh: usize,
    /// Leaves out what no document can say: the type of an expression, and writes of values that may be absent.
    for_documents: bool,
}

impl<'r> Programs<'r> {
    pub(super) fn new(random: &'r mut Random) -> Self {
        Self {
            random,
            pods: vec!["pod".into()],
            nodes: vec!["node".into()],
            lets: Vec::new(),
            ledgers: false,
            memos: false,
            sources: false,
            fresh: 0,
            for_documents: false,
        }
    }

    /// The same for policies that are converted to documents.
    pub(super) fn for_documents(random: &'r mut Random) -> Self {
        Self { for_documents: true, ..Self::new(random) }
    }

    /// A policy with lets, filters and scores.
    pub(super) fn policy(&mut self) -> String {
        let mut text = String::from("policy random {\n  param limit = 3\n  param key = \"team\"\n");
        let rest = self.random.of(&["", " && m.priority >= 0", " && m.requests.cpu > 500m"]);
        text.push_str(&format!(
            "  group mates = m in pods where m.namespace == pod.namespace && m.labels[\"job\"] == pod.labels[\"job\"]{rest}\n"
        ));
        self.ledgers = self.random.one_in(2);
        if self.ledgers {
            text.push_str(LEDGERS);
        }
        self.memos = self.random.below(5) < 2;
        if self.memos {
            text.push_str(MEMOS);
        }
        self.sources = self.random.one_in(2);
        if self.sources {
            text.push_str(SOURCES);
        }
        let nodes = std::mem::take(&mut self.nodes);
        for at in 0..self.random.below(3) {
            let ty = self.random.of(&[Ty::Bool, Ty::Int, Ty::MaybeText, Ty::Cpu, Ty::Texts]);
            text.push_str(&format!("  let of_pod{at} = {}\n", self.expr(ty, 2)));
            self.lets.push((format!("of_pod{at}"), ty));
        }
        self.nodes = nodes;
        text.push_str(&self.exception("  "));
        if self.for_documents {
            let nodes = std::mem::take(&mut self.nodes);
            let desc = self.random.of(&["", "desc "]);
            // A let with the word of an order.
            text.push_str(&format!("  let desc = {} ?? 0\n", self.maybe_int(1)));
            let share = if self.ledgers { "used[pod.labels[\"team\"] ?? \"\"], " } else { "" };
            text.push_str(&format!(
                "  queue by {desc}({} ?? 3), {share}(desc), pod.priority\n",
                self.maybe_int(2)
            ));
            self.nodes = nodes;
        }
        for filter in 0..1 + self.random.below(2) {
            text.push_str(&format!("  filter f{filter} {{\n"));
            text.push_str(&self.mode());
            text.push_str(&self.exception("    "));
            let before = self.lets.len();
            if self.random.one_in(2) {
                let ty = self.random.of(&[Ty::Bool, Ty::Int, Ty::MaybeText, Ty::Bytes]);
                text.push_str(&format!("    let here = {}\n", self.expr(ty, 2)));
                self.lets.push(("here".into(), ty));
            }
            for check in 0..1 + self.random.below(2) {
                let condition = self.expr(Ty::Bool, 3);
                let hole = if self.random.one_in(5) { " {node.zone}" } else { "" };
                let with = match self.for_documents {
                    true => {
                        format!(" with {{ w: {}, v: {} }}", self.maybe_int(2), self.expr(Ty::MaybeText, 1))
                    }
                    false => String::new(),
                };
                if self.random.one_in(2) {
                    text.push_str(&format!(
                        "    require {condition} else \"r{filter}{check}{hole}\"{with}\n"
                    ));
                } else {
                    text.push_str(&format!("    reject \"r{filter}{check}{hole}\"{with} when {condition}\n"));
                }
            }
            self.lets.truncate(before);
            text.push_str("  }\n");
        }
        for score in 0..self.random.below(3) {
            let ty = self.random.of(&[Ty::Int, Ty::Float, Ty::Cpu, Ty::Bytes, Ty::Duration]);
            let reversed = if self.random.one_in(3) { " reversed" } else { "" };
            text.push_str(&format!("  score s{score} weight {} normalize minmax{reversed} {{\n", 1 + score));
            text.push_str(&self.mode());
            text.push_str(&self.exception("    "));
            if self.random.one_in(2) {
                let (value, when) = (self.expr(ty, 3), self.expr(Ty::Bool, 2));
                text.push_str(&format!("    give {value} when {when}\n"));
            }
            if self.random.one_in(3) {
                text.push_str(&format!("    give none when {}\n", self.expr(Ty::Bool, 2)));
            }
            text.push_str(&format!("    give {}\n  }}\n", self.expr(ty, 3)));
        }
        if self.random.one_in(2) {
            let (refuses, when) = (self.expr(Ty::Bool, 2), self.expr(Ty::Bool, 2));
            let maybe = if self.for_documents { Ty::Text } else { Ty::MaybeText };
            let (noted, kept) = (self.expr(maybe, 3), self.expr(Ty::Text, 2));
            text.push_str(&format!(
                "  reserve {{\n    reject \"late\" when {refuses}\n    annotate pod {{\"example.com/a\": {noted}, \
                 \"example.com/b\": {kept}}} when {when}\n    label pod {{\"c\": {}}}\n  }}\n",
                self.expr(maybe, 2)
            ));
        }
        if self.random.one_in(2) {
            let nodes = std::mem::take(&mut self.nodes);
            // Each condition more makes a twin less likely.
            let depth = if self.for_documents { 0 } else { 2 };
            let (released, woken) = (self.proved(Ty::Bool, depth), self.proved(Ty::Bool, depth));
            self.nodes = nodes;
            text.push_str(&format!(
                "  after failure {{\n    release mates \"no node\" when {released}\n    activate mates when {woken}\n"
            ));
            if self.memos {
                let nodes = std::mem::take(&mut self.nodes);
                let (maybe, depth) = if self.for_documents { (Ty::Text, 0) } else { (Ty::MaybeText, 2) };
                let (tries, last) = (self.expr(Ty::Int, depth), self.expr(maybe, depth));
                let when = self.expr(Ty::Bool, depth / 2);
                self.nodes = nodes;
                text.push_str(&format!(
                    "    remember tries = {tries}\n    remember last = {last} when {when}\n    remember resting = none\n"
                ));
            }
            text.push_str("  }\n");
        }
        if self.random.one_in(2) {
            let (when, written) = (self.proved(Ty::Bool, 2), self.proved(Ty::Text, 3));
            let block = self.random.of(&["before bind", "after bind"]);
            text.push_str(&format!(
                "  {block} {{\n    annotate pod {{\"example.com/c\": {written}, \"example.com/d\": none}} when {when}\n    \
                 label node {{\"example.com/e\": \"yes\"}}\n    patch node {{\"metadata\": {{\"labels\": \
                 {{\"example.com/f\": {written}}}}}, \"spec\": {{\"unschedulable\": {when}}}}} when {when}\n  }}\n"
            ));
        }
        text.push_str("}\n");
        text
    }

    /// Sometimes an exception, past, of the day of the tests, or to come.
    fn exception(&mut self, indent: &str) -> String {
        if !self.random.one_in(4) {
            return String::new();
        }
        let day = self.random.of(&["2026-01-04", "2026-01-05", "2099-01-31"]);
        let pods = self.random.of(&["", " when pod.labels[\"team\"] == \"a\"", " when pod.priority > 0"]);
        format!("{indent}except until {day} because \"it moves\"{pods}\n")
    }

    /// Sometimes a rule decides for some pods.
    fn mode(&mut self) -> String {
        if !self.random.one_in(4) {
            return String::new();
        }
        let pods = self.random.of(&["pod.labels[\"team\"] == \"a\"", "pod.priority > 0"]);
        let others = self.random.of(&["", " else audit", " else warn"]);
        format!("    mode enforce when {pods}{others}\n")
    }

    /// A condition or a text that has no fault in CEL either.
    fn proved(&mut self, ty: Ty, depth: usize) -> String {
        match (self.for_documents, ty) {
            (false, _) => self.expr(ty, depth),
            (true, Ty::Bool) => format!("pod.priority > {}", self.random.below(4)),
            (true, _) => "\"text\"".to_owned(),
        }
    }

    /// An expression of a type.
    pub(super) fn expr(&mut self, ty: Ty, depth: usize) -> String {
        let fitting: Vec<String> =
            self.lets.iter().filter(|(_, of)| *of == ty).map(|(name, _)| name.clone()).collect();
        if !fitting.is_empty() && self.random.one_in(3) {
            return self.random.of(&fitting);
        }
        if depth == 0 {
            return self.leaf(ty);
        }
        let d = depth - 1;
        // Any type may be chosen by a condition.
        if self.random.one_in(12) {
            let (c, a, b) = (self.expr(Ty::Bool, d), self.expr(ty, d), self.expr(ty, d));
            return format!("({c} ? {a} : {b})");
        }
        match ty {
            Ty::Bool => self.bool(d),
            Ty::Int => self.int(d),
            Ty::Float => self.float(d),
            Ty::Cpu | Ty::Bytes | Ty::Duration => self.amount(ty, d),
            Ty::Count => match self.random.below(4) {
                2 => format!("{}[\"nvidia.com/gpu\"]", self.expr(Ty::Resources, d)),
                0 => format!("({} + {})", self.expr(Ty::Count, d), self.expr(Ty::Count, d)),
                1 => format!("{}.sum(q, q.requests[\"nvidia.com/gpu\"])", self.expr(Ty::Pods, d)),
                _ => self.leaf(ty),
            },
            Ty::Time => match self.random.below(3) {
                0 => format!("({} + {})", self.expr(Ty::Time, d), self.expr(Ty::Duration, d)),
                1 => format!("({} - {})", self.expr(Ty::Time, d), self.expr(Ty::Duration, d)),
                _ => self.leaf(ty),
            },
            Ty::Text => match self.random.below(7) {
                2 => format!("{}.orValue({})", self.held(), self.expr(Ty::Text, d)),
                3 => {
                    let (text, number) = (self.expr(Ty::Text, d), self.expr(Ty::Int, d));
                    let (float, texts) = (self.expr(Ty::Float, d), self.expr(Ty::Texts, d));
                    format!("\"%s: %d of %.2f in %s\".format([{text}, {number}, {float}, {texts}])")
                }
                4 => format!("strings.quote({})", self.expr(Ty::Text, d)),
                5 => {
                    self.fresh += 1;
                    let name = format!("v{}", self.fresh);
                    let text = self.expr(Ty::Text, d);
                    format!("{}.optMap({name}, {name} + {text}).orValue(\"\")", self.held())
                }
                0 => format!("({} ?? {})", self.expr(Ty::MaybeText, d), self.expr(Ty::Text, d)),
                1 => format!("({} + {})", self.expr(Ty::Text, d), self.expr(Ty::Text, d)),
                _ => self.leaf(ty),
            },
            Ty::MaybeText => match self.random.below(8) {
                6 => {
                    let pods = self.expr(Ty::Pods, d);
                    let (name, key) = self.with_pod(|this| this.expr(Ty::Text, d));
                    format!("{pods}.sort_by({name}, {key}).first().name")
                }
                7 => {
                    let pods = self.expr(Ty::Pods, d);
                    let (name, text) = self.with_pod(|this| this.expr(Ty::Text, d));
                    format!("{pods}.{}({name}, {text})", self.random.of(&["min", "max"]))
                }
                2 => format!("{}.or({}).value()", self.held(), self.held()),
                3 => {
                    self.fresh += 1;
                    let name = format!("v{}", self.fresh);
                    format!(
                        "{}.optFlatMap({name}, [{name}, \"a\"][?{}]).value()",
                        self.held(),
                        self.random.below(3)
                    )
                }
                0 if self.for_documents => "pod.images.first()".to_owned(),
                0 => format!("{}.first()", self.expr(Ty::Texts, d)),
                1 => {
                    let pods = self.expr(Ty::Pods, d);
                    let (name, condition) = self.with_pod(|this| this.expr(Ty::Bool, d));
                    format!("{pods}.first({name}, {condition}).name")
                }
                _ => self.leaf(ty),
            },
            Ty::Texts => match self.random.below(7) {
                6 => {
                    self.fresh += 1;
                    let (at, text) = (format!("i{}", self.fresh), format!("t{}", self.fresh));
                    format!("{}.transformList({at}, {text}, {text} + string({at}))", self.expr(Ty::Texts, d))
                }
                3 => format!(
                    "[?{}, {}, ?{}]",
                    self.held(),
                    self.expr(Ty::Text, d),
                    self.expr(Ty::MaybeText, d)
                ),
                4 => format!("[{}, {}].unwrapOpt()", self.held(), self.held()),
                0 => {
                    let pods = self.expr(Ty::Pods, d);
                    let (name, text) = self.with_pod(|this| this.expr(Ty::Text, d));
                    format!("{pods}.map({name}, {text})")
                }
                1 => {
                    let pods = self.expr(Ty::Pods, d);
                    let (name, text) = self.with_pod(|this| this.expr(Ty::MaybeText, d));
                    format!("{pods}.map({name}, {text}).present()")
                }
                2 => format!("[{}, {}]", self.expr(Ty::Text, d), self.expr(Ty::Text, d)),
                _ => self.leaf(ty),
            },
            Ty::Resources => match self.random.below(3) {
                0 => format!("({} + {})", self.expr(Ty::Resources, d), self.expr(Ty::Resources, d)),
                1 => format!("{}.sum(q, q.requests)", self.expr(Ty::Pods, d)),
                _ => self.leaf(ty),
            },
            Ty::Pods => match self.random.below(5) {
                0 | 1 => {
                    let pods = self.leaf(Ty::Pods);
                    let (name, condition) = self.with_pod(|this| this.expr(Ty::Bool, d.min(1)));
                    format!("{pods}.filter({name}, {condition})")
                }
                2 => {
                    let pods = self.leaf(Ty::Pods);
                    let (name, key) = self.with_pod(|this| this.expr(Ty::Int, d.min(1)));
                    format!("{pods}.sort_by({name}, {key})")
                }
                _ => self.leaf(ty),
            },
            Ty::Nodes => match self.random.below(3) {
                0 => {
                    let condition = self.same_node(d.min(1));
                    format!("nodes.filter({}, {})", condition.0, condition.1)
                }
                _ => self.leaf(ty),
            },
        }
    }

    /// A variable for a node, and a condition that compares a value of it with another value, as lookups
    /// need.
    fn same_node(&mut self, d: usize) -> (String, String) {
        let outside = match (self.random.below(4), self.node()) {
            (0, _) | (_, None) => None,
            (_, Some(node)) => Some(node),
        };
        let pod = self.pod();
        self.with_node(|this| {
            let mine = this.nodes.last().cloned().unwrap_or_default();
            let key = this.random.of(&KEYS);
            let other = this.random.of(&KEYS);
            let of = |what: &str| match &outside {
                Some(node) => format!("{node}.{what}"),
                None if what.starts_with("labels") => format!("{pod}.{what}"),
                None => format!("{pod}.node.{what}"),
            };
            let gpus = "allocatable[\"nvidia.com/gpu\"]";
            let asks = outside.as_ref().map(|node| format!("has({node}.{gpus})"));
            let by_amount = this.random.one_in(6);
            let (a, b) = match this.random.below(7) {
                _ if by_amount => (format!("{mine}.{gpus}"), of(gpus)),
                0 => (format!("{mine}.zone"), of("zone")),
                1 => (format!("{mine}.name"), of("name")),
                2 => (format!("{mine}.labels[key]"), of("labels[key]")),
                3 => (format!("{mine}.labels[\"{key}\"]"), of(&format!("labels[\"{other}\"]"))),
                4 => (format!("{mine}.unschedulable"), of("unschedulable")),
                _ => (format!("{mine}.labels[\"{key}\"]"), of(&format!("labels[\"{key}\"]"))),
            };
            let equal = if this.random.one_in(2) { format!("{a} == {b}") } else { format!("{b} == {a}") };
            match this.random.below(4) {
                0 | 1 if by_amount && asks.is_some() => format!("{equal} && {}", asks.unwrap_or_default()),
                0 => format!("{equal} && {}", this.expr(Ty::Bool, d)),
                1 => format!("{} && {equal}", this.expr(Ty::Bool, d)),
                _ => equal,
            }
        })
    }

    /// The same for a pod.
    fn same_pod(&mut self, d: usize) -> (String, String) {
        let (node, pod) = (self.node(), self.pod());
        self.with_pod(|this| {
            let mine = this.pods.last().cloned().unwrap_or_default();
            let key = this.random.of(&KEYS);
            let (a, b) = match (this.random.below(6), &node) {
                (0, Some(node)) => (format!("{mine}.node.name"), format!("{node}.name")),
                (1, Some(node)) => (format!("{mine}.node"), node.clone()),
                (2, Some(node)) => {
                    (format!("{mine}.node.labels[\"{key}\"]"), format!("{node}.labels[\"{key}\"]"))
                }
                (3, Some(node)) => (format!("{mine}.labels[\"{key}\"]"), format!("{node}.labels[\"{key}\"]")),
                (4, _) => (format!("{mine}.priority"), format!("{pod}.priority")),
                _ => (format!("{mine}.namespace"), format!("{pod}.labels[\"{key}\"]")),
            };
            let equal = format!("{a} == {b}");
            if this.random.one_in(3) { format!("{} && {equal}", this.expr(Ty::Bool, d)) } else { equal }
        })
    }

    /// A condition on the nodes or pods that are like another.
    fn same_bool(&mut self, d: usize) -> String {
        let (over, (name, condition)) = if self.random.one_in(2) {
            (String::from("nodes"), self.same_node(d.min(1)))
        } else {
            (self.expr(Ty::Pods, d.min(1)), self.same_pod(d.min(1)))
        };
        match self.random.below(5) {
            0 => format!("{over}.exists({name}, {condition})"),
            1 => format!("{over}.exists_one({name}, {condition})"),
            2 => format!("{over}.all({name}, {condition})"),
            3 => match condition.split_once(" == ") {
                Some((a, b)) if !condition.contains("&&") => {
                    format!("{over}.all({name}, {a} != {b} || {})", self.random.of(&["true", "false"]))
                }
                _ => format!("!{over}.all({name}, {condition})"),
            },
            _ => format!("({over}.count({name}, {condition}) > {})", self.random.below(3)),
        }
    }

    fn with_pod(&mut self, make: impl FnOnce(&mut Self) -> String) -> (String, String) {
        let name = self.variable("p");
        self.pods.push(name.clone());
        let text = make(self);
        self.pods.pop();
        (name, text)
    }

    fn with_node(&mut self, make: impl FnOnce(&mut Self) -> String) -> (String, String) {
        let name = self.variable("n");
        self.nodes.push(name.clone());
        let text = make(self);
        self.nodes.pop();
        (name, text)
    }

    /// A name for a variable: in policies for documents sometimes a word of theirs.
    fn variable(&mut self, begin: &str) -> String {
        self.fresh += 1;
        const WORDS: [&str; 6] = ["variables", "params", "groups", "ledgers", "memos", "sources"];
        if self.for_documents && self.random.one_in(6) {
            let word = self.random.of(&WORDS).to_owned();
            let taken = self.pods.contains(&word) || self.nodes.contains(&word);
            if !taken {
                return word;
            }
        }
        format!("{begin}{}", self.fresh)
    }

    /// An `int?` of conversions, choices, maps of constants and other parts, each of which may have no value.
    fn maybe_int(&mut self, d: usize) -> String {
        let key = self.random.of(&KEYS);
        if d == 0 {
            let text = self.leaf(Ty::MaybeText);
            return format!("int({text})");
        }
        match self.random.below(8) {
            // The int of any float may leave its range, which has no twin.
            0 | 1 => format!("int(string({}))", self.maybe_int(d - 1)),
            2 => {
                let (c, a, b) = (self.leaf(Ty::Bool), self.maybe_int(d - 1), self.maybe_int(d - 1));
                format!("({c} ? {a} : {b})")
            }
            3 => format!("({} ?? {})", self.maybe_int(d - 1), self.maybe_int(d - 1)),
            4 => format!("{{\"team\": 1, \"{key}\": 4}}[key]"),
            5 => format!("[3, 4][limit - {}]", self.random.below(4)),
            6 => format!("int({{\"a\": \"5\", \"b\": \"x\"}}[{}])", self.open_text()),
            _ => {
                let pods = self.leaf(Ty::Pods);
                let (name, text) = self.with_pod(|this| this.leaf(Ty::MaybeText));
                format!("int({pods}.map({name}, {text}).present().max())")
            }
        }
    }

    /// What is made of one, with or without a default.
    fn of_maybe_int(&mut self, d: usize) -> String {
        let maybe = self.maybe_int(d);
        match self.random.below(6) {
            0 => format!("({maybe} ?? {}) > 2", self.random.below(4)),
            1 => format!("(float({maybe}) ?? 1.0) >= 1.5"),
            2 => format!("(string({maybe}) ?? \"30\") != \"0\""),
            3 => format!("{maybe} == {}", self.random.below(6)),
            4 => format!("{maybe} != {}", self.maybe_int(d.min(1))),
            _ => format!("has({maybe})"),
        }
    }

    /// CEL's optional of a text.
    fn held(&mut self) -> String {
        let owner = self.owner();
        let key = self.random.of(&KEYS);
        match self.random.below(5) {
            0 => format!("{owner}.labels.?{key}"),
            1 => format!("{owner}.annotations[?\"{key}\"]"),
            2 => format!("optional.ofNonZeroValue({})", self.open_text()),
            3 => {
                let at = self.random.below(3);
                let of_param = if self.for_documents { "limit - " } else { "" };
                format!("{}[?{of_param}{at}]", self.leaf(Ty::Texts))
            }
            _ => format!("optional.of({})", self.open_text()),
        }
    }

    /// A text, in policies for documents one that is not a constant: `convert` refuses what is wholly constant where
    /// CEL does not prove that it has a value.
    fn open_text(&mut self) -> String {
        match self.for_documents {
            true => self.random.of(&["key", "pod.name", "pod.namespace"]).to_owned(),
            false => self.leaf(Ty::Text),
        }
    }

    fn bool(&mut self, d: usize) -> String {
        if self.for_documents && self.random.one_in(4) {
            let depth = 1 + self.random.below(3);
            return format!("({})", self.of_maybe_int(depth));
        }
        match self.random.below(23) {
            19 => format!("({} == {})", self.held(), self.held()),
            20 => format!("{}.hasValue()", self.held()),
            22 => {
                let (a, b) = (self.expr(Ty::Text, d), self.expr(Ty::MaybeText, d));
                format!("(quantity({a}) == quantity({b}) || isQuantity({a}))")
            }
            21 if !self.for_documents => {
                format!("(type({}) == type({}))", self.expr(Ty::Int, d), self.expr(Ty::Float, d))
            }
            16 | 17 => self.same_bool(d),
            18 => match self.node() {
                Some(node) => {
                    let pods = self.expr(Ty::Pods, d.min(1));
                    format!("({node}.name in {pods}.map(q, q.node.name).present())")
                }
                None => format!("pods.exists(q, q.qos in {})", self.expr(Ty::Texts, d)),
            },
            0 => format!("({} && {})", self.expr(Ty::Bool, d), self.expr(Ty::Bool, d)),
            1 => format!("({} || {})", self.expr(Ty::Bool, d), self.expr(Ty::Bool, d)),
            2 => format!("!{}", self.expr(Ty::Bool, d)),
            3 => {
                let ty = self.random.of(&[Ty::MaybeText, Ty::Text]);
                let op = self.random.of(&["==", "!="]);
                format!("({} {op} {})", self.expr(Ty::MaybeText, d), self.expr(ty, d))
            }
            4..=7 => {
                let ty = self.random.of(&[
                    Ty::Int,
                    Ty::Float,
                    Ty::Cpu,
                    Ty::Bytes,
                    Ty::Count,
                    Ty::Duration,
                    Ty::Time,
                    Ty::Text,
                ]);
                let op = self.random.of(&["<", "<=", ">", ">=", "==", "!="]);
                format!("({} {op} {})", self.expr(ty, d), self.expr(ty, d))
            }
            8 => format!("({} in {})", self.expr(Ty::MaybeText, d), self.expr(Ty::Texts, d)),
            9 => format!("has({})", self.leaf(Ty::MaybeText)),
            10 => {
                let over = self.expr(Ty::Pods, d);
                let (name, condition) = self.with_pod(|this| this.expr(Ty::Bool, d));
                let which = self.random.of(&["all", "exists", "exists_one"]);
                format!("{over}.{which}({name}, {condition})")
            }
            11 => {
                let over = self.expr(Ty::Nodes, d);
                let (name, condition) = self.with_node(|this| this.expr(Ty::Bool, d.min(1)));
                format!("{over}.exists({name}, {condition})")
            }
            12 => {
                let owner = self.owner();
                format!("(\"{}\" in {owner}.labels)", self.random.of(&KEYS))
            }
            13 => format!("({} != none)", self.expr(Ty::MaybeText, d)),
            _ => self.leaf(Ty::Bool),
        }
    }

    fn int(&mut self, d: usize) -> String {
        match self.random.below(17) {
            9 => {
                let (name, condition) = self.same_node(d);
                format!("nodes.count({name}, {condition})")
            }
            10 => {
                let (pods, (name, condition)) = (self.expr(Ty::Pods, d), self.same_pod(d));
                format!("{pods}.filter({name}, {condition}).size()")
            }
            11 => {
                let (over, (name, number)) =
                    (self.expr(Ty::Nodes, d), self.with_node(|this| this.expr(Ty::Int, d)));
                let which = self.random.of(&["min", "max"]);
                format!("({over}.{which}({name}, {number}) ?? {})", self.leaf(Ty::Int))
            }
            13 => {
                let (text, part) = (self.expr(Ty::Text, d), self.expr(Ty::Text, d));
                let which = self.random.of(&["indexOf", "lastIndexOf"]);
                format!("({text}.{which}({part}, {}) ?? {})", self.expr(Ty::Int, d), self.leaf(Ty::Int))
            }
            14 => format!("lists.range(clamp({}, -2, 7)).sum()", self.expr(Ty::Int, d)),
            15 => {
                let pod = self.pod();
                let part = self.random.of(&["free", "index", "capacity"]);
                match self.node() {
                    Some(node) => {
                        format!("{node}.gpus.filter(g, g.free >= {pod}.gpu.milli).sum(g, g.{part})")
                    }
                    None => format!("({pod}.gpu.count * {pod}.gpu.milli)"),
                }
            }
            16 => {
                let pod = self.pod();
                match self.random.below(3) {
                    0 => format!("{pod}.spec.containers.size()"),
                    1 => {
                        format!("({pod}.status.conditions ?? []).count(c, c.type == {})", self.leaf(Ty::Text))
                    }
                    _ => format!("{pod}.spec.containers.sum(c, c.name.size())"),
                }
            }
            0 => format!("({} + {})", self.expr(Ty::Int, d), self.expr(Ty::Int, d)),
            1 => format!("({} - {})", self.expr(Ty::Int, d), self.expr(Ty::Int, d)),
            2 => format!("({} * {})", self.expr(Ty::Int, d), self.expr(Ty::Int, d)),
            3 => format!("({} / {} ?? {})", self.expr(Ty::Int, d), self.expr(Ty::Int, d), self.leaf(Ty::Int)),
            4 => format!("({} % {} ?? {})", self.expr(Ty::Int, d), self.expr(Ty::Int, d), self.leaf(Ty::Int)),
            5 => {
                let over = self.expr(Ty::Pods, d);
                let (name, condition) = self.with_pod(|this| this.expr(Ty::Bool, d));
                format!("{over}.count({name}, {condition})")
            }
            6 => {
                let ty = self.random.of(&[Ty::Cpu, Ty::Bytes]);
                format!("percent({}, {})", self.expr(ty, d), self.expr(ty, d))
            }
            7 => {
                let over = self.expr(Ty::Pods, d);
                let (name, number) = self.with_pod(|this| this.expr(Ty::Int, d));
                let which = self.random.of(&["min", "max"]);
                format!("({over}.{which}({name}, {number}) ?? {})", self.leaf(Ty::Int))
            }
            8 => format!("(int({}) ?? {})", self.expr(Ty::MaybeText, d), self.leaf(Ty::Int)),
            _ => self.leaf(Ty::Int),
        }
    }

    fn float(&mut self, d: usize) -> String {
        match self.random.below(8) {
            7 => {
                let (x, mean) = (self.expr(Ty::Float, d), self.expr(Ty::Float, d));
                format!("beta_cdf({x}, {mean}, {})", self.expr(Ty::Float, d))
            }
            0 => format!("({} + {})", self.expr(Ty::Float, d), self.expr(Ty::Float, d)),
            1 => format!("({} * {})", self.expr(Ty::Float, d), self.expr(Ty::Float, d)),
            2 => format!("({} - {})", self.expr(Ty::Float, d), self.expr(Ty::Int, d)),
            3 => {
                let ty = self.random.of(&[Ty::Cpu, Ty::Bytes, Ty::Float]);
                format!("({} / {} ?? 0.5)", self.expr(ty, d), self.expr(ty, d))
            }
            4 => {
                let ty = self.random.of(&[Ty::Cpu, Ty::Bytes]);
                format!("share({}, {})", self.expr(ty, d), self.expr(ty, d))
            }
            5 => format!("(float({}) ?? 1.5)", self.expr(Ty::MaybeText, d)),
            _ => self.leaf(Ty::Float),
        }
    }

    fn amount(&mut self, ty: Ty, d: usize) -> String {
        match self.random.below(7) {
            0 => format!("({} + {})", self.expr(ty, d), self.expr(ty, d)),
            1 => format!("({} - {})", self.expr(ty, d), self.expr(ty, d)),
            2 => format!("({} * {})", self.expr(ty, d), self.expr(Ty::Int, d)),
            3 => format!("({} * {})", self.expr(ty, d), self.expr(Ty::Float, d)),
            4 => format!("({} / {} ?? {})", self.expr(ty, d), self.expr(Ty::Int, d), self.leaf(ty)),
            5 if ty == Ty::Cpu => {
                let over = self.expr(Ty::Pods, d);
                let (name, number) = self.with_pod(|this| this.expr(Ty::Cpu, d));
                format!("{over}.sum({name}, {number})")
            }
            6 if ty != Ty::Duration => {
                let (name, condition) = self.same_node(d);
                let of = if ty == Ty::Cpu { "cpu" } else { "memory" };
                format!("nodes.filter({name}, {condition}).sum(m, m.free.{of})")
            }
            5 if ty == Ty::Duration => format!("({} - {})", self.expr(Ty::Time, d), self.expr(Ty::Time, d)),
            _ => self.leaf(ty),
        }
    }

    fn pod(&mut self) -> String {
        let pods = self.pods.clone();
        // Inner variables are more interesting.
        if self.random.one_in(2) { pods[pods.len() - 1].clone() } else { self.random.of(&pods) }
    }

    fn node(&mut self) -> Option<String> {
        let nodes = self.nodes.clone();
        if nodes.is_empty() { None } else { Some(self.random.of(&nodes)) }
    }

    fn owner(&mut self) -> String {
        let pod = self.pod();
        match self.node() {
            Some(node) if self.random.one_in(2) => node,
            _ => pod,
        }
    }

    fn leaf(&mut self, ty: Ty) -> String {
        let pod = self.pod();
        let node = self.node();
        let key = self.random.of(&KEYS);
        let text = self.random.of(&TEXTS);
        let node_or = |on_node: &str, otherwise: String| match &node {
            Some(node) => format!("{node}.{on_node}"),
            None => otherwise,
        };
        if self.ledgers
            && matches!(ty, Ty::Int | Ty::Cpu | Ty::Texts | Ty::Resources)
            && self.random.one_in(3)
        {
            return match ty {
                Ty::Int => format!("used[{pod}.labels[\"{key}\"] ?? \"{text}\"]"),
                Ty::Cpu => {
                    let zone = node_or("zone", format!("{pod}.labels[\"zone\"]"));
                    format!("busy[[{pod}.labels[\"team\"] ?? \"\", {zone} ?? \"{text}\"]]")
                }
                Ty::Texts => format!("kinds[{pod}.priority > 3]"),
                _ => format!("asked[{pod}.namespace]"),
            };
        }
        if self.memos && matches!(ty, Ty::Int | Ty::Bool | Ty::MaybeText) && self.random.one_in(4) {
            let made = match ty {
                // Sums of unbounded numbers have no twin.
                Ty::Int if self.for_documents => "clamp(tries ?? limit, 0, 9)",
                Ty::Int => "(tries ?? limit)",
                Ty::Bool => self.random.of(&[
                    "(resting ?? false)",
                    "has(resting)",
                    "(tries == limit)",
                    "(has(tries) && tries > 3)",
                    "(last != none && resting == true)",
                ]),
                _ => "last",
            };
            return made.to_owned();
        }
        let of_load = matches!(ty, Ty::Int | Ty::Cpu | Ty::Bytes | Ty::Duration | Ty::Time | Ty::Bool);
        if self.sources && of_load && self.random.one_in(3) {
            let source = self.random.of(&["load", "late"]);
            let name = node_or("name", format!("\"{}\"", self.random.of(&["n0", "n1"])));
            let part = self.random.of(&["latest", "mean", "std", "max"]);
            return match ty {
                Ty::Int => format!("({source}[{name}].samples ?? 7)"),
                Ty::Cpu => format!("({source}[{name}].cpu.{part} ?? 250m)"),
                Ty::Bytes => format!("({source}[{name}].memory.{part} ?? 1Gi)"),
                Ty::Duration => format!("({source}[{name}].age ?? 1h)"),
                Ty::Time => format!("({source}[{name}].window_end ?? {pod}.created)"),
                _ => format!("({source}[{name}] != none)"),
            };
        }
        let turn = self.random.below(6);
        match (ty, turn) {
            (Ty::Bool, 0) => node_or("ready", format!("{pod}.gated")),
            (Ty::Bool, 1) => node_or("unschedulable", format!("{pod}.terminating")),
            (Ty::Bool, 2) => format!("{pod}.placed"),
            (Ty::Bool, 3) => format!("{pod}.bound"),
            (Ty::Bool, 4) => match &node {
                Some(node) if self.random.one_in(2) => {
                    let part = self.random.of(&["allocatable", "free", "capacity"]);
                    match self.random.below(3) {
                        0 => format!("(\"nvidia.com/gpu\" in {node}.{part})"),
                        _ => format!("has({node}.{part}[\"nvidia.com/gpu\"])"),
                    }
                }
                _ => format!("has({pod}.labels[\"{key}\"])"),
            },
            (Ty::Bool, _) => match &node {
                Some(node) => format!("({node}.labels[\"{key}\"] == \"{text}\")"),
                None => format!("{pod}.gated"),
            },
            (Ty::Int, 0) => format!("{pod}.priority"),
            (Ty::Int, 1) => String::from("limit"),
            (Ty::Int, 2) => String::from("mates.count()"),
            (Ty::Int, 3) => node_or("pods.count()", format!("{pod}.attempts")),
            (Ty::Int, 4) => format!("({pod}.priority * 100000000000000000)"),
            (Ty::Int, _) => self.random.below(20).to_string(),
            (Ty::Float, 0) => String::from("50%"),
            (Ty::Float, 1) => String::from("1e300"),
            (Ty::Float, 2) => format!("({pod}.priority * 0.25)"),
            (Ty::Float, _) => format!("{}.5", self.random.below(9)),
            (Ty::Cpu, 0) => format!("{pod}.requests.cpu"),
            (Ty::Cpu, 1) => node_or("free.cpu", String::from("250m")),
            (Ty::Cpu, 2) => node_or("allocatable[\"cpu\"]", String::from("2cpu")),
            (Ty::Cpu, 3) => node_or("requested.cpu", String::from("1cpu")),
            (Ty::Cpu, _) => format!("{}m", 100 * self.random.below(40)),
            (Ty::Bytes, 0) => format!("{pod}.requests.memory"),
            (Ty::Bytes, 1) => node_or("free.memory", String::from("1Gi")),
            (Ty::Bytes, 2) => node_or("capacity.memory", String::from("5E")),
            (Ty::Bytes, _) => format!("{}Mi", self.random.below(4000)),
            (Ty::Count, 0) => format!("{pod}.requests[\"nvidia.com/gpu\"]"),
            (Ty::Count, 1) => {
                node_or("free[\"nvidia.com/gpu\"]", format!("{pod}.limits[\"nvidia.com/gpu\"]"))
            }
            (Ty::Count, 2) => node_or("free[\"pods\"]", format!("{pod}.requests[\"nvidia.com/gpu\"]")),
            (Ty::Count, _) => {
                node_or("allocatable[\"nvidia.com/gpu\"]", format!("{pod}.requests[\"nvidia.com/gpu\"]"))
            }
            (Ty::Duration, 0) => String::from("1h30min"),
            (Ty::Duration, 1) => String::from("250ms"),
            (Ty::Duration, _) => format!("{}s", self.random.below(9999)),
            (Ty::Time, 0) => String::from("now()"),
            (Ty::Time, 1) => node_or("created", format!("{pod}.created")),
            (Ty::Time, _) => format!("{pod}.created"),
            (Ty::Text, 0) => format!("{pod}.name"),
            (Ty::Text, 1) => format!("{pod}.namespace"),
            (Ty::Text, 2) => node_or("name", format!("{pod}.qos")),
            (Ty::Text, _) => format!("\"{text}\""),
            (Ty::MaybeText, 0) => format!("{pod}.labels[\"{key}\"]"),
            (Ty::MaybeText, 1) => format!("{pod}.annotations[\"{key}\"]"),
            (Ty::MaybeText, 2) => format!("{pod}.node.labels[\"{key}\"]"),
            (Ty::MaybeText, 3) => node_or("zone", format!("{pod}.priority_class")),
            (Ty::MaybeText, 4) => node_or("labels[key]", format!("{pod}.labels[key]")),
            (Ty::MaybeText, _) => node_or(&format!("labels[\"{key}\"]"), format!("{pod}.labels[\"{key}\"]")),
            (Ty::Texts, 0) => format!("{pod}.images"),
            (Ty::Texts, 1) => format!("{pod}.labels.map(k, k)"),
            (Ty::Texts, _) => format!("[\"{text}\", \"{}\"]", self.random.of(&TEXTS)),
            (Ty::Resources, 0) => format!("{pod}.requests"),
            (Ty::Resources, _) => node_or("free", format!("{pod}.limits")),
            (Ty::Pods, 0) => String::from("pods"),
            (Ty::Pods, 1 | 2) => String::from("mates"),
            (Ty::Pods, _) => node_or("pods", String::from("mates")),
            (Ty::Nodes, _) => String::from("nodes"),
        }
    }
}
