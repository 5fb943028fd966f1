//! The content of a history, the ConfigMap `bayplan-history-<policy>` beside policy objects: the
//! newest text under its own keys, and under `revisions.json` the last ten revisions. Pure
//! functions; `writer` reads and writes the objects.

use super::verdict::Texts;
use k8s_openapi::api::core::v1::ConfigMap;
use serde::{Deserialize, Serialize};

/// The key of the revisions, which holds no policy although it is JSON.
pub(crate) const KEY: &str = "revisions.json";
/// Maximum number of revisions.
const MOST: usize = 10;
/// Maximum size of the data. A ConfigMap may have 1 MiB; the rest is for its metadata. The newest
/// text is kept whatever its size.
const ROOM: usize = 900 * 1024;

/// A text that served.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Revision {
    /// The hash of its texts.
    pub revision: String,
    /// When it came into service.
    pub at: String,
    /// The field manager that wrote it.
    #[serde(default)]
    pub by: String,
    /// Its texts; empty in the newest revision, whose texts have keys of their own.
    #[serde(default, skip_serializing_if = "Texts::is_empty")]
    pub texts: Texts,
}

/// The revisions in a history, newest first; `newest` are the texts of the newest.
pub(crate) fn revisions(history: &ConfigMap, newest: &Texts) -> Vec<Revision> {
    let text = history.data.as_ref().and_then(|data| data.get(KEY)).map_or("[]", String::as_str);
    let mut all: Vec<Revision> = serde_json::from_str(text).unwrap_or_default();
    if let Some(first) = all.first_mut() {
        first.texts.clone_from(newest);
    }
    all
}

/// The revisions with a newer one in front. A text that served before moves to the front.
pub(crate) fn followed_by(mut before: Vec<Revision>, newest: Revision) -> Vec<Revision> {
    before.retain(|older| older.revision != newest.revision);
    before.insert(0, newest);
    before.truncate(MOST);
    before
}

/// The data of the history, with as many revisions as fit.
pub(crate) fn data(all: &[Revision]) -> Texts {
    let Some((newest, older)) = all.split_first() else { return Texts::new() };
    let mut data = newest.texts.clone();
    let size = |texts: &Texts| texts.iter().map(|(key, text)| key.len() + text.len()).sum::<usize>();
    let mut kept = vec![Revision { texts: Texts::new(), ..newest.clone() }];
    let mut room = ROOM.saturating_sub(size(&data));
    for revision in older {
        let needs = serde_json::to_string(revision).map_or(usize::MAX, |text| text.len());
        if needs > room {
            break;
        }
        room -= needs;
        kept.push(revision.clone());
    }
    if let Ok(text) = serde_json::to_string(&kept)
        && size(&data) + text.len() < ROOM
    {
        data.insert(KEY.to_owned(), text);
    }
    data
}

/// The field manager that last wrote the data of an object, such as `kubectl-client-side-apply`.
pub(crate) fn author(object: &ConfigMap) -> String {
    let writes = object.metadata.managed_fields.iter().flatten();
    writes
        .filter(|entry| entry.fields_v1.as_ref().is_some_and(|fields| fields.0.get("f:data").is_some()))
        .max_by_key(|entry| entry.time.as_ref().map(|time| time.0))
        .and_then(|entry| entry.manager.clone())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn revision(number: usize, size: usize) -> Revision {
        Revision {
            revision: format!("{number:016x}"),
            at: "2026-01-01T00:00:00Z".into(),
            by: "kubectl".into(),
            texts: [("a.bay".to_owned(), "x".repeat(size))].into(),
        }
    }

    fn read_back(data: &Texts) -> Vec<Revision> {
        let object = ConfigMap { data: Some(data.clone()), ..ConfigMap::default() };
        let newest = [("a.bay".to_owned(), data["a.bay"].clone())].into();
        revisions(&object, &newest)
    }

    #[test]
    fn ten_are_kept_newest_first_and_read_back() {
        let all = (0..15).fold(Vec::new(), |all, number| followed_by(all, revision(number, 10)));
        assert_eq!(all.len(), 10);
        assert_eq!(all[0].revision, revision(14, 0).revision);
        assert_eq!(read_back(&data(&all)), all);
        // An older text again: it is the newest, and there only once.
        let again = followed_by(all, revision(9, 10));
        assert_eq!(again.len(), 10);
        assert_eq!((again[0].clone(), again[1].clone()), (revision(9, 10), revision(14, 10)));
    }

    #[test]
    fn large_texts_leave_room_for_fewer() {
        let all = (0..10).fold(Vec::new(), |all, number| followed_by(all, revision(number, 250 * 1024)));
        let kept = read_back(&data(&all));
        assert_eq!(kept, all[..3]);
        let huge = followed_by(all, revision(99, 1_000_000));
        let only = data(&huge);
        assert_eq!((only.len(), only["a.bay"].len()), (1, 1_000_000), "the newest whatever its size");
        let broken = serde_json::from_value(json!({"data": {KEY: "no json"}})).unwrap();
        assert!(revisions(&broken, &Texts::new()).is_empty());
    }

    #[test]
    fn the_author_is_the_last_writer_of_the_data() {
        let object = json!({"metadata": {"managedFields": [
            {"manager": "helm", "time": "2026-01-01T00:00:00Z", "fieldsV1": {"f:data": {}}},
            {"manager": "kubectl-edit", "time": "2026-01-02T00:00:00Z", "fieldsV1": {"f:data": {}}},
            {"manager": "bayplan-policies", "time": "2026-01-03T00:00:00Z", "fieldsV1": {"f:metadata": {}}},
        ]}});
        assert_eq!(author(&serde_json::from_value(object).unwrap()), "kubectl-edit");
        assert_eq!(author(&ConfigMap::default()), "");
    }
}
