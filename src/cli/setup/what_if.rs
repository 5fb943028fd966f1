//! [`with_texts`]: a cluster that was read, with policies and pods of further texts: a policy in place of the one of the same
//! name, a pod in place of the one of the same name. Called by `ui`; nothing is read but kinds that the texts look up.

use super::Setup;
use super::profiles::profiles;
use crate::cli::input::Policies;
use crate::cli::live;
use crate::cluster::inputs::kinds::named_in;
use crate::cluster::viewer::follower::Follower;
use crate::diag::{Diagnostic, SourceId, SourceMap};
use crate::dry_run::{self, World};
use crate::lang::exceptions::Outside;
use crate::lang::types::ObjectKind;
use crate::model::{Object, PodInfo};
use crate::policy_files::{self, ENDING};
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// A text that a user tries.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    /// The name of its file.
    pub name: String,
    /// What is written.
    pub text: String,
}

/// What came of texts.
pub(crate) struct Changed {
    /// The texts with the policies, and what there is to say about them.
    pub policies: Policies,
    /// The cluster with them; `None`: one of them has a mistake.
    pub setup: Option<Setup>,
    /// Further sentences about them.
    pub notes: Vec<String>,
}

/// The cluster with these texts. `follower`: where it is followed, for kinds that only they look up.
pub(crate) fn with_texts(
    base: &Setup,
    texts: &[Text],
    follower: Option<&Follower>,
) -> anyhow::Result<Changed> {
    let known = &base.policies;
    let mut policies = Policies {
        sources: known.sources.clone(),
        // Compiled as they are: a text replaces the policy of its name, as it does for one of a live cluster.
        in_service: known.set.iter().cloned().collect(),
        size: known.size,
        schemas: known.schemas.clone(),
        elsewhere: known.elsewhere.iter().chain(&known.texts).copied().collect(),
        decides: known.decides,
        ..Policies::default()
    };
    let mut world = base.world.clone();
    let mut notes = Vec::new();
    let mut pods: Vec<SourceId> = Vec::new();
    for Text { name, text } in texts {
        let id = policies.sources.add(name.as_str(), text.as_str());
        if name.ends_with(ENDING) || !policy_files::is_data(text) {
            policies.texts.push(id);
            continue;
        }
        let (found, said) = policy_files::policies_in(&mut policies.sources, id);
        match found.is_empty() && said.is_empty() {
            true => pods.push(id),
            false => {
                policies.texts.extend(found.iter().map(|found| found.source));
                policies.diagnostics.extend(said);
            }
        }
    }
    if !pods.is_empty() {
        leave_out(&named(&policies.sources, &pods), &mut world);
        let mut others = dry_run::Others::default();
        let (said, _) = dry_run::load_pods(&mut policies.sources, &pods, &mut world, &mut others);
        policies.diagnostics.extend(said);
    }
    let own = policies.texts.iter().filter_map(|id| policies.sources.get(*id));
    if !Outside::of(own.clone()).is_empty() {
        notes.push("an exception outside of its policy is not tried: edit the policy's own text".to_owned());
    }
    if let Some(follower) = follower {
        let unknown = live::missing_of(&policies.schemas, named_in(own.map(|source| source.text())));
        policies.schemas.merge(&follower.described(&unknown));
    }
    policies.compile();
    let before: Vec<Arc<ObjectKind>> = known.kinds();
    let mut further = policies.kinds();
    further.retain(|kind| !before.iter().any(|known| known.name == kind.name));
    let (found, missing) = match follower {
        Some(follower) => follower.look_up(&further),
        None => base.others.looked_up(&further),
    };
    world.objects.extend(found);
    notes.extend(missing);
    if let (Some(follower), true) = (follower, policies.read_metrics() && !known.read_metrics()) {
        let (readings, said) = follower.metrics();
        world.metrics.extend(readings);
        notes.extend(said);
    }
    if policies.has_errors() {
        return Ok(Changed { policies, setup: None, notes });
    }
    let made = match profiles(&base.config, base.config_source, &policies)? {
        Ok((made, _)) => made,
        Err(said) => {
            policies.diagnostics.extend(said);
            return Ok(Changed { policies, setup: None, notes });
        }
    };
    let told = Policies {
        sources: policies.sources.clone(),
        diagnostics: policies.diagnostics.clone(),
        ..Policies::default()
    };
    let setup = Setup {
        policies,
        world,
        namespace: base.namespace.clone(),
        profiles: made,
        makers: base.makers.clone(),
        others: dry_run::Others::default(),
        warnings: Vec::new(),
        not_understood: 0,
        config: base.config.clone(),
        config_source: base.config_source,
    };
    Ok(Changed { policies: told, setup: Some(setup), notes })
}

/// The pods that texts hold, by namespace and name.
fn named(sources: &SourceMap, texts: &[SourceId]) -> FxHashSet<String> {
    let mut world = World::default();
    let _: (Vec<Diagnostic>, usize) =
        dry_run::load_pods(&mut sources.clone(), texts, &mut world, &mut dry_run::Others::default());
    let placed = world.objects.iter().filter_map(|object| match object {
        Object::Pod(pod) => Some(pod),
        _ => None,
    });
    placed.chain(&world.pending).map(|pod| pod.full_name()).collect()
}

/// Takes the pods of these names out of a world.
fn leave_out(names: &FxHashSet<String>, world: &mut World) {
    let stays = |pod: &PodInfo| !names.contains(&pod.full_name());
    world.pending.retain(|pod| stays(pod));
    world.objects.retain(|object| match object {
        Object::Pod(pod) => stays(pod),
        _ => true,
    });
}
