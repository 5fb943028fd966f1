//! `bayplan eval EXPR`: evaluates an expression of the policy language for a pod and a node of a
//! cluster, live or from files: its value, its type, and the value of every part. The expression is
//! checked as the value of a `let` in a filter.

use super::explain::tree;
use super::input::Policies;
use super::setup::{Cluster, named};
use super::{ExitStatus, Output, Style};
use crate::diag::{Diagnostic, SourceId, Span, draw};
use crate::dry_run;
use crate::lang::eval::context::{EvalContext, Moved};
use crate::lang::eval::interpret::Evaluator;
use crate::lang::typed::walk::each_part;
use crate::lang::typed::{Expr, ExprKind, Policy, Root};
use crate::lang::types::Type;
use crate::lang::types::value::Value;
use crate::model::{Change, NodeInfo, Object, Placement, PodInfo, Snapshot, Symbol, Time};
use anyhow::Context;
use serde_json::{Value as Json, json};
use std::path::PathBuf;
use std::sync::Arc;

/// Evaluates an expression of the policy language for a pod and a node.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bayplan eval '2cpu + 500m'
  bayplan eval 'node.free.cpu >= pod.requests.cpu' --cluster cluster.yaml --pod web-1 --node cpu-1
  bayplan eval 'node.free.cpu' --context prod --node cpu-1      of a live cluster
  bayplan eval --dsl --batch expressions.jsonl")]
pub(super) struct Args {
    /// The expression.
    #[arg(required_unless_present = "batch")]
    expression: Option<String>,
    /// Cluster files; `-` is stdin.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    cluster: Vec<PathBuf>,
    /// The live cluster, if a pod or a node is named and no files are given.
    #[cfg(feature = "cluster")]
    #[command(flatten)]
    connection: super::live::Connection,
    /// The pod: `NAME` or `NAMESPACE/NAME`.
    #[arg(long)]
    pod: Option<String>,
    /// The pod's namespace.
    #[arg(long, short)]
    namespace: Option<String>,
    /// The node.
    #[arg(long)]
    node: Option<String>,
    /// A file of expressions, one JSON object per line; the first line holds variables.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["expression", "pod", "node", "cluster"], requires = "dsl")]
    batch: Option<PathBuf>,
    /// The expressions of `--batch` are in the policy language; CEL is not built yet.
    #[arg(long)]
    dsl: bool,
    /// How to print: `text` or `json`.
    #[arg(long, short, value_parser = ["text", "json"], default_value = "text", hide_possible_values = true)]
    output: String,
}

/// The name of the `let` that holds the expression.
const NAME: &str = "value_of_the_expression";

/// Runs the command.
pub(super) fn run(args: &Args, out: &mut Output) -> anyhow::Result<ExitStatus> {
    if let Some(file) = &args.batch {
        return batch(file, out);
    }
    let text = args.expression.as_deref().unwrap_or_default();
    let mut read = Policies::default();
    let Cluster { world, namespace } = cluster(args, &mut read, out)?;
    if super::setup::complain(&read, out)? {
        return Ok(ExitStatus::Failure);
    }
    let snapshot = snapshot(&world);
    let pod = pod(args, &world, &namespace)?;
    let node = match &args.node {
        Some(name) => Some(node(&snapshot, name)?),
        None => None,
    };
    let compiled = match compile(&mut read, "", text) {
        Ok(compiled) => compiled,
        Err(errors) => {
            let drawn = draw::human(&read.sources, &errors, out.stderr_look(Some(20)));
            out.draw_on_stderr(&drawn)?;
            return Ok(ExitStatus::Failure);
        }
    };
    let reads = |root: Root| reads(compiled.expr(), root);
    if node.is_none() && reads(Root::Node) {
        anyhow::bail!("the expression reads `node`: say which one with `--node NAME`");
    }
    if args.pod.is_none() && (reads(Root::Pod) || reads(Root::Namespace)) {
        anyhow::bail!("the expression reads `pod` or `ns`: say which pod with `--pod NAME`");
    }
    let now = Time(jiff::Timestamp::now().as_microsecond());
    // Without `--pod` a placeholder is evaluated, which `pods` must not count.
    let placeholder = Moved { added: Vec::new(), removed: vec![pod.key.clone()] };
    let mut context = EvalContext::new(&pod, &snapshot, now);
    context.node = node;
    if args.pod.is_none() {
        context.moved = &placeholder;
    }
    let shown = Evaluator::new(&compiled.policy, context).tree(compiled.expr());
    let ty = compiled.expr().ty.to_string();
    if args.output == "json" {
        let json = json!({
            "apiVersion": "bayplan.dev/v1", "kind": "Evaluation", "expression": text, "type": ty,
            "value": shown.value, "tree": tree::to_json(&read.sources, &shown),
        });
        out.json(&json)?;
        return Ok(ExitStatus::Success);
    }
    let value = out.paint(Style::Strong, &shown.value);
    writeln!(out.stdout(), "{value}   {ty}")?;
    if !shown.parts.is_empty() && !out.quiet {
        let drawn = tree::draw(&read.sources, &shown, 2, out);
        writeln!(out.stdout(), "\n{}", drawn.trim_end())?;
    }
    Ok(ExitStatus::Success)
}

/// Whether an expression reads a variable.
fn reads(expr: &Expr, root: Root) -> bool {
    let mut found = matches!(&expr.kind, ExprKind::Root(known) if *known == root);
    each_part(expr, &mut |part| found |= reads(part, root));
    found
}

/// The cluster to evaluate on; empty when neither files, pod nor node are given.
fn cluster(args: &Args, read: &mut Policies, out: &mut Output) -> anyhow::Result<Cluster> {
    #[cfg(feature = "cluster")]
    {
        let named = args.pod.is_some() || args.node.is_some();
        if args.cluster.is_empty() && (named || args.connection.is_given()) {
            return super::live::read(&args.connection, super::live::Wanted::No, read, out);
        }
    }
    #[cfg(not(feature = "cluster"))]
    let _ = out;
    let files = read.add_all(&args.cluster)?;
    let loaded = dry_run::load(&mut read.sources, &files);
    read.diagnostics.extend(loaded.diagnostics);
    Ok(Cluster { world: loaded.world, namespace: "default".to_owned() })
}

/// An expression in a policy made for it.
struct Compiled {
    policy: Policy,
    at: usize,
}

impl Compiled {
    fn expr(&self) -> &Expr {
        &self.policy.lets[self.at].value
    }
}

/// Checks an expression; `names` are lets of the policy around it. Places are those of the
/// expression.
fn compile(read: &mut Policies, names: &str, text: &str) -> Result<Compiled, Vec<Diagnostic>> {
    let before = format!("policy expression {{ applies to all pods\n{names}\nfilter value {{ let {NAME} =\n");
    let whole = format!("{before}{text}\nrequire true else \"r\" }} }}\n");
    let alone = read.sources.add("expression", text);
    if let Some(source) = read.sources.get(alone) {
        let (_, mistakes) = crate::lang::syntax::parse_expression(source);
        if mistakes.iter().any(Diagnostic::is_error) {
            return Err(mistakes);
        }
    }
    let id = read.sources.add("expression", whole);
    let Some(source) = read.sources.get(id) else { return Err(Vec::new()) };
    let (policies, diagnostics) = crate::lang::compile(source);
    let errors: Vec<Diagnostic> = diagnostics
        .into_iter()
        .filter(Diagnostic::is_error)
        .map(|said| moved(said, id, alone, before.len(), text.len()))
        .collect();
    let found = policies.into_iter().next().and_then(|policy| {
        let at = policy.lets.iter().position(|known| *known.name == *NAME)?;
        Some(Compiled { policy, at })
    });
    match found {
        Some(compiled) if errors.is_empty() => Ok(compiled),
        _ => Err(errors),
    }
}

/// Moves a diagnostic of the policy to the expression.
fn moved(mut said: Diagnostic, from: SourceId, to: SourceId, before: usize, length: usize) -> Diagnostic {
    let shift = |span: Span| {
        if span.source != from {
            return span;
        }
        let inside = |at: u32| (at as usize).saturating_sub(before).min(length);
        Span::new(to, inside(span.start), inside(span.end))
    };
    said.span = shift(said.span);
    for label in &mut said.labels {
        label.span = shift(label.span);
    }
    for edit in said.fixes.iter_mut().flat_map(|fix| &mut fix.edits) {
        edit.span = shift(edit.span);
    }
    said
}

/// The cluster of the files; pending pods stay pending.
pub(super) fn snapshot(world: &dry_run::World) -> Snapshot {
    let mut snapshot = Snapshot::default();
    for object in &world.objects {
        match object {
            Object::Node(node) => snapshot.apply(Change::NodeUpserted { node: node.clone() }),
            Object::Namespace(namespace) => {
                snapshot.apply(Change::NamespaceUpserted { namespace: namespace.clone() });
            }
            Object::Other(object) => snapshot.apply(Change::ObjectSeen { object: object.clone() }),
            Object::Pod(_) => {}
        }
    }
    for object in &world.objects {
        if let Object::Pod(pod) = object
            && let Some(name) = &pod.node_name
        {
            let node = snapshot.row_or_placeholder(name);
            snapshot.apply(Change::PodPlaced { pod: pod.clone(), node, how: Placement::Bound });
        }
    }
    for pod in &world.pending {
        snapshot.apply(Change::PodPending { pod: pod.clone() });
    }
    snapshot
}

fn pod(args: &Args, world: &dry_run::World, namespace: &str) -> anyhow::Result<Arc<PodInfo>> {
    let Some(wanted) = &args.pod else {
        let placeholder = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "none", "namespace": "default"},
            "spec": {"containers": [{"name": "none", "image": "none"}]}});
        let pod = PodInfo::from_value(Arc::new(placeholder));
        return pod.map(Arc::new).map_err(|error| anyhow::anyhow!("{error}"));
    };
    let running = world.objects.iter().filter_map(|object| match object {
        Object::Pod(pod) => Some(pod),
        _ => None,
    });
    let all: Vec<&Arc<PodInfo>> = world.pending.iter().chain(running).collect();
    let at = named(all.iter().copied(), wanted, args.namespace.as_deref(), namespace)?;
    all.get(at).map(|pod| (*pod).clone()).context("no pod")
}

fn node<'s>(snapshot: &'s Snapshot, name: &str) -> anyhow::Result<NodeInfo<'s>> {
    let found = snapshot.node_by_name(&Symbol::new(name)).and_then(|id| snapshot.node(id));
    found.ok_or_else(|| {
        let names = snapshot.nodes().map(|node| node.name().as_str());
        let near = crate::diag::suggest::nearest(name, names);
        let hint = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        anyhow::anyhow!("no node of the cluster is called `{name}`{hint}")
    })
}

/// Evaluates many expressions: one line of answer for each.
fn batch(file: &std::path::Path, out: &mut Output) -> anyhow::Result<ExitStatus> {
    let mut read = Policies::default();
    let id = read.add(file)?;
    if super::setup::complain(&read, out)? {
        return Ok(ExitStatus::Failure);
    }
    let text = read.sources.get(id).map(|source| source.text().to_owned()).unwrap_or_default();
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let line = |at: usize, text: &str| -> anyhow::Result<Json> {
        serde_json::from_str(text)
            .with_context(|| format!("line {} of {} is not valid JSON", at + 1, file.display()))
    };
    let (at, first) = lines.next().context("the file is empty: its first line holds the variables")?;
    let head = line(at, first)?;
    if head.get("dyn").is_some() {
        anyhow::bail!("variables of type `dyn` are not built yet");
    }
    let variables = head.get("vars").and_then(Json::as_object).context("the first line holds no `vars`")?;
    let mut names = String::new();
    for (name, value) in variables {
        let literal = literal(value).with_context(|| format!("the variable `{name}`"))?;
        names.push_str(&format!("let {name} = {literal}\n"));
    }
    let placeholder = PodInfo::from_value(Arc::new(json!({
        "metadata": {"name": "none", "namespace": "default"}, "spec": {"containers": [{"name": "none"}]}
    })));
    let pod = placeholder.map_err(|error| anyhow::anyhow!("{error}"))?;
    let snapshot = Snapshot::default();
    for (at, text) in lines {
        let asked = line(at, text)?;
        let expression = asked.get("expr").and_then(Json::as_str).context("a line without `expr`")?;
        // Each expression has its own source map, so that memory does not grow.
        let mut read = Policies::default();
        let answer = match compile(&mut read, &names, expression) {
            Err(errors) => {
                let first = errors.first().map_or("it is not an expression", |said| said.message.as_str());
                json!({"expr": expression, "compileError": first})
            }
            Ok(compiled) => {
                let context = EvalContext::new(&pod, &snapshot, Time(0));
                let value = Evaluator::new(&compiled.policy, context).value(compiled.expr());
                let ty = &compiled.expr().ty;
                json!({"expr": expression, "type": ty.to_string(), "value": tagged(&value, ty)})
            }
        };
        writeln!(out.stdout(), "{answer}")?;
    }
    Ok(ExitStatus::Success)
}

/// A JSON value as the language writes it.
fn literal(value: &Json) -> anyhow::Result<String> {
    Ok(match value {
        Json::Bool(_) | Json::Number(_) => value.to_string(),
        Json::String(_) => value.to_string(),
        Json::Array(items) => {
            let items: anyhow::Result<Vec<String>> = items.iter().map(literal).collect();
            format!("[{}]", items?.join(", "))
        }
        Json::Object(entries) => {
            let entries: anyhow::Result<Vec<String>> = entries
                .iter()
                .map(|(key, value)| Ok(format!("{}: {}", Json::from(key.as_str()), literal(value)?)))
                .collect();
            format!("{{{}}}", entries?.join(", "))
        }
        Json::Null => anyhow::bail!("`null` has no type"),
    })
}

/// A value with its type, as the recorded verdicts of Kubernetes write them.
fn tagged(value: &Value<'_>, ty: &Type) -> Json {
    match value {
        Value::Absent | Value::Null => Json::Null,
        Value::Bool(truth) => json!({"bool": truth}),
        Value::Int(number) => json!({"int": number.to_string()}),
        Value::Uint(number) => json!({"uint": number.to_string()}),
        Value::Float(number) => json!({"double": number}),
        Value::String(text) => json!({"string": text.as_str()}),
        Value::List(items) => {
            let element = ty.present().element().unwrap_or(Type::Unknown);
            json!({"list": items.iter().map(|item| tagged(item, &element)).collect::<Vec<_>>()})
        }
        Value::Map(entries) => {
            let pairs = entries.iter();
            let pairs =
                pairs.map(|(key, value)| json!([tagged(key, &Type::Unknown), tagged(value, &Type::Unknown)]));
            json!({"map": pairs.collect::<Vec<_>>()})
        }
        other => json!({"text": other.to_string()}),
    }
}
