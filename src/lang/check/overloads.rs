//! Calls of functions of the table: the row that fits the arguments, its types, and its constants.

use super::Checker;
use super::expr::{type_range, with_held};
use super::types::is_zero;
use crate::language::functions::{self, Absence, FunctionId, Prepare, Prepared};
use crate::language::limits::MOST_PATTERN_BYTES;
use crate::syntax::ast::{self};
use crate::typed::{Expr, ExprKind};
use crate::types::range::Range;
use crate::types::value::{Constant, Value};
use crate::types::{Ty, Type};
use bayplan_diag::{Span, codes};
use std::sync::Arc;

/// What the letters of a row stand for.
struct Letters {
    types: Vec<(char, Type)>,
    /// The row is a method of CEL's optionals.
    of_optional: bool,
}

impl Checker<'_> {
    /// Chooses the row that the arguments fit, and makes the call.
    pub(super) fn call_function(
        &mut self,
        name: &ast::Name,
        method: bool,
        args: Vec<Expr>,
        span: Span,
        wanted: Option<&Type>,
    ) -> Expr {
        let rows = functions::named(&name.text, method);
        let fits_count = |id: &FunctionId| {
            let def = id.def();
            args.len() == def.params.len() || def.repeats && args.len() > def.params.len()
        };
        if !rows.iter().any(fits_count) {
            let form = rows.first().map(|id| id.def().signature()).unwrap_or_default();
            self.wrong_count(name, &form, args.len() - usize::from(method));
            return self.unknown(span);
        }
        // First without regard to absence, so that a missing value is reported as such.
        let mut fallback = None;
        for id in rows.iter().filter(|id| fits_count(id)) {
            if let Some(bound) = self.bind(*id, &args, false) {
                return self.make_call(*id, args, bound, span);
            }
            if fallback.is_none()
                && let Some(bound) = self.bind(*id, &args, true)
            {
                fallback = Some((*id, bound));
            }
        }
        let _ = wanted;
        if let Some((id, bound)) = fallback {
            // Only absence prevents a match.
            let texts: Vec<&str> = args.iter().map(|arg| self.excerpt(arg.span)).collect();
            let mut fixed = Vec::with_capacity(args.len());
            for (at, arg) in args.into_iter().enumerate() {
                let optional_row = matches!(param_at(id, at), Ty::Optional(_));
                if optional_row || !arg.ty.is_optional() {
                    fixed.push(arg);
                    continue;
                }
                let method_name = &name.text;
                let example = |filled: &str| {
                    let mut parts = texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
                    parts[at] = if method && at == 0 {
                        filled.to_owned()
                    } else {
                        filled.trim_start_matches('(').trim_end_matches(')').to_owned()
                    };
                    if method {
                        format!("{}.{method_name}({})", parts[0], parts[1..].join(", "))
                    } else {
                        format!("{method_name}({})", parts.join(", "))
                    }
                };
                fixed.push(self.value_in(arg, Some(&example)));
            }
            if fixed.iter().any(|arg| arg.ty.is_unknown()) {
                return self.unknown(span);
            }
            return self.make_call(id, fixed, bound, span);
        }
        self.no_row(name, method, &args, span);
        self.unknown(span)
    }

    /// The types that the letters of a row stand for, when the arguments fit it.
    pub(super) fn bind(&self, id: FunctionId, args: &[Expr], absent_too: bool) -> Option<Vec<(char, Type)>> {
        let of_optional = matches!(id.def().params.first(), Some(Ty::CelOptional(_)));
        let mut letters = Letters { types: Vec::new(), of_optional };
        for (at, arg) in args.iter().enumerate() {
            let ty = if absent_too { arg.ty.present() } else { &arg.ty };
            if !self.bind_one(param_at(id, at), ty, is_zero(arg), &mut letters) {
                return None;
            }
        }
        let mut params =
            args.iter().enumerate().map(|(at, arg)| (arg, instantiate(param_at(id, at), &letters.types)));
        let fits = |(arg, wanted): (&Expr, Type)| {
            !elements_widen(&arg.ty, &wanted) || self.coerce(arg.clone(), wanted.present()).is_ok()
        };
        params.all(fits).then_some(letters.types)
    }

    fn bind_one(&self, param: &Ty, given: &Type, zero: bool, letters: &mut Letters) -> bool {
        match param {
            Ty::Optional(inner) => self.bind_one(inner, given.present(), zero, letters),
            _ if given.is_optional() => false,
            Ty::Var(letter) | Ty::Number(letter) | Ty::Ordered(letter) => {
                let fits = match param {
                    Ty::Number(_) => given.is_numeric() || *given == Type::Never,
                    Ty::Ordered(_) => given.is_ordered() || *given == Type::Never,
                    _ => true,
                };
                fits && self.bind_letter(*letter, given, zero, letters)
            }
            Ty::List(inner) => match given {
                Type::List(own) | Type::Set(own) => match inner {
                    Ty::Optional(inner) => self.bind_one(inner, own.present(), false, letters),
                    _ => **own == Type::Never || self.bind_element(inner, own, letters),
                },
                _ => false,
            },
            Ty::CelOptional(inner) => match given {
                Type::CelOptional(own) => **own == Type::Never || self.bind_one(inner, own, false, letters),
                _ => false,
            },
            Ty::Map(key, value) => match given {
                Type::Map(k, v) => {
                    (**k == Type::Never || self.bind_one(key, k, false, letters))
                        && (**v == Type::Never || self.bind_element(value, v, letters))
                }
                _ => false,
            },
            Ty::Amount => matches!(given, Type::Amount(_)),
            Ty::Int => *given == Type::Int || *given == Type::Count || *given == Type::Never,
            Ty::Float => matches!(given, Type::Float | Type::Int | Type::Count | Type::Never),
            Ty::Cpu | Ty::Bytes | Ty::Duration | Ty::Count if zero => true,
            other => {
                let wanted = super::expr::plain_type(other);
                wanted == *given || *given == Type::Never
            }
        }
    }

    /// An element of a list or a value of a map. Where the row takes any, it may be absent.
    fn bind_element(&self, param: &Ty, given: &Type, letters: &mut Letters) -> bool {
        match param {
            Ty::Var(letter) => self.bind_letter(*letter, given, false, letters),
            param => self.bind_one(param, given, false, letters),
        }
    }

    /// Binds a letter, or joins its type with the one that it is bound to.
    fn bind_letter(&self, letter: char, given: &Type, zero: bool, letters: &mut Letters) -> bool {
        match letters.types.iter().position(|(known, _)| *known == letter) {
            None => {
                // A zero takes the type of the others.
                let ty = if zero { Type::Never } else { given.clone() };
                letters.types.push((letter, ty));
                true
            }
            Some(_) if zero => true,
            // What is held by an optional of an unknown type stays of an unknown type.
            Some(at) if letters.of_optional && (letters.types[at].1 == Type::Dyn || *given == Type::Dyn) => {
                letters.types[at].1 = Type::Dyn;
                true
            }
            Some(at) => match self.join(&letters.types[at].1, given) {
                Some(joined) => {
                    letters.types[at].1 = joined;
                    true
                }
                None => false,
            },
        }
    }

    pub(super) fn make_call(
        &mut self,
        id: FunctionId,
        args: Vec<Expr>,
        mut bound: Vec<(char, Type)>,
        span: Span,
    ) -> Expr {
        let def = id.def();
        // A call of zeros only is of ints.
        for (_, ty) in &mut bound {
            if *ty == Type::Never && args.iter().any(is_zero) {
                *ty = Type::Int;
            }
        }
        numbers_are_ints(&def.result, &mut bound);
        let (args, absent) = self.fit_arguments(id, args, &bound);
        let Some(prepared) = self.prepare(id, &args, span) else { return self.unknown(span) };
        let prepared = match def.sums {
            true => Prepared::Zero(zero_of(&instantiate(&def.result, &bound))),
            false => prepared,
        };
        let ranges: Vec<Range> = args.iter().map(|arg| arg.range).collect();
        if let Some(Err((at, wanted))) = def.demand.map(|demand| demand(&ranges)) {
            let arg = args.get(at).map_or(span, |arg| arg.span);
            let text = self.excerpt(arg);
            let most = if def.params.get(at) == Some(&Ty::Float) { 1 } else { 1_000 };
            let help = format!("`clamp({text}, 0, {most})`, or a comparison before it");
            self.mistake(&codes::WRONG_ARGUMENTS, arg, wanted, help);
            return self.unknown(span);
        }
        let ty = instantiate(&def.result, &bound);
        let may_fail = match def.absent {
            Absence::Never | Absence::Taken => false,
            Absence::Maybe => true,
            Absence::Unless(has_value) => !has_value(&ranges),
        };
        let base = type_range(&ty);
        let range = match def.range {
            Some(range) if base != Range::None => base.intersect(range(&ranges)),
            _ => with_held(base, def, &args),
        };
        let ty = if may_fail || absent { ty.optional() } else { ty };
        let expr = Expr { kind: ExprKind::Call(id, args, Arc::new(prepared)), ty, range, span };
        if may_fail && !absent { self.call_that_may_fail(id, expr) } else { self.narrowed(expr) }
    }

    /// The arguments in the types of the row, and whether an absent one makes the result absent.
    fn fit_arguments(&self, id: FunctionId, args: Vec<Expr>, bound: &[(char, Type)]) -> (Vec<Expr>, bool) {
        let mut absent = false;
        let fitted = args.into_iter().enumerate().map(|(at, arg)| {
            let param = param_at(id, at);
            let optional = matches!(param, Ty::Optional(_)) && arg.ty.is_optional();
            absent |= optional && !matches!(id.def().absent, Absence::Taken);
            let wanted = instantiate(param, bound);
            let wanted = if optional { wanted.optional() } else { wanted.present().clone() };
            self.coerce(arg, &wanted).unwrap_or_else(|arg| arg)
        });
        (fitted.collect(), absent)
    }

    /// What a function makes of its constants, within what the patterns of a text may take; `None` beyond it, which is
    /// reported for the whole text.
    pub(super) fn prepared(
        &self,
        id: FunctionId,
        prepare: &Prepare,
        constants: &[Option<Constant>],
        span: Span,
    ) -> Option<Result<Prepared, (usize, String)>> {
        let patterns = &self.budget.patterns;
        if patterns.is_exceeded() {
            return None;
        }
        let before = patterns.spent();
        let prepared = (prepare.make)(constants);
        let bytes = match &prepared {
            Ok(prepared) => prepared.bytes(),
            // How far it came is not known.
            Err(_) if id.def().matches_pattern() => MOST_PATTERN_BYTES as u64 / 4,
            Err(_) => 0,
        };
        let affordable = patterns.spend(bytes);
        patterns.note(before, span);
        (affordable || prepared.is_err()).then_some(prepared)
    }

    /// Prepares the constant arguments for the function, as a pattern is compiled. `None` after a
    /// report: an argument is not a constant, or the function refuses it.
    fn prepare(&mut self, id: FunctionId, args: &[Expr], span: Span) -> Option<Prepared> {
        let def = id.def();
        let Some(prepare) = def.prepare else { return Some(Prepared::Nothing) };
        let constants: Vec<Option<_>> = args
            .iter()
            .enumerate()
            .map(|(at, arg)| if prepare.constants.contains(&at) { self.constant(arg) } else { None })
            .collect();
        for at in prepare.constants {
            if let (Some(arg), Some(None)) = (args.get(*at), constants.get(*at)) {
                let what = def.names.get(*at).copied().unwrap_or("argument");
                self.mistake(
                    &codes::NOT_CONSTANT,
                    arg.span,
                    format!("the {what} of `{}` is a constant", def.name),
                    "write a literal, or a param or let made of literals",
                );
                return None;
            }
        }
        match self.prepared(id, &prepare, &constants, span) {
            Some(Ok(prepared)) => Some(prepared),
            None => {
                self.incomplete = true;
                None
            }
            Some(Err((at, why))) => {
                let at = args.get(at).map_or(span, |arg| arg.span);
                self.mistake(&codes::BAD_CONSTANT, at, why, "");
                None
            }
        }
    }

    /// A call that has no value for some arguments. When all arguments are constants, the call is
    /// replaced by its value, or reported when it has none.
    fn call_that_may_fail(&mut self, id: FunctionId, expr: Expr) -> Expr {
        let (def, span) = (id.def(), expr.span);
        let is_absent = |part: &Expr| matches!(self.sure_constant(part), Some(Value::Absent));
        match self.sure_constant(&expr) {
            // An element that a constant list or map lacks is absent, and a call with it is absent too: no mistake.
            Some(Value::Absent) if matches!(&expr.kind, ExprKind::Call(_, args, _) if args.iter().any(is_absent)) => {
                self.narrowed(expr)
            }
            Some(Value::Absent) => {
                let message = format!("`{}` has no value", self.excerpt(span));
                let help = format!("`{}` is {}", def.name, def.doc);
                let said = (&codes::BAD_CONSTANT, span, message);
                match &expr.kind {
                    ExprKind::Call(_, args, _) if let [text] = args.as_slice() => {
                        self.no_value(def, text, said, help);
                    }
                    _ => self.mistake(said.0, span, said.2, help),
                }
                self.unknown(span)
            }
            Some(value) => {
                let ty = expr.ty.present().clone();
                let range = super::expr::constant_range(&value, &ty);
                Expr { kind: ExprKind::Constant(value), ty, range, span }
            }
            None => self.narrowed(expr),
        }
    }
}

pub(super) fn param_at(id: FunctionId, at: usize) -> &'static Ty {
    let params = id.def().params;
    params.get(at).or(params.last()).unwrap_or(&Ty::Bool)
}

/// Whether ints in a list would have to become floats, which only the elements of a literal can.
fn elements_widen(given: &Type, wanted: &Type) -> bool {
    match (given.present(), wanted.present()) {
        (Type::List(given) | Type::Set(given), Type::List(wanted)) => {
            matches!((given.present(), wanted.present()), (Type::Int | Type::Count, Type::Float))
                || elements_widen(given, wanted)
        }
        _ => false,
    }
}

/// Numbers of no known type, as those of `[]`, are ints.
fn numbers_are_ints(result: &Ty, bound: &mut Vec<(char, Type)>) {
    let Ty::Number(letter) = result else { return };
    match bound.iter_mut().find(|(known, _)| known == letter) {
        Some((_, ty)) if *ty == Type::Never => *ty = Type::Int,
        Some(_) => {}
        None => bound.push((*letter, Type::Int)),
    }
}

/// The 0 of a type of numbers.
fn zero_of(ty: &Type) -> Constant {
    match ty {
        Type::Float => Value::Float(0.0),
        Type::Uint => Value::Uint(0),
        _ => Value::Int(0),
    }
}

/// A type of a row with its letters filled in.
pub(super) fn instantiate(ty: &Ty, bound: &[(char, Type)]) -> Type {
    match ty {
        Ty::Var(letter) | Ty::Number(letter) | Ty::Ordered(letter) => {
            bound.iter().find(|(known, _)| known == letter).map_or(Type::Never, |(_, ty)| ty.clone())
        }
        Ty::List(inner) => instantiate(inner, bound).list(),
        Ty::Map(key, value) => {
            Type::Map(Arc::new(instantiate(key, bound)), Arc::new(instantiate(value, bound)))
        }
        Ty::Optional(inner) => instantiate(inner, bound).optional(),
        Ty::CelOptional(inner) => Type::CelOptional(Arc::new(instantiate(inner, bound))),
        other => super::expr::plain_type(other),
    }
}
