//! `/snapshot`: what the scheduler remembers and the API server lacks, as a document that `bayplan snapshot` reads. The
//! scheduling thread only copies; everything else is done here.

use crate::process::driver::Driver;
use bayplan_lang::eval::memos::all_remembered;
use bayplan_lang::types::tagged::to_tagged;
use bayplan_scheduler::Scheduler;
use bayplan_scheduler::memory::{Instant, Memory, MemoryCopy, Remembered};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tokio::sync::Mutex;

/// The path of the page.
pub const PATH: &str = "/snapshot";

/// The version of the group.
const API_VERSION: &str = "bayplan.dev/v1";
/// The kind of the document.
const KIND: &str = "SchedulerMemory";
/// The newest format of the document.
const FORMAT: u64 = 1;

/// The document.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Document {
    api_version: String,
    kind: String,
    format_version: u64,
    memory: Memory,
}

impl Document {
    fn of(memory: Memory) -> Self {
        Self {
            api_version: API_VERSION.to_owned(),
            kind: KIND.to_owned(),
            format_version: FORMAT,
            memory: Memory { program: format!("bayplan {}", env!("CARGO_PKG_VERSION")), ..memory },
        }
    }

    /// Reads a document; what is wrong with it as a sentence.
    pub(crate) fn read(bytes: &[u8]) -> Result<Memory, String> {
        let document: serde_json::Value =
            serde_json::from_slice(bytes).map_err(|error| format!("it is not JSON: {error}"))?;
        if document["kind"] != KIND || document["apiVersion"] != API_VERSION {
            return Err(
                "it is not the memory of a scheduler: does the address belong to `bayplan run`?".to_owned()
            );
        }
        match document["formatVersion"].as_u64() {
            Some(1..=FORMAT) => {}
            _ => {
                let format = &document["formatVersion"];
                return Err(format!("its format is {format}, and this version reads formats up to {FORMAT}"));
            }
        }
        let document: Self = serde_json::from_value(document).map_err(|error| error.to_string())?;
        Ok(document.memory)
    }
}

/// Makes the page; one at a time, so that many readers cost the scheduling thread no more than one.
#[derive(Clone, Debug, Default)]
pub(crate) struct MemoryPage(Arc<Mutex<()>>);

impl MemoryPage {
    /// The page; `None` if the scheduler has ended.
    pub(crate) async fn make(&self, driver: &Driver<Scheduler>) -> Option<String> {
        let _one = self.0.lock().await;
        let copy = driver.inspect(|scheduler: &mut Scheduler| scheduler.copy_memory()).await?;
        tokio::task::block_in_place(|| serde_json::to_string(&Document::of(whole(&copy))).ok())
    }
}

/// The memory with what policies remember.
fn whole(copy: &MemoryCopy) -> Memory {
    let snapshot = copy.snapshot();
    let memos = all_remembered(snapshot).into_iter().filter_map(|(memo, key, value, end)| {
        Some(Remembered {
            memo: memo.0.to_string(),
            key: to_tagged(&key.0)?,
            value: to_tagged(value)?,
            until: Instant(snapshot.wall_clock(end)),
        })
    });
    Memory { memos: memos.collect(), ..copy.memory() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_written_is_read_and_other_documents_are_refused() {
        let memory = Memory { leads: true, next_start: 7, ..Memory::default() };
        let text = serde_json::to_string(&Document::of(memory.clone())).unwrap();
        let read = Document::read(text.as_bytes()).unwrap();
        assert!(read.program.starts_with("bayplan "), "{read:?}");
        assert_eq!(Memory { program: String::new(), ..read }, memory);
        let said = |bytes: &[u8]| Document::read(bytes).unwrap_err();
        for end in [0, 1, text.len() / 2, text.len() - 1] {
            assert!(said(&text.as_bytes()[..end]).starts_with("it is not JSON"));
        }
        assert!(said(b"\xff\xfe").starts_with("it is not JSON"));
        assert!(said(b"{}").contains("is not the memory of a scheduler"));
        let other = |of: serde_json::Value| {
            let mut document: serde_json::Value = serde_json::from_str(&text).unwrap();
            document.as_object_mut().unwrap().extend(of.as_object().unwrap().clone());
            said(document.to_string().as_bytes())
        };
        assert!(other(json!({"formatVersion": 2})).contains("its format is 2"));
        assert!(other(json!({"formatVersion": null})).contains("its format is null"));
        assert!(other(json!({"memory": {"queue": 7}})).contains("invalid type"));
        assert!(other(json!({"memory": {"taken": "never"}})).contains("`never` is not an instant"));
    }
}
