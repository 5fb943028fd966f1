//! Which text of each policy object is in service: the present one if it compiles and everything it
//! needs is at hand, else the one that served before it, else a stand-in that makes its pods wait.
//! Objects are judged one by one: no object holds up another. Pure; called by `source` and
//! `listing`.
//!
//! A policy without its objects makes its pods wait, unless a text of it has all that it reads, not older than
//! `--watch-max-age`. Its stand-in is made when no text can serve, whatever served before a restart, and selects as
//! the text does. A stand-in that cannot tell its pods is about all pods if the policy was in service.

use super::compiled::waits_for;
use super::store::{Compiled, Held, Store, Version};
use super::verdict::{ObjectName, Problem, Texts, Verdict};
use bayplan_lang::analysis::load::Load;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What an override makes of a policy.
#[derive(Clone, Debug)]
pub(crate) enum Override<P> {
    /// The policy has no effect; the policy in a form without effect.
    Suspended(P),
    /// An older text of the policy is in service.
    Pinned(Box<Compiled<P>>),
}

/// The override of a policy, and its words.
pub(crate) type Overridden<P> = Option<(Override<P>, String)>;

/// The conditions under which texts serve.
pub(crate) struct Terms<'a, P> {
    /// What a policy reads and cannot have now, with the way out.
    pub unmet: &'a dyn Fn(&P) -> Option<String>,
    /// The override of a policy of an object, and its words.
    pub overridden: &'a dyn Fn(&str, &Compiled<P>) -> Overridden<P>,
    /// What a policy costs.
    pub load: &'a dyn Fn(&P) -> Load,
    /// The rule of a policy that costs most of what all policies have too much of, and its place.
    pub heaviest: &'a dyn Fn(&P, Load) -> String,
    /// What all policies may cost together.
    pub limit: Load,
    /// Objects with whose present text no profiles can be made: the hash of that text, or nothing if no text of the object
    /// serves; and why.
    pub blocked: &'a BTreeMap<ObjectName, (String, String)>,
}

/// How a policy came into service.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Origin {
    /// It is the present text or the one that served before it.
    Text,
    /// It is the stand-in of a text that cannot serve.
    StandIn,
    /// It is suspended.
    Suspended,
    /// An older text is pinned.
    Pinned,
}

/// A policy in service.
#[derive(Clone, Debug)]
pub(crate) struct Served<P> {
    /// The object that has it.
    pub object: ObjectName,
    /// The policy.
    pub compiled: Compiled<P>,
    /// How it came into service.
    pub origin: Origin,
}

/// What is in service after a change.
#[derive(Clone, Debug)]
pub(crate) struct Service<P> {
    /// The policies, older objects first; stand-ins last.
    pub policies: Vec<Served<P>>,
    /// The verdict of each object, by name.
    pub verdicts: BTreeMap<ObjectName, Verdict>,
    /// The hash of the text of each object that is in service.
    pub chosen: BTreeMap<ObjectName, String>,
    /// Objects whose present text is refused because of what the policies cost together: what that
    /// text costs, and the problem.
    pub too_much: BTreeMap<ObjectName, (Load, Problem)>,
    /// Objects that were refused for that, are not kept compiled, and would serve now.
    pub has_room: Vec<ObjectName>,
}

impl<P> Default for Service<P> {
    fn default() -> Self {
        Self {
            policies: Vec::new(),
            verdicts: BTreeMap::new(),
            chosen: BTreeMap::new(),
            too_much: BTreeMap::new(),
            has_room: Vec::new(),
        }
    }
}

impl<P> Service<P> {
    /// What tells two sets apart: object, name, revision and origin of each policy.
    pub(crate) fn key(&self) -> Vec<(ObjectName, String, String, Origin)> {
        let of = |it: &Served<P>| {
            (it.object.clone(), it.compiled.name.clone(), it.compiled.revision.clone(), it.origin)
        };
        self.policies.iter().map(of).collect()
    }
}

/// A text that serves: its policies, and the words of overrides of them.
struct Usable<P> {
    hash: String,
    policies: Vec<(Compiled<P>, Origin)>,
    overrides: Vec<String>,
    load: Load,
}

/// Why a text does not serve.
enum Unusable {
    /// It waits for this.
    Waits(String),
    /// The policies would cost too much together.
    TooMuch(Box<(Load, Problem)>),
}

impl<P: Clone> Store<P> {
    /// The policies in service. Of two policies with the same name, and of two with `queue by`, the one stays that is in
    /// service; where neither is, the one of the older object comes into service. Of objects that exceed the limits together the newest
    /// are refused.
    pub(crate) fn service(&self, terms: &Terms<'_, P>) -> Service<P> {
        let mut by_age: Vec<_> = self.objects.iter().collect();
        by_age.sort_by(|(left, a), (right, b)| (&a.age, left).cmp(&(&b.age, right)));
        let mut service = Service::default();
        let mut load = Load::default();
        let mut usables = Vec::new();
        for (name, held) in &by_age {
            if held.too_much.is_some_and(|it| load.plus(it).beyond(terms.limit).is_none()) {
                service.has_room.push((*name).clone());
            }
            let (verdict, usable) = choose(name, held, load, terms, &mut service.too_much);
            if let Some(usable) = usable {
                load = load.plus(usable.load);
                service.chosen.insert((*name).clone(), usable.hash);
                usables.extend(usable.policies.into_iter().map(|(compiled, origin)| Served {
                    object: (*name).clone(),
                    compiled,
                    origin,
                }));
            }
            service.verdicts.insert((*name).clone(), verdict);
        }
        self.admit(usables, &mut service);
        // Stand-ins come last: they never take precedence over a policy that compiles.
        for (name, held) in &by_age {
            if !service.chosen.contains_key(*name)
                && let Some(stand_in) = self.stand_in_of(name, held)
                && !stand(name, stand_in, terms, &mut service)
                && let Some(blanket) = self.blanket_of(name, held)
            {
                stand(name, &blanket, terms, &mut service);
            }
        }
        service
    }

    /// Puts policies into service beside each other, those that stay there first.
    fn admit(&self, usables: Vec<Served<P>>, service: &mut Service<P>) {
        let mut admitted: Vec<(usize, Served<P>)> = Vec::new();
        let stays = |it: &Served<P>| self.owner(&it.compiled.name) == Some(&it.object);
        let (first, then): (Vec<_>, Vec<_>) = usables.into_iter().enumerate().partition(|(_, it)| stays(it));
        for (at, it) in first.into_iter().chain(then) {
            let owner = self.owner(&it.compiled.name).filter(|owner| **owner != it.object);
            let why = match owner {
                Some(owner) => Some(format!("policy `{}` is that of the object `{owner}`", it.compiled.name)),
                None => rival(admitted.iter().map(|(_, it)| it), &it.compiled),
            };
            let Some(why) = why else {
                admitted.push((at, it));
                continue;
            };
            // What refuses the present text is more important.
            if let Some(verdict) = service.verdicts.get_mut(&it.object)
                && !matches!(verdict, Verdict::Refused { .. })
            {
                *verdict = Verdict::Waiting { why };
            }
        }
        admitted.sort_by_key(|(at, _)| *at);
        service.policies.extend(admitted.into_iter().map(|(_, it)| it));
    }

    /// The objects whose present text came into service with this choice and did not serve before,
    /// newest first.
    pub(crate) fn newcomers(&self, service: &Service<P>) -> Vec<ObjectName> {
        let came = |(name, held): &(&ObjectName, &Held<P>)| {
            let served = held.serving.as_ref().map(|version| &version.hash);
            service.chosen.get(*name).is_some_and(|chosen| Some(chosen) != served)
        };
        let mut all: Vec<_> = self.objects.iter().filter(came).collect();
        all.sort_by(|(left, a), (right, b)| (&b.age, right).cmp(&(&a.age, left)));
        all.into_iter().map(|(name, _)| name.clone()).collect()
    }
}

/// The text of an object that serves, and the verdict on the present one.
fn choose<P: Clone>(
    name: &str,
    held: &Held<P>,
    before: Load,
    terms: &Terms<'_, P>,
    too_much: &mut BTreeMap<ObjectName, (Load, Problem)>,
) -> (Verdict, Option<Usable<P>>) {
    let blocked = |version: &Version<P>| {
        let blocked = terms.blocked.get(name);
        let blocked = blocked.filter(|(hash, _)| hash.is_empty() || *hash == version.hash);
        blocked.map(|(_, why)| why.clone())
    };
    let usable = |version: &Arc<Version<P>>| match blocked(version) {
        Some(why) => Err(Unusable::Waits(why)),
        None => usable(name, version, before, terms),
    };
    let refused = |problems: Vec<Problem>, instead: Option<&Usable<P>>| Verdict::Refused {
        problems,
        instead: instead.map(|it| it.hash.clone()),
        holds: Vec::new(),
    };
    let earlier = || held.serving.as_ref().and_then(|version| usable(version).ok());
    match held.candidate.as_ref().map(usable) {
        Some(Ok(usable)) => {
            let verdict = match usable.overrides.is_empty() {
                true => Verdict::Serving,
                false => Verdict::Overridden { why: usable.overrides.join("; ") },
            };
            (verdict, Some(usable))
        }
        Some(Err(Unusable::Waits(why))) => {
            let earlier = earlier();
            let why = match &earlier {
                Some(version) => format!("{why}; revision {} stays in service", version.hash),
                None => why,
            };
            (Verdict::Waiting { why }, earlier)
        }
        Some(Err(Unusable::TooMuch(costs))) => {
            let (load, problem) = *costs;
            let earlier = earlier();
            too_much.insert(name.to_owned(), (load, problem.clone()));
            (refused(vec![problem], earlier.as_ref()), earlier)
        }
        None => {
            let earlier = earlier();
            let verdict = match waits_for(&held.problems) {
                Some(why) => Verdict::Waiting { why },
                None => refused(held.problems.clone(), earlier.as_ref()),
            };
            (verdict, earlier)
        }
    }
}

/// The policies of a version with their overrides, if each of them can serve.
fn usable<P: Clone>(
    name: &str,
    version: &Version<P>,
    before: Load,
    terms: &Terms<'_, P>,
) -> Result<Usable<P>, Unusable> {
    let mut usable = Usable {
        hash: version.hash.clone(),
        policies: Vec::new(),
        overrides: Vec::new(),
        load: Load::default(),
    };
    for compiled in &version.policies {
        let (compiled, origin) = match (terms.overridden)(name, compiled) {
            None => (compiled.clone(), Origin::Text),
            Some((made, words)) => {
                usable.overrides.push(words);
                match made {
                    Override::Suspended(policy) => {
                        (Compiled { policy, claims: Vec::new(), ..compiled.clone() }, Origin::Suspended)
                    }
                    Override::Pinned(older) => (*older, Origin::Pinned),
                }
            }
        };
        if origin != Origin::Suspended {
            if let Some(why) = (terms.unmet)(&compiled.policy) {
                return Err(Unusable::Waits(format!("policy `{}` {why}", compiled.name)));
            }
            usable.load = usable.load.plus((terms.load)(&compiled.policy));
        }
        usable.policies.push((compiled, origin));
    }
    let together = before.plus(usable.load);
    match together.beyond(terms.limit) {
        None => Ok(usable),
        Some(beyond) => {
            let serving = usable.policies.iter().filter(|(_, origin)| *origin != Origin::Suspended);
            let cost = |of: &P| together.of_what_exceeds((terms.load)(of), terms.limit);
            let costliest = serving.max_by_key(|(compiled, _)| cost(&compiled.policy));
            let place = costliest.map_or_else(String::new, |(compiled, _)| {
                let rule = (terms.heaviest)(&compiled.policy, together);
                format!("; of this object policy `{}` costs most{rule}", compiled.name)
            });
            let problem = Problem {
                code: String::new(),
                key: name.to_owned(),
                line: 0,
                column: 0,
                message: format!("with the policies of `{name}` all policies together have {beyond}{place}"),
                help: "remove or simplify policies; objects that are older than this one serve".into(),
            };
            Err(Unusable::TooMuch(Box::new((usable.load, problem))))
        }
    }
}

/// Which policy in service keeps this one out.
fn rival<'s, P: 's>(
    mut policies: impl Iterator<Item = &'s Served<P>> + Clone,
    compiled: &Compiled<P>,
) -> Option<String> {
    let same = policies.clone().find(|it| it.compiled.name == compiled.name);
    if let Some(Served { object, compiled, .. }) = same {
        return Some(format!("policy `{}` of the older object `{object}` is in service", compiled.name));
    }
    policies.find_map(|it| {
        let claim = it.compiled.claims.iter().find(|claim| compiled.claims.contains(claim))?;
        Some(format!("policy `{}` of `{}` already {claim}", it.compiled.name, it.object))
    })
}

/// Puts the policies of a stand-in into service; whether all of them have what they read themselves.
fn stand<P: Clone>(
    name: &str,
    stand_in: &Version<P>,
    terms: &Terms<'_, P>,
    service: &mut Service<P>,
) -> bool {
    let mut all = true;
    for of in &stand_in.policies {
        let one = Version { texts: Texts::new(), hash: String::new(), policies: vec![of.clone()] };
        let usable = usable(name, &one, Load::default(), terms);
        all &= usable.is_ok();
        let Some((compiled, origin)) = usable.ok().and_then(|mut usable| usable.policies.pop()) else {
            continue;
        };
        if service.policies.iter().any(|it| it.compiled.name == compiled.name) {
            continue;
        }
        let policy = compiled.name.clone();
        let origin = if origin == Origin::Text { Origin::StandIn } else { origin };
        service.policies.push(Served { object: name.to_owned(), compiled, origin });
        if origin != Origin::StandIn {
            continue;
        }
        match service.verdicts.get_mut(name) {
            Some(Verdict::Refused { holds, .. }) => holds.push(policy),
            Some(Verdict::Waiting { why }) => why.push_str(&format!("; the pods of {policy} wait")),
            _ => {}
        }
    }
    all
}

#[cfg(test)]
mod tests;
