//! The texts that served, kept in a ConfigMap `bayplan-history-<name>` beside each policy object: the newest as it stood
//! under its keys, and under `revisions.json` what is known of it and the ones before it, ten in all. As values:
//! `policy_source` reads and writes the objects.

use super::policy_store::Texts;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Where the revisions stand.
const KEY: &str = "revisions.json";
/// Revisions that are kept.
const MOST: usize = 10;
/// A ConfigMap holds 1 MiB; the rest is for its metadata. The newest text is kept whatever its size.
const ROOM: usize = 900 * 1024;

/// A text that served.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Revision {
    /// The hash of its texts.
    pub revision: String,
    /// Since when it served.
    pub at: String,
    /// Who wrote it, as the API server knows the writer of the object.
    #[serde(default)]
    pub by: String,
    /// Its texts; of the newest none, for they stand beside.
    #[serde(default, skip_serializing_if = "Texts::is_empty")]
    pub texts: Texts,
}

/// The revisions that a ConfigMap keeps, newest first; the newest with the texts beside it.
pub fn revisions(object: &Value, newest: &Texts) -> Vec<Revision> {
    let text = object["data"][KEY].as_str().unwrap_or("[]");
    let mut all: Vec<Revision> = serde_json::from_str(text).unwrap_or_default();
    if let Some(first) = all.first_mut() {
        first.texts.clone_from(newest);
    }
    all
}

/// The same with a newer one. A text that comes back moves to the front.
pub fn followed_by(mut before: Vec<Revision>, newest: Revision) -> Vec<Revision> {
    before.retain(|older| older.revision != newest.revision);
    before.insert(0, newest);
    before.truncate(MOST);
    before
}

/// The data of the ConfigMap: as many of the revisions as there is room for.
pub fn data(all: &[Revision]) -> Texts {
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

/// Who wrote the data of an object last: the name of the field manager, such as `kubectl-client-side-apply`.
pub fn author(object: &Value) -> String {
    let writes = object["metadata"]["managedFields"].as_array().into_iter().flatten();
    writes
        .filter(|entry| entry["fieldsV1"].get("f:data").is_some())
        .max_by_key(|entry| entry["time"].as_str().unwrap_or_default())
        .and_then(|entry| entry["manager"].as_str())
        .unwrap_or_default()
        .to_owned()
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
        let object = json!({ "data": data });
        let newest = [("a.bay".to_owned(), data["a.bay"].clone())].into();
        revisions(&object, &newest)
    }

    #[test]
    fn ten_are_kept_newest_first_and_read_back() {
        let all = (0..15).fold(Vec::new(), |all, number| followed_by(all, revision(number, 10)));
        assert_eq!(all.len(), 10);
        assert_eq!(all[0].revision, revision(14, 0).revision);
        assert_eq!(read_back(&data(&all)), all);
        // An older text again: it is the newest, and stands there once.
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
        assert!(revisions(&json!({"data": {KEY: "no json"}}), &Texts::new()).is_empty());
    }

    #[test]
    fn the_author_is_the_last_writer_of_the_data() {
        let object = json!({"metadata": {"managedFields": [
            {"manager": "helm", "time": "2026-01-01T00:00:00Z", "fieldsV1": {"f:data": {}}},
            {"manager": "kubectl-edit", "time": "2026-01-02T00:00:00Z", "fieldsV1": {"f:data": {}}},
            {"manager": "bayplan-policies", "time": "2026-01-03T00:00:00Z", "fieldsV1": {"f:metadata": {}}},
        ]}});
        assert_eq!(author(&object), "kubectl-edit");
        assert_eq!(author(&json!({})), "");
    }
}
