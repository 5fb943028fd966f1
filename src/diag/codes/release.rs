//! BP09: what this release does not have.

codes! {
    NOT_BUILT "BP0901" "not-built" Error
        "this release does not have this part of the language"
        "The statement belongs to the language, but this release cannot execute it. It refuses the policy \
         instead of ignoring the statement."
        bad r#"
/// Keeps pods off nodes that are not ready; first those of one namespace.
policy ready {
  filter ready {
    mode enforce when pod.namespace == "canary" else audit
    require node.ready else "node(s) not ready"
  }
}
"#
        good r#"
/// Keeps pods off nodes that are not ready; first those of one namespace.
policy ready {
  mode enforce when pod.namespace == "canary" else audit
  filter ready { require node.ready else "node(s) not ready" }
}
"#
}
