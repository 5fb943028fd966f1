//! `bayplan ui`: the bay plan of a live cluster, or of files, served from 127.0.0.1 and read only. `cluster::viewer` follows the
//! cluster and answers tabs; this folder computes what they are shown, on one thread, as `dry-run` and `explain` do.
//!
//! - `documents.rs`: that thread
//! - `what_if.rs`: what a change of policies or pods would move

mod documents;
mod what_if;

use super::input::Policies;
use super::{ExitStatus, Output, live, setup};
use crate::cluster::api::client::ConnectError;
use crate::cluster::inputs::kinds::named_in;
use crate::cluster::inputs::list::{ListError, Options};
use crate::cluster::viewer::server::Page;
use crate::cluster::viewer::session::{Ended, OpenError, Session, Settings};
use crate::diag::Source;
use crate::page::served;
use documents::Documents;
use std::sync::mpsc;

/// Serves a page of a cluster to the browsers of this host: what is free, what waits and why, as it changes. It also tries
/// policies and pods that are dropped onto it or edited in it. Nothing is written to the cluster.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bayplan ui                                               the cluster of the current context
  bayplan ui --context prod --policies gpu.bay             as if this policy had been applied
  bayplan ui --cluster cluster.yaml --policies gpu.bay     files, to try policies on
  bayplan ui --port 8890                                   through `ssh -L 8890:127.0.0.1:8890 HOST`")]
pub(super) struct Args {
    /// The port on 127.0.0.1 [default: a free one].
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    #[command(flatten)]
    from: setup::From,
    #[command(flatten)]
    decides_as: setup::DecidesAs,
}

impl Args {
    /// These, with the version among what the cluster and its rules come from.
    pub(super) fn with_version(mut self) -> Self {
        self.from.decides_as = self.decides_as;
        self
    }
}

/// Serves until SIGINT or SIGTERM.
pub(super) fn run(args: &Args, out: &mut Output) -> anyhow::Result<ExitStatus> {
    let from = args.from.clone();
    if from.reads_stdin() {
        anyhow::bail!("`ui` reads its files again and again: save what stdin brings, and name the file");
    }
    let cluster = from.cluster.is_empty().then(|| options(&from)).transpose()?;
    let (html, policy) = served();
    let settings = Settings { port: args.port.unwrap_or(0), page: Page { html, policy }, cluster };
    let mut session = match Session::open(settings) {
        Err(OpenError::Cluster(ListError::Connect(ConnectError::NotInCluster(_)))) => {
            return Err(live::not_found());
        }
        other => other?,
    };
    let documents = Documents::new(from, session.follower(), session.desk());
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || documents.run(&tell));
    let ready = session.started();
    // Mistakes in a file, and what is missing, come before the address.
    match told.try_recv() {
        Ok(Ok(said)) => write!(out.stderr(), "{said}")?,
        Ok(Err(error)) => return Err(error),
        Err(_) => {}
    }
    if !ready {
        return Ok(ExitStatus::Failure);
    }
    writeln!(out.stdout(), "{}", session.address())?;
    out.flush()?;
    if !out.quiet {
        writeln!(
            out.stderr(),
            "Open this address in a browser of this host; everybody who has it sees the cluster. Ctrl-C ends it."
        )?;
    }
    match session.serve() {
        Ended::BySignal => Ok(ExitStatus::Success),
        Ended::Closed => anyhow::bail!("the thread that makes the documents ended"),
    }
}

/// What is followed of a live cluster: what `explain` reads of it.
fn options(from: &setup::From) -> anyhow::Result<Options> {
    let mut policies = Policies::default();
    policies.read(&from.policies)?;
    let texts = policies.texts.iter().filter_map(|id| policies.sources.get(*id)).map(Source::text);
    let of = live::Wanted {
        policies: live::wanted(from),
        size: from.declared.size(),
        kinds: named_in(texts),
        configuration: from.config.is_none(),
    };
    Ok(live::options(&from.connection, of))
}
