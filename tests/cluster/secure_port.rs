//! The secure port from outside: who may read the metrics, and which certificate it presents, also
//! after the certificate was replaced.

use crate::api_load::ApiClient;
use crate::scheduler_process::{SchedulerProcess, Setup};
use crate::support::{ControlPlane, daemon::Folder, wait_until};
use bayplan::cluster::client::{ApiError, Request};
use std::path::Path;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(20);

/// The HTTP status of a GET with a token.
fn status(plane: &ControlPlane, ours: &SchedulerProcess, token: &str, path: &str) -> u16 {
    let client = ApiClient::of(&plane.kubeconfig_at(&ours.url(), token));
    match client.runtime.block_on(client.api.send(Request::get(path))) {
        Ok(_) => 200,
        Err(ApiError::Status { code, .. }) => code,
        Err(error) => panic!("{path}: {error}"),
    }
}

#[test]
fn the_api_server_decides_who_may_read_the_metrics() {
    let plane = ControlPlane::shared();
    let namespace = plane.create_namespace("pages");
    plane.apply(
        &std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/namespace.yaml")).unwrap(),
    );
    plane.apply(&std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/rbac.yaml")).unwrap());
    plane.kubectl_ok(["create", "serviceaccount", "scraper", "--namespace", &namespace]);
    plane.kubectl_ok(["create", "serviceaccount", "other", "--namespace", &namespace]);
    let account = format!("--serviceaccount={namespace}:scraper");
    let role = "--clusterrole=bayplan-metrics-reader";
    plane.kubectl_ok(["create", "clusterrolebinding", &format!("{namespace}-scraper"), role, &account]);
    let token = |name: &str| {
        let text = plane.kubectl_ok(["create", "token", name, "--namespace", &namespace]);
        text.trim().to_owned()
    };
    let (scraper, other) = (token("scraper"), token("other"));

    let ours = SchedulerProcess::start(plane, &Setup::new(&namespace).guarded());
    for path in ["/metrics", "/metrics/resources"] {
        assert_eq!(status(plane, &ours, &scraper, path), 200, "{path}");
        assert_eq!(status(plane, &ours, &other, path), 403, "{path}");
        assert_eq!(status(plane, &ours, "no-such-token", path), 401, "{path}");
        assert_eq!(status(plane, &ours, "", path), 403, "anonymous: {path}");
    }
    assert_eq!(status(plane, &ours, &scraper, "/configz"), 403, "its role allows only the metrics");
    for path in ["/livez", "/readyz", "/healthz"] {
        assert_eq!(status(plane, &ours, "", path), 200, "{path}");
    }
}

/// Writes a certificate and its key for 127.0.0.1 and a name of its own; returns the certificate.
fn make_certificate(folder: &Path, name: &str) -> String {
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned(), name.to_owned()]).unwrap();
    // The key first, because both are reloaded when the certificate has changed.
    std::fs::write(folder.join("tls.key"), made.signing_key.serialize_pem()).unwrap();
    std::fs::write(folder.join("tls.crt"), made.cert.pem()).unwrap();
    made.cert.pem()
}

#[test]
fn the_given_certificate_is_presented_and_reloaded() {
    let plane = ControlPlane::shared();
    let folder = Folder::new("certificate");
    let first = make_certificate(folder.path(), "first");
    let setup = Setup::new("certified")
        .flag(format!("--tls-cert-file={}", folder.join("tls.crt").display()))
        .flag(format!("--tls-private-key-file={}", folder.join("tls.key").display()));
    let ours = SchedulerProcess::start(plane, &setup);
    let trusts = |certificate: &str| {
        let path = plane.kubeconfig_trusting(&ours.url(), certificate);
        ApiClient::of(&path).text("/livez").as_deref() == Some("ok")
    };
    assert!(trusts(&first));
    let second = make_certificate(folder.path(), "second");
    wait_until("the port presents the new certificate", SOON, || trusts(&second));
    assert!(!trusts(&first));
    // A file that cannot be used changes nothing.
    std::fs::write(folder.join("tls.crt"), "no certificate").unwrap();
    wait_until("the log says so", SOON, || ours.said().contains("keeping the certificate"));
    assert!(trusts(&second));
}

/// Writes a certificate of `user`, signed by an authority, and its key.
fn client_certificate(folder: &Path, user: &str, issuer: &rcgen::Issuer<'_, rcgen::KeyPair>) {
    let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(rcgen::DnType::CommonName, user);
    params.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ClientAuth];
    let key = rcgen::KeyPair::generate().unwrap();
    let signed = params.signed_by(&key, issuer).unwrap();
    std::fs::write(folder.join(format!("{user}.crt")), signed.pem()).unwrap();
    std::fs::write(folder.join(format!("{user}.key")), key.serialize_pem()).unwrap();
}

fn authority(folder: &Path, name: &str) -> rcgen::Issuer<'static, rcgen::KeyPair> {
    let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    params.distinguished_name.push(rcgen::DnType::CommonName, name);
    let key = rcgen::KeyPair::generate().unwrap();
    std::fs::write(folder.join(format!("{name}.crt")), params.self_signed(&key).unwrap().pem()).unwrap();
    rcgen::Issuer::new(params, key)
}

#[test]
fn client_certificates_identify_users_and_the_api_server_knows_their_rights() {
    let plane = ControlPlane::shared();
    let folder = Folder::new("authority");
    let (ours_ca, other_ca) = (authority(folder.path(), "ours"), authority(folder.path(), "other"));
    client_certificate(folder.path(), "reader", &ours_ca);
    client_certificate(folder.path(), "guest", &ours_ca);
    client_certificate(folder.path(), "stranger", &other_ca);
    for user in ["reader", "stranger"] {
        let role = format!("may-configz-{user}");
        plane.kubectl_ok(["create", "clusterrole", &role, "--verb=get", "--non-resource-url=/configz"]);
        let (role, user) = (format!("--clusterrole={role}"), format!("--user={user}"));
        plane.kubectl_ok(["create", "clusterrolebinding", &format!("b-{}", &role[14..]), &role, &user]);
    }
    let setup = Setup::new("certificates")
        .guarded()
        .flag(format!("--client-ca-file={}", folder.join("ours.crt").display()))
        .flag("--tls-min-version=VersionTLS12")
        .flag("--tls-cipher-suites=TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384");
    let ours = SchedulerProcess::start(plane, &setup);
    let asked = |user: &str| {
        let (certificate, key) = (folder.join(format!("{user}.crt")), folder.join(format!("{user}.key")));
        let client = ApiClient::of(&plane.kubeconfig_showing(&ours.url(), &certificate, &key));
        client.runtime.block_on(client.api.send(Request::get("/configz")))
    };
    assert!(asked("reader").is_ok(), "{:?}", asked("reader"));
    // The cached answer for the certificate must not serve a token with the text of its user.
    let forged = r#"{"groups":["system:authenticated"],"username":"reader"}"#;
    assert_eq!(status(plane, &ours, forged, "/configz"), 401, "a token cannot borrow the answer");
    let refused = asked("guest").unwrap_err();
    assert!(refused.code() == Some(403), "{refused}");
    let lost = asked("stranger").unwrap_err();
    assert!(lost.code().is_none(), "a certificate of an unknown authority ends the connection: {lost}");
    assert_eq!(status(plane, &ours, "", "/configz"), 403, "a client certificate is optional");
    // The page has the effective configuration.
    let shown = String::from_utf8(asked("reader").unwrap()).unwrap();
    assert!(shown.contains("\"schedulerName\":\"certificates\""), "{shown}");
}
