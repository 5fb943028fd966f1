//! `bayplan eval EXPR`: evaluates an expression of the policy language, or of CEL, for a pod and a node
//! of a cluster, live or from files: its value, its type, and the value of every part. The expression
//! is checked as the value of a `let` in a filter.

pub(crate) mod batch;

use super::explain::tree;
use super::input::Policies;
use super::setup::{Cluster, named};
use super::{ExitStatus, Output, Style};
use crate::diag::{Diagnostic, SourceId, Span, draw};
use crate::dry_run;
use crate::lang::cel;
use crate::lang::eval::context::{EvalContext, MovedPods};
use crate::lang::eval::interpret::Evaluator;
use crate::lang::syntax;
use crate::lang::typed::walk::each_part;
use crate::lang::typed::{Expr, ExprKind, Policy, Root};
use crate::model::{Change, NodeInfo, Object, Placement, PodInfo, Snapshot, Symbol, Time};
use anyhow::Context;
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;

/// Evaluates an expression of the policy language, or of CEL, for a pod and a node.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bayplan eval '2cpu + 500m'
  bayplan eval 'node.free.cpu >= pod.requests.cpu' --cluster cluster.yaml --pod web-1 --node cpu-1
  bayplan eval 'node.free.cpu' --context prod --node cpu-1      of a live cluster
  bayplan eval --cel 'node.name.startsWith(\"gpu-\")' --cluster cluster.yaml --node gpu-1
  bayplan eval --batch expressions.jsonl                        many expressions in CEL")]
pub(super) struct Args {
    /// The expression.
    #[arg(required_unless_present = "batch")]
    expression: Option<String>,
    /// A cluster file; `-` is stdin. The flag may be repeated.
    #[arg(long, value_name = "FILE")]
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
    /// A file of expressions in CEL, one JSON object per line, or `-` for stdin. The first line holds the
    /// variables: `{"vars": {"i": 7}, "dyn": []}`; each further one an expression: `{"expr": "i + 1"}`.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["expression", "pod", "node", "cluster"])]
    batch: Option<PathBuf>,
    /// The expressions are in CEL, which is the default of `--batch`.
    #[arg(long, conflicts_with = "dsl")]
    cel: bool,
    /// The expressions are in the policy language, which is the default without `--batch`.
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
        let language = if args.dsl { batch::Language::Policy } else { batch::Language::Cel };
        return batch::run(file, language, out);
    }
    let text = args.expression.as_deref().unwrap_or_default();
    let mut read = Policies::default();
    let Cluster { mut world, namespace, others, saved, .. } = cluster(args, &mut read, out)?;
    read.schemas.merge(&others.schemas);
    if super::setup::complain(&read, out)? {
        return Ok(ExitStatus::Failure);
    }
    let pod = pod(args, &world, &namespace)?;
    let compiled = if args.cel { compile_cel(&mut read, text) } else { compile(&mut read, "", text) };
    let compiled = match compiled {
        Ok(compiled) => compiled,
        Err(errors) => {
            let drawn = draw::human(&read.sources, &errors, out.stderr_look(Some(20)));
            out.draw_on_stderr(&drawn)?;
            return Ok(ExitStatus::Failure);
        }
    };
    let (policy, expr) = compiled.parts();
    world.objects.extend(others.looked_up(&policy.kinds).0);
    let snapshot = snapshot(&world);
    let node = match &args.node {
        Some(name) => Some(node(&snapshot, name)?),
        None => None,
    };
    let reads = |root: Root| reads(expr, root);
    if node.is_none() && reads(Root::Node) {
        anyhow::bail!("the expression reads `node`: say which one with `--node NAME`");
    }
    if args.pod.is_none() && (reads(Root::Pod) || reads(Root::Namespace)) {
        anyhow::bail!("the expression reads `pod` or `ns`: say which pod with `--pod NAME`");
    }
    let now = super::setup::taken(&saved);
    let now = now.unwrap_or_else(|| Time(jiff::Timestamp::now().as_microsecond()));
    // Without `--pod` a placeholder is evaluated, which `pods` must not count.
    let placeholder = MovedPods { added: Vec::new(), removed: vec![pod.key.clone()] };
    let mut context = EvalContext::new(&pod, &snapshot, now);
    context.node = node;
    if args.pod.is_none() {
        context.moved = &placeholder;
    }
    let shown = Evaluator::new(policy, context).tree(expr);
    let failed = Evaluator::new(policy, context).value(expr).is_fault();
    let status = if failed { ExitStatus::Findings } else { ExitStatus::Success };
    let ty = compiled.type_name();
    if args.output == "json" {
        let json = json!({
            "apiVersion": "bayplan.dev/v1", "kind": "Evaluation", "expression": text, "type": ty,
            "value": shown.value, "tree": tree::to_json(&read.sources, &shown),
        });
        out.json(&json)?;
        return Ok(status);
    }
    let value = out.paint(Style::Strong, &shown.value);
    writeln!(out.stdout(), "{value}   {ty}")?;
    if !shown.parts.is_empty() && !out.quiet {
        let drawn = tree::draw(&read.sources, &shown, 2, out);
        writeln!(out.stdout(), "\n{}", drawn.trim_end())?;
    }
    Ok(status)
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
            let parts = super::live::Parts { objects: true, asks: super::live::Asks::Nothing };
            let reader = super::live::Reader::Once(&args.connection);
            return super::live::read(reader, super::live::WantedPolicies::No, parts, read, out);
        }
    }
    #[cfg(not(feature = "cluster"))]
    let _ = out;
    let files = read.add_all(&args.cluster)?;
    let loaded = dry_run::load(&mut read.sources, &files);
    read.diagnostics.extend(loaded.diagnostics);
    let file = files.first().copied();
    let named = loaded.saved.iter().map(|of| of.namespace.clone()).find(|name| !name.is_empty());
    let namespace = named.unwrap_or_else(|| "default".to_owned());
    Ok(Cluster {
        world: loaded.world,
        namespace,
        others: loaded.others,
        file,
        configuration: None,
        saved: loaded.saved,
        runs: None,
    })
}

/// An expression that was checked.
enum Compiled {
    /// A `let`, by its place, of a policy made for it.
    Policy(Box<Policy>, usize),
    /// An expression of CEL.
    Cel(cel::Program),
}

impl Compiled {
    /// The expression, and the policy around it.
    fn parts(&self) -> (&Policy, &Expr) {
        match self {
            Compiled::Policy(policy, at) => (policy, &policy.lets[*at].value),
            Compiled::Cel(program) => program.parts(),
        }
    }

    /// The type in the words of its language.
    fn type_name(&self) -> String {
        match self {
            Compiled::Policy(..) => self.parts().1.ty.to_string(),
            Compiled::Cel(program) => program.type_name().to_owned(),
        }
    }
}

/// Checks an expression of CEL, with the names of policies.
fn compile_cel(read: &mut Policies, text: &str) -> Result<Compiled, Vec<Diagnostic>> {
    let source = read.sources.add("expression", text);
    let parsed = syntax::cel::parse(text, source, &|at| at);
    let expr = parsed.expr.ok_or(parsed.diagnostics)?;
    cel::check(&expr, text, &cel::Environment::policy([])).map(Compiled::Cel)
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
    let (policies, diagnostics) = read.compiled(source);
    let errors: Vec<Diagnostic> = diagnostics
        .into_iter()
        .filter(Diagnostic::is_error)
        .map(|said| moved(said, id, alone, before.len(), text.len()))
        .collect();
    let found = policies.into_iter().next().and_then(|policy| {
        let at = policy.lets.iter().position(|known| *known.name == *NAME)?;
        Some(Compiled::Policy(Box::new(policy), at))
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
