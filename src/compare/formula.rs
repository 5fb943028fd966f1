//! [`Formula`]: a condition over tests of variables, and [`Formulas`], which makes formulas of the conditions of two policies.
//!
//! A formula has the outcome of its condition whatever pod, node and cluster are: `translate` follows the reference evaluator
//! (`lang/eval/interpret.rs`) rule by rule, and takes what it does not look into as a variable.

use crate::cases::Term;
use crate::outcome::{Outcome, Outcomes};
use crate::places::Place;
use crate::plain::plain;
use crate::search::matches;
use crate::variables::{Atom, Cell, Key, Offset, Pattern, Test, Variable, VariableId, floats};
use bayplan_diag::Span;
use bayplan_lang::analysis::faults;
use bayplan_lang::eval::meaning::Meaning;
use bayplan_lang::language::fields::{FIELDS, FieldDef, FieldId, ObjectType};
use bayplan_lang::typed::walk::any;
use bayplan_lang::typed::{
    ArithmeticOp, CompareOp, Does, Expr, ExprKind, GroupId, Operation, Policy, ReasonPart, Root, Target,
};
use bayplan_lang::types::Type;
use bayplan_lang::types::range::Range;
use bayplan_lang::types::value::Constant;
use rustc_hash::FxHashMap;
use std::hash::{Hash, Hasher};
use std::mem::discriminant;

/// The most parts of the formulas of a rule.
const MOST_PARTS: usize = 8_192;

/// A condition over tests.
#[derive(Clone, Debug)]
pub(crate) enum Formula {
    Constant(Outcome),
    /// A test, by its place in [`Formulas::atoms`].
    Atom(usize),
    Not(Box<Formula>),
    And(Box<Formula>, Box<Formula>),
    Or(Box<Formula>, Box<Formula>),
    Choose(Box<Formula>, Box<Formula>, Box<Formula>),
    /// A fault counts as this.
    Settled(Box<Formula>, bool),
}

impl Formula {
    pub(crate) fn not(self) -> Self {
        match self {
            Formula::Constant(of) => Formula::constant(Outcomes::from(of).not(), of),
            Formula::Not(inner) => *inner,
            other => Formula::Not(Box::new(other)),
        }
    }

    fn constant(outcomes: Outcomes, otherwise: Outcome) -> Self {
        let of = [Outcome::False, Outcome::True, Outcome::Fault, Outcome::Stop];
        Formula::Constant(of.into_iter().find(|of| outcomes.is(*of)).unwrap_or(otherwise))
    }

    pub(crate) fn and(self, right: Self) -> Self {
        match (self, right) {
            (Formula::Constant(Outcome::True), other) => other,
            (Formula::Constant(Outcome::False), _) => Formula::Constant(Outcome::False),
            (left, right) => Formula::And(Box::new(left), Box::new(right)),
        }
    }

    pub(crate) fn or(self, right: Self) -> Self {
        match (self, right) {
            (Formula::Constant(Outcome::False), other) => other,
            (Formula::Constant(Outcome::True), _) => Formula::Constant(Outcome::True),
            (left, right) => Formula::Or(Box::new(left), Box::new(right)),
        }
    }

    pub(crate) fn choose(self, then: Self, otherwise: Self) -> Self {
        match self {
            Formula::Constant(Outcome::True) => then,
            Formula::Constant(Outcome::False) => otherwise,
            condition => Formula::Choose(Box::new(condition), Box::new(then), Box::new(otherwise)),
        }
    }

    /// This formula, in which a fault counts as `fault`.
    pub(crate) fn settled(self, fault: bool) -> Self {
        Formula::Settled(Box::new(self), fault)
    }

    /// The outcomes, where each test can have these.
    pub(crate) fn outcomes(&self, of: &impl Fn(usize) -> Outcomes) -> Outcomes {
        match self {
            Formula::Constant(outcome) => (*outcome).into(),
            Formula::Atom(atom) => of(*atom),
            Formula::Not(inner) => inner.outcomes(of).not(),
            Formula::And(left, right) => left.outcomes(of).and(right.outcomes(of)),
            Formula::Or(left, right) => left.outcomes(of).or(right.outcomes(of)),
            Formula::Choose(condition, then, otherwise) => {
                condition.outcomes(of).choose(then.outcomes(of), otherwise.outcomes(of))
            }
            Formula::Settled(inner, fault) => inner.outcomes(of).settled(*fault),
        }
    }

    /// Calls `f` for each test, in the order of the text.
    pub(crate) fn each_atom(&self, f: &mut impl FnMut(usize)) {
        match self {
            Formula::Constant(_) => {}
            Formula::Atom(atom) => f(*atom),
            Formula::Not(inner) | Formula::Settled(inner, _) => inner.each_atom(f),
            Formula::And(left, right) | Formula::Or(left, right) => {
                left.each_atom(f);
                right.each_atom(f);
            }
            Formula::Choose(condition, then, otherwise) => {
                condition.each_atom(f);
                then.each_atom(f);
                otherwise.each_atom(f);
            }
        }
    }
}

/// Makes formulas of the conditions of two policies, over one list of variables.
pub(crate) struct Formulas<'p> {
    pub(crate) policies: [&'p Policy; 2],
    meanings: [Meaning<'p>; 2],
    pub(crate) variables: Vec<Variable>,
    by_key: FxHashMap<Key, VariableId>,
    pub(crate) atoms: Vec<Atom>,
    /// How many parts the formulas have.
    pub(crate) parts: usize,
}

impl<'p> Formulas<'p> {
    /// Of the conditions of an old and a new policy.
    pub(crate) fn new(policies: [&'p Policy; 2]) -> Self {
        Self {
            policies,
            meanings: policies.map(Meaning::new),
            variables: Vec::new(),
            by_key: FxHashMap::default(),
            atoms: Vec::new(),
            parts: 0,
        }
    }

    /// Whether the formulas grew too large to be compared.
    pub(crate) fn is_too_large(&self) -> bool {
        self.parts > MOST_PARTS
    }

    /// What an expression of a side means.
    pub(crate) fn meaning(&mut self, side: usize, expr: &Expr) -> u64 {
        self.meanings.get_mut(side).map_or(0, |meaning| meaning.of(expr))
    }

    pub(crate) fn policy(&self, side: usize) -> &'p Policy {
        let [old, new] = self.policies;
        if side == 0 { old } else { new }
    }

    /// The formula of a condition of a side.
    pub(crate) fn translate(&mut self, side: usize, expr: &Expr) -> Formula {
        let plain = plain(self.policy(side), expr);
        self.formula(side, &plain)
    }

    /// The formula of a condition in the plain form.
    pub(crate) fn formula(&mut self, side: usize, expr: &Expr) -> Formula {
        self.parts += 1;
        if self.is_too_large() {
            return Formula::Constant(Outcome::False);
        }
        let policy = self.policy(side);
        match &expr.kind {
            ExprKind::Constant(constant) => Formula::Constant(constant.holds().into()),
            ExprKind::Param(id) => Formula::Constant(policy[*id].value.holds().into()),
            ExprKind::Let(id) => self.formula(side, &policy[*id].value),
            ExprKind::Present(inner) => self.formula(side, inner),
            ExprKind::Not(inner) => self.formula(side, inner).not(),
            ExprKind::And(left, right) => {
                let left = self.formula(side, left);
                left.and(self.formula(side, right))
            }
            ExprKind::Or(left, right) => {
                let left = self.formula(side, left);
                left.or(self.formula(side, right))
            }
            ExprKind::Conditional(condition, then, otherwise) => {
                let condition = self.formula(side, condition);
                let then = self.formula(side, then);
                condition.choose(then, self.formula(side, otherwise))
            }
            ExprKind::Coalesce(left, right) => {
                let present = self.present(side, left);
                let left = self.formula(side, left);
                present.choose(left, self.formula(side, right))
            }
            ExprKind::Has(inner) if !matches!(inner.kind, ExprKind::Resource(..)) => {
                self.present(side, inner)
            }
            ExprKind::Equal(left, right) => self.equal(side, left, right),
            ExprKind::Compare(op, left, right) => self.compared(side, *op, left, right),
            ExprKind::In(left, right) => self.is_in(side, left, right, expr),
            ExprKind::Dynamic(operation, args) => self.dynamic(side, operation, args, expr),
            ExprKind::Call(function, args, _) => self.call(side, function.def().counts_elements, args, expr),
            _ => self.holds(side, expr),
        }
    }

    /// An operation of CEL whose operands have types under which it means what the same of the policy language does.
    fn dynamic(&mut self, side: usize, operation: &Operation, args: &[Expr], expr: &Expr) -> Formula {
        match (operation, args) {
            (Operation::Truth, [inner]) if *inner.ty.present() == Type::Bool => self.formula(side, inner),
            (Operation::Equal, [left, right]) if is_plain(left, right) => self.equal(side, left, right),
            (Operation::NotEqual, [left, right]) if is_plain(left, right) => {
                self.equal(side, left, right).not()
            }
            (Operation::Compare(op), [left, right]) if is_plain(left, right) => {
                self.compared(side, *op, left, right)
            }
            _ => self.holds(side, expr),
        }
    }

    /// A call of a function as a condition: of a text with constants, a pattern of the text.
    fn call(&mut self, side: usize, counts: bool, args: &[Expr], expr: &Expr) -> Formula {
        let [subject, rest @ ..] = args else { return self.holds(side, expr) };
        let constants = rest.iter().all(|arg| self.constant(side, arg).is_some());
        if counts || !constants || *subject.ty.present() != Type::String {
            return self.holds(side, expr);
        }
        let subject = self.term(side, subject);
        self.pattern(side, &subject, expr)
    }

    /// A call whose first operand is a text.
    fn pattern(&mut self, side: usize, subject: &Term, call: &Expr) -> Formula {
        let of = match subject {
            Term::Choice(condition, then, otherwise) => {
                let then = self.pattern(side, then, call);
                return condition.as_ref().clone().choose(then, self.pattern(side, otherwise, call));
            }
            Term::Constant(text) => match matches(self, side, call, text) {
                Some(holds) => return Formula::Constant(holds.into()),
                None => Expr { kind: ExprKind::Constant(text.clone()), ..call.clone() },
            },
            Term::Value(of) => of.as_ref().clone(),
            Term::Fault => return Formula::Constant(Outcome::Fault),
        };
        let mut call = call.clone();
        if let ExprKind::Call(_, args, _) = &mut call.kind
            && let Some(first) = args.first_mut()
        {
            *first = of.clone();
        }
        let subject = self.variable(side, &of);
        let condition = self.holds(side, &call);
        if let Formula::Atom(atom) = &condition
            && let Some(of) = self.atoms.get(*atom).and_then(|atom| self.variables.get_mut(atom.variable.0))
        {
            of.pattern = Some(Pattern { subject, call });
        }
        condition
    }

    /// A condition that is one variable in each of its cases.
    fn holds(&mut self, side: usize, expr: &Expr) -> Formula {
        match self.term(side, expr) {
            Term::Value(of) => self.one(side, &of),
            term => self.term_holds(side, &term),
        }
    }

    fn term_holds(&mut self, side: usize, term: &Term) -> Formula {
        match term {
            Term::Constant(of) => Formula::Constant(of.holds().into()),
            Term::Fault => Formula::Constant(Outcome::Fault),
            Term::Value(of) => match &of.kind {
                ExprKind::Present(_)
                | ExprKind::Has(_)
                | ExprKind::Not(_)
                | ExprKind::And(..)
                | ExprKind::Or(..)
                | ExprKind::Equal(..)
                | ExprKind::Compare(..) => self.formula(side, of),
                ExprKind::In(_, all) if self.constant(side, all).is_some() => self.formula(side, of),
                _ => self.one(side, of),
            },
            Term::Choice(condition, then, otherwise) => {
                let (then, otherwise) = (self.term_holds(side, then), self.term_holds(side, otherwise));
                condition.as_ref().clone().choose(then, otherwise)
            }
        }
    }

    /// A condition that is one variable.
    fn one(&mut self, side: usize, expr: &Expr) -> Formula {
        self.of_numbers(side, expr).unwrap_or_else(|| {
            let variable = self.variable(side, expr);
            self.atom(variable, Test::Holds)
        })
    }

    /// A comparison of CEL of floats that are none but numbers, which has no fault.
    fn of_numbers(&mut self, side: usize, expr: &Expr) -> Option<Formula> {
        let ExprKind::Dynamic(Operation::Compare(op), args) = &expr.kind else { return None };
        let [left, right] = args.as_slice() else { return None };
        let is_number = |of: &Expr| of.ty == Type::Float && floats(of) != Range::None;
        (is_number(left) && is_number(right)).then(|| self.compared(side, *op, left, right))
    }

    /// Whether the value of an expression is there; a fault where it is one.
    pub(crate) fn is_present(&mut self, side: usize, expr: &Expr) -> Formula {
        let plain = plain(self.policy(side), expr);
        self.present(side, &plain)
    }

    /// Whether the node is among these names.
    pub(crate) fn is_named_node(&mut self, side: usize, names: &Expr) -> Formula {
        let is_name = |field: &FieldDef| field.owner == ObjectType::Node && field.name == "name";
        let Some(at) = FIELDS.iter().position(is_name) else { return Formula::Constant(Outcome::False) };
        let expr = |kind, ty| Expr { kind, ty, range: Range::None, span: names.span };
        let node = expr(ExprKind::Root(Root::Node), Type::Object(ObjectType::Node));
        let name = expr(ExprKind::Field(Box::new(node), FieldId(at as u16)), Type::String);
        let is_in = expr(ExprKind::In(Box::new(name), Box::new(names.clone())), Type::Bool);
        self.translate(side, &is_in)
    }

    /// A number of what an act does.
    pub(crate) fn act(&mut self, side: usize, does: &Does, hasher: &mut impl Hasher) {
        discriminant(does).hash(hasher);
        match does {
            Does::Release(group, reason) => {
                (self.group(side, *group), format!("{:?}", reason.constant())).hash(hasher);
            }
            Does::Activate(group) => self.group(side, *group).hash(hasher),
            Does::Remember(memo, _) => {
                self.meanings.get_mut(side).map(|meaning| meaning.of_memo(*memo)).hash(hasher);
            }
            Does::Write(target, verb, entries) => {
                (discriminant(target), *verb as u8).hash(hasher);
                entries.iter().for_each(|entry| (entry.path(), entry.removes).hash(hasher));
            }
            Does::Event(target, event) => {
                (discriminant(target), event.warning, &event.reason).hash(hasher);
                for part in &event.text.parts {
                    match part {
                        ReasonPart::Text(text) => text.hash(hasher),
                        ReasonPart::Hole(hole) => self.meaning(side, hole).hash(hasher),
                    }
                }
            }
        }
        if let Some(object) = does.target().and_then(Target::expr) {
            self.meaning(side, object).hash(hasher);
        }
    }

    /// What a group of pods is.
    pub(crate) fn group(&mut self, side: usize, id: GroupId) -> u64 {
        self.meanings.get_mut(side).map_or(0, |meaning| meaning.of_group(id))
    }

    /// Whether a value is there.
    pub(crate) fn present(&mut self, side: usize, expr: &Expr) -> Formula {
        let term = self.term(side, expr);
        self.term_present(side, &term)
    }

    fn term_present(&mut self, side: usize, term: &Term) -> Formula {
        match term {
            Term::Constant(of) => Formula::Constant((!of.is_absent()).into()),
            Term::Fault => Formula::Constant(Outcome::Fault),
            Term::Value(expr) => {
                let variable = self.variable(side, expr);
                self.atom(variable, Test::Present)
            }
            Term::Choice(condition, then, otherwise) => {
                let (then, otherwise) = (self.term_present(side, then), self.term_present(side, otherwise));
                condition.as_ref().clone().choose(then, otherwise)
            }
        }
    }

    fn is_in(&mut self, side: usize, left: &Expr, right: &Expr, whole: &Expr) -> Formula {
        match (self.term(side, left), self.constant(side, right)) {
            (Term::Constant(of), Some(all)) => Formula::Constant(of.is_in(&all).into()),
            (term, Some(Constant::List(all))) => self.one_of(side, &term, &all),
            (Term::Constant(key), None)
                if matches!(right.ty.present(), Type::Map(..)) && !key.is_absent() =>
            {
                let Type::Map(_, value) = right.ty.present() else { return self.holds(side, whole) };
                let of = Expr {
                    kind: ExprKind::Index(Box::new(right.clone()), Box::new(left.clone())),
                    ty: Type::Optional(value.clone()),
                    range: whole.range,
                    span: whole.span,
                };
                self.present(side, &of)
            }
            (term, None) => match &right.kind {
                // Of a list whose elements are not all constant, each is compared.
                ExprKind::List(elements) if elements.iter().all(|(_, optional)| !optional) => {
                    let compared = elements.iter().map(|(element, _)| {
                        let element = self.term(side, element);
                        self.terms_equal(side, &term, &element)
                    });
                    compared
                        .collect::<Vec<_>>()
                        .into_iter()
                        .fold(Formula::Constant(Outcome::False), Formula::or)
                }
                _ => self.holds(side, whole),
            },
            _ => self.holds(side, whole),
        }
    }

    fn one_of(&mut self, side: usize, term: &Term, all: &[Constant]) -> Formula {
        match term {
            Term::Constant(of) => Formula::Constant(all.iter().any(|one| of.equals(one)).into()),
            Term::Fault => Formula::Constant(Outcome::Fault),
            Term::Value(expr) => {
                let variable = self.variable(side, expr);
                self.atom(variable, Test::OneOf(all.to_vec()))
            }
            Term::Choice(condition, then, otherwise) => {
                let (then, otherwise) = (self.one_of(side, then, all), self.one_of(side, otherwise, all));
                condition.as_ref().clone().choose(then, otherwise)
            }
        }
    }

    fn equal(&mut self, side: usize, left: &Expr, right: &Expr) -> Formula {
        let (left, right) = (self.term(side, left), self.term(side, right));
        self.terms_equal(side, &left, &right)
    }

    fn terms_equal(&mut self, side: usize, left: &Term, right: &Term) -> Formula {
        self.parts += 1;
        if self.is_too_large() {
            return Formula::Constant(Outcome::False);
        }
        match (left, right) {
            (Term::Choice(condition, then, otherwise), other)
            | (other, Term::Choice(condition, then, otherwise)) => {
                let (then, otherwise) =
                    (self.terms_equal(side, then, other), self.terms_equal(side, otherwise, other));
                condition.as_ref().clone().choose(then, otherwise)
            }
            (Term::Fault, _) | (_, Term::Fault) => Formula::Constant(Outcome::Fault),
            (Term::Constant(left), Term::Constant(right)) => Formula::Constant(left.equals(right).into()),
            (Term::Constant(of), other) | (other, Term::Constant(of)) => {
                self.one_of(side, other, std::slice::from_ref(of))
            }
            (Term::Value(left), Term::Value(right)) => self.pair(side, (left, right), Test::Equal),
        }
    }

    fn compared(&mut self, side: usize, op: CompareOp, left: &Expr, right: &Expr) -> Formula {
        let (left, right) = (self.term(side, left), self.term(side, right));
        self.terms_compared(side, op, &left, &right)
    }

    fn terms_compared(&mut self, side: usize, op: CompareOp, left: &Term, right: &Term) -> Formula {
        self.parts += 1;
        if self.is_too_large() {
            return Formula::Constant(Outcome::False);
        }
        match (left, right) {
            (Term::Choice(condition, then, otherwise), _) => {
                let then = self.terms_compared(side, op, then, right);
                condition.as_ref().clone().choose(then, self.terms_compared(side, op, otherwise, right))
            }
            (_, Term::Choice(condition, then, otherwise)) => {
                let then = self.terms_compared(side, op, left, then);
                condition.as_ref().clone().choose(then, self.terms_compared(side, op, left, otherwise))
            }
            (Term::Fault, _) | (_, Term::Fault) => Formula::Constant(Outcome::Fault),
            (Term::Constant(left), Term::Constant(right)) => {
                Formula::Constant(bayplan_lang::eval::interpret::compare(op, left, right).into())
            }
            (Term::Value(expr), Term::Constant(of)) => self.with_constant(side, op, expr, of),
            (Term::Constant(of), Term::Value(expr)) => self.with_constant(side, mirrored(op), expr, of),
            (Term::Value(left), Term::Value(right)) => self.pair(side, (left, right), Test::Pair(op)),
        }
    }

    fn with_constant(&mut self, side: usize, op: CompareOp, expr: &Expr, of: &Constant) -> Formula {
        if of.is_absent() {
            return Formula::Constant(Outcome::False);
        }
        let variable = self.variable(side, expr);
        self.atom(variable, Test::Compares(op, of.clone()))
    }

    /// How two values compare; the one with the smaller number is the first.
    fn pair(&mut self, side: usize, (left, right): (&Expr, &Expr), test: Test) -> Formula {
        let numbers = (self.meaning(side, left), self.meaning(side, right));
        if numbers.0 == numbers.1 && !may_be_nan(left) {
            let holds = match test {
                Test::Pair(CompareOp::Less | CompareOp::Greater) => return Formula::Constant(Outcome::False),
                _ => Test::Present,
            };
            let variable = self.variable(side, left);
            return self.atom(variable, holds);
        }
        let (first, second, test) = match (numbers.0 <= numbers.1, test) {
            (true, test) => (left, right, test),
            (false, Test::Pair(op)) => (right, left, Test::Pair(mirrored(op))),
            (false, test) => (right, left, test),
        };
        let key = Key::Pair(numbers.0.min(numbers.1), numbers.0.max(numbers.1));
        let failing = self.failing(side, first);
        let other = self.failing(side, second);
        let failing = (failing.0 || other.0, failing.1 || other.1);
        let of = vec![(side, first.clone()), (side, second.clone())];
        let variable = self.known(key, of, failing);
        let offsets = [first, second].map(|expr| self.offset(side, expr));
        if let Some(of) = self.variables.get_mut(variable.0) {
            of.offsets = offsets;
        }
        // Each side is a variable too: what is known of it alone must fit.
        for expr in [first, second] {
            self.variable(side, expr);
        }
        self.atom(variable, test)
    }

    /// A whole number as another value and a constant; `None`: it is another kind of value.
    fn offset(&mut self, side: usize, expr: &Expr) -> Option<Offset> {
        let policy = self.policy(side);
        let expr = bayplan_lang::analysis::shape::resolve_alias(policy, expr);
        if !matches!(Range::of(&expr.ty), Range::Whole { .. }) && *expr.ty.present() != Type::Time {
            return None;
        }
        let whole = |expr: &Expr| match self.constant(side, expr) {
            Some(Constant::Int(by)) => Some(i128::from(by)),
            _ => None,
        };
        let (base, by) = match &expr.kind {
            ExprKind::Arithmetic(ArithmeticOp::Add, left, right) => match (whole(left), whole(right)) {
                (None, Some(by)) => (&**left, by),
                (Some(by), None) => (&**right, by),
                _ => (expr, 0),
            },
            ExprKind::Arithmetic(ArithmeticOp::Subtract, left, right) => match whole(right) {
                Some(by) => (&**left, -by),
                None => (expr, 0),
            },
            _ => (expr, 0),
        };
        // A sum that may be a fault is none at all.
        let base = if faults::may_fail(policy, expr) { expr } else { base };
        let by = if std::ptr::eq(base, expr) { 0 } else { by };
        Some(Offset { base: self.meaning(side, base), by })
    }

    fn atom(&mut self, variable: VariableId, test: Test) -> Formula {
        if let Some(of) = self.variables.get_mut(variable.0) {
            of.learn(&test);
        }
        self.atoms.push(Atom { variable, test, outcomes: Vec::new() });
        Formula::Atom(self.atoms.len() - 1)
    }

    fn variable(&mut self, side: usize, expr: &Expr) -> VariableId {
        let key = Key::Value(self.meaning(side, expr));
        let failing = self.failing(side, expr);
        self.known(key, vec![(side, expr.clone())], failing)
    }

    fn known(&mut self, key: Key, of: Vec<(usize, Expr)>, failing: (bool, bool)) -> VariableId {
        let policies = self.policies;
        if let Some(known) = self.by_key.get(&key) {
            if let Some(variable) = self.variables.get_mut(known.0) {
                of.iter().for_each(|(side, expr)| {
                    variable.widen(expr, failing, policies.get(*side).is_some_and(|policy| policy.cel))
                });
            }
            return *known;
        }
        let id = VariableId(self.variables.len());
        let cel = of.iter().any(|(side, _)| self.policy(*side).cel);
        self.variables.push(Variable::new(key.clone(), of, failing, cel));
        self.by_key.insert(key, id);
        id
    }

    /// The variables of the two sides of a pair.
    pub(crate) fn sides(&self, pair: VariableId) -> [Option<VariableId>; 2] {
        match self.variables.get(pair.0).map(|variable| &variable.key) {
            Some(Key::Pair(first, second)) => {
                [first, second].map(|side| self.by_key.get(&Key::Value(*side)).copied())
            }
            _ => [None, None],
        }
    }

    /// What is taken as one value and is not a field of an object, each with its side.
    pub(crate) fn opaque(&self) -> Vec<(usize, Span)> {
        let of = self.variables.iter().filter(|variable| !variable.is_pair() && variable.pattern.is_none());
        let unplaced = of.filter_map(|variable| {
            let (side, expr) = variable.of.first()?;
            Place::of(self.policies.get(*side)?, expr, None).is_none().then_some((*side, expr.span))
        });
        unplaced.collect()
    }

    /// Whether a variable may have no value.
    pub(crate) fn is_optional(&self, of: VariableId) -> bool {
        self.variables.get(of.0).is_some_and(|variable| variable.cells.contains(&Cell::Absent))
    }

    /// Divides the values of all variables into cells: every condition is translated.
    pub(crate) fn divide(&mut self) {
        self.variables.iter_mut().for_each(Variable::divide);
        for atom in &mut self.atoms {
            let cells = self.variables.get(atom.variable.0).map_or(&[][..], |variable| &variable.cells);
            atom.outcomes = cells.iter().map(|cell| atom.in_cell(cell)).collect();
        }
    }

    /// Whether an expression may be a fault, and one that ends the evaluation.
    fn failing(&self, side: usize, expr: &Expr) -> (bool, bool) {
        let policy = self.policy(side);
        let fails = faults::may_fail(policy, expr);
        let stops =
            |of: &Expr| matches!(of.kind, ExprKind::Dynamic(Operation::Counted(_) | Operation::Hashed, _));
        (fails, fails && any(policy, expr, &mut |of| stops(of)))
    }

    /// Whether a fault of an expression may end the evaluation.
    pub(crate) fn may_stop(&self, side: usize, expr: &Expr) -> bool {
        self.failing(side, expr).1
    }

    fn constant(&self, side: usize, expr: &Expr) -> Option<Constant> {
        bayplan_lang::analysis::shape::constant(self.policy(side), expr)
    }
}

/// Whether the operands of a comparison of CEL have one plain type, so that the comparison means what it does in the policy
/// language.
fn is_plain(left: &Expr, right: &Expr) -> bool {
    let plain = |ty: &Type| matches!(ty, Type::Bool | Type::Int | Type::Uint | Type::String);
    left.ty == right.ty && plain(&left.ty)
}

fn may_be_nan(expr: &Expr) -> bool {
    matches!(expr.ty.present(), Type::Float | Type::Dyn | Type::Any)
}

fn mirrored(op: CompareOp) -> CompareOp {
    match op {
        CompareOp::Less => CompareOp::Greater,
        CompareOp::LessEqual => CompareOp::GreaterEqual,
        CompareOp::Greater => CompareOp::Less,
        CompareOp::GreaterEqual => CompareOp::LessEqual,
    }
}
