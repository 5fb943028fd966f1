//! Credentials that expire while the scheduler runs: it reads changed files again. Without new
//! credentials it ends, so that another replica takes over.

use crate::scheduler_process::{SchedulerProcess, Setup};
use crate::support::daemon::Folder;
use crate::support::http_proxy::{HttpProxy, Rule};
use crate::support::{ControlPlane, Options, User, wait_until};
use crate::workload::Workload;
use http::Method;
use std::path::Path;
use std::time::{Duration, Instant};

const SOON: Duration = Duration::from_secs(60);

/// A token of a new service account that may do everything.
fn token_of(plane: &ControlPlane, namespace: &str, name: &str) -> String {
    plane.kubectl_ok(["create", "serviceaccount", name, "--namespace", namespace]);
    let account = format!("--serviceaccount={namespace}:{name}");
    let binding = format!("{namespace}-{name}");
    plane.kubectl_ok(["create", "clusterrolebinding", &binding, "--clusterrole=cluster-admin", &account]);
    plane.kubectl_ok(["create", "token", name, "--namespace", namespace, "--duration=1h"]).trim().to_owned()
}

/// Writes as the kubelet does: the file is replaced as a whole.
fn replace(path: &Path, text: &str) {
    let partial = path.with_extension("partial");
    std::fs::write(&partial, text).unwrap();
    std::fs::rename(&partial, path).unwrap();
}

#[test]
fn a_token_that_expires_is_replaced_from_its_file() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "token", 1);
    let folder = Folder::new("token");
    let (file, kubeconfig) = (folder.join("token"), folder.join("kubeconfig"));
    replace(&file, &token_of(plane, &load.namespace, "first"));
    let text = std::fs::read_to_string(plane.write_kubeconfig("token-file", "TOKEN")).unwrap();
    replace(
        &kubeconfig,
        &text.replace("token: TOKEN", &format!("tokenFile: {:?}", file.display().to_string())),
    );
    let setup = Setup::new(&load.scheduler).policies_from(&load.namespace).elects().kubeconfig(kubeconfig);
    let mut ours = SchedulerProcess::start(plane, &setup);
    load.create_pods(1, "10m");
    load.wait_bound(1, SOON);
    replace(&file, &token_of(plane, &load.namespace, "second"));
    wait_until("it reads the token", SOON, || ours.said().contains("the credentials changed"));
    // Ends the first token; the API server remembers it as valid for ten seconds.
    plane.kubectl_ok(["delete", "serviceaccount", "first", "--namespace", &load.namespace]);
    std::thread::sleep(Duration::from_secs(12));
    load.create_pods(1, "10m");
    load.wait_bound(2, SOON);
    assert!(ours.daemon.is_running(), "{}", ours.daemon.log_tail(20));
}

#[test]
fn without_accepted_credentials_it_ends_with_status_1() {
    let plane = ControlPlane::shared();
    let load = Workload::new(plane, "expired", 1);
    let proxy = HttpProxy::start(&plane.url());
    let kubeconfig = plane.kubeconfig_at(&proxy.url(), &User::new("admin", &[]).token());
    let setup = Setup::new(&load.scheduler).policies_from(&load.namespace).elects().kubeconfig(kubeconfig);
    let setup = setup.flag("--max-unauthorized=6s").flag("--leader-elect-renew-deadline=14s");
    let mut ours = SchedulerProcess::start(plane, &setup);
    for method in [Method::GET, Method::PUT, Method::POST, Method::PATCH] {
        proxy.rule(Rule::fails(method, "/", 401, "Unauthorized", "Unauthorized"));
    }
    let since = Instant::now();
    let ended = ours.daemon.wait_exit(Duration::from_secs(40)).expect("it ends");
    assert_eq!(ended.code(), Some(1), "{}", ours.daemon.log_tail(20));
    assert!(ours.said().contains("has not accepted our credentials for"), "{}", ours.daemon.log_tail(20));
    assert!(since.elapsed() > Duration::from_secs(5), "not at the first refusal");
}

/// An authority, and what writes a client certificate of an administrator with its key.
fn authority(folder: &Folder) -> rcgen::Issuer<'static, rcgen::KeyPair> {
    let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    params.distinguished_name.push(rcgen::DnType::CommonName, "clients");
    let key = rcgen::KeyPair::generate().unwrap();
    std::fs::write(folder.join("ca.crt"), params.self_signed(&key).unwrap().pem()).unwrap();
    rcgen::Issuer::new(params, key)
}

fn client_certificate(
    issuer: &rcgen::Issuer<'_, rcgen::KeyPair>,
    valid_for: Duration,
    certificate: &Path,
    key: &Path,
) {
    let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(rcgen::DnType::OrganizationName, "system:masters");
    params.distinguished_name.push(rcgen::DnType::CommonName, "scheduler");
    params.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ClientAuth];
    let since_epoch = Duration::from_secs(jiff::Timestamp::now().as_second().unsigned_abs());
    params.not_before = rcgen::date_time_ymd(1970, 1, 1) + since_epoch - Duration::from_secs(60);
    params.not_after = rcgen::date_time_ymd(1970, 1, 1) + since_epoch + valid_for;
    let pair = rcgen::KeyPair::generate().unwrap();
    // The key first: in between, certificate and key do not fit, and the old ones stay in use.
    replace(key, &pair.serialize_pem());
    replace(certificate, &params.signed_by(&pair, issuer).unwrap().pem());
}

#[test]
fn a_client_certificate_that_expires_is_replaced_from_its_file() {
    let folder = Folder::new("client-certificates");
    let issuer = authority(&folder);
    let flag = format!("--client-ca-file={}", folder.join("ca.crt").display());
    let plane = ControlPlane::start_with(Options { api_server_flags: vec![flag], ..Options::default() });
    let load = Workload::new(&plane, "certified", 1);
    let files = ["renewed", "forgotten"]
        .map(|name| (folder.join(format!("{name}.crt")), folder.join(format!("{name}.key"))));
    let valid = Duration::from_secs(25);
    let since = Instant::now();
    let mut both = files.each_ref().map(|(certificate, key)| {
        client_certificate(&issuer, valid, certificate, key);
        let kubeconfig = plane.kubeconfig_showing(&plane.url(), certificate, key);
        let name = if certificate == &files[0].0 { load.scheduler.clone() } else { "forgotten".to_owned() };
        let setup = Setup::new(&name).policies_from(&load.namespace).elects().kubeconfig(kubeconfig);
        let setup = setup.flag("--max-unauthorized=4s").flag("--leader-elect-renew-deadline=14s");
        SchedulerProcess::start(&plane, &setup)
    });
    load.create_pods(1, "10m");
    load.wait_bound(1, SOON);
    client_certificate(&issuer, Duration::from_secs(3_600), &files[0].0, &files[0].1);
    wait_until("it reads the certificate", SOON, || both[0].said().contains("the credentials changed"));
    std::thread::sleep((valid + Duration::from_secs(2)).saturating_sub(since.elapsed()));
    load.create_pods(1, "10m");
    load.wait_bound(2, SOON);
    assert!(both[0].daemon.is_running(), "{}", both[0].daemon.log_tail(20));
    let ended = both[1].daemon.wait_exit(Duration::from_secs(40)).expect("without a new one it ends");
    assert_eq!(ended.code(), Some(1), "{}", both[1].daemon.log_tail(20));
}
