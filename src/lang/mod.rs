//! From policy text to typed closures: parse, check, fold, bound, lint, stage, lower. Pure.
//!
//! Called by `plugins::policy`, `dry_run` and `cli`. Nothing here knows of plugins, queues or clusters.

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod types;
pub mod language;
pub mod syntax;
pub mod typed;
pub mod eval;
pub mod check;
pub mod analysis;
pub mod lint;
pub mod codegen;
pub mod policy_set;

use crate::diag::{Diagnostic, Source, codes};
use analysis::cost::Size;
use check::Argument;
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
    let (file, mut diagnostics) = syntax::parse(source);
    let (typed, found) = check::check_with(&file, source.text(), arguments);
    diagnostics.extend(found);
    let mut policies: Vec<Policy> = typed.policies.into_iter().map(analysis::fold::fold).collect();
    policies.retain(|policy| {
        let before = diagnostics.len();
        analysis::cost::check(policy, size, &mut diagnostics);
        lint::shadowed(policy, &mut diagnostics);
        !diagnostics.iter().skip(before).any(|said| said.code == &codes::VALUE_TOO_LARGE)
    });
    lint::text_direction(source, &mut diagnostics);
    lint::lint(&file, &mut diagnostics);
    let costly = |policy: &Policy, said: &Diagnostic| {
        said.code == &codes::TOO_COSTLY && policy.span.contains(said.span)
    };
    policies.retain(|policy| !diagnostics.iter().any(|said| costly(policy, said)));
    (policies, diagnostics)
}
