//! Calls of CEL: functions and methods by cel-go's choice of overloads, names with a namespace, and the
//! functions of policies.

use super::doubts::can_fail;
use super::is_static;
use super::literals::folded;
use super::names::qualified;
use crate::check::Checker;
use crate::check::expr::{type_range, with_held};
use crate::language::environments::Row;
use crate::language::functions::{self, Absence, FunctionDef, FunctionId, Grows, Prepared, Presence};
use crate::language::macros::{self, FormKind};
use crate::language::statements::Names;
use crate::syntax::ast;
use crate::typed::{Expr, ExprKind, LookUpBy, Operation};
use crate::types::range::Range;
use crate::types::value::{Constant, FaultKind};
use crate::types::{CelType, Ty, Type};
use bayplan_diag::{Diagnostic, Span, codes};
use std::sync::Arc;

impl Checker<'_> {
    pub(super) fn cel_call(&mut self, call: &ast::Call, span: Span) -> Expr {
        let name = &call.function;
        match macros::form(&name.text) {
            Some(FormKind::Has) => return self.cel_has(call, span),
            Some(FormKind::Now) if self.has_row(Row::Now) && call.args.is_empty() => {
                if !self.allow(Names::NOW, "now()", span) {
                    return self.unknown(span);
                }
                let now = self.make(ExprKind::Now, Type::Time, span);
                return self.demand(now, FaultKind::BadArgument);
            }
            Some(kind @ (FormKind::LookUp | FormKind::Objects)) if self.has_row(Row::LookUps) => {
                let by = if kind == FormKind::Objects { LookUpBy::All } else { LookUpBy::Name };
                let found = self.look_up(by, call, span);
                return self.demand(found, FaultKind::NoSuchKey);
            }
            _ => {}
        }
        let Some(args) = self.cel_arguments(&call.args) else { return self.unknown(span) };
        let given = args.first().map(|arg| self.ty(arg));
        let made = self.cel_function(name, false, args, &call.args, span);
        // `type(x)` has the type of the name of the type of x.
        let is_type_of = functions::any(self.functions(&name.text, false), FunctionDef::is_type_of);
        match (given, made.ty.is_unknown()) {
            (Some(of), false) if is_type_of => Expr { ty: Type::TypeOf(Arc::new(of)), ..made },
            _ => made,
        }
    }

    fn cel_arguments(&mut self, args: &[ast::Arg]) -> Option<Vec<Expr>> {
        let made: Vec<Expr> = args.iter().map(|arg| self.expr(&arg.value, None)).collect();
        let known = made.iter().all(|arg| !self.ty(arg).is_unknown());
        known.then_some(made)
    }

    pub(super) fn cel_method(&mut self, call: &ast::MethodCall, span: Span) -> Expr {
        if let Some(made) = self.cel_macro(call, span) {
            return made;
        }
        // `a.b.f(x)` is the function `a.b.f` where there is one.
        if let Some(prefix) = qualified(&call.object) {
            let text = format!("{}.{}", prefix.trim_start_matches('.'), call.method.text);
            let catches = |row: &FunctionDef| row.presence == Some(Presence::Catches);
            if self.has_row(Row::OfValid) && functions::any(functions::named(&text, false), catches) {
                return self.cel_valid(call, span);
            }
            let name = ast::Name { text: text.as_str().into(), span: call.method.span };
            if !self.functions(&text, false).is_empty() {
                let Some(args) = self.cel_arguments(&call.args) else { return self.unknown(span) };
                return self.cel_function(&name, false, args, &call.args, span);
            }
        }
        if self.misspelt_macro(call) {
            return self.unknown(span);
        }
        let rows = self.functions(&call.method.text, true);
        let formats = functions::any(rows, |row| row.grows == Grows::Formats);
        self.cel.formatting += u32::from(formats);
        let object = self.expr(&call.object, None);
        if self.has_row(Row::LookUps) && macros::form(&call.method.text) == Some(FormKind::Owner) {
            let ty = self.ty(&object);
            let found = self.owner(Expr { ty, ..object }, call, span);
            return self.demand(found, FaultKind::NoSuchKey);
        }
        let args = self.cel_arguments(&call.args);
        self.cel.formatting -= u32::from(formats);
        let (Some(mut args), false) = (args, self.ty(&object).is_unknown()) else {
            return self.unknown(span);
        };
        if let Type::CelOptional(held) = self.ty(&object)
            && *held == Type::Resources
            && functions::any(rows, |row| row.presence == Some(Presence::TakesOr))
        {
            // `{}`: no amount of any resource.
            args = args.into_iter().map(|arg| self.coerce(arg, &held).unwrap_or_else(|arg| arg)).collect();
        }
        let args = std::iter::once(object).chain(args).collect();
        let made = self.cel_function(&call.method, true, args, &call.args, span);
        if formats && !made.ty.is_unknown() {
            return self.validated_format(call, made);
        }
        made
    }

    /// `l.exsits(x, …)`, where `x` is nothing yet: the macro is misspelt. Reports it.
    fn misspelt_macro(&mut self, call: &ast::MethodCall) -> bool {
        let text = &*call.method.text;
        let Some(ast::ExprKind::Name(variable)) = call.args.first().map(|arg| &arg.value.kind) else {
            return false;
        };
        let known = macros::named(text).next().is_some()
            || !functions::named(text, true).is_empty()
            || !self.functions(text, true).is_empty();
        let named = self.is_local(variable)
            || self.names.contains_key(&**variable)
            || crate::check::scope::root(variable).is_some();
        let near = self.nearest(text, macros::names()).filter(|_| !known && !named && call.args.len() > 1);
        let Some(near) = near else { return false };
        let message = format!("no method is called `{text}`");
        let said = Diagnostic::new(&codes::UNKNOWN_FUNCTION, call.method.span, message);
        self.report(said.with_help(format!("did you mean `{near}`?")));
        true
    }

    fn cel_function(
        &mut self,
        name: &ast::Name,
        method: bool,
        args: Vec<Expr>,
        written: &[ast::Arg],
        span: Span,
    ) -> Expr {
        let rows = self.functions(&name.text, method);
        let given: Vec<Type> = args.iter().map(|arg| self.ty(arg)).collect();
        let overloads = rows.iter().map(|id| (id.def().params, id.def().repeats, &id.def().result));
        // cel-go unifies what it found out of an argument when it looked at it, not what it learned of it since.
        let seen: Vec<Type> = args.iter().map(|arg| arg.ty.clone()).collect();
        if let Some((fitting, result)) = self.cel.inference.overload(overloads, &seen) {
            // `size` of a value whose type is open is that of whatever it turns out to be, as in cel-go.
            let open = functions::any(rows, |row| row.counts_elements) && !given.iter().all(is_static);
            let chosen: Vec<FunctionId> = match open {
                true => rows.to_vec(),
                false => fitting.iter().filter_map(|at| rows.get(*at).copied()).collect(),
            };
            let ty = self.cel.inference.resolve(&result);
            let follows = chosen.iter().any(|id| mentions_variable(&id.def().result));
            if follows && !given.iter().all(is_static) {
                self.cel.doubts.doubt();
            }
            let args = self.as_cel_go_takes(&chosen, args);
            let made = self.cel_call_of(&chosen, args, &given, ty, span);
            let validated = self.validated(&chosen, written, made);
            return validated.unwrap_or_else(|unknown| unknown);
        }
        if !self.further_functions(&name.text, method).is_empty() {
            return self.of_policies(name, method, args, span);
        }
        self.cel_no_overload(name, method, rows, &given, &args, span)
    }

    /// The arguments of functions where cel-go looks at them before the function does: a constant pattern is matched with
    /// whatever is a text in Go, and where one overload is left the cost of some calls is counted, which stops the
    /// evaluation where there is not a list.
    fn as_cel_go_takes(&mut self, chosen: &[FunctionId], mut args: Vec<Expr>) -> Vec<Expr> {
        let Some(def) = chosen.first().map(|id| id.def()).filter(|_| !self.has_row(Row::Faults)) else {
            return args;
        };
        let pattern = |args: &[Expr]| args.get(1).and_then(folded).is_some_and(|of| of.as_str().is_some());
        let wrapped = |checker: &Self, operation: Operation, arg: Expr| {
            let (ty, span) = (arg.ty.clone(), arg.span);
            checker.dynamic_node(operation, vec![arg], ty, span)
        };
        if def.matches_pattern() && pattern(&args) && !is_static(&self.ty(&args[0])) {
            let text = args.remove(0);
            args.insert(0, wrapped(self, Operation::Plain, text));
        }
        if let (Some(at), [_]) = (def.counted_by, chosen)
            && args.get(at).is_some_and(|arg| !self.is_sure(&self.ty(arg)) || can_fail(arg))
        {
            let arg = args.remove(at);
            let list = matches!(def.params.get(at), Some(Ty::List(_)));
            args.insert(at, wrapped(self, Operation::Counted(list), arg));
        }
        args
    }

    /// A function that policies have beside those of CEL. Exact times are given to it as it knows them.
    fn of_policies(&mut self, name: &ast::Name, method: bool, args: Vec<Expr>, span: Span) -> Expr {
        let args = args
            .into_iter()
            .map(|arg| match (arg.kind, self.cel.inference.resolve(&arg.ty)) {
                (ExprKind::Dynamic(Operation::Exact(_), mut inner), _) if inner.len() == 1 => inner.remove(0),
                (kind, ty) => Expr { kind, ty, ..arg },
            })
            .collect();
        let made = self.call_function(name, method, args, span, None);
        self.demand(made, FaultKind::BadArgument)
    }

    /// The node of a call: of the only row that fits where all types are known, else of the row that fits the
    /// values.
    fn cel_call_of(
        &mut self,
        rows: &[FunctionId],
        args: Vec<Expr>,
        given: &[Type],
        ty: Type,
        span: Span,
    ) -> Expr {
        let presence = rows.first().and_then(|id| id.def().presence);
        if matches!(presence, Some(Presence::Or | Presence::TakesOr)) && args.len() == 2 {
            let held = presence == Some(Presence::TakesOr);
            let args = match self.coalesced(held, args, &ty, span) {
                Ok(made) => return made,
                Err(args) => args,
            };
            let made = self.dynamic_node(Operation::OrElse(held), args, ty.clone(), span);
            // What an optional in doubt holds may be a fault.
            return match self.cel.doubts.any() {
                true => self.dynamic_node(Operation::Demand(FaultKind::BadArgument), vec![made], ty, span),
                false => made,
            };
        }
        let known = given.iter().all(|ty| self.is_sure(ty));
        if let ([id], false, Some(constant)) = (rows, known, args.get(1).map(|arg| self.constant_of_cel(arg)))
            && let Some(pattern) = self.large_pattern(*id, Some(&constant))
        {
            let (call, ty) = (ExprKind::Call(*id, args, Arc::new(pattern)), ty.optional());
            let call = self.make(call, ty, span);
            return self.demand(call, FaultKind::NoSuchOverload);
        }
        let ([id], true) = (rows, known) else {
            return self.dynamic_node(Operation::Call(rows.into()), args, ty, span);
        };
        let sized = id.def().counts_elements && self.has_row(Row::Sizes);
        let id = if sized { self.row_of_policies(*id, given) } else { *id };
        let def = id.def();
        let prepared = match def.prepare {
            None => Prepared::Nothing,
            Some(prepare) => {
                let constants: Vec<_> = args.iter().map(|arg| self.constant_of_cel(arg)).collect();
                let made = match self.has_row(Row::Patterns) {
                    true => self.prepared(id, &prepare, &constants, span),
                    false => Some((prepare.make)(&constants)),
                };
                self.incomplete |= made.is_none();
                match made {
                    Some(Ok(prepared)) => prepared,
                    Some(Err(_)) if let Some(pattern) = self.large_pattern(id, constants.get(1)) => pattern,
                    // Prepared, or refused, when the values are known.
                    _ => return self.dynamic_node(Operation::Call(rows.into()), args, ty, span),
                }
            }
        };
        let converts = def.makes_float() && given.iter().all(|ty| matches!(ty, Type::Int | Type::Uint));
        let range = match (def.range, &ty) {
            (_, Type::Float) if converts => args.first().map_or(Range::None, |arg| arg.range.widen()),
            (_, Type::Float) => Range::None,
            (Some(range), _) if def.dialects.policy => {
                let ranges: Vec<_> = args.iter().map(|arg| arg.range).collect();
                type_range(&ty).intersect(range(&ranges))
            }
            _ => with_held(type_range(&ty), def, &args),
        };
        let may_fail = match def.absent {
            Absence::Never | Absence::Taken => false,
            Absence::Maybe => true,
            Absence::Unless(has_value) => !has_value(&args.iter().map(|arg| arg.range).collect::<Vec<_>>()),
        };
        let ty = if may_fail { ty.optional() } else { ty };
        // `hasValue` proves it: where the optional has no error, both have a value.
        let held = def.presence == Some(Presence::Takes) && !args.iter().any(can_fail);
        let call = self.with_range(ExprKind::Call(id, args, Arc::new(prepared)), ty, range, span);
        // A condition around it may be an error too: then it shows nothing about an error here.
        let call = if may_fail && !held { call } else { self.narrowed(call) };
        self.demand(call, FaultKind::BadArgument)
    }

    /// A pattern that is too large for a policy.
    fn large_pattern(&self, id: FunctionId, constant: Option<&Option<Constant>>) -> Option<Prepared> {
        if !id.def().matches_pattern() || self.has_row(Row::Patterns) {
            return None;
        }
        let text = constant.and_then(Option::as_ref).and_then(|of| of.as_str().map(str::to_owned))?;
        if functions::Pattern::compile(&text).is_ok() {
            return None;
        }
        functions::Pattern::compile_large(&text).ok().map(|pattern| Prepared::Pattern(Arc::new(pattern)))
    }

    /// `optional.ofValid(E)`: the value of E as an optional, empty where E has none or is a fault.
    fn cel_valid(&mut self, call: &ast::MethodCall, span: Span) -> Expr {
        let [ast::Arg { name: None, value }] = call.args.as_slice() else {
            self.mistake(&codes::WRONG_ARGUMENTS, span, "`optional.ofValid` takes one value", "");
            return self.unknown(span);
        };
        let value = self.expr(value, None);
        if self.ty(&value).is_unknown() {
            return self.unknown(span);
        }
        let value = self.valid(value);
        let value = match value.ty.present() {
            Type::Duration => self.exact_or_absent(value, CelType::Duration),
            Type::Time => self.exact_or_absent(value, CelType::Timestamp),
            _ => value,
        };
        self.wrapped(value, span)
    }

    /// The value of an expression, absent where it has none or is a fault: as the policy language has it where that
    /// leaves nothing that may fail.
    pub(super) fn valid(&mut self, value: Expr) -> Expr {
        let plain = self.that_may_be_absent(value.clone());
        if !self.numbering().may_fail(&plain) {
            return plain;
        }
        let (ty, range, span) = (self.ty(&value).optional(), value.range, value.span);
        self.with_range(ExprKind::Dynamic(Operation::Valid, vec![value]), ty, range, span)
    }

    pub(super) fn exact_or_absent(&self, value: Expr, form: CelType) -> Expr {
        let (ty, span) = (Type::Cel(form), value.span);
        let of = if value.ty.is_optional() { ty.clone().optional() } else { ty.clone() };
        self.make(ExprKind::Dynamic(Operation::Exact(ty), vec![value]), of, span)
    }

    /// The expression as the policy language has it: what has no value is absent.
    fn that_may_be_absent(&mut self, expr: Expr) -> Expr {
        let Expr { kind, ty, range, span } = expr;
        match kind {
            ExprKind::Dynamic(Operation::Demand(_) | Operation::Exact(_), mut inner) if inner.len() == 1 => {
                self.that_may_be_absent(inner.remove(0))
            }
            // A field of an object of which no type is known.
            ExprKind::Dynamic(Operation::Select(name), mut inner)
                if inner.len() == 1 && inner.iter().all(|object| self.ty(object) == Type::Dyn) =>
            {
                let object = self.that_may_be_absent(inner.remove(0));
                Expr {
                    kind: ExprKind::ApiField(Box::new(object), name),
                    ty: Type::Dyn.optional(),
                    range,
                    span,
                }
            }
            // What an optional of a looked up object holds.
            ExprKind::Dynamic(Operation::Call(rows), args)
                if args.len() == 1 && rows.iter().all(|id| id.def().presence == Some(Presence::Takes)) =>
            {
                let held = args.first().map(|of| self.ty(of));
                match (rows.first(), held) {
                    (Some(row), Some(Type::CelOptional(held))) => {
                        let kind = ExprKind::Call(*row, args, Arc::new(Prepared::Nothing));
                        Expr { kind, ty: (*held).clone().optional(), range, span }
                    }
                    _ => Expr { kind: ExprKind::Dynamic(Operation::Call(rows), args), ty, range, span },
                }
            }
            ExprKind::Field(object, field) => {
                let object = self.that_may_be_absent(*object);
                let ty = if object.ty.is_optional() { ty.optional() } else { ty };
                Expr { kind: ExprKind::Field(Box::new(object), field), ty, range, span }
            }
            ExprKind::ApiField(object, field) => {
                let object = self.that_may_be_absent(*object);
                let ty = if object.ty.is_optional() { ty.optional() } else { ty };
                Expr { kind: ExprKind::ApiField(Box::new(object), field), ty, range, span }
            }
            ExprKind::Index(object, index) => {
                let object = self.that_may_be_absent(*object);
                Expr { kind: ExprKind::Index(Box::new(object), index), ty: ty.optional(), range, span }
            }
            ExprKind::Conditional(condition, then, otherwise) => {
                let then = self.that_may_be_absent(*then);
                let otherwise = self.that_may_be_absent(*otherwise);
                let may = then.ty.is_optional() || otherwise.ty.is_optional();
                let ty = if may { ty.optional() } else { ty };
                let kind = ExprKind::Conditional(condition, Box::new(then), Box::new(otherwise));
                Expr { kind, ty, range, span }
            }
            ExprKind::Call(id, mut args, prepared) => {
                let takes = id.def().params.first().is_some_and(|ty| matches!(ty, Ty::Optional(_)));
                // A row of CEL alone says itself why it has no value; the row of policies is absent.
                let alone = !id.def().dialects.policy && ty.is_optional();
                let known = !functions::named(id.def().name, id.def().method).is_empty();
                if args.is_empty() || !(alone && known || takes) {
                    return Expr { kind: ExprKind::Call(id, args, prepared), ty, range, span };
                }
                let first = args.remove(0);
                let first = self.that_may_be_absent(first);
                args.insert(0, first);
                let name = ast::Name { text: id.def().name.into(), span };
                self.call_function(&name, id.def().method, args, span, None)
            }
            kind => Expr { kind, ty, range, span },
        }
    }

    /// `m[?k].orValue(d)` and `a.?f.orValue(d)` of known types: `m[k] ?? d`. Gives the arguments back where it is more.
    fn coalesced(&mut self, held: bool, args: Vec<Expr>, ty: &Type, span: Span) -> Result<Expr, Vec<Expr>> {
        let Ok([optional, other]) = <[Expr; 2]>::try_from(args) else { return Err(Vec::new()) };
        let fits = held && self.is_sure(ty) && self.ty(&other) == *ty;
        match optional.kind {
            ExprKind::Call(function, mut inner, _)
                if fits
                    && function.def().presence == Some(Presence::Wraps)
                    && matches!(inner.as_slice(), [inner] if inner.ty == ty.clone().optional()) =>
            {
                let inner = inner.remove(0);
                let range = inner.range.union(other.range);
                let kind = ExprKind::Coalesce(Box::new(inner), Box::new(other));
                Ok(self.with_range(kind, ty.clone(), range, span))
            }
            kind => Err(vec![Expr { kind, ..optional }, other]),
        }
    }

    /// The row of the policy language for arguments that a row of CEL takes; that row itself where there is none.
    fn row_of_policies(&mut self, id: FunctionId, given: &[Type]) -> FunctionId {
        let rows = functions::named(id.def().name, id.def().method);
        let overloads = rows.iter().map(|row| (row.def().params, row.def().repeats, &row.def().result));
        let found = self.cel.inference.overload(overloads, given);
        match found.as_ref().map(|(fitting, _)| fitting.as_slice()) {
            Some([at]) => rows.get(*at).copied().unwrap_or(id),
            _ => id,
        }
    }

    fn cel_no_overload(
        &mut self,
        name: &ast::Name,
        method: bool,
        rows: &[FunctionId],
        given: &[Type],
        args: &[Expr],
        span: Span,
    ) -> Expr {
        if rows.is_empty() {
            let elsewhere = !self.functions(&name.text, !method).is_empty();
            let help = match (elsewhere, method, args.first()) {
                (true, false, Some(first)) => {
                    format!("it is a method: `{}.{}(…)`", self.excerpt(first.span), name.text)
                }
                (true, true, Some(first)) => {
                    format!("it is a function: `{}({}…)`", name.text, self.excerpt(first.span))
                }
                _ => {
                    let known = self.cel_names(method);
                    let near = self.nearest(&name.text, known);
                    near.map(|near| format!("did you mean `{near}`?")).unwrap_or_default()
                }
            };
            let message =
                format!("CEL has no {} `{}`", if method { "method" } else { "function" }, name.text);
            return self.cel_mistake(&codes::UNKNOWN_FUNCTION, name.span, message, help);
        }
        let shown: Vec<String> = given.iter().map(|ty| format!("`{}`", self.shown(ty))).collect();
        let message = match (method, shown.split_first()) {
            (true, Some((first, rest))) => {
                format!("`{}` of {first} does not take ({})", name.text, rest.join(", "))
            }
            _ => format!("`{}` does not take ({})", name.text, shown.join(", ")),
        };
        let forms: Vec<String> =
            rows.iter().map(|id| id.def().signature()).filter(|text| !text.is_empty()).take(4).collect();
        let help = format!("it is `{}`", forms.join("`, `"));
        self.cel_mistake(&codes::WRONG_ARGUMENTS, span, message, help)
    }

    /// Every name of a function or method of this CEL.
    fn cel_names(&self, method: bool) -> Vec<&'static str> {
        let has = |row: &functions::FunctionDef| {
            row.dialects.kubernetes
                || row.dialects.policy && self.has_row(Row::Functions)
                || row.dialects.devices && self.has_row(Row::Includes)
                || row.dialects.newer && self.has_row(Row::Lists)
        };
        let rows = functions::FUNCTIONS.iter().flat_map(|family| family.iter());
        rows.filter(|row| row.method == method && has(row)).map(|row| row.name).collect()
    }
}

/// Whether a type of a row depends on the arguments.
fn mentions_variable(ty: &Ty) -> bool {
    match ty {
        Ty::Var(_) | Ty::Number(_) | Ty::Ordered(_) => true,
        Ty::List(of) | Ty::CelOptional(of) | Ty::Optional(of) => mentions_variable(of),
        Ty::Map(key, value) => mentions_variable(key) || mentions_variable(value),
        _ => false,
    }
}
