//! The lint `percent-and-share`: a number from 0 to 100 meets a share, which lies in 0 to 1.
//!
//! Called by `lint` for every policy without a mistake. What a number counts follows from how it is computed, through lets,
//! defs, lists and arithmetic: `percent(a, b)` is a percentage, and so is a share times 100; `share(a, b)` is a share, and
//! so is `node.free.cpu / node.allocatable.cpu`. Another amount by that of a node is a ratio, which may be above 1: nodes
//! are overcommitted.

use crate::analysis::shape::{constant, resolve_alias};
use crate::language::fields::Meaning;
use crate::language::functions::Influence;
use crate::typed::walk::each_part;
use crate::typed::{ArithmeticOp, DefId, Expr, ExprKind, LetId, MacroKind, Operation, Policy, SlotId};
use crate::types::Type;
use crate::types::value::Value;
use bayplan_diag::{Diagnostic, Source, codes};
use rustc_hash::{FxHashMap, FxHashSet};

/// What a number counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scale {
    /// From 0 to 100.
    Percent,
    /// From 0 to 1.
    Share,
    /// A share that may be above 1.
    Ratio,
}

use Scale::{Percent, Ratio, Share};

/// How deep numbers are looked for in expressions that are one of several.
const NESTED: usize = 8;

/// Above it a ratio is taken for a percentage: nothing is overcommitted so far.
const LARGE_RATIO: f64 = 10.0;

/// Reports comparisons and sums of the two.
pub(super) fn check(policy: &Policy, source: &Source, diagnostics: &mut Vec<Diagnostic>) {
    let mut walk = Walk {
        policy,
        source,
        lets: FxHashMap::default(),
        defs: FxHashMap::default(),
        slots: FxHashMap::default(),
        parameters: FxHashSet::default(),
        wanted: FxHashMap::default(),
        said: Vec::new(),
    };
    // What a def is given may itself come from a def.
    for _ in 0..2 {
        policy.for_each_expr(&mut |expr| walk.learn(expr));
        walk.lets.clear();
        walk.defs.clear();
        if walk.slots.is_empty() {
            break;
        }
    }
    for _ in 0..if walk.parameters.is_empty() { 0 } else { 2 } {
        policy.for_each_expr(&mut |expr| walk.want(expr));
    }
    policy.for_each_expr(&mut |expr| walk.visit(expr));
    // Such a comparison has the same result on every node, which needs no finding of its own.
    diagnostics.retain(|known| {
        *known.code != codes::ALWAYS || !walk.said.iter().any(|said| known.span.contains(said.span))
    });
    for said in walk.said {
        // The quotient of two ints has been cut, which was said.
        let cut = |known: &Diagnostic| {
            *known.code == codes::WHOLE_DIVISION && said.labels.iter().any(|label| label.span == known.span)
        };
        if !diagnostics.iter().any(|known| known.span == said.span && known.code == said.code || cut(known)) {
            diagnostics.push(said);
        }
    }
}

struct Walk<'p> {
    policy: &'p Policy,
    source: &'p Source,
    lets: FxHashMap<LetId, Option<Scale>>,
    defs: FxHashMap<DefId, Option<Scale>>,
    /// Of parameters and variables of macros.
    slots: FxHashMap<SlotId, Scale>,
    /// The parameters of defs.
    parameters: FxHashSet<SlotId>,
    /// What a parameter is compared with in its def: of which scale, and where.
    wanted: FxHashMap<SlotId, (Scale, Expr)>,
    said: Vec<Diagnostic>,
}

/// A constant.
struct Number {
    value: f64,
    /// It is written as `80%`.
    in_percent: bool,
    /// It is a float by itself.
    float: bool,
}

impl Walk<'_> {
    /// Notes what variables stand for.
    fn learn(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::CallDef(id, args) => {
                for (slot, arg) in self.policy[*id].parameters.iter().zip(args) {
                    if let Some(scale) = self.scale(arg) {
                        self.slots.insert(*slot, scale);
                    }
                    self.parameters.insert(*slot);
                }
            }
            ExprKind::Macro(of) => {
                if let (Some(scale), None) = (self.scale(&of.over), of.second) {
                    self.slots.insert(of.slot, scale);
                }
            }
            _ => {}
        }
        each_part(expr, &mut |part| self.learn(part));
    }

    /// Notes what parameters of defs are compared with.
    fn want(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Compare(_, left, right) | ExprKind::Equal(left, right) => {
                self.want_one(left, right);
                self.want_one(right, left);
            }
            ExprKind::CallDef(id, args) => {
                for (slot, arg) in self.policy[*id].parameters.iter().zip(args) {
                    // A parameter that is handed on is compared where the other def compares it.
                    if let (ExprKind::Slot(own), Some(wanted)) = (&unwrapped(arg).kind, self.wanted.get(slot))
                    {
                        self.wanted.insert(*own, wanted.clone());
                    }
                }
            }
            _ => {}
        }
        each_part(expr, &mut |part| self.want(part));
    }

    fn want_one(&mut self, one: &Expr, other: &Expr) {
        let ExprKind::Slot(slot) = &unwrapped(other).kind else { return };
        // What another parameter counts is another matter in every call.
        if !self.parameters.contains(slot) || self.reads_parameter(one) {
            return;
        }
        if let Some(scale) = self.scale(one) {
            self.wanted.insert(*slot, (scale, one.clone()));
        }
    }

    fn reads_parameter(&self, expr: &Expr) -> bool {
        let mut found = matches!(&expr.kind, ExprKind::Slot(slot) if self.parameters.contains(slot));
        each_part(expr, &mut |part| found = found || self.reads_parameter(part));
        found
    }

    fn visit(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::CallDef(id, args) => {
                for (slot, arg) in self.policy[*id].parameters.iter().zip(args) {
                    let wanted = self.wanted.get(slot).cloned();
                    if let (Some((scale, one)), Some(number)) = (wanted, self.number(arg)) {
                        self.meets(scale, (&one, arg), &number, true);
                    }
                }
            }
            ExprKind::Compare(_, left, right) | ExprKind::Equal(left, right) | ExprKind::In(left, right) => {
                self.pair(left, right, true);
            }
            ExprKind::Arithmetic(ArithmeticOp::Add | ArithmeticOp::Subtract, left, right) => {
                self.pair(left, right, false);
            }
            ExprKind::Dynamic(operation, parts) => {
                let compares =
                    matches!(operation, Operation::Compare(_) | Operation::Equal | Operation::NotEqual);
                let adds =
                    matches!(operation, Operation::Arithmetic(ArithmeticOp::Add | ArithmeticOp::Subtract));
                if let ([left, right], true) = (parts.as_slice(), compares || adds) {
                    self.pair(left, right, compares);
                }
            }
            // `min`, `max` and `clamp`: the result is one of the arguments.
            ExprKind::Call(function, args, _) => {
                let def = function.def();
                let one_of = args.len() > 1
                    && !def.influence.is_empty()
                    && def.influence.iter().all(|influence| *influence == Influence::Raises)
                    && args.iter().all(|arg| arg.ty.present().is_numeric());
                if let (Some((first, rest)), true) = (args.split_first(), one_of) {
                    rest.iter().for_each(|arg| self.pair(first, arg, false));
                }
            }
            _ => {}
        }
        each_part(expr, &mut |part| self.visit(part));
    }

    /// Reports two numbers of which one is a percentage and the other a share.
    fn pair(&mut self, left: &Expr, right: &Expr, compared: bool) {
        let verb = if compared { "compared" } else { "put together" };
        // `c ? 80% : 90%` and `[80%, 90%]` are each of their numbers.
        if self.number(left).is_none() && self.number(right).is_none() {
            for (one, other) in [(left, right), (right, left)] {
                let Some(scale) = self.scale(one) else { continue };
                for (other, number) in self.numbers(other) {
                    self.meets(scale, (one, &other), &number, compared);
                }
            }
        }
        for (one, other) in [(left, right), (right, left)] {
            let Some(scale) = self.scale(one) else {
                let Some(number) = self.number(other) else { continue };
                let fraction = number.value > 0.0 && number.value <= 1.0;
                if number.in_percent && fraction && is_int(one) && self.number(one).is_none() {
                    self.say_percent(one, other, &number, &format!("an int is {verb} with a share"));
                }
                continue;
            };
            let Some(number) = self.number(other) else {
                if scale == Percent && matches!(self.scale(other), Some(Share | Ratio)) {
                    let message = format!("a number from 0 to 100 is {verb} with a share");
                    let said = Diagnostic::new(&codes::PERCENT_AND_SHARE, other.span, message)
                        .with_label("this is a share, from 0 to 1")
                        .with_place(one.span, "this goes from 0 to 100")
                        .with_help("write a share on both sides, or the share times 100");
                    self.said.push(said);
                }
                continue;
            };
            self.meets(scale, (one, other), &number, compared);
        }
    }

    /// Reports a constant that does not fit the scale of what it meets.
    fn meets(&mut self, scale: Scale, (one, other): (&Expr, &Expr), number: &Number, compared: bool) {
        let verb = if compared { "compared" } else { "put together" };
        let between = number.value > 0.0 && number.value < 1.0;
        // `1` is a number from 0 to 100 as well.
        let all = number.value == 1.0 && (number.in_percent || number.float && is_int(one));
        match scale {
            Percent if between || all || number.in_percent && number.value > 1.0 => {
                self.say_percent(
                    one,
                    other,
                    number,
                    &format!("a number from 0 to 100 is {verb} with a share"),
                );
            }
            Share if compared && !number.in_percent && number.value > 1.0 => {
                self.say_share(one, other, number, "a share lies in 0 to 1");
            }
            Ratio if compared && !number.in_percent && number.value > LARGE_RATIO => {
                self.say_share(one, other, number, "this is a share, of which 1 is all");
            }
            _ => {}
        }
    }

    fn say_percent(&mut self, one: &Expr, other: &Expr, number: &Number, message: &str) {
        let right = shown(number.value * 100.0);
        let mut help = format!("write `{right}`");
        if let Some(args) = self.text(one).and_then(|text| text.strip_prefix("percent(")) {
            help.push_str(&format!(", or `share({args}` for the number from 0 to 100"));
        }
        self.say(one, other, message, (help, right), "this goes from 0 to 100");
    }

    fn say_share(&mut self, one: &Expr, other: &Expr, number: &Number, message: &str) {
        let right = match self.policy.cel {
            true => shown(number.value / 100.0),
            false => format!("{}%", shown(number.value)),
        };
        self.say(one, other, message, (format!("did you mean `{right}`?"), right), "this is a share");
    }

    fn say(&mut self, one: &Expr, other: &Expr, message: &str, (help, right): (String, String), label: &str) {
        let said = Diagnostic::new(&codes::PERCENT_AND_SHARE, other.span, message)
            .with_place(one.span, label)
            .with_help(help);
        let literal = self.text(other).is_some_and(|text| {
            text.ends_with(|c: char| c.is_ascii_digit() || c == '%')
                && text.starts_with(|c: char| c.is_ascii_digit())
        });
        // What the rule decides changes: only its author knows which is meant.
        self.said.push(match literal {
            true => said.with_fix(format!("write `{right}`"), other.span, right),
            false => said,
        });
    }

    fn text(&self, expr: &Expr) -> Option<&str> {
        let own = expr.span.source == self.source.id();
        self.source.text().get(expr.span.range()).filter(|_| own)
    }

    /// The number that an expression always is.
    fn number(&self, expr: &Expr) -> Option<Number> {
        let expr = unwrapped(resolve_alias(self.policy, expr));
        let expr = resolve_alias(self.policy, expr);
        if !matches!(expr.ty.present(), Type::Int | Type::Uint | Type::Float) {
            return None;
        }
        let value = match constant(self.policy, expr)? {
            Value::Int(number) => number as f64,
            other => other.as_float()?,
        };
        let in_percent = self.text(expr).is_some_and(|text| text.ends_with('%'));
        Some(Number { value, in_percent, float: *expr.ty.present() == Type::Float })
    }

    /// The numbers that an expression may be, where it is one of several.
    fn numbers(&self, expr: &Expr) -> Vec<(Expr, Number)> {
        let mut found = Vec::new();
        self.collect_numbers(expr, NESTED, &mut found);
        found
    }

    fn collect_numbers(&self, expr: &Expr, depth: usize, found: &mut Vec<(Expr, Number)>) {
        let expr = unwrapped(resolve_alias(self.policy, expr));
        if let Some(number) = self.number(expr) {
            found.push((expr.clone(), number));
            return;
        }
        let Some(depth) = depth.checked_sub(1) else { return };
        if let Some(Value::List(items)) = constant(self.policy, expr) {
            let numbers = items.iter().filter_map(|item| match item {
                Value::Int(number) => Some(*number as f64),
                other => other.as_float(),
            });
            found.extend(
                numbers.map(|value| (expr.clone(), Number { value, in_percent: false, float: true })),
            );
            return;
        }
        match &expr.kind {
            ExprKind::Conditional(_, left, right) | ExprKind::Coalesce(left, right) => {
                self.collect_numbers(left, depth, found);
                self.collect_numbers(right, depth, found);
            }
            ExprKind::List(elements) => {
                elements.iter().for_each(|(element, _)| self.collect_numbers(element, depth, found));
            }
            ExprKind::Let(id) => self.collect_numbers(&self.policy[*id].value, depth, found),
            ExprKind::CallDef(id, _) => self.collect_numbers(&self.policy[*id].body, depth, found),
            _ => {}
        }
    }

    fn scale(&mut self, expr: &Expr) -> Option<Scale> {
        let policy = self.policy;
        match &expr.kind {
            ExprKind::Constant(_) | ExprKind::Param(_) => None,
            ExprKind::Present(inner) | ExprKind::Widen(inner) | ExprKind::Negate(inner) => self.scale(inner),
            ExprKind::Let(id) => match self.lets.get(id) {
                Some(known) => *known,
                None => {
                    let scale = self.scale(&policy[*id].value);
                    self.lets.insert(*id, scale);
                    scale
                }
            },
            ExprKind::CallDef(id, _) => match self.defs.get(id) {
                Some(known) => *known,
                None => {
                    let scale = self.scale(&policy[*id].body);
                    self.defs.insert(*id, scale);
                    scale
                }
            },
            ExprKind::Slot(slot) => self.slots.get(slot).copied().or_else(|| by_range(expr)),
            ExprKind::Conditional(_, then, otherwise) => self.scale(then).or_else(|| self.scale(otherwise)),
            ExprKind::Coalesce(left, right) => self.scale(left).or_else(|| self.scale(right)),
            ExprKind::List(elements) => elements.iter().find_map(|(element, _)| self.scale(element)),
            ExprKind::Macro(of) if of.kind == MacroKind::Sum => by_range(expr),
            ExprKind::Macro(of) => match &of.body {
                Some(body) => self.scale(body),
                None => self.scale(&of.over),
            },
            ExprKind::RecordField(object, at) => match &resolve_alias(policy, object).kind {
                ExprKind::Record(values) => self.scale(values.get(*at)?),
                _ => by_range(expr),
            },
            ExprKind::Arithmetic(op, left, right) => {
                self.of_arithmetic(*op, left, right).or_else(|| by_range(expr))
            }
            ExprKind::Dynamic(Operation::Arithmetic(op), parts) => match parts.as_slice() {
                [left, right] => self.of_arithmetic(*op, left, right).or_else(|| by_range(expr)),
                _ => None,
            },
            ExprKind::Dynamic(_, parts) => match parts.as_slice() {
                [inner] => self.scale(inner),
                _ => by_range(expr),
            },
            ExprKind::Call(function, args, _) => by_range(expr).or_else(|| {
                let mut raising = args
                    .iter()
                    .enumerate()
                    .filter(|(at, _)| function.def().influence(*at) == Influence::Raises);
                raising.find_map(|(_, arg)| self.scale(arg))
            }),
            _ => by_range(expr),
        }
    }

    fn of_arithmetic(&mut self, op: ArithmeticOp, left: &Expr, right: &Expr) -> Option<Scale> {
        let scales = (self.scale(left), self.scale(right));
        let value = |number: Option<Number>| number.map(|number| number.value);
        let (first, second) = (value(self.number(left)), value(self.number(right)));
        let factor = first.or(second);
        match op {
            ArithmeticOp::Multiply => match (scales.0.or(scales.1)?, factor) {
                (Share | Ratio, Some(100.0)) => Some(Percent),
                // A hundredth of a percentage.
                (Percent, Some(0.01)) => Some(Share),
                (scale, Some(factor)) if factor <= 1.0 => Some(scale),
                (_, Some(_)) => None,
                // A part of a percentage or of a share.
                (scale, None) if scales.0.is_some() && scales.1.is_some() => match scales {
                    (Some(Percent), Some(Percent)) => None,
                    (Some(Percent), _) | (_, Some(Percent)) => Some(Percent),
                    _ => Some(scale),
                },
                (_, None) => None,
            },
            ArithmeticOp::Divide => match (scales.0, second) {
                (Some(Percent), Some(100.0)) => Some(Share),
                // A mean.
                (Some(scale), Some(number)) if (1.0..=LARGE_RATIO).contains(&number) => Some(scale),
                (None, None) => self.of_mean(left, right).or_else(|| self.of_quotient(left, right)),
                (_, Some(_)) => None,
                (_, None) => self.of_quotient(left, right),
            },
            ArithmeticOp::Add => match scales {
                (Some(Percent), _) | (_, Some(Percent)) => Some(Percent),
                (Some(_), _) | (_, Some(_)) => Some(Ratio),
                (None, None) => None,
            },
            ArithmeticOp::Subtract => scales.0.or(scales.1),
            ArithmeticOp::Remainder => None,
        }
    }

    /// `l.sum(x, …) / l.size()`: the mean of what is summed.
    fn of_mean(&mut self, left: &Expr, right: &Expr) -> Option<Scale> {
        let (left, right) = (resolve_alias(self.policy, left), resolve_alias(self.policy, right));
        let ExprKind::Macro(of) = &unwrapped(left).kind else { return None };
        let counts =
            matches!(unwrapped(right).ty.present(), Type::Int | Type::Float) && right.ty != of.over.ty;
        let body = of.body.as_ref().filter(|_| of.kind == MacroKind::Sum && counts)?;
        self.scale(body)
    }

    /// `a / b` of amounts: a share of what the node has.
    fn of_quotient(&self, left: &Expr, right: &Expr) -> Option<Scale> {
        // Of what several nodes have.
        if let ExprKind::Macro(of) = &unwrapped(resolve_alias(self.policy, right)).kind
            && let (MacroKind::Sum, Some(body)) = (of.kind, &of.body)
        {
            let amounts =
                left.ty.present().is_unit() && self.resource(body).is_some_and(|(of, _)| is_all(of));
            return amounts.then_some(Ratio);
        }
        let (whole, whole_name) = self.resource(right)?;
        if !is_all(whole) {
            return None;
        }
        if let ExprKind::Arithmetic(ArithmeticOp::Multiply, a, b) = &resolve_alias(self.policy, left).kind {
            let hundred =
                [a, b].into_iter().any(|side| self.number(side).is_some_and(|by| by.value == 100.0));
            return hundred.then_some(Percent);
        }
        match self.resource(left) {
            Some((Some(Meaning::Free | Meaning::Allocatable), name)) if name == whole_name => Some(Share),
            Some(_) => Some(Ratio),
            None if left.ty.present().is_unit() => Some(Ratio),
            None => None,
        }
    }

    /// `x.allocatable.cpu`: what the field is, and the name of the resource.
    fn resource(&self, expr: &Expr) -> Option<(Option<Meaning>, Value<'static>)> {
        let mut expr = resolve_alias(self.policy, expr);
        // `x.value()`, the number in base units.
        if let ExprKind::Call(_, args, _) = &unwrapped(expr).kind
            && let [inner] = args.as_slice()
            && inner.ty.present().is_unit()
        {
            expr = resolve_alias(self.policy, inner);
        }
        let ExprKind::Resource(resources, name) = &unwrapped(expr).kind else { return None };
        let ExprKind::Field(_, field) = &resolve_alias(self.policy, resources).kind else { return None };
        Some((field.def().meaning, constant(self.policy, name)?))
    }
}

/// Whether amounts are what a node has.
fn is_all(amounts: Option<Meaning>) -> bool {
    matches!(amounts, Some(Meaning::Allocatable | Meaning::Capacity))
}

/// An expression without conversions.
fn unwrapped(expr: &Expr) -> &Expr {
    match &expr.kind {
        ExprKind::Present(inner) | ExprKind::Widen(inner) => unwrapped(inner),
        ExprKind::Dynamic(Operation::Exact(_) | Operation::Demand(_), parts) => match parts.as_slice() {
            [inner] => unwrapped(inner),
            _ => expr,
        },
        _ => expr,
    }
}

fn is_int(expr: &Expr) -> bool {
    let inner = match &unwrapped(expr).kind {
        ExprKind::Coalesce(left, _) => unwrapped(left),
        _ => unwrapped(expr),
    };
    *inner.ty.present() == Type::Int
}

/// What the possible values of a number tell.
fn by_range(expr: &Expr) -> Option<Scale> {
    let (low, high) = expr.range.ends()?;
    match expr.ty.present() {
        Type::Float if low >= 0.0 && high <= 1.0 && low < high => Some(Share),
        Type::Int | Type::Float if low == 0.0 && high == 100.0 => Some(Percent),
        _ => None,
    }
}

/// A number as people write it.
fn shown(number: f64) -> String {
    format!("{}", (number * 1e6).round() / 1e6)
}
