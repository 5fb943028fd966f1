//! Polls the metrics API while a policy in service reads what nodes use. Every replica polls, one list for all
//! policies. Whatever the API does, each period has one input: its readings, or none when it is missing, refuses,
//! answers too late or with something else. Then what is known of the nodes grows older, and no policy but those that
//! read it notices.

use super::list::ListError;
use crate::api::client::{Api, ApiError, Request, Target};
use crate::api::limiter::Limits;
use crate::process::driver::Mailbox;
use bayplan_model::metrics::GROUP;
use bayplan_model::{POLL_PERIOD, Reading};
use bayplan_scheduler::Input;
use serde::Deserialize;
use serde_json::Value;
use std::time::Duration;

/// How long an answer may take: the next poll does not wait for it.
const PATIENCE: Duration = Duration::from_secs(10);
/// Most nodes of a list that are read.
const MOST: usize = 50_000;
/// Most nodes whose metrics cannot be used that a message names.
const NAMED: usize = 3;

/// `NodeMetricsList`, as far as it is read.
#[derive(Deserialize)]
struct List {
    items: Vec<Value>,
}

/// Polls while it is wanted.
#[derive(Clone)]
pub(super) struct Poller {
    mailbox: Mailbox,
    wanted: tokio::sync::watch::Sender<bool>,
}

/// What was said last, so that a message comes once.
#[derive(Default)]
struct Said {
    trouble: Option<String>,
    unusable: Option<String>,
    listed: usize,
}

impl Poller {
    /// Polls nothing yet.
    pub(crate) fn new(mailbox: Mailbox) -> Self {
        Self { mailbox, wanted: tokio::sync::watch::Sender::new(false) }
    }

    /// Whether a policy in service reads what nodes use.
    pub(crate) fn want(&self, wanted: bool) {
        self.wanted.send_if_modified(|held| std::mem::replace(held, wanted) != wanted);
    }

    /// Polls for ever, at once when it is wanted and then each period.
    pub(crate) async fn run(self, api: Api) {
        let path = path();
        let mut wanted = self.wanted.subscribe();
        let mut said = Said::default();
        loop {
            if wanted.wait_for(|wanted| *wanted).await.is_err() {
                return;
            }
            let mut period = tokio::time::interval(Duration::from_micros(POLL_PERIOD.0.unsigned_abs()));
            period.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            while *wanted.borrow_and_update() {
                tokio::select! {
                    changed = wanted.changed() => if changed.is_err() { return },
                    _ = period.tick() => {
                        let answer = ask(&api, &path).await;
                        let input = Input::Metrics(said.readings(answer).into());
                        if !self.mailbox.input_with_room(input).await {
                            return;
                        }
                    }
                }
            }
            said = Said::default();
        }
    }
}

/// What nodes use now, for commands; with what there is to say about a part that is missing.
pub fn read(target: &Target) -> Result<(Vec<Reading>, Option<String>), ListError> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(ListError::System)?;
    let answer = runtime.block_on(async {
        let api = Api::new(target).await?;
        Ok::<_, ListError>(read_by(&api).await)
    });
    runtime.shutdown_timeout(Duration::from_millis(200));
    answer
}

/// As [`read`], over a connection.
pub(crate) async fn read_by(api: &Api) -> (Vec<Reading>, Option<String>) {
    let list = match ask(api, &path()).await {
        Ok(list) => list,
        Err(error) => {
            let rule = format!("{{apiGroups: [\"{GROUP}\"], resources: [\"nodes\"], verbs: [\"list\"]}}");
            let help = match error.code() {
                Some(403) => format!("; add this rule to your role: {rule}"),
                Some(404) => "; is metrics-server installed?".to_owned(),
                _ => String::new(),
            };
            let said = format!("{error}; continuing without metrics of the nodes{help}");
            return (Vec::new(), Some(said));
        }
    };
    let all = list.items.len();
    let readings: Vec<Reading> =
        list.items.iter().filter_map(|item| Reading::from_value(item).ok()).collect();
    let unusable = all - readings.len();
    let said = (unusable > 0).then(|| format!("metrics of {unusable} nodes cannot be used"));
    (readings, said)
}

fn path() -> String {
    format!("/apis/{GROUP}/v1beta1/nodes")
}

/// One poll. A server of metrics that asks for a pause pauses neither other calls nor the next poll.
async fn ask(api: &Api, path: &str) -> Result<List, ApiError> {
    let api = api.limited_by(Limits::unlimited());
    let asked = api.call::<List>(Request::get(path).within(PATIENCE));
    // The pause before it counts too.
    let answer = tokio::time::timeout(PATIENCE, asked).await;
    answer.unwrap_or_else(|_| Err(ApiError::Lost("the answer takes too long".to_owned())))
}

impl Said {
    /// The readings of an answer, none without one; says what is wrong with it when that is new.
    fn readings(&mut self, answer: Result<List, ApiError>) -> Vec<Reading> {
        let list = match answer {
            Ok(list) => list,
            Err(error) => {
                let why = error.to_string();
                if self.trouble.as_ref() != Some(&why) {
                    tracing::warn!(
                        "cannot read the metrics of the nodes from {GROUP}: {why}; what is known of them grows older"
                    );
                    self.trouble = Some(why);
                }
                return Vec::new();
            }
        };
        if self.trouble.take().is_some() || self.listed == 0 {
            tracing::info!(nodes = list.items.len(), "the metrics API answers");
        }
        if list.items.len() * 4 < self.listed * 3 {
            tracing::warn!(
                "the metrics API lists {} nodes after {}; the others have no new metrics",
                list.items.len(),
                self.listed
            );
        }
        self.listed = list.items.len();
        let (mut readings, mut unusable) = (Vec::with_capacity(list.items.len().min(MOST)), Vec::new());
        for item in list.items.iter().take(MOST) {
            match Reading::from_value(item) {
                Ok(reading) => readings.push(reading),
                Err(error) => unusable.push((item, error)),
            }
        }
        self.complain(&unusable);
        readings
    }

    /// Names some nodes whose metrics cannot be used, unless they were named last.
    fn complain(&mut self, unusable: &[(&Value, bayplan_model::ObjectError)]) {
        let named = unusable.iter().take(NAMED).map(|(item, error)| {
            let name =
                item.pointer("/metadata/name").and_then(Value::as_str).unwrap_or("a node without a name");
            let name: String = name.chars().take(253).collect();
            format!("{name}: `{}` {}", error.path, error.reason)
        });
        let text = named.collect::<Vec<_>>().join("; ");
        if !text.is_empty() && self.unusable.as_ref() != Some(&text) {
            tracing::warn!(count = unusable.len(), "left out metrics of nodes that cannot be used: {text}");
        }
        self.unusable = Some(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn list(items: Value) -> Result<List, ApiError> {
        serde_json::from_value(json!({ "items": items }))
            .map_err(|error| ApiError::Unreadable(error.to_string()))
    }

    fn node(name: &str, cpu: &str) -> Value {
        let usage = json!({"cpu": cpu, "memory": "1Gi"});
        json!({"metadata": {"name": name}, "timestamp": "2026-01-05T09:00:00Z", "usage": usage})
    }

    fn names(readings: &[Reading]) -> Vec<&str> {
        readings.iter().map(|reading| reading.node.as_str()).collect()
    }

    #[test]
    fn what_can_be_used_of_an_answer_is_used() {
        let mut said = Said::default();
        let items = json!([node("a", "1"), node("b", "-1"), node("c", "9e99"), {}, 7, node("d", "250m")]);
        assert_eq!(names(&said.readings(list(items))), ["a", "d"]);
        let told = said.unusable.clone().unwrap();
        assert!(told.starts_with("b: `usage` a negative amount; c: `usage.cpu` "), "{told}");
        assert_eq!(names(&said.readings(list(json!([node("a", "1")])))), ["a"]);
        assert_eq!((said.listed, said.unusable.as_deref()), (1, Some("")));
    }

    #[test]
    fn without_an_answer_there_are_no_readings() {
        let mut said = Said::default();
        for error in [
            ApiError::NotSent("refused".into()),
            ApiError::Lost("timed out".into()),
            list(json!("nothing")).err().unwrap(),
        ] {
            let why = error.to_string();
            assert!(said.readings(Err(error)).is_empty());
            assert_eq!(said.trouble.as_ref(), Some(&why));
        }
        assert_eq!(said.readings(list(json!([node("a", "1")]))).len(), 1);
        assert_eq!(said.trouble, None);
    }

    #[test]
    fn a_list_without_end_is_cut() {
        let items: Vec<Value> = (0..MOST + 10).map(|at| node(&format!("n{at}"), "1")).collect();
        assert_eq!(Said::default().readings(list(items.into())).len(), MOST);
    }
}
