//! From policy text to typed closures. Pure: nothing here knows of plugins, queues or clusters.
//!
//! One folder per stage, in the order in which they use each other: `types`, `language` (the
//! tables), `schemas` (kinds beside those of Kubernetes), `syntax` (text to tree), `typed` (the checked tree), `eval` (the reference evaluator),
//! `check` (tree to typed tree), `analysis` (what follows from a policy), `lint`, `codegen` (typed
//! tree to closures). [`compile_for`] calls them up to `lint`; `plugins::policy` generates code.

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

// The parser that pest generates names it.
extern crate alloc;

pub mod types;
pub mod language;
pub mod schemas;
pub mod syntax;
pub mod uses;
pub mod exceptions;
pub mod typed;
pub mod eval;
pub mod check;
pub mod analysis;
pub mod lint;
pub mod codegen;
pub mod convert;
pub mod policy_set;
pub mod cel;

use analysis::cost::Size;
use bayplan_diag::{Diagnostic, Source, SourceMap, Span};
use check::Argument;
use eval::budget::Budget;
use exceptions::{Outside, OutsideException};
use schemas::Schemas;
use syntax::ast;
use typed::Policy;

/// The stack in bytes that is enough to compile and to evaluate the deepest expression that
/// compiles.
pub const STACK: usize = 64 << 20;

/// The policies of a text, ready to be lowered, and everything that is to be said about it.
///
/// A policy with a mistake is left out; the others of the text are there. The caller decides
/// whether a text with an error is loaded at all.
pub fn compile(source: &Source) -> (Vec<Policy>, Vec<Diagnostic>) {
    compile_with(source, &|_| Vec::new())
}

/// Compiles a text with the arguments of a profile, by the name of the policy.
pub fn compile_with(
    source: &Source,
    arguments: &dyn Fn(&str) -> Vec<Argument>,
) -> (Vec<Policy>, Vec<Diagnostic>) {
    compile_for(source, Size::default(), arguments)
}

/// Compiles a text for a cluster of a declared size.
pub fn compile_for(
    source: &Source,
    size: Size,
    arguments: &dyn Fn(&str) -> Vec<Argument>,
) -> (Vec<Policy>, Vec<Diagnostic>) {
    compile_given(
        source,
        Given { size, schemas: &Schemas::default(), arguments, sources: None, exceptions: None },
    )
}

/// What a text is compiled for.
#[derive(Clone, Copy)]
pub struct Given<'g> {
    /// The size of the cluster.
    pub size: Size,
    /// The kinds that may be looked up beside those of Kubernetes.
    pub schemas: &'g Schemas,
    /// The arguments of a profile, by the name of the policy.
    pub arguments: &'g dyn Fn(&str) -> Vec<Argument>,
    /// Where the files are that the text uses; `None`: it can use none.
    pub sources: Option<&'g SourceMap>,
    /// Exceptions from other texts. Those of the text itself count in any case.
    pub exceptions: Option<&'g Outside>,
}

/// Compiles a text with everything that can be given. An exception from another text with which a policy is refused is left
/// out.
pub fn compile_given(source: &Source, given: Given<'_>) -> (Vec<Policy>, Vec<Diagnostic>) {
    compile_within(source, given, &Budget::default())
}

/// Compiles a text within a budget, which counts what the texts of one set take together.
pub fn compile_within(source: &Source, given: Given<'_>, budget: &Budget) -> (Vec<Policy>, Vec<Diagnostic>) {
    let (file, mistakes) = syntax::parse(source);
    let outside = given.exceptions.cloned().unwrap_or_default().with(&file, source);
    let (policies, said) = compile_parsed(source, (&file, mistakes.clone()), given, &outside, budget);
    let joined = |of: &&OutsideException| policies.iter().any(|policy| policy.name == of.policy);
    let mut refused = outside.iter().filter(|of| of.source() != source.id() && !joined(of)).peekable();
    if refused.peek().is_none() {
        return (policies, said);
    }
    let of_file = outside.of_file(source);
    let (alone, mut said_alone) =
        compile_parsed(source, (&file, mistakes), given, &of_file, &Budget::default());
    for of in refused.filter(|of| alone.iter().any(|policy| policy.name == of.policy)) {
        let refused = check::exceptions::with_which_it_is_refused(of, &said);
        said_alone.extend((!of.allows(&refused)).then_some(refused));
    }
    (alone, said_alone)
}

/// Compiles a text whose tree is there, with exceptions from it and from other texts.
fn compile_parsed(
    source: &Source,
    (file, mut said): (&ast::File, Vec<Diagnostic>),
    given: Given<'_>,
    outside: &Outside,
    budget: &Budget,
) -> (Vec<Policy>, Vec<Diagnostic>) {
    let Given { size, schemas, arguments, sources, .. } = given;
    let Some(used) = uses::load(source, file, sources, &mut said) else {
        // Names are missing, about which nothing could be said.
        return (Vec::new(), said);
    };
    let input = check::Input { file, source, used: &used, schemas, outside };
    let mut policies = check::check(input, arguments, budget, &mut said);
    policies.retain_mut(|policy| analysis::analyse(policy, budget, &mut said));
    let mut claimed = analysis::claims::Claimed::default();
    policies.retain(|policy| {
        let clashes = claimed.clashes(policy);
        let keeps = clashes.is_empty();
        said.extend(clashes.into_iter().map(analysis::claims::Clash::diagnostic));
        keeps
    });
    if budget.is_exceeded() {
        budget.report(&mut said);
        policies.clear();
    }
    policies.retain(|policy| analysis::cost::check(policy, size, &mut said));
    lint::lint(source, (file, outside), &mut policies, &mut said);
    uses::at_their_use(source.id(), &used, &mut said);
    if !file.scalars.is_empty() {
        syntax::document::settle_fixes(source.text(), &file.scalars, &mut said);
        lint::ways_out::offer(source.text(), &file.scalars, &policies, &mut said);
    }
    policies.retain(|policy| !analysis::cost::is_refused(policy, &said));
    (policies, said)
}

/// The places of the statements of a text that can be read.
pub fn statements(source: &Source) -> Vec<Span> {
    let (file, _) = syntax::parse(source);
    let statements = file.policies().flat_map(|policy| &policy.statements);
    statements
        .filter(|statement| !matches!(statement.kind, syntax::ast::StatementKind::Broken(_)))
        .map(|statement| statement.span)
        .collect()
}
