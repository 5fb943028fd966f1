//! BP09: what this release does not have.

codes! {
    NOT_BUILT "BP0901" "not-built" Error
        "this release does not have this part of the language"
        "The statement belongs to the language, but this release cannot execute it. It refuses the policy \
         instead of ignoring the statement."
        bad r#"
/// Refuses pods of crowded namespaces, but for one of them.
policy crowd {
  except until 2027-01-31 because "it moves" when pod.namespace == "old"
  group g = p in pods where p.namespace == pod.namespace
  prefilter { reject "too many pods" when g.count() > 3 }
}
"#
        good r#"
/// Refuses pods of crowded namespaces.
policy crowd {
  group g = p in pods where p.namespace == pod.namespace
  prefilter { reject "too many pods" when g.count() > 3 }
}
"#
}
