//! Whether two policies of the two languages mean the same: what `convert` writes is read again, its names resolved, and
//! compared with what it was made of.
//!
//! - `terms.rs` has expressions by what they mean, `reader.rs` makes them of typed expressions
//! - this file compares statements: their names, conditions, values and reasons
//!
//! It knows no fault: a value of CEL that is an error counts as absent. [`may_fail`] finds those.

mod reader;
mod terms;

use crate::syntax::ast::Text;
use crate::typed::operation::{each_exposed_part, is_source};
use crate::typed::{
    Act, Body, Check, Does, Expr, ExprKind, Group, Leave, Let, Missing, Operation, Policy, Reason,
    ReasonPart, Rule, Score, Statement, Target, WriteEntry,
};
use crate::types::{CelType, Type};
use bayplan_diag::Span;
use reader::Reader;
use terms::{Term, Terms};

/// How many terms a comparison may make.
const MOST_TERMS: usize = 2_000_000;

/// A part of a policy, by what it is and what it means.
#[derive(Debug)]
struct Part {
    /// The rule, and what of it: `filter zone: reason`.
    name: String,
    term: Option<Term>,
    span: Span,
}

/// The first part of a policy that another one says otherwise or not at all, by its name and place.
pub(super) fn difference(policy: &Policy, other: &Policy) -> Option<(String, Span)> {
    let mut terms = Terms::default();
    let own = parts(policy, &mut terms);
    let others = parts(other, &mut terms);
    let (Some(own), Some(others)) = (own, others) else {
        return Some(("it is too large to be compared".to_owned(), policy.name_span));
    };
    let same = |(part, other): &(&Part, &Part)| part.name == other.name && part.term == other.term;
    let found = own.iter().zip(&others).find(|pair| !same(pair)).map(|(part, _)| part);
    let longer = own.get(others.len()).or_else(|| others.get(own.len()).and(own.last()));
    let part = found.or(longer)?;
    Some((part.name.clone(), part.span))
}

/// A place of a policy in CEL that may end with an error that nothing takes in.
pub(super) struct MayFail {
    pub(super) span: Span,
    /// It does for numbers that leave the range of their type, and for no others.
    pub(super) at_the_end_of_a_range: bool,
}

/// All of them.
pub(super) fn may_fail(policy: &Policy) -> Vec<MayFail> {
    fn look(expr: &Expr, found: &mut Vec<MayFail>) {
        if is_source(expr) {
            found.push(MayFail { span: expr.span, at_the_end_of_a_range: leaves_a_range(expr) });
        }
        each_exposed_part(expr, &mut |part| look(part, found));
    }
    let mut found = Vec::new();
    policy.for_each_expr(&mut |whole| look(whole, &mut found));
    found
}

fn leaves_a_range(expr: &Expr) -> bool {
    let known = matches!(expr.ty, Type::Int | Type::Uint | Type::Cel(CelType::Duration | CelType::Timestamp));
    match &expr.kind {
        ExprKind::Call(function, ..) => function.def().sums,
        ExprKind::Dynamic(Operation::Demand(_), args) => args.first().is_some_and(leaves_a_range),
        ExprKind::Dynamic(Operation::Negate, _) => known,
        ExprKind::Dynamic(Operation::Arithmetic(op), args) => {
            let divisor = args.get(1).map(|by| by.range);
            known && (!op.divides() || divisor.is_some_and(|by| by.excludes_zero()))
        }
        _ => false,
    }
}

fn parts(policy: &Policy, terms: &mut Terms) -> Option<Vec<Part>> {
    let mut statements = Statements { reader: Reader::new(policy, terms), parts: Vec::new() };
    statements.declarations();
    // Ledgers, and blocks of different extension points, have no order among each other.
    let mut rules: Vec<&Rule> = policy.rules.iter().collect();
    rules.sort_by_key(|rule| match &rule.body {
        Body::Applies(_) | Body::Mode(_) | Body::DecidesWhen(_) | Body::Except(_) | Body::Missing(_) => {
            (0, "", None)
        }
        Body::Ledger(_) => (1, rule.name(), None),
        Body::Acts(of) => (3, "", Some(of.point)),
        _ => (2, "", None),
    });
    rules.into_iter().for_each(|rule| statements.rule(rule));
    (statements.reader.terms.len() < MOST_TERMS).then_some(statements.parts)
}

/// Collects the parts of a policy.
struct Statements<'p, 't> {
    reader: Reader<'p, 't>,
    parts: Vec<Part>,
}

impl<'p> Statements<'p, '_> {
    fn put(&mut self, name: impl Into<String>, term: Option<Term>, span: Span) {
        self.parts.push(Part { name: name.into(), term, span });
    }

    fn expr(&mut self, name: &str, expr: &Expr) {
        let term = self.reader.term(expr);
        self.put(name, Some(term), expr.span);
    }

    fn declarations(&mut self) {
        let policy = self.reader.policy;
        self.put(format!("policy {} {}", policy.name, policy.to_all_pods), None, policy.name_span);
        for param in &policy.params {
            let default = self.reader.terms.constant(&param.default);
            let name = format!("param {} in {:?}", param.name, param.allowed);
            self.put(name, Some(default), param.span);
        }
        // Groups, memos and sources have no order among each other.
        let mut groups: Vec<_> = policy.groups.iter().collect();
        groups.sort_by(|a, b| a.name.cmp(&b.name));
        groups.into_iter().for_each(|group| self.group(group));
        let mut memos: Vec<_> = policy.memos.iter().collect();
        memos.sort_by(|a, b| a.name.cmp(&b.name));
        for memo in memos {
            self.expr(&format!("memo {}: by", memo.name), &memo.key);
            self.expr(&format!("memo {}: ttl", memo.name), &memo.ttl);
        }
        let mut sources: Vec<_> = policy.sources.iter().collect();
        sources.sort_by(|a, b| a.name.cmp(&b.name));
        for of in sources {
            let name = format!("source {}: {:?} {:?}", of.name, of.window, of.max_age);
            self.put(name, None, of.span);
        }
    }

    fn group(&mut self, group: &'p Group) {
        self.reader.member(group.slot);
        let name = format!("group {}", group.name);
        for key in &group.keys {
            let sides = vec![self.reader.term(&key.member), self.reader.term(&key.pod)];
            let term = self.reader.terms.make("key", sides);
            self.put(&name, Some(term), key.member.span);
        }
        let rest = group.rest.iter().map(|condition| self.reader.term(condition)).collect();
        let rest = self.reader.terms.and(rest);
        self.put(&name, Some(rest), group.span);
    }

    fn rule(&mut self, rule: &'p Rule) {
        let policy = self.reader.policy;
        let name = match &rule.body {
            // Each statement for which it decides has it as a part.
            Body::DecidesWhen(_) => return,
            Body::Applies(conditions) => {
                let all = conditions.iter().map(|condition| self.reader.term(condition)).collect();
                let all = self.reader.terms.and(all);
                return self.put("applies", Some(all), rule.span());
            }
            Body::Except(id) => {
                let of = &policy[*id];
                let rule = of.rule.as_deref().unwrap_or("the policy");
                let name = format!("exception of {rule} until {} because {}", of.until, of.because);
                return self.expr(&name, &policy[of.holds].value);
            }
            Body::Score(score) => return self.score(rule, score),
            Body::Ledger(_) => format!("ledger {}", rule.name()),
            Body::Filter(_) => format!("filter {}", rule.name()),
            _ => rule.name().to_owned(),
        };
        for statement in rule.statements(policy) {
            let mode = self.mode(&name, rule);
            self.statement(&format!("{name} ({mode})"), statement);
        }
    }

    /// How far a rule goes; which pods it leaves alone, and for which it decides, are parts of their own.
    fn mode(&mut self, name: &str, rule: &'p Rule) -> String {
        let policy = self.reader.policy;
        for leave in rule.head.guard.iter().filter(|leave| leave.decides().is_none()) {
            self.expr(&format!("{name} leaves alone"), &leave.holds);
        }
        let word = rule.head.mode.word();
        let some = rule.head.guard.iter().find_map(Leave::decides);
        let Some((decides, otherwise)) = some else { return word.to_owned() };
        self.expr(&format!("{name} decides"), &policy[decides].value);
        format!("{word} else {}", otherwise.word())
    }

    fn statement(&mut self, name: &str, statement: Statement<'p>) {
        match statement {
            Statement::Condition(of) => self.expr(name, of),
            Statement::Missing(of, _) => self.guard(name, of),
            Statement::Check(of) => self.check(name, of),
            Statement::LedgerKey(of) => self.expr(name, &of.key),
            Statement::Key(of) => {
                let order = if of.descending { "desc" } else { "asc" };
                self.expr(&format!("{name} {order}"), &of.value);
            }
            Statement::Victim(of) => {
                self.reader.member(of.slot);
                self.expr(&format!("{name} {}", of.word()), &of.condition);
            }
            Statement::Wait(of) => {
                let group = of.group.map_or("none", |group| &*self.reader.policy[group].name);
                let name = format!("{name} for {group}");
                self.expr(&name, &of.patience);
                self.expr(&name, &of.until);
                self.reason(&name, &of.reason);
            }
            Statement::Write(of) => {
                self.when(name, of.when.as_ref(), of.span);
                self.written(&format!("{name} {}", of.verb.word()), &of.entries);
            }
            Statement::Act(of) => self.act(name, of),
            Statement::Add(_) | Statement::Only(_) | Statement::Give(_) => {
                self.when(name, statement.condition(), statement.span());
                statement.value().into_iter().for_each(|value| self.expr(name, value));
            }
        }
    }

    fn when(&mut self, name: &str, when: Option<&Expr>, span: Span) {
        let term = when.map(|when| self.reader.term(when));
        let term = term.unwrap_or_else(|| self.reader.terms.bool(true));
        self.put(format!("{name} when"), Some(term), when.map_or(span, |when| when.span));
    }

    fn guard(&mut self, name: &str, of: &'p Let) {
        let word = match &of.missing {
            Some(Missing::Skip) => "skip",
            Some(Missing::Error) => "error",
            Some(Missing::Reject(reason)) => {
                self.reason(name, reason);
                "reject"
            }
            None => "",
        };
        self.expr(&format!("{name} missing {word}"), &of.value);
    }

    /// What refuses, whether it is written as `require` or as `reject`.
    fn check(&mut self, name: &str, of: &'p Check) {
        let term = match &of.condition {
            None => self.reader.terms.bool(true),
            Some(condition) => {
                let condition = self.reader.term(condition);
                if of.refuses_when { condition } else { self.reader.terms.not(condition) }
            }
        };
        self.put(name, Some(term), of.condition.as_ref().map_or(of.span, |condition| condition.span));
        self.reason(name, &of.reason);
    }

    fn reason(&mut self, name: &str, of: &'p Reason) {
        let parts: Vec<Term> = of.parts.iter().map(|part| self.of_text(part)).collect();
        let text = self.reader.terms.make("reason", parts);
        self.put(format!("{name}: reason {:?}", of.written), Some(text), of.span);
        for (detail, value) in &of.details {
            self.expr(&format!("{name} with {detail}"), value);
        }
    }

    fn of_text(&mut self, part: &ReasonPart) -> Term {
        match part {
            ReasonPart::Text(text) => self.reader.terms.leaf(format!("text {text}")),
            ReasonPart::Hole(hole) => self.reader.term(hole),
        }
    }

    /// The gives of a score: where no value is given the node is left out, and so it is by `give none`.
    fn score(&mut self, rule: &'p Rule, score: &'p Score) {
        let mode = self.mode(rule.name(), rule);
        let shape = (score.weight, score.normalize, score.reversed, score.prefer);
        let name = format!("score {} {shape:?} ({mode})", rule.name());
        self.put(&name, None, rule.span());
        let mut left_out: Vec<Term> = Vec::new();
        for give in &score.gives {
            let when = give.when.as_ref().map(|when| self.reader.term(when));
            let when = when.unwrap_or_else(|| self.reader.terms.bool(true));
            let Some(value) = &give.value else {
                left_out.push(self.reader.terms.not(when));
                continue;
            };
            let mut all = left_out.clone();
            all.push(when);
            let parts = vec![self.reader.terms.and(all), self.reader.term(value)];
            let term = self.reader.terms.make("give", parts);
            self.put(&name, Some(term), give.span);
        }
    }

    fn written(&mut self, name: &str, entries: &'p [WriteEntry]) {
        for entry in entries {
            let within: Vec<&Text> = entry.within.iter().collect();
            let name = format!("{name} {within:?} {} {:?} {}", entry.key, entry.form, entry.removes);
            match entry.removes {
                true => self.put(name, None, entry.span),
                false => self.expr(&name, &entry.value),
            }
        }
    }

    fn act(&mut self, name: &str, act: &'p Act) {
        self.when(name, act.when.as_ref(), act.span);
        let name = format!("{name} {}", act.does.word());
        let group = act.does.group().map_or("none", |group| &*self.reader.policy[group].name);
        let target = act.does.target().map(ToString::to_string).unwrap_or_default();
        self.put(format!("{name} {group} {target}"), None, act.span);
        act.does.target().and_then(Target::expr).into_iter().for_each(|object| self.expr(&name, object));
        match &act.does {
            Does::Release(_, reason) => self.reason(&name, reason),
            Does::Activate(_) => {}
            Does::Remember(memo, value) => {
                self.expr(&format!("{name} {}", self.reader.policy[*memo].name), value);
            }
            Does::Write(_, verb, entries) => self.written(&format!("{name} {}", verb.word()), entries),
            Does::Event(_, of) => self.reason(&format!("{name} {} {}", of.warning, of.reason), &of.text),
        }
    }
}
