//! Numbers with units of the policy language, `500m`, `4Gi`, `1h30min`, `50%`, and how CEL writes them.

use super::Text;
use crate::syntax::ast::Literal;
use crate::syntax::literal::{unknown_unit, with_unit};
use crate::syntax::tokens::Kind;
use bayplan_diag::{Diagnostic, Span, codes};

/// `500m`: a number that letters touch.
pub(super) fn unit(text: Text<'_>, at: usize) -> Option<Diagnostic> {
    let tokens = text.tokens;
    let number = tokens.token(at).filter(|token| token.kind == Kind::Number)?;
    let mut last = at;
    while text.touches_next(last)
        && tokens.token(last + 1).is_some_and(|next| matches!(next.kind, Kind::Word | Kind::Number))
        && tokens.mark(last + 1) != "in"
    {
        last += 1;
    }
    let percent =
        last == at && text.touches_next(at) && tokens.mark(at + 1) == "%" && !starts_operand(text, at + 2);
    last += usize::from(percent);
    if last == at || number.start > 0 && at > 0 && text.touches_next(at - 1) && tokens.word(at - 1).is_some()
    {
        return None;
    }
    let written = text.slice(at, last);
    let span = text.span(at, last);
    match with_unit(written) {
        Some(Ok(Literal::Share(share))) => Some(of_share(text, (at, last), share)),
        Some(Ok(value)) => {
            let cel = spelling(written, &value)?;
            let message = format!("`{written}` is written `{cel}` in CEL");
            Some(Diagnostic::new(&codes::FOREIGN_WORD, span, message).with_fix(
                format!("write `{cel}`"),
                span,
                cel,
            ))
        }
        Some(Err(message)) => Some(Diagnostic::new(&codes::BAD_NUMBER, span, message)),
        None => Some(unknown(written, span)),
    }
}

/// `80%`: 0.8 beside a share, 80 beside a number from 0 to 100. Beside anything else it may be meant as either.
fn of_share(text: Text<'_>, (first, last): (usize, usize), share: f64) -> Diagnostic {
    let (written, span) = (text.slice(first, last), text.span(first, last));
    let beside = call_before(text, first).or_else(|| call_behind(text, last));
    let number = written.trim_end_matches('%');
    let right = if beside == Some("percent") { number.to_owned() } else { format!("{share:?}") };
    let message = format!("`{written}` is written `{right}` in CEL");
    let said = Diagnostic::new(&codes::FOREIGN_WORD, span, message).with_fix(
        format!("write `{right}`"),
        span,
        right,
    );
    match beside {
        Some("share" | "percent") => said,
        _ => said.guessed(),
    }
}

/// The function whose call ends before the operator in front of a token.
fn call_before<'a>(text: Text<'a>, at: usize) -> Option<&'a str> {
    let tokens = text.tokens;
    let close = at.checked_sub(2).filter(|_| is_comparison(tokens.mark(at - 1)))?;
    let open = tokens.partner(close).filter(|_| tokens.mark(close) == ")")?;
    tokens.word(open.checked_sub(1)?)
}

/// The function that is called after the operator that follows a token.
fn call_behind<'a>(text: Text<'a>, at: usize) -> Option<&'a str> {
    let tokens = text.tokens;
    let called = is_comparison(tokens.mark(at + 1)) && tokens.mark(at + 3) == "(";
    tokens.word(at + 2).filter(|_| called)
}

fn is_comparison(mark: &str) -> bool {
    matches!(mark, "<" | "<=" | ">" | ">=" | "==" | "!=")
}

/// A number whose letters are not a unit.
fn unknown(written: &str, span: Span) -> Diagnostic {
    let split = written.find(|c: char| c.is_ascii_alphabetic() || c == '_').unwrap_or(written.len());
    let (number, unit) = written.split_at(split);
    let hexadecimal = written.strip_prefix("0X").filter(|rest| rest.bytes().all(|b| b.is_ascii_hexdigit()));
    if let Some(digits) = hexadecimal {
        let right = format!("0x{digits}");
        let diagnostic = Diagnostic::new(&codes::BAD_NUMBER, span, format!("`{written}` is not a number"));
        return diagnostic.with_fix(format!("write `{right}`"), span, right);
    }
    if unit.starts_with('_') {
        return Diagnostic::new(&codes::BAD_NUMBER, span, format!("`{written}` is not a number"))
            .with_help("write digits without `_`");
    }
    let diagnostic = Diagnostic::new(&codes::BAD_NUMBER, span, unknown_unit(written).message);
    let time = |unit: &str| format!("write `duration(\"{number}{unit}\")`");
    let large = unit.get(..1).unwrap_or("").to_ascii_uppercase();
    let decimal = if large == "K" { "k" } else { &large };
    match unit.get(1..).unwrap_or("") {
        "b" | "B" | "ib" | "iB" | "IB" if matches!(&*large, "K" | "M" | "G" | "T" | "P" | "E") => diagnostic
            .with_help(format!("write `quantity(\"{number}{decimal}\")` or `quantity(\"{number}{large}i\")`")),
        _ if matches!(unit, "sec" | "secs" | "second" | "seconds") => diagnostic.with_help(time("s")),
        _ if matches!(unit, "mins" | "minute" | "minutes") => diagnostic.with_help(time("m")),
        _ if matches!(unit, "hour" | "hours" | "hr" | "hrs") => diagnostic.with_help(time("h")),
        _ if matches!(unit, "cpus" | "core" | "cores" | "CPU") => {
            diagnostic.with_help(format!("write `quantity(\"{number}\")`"))
        }
        _ => diagnostic.with_help(
            "an amount is written `quantity(\"500m\")` or `quantity(\"4Gi\")`, a duration `duration(\"1h30m\")`",
        ),
    }
}

/// Whether an operand begins at a token.
fn starts_operand(text: Text<'_>, at: usize) -> bool {
    let mark = text.tokens.mark(at);
    text.tokens.token(at).is_some()
        && (mark.is_empty() || matches!(mark, "(" | "[" | "{" | "-" | "!" | ".") && mark != "in")
}

/// How CEL writes the amount.
fn spelling(written: &str, value: &Literal) -> Option<String> {
    Some(match value {
        Literal::Cpu(_) | Literal::Bytes(_) => {
            let plain = written.trim_end_matches("cpu").trim_end_matches('B');
            format!("quantity(\"{plain}\")")
        }
        Literal::Duration(microseconds) => format!("duration(\"{}\")", duration(*microseconds)),
        _ => return None,
    })
}

/// A duration as CEL reads it.
pub(in crate::syntax::cel) fn duration(microseconds: i64) -> String {
    let mut rest = microseconds.unsigned_abs();
    let mut out = if microseconds < 0 { "-".to_owned() } else { String::new() };
    for (unit, size) in [("h", 3_600_000_000), ("m", 60_000_000), ("s", 1_000_000), ("ms", 1_000), ("us", 1)]
    {
        if rest >= size {
            out.push_str(&format!("{}{unit}", rest / size));
            rest %= size;
        }
    }
    if microseconds == 0 { "0s".to_owned() } else { out }
}
