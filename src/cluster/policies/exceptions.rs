//! Exceptions that are in another text than their policy: a policy is compiled with those from all objects, and again when
//! one of them changes. Called by `loader` and `listing`.

use super::choice::{Served, Service};
use super::compiled::Policy;
use super::store::Store;
use super::verdict::{ObjectName, Texts, Verdict};
use bayplan_diag::{SourceId, SourceMap};
use bayplan_lang::exceptions::{Outside, OutsideException};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock};

/// The texts with exceptions from policies, by object and key. An object whose newest text does not compile keeps the
/// exceptions of the one before.
pub(crate) type ExceptionTexts = BTreeMap<ObjectName, Texts>;

/// Texts with exceptions that are shared with the compiler of the store.
pub(crate) type SharedExceptions = Arc<RwLock<Arc<ExceptionTexts>>>;

/// Adds the texts of other objects to those of an object; their exceptions with those of its own texts.
pub(crate) fn add(
    object: &str,
    own: &[SourceId],
    others: &ExceptionTexts,
    sources: &mut SourceMap,
) -> Outside {
    let mut ids = own.to_vec();
    for (name, texts) in others.iter().filter(|(name, _)| *name != object) {
        ids.extend(texts.iter().map(|(key, text)| sources.add(format!("{name}/{key}"), text.as_str())));
    }
    Outside::of(ids.into_iter().filter_map(|id| sources.get(id)))
}

/// Compiles the policies again whose exceptions in other texts changed; whether there was one.
pub(crate) fn join(store: &mut Store<Policy>, known: &SharedExceptions) -> bool {
    let now = store.texts_where(|text| !of_text(text).is_empty());
    let mut shared = known.write().unwrap_or_else(PoisonError::into_inner);
    if **shared == now {
        return false;
    }
    let before = std::mem::replace(&mut *shared, Arc::new(now));
    let changed: BTreeSet<(String, String)> =
        said(&before).symmetric_difference(&said(&shared)).cloned().collect();
    drop(shared);
    let concerns = |texts: &Texts| {
        super::compiled::names(texts).iter().any(|name| changed.iter().any(|(policy, _)| policy == name))
    };
    let present = store.compile_anew(concerns);
    store.compile_served_anew(concerns) || present
}

/// The exceptions of texts: the policy of each, and its text.
fn said(texts: &ExceptionTexts) -> BTreeSet<(String, String)> {
    let all = texts.values().flat_map(|texts| texts.values()).flat_map(|text| of_text(text));
    all.map(|of| (of.policy.to_string(), of.written().to_owned())).collect()
}

fn of_text(text: &str) -> Vec<OutsideException> {
    let mut sources = SourceMap::new();
    let id = sources.add("text.bay", text);
    Outside::of(sources.get(id)).iter().cloned().collect()
}

/// Says of objects that serve which of their exceptions have no effect: no policy or rule in service is the one they name.
pub(crate) fn judge(texts: &ExceptionTexts, service: &mut Service<Policy>) {
    let has_effect = |of: &OutsideException, served: &Served<Policy>| {
        let policy = &served.compiled.policy;
        let joined = |text: &str| text == of.written();
        *served.compiled.name == *of.policy
            && policy.compiled.policy.exceptions.iter().any(|of| joined(policy.sources.text(of.span)))
    };
    for (object, texts) in texts {
        let all = texts.values().flat_map(|text| of_text(text));
        let without = all.filter(|of| !service.policies.iter().any(|served| has_effect(of, served)));
        let named: Vec<String> = without
            .map(|of| match &of.rule {
                Some(rule) => format!("`{}/{rule}`", of.policy),
                None => format!("`{}`", of.policy),
            })
            .collect();
        if let (false, Some(verdict @ Verdict::Serving)) =
            (named.is_empty(), service.verdicts.get_mut(object))
        {
            let why =
                format!("no policy or rule in service is {}: its exception has no effect", named.join(", "));
            *verdict = Verdict::Waiting { why };
        }
    }
}
