//! `--scheduler`: what a running scheduler remembers, beside the objects of the API server.

use super::collect::Content;
use crate::cli::output::count;
use crate::cli::progress::Progress;
use crate::cli::{Output, live, setup};
use crate::cluster::api::client::{Elsewhere, Target};
use crate::cluster::inputs::list;
use crate::cluster::inputs::memory::{self, Answer};
use crate::scheduler::memory::{Memory, key_of};
use rustc_hash::FxHashSet;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A running scheduler.
#[derive(clap::Args, Clone, Debug, Default)]
pub(super) struct SchedulerArgs {
    /// The secure port of a running scheduler, as `https://127.0.0.1:10259` after `kubectl port-forward`: its queue,
    /// assumptions, nominations, marks and memos are saved, too. It needs the right to get `/snapshot` there; without it
    /// the objects of the API server are saved alone.
    #[arg(
        long,
        value_name = "URL",
        conflicts_with_all = ["cluster", "impersonate"],
        help_heading = "Running scheduler"
    )]
    scheduler: Option<String>,
    /// The authorities of its certificate [default: those of the API server].
    #[arg(long, value_name = "FILE", requires = "scheduler", help_heading = "Running scheduler")]
    scheduler_ca_file: Option<PathBuf>,
    /// The name in its certificate, where the URL has another one.
    #[arg(long, value_name = "NAME", requires = "scheduler", help_heading = "Running scheduler")]
    scheduler_tls_server_name: Option<String>,
    /// Take any certificate, as the one that a scheduler without files signs itself. The server at the URL gets your
    /// token.
    #[arg(
        long,
        requires = "scheduler",
        conflicts_with = "scheduler_ca_file",
        help_heading = "Running scheduler"
    )]
    scheduler_insecure_skip_tls_verify: bool,
    /// A file with the token for the scheduler, instead of the credentials of the kubeconfig's user.
    #[arg(long, value_name = "FILE", requires = "scheduler", help_heading = "Running scheduler")]
    token_file: Option<PathBuf>,
}

/// How long the scheduler has to see what was listed: a difference that is left then is none of the time.
const PAUSE: Duration = Duration::from_secs(1);

/// The most pods that are read again, to see whether they are still there.
const ASKED: usize = 100;

impl SchedulerArgs {
    fn target(&self, connection: &live::Connection) -> Option<Target> {
        let other = Elsewhere {
            url: self.scheduler.clone()?,
            authority: self.scheduler_ca_file.clone(),
            name: self.scheduler_tls_server_name.clone(),
            trusts_all: self.scheduler_insecure_skip_tls_verify,
            token: self.token_file.clone(),
        };
        Some(Target { instead: Some(other), ..live::target(connection) })
    }

    /// Whether the scheduler can be reached at all, before a large cluster is listed.
    pub(super) fn check(&self, connection: &live::Connection) -> anyhow::Result<()> {
        match self.target(connection) {
            Some(target) => Ok(memory::reach(&target)?),
            None => Ok(()),
        }
    }

    /// Adds the memory to what was listed, or says that there is none.
    pub(super) fn add(
        &self,
        connection: &live::Connection,
        content: &mut Content,
        progress: &Progress,
        out: &mut Output,
    ) -> anyhow::Result<()> {
        let Some(target) = self.target(connection) else {
            if !out.quiet {
                writeln!(
                    out.stderr(),
                    "listed from the API server alone: `--scheduler URL` adds what a running scheduler remembers"
                )?;
            }
            return Ok(());
        };
        progress.stage("asking the scheduler what it remembers", 0);
        std::thread::sleep(PAUSE);
        match memory::remembered(&target)? {
            Answer::Refused(why) => {
                setup::note(
                    out,
                    &format!("{why}; the file has what the API server lists, and no memory of a scheduler"),
                );
            }
            Answer::Memory(memory) => {
                if !memory.leads {
                    setup::note(
                        out,
                        "this instance of the scheduler places no pods: its queue is not that of the leader, whose \
                         address `--scheduler` wants",
                    );
                }
                drop_what_ended(connection, &memory, &mut content.objects)?;
                let came = came_later(&memory, &content.objects);
                if came > 0 {
                    let pods = if came == 1 { "1 pod".to_owned() } else { format!("{} pods", count(came)) };
                    let missing = format!("{pods} that came while the objects were read");
                    setup::note(out, &format!("the file lacks {missing}"));
                    content.saved.missing.push(missing);
                }
                let url = self.scheduler.as_deref().unwrap_or_default();
                content.saved.source = format!("the API server, and the memory of the scheduler {url}");
                content.saved.memory = Some(Arc::new(*memory));
            }
        }
        Ok(())
    }
}

/// Leaves out pods that were deleted after they had been listed: the scheduler rightly knows them no longer.
fn drop_what_ended(
    connection: &live::Connection,
    memory: &Memory,
    objects: &mut Vec<Value>,
) -> anyhow::Result<()> {
    let known: FxHashSet<_> = memory.pods.iter().map(|of| key_of(&of.uid, &of.object)).collect();
    let text = |object: &Value, path: &str| {
        object.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let named = |object: &Value| {
        let (namespace, name) = (text(object, "/metadata/namespace"), text(object, "/metadata/name"));
        (text(object, "/metadata/uid"), namespace, name)
    };
    let pods = objects.iter().filter(|object| text(object, "/kind") == "Pod").map(named);
    let unknown =
        pods.filter(|(uid, namespace, name)| !known.contains(&key_of(uid, &format!("{namespace}/{name}"))));
    let mut ended = FxHashSet::default();
    for (uid, namespace, name) in unknown.take(ASKED) {
        let now = list::pod(&live::target(connection), &namespace, &name)?;
        if now.is_none_or(|pod| pod.uid.as_str() != uid || pod.is_finished()) {
            ended.insert(uid);
        }
    }
    objects
        .retain(|object| text(object, "/kind") != "Pod" || !ended.contains(&text(object, "/metadata/uid")));
    Ok(())
}

/// How many pods the scheduler knows that are newer than all that were listed.
fn came_later(memory: &Memory, objects: &[Value]) -> usize {
    let pods = objects.iter().filter(|object| object.get("kind").and_then(Value::as_str) == Some("Pod"));
    let text = |object: &Value, path: &str| {
        object.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let pods: Vec<_> =
        pods.map(|pod| (text(pod, "/metadata/uid"), text(pod, "/metadata/resourceVersion"))).collect();
    let newest = pods.iter().filter_map(|(_, version)| version.parse::<u64>().ok()).max().unwrap_or(0);
    let known: FxHashSet<&str> = pods.iter().map(|(uid, _)| uid.as_str()).collect();
    let later = |version: &str| version.parse::<u64>().is_ok_and(|version| version > newest);
    memory.pods.iter().filter(|of| !known.contains(of.uid.as_str()) && later(&of.version)).count()
}
