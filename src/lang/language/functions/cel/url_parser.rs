//! URLs as Go's `net/url` reads and writes them, with its messages. Parts are bytes: escapes may name any.

use super::netip;
use crate::language::functions::strings::quoted_for_print;
use crate::types::value::Url;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// What a part of a URL is, which decides the bytes that stand for themselves in it.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Path,
    Host,
    Zone,
    User,
    Query,
    Fragment,
}

/// A URL in Go's parts.
#[derive(Default)]
struct Parsed<'t> {
    scheme: String,
    opaque: &'t str,
    user: Option<(Vec<u8>, Option<Vec<u8>>)>,
    host: Vec<u8>,
    path: Vec<u8>,
    /// The path as it was written, if that is not how Go would write it.
    raw_path: &'t str,
    query: &'t str,
    force_query: bool,
    omit_host: bool,
}

/// Query parameters that Go takes; none are read where there are more.
const MOST_PARAMETERS: usize = 10_000;

/// What `url` makes of a text.
///
/// # Errors
/// Go's message.
pub(super) fn parse(text: &str) -> Result<Url, String> {
    check(text)?;
    let (rest, fragment) = text.split_once('#').map_or((text, ""), |(rest, fragment)| (rest, fragment));
    let parsed = parse_parts(rest, false).map_err(|why| message(rest, &why))?;
    let unescaped = unescape(fragment, Part::Fragment).map_err(|why| message(text, &why))?;
    Ok(finished(&parsed, fragment, &unescaped))
}

/// Whether a text is a URL or an absolute path: Go's `ParseRequestURI`.
///
/// # Errors
/// Go's message.
pub(super) fn check(text: &str) -> Result<(), String> {
    parse_parts(text, true).map(drop).map_err(|why| message(text, &why))
}

fn message(text: &str, why: &str) -> String {
    format!("parse {}: {why}", quoted_for_print(text))
}

fn finished(parsed: &Parsed<'_>, fragment: &str, unescaped: &[u8]) -> Url {
    let host = String::from_utf8_lossy(&parsed.host).into_owned();
    let (hostname, port) = match host.rsplit_once(':') {
        Some((name, port)) if is_port(port) => (name, port),
        _ => (host.as_str(), ""),
    };
    let hostname = hostname.strip_prefix('[').and_then(|of| of.strip_suffix(']')).unwrap_or(hostname);
    let escaped_path = parsed.escaped_path();
    Url {
        text: parsed.written(&escaped_path, fragment, unescaped),
        scheme: parsed.scheme.clone(),
        hostname: hostname.to_owned(),
        port: port.to_owned(),
        host: host.clone(),
        escaped_path,
        query: parameters(parsed.query),
    }
}

fn parse_parts(text: &str, via_request: bool) -> Result<Parsed<'_>, String> {
    if text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
        return Err("net/url: invalid control character in URL".to_owned());
    }
    if text.is_empty() && via_request {
        return Err("empty url".to_owned());
    }
    if text == "*" {
        return Ok(Parsed { path: b"*".to_vec(), ..Parsed::default() });
    }
    let (scheme, rest) = scheme(text)?;
    let mut url = Parsed { scheme: scheme.to_ascii_lowercase(), ..Parsed::default() };
    let mut rest = match rest.strip_suffix('?').filter(|rest| !rest.contains('?')) {
        Some(rest) => {
            url.force_query = true;
            rest
        }
        None => {
            let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
            url.query = query;
            rest
        }
    };
    if !rest.starts_with('/') {
        if !url.scheme.is_empty() {
            url.opaque = rest;
            return Ok(url);
        }
        if via_request {
            return Err("invalid URI for request".to_owned());
        }
        if rest.split('/').next().is_some_and(|segment| segment.contains(':')) {
            return Err("first path segment in URL cannot contain colon".to_owned());
        }
    }
    let has_authority = !url.scheme.is_empty() || !via_request && !rest.starts_with("///");
    match rest.strip_prefix("//").filter(|_| has_authority) {
        Some(authority) => {
            let end = authority.find('/').unwrap_or(authority.len());
            let (authority, path) = authority.split_at(end);
            rest = path;
            (url.user, url.host) = parse_authority(&url.scheme, authority)?;
        }
        None => url.omit_host = !url.scheme.is_empty() && rest.starts_with('/'),
    }
    url.path = unescape(rest, Part::Path)?.into_owned();
    if escape(&url.path, Part::Path) != rest {
        url.raw_path = rest;
    }
    Ok(url)
}

fn scheme(text: &str) -> Result<(&str, &str), String> {
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            b':' if at == 0 => return Err("missing protocol scheme".to_owned()),
            b':' => return Ok((text.get(..at).unwrap_or(""), text.get(at + 1..).unwrap_or(""))),
            _ => break,
        }
    }
    Ok(("", text))
}

/// A user name with the password, and the host.
type Authority = (Option<(Vec<u8>, Option<Vec<u8>>)>, Vec<u8>);

fn parse_authority(scheme: &str, authority: &str) -> Result<Authority, String> {
    let Some((user, host)) = authority.rsplit_once('@') else {
        return Ok((None, parse_host(scheme, authority)?));
    };
    let host = parse_host(scheme, host)?;
    let fits = |c: char| c.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(c);
    if !user.chars().all(fits) {
        return Err("net/url: invalid userinfo".to_owned());
    }
    let (name, password) =
        user.split_once(':').map_or((user, None), |(name, password)| (name, Some(password)));
    let name = unescape(name, Part::User)?.into_owned();
    let password = match password {
        Some(password) => Some(unescape(password, Part::User)?.into_owned()),
        None => None,
    };
    Ok((Some((name, password)), host))
}

fn parse_host(scheme: &str, host: &str) -> Result<Vec<u8>, String> {
    let bad_port = |port: &str| format!("invalid port {} after host", quoted_for_print(port));
    match host.rfind('[') {
        Some(0) => {
            let (address, port) = host.rsplit_once(']').ok_or("missing ']' in host")?;
            if !(port.is_empty() || port.strip_prefix(':').is_some_and(is_port)) {
                return Err(bad_port(port));
            }
            let address = address.get(1..).unwrap_or("");
            let zone = address.find("%25").unwrap_or(address.len());
            let (address, zone) = address.split_at(zone);
            let mut bytes = unescape(address, Part::Host)?.into_owned();
            bytes.extend_from_slice(&unescape(zone, Part::Zone)?);
            match netip::parse(&String::from_utf8_lossy(&bytes)) {
                Ok((IpAddr::V4(_), _)) => return Err("invalid IP-literal".to_owned()),
                Ok(_) => {}
                Err(why) => return Err(format!("invalid host: {why}")),
            }
            Ok([b"[", bytes.as_slice(), b"]", port.as_bytes()].concat())
        }
        Some(_) => Err("invalid IP-literal".to_owned()),
        None => {
            // Web addresses have one colon; what follows the first is the port.
            let web = scheme == "http" || scheme == "https";
            let port = if web { host.split_once(':') } else { host.rsplit_once(':') };
            if let Some((_, port)) = port.filter(|(_, port)| !is_port(port)) {
                return Err(bad_port(&format!(":{port}")));
            }
            Ok(unescape(host, Part::Host)?.into_owned())
        }
    }
}

fn is_port(digits: &str) -> bool {
    digits.bytes().all(|byte| byte.is_ascii_digit())
}

impl Parsed<'_> {
    fn escaped_path(&self) -> String {
        if !self.raw_path.is_empty() && self.raw_path.bytes().all(is_written_path) {
            return self.raw_path.to_owned();
        }
        if self.path == b"*" { "*".to_owned() } else { escape(&self.path, Part::Path) }
    }

    /// The whole URL again.
    fn written(&self, path: &str, fragment: &str, unescaped: &[u8]) -> String {
        let mut text = String::new();
        if !self.scheme.is_empty() {
            text = format!("{}:", self.scheme);
        }
        if !self.opaque.is_empty() {
            text += self.opaque;
        } else {
            self.write_authority(&mut text);
            if !path.is_empty() && !path.starts_with('/') && !self.host.is_empty() {
                text.push('/');
            }
            if text.is_empty() && path.split('/').next().is_some_and(|segment| segment.contains(':')) {
                text += "./";
            }
            text += path;
        }
        if self.force_query || !self.query.is_empty() {
            text.push('?');
            text += self.query;
        }
        if !unescaped.is_empty() {
            text.push('#');
            let plain = fragment.bytes().all(|byte| is_written(byte, Part::Fragment));
            text += &if plain { fragment.to_owned() } else { escape(unescaped, Part::Fragment) };
        }
        text
    }

    fn write_authority(&self, text: &mut String) {
        let has_host = !self.host.is_empty();
        if self.omit_host && !has_host && self.user.is_none() {
            return;
        }
        if has_host || self.user.is_some() || !self.scheme.is_empty() && !self.path.is_empty() {
            *text += "//";
        }
        if let Some((name, password)) = &self.user {
            *text += &escape(name, Part::User);
            if let Some(password) = password {
                text.push(':');
                *text += &escape(password, Part::User);
            }
            text.push('@');
        }
        *text += &escape(&self.host, Part::Host);
    }
}

/// The parameters of a query by name; what cannot be read is left out.
fn parameters(query: &str) -> Vec<(String, Vec<String>)> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    if query.bytes().filter(|byte| *byte == b'&').count() >= MOST_PARAMETERS {
        return Vec::new();
    }
    for pair in query.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';')) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        if let (Ok(name), Ok(value)) = (unescape(name, Part::Query), unescape(value, Part::Query)) {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            found.entry(text(&name)).or_default().push(text(&value));
        }
    }
    found.into_iter().collect()
}

/// The bytes that a text with escapes stands for.
fn unescape(text: &str, part: Part) -> Result<Cow<'_, [u8]>, String> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let [first, behind @ ..] = rest {
        let escaped = match behind {
            [high, low, ..] if *first == b'%' => {
                digit(*high).zip(digit(*low)).map(|(high, low)| high << 4 | low)
            }
            _ => None,
        };
        match (first, escaped) {
            (b'%', Some(byte)) => {
                let written = rest.get(..3).unwrap_or_default();
                let refused = match part {
                    Part::Host => byte < 0x80 && written != b"%25",
                    Part::Zone => written != b"%25" && byte != b' ' && !is_plain(byte, Part::Host),
                    _ => false,
                };
                if refused {
                    return Err(escape_error(written));
                }
                out.push(byte);
                rest = rest.get(3..).unwrap_or_default();
                continue;
            }
            (b'%', None) => return Err(escape_error(rest.get(..3).unwrap_or(rest))),
            (b'+', _) if part == Part::Query => out.push(b' '),
            (byte, _) => {
                if matches!(part, Part::Host | Part::Zone) && *byte < 0x80 && !is_plain(*byte, part) {
                    let name = quoted_for_print(&char::from(*byte).to_string());
                    return Err(format!("invalid character {name} in host name"));
                }
                out.push(*byte);
            }
        }
        rest = behind;
    }
    Ok(if out == bytes { Cow::Borrowed(bytes) } else { Cow::Owned(out) })
}

fn escape_error(written: &[u8]) -> String {
    format!("invalid URL escape {}", quoted_for_print(&String::from_utf8_lossy(written)))
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}

/// The bytes with escapes for those that do not stand for themselves.
fn escape(bytes: &[u8], part: Part) -> String {
    let mut text = String::with_capacity(bytes.len());
    for byte in bytes {
        if is_plain(*byte, part) {
            text.push(char::from(*byte));
        } else {
            text += &format!("%{byte:02X}");
        }
    }
    text
}

/// Whether a byte stands for itself where Go writes a part.
fn is_plain(byte: u8, part: Part) -> bool {
    if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
        return true;
    }
    let plain: &[u8] = match part {
        Part::Host | Part::Zone => b"!$&'()*+,;=:[]<>\"",
        Part::Path => b"$&+,/:;=@",
        Part::User => b"$&+,;=",
        Part::Query => b"",
        Part::Fragment => b"$&+,/:;=?@!()*",
    };
    plain.contains(&byte)
}

/// Whether a byte may stay as it was written in a path or a fragment.
fn is_written(byte: u8, part: Part) -> bool {
    b"!$&'()*+,;=:@[]%".contains(&byte) || is_plain(byte, part)
}

fn is_written_path(byte: u8) -> bool {
    is_written(byte, Part::Path)
}
