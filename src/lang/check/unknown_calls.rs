//! Calls that no row fits: what was probably meant.

use super::Checker;
use crate::language::functions::{self, Conversion};
use crate::language::macros::{self};
use crate::syntax::ast::{self};
use crate::typed::Expr;
use crate::types::{Ty, Type};
use bayplan_diag::{Diagnostic, Span, codes};

impl Checker<'_> {
    pub(super) fn unknown_function(&mut self, name: &ast::Name, method: bool, args: &[Expr]) {
        let text = &*name.text;
        if functions::NOT_BUILT.contains(&text) {
            let what = if method { format!("the method `{text}`") } else { format!("`{text}`") };
            return self.not_built(name.span, what);
        }
        let what = if method { "method" } else { "function" };
        let mut diagnostic =
            Diagnostic::new(&codes::UNKNOWN_FUNCTION, name.span, format!("no {what} is called `{text}`"));
        let instead = match text {
            "any" | "some" => Some("`exists` is the word: `l.exists(x, …)`".to_owned()),
            "every" | "forall" | "forAll" | "each" => Some("`all` is the word: `l.all(x, …)`".to_owned()),
            "find" | "findFirst" | "detect" if method && !self.is_cel() => {
                Some("`first` is the word: `l.first(x, …)`".to_owned())
            }
            "select" | "where" if method => Some("`filter` is the word: `l.filter(x, …)`".to_owned()),
            "includes" if method => Some("`x.contains(y)`, or `y in x` of a list".to_owned()),
            "keys" if method => Some("macros go over keys: `m.exists(k, …)`; `\"key\" in m`".to_owned()),
            "get" if method && self.is_cel() => Some("`m[?\"key\"].orValue(…)`".to_owned()),
            "get" if method => Some("`m[\"key\"] ?? …`".to_owned()),
            "date" | "datetime" if !method && self.is_cel() => {
                Some("`timestamp(\"2030-01-31T00:00:00Z\")`".to_owned())
            }
            "date" | "datetime" if !method => Some("`time(\"2030-01-31T00:00:00Z\")`".to_owned()),
            "weekday" | "dayOfWeek" => {
                Some("`now().getDayOfWeek(\"Europe/Berlin\")`, where 0 is Sunday".to_owned())
            }
            "len" | "length" => Some("`size`".to_owned()),
            "lower" | "toLower" | "lowercase" | "toLowerCase" | "to_lower" => {
                Some("`lowerAscii()`".to_owned())
            }
            "upper" | "toUpper" | "uppercase" | "toUpperCase" | "to_upper" => {
                Some("`upperAscii()`".to_owned())
            }
            "regex" | "match" | "regexMatch" => Some("`x.matches(\"…\")`".to_owned()),
            "average" | "mean" | "avg" => {
                Some("`share(l.sum(), l.size())`, or `l.sum() / l.size() ?? 0`".to_owned())
            }
            "isNull" | "exists" | "defined" | "isset" | "isDefined" | "present" if !method => {
                Some("`has(x)`, `x == none`".to_owned())
            }
            "contains" if !method => Some("a method: `x.contains(y)`, or `y in x`".to_owned()),
            _ if method && !functions::named(text, false).is_empty() => {
                Some(format!("a function: `{text}({})`", args.first().map_or("…", |a| self.excerpt(a.span))))
            }
            _ if !method && !functions::named(text, true).is_empty() => {
                Some(format!("a method: `{}.{text}(…)`", args.first().map_or("x", |a| self.excerpt(a.span))))
            }
            _ if !method && macros::named(text).next().is_some() => Some(format!(
                "a method of lists: `{}.{text}(x, …)`",
                args.first().map_or("l", |a| self.excerpt(a.span))
            )),
            _ => None,
        };
        if let Some(instead) = instead {
            diagnostic = diagnostic.with_help(instead);
        } else {
            let defs = self.decls.iter().filter(|decl| matches!(decl.kind, super::scope::DeclKind::Def(_)));
            let mut known: Vec<&str> = defs.map(|decl| &*decl.name.text).collect();
            let of_language = functions::names(method).chain(macros::names().filter(|_| method));
            of_language.chain((!method).then_some("has")).for_each(|name| known.push(name));
            let near = self.nearest(text, known);
            if let Some(near) = near {
                diagnostic = diagnostic.with_help(format!("did you mean `{near}`?"));
            }
        }
        self.report(diagnostic);
    }

    /// `m.contains(k)` of a map, list or set: `k in m`. Reports it.
    pub(super) fn membership_meant(&mut self, name: &ast::Name, args: &[Expr], span: Span) -> bool {
        let names = ["contains", "containsKey", "has", "hasKey", "includes"];
        let [object, key] = args else { return false };
        let holds =
            matches!(object.ty.present(), Type::Map(..) | Type::Resources | Type::List(_) | Type::Set(_));
        if !holds || !names.contains(&&*name.text) {
            return false;
        }
        let key_text = self.excerpt(key.span);
        let is_simple = |c: char| c.is_ascii_alphanumeric() || "_.-/\"'[]".contains(c);
        let key_text =
            if key_text.chars().all(is_simple) { key_text.to_owned() } else { format!("({key_text})") };
        let asked = format!("{key_text} in {}", self.excerpt(object.span));
        // Nothing around it may take a part of `a in b`.
        let before = self.texts.at(span).get(..span.start as usize).unwrap_or("").trim_end();
        let behind = self.texts.at(span).get(span.end as usize..).unwrap_or("").trim_start();
        let stands_alone = ["require", "when", "&&", "||", "("].iter().any(|mark| before.ends_with(mark))
            && ["else", "&&", "||", ")", "}", "//"].iter().any(|mark| behind.starts_with(mark));
        let fixed = if stands_alone { asked } else { format!("({asked})") };
        let message = format!("`{}` has no method `{}`", object.ty.present(), name.text);
        self.report(
            Diagnostic::new(&codes::WRONG_ARGUMENTS, name.span, message)
                .with_help(format!("write `{fixed}`"))
                .with_fix(format!("write `{fixed}`"), span, fixed),
        );
        true
    }

    pub(super) fn no_row(&mut self, name: &ast::Name, method: bool, args: &[Expr], span: Span) {
        if method && self.membership_meant(name, args, span) {
            return;
        }
        let rows = functions::named(&name.text, method);
        let types: Vec<String> =
            args.iter().skip(usize::from(method)).map(|arg| format!("`{}`", arg.ty)).collect();
        let message = if method && types.is_empty() {
            format!("`{}` has no method `{}`", args[0].ty.present(), name.text)
        } else if method {
            format!("`{}` has no method `{}` with {}", args[0].ty.present(), name.text, types.join(" and "))
        } else if types.is_empty() {
            format!("`{}` is called without arguments", name.text)
        } else {
            format!("`{}` does not take {}", name.text, types.join(" and "))
        };
        // Numbers with and without a unit are the usual cause.
        let units: Vec<&Type> = args.iter().map(|arg| arg.ty.present()).filter(|ty| ty.is_unit()).collect();
        let numbers: Vec<&Expr> =
            args.iter().filter(|arg| matches!(arg.ty.present(), Type::Int | Type::Float)).collect();
        let mut code = &codes::WRONG_ARGUMENTS;
        let mut help = match rows {
            [one] => format!("write `{}`", one.def().signature()),
            _ => {
                let forms: Vec<String> =
                    rows.iter().take(4).map(|id| format!("`{}`", id.def().signature())).collect();
                forms.join(", ")
            }
        };
        if let ([unit, ..], [number, ..]) = (units.as_slice(), numbers.as_slice())
            && matches!(rows, [one] if one.def().params.iter().any(|p| matches!(p, Ty::Number(_) | Ty::Ordered(_))))
        {
            code = &codes::NUMBER_WITHOUT_UNIT;
            help = self.unit_help(unit, self.constant(number).as_ref());
        } else if let [amount] = args
            && functions::any(rows, |row| row.conversion() == Some(Conversion::Number))
            && amount.ty.present().is_unit()
        {
            help = self.number_of_amount(amount);
        } else if let [a, b, ..] = units.as_slice()
            && a != b
        {
            code = &codes::MIXED_UNITS;
        } else if let Some(list) = args.iter().find(|arg| has_absent_elements(&arg.ty)) {
            code = &codes::ABSENT_VALUE;
            let text = self.excerpt(list.span);
            let text = if text.len() > 60 { "" } else { text };
            help = format!("`{text}.present()` leaves out what is absent");
        } else if args.iter().any(|arg| *arg.ty.present() == Type::Dyn) {
            code = &codes::DYNAMIC_VALUE;
            help = "convert it first: `int(x) ?? 0`, `string(x) ?? \"\"`".to_owned();
        }
        self.mistake(code, name.span, message, help);
    }
}

/// Whether it is a list whose elements may be absent.
fn has_absent_elements(ty: &Type) -> bool {
    matches!(ty.present(), Type::List(of) | Type::Set(of) if of.is_optional())
}
