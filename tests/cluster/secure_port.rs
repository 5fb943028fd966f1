//! The secure port from outside: who may read the metrics and the reasons of health checks, which
//! certificate it presents and which it trusts, also after a file was replaced, and what silent
//! clients cost.

use crate::api_load::ApiClient;
use crate::scheduler_process::{SchedulerProcess, Setup};
use crate::support::{ControlPlane, daemon::Folder, wait_until};
use bayplan::cluster::api::client::{ApiError, Request};
use kube::config::Kubeconfig;
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
    // Another authority takes over. A connection from before shows a certificate of the old one.
    let (certificate, key) = (folder.join("reader.crt"), folder.join("reader.key"));
    let open = ApiClient::of(&plane.kubeconfig_showing(&ours.url(), &certificate, &key));
    let asked_again = || open.runtime.block_on(open.api.send(Request::get("/configz")));
    assert!(asked_again().is_ok());
    std::fs::copy(folder.join("other.crt"), folder.join("ours.crt")).unwrap();
    wait_until("a user of the new authority is known", SOON, || asked("stranger").is_ok());
    assert!(asked("reader").is_err(), "the old authority does not count any more");
    assert!(asked_again().is_err(), "nor on a connection that is open");
}

/// The HTTP status and body of a GET with a token, or without one.
pub(crate) fn page(plane: &ControlPlane, ours: &SchedulerProcess, token: &str, path: &str) -> (u16, String) {
    let kubeconfig = Kubeconfig::read_from(plane.kubeconfig_at(&ours.url(), token)).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let options = kube::config::KubeConfigOptions::default();
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await.unwrap();
        let client = kube::Client::try_from(config).unwrap();
        let request = http::Request::get(path).body(kube::client::Body::empty()).unwrap();
        let response = client.send(request).await.unwrap();
        let (head, body) = response.into_parts();
        let text = String::from_utf8(body.collect_bytes().await.unwrap().to_vec()).unwrap();
        (head.status.as_u16(), text)
    })
}

#[test]
fn only_users_with_the_right_learn_why_it_is_not_ready() {
    let plane = ControlPlane::shared();
    let namespace = plane.create_namespace("reasons");
    for name in ["powerless", "reader", "other"] {
        plane.kubectl_ok(["create", "serviceaccount", name, "--namespace", &namespace]);
    }
    let role = format!("{namespace}-readyz");
    plane.kubectl_ok(["create", "clusterrole", &role, "--verb=get", "--non-resource-url=/readyz"]);
    let account = format!("--serviceaccount={namespace}:reader");
    plane.kubectl_ok(["create", "clusterrolebinding", &role, &format!("--clusterrole={role}"), &account]);
    let token = |name: &str| {
        let text = plane.kubectl_ok(["create", "token", name, "--namespace", &namespace]);
        text.trim().to_owned()
    };
    // The scheduler may read nothing, so it is not ready.
    let admin = plane.kubeconfig().display().to_string();
    let setup = Setup::new(&namespace)
        .kubeconfig(plane.kubeconfig_of_service_account(&namespace, "powerless"))
        .flag(format!("--authentication-kubeconfig={admin}"))
        .flag(format!("--authorization-kubeconfig={admin}"));
    let ours = SchedulerProcess::spawn(plane, &setup);
    wait_until("it answers", SOON, || plane.get_from(&ours.url(), "/livez").is_some());
    let withheld = "[-]sched-handler-sync failed: reason withheld\n";
    for path in ["/readyz", "/readyz?verbose"] {
        for anybody in ["", "no-such-token"] {
            let (status, text) = page(plane, &ours, anybody, path);
            assert!(status == 500 && text.contains(withheld) && !text.contains("not fully"), "{text}");
        }
        let (status, text) = page(plane, &ours, &token("reader"), path);
        assert!(status == 500 && text.contains("handlers are not fully synchronized"), "{text}");
    }
    // By default every user with credentials may get the health checks.
    assert!(page(plane, &ours, &token("other"), "/readyz").1.contains("not fully synchronized"));
    let (status, text) = page(plane, &ours, "", "/livez?verbose");
    assert_eq!((status, text.as_str()), (200, "[+]ping ok\nlivez check passed\n"));
}

#[test]
fn clients_that_only_connect_keep_nobody_out() {
    let plane = ControlPlane::shared();
    let ours = SchedulerProcess::start(plane, &Setup::new("crowded"));
    let address = ours.url().trim_start_matches("https://").to_owned();
    let silent: Vec<_> = (0..400).map(|_| std::net::TcpStream::connect(&address).unwrap()).collect();
    for path in ["/livez", "/readyz", "/metrics"] {
        assert_eq!(status(plane, &ours, "", path), 200, "{path}");
    }
    // Of the silent ones those that have waited longest were closed.
    let closed = |mut stream: &std::net::TcpStream| {
        stream.set_nonblocking(true).unwrap();
        matches!(std::io::Read::read(&mut stream, &mut [0]), Ok(0))
    };
    assert!(silent.iter().filter(|stream| closed(stream)).count() >= 200);
}
