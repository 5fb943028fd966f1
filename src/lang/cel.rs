//! CEL for others: an expression is compiled in an environment and run with the values of its variables.
//!
//! Resource claims select devices with it, `bayplan eval --cel` and the conformance tests call it. Policies in
//! CEL go through [`compile_for`](super::compile_for) like any other policy.

use super::check;
use super::eval::cel_cost::CelCost;
use super::eval::context::EvalContext;
use super::eval::interpret::Evaluator;
pub use super::eval::operations::GOES_OVER;
use super::language::environments::{Row, Rows};
use super::language::functions::cel::{self as functions, semver};
use super::syntax::{
    self,
    ast::{self, Text},
};
use super::typed::{Expr, Policy, SlotId};
use super::types::value::{Cel, Constant, FaultKind, Value};
use super::types::{RecordType, Type};
use bayplan_diag::{Diagnostic, SourceId};
use bayplan_model::{PodInfo, Snapshot, Time, VersionRow, VersionRows};
use std::sync::{Arc, LazyLock};

/// Steps that an expression may take in one run.
///
/// The API server refuses selectors of devices above 1,000,000 estimated units when they are written, so that a
/// stored one does not come near it.
pub(crate) const FUSE: u64 = 4_000_000;

/// Steps of a run whose cost is counted: many more than a run takes that costs as much as is allowed.
const FUSE_OF_COUNTED: u64 = 64_000_000;

/// What an expression can name, and which functions there are.
#[derive(Clone, Debug)]
pub struct Environment {
    rows: Rows,
    variables: Vec<(Text, Type)>,
}

impl Environment {
    /// The CEL of Kubernetes 1.36 with these variables.
    pub fn kubernetes<'t>(variables: impl IntoIterator<Item = (&'t str, Type)>) -> Self {
        let variables = variables.into_iter().map(|(name, ty)| (Text::from(name), ty)).collect();
        Environment { rows: Rows::KUBERNETES, variables }
    }

    /// The environment of selectors of devices: the variable `device`, and what Kubernetes of these rows knows.
    ///
    /// Source: `k8s.io/dynamic-resource-allocation/cel`.
    pub fn device(rows: VersionRows) -> Self {
        let newer = rows.has(VersionRow::SelectorAttributes);
        let attribute = if newer { Type::Dyn } else { Type::Any };
        let by_domain = |of: Type| {
            let names = Type::Map(Arc::new(Type::String), Arc::new(of));
            Type::Map(Arc::new(Type::String), Arc::new(names))
        };
        let fields = [
            (Text::from("driver"), Type::String),
            (Text::from("allowMultipleAllocations"), Type::Bool),
            (Text::from("attributes"), by_domain(attribute)),
            (Text::from("capacity"), by_domain(Type::Quantity)),
        ];
        let device = RecordType { name: Some(Text::from("kubernetes.DRADevice")), fields: fields.into() };
        let variables = [("device", Type::Record(Arc::new(device)))];
        let rows = if newer { Rows::of_devices() } else { Rows::of_devices().without(Row::Lists) };
        Environment { rows, ..Environment::kubernetes(variables) }
    }

    /// The environment of policies: `pod`, `node` and the other names that a filter sees, and these variables.
    pub fn policy<'t>(variables: impl IntoIterator<Item = (&'t str, Type)>) -> Self {
        Environment { rows: Rows::of_policies(), ..Environment::kubernetes(variables) }
    }

    /// This environment without a row: what the row changes is what it is in Kubernetes.
    #[must_use]
    pub fn without(&self, row: Row) -> Self {
        Environment { rows: self.rows.without(row), variables: self.variables.clone() }
    }
}

/// The value of the variable `device`: attributes and capacities by domain and name.
pub fn device(
    driver: &str,
    allow_multiple_allocations: bool,
    attributes: Vec<(Constant, Constant)>,
    capacity: Vec<(Constant, Constant)>,
) -> Constant {
    let domains = |of: Vec<(Constant, Constant)>| Value::Cel(Cel::Domains(Arc::new(of)));
    Value::Record(Arc::from([
        Value::text(driver),
        Value::Bool(allow_multiple_allocations),
        domains(attributes),
        domains(capacity),
    ]))
}

/// A semantic version as a value.
///
/// # Errors
/// The words of the library that Kubernetes reads versions with.
pub fn version(text: &str) -> Result<Constant, String> {
    semver::parse(text).map(|version| Value::Cel(Cel::Semver(Arc::new(version))))
}

/// The name of the type of a value in the words of CEL.
pub fn type_name(value: &Value<'_>) -> &'static str {
    functions::type_name(value).unwrap_or("dyn")
}

/// A compiled expression.
#[derive(Clone, Debug)]
pub struct Program {
    policy: Arc<Policy>,
    expr: Arc<Expr>,
    type_name: String,
}

/// Compiles an expression; places are bytes of the text.
///
/// # Errors
/// The mistakes of the expression.
pub fn compile(text: &str, environment: &Environment) -> Result<Program, Vec<Diagnostic>> {
    let read = syntax::cel::parse(text, SourceId::default(), &|at| at);
    match read.expr {
        Some(expr) => check(&expr, text, environment),
        None => Err(read.diagnostics),
    }
}

/// Compiles an expression that was read; `text` is what its spans refer to.
///
/// # Errors
/// The mistakes of the expression.
pub fn check(expr: &ast::Expr, text: &str, environment: &Environment) -> Result<Program, Vec<Diagnostic>> {
    let (checked, said) = check::check_cel(expr, text, environment.rows, &environment.variables);
    let (policy, expr, type_name) = checked.ok_or(said)?;
    Ok(Program { policy: Arc::new(policy), expr: Arc::new(expr), type_name })
}

/// A cluster without anything: an expression with variables of its own reads none.
static NOTHING: LazyLock<(Option<PodInfo>, Snapshot)> = LazyLock::new(|| {
    let pod = serde_json::json!({"metadata": {"name": "none", "namespace": "none"}});
    (PodInfo::from_value(Arc::new(pod)).ok(), Snapshot::default())
});

impl Program {
    /// The type of the result, in the words of cel-go.
    pub fn type_name(&self) -> &str {
        &self.type_name
    }

    /// What an evaluator takes: the expression, and the policy around it.
    pub fn parts(&self) -> (&Policy, &Expr) {
        (&self.policy, &self.expr)
    }

    /// The result for these values of the variables, in the order of the environment. A fault where CEL has an
    /// error, also after [`FUSE`] steps.
    pub fn run<'a>(&'a self, values: &[Value<'a>]) -> Value<'a> {
        self.evaluate(values, FUSE, None)
    }

    /// The result for these values of the variables, and what it cost in units of cel-go, of which it may take so many:
    /// above them the result is a fault of too many steps. `newer`: functions cost what they do in Kubernetes 1.37.
    pub fn run_within<'a>(&'a self, values: &[Value<'a>], cost: u64, newer: bool) -> (Value<'a>, u64) {
        let mut counted = CelCost::new(cost, newer);
        let value = self.evaluate(values, FUSE_OF_COUNTED, Some(&mut counted));
        let cost_of_all = counted.cost();
        if cost_of_all > cost {
            let value = Value::fault(FaultKind::TooManySteps, "the evaluation costs too much");
            return (value, cost_of_all);
        }
        (value, cost_of_all)
    }

    fn evaluate<'a>(&'a self, values: &[Value<'a>], fuse: u64, counted: Option<&mut CelCost>) -> Value<'a> {
        let (Some(pod), snapshot) = &*NOTHING else {
            return Value::fault(FaultKind::BadArgument, "the expression cannot be evaluated");
        };
        let context = EvalContext::new(pod, snapshot, Time(0));
        let mut evaluator = Evaluator::new(&self.policy, context).with_fuse(fuse);
        if let Some(counted) = counted {
            evaluator = evaluator.observed(counted);
        }
        for (at, value) in values.iter().enumerate() {
            evaluator.bind(SlotId(at as u32), value.clone());
        }
        evaluator.value(&self.expr)
    }
}
