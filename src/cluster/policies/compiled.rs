//! Where the policy language meets the cluster: compiles the texts of policy objects, makes
//! stand-ins for those that cannot serve, and finds out what a policy needs from the watches and
//! what it costs.

use super::exceptions::{self, ExceptionTexts, SharedExceptions};
use super::store::{Compiled, Standing};
use super::verdict::{Problem, Texts, hash};
use crate::inputs::informers::Needs;
use crate::inputs::kinds;
use bayplan_diag::{Diagnostic, Form, Severity, Source, SourceId, SourceMap, codes};
use bayplan_lang::analysis::claims::claims;
use bayplan_lang::analysis::cost::Size;
use bayplan_lang::analysis::load::Load;
use bayplan_lang::exceptions::Outside;
use bayplan_lang::language::fields::ObjectType;
use bayplan_lang::policy_set::CompiledPolicy;
use bayplan_lang::schemas::Schemas;
use bayplan_lang::syntax::ast::WriteVerb;
use bayplan_lang::syntax::document::Kept;
use bayplan_lang::syntax::{self, ast};
use bayplan_lang::typed::Expr;
use bayplan_lang::typed::walk;
use bayplan_lang::types::Type;
use bayplan_lang::{Given, compile_for, compile_given, uses};
use std::sync::{Arc, PoisonError, RwLock};

/// The kinds that the API server has beside those of Kubernetes, as far as policies look them up.
pub(crate) type SharedSchemas = Arc<RwLock<Arc<Schemas>>>;

/// A compiled policy.
#[derive(Clone, Debug)]
pub struct Policy {
    /// The policy with default params.
    pub compiled: Arc<CompiledPolicy>,
    /// Its text, for checking it again with the arguments of a profile.
    pub sources: Arc<SourceMap>,
    /// The kinds that it was compiled with beside those of Kubernetes.
    pub schemas: Arc<Schemas>,
    /// The exceptions that it was compiled with.
    pub exceptions: Arc<Outside>,
    /// It has no effect now.
    pub suspended: bool,
}

/// The rule of a policy that costs most of what a load has too much of, as the end of a sentence.
pub(super) fn heaviest(policy: &Policy, load: Load, size: Size) -> String {
    let rule = load.heaviest(&policy.compiled.policy, size, Load::MOST);
    rule.map_or_else(String::new, |rule| format!(", and in it `{}`", rule.name()))
}

/// The policies of texts, and warnings about them.
pub(crate) type CompiledTexts = (Vec<Compiled<Policy>>, Vec<Problem>);

/// Compiles texts as the loader does, with the kinds and exceptions that it knows at the time.
#[derive(Clone)]
pub(crate) struct Compiler {
    pub(super) size: Size,
    pub(super) schemas: SharedSchemas,
    pub(super) exceptions: SharedExceptions,
}

impl Compiler {
    /// The policies of an object with warnings about them, or what is wrong with them.
    pub(crate) fn compile(&self, object: &str, texts: &Texts) -> Result<CompiledTexts, Vec<Problem>> {
        let schemas = Arc::clone(&self.schemas.read().unwrap_or_else(PoisonError::into_inner));
        let exceptions = Arc::clone(&self.exceptions.read().unwrap_or_else(PoisonError::into_inner));
        compile(object, texts, self.size, &schemas, &exceptions)
    }
}

/// Compiles the texts of an object for a cluster of a size, with warnings about them. An error in one text refuses all of
/// them.
pub(crate) fn compile(
    object: &str,
    texts: &Texts,
    size: Size,
    schemas: &Arc<Schemas>,
    exceptions: &ExceptionTexts,
) -> Result<CompiledTexts, Vec<Problem>> {
    if texts.is_empty() {
        return Err(vec![Problem {
            code: String::new(),
            key: object.to_owned(),
            line: 0,
            column: 0,
            message: format!("`{object}` has the label of policies but no policy"),
            help: "put policies into `data`, under keys that end in `.bay` or `.yaml`".into(),
        }]);
    }
    let mut sources = SourceMap::new();
    let mut compiled = Vec::new();
    let (mut problems, mut warnings) = (Vec::new(), Vec::new());
    let ids: Vec<_> =
        texts.iter().map(|(key, text)| (key, sources.add(key.as_str(), text.as_str()))).collect();
    let own: Vec<SourceId> = ids.iter().map(|(_, id)| *id).collect();
    let outside = Arc::new(exceptions::add(object, &own, exceptions, &mut sources));
    for (key, id) in ids {
        let Some(source) = sources.get(id) else { continue };
        let given = Given {
            size,
            schemas,
            arguments: &|_| Vec::new(),
            sources: Some(&sources),
            exceptions: Some(&outside),
        };
        let (policies, diagnostics) = compile_given(source, given);
        problems.extend(diagnostics.iter().filter(|it| it.is_error()).map(|it| problem(&sources, key, it)));
        let warns = diagnostics.iter().filter(|it| it.severity == Severity::Warning);
        warnings.extend(warns.map(|it| problem(&sources, key, it)));
        // What a policy is made of: its text, and those that it uses.
        let own = std::iter::once(source).chain(uses::reached(&sources, source));
        let own = own.map(|source| (source.name().to_owned(), source.text().to_owned()));
        let own: Arc<Texts> = Arc::new(own.collect());
        compiled.extend(policies.into_iter().map(|policy| (Arc::clone(&own), policy)));
    }
    let sources = Arc::new(sources);
    let compiled = compiled.into_iter().map(|(texts, policy)| {
        let compiled = Arc::new(CompiledPolicy::new(policy, &sources));
        Compiled {
            name: compiled.name().to_owned(),
            claims: claims(&compiled.policy).into_iter().map(|claim| claim.what).collect(),
            revision: hash(&texts),
            texts,
            policy: Policy {
                compiled,
                sources: Arc::clone(&sources),
                schemas: Arc::clone(schemas),
                exceptions: Arc::clone(&outside),
                suspended: false,
            },
        }
    });
    let compiled = compiled.collect();
    match (problems.is_empty(), without_kind(object, texts, schemas)) {
        (true, _) => Ok((compiled, warnings)),
        // With the types of its fields the text may compile.
        (false, Some(problem)) => Err(vec![problem]),
        (false, None) => Err(problems),
    }
}

/// A kind that texts look up and that the API server does not have.
fn without_kind(object: &str, texts: &Texts, schemas: &Schemas) -> Option<Problem> {
    let kind = kinds::named_in(texts.values().map(String::as_str)).into_iter();
    let kind = kind.into_iter().find(|name| schemas.get(name).is_none())?;
    Some(Problem {
        code: codes::UNTYPED_KIND.id.to_owned(),
        key: object.to_owned(),
        line: 0,
        column: 0,
        message: format!("it looks up `{kind}`, and the API server has no such kind"),
        help: "install its CustomResourceDefinition".into(),
    })
}

/// What texts wait for, if their only problem is a kind that the API server does not have.
pub(crate) fn waits_for(problems: &[Problem]) -> Option<String> {
    match problems {
        [problem] if problem.code == codes::UNTYPED_KIND.id => Some(problem.message.clone()),
        _ => None,
    }
}

/// The names of the policies of texts, also of texts that do not compile, as far as they can be
/// read.
pub fn names(texts: &Texts) -> Vec<String> {
    let mut names = Vec::new();
    for (key, text) in texts {
        let mut sources = SourceMap::new();
        let id = sources.add(key.as_str(), text.as_str());
        let Some(source) = sources.get(id) else { continue };
        let (file, _) = syntax::parse(source);
        names.extend(file.policies().map(|policy| policy.name.text.to_string()));
    }
    names
}

/// The stand-in of texts that cannot serve: policies that make the pods wait that the texts
/// select with `applies when`, as far as that condition compiles, with the definitions around it or
/// without. A policy without `applies when` has a stand-in only where that is for all pods. A policy that
/// decides nothing, by its mode, makes no pod wait.
pub(crate) fn stand_in(object: &str, texts: &Texts, standing: Standing) -> Option<Texts> {
    let attempts: &[Kept] = match standing {
        Standing::Whole => &[Kept::Nothing],
        Standing::Broken | Standing::Waits => &[Kept::Definitions, Kept::Condition],
    };
    let mut held = Texts::new();
    for (key, text) in texts {
        let mut sources = SourceMap::new();
        let id = sources.add(key.as_str(), text.as_str());
        let source = sources.get(id)?;
        let (file, _) = syntax::parse(source);
        let mut standing_in = String::new();
        for policy in file.policies() {
            let found = attempts.iter().find_map(|kept| {
                let text = match source.form() {
                    Form::Language => held_policy(object, policy, &sources, *kept, standing)?,
                    Form::Document => held_document(object, policy, source, *kept, standing)?,
                };
                let mut sources = SourceMap::new();
                let id = sources.add(key.as_str(), text.as_str());
                let (made, said) = compile_for(sources.get(id)?, Size::default(), &|_| Vec::new());
                // A stand-in that looks objects up would wait for their kinds itself.
                let waits = made.iter().any(|policy| !policy.kinds.is_empty());
                (!waits && !said.iter().any(Diagnostic::is_error)).then_some(text)
            });
            standing_in.extend(found);
        }
        if !standing_in.is_empty() {
            held.insert(key.clone(), standing_in);
        }
    }
    (!held.is_empty()).then_some(held)
}

/// The reason that the pods of a stand-in read.
fn held_because(object: &str, policy: &str, standing: Standing) -> String {
    let why = match standing {
        Standing::Broken => "does not compile",
        Standing::Waits | Standing::Whole => "waits for what it reads",
    };
    format!("policy {policy} of {object} {why}")
}

fn held_policy(
    object: &str,
    policy: &ast::Policy,
    sources: &SourceMap,
    kept: Kept,
    standing: Standing,
) -> Option<String> {
    let name = &policy.name.text;
    let applies = policy.statements.iter().find_map(|statement| match &statement.kind {
        ast::StatementKind::Applies(it) => Some(it),
        _ => None,
    });
    let condition = applies.and_then(|it| it.when.as_ref()).map(|when| sources.text(when.span));
    if condition.is_none() && kept != Kept::Nothing {
        return None;
    }
    let condition = condition.filter(|_| kept != Kept::Nothing);
    // How far the policy may go stays what it says, and so does what it leaves alone.
    let says = |kind: &ast::StatementKind| match kind {
        ast::StatementKind::Mode(mode) => mode.when.is_none() || kept == Kept::Definitions,
        ast::StatementKind::Except(it) => it.target.is_none() && kept == Kept::Definitions,
        _ => false,
    };
    let said: Vec<&str> =
        policy.statements.iter().filter(|it| says(&it.kind)).map(|it| sources.text(it.span)).collect();
    let defined: Vec<(&str, &str)> = policy.statements.iter().filter_map(|it| defined(it, sources)).collect();
    // What these do not need may look up what is not there.
    let needed =
        syntax::mentioned(&format!("{}\n{}", condition.unwrap_or_default(), said.join("\n")), &defined);
    let is_needed = |text: &str| defined.iter().zip(&needed).any(|((_, of), needed)| *needed && *of == text);
    let mut text = format!("policy {name} {{\n");
    // Profiles may have arguments for the params.
    for statement in policy.statements.iter().filter(|_| kept != Kept::Condition) {
        let written = sources.text(statement.span);
        let kept = match &statement.kind {
            ast::StatementKind::Type(_) | ast::StatementKind::Param(_) => true,
            _ => kept == Kept::Definitions && is_needed(written),
        };
        if kept {
            text.push_str(&format!("  {written}\n"));
        }
    }
    let to_all = applies.is_some_and(|it| it.to_all_pods.is_some()) && standing != Standing::Broken;
    match (to_all, condition) {
        (true, Some(when)) => text.push_str(&format!("  applies to all pods when {when}\n")),
        (true, None) => text.push_str("  applies to all pods\n"),
        (false, Some(when)) => text.push_str(&format!("  applies when {when}\n")),
        (false, None) => {}
    }
    said.iter().for_each(|said| text.push_str(&format!("  {said}\n")));
    let reason = held_because(object, name, standing);
    // kube-scheduler asks an extender nothing about the queue.
    text.push_str(&format!(
        "  gate \"{reason}\" when true\n  prefilter {{ reject \"{reason}\" when true }}\n}}\n"
    ));
    Some(text)
}

/// The name and the text of a let or a def.
fn defined<'t>(statement: &'t ast::Statement, sources: &'t SourceMap) -> Option<(&'t str, &'t str)> {
    let name = match &statement.kind {
        ast::StatementKind::Let(it) => &it.name,
        ast::StatementKind::Def(it) => &it.name,
        _ => return None,
    };
    Some((&name.text, sources.text(statement.span)))
}

/// The stand-in of a policy as a document, which a line `---` separates from the one before.
fn held_document(
    object: &str,
    policy: &ast::Policy,
    source: &Source,
    kept: Kept,
    standing: Standing,
) -> Option<String> {
    let name = &policy.name.text;
    let reason = held_because(object, name, standing);
    let text = syntax::document::stand_in(source, name, &reason, kept, standing != Standing::Broken)?;
    Some(format!("---\n{text}\n"))
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

/// What a policy reads beyond the slim fields, and whether it reads namespaces at all.
pub(crate) fn needs(policy: &Policy) -> Needs {
    let mut needs = Needs::default();
    if !policy.suspended {
        needs.keeps.merge(&policy.compiled.policy.keeps);
        needs.metrics = !policy.compiled.policy.sources.is_empty();
        let mut reserved = policy.compiled.policy.marks();
        needs.binding_labels = reserved.any(|write| write.verb == WriteVerb::Label);
        policy.compiled.policy.for_each_expr(&mut |whole| look(whole, &mut needs.any_namespace));
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

    /// The policies of the texts, without exceptions of other objects.
    fn made_of(
        texts: &Texts,
        size: Size,
        schemas: &Arc<Schemas>,
    ) -> Result<Vec<Compiled<Policy>>, Vec<Problem>> {
        compile("n/a", texts, size, schemas, &ExceptionTexts::new()).map(|(policies, _)| policies)
    }

    fn stands_in(text: &str) -> Option<String> {
        stands_in_under("p.bay", text)
    }

    fn stands_in_under(key: &str, text: &str) -> Option<String> {
        let texts = [(key.to_owned(), text.to_owned())].into();
        let none = Arc::default();
        assert!(made_of(&texts, Size::default(), &none).is_err(), "{text}");
        let held = stand_in("n/a", &texts, Standing::Broken)?;
        assert!(made_of(&held, Size::default(), &none).is_ok(), "{held:?}");
        held.into_values().next()
    }

    #[test]
    fn labels_of_reserve_need_a_server_that_copies_them() {
        for (writes, needed) in [("label", true), ("annotate", false)] {
            let text = format!("policy a {{ reserve {{ {writes} pod {{\"example.com/a\": \"b\"}} }} }}");
            let made = made_of(&[("p.bay".to_owned(), text)].into(), Size::default(), &Arc::default());
            let needs: Vec<bool> = made.unwrap().iter().map(|of| needs(&of.policy).binding_labels).collect();
            assert_eq!(needs, [needed]);
        }
    }

    #[test]
    fn a_policy_is_made_of_its_text_and_those_that_it_uses() {
        let policy = |name: &str, uses: &str| {
            format!("{uses}\npolicy {name} {{ filter f {{ reject \"no\" when node.free.cpu < least() }} }}\n")
        };
        let texts = |least: &str, deepest: &str| -> Texts {
            let all = [
                ("a.bay", policy("a", "use \"b.bay\"")),
                ("b.bay", format!("use \"c.bay\"\ndef least(): cpu = deepest() + {least}\n")),
                ("c.bay", format!("def deepest(): cpu = {deepest}\n")),
                ("d.bay", policy("d", "def least(): cpu = 1cpu")),
            ];
            all.map(|(key, text)| (key.to_owned(), text)).into()
        };
        let made = |texts: &Texts| made_of(texts, Size::default(), &Arc::default()).unwrap();
        let before = made(&texts("1cpu", "2cpu"));
        assert_eq!(before.iter().map(|of| &*of.name).collect::<Vec<_>>(), ["a", "d"]);
        assert_eq!(before[0].texts.keys().collect::<Vec<_>>(), ["a.bay", "b.bay", "c.bay"]);
        assert_eq!(before[1].texts.keys().collect::<Vec<_>>(), ["d.bay"]);
        // What is kept of it compiles by itself.
        assert_eq!(made(&before[0].texts)[0].revision, before[0].revision);
        for (least, deepest) in [("3cpu", "2cpu"), ("1cpu", "3cpu")] {
            let after = made(&texts(least, deepest));
            assert_ne!(before[0].revision, after[0].revision, "{least} {deepest}");
            assert_ne!(before[0].policy.compiled.hash, after[0].policy.compiled.hash);
            assert_eq!(before[1].revision, after[1].revision, "{least} {deepest}");
        }
        let mut without = texts("1cpu", "2cpu");
        without.remove("c.bay");
        let problems = made_of(&without, Size::default(), &Arc::default()).unwrap_err();
        let places: Vec<_> = problems.iter().map(|it| (&*it.key, it.line, &*it.code)).collect();
        assert_eq!(places, [("a.bay", 1, "BP0230"), ("b.bay", 1, "BP0230")]);
    }

    #[test]
    fn a_document_has_a_stand_in_too() {
        let document = |name: &str, applies: &str| {
            format!(
                "apiVersion: bayplan.dev/v1\nkind: SchedulingPolicy\nmetadata: {{name: {name}}}\nspec:\n  {applies}\n  \
                 variables: [{{name: team, expression: 'pod.labels[\"team\"]'}}]\n  filters:\n  - {{name: f, expression: nod.x}}\n"
            )
        };
        let text =
            format!("{}---\n{}", document("gpu", "appliesWhen: variables.team == 'a'"), document("all", ""));
        let held = stands_in_under("p.yaml", &text).unwrap();
        assert!(held.contains("variables.team == 'a'") && !held.contains("nod.x"), "{held}");
        assert_eq!(held.matches("---").count(), 1, "{held}");
        assert_eq!(stands_in_under("p.yaml", &document("x", "appliesWhen: nod.x")), None);
        assert_eq!(stands_in_under("p.yaml", "policy x { applies when pod.priority > 3 }"), None);
    }

    #[test]
    fn a_stand_in_goes_as_far_as_its_policy_may() {
        let made = |key: &str, text: &str, standing: Standing| {
            let texts = Texts::from([(key.to_owned(), text.to_owned())]);
            let held = stand_in("n/a", &texts, standing)?;
            let made = made_of(&held, Size::default(), &Arc::default());
            let made = made.unwrap_or_else(|problems| panic!("{problems:?} in {held:?}"));
            let policy = &made.first()?.policy.compiled.policy;
            Some((held.values().next()?.clone(), policy.modes.policy.word()))
        };
        let policy = |applies: &str, more: &str| {
            format!(
                "policy p {{\n  {applies}\n  {more}\n  let quota = lookup(\"PriorityClass\", \"a\")\n  prefilter {{ reject \"no\" when \
                 (quota.value ?? 0) < 1 }}\n}}"
            )
        };
        let when = "applies when pod.priority > 3";
        let (text, mode) = made("p.bay", &policy(when, ""), Standing::Waits).unwrap();
        assert!(
            text.contains(when) && text.contains("waits for what it reads") && mode == "enforce",
            "{text}"
        );
        assert!(
            text.contains("gate \"") && text.contains("prefilter { reject"),
            "an extender evaluates no gate: {text}"
        );
        for (more, expected) in
            [("mode audit", "audit"), ("mode enforce when pod.priority > 5 else warn", "enforce")]
        {
            let (text, mode) = made("p.bay", &policy(when, more), Standing::Waits).unwrap();
            assert!(text.contains(more) && mode == expected, "{text}");
        }
        let except = "except until 2099-01-31 because \"OPS-1\" when pod.namespace == \"a\"";
        assert!(made("p.bay", &policy(when, except), Standing::Waits).unwrap().0.contains(except));
        // Who cannot say which pods it is about is about all pods, if it was in service.
        let param = made("p.bay", &policy("", "param least = 3"), Standing::Whole).unwrap().0;
        assert!(param.contains("param least = 3"), "profiles may set it: {param}");
        for applies in ["", "applies to all pods"] {
            assert_eq!(made("p.bay", &policy(applies, ""), Standing::Waits), None);
            let (text, _) = made("p.bay", &policy(applies, "mode warn"), Standing::Whole).unwrap();
            assert!(
                text.contains(applies) && text.contains("mode warn") && !text.contains("when pod"),
                "{text}"
            );
        }
        let looks = policy("applies when (quota.value ?? 0) > 1", "");
        assert_eq!(made("p.bay", &looks, Standing::Waits), None, "it would wait itself");
        assert!(!made("p.bay", &looks, Standing::Whole).unwrap().0.contains("applies"));
        let all = policy("applies to all pods when pod.priority > 3", "");
        assert!(
            made("p.bay", &all, Standing::Waits).unwrap().0.contains("to all pods when pod.priority > 3")
        );

        let document = |spec: &str| {
            format!(
                "apiVersion: bayplan.dev/v1\nkind: SchedulingPolicy\nmetadata: {{name: p}}\nspec:\n{spec}"
            )
        };
        let text = document("  appliesWhen: pod.spec.priority > 3\n  mode: audit\n");
        let (held, mode) = made("p.yaml", &text, Standing::Waits).unwrap();
        assert!(mode == "audit" && held.contains("priority > 3") && held.contains("prefilter"), "{held}");
        let text = document("  filters: [{name: f, expression: 'true'}]\n");
        assert_eq!(made("p.yaml", &text, Standing::Waits), None);
        assert!(made("p.yaml", &text, Standing::Whole).is_some());
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
        let text = "policy gpu {\n  let x = nod.y\n  let y = 3\n  def z(n: int): bool = n > y\n  applies when z(pod.priority)\n}\n";
        let held = stands_in(text).unwrap();
        assert!(!held.contains("let x") && held.contains("let y") && held.contains("def z"), "{held}");
        // Neither is one that looks an object up, also where the condition has its name as a text.
        let text = "policy gpu {\n  let x = lookup(\"PriorityClass\", \"a\")\n  applies when has(pod.labels[\"x\"])\n  \
                    filter f { reject \"no\" when nod.x }\n}\n";
        assert!(!stands_in(text).unwrap().contains("lookup"));
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
