//! BP03: what only a cluster can tell. Found by `lint --cluster`; the examples are wrong for a cluster
//! whose nodes have the labels `team` and `zone` and the resource `nvidia.com/gpu`, and whose namespaces
//! are `default` and `shop`.

codes! {
    NO_SUCH_LABEL "BP0301" "no-such-label" Warning
        "no object of the cluster has this label or annotation"
        "The rule reads a key that no node, pod or namespace of the cluster file has, and a key with nearly \
         the same name exists. Without the value the rule holds for no object, or for all of them."
        bad r#"
/// Keeps pods on the nodes of their team.
policy teams {
  filter same-team { require node.labels["taem"] == pod.labels["team"] else "node(s) of another team" }
}
"#
        good r#"
/// Keeps pods on the nodes of their team.
policy teams {
  filter same-team { require node.labels["team"] == pod.labels["team"] else "node(s) of another team" }
}
"#

    NO_SUCH_VALUE "BP0302" "no-such-value" Warning
        "no object of the cluster has this value"
        "Objects of the cluster file have the label, or the field such as a priority class or the key of a taint, but none \
         has this value, and a value with nearly the same text exists."
        bad r#"
/// Keeps pods in one zone.
policy zones {
  filter zone { require node.labels["zone"] == "esat" else "node(s) outside of the zone" }
}
"#
        good r#"
/// Keeps pods in one zone.
policy zones {
  filter zone { require node.labels["zone"] == "east" else "node(s) outside of the zone" }
}
"#

    NO_SUCH_RESOURCE "BP0303" "no-such-resource" Warning
        "no node of the cluster has this resource"
        "The rule reads an amount of a resource that no node of the cluster file offers and no pod requests, \
         and a resource with nearly the same name exists. The amount is always 0."
        bad r#"
/// Keeps GPU pods on free GPUs.
policy gpus {
  filter free { require node.free["nvidia.com/gpus"] > 0 else "node(s) without a free GPU" }
}
"#
        good r#"
/// Keeps GPU pods on free GPUs.
policy gpus {
  filter free { require node.free["nvidia.com/gpu"] > 0 else "node(s) without a free GPU" }
}
"#

    NO_SUCH_NAMESPACE "BP0304" "no-such-namespace" Warning
        "the cluster has no such namespace"
        "The rule compares a namespace with a name that no namespace of the cluster file has, and a \
         namespace with nearly the same name exists."
        bad r#"
/// Keeps pods of the shop on ready nodes.
policy shop {
  applies when pod.namespace == "shpo"
  filter ready { require node.ready else "node(s) not ready" }
}
"#
        good r#"
/// Keeps pods of the shop on ready nodes.
policy shop {
  applies when pod.namespace == "shop"
  filter ready { require node.ready else "node(s) not ready" }
}
"#
}
