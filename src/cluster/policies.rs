//! The two places where the language meets the cluster: texts to compiled policies with their problems, and what of
//! an object must be kept for a set of policies.

use super::informers::Needs;
use super::policy_store::{Compiled, Problem, Texts};
use crate::diag::{Diagnostic, SourceMap};
use crate::lang::policy_set::CompiledPolicy;
use crate::lang::schema::ObjectType;
use crate::lang::typed::{Expr, ExprKind};
use crate::lang::types::Type;
use crate::lang::{compile as compile_text, fold, walk};
use std::sync::Arc;

/// A policy that can be run.
#[derive(Clone, Debug)]
pub struct Policy {
    /// The policy with the defaults of its params.
    pub compiled: Arc<CompiledPolicy>,
    /// Its text, by which it is checked again with the arguments of a profile.
    pub sources: Arc<SourceMap>,
}

/// Compiles the texts of an object; any error refuses them all.
pub fn compile(object: &str, texts: &Texts) -> Result<Vec<Compiled<Policy>>, Vec<Problem>> {
    if texts.is_empty() {
        return Err(vec![Problem {
            code: String::new(),
            key: object.to_owned(),
            line: 0,
            column: 0,
            message: format!("`{object}` has our label and no policy"),
            help: "policies stand in `data`, under keys that end in `.bay`".into(),
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

/// What is written on objects and logged: a message has the words of the text in it, which may be as long as the text.
fn shortened(message: &str) -> String {
    /// Twenty problems of two such texts stay far below the 256 KiB that annotations may have.
    const MOST: usize = 500;
    match message.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}…", message.get(..at).unwrap_or_default()),
        None => message.to_owned(),
    }
}

/// Which kinds these policies read beyond the slim fields: by `spec`, `status` or `metadata` of an object.
pub fn needs(policies: &[Policy]) -> Needs {
    let mut needs = Needs::default();
    for of in policies {
        let mut policy = (*of.compiled.policy).clone();
        fold::each_expression(&mut policy, &mut |whole: &mut Expr| look(whole, &mut needs));
    }
    needs
}

fn look(expr: &mut Expr, needs: &mut Needs) {
    if let ExprKind::ApiField(object, _) = &expr.kind {
        let ty = match &object.ty {
            Type::Optional(inner) => inner.as_ref(),
            ty => ty,
        };
        match ty {
            Type::Object(ObjectType::Pod) => needs.pods = true,
            Type::Object(ObjectType::Node) => needs.nodes = true,
            Type::Object(ObjectType::Namespace) => needs.namespaces = true,
            // A structure below one of them: that object stands further in.
            _ => {}
        }
    }
    walk::each_part_mut(expr, &mut |part| look(part, needs));
}
