//! The [`Patch`] that makes edits: a strategic merge patch of the pod, and kubectl commands.

use super::{CORDONED, DevicesOf, Edit, words};
use bayplan_model::{ClaimSource, Container, PodInfo, Symbol, amount};
use serde_json::{Map, Value, json};

/// How edits are made with kubectl.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Patch {
    /// A strategic merge patch of the pod's manifest; `None` when no edit changes the manifest.
    pub manifest: Option<Value>,
    /// Whether the API server accepts this patch of a pod that exists.
    pub in_place: bool,
    /// Commands that change metadata of the pod, or a node.
    pub commands: Vec<String>,
    /// What no patch can say: changes of fields that must be found in the manifest.
    pub by_hand: Vec<String>,
    /// What to do in a claim or the template of one.
    pub claims: Vec<String>,
}

impl Patch {
    /// The patch for some edits of a pod, and of a node where edits change one.
    pub fn of(pod: &PodInfo, edits: &[Edit], node: Option<&str>) -> Self {
        let mut patch = Patch { in_place: true, ..Patch::default() };
        let mut spec = Map::new();
        let mut tolerations = Vec::new();
        for edit in edits {
            match edit {
                Edit::Request { resource, amount } => patch.request(pod, resource, *amount, &mut spec),
                Edit::Tolerate(taint) => tolerations.push(json!({
                    "key": taint.key.as_str(), "operator": "Equal", "value": taint.value.as_str(),
                    "effect": taint.effect.name(),
                })),
                Edit::DropSelector { key, .. } => patch.select(&mut spec, key, Value::Null),
                Edit::SelectorValue { key, to, .. } => patch.select(&mut spec, key, json!(to.as_str())),
                Edit::SelectorKey { from, to, value } => {
                    patch.select(&mut spec, from, Value::Null);
                    patch.select(&mut spec, to, json!(value.as_str()));
                }
                Edit::DropRequiredAffinity => patch.drop_required("nodeAffinity", &mut spec),
                Edit::DropPodAffinity => patch.drop_required("podAffinity", &mut spec),
                Edit::DropPodAntiAffinity => patch.drop_required("podAntiAffinity", &mut spec),
                Edit::DropHostPort(port) => {
                    let field = if on_host_network(pod) { "containerPort" } else { "hostPort" };
                    let port =
                        format!("remove `{field}: {}` ({}) from its container", port.port, port.protocol);
                    patch.by_hand.push(port);
                    patch.in_place = false;
                }
                Edit::MaxSkew { topology_key, to, .. } => {
                    patch.spread(pod, topology_key, "maxSkew", json!(to), &mut spec);
                }
                Edit::SpreadAnyway { topology_key } => {
                    let when = json!("ScheduleAnyway");
                    patch.spread(pod, topology_key, "whenUnsatisfiable", when, &mut spec);
                }
                Edit::PodLabel { key, value } => {
                    patch.commands.push(of_pod("label", pod, key, value.as_deref()));
                }
                Edit::PodAnnotation { key, value } => {
                    patch.commands.push(of_pod("annotate", pod, key, value.as_deref()));
                }
                Edit::TolerateDevice { of, taint } => {
                    let value = match taint.value.is_empty() {
                        true => String::from("operator: Exists"),
                        false => format!("value: {:?}", taint.value.as_str()),
                    };
                    let entry = format!("{{key: {}, {value}, effect: {}}}", taint.key, taint.effect);
                    patch.claim(pod, of, &format!("add the toleration `{entry}`"));
                }
                Edit::DeviceCount { of, to, .. } => patch.claim(pod, of, &format!("set `count: {to}`")),
                Edit::NodeLabel { .. } | Edit::RemoveTaint(_) | Edit::Uncordon { .. } => {
                    patch.commands.extend(of_node(edit, node.unwrap_or("NODE")));
                }
                Edit::Except(_) | Edit::PodsEnd | Edit::ComesFree { .. } => {}
            }
        }
        if !tolerations.is_empty() {
            // A strategic merge patch replaces the whole list.
            let written = pod.raw.as_deref().map(|raw| raw["spec"]["tolerations"].as_array());
            let known = match written {
                Some(written) => written.cloned().unwrap_or_default(),
                None => pod.tolerations.iter().map(toleration).collect(),
            };
            spec.insert("tolerations".to_owned(), known.into_iter().chain(tolerations).collect());
        }
        patch.manifest = (!spec.is_empty()).then(|| json!({"spec": spec}));
        patch
    }

    /// What to do in a request of a claim. The spec of a claim that exists cannot be changed.
    fn claim(&mut self, pod: &PodInfo, of: &DevicesOf, what: &str) {
        let DevicesOf { claim, request, .. } = of;
        let made = pod.generated_claims().0.iter().find(|(_, name)| name.as_ref() == Some(claim));
        let entries = pod.devices().map_or(&[][..], |devices| &devices.claims);
        let entry = made.and_then(|(entry, _)| entries.iter().find(|of| of.name == *entry));
        self.claims.push(match entry.map(|entry| &entry.source) {
            Some(ClaimSource::Template(template)) => {
                format!("In the request {request} of ResourceClaimTemplate {template}, {what}")
            }
            _ => format!(
                "In the request {request} of ResourceClaim {claim}, {what}, and create the claim again"
            ),
        });
    }

    fn drop_required(&mut self, kind: &str, spec: &mut Map<String, Value>) {
        let affinity = spec.entry("affinity").or_insert_with(|| json!({}));
        if let Some(affinity) = affinity.as_object_mut() {
            let required = json!({"requiredDuringSchedulingIgnoredDuringExecution": null});
            affinity.insert(kind.to_owned(), required);
        }
        self.in_place = false;
    }

    /// Sets a field of the hard topology spread constraint of a key. A strategic merge patch finds a constraint by its
    /// key, which two constraints may share.
    fn spread(
        &mut self,
        pod: &PodInfo,
        key: &Symbol,
        field: &str,
        value: Value,
        spec: &mut Map<String, Value>,
    ) {
        self.in_place = false;
        let constraints = pod.constraints.iter().flat_map(|constraints| constraints.spread.iter());
        if constraints.filter(|constraint| constraint.topology_key == *key).count() > 1 {
            self.by_hand.push(format!("set `{field}: {value}` in its topology spread constraint of {key}"));
            return;
        }
        let list = spec.entry("topologySpreadConstraints").or_insert_with(|| json!([]));
        if let Some(list) = list.as_array_mut() {
            list.push(json!({"topologyKey": key.as_str(), field: value}));
        }
    }

    fn select(&mut self, spec: &mut Map<String, Value>, key: &Symbol, value: Value) {
        let selector = spec.entry("nodeSelector").or_insert_with(|| json!({}));
        if let Some(selector) = selector.as_object_mut() {
            selector.insert(key.to_string(), value);
        }
        self.in_place = false;
    }

    /// Lowers the requests of the containers until the pod requests `target`.
    fn request(&mut self, pod: &PodInfo, resource: &Symbol, target: i64, spec: &mut Map<String, Value>) {
        self.in_place = false;
        let overhead = pod.overhead.get(resource);
        if names_whole(pod, resource) || effective(pod, resource) != pod.requests.get(resource) {
            // The pod as a whole names the amount, which is at least that of its containers.
            let mut of_pod = resources(resource, target - overhead);
            if let Some(known) = spec.get("resources") {
                merge_amounts(&mut of_pod, known);
            }
            spec.insert("resources".to_owned(), of_pod);
        }
        let sidecars: i64 =
            pod.containers.iter().filter(|of| of.sidecar).map(|of| of.requests.get(resource)).sum();
        let steady = |of: &&Container| !of.init || of.sidecar;
        let total: i64 = pod.containers.iter().filter(steady).map(|of| of.requests.get(resource)).sum();
        let mut excess = total + overhead - target;
        let mut containers: Vec<&Container> = pod.containers.iter().collect();
        containers.sort_by_key(|of| std::cmp::Reverse(of.requests.get(resource)));
        for container in containers {
            let requested = container.requests.get(resource);
            let less = if steady(&container) {
                let less = requested - excess.clamp(0, requested);
                excess -= requested - less;
                less
            } else {
                requested.min((target - overhead - sidecars).max(0))
            };
            if less < requested {
                let field = if container.init { "initContainers" } else { "containers" };
                let list = spec.entry(field).or_insert_with(|| json!([]));
                let of = json!({"name": container.name.as_str(), "resources": resources(resource, less)});
                merge_container(list, of);
            }
        }
    }
}

/// Adds a container's patch to a list, into the entry of the same name if there is one.
fn merge_container(list: &mut Value, of: Value) {
    let Some(list) = list.as_array_mut() else { return };
    let Some(known) = list.iter_mut().find(|known| known["name"] == of["name"]) else {
        list.push(of);
        return;
    };
    merge_amounts(&mut known["resources"], &of["resources"]);
}

/// Adds the amounts of one `resources` to another.
fn merge_amounts(known: &mut Value, more: &Value) {
    for part in ["requests", "limits"] {
        for (resource, amount) in more[part].as_object().into_iter().flatten() {
            known[part][resource] = amount.clone();
        }
    }
}

/// Whether the pod as a whole names an amount of a resource, beside its containers.
fn names_whole(pod: &PodInfo, resource: &Symbol) -> bool {
    let of_pod = pod.raw.as_deref().map(|raw| &raw["spec"]["resources"]);
    let names = |part: &str| of_pod.is_some_and(|of| !of[part][resource.as_str()].is_null());
    names("requests") || names("limits")
}

fn on_host_network(pod: &PodInfo) -> bool {
    pod.raw.as_deref().is_some_and(|raw| raw["spec"]["hostNetwork"] == true)
}

/// `resources` of a container. Extended resources and huge pages have limits that equal the
/// requests.
fn resources(resource: &Symbol, value: i64) -> Value {
    let amounts = json!({resource.as_str(): amount(resource, value)});
    match resource.as_str() {
        "cpu" | "memory" | "ephemeral-storage" => json!({"requests": amounts}),
        _ => json!({"requests": amounts, "limits": amounts}),
    }
}

/// What the containers of a pod request in effect, with the overhead.
fn effective(pod: &PodInfo, resource: &Symbol) -> i64 {
    let (mut sidecars, mut largest, mut regular) = (0i64, 0i64, 0i64);
    for container in pod.containers.iter() {
        let requested = container.requests.get(resource);
        match (container.init, container.sidecar) {
            (_, true) => {
                sidecars += requested;
                largest = largest.max(sidecars);
            }
            (true, false) => largest = largest.max(sidecars + requested),
            (false, false) => regular += requested,
        }
    }
    (sidecars + regular).max(largest) + pod.overhead.get(resource)
}

fn toleration(of: &bayplan_model::Toleration) -> Value {
    let mut toleration = Map::new();
    for (field, text) in
        [("key", of.key.as_str()), ("operator", of.operator.name()), ("value", of.value.as_str())]
    {
        if !text.is_empty() {
            toleration.insert(field.to_owned(), json!(text));
        }
    }
    if let Some(effect) = of.effect {
        toleration.insert("effect".to_owned(), json!(effect.name()));
    }
    Value::Object(toleration)
}

/// `kubectl label pod train-7 -n shop team=vision --overwrite`
fn of_pod(verb: &str, pod: &PodInfo, key: &str, value: Option<&str>) -> String {
    let (name, namespace) = (&pod.name, &pod.namespace);
    let term = value.map_or_else(|| format!("{key}-"), |value| format!("{key}={value}"));
    let overwrite = if value.is_some() { " --overwrite" } else { "" };
    format!("kubectl {verb} pod {} -n {namespace} {}{overwrite}", shell(name), shell(&term))
}

fn of_node(edit: &Edit, node: &str) -> Option<String> {
    let node = shell(node);
    Some(match edit {
        Edit::NodeLabel { key, value: Some(value) } => {
            format!("kubectl label node {node} {} --overwrite", shell(&format!("{key}={value}")))
        }
        Edit::NodeLabel { key, value: None } => {
            format!("kubectl label node {node} {}", shell(&format!("{key}-")))
        }
        Edit::RemoveTaint(taint) => {
            format!("kubectl taint node {node} {}", shell(&format!("{}-", words::taint(taint))))
        }
        Edit::Uncordon { .. } => format!("kubectl uncordon {node}   # the taint {CORDONED} goes with it"),
        _ => return None,
    })
}

/// A word as a shell takes it.
fn shell(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}
