//! Addresses and networks, as Go's `net/netip` reads them, without zones and without IPv4 addresses inside of IPv6
//! addresses.

use super::{METHOD, netip, no_overload, of_text, partial, row};
use crate::language::functions::{Absence, Body, Examples, FunctionDef};
use crate::types::range::Range;
use crate::types::value::{Cel, Cidr, FaultKind, Value};
use crate::types::{CelType, Ty};
use std::net::IpAddr;
use std::sync::Arc;

const IP: Ty = Ty::Cel(CelType::Ip);
const CIDR: Ty = Ty::Cel(CelType::Cidr);

const fn method(
    name: &'static str,
    params: &'static [Ty],
    result: Ty,
    body: Body,
    doc: &'static str,
    examples: Examples,
) -> FunctionDef {
    FunctionDef { name, params, names: &["of", "other"], result, body, doc, examples, ..METHOD }
}

/// A method that not every string has a value of.
const fn partial_method(
    name: &'static str,
    params: &'static [Ty],
    result: Ty,
    body: Body,
    doc: &'static str,
    examples: Examples,
) -> FunctionDef {
    FunctionDef { absent: Absence::Maybe, ..method(name, params, result, body, doc, examples) }
}

const fn is(name: &'static str, body: Body, doc: &'static str, examples: Examples) -> FunctionDef {
    method(name, &[IP], Ty::Bool, body, doc, examples)
}

/// The family's rows.
pub(in super::super) static FUNCTIONS: &[FunctionDef] = &[
    partial(
        "ip",
        &[Ty::String],
        IP,
        |args, _| of_text("ip", args, |text| made(parse_ip(text).map(ip))),
        "the IP address that a string holds; an error if it holds none",
        &[("ip('10.0.0.1').family()", "4")],
    ),
    row(
        "isIP",
        &[Ty::String],
        Ty::Bool,
        |args, _| of_text("isIP", args, |text| Value::Bool(parse_ip(text).is_ok())),
        "true if a string is an IP address, without zone and leading zeros",
        &[("isIP('::1')", "true"), ("isIP('010.0.0.1')", "false")],
    ),
    partial(
        "ip.isCanonical",
        &[Ty::String],
        Ty::Bool,
        |args, _| {
            of_text("ip.isCanonical", args, |text| {
                made(parse_ip(text).map(|of| Value::Bool(of.to_string() == text)))
            })
        },
        "true if a string is an IP address in its shortest form; an error if it is not an IP address",
        &[("ip.isCanonical('2001:db8::1')", "true"), ("ip.isCanonical('2001:DB8::1')", "false")],
    ),
    row(
        "string",
        &[IP],
        Ty::String,
        to_string,
        "the address in its shortest form",
        &[("string(ip('2001:DB8:0::1'))", "'2001:db8::1'")],
    ),
    FunctionDef {
        range: Some(|_| Range::whole(4, 6)),
        ..method(
            "family",
            &[IP],
            Ty::Int,
            |args, _| of_ip("family", args, |of| Value::Int(if of.is_ipv4() { 4 } else { 6 })),
            "4 or 6",
            &[("ip('::1').family()", "6")],
        )
    },
    is(
        "isUnspecified",
        |args, _| of_ip("isUnspecified", args, |of| Value::Bool(of.is_unspecified())),
        "true for `0.0.0.0` and `::`",
        &[("ip('0.0.0.0').isUnspecified()", "true")],
    ),
    is(
        "isLoopback",
        |args, _| of_ip("isLoopback", args, |of| Value::Bool(of.is_loopback())),
        "true for addresses in `127.0.0.0/8`, and for `::1`",
        &[("ip('127.0.0.1').isLoopback()", "true")],
    ),
    is(
        "isLinkLocalMulticast",
        |args, _| of_ip("isLinkLocalMulticast", args, |of| Value::Bool(is_link_local_multicast(of))),
        "true for addresses in `224.0.0.0/24` and `ff02::/16`",
        &[("ip('224.0.0.1').isLinkLocalMulticast()", "true")],
    ),
    is(
        "isLinkLocalUnicast",
        |args, _| of_ip("isLinkLocalUnicast", args, |of| Value::Bool(is_link_local_unicast(of))),
        "true for addresses in `169.254.0.0/16` and `fe80::/10`",
        &[("ip('169.254.1.1').isLinkLocalUnicast()", "true")],
    ),
    is(
        "isGlobalUnicast",
        |args, _| of_ip("isGlobalUnicast", args, |of| Value::Bool(is_global_unicast(of))),
        "true unless the address is unspecified, loopback, multicast, link-local or broadcast; private addresses \
         are global unicast addresses here",
        &[("ip('10.0.0.1').isGlobalUnicast()", "true")],
    ),
    partial(
        "cidr",
        &[Ty::String],
        CIDR,
        |args, _| of_text("cidr", args, |text| made(parse_cidr(text).map(cidr))),
        "the network that a string in CIDR notation holds; an error if it holds none",
        &[("cidr('10.0.0.0/8').prefixLength()", "8")],
    ),
    row(
        "isCIDR",
        &[Ty::String],
        Ty::Bool,
        |args, _| of_text("isCIDR", args, |text| Value::Bool(parse_cidr(text).is_ok())),
        "true if a string is a network in CIDR notation",
        &[("isCIDR('10.0.0.0/8')", "true"), ("isCIDR('10.0.0.0/33')", "false")],
    ),
    row(
        "string",
        &[CIDR],
        Ty::String,
        to_string,
        "the network in CIDR notation",
        &[("string(cidr('10.0.0.0/8'))", "'10.0.0.0/8'")],
    ),
    partial_method(
        "containsIP",
        &[CIDR, Ty::String],
        Ty::Bool,
        contains_ip,
        CONTAINS_IP,
        &[("cidr('10.0.0.0/8').containsIP('10.1.2.3')", "true")],
    ),
    method(
        "containsIP",
        &[CIDR, IP],
        Ty::Bool,
        contains_ip,
        CONTAINS_IP,
        &[("cidr('10.0.0.0/8').containsIP(ip('11.0.0.1'))", "false")],
    ),
    partial_method(
        "containsCIDR",
        &[CIDR, Ty::String],
        Ty::Bool,
        contains_cidr,
        CONTAINS_CIDR,
        &[("cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16')", "true")],
    ),
    method(
        "containsCIDR",
        &[CIDR, CIDR],
        Ty::Bool,
        contains_cidr,
        CONTAINS_CIDR,
        &[("cidr('10.0.0.0/8').containsCIDR(cidr('0.0.0.0/0'))", "false")],
    ),
    method(
        "ip",
        &[CIDR],
        IP,
        |args, _| of_cidr("ip", args, |of| ip(of.address)),
        "the address of the network as it was written",
        &[("cidr('10.1.2.3/8').ip() == ip('10.1.2.3')", "true")],
    ),
    FunctionDef {
        range: Some(|_| Range::whole(0, 128)),
        ..method(
            "prefixLength",
            &[CIDR],
            Ty::Int,
            |args, _| of_cidr("prefixLength", args, |of| Value::Int(i64::from(of.prefix))),
            "how many bits of the address name the network",
            &[("cidr('10.0.0.0/8').prefixLength()", "8")],
        )
    },
    method(
        "masked",
        &[CIDR],
        CIDR,
        |args, _| of_cidr("masked", args, |of| cidr(Cidr { address: masked(of.address, of.prefix), ..*of })),
        "the network with all bits after the prefix 0",
        &[("cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8')", "true")],
    ),
];

const CONTAINS_IP: &str = "true if the address lies in the network; an error if a string holds no address";
const CONTAINS_CIDR: &str =
    "true if all addresses of the other network lie in this one; an error if a string holds no network";

fn ip<'a>(address: IpAddr) -> Value<'a> {
    Value::Cel(Cel::Ip(Arc::new(address)))
}

fn cidr<'a>(network: Cidr) -> Value<'a> {
    Value::Cel(Cel::Cidr(Arc::new(network)))
}

fn made<'a>(value: Result<Value<'a>, String>) -> Value<'a> {
    value.unwrap_or_else(|why| Value::fault(FaultKind::BadConversion, why))
}

fn to_string<'a>(args: &[Value<'a>], _: &crate::language::functions::Prepared) -> Value<'a> {
    match args {
        [Value::Cel(of @ (Cel::Ip(_) | Cel::Cidr(_)))] => Value::text(of.to_string()),
        _ => no_overload("string", args),
    }
}

fn of_ip<'a>(name: &str, args: &[Value<'a>], body: impl Fn(IpAddr) -> Value<'a>) -> Value<'a> {
    match args {
        [Value::Cel(Cel::Ip(address))] => body(**address),
        _ => no_overload(name, args),
    }
}

fn of_cidr<'a>(name: &str, args: &[Value<'a>], body: impl Fn(&Cidr) -> Value<'a>) -> Value<'a> {
    match args {
        [Value::Cel(Cel::Cidr(network))] => body(network),
        _ => no_overload(name, args),
    }
}

/// An address without a zone.
fn parse_ip(text: &str) -> Result<IpAddr, String> {
    match netip::parse(text)? {
        (_, true) => Err(format!("{text:?} has a zone")),
        (IpAddr::V6(of), _) if of.to_ipv4_mapped().is_some() => {
            Err(format!("{text:?} is an IPv4 address inside of an IPv6 address"))
        }
        (address, _) => Ok(address),
    }
}

fn parse_cidr(text: &str) -> Result<Cidr, String> {
    let refused = || format!("{text:?} is not a network in CIDR notation, such as `10.0.0.0/8`");
    let (address, prefix) = text.rsplit_once('/').ok_or_else(refused)?;
    let address = parse_ip(address)?;
    let digits =
        prefix.bytes().all(|byte| byte.is_ascii_digit()) && (prefix == "0" || !prefix.starts_with('0'));
    let prefix: u8 = prefix.parse().ok().filter(|_| digits).ok_or_else(refused)?;
    if prefix > bits(address) { Err(refused()) } else { Ok(Cidr { address, prefix }) }
}

/// The length of an address.
fn bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// The address with all bits after the first `prefix` ones 0.
fn masked(address: IpAddr, prefix: u8) -> IpAddr {
    match address {
        IpAddr::V4(of) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0);
            IpAddr::V4((u32::from(of) & mask).into())
        }
        IpAddr::V6(of) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(prefix)).unwrap_or(0);
            IpAddr::V6((u128::from(of) & mask).into())
        }
    }
}

fn lies_in(network: &Cidr, address: IpAddr) -> bool {
    network.address.is_ipv4() == address.is_ipv4()
        && masked(network.address, network.prefix) == masked(address, network.prefix)
}

fn contains_ip<'a>(args: &[Value<'a>], _: &crate::language::functions::Prepared) -> Value<'a> {
    match args {
        [Value::Cel(Cel::Cidr(network)), Value::Cel(Cel::Ip(address))] => {
            Value::Bool(lies_in(network, **address))
        }
        [Value::Cel(Cel::Cidr(network)), text] if text.as_str().is_some() => {
            made(parse_ip(text.as_str().unwrap_or("")).map(|address| Value::Bool(lies_in(network, address))))
        }
        _ => no_overload("containsIP", args),
    }
}

fn contains_cidr<'a>(args: &[Value<'a>], _: &crate::language::functions::Prepared) -> Value<'a> {
    let within = |outer: &Cidr, inner: &Cidr| {
        Value::Bool(outer.prefix <= inner.prefix && lies_in(outer, inner.address))
    };
    match args {
        [Value::Cel(Cel::Cidr(outer)), Value::Cel(Cel::Cidr(inner))] => within(outer, inner),
        [Value::Cel(Cel::Cidr(outer)), text] if text.as_str().is_some() => {
            made(parse_cidr(text.as_str().unwrap_or("")).map(|inner| within(outer, &inner)))
        }
        _ => no_overload("containsCIDR", args),
    }
}

fn is_link_local_multicast(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(of) => of.octets().starts_with(&[224, 0, 0]),
        // Any flags, the scope of the link.
        IpAddr::V6(of) => of.segments().first().is_some_and(|first| first & 0xff0f == 0xff02),
    }
}

fn is_link_local_unicast(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(of) => of.is_link_local(),
        IpAddr::V6(of) => of.segments().first().is_some_and(|first| first & 0xffc0 == 0xfe80),
    }
}

fn is_global_unicast(address: IpAddr) -> bool {
    let broadcast = matches!(address, IpAddr::V4(of) if of.is_broadcast());
    !(broadcast
        || address.is_unspecified()
        || address.is_loopback()
        || address.is_multicast()
        || is_link_local_unicast(address))
}
