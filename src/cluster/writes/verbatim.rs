//! Changes of a claim as protobuf, in which every other byte stays as the API server has it.
//!
//! Parameters of drivers are text that the API server keeps as its author wrote it, and compares byte by byte. In JSON they
//! come back without white space, and after a strategic merge patch with sorted keys: the API server then refuses a patch of
//! the finalizers, or of the consumers, as a change of what cannot change. kube-scheduler writes protobuf.
//!
//! Numbers of fields: `apimachinery/pkg/runtime/generated.proto`, `apimachinery/pkg/apis/meta/v1/generated.proto`,
//! `api/resource/v1/generated.proto`.

use super::calls::GRACE;
use crate::api::client::{Api, ApiError, PROTOBUF, Request};
use bayplan_framework::{ClaimPatch, ObjectPart, PatchBody};
use bayplan_model::objects::devices::{Consumer, DELETE_PROTECTION};
use http::Method;
use std::time::Duration;

/// What begins every object.
const MAGIC: &[u8] = b"k8s\0";
/// `runtime.Unknown.raw`.
const RAW: u64 = 2;
/// `ResourceClaim.metadata`, `ResourceClaim.status`.
const METADATA: u64 = 1;
const STATUS: u64 = 3;
/// `ObjectMeta.uid`, `ObjectMeta.resourceVersion`, `ObjectMeta.finalizers`.
const OBJECT_UID: u64 = 5;
const VERSION: u64 = 6;
const FINALIZERS: u64 = 14;
/// `ResourceClaimStatus.reservedFor`.
const RESERVED_FOR: u64 = 2;
/// `apiGroup`, `resource`, `name` and `uid` of `ResourceClaimConsumerReference`.
const GROUP: u64 = 1;
const RESOURCE: u64 = 3;
const NAME: u64 = 4;
const CONSUMER_UID: u64 = 5;

/// The API server may have refused a patch because the text of parameters would change.
pub(super) fn may_help(body: &PatchBody, error: &ApiError) -> bool {
    let PatchBody::Claim(patch) = body else { return false };
    let keeps_them = matches!(
        patch,
        ClaimPatch::Protected(_) | ClaimPatch::Reserved { allocation: None, .. } | ClaimPatch::Released(_)
    );
    keeps_them && error.code() == Some(422)
}

/// Reads a claim and replaces it with the patched one, if it still has this UID and version.
pub(super) async fn replace(
    api: &Api,
    path: &str,
    part: ObjectPart,
    body: &PatchBody,
    (uid, version): (&str, Option<&str>),
    limit: Duration,
) -> Result<Vec<u8>, ApiError> {
    let PatchBody::Claim(patch) = body else { return Err(unreadable()) };
    let read = Request { accept: PROTOBUF, ..Request::get(path) };
    let object = api.send_now(read.within(limit + GRACE)).await?;
    let changed = changed(&object, patch, uid, version).ok_or_else(unreadable)?;
    let path = match part {
        ObjectPart::Object => path.to_owned(),
        ObjectPart::Status => format!("{path}/status"),
    };
    let path = format!("{path}?timeout={}s", limit.as_secs().max(1));
    let write = Request { method: Method::PUT, content: PROTOBUF, body: changed, ..Request::get(path) };
    api.send_now(write.within(limit + GRACE)).await
}

fn unreadable() -> ApiError {
    ApiError::Unreadable(String::from("the claim as protobuf"))
}

/// The object after the patch, with the UID and the version that it must have; `None`: it cannot be read.
fn changed(object: &[u8], patch: &ClaimPatch, uid: &str, version: Option<&str>) -> Option<Vec<u8>> {
    let mut claim = None;
    let mut others = MAGIC.to_vec();
    for (number, value) in fields(object.strip_prefix(MAGIC)?)? {
        match number {
            RAW => claim = Some(value),
            _ => put(&mut others, number, value),
        }
    }
    let mut changed = Vec::new();
    for (number, value) in fields(claim?)? {
        match (number, patch) {
            (STATUS, ClaimPatch::Released(uid)) => put(&mut changed, STATUS, &released(value, uid)?),
            _ => put(&mut changed, number, value),
        }
    }
    // A message that comes twice is merged: the last text counts, and lists grow.
    let mut metadata = Vec::new();
    for (number, value) in [(OBJECT_UID, uid), (VERSION, version.unwrap_or_default())] {
        if !value.is_empty() {
            put(&mut metadata, number, value.as_bytes());
        }
    }
    match patch {
        ClaimPatch::Protected(_) => put(&mut metadata, FINALIZERS, DELETE_PROTECTION.as_bytes()),
        ClaimPatch::Reserved { allocation: None, consumer } => {
            let mut status = Vec::new();
            put(&mut status, RESERVED_FOR, &message(consumer));
            put(&mut changed, STATUS, &status);
        }
        ClaimPatch::Released(_) => {}
        ClaimPatch::Reserved { .. } | ClaimPatch::Unprotected | ClaimPatch::Deallocated => return None,
    }
    put(&mut changed, METADATA, &metadata);
    put(&mut others, RAW, &changed);
    Some(others)
}

fn message(consumer: &Consumer) -> Vec<u8> {
    let mut all = Vec::new();
    for (number, value) in [
        (GROUP, &consumer.api_group),
        (RESOURCE, &consumer.resource),
        (NAME, &consumer.name),
        (CONSUMER_UID, &consumer.uid),
    ] {
        put(&mut all, number, value.as_str().as_bytes());
    }
    all
}

/// A status without the consumer of this UID.
fn released(status: &[u8], uid: &str) -> Option<Vec<u8>> {
    let mut left = Vec::new();
    for (number, value) in fields(status)? {
        let goes = number == RESERVED_FOR
            && fields(value)?.iter().any(|(number, text)| *number == CONSUMER_UID && *text == uid.as_bytes());
        if !goes {
            put(&mut left, number, value);
        }
    }
    Some(left)
}

/// The fields of a message, of which all are messages, texts or bytes; `None`: one is not, or the message is cut off.
fn fields(mut message: &[u8]) -> Option<Vec<(u64, &[u8])>> {
    let mut all = Vec::new();
    while !message.is_empty() {
        let tag = varint(&mut message)?;
        let length = usize::try_from(varint(&mut message)?).ok().filter(|_| tag & 7 == 2)?;
        let (value, rest) = message.split_at_checked(length)?;
        all.push((tag >> 3, value));
        message = rest;
    }
    Some(all)
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

fn put_varint(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    to.push(value.to_le_bytes()[0]);
}

fn put(to: &mut Vec<u8>, number: u64, value: &[u8]) {
    put_varint(to, number << 3 | 2);
    put_varint(to, value.len() as u64);
    to.extend_from_slice(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(fields: &[(u64, &[u8])]) -> Vec<u8> {
        let mut all = Vec::new();
        fields.iter().for_each(|(number, value)| put(&mut all, *number, value));
        all
    }

    fn object(claim: &[u8]) -> Vec<u8> {
        [MAGIC, &made(&[(1, b"type"), (RAW, claim), (4, b"")])].concat()
    }

    fn of_object(object: &[u8]) -> Vec<(u64, &[u8])> {
        let raw = fields(object.strip_prefix(MAGIC).unwrap()).unwrap();
        let raw = raw.into_iter().find(|(number, _)| *number == RAW).unwrap().1;
        fields(raw).unwrap()
    }

    #[test]
    fn what_is_changed_is_added_and_everything_else_stays() {
        let spec = vec![b'x'; 300];
        let claim = made(&[(METADATA, b"\x0a\x01c"), (2, &spec), (STATUS, b"\x0a\x01a")]);
        let protects = ClaimPatch::Protected(Box::new([DELETE_PROTECTION.into()]));
        let after = changed(&object(&claim), &protects, "u", Some("7")).unwrap();
        let metadata =
            made(&[(OBJECT_UID, b"u"), (VERSION, b"7"), (FINALIZERS, DELETE_PROTECTION.as_bytes())]);
        let mut expected = fields(&claim).unwrap();
        expected.push((METADATA, &metadata));
        assert_eq!(of_object(&after), expected);

        let consumer = Consumer::pod(&"p".into(), &"u-p".into());
        let reserves = ClaimPatch::Reserved { allocation: None, consumer: consumer.clone() };
        let after = changed(&object(&claim), &reserves, "u", None).unwrap();
        let status = made(&[(RESERVED_FOR, &message(&consumer))]);
        assert!(of_object(&after).contains(&(STATUS, &status[..])));
    }

    #[test]
    fn one_consumer_goes() {
        let [p, q] = ["p", "q"]
            .map(|name| message(&Consumer::pod(&name.into(), &format!("u-{name}").as_str().into())));
        let status = made(&[(1, b"allocation"), (RESERVED_FOR, &p), (RESERVED_FOR, &q)]);
        let claim = made(&[(STATUS, &status)]);
        let after = changed(&object(&claim), &ClaimPatch::Released("u-p".into()), "u", None).unwrap();
        let left = made(&[(1, b"allocation"), (RESERVED_FOR, &q)]);
        assert_eq!(of_object(&after)[0], (STATUS, &left[..]));
    }

    #[test]
    fn what_is_no_claim_is_left_alone() {
        let released = ClaimPatch::Released("u".into());
        let whole = object(&made(&[(STATUS, &made(&[(RESERVED_FOR, b"\x2a\x01u")]))]));
        assert!(changed(&whole, &released, "u", None).is_some());
        for end in 0..whole.len() - 3 {
            assert!(changed(&whole[..end], &released, "u", None).is_none(), "{end}");
        }
        assert!(changed(&object(b"\x08\x01"), &released, "u", None).is_none());
    }
}
