//! The words of `bayplan plan` for the events that wake a waiting pod: `pod gone`, `License changed`.

use crate::framework::{ActionType, EventRegistration, EventResource};
use crate::lang::typed::Policy;

/// The words for an event that may help a waiting pod.
pub(super) fn event_words(registration: &EventRegistration, policy: &Policy) -> Vec<String> {
    let of = registration.resource;
    let one = |action: ActionType| registration.actions.intersects(action);
    let all_updates = registration.actions.0 & ActionType::UPDATE.0 == ActionType::UPDATE.0;
    let mut words = Vec::new();
    let mut say = |word: &str| words.push(word.to_owned());
    match of {
        EventResource::Node => {
            if one(ActionType::ADD) {
                say("node added");
            }
            if one(ActionType::DELETE) {
                say("node gone");
            }
            if all_updates {
                say("node changed");
            } else {
                let kinds = [
                    (ActionType::UPDATE_NODE_ALLOCATABLE, "allocatable"),
                    (ActionType::UPDATE_NODE_LABEL, "labels"),
                    (ActionType::UPDATE_NODE_TAINT, "taints"),
                    (ActionType::UPDATE_NODE_CONDITION, "conditions"),
                    (ActionType::UPDATE_NODE_ANNOTATION, "annotations"),
                ];
                kinds.into_iter().filter(|(kind, _)| one(*kind)).for_each(|(_, word)| say(word));
            }
        }
        EventResource::AssignedPod | EventResource::Pod => {
            if one(ActionType::ADD) {
                say(if of == EventResource::Pod { "pod added" } else { "pod placed" });
            }
            if one(ActionType::DELETE) {
                say("pod gone");
            }
            if one(ActionType::UPDATE) {
                say("pod changed");
            }
        }
        // Policies register for them beside `Pod` and `AssignedPod`.
        EventResource::UnschedulablePod | EventResource::DecidedPod | EventResource::WaitingPod => {}
        EventResource::TargetPod => say("the pod itself changed"),
        EventResource::Namespace => say("namespace changed"),
        EventResource::Memo => say("what a memo remembers changed"),
        EventResource::WildCard => say("every event"),
        EventResource::NodeMetrics => say("metrics of the nodes"),
        // By the kinds that the policy looks up.
        EventResource::LookedUp => {
            for kind in &policy.kinds {
                changes(registration).for_each(|word| say(&format!("{} {word}", kind.name.kind())));
            }
        }
        EventResource::PersistentVolume
        | EventResource::PersistentVolumeClaim
        | EventResource::StorageClass
        | EventResource::CsiNode
        | EventResource::CsiDriver
        | EventResource::CsiStorageCapacity
        | EventResource::VolumeAttachment
        | EventResource::DaemonSet
        | EventResource::ResourceClaim
        | EventResource::ResourceSlice
        | EventResource::DeviceClass => {
            let name = of.name().rsplit('/').next().unwrap_or_default();
            changes(registration).for_each(|word| say(&format!("{name} {word}")));
        }
    }
    words
}

/// What happens to an object, of the actions of a registration.
fn changes(registration: &EventRegistration) -> impl Iterator<Item = &'static str> {
    let actions = [(ActionType::ADD, "added"), (ActionType::DELETE, "gone"), (ActionType::UPDATE, "changed")];
    let registered = registration.actions;
    actions.into_iter().filter(move |(action, _)| registered.intersects(*action)).map(|(_, word)| word)
}
