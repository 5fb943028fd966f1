//! [`ExprLanguage`]: what the policy language and CEL decide differently about an expression.
//!
//! The checker calls [`Checker::cel_expr`] for an expression of CEL; statements, names, facts, ranges, units
//! and what a place sees are shared. An operation whose outcome is proved becomes the node of the policy
//! language, any other one an [`Operation`](crate::typed::Operation). Types are inferred as cel-go does
//! (`inference.rs`); `literals.rs` holds what Kubernetes validates beyond that.

mod calls;
mod doubts;
mod fields;
mod floats;
mod formats;
mod inference;
mod literals;
mod macros;
mod names;
mod operators;
mod state;
mod statements;

use doubts::Doubts;
use inference::Inference;
pub(super) use literals::call_arguments;
pub(crate) use operators::{exact_range, finite_range};
pub(super) use state::CelState;

use super::Checker;
use crate::language::environments::{Row, Rows};
use crate::language::functions::{self, FunctionId};
use crate::syntax::ast;
use crate::typed::{Expr, ExprKind, Operation};
use crate::types::Type;
use bayplan_diag::{Code, Span, codes};

/// The language of the expressions of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExprLanguage {
    /// The policy language: what compiles has no run-time error.
    Policy,
    /// CEL in an environment: an operation without a value is a fault.
    Cel(Rows),
}

impl Checker<'_> {
    /// Whether the environment of the expressions has a row.
    fn has_row(&self, row: Row) -> bool {
        self.rows().has(row)
    }

    /// The environment of the expressions; the one of Kubernetes where they are not CEL.
    fn rows(&self) -> Rows {
        match self.dialect {
            ExprLanguage::Cel(rows) => rows,
            ExprLanguage::Policy => Rows::KUBERNETES,
        }
    }

    /// The functions of a name.
    fn functions(&self, name: &str, method: bool) -> &'static [FunctionId] {
        match self.has_row(Row::Includes) {
            true if self.has_row(Row::Lists) => functions::named_in_newer_devices(name, method),
            true => functions::named_in_devices(name, method),
            false => functions::named_in_kubernetes(name, method),
        }
    }

    /// The functions of a name beside those of Kubernetes, by the rules of the policy language.
    fn further_functions(&self, name: &str, method: bool) -> &'static [FunctionId] {
        if self.has_row(Row::Functions) { functions::named(name, method) } else { &[] }
    }

    /// An expression of CEL.
    pub(super) fn cel_expr(&mut self, of: &ast::Expr) -> Expr {
        let outer = self.cel.doubts.enter();
        let made = self.cel_expr_of(of);
        self.cel.doubts.leave(outer);
        for (name, span, ty) in self.cel.doubts.reads() {
            if self.names_a_type(&ty) {
                self.named_by_variable(&name, span);
            }
        }
        made
    }

    fn cel_expr_of(&mut self, of: &ast::Expr) -> Expr {
        let span = of.span;
        match &of.kind {
            ast::ExprKind::Literal(literal) => self.literal(literal, span),
            ast::ExprKind::Name(name) => self.cel_name(name, span),
            ast::ExprKind::Paren(inner) => Expr { span, ..self.cel_expr_counted(inner) },
            ast::ExprKind::Call(call) => self.cel_call(call, span),
            ast::ExprKind::Method(call) => self.cel_method(call, span),
            ast::ExprKind::Field(access) => self.cel_field(of, access),
            ast::ExprKind::Index(access) => self.cel_index(access, span),
            ast::ExprKind::Unary(unary) => self.cel_unary(unary, span),
            ast::ExprKind::Binary(binary) => self.cel_binary(binary, span),
            ast::ExprKind::Conditional(of) => self.cel_conditional(of, span),
            ast::ExprKind::List(elements) => self.cel_list(elements, span),
            ast::ExprKind::Map(entries) => self.cel_map(entries, span),
        }
    }

    /// Checks an expression through the entry of all expressions, which counts them.
    fn cel_expr_counted(&mut self, of: &ast::Expr) -> Expr {
        self.expr(of, None)
    }

    /// The type of an expression with all that is known of it.
    fn ty(&self, expr: &Expr) -> Type {
        self.cel.inference.resolve(&expr.ty)
    }

    /// An operation that the values decide.
    fn dynamic_node(&self, operation: Operation, args: Vec<Expr>, ty: Type, span: Span) -> Expr {
        self.make(ExprKind::Dynamic(operation, args), ty, span)
    }

    /// Reports a mistake, and goes on with an expression of which nothing is known.
    fn cel_mistake(
        &mut self,
        code: &'static Code,
        span: Span,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Expr {
        self.mistake(code, span, message, help);
        self.unknown(span)
    }

    /// A value that must be true or false.
    fn cel_condition(&mut self, of: &ast::Expr) -> Expr {
        let expr = self.cel_expr_counted(of);
        self.cel_truth(expr)
    }

    /// A typed expression that must be true or false.
    pub(super) fn cel_truth(&mut self, expr: Expr) -> Expr {
        let ty = self.ty(&expr);
        if self.is_sure(&ty) && ty == Type::Bool || ty.is_unknown() {
            return expr;
        }
        if !self.cel.inference.assign(&Type::Bool, &ty) {
            let message = format!("a condition is true or false, this is `{}`", self.shown(&ty));
            self.mistake(&codes::NOT_A_CONDITION, expr.span, message, "");
            return self.unknown(expr.span);
        }
        let span = expr.span;
        self.dynamic_node(Operation::Truth, vec![expr], Type::Bool, span)
    }

    /// A type as CEL writes it.
    fn shown(&self, ty: &Type) -> String {
        cel_name(&self.cel.inference.resolve(ty))
    }

    /// The type that CEL gives an expression, in the words of cel-go.
    pub(super) fn cel_type_name(&self, expr: &Expr) -> String {
        self.shown(&expr.ty)
    }
}

/// A type in the words of cel-go.
pub(crate) fn cel_name(ty: &Type) -> String {
    match ty {
        Type::Float => "double".to_owned(),
        Type::Blob => "bytes".to_owned(),
        Type::Null => "null_type".to_owned(),
        Type::Unknown | Type::Dyn | Type::Never | Type::Variable(_) => "dyn".to_owned(),
        Type::Quantity => "kubernetes.Quantity".to_owned(),
        Type::List(of) | Type::Set(of) => format!("list({})", cel_name(of)),
        Type::Map(key, value) => format!("map({}, {})", cel_name(key), cel_name(value)),
        Type::CelOptional(of) if **of == Type::Never => "optional_type".to_owned(),
        Type::CelOptional(of) => format!("optional_type({})", cel_name(of)),
        Type::TypeOf(of) => format!("type({})", cel_name(of)),
        other => other.to_string(),
    }
}

/// Whether the type says what values there are: nothing of it is found out when it is evaluated.
fn is_static(ty: &Type) -> bool {
    match ty {
        Type::Dyn | Type::Any | Type::Unknown | Type::Variable(_) | Type::Never => false,
        Type::List(of) | Type::Set(of) | Type::CelOptional(of) | Type::Optional(of) => is_static(of),
        Type::Map(key, value) => is_static(key) && is_static(value),
        _ => true,
    }
}

/// Whether the order and equality of all values are those of CEL: floats know NaN.
fn has_float(ty: &Type) -> bool {
    match ty {
        Type::Float => true,
        Type::List(of) | Type::Set(of) | Type::CelOptional(of) => has_float(of),
        Type::Map(key, value) => has_float(key) || has_float(value),
        _ => false,
    }
}
