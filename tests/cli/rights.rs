//! What a policy can do with the rights of `deploy/rbac.yaml`: for each verb on each resource that the scheduler has, a policy
//! that would use it is refused, or `plan` prints what it needs or does. None of the scheduler's rights is a policy's in
//! silence.

use crate::support::command::{bayplan, folder};
use bayplan::model::{KINDS, KindRow};
use serde_json::Value;

/// A verb on a resource, and the kind of these objects.
struct Right {
    group: String,
    resource: String,
    verb: String,
}

/// The rights of the roles that are bound to the scheduler's account.
fn granted() -> Vec<Right> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/rbac.yaml");
    let text = std::fs::read_to_string(path).unwrap();
    let documents = text.split("\n---\n").filter(|text| text.contains("apiVersion"));
    let objects: Vec<Value> = documents.map(|text| serde_saphyr::from_str(text).unwrap()).collect();
    let texts = |of: &Value| -> Vec<String> {
        of.as_array().into_iter().flatten().filter_map(|text| text.as_str().map(str::to_owned)).collect()
    };
    let named = |kind: &'static str| {
        objects.iter().filter(move |of| of["kind"] == kind && of["metadata"]["name"] == "bayplan")
    };
    let mut rights = Vec::new();
    for rule in named("ClusterRole").chain(named("Role")).flat_map(|role| role["rules"].as_array().unwrap()) {
        for resource in texts(&rule["resources"]) {
            for verb in texts(&rule["verbs"]) {
                let group = rule["apiGroups"][0].as_str().unwrap().to_owned();
                rights.push(Right { group, resource: resource.clone(), verb });
            }
        }
    }
    rights
}

/// The kind that a resource has, as policies name it, and whether it is in a namespace.
fn kind_of(right: &Right) -> (String, bool) {
    let row: Option<&KindRow> =
        KINDS.iter().find(|row| row.plural == right.resource && row.group == right.group);
    if let Some(row) = row {
        return (format!("{}/{}", row.api_version(), row.name), row.namespaced);
    }
    let (kind, namespaced) = match right.resource.as_str() {
        "secrets" => ("v1/Secret", true),
        "configmaps" => ("v1/ConfigMap", true),
        "serviceaccounts" => ("v1/ServiceAccount", true),
        "pods/binding" => ("v1/Binding", true),
        "pods/status" => ("v1/Pod", true),
        "resourceclaims/status" | "resourceclaims/binding" => ("resource.k8s.io/v1/ResourceClaim", true),
        "leases" => ("coordination.k8s.io/v1/Lease", true),
        "events" => ("events.k8s.io/v1/Event", true),
        "tokenreviews" => ("authentication.k8s.io/v1/TokenReview", false),
        "subjectaccessreviews" => ("authorization.k8s.io/v1/SubjectAccessReview", false),
        other => panic!("which kind is {other}?"),
    };
    (kind.to_owned(), namespaced)
}

/// The plan of a policy with these statements, or its first error.
fn planned(statements: &str) -> Result<Value, String> {
    let text = format!(
        "/// Uses a right.\npolicy uses {{\n  applies when pod.namespace == \"mine\"\n{statements}\n}}\n"
    );
    let folder = folder(&[("uses.bay", &text)]);
    let ended = bayplan(&["plan", folder.join("uses.bay").to_str().unwrap(), "-o", "json"]);
    match ended.status {
        0 => Ok(serde_json::from_str::<Value>(&ended.out).unwrap()["policies"][0].clone()),
        _ => Err(ended.out + &ended.err),
    }
}

/// Whether a list of the plan has an entry with these parts.
fn says(plan: &Value, field: &str, parts: &[&str]) -> bool {
    let all = plan[field].as_array().unwrap();
    all.iter().any(|entry| parts.iter().all(|part| entry.as_str().unwrap().contains(part)))
}

#[test]
fn each_right_of_the_scheduler_is_refused_to_policies_or_printed() {
    let rights = granted();
    assert!(rights.len() > 40, "{}", rights.len());
    for Right { group, resource, verb } in &rights {
        let right = Right { group: group.clone(), resource: resource.clone(), verb: verb.clone() };
        let (kind, namespaced) = kind_of(&right);
        let of = if namespaced { "pod.namespace, pod.name" } else { "pod.name" };
        let look_up = format!("  let o = lookup(\"{kind}\", {of}) missing skip\n");
        // Labels and annotations need the right to the object itself.
        let object = if kind.ends_with("/ResourceClaim") { "resourceclaims" } else { resource };
        let resources = format!("resources: [\"{object}\"]");
        let what = format!("{verb} {resource}");
        match verb.as_str() {
            "list" | "watch" | "get" => {
                match planned(&format!("{look_up}  reserve {{ reject \"no\" when o.name == \"\" }}")) {
                    Ok(plan) => {
                        assert!(says(&plan, "rights", &[&resources, verb]) || verb == "get", "{what}: {plan}")
                    }
                    Err(refused) => assert!(refused.contains("error["), "{what}: {refused}"),
                }
            }
            "delete" if resource == "pods" => {
                let plan = planned(
                    "  preempt { victim v when v.namespace == \"mine\" && v.priority < pod.priority }",
                )
                .unwrap();
                assert!(says(&plan, "writes", &["delete pods"]), "{what}: {plan}");
            }
            "create" if resource == "pods/binding" => {
                let plan = planned("  reserve { label pod {\"app\": \"other\"} }").unwrap();
                assert!(says(&plan, "writes", &["label the pod, with its binding"]), "{what}: {plan}");
            }
            "create" | "patch" if resource == "events" => {
                let plan = planned("  after bind { event node normal \"Placed\" \"here\" }").unwrap();
                assert!(says(&plan, "writes", &["event the node"]), "{what}: {plan}");
            }
            // A condition, which the reasons of policies are in.
            "patch" if resource == "pods/status" => {
                let error =
                    planned("  before bind { patch pod {\"status\": {\"reason\": \"x\"}} }").unwrap_err();
                assert!(error.contains("policies do not write `status` of pods"), "{what}: {error}");
            }
            _ => {
                for write in [
                    "label o {\"example.com/x\": pod.name}",
                    "annotate o {\"example.com/x\": none}",
                    "patch o {\"metadata\": {\"labels\": {\"example.com/x\": pod.name}}}",
                ] {
                    for block in ["before bind", "after bind"] {
                        // The write is refused, or it needs a right of the policies' account and is warned of.
                        match planned(&format!("{look_up}  {block} {{ {write} }}")) {
                            Ok(plan) => {
                                assert!(says(&plan, "rightsOfPolicies", &[&resources]), "{what}: {plan}");
                                assert!(!says(&plan, "rights", &["patch"]), "{what}: {plan}");
                            }
                            Err(refused) => assert!(refused.contains("error["), "{what}: {refused}"),
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn volumes_and_claims_are_written_only_where_the_operator_allows_it() {
    let steal = |kind: &str, of: &str| {
        format!(
            "/// Takes it.\npolicy steal {{\n  let o = lookup(\"{kind}\", {of}) missing skip\n  before bind {{ label o \
             {{\"example.com/x\": pod.name}} }}\n}}\n"
        )
    };
    for (kind, of) in [
        ("PersistentVolume", "pod.name"),
        ("v1/PersistentVolumeClaim", "pod.namespace, pod.name"),
        ("ResourceClaim", "pod.namespace, pod.name"),
    ] {
        let folder = folder(&[("steal.bay", &steal(kind, of))]);
        let ended = bayplan(&["lint", folder.join("steal.bay").to_str().unwrap()]);
        let kind = kind.trim_start_matches("v1/");
        assert!(ended.out.contains(&format!("`--policy-writes {kind}`")), "{} {}", ended.out, ended.err);
    }
    let folder = folder(&[("own.bay", &steal("PriorityClass", "pod.priority_class ?? \"\""))]);
    let ended = bayplan(&["lint", folder.join("own.bay").to_str().unwrap()]);
    assert!(!ended.out.contains("own-kind"), "{}", ended.out);
}

#[test]
fn plan_says_which_fields_of_pods_a_policy_shows() {
    let shows = |statements: &str| planned(statements).unwrap()["shows"].clone();
    let spied = "  let spied = pods.first(p, p.name == (pod.annotations[\"spy\"] ?? \"\"))\n";
    let env = "spied.spec.containers[0].env[0].value";
    // Texts take paths.
    let spied = &format!("{spied}  let shown = {env} ?? \"\"\n");
    for leak in [
        format!("prefilter {{ reject \"env\" with {{ env: {env} }} when spied != none }}"),
        "prefilter { reject \"env {shown}\" when spied != none }".to_owned(),
        format!("reserve {{ annotate pod {{\"example.com/x\": {env} ?? \"\"}} }}"),
        "after bind { event pod normal \"Env\" \"{shown}\" }".to_owned(),
        format!("before bind {{ annotate node {{\"example.com/x\": {env} ?? \"\"}} }}"),
    ] {
        let shown = shows(&format!("{spied}  {leak}"));
        let others =
            shown.as_array().unwrap().iter().find_map(|part| part.as_str()?.strip_prefix("of other pods: "));
        assert!(others.is_some_and(|fields| fields.contains("containers")), "{leak}: {shown}");
    }
    // A gate sees no other pods.
    let shown = shows(
        "  let image = pod.spec.containers[0].image ?? \"\"\n  gate \"not {image}\" when image == \"x\"",
    );
    assert!(shown.to_string().contains("of the pod: spec.containers.image"), "{shown}");
    // What only decides is not shown.
    let shown = shows(&format!("{spied}  prefilter {{ reject \"env\" when {env} == \"x\" }}"));
    assert_eq!(shown, serde_json::json!([]));
    let shown = shows(
        "  prefilter { reject \"{pod.namespace} has it\" with { team: pod.labels[\"team\"] } when pod.priority > 1 }",
    );
    assert_eq!(shown, serde_json::json!(["of the pod: labels[\"team\"], namespace"]));
}
