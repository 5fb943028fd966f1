//! The thread that computes: documents for all tabs, and answers to what one of them tries. A document says what `dry-run` and
//! `explain` would say of the cluster at that moment.

use super::what_if;
use crate::cli::Output;
use crate::cli::dry_run::{How, schedule};
use crate::cli::output::Buffer;
use crate::cli::page::{Asked, Before, places, plan};
use crate::cli::progress::Progress;
use crate::cli::setup::{From, Origin, Setup, read_from};
use crate::cluster::viewer::desk::{Desk, Work};
use crate::cluster::viewer::follower::Follower;
use crate::dry_run::Options;
use crate::page::{BayPlan, packed};
use crate::scheduler::RecordLevel;
use std::sync::mpsc::Sender;

/// The command in its documents.
pub(super) const COMMAND: &str = "ui";

/// Makes documents.
pub(super) struct Documents {
    from: From,
    origin: Origin,
    follower: Option<Follower>,
    desk: Desk,
    how: How,
    base: Option<Base>,
}

/// The cluster that the last document shows, and where its pods are.
pub(super) struct Base {
    pub setup: Setup,
    pub options: Options,
    pub before: Before,
    pub flags: String,
    pub how: How,
}

/// Ends the process with the thread, also when that panics.
struct Closes(Desk);

impl Drop for Closes {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Documents {
    /// Documents of the cluster that is followed, or of files.
    pub(super) fn new(from: From, follower: Option<Follower>, desk: Desk) -> Self {
        let origin = match &follower {
            Some(follower) => Origin::Followed(follower.clone()),
            None => Origin::FilesOrLive,
        };
        Self { from, origin, follower, desk, how: How::usual(), base: None }
    }

    /// Reads everything once and tells what there is to say; then works until the process ends.
    pub(super) fn run(mut self, tell: &Sender<anyhow::Result<String>>) {
        let desk = self.desk.clone();
        let _closes = Closes(desk.clone());
        let (read, said) = self.read();
        let ready = matches!(read, Ok(Some(_)));
        // The receiver waits for it.
        let _ = tell.send(read.map(|_| said));
        if !ready {
            return;
        }
        desk.ready();
        loop {
            match desk.next() {
                Work::Document => self.publish(),
                Work::Question(question) => {
                    let answer = what_if::answer(&question.body, self.base.as_ref(), self.follower.as_ref());
                    question.answer(answer);
                }
                Work::End => return,
            }
        }
    }

    /// The cluster with its policies; `None`: they have mistakes. And what there is to say.
    fn read(&self) -> (anyhow::Result<Option<Setup>>, String) {
        let said = Buffer::default();
        let mut out = Output::to_sinks(Box::new(std::io::sink()), Box::new(said.clone()));
        let read = read_from(&self.from, &self.origin, &mut out);
        drop(out);
        (read, said.text())
    }

    fn publish(&mut self) {
        let (read, said) = self.read();
        match read {
            Ok(Some(setup)) => {
                let made = self.document(setup);
                self.desk.publish(made.map_err(|error| error.to_string()), said);
            }
            Ok(None) => self.desk.publish(Err(said), String::new()),
            Err(error) => self.desk.publish(Err(format!("{error:#}")), said),
        }
    }

    fn document(&mut self, setup: Setup) -> std::io::Result<Vec<u8>> {
        let flags = self.from.flags();
        let options = Options { records: RecordLevel::Ranked, ..self.how.options(&setup) };
        let made = of(&setup, &options, (&self.how, &flags), None);
        let before = places(&made);
        self.base = Some(Base { setup, options, before, flags, how: self.how.clone() });
        packed(&made)
    }
}

/// The document of a cluster; with `before`, of a change that is tried.
pub(super) fn of(
    setup: &Setup,
    options: &Options,
    (how, flags): (&How, &str),
    before: Option<&Before>,
) -> BayPlan {
    let progress = Progress::silent();
    let report = schedule(setup, options, &progress);
    // No flags of `explain` decide as the change that is tried.
    let flags = if before.is_none() { flags.to_owned() } else { String::new() };
    let all = Asked::of(COMMAND, flags, how, String::new());
    let asked = Asked { before, ..all };
    plan(&asked, setup, (options, &report), &progress)
}
