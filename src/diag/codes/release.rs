//! BP09: what this release does not have.

codes! {
    NOT_BUILT "BP0901" "not-built" Error
        "this release does not have this part of the language"
        "The statement, function or field belongs to the language, but this release cannot execute it. It refuses the policy \
         instead of ignoring it."
        bad r#"
/// Refuses pods with a container that is not ready.
policy ready {
  filter ready { require pod.containers.all(c, c.status == "ready") else "a container is not ready" }
}
"#
        good r#"
/// Keeps pods off nodes that are not ready.
policy ready {
  filter ready { require node.ready else "node(s) not ready" }
}
"#
}
