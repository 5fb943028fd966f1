//! Policies from the policy language to documents and back, for `bayplan convert`.
//!
//! A policy is converted from its tree, with the types of its checked form where the two languages differ. What has
//! no twin is a [`NoTwin`]; the caller writes nothing then. The caller compiles the result before it writes it.
//!
//! - `expressions.rs` writes expressions in either language, `literals.rs` their literals
//! - `absent.rs` says in CEL what the policy language means where a value may be absent
//! - `document.rs` writes documents, `yaml.rs` their scalars; `language.rs` writes the policy language
//! - `remarks.rs` keeps comments with the statements below them

mod absent;
mod document;
mod expressions;
mod language;
mod literals;
mod remarks;
mod yaml;

use super::check::dialect::{exact_range, finite_range};
use super::syntax;
use super::syntax::ast::{self, Text};
use super::typed::{self, ArithmeticOp, ExprKind, Policy};
use super::uses;
use crate::diag::{Diagnostic, Form, Source, SourceMap, Span, codes};
use crate::lang::typed::walk;
use crate::lang::types::Type;
use crate::lang::types::range::Range;
use crate::lang::types::value::{Constant, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// A part that the other language cannot say.
#[derive(Clone, Debug)]
pub struct NoTwin {
    /// Where it is.
    pub span: Span,
    /// Why.
    pub why: String,
}

impl NoTwin {
    fn new(span: Span, why: impl Into<String>) -> Self {
        NoTwin { span, why: why.into() }
    }

    /// The same as a diagnostic.
    pub fn diagnostic(&self) -> Diagnostic {
        Diagnostic::new(&codes::NO_TWIN, self.span, &self.why)
    }
}

/// A policy text in the other language, or everything that has no twin. The text must compile.
pub fn convert(source: &Source, policies: &[Policy]) -> Result<String, Vec<NoTwin>> {
    convert_with(source, policies, None)
}

/// The same of a text that uses others, which are among the sources: their defs are written out.
pub fn convert_with(
    source: &Source,
    policies: &[Policy],
    sources: Option<&SourceMap>,
) -> Result<String, Vec<NoTwin>> {
    let (file, _) = syntax::parse(source);
    let types = Types::of(policies);
    let used = uses::load(source, &file, sources, &mut Vec::new()).unwrap_or_default();
    match source.form() {
        Form::Language => document::write(source, (&file, &used), &types),
        Form::Document => language::write(source, &file, &types),
    }
}

/// What the checker knows of expressions, by their places.
#[derive(Debug, Default)]
struct Types {
    absent: FxHashMap<Span, bool>,
    /// The same of the values of lets, wherever a condition shows that they are there.
    lets: FxHashMap<Span, bool>,
    /// Whole numbers that are widened to floats.
    widened: FxHashSet<Span>,
    /// The same, and constants that are floats.
    floats: FxHashSet<Span>,
    /// Constant amounts as literals of the policy language: quantities of CEL beside a unit.
    amounts: FxHashMap<Span, String>,
    /// Values of which CEL knows the equality as optionals: texts, bools and ints.
    simple: FxHashSet<Span>,
    /// Values of keys of maps and names of resources, of which `in` asks for the key.
    keyed: FxHashSet<Span>,
    /// Divisors, each with the 0 of its type.
    divisors: FxHashMap<Span, &'static str>,
    /// What CEL computes otherwise, and how.
    differing: FxHashMap<Span, &'static str>,
    /// The defaults of params.
    defaults: FxHashMap<Text, (Constant, Type)>,
}

/// The result of whole numbers stops at the end of the range, and CEL's is an error.
const LEAVES: &str = "the result may leave the range of its type: the policy language stops at the end there, and CEL ends \
                      with an error; `clamp` the operands, or compare them with a bound first";
const INFINITE: &str = "the result may leave the range of floats: the policy language stops at the end there, and CEL's \
                        becomes infinite; `clamp` the operands, or compare them with a bound first";
const DURATIONS: &str = "CEL does not multiply, divide or negate durations";

impl Types {
    fn of(policies: &[Policy]) -> Self {
        let mut types = Types::default();
        for policy in policies {
            policy.for_each_expr(&mut |whole| types.note(whole));
            for of in &policy.lets {
                types.note(&of.value);
                let may = types.lets.entry(of.value.span).or_default();
                *may = *may || of.value.ty.is_optional();
            }
            policy.defs.iter().for_each(|def| types.note(&def.body));
            for param in &policy.params {
                types.defaults.insert(param.name.clone(), (param.default.clone(), param.ty.clone()));
            }
        }
        types
    }

    fn note(&mut self, expr: &typed::Expr) {
        // Where a value was shown to be there, a node with the same place says so.
        let absent = expr.ty.is_optional();
        let (span, ty) = (expr.span, expr.ty.present());
        match &expr.kind {
            ExprKind::Widen(inner) if inner.span == span => {
                self.widened.insert(span);
                self.floats.insert(span);
            }
            ExprKind::Constant(Value::Float(_)) => {
                self.floats.insert(span);
            }
            ExprKind::Constant(Value::Int(amount)) => {
                self.amounts.extend(literals::amount(*amount, &expr.ty).map(|literal| (span, literal)));
            }
            ExprKind::Index(object, _) if !matches!(object.ty.present(), Type::List(_)) => {
                self.keyed.insert(span);
            }
            ExprKind::Resource(..) => {
                self.keyed.insert(span);
            }
            ExprKind::Arithmetic(op, left, right) => {
                if op.divides() {
                    let zero = match right.ty.present() {
                        Type::Float => "0.0",
                        Type::Uint => "0u",
                        _ => "0",
                    };
                    self.divisors.insert(right.span, zero);
                }
                self.differing.extend(differing(*op, ty, left, right).map(|why| (span, why)));
            }
            ExprKind::Negate(of) => {
                let smallest = matches!(likely(of.range), Range::Whole { lo, .. } if lo <= i64::MIN.into());
                match ty {
                    Type::Duration => self.differing.insert(span, DURATIONS),
                    Type::Int if smallest => self.differing.insert(span, LEAVES),
                    _ => None,
                };
            }
            // `int` of a float or uint stops at the ends too.
            ExprKind::Call(function, args, _) if function.def().name == "int" => {
                let number = args.first().filter(|arg| matches!(arg.ty.present(), Type::Float | Type::Uint));
                if number.is_some_and(|arg| !int_holds(arg.range)) {
                    self.differing.insert(span, LEAVES);
                }
            }
            _ => {}
        }
        if matches!(ty, Type::String | Type::Bool | Type::Int) {
            self.simple.insert(span);
        }
        self.absent.entry(span).and_modify(|known| *known &= absent).or_insert(absent);
        walk::each_part(expr, &mut |part| self.note(part));
    }

    /// Whether the value of a let may be absent.
    fn let_may_be_absent(&self, value: &ast::Expr) -> bool {
        self.lets.get(&value.span).copied().unwrap_or_else(|| self.may_be_absent(value))
    }

    /// Brackets have the place of what they are around.
    fn may_be_absent(&self, expr: &ast::Expr) -> bool {
        match (self.absent.get(&expr.span), &expr.kind) {
            (Some(absent), _) => *absent,
            (None, ast::ExprKind::Paren(inner)) => self.may_be_absent(inner),
            (None, _) => false,
        }
    }
}

/// A range without its ends where they are those of the type: of such a number nothing is known, and it is taken to be
/// far from them. A document whose rule fails beyond 64 bits is named by the lint `may-fail`.
fn likely(range: Range) -> Range {
    match range {
        Range::Whole { lo, hi, nonzero } => {
            let lo = if lo <= i64::MIN.into() { -(1 << 31) } else { lo };
            let hi = if hi >= i64::MAX.into() { lo.max(1 << 31) } else { hi };
            Range::Whole { lo: lo.min(hi), hi, nonzero }
        }
        Range::Real { lo, hi, nonzero } => {
            let lo = if lo == f64::MIN { -1e100 } else { lo };
            let hi = if hi == f64::MAX { lo.max(1e100) } else { hi };
            Range::Real { lo: lo.min(hi), hi, nonzero }
        }
        Range::None => Range::None,
    }
}

/// Whether `int` of these numbers is in its range.
fn int_holds(range: Range) -> bool {
    match range {
        Range::Real { lo, hi, .. } if lo == f64::MIN && hi == f64::MAX => true,
        range => range.within(-9.2e18, 9.2e18),
    }
}

/// Why CEL computes something else than the policy language.
fn differing(op: ArithmeticOp, ty: &Type, left: &typed::Expr, right: &typed::Expr) -> Option<&'static str> {
    let additive = matches!(op, ArithmeticOp::Add | ArithmeticOp::Subtract);
    let durations = [left, right].iter().any(|side| *side.ty.present() == Type::Duration);
    match ty {
        _ if durations && !additive => Some(DURATIONS),
        Type::Int => {
            let (lo, hi) = exact_range(op, likely(left.range), likely(right.range))?;
            let fits = lo >= i64::MIN.into() && hi <= i64::MAX.into();
            (!fits).then_some(LEAVES)
        }
        Type::Uint if op == ArithmeticOp::Subtract => Some(LEAVES),
        Type::Float if left.ty.present().is_unit() || right.ty.present().is_unit() => None,
        Type::Float => {
            // A divisor near 0 is tested as one that is 0.
            let divisor = if op.divides() { Range::real(1e-100, 1e100) } else { likely(right.range) };
            finite_range(op, likely(left.range), divisor).is_none().then_some(INFINITE)
        }
        _ => None,
    }
}
