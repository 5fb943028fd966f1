//! Base64, which Kubernetes leaves out.

use super::{no_overload, of_text, partial, row};
use crate::lang::language::functions::{Dialects, FunctionDef};
use crate::lang::types::Ty;
use crate::lang::types::value::{FaultKind, Value};

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The family's rows.
pub(in super::super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef {
        dialects: Dialects::SPECIFICATION,
        ..partial(
            "base64.decode",
            &[Ty::String],
            Ty::Blob,
            |args, _| {
                of_text("base64.decode", args, |text| match decode(text) {
                    Some(bytes) => Value::Blob(bytes.into()),
                    None => Value::fault(FaultKind::BadConversion, format!("{text:?} is not base64")),
                })
            },
            "the bytes that a string encodes in base64, with or without padding; an error if it is not base64",
            &[("base64.decode('aGVsbG8=')", "b'hello'")],
        )
    },
    FunctionDef {
        dialects: Dialects::SPECIFICATION,
        ..row(
            "base64.encode",
            &[Ty::Blob],
            Ty::String,
            |args, _| match args {
                [Value::Blob(bytes)] => Value::text(encode(bytes)),
                _ => no_overload("base64.encode", args),
            },
            "bytes in base64, with padding",
            &[("base64.encode(b'hello')", "'aGVsbG8='")],
        )
    },
];

fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits =
            group.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        for place in 0..4 {
            let digit = (bits >> (18 - 6 * place) & 63) as usize;
            let digit = DIGITS.get(digit).filter(|_| place <= group.len()).copied();
            text.push(char::from(digit.unwrap_or(b'=')));
        }
    }
    text
}

/// Line ends do not count. Padding is complete or missing, and nothing follows it.
fn decode(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !matches!(byte, b'\r' | b'\n')).collect();
    let plain = digits.iter().position(|digit| *digit == b'=').unwrap_or(digits.len());
    let (plain, padding) = digits.split_at(plain);
    let missing = (4 - plain.len() % 4) % 4;
    let padded = padding.iter().all(|byte| *byte == b'=') && (padding.is_empty() || padding.len() == missing);
    if !padded || missing == 3 {
        return None;
    }
    let mut bytes = Vec::with_capacity(plain.len() / 4 * 3 + 2);
    for group in plain.chunks(4) {
        let mut bits = 0u32;
        for digit in group {
            bits = bits << 6 | DIGITS.iter().position(|known| known == digit)? as u32;
        }
        bits <<= 6 * (4 - group.len());
        bytes.extend(bits.to_be_bytes().iter().skip(1).take(group.len() - 1));
    }
    Some(bytes)
}
