//! `except`: which pods a policy or a rule leaves alone, and until when. Exceptions are checked once the rules are, and
//! become parts of their guards.

use super::dialect::ExprLanguage;
use super::scope::{FactScope, Frame, Place};
use super::{Checker, Texts};
use crate::eval::budget::Budget;
use crate::exceptions::{Outside, OutsideException};
use crate::language::statements::StatementId;
use crate::schemas::Schemas;
use crate::syntax::ast::{self, BlockKind, StatementKind, Text};
use crate::typed::{CompareOp, Excepted, Exception, Expr, ExprKind, Let, LetId, Policy};
use crate::types::Type;
use crate::types::value::Value;
use bayplan_diag::{Diagnostic, Span, codes};
use bayplan_model::Time;

impl<'a> Checker<'a> {
    /// The exceptions that a policy says itself, and those from elsewhere.
    pub(super) fn exceptions(&mut self, policy: &'a ast::Policy, outside: &'a Outside, result: &mut Policy) {
        for statement in &policy.statements {
            if let StatementKind::Except(except) = &statement.kind {
                let about = match &except.target {
                    None => Some((None, Excepted::Policy)),
                    Some(rule) => self.rule_of_exception(rule, result),
                };
                if let Some((rule, about)) = about {
                    self.except(except, statement.span, rule, about, result);
                }
            }
            let rule = match &statement.kind {
                StatementKind::Filter(of) => of.name.text.clone(),
                StatementKind::Score(of) => of.name.text.clone(),
                StatementKind::Prefilter(_) => Text::from("prefilter"),
                StatementKind::Reserve(_) => Text::from("reserve"),
                StatementKind::Permit(_) => Text::from("permit"),
                StatementKind::Preempt(_) => Text::from("preempt"),
                _ => continue,
            };
            let about = Excepted::At(statement.span);
            let inside = statement.kind.block().into_iter().flat_map(|block| &block.statements);
            for inner in inside {
                if let BlockKind::Except(except) = &inner.kind {
                    if let Some(named) = &except.target {
                        let message = format!("an exception in `{rule}` is from `{rule}`");
                        let help = "remove the name, or move the exception out of the block";
                        self.mistake(&codes::MISPLACED_STATEMENT, named.span, message, help);
                    }
                    self.except(except, inner.span, Some(rule.clone()), about, result);
                }
            }
        }
        for of in outside.about(&policy.name.text) {
            self.outside_exception(of, result);
        }
    }

    /// The rule that an exception of a document names.
    fn rule_of_exception(&mut self, rule: &ast::Name, result: &Policy) -> Option<(Option<Text>, Excepted)> {
        if let Some((message, help)) = two_rules(result, &rule.text) {
            self.mistake(&codes::UNKNOWN_NAME, rule.span, message, help);
            return None;
        }
        let about = Excepted::named(result, &rule.text);
        if about.is_none() {
            let message = format!("the policy has no rule `{}`", rule.text);
            let help = self.no_rule(result, "", &rule.text);
            self.mistake(&codes::UNKNOWN_NAME, rule.span, message, help);
        }
        about.map(|about| (Some(rule.text.clone()), about))
    }

    /// An exception from elsewhere. Its own text reports its mistakes: here it is left out.
    fn outside_exception(&mut self, of: &'a OutsideException, result: &mut Policy) {
        let about = match &of.rule {
            None => Excepted::Policy,
            Some(rule) => match Excepted::named(result, rule) {
                Some(about) => {
                    if let Some((message, help)) = two_rules(result, rule) {
                        return self.mistake(&codes::EXCEPTION_WITHOUT_EFFECT, of.target, message, help);
                    }
                    about
                }
                None => {
                    let message = format!("the policy `{}` has no rule `{rule}`", of.policy);
                    let help = self.no_rule(result, &format!("{}/", of.policy), rule);
                    return self.mistake(&codes::EXCEPTION_WITHOUT_EFFECT, of.target, message, help);
                }
            },
        };
        let (own, before) = (std::mem::take(&mut self.diagnostics), self.incomplete);
        // It sees no name of the policy, and is in the policy language.
        let names = std::mem::take(&mut self.names);
        let dialect = std::mem::replace(&mut self.dialect, ExprLanguage::Policy);
        let made = self.exception(&of.except, of.span, of.rule.clone());
        let fails = self.is_broken();
        (self.names, self.dialect, self.diagnostics, self.incomplete) = (names, dialect, own, before);
        if let Some(made) = made.filter(|_| !fails) {
            result.except(made, about);
        }
    }

    /// A `let` that no name reaches.
    pub(super) fn hidden_let(&mut self, name: &str, value: Expr, span: Span) -> LetId {
        let name = Text::from(name);
        let id = LetId(self.declared.lets.len() as u32);
        let number = self.numbering().number_of_let(None, id, &value);
        self.values.let_numbers.push(number);
        self.declared.lets.push(Let { name, value, missing: None, of_policy: true, span });
        id
    }

    fn except(
        &mut self,
        except: &'a ast::Except,
        span: Span,
        rule: Option<Text>,
        about: Excepted,
        result: &mut Policy,
    ) {
        if let Some(exception) = self.exception(except, span, rule) {
            result.except(exception, about);
        }
    }

    /// Checks an exception; `None` where its day or condition is wrong.
    fn exception(&mut self, except: &'a ast::Except, span: Span, rule: Option<Text>) -> Option<Exception> {
        let end = Time::end_of_day(&except.until.text);
        if end.is_none() {
            let message = format!("`{}` is not a day", except.until.text);
            let help = "a day is written as in `2027-01-31`";
            self.mistake(&codes::BAD_CONSTANT, except.until.span, message, help);
        }
        if except.because.text.trim().is_empty() {
            let help =
                "say who needs the exception and for what, as in `\"OPS-123: batch moves in January\"`";
            self.mistake(&codes::MISSING_REASON, except.because.span, "why is there an exception?", help);
        }
        // It is decided before values with `missing` are known to be there.
        self.frame = Frame::new(Place::In(StatementId::Except), FactScope::Raw);
        let when = except.when.as_ref().map(|when| {
            let condition = self.condition(when);
            self.always(&condition, "the exception is about every pod", "the exception is about no pod");
            condition
        });
        if when.as_ref().is_some_and(|when| when.ty.is_unknown()) {
            return None;
        }
        let end = end?;
        let day = except.until.span;
        let now = self.make(ExprKind::Now, Type::Time, day);
        let until = self.make(ExprKind::Constant(Value::Time(end)), Type::Time, day);
        let lasts =
            self.make(ExprKind::Compare(CompareOp::Less, Box::new(now), Box::new(until)), Type::Bool, day);
        let place = when.as_ref().map(|when| when.span);
        // The pod comes first: its end is nothing to pods that it is not about.
        let holds = match when {
            None => lasts,
            Some(when) => self.make(ExprKind::And(Box::new(when), Box::new(lasts)), Type::Bool, span),
        };
        let name = format!("except until {}", except.until.text);
        let id = self.hidden_let(&name, holds, span);
        let because = Text::from(&*except.because.text);
        Some(Exception {
            rule,
            until: except.until.text.clone(),
            end,
            because,
            holds: id,
            when: place,
            reported: true,
            day,
            span,
        })
    }

    /// The way out for an exception from a rule that is not there.
    fn no_rule(&self, policy: &Policy, before: &str, rule: &str) -> String {
        let rule = rule.rsplit('/').next().unwrap_or(rule);
        match self.nearest(rule, Excepted::names(policy)) {
            Some(near) => format!("did you mean `{before}{near}`?"),
            None => {
                "exceptions name a filter, a score, `gate`, `prefilter`, `reserve`, `permit` or `preempt`"
                    .to_owned()
            }
        }
    }
}

/// The diagnostic about the name of an exception that a filter or score shares with a block of the policy.
fn two_rules(policy: &Policy, name: &str) -> Option<(String, String)> {
    let many = Excepted::names(policy).into_iter().filter(|known| *known == name).count();
    (many > 1).then(|| {
        let message = format!("`{name}` names a rule and the block `{name}` of the policy");
        (message, format!("give the filter or score that is called `{name}` another name"))
    })
}

/// Checks the exceptions at the top level of a file by themselves: they see a pod and its namespace, and no name of the
/// policy that they are about.
pub(super) fn check_outside(
    file: &ast::File,
    text: Texts<'_>,
    schemas: &Schemas,
    budget: &Budget,
    diagnostics: &mut Vec<Diagnostic>,
) {
    for item in &file.items {
        let ast::ItemKind::Except(except) = &item.kind else { continue };
        if budget.is_exceeded() {
            return;
        }
        let mut checker = Checker::new(text, Vec::new(), budget).with(schemas);
        let before = budget.checks.spent();
        checker.exception(except, item.span, None);
        budget.checks.note(before, item.span);
        diagnostics.append(&mut checker.diagnostics);
    }
}

/// An exception of another text with which its policy is refused.
pub(crate) fn with_which_it_is_refused(of: &OutsideException, said: &[Diagnostic]) -> Diagnostic {
    let message = format!("this exception is ignored: with it the policy `{}` does not compile", of.policy);
    let why = said.iter().find(|said| said.is_error()).map(|said| said.message.clone());
    let said = Diagnostic::new(&codes::EXCEPTION_WITHOUT_EFFECT, of.span, message);
    said.with_help(why.unwrap_or_else(|| "make its condition simpler".to_owned()))
}
