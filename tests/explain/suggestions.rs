//! Suggestions are what the person who reads them may do: no invented values, no labels that describe machines, the owner
//! that a person edits.

use super::statements::{explained, folder, gpus, list, node, pod};
use crate::support::command::bayplan;
use serde_json::{Value, json};

fn whats(json: &Value) -> Vec<String> {
    let helps = json["wouldHelp"].as_array().unwrap().iter();
    helps.map(|help| help["what"].as_str().unwrap().to_owned()).collect()
}

fn labelled(mut node: Value, labels: Value) -> Value {
    node["metadata"]["labels"] = labels;
    node
}

fn machine() -> Value {
    json!({"cpu": "8", "memory": "10Gi", "pods": "110", "nvidia.com/gpu": "8"})
}

#[test]
fn hardware_is_not_falsified_and_a_value_that_nodes_have_is_offered() {
    let policy = "/// x\npolicy model {\n  applies when has(pod.labels[\"gpu-model\"])\n  filter same { require \
                  node.labels[\"nvidia.com/gpu.product\"] == pod.labels[\"gpu-model\"] else \"other GPU\" }\n}\n";
    let a100 = labelled(node("n1", machine()), json!({"nvidia.com/gpu.product": "A100"}));
    let cluster = list(&[a100, pod("p", json!({"gpu-model": "H200"}), gpus(1))]);
    let folder = folder("model", &[("c.json", &cluster), ("p.bay", policy)]);
    let (_, json) = explained(&folder, &["p"]);
    let helps = whats(&json);
    assert_eq!(helps[0], "set the label gpu-model=A100", "{helps:?}");
    assert!(
        !helps.iter().any(|what| what.contains("nvidia.com/gpu.product=") || what.contains("remove")),
        "{helps:?}"
    );
}

#[test]
fn labels_of_places_and_providers_are_left_alone_and_those_of_operators_are_not() {
    for (key, may) in [
        ("karpenter.sh/capacity-type", false),
        ("topology.kubernetes.io/zone", false),
        ("kubernetes.io/hostname", false),
        ("eks.amazonaws.com/nodegroup", false),
        ("topology.ebs.csi.aws.com/zone", false),
        ("topology.linstor.csi.linbit.com/pool", false),
        ("cloud.google.com/gke-accelerator", false),
        ("tpu.google.com/slice", false),
        ("aliyun.accelerator/nvidia_name", false),
        ("k3s.io/hostname", false),
        ("topology.rook.io/rack", true),
        ("node-restriction.kubernetes.io/team", true),
        ("example.com/team", true),
        ("team", true),
    ] {
        let policy = format!(
            "/// x\npolicy p {{ filter f {{ require node.labels[\"{key}\"] == \"blue\" else \"no\" }} }}\n"
        );
        let cluster = list(&[node("n1", machine()), pod("p", json!({}), json!({}))]);
        let folder = folder("labels", &[("c.json", &cluster), ("p.bay", &policy)]);
        let helps = whats(&explained(&folder, &["p"]).1);
        assert_eq!(helps.contains(&format!("label n1 {key}=blue")), may, "{key}: {helps:?}");
    }
}

#[test]
fn no_value_is_invented() {
    let policy = "/// x\npolicy p { filter f { require has(node.labels[\"team\"]) else \"no\" } }\n";
    let cluster = list(&[node("n1", machine()), pod("p", json!({"app": "web"}), json!({}))]);
    let folder = folder("invented", &[("c.json", &cluster), ("p.bay", policy)]);
    let helps = whats(&explained(&folder, &["p"]).1);
    assert!(!helps.iter().any(|what| what.starts_with("label ")), "{helps:?}");
}

#[test]
fn a_part_of_a_value_is_no_value() {
    let helps = |condition: &str| {
        let policy = format!("/// x\npolicy p {{ filter f {{ require {condition} else \"no\" }} }}\n");
        let cluster = list(&[node("n1", machine()), pod("p", json!({}), json!({}))]);
        let folder = folder("parts", &[("c.json", &cluster), ("p.bay", &policy)]);
        whats(&explained(&folder, &["p"]).1)
    };
    for condition in [
        "(node.labels[\"rack\"] ?? \"\").startsWith(\"eu-\")",
        "(node.labels[\"rack\"] ?? \"\").contains(\"west\")",
        "(pod.labels[\"tier\"] ?? \"\").startsWith(\"go\")",
    ] {
        let helps = helps(condition);
        assert!(!helps.iter().any(|what| what.contains("label ")), "{condition}: {helps:?}");
    }
    assert!(
        helps("(pod.labels[\"tier\"] ?? \"\").lowerAscii() == \"gold\"")
            .contains(&"set the label tier=gold".to_owned())
    );
    assert!(helps("node.labels[\"rack\"] in [\"a\", \"b\"]").contains(&"label n1 rack=a".to_owned()));
}

/// A number of pods, and amounts for each rack: what counts must end, or the pod asks for less.
#[test]
fn every_quota_offers_waiting() {
    let team = || json!({"team": "a"});
    let mut runs = pod("r", team(), json!({"cpu": "3"}));
    runs["spec"]["nodeName"] = json!("n1");
    let racked = labelled(node("n1", machine()), json!({"rack": "r1"}));
    let cluster = list(&[racked, runs, pod("p", team(), json!({"cpu": "2"}))]);
    let key = "pod.labels[\"team\"] ?? \"\"";
    let count = format!("ledger used: int by {key} {{ add 1 }}");
    let racks =
        format!("ledger used: cpu by [{key}, node.labels[\"rack\"] ?? \"\"] {{ add pod.requests.cpu }}");
    for (ledger, rule, less) in [
        (&count, format!("prefilter {{ reject \"over\" when used[{key}] >= 1 }}"), None),
        (&count, format!("gate \"over\" when used[{key}] >= 1"), None),
        (
            &racks,
            format!(
                "filter f {{ reject \"over\" when used[[{key}, node.labels[\"rack\"] ?? \"\"]] + pod.requests.cpu > 4cpu }}"
            ),
            Some("request 1 cpu instead of 2"),
        ),
    ] {
        let policy = format!("/// x\npolicy q {{\n  {ledger}\n  {rule}\n}}\n");
        let folder = folder("waits", &[("c.json", &cluster), ("p.bay", &policy)]);
        let helps = whats(&explained(&folder, &["p"]).1);
        let at = |part: &str| helps.iter().position(|what| what.starts_with(part)).unwrap_or(usize::MAX);
        assert!(at("until pods that count end") < at("except this pod"), "{rule}: {helps:?}");
        assert_eq!(helps.first().map(String::as_str).filter(|_| less.is_some()), less, "{rule}: {helps:?}");
    }
}

#[test]
fn a_pod_without_devices_waits_before_it_tolerates_their_taint() {
    let mut gpu = node("gpu", machine());
    gpu["spec"] = json!({"taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]});
    let small = node("small", json!({"cpu": "1", "memory": "10Gi", "pods": "110"}));
    let mut runs = pod("r", json!({}), json!({"cpu": "1"}));
    runs["spec"]["nodeName"] = json!("small");
    let cluster = list(&[gpu, small, runs, pod("p", json!({}), json!({"cpu": "1"}))]);
    let policy = "/// x\npolicy p { filter f { reject \"no\" when pod.priority > 9 } }\n";
    let folder = folder("taint", &[("c.json", &cluster), ("p.bay", policy)]);
    let helps = whats(&explained(&folder, &["p"]).1);
    let at = |part: &str| helps.iter().position(|what| what.contains(part)).unwrap_or(usize::MAX);
    assert!(at("until") < at("tolerate nvidia.com/gpu") && at("until") < at("remove the taint"), "{helps:?}");
}

/// A node that an autoscaler removes, and one whose agents are not ready, are left to their controllers.
#[test]
fn taints_of_the_lifecycle_of_nodes_are_neither_tolerated_nor_removed() {
    let of_lifecycle = |key: &str| {
        let mut goes = node("goes", machine());
        goes["spec"] = json!({"taints": [{"key": "team", "effect": "NoSchedule"}, {"key": key, "effect": "NoSchedule"}]});
        let cluster = list(&[goes, pod("p", json!({}), json!({"cpu": "1"}))]);
        let policy = "/// x\npolicy p { filter f { reject \"no\" when pod.priority > 9 } }\n";
        let folder = folder("lifecycle", &[("c.json", &cluster), ("p.bay", policy)]);
        whats(&explained(&folder, &["p"]).1)
    };
    for key in ["ToBeDeletedByClusterAutoscaler", "karpenter.sh/disrupted", "ebs.csi.aws.com/agent-not-ready"]
    {
        let helps = of_lifecycle(key);
        assert!(!helps.iter().any(|what| what.contains("taint") || what.contains("tolerate")), "{helps:?}");
    }
    let helps = of_lifecycle("lifecycle");
    assert!(helps.iter().any(|what| what.contains("tolerate")), "{helps:?}");
}

/// Pods of a ReplicaSet, with or without the objects that made it.
fn replicas(with_files: bool, hash: bool, cpu: &str) -> String {
    let replica = |name: &str| {
        let labels = if hash { json!({"pod-template-hash": "7f8d9c6b5"}) } else { json!({}) };
        let mut pod = pod(name, labels, json!({"cpu": cpu}));
        pod["metadata"]["ownerReferences"] = json!([{
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-7f8d9c6b5", "uid": "u1", "controller": true,
        }]);
        pod
    };
    let mut all = vec![node("n1", machine()), replica("web-7f8d9c6b5-x2z4q"), replica("web-7f8d9c6b5-bbbbb")];
    if with_files {
        all.push(json!({
            "apiVersion": "apps/v1", "kind": "ReplicaSet",
            "metadata": {"name": "web-7f8d9c6b5", "uid": "u1", "namespace": "default", "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "Deployment", "name": "site", "uid": "u2", "controller": true},
            ]},
            "spec": {"replicas": 2, "selector": {"matchLabels": {"x": "y"}}},
        }));
    }
    list(&all)
}

const SMALL: &str = "/// x\npolicy small { filter f { reject \"large\" when pod.requests.cpu > 8cpu } }\n";

const NONE: &str = "/// x\npolicy none { filter f { reject \"no\" when pod.priority == 0 } }\n";

#[test]
fn the_owner_is_what_a_person_edits() {
    for (with_files, hash, owner) in
        [(true, true, "Deployment site"), (false, true, "Deployment web"), (false, false, "Deployment web")]
    {
        // A request that is too large is changed in the manifest; a policy gets an exception.
        for (cpu, policy, part) in [
            ("90", SMALL, format!("the pod template of {owner}.")),
            ("1", NONE, "pod.name.matches(\"^web-[".to_owned()),
        ] {
            let folder = folder("owner", &[("c.json", &replicas(with_files, hash, cpu)), ("p.bay", policy)]);
            let (cluster, policies) = (folder.join("c.json"), folder.join("p.bay"));
            let flags = ["--cluster", cluster.to_str().unwrap(), "--policies", policies.to_str().unwrap()];
            let mut all = vec!["explain", "web-7f8d9c6b5-x2z4q", "--fix", "1"];
            all.extend(flags);
            let fix = bayplan(&all).out;
            assert!(fix.contains(&part) && !fix.contains("ReplicaSet"), "{part}: {fix}");
        }
    }
}

#[test]
fn an_owner_leads_to_its_pods() {
    let folder = folder("by-owner", &[("c.json", &replicas(true, true, "90")), ("p.bay", SMALL)]);
    for asked in
        ["site", "deployment/site", "deploy/site", "web-7f8d9c6b5", "rs/web-7f8d9c6b5", "default/site"]
    {
        let (text, json) = explained(&folder, &[asked]);
        assert_eq!(json["pod"], "default/web-7f8d9c6b5-x2z4q", "{asked}");
        assert!(text.contains("The first of 2 pending pods of"), "{text}");
    }
}

#[test]
fn an_owner_whose_name_is_misspelt_is_suggested() {
    let folder = folder("near-owner", &[("c.json", &replicas(true, true, "90")), ("p.bay", SMALL)]);
    let (cluster, policies) = (folder.join("c.json"), folder.join("p.bay"));
    let flags = ["--cluster", cluster.to_str().unwrap(), "--policies", policies.to_str().unwrap()];
    for (asked, near) in [
        ("sitee", "; did you mean `site`?"),
        ("deployment/stie", "; did you mean `deployment/site`?"),
        ("default/stie", "; did you mean `default/site`?"),
        ("rs/web-7f8d9c6b6", "; did you mean `rs/web-7f8d9c6b5`?"),
        ("statefulset/site", "is called `statefulset/site`\n"),
        ("elsewhere", "is called `elsewhere`\n"),
    ] {
        let mut all = vec!["explain", asked];
        all.extend(flags);
        let said = bayplan(&all);
        assert!(said.status == 2 && said.err.contains(near), "{asked}: {}", said.err);
    }
}

#[test]
fn a_missing_claim_says_what_to_create() {
    let mut p = pod("p", json!({}), json!({}));
    p["metadata"]["namespace"] = json!("shop");
    p["spec"]["volumes"] = json!([{"name": "v", "persistentVolumeClaim": {"claimName": "nope"}}]);
    let folder = folder("claim", &[("c.json", &list(&[node("n1", machine()), p])), ("p.bay", SMALL)]);
    let (text, json) = explained(&folder, &["p"]);
    assert!(text.contains("create PersistentVolumeClaim shop/nope"), "{text}");
    assert_eq!(json["missing"], json!(["PersistentVolumeClaim shop/nope"]));
}

#[test]
fn missing_volumes_and_classes_are_named() {
    let claim = |spec: Value| {
        json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": "data", "namespace": "default"}, "spec": spec})
    };
    let size = json!({"requests": {"storage": "1Gi"}});
    let modes = json!(["ReadWriteOnce"]);
    let mut p = pod("p", json!({}), json!({}));
    p["spec"]["volumes"] = json!([{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]);
    let mut bound = claim(json!({"volumeName": "pv", "accessModes": modes, "resources": size}));
    bound["metadata"]["annotations"] = json!({"pv.kubernetes.io/bind-completed": "yes"});
    bound["status"] = json!({"phase": "Bound"});
    for (claim, missing) in [
        (
            claim(json!({"storageClassName": "fast", "accessModes": modes, "resources": size})),
            "StorageClass fast",
        ),
        (bound, "PersistentVolume pv"),
    ] {
        let cluster = list(&[node("n1", machine()), claim, p.clone()]);
        let folder = folder("volumes", &[("c.json", &cluster), ("p.bay", SMALL)]);
        let (text, json) = explained(&folder, &["p"]);
        assert_eq!(json["missing"], json!([missing]), "{text}");
        assert!(text.contains(&format!("What would help: create {missing}.")), "{text}");
    }
}

/// Jobs of a CronJob end in a minute since 1970, those of people often in a date.
#[test]
fn a_date_in_the_name_of_a_job_is_no_minute() {
    for (job, owner) in [("etl-29412345", "CronJob etl"), ("etl-20260131", "Job etl-20260131")] {
        let mut made = pod(&format!("{job}-x2z4q"), json!({}), json!({"cpu": "90"}));
        made["metadata"]["ownerReferences"] = json!([{
            "apiVersion": "batch/v1", "kind": "Job", "name": job, "uid": "u", "controller": true,
        }]);
        let folder = folder("job", &[("c.json", &list(&[node("n1", machine()), made])), ("p.bay", SMALL)]);
        let (cluster, policies) = (folder.join("c.json"), folder.join("p.bay"));
        let name = format!("{job}-x2z4q");
        let flags = ["--cluster", cluster.to_str().unwrap(), "--policies", policies.to_str().unwrap()];
        let fix = bayplan(&[&["explain", &name, "--fix", "1"][..], &flags].concat()).out;
        assert!(fix.contains(&format!("the pod template of {owner}.")), "{fix}");
    }
}

#[test]
fn a_cause_repeats_what_helps_and_amounts_that_differ_are_named() {
    let mut all = vec![node("n1", json!({"cpu": "4", "memory": "10Gi", "pods": "110"}))];
    all.extend([("a", "6"), ("b", "20")].map(|(name, cpu)| pod(name, json!({}), json!({"cpu": cpu}))));
    let folder = folder(
        "cause",
        &[
            ("c.json", &list(&all)),
            ("p.bay", "/// x\npolicy p { filter f { reject \"no\" when pod.priority > 9 } }\n"),
        ],
    );
    let (list, _) = explained(&folder, &[]);
    let (cluster, policies) = (folder.join("c.json"), folder.join("p.bay"));
    let cause = bayplan(&[
        "explain",
        "--cause",
        "1",
        "--cluster",
        cluster.to_str().unwrap(),
        "--policies",
        policies.to_str().unwrap(),
    ]);
    assert!(cause.out.contains("What would help them all: "), "{}", cause.out);
    assert!(!list.contains("instead of 6"), "{list}");
}
