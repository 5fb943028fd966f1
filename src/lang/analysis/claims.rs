//! What only one policy in service may do: order the queue, write a key of an object.
//!
//! Of two policies with one claim, or one name, the one in service stays (`Store::owner`); else the older one comes
//! first.

use crate::syntax::ast::{Text, WriteVerb};
use crate::typed::{Does, Mode, Policy, Target, WriteEntry};
use bayplan_diag::{Diagnostic, Span, codes};
use rustc_hash::FxHashMap;

/// Something that only one policy in service may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// What, after the name of a policy: `orders the queue`. The same text is the same claim.
    pub what: String,
    /// Where the policy does it.
    pub span: Span,
}

/// The claims of a policy, in the order of the text of each statement.
pub fn claims(policy: &Policy) -> Vec<Claim> {
    // What does not decide does not order or write.
    if policy.modes.policy != Mode::Enforce {
        return Vec::new();
    }
    let queue =
        policy.queue().map(|(head, _)| Claim { what: "orders the queue".to_owned(), span: head.span });
    let claim = |verb: WriteVerb, entry: &WriteEntry, of: &dyn std::fmt::Display| {
        let within = entry.within.iter().map(|name| &**name).collect::<Vec<_>>();
        // A key that `patch` writes is the one that `annotate` or `label` writes.
        let (kind, key) = match (verb, &within[..]) {
            (_, ["metadata", "annotations"]) => (WriteVerb::Annotate.noun(), entry.key.to_string()),
            (_, ["metadata", "labels"]) => (WriteVerb::Label.noun(), entry.key.to_string()),
            (WriteVerb::Patch, _) => (verb.noun(), entry.path()),
            _ => (verb.noun(), entry.key.to_string()),
        };
        Claim { what: format!("writes the {kind} `{key}` of {of}"), span: entry.span }
    };
    let marks = policy
        .marks()
        .flat_map(|write| write.entries.iter().map(move |entry| claim(write.verb, entry, &Target::Pod)));
    let acts = policy.acts().flat_map(|acts| &acts.acts).flat_map(|act| match &act.does {
        Does::Write(target, verb, entries) => {
            entries.iter().map(|entry| claim(*verb, entry, target)).collect::<Vec<_>>()
        }
        _ => Vec::new(),
    });
    queue.into_iter().chain(marks).chain(acts).collect()
}

/// The keys that policies write, for finding two that write the same.
#[derive(Default)]
pub struct Claimed(FxHashMap<String, (Text, Span)>);

/// Two policies that write the same key.
pub struct Clash {
    first: Span,
    said: Diagnostic,
}

impl Claimed {
    /// The keys of a policy that another one before it writes.
    pub fn clashes(&mut self, policy: &Policy) -> Vec<Clash> {
        let mut found = Vec::new();
        // Which policy orders the queue is for profiles to say.
        for Claim { what, span } in
            claims(policy).into_iter().filter(|claim| claim.what.starts_with("writes"))
        {
            match self.0.get(&what) {
                Some((name, first)) if *name != policy.name => {
                    let message = format!("`{}` {what}, as `{name}` does", policy.name);
                    let said = Diagnostic::new(&codes::WRITE_CLASH, span, message)
                        .with_place(*first, "the first one")
                        .with_help("write another key, or join the two policies");
                    found.push(Clash { first: *first, said });
                }
                // One policy may write a key under several conditions.
                Some(_) => {}
                None => {
                    self.0.insert(what, (policy.name.clone(), span));
                }
            }
        }
        found
    }
}

impl Clash {
    /// Whether both policies are in one text.
    pub fn is_within_one_text(&self) -> bool {
        self.first.source == self.said.span.source
    }

    /// The diagnostic.
    pub fn diagnostic(self) -> Diagnostic {
        self.said
    }
}
