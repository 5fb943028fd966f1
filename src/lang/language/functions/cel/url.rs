//! URLs.

use super::{METHOD, no_overload, of_text, partial, row, url_parser};
use crate::language::functions::{Examples, FunctionDef};
use crate::types::value::{Cel, FaultKind, Url, Value};
use crate::types::{CelType, Ty};
use std::sync::Arc;

const URL: Ty = Ty::Cel(CelType::Url);

const fn part(
    name: &'static str,
    body: crate::language::functions::Body,
    doc: &'static str,
    examples: Examples,
) -> FunctionDef {
    FunctionDef { name, params: &[URL], names: &["url"], result: Ty::String, body, doc, examples, ..METHOD }
}

/// The family's rows.
pub(in super::super) static FUNCTIONS: &[FunctionDef] = &[
    partial(
        "url",
        &[Ty::String],
        URL,
        |args, _| {
            of_text("url", args, |text| match url_parser::parse(text) {
                Ok(url) => Value::Cel(Cel::Url(Arc::new(url))),
                Err(why) => Value::fault(FaultKind::BadConversion, why),
            })
        },
        "the URL or absolute path that a string holds, as Go reads it; an error if it holds none",
        &[("url('https://example.com:80/a').getPort()", "'80'")],
    ),
    row(
        "isURL",
        &[Ty::String],
        Ty::Bool,
        |args, _| of_text("isURL", args, |text| Value::Bool(url_parser::check(text).is_ok())),
        "true if a string is a URL or an absolute path",
        &[("isURL('https://example.com/a')", "true"), ("isURL('example')", "false")],
    ),
    part(
        "getScheme",
        |args, _| of_url("getScheme", args, |url| Value::text(url.scheme.as_str())),
        "the scheme in lower case; empty for a path",
        &[("url('https://example.com').getScheme()", "'https'")],
    ),
    part(
        "getHost",
        |args, _| of_url("getHost", args, |url| Value::text(url.host.as_str())),
        "the host with its port; an IPv6 address has brackets",
        &[("url('https://[::1]:80/a').getHost()", "'[::1]:80'")],
    ),
    part(
        "getHostname",
        |args, _| of_url("getHostname", args, |url| Value::text(url.hostname.as_str())),
        "the host without port and brackets",
        &[("url('https://[::1]:80/a').getHostname()", "'::1'")],
    ),
    part(
        "getPort",
        |args, _| of_url("getPort", args, |url| Value::text(url.port.as_str())),
        "the port; empty without one",
        &[("url('https://example.com').getPort()", "''")],
    ),
    part(
        "getEscapedPath",
        |args, _| of_url("getEscapedPath", args, |url| Value::text(url.escaped_path.as_str())),
        "the path with its escapes",
        &[("url('https://example.com/a b').getEscapedPath()", "'/a%20b'")],
    ),
    FunctionDef {
        result: Ty::Map(&Ty::String, &Ty::List(&Ty::String)),
        ..part(
            "getQuery",
            |args, _| {
                of_url("getQuery", args, |url| {
                    let values = |of: &[String]| Value::list(of.iter().map(|of| Value::text(of.as_str())));
                    Value::map(url.query.iter().map(|(name, of)| (Value::text(name.as_str()), values(of))))
                })
            },
            "the values of the query by name",
            &[("url('https://example.com/?a=1&a=2').getQuery()", "{'a': ['1', '2']}")],
        )
    },
];

fn of_url<'a>(name: &str, args: &[Value<'a>], body: fn(&Url) -> Value<'static>) -> Value<'a> {
    match args {
        [Value::Cel(Cel::Url(url))] => body(url),
        _ => no_overload(name, args),
    }
}
