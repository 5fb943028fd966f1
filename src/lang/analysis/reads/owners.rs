//! [`Owners`]: whose objects a value may hold, followed through lets, defs, records, maps, lists and
//! macros.

use super::walk::Walk;
use crate::language::fields::{FieldId, ObjectType};
use crate::typed::reads::ReadOf;
use crate::typed::{DefId, Expr, ExprKind, LetId, Macro, Root, SlotId};
use rustc_hash::FxHashMap;

/// A set of [`ReadOf`]: the owners of all objects that a value holds, at any depth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Owners(u16);

const ALL: [ReadOf; 10] = [
    ReadOf::Pod,
    ReadOf::Namespace,
    ReadOf::Node,
    ReadOf::NodePods,
    ReadOf::Nodes,
    ReadOf::Pods,
    ReadOf::Nominated,
    ReadOf::Group,
    ReadOf::Objects,
    ReadOf::Metrics,
];

impl Owners {
    const NONE: Self = Self(0);

    /// One owner.
    pub(super) fn of(of: ReadOf) -> Self {
        Self(1 << of as u16)
    }

    fn holds(self, of: ReadOf) -> bool {
        self.0 & Self::of(of).0 != 0
    }

    fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The owners whose objects are of a type, or have parts of it.
    fn of_type(of: ObjectType) -> Self {
        let of_node =
            matches!(of, ObjectType::Node | ObjectType::Taint | ObjectType::Gpu | ObjectType::Device);
        let of_namespace = of == ObjectType::Namespace;
        let of_object = of == ObjectType::LookedUp;
        let of_metrics = matches!(of, ObjectType::Load | ObjectType::CpuUsage | ObjectType::MemoryUsage);
        let has = |owner: &ReadOf| match owner {
            ReadOf::Namespace => of_namespace,
            ReadOf::Node | ReadOf::Nodes => of_node,
            ReadOf::Pod | ReadOf::NodePods | ReadOf::Pods | ReadOf::Nominated | ReadOf::Group => {
                !of_node && !of_namespace && !of_object && !of_metrics
            }
            ReadOf::Objects => of_object,
            ReadOf::Metrics => of_metrics,
        };
        ALL.iter().filter(|owner| has(owner)).fold(Self::NONE, |all, owner| all.or(Self::of(*owner)))
    }

    /// The owners of objects of a type among these; all there may be where none is known.
    pub(super) fn reached(self, of: ObjectType) -> impl Iterator<Item = ReadOf> {
        let fitting = Self::of_type(of);
        let known = Self(self.0 & fitting.0);
        let owners = if known == Self::NONE { fitting } else { known };
        ALL.into_iter().filter(move |owner| owners.holds(*owner))
    }

    /// The owners of the value of a field.
    fn field(self, field: FieldId) -> Self {
        let def = field.def();
        let moved = |of: ReadOf| match (of, def.objects()) {
            (ReadOf::Node, Some(ObjectType::Pod)) => ReadOf::NodePods,
            (_, Some(ObjectType::Pod)) => ReadOf::Pods,
            (_, Some(ObjectType::Node)) => ReadOf::Nodes,
            // Containers and taints belong to their object.
            _ => of,
        };
        self.reached(def.owner).fold(Self::NONE, |all, of| all.or(Self::of(moved(of))))
    }
}

/// What is known of names: owners of slots, and of values that were followed before.
#[derive(Default)]
pub(super) struct Followed {
    slots: FxHashMap<SlotId, Owners>,
    lets: FxHashMap<LetId, Owners>,
    defs: FxHashMap<(DefId, Vec<Owners>), Owners>,
}

impl Followed {
    /// The objects that a slot holds from here on.
    pub(super) fn bind(&mut self, slot: SlotId, owners: Owners) {
        self.slots.insert(slot, owners);
    }
}

impl Walk<'_> {
    /// Whose objects the value of an expression may hold.
    pub(super) fn owners(&mut self, expr: &Expr) -> Owners {
        let policy = self.policy;
        match &expr.kind {
            ExprKind::Root(Root::Pod) => Owners::of(ReadOf::Pod),
            ExprKind::Root(Root::Namespace) => Owners::of(ReadOf::Namespace),
            ExprKind::Root(Root::Node) => Owners::of(ReadOf::Node),
            ExprKind::Root(Root::Nodes) => Owners::of(ReadOf::Nodes),
            ExprKind::Root(Root::Pods) => Owners::of(ReadOf::Pods),
            ExprKind::Root(Root::Nominated) => Owners::of(ReadOf::Nominated),
            ExprKind::Group(_) => Owners::of(ReadOf::Group),
            ExprKind::LookUp(..) => Owners::of(ReadOf::Objects),
            ExprKind::Source(..) => Owners::of(ReadOf::Metrics),
            ExprKind::Slot(slot) => self.followed.slots.get(slot).copied().unwrap_or_default(),
            ExprKind::Let(id) => {
                if let Some(known) = self.followed.lets.get(id) {
                    return *known;
                }
                let owners = self.owners(&policy[*id].value);
                self.followed.lets.insert(*id, owners);
                owners
            }
            ExprKind::Field(object, field) => self.owners(object).field(*field),
            ExprKind::ApiField(inner, _)
            | ExprKind::RecordField(inner, _)
            | ExprKind::Index(inner, _)
            | ExprKind::Present(inner) => self.owners(inner),
            ExprKind::Coalesce(left, right)
            | ExprKind::Conditional(_, left, right)
            | ExprKind::Arithmetic(_, left, right) => self.owners(left).or(self.owners(right)),
            ExprKind::List(_)
            | ExprKind::Map(_)
            | ExprKind::Record(_)
            | ExprKind::Call(..)
            | ExprKind::Dynamic(..) => {
                let operands = expr.operands().into_iter();
                operands.fold(Owners::NONE, |all, operand| all.or(self.owners(operand.expr)))
            }
            ExprKind::CallDef(id, args) => {
                let of_args: Vec<Owners> = args.iter().map(|arg| self.owners(arg)).collect();
                let key = (*id, of_args);
                if let Some(known) = self.followed.defs.get(&key) {
                    return *known;
                }
                let def = &policy[*id];
                self.bind_all(&def.parameters, &key.1);
                let owners = self.owners(&def.body);
                self.followed.defs.insert(key, owners);
                owners
            }
            ExprKind::Macro(of) => {
                let over = self.bind_elements(of);
                let made = of.body.as_ref().map(|body| self.owners(body));
                over.or(made.unwrap_or_default())
            }
            // Amounts, texts and bools hold no object.
            _ => Owners::NONE,
        }
    }

    /// Binds the parameters of a def.
    pub(super) fn bind_all(&mut self, parameters: &[SlotId], args: &[Owners]) {
        parameters.iter().zip(args).for_each(|(slot, owners)| self.followed.bind(*slot, *owners));
    }

    /// Binds the variables of a macro; the owners of what it goes over.
    pub(super) fn bind_elements(&mut self, of: &Macro) -> Owners {
        let over = self.owners(&of.over);
        for slot in std::iter::once(of.slot).chain(of.second) {
            self.followed.bind(slot, over);
        }
        over
    }
}
