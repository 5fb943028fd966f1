//! What people get wrong when they start it: each ends with one clear message and a status, never with a panic.

use crate::ours::{Ours, Setup};
use crate::support::{ControlPlane, wait_until};
use std::time::Duration;

const SOON: Duration = Duration::from_secs(20);

/// Starts it and waits for its end; what it said.
#[track_caller]
fn fails(plane: &ControlPlane, setup: &Setup) -> String {
    let mut ours = Ours::spawn(plane, setup);
    let ended = ours.daemon.wait_exit(Duration::from_secs(60)).expect("it ends");
    let said = ours.said();
    assert_eq!(ended.code(), Some(2), "{said}");
    assert!(!said.contains("panicked"), "{said}");
    said
}

#[test]
fn wrong_connections_say_what_is_wrong() {
    let Some(plane) = ControlPlane::shared() else { return };
    let setup = Setup::new("mistakes");
    let said = fails(plane, &setup.clone().kubeconfig("/no/such/kubeconfig".into()));
    assert!(said.contains("cannot use the kubeconfig `/no/such/kubeconfig`"), "{said}");
    let said = fails(plane, &setup.clone().kubeconfig(plane.write_kubeconfig("expired", "old-token")));
    assert!(said.contains("is the token expired?"), "{said}");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let said = fails(plane, &setup.clone().flag(format!("--secure-port={port}")));
    assert!(said.contains("another process has it"), "{said}");
    let said = fails(plane, &setup.clone().flag("--feature-gates=NoSuchGate=true"));
    assert!(said.contains("unrecognized feature gate: NoSuchGate"), "{said}");
    let said = fails(plane, &setup.clone().flag("--policies=/no/such/folder"));
    assert!(said.contains("cannot read policies from `/no/such/folder`"), "{said}");
}

#[test]
fn missing_rights_name_the_rule_to_add() {
    let Some(plane) = ControlPlane::shared() else { return };
    let setup = Setup::new("rightless").kubeconfig(plane.kubeconfig_of_user("nobody"));
    let ours = Ours::spawn(plane, &setup);
    wait_until("it says which", SOON, || {
        let said = ours.said();
        ["pods", "nodes", "namespaces"].iter().all(|resource| {
            said.contains(&format!(
                "resources: [\\\"{resource}\\\"], verbs: [\\\"get\\\", \\\"list\\\", \\\"watch\\\"]"
            ))
        })
    });
    assert!(plane.get_from(&ours.url(), "/readyz").is_none(), "it is not ready");
    assert_eq!(plane.get_from(&ours.url(), "/livez").as_deref(), Some("ok"), "but lives");
}
