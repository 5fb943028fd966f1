//! Who a client certificate names: the common name is the user, organizations are groups, as in Kubernetes. The
//! certificate has been verified by then (`serve`); here only its subject is read (DER, X.509 4.1.2.6).

use serde_json::{Value, json};

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const OBJECT_IDENTIFIER: u8 = 0x06;
/// 2.5.4.3
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
/// 2.5.4.10
const ORGANIZATION: &[u8] = &[0x55, 0x04, 0x0a];

/// The user as TokenReview would give it; `None` for a certificate without a common name.
pub fn user_of(certificate: &[u8]) -> Option<Value> {
    let (certificate, _) = read(certificate, SEQUENCE)?;
    let (mut fields, _) = read(certificate, SEQUENCE)?;
    // A version is there when the first field is tagged [0].
    if fields.first() == Some(&0xa0) {
        (_, fields) = any(fields)?;
    }
    // Serial number, signature algorithm, issuer, validity.
    for _ in 0..4 {
        (_, fields) = any(fields)?;
    }
    let (mut names, _) = read(fields, SEQUENCE)?;
    let mut user = None;
    let mut groups = Vec::new();
    while !names.is_empty() {
        let (mut set, rest) = read(names, SET)?;
        names = rest;
        while !set.is_empty() {
            let (pair, rest) = read(set, SEQUENCE)?;
            set = rest;
            let (kind, value) = read(pair, OBJECT_IDENTIFIER)?;
            let (text, _) = any(value)?;
            let text = std::str::from_utf8(text).ok()?;
            match kind {
                COMMON_NAME => user = Some(text.to_owned()),
                ORGANIZATION => groups.push(text.to_owned()),
                _ => {}
            }
        }
    }
    groups.push("system:authenticated".to_owned());
    user.filter(|name| !name.is_empty()).map(|name| json!({"username": name, "groups": groups}))
}

/// The content of a value with this tag, and what follows it.
fn read(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    (bytes.first() == Some(&tag)).then(|| any(bytes)).flatten()
}

/// The content of the first value, and what follows it.
fn any(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.get(1..)?.split_first()?;
    let (length, rest) = match length {
        short @ 0..=0x7f => (usize::from(*short), rest),
        long => {
            let count = usize::from(long & 0x7f);
            let digits = rest.get(..count).filter(|_| (1..=4).contains(&count))?;
            let length = digits.iter().fold(0, |sum, digit| sum << 8 | usize::from(*digit));
            (length, rest.get(count..)?)
        }
    };
    Some((rest.get(..length)?, rest.get(length..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn certificate(name: &str, groups: &[&str]) -> Vec<u8> {
        let mut params = rcgen::CertificateParams::new(vec!["example.com".to_owned()]).unwrap();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        for group in groups {
            params.distinguished_name.push(rcgen::DnType::OrganizationName, *group);
        }
        let key = rcgen::KeyPair::generate().unwrap();
        params.self_signed(&key).unwrap().der().to_vec()
    }

    #[test]
    fn the_subject_is_user_and_groups() {
        let user = user_of(&certificate("ann", &["scrapers"])).unwrap();
        assert_eq!(user, json!({"username": "ann", "groups": ["scrapers", "system:authenticated"]}));
        assert_eq!(user_of(&certificate("", &[])), None);
    }

    #[test]
    fn broken_certificates_name_nobody() {
        let whole = certificate("ann", &["scrapers"]);
        for end in 0..whole.len().min(400) {
            let _ = user_of(&whole[..end]);
        }
        for at in 0..whole.len().min(200) {
            for byte in [0, 0x7f, 0x80, 0x84, 0xff] {
                let mut broken = whole.clone();
                broken[at] = byte;
                let _ = user_of(&broken);
            }
        }
        assert_eq!(user_of(&[]), None);
    }
}
