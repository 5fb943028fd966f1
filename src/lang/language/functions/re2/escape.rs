//! Escapes that stand for one character.

/// The character at the beginning of `text`, which begins with `\`, and what follows it. The number may
/// be half of a surrogate pair.
pub(super) fn character(text: &str) -> Result<(u32, &str), String> {
    let mut chars = text.chars();
    chars.next();
    let Some(first) = chars.next() else { return Err("it ends with `\\`".to_owned()) };
    let rest = chars.as_str();
    let no_escape = || {
        let help = match first {
            '1'..='9' => "; it has no references to groups",
            'Z' => "; `\\z` is the end of the text",
            _ => "",
        };
        format!("`\\{first}` is not an escape of RE2{help}")
    };
    let octal = |text: &str| text.bytes().take(2).take_while(|byte| (b'0'..=b'7').contains(byte)).count();
    match first {
        'a' => Ok((0x07, rest)),
        'f' => Ok((0x0C, rest)),
        'n' => Ok((0x0A, rest)),
        'r' => Ok((0x0D, rest)),
        't' => Ok((0x09, rest)),
        'v' => Ok((0x0B, rest)),
        '0'..='7' if first == '0' || octal(rest) > 0 => {
            let (digits, behind) = rest.split_at_checked(octal(rest)).unwrap_or(("", rest));
            let value =
                digits.bytes().fold(u32::from(first) - 0x30, |all, digit| all * 8 + u32::from(digit - b'0'));
            Ok((value, behind))
        }
        'x' => hexadecimal(rest)
            .ok_or_else(|| "`\\x` is followed by two hexadecimal digits, or by `{…}`".to_owned()),
        other if other.is_ascii() && !other.is_ascii_alphanumeric() => Ok((u32::from(other), rest)),
        _ => Err(no_escape()),
    }
}

/// `41` or `{1F600}` after `\x`.
fn hexadecimal(text: &str) -> Option<(u32, &str)> {
    let (digits, rest) = match text.strip_prefix('{') {
        Some(inside) => inside.split_once('}')?,
        None => text.split_at_checked(2)?,
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let significant = digits.trim_start_matches('0');
    let value = if significant.is_empty() { 0 } else { u32::from_str_radix(significant, 16).ok()? };
    (value <= u32::from(char::MAX)).then_some((value, rest))
}
