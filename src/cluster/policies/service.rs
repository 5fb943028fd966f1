//! The running scheduler as the loader of policies sees it: what the watches bring, the profiles
//! that are made of policies, and whether the scheduler decides with them. Called by
//! `source`.

use super::compiled::Policy;
use super::largest::Largest;
use super::outgrown::ObjectCounts;
use crate::inputs::informers::{Informers, Needs};
use crate::process::driver::{Driver, Mailbox};
use crate::process::run::MakeProfiles;
use bayplan_scheduler::{Input, Profiles, RuleErrors, Scheduler};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// The running scheduler.
pub(crate) struct PolicyService {
    profiles: MakeProfiles,
    informers: Informers,
    driver: Driver<Scheduler>,
    mailbox: Mailbox,
    /// The newest revision that the scheduling thread has taken over.
    acknowledged: Arc<watch::Sender<u64>>,
}

impl PolicyService {
    /// The scheduler of a driver, whose watches these are.
    pub(crate) fn new(profiles: MakeProfiles, informers: Informers, driver: Driver<Scheduler>) -> Self {
        let mailbox = driver.mailbox();
        Self { profiles, informers, driver, mailbox, acknowledged: Arc::new(watch::Sender::new(0)) }
    }

    /// Asks the watches for what policies read. They begin to bring it.
    pub(crate) fn want(&self, needs: Needs) {
        self.informers.want(needs);
    }

    /// What these needs lack now.
    pub(crate) fn unmet(&self, needs: &Needs) -> Option<String> {
        self.informers.unmet(needs)
    }

    /// Changes whenever a watch has listed its objects or has trouble.
    pub(crate) fn watches(&self) -> watch::Receiver<u64> {
        self.informers.subscribe()
    }

    /// Changes whenever the scheduling thread has taken over a set.
    pub(super) fn acknowledgements(&self) -> watch::Receiver<u64> {
        self.acknowledged.subscribe()
    }

    /// Policies were chosen for the watches in this state.
    pub(crate) fn chosen_for(&self, watches: u64) {
        self.informers.policies_chosen(watches);
    }

    /// Makes profiles with these policies.
    pub(crate) fn make(&self, policies: &[Policy]) -> Result<Profiles, String> {
        (self.profiles)(policies)
    }

    /// Hands profiles to the scheduler.
    pub(crate) fn put(&self, made: Profiles, revision: u64) {
        self.mailbox.input(Input::Profiles(Arc::new(Profiles { revision, ..made })));
        let acknowledged = Arc::clone(&self.acknowledged);
        // The driver answers when it has handled what came before.
        self.driver.tell(move |_| {
            acknowledged
                .send_if_modified(|newest| std::mem::replace(newest, revision.max(*newest)) < revision);
        });
    }

    /// Waits until the scheduling thread has taken over a set, for a limited time.
    pub(super) async fn taken_over(&self, revision: u64, patience: Duration) {
        let mut newest = self.acknowledged.subscribe();
        let _ = tokio::time::timeout(patience, newest.wait_for(|newest| *newest >= revision)).await;
    }

    /// The rules that failed; `None` if the scheduling thread does not answer in this time.
    pub(crate) async fn rule_errors(&self, patience: Duration) -> Option<Vec<RuleErrors>> {
        let look = self.driver.inspect(|scheduler| scheduler.rule_errors().collect());
        tokio::time::timeout(patience, look).await.ok().flatten()
    }

    /// How many objects the scheduler knows; `None` if the scheduling thread does not answer in this time.
    pub(super) async fn object_counts(&self, patience: Duration) -> Option<ObjectCounts> {
        let look = self.driver.inspect(|scheduler| ObjectCounts::of(scheduler.snapshot()));
        tokio::time::timeout(patience, look).await.ok().flatten()
    }

    /// The most parts that one object has.
    pub(crate) fn largest(&self) -> Largest {
        self.informers.largest()
    }

    /// Whether the scheduler decides with a set as soon as it leads; otherwise why not.
    pub(super) fn decides_with(&self, revision: u64) -> Result<(), String> {
        if *self.acknowledged.borrow() < revision {
            return Err("the scheduling thread has not taken over the policies yet".into());
        }
        if !self.informers.is_synced() {
            return Err("pods and nodes are not listed yet".into());
        }
        Ok(())
    }
}
