//! `bayplan rbac`: for the values of the manifests in `deploy` it prints the rules that these have, and with a policy what the
//! policy needs beside them. The documents of RBAC are read as sets of single rights.

use crate::support::command::{Ended, bayplan_in, folder};
use crate::support::repository;
use serde_json::Value;
use std::collections::BTreeSet;

/// Namespace, group, resource, name and verb.
type Right = (String, String, String, String, String);

fn texts(of: &Value) -> Vec<String> {
    of.as_array().into_iter().flatten().filter_map(|text| text.as_str().map(str::to_owned)).collect()
}

fn documents(text: &str) -> Vec<Value> {
    let documents = text.split("---\n").filter(|text| text.contains("apiVersion"));
    documents.map(|text| serde_saphyr::from_str(text).unwrap()).collect()
}

/// The rights of the roles that are bound to an account or a user.
fn granted_to(objects: &[Value], subject: &str) -> BTreeSet<Right> {
    let kind = |of: &Value| of["kind"].as_str().unwrap_or_default().to_owned();
    let bound = objects.iter().filter(|of| kind(of).ends_with("Binding"));
    let bound = bound.filter(|of| of["subjects"].as_array().unwrap().iter().any(|of| of["name"] == subject));
    let mut rights = BTreeSet::new();
    for binding in bound {
        let is_role = |of: &&Value| {
            of["kind"] == binding["roleRef"]["kind"]
                && of["metadata"]["name"] == binding["roleRef"]["name"]
                && of["metadata"]["namespace"] == binding["metadata"]["namespace"]
        };
        let role = objects.iter().find(is_role).expect("the role of a binding");
        let namespace = role["metadata"]["namespace"].as_str().unwrap_or_default();
        for rule in role["rules"].as_array().unwrap() {
            let mut names = texts(&rule["resourceNames"]);
            if names.is_empty() {
                names.push(String::new());
            }
            for (group, resource) in texts(&rule["apiGroups"])
                .iter()
                .flat_map(|group| texts(&rule["resources"]).into_iter().map(move |of| (group.clone(), of)))
            {
                for (name, verb) in
                    names.iter().flat_map(|name| texts(&rule["verbs"]).into_iter().map(move |of| (name, of)))
                {
                    rights.insert((
                        namespace.to_owned(),
                        group.clone(),
                        resource.clone(),
                        name.clone(),
                        verb,
                    ));
                }
            }
        }
    }
    assert!(!rights.is_empty(), "nothing is granted to {subject}");
    rights
}

fn deployed(files: &[&str]) -> Vec<Value> {
    let path = |file: &&str| format!("{}/deploy/{file}", env!("CARGO_MANIFEST_DIR"));
    files.iter().flat_map(|file| documents(&std::fs::read_to_string(path(file)).unwrap())).collect()
}

/// The objects that the command prints, run in a folder of these files.
fn printed(files: &[(&str, &str)], flags: &[&str]) -> Vec<Value> {
    let folder = folder(files);
    let Ended { status, out, err } = bayplan_in(&folder, &[&["rbac"], flags].concat());
    assert_eq!(status, 0, "{flags:?}: {err}");
    documents(&out)
}

#[test]
fn the_manifests_grant_what_is_needed_and_no_more() {
    // The configuration of the manifests is inside of a ConfigMap.
    let config = deployed(&["config.yaml"])[0]["data"]["config.yaml"].as_str().unwrap().to_owned();
    let instead = deployed(&["instead/config.yaml"])[0]["data"]["config.yaml"].as_str().unwrap().to_owned();
    let files = [("beside.yaml", &*config), ("instead.yaml", &*instead)];
    let scheduler = "bayplan";
    for (flags, manifests, subject) in [
        (&[][..], &["rbac.yaml"][..], scheduler),
        (&["--config=beside.yaml"], &["rbac.yaml"], scheduler),
        (&["--write-status=PodGroup,ElasticQuota"], &["rbac.yaml", "status-rights.yaml"], scheduler),
        (&["--way=instead"], &["instead/rbac.yaml"], scheduler),
        (&["--config=instead.yaml"], &["instead/rbac.yaml"], scheduler),
        (&["--way=extender", "--secure-port=10259"], &["extender/rbac.yaml"], scheduler),
        (
            &["--way=instead", "--namespace=kube-system", "--user=system:kube-scheduler"],
            &["static-pods/rbac.yaml"],
            "system:kube-scheduler",
        ),
    ] {
        let ours = granted_to(&printed(&files, flags), subject);
        let theirs = granted_to(&deployed(manifests), subject);
        let more: Vec<&Right> = ours.difference(&theirs).collect();
        let less: Vec<&Right> = theirs.difference(&ours).collect();
        assert!(
            more.is_empty() && less.is_empty(),
            "{manifests:?}: rbac alone has {more:?}, the manifest alone {less:?}"
        );
    }
}

fn right(namespace: &str, group: &str, resource: &str, name: &str, verb: &str) -> Right {
    let [a, b, c, d, e] = [namespace, group, resource, name, verb].map(str::to_owned);
    (a, b, c, d, e)
}

#[test]
fn policies_and_flags_add_and_take_away_rights() {
    let repository = repository("");
    let policies = [
        format!("--policies={}/policies/tutorial/sticky-node.bay", repository.display()),
        format!("--schema={}/policies/schemas", repository.display()),
    ];
    let objects = printed(&[], &policies.each_ref().map(String::as_str));
    let scheduler = granted_to(&objects, "bayplan");
    // Policies of files: no right to any ConfigMap.
    assert!(!scheduler.iter().any(|right| right.2 == "configmaps"), "{scheduler:?}");
    let machines = right("", "kubevirt.io", "virtualmachines", "", "watch");
    assert!(scheduler.contains(&machines), "{scheduler:?}");
    let account = granted_to(&objects, "bayplan-policies");
    assert!(account.contains(&right("", "kubevirt.io", "virtualmachines", "", "patch")), "{account:?}");

    let without = granted_to(&printed(&[], &["--leader-elect=false", "--secure-port=0"]), "bayplan");
    assert!(!without.iter().any(|right| right.2 == "leases" || right.2.ends_with("reviews")));
    let extender =
        |flags: &[&str]| granted_to(&printed(&[], &[&["--way=extender"], flags].concat()), "bayplan");
    let bind = right("", "", "pods/binding", "", "create");
    assert!(!extender(&[]).contains(&bind) && extender(&["--bind"]).contains(&bind));

    let list = &printed(&[], &["-o", "json"])[0];
    assert_eq!(list["kind"], "List");
    let items = list["items"].as_array().unwrap();
    assert_eq!(granted_to(items, "bayplan"), granted_to(&printed(&[], &[]), "bayplan"));
}

#[test]
fn plugins_that_a_configuration_leaves_out_need_no_rights() {
    let config = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n- \
                  schedulerName: small\n  plugins:\n    multiPoint:\n      disabled: [{name: '*'}]\n      enabled: [{name: \
                  PrioritySort}, {name: DefaultBinder}, {name: NodeResourcesFit}]\n";
    let flags = ["--config=small.yaml", "--policy-namespaces="];
    let rights = granted_to(&printed(&[("small.yaml", config)], &flags), "bayplan");
    let of = |resource: &str| rights.iter().any(|right| right.2 == resource);
    assert!(of("pods") && of("nodes") && !of("persistentvolumes") && !of("poddisruptionbudgets"));
    assert!(!rights.contains(&right("", "", "pods", "", "delete")), "nothing of it evicts");
    assert!(rights.contains(&right("bayplan", "coordination.k8s.io", "leases", "small", "update")));
}

#[test]
fn flags_that_contradict_each_other_are_refused_with_what_to_do() {
    let config = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n- \
                  schedulerName: default-scheduler\n";
    let own = config.replace("default-scheduler", "own");
    let folder = folder(&[("default.yaml", config), ("own.yaml", &own)]);
    for (flags, said) in [
        (&["--way=beside", "--config=default.yaml"][..], "it is for `--way instead`"),
        (&["--way=instead", "--config=own.yaml"], "use `--way beside`"),
        (&["--bind"], "add `--way extender`"),
        (&["--way=extender", "--write-status=PodGroup"], "leave out `--config` and `--write-status`"),
        (&["--write-status=Pod"], "write `PodGroup`, `ElasticQuota`"),
        (&["--config=none.yaml"], "cannot read `none.yaml`"),
    ] {
        let Ended { status, err, .. } = bayplan_in(&folder, &[&["rbac"], flags].concat());
        assert_eq!(status, 2, "{flags:?}");
        assert!(err.contains(said), "{flags:?}: {err}");
    }
}
