//! Params: their defaults, their ranges, and the arguments that a profile gives.

use super::scope::{DeclKind, FactScope, Frame, Place, State};
use super::{Checker, corrections};
use crate::syntax::ast::{self, Literal};
use crate::syntax::literal;
use crate::typed::{self, ParamId};
use crate::types::Type;
use crate::types::range::{Range, Relation};
use crate::types::value::{Constant, Value};
use bayplan_diag::{Diagnostic, Span, codes};

/// An argument of a policy, from `pluginConfig`.
#[derive(Clone, Debug)]
pub struct Argument {
    /// The param's name.
    pub name: String,
    /// Its value, as YAML and JSON have it: amounts, durations and shares are texts.
    pub value: serde_json::Value,
    /// Where it stands, for the mistakes that the configuration reports.
    pub span: Span,
}

/// A mistake that only the arguments make, moved to the argument that its place names, else to the first.
pub(super) fn blame(mut error: Diagnostic, given: &[Argument], text: &str) -> Diagnostic {
    if error.code == &codes::BAD_ARGUMENT {
        return error;
    }
    let place = error.span;
    let words = text.get(place.range()).unwrap_or("");
    let names = |argument: &&Argument| {
        words.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|word| word == argument.name)
    };
    if let Some(argument) = given.iter().find(names).or(given.first()) {
        error.span = argument.span;
        error.fixes.clear();
        error = error.with_place(place, "in the policy, with this argument");
    }
    error
}

impl<'a> Checker<'a> {
    /// Declares the params with the values that they have in this instance.
    pub(super) fn check_params(&mut self) {
        for at in 0..self.decls.len() {
            let DeclKind::Param(of) = self.decls[at].kind else { continue };
            let doc = self.decls[at].doc.clone();
            self.frame = Frame::new(Place::Constant, FactScope::Raw);
            let state = match self.param(of, doc) {
                Some(id) => State::Param(id),
                None => State::Failed,
            };
            self.decls[at].state = [state; 2];
        }
        let arguments = std::mem::take(&mut self.arguments);
        for argument in &arguments {
            let known = self.declared.params.iter().any(|param| *param.name == *argument.name);
            if known {
                continue;
            }
            let names: Vec<&str> = self.declared.params.iter().map(|param| &*param.name).collect();
            let near = self.nearest(&argument.name, names.iter().copied());
            let help = match near {
                Some(near) => format!("did you mean `{near}`?"),
                None if names.is_empty() => "it has none".to_owned(),
                None => format!("it has {}", names.join(", ")),
            };
            let message = format!("the policy has no param `{}`", argument.name);
            self.mistake(&codes::BAD_ARGUMENT, argument.span, message, help);
        }
    }

    fn param(&mut self, of: &'a ast::Param, doc: Option<ast::Text>) -> Option<ParamId> {
        let declared = of.declared.as_ref().map(|declared| self.type_expr(declared));
        let default = self.expr(&of.default, declared.as_ref());
        let default = match &declared {
            Some(declared) => self.fit(default, declared, &format!("`{}`", of.name.text)),
            None => self.value(default),
        };
        if default.ty.is_unknown() {
            return None;
        }
        let Some(default_value) = self.constant(&default) else {
            self.mistake(
                &codes::NOT_CONSTANT,
                of.default.span,
                format!("the default of `{}` is a constant", of.name.text),
                "literals, other params, and what is made of them",
            );
            return None;
        };
        let ty = declared.unwrap_or_else(|| default.ty.clone());
        let allowed = of.range.as_ref().and_then(|range| self.allowed(range, &ty));
        if let Some(allowed) = allowed
            && !inside(&default_value, allowed)
        {
            let message = format!("the default of `{}` lies outside of its range", of.name.text);
            self.mistake(&codes::TYPE_MISMATCH, of.default.span, message, "");
        }
        let argument = self.arguments.iter().find(|argument| *argument.name == *of.name.text).cloned();
        let value = match argument {
            None => default_value.clone(),
            Some(argument) => match of_yaml(&argument.value, &ty) {
                Ok(value) => {
                    if let Some(allowed) = allowed
                        && !inside(&value, allowed)
                    {
                        let text = of
                            .range
                            .as_ref()
                            .map(|(low, high)| {
                                format!("{} to {}", self.excerpt(low.span), self.excerpt(high.span))
                            })
                            .unwrap_or_default();
                        let message = format!("`{}` is allowed from {text}", of.name.text);
                        self.mistake(&codes::BAD_ARGUMENT, argument.span, message, "");
                    }
                    value
                }
                Err(why) => {
                    let message = format!("`{}` is `{ty}`: {why}", of.name.text);
                    let help = corrections::help(&of.name.text, &argument.value, &ty, is_share(of));
                    self.mistake(&codes::BAD_ARGUMENT, argument.span, message, help);
                    default_value.clone()
                }
            },
        };
        let id = ParamId(self.declared.params.len() as u32);
        self.declared.params.push(typed::Param {
            name: of.name.text.clone(),
            doc,
            ty,
            allowed,
            value,
            default: default_value,
            span: of.name.span,
        });
        Some(id)
    }

    /// `in a..b`, in base units.
    fn allowed(&mut self, (low, high): &(ast::Bound, ast::Bound), ty: &Type) -> Option<Range> {
        let (low_range, high_range) = (self.end(low, ty)?, self.end(high, ty)?);
        if low_range.outcome(Relation::Greater, high_range) == Some(true) {
            self.mistake(
                &codes::TYPE_MISMATCH,
                low.span.to(high.span),
                "the range is empty",
                "write the smaller end first",
            );
            return None;
        }
        Some(low_range.union(high_range))
    }

    /// One end of `in a..b`, in the kind of number that the type has.
    fn end(&mut self, bound: &ast::Bound, ty: &Type) -> Option<Range> {
        let (own, range) = match &bound.value {
            Literal::Int(0) if ty.is_numeric() => (ty.clone(), Range::int(0)),
            Literal::Int(value) => (Type::Int, Range::int(*value)),
            Literal::Uint(value) => (Type::Uint, Range::whole(i128::from(*value), i128::from(*value))),
            Literal::Float(value) | Literal::Share(value) => (Type::Float, Range::real(*value, *value)),
            Literal::Cpu(value) => (Type::Cpu, Range::int(*value)),
            Literal::Bytes(value) => (Type::Bytes, Range::int(*value)),
            Literal::Duration(value) => (Type::Duration, Range::int(*value)),
            _ => (Type::Unknown, Range::None),
        };
        if !ty.accepts(&own) || own == Type::Unknown {
            let text = self.excerpt(bound.span);
            let message = format!("the param is `{ty}`, and `{text}` is none");
            let help = "both ends have the type of the param";
            self.mistake(&codes::TYPE_MISMATCH, bound.span, message, help);
            return None;
        }
        Some(if *ty == Type::Float { range.widen() } else { range })
    }
}

fn inside(value: &Constant, allowed: Range) -> bool {
    let own = match value {
        Value::Int(value) => Range::int(*value),
        Value::Uint(value) => Range::whole(i128::from(*value), i128::from(*value)),
        Value::Float(value) => Range::real(*value, *value),
        _ => return true,
    };
    own.outcome(Relation::Equal, allowed) != Some(false)
}

/// A value of YAML as a value of a type; the text says why it is none.
pub fn of_yaml(given: &serde_json::Value, ty: &Type) -> Result<Constant, String> {
    use serde_json::Value as Json;
    let number = |given: &Json| given.as_i64().ok_or_else(|| format!("`{given}` is not a whole number"));
    match (ty, given) {
        (Type::Optional(_), Json::Null) => Ok(Value::Absent),
        (Type::Optional(inner), given) => of_yaml(given, inner),
        (Type::Bool, Json::Bool(truth)) => Ok(Value::Bool(*truth)),
        (Type::Int | Type::Count, given @ Json::Number(_)) => Ok(Value::Int(number(given)?)),
        (Type::Uint, Json::Number(n)) => {
            n.as_u64().map(Value::Uint).ok_or_else(|| format!("`{n}` is not a whole number"))
        }
        (Type::Float, Json::Number(n)) => n
            .as_f64()
            .filter(|n| n.is_finite())
            .map(Value::Float)
            .ok_or_else(|| format!("`{n}` is not a number")),
        (Type::String, Json::String(text)) => Ok(Value::text(text.as_str())),
        (unit, Json::Number(n)) if unit.is_unit() && n.as_i64() == Some(0) => Ok(Value::Int(0)),
        (Type::Cpu | Type::Bytes | Type::Duration | Type::Float | Type::Time, Json::String(text)) => {
            written(text, ty).unwrap_or_else(|| amount(text, ty))
        }
        (Type::List(element) | Type::Set(element), Json::Array(items)) => {
            let items: Result<Vec<Constant>, String> =
                items.iter().map(|item| of_yaml(item, element)).collect();
            items.map(Value::list)
        }
        (Type::Map(key, value), Json::Object(entries)) => map(entries, key, value),
        (Type::Record(record), Json::Object(entries)) => {
            if let Some(name) = entries.keys().find(|name| record.fields.iter().all(|(f, _)| **f != **name)) {
                return Err(format!("it has no field `{name}`"));
            }
            let mut values = Vec::with_capacity(record.fields.len());
            for (name, ty) in &record.fields {
                values.push(match entries.get(&**name) {
                    Some(item) => of_yaml(item, ty).map_err(|why| format!("`{name}`: {why}"))?,
                    None if ty.is_optional() => Value::Absent,
                    None => return Err(format!("the field `{name}` is missing")),
                });
            }
            Ok(Value::Record(values.into()))
        }
        (Type::Resources, Json::Object(entries)) => resources(entries),
        (Type::Dyn, given) => Ok(untyped(given)),
        (unit, given) if unit.is_unit() => {
            let example = match unit {
                Type::Cpu => "\"500m\"",
                Type::Bytes => "\"4Gi\"",
                _ => "\"60s\"",
            };
            Err(format!("`{given}` has no unit; write it as a text, `{example}`"))
        }
        (_, given) => Err(format!("`{given}` is {}", corrections::kind(given))),
    }
}

/// Whether a param is written as a share: its default, or an end of its range.
fn is_share(of: &ast::Param) -> bool {
    let ends = of.range.iter().flat_map(|(low, high)| [&low.value, &high.value]);
    let is_share = |literal: &Literal| matches!(literal, Literal::Share(_));
    matches!(&of.default.kind, ast::ExprKind::Literal(literal) if is_share(literal))
        || ends.into_iter().any(is_share)
}

type JsonObject = serde_json::Map<String, serde_json::Value>;

/// An object as a map. Keys are texts in YAML, so an int or a bool is read from its text.
fn map(entries: &JsonObject, key: &Type, value: &Type) -> Result<Constant, String> {
    let mut made = Vec::with_capacity(entries.len());
    for (name, item) in entries {
        let key = match key {
            Type::String => Value::text(name.as_str()),
            Type::Int => Value::Int(name.parse().map_err(|_| format!("the key `{name}` is not an `int`"))?),
            Type::Bool => Value::Bool(name.parse().map_err(|_| format!("the key `{name}` is not a `bool`"))?),
            _ => return Err(format!("the key `{name}` does not fit")),
        };
        made.push((key, of_yaml(item, value).map_err(|why| format!("`{name}`: {why}"))?));
    }
    Ok(Value::map(made))
}

/// An object as resources: names, and amounts as Kubernetes writes them.
fn resources(entries: &JsonObject) -> Result<Constant, String> {
    use serde_json::Value as Json;
    let mut resource = bayplan_model::Resource::default();
    for (name, item) in entries {
        let text = match item {
            Json::String(text) => text.clone(),
            Json::Number(n) => n.to_string(),
            other => return Err(format!("`{other}` is not an amount")),
        };
        crate::language::functions::set_amount(&mut resource, name, &text)
            .ok_or_else(|| format!("`{text}` is not an amount"))?;
    }
    Ok(Value::resources(resource))
}

/// JSON as it is.
fn untyped(given: &serde_json::Value) -> Constant {
    use serde_json::Value as Json;
    match given {
        Json::Null => Value::Null,
        Json::Bool(truth) => Value::Bool(*truth),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => Value::Int(whole),
            None => number.as_f64().map_or(Value::Absent, Value::float),
        },
        Json::String(text) => Value::text(text.as_str()),
        Json::Array(items) => Value::list(items.iter().map(untyped)),
        Json::Object(fields) => {
            Value::map(fields.iter().map(|(key, value)| (Value::text(key.as_str()), untyped(value))))
        }
    }
}

/// A float in the notation of policies: digits, and no words like `inf` and `nan`.
fn finite(text: &str) -> Option<f64> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    text.parse::<f64>().ok().filter(|number| is_number && number.is_finite())
}

/// A text that a policy may hold as a literal with a unit means what it means there. `None`: it has no such form.
fn written(text: &str, ty: &Type) -> Option<Result<Constant, String>> {
    let literal = match literal::with_unit(text)? {
        Ok(literal) => literal,
        Err(why) => return Some(Err(why)),
    };
    let (of, value) = match literal {
        Literal::Cpu(value) => (Type::Cpu, Value::Int(value)),
        Literal::Bytes(value) => (Type::Bytes, Value::Int(value)),
        Literal::Duration(value) => (Type::Duration, Value::Int(value)),
        Literal::Share(value) => (Type::Float, Value::Float(value)),
        _ => return None,
    };
    if of == *ty {
        return Some(Ok(value));
    }
    let hint = match (&of, ty) {
        (Type::Cpu, Type::Duration) if text.ends_with('m') => format!("; minutes are written `{text}in`"),
        (Type::Float, _) => String::new(),
        _ => format!("; `{text}` is `{of}` in policies too"),
    };
    let what = match of {
        Type::Cpu => "an amount of cpu",
        Type::Bytes => "a number of bytes",
        Type::Duration => "a duration",
        _ => "a share",
    };
    Some(Err(format!("`{text}` is {what}{hint}")))
}

/// What Kubernetes and Go write beside: `"2"` for two cores, `"1024"` for bytes, `"1h30m"`.
fn amount(text: &str, ty: &Type) -> Result<Constant, String> {
    use crate::language::functions as f;
    let made = match ty {
        Type::Cpu => f::parse_cpu(text.strip_suffix("cpu").unwrap_or(text)).map(Value::Int),
        Type::Bytes => f::parse_whole(text.strip_suffix('B').unwrap_or(text)).map(Value::Int),
        Type::Duration => f::parse_duration(&text.replace("min", "m")).map(Value::Int),
        Type::Float => match text.strip_suffix('%') {
            Some(share) => finite(share.trim()).map(|share| Value::Float(share / 100.0)),
            None => None,
        },
        Type::Time => bayplan_model::Time::parse_exactly(text).map(Value::Time),
        _ => None,
    };
    let what = match ty {
        Type::Cpu => "no amount of cpu",
        Type::Bytes => "no number of bytes",
        Type::Duration => "no duration",
        Type::Time => "no time, as in `2027-01-31T00:00:00Z`",
        _ => "a text and no number",
    };
    made.ok_or_else(|| format!("`{text}` is {what}"))
}
