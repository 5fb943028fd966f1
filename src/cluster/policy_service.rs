//! Puts a set of policies into service: profiles are made of it, the watches bring what it reads,
//! and the scheduler takes it over. Called by `policy_source`.

use super::driver::Mailbox;
use super::informers::Informers;
use super::policies;
use super::policy_source::Apply;
use super::run::MakeProfiles;
use crate::scheduler::{Input, Profiles};
use std::sync::Arc;

/// Makes profiles of each set, and hands them to the scheduler as soon as the watches bring what
/// the policies read.
pub(super) fn apply(profiles: MakeProfiles, informers: Informers, mailbox: Mailbox) -> Apply {
    let profiles = Arc::new(profiles);
    Box::new(move |service, revision| {
        let (profiles, informers, mailbox) = (Arc::clone(&profiles), informers.clone(), mailbox.clone());
        Box::pin(async move {
            let policies: Vec<_> = service.policies.into_iter().map(|(_, it)| it.policy).collect();
            let made = tokio::task::block_in_place(|| profiles(&policies))?;
            informers.need(policies::needs(&policies)).await?;
            mailbox.input(Input::Profiles(Arc::new(Profiles { revision, ..made })));
            Ok(())
        })
    })
}
