//! Which expressions may be a fault: those with an operation of CEL that the checker could not prove. What must
//! be proved, and the lint `may-fail` with the way out of each place.

use super::stops;
use crate::typed::operation::{each_exposed_part, is_source};
use crate::typed::walk::each_part;
use crate::typed::{Body, Expr, ExprKind, Operation, Policy, Statement};
use crate::types::value::FaultKind;
use bayplan_diag::{Diagnostic, Severity, Span, codes};
use rustc_hash::FxHashSet;

/// Whether an expression may be a fault, or may hide one of its parts.
pub fn may_fail(policy: &Policy, expr: &Expr) -> bool {
    policy.cel && can_fail(policy, expr)
}

fn can_fail(policy: &Policy, expr: &Expr) -> bool {
    let defined = match &expr.kind {
        ExprKind::Let(id) => Some(&policy[*id].value),
        ExprKind::CallDef(id, _) => Some(&policy[*id].body),
        _ => None,
    };
    let mut found = is_source(expr) || defined.is_some_and(|defined| can_fail(policy, defined));
    each_exposed_part(expr, &mut |part| found = found || can_fail(policy, part));
    found
}

/// The expressions of a policy that can make a fault, also one that `optional.ofValid` takes in.
pub(crate) fn sources_of_faults(policy: &Policy) -> Vec<Span> {
    fn look(expr: &Expr, found: &mut Vec<Span>) {
        if is_source(expr) {
            found.push(expr.span);
        }
        each_part(expr, &mut |part| look(part, found));
    }
    let mut found = Vec::new();
    if policy.cel {
        policy.for_each_expr(&mut |whole| look(whole, &mut found));
    }
    found
}

/// Reports what must be proved and is not, and every other place that may fail.
pub fn check(policy: &Policy, diagnostics: &mut Vec<Diagnostic>) {
    if !policy.cel {
        return;
    }
    let mut places = Places { policy, severity: None, seen: FxHashSet::default(), found: diagnostics };
    if policy.strict.is_some() {
        places.severity = Some(Severity::Error);
    }
    for group in &policy.groups {
        for part in group.keys.iter().flat_map(|key| [&key.member, &key.pod]).chain(&group.rest) {
            places.must_not_fail(part, "the condition of a group");
        }
    }
    policy.memos.iter().for_each(|memo| places.must_not_fail(&memo.key, "the key of a memo"));
    // Each place is reported once: where it stops pods, if it does so anywhere.
    for rule in &policy.rules {
        for statement in rule.statements(policy) {
            for (source, does) in stops::sources(policy, rule, statement) {
                places.report(&source, Some(does));
            }
        }
    }
    for rule in &policy.rules {
        for statement in rule.statements(policy) {
            match statement {
                Statement::Condition(of) if matches!(rule.body, Body::Mode(_) | Body::DecidesWhen(_)) => {
                    places.must_not_fail(of, "the condition of a mode");
                }
                Statement::Condition(of) if matches!(rule.body, Body::Except(_)) => {
                    places.must_not_fail(of, "the condition of an exception");
                }
                Statement::LedgerKey(of) => places.must_not_fail(&of.key, "the key of a ledger"),
                Statement::Add(of) => {
                    let parts = of.when.iter().chain([&of.value]);
                    parts.for_each(|part| places.must_not_fail(part, "what a ledger adds"));
                }
                Statement::Key(key) => places.must_not_fail(&key.value, "a key of the queue"),
                Statement::Write(write) => {
                    let parts = write.when.iter().chain(statement.written());
                    parts.for_each(|part| places.must_not_fail(part, "a write"));
                }
                Statement::Act(act) => {
                    let parts = act.when.iter().chain(statement.written());
                    parts.for_each(|part| {
                        places.must_not_fail(part, "what is written or done after an attempt")
                    });
                }
                Statement::Wait(wait) => {
                    places.must_not_fail(&wait.patience, "the time of a wait");
                    places.may_fail(&wait.until);
                }
                other => {
                    let value = match other {
                        Statement::Missing(..) | Statement::Only(_) | Statement::Give(_) => other.value(),
                        _ => None,
                    };
                    let parts = other.condition().into_iter().chain(value);
                    parts.for_each(|part| places.may_fail(part));
                }
            }
        }
    }
}

/// Collects the places, each once.
struct Places<'p, 'd> {
    policy: &'p Policy,
    severity: Option<Severity>,
    seen: FxHashSet<Span>,
    found: &'d mut Vec<Diagnostic>,
}

impl Places<'_, '_> {
    fn must_not_fail(&mut self, expr: &Expr, what: &str) {
        let mut sources = Vec::new();
        self.sources(expr, &mut sources);
        for source in sources {
            let message = format!("{what} may end with an error");
            let said = Diagnostic::new(&codes::MUST_NOT_FAIL, source.span, message);
            self.found.push(with_way_out(said, &source));
        }
    }

    fn may_fail(&mut self, expr: &Expr) {
        let mut sources = Vec::new();
        self.sources(expr, &mut sources);
        sources.iter().for_each(|source| self.report(source, None));
    }

    /// `stops`: what the fault does to pods, where it stops them.
    fn report(&mut self, source: &Expr, stops: Option<&str>) {
        if !self.seen.insert(source.span) {
            return;
        }
        let why = why(source);
        let message = stops.map_or_else(|| why.clone(), |stops| format!("{why}: {stops}"));
        let mut said = Diagnostic::new(&codes::MAY_FAIL, source.span, message);
        if let Some(severity) = self.severity.or(stops.map(|_| Severity::Warning)) {
            said = said.with_severity(severity);
        }
        self.found.push(with_way_out(said, source));
    }

    fn sources(&self, expr: &Expr, found: &mut Vec<Expr>) {
        sources_in(self.policy, expr, found);
    }
}

/// The operations of an expression that may fail, through lets and defs.
pub(super) fn sources_in(policy: &Policy, expr: &Expr, found: &mut Vec<Expr>) {
    // The value of a call is demanded at the place of the call.
    if is_source(expr) && !found.iter().any(|known| known.span == expr.span) {
        found.push(expr.clone());
    }
    let defined = match &expr.kind {
        ExprKind::Let(id) => Some(&policy[*id].value),
        ExprKind::CallDef(id, _) => Some(&policy[*id].body),
        _ => None,
    };
    if let Some(defined) = defined {
        sources_in(policy, defined, found);
    }
    each_exposed_part(expr, &mut |part| sources_in(policy, part, found));
}

/// Why an operation may fail.
fn why(source: &Expr) -> String {
    let (operation, args) = match &source.kind {
        ExprKind::Dynamic(operation, args) => (operation, args),
        ExprKind::Macro(_) => return "two entries may have the same key".to_owned(),
        _ => return "the function has no value for some arguments".to_owned(),
    };
    match operation {
        Operation::Demand(FaultKind::NoSuchKey) => "the key may not exist".to_owned(),
        Operation::Demand(FaultKind::NoSuchField) | Operation::Select(..) => {
            "the field may not exist".to_owned()
        }
        Operation::Demand(FaultKind::IndexOutOfBounds) => "the list may be shorter".to_owned(),
        Operation::Demand(FaultKind::DivisionByZero) => "the divisor may be 0".to_owned(),
        Operation::Arithmetic(op)
            if args.get(1).is_some_and(|by| !by.range.excludes_zero()) && op.divides() =>
        {
            "the divisor may be 0".to_owned()
        }
        Operation::Arithmetic(_) | Operation::Negate => {
            "the result may leave the range of its type".to_owned()
        }
        Operation::Index => "there may be no such element".to_owned(),
        Operation::Truth => "the value may be no bool".to_owned(),
        Operation::Map(_) => "two keys may be the same".to_owned(),
        _ => "the operation has no value for some operands".to_owned(),
    }
}

/// A diagnostic with how to write the expression so that it cannot fail.
fn with_way_out(said: Diagnostic, source: &Expr) -> Diagnostic {
    let (operation, args) = match &source.kind {
        ExprKind::Dynamic(operation, args) => (operation, args),
        ExprKind::Macro(_) => return said.with_help("make one entry, with the first variable as its key"),
        _ => return said.with_help("test the argument first"),
    };
    let help = match operation {
        Operation::Demand(FaultKind::NoSuchKey) => {
            "write `\"key\" in map && …`, or `map[?\"key\"].orValue(…)`"
        }
        Operation::Demand(FaultKind::NoSuchField) | Operation::Select(..) => {
            "write `has(…) && …` in front, or `.?field.orValue(…)`"
        }
        Operation::Demand(FaultKind::IndexOutOfBounds) | Operation::Index => {
            "write `size(list) > n && …` in front, or `list[?n].orValue(…)`"
        }
        Operation::Arithmetic(op) if op.divides() => "compare the divisor with 0 first: `b != 0 ? a / b : 0`",
        Operation::Demand(FaultKind::DivisionByZero) => "compare the divisor with 0 first: `b > a ? … : …`",
        Operation::Arithmetic(_) | Operation::Negate => "compare the operands with a bound first",
        _ if args.is_empty() => "test the operand first",
        _ => "test the operand first, or convert it",
    };
    said.with_help(help)
}
