//! What a policy evaluated and found: [`Tracer`] evaluates the statements of one extension point in
//! the order in which `plugins::policy` does, and [`trace`] adds the values that explanations show.
//!
//! Explanations, violations, the results of `test` and condition coverage all read it, so that the
//! order of statements is written once. A property test holds it against the plugin.

use super::context::EvalContext;
use super::interpret::Evaluator;
use crate::syntax::ast::{OnError, Text};
use crate::typed::{Body, Check, Expr, ExprKind, Operation, Point, Policy, Reason, Rule, Rules, Statement};
use crate::types::Type;
use crate::types::show::quantity;
use crate::types::value::{Fault, Value};
use bayplan_diag::Span;
use bayplan_model::PodInfo;
use std::sync::Arc;

/// Whether the policy's plugin evaluates a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// It does.
    Evaluated,
    /// It does not: another rule, or an earlier `give`, decided.
    Decided,
    /// It does not: an earlier statement of the same rule refused, so that values which the later
    /// one takes to be present may be absent.
    Unproven,
}

/// What one statement found.
#[derive(Clone, Copy, Debug)]
pub struct Finding<'p> {
    /// The rule that the statement belongs to.
    pub rule: &'p Rule,
    /// The statement.
    pub statement: Statement<'p>,
    /// Whether the plugin evaluates it.
    pub reach: Reach,
    /// Whether its condition holds; `None` where it has none.
    pub holds: Option<bool>,
    /// Whether it ends the evaluation: a check that refuses, a false conjunct of `applies when`, an
    /// absent `let` with `missing`, a `give` that is taken.
    pub decides: bool,
}

impl Finding<'_> {
    /// How the statement makes a pod wait that has a node, in words before its condition; none for other statements.
    pub fn waits(&self) -> Option<&'static str> {
        match self.statement {
            Statement::Wait(_) => Some("waits until this holds"),
            _ => None,
        }
    }

    /// Whether it is a check that refuses.
    pub fn refuses(&self) -> bool {
        self.decides && matches!(self.statement, Statement::Check(_))
    }
}

/// A finding with the values that explain it.
#[derive(Clone, Debug)]
pub struct StatementTrace<'p> {
    /// What it found.
    pub finding: Finding<'p>,
    /// The reason of a statement that may refuse, holes filled.
    pub reason: Option<String>,
    /// The fault of its condition.
    pub fault: Option<Arc<Fault>>,
    /// `with { … }`: names and values.
    pub details: Vec<(String, String)>,
    /// The condition with its parts; of a `let` with `missing`, its value.
    pub condition: Option<ValueTrace>,
    /// The nodes that `only nodes` leaves.
    pub nodes: Option<String>,
}

/// Every statement of the rules of one extension point, evaluated whether or not the plugin reaches
/// it.
pub fn trace<'p>(rules: Rules<'p>, point: Point, context: EvalContext<'_>) -> Vec<StatementTrace<'p>> {
    Tracer::new(rules, point, context).traces()
}

/// Evaluates the statements of one extension point, one after the other.
pub struct Tracer<'p, 'a> {
    /// Evaluates them; for values beside the conditions.
    pub evaluator: Evaluator<'p, 'a>,
    rules: Rules<'p>,
    statements: std::vec::IntoIter<(&'p Rule, Statement<'p>)>,
    /// Whether statements that the plugin does not reach are left out.
    reached_only: bool,
    /// The span of the rule whose statement decided.
    decided: Option<Span>,
}

impl<'p, 'a> Tracer<'p, 'a> {
    /// All statements of `point`; of preemption those that are decided once per pod.
    pub fn new(rules: Rules<'p>, point: Point, context: EvalContext<'a>) -> Self {
        let once = |rule: &&Rule| !matches!(rule.body, Body::Victim(_) | Body::EvictionGuard(_));
        Self::of(rules, rules.at(point).filter(once), context)
    }

    /// The statements of these rules, which are evaluated in turn until one decides.
    fn of(rules: Rules<'p>, wanted: impl Iterator<Item = &'p Rule>, context: EvalContext<'a>) -> Self {
        let of = |rule: &'p Rule| rules.statements(rule).map(move |statement| (rule, statement));
        let mut statements: Vec<_> = wanted.flat_map(of).collect();
        // The checks of every `permit` come before the first wait, those of every `reserve` before the first write.
        statements
            .sort_by_key(|(_, statement)| matches!(statement, Statement::Wait(_) | Statement::Write(_)));
        Self {
            evaluator: Evaluator::new(rules.policy, context),
            rules,
            statements: statements.into_iter(),
            reached_only: false,
            decided: None,
        }
    }

    /// The statements `victim`, or `protect`, about a pod on the node of the context.
    pub fn of_victim(
        rules: Rules<'p>,
        protects: bool,
        victim: &'a PodInfo,
        context: EvalContext<'a>,
    ) -> Self {
        let wanted = |rule: &&Rule| matches!(&rule.body, Body::Victim(of) if of.protects == protects);
        let mut tracer = Self::of(rules, rules.at(Point::PostFilter).filter(wanted), context);
        for of in rules.policy.victims() {
            tracer.evaluator.bind_pod(of.slot, victim);
        }
        tracer
    }

    /// The statements `guard` on the node of the context.
    pub fn of_guards(rules: Rules<'p>, context: EvalContext<'a>) -> Self {
        let wanted = |rule: &&Rule| matches!(rule.body, Body::EvictionGuard(_));
        Self::of(rules, rules.at(Point::PostFilter).filter(wanted), context)
    }

    /// What all statements found, with the values that explain it.
    pub fn traces(mut self) -> Vec<StatementTrace<'p>> {
        let mut found = Vec::new();
        while let Some(finding) = self.next() {
            found.push(self.traced(finding));
        }
        found
    }

    /// A finding with the values that explain it.
    pub fn traced(&mut self, finding: Finding<'p>) -> StatementTrace<'p> {
        let fault = self.fault(&finding);
        let reason = finding.statement.reason();
        let text = reason.map(|reason| self.evaluator.reason(reason));
        let failed = fault.as_ref().and_then(|fault| refused_by(self.evaluator.policy, &finding, fault));
        StatementTrace {
            finding,
            // A fault refuses with a reason of its own.
            details: reason.filter(|_| failed.is_none()).map_or_else(Vec::new, |it| self.details(it)),
            reason: failed.or(text),
            fault,
            condition: self.condition(&finding).or_else(|| self.demanded(&finding)),
            nodes: match finding.statement {
                Statement::Only(of) => Some(self.evaluator.shown_value(&of.nodes)),
                _ => None,
            },
        }
    }

    /// Only the statements that the plugin evaluates.
    pub fn reached(mut self) -> Self {
        self.reached_only = true;
        self
    }

    /// The condition of a finding with its parts; `None`: it has none, or the rule leaves the pod alone.
    pub fn condition(&mut self, of: &Finding<'_>) -> Option<ValueTrace> {
        let policy = self.evaluator.policy;
        let condition = match of.rule.body {
            Body::Except(id) => policy.excepted_pods(&policy[id]),
            _ if self.leaves_alone(of.rule) => None,
            _ => of.statement.condition(),
        };
        condition.map(|condition| self.evaluator.tree(condition))
    }

    /// The value of a `let` with `missing`, with its parts.
    fn demanded(&mut self, of: &Finding<'_>) -> Option<ValueTrace> {
        match of.statement {
            Statement::Missing(of, _) => Some(self.evaluator.tree(&of.value)),
            _ => None,
        }
    }

    /// Whether the guard of a rule holds: then it says nothing about the pod.
    fn leaves_alone(&mut self, rule: &Rule) -> bool {
        self.evaluator.leaves_alone(self.rules, rule)
    }

    /// `with { … }` of a reason: names and values.
    pub fn details(&mut self, reason: &Reason) -> Vec<(String, String)> {
        let shown = |(name, expr): &(Text, Expr)| {
            let value = self.evaluator.value(expr);
            let shown = if value.is_absent() {
                String::from("none")
            } else {
                show_value(&value, &expr.ty, &self.evaluator.context)
            };
            (name.to_string(), shown)
        };
        reason.details.iter().map(shown).collect()
    }

    /// The fault of a statement's condition, if it fails.
    pub fn fault(&mut self, of: &Finding<'_>) -> Option<Arc<Fault>> {
        let condition = of.statement.condition().filter(|_| !self.leaves_alone(of.rule))?;
        self.evaluator.value(condition).as_fault().cloned()
    }

    /// Whether a condition holds; where it fails, what is taken for it by `on_error`, and where the rule leaves the pod
    /// alone, what lets it pass.
    fn answer(&mut self, statement: &Statement<'_>, alone: bool) -> Option<bool> {
        if alone {
            return match statement {
                Statement::Check(check) => Some(!check.refuses_when),
                statement => Some(matches!(statement, Statement::Wait(_))),
            };
        }
        let condition = statement.condition()?;
        let value = self.evaluator.value(condition);
        if !value.is_fault() {
            return Some(value.holds());
        }
        Some(match statement {
            Statement::Check(check) => (check.on_error != OnError::Ignore) == check.refuses_when,
            Statement::Condition(_) => self.rules.on_error() != OnError::Ignore,
            // A pod about which a rule fails may not be evicted.
            Statement::Victim(of) => of.protects,
            _ => false,
        })
    }

    fn reach(&self, rule: &Rule, alone: bool) -> Reach {
        match self.decided {
            // A score says nothing about a pod that it leaves alone.
            _ if alone && rule.point() == Point::Score => Reach::Decided,
            None => Reach::Evaluated,
            // Every score gives its own value.
            Some(by) if rule.point() == Point::Score && by != rule.span() => Reach::Evaluated,
            Some(_) if rule.point() == Point::Score => Reach::Decided,
            Some(by) if by == rule.span() => Reach::Unproven,
            Some(_) => Reach::Decided,
        }
    }
}

impl<'p> Iterator for Tracer<'p, '_> {
    type Item = Finding<'p>;

    fn next(&mut self) -> Option<Finding<'p>> {
        loop {
            let (rule, statement) = self.statements.next()?;
            let alone = self.leaves_alone(rule);
            let reach = self.reach(rule, alone);
            if self.reached_only && reach != Reach::Evaluated {
                continue;
            }
            let holds = self.answer(&statement, alone);
            let decides = match statement {
                // An exception or a mode of a rule decides there.
                Statement::Condition(_) => match rule.body {
                    Body::DecidesWhen(_) => false,
                    Body::Except(id) => self.rules.policy[id].rule.is_none() && holds == Some(true),
                    _ => holds == Some(false),
                },
                Statement::Missing(of, _) => self.evaluator.value(&of.value).is_absent(),
                Statement::Check(check) => refuses(check, holds),
                Statement::Give(_) => holds.unwrap_or(true),
                Statement::Victim(_) => holds == Some(true),
                Statement::LedgerKey(_)
                | Statement::Add(_)
                | Statement::Key(_)
                | Statement::Only(_)
                | Statement::Write(_)
                | Statement::Wait(_)
                | Statement::Act(_) => false,
            };
            if decides {
                self.decided = Some(rule.span());
            }
            return Some(Finding { rule, statement, reach, holds, decides });
        }
    }
}

/// The reason of a check that refuses because of the fault of its condition.
fn refused_by(policy: &Policy, finding: &Finding<'_>, fault: &Fault) -> Option<String> {
    let Statement::Check(check) = finding.statement else { return None };
    let reason = || reason_of_fault(&policy.name, finding.rule.name(), check.on_error, &fault.message);
    finding.decides.then(reason)
}

/// The reason of a refusal by error, or the text of the error that ends the attempt.
pub fn reason_of_fault(policy: &str, rule: &str, on_error: OnError, message: &str) -> String {
    let said = if on_error == OnError::Error { message } else { "evaluation error" };
    format!("{policy}/{rule}: {said}")
}

/// Whether a check refuses when its condition holds, does not hold, or is missing.
fn refuses(check: &Check, holds: Option<bool>) -> bool {
    holds.unwrap_or(check.refuses_when) == check.refuses_when
}

/// The value of an expression and of its parts: the value tree of an explanation.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueTrace {
    /// Where the expression is written.
    pub span: Span,
    /// Its value as a person writes it, with its unit.
    pub value: String,
    /// Whether it holds, where it is a condition.
    pub truth: Option<bool>,
    /// Whether it is a condition that failed; then the value is the fault.
    pub failed: bool,
    /// Whether it is two values that an operator joins.
    pub operator: bool,
    /// Whether the value of the whole needed it: `false` after a short cut.
    pub reached: bool,
    /// Its own parts, in the order of the text; constants are left out.
    pub parts: Vec<ValueTrace>,
}

/// The value as a person writes it, with its unit: texts in quotes, absent values as `absent`.
fn show_value(value: &Value<'_>, ty: &Type, context: &EvalContext<'_>) -> String {
    match value {
        Value::Node(node) => match context.node_info(*node) {
            Some(node) => node.name().to_string(),
            None => String::from("absent"),
        },
        Value::Pod(pod) => format!("{}/{}", pod.namespace, pod.name),
        Value::List(items) => {
            let element = ty.present().element().unwrap_or(Type::Unknown);
            let shown: Vec<String> =
                items.iter().take(8).map(|item| show_value(item, &element, context)).collect();
            let more = if items.len() > 8 { format!(", … {} in all", items.len()) } else { String::new() };
            format!("[{}{more}]", shown.join(", "))
        }
        other => quantity(other, ty).unwrap_or_else(|| other.to_string()),
    }
}

impl Evaluator<'_, '_> {
    /// Whether the guard of a rule holds: then it says nothing about the pod.
    pub fn leaves_alone(&mut self, rules: Rules<'_>, rule: &Rule) -> bool {
        rules.guard(rule).any(|leave| self.holds(&leave.holds))
    }

    /// Whether a check of a rule refuses. A condition that fails does not hold.
    pub fn refuses(&mut self, rules: Rules<'_>, rule: &Rule, check: &Check) -> bool {
        let holds = |of: &mut Self| check.condition.as_ref().map(|condition| of.holds(condition));
        !self.leaves_alone(rules, rule) && refuses(check, holds(self))
    }

    /// A value as a person writes it.
    pub fn shown_value(&mut self, expr: &Expr) -> String {
        let value = self.value(expr);
        show_value(&value, &expr.ty, &self.context)
    }

    /// The value of an expression and of all its parts, for explanations.
    pub fn tree(&mut self, expr: &Expr) -> ValueTrace {
        self.tree_of(expr, true)
    }

    fn tree_of(&mut self, expr: &Expr, reached: bool) -> ValueTrace {
        let value = self.value(expr);
        let parts = match &expr.kind {
            ExprKind::Present(inner) | ExprKind::Widen(inner) => return self.tree_of(inner, reached),
            // `a != b` is `!(a == b)`, at one place: it has the parts of the comparison.
            ExprKind::Not(inner) if inner.span == expr.span => self.tree_of(inner, reached).parts,
            ExprKind::Let(id) => {
                let value = &self.policy[*id].value;
                if value.ty == Type::Bool { vec![self.tree_of(value, reached)] } else { Vec::new() }
            }
            kind => {
                let parts = self.shown_parts(kind);
                // Parts that the text does not show: `pod.age` is `now() - pod.created`.
                let parts = parts.into_iter().filter(|(part, _)| part.span != expr.span);
                parts.map(|(part, needed)| self.tree_of(part, reached && needed)).collect()
            }
        };
        ValueTrace {
            span: expr.span,
            value: show_value(&value, &expr.ty, &self.context),
            truth: match value {
                Value::Bool(truth) => Some(truth),
                _ => None,
            },
            failed: value.is_fault() && expr.ty == Type::Bool,
            operator: matches!(
                expr.kind,
                ExprKind::Arithmetic(..) | ExprKind::Dynamic(Operation::Arithmetic(_), _)
            ),
            reached,
            parts,
        }
    }

    /// Whether a condition holds; `None` if it fails.
    fn truth(&mut self, condition: &Expr) -> Option<bool> {
        let value = self.value(condition);
        (!value.is_fault()).then(|| value.holds())
    }

    /// The parts of an expression that explanations show, each with whether its value is needed.
    fn shown_parts<'e>(&mut self, kind: &'e ExprKind) -> Vec<(&'e Expr, bool)> {
        match kind {
            ExprKind::And(left, right) => {
                // A fault may be absorbed by the other side.
                let goes_on = self.truth(left) != Some(false);
                vec![(left, true), (right, goes_on)]
            }
            ExprKind::Or(left, right) => {
                let goes_on = self.truth(left) != Some(true);
                vec![(left, true), (right, goes_on)]
            }
            ExprKind::Conditional(condition, then, otherwise) => {
                let truth = self.truth(condition);
                vec![(condition, true), (then, truth == Some(true)), (otherwise, truth == Some(false))]
            }
            ExprKind::Coalesce(left, right) => {
                let absent = self.value(left).is_absent();
                vec![(left, true), (right, absent)]
            }
            ExprKind::Has(inner) | ExprKind::Not(inner) | ExprKind::Negate(inner) => vec![(inner, true)],
            ExprKind::Equal(left, right)
            | ExprKind::Compare(_, left, right)
            | ExprKind::In(left, right)
            | ExprKind::Arithmetic(_, left, right) => vec![(left, true), (right, true)],
            ExprKind::Call(_, args, _) | ExprKind::CallDef(_, args) | ExprKind::Dynamic(_, args) => {
                args.iter().map(|arg| (arg, true)).collect()
            }
            ExprKind::Macro(of) => vec![(&of.over, true)],
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::typed::PolicyPart;
    use bayplan_diag::SourceMap;
    use bayplan_model::{Snapshot, Time};

    /// Which statements of a policy are reached at an extension point, and which of them decide.
    fn reached(text: &str, point: Point) -> Vec<(Reach, bool)> {
        let mut sources = SourceMap::new();
        let id = sources.add("p.bay", text);
        let (policies, said) = crate::compile(sources.get(id).unwrap());
        let policy = policies.first().unwrap_or_else(|| panic!("{said:?}"));
        let (pod, snapshot) = (bayplan_model::testing::pod("a").build(), Snapshot::default());
        let part = PolicyPart::whole(policy);
        let found = trace(Rules::new(policy, &part), point, EvalContext::new(&pod, &snapshot, Time(0)));
        found.iter().map(|of| (of.finding.reach, of.finding.decides)).collect()
    }

    #[test]
    fn a_refusal_ends_the_rule_and_the_point() {
        let text = "policy p { filter a { reject \"one\" when pod.priority == 0 reject \"two\" when \
                    pod.priority < 9 } filter b { reject \"three\" when pod.priority < 8 } }";
        let expected = [(Reach::Evaluated, true), (Reach::Unproven, true), (Reach::Decided, true)];
        assert_eq!(reached(text, Point::Filter), expected);
    }

    #[test]
    fn every_score_takes_its_first_give_that_holds() {
        let text = "policy p { score a { give 1 when pod.priority > 0 give 2 give 3 when pod.priority < 9 } \
                    score b { give 4 when pod.priority == 0 give 5 } }";
        let expected = [
            (Reach::Evaluated, false),
            (Reach::Evaluated, true),
            (Reach::Decided, true),
            (Reach::Evaluated, true),
            (Reach::Decided, true),
        ];
        assert_eq!(reached(text, Point::Score), expected);
    }

    #[test]
    fn waits_follow_the_checks_of_a_permit() {
        let text = "policy p { permit { wait 1min until pod.priority > 0 else \"late\" \
                    reject \"no\" when pod.priority == 0 } }";
        assert_eq!(reached(text, Point::Permit), [(Reach::Evaluated, true), (Reach::Unproven, false)]);
    }
}
