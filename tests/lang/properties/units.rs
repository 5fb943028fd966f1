//! Units never mix: whatever the checker accepts is computed again with numbers that carry the resource that
//! they are amounts of, and two amounts of different units never meet.

use super::Random;
use crate::support::policies::try_compile;
use std::collections::HashMap;

/// The unit that a number carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    /// A literal 0, and the sum of nothing: fits every unit.
    Zero,
    /// A number or a count.
    Plain,
    Cpu,
    Bytes,
}

fn unit_of(resource: &str) -> Unit {
    match resource {
        "cpu" => Unit::Cpu,
        "memory" | "ephemeral-storage" | "hugepages-2Mi" => Unit::Bytes,
        _ => Unit::Plain,
    }
}

/// Two amounts of different units have met.
#[derive(Debug)]
struct Mixed;

fn joined(a: Unit, b: Unit) -> Result<Unit, Mixed> {
    match (a, b) {
        (Unit::Zero, other) | (other, Unit::Zero) => Ok(other),
        (a, b) if a == b => Ok(a),
        _ => Err(Mixed),
    }
}

/// A name of a resource.
#[derive(Clone, Debug)]
enum Name {
    Constant(&'static str),
    /// A variable of a macro, a parameter, or a let.
    Variable(String),
}

/// An expression that is an amount, a number or a condition.
#[derive(Clone, Debug)]
enum Expr {
    Literal(&'static str, Unit),
    Resource(&'static str, Name),
    /// A let or a def, by its place in the policy, and its argument.
    Let(usize),
    Def(usize, Name),
    Two(&'static str, Box<Expr>, Box<Expr>),
    Times(Box<Expr>),
    Ratio(Box<Expr>, Box<Expr>),
    Value(Box<Expr>),
    Choice(Box<Expr>, Box<Expr>),
    /// `[a, b].sum()` and so on.
    Elements(&'static str, Vec<Expr>),
    /// `MAP.sum(r, e)` and so on: the map, the variable, the form, the body.
    Loop(&'static str, String, &'static str, Box<Expr>),
    Compare(&'static str, Box<Expr>, Box<Expr>),
}

const MAPS: [&str; 4] = ["node.free", "node.allocatable", "pod.requests", "pod.limits"];
const RESOURCES: [&str; 4] = ["cpu", "memory", "hugepages-2Mi", "nvidia.com/gpu"];

struct Maker<'r> {
    random: &'r mut Random,
    variables: Vec<String>,
    lets: usize,
    defs: usize,
}

impl Maker<'_> {
    fn name(&mut self) -> Name {
        match self.variables.len() {
            0 => Name::Constant(self.random.of(&RESOURCES)),
            _ if self.random.one_in(4) => Name::Constant(self.random.of(&RESOURCES)),
            // Inner variables are more interesting.
            n if self.random.one_in(2) => Name::Variable(self.variables[n - 1].clone()),
            _ => Name::Variable(self.random.of(&self.variables.clone())),
        }
    }

    fn boxed(&mut self, depth: usize) -> Box<Expr> {
        Box::new(self.amount(depth))
    }

    fn amount(&mut self, depth: usize) -> Expr {
        if depth == 0 || self.random.one_in(3) {
            return match self.random.below(8) {
                0 => Expr::Literal("500m", Unit::Cpu),
                1 => Expr::Literal("1Gi", Unit::Bytes),
                2 => Expr::Literal("3", Unit::Plain),
                3 if self.random.one_in(2) => Expr::Literal("0cpu", Unit::Cpu),
                3 => Expr::Literal("0", Unit::Zero),
                4 if self.lets > 0 => Expr::Let(self.random.below(self.lets)),
                5 if self.defs > 0 => Expr::Def(self.random.below(self.defs), self.name()),
                _ => Expr::Resource(self.random.of(&MAPS), self.name()),
            };
        }
        let d = depth - 1;
        match self.random.below(10) {
            0..=2 => Expr::Two(self.random.of(&["+", "-", "min", "max"]), self.boxed(d), self.boxed(d)),
            3 => Expr::Times(self.boxed(d)),
            4 => Expr::Ratio(self.boxed(d), self.boxed(d)),
            5 => Expr::Value(self.boxed(d)),
            6 => Expr::Choice(self.boxed(d), self.boxed(d)),
            7 => {
                let which = self.random.of(&["sum()", "max() ?? 0", "distinct().sum()", "reverse()[0] ?? 0"]);
                let items = (0..1 + self.random.below(2)).map(|_| self.amount(d)).collect();
                Expr::Elements(which, items)
            }
            _ => {
                let forms = [
                    "sum({r}, {e})",
                    "max({r}, {e}) ?? 0",
                    "map({r}, {e}).sum()",
                    "map({r}, [{e}]).flatten().sum()",
                ];
                let form = self.random.of(&forms);
                self.over(form, d, |this, d| this.amount(d))
            }
        }
    }

    fn over(&mut self, form: &'static str, d: usize, body: impl Fn(&mut Self, usize) -> Expr) -> Expr {
        // A name that another variable has too.
        let variable = format!("r{}", self.random.below(2));
        if self.variables.contains(&variable) {
            return body(self, d);
        }
        let map = self.random.of(&MAPS);
        self.variables.push(variable.clone());
        let body = body(self, d);
        self.variables.pop();
        Expr::Loop(map, variable, form, Box::new(body))
    }

    fn condition(&mut self, depth: usize) -> Expr {
        if depth > 0 && self.random.one_in(3) {
            let form = self.random.of(&["all({r}, {e})", "exists({r}, {e})", "filter({r}, {e}).size() > 0"]);
            return self.over(
                form,
                depth - 1,
                |this, d| {
                    if d == 0 { this.condition(0) } else { this.condition(d) }
                },
            );
        }
        let op = self.random.of(&["<", "<=", "==", ">", "!="]);
        // Often the same name on both sides, so that something is accepted.
        let left = self.amount(depth);
        let right = match &left {
            Expr::Resource(_, name) if self.random.one_in(2) => {
                Expr::Resource(self.random.of(&MAPS), name.clone())
            }
            _ => self.amount(depth),
        };
        Expr::Compare(op, Box::new(left), Box::new(right))
    }
}

fn written(expr: &Expr) -> String {
    let of = |name: &Name| match name {
        Name::Constant(name) => format!("\"{name}\""),
        Name::Variable(name) => name.clone(),
    };
    match expr {
        Expr::Literal(text, _) => (*text).to_owned(),
        Expr::Resource(map, name) => format!("{map}[{}]", of(name)),
        Expr::Let(at) => format!("let{at}"),
        Expr::Def(at, name) => format!("def{at}({})", of(name)),
        Expr::Two(op @ ("min" | "max"), a, b) => format!("{op}({}, {})", written(a), written(b)),
        Expr::Two(op, a, b) => format!("({} {op} {})", written(a), written(b)),
        Expr::Times(a) => format!("({} * 2)", written(a)),
        Expr::Ratio(a, b) => format!("share({}, {})", written(a), written(b)),
        Expr::Value(a) => format!("({}).value()", written(a)),
        Expr::Choice(a, b) => format!("(node.ready ? {} : {})", written(a), written(b)),
        Expr::Elements(which, items) => {
            format!("([{}].{which})", items.iter().map(written).collect::<Vec<_>>().join(", "))
        }
        Expr::Loop(map, variable, form, body) => {
            format!("({map}.{})", form.replace("{r}", variable).replace("{e}", &written(body)))
        }
        Expr::Compare(op, a, b) => format!("({} {op} {})", written(a), written(b)),
    }
}

/// The values of names, and what the names of the policy stand for.
struct World<'w> {
    names: HashMap<String, &'static str>,
    lets: &'w [Expr],
    defs: &'w [(String, Expr)],
    ready: bool,
}

impl World<'_> {
    fn resource(&self, name: &Name) -> &'static str {
        match name {
            Name::Constant(name) => name,
            Name::Variable(name) => self.names[name],
        }
    }

    /// Whether the value is known when the policy is compiled. Then it may be a 0, which fits every unit.
    fn is_constant(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Literal(..) => true,
            Expr::Resource(..) | Expr::Def(..) | Expr::Choice(..) | Expr::Loop(..) => false,
            Expr::Let(at) => self.is_constant(&self.lets[*at]),
            Expr::Times(a) | Expr::Value(a) => self.is_constant(a),
            Expr::Two(_, a, b) | Expr::Ratio(a, b) | Expr::Compare(_, a, b) => {
                self.is_constant(a) && self.is_constant(b)
            }
            Expr::Elements(_, items) => items.iter().all(|item| self.is_constant(item)),
        }
    }

    /// The unit of the value; conditions are plain.
    fn unit(&mut self, expr: &Expr) -> Result<Unit, Mixed> {
        match expr {
            Expr::Literal(_, unit) => Ok(*unit),
            Expr::Resource(_, name) => Ok(unit_of(self.resource(name))),
            Expr::Let(at) => self.unit(&self.lets[*at].clone()),
            Expr::Def(at, name) => {
                let (parameter, body) = self.defs[*at].clone();
                let before = self.names.clone();
                self.names.insert(parameter, self.resource(name));
                let unit = self.unit(&body);
                self.names = before;
                unit
            }
            Expr::Two(_, a, b) => joined(self.unit(a)?, self.unit(b)?),
            Expr::Times(a) => self.unit(a),
            Expr::Ratio(a, b) | Expr::Compare(_, a, b) => {
                joined(self.unit(a)?, self.unit(b)?)?;
                let constant = self.is_constant(a) && self.is_constant(b);
                Ok(if constant { Unit::Zero } else { Unit::Plain })
            }
            Expr::Value(a) => {
                let unit = self.unit(a)?;
                Ok(if unit == Unit::Zero || self.is_constant(a) { Unit::Zero } else { Unit::Plain })
            }
            Expr::Choice(a, b) => {
                let (a, b) = (self.unit(a)?, self.unit(b)?);
                Ok(if self.ready { a } else { b })
            }
            Expr::Elements(_, items) => {
                let mut all = Unit::Zero;
                for item in items {
                    all = joined(all, self.unit(item)?)?;
                }
                Ok(if all == Unit::Plain && self.is_constant(expr) { Unit::Zero } else { all })
            }
            Expr::Loop(map, variable, form, body) => {
                let names = if map.starts_with("node") { &RESOURCES[..] } else { &RESOURCES[..2] };
                let before = self.names.clone();
                let mut all = Unit::Zero;
                for name in names {
                    self.names.insert(variable.clone(), name);
                    all = joined(all, self.unit(body)?)?;
                }
                self.names = before;
                let counts = ["all", "exists", "filter"].iter().any(|word| form.starts_with(word));
                Ok(if counts { Unit::Plain } else { all })
            }
        }
    }
}

#[test]
fn amounts_of_two_units_never_meet() {
    // `BAYPLAN_PROGRAMS` raises it.
    let asked = std::env::var("BAYPLAN_PROGRAMS").ok();
    let wanted: u64 = asked.and_then(|text| text.parse().ok()).unwrap_or(4_000);
    let (mut accepted, mut computed) = (0u64, 0u64);
    for seed in 9_000_000..9_000_000 + wanted {
        let mut random = Random(seed);
        let mut maker = Maker { random: &mut random, variables: Vec::new(), lets: 0, defs: 0 };
        let mut text = String::from("policy p {\n  applies to all pods\n");
        let mut defs = Vec::new();
        for at in 0..maker.random.below(3) {
            let parameter = maker.random.of(&["r0", "q"]).to_owned();
            maker.variables = vec![parameter.clone()];
            let body = if maker.random.one_in(3) { maker.condition(1) } else { maker.amount(1) };
            text.push_str(&format!("  def def{at}({parameter}: string) = {}\n", written(&body)));
            defs.push((parameter, body));
            maker.defs =
                if matches!(defs[at].1, Expr::Compare(..) | Expr::Loop(..)) { maker.defs } else { at + 1 };
        }
        text.push_str("  filter f {\n    let x = pod.labels[\"r\"] ?? \"cpu\"\n    let y = node.labels[\"r\"] ?? \"memory\"\n");
        maker.variables = vec!["x".into(), "y".into()];
        let mut lets = Vec::new();
        for at in 0..maker.random.below(2) {
            let value = maker.amount(2);
            text.push_str(&format!("    let let{at} = {}\n", written(&value)));
            lets.push(value);
            maker.lets = at + 1;
        }
        let condition = maker.condition(2);
        text.push_str(&format!("    require {} else \"no\"\n  }}\n}}\n", written(&condition)));
        if try_compile(&text).is_err() {
            continue;
        }
        accepted += 1;
        let needs_names = text[text.find("require").unwrap_or(0)..].contains("[x]")
            || text.contains("[y]")
            || text.contains("[r")
            || text.contains("[q]");
        computed += u64::from(needs_names);
        for (x, y) in RESOURCES.iter().flat_map(|x| RESOURCES.iter().map(move |y| (*x, *y))) {
            for ready in [false, true] {
                let names = HashMap::from([("x".to_owned(), x), ("y".to_owned(), y)]);
                let mut world = World { names, lets: &lets, defs: &defs, ready };
                let all = lets.iter().chain([&condition]);
                let mixed = all.into_iter().find(|expr| world.unit(expr).is_err());
                assert!(mixed.is_none(), "seed {seed}: {x} and {y} meet\n{text}");
            }
        }
    }
    println!("{accepted} of {wanted} policies are accepted, {computed} of them with computed names");
    assert!(accepted * 20 > wanted, "{accepted} of {wanted} policies are accepted");
    assert!(computed * 4 > accepted, "{computed} of {accepted} policies have computed names");
}
