//! The ways out of expressions that may fail: for each finding of `may-fail` and `must-not-fail`, the test that
//! has to precede it, with the text of its operands, as a fix where the checker takes it as a proof.
//!
//! Called by `lang::compile` for documents. A comparison with something that is missing does not hold then, as in the
//! policy language; where no condition is around the expression, a missing value is the empty one of its type, and
//! the quotient of 0 is 0. What the checker cannot prove by a test has help and no fix.

use crate::language::functions::{self, Presence};
use crate::language::macros::{self, FormKind};
use crate::syntax::ast::{BinaryOp, Expr, ExprKind, MethodCall};
use crate::syntax::cel;
use crate::syntax::document::Scalar;
use crate::typed::operation::is_source;
use crate::typed::walk::each_part;
use crate::typed::{self, ArithmeticOp, Operation, Policy};
use crate::types::Type;
use crate::types::range::Range;
use crate::types::value::FaultKind;
use bayplan_diag::{Diagnostic, Edit, Embedded, Span, codes};
use rustc_hash::{FxHashMap, FxHashSet};

/// Adds help and fixes to the findings of a document.
pub fn offer(document: &str, scalars: &[Scalar], policies: &[Policy], diagnostics: &mut [Diagnostic]) {
    let ours = |said: &&mut Diagnostic| {
        [codes::MAY_FAIL.id, codes::MUST_NOT_FAIL.id].contains(&said.code.id) && said.fixes.is_empty()
    };
    let mut findings = diagnostics.iter_mut().filter(ours).peekable();
    if findings.peek().is_none() {
        return;
    }
    let known = Known::of(policies);
    let mut scalars: Vec<&Scalar> = scalars.iter().collect();
    scalars.sort_by_key(|scalar| scalar.span().start);
    let mut embedded;
    for said in findings {
        let at = scalars.partition_point(|scalar| scalar.span().start <= said.span.start);
        let around = at.checked_sub(1).and_then(|at| scalars.get(at));
        let Some(scalar) = around.filter(|scalar| scalar.span().contains(said.span)) else { continue };
        let found = match scalar.verbatim() {
            Some(root) => {
                let site = Site { known: &known, text: document, embedded: None };
                site.way_out(root, said.span).map(|way| (site, way))
            }
            // Its places are those of the expression, whose bytes are elsewhere in the document.
            None => {
                embedded = scalar.embedded(document);
                let parsed = cel::parse(scalar.value(), said.span.source, &|at| at);
                let (Some(embedded), Some(root)) = (&embedded, parsed.expr) else { continue };
                let site = Site { known: &known, text: scalar.value(), embedded: Some(embedded) };
                site.way_out(&root, said.span).map(|way| (site, way))
            }
        };
        let Some((site, way)) = found else { continue };
        said.help = Some(way.help);
        if let Some((message, edits)) = way.fix {
            let edits = edits.into_iter().map(|(start, end, text)| {
                let span = Span::new(said.span.source, site.outer(start), site.outer(end));
                Edit { span, text }
            });
            // The test that precedes what may fail decides what a missing value is taken for, which `onError` decided before.
            let mut with = said.clone().with_edits(message, edits.collect());
            said.fixes.extend(with.fixes.pop().and_then(|fix| scalar.fix(document, fix)));
        }
    }
}

/// Why an expression may fail, as far as a test can prove that it does not.
#[derive(Clone, Debug)]
enum Lack {
    /// A key of a map, a field or an element of a list that may be missing; what a missing one is taken for.
    Part(Option<&'static str>),
    /// A divisor that may be 0, or may be -1 where the quotient would not fit: the test has `>` then.
    Divisor { above: bool },
    /// No test proves it; what an empty optional is taken for.
    Other(Option<&'static str>),
}

/// What the checker knows of expressions, by their places.
#[derive(Default)]
struct Known {
    lacks: FxHashMap<Span, Lack>,
    conditions: FxHashSet<Span>,
    lists: FxHashSet<Span>,
}

impl Known {
    fn of(policies: &[Policy]) -> Self {
        let mut known = Known::default();
        for policy in policies.iter().filter(|policy| policy.cel) {
            policy.for_each_expr(&mut |whole| known.look(whole, true));
        }
        known
    }

    /// `exposed`: nothing around takes in the fault.
    fn look(&mut self, expr: &typed::Expr, exposed: bool) {
        if expr.ty == Type::Bool {
            self.conditions.insert(expr.span);
        }
        if matches!(expr.ty.present(), Type::List(_) | Type::Set(_)) {
            self.lists.insert(expr.span);
        }
        if exposed && is_source(expr) {
            self.lacks.entry(expr.span).or_insert_with(|| lack(expr));
        }
        let exposed = exposed && !matches!(expr.kind, typed::ExprKind::Dynamic(Operation::Valid, _));
        each_part(expr, &mut |part| self.look(part, exposed));
    }
}

fn lack(expr: &typed::Expr) -> Lack {
    let typed::ExprKind::Dynamic(operation, args) = &expr.kind else {
        return Lack::Other(empty(expr.ty.present()));
    };
    match operation {
        Operation::Demand(FaultKind::NoSuchKey | FaultKind::NoSuchField | FaultKind::IndexOutOfBounds) => {
            Lack::Part(empty(&expr.ty))
        }
        Operation::Arithmetic(ArithmeticOp::Divide | ArithmeticOp::Remainder) if expr.ty == Type::Int => {
            let ranges = (args.first().map(|of| of.range), args.get(1).map(|of| of.range));
            match ranges {
                (Some(Range::Whole { lo, .. }), Some(Range::Whole { lo: by, .. })) => {
                    Lack::Divisor { above: by < 0 && lo <= i128::from(i64::MIN) }
                }
                _ => Lack::Other(None),
            }
        }
        Operation::Demand(FaultKind::DivisionByZero) => Lack::Divisor { above: false },
        _ => Lack::Other(empty(&expr.ty)),
    }
}

/// The empty value of a type, as CEL writes it.
fn empty(ty: &Type) -> Option<&'static str> {
    Some(match ty {
        Type::String => "\"\"",
        Type::Int => "0",
        Type::Uint => "0u",
        Type::Float => "0.0",
        Type::Bool => "false",
        Type::List(_) => "[]",
        Type::Map(..) => "{}",
        _ => return None,
    })
}

/// A text, and the edits that lead to it: from, to, and what is there then.
type Rewrite = (String, Vec<(usize, usize, String)>);

/// A way out: help, and the edits of a fix in the text of the expression.
struct WayOut {
    help: String,
    fix: Option<Rewrite>,
}

/// The expression of a scalar.
struct Site<'a> {
    known: &'a Known,
    text: &'a str,
    /// None where the text is the document.
    embedded: Option<&'a Embedded>,
}

impl Site<'_> {
    /// The byte of the document for one of the expression.
    fn outer(&self, at: usize) -> usize {
        self.embedded.map_or(at, |embedded| embedded.outer(u32::try_from(at).unwrap_or(u32::MAX)) as usize)
    }

    /// The place in the document of a part of the expression.
    fn place(&self, expr: &Expr) -> Span {
        let range = expr.span.range();
        Span::new(expr.span.source, self.outer(range.start), self.outer(range.end))
    }

    /// The text of a part, on one line. Line breaks in it are white space, unless a text might have them.
    fn words(&self, expr: &Expr) -> Option<String> {
        let words = self.text.get(expr.span.range())?;
        if !words.contains(['\n', '\r', '\t']) {
            return Some(words.to_owned());
        }
        let plain = !words.contains(['"', '\'']) && !words.contains("//");
        plain.then(|| words.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    /// The text of a part as an operand of a comparison: in brackets where it needs them.
    fn operand(&self, expr: &Expr) -> Option<String> {
        let words = self.words(expr)?;
        let loose = matches!(expr.kind, ExprKind::Binary(_) | ExprKind::Conditional(_));
        Some(if loose { format!("({words})") } else { words })
    }

    fn lack(&self, expr: &Expr) -> Option<&Lack> {
        match expr.kind {
            ExprKind::Paren(_) => None,
            _ => self.known.lacks.get(&self.place(expr)),
        }
    }

    fn way_out(&self, root: &Expr, place: Span) -> Option<WayOut> {
        let mut path = Vec::new();
        if !self.find(root, place, &mut path) {
            return None;
        }
        let source = *path.last()?;
        match self.lack(source)? {
            Lack::Part(empty) => self.of_part(&path, source, *empty),
            Lack::Divisor { above } => self.of_divisor(&path, source, *above),
            Lack::Other(empty) => {
                let ExprKind::Method(call) = &source.kind else { return None };
                if presence(call) != Some(Presence::Takes) || !call.args.is_empty() {
                    return None;
                }
                let help = "write `orValue(…)` with the value of an empty optional".to_owned();
                let fix = empty.map(|empty| {
                    let (start, end) = (call.method.span.range().start, source.span.range().end);
                    let right = format!("orValue({empty})");
                    (format!("write `.{right}`"), vec![(start, end, right)])
                });
                Some(WayOut { help, fix })
            }
        }
    }

    /// The expressions around a place, outermost first, and the one at the place.
    fn find<'e>(&self, expr: &'e Expr, place: Span, path: &mut Vec<&'e Expr>) -> bool {
        path.push(expr);
        if self.place(expr) == place && !matches!(expr.kind, ExprKind::Paren(_)) {
            return true;
        }
        for part in parts(expr) {
            if self.find(part, place, path) {
                return true;
            }
        }
        path.pop();
        false
    }

    /// What proves that a part of a value is there.
    fn test(&self, source: &Expr) -> Option<Test> {
        match &source.kind {
            ExprKind::Field(access) if !access.optional => {
                let has = format!("has({})", self.words(source)?);
                Some(Test { fails: format!("!{has}"), holds: has })
            }
            ExprKind::Index(access) if !access.optional => {
                let (object, index) = (self.words(&access.object)?, self.operand(&access.index)?);
                match &access.index.kind {
                    ExprKind::Literal(_) if index.bytes().all(|byte| byte.is_ascii_digit()) => Some(Test {
                        holds: format!("size({object}) > {index}"),
                        fails: format!("size({object}) <= {index}"),
                    }),
                    _ if self
                        .text
                        .get(access.index.span.range())
                        .is_some_and(|text| text.starts_with('-')) =>
                    {
                        None
                    }
                    _ => {
                        let holds = format!("{index} in {object}");
                        Some(Test { fails: format!("!({holds})"), holds })
                    }
                }
            }
            _ => None,
        }
    }

    /// The tests for all that may fail in an expression, in the order of evaluation; none where one has no test.
    fn tests(&self, expr: &Expr, found: &mut Vec<Test>) -> Option<()> {
        for part in parts(expr) {
            self.tests(part, found)?;
        }
        match self.lack(expr) {
            None => {}
            Some(Lack::Part(_)) => {
                let test = self.test(expr)?;
                if !found.contains(&test) {
                    found.push(test);
                }
            }
            Some(_) => return None,
        }
        Some(())
    }

    /// A key, field or element that may be missing.
    fn of_part(&self, path: &[&Expr], source: &Expr, empty: Option<&str>) -> Option<WayOut> {
        let optional = self.optional(source, empty);
        let mut tests = Vec::new();
        let tested = self.tests(source, &mut tests).is_some();
        let condition = self.condition(path).filter(|_| tested && self.is_a_proof(source));
        let shown = tests.last().filter(|_| tested).map(|test| format!("`{} && …`", test.holds));
        let other = optional.as_ref().map(|(words, _)| format!("`{words}`"));
        let help = match (shown, other) {
            (Some(test), Some(other)) => format!("write {test}, or {other}"),
            (Some(one), None) | (None, Some(one)) => format!("write {one}"),
            (None, None) => return None,
        };
        let Some((condition, around)) = condition else {
            let fix = optional.filter(|_| empty.is_some());
            return Some(WayOut { help, fix: fix.map(|(words, edits)| (format!("write `{words}`"), edits)) });
        };
        let unequal = matches!(&condition.kind, ExprKind::Binary(of) if of.op == BinaryOp::Ne);
        let (joint, loose) = if unequal { (" || ", BinaryOp::Or) } else { (" && ", BinaryOp::And) };
        let words: Vec<&str> =
            tests.iter().map(|test| if unequal { &*test.fails } else { &*test.holds }).collect();
        let words = format!("{}{joint}", words.join(joint));
        let message = format!("write `{words}…`");
        let (open, close) = if needs_brackets(condition, around, loose) { ("(", ")") } else { ("", "") };
        let range = condition.span.range();
        let mut edits = vec![(range.start, range.start, format!("{open}{words}"))];
        if !close.is_empty() {
            edits.push((range.end, range.end, close.to_owned()));
        }
        Some(WayOut { help, fix: Some((message, edits)) })
    }

    /// Whether the checker takes the test as a proof: of an index only where it is a constant.
    fn is_a_proof(&self, source: &Expr) -> bool {
        match &source.kind {
            ExprKind::Index(access) => {
                let list = self.known.lists.contains(&self.place(&access.object));
                !list || matches!(access.index.kind, ExprKind::Literal(_))
            }
            _ => true,
        }
    }

    /// `m[?k].orValue(d)`, and the edits that lead to it.
    fn optional(&self, source: &Expr, empty: Option<&str>) -> Option<Rewrite> {
        let (mark, object, rest) = match &source.kind {
            ExprKind::Field(access) if !access.optional => {
                let at = access.field.span.range().start;
                (at, self.words(&access.object)?, format!(".?{}", access.field.text))
            }
            ExprKind::Index(access) if !access.optional => {
                let at = access.index.span.range().start;
                (at, self.words(&access.object)?, format!("[?{}]", self.words(&access.index)?))
            }
            _ => return None,
        };
        let value = format!(".orValue({})", empty.unwrap_or("…"));
        let end = source.span.range().end;
        let edits = vec![(mark, mark, "?".to_owned()), (end, end, value.clone())];
        Some((format!("{object}{rest}{value}"), edits))
    }

    /// The smallest condition that has the last expression of a path, and what is around it. None where a part of it
    /// is not evaluated always, or where a macro gives the expression its variables.
    fn condition<'e>(&self, path: &[&'e Expr]) -> Option<(&'e Expr, Option<&'e Expr>)> {
        let mut inner: Option<&Expr> = None;
        for (at, expr) in path.iter().enumerate().rev() {
            if let Some(inner) = inner
                && !always_evaluates(expr, inner)
            {
                return None;
            }
            let compares = matches!(&expr.kind, ExprKind::Binary(of) if is_comparison(of.op));
            let bracket = matches!(expr.kind, ExprKind::Paren(_));
            if compares || !bracket && self.known.conditions.contains(&self.place(expr)) {
                let around = at.checked_sub(1).and_then(|at| path.get(at)).copied();
                return Some((expr, around));
            }
            inner = Some(expr);
        }
        None
    }

    /// A divisor that may be 0.
    fn of_divisor(&self, path: &[&Expr], source: &Expr, above: bool) -> Option<WayOut> {
        let ExprKind::Binary(of) = &source.kind else { return None };
        let by = self.operand(&of.right)?;
        let test = if above { format!("{by} > 0") } else { format!("{by} != 0") };
        let help = format!("write `{test} ? {} : 0`", self.words(source)?);
        let around = path.len().checked_sub(2).and_then(|at| path.get(at)).copied();
        let brackets = around.is_some_and(|around| holds_operand(around, source));
        let (open, close) = if brackets { ("(", ")") } else { ("", "") };
        let range = source.span.range();
        let edits = vec![
            (range.start, range.start, format!("{open}{test} ? ")),
            (range.end, range.end, format!(" : 0{close}")),
        ];
        // The divisor is written twice: what may fail in it needs its own way out first.
        let mut tests = Vec::new();
        let certain = self.tests(&of.right, &mut tests).is_some() && tests.is_empty();
        let message = help.clone();
        Some(WayOut { help, fix: certain.then_some((message, edits)) })
    }
}

/// A condition that shows that a value is there, and its opposite.
#[derive(Clone, Debug, PartialEq)]
struct Test {
    holds: String,
    fails: String,
}

fn is_comparison(op: BinaryOp) -> bool {
    use BinaryOp::{Eq, Ge, Gt, In, Le, Lt, Ne};
    matches!(op, Eq | Ne | Le | Ge | Lt | Gt | In)
}

/// The direct parts of an expression.
fn parts(expr: &Expr) -> Vec<&Expr> {
    match &expr.kind {
        ExprKind::Literal(_) | ExprKind::Name(_) => Vec::new(),
        ExprKind::Paren(inner) => vec![inner],
        ExprKind::Call(call) => call.args.iter().map(|arg| &arg.value).collect(),
        ExprKind::Method(call) => {
            std::iter::once(&call.object).chain(call.args.iter().map(|arg| &arg.value)).collect()
        }
        ExprKind::Field(access) => vec![&access.object],
        ExprKind::Index(access) => vec![&access.object, &access.index],
        ExprKind::Unary(unary) => vec![&unary.operand],
        ExprKind::Binary(binary) => vec![&binary.left, &binary.right],
        ExprKind::Conditional(of) => vec![&of.condition, &of.then, &of.otherwise],
        ExprKind::List(elements) => elements.iter().map(|element| &element.value).collect(),
        ExprKind::Map(entries) => entries.iter().flat_map(|entry| [&entry.key, &entry.value]).collect(),
    }
}

/// Whether a part is evaluated whenever the whole is, with the same variables.
fn always_evaluates(whole: &Expr, part: &Expr) -> bool {
    match &whole.kind {
        ExprKind::Conditional(of) => std::ptr::eq(&of.condition, part),
        ExprKind::Method(call) => {
            let lazy = matches!(presence(call), Some(Presence::Or | Presence::TakesOr))
                || macros::named(&call.method.text).next().is_some();
            !lazy || std::ptr::eq(&call.object, part)
        }
        ExprKind::Call(call) => macros::form(&call.function.text) != Some(FormKind::Has),
        _ => true,
    }
}

/// What a method has to do with optionals of CEL.
fn presence(call: &MethodCall) -> Option<Presence> {
    functions::named_in_kubernetes(&call.method.text, true).iter().find_map(|row| row.def().presence)
}

/// Whether a condition needs brackets where a test precedes it with `&&` or `||`.
fn needs_brackets(condition: &Expr, around: Option<&Expr>, joint: BinaryOp) -> bool {
    let Some(around) = around else { return false };
    match &around.kind {
        ExprKind::Binary(of) if of.op == BinaryOp::Or => false,
        ExprKind::Binary(of) if of.op == BinaryOp::And => joint == BinaryOp::Or,
        ExprKind::Conditional(_) => false,
        _ => holds_operand(around, condition),
    }
}

/// Whether a part is beside an operator, a dot or a bracket, so that a looser operator in it needs brackets.
fn holds_operand(whole: &Expr, part: &Expr) -> bool {
    match &whole.kind {
        ExprKind::Unary(_) | ExprKind::Binary(_) | ExprKind::Field(_) => true,
        ExprKind::Conditional(of) => !std::ptr::eq(&of.otherwise, part),
        ExprKind::Index(access) => std::ptr::eq(&access.object, part),
        ExprKind::Method(call) => std::ptr::eq(&call.object, part),
        _ => false,
    }
}
