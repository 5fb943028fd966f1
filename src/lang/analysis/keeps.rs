//! Derives what must be kept of objects for a policy beside their slim fields: annotations by
//! constant keys, and paths below `spec`, `status` and `metadata`. A value that is used as a whole is
//! kept whole; of a value whose fields are used, only these.

use super::memory;
use crate::eval::budget::Counter;
use crate::eval::constant::{Known, Tables, constant};
use crate::language::fields::{Access, Meaning, ObjectType};
use crate::language::macros::MacroKind;
use crate::syntax::ast::Text;
use crate::typed::reads::Keeps;
use crate::typed::{Expr, ExprKind, LookUpBy, Macro, Policy, SlotId, walk};
use crate::types::Type;
use crate::types::value::Value;
use bayplan_diag::{Diagnostic, Span, codes};
use bayplan_model::objects::projection::{AnnotationKeys, Fields, Projection};
use bayplan_model::{KindName, gpus};
use rustc_hash::FxHashMap;

/// What computing the keys of a policy may take.
const KEY_EFFORT: u64 = 1 << 20;

/// Fills in what a policy keeps, and reports keys of annotations that keep all of them.
pub fn derive(policy: &mut Policy, diagnostics: &mut Vec<Diagnostic>) {
    let mut walk = Walk {
        policy,
        keeps: Keeps::default(),
        slots: FxHashMap::default(),
        dynamic: Vec::new(),
        effort: Counter::new(KEY_EFFORT),
        known: Known::default(),
    };
    for of in &policy.lets {
        match walk.place(&of.value) {
            // References to the let tell what of the value is used.
            Some(place) => {
                walk.around(&of.value);
                if of.missing.is_some() {
                    walk.keep(&place);
                }
            }
            None => walk.expr(&of.value),
        }
    }
    let of_let = |expr: &Expr| policy.lets.iter().any(|of| std::ptr::eq(&of.value, expr));
    policy.for_each_expr(&mut |expr| {
        if !of_let(expr) {
            walk.expr(expr);
        }
    });
    let Walk { keeps, mut dynamic, .. } = walk;
    dynamic.sort_by(|(a, x), (b, y)| (a.source, a.start, a.end, x).cmp(&(b.source, b.start, b.end, y)));
    dynamic.dedup();
    for (span, of) in dynamic {
        let message = format!("all annotations of every {of} are kept in memory", of = of.name());
        let mut said = Diagnostic::new(&codes::ALL_ANNOTATIONS, span, message)
            .with_help("write the key as a constant; then only annotations under that key are kept");
        if of == Whose::Object(ObjectType::Pod) {
            let estimate = memory::mib_per_100_000_pods(&keeps.pods);
            said =
                said.with_label(format!("about {estimate} MiB per 100,000 pods, and more with long values"));
        }
        diagnostics.push(said);
    }
    policy.keeps = keeps;
}

/// A value below `spec`, `status` or `metadata`: of which object, and the names of the fields.
type Place = (Whose, Vec<Text>);

/// The objects of which something is kept.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Whose {
    Object(ObjectType),
    LookedUp(KindName),
}

impl Whose {
    /// The objects of a type; `None` for values that are none.
    fn of(ty: &Type) -> Option<Self> {
        match ty.present() {
            Type::Object(of) => Some(Self::Object(*of)),
            Type::Kind(kind) => Some(Self::LookedUp(kind.name.clone())),
            _ => None,
        }
    }

    fn kept(self, keeps: &mut Keeps) -> Option<&mut Projection> {
        match self {
            Self::Object(of) => keeps.of_mut(of),
            Self::LookedUp(kind) => Some(keeps.objects.entry(kind).or_default()),
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::Object(of) => of.name(),
            Self::LookedUp(kind) => kind.kind(),
        }
    }
}

struct Walk<'p> {
    policy: &'p Policy,
    keeps: Keeps,
    /// The places of which slots hold elements.
    slots: FxHashMap<SlotId, Place>,
    /// Where annotations are read under a key that is not constant, and of which object.
    dynamic: Vec<(Span, Whose)>,
    /// What computing keys may take; later ones then keep all annotations.
    effort: Counter,
    known: Known,
}

impl<'p> Walk<'p> {
    /// The place of a value, if it has one.
    fn place(&self, expr: &Expr) -> Option<Place> {
        match &expr.kind {
            ExprKind::ApiField(object, name) => {
                let (of, mut path) = match Whose::of(&object.ty) {
                    Some(of) => (of, Vec::new()),
                    None => self.place(object)?,
                };
                path.push(Text::from(name.as_ref()));
                Some((of, path))
            }
            ExprKind::Index(list, _) if is_list(list) => self.place(list),
            ExprKind::Present(inner) | ExprKind::Widen(inner) => self.place(inner),
            ExprKind::Slot(slot) => self.slots.get(slot).cloned(),
            ExprKind::Let(id) => self.place(&self.policy[*id].value),
            ExprKind::Macro(of) if keeps_elements(of) => self.place(&of.over),
            _ => None,
        }
    }

    /// Keeps a place with all that is below it.
    fn keep(&mut self, place: &Place) {
        self.keep_with(place, Fields::add);
    }

    fn keep_with(&mut self, (of, path): &Place, add: fn(&mut Fields, &[&str])) {
        if let Some(projection) = of.clone().kept(&mut self.keeps) {
            let names: Vec<&str> = path.iter().map(|name| &**name).collect();
            add(&mut projection.fields, &names);
        }
    }

    /// An expression whose whole value is used.
    fn expr(&mut self, expr: &'p Expr) {
        if let Some(place) = self.place(expr) {
            self.keep(&place);
            self.around(expr);
            return;
        }
        match &expr.kind {
            ExprKind::Index(object, key) => match annotations(object) {
                Some((owner, of)) => {
                    self.annotation(of, key, expr.span);
                    self.expr(owner);
                    self.expr(key);
                }
                None => walk::each_part(expr, &mut |part| self.expr(part)),
            },
            ExprKind::Field(object, field) => {
                if let Some((_, of)) = annotations(expr) {
                    self.every_annotation(of, expr.span);
                } else if field.def().access == Access::Json {
                    let path = field.def().source.split('.').map(Text::from).collect();
                    let of = Whose::of(&object.ty).unwrap_or(Whose::Object(field.def().owner));
                    self.keep(&(of, path));
                } else if matches!(field.def().objects(), Some(ObjectType::Gpu | ObjectType::GpuRequest)) {
                    gpus::ANNOTATIONS.iter().for_each(|key| self.keeps.pods.annotations.add(key));
                }
                self.expr(object);
            }
            ExprKind::Has(inner) => match self.place(inner) {
                Some(place) => {
                    self.keep_with(&place, Fields::add_shell);
                    self.around(inner);
                }
                None => self.expr(inner),
            },
            ExprKind::Macro(of) => self.macro_parts(of),
            ExprKind::LookUp(which, args) => {
                let kind = self.policy[which.kind].name.clone();
                self.keeps.objects.entry(kind).or_default();
                // The owner of a pod is known anyway.
                if which.by == LookUpBy::Owner
                    && let Some(of @ Whose::LookedUp(_)) = args.first().and_then(|of| Whose::of(&of.ty))
                {
                    self.keep(&(of, vec![Text::from("metadata"), Text::from("ownerReferences")]));
                }
                walk::each_part(expr, &mut |part| self.expr(part));
            }
            _ => walk::each_part(expr, &mut |part| self.expr(part)),
        }
    }

    /// The parts of an expression with a place that are not the place itself: keys, conditions, the
    /// object at its root.
    fn around(&mut self, expr: &'p Expr) {
        match &expr.kind {
            ExprKind::ApiField(object, _) if Whose::of(&object.ty).is_some() => {
                self.expr(object);
            }
            ExprKind::ApiField(inner, _) | ExprKind::Present(inner) | ExprKind::Widen(inner) => {
                self.around(inner);
            }
            ExprKind::Index(list, at) => {
                self.around(list);
                self.expr(at);
            }
            ExprKind::Macro(of) => self.macro_parts(of),
            _ => {}
        }
    }

    fn macro_parts(&mut self, of: &'p Macro) {
        match self.place(&of.over).filter(|_| is_list(&of.over)) {
            Some(place) => {
                self.keep_with(&place, Fields::add_shell);
                self.slots.insert(of.second.unwrap_or(of.slot), place);
                self.around(&of.over);
            }
            None => self.expr(&of.over),
        }
        of.condition.iter().chain(&of.body).for_each(|part| self.expr(part));
    }

    /// Annotations of an object under a key.
    fn annotation(&mut self, of: Whose, key: &Expr, span: Span) {
        let Policy { params, lets, defs, .. } = self.policy;
        let of_param = walk::any(self.policy, key, &mut |part| matches!(part.kind, ExprKind::Param(_)));
        match constant(key, Tables { params, lets, defs, effort: &self.effort, known: &self.known }) {
            Some(Value::String(text)) if !of_param => {
                if let Some(projection) = of.kept(&mut self.keeps) {
                    projection.annotations.add(text.as_str());
                }
            }
            _ => self.every_annotation(of, span),
        }
    }

    fn every_annotation(&mut self, of: Whose, span: Span) {
        if let Some(projection) = of.clone().kept(&mut self.keeps) {
            projection.annotations = AnnotationKeys::All;
            self.dynamic.push((span, of));
        }
    }
}

/// The object of `object.annotations` and its type.
fn annotations(expr: &Expr) -> Option<(&Expr, Whose)> {
    match &expr.kind {
        ExprKind::Field(owner, field) if field.def().meaning == Some(Meaning::Annotations) => {
            Some((owner, Whose::of(&owner.ty).unwrap_or(Whose::Object(field.def().owner))))
        }
        ExprKind::Present(inner) | ExprKind::Widen(inner) => annotations(inner),
        _ => None,
    }
}

fn is_list(expr: &Expr) -> bool {
    matches!(expr.ty.present(), Type::List(_))
}

/// Whether the value of a macro is one of its elements, or some of them.
fn keeps_elements(of: &Macro) -> bool {
    is_list(&of.over) && of.body.is_none() && matches!(of.kind, MacroKind::Filter | MacroKind::First)
        || of.kind == MacroKind::SortBy && is_list(&of.over)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::fields::FIELDS;
    use bayplan_diag::SourceMap;

    /// What a policy with one filter keeps of pods and nodes: paths, and keys of annotations; `*` for
    /// all.
    fn kept(body: &str) -> [Vec<String>; 2] {
        let mut sources = SourceMap::new();
        let id = sources.add("keeps.bay", format!("/// A.\npolicy a {{ {body} }}"));
        let (policies, said) = crate::compile(sources.get(id).unwrap());
        let wrong: Vec<_> = said.iter().filter(|it| it.is_error()).map(|it| it.message.clone()).collect();
        assert!(wrong.is_empty(), "{body}: {wrong:?}");
        let keeps = &policies[0].keeps;
        [&keeps.pods, &keeps.nodes].map(|projection| {
            let mut all = projection.fields.paths();
            match &projection.annotations {
                AnnotationKeys::All => all.push("*".into()),
                AnnotationKeys::Only(keys) => all.extend(keys.iter().map(|key| format!("@{key}"))),
            }
            all
        })
    }

    fn of_pods(condition: &str) -> Vec<String> {
        let [pods, nodes] = kept(&format!("filter f {{ reject \"no\" when {condition} }}"));
        assert_eq!(nodes, [""; 0], "{condition}");
        pods
    }

    #[test]
    fn paths_are_kept_as_far_as_they_are_used() {
        let cases: &[(&str, &[&str])] = &[
            ("pod.priority > 3", &[]),
            ("pod.spec.hostname == \"a\"", &["spec.hostname"]),
            ("has(pod.spec.affinity)", &["spec.affinity"]),
            ("pod.spec.containers[0].image == \"a\"", &["spec.containers.image"]),
            (
                "pod.spec.containers.exists(c, c.image == \"a\" && c.name != \"b\")",
                &["spec.containers.image", "spec.containers.name"],
            ),
            (
                "pod.spec.containers.filter(c, c.name != \"b\").exists(c, c.image == \"x\")",
                &["spec.containers.image", "spec.containers.name"],
            ),
            ("pod.spec.containers.size() > 2", &["spec.containers"]),
            ("pod.spec.containers.count(c, true) > 2", &["spec.containers"]),
            ("pod.spec.nodeSelector[\"a\"] == \"b\"", &["spec.nodeSelector"]),
            ("has(pod.status.podIPs) && pod.status.podIPs.map(x, x.ip).size() > 1", &["status.podIPs.ip"]),
            ("pod.annotations[\"a\"] == \"b\"", &["@a"]),
            ("has(pod.annotations[\"a\" + \"b\"])", &["@ab"]),
            ("pod.annotations[pod.name] == \"b\"", &["*"]),
            ("pod.annotations.exists(k, k == \"b\")", &["*"]),
            ("pod.annotations.size() > 3", &["*"]),
            ("pod.service_account == \"a\"", &["spec.serviceAccountName"]),
            ("has(pod.service_account)", &["spec.serviceAccountName"]),
            ("pod.tolerations.exists(t, t.key == \"a\")", &[]),
            ("pod.owner.kind == \"Job\" && pod.node_selector[\"a\"] == \"b\" && pod.age > 5min", &[]),
            ("\"a\" in pod.annotations", &["*"]),
        ];
        for (condition, expected) in cases {
            assert_eq!(of_pods(condition), *expected, "{condition}");
        }
    }

    #[test]
    fn values_are_followed_through_lets_defs_and_slots() {
        let body = "let spec = pod.spec\n let c = spec.containers[0]\n filter f { reject \"no\" when c.image == \"a\" }";
        assert_eq!(kept(body)[0], ["spec.containers.image"]);
        let body = "def image(s: pod) = s.spec.containers[0].image\n filter f { reject \"no\" when image(pod) == \"a\" }";
        assert_eq!(kept(body)[0], ["spec.containers.image"]);
        let body =
            "filter f { reject \"no\" when node.pods.exists(p, p.spec.hostname == node.spec.providerID) }";
        assert_eq!(kept(body), [vec!["spec.hostname".to_owned()], vec!["spec.providerID".to_owned()]]);
        let body =
            "let key = \"k\"\n filter f { reject \"on {node.annotations[key]}\" when pod.gpu.count > 0 }";
        let [pods, nodes] = kept(body);
        assert_eq!((pods.len(), nodes), (3, vec!["@k".to_owned()]), "{pods:?}");
    }

    #[test]
    fn a_key_that_a_profile_may_change_keeps_all() {
        let body = "param key = \"k\"\n filter f { reject \"no\" when has(pod.annotations[key]) }";
        assert_eq!(kept(body)[0], ["*"]);
    }

    #[test]
    fn every_field_that_comes_from_annotations_is_known() {
        for row in FIELDS.iter().filter(|row| row.source.contains("annotations")) {
            let known = matches!(row.name, "annotations" | "gpu" | "gpus");
            let part = matches!(row.owner, ObjectType::Gpu | ObjectType::GpuRequest);
            assert!(known || part, "{}", row.name);
        }
    }
}
