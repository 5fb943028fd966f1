//! `score` and `prefer`: the values they give, and the proof that these lie in 0 to 100.

use super::Checker;
use super::expr::strip;
use super::scope::{FactScope, Frame, Place};
use crate::language::documents::MOST_WEIGHT;
use crate::language::statements::StatementId;
use crate::syntax::ast::{self, BlockKind, Normalize};
use crate::typed::reads::RuleReads;
use crate::typed::{ArithmeticOp, Expr, ExprKind, Give, Root, Score};
use crate::types::Type;
use crate::types::range::Range;
use crate::types::value::Value;
use bayplan_diag::{Diagnostic, Span, codes};

impl<'a> Checker<'a> {
    pub(super) fn weight(&mut self, of: &ast::Expr) -> i64 {
        self.frame = Frame::new(Place::Constant, FactScope::Raw);
        let weight = self.expr(of, Some(&Type::Int));
        if weight.ty.is_unknown() {
            return 1;
        }
        match self.constant(&weight) {
            Some(Value::Int(value)) if (1..=MOST_WEIGHT).contains(&value) && weight.ty == Type::Int => value,
            Some(value) => {
                let message =
                    format!("a weight is a whole number from 1 to {MOST_WEIGHT}, this is `{value}`");
                self.mistake(&codes::BAD_WEIGHT, of.span, message, "");
                1
            }
            None => {
                self.mistake(
                    &codes::BAD_WEIGHT,
                    of.span,
                    "a weight is a constant",
                    "write a number or the name of a param",
                );
                1
            }
        }
    }

    pub(super) fn score(&mut self, score: &'a ast::Score) -> Score {
        let weight = score.weight.as_ref().map_or(1, |weight| self.weight(weight));
        let normalize = score.normalize.map_or(Normalize::None, |(normalize, _)| normalize);
        self.enter(Place::In(StatementId::Score));
        let mut gives: Vec<Give> = Vec::new();
        let mut last: Option<Span> = None;
        for statement in &score.block.statements {
            match &statement.kind {
                BlockKind::Let(of) => self.block_let(of),
                BlockKind::Give(give) => {
                    if let Some(always) = last {
                        self.report(
                            Diagnostic::new(
                                &codes::UNREACHABLE_GIVE,
                                statement.span,
                                "this `give` is never reached",
                            )
                            .with_place(always, "this one always holds")
                            .with_help("add `when …` to the one before, or remove this one"),
                        );
                    }
                    let give = self.give(give, normalize, statement.span);
                    if give.when.is_none() {
                        last.get_or_insert(statement.span);
                    }
                    gives.push(give);
                }
                other => self.refused_in_block(other, statement.span),
            }
        }
        self.leave();
        self.score_kinds(&gives);
        self.constant_score(score, &gives, normalize);
        Score {
            weight,
            normalize,
            reversed: score.reversed.is_some(),
            gives,
            prefer: false,
            reads: RuleReads::default(),
            on_error: self.on_error,
        }
    }

    fn give(&mut self, give: &'a ast::Give, normalize: Normalize, span: Span) -> Give {
        let mark = self.frame.facts.mark();
        let when = give.when.as_ref().map(|when| {
            let condition = self.condition(when);
            self.always(&condition, "the gives after it are never reached", "it is never given");
            condition
        });
        if let Some(when) = &when {
            self.assume(when, true);
        }
        let value = self.expr(&give.value, None);
        let value = self.of_policy_form(value);
        let none = *value.ty.present() == Type::Never && value.ty.is_optional();
        let value = if none { None } else { Some(self.score_value(value, normalize)) };
        self.frame.facts.forget(mark);
        if let Some(when) = &when {
            self.assume(when, false);
        }
        Give { value, when, span }
    }

    /// A value that is given: a number, in 0 to 100 where nothing spreads it.
    fn score_value(&mut self, value: Expr, normalize: Normalize) -> Expr {
        if value.ty.is_unknown() {
            return value;
        }
        let text = self.excerpt(value.span).to_owned();
        let ty = value.ty.present().clone();
        if !ty.is_numeric() || ty == Type::Uint {
            let help = match ty {
                Type::Bool => format!("`give 100 when {text}`"),
                Type::String => format!("convert it: `int({text}) ?? 0`"),
                Type::Time => "a time is not a number: `now() - …` is a duration".to_owned(),
                Type::List(_) => format!("`{text}.size()`"),
                Type::Resources => format!("one resource of it: `{text}.cpu`"),
                _ => String::new(),
            };
            let message = format!("a score is a number, this is `{ty}`");
            self.mistake(&codes::TYPE_MISMATCH, value.span, message, help);
            return self.unknown(value.span);
        }
        // Report a unit before a missing value: the two usually have one cause.
        let plain = matches!(ty, Type::Int | Type::Float | Type::Count);
        if normalize == Normalize::None && !plain {
            let help = self.percentage_help(&value, &text);
            let message = format!("a score is 0 to 100, this is `{ty}`");
            self.mistake(&codes::SCORE_RANGE, value.span, message, help);
            return self.unknown(value.span);
        }
        let value = self.value(value);
        if value.ty.is_unknown() {
            return value;
        }
        match normalize {
            Normalize::None => {
                if !value.range.within(0.0, 100.0) && !value.range.is_empty() {
                    let help = match self.ratio(&value) {
                        Some((part, whole)) => format!("`give percent({part}, {whole})`"),
                        None => format!(
                            "`clamp({text}, 0, 100)`, `percent(a, b)`, `normalize max` or `normalize minmax`"
                        ),
                    };
                    let message = format!("a score is 0 to 100, this is {}", range_words(&value));
                    self.mistake(&codes::SCORE_RANGE, value.span, message, help);
                } else if value.ty == Type::Float
                    && value.range.within(0.0, 1.0)
                    && value.range.ends().is_some_and(|(low, high)| low < high)
                {
                    self.mistake(
                        &codes::SCORE_IN_ZERO_TO_ONE,
                        value.span,
                        "a score goes from 0 to 100, this lies in 0 to 1",
                        format!("`100 * {text}`"),
                    );
                }
            }
            Normalize::Max => {
                if !value.range.is_positive_or_zero() {
                    let message =
                        format!("`normalize max` wants no number below 0, this is {}", range_words(&value));
                    let help = format!("`normalize minmax` takes any number; `max({text}, 0)`");
                    self.mistake(&codes::SCORE_RANGE, value.span, message, help);
                }
            }
            Normalize::MinMax => {}
        }
        value
    }

    /// How the part of a node is written as a percentage.
    /// `a` and `b` of `a / b` of one unit, also as `100 * a / b ?? 0`.
    fn ratio(&self, value: &Expr) -> Option<(&str, &str)> {
        match strip(&value.kind) {
            ExprKind::Coalesce(value, _) => self.ratio(value),
            ExprKind::Arithmetic(ArithmeticOp::Multiply, by, value) if self.constant(by).is_some() => {
                self.ratio(value)
            }
            ExprKind::Arithmetic(ArithmeticOp::Divide, part, whole) if part.ty.is_numeric() => {
                let part = match strip(&part.kind) {
                    ExprKind::Arithmetic(ArithmeticOp::Multiply, by, part) if self.constant(by).is_some() => {
                        part
                    }
                    _ => part,
                };
                (part.ty == whole.ty).then(|| (self.excerpt(part.span), self.excerpt(whole.span)))
            }
            _ => None,
        }
    }

    fn percentage_help(&self, value: &Expr, text: &str) -> String {
        if let ExprKind::Resource(resources, _) = strip(&value.kind)
            && let ExprKind::Field(object, _) = strip(&resources.kind)
            && matches!(object.kind, ExprKind::Root(Root::Node))
        {
            let from = self.excerpt(resources.span);
            let whole = text.replacen(from, "node.allocatable", 1);
            return format!("`give percent({text}, {whole})`");
        }
        "`percent(a, b)`, `normalize max` or `normalize minmax`".to_owned()
    }

    /// All values of one score have one kind, or the values of two nodes cannot be compared.
    fn score_kinds(&mut self, gives: &[Give]) {
        let mut first: Option<&Expr> = None;
        let mut mixed = None;
        for value in gives.iter().filter_map(|give| give.value.as_ref()) {
            if value.ty.is_unknown() {
                continue;
            }
            match first {
                None => first = Some(value),
                Some(known) => {
                    let fits = self.join(&known.ty, &value.ty).is_some()
                        || super::types::is_zero(value)
                        || super::types::is_zero(known);
                    if !fits {
                        mixed = Some((known.clone(), value.clone()));
                    } else if super::types::is_zero(known) {
                        first = Some(value);
                    }
                }
            }
        }
        if let Some((known, value)) = mixed {
            self.two_types(&known, &value, "compare");
        }
    }

    fn constant_score(&mut self, score: &ast::Score, gives: &[Give], normalize: Normalize) {
        let mut values = gives.iter().filter_map(|give| give.value.as_ref());
        let (Some(first), None) = (values.next(), values.next()) else { return };
        if gives.len() == 1
            && gives[0].when.is_none()
            && !first.ty.is_unknown()
            && self.constant(first).is_some()
        {
            let help = match normalize {
                Normalize::None => "use a field of `node` in it, so that the scores of nodes differ",
                _ => "values that are all equal give every node the same",
            };
            self.mistake(
                &codes::CONSTANT_SCORE,
                first.span,
                format!("the score `{}` is the same for every node", score.name.text),
                help,
            );
        }
    }

    pub(super) fn prefer(&mut self, prefer: &'a ast::Prefer, span: Span) -> Score {
        let weight = self.weight(&prefer.weight);
        self.enter(Place::In(StatementId::Score));
        let condition = self.condition(&prefer.when);
        self.always(&condition, "every node is preferred", "no node is preferred");
        self.leave();
        let hundred = |value: i64| Expr {
            kind: ExprKind::Constant(Value::Int(value)),
            ty: Type::Int,
            range: Range::int(value),
            span,
        };
        let gives = vec![
            Give { value: Some(hundred(100)), when: Some(condition), span },
            Give { value: Some(hundred(0)), when: None, span },
        ];
        Score {
            weight,
            normalize: Normalize::None,
            reversed: false,
            gives,
            prefer: true,
            reads: RuleReads::default(),
            on_error: self.on_error,
        }
    }
}

/// What a number can be, in words.
fn range_words(value: &Expr) -> String {
    let text = value.range.to_string();
    match (value.range, text.split_once("..")) {
        (Range::Whole { lo, hi, .. }, _) if lo == hi => lo.to_string(),
        (Range::Real { lo, hi, .. }, _) if lo == hi => lo.to_string(),
        (range, _) if range == Range::of(&value.ty) => format!("any `{}`", value.ty),
        (range, Some((low, high)))
            if high.is_empty() || range.ends().is_some_and(|(_, high)| high > 9e18) =>
        {
            format!("{low} or more")
        }
        (_, Some(("", high))) => format!("{high} or less"),
        (_, Some((low, high))) => format!("{low} to {high}"),
        _ => text,
    }
}
