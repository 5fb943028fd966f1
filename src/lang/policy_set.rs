//! [`CompiledPolicy`]: a checked policy with its closures. [`PolicySet`]: the policies that run,
//! replaced as a whole.
//!
//! `cli`, `dry_run` and `cluster` make them from typed policies; `plugins::policy` turns each
//! policy into a plugin.

use super::typed::{Policy, PolicyPart, Rules, Statement};
use crate::analysis::faults::sources_of_faults;
use crate::analysis::preconditions::Preconditions;
use crate::codegen::{self, Statements};
use crate::eval::context::EvalContext;
use crate::eval::interpret::Evaluator;
use crate::typed::reads::{ReadOf, RuleReads};
use crate::types::value::Fault;
use bayplan_diag::{SourceMap, Span};
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A checked policy with its closures.
pub struct CompiledPolicy {
    /// What was checked; the reference evaluator runs it.
    pub policy: Arc<Policy>,
    /// The rules of it that are lowered.
    part: PolicyPart,
    /// A hash of its text and arguments: equal hashes mean the same answers.
    pub hash: u64,
    /// What a pod must have for the policy to apply.
    pub preconditions: Preconditions,
    /// The statements, lowered.
    pub statements: Statements,
    /// The reads of all statements.
    pub reads: RuleReads,
    /// The reads of `applies when` and of lets with `missing`.
    pub deciding: RuleReads,
    /// Where statements, and expressions that may be faults, are written, as people name it (`gpu.bay:12`),
    /// by span.
    places: FxHashMap<Span, String>,
    /// The expressions that may be faults, by span.
    texts: FxHashMap<Span, String>,
    /// Its rules by what they may do; `None` when all of them decide.
    parts: Option<Parts>,
    /// Whether rules read pods other than those on the node, so that a simulation changes
    /// registers.
    pub sees_other_pods: bool,
}

/// The rules of a policy by what they may do.
struct Parts {
    decides: Arc<CompiledPolicy>,
    counts: Vec<Arc<CompiledPolicy>>,
}

impl std::fmt::Debug for CompiledPolicy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CompiledPolicy").field("name", &self.policy.name).field("hash", &self.hash).finish()
    }
}

impl CompiledPolicy {
    /// Lowers a checked policy, and its rules that decide and those that count, each for itself.
    pub fn new(policy: Policy, sources: &SourceMap) -> Self {
        let policy = Arc::new(policy);
        let of = |part| Self::of(policy.clone(), part, sources);
        let parts = (!policy.all_enforce()).then(|| Parts {
            decides: Arc::new(of(PolicyPart::deciding(&policy))),
            counts: PolicyPart::counting(&policy).map(|part| Arc::new(of(part))).collect(),
        });
        Self { parts, ..of(PolicyPart::whole(&policy)) }
    }

    /// The rules that it lowers.
    pub fn rules(&self) -> Rules<'_> {
        Rules::new(&self.policy, &self.part)
    }

    /// The rules that decide.
    pub fn decides(self: &Arc<Self>) -> &Arc<Self> {
        self.parts.as_ref().map_or(self, |parts| &parts.decides)
    }

    /// The rules that decide, for traces.
    pub fn enforced(&self) -> Rules<'_> {
        self.parts.as_ref().map_or(self, |parts| &parts.decides).rules()
    }

    /// The rules that count what they would have done: for every pod, or for some.
    pub fn counts(&self) -> &[Arc<Self>] {
        self.parts.as_ref().map_or(&[], |parts| &parts.counts)
    }

    /// Lowers the rules of a part.
    fn of(policy: Arc<Policy>, part: PolicyPart, sources: &SourceMap) -> Self {
        let rules = Rules::new(&policy, &part);
        let statements = codegen::lower(rules);
        let deciding = crate::analysis::reads::deciding(rules);
        let mut reads = deciding.clone();
        rules.iter().flat_map(|rule| rule.reads(&policy)).for_each(|more| reads.merge(more));
        let sees_other_pods = !reads.groups.is_empty()
            || !reads.ledgers.is_empty()
            || reads.paths.keys().any(|path| {
                matches!(path.of, ReadOf::Pods | ReadOf::Nodes | ReadOf::Nominated | ReadOf::Group)
            });
        let hash = content_hash(&policy, sources);
        let statements_of = policy.statements().map(Statement::span);
        let named = statements_of.chain(policy.exceptions.iter().map(|of| of.span));
        let mut places: FxHashMap<Span, String> = named.map(|span| (span, place(sources, span))).collect();
        let mut texts = FxHashMap::default();
        for span in sources_of_faults(&policy) {
            places.entry(span).or_insert_with(|| place(sources, span));
            texts.entry(span).or_insert_with(|| shortened(sources.text(span)));
        }
        let preconditions = Preconditions::of(&policy);
        Self {
            policy,
            part,
            hash,
            preconditions,
            statements,
            reads,
            deciding,
            places,
            texts,
            parts: None,
            sees_other_pods,
        }
    }

    /// The reference evaluator of its expressions.
    pub fn evaluator<'a>(&self, context: EvalContext<'a>) -> Evaluator<'_, 'a> {
        Evaluator::new(&self.policy, context)
    }

    /// The file and line of a statement, an exception, or an expression that may be a fault; empty for anything else.
    pub fn place(&self, span: Span) -> &str {
        self.places.get(&span).map_or("", String::as_str)
    }

    /// The text of an expression that may be a fault, on one line; empty for anything else.
    pub fn text(&self, span: Span) -> &str {
        self.texts.get(&span).map_or("", String::as_str)
    }

    /// What went wrong, and at which expression: the message of a fault does not say where its values come from.
    pub fn described(&self, fault: &Fault) -> String {
        match self.text(fault.span) {
            "" => fault.message.to_string(),
            text => format!("{}: {text}", fault.message),
        }
    }

    /// The name of the policy, which is its plugin's name.
    pub fn name(&self) -> &str {
        &self.policy.name
    }
}

/// The policies that run.
#[derive(Clone, Debug, Default)]
pub struct PolicySet {
    policies: Vec<Arc<CompiledPolicy>>,
}

impl PolicySet {
    /// A set of policies, ordered by name. Of two policies with the same name it keeps the first.
    pub fn new(policies: impl IntoIterator<Item = Arc<CompiledPolicy>>) -> Self {
        let mut policies: Vec<_> = policies.into_iter().collect();
        policies.sort_by(|left, right| left.name().cmp(right.name()));
        policies.dedup_by(|later, earlier| later.name() == earlier.name());
        Self { policies }
    }

    /// The policies in the order of their names.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Arc<CompiledPolicy>> {
        self.policies.iter()
    }

    /// A policy by name.
    pub fn get(&self, name: &str) -> Option<&Arc<CompiledPolicy>> {
        self.policies.iter().find(|policy| policy.name() == name)
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.policies.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.policies.len()
    }

    /// The policy with `queue by`; of several the first by name. The loader refuses a second one.
    pub fn queue(&self) -> Option<&Arc<CompiledPolicy>> {
        self.policies.iter().find(|policy| policy.policy.orders_queue())
    }
}

/// The text of the policy, of the defs and types of its file, and of its exceptions; its arguments; the fields of the kinds
/// that it looks up, whose types are elsewhere.
fn content_hash(policy: &Policy, sources: &SourceMap) -> u64 {
    let mut hasher = FxHasher::default();
    let exceptions = policy.exceptions.iter().map(|of| of.span);
    for span in std::iter::once(policy.span).chain(policy.file_items.iter().copied()).chain(exceptions) {
        sources.text(span).hash(&mut hasher);
    }
    for param in &policy.params {
        hasher.write(format!("{}={:?};", param.name, param.value).as_bytes());
    }
    for kind in &policy.kinds {
        (&kind.name, &kind.fields, &kind.plural, kind.namespaced).hash(&mut hasher);
    }
    hasher.finish()
}

/// A text on one line, cut where it is long.
fn shortened(text: &str) -> String {
    /// In characters; statuses and Events have room for it.
    const MOST: usize = 120;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}…", line.get(..at).unwrap_or_default()),
        None => line,
    }
}

/// The file and line of a span.
pub fn place(sources: &SourceMap, span: Span) -> String {
    match sources.file(span) {
        Some(file) => format!("{}:{}", file.name(), sources.places(span).0.line),
        None => String::new(),
    }
}
