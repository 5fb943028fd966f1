//! The steps of expressions, as the closures of `lower` take them: what is computed once per pod, once per node, and
//! where it stands; and as the reference evaluator takes them, which computes everything where it stands.

use super::calls;
use super::extent::{ENTRIES_PER_STEP, Extent};
use super::steps::{Each, Parts, Share, ShareId, Steps};
use super::{LEAST_KEPT, Large, MOST_KEPT_EACH, Size, TooLarge};
use crate::diag::Span;
use crate::lang::analysis::index::{answer_keys, can_be_indexed, equalities, is_looked_up};
use crate::lang::analysis::shape;
use crate::lang::analysis::stage::{depends, is_path, is_register};
use crate::lang::language::fields::{ANNOTATION_SIZE, ObjectType, field};
use crate::lang::language::functions::Grows;
use crate::lang::language::limits::{MOST_BYTES, MOST_ELEMENTS};
use crate::lang::typed::{
    ArithmeticOp, DefId, Expr, ExprKind, GroupId, LetId, Macro, MacroKind, Policy, Root, SlotId,
};
use crate::lang::types::Type;
use rustc_hash::FxHashMap;

/// How expressions are evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// By closures, asked of every node: what belongs to the pod is computed once, elements are looked up by value.
    PerNode,
    /// By closures, asked once for a pod.
    PerPod,
    /// By the reference evaluator, one for each node.
    Reference,
}

/// A part of a rule, with what it takes.
#[derive(Clone, Debug)]
pub struct Part {
    /// Where it stands.
    pub span: Span,
    /// Its steps.
    pub steps: Steps,
    /// It walks over texts, and not over elements.
    pub of_texts: bool,
}

/// Steps, and the part that takes most of them.
#[derive(Clone, Debug, Default)]
pub struct Cost {
    /// All of them.
    pub steps: Steps,
    /// The most expensive macro, list or function in it.
    pub heaviest: Option<Part>,
}

impl Cost {
    pub(super) fn plain(number: u128) -> Self {
        Self { steps: Steps::new(number), heaviest: None }
    }

    pub(super) fn add(&mut self, other: Cost, size: Size, shares: &[Share]) {
        self.steps.add(&other.steps);
        let weight = |of: &Option<Part>| of.as_ref().map_or(0, |part| part.steps.at(size, shares));
        if weight(&other.heaviest) > weight(&self.heaviest) {
            self.heaviest = other.heaviest;
        }
    }

    pub(super) fn for_each(&self, times: &Steps, each: Each, parts: Parts<'_>, shares: &[Share]) -> Cost {
        let heaviest = self.heaviest.as_ref();
        Cost {
            steps: self.steps.for_each(times, each, parts, shares),
            heaviest: heaviest
                .map(|part| Part { steps: part.steps.for_each(times, each, parts, shares), ..part.clone() }),
        }
    }
}

/// One walk over the expressions of a rule.
pub struct Walk<'p> {
    pub(super) policy: &'p Policy,
    pub(super) size: Size,
    manner: Manner,
    pub(super) shares: Vec<Share>,
    /// How large the values of variables are.
    slots: FxHashMap<SlotId, Extent>,
    /// Lets that were paid for, with the size of their values.
    lets: Vec<Option<Extent>>,
    /// Defs for arguments of these sizes.
    defs: FxHashMap<DefId, Vec<(Vec<Extent>, Cost, Extent)>>,
    /// Computed once per pod.
    pub(super) once: Cost,
    /// Computed once per node, wherever it stands.
    pub(super) per_node: Cost,
    /// Inside of what is computed once per pod.
    of_pod: bool,
    /// Inside of what is computed once for each value that the node has.
    remembering: bool,
    /// The part of the pods that is on the node.
    pods_of_node: Option<ShareId>,
    /// Texts and lists beyond their limits.
    pub(super) too_large: Vec<TooLarge>,
}

impl<'p> Walk<'p> {
    /// A walk over a policy's expressions.
    pub fn new(policy: &'p Policy, size: Size, manner: Manner) -> Self {
        Self {
            policy,
            size,
            manner,
            shares: Vec::new(),
            slots: FxHashMap::default(),
            lets: vec![None; policy.lets.len()],
            defs: FxHashMap::default(),
            once: Cost::default(),
            per_node: Cost::default(),
            of_pod: false,
            remembering: false,
            pods_of_node: None,
            too_large: Vec::new(),
        }
    }

    fn sum(&self, into: &mut Cost, other: Cost) {
        into.add(other, self.size, &self.shares);
    }

    fn pay_once(&mut self, cost: Cost) {
        self.once.add(cost, self.size, &self.shares);
    }

    fn pay_per_node(&mut self, cost: Cost) {
        self.per_node.add(cost, self.size, &self.shares);
    }

    fn share(&mut self, total: Steps, most: Steps, of: Each) -> ShareId {
        self.shares.push(Share { total, most, of });
        ShareId(self.shares.len() as u32 - 1)
    }

    /// The pods on one of the things of `of`.
    fn pods_on(&mut self, of: Each) -> Steps {
        let known = self.pods_of_node.filter(|_| of == Each::Node);
        let most = Steps::new(u128::from(pods_of_a_node()));
        let id = known.unwrap_or_else(|| self.share(Steps::pods(), most, of));
        if of == Each::Node {
            self.pods_of_node = Some(id);
        }
        Steps::share(id)
    }

    fn closures(&self) -> bool {
        self.manner != Manner::Reference
    }

    /// The steps of an expression where it stands, and how large its value can be. What is computed elsewhere is paid
    /// there.
    pub fn expr(&mut self, expr: &'p Expr) -> (Cost, Extent) {
        if self.manner == Manner::PerNode && !self.of_pod && is_register(self.policy, expr) {
            if let ExprKind::Let(id) = &expr.kind
                && let Some(known) = &self.lets[id.index()]
            {
                return (Cost::plain(1), known.clone());
            }
            self.of_pod = true;
            let (mut cost, extent) = self.inner(expr);
            self.of_pod = false;
            // Registers are kept beyond the call.
            self.sum(&mut cost, Cost { steps: extent.walk().plus_number(1), heaviest: None });
            self.pay_once(cost);
            return (Cost::plain(1), extent);
        }
        if self.manner == Manner::PerNode
            && !self.of_pod
            && !self.remembering
            && !self.policy.slots.is_empty()
            && let Some(keys) = answer_keys(self.policy, expr)
        {
            self.remembering = true;
            let (cost, extent) = self.inner(expr);
            self.remembering = false;
            // An answer for each value that nodes have; parts of one whole add up.
            let answers = extent.kept().for_each(&Steps::nodes(), Each::Node, Parts::AddUp, &self.shares);
            self.check_kept(expr, &answers);
            let mut asked = Cost::plain(2);
            for key in keys {
                let (key, _) = self.expr(key);
                self.sum(&mut asked, key);
            }
            self.pay_per_node(cost);
            return (asked, extent);
        }
        self.inner(expr)
    }

    fn parts(&mut self, parts: impl IntoIterator<Item = &'p Expr>) -> (Cost, Vec<Extent>) {
        let mut all = Cost::plain(1);
        let mut extents = Vec::new();
        for part in parts {
            let (cost, extent) = self.expr(part);
            self.sum(&mut all, cost);
            extents.push(extent);
        }
        (all, extents)
    }

    /// One part more, and something on top.
    fn one(&mut self, part: &'p Expr) -> (Cost, Extent) {
        let (mut cost, extent) = self.expr(part);
        cost.steps = cost.steps.plus_number(1);
        (cost, extent)
    }

    fn inner(&mut self, expr: &'p Expr) -> (Cost, Extent) {
        let policy = self.policy;
        match &expr.kind {
            ExprKind::Constant(constant) => (Cost::plain(1), Extent::of_constant(constant)),
            ExprKind::Param(id) => (Cost::plain(1), Extent::of_constant(&policy[*id].value)),
            ExprKind::Now => (Cost::plain(1), Extent::Plain),
            ExprKind::Slot(slot) => {
                let known = self.slots.get(slot).cloned();
                (Cost::plain(1), known.unwrap_or_else(|| Extent::of_type(&expr.ty)))
            }
            ExprKind::Root(root) => match root {
                Root::Pod | Root::Namespace | Root::Node => (Cost::plain(1), Extent::Plain),
                Root::Nodes => {
                    let mut extent = Extent::list(Steps::nodes(), Extent::Plain);
                    if let Extent::Many { nodes, .. } = &mut extent {
                        *nodes = true;
                    }
                    (self.collection(expr, Steps::nodes(), 1), extent)
                }
                // They are put in order.
                Root::Pods | Root::Nominated => {
                    (self.collection(expr, Steps::pods(), 2), Extent::list(Steps::pods(), Extent::Plain))
                }
            },
            ExprKind::Let(id) => self.let_value(*id),
            ExprKind::Group(id) => self.group(expr, *id),
            ExprKind::Field(object, field) => {
                let (mut cost, _) = self.one(object);
                let def = field.def();
                let extent = Extent::of_field(def);
                if def.owner == ObjectType::Node && matches!(def.name, "pods" | "gpus") {
                    let on = match &shape::resolve_alias(policy, object).kind {
                        ExprKind::Root(Root::Node) => self.pods_on(Each::Node),
                        ExprKind::Slot(slot) => self.pods_on(Each::Slot(slot.0)),
                        _ => Steps::new(u128::from(pods_of_a_node())),
                    };
                    cost.steps.add(&on);
                    if def.name == "pods" {
                        return (cost, Extent::list(on, Extent::Plain));
                    }
                    // Who has which GPU is found out pod by pod: what it asks for, its place, a look at each GPU.
                    cost.steps.add(&on.times(&Steps::new(3)));
                }
                match &expr.ty.present() {
                    Type::List(_) => cost.steps.add(&extent.count()),
                    Type::Resources => cost.steps.add(&Steps::new(8)),
                    _ => {}
                }
                (cost, extent)
            }
            ExprKind::ApiField(object, _) => {
                let (mut cost, _) = self.one(object);
                let extent = Extent::of_type(&expr.ty);
                if matches!(expr.ty.present(), Type::List(_) | Type::Map(..)) {
                    cost.steps.add(&extent.count());
                }
                (cost, extent)
            }
            ExprKind::RecordField(object, _) => {
                let (cost, extent) = self.one(object);
                let fits = matches!(extent, Extent::Many { .. })
                    == matches!(expr.ty.present(), Type::List(_) | Type::Map(..));
                (cost, if fits { extent } else { Extent::of_type(&expr.ty) })
            }
            ExprKind::Index(object, key) => {
                let (mut cost, of) = self.one(object);
                let (key, _) = self.expr(key);
                self.sum(&mut cost, key);
                if !matches!(object.ty.present(), Type::List(_)) {
                    cost.steps.add(&lookup(&of, self.size, &self.shares));
                }
                (cost, of.element().alone())
            }
            ExprKind::Resource(object, name) => {
                let (cost, _) = self.parts([&**object, &**name]);
                (cost, Extent::Plain)
            }
            ExprKind::Present(inner) | ExprKind::Widen(inner) => self.one(inner),
            ExprKind::Has(inner) => {
                let (cost, _) = self.one(inner);
                (cost, Extent::Plain)
            }
            ExprKind::Not(inner) | ExprKind::Negate(inner) => self.one(inner),
            ExprKind::And(left, right) | ExprKind::Or(left, right) => {
                (self.parts([&**left, &**right]).0, Extent::Plain)
            }
            ExprKind::Equal(left, right) | ExprKind::Compare(_, left, right) => {
                let (mut cost, extents) = self.parts([&**left, &**right]);
                // Values are compared to the end of the shorter one.
                if let [a, b] = &extents[..] {
                    let (a, b) = (a.walk(), b.walk());
                    let shorter =
                        if a.at(self.size, &self.shares) <= b.at(self.size, &self.shares) { a } else { b };
                    cost.steps.add(&shorter);
                }
                (cost, Extent::Plain)
            }
            ExprKind::In(element, list) => (self.is_in(expr, element, list), Extent::Plain),
            ExprKind::Arithmetic(op, left, right) => {
                let (mut cost, extents) = self.parts([&**left, &**right]);
                let [a, b] = &extents[..] else { return (cost, Extent::Plain) };
                if *op != ArithmeticOp::Add || matches!((a, b), (Extent::Plain, Extent::Plain)) {
                    cost.steps.add(&a.walk().plus(&b.walk()));
                    return (cost, a.or(b));
                }
                let extent = calls::joined(a, b);
                cost.steps.add(&extent.walk());
                if *expr.ty.present() != Type::Resources {
                    self.check_size(expr, &extent);
                }
                let cost = self.weighed(expr, cost);
                (cost, if *expr.ty.present() == Type::Resources { a.or(b) } else { extent })
            }
            ExprKind::Conditional(condition, then, otherwise) => {
                let (mut cost, _) = self.one(condition);
                let (a, then) = self.expr(then);
                let (b, otherwise) = self.expr(otherwise);
                let steps = cost.steps.clone().plus(&a.steps.or(&b.steps));
                self.sum(&mut cost, a);
                self.sum(&mut cost, b);
                cost.steps = steps;
                (cost, then.or(&otherwise))
            }
            ExprKind::Coalesce(left, right) => {
                let (cost, extents) = self.parts([&**left, &**right]);
                (cost, extents.iter().fold(Extent::Plain, |all, one| all.or(one)))
            }
            ExprKind::List(elements) => {
                let (cost, extents) = self.parts(elements.iter().map(|(element, _)| element));
                let kept = extents.iter().fold(Steps::default(), |all, one| all.plus(&one.kept()));
                self.check_kept(expr, &kept);
                let of = extents.iter().fold(Extent::Plain, |all, one| all.or(one));
                (cost, Extent::list(Steps::new(elements.len() as u128), of))
            }
            ExprKind::Map(entries) => {
                let (mut cost, keys) = self.parts(entries.iter().map(|(key, ..)| key));
                let (more, values) = self.parts(entries.iter().map(|(_, value, _)| value));
                self.sum(&mut cost, more);
                let join = |all: Vec<Extent>| all.iter().fold(Extent::Plain, |all, one| all.or(one));
                (cost, Extent::map(Steps::new(entries.len() as u128), join(keys), join(values)))
            }
            ExprKind::Record(values) => {
                let (cost, extents) = self.parts(values);
                (cost, extents.iter().fold(Extent::Plain, |all, one| all.or(one)))
            }
            ExprKind::Call(function, args, _) => {
                let (mut cost, extents) = self.parts(args);
                let (steps, extent) =
                    calls::call(policy, function.def(), args, &extents, &expr.ty, &|steps| {
                        steps.at(self.size, &self.shares)
                    });
                cost.steps.add(&steps);
                let extent = self.grown(expr, function.def().grows, args, &extents, extent);
                (self.weighed(expr, cost), extent)
            }
            ExprKind::CallDef(id, args) => self.def(*id, args),
            ExprKind::Macro(of) => self.macro_value(expr, of),
        }
    }

    /// How large the result of a call is; says it where it is too large.
    fn grown(&mut self, expr: &Expr, grows: Grows, args: &[Expr], of: &[Extent], extent: Extent) -> Extent {
        let extent = match grows {
            Grows::Joins | Grows::Replaces | Grows::Escapes | Grows::Formats => {
                let number = |steps: &Steps| steps.at(self.size, &self.shares);
                let bytes = calls::bytes_made(grows, calls::replaced(self.policy, args), of, &number);
                Extent::made(u64::try_from(bytes).unwrap_or(u64::MAX))
            }
            // Parts of a text of the cluster are part of the cluster.
            Grows::Parts if of.first().is_some_and(|text| text.bytes() <= u64::from(ANNOTATION_SIZE)) => {
                return extent;
            }
            Grows::Takes(at) => {
                let most =
                    args.get(at).and_then(|arg| arg.range.ends()).map(|(_, most)| most.max(0.0) as u64);
                return most.map_or(extent.clone(), |most| self.cut(extent, most));
            }
            Grows::Never | Grows::Counts => return extent,
            Grows::Adds | Grows::Parts | Grows::Flattens => extent,
        };
        self.check_size(expr, &extent);
        extent
    }

    /// A text of so many letters, or a list of so many elements, at most.
    fn cut(&self, extent: Extent, letters: u64) -> Extent {
        match extent {
            Extent::Text { most, share, made } => {
                let bytes = letters.saturating_mul(4);
                Extent::Text { most: most.min(bytes), share: share.min(bytes), made }
            }
            Extent::Many { count, of, key, nodes } => {
                let fewer = u128::from(letters) < count.at(self.size, &self.shares);
                let count = if fewer { Steps::new(u128::from(letters)) } else { count };
                Extent::Many { count, of, key, nodes }
            }
            Extent::Plain => Extent::Plain,
        }
    }

    /// Says it where a computed text or list is beyond its limit.
    fn check_size(&mut self, expr: &Expr, extent: &Extent) {
        let (number, limit, what) = match extent {
            Extent::Text { most, .. } => (u128::from(*most), MOST_BYTES, Large::Text),
            Extent::Many { count, .. } => (count.at(self.size, &self.shares), MOST_ELEMENTS, Large::List),
            Extent::Plain => return,
        };
        self.limit(expr, number, limit, what);
    }

    /// Says it where something keeps more texts and places than there is room for.
    fn check_kept(&mut self, expr: &Expr, kept: &Steps) {
        let each = u128::from(self.size.nodes) + u128::from(self.size.pods);
        let limit = LEAST_KEPT.max(MOST_KEPT_EACH * each);
        self.limit(expr, kept.at(self.size, &self.shares), limit, Large::Kept);
    }

    fn limit(&mut self, expr: &Expr, number: u128, limit: u128, what: Large) {
        if number > limit && !self.too_large.iter().any(|known| known.span == expr.span) {
            self.too_large.push(TooLarge { span: expr.span, number, limit, what });
        }
    }

    /// Makes an expression the heaviest part where it is heavier than its parts.
    fn weighed(&self, expr: &Expr, mut cost: Cost) -> Cost {
        let all = cost.steps.at(self.size, &self.shares);
        let heaviest = cost.heaviest.as_ref().map_or(0, |part| part.steps.at(self.size, &self.shares));
        // An inner part that takes more than half of it is what is to be changed.
        if heaviest <= all / 2 {
            let of_texts = matches!(&expr.kind, ExprKind::Call(_, args, _) if args.iter().all(|arg| arg.ty == Type::String));
            cost.heaviest = Some(Part { span: expr.span, steps: cost.steps.clone(), of_texts });
        }
        cost
    }

    fn collection(&self, expr: &Expr, count: Steps, each: u128) -> Cost {
        let steps = count.times(&Steps::new(each)).plus_number(1);
        self.weighed(expr, Cost { steps, heaviest: None })
    }

    fn let_value(&mut self, id: LetId) -> (Cost, Extent) {
        let policy = self.policy;
        let of = &policy[id];
        if self.closures() && is_path(&of.value) {
            // A path, which is walked wherever it is named.
            return self.one(&of.value);
        }
        if let Some(known) = &self.lets[id.index()] {
            return (Cost::plain(1), known.clone());
        }
        let (cost, extent) = self.one(&of.value);
        self.lets[id.index()] = Some(extent.clone());
        // Computed once for a node, however many elements ask for it.
        if self.of_pod {
            self.pay_once(cost)
        } else {
            self.pay_per_node(cost)
        }
        (Cost::plain(1), extent)
    }

    fn group(&mut self, expr: &'p Expr, id: GroupId) -> (Cost, Extent) {
        let policy = self.policy;
        let extent = Extent::list(Steps::pods(), Extent::Plain);
        let of = &policy[id];
        let mut each = Cost::plain(2);
        let mut asked = Cost::plain(1);
        for key in &of.keys {
            let (member, _) = self.expr(&key.member);
            let (pod, _) = self.expr(&key.pod);
            if !self.closures() {
                self.sum(&mut each, pod.clone());
            }
            if !self.closures() || !can_be_indexed(policy, id) {
                self.sum(&mut each, member);
            }
            self.sum(&mut asked, pod);
        }
        for condition in &of.rest {
            let (cost, _) = self.expr(condition);
            self.sum(&mut each, cost);
        }
        let mut cost = each.for_each(&Steps::pods(), Each::Slot(of.slot.0), Parts::Repeat, &self.shares);
        // Without the index all pods are put in order.
        cost.steps.add(&Steps::pods().times(&Steps::new(2)));
        self.sum(&mut cost, asked);
        (self.weighed(expr, cost), extent)
    }

    fn def(&mut self, id: DefId, args: &'p [Expr]) -> (Cost, Extent) {
        let policy = self.policy;
        let (mut cost, extents) = self.parts(args);
        let def = &policy[id];
        let known = self.defs.get(&id).and_then(|all| all.iter().find(|(of, ..)| *of == extents)).cloned();
        let (_, body, extent) = known.unwrap_or_else(|| {
            for (slot, extent) in def.parameters.iter().zip(&extents) {
                self.slots.insert(*slot, extent.clone());
            }
            let (body, extent) = self.expr(&def.body);
            let all = (extents, body, extent);
            self.defs.entry(id).or_default().push(all.clone());
            all
        });
        // Pods of a parameter's node are those of any node: they do not add up.
        let mut body = body;
        for slot in &def.parameters {
            body = body.for_each(&Steps::new(1), Each::Slot(slot.0), Parts::Repeat, &self.shares);
        }
        self.sum(&mut cost, body);
        let extent = self.settled(extent, &def.parameters);
        (cost, extent)
    }

    /// How large a value can be outside of what its size depends on.
    fn settled(&self, extent: Extent, slots: &[SlotId]) -> Extent {
        match extent {
            Extent::Many { mut count, of, key, nodes } => {
                for slot in slots {
                    count = count.for_each(&Steps::new(1), Each::Slot(slot.0), Parts::Repeat, &self.shares);
                }
                let of = std::sync::Arc::new(self.settled((*of).clone(), slots));
                Extent::Many { count, of, key, nodes }
            }
            other => other,
        }
    }

    fn is_in(&mut self, expr: &'p Expr, element: &'p Expr, list: &'p Expr) -> Cost {
        let (asked, x) = self.expr(element);
        let (mut made, of) = self.expr(list);
        let mut cost = Cost::plain(2);
        self.sum(&mut cost, asked);
        if !matches!(list.ty.present(), Type::List(_) | Type::Set(_)) {
            cost.steps.add(&lookup(&of, self.size, &self.shares));
            self.sum(&mut cost, made);
            return cost;
        }
        let walked = of.count().times(&of.element().walk().plus(&x.walk()).plus_number(2));
        if !self.closures() || !is_looked_up(self.policy, element, list) {
            cost.steps.add(&walked);
            self.sum(&mut cost, made);
            return self.weighed(expr, cost);
        }
        // The list is made and kept by value where it changes, and x is found in it.
        made.steps.add(&walked);
        let made = self.weighed(list, made);
        if depends(self.policy, list, &mut Vec::new()).node {
            self.pay_per_node(made)
        } else {
            self.pay_once(made)
        }
        cost.steps.add(&x.walk().plus_number(1));
        cost
    }

    fn macro_value(&mut self, expr: &'p Expr, of: &'p Macro) -> (Cost, Extent) {
        let found = if self.closures() { equalities(self.policy, of) } else { None };
        let (over, extent) = self.expr(&of.over);
        let total = match of.over.ty.present() {
            // What it holds, if anything.
            Type::CelOptional(_) => Steps::new(1),
            _ => extent.count(),
        };
        let distinct = matches!(extent, Extent::Many { nodes: true, .. });
        let is_map = matches!(of.over.ty.present(), Type::Map(..) | Type::Resources);
        let (first, second) = match (is_map, of.second) {
            (true, Some(_)) => (extent.key(), extent.element()),
            (true, None) => (extent.key(), Extent::Plain),
            (false, Some(_)) => (Extent::Plain, extent.element()),
            (false, None) if matches!(of.over.ty.present(), Type::CelOptional(_)) => {
                (extent.clone(), Extent::Plain)
            }
            (false, None) => (extent.element(), Extent::Plain),
        };
        self.slots.insert(of.slot, first.clone());
        if let Some(slot) = of.second {
            self.slots.insert(slot, second.clone());
        }
        let element = if of.second.is_some() && of.body.is_none() { second } else { first };
        let each = Each::Slot(of.slot.0);
        let mut cost = Cost::plain(2);
        let visited = match found {
            None => {
                self.sum(&mut cost, over);
                total.clone()
            }
            Some(found) => {
                // The elements are kept by value once; those with the wanted values are visited.
                let mut kept = Cost::plain(3);
                let mut unique = false;
                for (mine, other) in &found.pairs {
                    let (mine_cost, size) = self.expr(mine);
                    self.sum(&mut kept, mine_cost);
                    kept.steps.add(&size.walk());
                    self.check_kept(expr, &total.times(&size.kept()));
                    let (other, _) = self.expr(other);
                    self.sum(&mut cost, other);
                    unique |= distinct && is_name(self.policy, mine, of.slot);
                }
                let parts = if distinct { Parts::AddUp } else { Parts::Repeat };
                let mut table = kept.for_each(&total, each, parts, &self.shares);
                self.sum(&mut table, over);
                let table = self.weighed(expr, table);
                self.pay_once(table);
                match (unique, self.remembering) {
                    (true, _) => Steps::new(1),
                    (_, true) => {
                        let id = self.share(total.clone(), total.clone(), Each::Node);
                        Steps::share(id)
                    }
                    _ => total.clone(),
                }
            }
        };
        let mut each_cost = Cost::plain(2);
        if let Some(condition) = &of.condition {
            let (condition, _) = self.expr(condition);
            self.sum(&mut each_cost, condition);
        }
        let mut body_extent = element.clone();
        if let Some(body) = &of.body {
            let (body, extent) = self.expr(body);
            self.sum(&mut each_cost, body);
            body_extent = extent;
        }
        if matches!(of.kind, MacroKind::Sum | MacroKind::Min | MacroKind::Max | MacroKind::SortBy) {
            each_cost.steps.add(&body_extent.walk());
        }
        // The pods on nodes that are visited once add up, to those of this node's part where it is a part.
        let pods = if distinct && visited.has_part_of(Each::Node, &self.shares) {
            let id = self.share(Steps::pods(), Steps::pods(), Each::Node);
            Some(Steps::share(id))
        } else {
            None
        };
        let parts = match &pods {
            Some(pods) => Parts::AddUpTo(pods),
            None if distinct => Parts::AddUp,
            None => Parts::Repeat,
        };
        let all = each_cost.for_each(&visited, each, parts, &self.shares);
        self.sum(&mut cost, all);
        if of.kind == MacroKind::SortBy {
            cost.steps.add(&visited.times(&calls::sorting(visited.at(self.size, &self.shares))));
        }
        let own: Vec<SlotId> = std::iter::once(of.slot).chain(of.second).collect();
        let body_extent = self.settled(body_extent, &own);
        if of.kind == MacroKind::SortBy {
            self.check_kept(expr, &visited.times(&body_extent.kept()));
        }
        let result = match of.kind {
            MacroKind::All | MacroKind::Exists | MacroKind::ExistsOne | MacroKind::Count => Extent::Plain,
            MacroKind::Filter | MacroKind::SortBy => {
                let many = Extent::list(visited, element);
                match many {
                    Extent::Many { count, of: one, key, .. } => {
                        Extent::Many { count, of: one, key, nodes: distinct }
                    }
                    other => other,
                }
            }
            MacroKind::Map => Extent::list(visited, body_extent),
            MacroKind::TransformMap => Extent::map(visited, extent.key(), body_extent),
            MacroKind::Sum
            | MacroKind::Min
            | MacroKind::Max
            | MacroKind::First
            | MacroKind::OptMap
            | MacroKind::OptFlatMap => body_extent.alone(),
        };
        if matches!(of.kind, MacroKind::Map | MacroKind::TransformMap) {
            self.check_kept(expr, &result.kept());
        }
        (self.weighed(expr, cost), result)
    }
}

/// Most pods of one node.
fn pods_of_a_node() -> u32 {
    field(ObjectType::Node, "pods").map_or(0, |field| field.def().size)
}

/// The steps of finding an entry of a map.
fn lookup(map: &Extent, size: Size, shares: &[Share]) -> Steps {
    Steps::new(map.count().at(size, shares) / ENTRIES_PER_STEP)
}

/// The name or uid of a macro's element: no two nodes have the same.
fn is_name(policy: &Policy, expr: &Expr, slot: SlotId) -> bool {
    match &shape::resolve_alias(policy, expr).kind {
        ExprKind::Field(object, field) => {
            matches!(field.def().name, "name" | "uid")
                && is_name(policy, object, slot)
                && field.def().owner == ObjectType::Node
        }
        ExprKind::Slot(own) => *own == slot,
        _ => false,
    }
}
