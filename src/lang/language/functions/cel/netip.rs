//! IP addresses as Go's `net/netip` reads them, with its messages.

use crate::language::functions::strings::quoted_for_print;
use std::net::{IpAddr, Ipv6Addr};

/// An address, and whether it has a zone.
///
/// # Errors
/// Go's message.
pub(super) fn parse(text: &str) -> Result<(IpAddr, bool), String> {
    match text.bytes().find(|byte| b".:%".contains(byte)) {
        Some(b'.') => {
            let octets = ipv4(text.as_bytes()).map_err(|(why, at)| message(text, why, at))?;
            Ok((IpAddr::from(octets), false))
        }
        Some(b':') => {
            let (address, zone) = match text.split_once('%') {
                Some((_, "")) => return Err(message(text, "zone must be a non-empty string", b"")),
                Some((address, _)) => (address, true),
                None => (text, false),
            };
            let address = ipv6(address.as_bytes()).map_err(|(why, at)| message(text, why, at))?;
            Ok((IpAddr::V6(address), zone))
        }
        Some(_) => Err(message(text, "missing IPv6 address", b"")),
        None => Err(message(text, "unable to parse IP", b"")),
    }
}

/// What is wrong, and the rest of the text from where it is; empty where Go does not say.
type Wrong<'t> = (&'static str, &'t [u8]);

fn message(text: &str, why: &str, at: &[u8]) -> String {
    let place = match at {
        b"" => String::new(),
        at => format!(" (at {})", quoted_for_print(&String::from_utf8_lossy(at))),
    };
    format!("ParseAddr({}): {why}{place}", quoted_for_print(text))
}

fn ipv4(text: &[u8]) -> Result<[u8; 4], Wrong<'_>> {
    let (mut fields, mut at, mut value, mut digits) = ([0u8; 4], 0, 0u32, 0);
    for (place, byte) in text.iter().enumerate() {
        let rest = text.get(place..).unwrap_or_default();
        match byte {
            b'0'..=b'9' => {
                if digits == 1 && value == 0 {
                    return Err(("IPv4 field has octet with leading zero", b""));
                }
                value = value * 10 + u32::from(byte - b'0');
                digits += 1;
                if value > 255 {
                    return Err(("IPv4 field has value >255", b""));
                }
                if let Some(field) = fields.get_mut(at) {
                    *field = value as u8;
                }
            }
            b'.' if digits == 0 || rest.len() == 1 => {
                return Err(("IPv4 field must have at least one digit", rest));
            }
            b'.' if at == 3 => return Err(("IPv4 address too long", b"")),
            b'.' => (at, value, digits) = (at + 1, 0, 0),
            _ => return Err(("unexpected character", rest)),
        }
    }
    if at < 3 { Err(("IPv4 address too short", b"")) } else { Ok(fields) }
}

fn ipv6(text: &[u8]) -> Result<Ipv6Addr, Wrong<'_>> {
    let mut groups: Vec<u16> = Vec::with_capacity(8);
    let (mut rest, mut gap) = match text.strip_prefix(b"::") {
        Some([]) => return Ok(Ipv6Addr::UNSPECIFIED),
        Some(rest) => (rest, Some(0)),
        None => (text, None),
    };
    while groups.len() < 8 {
        let length = rest.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        if length > 4 {
            return Err(("each group must have 4 or less digits", rest));
        }
        let (digits, behind) = rest.split_at(length);
        if digits.is_empty() {
            return Err(("each colon-separated field must have at least one digit", rest));
        }
        if behind.first() == Some(&b'.') {
            if gap.is_none() && groups.len() != 6 {
                return Err(("embedded IPv4 address must replace the final 2 fields of the address", rest));
            }
            if groups.len() > 6 {
                return Err(("too many hex fields to fit an embedded IPv4 at the end of the address", rest));
            }
            let [a, b, c, d] = ipv4(rest)?;
            groups.extend([u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])]);
            rest = b"";
            break;
        }
        let text = std::str::from_utf8(digits).unwrap_or("");
        groups.push(u16::from_str_radix(text, 16).unwrap_or(0));
        rest = match behind {
            [] => {
                rest = b"";
                break;
            }
            [b':'] => return Err(("colon must be followed by more characters", behind)),
            [b':', rest @ ..] => rest,
            _ => return Err(("unexpected character, want colon", behind)),
        };
        if let Some(behind) = rest.strip_prefix(b":") {
            if gap.is_some() {
                return Err(("multiple :: in address", rest));
            }
            gap = Some(groups.len());
            rest = behind;
            if rest.is_empty() {
                break;
            }
        }
    }
    if !rest.is_empty() {
        return Err(("trailing garbage after address", rest));
    }
    match gap {
        None if groups.len() < 8 => return Err(("address string too short", b"")),
        Some(_) if groups.len() >= 8 => {
            return Err(("the :: must expand to at least one field of zeros", b""));
        }
        Some(gap) => drop(groups.splice(gap..gap, vec![0; 8 - groups.len()])),
        None => {}
    }
    let mut address = [0u16; 8];
    address.iter_mut().zip(&groups).for_each(|(to, from)| *to = *from);
    Ok(Ipv6Addr::from(address))
}
