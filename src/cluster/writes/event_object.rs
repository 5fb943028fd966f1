//! An event as the object that the API server gets (`events.k8s.io/v1`), with the fields that
//! client-go's recorder sets. `events` decides when to write it.

use bayplan_framework::{EventRecord, EventType};
use bayplan_model::{Kind, KindRow, ObjectKey, Time};
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};

/// Maximum length of a note, in bytes.
const NOTE: usize = 1_024;

/// A time as events have it; `None` if no calendar has it.
pub(super) fn micro_time(at: Time) -> Option<MicroTime> {
    jiff::Timestamp::from_microsecond(at.0).ok().map(MicroTime)
}

/// A note of at most 1,024 bytes, with upstream's mark at the end if it was cut.
fn cut(note: &str) -> String {
    if note.len() <= NOTE {
        return note.to_owned();
    }
    let mut end = NOTE - " ...".len();
    while !note.is_char_boundary(end) {
        end -= 1;
    }
    format!("{} ...", &note[..end])
}

/// Names an object in an event.
fn reference(object: &ObjectKey) -> ObjectReference {
    let row = object.kind.row();
    let given = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let (api_version, kind) = match &object.kind {
        Kind::LookedUp(kind) => (Some(kind.api_version().to_owned()), Some(kind.kind().to_owned())),
        _ => (row.map(KindRow::api_version), row.map(|row| row.name.to_owned())),
    };
    ObjectReference {
        api_version,
        kind,
        namespace: given(&object.namespace),
        name: Some(object.name.to_string()),
        uid: given(&object.uid),
        ..ObjectReference::default()
    }
}

/// The namespace of events about an object: events about objects without a namespace are in `default`.
pub(crate) fn namespace_of(object: &ObjectKey) -> &str {
    if object.namespace.is_empty() { "default" } else { &object.namespace }
}

/// The event that the API server gets. `host` is this instance's host name.
pub(super) fn event_object(event: &EventRecord, name: &str, host: &str) -> Event {
    let namespace = Some(namespace_of(&event.pod).to_owned());
    Event {
        metadata: ObjectMeta { name: Some(name.to_owned()), namespace, ..ObjectMeta::default() },
        event_time: micro_time(event.at),
        reporting_controller: Some(event.scheduler.to_string()),
        reporting_instance: Some(format!("{}-{host}", event.scheduler)),
        action: Some(event.action.to_owned()),
        reason: Some(event.reason.to_string()),
        regarding: Some(reference(&event.pod)),
        related: event.related.as_ref().map(reference),
        note: Some(cut(&event.note)),
        type_: Some(match event.kind {
            EventType::Normal => "Normal".to_owned(),
            EventType::Warning => "Warning".to_owned(),
        }),
        ..Event::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn long_notes_are_cut_at_a_character() {
        assert_eq!(cut("short"), "short");
        let cut = cut(&"é".repeat(600));
        assert!(cut.len() <= NOTE && cut.ends_with("é ..."), "{}", cut.len());
    }

    #[test]
    fn an_event_has_the_fields_that_upstream_writes() {
        let pod = bayplan_model::ObjectKey {
            kind: bayplan_model::Kind::Pod,
            namespace: "shop".into(),
            name: "web-1".into(),
            uid: "u-1".into(),
        };
        let event = EventRecord {
            result: None,
            key: bayplan_model::PodKey("u-1".into()),
            pod,
            related: None,
            scheduler: "bayplan".into(),
            kind: EventType::Warning,
            reason: "FailedScheduling".into(),
            action: "Scheduling",
            note: "0/1 nodes are available".into(),
            at: Time(1_700_000_000_120_000),
        };
        assert_eq!(
            serde_json::to_value(event_object(&event, "web-1.17", "host")).unwrap(),
            json!({
                "apiVersion": "events.k8s.io/v1", "kind": "Event",
                "metadata": {"name": "web-1.17", "namespace": "shop"},
                "eventTime": "2023-11-14T22:13:20.120000Z",
                "reportingController": "bayplan", "reportingInstance": "bayplan-host",
                "action": "Scheduling", "reason": "FailedScheduling", "type": "Warning",
                "note": "0/1 nodes are available",
                "regarding": {
                    "apiVersion": "v1", "kind": "Pod", "namespace": "shop", "name": "web-1", "uid": "u-1",
                },
            })
        );
    }
}
