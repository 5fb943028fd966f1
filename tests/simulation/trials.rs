//! Rules that do not decide beside those of a run, and exceptions for pods that a run does not have: every decision,
//! message and call is the same with them and without them.

use crate::rules::{POOL, compile};
use bayplan::lang::policy_set::CompiledPolicy;
use bayplan::lang::typed::{Body, Rule};
use bayplan::model::Time;
use bayplan::scheduler::Effect;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

/// Whether a run has rules that do not decide.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Trials {
    /// It has none.
    #[default]
    None,
    /// They are counted.
    Count,
    /// A mistake: they decide all the same.
    Decide,
    /// It has none. Its policies and their rules have exceptions, whose day ends during the run.
    Except,
    /// A mistake: the exceptions are about pods of the run.
    ExceptSome,
}

/// Rules about evictions, of which the pool has none.
const EVICTIONS: &[&str] = &[
    r#"policy spared { preempt { protect v when v.labels["wants"] == "gold" } }"#,
    r#"policy chosen { group mates = p in pods where p.namespace == pod.namespace && p.labels["team"] == pod.labels["team"]
        preempt { victim v when v.priority <= pod.priority
                  guard node.pods.count() >= mates.count(m, m.placed) else "too few are left" } }"#,
    r#"policy never { preempt { never "the shy evict nothing" when pod.labels["shy"] == "yes" } }"#,
];

/// The policies of the pool under other names, with a mode or without.
fn trials(mode: &str) -> Vec<Arc<CompiledPolicy>> {
    // A source is polled in every mode, so that another policy that is loaded later knows more of the past.
    let taken = |text: &&&str| !text.contains("source ");
    let texts = POOL.iter().chain(EVICTIONS).filter(taken).enumerate();
    let named = texts.map(|(at, text)| {
        let text = text.trim_start().trim_start_matches("policy ");
        let (name, rest) = text.split_once('{').unwrap();
        compile(&format!("policy trial-{at}-{} {{ {mode} {rest}", name.trim()))
    });
    named.collect()
}

/// Decides for no pod of a run.
const CANARY: &str = "mode enforce when pod.labels[\"tried\"] == \"yes\" else warn";

/// The same, where each rule says its mode.
fn trials_by_rule() -> Vec<Arc<CompiledPolicy>> {
    let texts = POOL.iter().chain(EVICTIONS).filter(|text| !text.contains("source ")).enumerate();
    let named = texts.map(|(at, text)| {
        let words = ["filter", "score", "prefilter", "permit", "preempt"];
        let text = in_rules(text, &words, &format!(" {CANARY} "));
        let (name, rest) = text.trim_start().trim_start_matches("policy ").split_once('{').unwrap();
        let rest = rest.replace(" gate \"", &format!(" gate {CANARY} \""));
        compile(&format!("policy ruled-{at}-{} {{ mode audit {rest}", name.trim()))
    });
    let named: Vec<_> = named.collect();
    let decides_for_some = |rule: &&Rule| matches!(rule.body, Body::DecidesWhen(_));
    let of = named.iter().flat_map(|of| &of.policy.rules);
    assert!(of.filter(decides_for_some).count() > 10);
    named
}

static COUNT: LazyLock<[Vec<Arc<CompiledPolicy>>; 4]> = LazyLock::new(|| {
    let [audit, warn, canary] = ["mode audit", "mode warn", CANARY].map(trials);
    [audit, warn, canary, trials_by_rule()]
});
static DECIDE: LazyLock<Vec<Arc<CompiledPolicy>>> = LazyLock::new(|| trials(""));

impl Trials {
    /// Some trials by bits; about half of all.
    pub(crate) fn set(self, bits: u64) -> Vec<Arc<CompiledPolicy>> {
        let chosen = |all: &[Arc<CompiledPolicy>]| {
            let taken = all.iter().enumerate().filter(|(at, _)| bits.rotate_left(*at as u32 * 7) & 1 == 1);
            taken.map(|(_, compiled)| compiled.clone()).collect()
        };
        match self {
            Trials::None | Trials::Except | Trials::ExceptSome => Vec::new(),
            Trials::Count => chosen(&COUNT[(bits % 4) as usize]),
            // One profile has one order of the queue.
            Trials::Decide => chosen(&DECIDE).into_iter().filter(|of| of.policy.queue().is_none()).collect(),
        }
    }
}

/// The last day of exceptions: [`BEGIN`](crate::world::BEGIN) is shortly before its end.
const LAST_DAY: &str = "2001-09-09";
/// The end of that day.
pub(crate) const END_OF_EXCEPTIONS: Time = Time(1_000_080_000_000_000);

/// A policy with an exception from all of it and from each rule that may have one.
fn excepted(text: &str, pods: &str) -> Arc<CompiledPolicy> {
    let exception = format!(" except until {LAST_DAY} because \"it moves\" when {pods} ");
    let ruled = in_rules(text, &["filter", "score", "prefilter", "permit"], &exception);
    compile(&ruled.replacen('{', &format!("{{{exception}"), 1))
}

/// A text with a statement at the beginning of each block of these words.
fn in_rules(text: &str, words: &[&str], statement: &str) -> String {
    let mut changed = String::new();
    for (at, part) in text.split_inclusive('{').enumerate() {
        changed.push_str(part);
        let head = part.trim_end_matches('{').trim_end();
        let line = head.rsplit('\n').next().unwrap_or_default();
        let rule = words.iter().any(|word| {
            let mut of_line = line.split(' ').rev().take(6).take_while(|of| *of != "}");
            of_line.any(|of| of == *word)
        });
        if at > 0 && rule && part.ends_with('{') {
            changed.push_str(statement);
        }
    }
    changed
}

/// The policies of the pool with exceptions, by the text without.
type Excepted = BTreeMap<u64, Arc<CompiledPolicy>>;

fn all_excepted(pods: &str) -> Excepted {
    POOL.iter().map(|text| (compile(text).hash, excepted(text, pods))).collect()
}

static EXCEPTED: LazyLock<Excepted> = LazyLock::new(|| all_excepted("pod.labels[\"tried\"] == \"yes\""));
static EXCEPTED_SOME: LazyLock<Excepted> = LazyLock::new(|| all_excepted("pod.priority >= 0"));

impl Trials {
    /// A policy of the pool as it is in service.
    pub(crate) fn served(self, of: &Arc<CompiledPolicy>) -> Arc<CompiledPolicy> {
        let all = match self {
            Trials::Except => &EXCEPTED,
            Trials::ExceptSome => &EXCEPTED_SOME,
            Trials::None | Trials::Count | Trials::Decide => return of.clone(),
        };
        all[&of.hash].clone()
    }
}

/// What is compared: effects without what trials would have done.
pub(crate) fn without_trials(effects: &[Effect]) -> String {
    let mut text = String::new();
    for effect in effects {
        match effect {
            Effect::Event(event) if event.reason == "PolicyWouldRefuse" => {}
            Effect::Decided(record) if !record.would.is_empty() => {
                let mut record = record.clone();
                record.would.clear();
                text.push_str(&format!("{:?}, ", Effect::Decided(record)));
            }
            other => text.push_str(&format!("{other:?}, ")),
        }
    }
    text
}
