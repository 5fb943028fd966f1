//! `bayplan plan`: the compiled form of policies: when each rule is computed, what it reads of a
//! node, what follows from that for waiting pods, and how many steps it takes for one pod at most.

use super::output::{Column, Output, Style, Table};
use super::plan_events::event_words;
use super::policy_rights::{self, PolicyRight};
use super::{ExitStatus, input, setup};
use crate::diag::{SourceMap, Span, with_commas};
use crate::lang::analysis::cost::{Costs, RuleCost, Size, most_steps};
use crate::lang::analysis::memory::Memory;
use crate::lang::analysis::same::same;
use crate::lang::analysis::shape::{free_and_requested, resolve_alias};
use crate::lang::analysis::shown::shown;
use crate::lang::analysis::stage::{Stage, stage};
use crate::lang::analysis::stops::{self, Stopped};
use crate::lang::language::fields::{FieldDef, Meaning, ObjectType};
use crate::lang::policy_set::CompiledPolicy;
use crate::lang::syntax::ast::WriteVerb;
use crate::lang::typed::acts::field_manager;
use crate::lang::typed::reads::{ReadOf, ReadPath, RuleReads};
use crate::lang::typed::{self, Body, Check, CompareOp, Expr, ExprKind, Mode, Point, Policy};
use crate::lang::types::Ty;
use crate::model::PodMarks;
use crate::plugins::policy;
use bayplan_model::Kinds;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;

/// Shows what policies compile to: stages, what they read, what wakes a pod.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bayplan plan gpu.bay
  bayplan plan policies/ -o json")]
pub(super) struct Args {
    /// Policy files, YAML files with ConfigMaps, folders of both.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    kinds: setup::PolicyKinds,
    #[command(flatten)]
    declared: setup::Declared,
    /// How to print: `text` or `json`.
    #[arg(long, short, value_parser = ["text", "json"], default_value = "text", hide_possible_values = true)]
    output: String,
}

/// Runs the command.
pub(super) fn run(args: &Args, out: &mut Output) -> anyhow::Result<ExitStatus> {
    let read = input::policies(&args.paths, &args.kinds.schemas, args.declared.size())?;
    if setup::complain(&read, out)? {
        return Ok(ExitStatus::Failure);
    }
    let plans: Vec<Plan> = read.set.iter().map(|compiled| Plan::of(compiled, &read)).collect();
    if args.output == "json" {
        let policies: Vec<Value> = plans.iter().map(Plan::json).collect();
        let json = json!({
            "apiVersion": "bayplan.dev/v1", "kind": "Plan",
            "kubernetes": setup::DecidesAs::default().version(None)?.word(), "policies": policies,
        });
        out.json(&json)?;
        return Ok(ExitStatus::Success);
    }
    for (at, plan) in plans.iter().enumerate() {
        let blank = if at > 0 { "\n" } else { "" };
        let text = plan.text(out);
        let text = if out.quiet { text.lines().next().unwrap_or_default().to_owned() + "\n" } else { text };
        write!(out.stdout(), "{blank}{text}")?;
    }
    Ok(ExitStatus::Success)
}

/// A rule: one statement of a policy.
struct PlannedRule {
    name: String,
    point: &'static str,
    stage: Stage,
    cost: RuleCost,
    /// The most steps that it may take.
    most: u128,
    reads: Vec<String>,
    place: String,
    /// For rules that refuse nodes: what may help a refused pod.
    refuses: Option<Refusing>,
    /// How far it may go; `None` of ledgers.
    mode: Option<Mode>,
    /// The pods for which it decides, and its mode for the others, where it does not decide for all.
    decides: Vec<String>,
}

/// What may help a refused pod, derived from what the rule reads.
struct Refusing {
    /// Whether evicting pods from the node may help.
    eviction: bool,
    /// Whether a new node may help.
    new_node: NewNode,
    /// Whether a node autoscaler knows the rule: autoscalers simulate in-tree plugins, not policies.
    autoscaler_knows: bool,
    /// What wakes the pod.
    wakes: Vec<String>,
}

/// Whether a new node may help.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NewNode {
    /// The rule does not look at the node.
    No,
    /// If it has the right labels or taints.
    IfLabelled,
    /// It has room.
    Yes,
    /// The rule reads more of the node, or the pods on it.
    Maybe,
}

impl Refusing {
    /// `None`: the rule refuses no pod.
    fn of(compiled: &CompiledPolicy, rule: &typed::Rule) -> Option<Self> {
        let no_refusal = matches!(&rule.body, Body::Acts(of) if !of.releases());
        if no_refusal
            || matches!(rule.point(), Point::Score | Point::QueueSort | Point::PostFilter | Point::Ledger)
        {
            return None;
        }
        let reads = reads_of(&compiled.policy, rule);
        let checks: Vec<&Check> = rule.checks().collect();
        let room = |check: &&Check| asks_for_room(&compiled.policy, check);
        Some(Self {
            eviction: checks.iter().any(|check| check.reason.resolvable),
            new_node: NewNode::of(&reads),
            autoscaler_knows: !checks.is_empty() && checks.iter().all(room),
            wakes: wakes(compiled, rule, reads),
        })
    }
}

impl NewNode {
    fn word(self) -> &'static str {
        match self {
            NewNode::No => "no",
            NewNode::IfLabelled => "if labelled",
            NewNode::Yes => "yes",
            NewNode::Maybe => "maybe",
        }
    }

    /// From the fields of the node that a rule reads.
    fn of(reads: &RuleReads) -> Self {
        let fields = |known: fn(&FieldDef) -> bool| {
            let mut of_node = reads
                .paths
                .keys()
                .filter(|path| matches!(path.of, ReadOf::Node | ReadOf::NodePods | ReadOf::Nodes));
            of_node.all(|path| path.of == ReadOf::Node && path.field.is_some_and(|field| known(field.def())))
        };
        let by_labels = |field: &FieldDef| {
            field.owner == ObjectType::Node && matches!(field.changed_by, Kinds::LABELS | Kinds::TAINTS)
        };
        let by_amounts = |field: &FieldDef| {
            use Meaning::{Allocatable, Capacity, Free, Requested};
            matches!(field.meaning, Some(Free | Allocatable | Requested | Capacity))
        };
        if fields(|_| false) {
            NewNode::No
        } else if fields(by_labels) {
            NewNode::IfLabelled
        } else if fields(by_amounts) {
            NewNode::Yes
        } else {
            NewNode::Maybe
        }
    }
}

/// Whether a check compares free and requested resources as NodeResourcesFit does: `node.free.cpu >= pod.requests.cpu`.
fn asks_for_room(policy: &Policy, check: &Check) -> bool {
    let Some(condition) = &check.condition else { return false };
    let ExprKind::Compare(op, left, right) = &resolve_alias(policy, condition).kind else { return false };
    let same = |node, pod| {
        let resources = free_and_requested(policy, node, pod);
        resources.is_some_and(|(free, requested)| same(policy, free, requested))
    };
    match (op, check.refuses_when) {
        (CompareOp::GreaterEqual, false) | (CompareOp::Less, true) => same(left, right),
        (CompareOp::LessEqual, false) | (CompareOp::Greater, true) => same(right, left),
        _ => false,
    }
}

/// How far a policy may go: by rule, or by pod; and until when that is meant. `None` when all rules decide for all pods.
fn mode_of(policy: &Policy, rules: &[PlannedRule], sources: &SourceMap) -> Option<String> {
    let of = |mode: Mode| {
        let rules = rules.iter().filter(|rule| rule.mode == Some(mode) && rule.decides.is_empty());
        rules.map(|rule| rule.name.as_str()).collect::<Vec<_>>()
    };
    let all = Mode::WORDS.into_iter().map(|(word, mode)| (word, of(mode)));
    let all: Vec<_> = all.filter(|(_, rules)| !rules.is_empty()).collect();
    let some = rules.iter().any(|rule| !rule.decides.is_empty());
    let mut parts: Vec<String> = Vec::new();
    match (policy.decides_when(), &all[..]) {
        (Some(when), _) => {
            let condition = super::explain::tree::one_line(sources.text(when.span));
            let (mode, otherwise) = (policy.modes.policy.word(), policy.modes.otherwise.word());
            parts.push(format!("{mode} when {condition}, else {otherwise}"));
        }
        (None, [] | [("enforce", _)]) => {}
        (None, [(word, _)]) if !some => parts.push((*word).to_owned()),
        (None, all) => {
            parts.extend(all.iter().map(|(word, rules)| format!("{word}: {}", rules.join(", "))));
        }
    }
    for rule in rules {
        parts.extend(rule.decides.iter().map(|decides| format!("{}: {decides}", rule.name)));
    }
    if parts.is_empty() {
        return None;
    }
    for until in &policy.modes.until {
        parts.push(format!("{} is meant until {}", until.mode.word(), sources.text(until.span)));
    }
    Some(parts.join("; "))
}

/// For which pods a rule decides, where it does not for all.
fn decides_when(policy: &Policy, rule: &typed::Rule, sources: &SourceMap) -> Vec<String> {
    let of = |(decides, otherwise): (typed::LetId, Mode)| {
        let condition = super::explain::tree::one_line(sources.text(policy[decides].value.span));
        format!("enforce when {condition}, else {}", otherwise.word())
    };
    rule.head.guard.iter().filter_map(typed::Leave::decides).map(of).collect()
}

/// An exception, as people read it.
#[derive(serde::Serialize)]
struct Excepted {
    /// The rule; absent where the policy leaves the pods alone.
    rule: Option<String>,
    until: String,
    because: String,
    /// The pods, by their condition; absent where all are meant.
    pods: Option<String>,
    place: String,
}

impl Excepted {
    fn text(&self) -> String {
        let of = self.rule.as_ref().map(|rule| format!("of {rule}, ")).unwrap_or_default();
        let pods = self.pods.as_ref().map_or("all pods".to_owned(), |pods| format!("pods with {pods}"));
        format!("{of}until {}, {pods}: {} ({})", self.until, self.because, self.place)
    }
}

fn exceptions_of(policy: &Policy, sources: &SourceMap) -> Vec<Excepted> {
    let mut all: Vec<_> = policy.exceptions.iter().collect();
    all.sort_by_key(|of| of.end);
    let of = |of: &typed::Exception| Excepted {
        rule: of.rule.as_ref().map(|rule| rule.to_string()),
        until: of.until.to_string(),
        because: of.because.to_string(),
        pods: of.when.map(|when| super::explain::tree::one_line(sources.text(when))),
        place: crate::lang::policy_set::place(sources, of.span),
    };
    all.into_iter().map(of).collect()
}

struct Plan {
    memory: Memory,
    name: String,
    place: String,
    doc: Option<String>,
    applies: String,
    /// The pods that it stops because an expression about them is an error.
    stops: Vec<String>,
    size: Size,
    rules: Vec<PlannedRule>,
    /// How far it may go; `None` when all rules decide for all pods.
    mode: Option<String>,
    /// Its exceptions, the first end first.
    exceptions: Vec<Excepted>,
    /// Rules of a role of the scheduler, one for each kind that is looked up.
    rights: Vec<String>,
    /// Rules of a role of the account in whose name policies write.
    rights_of_policies: Vec<String>,
    /// What of pods its reasons, events and writes show.
    shows: Vec<String>,
    /// What it writes to the API server.
    writes: Vec<String>,
}

impl Plan {
    fn of(compiled: &Arc<CompiledPolicy>, read: &input::Policies) -> Self {
        let policy = &*compiled.policy;
        let place = |span| crate::lang::policy_set::place(&read.sources, span);
        let costs = Costs::new(policy, read.size);
        let of_points = policy.rules.iter().filter(|rule| rule.point() != Point::Applies);
        let mut rules: Vec<&typed::Rule> = of_points.collect();
        rules.sort_by_key(|rule| position(rule.point()));
        let gates = policy.rules_at(Point::PreEnqueue).count();
        let planned = rules.into_iter().enumerate().map(|(at, rule)| PlannedRule {
            name: match rule.body {
                Body::Gate(_) if gates > 1 => format!("gate {}", at + 1),
                _ => rule.name().to_owned(),
            },
            point: rule.point().name(),
            stage: stage_of_rule(policy, rule),
            cost: costs.rule(rule),
            most: most_steps(rule),
            reads: match rule.body {
                Body::Queue(_) => Vec::new(),
                Body::Ledger(id) => reads_of_node(&policy[id].reads),
                _ => reads_of_node(&reads_of(policy, rule)),
            },
            place: place(place_of(rule)),
            refuses: Refusing::of(compiled, rule),
            mode: rule.mode(),
            decides: decides_when(policy, rule, &read.sources),
        });
        let rules: Vec<PlannedRule> = planned.collect();
        let conditions: Vec<String> = policy
            .applies()
            .iter()
            .map(|condition| super::explain::tree::one_line(read.sources.text(condition.span)))
            .collect();
        let mut applies = match &conditions[..] {
            [] => "all pods".to_owned(),
            some => format!("pods with {}", some.join(" && ")),
        };
        if !policy.to_all_pods {
            applies.push_str("; not to system pods, and DaemonSets' are only scored");
        }
        Plan {
            memory: Memory::of(&policy.keeps.pods),
            name: compiled.name().to_owned(),
            place: place(policy.name_span),
            doc: policy.doc.as_ref().map(|doc| doc.to_string()),
            applies,
            stops: stops_of(policy, &read.sources),
            size: read.size,
            mode: mode_of(policy, &rules, &read.sources),
            exceptions: exceptions_of(policy, &read.sources),
            rules,
            rights: policy_rights::to_read(policy).iter().map(PolicyRight::rule).collect(),
            rights_of_policies: policy_rights::to_write(policy).iter().map(PolicyRight::rule).collect(),
            shows: shown_of_pods(policy),
            writes: writes_of(policy),
        }
    }

    fn text(&self, out: &Output) -> String {
        let mut text =
            format!("{}    {}\n", out.paint(Style::Name, &self.name), out.paint(Style::Name, &self.place));
        for line in self.doc.iter().flat_map(|doc| doc.lines()) {
            let _ = writeln!(text, "  {}", out.paint(Style::Dim, line));
        }
        let _ = writeln!(text, "  applies to   {}", self.applies);
        for of in &self.stops {
            let _ = writeln!(text, "  {}", out.paint(Style::Warn, &format!("but          {of}")));
        }
        if let Some(mode) = &self.mode {
            let _ = writeln!(text, "  mode         {mode}");
        }
        for of in &self.exceptions {
            let _ = writeln!(text, "  except       {}", of.text());
        }
        text.push('\n');
        let mut table = Table::new(&[
            Column::words("RULE"),
            Column::words("POINT"),
            Column::words("STAGE"),
            Column::numbers_of(&format!("STEPS AT {} NODES", with_commas(self.size.nodes.into()))),
            Column::words("READS OF THE NODE"),
            Column::words("PLACE"),
        ]);
        table.indent = 2;
        for rule in &self.rules {
            let style = if rule.stage == Stage::Pair { Style::Warn } else { Style::Good };
            table.row([
                (Style::Name, rule.name.clone()),
                (Style::Plain, rule.point.to_owned()),
                (style, rule.stage.word().to_owned()),
                (steps_style(rule), with_commas(rule.cost.steps)),
                (Style::Plain, list(&rule.reads)),
                (Style::Name, rule.place.clone()),
            ]);
        }
        let all = self.rules.iter().fold(0u128, |all, rule| all.saturating_add(rule.cost.steps));
        table.row([
            (Style::Strong, "all".to_owned()),
            (Style::Plain, String::new()),
            (Style::Plain, String::new()),
            (Style::Strong, with_commas(all)),
            (Style::Strong, "bound for one pod".to_owned()),
            (Style::Plain, String::new()),
        ]);
        text.push_str(&table.draw(out));
        let mut table = Table::new(&[
            Column::words("RULE"),
            Column::words("EVICTION HELPS"),
            Column::words("NEW NODE HELPS"),
            Column::words("AUTOSCALER KNOWS"),
            Column::words("A WAITING POD WAKES ON"),
        ]);
        table.indent = 2;
        let mut hidden = false;
        for rule in &self.rules {
            let Some(refusing) = &rule.refuses else { continue };
            let yes = |it: bool| if it { "yes" } else { "no" }.to_owned();
            // A footnote explains that autoscalers add no node for this rule.
            let blind = !refusing.autoscaler_knows && refusing.new_node != NewNode::No;
            hidden |= blind;
            let knows = if blind { "no (1)".to_owned() } else { yes(refusing.autoscaler_knows) };
            table.row([
                (Style::Name, rule.name.clone()),
                (Style::Plain, yes(refusing.eviction)),
                (Style::Plain, refusing.new_node.word().to_owned()),
                (if blind { Style::Warn } else { Style::Plain }, knows),
                (Style::Plain, list(&refusing.wakes)),
            ]);
        }
        if !table.is_empty() {
            let _ = write!(text, "\n{}", table.draw(out));
        }
        if hidden {
            let _ =
                writeln!(text, "\n  (1) cluster-autoscaler and Karpenter see node affinity, not policies");
        }
        let own = "none beyond the scheduler's own".to_owned();
        let rights = if self.rights.is_empty() { vec![own] } else { self.rights.clone() };
        for (at, rule) in rights.iter().enumerate() {
            let head = if at == 0 { "\n  rights     " } else { "             " };
            let _ = writeln!(text, "{head}{rule}");
        }
        for (at, rule) in self.rights_of_policies.iter().enumerate() {
            let head = if at == 0 { "  to write   " } else { "             " };
            let _ = writeln!(text, "{head}{rule}");
        }
        let writes = if self.writes.is_empty() { "nothing".to_owned() } else { self.writes.join("; ") };
        let _ = writeln!(text, "  writes     {writes}");
        let shows = if self.shows.is_empty() { "nothing of pods".to_owned() } else { self.shows.join("; ") };
        let _ = writeln!(text, "  shows      {shows}");
        let _ = writeln!(
            text,
            "  memory     {}",
            self.memory.text().unwrap_or_else(|| "nothing beyond the scheduler's own".to_owned())
        );
        text
    }

    fn json(&self) -> Value {
        let rules: Vec<Value> = self
            .rules
            .iter()
            .map(|rule| {
                let mut plan = json!({
                    "name": rule.name, "point": rule.point, "stage": rule.stage.word(),
                    "steps": json_steps(rule.cost.steps),
                    "readsOfNode": rule.reads, "place": rule.place,
                    "evictionHelps": rule.refuses.as_ref().map(|of| of.eviction),
                    "newNodeHelps": rule.refuses.as_ref().map(|of| of.new_node.word()),
                    "autoscalerKnows": rule.refuses.as_ref().map(|of| of.autoscaler_knows),
                    "wakesOn": rule.refuses.as_ref().map(|of| of.wakes.clone()),
                });
                if let Some(mode) = rule.mode.filter(|mode| *mode != Mode::Enforce) {
                    plan["mode"] = json!(mode.word());
                }
                if !rule.decides.is_empty() {
                    plan["mode"] = json!(rule.decides.join(", "));
                }
                plan
            })
            .collect();
        let mut size = json!({"nodes": self.size.nodes, "pods": self.size.pods});
        self.size.parts().for_each(|(name, number)| size[name] = json!(number));
        json!({
            "name": self.name, "place": self.place, "doc": self.doc, "appliesTo": self.applies, "stops": self.stops,
            "mode": self.mode, "exceptions": self.exceptions, "size": size, "rules": rules, "keepsOfPods": self.memory.kept,
            "mibPer100000Pods": self.memory.mib, "rights": self.rights,
            "rightsOfPolicies": self.rights_of_policies, "writes": self.writes, "shows": self.shows,
        })
    }
}

/// The pods that a policy in CEL stops by an error, in words.
fn stops_of(policy: &Policy, sources: &SourceMap) -> Vec<String> {
    let stops = stops::stops(policy).into_iter();
    let mut all: Vec<String> = stops
        .map(|stop| {
            let (does, when) = match stop.how {
                Stopped::Kept => ("keeps back", "whatever the node"),
                Stopped::Refused => ("refuses", "whatever the node"),
                Stopped::RefusedLate => ("refuses", "once a node is chosen"),
            };
            let text = super::explain::tree::one_line(sources.text(stop.span));
            let which = match stop.lacks {
                Some(lacks) => format!("without {lacks}"),
                None => format!("for which `{text}` is an error"),
            };
            format!("{does} every pod {which}, {when}")
        })
        .collect();
    all.dedup();
    all
}

/// The fields of pods that reasons, events and writes show, those of other pods after those of the pod itself.
fn shown_of_pods(policy: &Policy) -> Vec<String> {
    let shown = shown(policy);
    let fields = |own: bool| {
        let of = shown.fields.paths.keys().filter(|path| match path.of {
            ReadOf::Pod => own,
            ReadOf::NodePods | ReadOf::Pods | ReadOf::Nominated | ReadOf::Group => !own,
            ReadOf::Namespace | ReadOf::Node | ReadOf::Nodes | ReadOf::Objects | ReadOf::Metrics => false,
        });
        let raw = shown.paths.iter().filter(|(of, _)| *of == own).map(|(_, path)| path.clone());
        let mut names: Vec<String> = of.filter_map(shown_field).chain(raw).collect();
        names.sort();
        names.dedup();
        names.join(", ")
    };
    let parts = [("of the pod", fields(true)), ("of other pods", fields(false))];
    let parts = parts.into_iter().filter(|(_, fields)| !fields.is_empty());
    parts.map(|(of, fields)| format!("{of}: {fields}")).collect()
}

/// A field with its key; `None` where only pods are counted.
fn shown_field(path: &ReadPath) -> Option<String> {
    let field = path.field?.def();
    Some(match &path.key {
        Some(key) if matches!(field.ty, Ty::Map(..) | Ty::Resources) => {
            format!("{}[\"{key}\"]", field.name)
        }
        Some(key) => format!("{}.{key}", field.name),
        None => field.name.to_owned(),
    })
}

/// What a policy writes to the API server, or evicts, each once.
fn writes_of(policy: &Policy) -> Vec<String> {
    let mut writes: Vec<String> = Vec::new();
    if policy.evicts() {
        writes.push("delete pods, where its rules name victims".to_owned());
    }
    for write in policy.marks() {
        let since = match write.verb {
            WriteVerb::Label => {
                let (major, minor) = PodMarks::LABELS_SINCE;
                format!(" (Kubernetes {major}.{minor} or newer)")
            }
            _ => String::new(),
        };
        writes.push(format!("{} the pod, with its binding{since}", write.verb.word()));
    }
    for acts in policy.acts() {
        let told = acts.acts.iter().filter_map(|act| Some((act.does.word(), act.does.target()?)));
        writes.extend(told.map(|(word, target)| match word {
            "patch" => format!("patch {target} as {}", field_manager(&policy.name)),
            word => format!("{word} {target}"),
        }));
    }
    let mut seen = std::collections::BTreeSet::new();
    writes.retain(|write| seen.insert(write.clone()));
    writes
}

/// Red above the limit, which a comment lifted; yellow where it grows with the square of the
/// cluster.
fn steps_style(rule: &PlannedRule) -> Style {
    match (rule.cost.steps > rule.most, rule.cost.quadratic) {
        (true, _) => Style::Bad,
        (_, true) => Style::Warn,
        _ => Style::Plain,
    }
}

/// A number of JSON; bounds beyond its range stop at the end.
fn json_steps(steps: u128) -> u64 {
    u64::try_from(steps).unwrap_or(u64::MAX)
}

fn list(words: &[String]) -> String {
    if words.is_empty() { "nothing".to_owned() } else { words.join("; ") }
}

/// The order of rules in the table: rules that refuse come first.
fn position(point: Point) -> u8 {
    match point {
        Point::Applies => 0,
        Point::PreEnqueue => 1,
        Point::PreFilter => 2,
        Point::Filter => 3,
        Point::Reserve => 4,
        Point::Permit => 5,
        Point::PostFilter => 6,
        Point::Score => 7,
        Point::QueueSort => 8,
        Point::Ledger => 9,
        Point::PreBind => 10,
        Point::PostBind => 11,
        Point::Failure => 12,
    }
}

/// Where a rule is shown to be written: a permit by its first wait.
fn place_of(rule: &typed::Rule) -> Span {
    let first = match &rule.body {
        Body::Reserve(of) => {
            rule.checks().map(|check| check.span).next().or(of.writes.first().map(|write| write.span))
        }
        Body::Permit(of) => {
            of.waits.first().map(|wait| wait.span).or(rule.checks().map(|check| check.span).next())
        }
        _ => None,
    };
    first.unwrap_or(rule.span())
}

/// Everything that a rule reads.
fn reads_of(policy: &Policy, rule: &typed::Rule) -> RuleReads {
    let mut all = RuleReads::default();
    rule.reads(policy).for_each(|reads| all.merge(reads));
    all
}

/// The latest stage of a rule's parts.
fn stage_of_rule(policy: &Policy, rule: &typed::Rule) -> Stage {
    let guard = rule.head.guard.iter().map(|leave| &leave.holds);
    let parts = rule.statements(policy).flat_map(|statement| {
        let value = match statement {
            typed::Statement::Give(_) | typed::Statement::Key(_) => statement.value(),
            _ => None,
        };
        statement.condition().into_iter().chain(value).chain(statement.written())
    });
    let latest = guard.chain(parts).map(|part| stage_of(policy, part)).max().unwrap_or(Stage::Const);
    // Once for each pod, whatever node it is on.
    if matches!(rule.point(), Point::QueueSort | Point::Ledger) { Stage::Pod } else { latest }
}

/// The latest stage of the conditions that an expression joins.
fn stage_of(policy: &Policy, expr: &Expr) -> Stage {
    match &expr.kind {
        ExprKind::And(left, right) | ExprKind::Or(left, right) => {
            stage_of(policy, left).max(stage_of(policy, right))
        }
        ExprKind::Not(inner) => stage_of(policy, inner),
        _ => stage(policy, expr),
    }
}

/// `labels team, shared`: the fields of the node and of the pods on it, each with its keys.
fn reads_of_node(reads: &RuleReads) -> Vec<String> {
    let mut fields: Vec<(String, Vec<&str>)> = Vec::new();
    for path in reads.paths.keys().filter(|path| matches!(path.of, ReadOf::Node | ReadOf::NodePods)) {
        let field = field_name(path);
        let key = path.key.as_deref();
        match fields.iter_mut().find(|(known, _)| *known == field) {
            Some((_, keys)) => keys.extend(key),
            None => fields.push((field, key.into_iter().collect())),
        }
    }
    fields
        .into_iter()
        .map(|(field, keys)| if keys.is_empty() { field } else { format!("{field} {}", keys.join(", ")) })
        .collect()
}

fn field_name(path: &ReadPath) -> String {
    let name = path.field.map_or("object", |field| field.def().name);
    if path.of == ReadOf::NodePods { format!("pods on it: {name}") } else { name.to_owned() }
}

/// The words for the events that wake a pod which one of these rules refused, each once; `None`: they refuse none.
pub(super) fn wakes_on<'p>(
    compiled: &'p CompiledPolicy,
    rules: impl IntoIterator<Item = &'p typed::Rule>,
) -> Option<Vec<String>> {
    let all = rules.into_iter().filter_map(|rule| Refusing::of(compiled, rule));
    all.map(|of| of.wakes).reduce(|mut all, more| {
        let new: Vec<String> = more.into_iter().filter(|word| !all.contains(word)).collect();
        all.extend(new);
        all
    })
}

/// The events that wake a pod which the rule refused, as the policy's plugin registers them.
fn wakes(compiled: &CompiledPolicy, rule: &typed::Rule, mut reads: RuleReads) -> Vec<String> {
    let registrations = policy::registrations(compiled, [rule]);
    reads.merge(&compiled.deciding);
    let keys: Vec<&str> = reads
        .paths
        .keys()
        .filter(|path| path.is_node_labels())
        .map(|path| path.key.as_deref().unwrap_or_default())
        .collect();
    let mut words: Vec<String> = Vec::new();
    // Waiting and placed pods have events of their own, which are called the same.
    for word in registrations.iter().flat_map(|registration| event_words(registration, &compiled.policy)) {
        if !words.contains(&word) {
            words.push(word);
        }
    }
    // Labels whose keys are known are named.
    if !keys.is_empty() && keys.iter().all(|key| !key.is_empty()) {
        let named = format!("labels {}", keys.join(", "));
        words.iter_mut().filter(|word| *word == "labels").for_each(|word| *word = named.clone());
    }
    if reads.clock {
        words.push("time".to_owned());
    }
    words
}
