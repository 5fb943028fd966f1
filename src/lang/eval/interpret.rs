//! The reference evaluator: what every typed expression means, one rule for each kind, no speed.
//!
//! The closures of code generation must agree with it on every program (property test). `trace.rs`
//! evaluates whole statements and shows the value of every part; `types::arithmetic` has the
//! numbers, `getters.rs` the fields.
//!
//! Every expression around a fault of CEL is that fault; `&&`, `||`, `all` and `exists` absorb it, and
//! `optional.ofValid` takes it in. `Evaluator::value` does this in one place.

use super::context::EvalContext;
use super::getters;
use super::ledgers;
use super::memos;
use super::operations;
use crate::language::fields::api;
use crate::typed::{
    ArithmeticOp, CompareOp, DefId, Expr, ExprKind, GroupId, LedgerId, LetId, LookUp, LookUpBy, Macro,
    MacroKind, MemoId, Operation, Policy, Reason, ReasonPart, Root, SlotId,
};
use crate::types::Type;
use crate::types::arithmetic;
use crate::types::convert;
use crate::types::show::plain_text;
use crate::types::value::{Cel, Fault, FaultKind, Ordered, Resources, Str, Value, named_resources};
use bayplan_diag::Span;
use bayplan_model::{MOST_SAMPLES, Resource, Symbol};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::Arc;

/// The most bytes of a value in a reason: each node may have its own reason.
const LONGEST_HOLE: usize = 256;

/// Evaluates expressions of one policy in one context.
pub struct Evaluator<'p, 'a> {
    pub(super) policy: &'p Policy,
    pub(super) context: EvalContext<'a>,
    /// Values of macro variables and parameters, by slot.
    slots: FxHashMap<SlotId, Value<'a>>,
    /// Values of lets, once computed: a let reads no slot, so it has one value in one context.
    lets: Vec<Option<Value<'a>>>,
    observer: Option<&'p mut dyn Observer>,
    /// How many steps it took.
    steps: u64,
    /// How many steps it may take.
    fuse: u64,
    /// The first fault among the operands that were evaluated: the expression around them is that fault, unless
    /// it absorbs it.
    raised: Option<Arc<Fault>>,
}

/// Observes every expression before and after its evaluation. It changes no value.
pub trait Observer {
    /// An expression is about to be evaluated.
    fn enter(&mut self, _expr: &Expr) {}
    /// An expression has this value.
    fn leave(&mut self, expr: &Expr, value: &Value<'_>);
    /// Whether the evaluation must end.
    fn stops(&self) -> bool {
        false
    }
}

impl<'p, 'a> Evaluator<'p, 'a> {
    /// An evaluator of `policy`'s expressions in `context`.
    pub fn new(policy: &'p Policy, context: EvalContext<'a>) -> Self {
        // An index makes an evaluator for each pod, and few variables have a value at a time.
        let slots = FxHashMap::default();
        let lets = vec![None; policy.lets.len()];
        Self { policy, context, slots, lets, observer: None, steps: 0, fuse: u64::MAX, raised: None }
    }

    /// This evaluator, which tells an observer of every expression.
    pub fn observed(mut self, observer: &'p mut dyn Observer) -> Self {
        self.observer = Some(observer);
        self
    }

    /// This evaluator, which gives a fault when it took so many steps.
    pub(crate) fn with_fuse(mut self, steps: u64) -> Self {
        self.fuse = steps;
        self
    }

    /// How many steps it took so far, as `analysis::cost` counts them: one for each evaluated
    /// expression, and one for each element of a collection that was made or visited.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Whether it took more than it may.
    fn is_blown(&self) -> bool {
        self.steps > self.fuse || self.observer.as_ref().is_some_and(|observer| observer.stops())
    }

    fn step(&mut self, number: usize) {
        self.steps = self.steps.saturating_add(number as u64);
    }

    /// The value of an expression.
    pub fn value(&mut self, expr: &Expr) -> Value<'a> {
        self.step(1);
        if let Some(observer) = &mut self.observer {
            observer.enter(expr);
        }
        if self.is_blown() {
            let blown = Value::fault(FaultKind::TooManySteps, "the evaluation takes too many steps");
            self.raised = blown.as_fault().cloned();
            return blown;
        }
        let outer = self.raised.take();
        let mut value = self.compute(expr);
        if let Some(fault) = self.raised.take() {
            value = Value::Cel(Cel::Fault(fault));
        }
        if let Some(fault) = value.as_fault() {
            let fault = placed(fault, expr);
            value = Value::Cel(Cel::Fault(fault.clone()));
            self.raised = outer.filter(|_| fault.kind != FaultKind::Stopped).or(Some(fault));
        } else {
            self.raised = outer;
        }
        if let Some(observer) = &mut self.observer {
            observer.leave(expr, &value);
        }
        value
    }

    fn compute(&mut self, expr: &Expr) -> Value<'a> {
        match &expr.kind {
            ExprKind::Constant(constant) => constant.clone(),
            ExprKind::Param(param) => self.policy[*param].value.clone(),
            ExprKind::Let(id) => self.let_value(*id),
            ExprKind::Slot(slot) => self.slots.get(slot).cloned().unwrap_or(Value::Absent),
            ExprKind::Root(root) => {
                let value = root_value(&self.context, *root);
                self.step(length(&value));
                value
            }
            ExprKind::Group(group) => self.group(*group),
            ExprKind::Ledger(ledger, key) => self.ledger(*ledger, key),
            ExprKind::Memo(memo) => self.memo(*memo),
            ExprKind::Source(source, node) => {
                let node = self.value(node);
                let source = &self.policy[*source];
                // The samples of the window.
                self.step(MOST_SAMPLES);
                let load = symbol_of(&node).and_then(|node| self.context.load_recomputed(&node, source));
                Value::optional(load.map(|load| Value::Load(Arc::new(load))))
            }
            ExprKind::Now => Value::Time(self.context.now),
            ExprKind::LookUp(which, args) => {
                let args: Vec<Value<'a>> = args.iter().map(|arg| self.value(arg)).collect();
                let value = look_up(&self.context, self.policy, *which, &args);
                self.step(length(&value));
                value
            }
            ExprKind::Field(object, field) => {
                let object = self.value(object);
                let value = getters::getter(*field)(&self.context, &object);
                self.step(length(&value));
                value
            }
            ExprKind::ApiField(object, name) => {
                let declared = api::declared(&object.ty, name);
                let object = self.value(object);
                convert::field(getters::api_field(&self.context, &object, name), &expr.ty, declared)
            }
            ExprKind::RecordField(object, at) => match self.value(object) {
                Value::Record(fields) => Value::optional(fields.get(*at).cloned()),
                _ => Value::Absent,
            },
            ExprKind::Index(object, index) => {
                let (object, index) = (self.value(object), self.value(index));
                if index.is_absent() { Value::Absent } else { convert::fit(object.index(&index), &expr.ty) }
            }
            ExprKind::Resource(resources, name) => {
                let (resources, name) = (self.value(resources), self.value(name));
                name.as_str().map_or(Value::Absent, |name| resources.key(name))
            }
            ExprKind::Present(inner) => self.value(inner),
            ExprKind::Widen(inner) => widen(self.value(inner)),
            ExprKind::Has(inner) => Value::Bool(self.has(inner)),
            ExprKind::Not(inner) => Value::Bool(!self.holds(inner)),
            ExprKind::Negate(inner) => negate(self.value(inner)),
            ExprKind::And(left, right) => self.logical(left, right, false),
            ExprKind::Or(left, right) => self.logical(left, right, true),
            ExprKind::Equal(left, right) => {
                let (left, right) = (self.value(left), self.value(right));
                Value::Bool(left.equals(&right))
            }
            ExprKind::Compare(op, left, right) => {
                let (left, right) = (self.value(left), self.value(right));
                Value::Bool(compare(*op, &left, &right))
            }
            ExprKind::In(left, right) => {
                let (left, right) = (self.value(left), self.value(right));
                self.step(length(&right));
                Value::Bool(left.is_in(&right))
            }
            ExprKind::Arithmetic(op, left, right) => {
                let (a, b) = (self.value(left), self.value(right));
                self.step(length(&a) + length(&b));
                arithmetic(*op, &left.ty, &right.ty, a, b)
            }
            ExprKind::Conditional(condition, then, otherwise) => {
                let taken = if self.holds(condition) { then } else { otherwise };
                self.value(taken)
            }
            ExprKind::Coalesce(left, right) => match self.value(left) {
                Value::Absent => self.value(right),
                value => value,
            },
            ExprKind::List(elements) => self.list(elements),
            ExprKind::Map(entries) => self.map(entries),
            ExprKind::Record(values) => Value::Record(values.iter().map(|value| self.value(value)).collect()),
            ExprKind::Call(function, args, prepared) => {
                let args: Vec<Value<'a>> = args.iter().map(|arg| self.value(arg)).collect();
                self.step(args.iter().map(length).sum());
                if self.raised.is_some() {
                    return Value::Absent;
                }
                (function.def().body)(&args, prepared)
            }
            ExprKind::CallDef(def, args) => self.call_def(*def, args),
            ExprKind::Macro(of) => self.macro_value(of, &expr.ty),
            ExprKind::Dynamic(Operation::OrElse(held), args) => match args.as_slice() {
                [first, other] => match operations::or_else(self.value(first), *held) {
                    Some(value) => value,
                    None if self.raised.is_some() => Value::Absent,
                    None => self.value(other),
                },
                _ => Value::Absent,
            },
            ExprKind::Dynamic(Operation::Valid, args) => {
                let value = args.first().map_or(Value::Absent, |of| self.value(of));
                match self.raised.take() {
                    Some(fault) if fault.kind == FaultKind::TooManySteps => Value::Cel(Cel::Fault(fault)),
                    Some(_) => Value::Absent,
                    None => value,
                }
            }
            ExprKind::Dynamic(operation @ Operation::Counted(_), args) => {
                let args: operations::Operands<'a> = args.iter().map(|arg| self.value(arg)).collect();
                match self.raised.take() {
                    Some(fault) => Value::Cel(Cel::Fault(Arc::new(operations::stopping(&fault)))),
                    None => operations::operate(operation, args),
                }
            }
            ExprKind::Dynamic(operation, parts) => {
                let is_held = |at: usize| match operation {
                    Operation::Map(optional) => at % 2 == 1 && optional.get(at / 2) == Some(&true),
                    _ => false,
                };
                let value = |(at, arg)| if is_held(at) { self.held(arg) } else { self.value(arg) };
                let args: operations::Operands<'a> = parts.iter().enumerate().map(value).collect();
                self.step(args.iter().map(length).sum());
                if self.raised.is_some() {
                    return Value::Absent;
                }
                if let Some(fault) = self.missing_key(operation, parts, &args) {
                    return fault;
                }
                operations::operate(operation, args)
            }
        }
    }

    /// `&&` or `||`: `decisive` on either side decides, whatever the other side is.
    fn logical(&mut self, left: &Expr, right: &Expr, decisive: bool) -> Value<'a> {
        let mut fault = None;
        for side in [left, right] {
            let value = self.value(side);
            match self.raised.take() {
                Some(raised) if raised.kind == FaultKind::Stopped => return Value::Cel(Cel::Fault(raised)),
                Some(raised) => fault = fault.or(Some(raised)),
                None if value.holds() == decisive => return Value::Bool(decisive),
                None => {}
            }
        }
        fault.map_or(Value::Bool(!decisive), |fault| Value::Cel(Cel::Fault(fault)))
    }

    fn let_value(&mut self, id: LetId) -> Value<'a> {
        if let Some(known) = &self.lets[id.index()] {
            return known.clone();
        }
        let policy = self.policy;
        let value = self.value(&policy[id].value);
        // An observer sees a let each time it is used.
        if self.observer.is_none() {
            self.lets[id.index()] = Some(value.clone());
        }
        value
    }

    fn list(&mut self, elements: &[(Expr, bool)]) -> Value<'a> {
        let mut items = Vec::with_capacity(elements.len());
        for (element, optional) in elements {
            let value = if *optional { self.held(element) } else { self.value(element) };
            if !(*optional && value.is_absent()) {
                items.push(value);
            }
        }
        Value::List(items.into())
    }

    /// What an optional in a list or map holds. It may be a fault, which then is the element.
    fn held(&mut self, part: &Expr) -> Value<'a> {
        let ExprKind::Dynamic(Operation::Held, inner) = &part.kind else { return self.value(part) };
        let [inner] = inner.as_slice() else { return Value::Absent };
        let value = self.value(inner);
        match &value {
            _ if self.raised.is_some() => Value::Absent,
            Value::Optional(Some(held)) if held.is_fault() => Value::clone(held),
            _ => {
                let held = operations::operate(&Operation::Held, [value].into_iter().collect());
                self.raised = held.as_fault().map(|fault| placed(fault, part));
                held
            }
        }
    }

    fn map(&mut self, entries: &[(Expr, Expr, bool)]) -> Value<'a> {
        let mut pairs = Vec::with_capacity(entries.len());
        for (key, value, optional) in entries {
            let (key, value) = (self.value(key), self.value(value));
            if !(*optional && value.is_absent()) {
                pairs.push((key, value));
            }
        }
        Value::map(pairs)
    }

    fn call_def(&mut self, id: DefId, args: &[Expr]) -> Value<'a> {
        let policy = self.policy;
        let def = &policy[id];
        let args: Vec<Value<'a>> = args.iter().map(|arg| self.value(arg)).collect();
        for (slot, value) in def.parameters.iter().zip(args) {
            self.bind(*slot, value);
        }
        self.value(&def.body)
    }

    /// Whether a condition holds.
    pub fn holds(&mut self, expr: &Expr) -> bool {
        self.value(expr).holds()
    }

    /// The members of a group, for the pod of the context, ordered by key.
    fn group(&mut self, id: GroupId) -> Value<'a> {
        let policy = self.policy;
        let group = &policy[id];
        // An observer sees the conditions of a group each time it is used.
        let shared = self.context.shared_collections().filter(|_| self.observer.is_none());
        if let Some(members) = shared.and_then(|shared| shared.members(id)) {
            let members = Value::list(members.map(Value::Pod));
            self.step(length(&members));
            return members;
        }
        let mut members = Vec::new();
        for pod in self.context.pods() {
            self.step(1);
            self.bind(group.slot, Value::Pod(pod));
            let same = group.keys.iter().all(|key| self.value(&key.member).equals(&self.value(&key.pod)));
            if same && group.rest.iter().all(|condition| self.holds(condition)) {
                members.push(pod);
            }
        }
        if let Some(shared) = shared.filter(|_| self.raised.is_none()) {
            shared.remember(id, policy.groups.len(), &members, &self.context);
        }
        Value::list(members.into_iter().map(Value::Pod))
    }

    /// The sum of a ledger under a key: of its index, else of all pods.
    fn ledger(&mut self, id: LedgerId, key: &Expr) -> Value<'a> {
        let key = self.value(key);
        if self.raised.is_some() {
            return Value::Absent;
        }
        let policy = self.policy;
        let known = ledgers::sum(&self.context, &policy[id].index, &key);
        let sum = known.unwrap_or_else(|| {
            let all = policy[id].adds.len() + policy.narrows().count() + 1;
            self.step(self.context.snapshot.pod_count().saturating_mul(all));
            ledgers::recomputed(policy, id, &self.context, &key)
        });
        self.step(length(&sum));
        sum
    }

    /// What a memo remembers for the pod.
    fn memo(&mut self, id: MemoId) -> Value<'a> {
        let policy = self.policy;
        let key = self.value(&policy[id].key);
        memos::remembered(&self.context, &policy[id].index, &key)
    }

    fn has(&mut self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Resource(resources, name) => {
                let (resources, name) = (self.value(resources), self.value(name));
                name.is_in(&resources)
            }
            _ => !self.value(expr).is_absent(),
        }
    }

    /// Binds a group's variable to a pod.
    pub fn bind_pod(&mut self, slot: SlotId, pod: &'a bayplan_model::PodInfo) {
        self.bind(slot, Value::Pod(pod));
    }

    /// Gives a variable a value.
    pub fn bind(&mut self, slot: SlotId, value: Value<'a>) {
        self.slots.insert(slot, value);
    }

    fn macro_value(&mut self, of: &Macro, ty: &Type) -> Value<'a> {
        let over = self.value(&of.over);
        match (of.kind, &of.body) {
            _ if self.is_blown() => return Value::Absent,
            // The value may be a fault, which counts where the variable is read.
            (MacroKind::Bind, Some(body)) => {
                self.raised = None;
                self.bind(of.slot, over);
                return self.value(body);
            }
            _ if self.raised.is_some() => return Value::Absent,
            (MacroKind::All | MacroKind::Exists, _) => return self.quantified(of, &over),
            _ => {}
        }
        let items = items(&over, of.second.is_some());
        // Elements that meet the condition, each with the value of the body.
        let mut kept: Vec<(Value<'a>, Value<'a>)> = Vec::new();
        for (item, second) in items {
            self.step(1);
            self.bind(of.slot, item.clone());
            if let Some(slot) = of.second {
                self.bind(slot, second.clone());
            }
            if let Some(condition) = &of.condition
                && !self.holds(condition)
            {
                if self.raised.is_some() {
                    break;
                }
                continue;
            }
            let element = if of.second.is_some() && of.body.is_none() { second } else { item };
            let computed = match &of.body {
                Some(body) => self.value(body),
                None => element.clone(),
            };
            kept.push((element, computed));
            if of.kind == MacroKind::First {
                break;
            }
        }
        match of.kind {
            // They are done above.
            MacroKind::All | MacroKind::Exists | MacroKind::Bind => Value::Absent,
            MacroKind::TransformMapEntry => operations::unique(
                kept.iter().flat_map(|(_, made)| made.entries().unwrap_or_default().into_owned()).collect(),
            ),
            MacroKind::ExistsOne => Value::Bool(kept.len() == 1),
            MacroKind::Count => Value::Int(kept.len() as i64),
            MacroKind::Filter | MacroKind::Map => Value::list(kept.into_iter().map(|(_, computed)| computed)),
            MacroKind::TransformMap => Value::map(kept),
            MacroKind::Sum => sum(kept.into_iter().map(|(_, computed)| computed), ty),
            MacroKind::Min => extreme(kept.into_iter().map(|(_, computed)| computed), Ordering::Less),
            MacroKind::Max => extreme(kept.into_iter().map(|(_, computed)| computed), Ordering::Greater),
            MacroKind::SortBy => {
                kept.sort_by(|left, right| left.1.order(&right.1));
                Value::list(kept.into_iter().map(|(element, _)| element))
            }
            MacroKind::First => Value::optional(kept.into_iter().next().map(|(_, computed)| computed)),
            MacroKind::OptMap => {
                Value::Optional(kept.into_iter().next().map(|(_, computed)| Arc::new(computed)))
            }
            MacroKind::OptFlatMap => {
                kept.into_iter().next().map_or(Value::Optional(None), |(_, computed)| computed)
            }
        }
    }

    /// `all` and `exists`: an element that decides it makes up for the faults of others.
    fn quantified(&mut self, of: &Macro, over: &Value<'a>) -> Value<'a> {
        let decisive = of.kind == MacroKind::Exists;
        let mut fault = None;
        for (item, second) in items(over, of.second.is_some()) {
            self.step(1);
            self.bind(of.slot, item);
            if let Some(slot) = of.second {
                self.bind(slot, second);
            }
            let holds = of.condition.as_ref().is_none_or(|condition| self.holds(condition));
            match self.raised.take() {
                Some(raised) if raised.kind == FaultKind::Stopped => return Value::Cel(Cel::Fault(raised)),
                Some(raised) => fault = fault.or(Some(raised)),
                None if holds == decisive => return Value::Bool(decisive),
                None => {}
            }
            if self.is_blown() {
                break;
            }
        }
        fault.map_or(Value::Bool(!decisive), |fault| Value::Cel(Cel::Fault(fault)))
    }

    /// The text of a reason with its values; absent values are `none`, long ones are cut.
    pub fn reason(&mut self, reason: &Reason) -> String {
        let mut text = String::new();
        for part in &reason.parts {
            match part {
                ReasonPart::Text(constant) => text.push_str(constant),
                ReasonPart::Hole(expr) => {
                    let value = self.value(expr);
                    let value = plain_text(&value, &expr.ty);
                    let end = value.floor_char_boundary(LONGEST_HOLE);
                    text.push_str(value.get(..end).unwrap_or_default());
                    if end < value.len() {
                        text.push('…');
                    }
                }
            }
        }
        text
    }

    /// The fault of a key that is demanded and absent, with the key: of an expression that is not part of a policy, where
    /// the place of the fault names it.
    fn missing_key(
        &mut self,
        operation: &Operation,
        parts: &[Expr],
        args: &[Value<'a>],
    ) -> Option<Value<'a>> {
        let (Operation::Demand(FaultKind::NoSuchKey), [part], [Value::Absent]) = (operation, parts, args)
        else {
            return None;
        };
        let ExprKind::Index(_, key) = &part.kind else { return None };
        if self.fuse == u64::MAX {
            return None;
        }
        let key = self.value(key);
        let key = key.as_str()?;
        Some(Value::fault(FaultKind::NoSuchKey, format!("no such key: {key}")))
    }
}

/// A fault with its place: the innermost expression that is one.
fn placed(fault: &Arc<Fault>, expr: &Expr) -> Arc<Fault> {
    if fault.span != Span::default() {
        return fault.clone();
    }
    Arc::new(Fault { span: expr.span, ..Fault::clone(fault) })
}

/// A text as a symbol.
pub(crate) fn symbol_of<'v>(text: &'v Value<'_>) -> Option<Cow<'v, Symbol>> {
    match text {
        Value::String(Str::Interned(symbol)) => Some(Cow::Borrowed(symbol)),
        text => text.as_str().map(|text| Cow::Owned(Symbol::new(text))),
    }
}

/// How many elements a list has; 0 for any other value.
fn length(value: &Value<'_>) -> usize {
    match value {
        Value::List(items) => items.len(),
        _ => 0,
    }
}

/// `pod`, `node` and so on.
pub(crate) fn root_value<'a>(context: &EvalContext<'a>, root: Root) -> Value<'a> {
    match root {
        Root::Pod => Value::Pod(context.pod),
        Root::Namespace => Value::optional(
            context.snapshot.namespace(&context.pod.namespace).map(|namespace| Value::Namespace(namespace)),
        ),
        Root::Node => Value::optional(context.node.map(|node| Value::Node(node.id()))),
        Root::Nodes => Value::list(context.nodes().map(Value::Node)),
        Root::Pods => Value::list(context.pods().into_iter().map(Value::Pod)),
        Root::Nominated => Value::list(context.nominated().into_iter().map(Value::Pod)),
    }
}

/// Objects of a kind: all, or the one that the arguments name.
pub fn look_up<'a>(
    context: &EvalContext<'a>,
    policy: &Policy,
    which: LookUp,
    args: &[Value<'a>],
) -> Value<'a> {
    let kind = &policy[which.kind].name;
    match (which.by, args) {
        (LookUpBy::All, _) => Value::list(context.objects(kind).map(Value::LookedUp)),
        (LookUpBy::Name, names) => Value::optional(context.object_named(kind, names).map(Value::LookedUp)),
        (LookUpBy::Owner, [of]) => Value::optional(context.owner(kind, of).map(Value::LookedUp)),
        (LookUpBy::Owner, _) => Value::Absent,
    }
}

/// What a macro visits: with one variable, elements or keys; with two, index and element, or key
/// and value; of CEL's optional, the value that it holds.
pub fn items<'a>(over: &Value<'a>, two: bool) -> Vec<(Value<'a>, Value<'a>)> {
    if let Some(entries) = over.entries() {
        return entries.into_owned();
    }
    if let Value::Optional(held) = over {
        return held.iter().map(|held| (Value::clone(held), Value::Absent)).collect();
    }
    let elements = over.elements().unwrap_or(Cow::Borrowed(&[]));
    if two {
        elements.iter().enumerate().map(|(at, item)| (Value::Int(at as i64), item.clone())).collect()
    } else {
        elements.iter().map(|item| (item.clone(), Value::Absent)).collect()
    }
}

/// An int as a float.
pub(crate) fn widen(value: Value<'_>) -> Value<'_> {
    match value {
        Value::Int(number) => Value::Float(number as f64),
        Value::Uint(number) => Value::Float(number as f64),
        other => other,
    }
}

/// `-x`
pub fn negate(value: Value<'_>) -> Value<'_> {
    match value {
        Value::Int(number) => Value::Int(number.saturating_neg()),
        Value::Float(number) => Value::Float(-number),
        _ => Value::Absent,
    }
}

/// `<` and so on. Both sides have one type; the comparison is false if a side is absent.
pub fn compare(op: CompareOp, left: &Value<'_>, right: &Value<'_>) -> bool {
    if left.is_absent() || right.is_absent() {
        return false;
    }
    let order = left.order(right);
    match op {
        CompareOp::Less => order == Ordering::Less,
        CompareOp::LessEqual => order != Ordering::Greater,
        CompareOp::Greater => order == Ordering::Greater,
        CompareOp::GreaterEqual => order != Ordering::Less,
    }
}

/// The table at [`ArithmeticOp`].
pub fn arithmetic<'a>(op: ArithmeticOp, left: &Type, right: &Type, a: Value<'a>, b: Value<'a>) -> Value<'a> {
    let (left, right) = (left.present(), right.present());
    match (a, b) {
        (Value::Absent, _) | (_, Value::Absent) => Value::Absent,
        (Value::Int(a), Value::Int(b)) => whole(op, left, right, a, b),
        (Value::Uint(a), Value::Uint(b)) => match op {
            ArithmeticOp::Add => Value::Uint(a.saturating_add(b)),
            ArithmeticOp::Subtract => Value::Uint(a.saturating_sub(b)),
            ArithmeticOp::Multiply => Value::Uint(a.saturating_mul(b)),
            ArithmeticOp::Divide => a.checked_div(b).map_or(Value::Absent, Value::Uint),
            ArithmeticOp::Remainder => a.checked_rem(b).map_or(Value::Absent, Value::Uint),
        },
        (Value::Float(a), Value::Float(b)) => float(op, a, b),
        // A unit times or by a float; a count becomes a float.
        (Value::Int(a), Value::Float(b)) if is_amount(left) => match op {
            ArithmeticOp::Multiply => Value::Int(arithmetic::scale(a, b)),
            ArithmeticOp::Divide => Value::optional(arithmetic::scale_down(a, b).map(Value::Int)),
            _ => Value::Absent,
        },
        (Value::Float(a), Value::Int(b)) if is_amount(right) && op == ArithmeticOp::Multiply => {
            Value::Int(arithmetic::scale(b, a))
        }
        (Value::Int(a), Value::Float(b)) => float(op, a as f64, b),
        (Value::Float(a), Value::Int(b)) => float(op, a, b as f64),
        (Value::Time(a), Value::Time(b)) if op == ArithmeticOp::Subtract => Value::Int((a - b).0),
        (Value::Time(a), Value::Int(b)) => match op {
            ArithmeticOp::Add => Value::Time(bayplan_model::Time(a.0.saturating_add(b)).in_calendar()),
            ArithmeticOp::Subtract => Value::Time(bayplan_model::Time(a.0.saturating_sub(b)).in_calendar()),
            _ => Value::Absent,
        },
        (Value::Int(a), Value::Time(b)) if op == ArithmeticOp::Add => {
            Value::Time(bayplan_model::Time(b.0.saturating_add(a)).in_calendar())
        }
        (Value::Resources(a), Value::Resources(b)) => {
            let mut result = Resource::clone(&a);
            match op {
                ArithmeticOp::Add => result.add(&b),
                _ => result.sub(&b),
            }
            Value::resources(result)
        }
        (Value::String(a), Value::String(b)) if op == ArithmeticOp::Add => {
            Value::text(format!("{}{}", a.as_str(), b.as_str()))
        }
        (Value::Blob(a), Value::Blob(b)) if op == ArithmeticOp::Add => {
            Value::Blob(a.iter().chain(b.iter()).copied().collect())
        }
        (a, b) if op == ArithmeticOp::Add => match (a.elements(), b.elements()) {
            (Some(left), Some(right)) => Value::List(left.iter().chain(right.iter()).cloned().collect()),
            _ => Value::Absent,
        },
        _ => Value::Absent,
    }
}

/// Units that stay whole numbers in arithmetic with a float; a count does not.
pub(crate) fn is_amount(ty: &Type) -> bool {
    matches!(ty.present(), Type::Cpu | Type::Bytes | Type::Duration | Type::Amount(_))
}

fn whole<'a>(op: ArithmeticOp, left: &Type, right: &Type, a: i64, b: i64) -> Value<'a> {
    match op {
        ArithmeticOp::Add => Value::Int(a.saturating_add(b)),
        ArithmeticOp::Subtract => Value::Int(a.saturating_sub(b)),
        ArithmeticOp::Multiply => Value::Int(a.saturating_mul(b)),
        ArithmeticOp::Divide if left.is_unit() && right.is_unit() => {
            Value::optional(arithmetic::ratio(a, b).map(Value::Float))
        }
        ArithmeticOp::Divide => Value::optional(arithmetic::div(a, b).map(Value::Int)),
        ArithmeticOp::Remainder => Value::optional(arithmetic::rem(a, b).map(Value::Int)),
    }
}

fn float<'a>(op: ArithmeticOp, a: f64, b: f64) -> Value<'a> {
    match op {
        ArithmeticOp::Add => Value::Float(arithmetic::finite(a + b)),
        ArithmeticOp::Subtract => Value::Float(arithmetic::finite(a - b)),
        ArithmeticOp::Multiply => Value::Float(arithmetic::finite(a * b)),
        ArithmeticOp::Divide => Value::optional(arithmetic::div_float(a, b).map(Value::Float)),
        ArithmeticOp::Remainder => Value::Absent,
    }
}

/// The sum of values of type `ty`, from left to right.
pub fn sum<'a>(values: impl Iterator<Item = Value<'a>>, ty: &Type) -> Value<'a> {
    match ty.present() {
        Type::Float => Value::Float(
            values
                .filter_map(|value| value.as_float())
                .fold(0.0, |sum, value| arithmetic::finite(sum + value)),
        ),
        Type::Uint => Value::Uint(values.fold(0, |sum, value| match value {
            Value::Uint(value) => sum.saturating_add(value),
            _ => sum,
        })),
        Type::Resources => {
            let mut sum = Resource::default();
            for value in values {
                if let Value::Resources(resources) = value {
                    sum.add(&resources);
                }
            }
            Value::resources(sum)
        }
        _ => Value::Int(
            values.filter_map(|value| value.as_int()).fold(0, |sum, value| sum.saturating_add(value)),
        ),
    }
}

/// The first smallest (`Less`) or largest (`Greater`) value; absent without values.
pub(crate) fn extreme<'a>(values: impl Iterator<Item = Value<'a>>, which: Ordering) -> Value<'a> {
    let mut best: Option<Ordered<'a>> = None;
    for value in values {
        if best.as_ref().is_none_or(|best| value.order(&best.0) == which) {
            best = Some(Ordered(value));
        }
    }
    Value::optional(best.map(|best| best.0))
}

/// `free`: allocatable less requested, never below 0, for what is allocatable.
pub fn less(allocatable: &Resource, requested: &Resource) -> Resource {
    let mut free = allocatable.clone();
    free.sub(requested);
    free.scalars.retain(|(name, _)| named_resources(allocatable).iter().any(|(other, _)| other == name));
    free.max(&Resource::default());
    for (_, amount) in &mut free.scalars {
        *amount = (*amount).max(0);
    }
    free
}

/// Amounts as a value.
pub(crate) fn owned_resources<'a>(resources: Resource) -> Value<'a> {
    Value::Resources(Resources::Shared(Arc::new(resources)))
}
