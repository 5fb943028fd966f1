//! [`Witness`]: a pod and a node about which an old and a new rule differ. It is made from an assignment of the search, and
//! counts only if the reference evaluator says that they differ.

use crate::formula::Formulas;
use crate::node_load::{LoadPart, NodeLoad};
use crate::places::{self, Of, Place};
use crate::search::{Assignment, matches};
use crate::variables::{Cell, VariableId};
use bayplan_lang::eval::context::EvalContext;
use bayplan_lang::language::fields::ObjectType;
use bayplan_lang::typed::walk::parts;
use bayplan_lang::typed::{Expr, ExprKind, Policy, SlotId};
use bayplan_lang::types::Type;
use bayplan_lang::types::range::Range as NumberRange;
use bayplan_lang::types::value::Constant;
use bayplan_model::{Change, Duration, Namespace, Node, Placement, PodInfo, Snapshot, Symbol, Time};
use serde_json::{Value, json};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// A pod and a node about which two rules differ.
#[derive(Clone, Debug)]
pub struct Witness {
    /// The pod.
    pub pod: Arc<PodInfo>,
    /// The node.
    pub node: Symbol,
    /// The pod that may be evicted, of a rule about victims.
    pub victim: Option<Arc<PodInfo>>,
    /// The instant of the evaluation, by the wall clock.
    pub now: Time,
    /// The objects of a witness that is made up; `None`: it is of the cluster.
    pub made_of: Option<Objects>,
}

/// Says whether a pod, a node and perhaps a victim show a difference.
pub(crate) type Differs<'d> = dyn Fn(EvalContext<'_>, Option<&Arc<PodInfo>>) -> bool + 'd;

/// The instant at which witnesses are evaluated unless a rule compares the clock: 2030-01-01.
const NOW: Time = Time(1_893_456_000_000_000);
/// How many ways are tried for each assignment, and for how many of them more ways.
const FEW_TRIES: usize = 3;
const FEW_ASSIGNMENTS: usize = 8;
/// How many values are tried for an assignment.
const TRIES: usize = 24;
/// How many where fields are tried that the proof does not look into.
const TRIES_OF_LEAVES: usize = 64;
/// The most pods that are put onto a node.
const MOST_PODS: i64 = 256;

/// The objects of a witness that is made up.
#[derive(Clone, Debug)]
pub struct Objects {
    /// The pod.
    pub pod: Value,
    /// The node.
    pub node: Value,
    /// The namespace of the pod.
    pub namespace: Value,
    /// The pod that may be evicted.
    pub victim: Value,
    /// How many pods like the victim are on the node.
    pub pods_on_node: usize,
    /// What the node used; `None`: it has no metrics.
    pub load: Option<NodeLoad>,
    /// The instant of the evaluation.
    pub now: Time,
    /// What was chosen so that the rules differ, as `pod.metadata.labels.team = "a"`.
    pub because: Vec<String>,
}

impl Default for Objects {
    fn default() -> Self {
        let pod = |name: &str| {
            json!({
                "apiVersion": "v1", "kind": "Pod",
                "metadata": {
                    "name": name, "namespace": "team", "uid": name, "creationTimestamp": "2029-12-31T00:00:00Z",
                },
                "spec": {"schedulerName": "default-scheduler", "containers": [{"name": "main", "image": "main"}]},
                "status": {"phase": "Pending"},
            })
        };
        Self {
            pod: pod("pod"),
            node: json!({
                "apiVersion": "v1", "kind": "Node",
                "metadata": {"name": "node", "uid": "node", "labels": {"kubernetes.io/hostname": "node"}},
                "spec": {},
                "status": {"allocatable": {"cpu": "64", "memory": "256Gi", "pods": "110"},
                           "capacity": {"cpu": "64", "memory": "256Gi", "pods": "110"}},
            }),
            namespace: json!({
                "apiVersion": "v1", "kind": "Namespace",
                "metadata": {"name": "team", "labels": {"kubernetes.io/metadata.name": "team"}},
            }),
            victim: pod("victim"),
            pods_on_node: 0,
            load: None,
            now: NOW,
            because: Vec::new(),
        }
    }
}

impl Objects {
    /// With these values; `None`: one cannot be.
    fn with(puts: &[(&Place, Constant)]) -> Option<Self> {
        let mut objects = Self::default();
        puts.iter().try_for_each(|(place, value)| objects.put(place, value))?;
        // Where there is none, no part of it is there either.
        let is_none = |(place, value): &(&Place, Constant)| {
            **place == Place::Load(LoadPart::There) && !matches!(value, Constant::Bool(true))
        };
        if puts.iter().any(is_none) {
            objects.load = None;
        }
        Some(objects)
    }

    fn put(&mut self, place: &Place, value: &Constant) -> Option<()> {
        match place {
            Place::Now => match value {
                Constant::Time(at) => {
                    self.now = *at;
                    self.because.push(format!("it is {}", at.to_rfc3339()));
                }
                _ => return None,
            },
            Place::PodsOnNode => match value {
                Constant::Int(count) if (0..=MOST_PODS).contains(count) => {
                    self.pods_on_node = *count as usize;
                    self.because.push(format!("{count} pods on the node"));
                }
                _ => return None,
            },
            Place::Load(part) => self.because.push(NodeLoad::put(&mut self.load, *part, value)?),
            Place::Field(of, path, _) => {
                let written = if value.is_absent() { None } else { Some(place.written(value)?) };
                let (object, word) = match of {
                    Of::Pod => (&mut self.pod, "pod"),
                    Of::Node => (&mut self.node, "node"),
                    Of::Namespace => (&mut self.namespace, "namespace"),
                    Of::Victim => (&mut self.victim, "victim"),
                };
                let shown = written.as_ref().map_or("absent".to_owned(), Value::to_string);
                self.because.push(format!("{word}{} = {shown}", places::written_path(path)));
                places::set(object, path, written);
            }
        }
        Some(())
    }

    /// These objects, with what the pod requests on the node where it has none; `None`: it has all.
    fn with_room(mut self) -> Option<Self> {
        let requests = self.pod.pointer("/spec/containers/0/resources/requests")?.as_object()?.clone();
        let mut changed = false;
        for (name, amount) in requests {
            let path = ["status".to_owned(), "allocatable".to_owned(), name.clone()];
            if self.node.pointer("/status/allocatable").is_some_and(|all| all.get(&name).is_none()) {
                places::set(&mut self.node, &path, Some(amount));
                changed = true;
            }
        }
        changed.then_some(self)
    }

    /// What `f` says of the cluster of these objects; `None`: they are not valid.
    pub(crate) fn evaluated<R>(
        &self,
        about_victims: bool,
        f: impl FnOnce(EvalContext<'_>, Option<&Arc<PodInfo>>) -> R,
    ) -> Option<R> {
        // The namespace has the name that the pod says.
        let name = self.pod.pointer("/metadata/namespace").cloned()?;
        let mut namespace = self.namespace.clone();
        places::set(&mut namespace, &["metadata".into(), "name".into()], Some(name));
        let pod = Arc::new(PodInfo::from_value(Arc::new(self.pod.clone())).ok()?);
        let victim = Arc::new(PodInfo::from_value(Arc::new(self.victim.clone())).ok()?);
        let node = Arc::new(Node::from_value(Arc::new(self.node.clone())).ok()?);
        let namespace = Arc::new(Namespace::from_value(Arc::new(namespace)).ok()?);
        let mut snapshot = Snapshot::default();
        let name = node.name.clone();
        snapshot.apply(Change::NamespaceUpserted { namespace });
        snapshot.apply(Change::NodeUpserted { node });
        snapshot.apply(Change::PodPending { pod: pod.clone() });
        if let Some(load) = &self.load {
            // A summary is the same over every window.
            snapshot.set_metrics_windows(vec![Duration::from_seconds(60)]);
            let readings = [load.reading(&name)?].into();
            snapshot.apply(Change::Metrics { at: self.now, readings });
        }
        let row = snapshot.node_by_name(&name)?;
        for at in 0..self.pods_on_node {
            let mut value = self.victim.clone();
            for field in ["name", "uid"] {
                places::set(&mut value, &["metadata".into(), field.into()], Some(json!(format!("pod-{at}"))));
            }
            let pod = Arc::new(PodInfo::from_value(Arc::new(value)).ok()?);
            snapshot.apply(Change::PodPlaced { pod, node: row, how: Placement::Bound });
        }
        if about_victims {
            snapshot.apply(Change::PodPlaced { pod: victim.clone(), node: row, how: Placement::Bound });
        }
        let mut context = EvalContext::new(&pod, &snapshot, self.now).on(snapshot.node(row)?);
        context.now = self.now;
        Some(f(context, about_victims.then_some(&victim)))
    }

    /// The witness of these objects, if they show a difference.
    fn shown(self, about_victims: bool, differs: &Differs<'_>) -> Option<Witness> {
        let found = self.evaluated(about_victims, |context, victim| {
            let node = context.node.map(|node| node.name().clone());
            let pod = Arc::new(context.pod.clone());
            differs(context, victim).then_some((pod, node, victim.cloned()))
        });
        let (pod, node, victim) = found??;
        Some(Witness { pod, node: node?, victim, now: self.now, made_of: Some(self) })
    }
}

/// Whether values of a type are put into objects.
fn is_plain(ty: &Type) -> bool {
    NumberRange::of(ty).ends().is_some() || matches!(ty, Type::String | Type::Bool | Type::Time)
}

/// Fields that the proof does not look into: they are parts of what it takes as one value.
pub(crate) struct Leaves {
    fields: Vec<(Place, Type)>,
    /// Texts that the expressions name.
    texts: Vec<String>,
}

impl Leaves {
    /// Of the variables that have no place of their own, and of further expressions with their sides.
    pub(crate) fn of<'e>(
        formulas: &'e Formulas<'_>,
        victims: [Option<SlotId>; 2],
        more: impl IntoIterator<Item = (usize, &'e Expr)>,
    ) -> Self {
        let mut leaves = Self { fields: Vec::new(), texts: Vec::new() };
        let of_variables = formulas.variables.iter().filter(|variable| !variable.is_pair());
        let of_variables =
            of_variables.filter_map(|variable| variable.of.first().map(|(side, expr)| (*side, expr)));
        for (side, expr) in of_variables.chain(more) {
            let Some(policy) = formulas.policies.get(side) else { continue };
            leaves.add(policy, expr, victims.get(side).copied().flatten(), 0);
        }
        let own: Vec<Place> = formulas
            .variables
            .iter()
            .filter_map(|variable| {
                let (side, expr) = variable.of.first().filter(|_| !variable.is_pair())?;
                Place::of(formulas.policies.get(*side)?, expr, victims.get(*side).copied().flatten())
            })
            .collect();
        leaves.fields.retain(|(place, _)| !own.contains(place));
        leaves
    }

    fn add(&mut self, policy: &Policy, expr: &Expr, victim: Option<SlotId>, depth: usize) {
        let ty = expr.ty.present();
        let place = Place::of(policy, expr, victim);
        let is_load = place == Some(Place::Load(LoadPart::There));
        if let Some(place) = place.filter(|_| is_plain(ty) || is_load) {
            let ty = if is_load { &Type::Bool } else { ty };
            if !self.fields.iter().any(|(known, _)| *known == place) {
                self.fields.push((place, ty.clone()));
            }
            return;
        }
        if depth > DEEPEST || self.fields.len() >= MOST_LEAVES {
            return;
        }
        let defined = match &expr.kind {
            ExprKind::Constant(value) => return self.add_texts(value),
            ExprKind::Param(id) => return self.add_texts(&policy[*id].value),
            ExprKind::Let(id) => Some(&policy[*id].value),
            ExprKind::CallDef(id, _) => Some(&policy[*id].body),
            _ => None,
        };
        let mut add = |part| self.add(policy, part, victim, depth + 1);
        defined.into_iter().for_each(&mut add);
        parts(expr).into_iter().for_each(add);
    }

    fn add_texts(&mut self, value: &Constant) {
        if let Some(text) = value.as_str() {
            if self.texts.len() < MOST_LEAVES && !self.texts.iter().any(|known| known == text) {
                self.texts.push(text.to_owned());
            }
        } else if let Constant::List(items) = value {
            items.iter().for_each(|item| self.add_texts(item));
        }
    }

    /// Some value of a variable that the assignment leaves open: it may be a part of what the proof takes as one value.
    fn any_of(
        &self,
        formulas: &Formulas<'_>,
        assignment: &Assignment,
        id: VariableId,
        chosen: usize,
    ) -> Option<Constant> {
        let is_open = assignment.get(id.0).copied().flatten().is_none();
        let ty = formulas.variables.get(id.0)?.expr()?.ty.present();
        let ty = if *ty == Type::Object(ObjectType::Load) { &Type::Bool } else { ty };
        (is_open && is_plain(ty) && !chosen.is_multiple_of(3)).then(|| self.sample(ty, chosen / 3))
    }

    /// Some values of a type; amounts in base units.
    fn sample(&self, ty: &Type, at: usize) -> Constant {
        let number = |of: &[i64]| of.get(at % of.len().max(1)).copied().unwrap_or_default();
        match ty {
            // Also shares of each other.
            Type::Cpu => Constant::Int(number(&[
                4_000, 500, 16_000, 3_000, 2_000, 64_000, 2_600, 1_000, 3_600, 10_000,
            ])),
            Type::Bytes => {
                Constant::Int(number(&[8 << 30, 1 << 30, 6 << 30, 64 << 30, 5 << 30, 1 << 20, 7 << 30]))
            }
            Type::Float => Constant::Float(number(&[1, 50, 0, 3, 100]) as f64),
            Type::Uint => Constant::Uint(number(&[1, 2, 0, 5]).unsigned_abs()),
            Type::Duration => Constant::Int(number(&[3_600, 60, 86_400, 18_000]) * 1_000_000),
            Type::Bool => Constant::Bool(at.is_multiple_of(2)),
            Type::Time => Constant::Time(Time(
                NOW.0 - number(&[3_600, 60, 86_400, -3_600, 18_000, 604_800]) * 1_000_000,
            )),
            Type::String => {
                let usual = ["x", "2", "y", "0.5", "a", "0", "-1"];
                let all = self.texts.len() + usual.len();
                let named = self.texts.get(at % all).map(String::as_str);
                let text = named.or_else(|| usual.get(at % all - self.texts.len()).copied());
                Constant::text(text.unwrap_or_default())
            }
            _ => Constant::Int(number(&[2, 1, 8, 0, 4])),
        }
    }
}

/// A number for a field in an attempt.
fn number(attempt: usize, at: usize) -> usize {
    attempt.wrapping_mul(2_654_435_761).wrapping_add(at.wrapping_mul(40_503)) >> 7
}

/// How far below an expression its fields are looked for.
const DEEPEST: usize = 24;
/// The most fields.
const MOST_LEAVES: usize = 24;

/// Makes a witness of one of these assignments: first of any of them in few ways, then of a few in many.
pub(crate) fn of_assignments(
    formulas: &Formulas<'_>,
    assignments: &[Assignment],
    about: ([Option<SlotId>; 2], &Leaves),
    differs: &Differs<'_>,
) -> Option<Witness> {
    let most = if about.1.fields.is_empty() { TRIES } else { TRIES_OF_LEAVES };
    let few = assignments.iter().map(|of| (of, 0..FEW_TRIES));
    let many = assignments.iter().take(FEW_ASSIGNMENTS).map(|of| (of, FEW_TRIES..most));
    few.chain(many)
        .find_map(|(assignment, tries)| of_assignment(formulas, (assignment, tries), about, differs))
}

/// Makes a witness of an assignment: values for the variables that have a place in an object, tried in several ways.
fn of_assignment(
    formulas: &Formulas<'_>,
    (assignment, tries): (&Assignment, Range<usize>),
    (victims, leaves): ([Option<SlotId>; 2], &Leaves),
    differs: &Differs<'_>,
) -> Option<Witness> {
    let about_victims = victims.iter().any(Option::is_some);
    let placed: Vec<(VariableId, Place)> = formulas
        .variables
        .iter()
        .enumerate()
        .filter(|(_, variable)| !variable.is_pair())
        .filter_map(|(at, variable)| {
            let (side, expr) = variable.of.first()?;
            let policy = formulas.policies.get(*side)?;
            Some((VariableId(at), Place::of(policy, expr, victims.get(*side).copied().flatten())?))
        })
        .collect();
    let cell = |id: VariableId| {
        let at = assignment.get(id.0).copied().flatten()?;
        formulas.variables.get(id.0)?.cells.get(at)
    };
    let mut seen = Vec::new();
    for attempt in tries {
        let mut values: BTreeMap<VariableId, Constant> = BTreeMap::new();
        for (at, (id, _)) in placed.iter().enumerate() {
            let candidates = candidates(formulas, assignment, *id, cell(*id));
            let chosen = (attempt * (at + 1) + attempt / 3) % candidates.len().max(1);
            let open = || leaves.any_of(formulas, assignment, *id, number(attempt, at));
            if let Some(value) = candidates.into_iter().nth(chosen).or_else(|| open().filter(|_| attempt > 0))
            {
                values.insert(*id, value);
            }
        }
        settle_pairs(formulas, assignment, &cell, &mut values);
        let mut puts: Vec<(&Place, Constant)> = Vec::new();
        puts.extend(placed.iter().filter_map(|(id, place)| Some((place, values.get(id)?.clone()))));
        // The first attempt leaves them as they are.
        for (at, (place, ty)) in leaves.fields.iter().enumerate().filter(|_| attempt > 0) {
            let chosen = number(attempt, at);
            // Some stay as they are: what is absent may matter.
            if !chosen.is_multiple_of(3) {
                puts.push((place, leaves.sample(ty, chosen / 3)));
            }
        }
        let Some(objects) = Objects::with(&puts) else { continue };
        if seen.contains(&objects.because) {
            continue;
        }
        seen.push(objects.because.clone());
        if objects.shown(about_victims, differs).is_some() {
            return fewest(puts, about_victims, differs);
        }
    }
    None
}

/// Objects with some values for fields, others for each number; `None`: a value cannot be.
#[cfg(test)]
pub(crate) fn random(leaves: &Leaves, number: usize) -> Option<Objects> {
    let chosen =
        |at: usize| (number + 1).wrapping_mul(2_654_435_761).wrapping_add(at.wrapping_mul(40_503)) >> 5;
    let puts = leaves.fields.iter().enumerate().filter(|(at, _)| chosen(*at) % 4 > 0);
    let puts: Vec<(&Place, Constant)> =
        puts.map(|(at, (place, ty))| (place, leaves.sample(ty, chosen(at) / 4))).collect();
    Objects::with(&puts)
}

/// The witness of as few values as possible: each one that may be left out is.
fn fewest(mut puts: Vec<(&Place, Constant)>, about_victims: bool, differs: &Differs<'_>) -> Option<Witness> {
    let shown = |puts: &[(&Place, Constant)]| Objects::with(puts)?.shown(about_victims, differs);
    let mut at = 0;
    while at < puts.len() {
        let left_out = puts.remove(at);
        if shown(&puts).is_none() {
            puts.insert(at, left_out);
            at += 1;
        }
    }
    let witness = shown(&puts)?;
    let with_room = Objects::with(&puts)?.with_room();
    with_room.and_then(|objects| objects.shown(about_victims, differs)).or(Some(witness))
}

/// Values of a cell, the most telling first; none: it may stay as it is.
fn candidates(
    formulas: &Formulas<'_>,
    assignment: &Assignment,
    id: VariableId,
    cell: Option<&Cell>,
) -> Vec<Constant> {
    let patterns: Vec<(usize, &Expr, bool)> = formulas
        .variables
        .iter()
        .enumerate()
        .filter_map(|(at, variable)| {
            let pattern = variable.pattern.as_ref().filter(|pattern| pattern.subject == id)?;
            let chosen = assignment.get(at).copied().flatten()?;
            let Cell::Value(Constant::Bool(holds)) = variable.cells.get(chosen)? else { return None };
            Some((variable.of.first()?.0, &pattern.call, *holds))
        })
        .collect();
    let ty = formulas.variables.get(id.0).and_then(|of| of.expr()).map(|expr| expr.ty.present().clone());
    let found = match cell {
        None if patterns.is_empty() => Vec::new(),
        Some(Cell::Absent) => vec![Constant::Absent],
        Some(Cell::Value(value)) => vec![value.clone()],
        Some(Cell::Between(below, above)) => between(below.as_ref(), above.as_ref(), ty.as_ref()),
        Some(Cell::Other) if ty == Some(Type::Object(ObjectType::Load)) => vec![Constant::Bool(true)],
        None | Some(Cell::Other) => match ty {
            Some(Type::String) => texts(formulas, &patterns),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    };
    // A value of another cell, or one that does not match as it should, is none.
    let fits = |value: &Constant| {
        let other = cell == Some(&Cell::Other)
            && formulas
                .variables
                .get(id.0)
                .is_some_and(|of| of.cells.iter().any(|cell| *cell == Cell::Value(value.clone())));
        !other
            && patterns.iter().all(|(side, call, holds)| {
                matches(formulas, *side, call, value).is_none_or(|of| of == *holds)
            })
    };
    found.into_iter().filter(fits).collect()
}

/// Texts that may match patterns: what the patterns have in them, alone and with letters around.
fn texts(formulas: &Formulas<'_>, patterns: &[(usize, &Expr, bool)]) -> Vec<Constant> {
    let mut texts: Vec<String> = Vec::new();
    for (side, call, _) in patterns {
        let ExprKind::Call(_, args, _) = &call.kind else { continue };
        let Some(policy) = formulas.policies.get(*side) else { continue };
        for arg in args.iter().skip(1) {
            let Some(arg) = bayplan_lang::analysis::shape::constant(policy, arg) else { continue };
            let Some(text) = arg.as_str() else { continue };
            let plain = text
                .trim_start_matches('^')
                .trim_end_matches('$')
                .replace(".*", "")
                .replace(['(', ')', '?', '+'], "");
            for text in [text.to_owned(), plain] {
                texts.extend([
                    format!("{text}x"),
                    text.clone(),
                    format!("x{text}"),
                    format!("x{text}x"),
                    format!("{text}0"),
                ]);
            }
        }
    }
    texts.extend(["other".to_owned(), "another".to_owned(), "x".to_owned()]);
    texts.into_iter().map(Constant::text).collect()
}

/// Values between two constants.
fn between(below: Option<&Constant>, above: Option<&Constant>, ty: Option<&Type>) -> Vec<Constant> {
    let near = |of: &Constant, by: i64| match of {
        Constant::Int(value) => Some(Constant::Int(value.saturating_add(by))),
        Constant::Uint(value) => value.checked_add_signed(by).map(Constant::Uint),
        Constant::Float(value) => Some(Constant::Float(value + by as f64)),
        Constant::Time(at) => Some(Constant::Time(Time(at.0.saturating_add(by.saturating_mul(1_000_000))))),
        _ => None,
    };
    let middle = match (below, above) {
        (Some(Constant::Int(low)), Some(Constant::Int(high))) => Some(Constant::Int(low.midpoint(*high))),
        (Some(Constant::Float(low)), Some(Constant::Float(high))) => {
            Some(Constant::Float((low + high) / 2.0))
        }
        (Some(Constant::Time(low)), Some(Constant::Time(high))) => {
            Some(Constant::Time(Time(low.0.midpoint(high.0))))
        }
        _ => None,
    };
    let mut found: Vec<Constant> = middle.into_iter().collect();
    for by in [1, 2, 1_000, 1 << 30] {
        found.extend(below.and_then(|of| near(of, by)));
        found.extend(above.and_then(|of| near(of, -by)));
    }
    match (below, above, ty) {
        (None, None, Some(Type::Float)) => found.extend([1.0, 2.0].map(Constant::Float)),
        (None, None, Some(Type::Time)) => {
            let hours =
                [0, -5, 1, -1, -30, 30].map(|hours| Constant::Time(Time(NOW.0 + hours * 3_600_000_000)));
            found.extend(hours);
        }
        (None, None, Some(Type::String)) => found.extend(["m", "x"].map(Constant::text)),
        (None, None, Some(Type::Uint)) => found.extend([1, 2].map(Constant::Uint)),
        (None, None, _) => found.extend([1, 2, 0, 1_000, 2_000].map(Constant::Int)),
        _ => {}
    }
    let inside = |value: &Constant| {
        below.is_none_or(|of| value.order(of) == Ordering::Greater)
            && above.is_none_or(|of| value.order(of) == Ordering::Less)
    };
    found.retain(inside);
    found
}

/// Lets the values of pairs compare as the assignment says, as far as that is simple.
fn settle_pairs<'c>(
    formulas: &Formulas<'_>,
    assignment: &Assignment,
    cell: &impl Fn(VariableId) -> Option<&'c Cell>,
    values: &mut BTreeMap<VariableId, Constant>,
) {
    let fixed = |id: VariableId| matches!(cell(id), Some(Cell::Value(_) | Cell::Absent));
    for (at, variable) in formulas.variables.iter().enumerate() {
        let Some(own) = assignment.get(at).copied().flatten().and_then(|cell| variable.cells.get(cell))
        else {
            continue;
        };
        let [Some(first), Some(second)] = formulas.sides(VariableId(at)) else { continue };
        if *own == Cell::Absent {
            let absent = |id: &VariableId| cell(*id).is_none_or(|of| *of == Cell::Absent);
            let side = [first, second].into_iter().find(|id| formulas.is_optional(*id) && absent(id));
            side.map(|id| values.insert(id, Constant::Absent));
            continue;
        }
        let known = values.get(&first).or_else(|| values.get(&second)).filter(|of| !of.is_absent()).cloned();
        let ty = variable.expr().map(|expr| expr.ty.present().clone());
        let base = known.unwrap_or_else(|| match ty {
            Some(Type::String) => Constant::text("same"),
            Some(Type::Float) => Constant::Float(2.0),
            Some(Type::Bool) => Constant::Bool(true),
            Some(Type::Time) => Constant::Time(NOW),
            _ => Constant::Int(2),
        });
        // What another pair has settled stays.
        let is_settled = |id| fixed(id) || values.contains_key(&id);
        let second_stays = !fixed(first) && (fixed(second) || is_settled(second) && !is_settled(first));
        let (keep, change) = if second_stays { (second, first) } else { (first, second) };
        let kept = values.entry(keep).or_insert(base).clone();
        let moved = |up: bool| match &kept {
            Constant::Int(value) => Some(Constant::Int(value.saturating_add(if up { 1 } else { -1 }))),
            Constant::Float(value) => Some(Constant::Float(value + if up { 1.0 } else { -1.0 })),
            Constant::Time(at) => {
                Some(Constant::Time(Time(at.0.saturating_add(if up { 1_000_000 } else { -1_000_000 }))))
            }
            Constant::Bool(value) => Some(Constant::Bool(!value)),
            other => other.as_str().map(|text| Constant::text(format!("{text}-other"))),
        };
        // The order of the first to the second, seen from the one that is kept.
        let order = match own {
            Cell::Order(order) if keep == first => Some(*order),
            Cell::Order(order) => Some(order.reverse()),
            Cell::Unequal => Some(Ordering::Less),
            _ => None,
        };
        let wanted = match order {
            Some(Ordering::Equal) => Some(kept.clone()),
            Some(Ordering::Less) => moved(true),
            Some(Ordering::Greater) => moved(false),
            None => None,
        };
        let holds = values.get(&change).is_some_and(|value| order == Some(kept.order(value)));
        if let Some(wanted) = wanted.filter(|_| !holds && !fixed(change)) {
            values.insert(change, wanted);
        }
    }
}
