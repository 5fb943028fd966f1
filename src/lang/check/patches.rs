//! `patch X {…}`: the fields of an object, or of its status, that a policy wants by server-side apply.

use super::Checker;
use crate::language::fields::{ObjectType, api};
use crate::syntax::ast::{self, ExprKind, Literal, Text};
use crate::typed::{Acts, Does, Expr, Point, Policy, Target, WriteEntry, WriteForm};
use crate::types::Type;
use bayplan_diag::{Diagnostic, Span, codes};

/// Structures that no policy writes, wherever they are.
const NEVER_WRITTEN: [&str; 2] = ["PodSpec", "PodTemplateSpec"];

/// A map of a `patch`: where it is in the object, and what the object has there.
struct Within {
    names: Vec<Text>,
    ty: Type,
}

impl<'a> Checker<'a> {
    /// `patch X {…}`
    pub(super) fn patch(&mut self, of: &'a ast::Write) -> Option<Does> {
        let target = self.target(&of.object, of.verb.word());
        let ty = match &target {
            Some(Target::Pod) => Type::Object(ObjectType::Pod),
            Some(Target::Node) => Type::Object(ObjectType::Node),
            Some(Target::Object(_, kind)) => Type::Kind(kind.clone()),
            None => Type::Unknown,
        };
        let ExprKind::Map(entries) = &of.value.kind else {
            let help = format!("`patch {} {{\"status\": {{\"field\": …}}}}`", of.object.text);
            self.mistake(&codes::WRONG_WRITE, of.value.span, "this is not a map of fields", help);
            return None;
        };
        let mut fields = Vec::new();
        self.fields_of(&Within { names: Vec::new(), ty }, entries, of.value.span, &mut fields);
        if matches!(target, Some(Target::Pod)) {
            self.own_annotations(of.verb, &fields);
        }
        Some(Does::Write(target?, of.verb, fields))
    }

    /// Says that a block has no `patch`.
    pub(super) fn no_patch(&mut self, span: Span, message: &str) {
        self.mistake(&codes::WRONG_WRITE, span, message, "patch in `before bind` or `after bind`");
    }

    fn fields_of(
        &mut self,
        within: &Within,
        entries: &'a [ast::Entry],
        span: Span,
        out: &mut Vec<WriteEntry>,
    ) {
        if entries.is_empty() {
            let help = "write the fields that the policy wants";
            self.mistake(&codes::WRONG_WRITE, span, "an empty map sets nothing", help);
        }
        let mut seen: Vec<(Text, Span)> = Vec::new();
        for entry in entries {
            let key = self.expr(&entry.key, Some(&Type::String));
            let at = entry.key.span;
            let Some(name) = self.constant_str(&key) else {
                if !key.ty.is_unknown() {
                    let help = "write the name as a text: which fields a policy writes must be known when it is \
                                loaded";
                    self.mistake(
                        &codes::WRONG_WRITE,
                        at,
                        "the name of the field is not a constant text",
                        help,
                    );
                }
                continue;
            };
            if let Some((_, first)) = seen.iter().find(|(other, _)| *other == name) {
                let said = Diagnostic::new(&codes::WRONG_WRITE, at, format!("`{name}` is written twice"));
                self.report(said.with_place(*first, "the first one").with_help("remove one of them"));
                continue;
            }
            seen.push((name.clone(), at));
            if entry.optional {
                let help = "leave out the `?`: a field whose value is absent is left out anyway";
                self.mistake(&codes::WRONG_WRITE, at, "a field of `patch` has no `?`", help);
                continue;
            }
            let ty = self.member(within, &ast::Name { text: name.clone(), span: at });
            match &entry.value.kind {
                ExprKind::Map(inner) => {
                    let mut names = within.names.clone();
                    names.push(name);
                    if self.has_fields(&names, &ty, entry.value.span) {
                        self.fields_of(&Within { names, ty }, inner, entry.value.span, out);
                    }
                }
                _ => out.extend(self.field_value(within, name, &ty, entry)),
            }
        }
    }

    /// The type of a field that a policy may write; unknown after a mistake.
    fn member(&mut self, within: &Within, name: &ast::Name) -> Type {
        let path: Vec<&str> = within.names.iter().map(|name| &**name).collect();
        if let Some((message, help)) = never_written(&within.ty, &path, &name.text) {
            self.mistake(&codes::WRONG_WRITE, name.span, message, help);
            return Type::Unknown;
        }
        if let ["metadata"] = path[..] {
            return Type::Map(Type::String.into(), Type::String.into());
        }
        if let ["metadata", _] = path[..] {
            if !within.ty.is_unknown() {
                self.own_key(&name.text, name.span);
            }
            return Type::String;
        }
        if path.is_empty() && &*name.text == "metadata" {
            return api::structure("ObjectMeta").map_or(Type::Unknown, Type::Api);
        }
        let (found, what, known): (Option<Type>, String, Vec<&str>) = match within.ty.present() {
            Type::Object(owner) => (
                api::root(*owner, &name.text).map(|(ty, _)| ty),
                owner.name().to_owned(),
                api::roots(*owner).collect(),
            ),
            Type::Api(of) => (
                api::field(*of, &name.text).map(|(ty, _)| ty),
                of.name.to_owned(),
                api::fields(*of).iter().map(|field| field.name).collect(),
            ),
            Type::Kind(kind) => match &kind.fields {
                Some(of) => (
                    of.field(&name.text).map(|field| field.ty.clone()),
                    kind.name.kind().to_owned(),
                    of.fields().iter().map(|field| &*field.name).collect(),
                ),
                None => return Type::Dyn,
            },
            Type::Structure(of) => match of.field(&name.text) {
                None if of.open => return Type::Dyn,
                found => (
                    found.map(|field| field.ty.clone()),
                    of.name.to_string(),
                    of.fields().iter().map(|field| &*field.name).collect(),
                ),
            },
            Type::Map(_, value) => return (**value).clone(),
            Type::Dyn => return Type::Dyn,
            _ => return Type::Unknown,
        };
        let Some(ty) = found else {
            self.unknown_field(&what, name, known.into_iter());
            return Type::Unknown;
        };
        if let Type::Api(of) = ty.present()
            && NEVER_WRITTEN.contains(&of.name)
        {
            let help = "who may write policies must not decide what pods run";
            let message = format!("policies do not write `{}`: it is the spec of pods", name.text);
            self.mistake(&codes::WRONG_WRITE, name.span, message, help);
            return Type::Unknown;
        }
        ty
    }

    /// Whether there may be a map at this place. Says it if not.
    fn has_fields(&mut self, names: &[Text], ty: &Type, span: Span) -> bool {
        let has = matches!(
            ty.present(),
            Type::Unknown
                | Type::Dyn
                | Type::Object(_)
                | Type::Api(_)
                | Type::Kind(_)
                | Type::Structure(_)
                | Type::Map(..)
        );
        if !has {
            let message = format!("`{}` is `{}`, this is a map", names.join("."), ty.present());
            self.mistake(&codes::TYPE_MISMATCH, span, message, "");
        }
        has
    }

    /// A field that is not a map.
    fn field_value(
        &mut self,
        within: &Within,
        key: Text,
        ty: &Type,
        entry: &'a ast::Entry,
    ) -> Option<WriteEntry> {
        let span = entry.value.span;
        if matches!(entry.value.kind, ExprKind::Literal(Literal::None | Literal::Null)) {
            let help = "leave the field out: what the policy set before, and leaves out now, is removed";
            self.mistake(&codes::WRONG_WRITE, span, "`patch` has no value that removes a field", help);
            return None;
        }
        let wanted = Some(ty.present()).filter(|ty| !matches!(ty, Type::Dyn | Type::Unknown));
        let wanted = wanted.map(|ty| ty.clone().optional());
        let value = self.expr(&entry.value, wanted.as_ref());
        if value.ty.is_unknown() {
            return None;
        }
        let entry = WriteEntry {
            within: within.names.clone().into(),
            key,
            form: WriteForm::Plain,
            removes: false,
            span: entry.key.span,
            value,
        };
        match form(entry.value.ty.present(), ty.present()) {
            Some(form) => Some(WriteEntry { form, ..entry }),
            None => {
                self.wrong_value(&entry, ty.present());
                None
            }
        }
    }

    fn wrong_value(&mut self, entry: &WriteEntry, ty: &Type) {
        let Expr { ty: value, span, .. } = &entry.value;
        let text = self.excerpt(*span);
        let help = match (ty, value.present()) {
            (Type::String, Type::Int | Type::Bool | Type::Float) => format!("`string({text})`"),
            (Type::List(_), _) if form(ty, ty).is_none() => {
                "`patch` writes no lists of maps: with them it would take their other elements away"
                    .to_owned()
            }
            (Type::Dyn, _) => "values are texts, numbers, bools, amounts, times, and lists of these; \
                               fields below are written as a map `{…}`"
                .to_owned(),
            _ => String::new(),
        };
        let message = match ty {
            Type::Dyn => format!("`{}` cannot be a `{}`", entry.path(), value.present()),
            ty => format!("`{}` is `{ty}`, this is `{}`", entry.path(), value.present()),
        };
        self.mistake(&codes::TYPE_MISMATCH, *span, message, help);
    }

    /// Patches of one object before and after the binding: the later one would take away what the earlier one set.
    pub(super) fn patched_at_two_points(&mut self, policy: &Policy) {
        let mut before: Vec<(String, bool, Span)> = Vec::new();
        for acts in policy.acts().filter(|acts| acts.point == Point::PreBind) {
            before.extend(patches(acts));
        }
        let mut found = Vec::new();
        for acts in policy.acts().filter(|acts| acts.point == Point::PostBind) {
            for (target, status, span) in patches(acts) {
                let first = before.iter().find(|(other, of, _)| (other, *of) == (&target, status));
                found.extend(first.map(|(_, _, first)| (target, span, *first)));
            }
        }
        for (target, span, first) in found {
            let message = format!("this takes away what `before bind` sets of {target}");
            let said = Diagnostic::new(&codes::WRONG_WRITE, span, message).with_place(first, "this");
            self.report(
                said.with_help("a patch is all that a policy wants of an object: patch it in one block"),
            );
        }
    }
}

/// The objects that are patched, and whether it is their status.
fn patches(acts: &Acts) -> impl Iterator<Item = (String, bool, Span)> {
    acts.acts.iter().flat_map(|act| {
        let (target, entries) = match &act.does {
            Does::Write(target, ast::WriteVerb::Patch, entries) => (Some(target), entries.as_slice()),
            _ => (None, &[][..]),
        };
        let parts = [false, true].map(|status| entries.iter().any(|entry| entry.is_status() == status));
        let parts = [false, true].into_iter().zip(parts).filter(|(_, any)| *any);
        let named = target.map(ToString::to_string).unwrap_or_default();
        parts.map(|(status, _)| (named.clone(), status, act.span)).collect::<Vec<_>>()
    })
}

/// Why policies never write a field, and what to do.
fn never_written(within: &Type, path: &[&str], name: &str) -> Option<(String, &'static str)> {
    let of_pod = match within {
        Type::Object(of) => *of == ObjectType::Pod,
        Type::Kind(kind) => (kind.name.group(), kind.name.kind()) == ("", "Pod"),
        _ => false,
    };
    Some(match (path, name) {
        ([], "apiVersion" | "kind") => (
            format!("`patch` does not set `{name}`"),
            "which object it is follows from the name before the map",
        ),
        ([], name) if of_pod && name != "metadata" => (
            format!("policies do not write `{name}` of pods"),
            "of pods they write `metadata.annotations` and `metadata.labels`",
        ),
        (["metadata"], name) if !matches!(name, "annotations" | "labels") => (
            format!("policies do not write `metadata.{name}`"),
            "of metadata they write `annotations` and `labels`",
        ),
        ([first, ..], "finalizers" | "ownerReferences") if *first != "metadata" => {
            (format!("policies do not write `{name}`"), "they decide when objects are deleted")
        }
        _ => return None,
    })
}

/// How a value is written into a field; `None` where it does not fit.
fn form(value: &Type, field: &Type) -> Option<WriteForm> {
    use WriteForm::{Millicores, Plain, Whole};
    Some(match (value, field) {
        (Type::Unknown, _) | (_, Type::Unknown) => Plain,
        (Type::Cpu, Type::String | Type::Dyn) => Millicores,
        (Type::Bytes, Type::String | Type::Dyn) | (Type::Count, Type::String) => Whole,
        (Type::String | Type::Bool | Type::Int | Type::Count | Type::Float | Type::Time, Type::Dyn)
        | (Type::String, Type::String)
        | (Type::Bool, Type::Bool)
        | (Type::Int | Type::Count, Type::Int | Type::Float)
        | (Type::Float, Type::Float)
        | (Type::Time, Type::Time | Type::String) => Plain,
        (Type::List(value), Type::Dyn) => return element(value, field),
        (Type::List(value), Type::List(field)) => return element(value, field),
        _ => return None,
    })
}

/// How the elements of a list are written.
fn element(value: &Type, field: &Type) -> Option<WriteForm> {
    match (value, field) {
        (Type::Never, _) => Some(WriteForm::Plain),
        (Type::String | Type::Bool | Type::Int | Type::Float, _) => form(value, field),
        _ => None,
    }
}
