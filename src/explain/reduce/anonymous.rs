//! Names for the objects of a reduced cluster with which the verdict stays: decided again, and where it is another one, the
//! fewest names that it needs stay.

use super::{Reduction, Verdict, minimized};
use bayplan_dry_run::anonymous::{Named, Names};
use serde_json::Value;

/// Anonymous names, and the words that stay because the verdict needs them.
pub struct Renamed {
    /// The names.
    pub names: Names,
    /// What stays beside what `named` has.
    pub needed: Vec<String>,
}

impl Reduction<'_> {
    /// Names with which a pod of these objects has the verdict; `None` if it has another one each time it is decided.
    pub fn renamed(&self, objects: &[Value], pod: &str, verdict: &Verdict, named: &Named) -> Option<Renamed> {
        let like = |names: &Names| {
            let renamed: Vec<Value> = objects.iter().map(|object| names.object(object.clone())).collect();
            let decided = self.decision(&renamed, &names.full_name(pod));
            decided.is_ok_and(|decided| decided.verdict.is_like(verdict))
        };
        let names = Names::of(objects, named);
        if like(&names) {
            return Some(Renamed { names, needed: Vec::new() });
        }
        let with = |words: &[String]| {
            let mut named = named.clone();
            words.iter().for_each(|word| named.word(word));
            Names::of(objects, &named)
        };
        let all: Vec<String> = names.replaced().map(str::to_owned).collect();
        if !like(&with(&all)) {
            return None;
        }
        let needed = minimized(all, |words| like(&with(words)));
        Some(Renamed { names: with(&needed), needed })
    }
}
