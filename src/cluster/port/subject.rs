//! The user that a client certificate names, as in Kubernetes: the common name is the user, the
//! organizations are the groups. The TLS handshake has verified the certificate before (`serve`).
//! The parser of that verification finds the subject; `yasna` decodes it.

use k8s_openapi::api::authentication::v1::UserInfo;
use rustls::pki_types::CertificateDer;
use webpki::EndEntityCert;
use yasna::models::ObjectIdentifier;
use yasna::{ASN1Error, ASN1ErrorKind, ASN1Result, BERReader, tags};

const COMMON_NAME: &[u64] = &[2, 5, 4, 3];
const ORGANIZATION: &[u64] = &[2, 5, 4, 10];

/// The user as a TokenReview would return it. `None` if the certificate names no user.
pub(crate) fn user_of(certificate: &CertificateDer<'_>) -> Option<UserInfo> {
    let certificate = EndEntityCert::try_from(certificate).ok()?;
    let attributes = attributes(certificate.subject()).ok()?;
    let values = |wanted: &[u64]| {
        let of_kind = attributes.iter().filter(|(kind, _)| kind.components()[..] == *wanted);
        of_kind.map(|(_, value)| value.clone()).collect::<Vec<String>>()
    };
    // As Go: the last common name counts.
    let username = values(COMMON_NAME).pop().filter(|name| !name.is_empty())?;
    let mut groups = values(ORGANIZATION);
    groups.push("system:authenticated".to_owned());
    Some(UserInfo { username: Some(username), groups: Some(groups), ..UserInfo::default() })
}

/// The attributes of a distinguished name (RFC 5280, 4.1.2.4), given without its outer SEQUENCE. An
/// attribute of an unknown string type makes the whole name invalid.
fn attributes(name: &[u8]) -> ASN1Result<Vec<(ObjectIdentifier, String)>> {
    let mut attributes = Vec::new();
    let name = yasna::construct_der(|writer| writer.write_sequence(|content| content.next().write_der(name)));
    yasna::parse_der(&name, |reader| {
        reader.read_sequence_of(|set| {
            set.read_set_of(|pair| {
                pair.read_sequence(|fields| {
                    attributes.push((fields.next().read_oid()?, text(fields.next())?));
                    Ok(())
                })
            })
        })
    })?;
    Ok(attributes)
}

/// A DirectoryString or IA5String.
fn text(reader: BERReader<'_, '_>) -> ASN1Result<String> {
    match reader.lookahead_tag()? {
        tags::TAG_UTF8STRING => reader.read_utf8string(),
        tags::TAG_PRINTABLESTRING => reader.read_printable_string(),
        tags::TAG_IA5STRING => reader.read_ia5_string(),
        tags::TAG_BMPSTRING => reader.read_bmp_string(),
        _ => Err(ASN1Error::new(ASN1ErrorKind::Invalid)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn certificate(name: rcgen::DnValue, groups: &[&str]) -> CertificateDer<'static> {
        let mut params = rcgen::CertificateParams::new(vec!["example.com".to_owned()]).unwrap();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        for group in groups {
            params.distinguished_name.push(rcgen::DnType::OrganizationName, *group);
        }
        let key = rcgen::KeyPair::generate().unwrap();
        params.self_signed(&key).unwrap().der().clone()
    }

    fn utf8(text: &str) -> rcgen::DnValue {
        rcgen::DnValue::Utf8String(text.to_owned())
    }

    fn names(user: &UserInfo) -> (&str, Vec<&str>) {
        let groups = user.groups.iter().flatten().map(String::as_str).collect();
        (user.username.as_deref().unwrap_or_default(), groups)
    }

    #[test]
    fn the_subject_gives_user_and_groups() {
        let user = user_of(&certificate(utf8("ann"), &["scrapers"])).unwrap();
        assert_eq!(names(&user), ("ann", vec!["scrapers", "system:authenticated"]));
        assert_eq!(user_of(&certificate(utf8(""), &[])), None);
    }

    #[test]
    fn every_string_type_is_decoded_by_its_own_rules() {
        let printable = rcgen::string::PrintableString::try_from("system:node-1").unwrap();
        let user = user_of(&certificate(rcgen::DnValue::PrintableString(printable), &[])).unwrap();
        assert_eq!(names(&user).0, "system:node-1");
        let bmp = rcgen::string::BmpString::try_from("ann").unwrap();
        let user = user_of(&certificate(rcgen::DnValue::BmpString(bmp), &[])).unwrap();
        assert_eq!(names(&user).0, "ann");
        // A type that has no decoding here names no user: a guess could name another one.
        let teletex = rcgen::string::TeletexString::try_from("ann").unwrap();
        assert_eq!(user_of(&certificate(rcgen::DnValue::TeletexString(teletex), &[])), None);
    }

    #[test]
    fn broken_certificates_name_no_other_user() {
        let whole = certificate(utf8("ann"), &["scrapers"]);
        let user = user_of(&whole);
        for end in 0..whole.len() {
            assert_eq!(user_of(&CertificateDer::from(&whole[..end])), None, "cut at {end}");
        }
        for at in 0..whole.len().min(200) {
            for byte in [0, 0x7f, 0x80, 0x84, 0xff] {
                let mut broken = whole.to_vec();
                broken[at] = byte;
                // The name itself may differ; what must not happen is a panic.
                let _ = user_of(&CertificateDer::from(broken));
            }
        }
        assert!(user.is_some());
        assert_eq!(user_of(&CertificateDer::from(Vec::new())), None);
    }
}
