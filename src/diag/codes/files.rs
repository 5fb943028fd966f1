//! BP05: YAML, ConfigMaps, configurations, cluster files and tests.

codes! {
    FOLDED_POLICY "BP0501" "folded-policy" Warning
        "the policy is in a folded YAML scalar"
        "`>` joins the lines of a text. A `//` comment then swallows what follows it, and a message cannot \
         name the right line. Write `|`."
        in "rules.yaml"
        bad r#"
apiVersion: v1
kind: ConfigMap
metadata: {name: rules, labels: {bayplan.dev/policy: "true"}}
data:
  healthy.bay: >
    /// Keeps pods off broken nodes.

    policy healthy {
      filter ready { require node.ready else "node(s) not ready" }
    }
"#
        good r#"
apiVersion: v1
kind: ConfigMap
metadata: {name: rules, labels: {bayplan.dev/policy: "true"}}
data:
  healthy.bay: |
    /// Keeps pods off broken nodes.
    policy healthy {
      filter ready { require node.ready else "node(s) not ready" }
    }
"#

    BAD_YAML "BP0502" "bad-yaml" Error
        "the file is not valid YAML or JSON"
        "The YAML parser stopped at this place. Nothing of the document is loaded."
        in "rules.yaml"
        bad r#"
apiVersion: v1
kind: ConfigMap
metadata: {name: rules, labels: {bayplan.dev/policy: "true"}
data:
  healthy.bay: |
    /// Keeps pods off broken nodes.
    policy healthy {
      filter ready { require node.ready else "node(s) not ready" }
    }
"#
        good r#"
apiVersion: v1
kind: ConfigMap
metadata: {name: rules, labels: {bayplan.dev/policy: "true"}}
data:
  healthy.bay: |
    /// Keeps pods off broken nodes.
    policy healthy {
      filter ready { require node.ready else "node(s) not ready" }
    }
"#

    BAD_POLICY_MAP "BP0503" "bad-policy-map" Error
        "the ConfigMap of policies is malformed"
        "A ConfigMap with the label `bayplan.dev/policy` holds policy texts under keys that end in `.bay`."
        in "rules.yaml"
        bad r#"
apiVersion: v1
kind: ConfigMap
metadata: {name: rules, labels: {bayplan.dev/policy: "true"}}
data:
  healthy.bay: [policy]
"#
        good r#"
apiVersion: v1
kind: ConfigMap
metadata: {name: rules, labels: {bayplan.dev/policy: "true"}}
data:
  healthy.bay: |
    /// Keeps pods off broken nodes.
    policy healthy {
      filter ready { require node.ready else "node(s) not ready" }
    }
"#

    UNLABELLED_POLICY_MAP "BP0504" "unlabelled-policy-map" Warning
        "the ConfigMap holds a policy but lacks the label"
        "The scheduler reads only ConfigMaps with the label `bayplan.dev/policy`. It ignores this one, \
         although it has keys that end in `.bay`."
        in "rules.yaml"
        bad r#"
apiVersion: v1
kind: ConfigMap
metadata: {name: rules}
data:
  healthy.bay: |
    /// Keeps pods off broken nodes.
    policy healthy {
      filter ready { require node.ready else "node(s) not ready" }
    }
"#
        good r#"
apiVersion: v1
kind: ConfigMap
metadata: {name: rules, labels: {bayplan.dev/policy: "true"}}
data:
  healthy.bay: |
    /// Keeps pods off broken nodes.
    policy healthy {
      filter ready { require node.ready else "node(s) not ready" }
    }
"#

    BAD_CONFIG "BP0505" "bad-config" Error
        "the scheduler configuration is invalid"
        "Bayplan reads a `KubeSchedulerConfiguration` as strictly as kube-scheduler: it refuses unknown \
         fields, values of the wrong type or out of range, and unknown plugins, with upstream's words."
        in "config.yaml"
        bad r#"
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
percentageOfNodesToScore: 150
"#
        good r#"
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
percentageOfNodesToScore: 50
"#

    BAD_DOCUMENT "BP0506" "bad-document" Error
        "the policy document is malformed"
        "A document of `kind: SchedulingPolicy` has known fields only, so that a typing mistake cannot change what a \
         policy means. Each field holds one type of value; `bayplan schema` prints all of them as a JSON schema."
        in "healthy.yaml"
        bad r#"
# Keeps pods off broken nodes.
apiVersion: bayplan.dev/v1
kind: SchedulingPolicy
metadata: {name: healthy}
spec:
  filters:
  - {name: ready, expresion: node.ready, reason: node(s) not ready}
"#
        good r#"
# Keeps pods off broken nodes.
apiVersion: bayplan.dev/v1
kind: SchedulingPolicy
metadata: {name: healthy}
spec:
  filters:
  - {name: ready, expression: node.ready, reason: node(s) not ready}
"#

    NO_TWIN "BP0507" "no-twin" Error
        "a part of the policy cannot be said in the other language"
        "`bayplan convert` writes nothing when a part has no twin, rather than a policy that means something else: it reads \
         what it wrote again, and compares. CEL has no lists with elements that have no value, and does not multiply \
         durations. Where a number leaves the range of its type, CEL has an error or an infinite float; the policy \
         language stops at the end of the range. Where only a number of which nothing is known could do that, such as that \
         of a label, the policy is written, and a note says where."
        in ""
        bad "`bayplan convert` of `give pod.priority * 10000000000 * 10000000000`"
        good "`give clamp(pod.priority, 0, 1000) * 10000000000`"

    BAD_OBJECT "BP0510" "bad-object" Error
        "the object in the cluster file is invalid"
        "The object is left out. The message names the field and says what Kubernetes would say of its \
         value. The place is that of the field, or of the object when a field is missing."
        in "cluster.yaml"
        bad r#"
apiVersion: v1
kind: Node
metadata: {name: a}
status: {allocatable: {cpu: many}}
"#
        good r#"
apiVersion: v1
kind: Node
metadata: {name: a}
status: {allocatable: {cpu: "4"}}
"#

    SKIPPED_KINDS "BP0511" "skipped-kinds" Warning
        "the cluster file holds kinds that are not read"
        "A dry run reads the kinds of objects that decisions depend on, and ConfigMaps with policies. It counts \
         other objects and leaves them out."
        in "cluster.yaml"
        bad r#"
apiVersion: v1
kind: Node
metadata: {name: a}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web}
"#
        good r#"
apiVersion: v1
kind: Node
metadata: {name: a}
"#

    BAD_TEST "BP0512" "bad-test" Error
        "the policy test is malformed"
        "A `*.test.yaml` file holds `policies`, `cluster` or `nodes`, and `cases`. Each case has a `name`, a `pod` or \
         `pods`, and what it expects. Unknown fields are errors, so that a typing mistake cannot make a test \
         pass. `bayplan help tests` lists the fields."
        in "healthy.test.yaml"
        bad r#"
policies: [healthy.bay]
cluster: cluster.yaml
cases:
- name: a pod is placed
  pod: {name: web}
  expects: {node: a}
"#
        good r#"
policies: [healthy.bay]
cluster: cluster.yaml
cases:
- name: a pod is placed
  pod: {name: web}
  expect: {node: a}
"#

    NAMESPACES_MISSING "BP0513" "namespaces-missing" Warning
        "a policy reads namespaces that the cluster file does not hold"
        "Without its Namespace object a namespace has no labels and annotations: conditions on them see absent \
         values, and the policy decides otherwise than in the cluster. Add the namespaces to the cluster file \
         (`bayplan dry-run --help` has the command that saves a whole cluster), or write `namespaces:` in a test file."
        in ""
        bad "`kubectl get nodes,pods -A -o json > cluster.json`, and a policy with `ns.labels[\"tier\"]`"
        good "a `cluster.json` made by the command in `bayplan dry-run --help`"

    DAEMON_SET_MISSING "BP0514" "daemon-set-missing" Warning
        "a pod names a DaemonSet that the cluster file does not hold"
        "Policies refuse no pod of a DaemonSet, but an owner reference alone proves nothing: anybody who creates a pod \
         may write one. The DaemonSet must be there, in the pod's namespace, with the UID that the pod names, and its \
         selector must take the pod. Add DaemonSets to the cluster file (`bayplan dry-run --help` has the command that \
         saves a whole cluster)."
        in ""
        bad "`kubectl get nodes,pods -A -o json > cluster.json`, with a pending pod of a DaemonSet"
        good "a `cluster.json` made by the command in `bayplan dry-run --help`"

    ODD_POLICY_MAP "BP0519" "odd-policy-map" Warning
        "a ConfigMap of policies does something other than it says"
        "Of a ConfigMap with the label `bayplan.dev/policy` a scheduler reads the keys that end in `.bay`, `.yaml`, \
         `.yml` or `.json`, in lower case, and no others. The label counts whatever its value is."
        in "rules.yaml"
        bad r#"
apiVersion: v1
kind: ConfigMap
metadata: {name: rules, labels: {bayplan.dev/policy: "true"}}
data:
  healthy.bay: |
    /// Keeps pods off broken nodes.
    policy healthy {
      filter ready { require node.ready else "node(s) not ready" }
    }
  zones.BAY: |
    /// Keeps pods in one zone.
    policy zones {
      filter own { require node.zone == "a" else "node(s) of another zone" }
    }
"#
        good r#"
apiVersion: v1
kind: ConfigMap
metadata: {name: rules, labels: {bayplan.dev/policy: "true"}}
data:
  healthy.bay: |
    /// Keeps pods off broken nodes.
    policy healthy {
      filter ready { require node.ready else "node(s) not ready" }
    }
  zones.bay: |
    /// Keeps pods in one zone.
    policy zones {
      filter own { require node.zone == "a" else "node(s) of another zone" }
    }
"#
}
