//! A text in the other language, and why a part of it has no twin there.

use super::{document, language, literals, meaning};
use crate::Given;
use crate::analysis::cost::Size;
use crate::analysis::faults;
use crate::check;
use crate::check::dialect::{exact_range, finite_range};
use crate::eval::budget::Budget;
use crate::exceptions::Outside;
use crate::language::functions::Conversion;
use crate::schemas::Schemas;
use crate::syntax;
use crate::syntax::ast::{self, Text};
use crate::typed::walk;
use crate::typed::{self, ArithmeticOp, ExprKind, Policy};
use crate::types::range::Range;
use crate::types::value::{Constant, Value};
use crate::types::{Ty, Type};
use crate::uses;
use bayplan_diag::{Diagnostic, Form, Source, SourceMap, Span, codes};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::Cell;

/// A part that the other language cannot say.
#[derive(Clone, Debug)]
pub struct NoTwin {
    /// Where it is.
    pub span: Span,
    /// Why.
    pub why: String,
    /// What to write, where that is known.
    pub help: Option<String>,
}

impl NoTwin {
    pub(super) fn new(span: Span, why: impl Into<String>) -> Self {
        NoTwin { span, why: why.into(), help: None }
    }

    pub(super) fn with_help(self, help: impl Into<String>) -> Self {
        NoTwin { help: Some(help.into()), ..self }
    }

    /// The reason as a diagnostic.
    pub fn diagnostic(&self) -> Diagnostic {
        let said = Diagnostic::new(&codes::NO_TWIN, self.span, &self.why);
        match &self.help {
            Some(help) => said.with_help(help),
            None => said,
        }
    }
}

/// A policy text in the other language.
#[derive(Clone, Debug)]
pub struct Converted {
    /// The text.
    pub text: String,
    /// What differs for numbers at the end of their range alone: the policy language stops there, and CEL ends with an error.
    pub remarks: Vec<NoTwin>,
}

/// A policy text in the other language, or everything that has no twin. The text compiles for what is given, and was read
/// again: it means the same. The text that is converted has no mistake.
pub fn convert_given(source: &Source, given: Given<'_>) -> Result<Converted, Vec<NoTwin>> {
    let (file, _) = syntax::parse(source);
    if file.policies().next().is_none() {
        let why = "the text has no policy: `def` and `type` are written out where a policy uses them";
        return Err(vec![NoTwin::new(source.span().at_start(), why)]);
    }
    let used = uses::load(source, &file, given.sources, &mut Vec::new()).unwrap_or_default();
    let policies = checked(source, &file, given);
    let mut remarks = Vec::new();
    let mut types = Types::of(&policies);
    let text = match source.form() {
        Form::Language => {
            remarks.extend(std::mem::take(&mut types.at_the_end));
            document::write(source, (&file, &used), &types)?
        }
        Form::Document => {
            remarks = without_errors(&policies)?;
            language::write(source, &file, &types)?
        }
    };
    let unknown = types.unknown.take();
    if !unknown.is_empty() {
        let why =
            "nothing is known of the value of this, which is never evaluated: remove what never decides";
        return Err(unknown.into_iter().map(|span| NoTwin::new(span, why)).collect());
    }
    confirm((source, &policies), &text, given, &mut remarks)?;
    remarks.sort_by_key(|of| (of.span.start, of.span.end));
    remarks.dedup_by_key(|of| of.span);
    Ok(Converted { text, remarks })
}

/// The text of a source alone, for a cluster of a declared size.
pub fn convert_for(source: &Source, size: Size) -> Result<String, Vec<NoTwin>> {
    let schemas = Schemas::default();
    let given =
        Given { size, schemas: &schemas, arguments: &|_| Vec::new(), sources: None, exceptions: None };
    convert_given(source, given).map(|converted| converted.text)
}

/// What may fail in CEL has a value in the policy language: that is another meaning. Errors at the end of a range are what
/// remains.
pub(super) fn without_errors(policies: &[Policy]) -> Result<Vec<NoTwin>, Vec<NoTwin>> {
    let mut said = Vec::new();
    policies.iter().for_each(|policy| faults::check(policy, &mut said));
    let at_the_end: Vec<Span> = policies
        .iter()
        .flat_map(meaning::may_fail)
        .filter(|of| of.at_the_end_of_a_range)
        .map(|of| of.span)
        .collect();
    let (remarks, without): (Vec<Diagnostic>, Vec<Diagnostic>) =
        said.into_iter().partition(|said| at_the_end.contains(&said.span));
    let no_twin = |said: Diagnostic| NoTwin {
        help: said.help,
        ..NoTwin::new(said.span, "this may end with an error in CEL only")
    };
    match without.is_empty() {
        true => Ok(remarks.into_iter().map(|said| NoTwin::new(said.span, LEAVES)).collect()),
        false => Err(without.into_iter().map(no_twin).collect()),
    }
}

/// The policies of a text as the checker leaves them: no constant is folded, and params may have any value.
pub(super) fn checked(source: &Source, file: &ast::File, given: Given<'_>) -> Vec<Policy> {
    let mut said = Vec::new();
    let Some(used) = uses::load(source, file, given.sources, &mut said) else { return Vec::new() };
    let outside = Outside::default().with(file, source);
    let input = check::Input { file, source, used: &used, schemas: given.schemas, outside: &outside };
    check::check_for_any_arguments(input, &Budget::default(), &mut said)
}

/// Reads what was written: it compiles, nothing in it may fail, and it means what it was made of.
pub(super) fn confirm(
    (source, policies): (&Source, &[Policy]),
    text: &str,
    given: Given<'_>,
    remarks: &mut Vec<NoTwin>,
) -> Result<(), Vec<NoTwin>> {
    let mut sources = SourceMap::new();
    let name = if source.form() == Form::Language { "converted.yaml" } else { "converted.bay" };
    let id = sources.add(name, text);
    let Some(new) = sources.get(id) else { return Ok(()) };
    let given = Given { sources: None, exceptions: None, ..given };
    let (_, said) = crate::compile_given(new, given);
    let at = |span: Span| {
        let name = named_before(text, span.range().start);
        name.and_then(|name| statement_named(source, name)).unwrap_or_else(|| source.span().at_start())
    };
    if let Some(error) = said.into_iter().find(Diagnostic::is_error) {
        let why = format!("the other language refuses what this would be: {}", error.message);
        let help = format!("it would be `{}`", sources.text(error.span));
        return Err(vec![NoTwin::new(at(error.span), why).with_help(help)]);
    }
    let (file, _) = syntax::parse(new);
    let made = checked(new, &file, given);
    let mut without = Vec::new();
    for of in made.iter().filter(|policy| policy.cel).flat_map(meaning::may_fail) {
        match of.at_the_end_of_a_range {
            true if remarks.is_empty() => remarks.push(NoTwin::new(at(of.span), LEAVES)),
            true => {}
            false => {
                let why =
                    "in CEL this may end with an error, and in the policy language it has a value or none";
                let help = format!("it would be `{}`", sources.text(of.span));
                without.push(NoTwin::new(at(of.span), why).with_help(help));
            }
        }
    }
    if policies.len() != made.len() {
        let why = "the other language reads other policies in what this would be";
        without.push(NoTwin::new(source.span().at_start(), why));
    }
    for (policy, made) in policies.iter().zip(&made) {
        if let Some((part, span)) = meaning::difference(policy, made) {
            let why = format!("this would mean something else in the other language ({part})");
            let help = "compared with what would be written, this part is not known to be the same: write it in a \
                        simpler form, or rename what has a name of the other language, such as `variables`";
            without.push(NoTwin::new(span, why).with_help(help));
        }
    }
    if without.is_empty() { Ok(()) } else { Err(without) }
}

/// The name of the item of a document that has a byte.
pub(super) fn named_before(document: &str, at: usize) -> Option<&str> {
    let line_end = document.get(at..).and_then(|rest| rest.find('\n')).map_or(document.len(), |end| at + end);
    let lines = document.get(..line_end)?.lines().rev();
    let name = lines.map(str::trim_start).find_map(|line| line.strip_prefix("- name: "))?;
    Some(name.trim_matches(['"', '\'']))
}

/// The keyword and the name of the statement of the policy language with this name.
pub(super) fn statement_named(source: &Source, name: &str) -> Option<Span> {
    let parts = |text: &str| {
        let (keyword, rest) = text.split_once(' ')?;
        let end = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-'))).unwrap_or(rest.len());
        (rest.get(..end) == Some(name)).then_some(keyword.len() + 1 + end)
    };
    crate::statements(source).into_iter().find_map(|span| {
        let text = source.text().get(span.range())?;
        let start = span.start as usize;
        parts(text).map(|end| Span::new(span.source, start, start + end))
    })
}

/// What the checker knows of expressions, by their places.
#[derive(Default)]
pub(super) struct Types {
    pub(super) absent: FxHashMap<Span, bool>,
    /// Whether values of lets may be absent, wherever a condition shows that they are there.
    lets: FxHashMap<Span, bool>,
    /// Whole numbers that are widened to floats.
    pub(super) widened: FxHashSet<Span>,
    /// Whole numbers that are widened to floats, and constants that are floats.
    pub(super) floats: FxHashSet<Span>,
    /// Constant amounts as literals of the policy language: quantities of CEL beside a unit.
    pub(super) amounts: FxHashMap<Span, String>,
    /// Values of which CEL knows the equality as optionals: texts, bools and ints.
    pub(super) simple: FxHashSet<Span>,
    /// Values of keys of maps and names of resources, of which `in` asks for the key.
    pub(super) keyed: FxHashSet<Span>,
    /// Divisors, each with the 0 of its type.
    pub(super) divisors: FxHashMap<Span, &'static str>,
    /// What CEL computes otherwise, and how.
    pub(super) differing: FxHashMap<Span, &'static str>,
    /// What it computes otherwise from unknown numbers, if they are at the end of their range.
    at_the_end: Vec<NoTwin>,
    /// The defaults of params.
    pub(super) defaults: FxHashMap<Text, (Constant, Type)>,
    /// Places that might be absent and about which nothing is known.
    unknown: Cell<Vec<Span>>,
}

/// The result of whole numbers stops at the end of the range, and CEL's is an error.
pub(super) const LEAVES: &str = "the result may leave the range of its type: the policy language stops at the end there, and CEL ends \
                      with an error; `clamp` the operands, or compare them with a bound first";

pub(super) const INFINITE: &str = "the result may leave the range of floats: the policy language stops at the end there, and CEL's \
                        becomes infinite; `clamp` the operands, or compare them with a bound first";

pub(super) const DURATIONS: &str = "CEL does not multiply, divide or negate durations";

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
                let sides: [(&typed::Expr, Range); 2] = [(left, left.range), (right, right.range)];
                match differing(*op, ty, sides.map(|(of, range)| (of, likely(range)))) {
                    Some(why) => drop(self.differing.insert(span, why)),
                    None => {
                        let why = differing(*op, ty, sides);
                        self.at_the_end.extend(why.map(|why| NoTwin::new(span, why)));
                    }
                }
            }
            ExprKind::Negate(of) => {
                let smallest = matches!(of.range, Range::Whole { lo, .. } if lo <= i64::MIN.into());
                match ty {
                    Type::Duration => drop(self.differing.insert(span, DURATIONS)),
                    Type::Int if smallest => self.at_the_end.push(NoTwin::new(span, LEAVES)),
                    _ => {}
                };
            }
            // `int` of a float or uint stops at the ends too.
            ExprKind::Call(function, args, _)
                if function.def().conversion() == Some(Conversion::Number)
                    && function.def().result == Ty::Int =>
            {
                let number = args.first().filter(|arg| matches!(arg.ty.present(), Type::Float | Type::Uint));
                let unknown =
                    |range| matches!(range, Range::Real { lo, hi, .. } if lo == f64::MIN && hi == f64::MAX);
                match number.map(|arg| arg.range) {
                    Some(range) if range.within(-9.2e18, 9.2e18) => {}
                    Some(range) if unknown(range) => self.at_the_end.push(NoTwin::new(span, LEAVES)),
                    Some(_) => drop(self.differing.insert(span, LEAVES)),
                    None => {}
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
    pub(super) fn let_may_be_absent(&self, value: &ast::Expr) -> bool {
        self.lets.get(&value.span).copied().unwrap_or_else(|| self.may_be_absent(value))
    }

    /// Brackets have the place of what they are around.
    pub(super) fn may_be_absent(&self, expr: &ast::Expr) -> bool {
        match (self.absent.get(&expr.span), &expr.kind) {
            (Some(absent), _) => *absent,
            (None, ast::ExprKind::Paren(inner)) => self.may_be_absent(inner),
            (None, ast::ExprKind::Literal(literal)) => *literal == ast::Literal::None,
            (None, _) => {
                let mut unknown = self.unknown.take();
                unknown.push(expr.span);
                self.unknown.set(unknown);
                false
            }
        }
    }
}

/// A range without its ends where they are those of the type: of such a number nothing is known, and it is likely to be
/// far from them.
pub(super) fn likely(range: Range) -> Range {
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

/// Why CEL computes something else than the policy language of operands in these ranges.
pub(super) fn differing(
    op: ArithmeticOp,
    ty: &Type,
    [(left, a), (right, b)]: [(&typed::Expr, Range); 2],
) -> Option<&'static str> {
    let additive = matches!(op, ArithmeticOp::Add | ArithmeticOp::Subtract);
    let durations = [left, right].iter().any(|side| *side.ty.present() == Type::Duration);
    match ty {
        _ if durations && !additive => Some(DURATIONS),
        Type::Int => {
            let (lo, hi) = exact_range(op, a, b)?;
            let fits = lo >= i64::MIN.into() && hi <= i64::MAX.into();
            (!fits).then_some(LEAVES)
        }
        Type::Uint if op == ArithmeticOp::Subtract => Some(LEAVES),
        Type::Float if left.ty.present().is_unit() || right.ty.present().is_unit() => None,
        Type::Float => {
            // A divisor near 0 is tested as one that is 0.
            let divisor = if op.divides() { Range::real(1e-100, 1e100) } else { b };
            finite_range(op, a, divisor).is_none().then_some(INFINITE)
        }
        _ => None,
    }
}
