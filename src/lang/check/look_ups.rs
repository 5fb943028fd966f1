//! `lookup`, `objects` and `owner`: objects of any kind, and the fields of the kinds.

use super::Checker;
use super::fields::plain_range;
use crate::language::fields::kinds;
use crate::language::fields::{self, ObjectType, api};
use crate::language::statements::Names;
use crate::syntax::ast;
use crate::typed::{Expr, ExprKind, KindId, LookUp, LookUpBy};
use crate::types::range::Range;
use crate::types::{ObjectKind, Type};
use bayplan_diag::{Diagnostic, Span, codes};
use bayplan_model::KindName;
use std::sync::Arc;

/// Kinds that policies do not look up, and why.
const NOT_LOOKED_UP: [(&str, &str); 2] = [
    ("Secret", "policies do not read Secrets: what a rule shows in its reason is not secret"),
    ("Event", "Events come and go too often: read the field that they report on"),
];

impl Checker<'_> {
    /// `lookup(KIND, [NAMESPACE,] NAME)`, `objects(KIND)`
    pub(super) fn look_up(&mut self, by: LookUpBy, call: &ast::Call, span: Span) -> Expr {
        let all = by == LookUpBy::All;
        let form = if all { "objects(\"KIND\")" } else { "lookup(\"KIND\", NAMESPACE, NAME)" };
        let Some((kind, names)) = call.args.split_first() else {
            self.wrong_count(&call.function, form, 0);
            return self.unknown(span);
        };
        if let Some(label) = call.args.iter().find_map(|arg| arg.name.as_ref()) {
            let message = format!("this function has no parameter `{}`", label.text);
            let help = "write its arguments in their order, without names";
            self.mistake(&codes::WRONG_ARGUMENTS, label.span, message, help);
            return self.unknown(span);
        }
        let kind = self.kind_argument(&kind.value);
        let uses = if all { Names::OBJECTS } else { Names::LOOKUPS };
        let allowed = self.allow(uses, if all { "objects()" } else { "lookup()" }, span);
        let mut args = Vec::with_capacity(2);
        for arg in names {
            let value = self.expr(&arg.value, None);
            let value = self.value(value);
            args.push(self.fit(value, &Type::String, "the name of an object"));
        }
        let Some(kind) = kind else { return self.unknown(span) };
        let wanted = match (all, self.declared.kinds[kind.index()].namespaced) {
            (true, _) => 0..=0,
            (false, Some(true)) => 2..=2,
            (false, Some(false)) => 1..=1,
            (false, None) => 1..=2,
        };
        if !wanted.contains(&args.len()) {
            self.wrong_names(by, call, kind, args.len());
            return self.unknown(span);
        }
        if !allowed || args.iter().any(|arg| arg.ty.is_unknown()) {
            return self.unknown(span);
        }
        self.made_look_up(kind, by, args, span)
    }

    fn wrong_names(&mut self, by: LookUpBy, call: &ast::Call, kind: KindId, given: usize) {
        let of = self.declared.kinds[kind.index()].clone();
        let (name, function) = (&of.name, &*call.function.text);
        let (wants, form) = match (by, of.namespaced) {
            (LookUpBy::All, _) => ("the kind and nothing else", "objects(\"KIND\")".to_owned()),
            (_, Some(true)) => ("a namespace and a name", format!("lookup(\"{name}\", pod.namespace, NAME)")),
            _ => ("a name and no namespace", format!("lookup(\"{name}\", NAME)")),
        };
        let values = if given == 1 { "value" } else { "values" };
        let message = format!("`{function}` of `{name}` takes {wants}; this gives it {given} {values}");
        self.mistake(&codes::WRONG_ARGUMENTS, call.function.span, message, format!("write `{form}`"));
    }

    /// `x.owner(KIND)`
    pub(super) fn owner(&mut self, object: Expr, call: &ast::MethodCall, span: Span) -> Expr {
        let [ast::Arg { name: None, value }] = call.args.as_slice() else {
            let help = "write `x.owner(\"group/version/Kind\")`";
            let message = "`owner` takes the kind of the controller";
            self.mistake(&codes::WRONG_ARGUMENTS, call.method.span, message, help);
            return self.unknown(span);
        };
        let kind = self.kind_argument(value);
        if object.ty.is_unknown() {
            return object;
        }
        if !matches!(object.ty.present(), Type::Object(ObjectType::Pod) | Type::Kind(_)) {
            let message = format!("`{}` has no controller", object.ty.present());
            let help = "pods have one, and objects that are looked up";
            self.mistake(&codes::WRONG_ARGUMENTS, call.method.span, message, help);
            return self.unknown(span);
        }
        if !self.allow(Names::LOOKUPS, "owner()", span) {
            return self.unknown(span);
        }
        let Some(kind) = kind else { return self.unknown(span) };
        self.made_look_up(kind, LookUpBy::Owner, vec![object], span)
    }

    fn made_look_up(&mut self, kind: KindId, by: LookUpBy, args: Vec<Expr>, span: Span) -> Expr {
        let of = Type::Kind(self.declared.kinds[kind.index()].clone());
        let ty = if by == LookUpBy::All { of.list() } else { of.optional() };
        let expr = self.make(ExprKind::LookUp(LookUp { kind, by }, args), ty, span);
        self.narrowed(expr)
    }

    /// The kind that an argument names.
    fn kind_argument(&mut self, arg: &ast::Expr) -> Option<KindId> {
        let value = self.expr(arg, None);
        if value.ty.is_unknown() {
            return None;
        }
        let Some(text) = self.constant_str(&value) else {
            let help = "write it as a text, such as `\"PriorityClass\"` or `\"group/version/Kind\"`";
            self.mistake(&codes::NOT_CONSTANT, arg.span, "the kind of an object is a constant", help);
            return None;
        };
        self.kind_named(&text, arg.span)
    }

    /// The kind of a text, which joins the kinds of the policy.
    pub(super) fn kind_named(&mut self, text: &str, span: Span) -> Option<KindId> {
        let kind = self.found_kind(text, span)?;
        if let Some(known) = self.declared.kinds.iter().position(|known| known.name == kind.name) {
            return Some(KindId(known as u32));
        }
        self.declared.kinds.push(kind);
        Some(KindId(self.declared.kinds.len() as u32 - 1))
    }

    fn found_kind(&mut self, text: &str, span: Span) -> Option<Arc<ObjectKind>> {
        let bare = text.rsplit('/').next().unwrap_or_default();
        let core = !text.contains('/') || text.starts_with("v1/");
        if core && matches!(bare, "Pod" | "Node") {
            let (all, one) = if bare == "Pod" { ("pods", "p") } else { ("nodes", "n") };
            let message = format!("the kind `{bare}` is not looked up: `{all}` are all of them");
            let help = format!("`{all}.first({one}, {one}.name == …)` is the one of a name");
            self.mistake(&codes::UNKNOWN_KIND, span, message, help);
            return None;
        }
        let refused = NOT_LOOKED_UP.iter().find(|(kind, _)| core && *kind == bare);
        if let Some((_, why)) = refused {
            self.mistake(&codes::UNKNOWN_KIND, span, format!("the kind `{bare}` cannot be looked up"), *why);
            return None;
        }
        let Some(name) = KindName::parse(text) else {
            if let [one] = kinds::called(text).as_slice() {
                return Some(Arc::clone(one));
            }
            self.unknown_kind(text, span);
            return None;
        };
        let known = kinds::named(&name).or_else(|| self.schemas.get(&name)).cloned();
        let kind = known.unwrap_or_else(|| Arc::new(ObjectKind::unknown(name)));
        if kind.fields.is_none() && !self.declared.kinds.contains(&kind) {
            let message = format!("nothing says which fields `{}` has: they have no known type", kind.name);
            let said = Diagnostic::new(&codes::UNTYPED_KIND, span, message);
            self.report(
                said.with_help(
                    "give its CustomResourceDefinition: in a cluster file, or with `--schema FILE`",
                ),
            );
        }
        Some(kind)
    }

    fn unknown_kind(&mut self, text: &str, span: Span) {
        let message = format!("no kind of Kubernetes is called `{text}`");
        let full: Vec<String> = kinds::all()
            .map(|kind| &kind.name)
            .chain(self.schemas.names())
            .filter(|name| name.kind() == text)
            .map(|name| format!("`\"{name}\"`"))
            .collect();
        let bare: Vec<&str> = kinds::all().map(|kind| kind.name.kind()).collect();
        let help = match (full.as_slice(), self.nearest(text, bare)) {
            ([], Some(near)) => format!("did you mean `{near}`?"),
            ([], None) => "write a kind of your own as `\"group/version/Kind\"`".to_owned(),
            (full, _) => format!("write {}", full.join(" or ")),
        };
        self.mistake(&codes::UNKNOWN_KIND, span, message, help);
    }

    /// A field of an object that is looked up.
    pub(super) fn kind_field(
        &mut self,
        object: Expr,
        kind: &Arc<ObjectKind>,
        name: &ast::Name,
        span: Span,
    ) -> Expr {
        let optional = object.ty.is_optional();
        if let Some(field) = fields::field(ObjectType::LookedUp, &name.text) {
            let (ty, range) = plain_range(field.def());
            let ty = if optional { ty.optional() } else { ty };
            let expr = self.with_range(ExprKind::Field(Box::new(object), field), ty, range, span);
            return self.narrowed(expr);
        }
        if &*name.text == "metadata"
            && let Some(meta) = api::structure("ObjectMeta")
        {
            return self.api_field(object, name, Type::Api(meta), Range::None, span);
        }
        let Some(of) = &kind.fields else { return self.untyped_field(object, name, span) };
        match of.field(&name.text) {
            Some(field) => self.api_field(object, name, field.ty.clone(), field.range, span),
            None => {
                let known = of.fields().iter().map(|field| &*field.name);
                let short = fields::fields_of(ObjectType::LookedUp).map(|row| row.name);
                let known = known.chain(short).chain(["metadata"]);
                self.unknown_field(kind.name.kind(), name, known);
                self.unknown(span)
            }
        }
    }

    /// A field without a known type.
    pub(super) fn untyped_field(&mut self, object: Expr, name: &ast::Name, span: Span) -> Expr {
        let kind = ExprKind::ApiField(Box::new(object), name.text.clone());
        self.make(kind, Type::Dyn, span)
    }
}
