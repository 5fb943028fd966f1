//! Where the policy language meets the cluster: compiles the texts of policy objects, makes
//! stand-ins for invalid ones, and finds out what a set of policies needs from the watches.

use super::informers::Needs;
use super::policy_store::{Compiled, Problem, Texts};
use super::supervisor::message;
use crate::diag::{Diagnostic, SourceMap};
use crate::lang::compile as compile_text;
use crate::lang::language::fields::ObjectType;
use crate::lang::policy_set::CompiledPolicy;
use crate::lang::syntax::{self, ast};
use crate::lang::typed::Expr;
use crate::lang::typed::walk;
use crate::lang::types::Type;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// A compiled policy.
#[derive(Clone, Debug)]
pub struct Policy {
    /// The policy with default params.
    pub compiled: Arc<CompiledPolicy>,
    /// Its text, for checking it again with the arguments of a profile.
    pub sources: Arc<SourceMap>,
}

/// Compiles the texts of an object. An error in one text refuses all of them.
pub fn compile(object: &str, texts: &Texts) -> Result<Vec<Compiled<Policy>>, Vec<Problem>> {
    if texts.is_empty() {
        return Err(vec![Problem {
            code: String::new(),
            key: object.to_owned(),
            line: 0,
            column: 0,
            message: format!("`{object}` has the label of policies but no policy"),
            help: "put policies into `data`, under keys that end in `.bay`".into(),
        }]);
    }
    let mut sources = SourceMap::new();
    let mut compiled = Vec::new();
    let mut problems = Vec::new();
    for (key, text) in texts {
        let id = sources.add(key.as_str(), text.as_str());
        let Some(source) = sources.get(id) else { continue };
        let (policies, diagnostics) = compile_text(source);
        problems.extend(diagnostics.iter().filter(|it| it.is_error()).map(|it| problem(&sources, key, it)));
        compiled.extend(policies);
    }
    let sources = Arc::new(sources);
    let compiled = compiled.into_iter().map(|policy| {
        let compiled = Arc::new(CompiledPolicy::new(policy, &sources));
        Compiled {
            name: compiled.name().to_owned(),
            queue: compiled.policy.queue.is_some(),
            policy: Policy { compiled, sources: Arc::clone(&sources) },
        }
    });
    let compiled = compiled.collect();
    if problems.is_empty() { Ok(compiled) } else { Err(problems) }
}

/// Compiles the texts of an object. A panic of the compiler refuses the object, so that one object
/// never stops every replica.
pub fn compile_guarded(object: &str, texts: &Texts) -> Result<Vec<Compiled<Policy>>, Vec<Problem>> {
    guarded(object, || compile(object, texts)).unwrap_or_else(|problem| Err(vec![problem]))
}

/// The stand-in of texts that do not compile; none if the compiler panics.
pub fn stand_in_guarded(object: &str, texts: &Texts) -> Option<Texts> {
    guarded(object, || stand_in(object, texts)).ok().flatten()
}

/// Runs the compiler; a panic becomes a problem of the object.
fn guarded<T>(object: &str, work: impl FnOnce() -> T) -> Result<T, Problem> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let panic = message(&*panic);
        tracing::error!(policy = object, %panic, "the compiler panicked; please report this policy");
        Problem {
            code: String::new(),
            key: object.to_owned(),
            line: 0,
            column: 0,
            message: shortened(&format!("the compiler panicked: {panic}")),
            help: "please report this policy; a similar text may compile".into(),
        }
    })
}

/// The stand-in of texts that do not compile: policies that make the pods wait that the texts
/// select with `applies when`, as far as that condition compiles, with the definitions around it or
/// without. A policy without `applies when` has no stand-in.
pub fn stand_in(object: &str, texts: &Texts) -> Option<Texts> {
    let mut held = Texts::new();
    for (key, text) in texts {
        let mut sources = SourceMap::new();
        let id = sources.add(key.as_str(), text.as_str());
        let (file, _) = syntax::parse(sources.get(id)?);
        let mut standing = String::new();
        for policy in file.policies() {
            let found = [true, false].into_iter().find_map(|definitions| {
                let text = held_policy(object, policy, &sources, definitions)?;
                let mut sources = SourceMap::new();
                let id = sources.add(key.as_str(), text.as_str());
                let (_, said) = compile_text(sources.get(id)?);
                (!said.iter().any(Diagnostic::is_error)).then_some(text)
            });
            standing.extend(found);
        }
        if !standing.is_empty() {
            held.insert(key.clone(), standing);
        }
    }
    (!held.is_empty()).then_some(held)
}

fn held_policy(object: &str, policy: &ast::Policy, sources: &SourceMap, definitions: bool) -> Option<String> {
    let name = &policy.name.text;
    let mut text = format!("policy {name} {{\n");
    let mut applies = None;
    for statement in &policy.statements {
        match &statement.kind {
            ast::StatementKind::Applies(it) => applies = it.when.as_ref(),
            ast::StatementKind::Let(_)
            | ast::StatementKind::Def(_)
            | ast::StatementKind::Type(_)
            | ast::StatementKind::Param(_)
                if definitions =>
            {
                text.push_str(&format!("  {}\n", sources.text(statement.span)));
            }
            _ => {}
        }
    }
    let condition = sources.text(applies?.span);
    text.push_str(&format!(
        "  applies when {condition}\n  gate \"policy {name} of {object} does not compile\" when true\n}}\n"
    ));
    Some(text)
}

fn problem(sources: &SourceMap, key: &str, diagnostic: &Diagnostic) -> Problem {
    let (start, _) = sources.places(diagnostic.span);
    Problem {
        code: diagnostic.code.id.to_owned(),
        key: key.to_owned(),
        line: start.line,
        column: start.column,
        message: shortened(&diagnostic.message),
        help: shortened(diagnostic.help.as_deref().unwrap_or_default()),
    }
}

/// A message for annotations and logs. Messages quote the text, so they may be as long as the text.
fn shortened(message: &str) -> String {
    /// Twenty problems with two such texts each stay far below the 256 KiB of annotations.
    const MOST: usize = 500;
    match message.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}…", message.get(..at).unwrap_or_default()),
        None => message.to_owned(),
    }
}

/// What policies read beyond the slim fields, and whether they read namespaces at all.
pub fn needs(policies: &[Policy]) -> Needs {
    let mut needs = Needs::default();
    for of in policies {
        needs.keeps.merge(&of.compiled.policy.keeps);
        of.compiled.policy.for_each_expr(&mut |whole| look(whole, &mut needs.any_namespace));
    }
    needs
}

fn look(expr: &Expr, any_namespace: &mut bool) {
    *any_namespace |= *expr.ty.present() == Type::Object(ObjectType::Namespace);
    walk::each_part(expr, &mut |part| look(part, any_namespace));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stands_in(text: &str) -> Option<String> {
        let texts = [("p.bay".to_owned(), text.to_owned())].into();
        assert!(compile("n/a", &texts).is_err(), "{text}");
        let held = stand_in("n/a", &texts)?;
        assert!(compile("n/a", &held).is_ok(), "{held:?}");
        held.into_values().next()
    }

    #[test]
    fn a_panic_of_the_compiler_refuses_the_object() {
        let problem = guarded("n/a", || -> () { panic!("on purpose") }).unwrap_err();
        assert_eq!(
            (problem.key.as_str(), problem.message.as_str()),
            ("n/a", "the compiler panicked: on purpose")
        );
        assert_eq!(guarded("n/a", || 3), Ok(3));
    }

    #[test]
    fn a_stand_in_holds_the_pods_of_every_readable_applies_when() {
        let text = "policy gpu {\n  let team = pod.labels[\"team\"] ?? \"\"\n  applies when team == \"a\" && \
                    pod.priority > 3\n  filter f { reject \"no\" when nod.x }\n}\n";
        let held = stands_in(text).unwrap();
        assert!(held.contains("applies when team == \"a\" && pod.priority > 3\n  gate"), "{held}");
        assert!(held.contains("let team"), "{held}");
        // An invalid definition is left out if `applies when` does not need it.
        let text = "policy gpu {\n  let x = nod.y\n  applies when pod.priority > 3\n}\n";
        assert!(!stands_in(text).unwrap().contains("let x"));
        // Without an `applies when` that compiles there is no stand-in.
        for text in [
            "policy gpu { filter f { reject \"no\" when nod.x } }",
            "policy gpu { applies to all pods filter f { reject \"no\" when nod.x } }",
            "policy gpu { applies when nod.x == 3 }",
            "policy gpu { applies when }",
            "nonsense",
        ] {
            assert_eq!(stands_in(text), None, "{text}");
        }
    }
}
