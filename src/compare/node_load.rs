//! [`NodeLoad`]: what the node of a witness used, as the metrics API would say it and as a test writes it.

use bayplan_lang::analysis::shape::resolve_alias;
use bayplan_lang::language::fields::ObjectType;
use bayplan_lang::typed::{Expr, ExprKind, Policy, Root};
use bayplan_lang::types::value::Constant;
use bayplan_model::{Duration, Load, Measured, Reading, Symbol, Usage};
use serde_json::{Map, Value, json};

/// A part of a load.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LoadPart {
    /// Whether there is one.
    There,
    /// An amount of CPU in millicores.
    Cpu(Amount),
    /// An amount of memory in bytes.
    Memory(Amount),
    /// How many samples it has.
    Samples,
    /// How old the newest one is, in microseconds.
    Age,
}

/// An amount of a resource.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Amount {
    Latest,
    Mean,
    Std,
    Max,
}

/// What the node used; what is not chosen follows from the rest.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NodeLoad {
    cpu: [Option<i64>; 4],
    memory: [Option<i64>; 4],
    samples: Option<i64>,
    age: Option<i64>,
}

/// How many samples a load has whose amounts differ.
const SAMPLES: i64 = 60;
/// The most samples of a window.
const MOST_SAMPLES: i64 = 241;

impl LoadPart {
    /// Of an expression about the node that is evaluated.
    pub(crate) fn of(policy: &Policy, expr: &Expr) -> Option<Self> {
        match &resolve_alias(policy, expr).kind {
            ExprKind::Source(_, name) => is_name_of_node(policy, name).then_some(Self::There),
            ExprKind::Field(inner, field) => {
                let field = field.def();
                let amount = match field.name {
                    "latest" => Some(Amount::Latest),
                    "mean" => Some(Amount::Mean),
                    "std" => Some(Amount::Std),
                    "max" => Some(Amount::Max),
                    _ => None,
                };
                let of_load = |expr: &Expr| match &resolve_alias(policy, expr).kind {
                    ExprKind::Field(load, _) => Self::of(policy, load) == Some(Self::There),
                    _ => false,
                };
                match field.owner {
                    ObjectType::Load if Self::of(policy, inner)? != Self::There => None,
                    ObjectType::Load if field.name == "samples" => Some(Self::Samples),
                    ObjectType::Load if field.name == "age" => Some(Self::Age),
                    ObjectType::CpuUsage if of_load(inner) => amount.map(Self::Cpu),
                    ObjectType::MemoryUsage if of_load(inner) => amount.map(Self::Memory),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// As a policy writes it, behind the name of the load.
    fn name(self) -> String {
        let amount = |of: Amount| match of {
            Amount::Latest => "latest",
            Amount::Mean => "mean",
            Amount::Std => "std",
            Amount::Max => "max",
        };
        match self {
            Self::There => String::new(),
            Self::Cpu(of) => format!(".cpu.{}", amount(of)),
            Self::Memory(of) => format!(".memory.{}", amount(of)),
            Self::Samples => ".samples".to_owned(),
            Self::Age => ".age".to_owned(),
        }
    }
}

fn is_name_of_node(policy: &Policy, expr: &Expr) -> bool {
    let ExprKind::Field(node, field) = &resolve_alias(policy, expr).kind else { return false };
    let field = field.def();
    let is_node = matches!(resolve_alias(policy, node).kind, ExprKind::Root(Root::Node));
    is_node && field.owner == ObjectType::Node && field.name == "name"
}

impl NodeLoad {
    /// Gives a part a value; what was chosen, in words. `None`: it cannot have it.
    pub(crate) fn put(load: &mut Option<Self>, part: LoadPart, value: &Constant) -> Option<String> {
        let said = |text: &str| Some(format!("the node's load{} {text}", part.name()));
        let number = match value {
            Constant::Absent | Constant::Bool(false) => {
                *load = None;
                return said("absent");
            }
            Constant::Bool(true) => {
                load.get_or_insert_default();
                return said("present");
            }
            Constant::Int(number) if *number >= 0 => *number,
            _ => return None,
        };
        let load = load.get_or_insert_default();
        let (place, shown) = match part {
            LoadPart::There => return None,
            LoadPart::Cpu(of) => (load.cpu.get_mut(of as usize)?, format!("{number}m")),
            LoadPart::Memory(of) => (load.memory.get_mut(of as usize)?, number.to_string()),
            LoadPart::Samples => (&mut load.samples, number.to_string()),
            LoadPart::Age => (&mut load.age, format!("{}s", number / 1_000_000)),
        };
        *place = Some(number);
        said(&format!("= {shown}"))
    }

    /// The load; `None`: no node has one like it.
    fn load(&self) -> Option<Load> {
        let usage = |of: &[Option<i64>; 4]| {
            let [latest, mean, std, most] = *of;
            let mean = mean.or(latest).or(most).unwrap_or_default();
            let latest = latest.unwrap_or(mean);
            let std = std.unwrap_or_default();
            let most = most.unwrap_or_else(|| latest.max(mean).saturating_add(std));
            let fits = latest <= most && mean <= most && std <= most;
            fits.then_some(Usage { latest, mean, std, max: most })
        };
        let (cpu, memory) = (usage(&self.cpu)?, usage(&self.memory)?);
        let is_one = |of: &Usage| of.std == 0 && of.latest == of.mean && of.mean == of.max;
        let is_one = is_one(&cpu) && is_one(&memory);
        let samples = self.samples.unwrap_or(if is_one { 1 } else { SAMPLES });
        let fits = (1..=MOST_SAMPLES).contains(&samples) && (samples > 1 || is_one);
        fits.then(|| Load { cpu, memory, samples: samples as u32, ..Load::default() })
    }

    /// As a poll brings it.
    pub(crate) fn reading(&self, node: &Symbol) -> Option<Reading> {
        let measured = Measured::Summary { load: self.load()?, age: Duration(self.age.unwrap_or_default()) };
        Some(Reading { node: node.clone(), measured })
    }

    /// As a test writes it under `metrics`.
    pub fn in_test(&self) -> Option<Value> {
        let load = self.load()?;
        let usage = |of: Usage, unit: &str| {
            let amounts = [("latest", of.latest), ("mean", of.mean), ("std", of.std), ("max", of.max)];
            let amounts = amounts.map(|(name, amount)| (name.to_owned(), json!(format!("{amount}{unit}"))));
            Value::Object(Map::from_iter(amounts))
        };
        Some(json!({
            "cpu": usage(load.cpu, "m"), "memory": usage(load.memory, ""), "samples": load.samples,
            "age": format!("{}s", self.age.unwrap_or_default() / 1_000_000),
        }))
    }
}
