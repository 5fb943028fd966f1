//! Watches over the tasks of the process. A task that ends or panics while the process should run
//! ends the process with an error, so that another replica takes over. Without this, a task that
//! panicked would leave a replica that leads and is ready, but works with a frozen cache or drops
//! its calls.

use futures::FutureExt;
use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tokio::sync::mpsc;

/// Makes the enum of tasks, its table and the names.
macro_rules! tasks {
    ($($task:ident = $name:literal, $what:literal;)*) => {
        /// A task of the process.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Task {
            $(#[doc = $what] $task,)*
        }

        impl Task {
            /// Every task.
            pub const ALL: &[Self] = &[$(Self::$task),*];

            /// Its name in messages.
            pub fn name(self) -> &'static str {
                match self { $(Self::$task => $name),* }
            }
        }
    };
}

tasks! {
    Scheduler = "scheduler", "The thread that makes decisions.";
    Watch = "watch", "The watch of one kind.";
    LookUps = "look-ups", "The watches of the kinds that policies look up.";
    NodeMetrics = "node-metrics", "Polls the metrics API.";
    WatchAge = "watch-age", "Finds out when a watch is too old.";
    MarkKey = "mark-key", "Finds the key that proves marks on bound pods.";
    Credentials = "credentials", "Reads changed credentials again.";
    Calls = "calls", "Sends calls and events.";
    Statuses = "statuses", "Writes the status of PodGroups and ElasticQuotas.";
    Extenders = "extenders", "Asks extenders.";
    Policies = "policies", "Loads policies.";
    PolicyWatch = "policy-watch", "The watch of ConfigMaps in one namespace.";
    ExtenderPort = "extender-port", "Answers kube-scheduler as an extender.";
    AdmissionPort = "admission-port", "Judges changes of policies for the API server.";
    Publication = "publication", "Tells commands which configuration runs.";
    Rights = "rights", "Reviews the rights without which no pod is scheduled.";
    Port = "port", "Accepts connections on the secure port.";
    Debugger = "debugger", "Handles SIGUSR2.";
}

/// A task that ended although the process should run.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the task `{}` {why}", .task.name())]
pub struct TaskEnded {
    /// Which task.
    pub task: Task,
    /// How it ended.
    pub why: String,
}

/// Starts tasks and reports those that end. Clones report to the same receiver.
#[derive(Clone, Debug)]
pub struct Supervisor {
    ended: mpsc::UnboundedSender<TaskEnded>,
}

/// Receives the tasks that ended.
#[derive(Debug)]
pub struct Failures(mpsc::UnboundedReceiver<TaskEnded>);

impl Failures {
    /// Waits for the first task that ends.
    pub(crate) async fn next(&mut self) -> TaskEnded {
        match self.0.recv().await {
            Some(ended) => ended,
            // Every supervisor is gone, and with it the process.
            None => std::future::pending().await,
        }
    }
}

impl Supervisor {
    /// A supervisor without tasks.
    pub fn new() -> (Self, Failures) {
        let (ended, failures) = mpsc::unbounded_channel();
        (Self { ended }, Failures(failures))
    }

    /// Starts a task that runs as long as the process. Its end is a failure, also without a panic.
    pub(crate) fn spawn(&self, task: Task, work: impl Future<Output = ()> + Send + 'static) {
        let ended = self.ended.clone();
        tokio::spawn(async move {
            let work = async {
                panic_if_asked(task);
                work.await;
            };
            let done = AssertUnwindSafe(work).catch_unwind().await;
            // Without a receiver the process ends already.
            let _ = ended.send(TaskEnded { task, why: why(done) });
        });
    }

    /// Starts a thread that runs as long as the process. Its end is a failure, also without a
    /// panic.
    pub(crate) fn spawn_thread(
        &self,
        task: Task,
        work: impl FnOnce() + Send + 'static,
    ) -> std::io::Result<()> {
        let ended = self.ended.clone();
        let builder = std::thread::Builder::new().name(task.name().into()).stack_size(bayplan_lang::STACK);
        builder.spawn(move || {
            let done = catch_unwind(AssertUnwindSafe(|| {
                panic_if_asked(task);
                work();
            }));
            let _ = ended.send(TaskEnded { task, why: why(done) });
        })?;
        Ok(())
    }
}

fn why(done: Result<(), Box<dyn Any + Send>>) -> String {
    match done {
        Ok(()) => "ended".to_owned(),
        Err(panic) => format!("panicked: {}", message(&*panic)),
    }
}

/// The message of a panic.
pub(crate) fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".into())
}

/// For tests: panics if the environment variable `BAYPLAN_PANIC_IN` names the task. Only in builds
/// with debug assertions.
fn panic_if_asked(task: Task) {
    #[cfg(debug_assertions)]
    if std::env::var("BAYPLAN_PANIC_IN").is_ok_and(|name| name == task.name()) {
        panic!("a panic for a test");
    }
    #[cfg(not(debug_assertions))]
    let _ = task;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn every_task_that_ends_or_panics_is_reported() {
        for task in Task::ALL {
            let (supervisor, mut failures) = Supervisor::new();
            supervisor.spawn(*task, async {});
            let ended = failures.next().await;
            assert_eq!(ended.to_string(), format!("the task `{}` ended", task.name()));
            supervisor.spawn(*task, async { panic!("on {}", "purpose") });
            let ended = failures.next().await;
            assert_eq!(ended.to_string(), format!("the task `{}` panicked: on purpose", task.name()));
        }
        let (supervisor, mut failures) = Supervisor::new();
        supervisor.spawn_thread(Task::Scheduler, || panic!("on purpose")).unwrap();
        assert_eq!(failures.next().await.why, "panicked: on purpose");
        supervisor.spawn_thread(Task::Scheduler, || {}).unwrap();
        assert_eq!(failures.next().await.why, "ended");
    }
}
