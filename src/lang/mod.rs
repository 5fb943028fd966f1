//! From policy text to typed closures: parse, check, fold, bound, lint, stage, lower. Pure.
//!
//! Called by `plugins::policy`, `dry_run` and `cli`. Nothing here knows of plugins, queues or clusters.

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod ast;
pub mod dsl;
pub mod sources;
pub mod types;
pub mod range;
pub mod schema;
pub mod value;
pub mod arith;
pub mod functions;
pub mod reads;
pub mod typed;
pub mod walk;
pub mod context;
pub mod convert;
pub mod getters;
pub mod instants;
pub mod interpret;
pub mod fold;
pub mod check;
pub mod lint;
pub mod groups;
pub mod scores;
pub mod lower;
pub mod cost;
pub mod filing;
pub mod policy_set;
pub mod account;
pub mod coverage;

use crate::diag::{Diagnostic, Source, codes};
use check::Argument;
use cost::Size;
use typed::Policy;

/// The stack in bytes that is enough to compile and to evaluate the deepest expression that compiles.
pub const STACK: usize = 64 << 20;

/// The policies of a text, ready to be lowered, and everything that is to be said about it.
///
/// A policy with a mistake is left out; the others of the text are there. The caller decides whether a text
/// with an error is loaded at all.
pub fn compile(source: &Source) -> (Vec<Policy>, Vec<Diagnostic>) {
    compile_with(source, &|_| Vec::new())
}

/// The same with the arguments of a profile, by the name of the policy.
pub fn compile_with(
    source: &Source,
    arguments: &dyn Fn(&str) -> Vec<Argument>,
) -> (Vec<Policy>, Vec<Diagnostic>) {
    compile_for(source, Size::default(), arguments)
}

/// The same for a cluster of a declared size.
pub fn compile_for(
    source: &Source,
    size: Size,
    arguments: &dyn Fn(&str) -> Vec<Argument>,
) -> (Vec<Policy>, Vec<Diagnostic>) {
    let (file, mut diagnostics) = dsl::parse(source);
    let (typed, found) = check::check_with(&file, source.text(), arguments);
    diagnostics.extend(found);
    let mut policies: Vec<Policy> = typed.policies.into_iter().map(fold::fold).collect();
    policies.retain(|policy| {
        let before = diagnostics.len();
        cost::check(policy, size, &mut diagnostics);
        lint::shadowed(policy, &mut diagnostics);
        !diagnostics.iter().skip(before).any(|said| said.code == &codes::VALUE_TOO_LARGE)
    });
    lint::lint(&file, &mut diagnostics);
    let costly = |policy: &Policy, said: &Diagnostic| {
        said.code == &codes::TOO_COSTLY && policy.span.contains(said.span)
    };
    policies.retain(|policy| !diagnostics.iter().any(|said| costly(policy, said)));
    (policies, diagnostics)
}
