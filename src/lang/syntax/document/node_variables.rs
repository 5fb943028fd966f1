//! Variables that read `node`: a let of a policy may not, so each is moved into the blocks that use it.

use super::read::{Draft, Reader};
use crate::language::statements::{Names, StatementId};
use crate::syntax::ast::*;
use bayplan_diag::{Diagnostic, codes};
use std::collections::{BTreeMap, BTreeSet};

/// A variable that reads `node`, itself or through others.
struct Variable {
    of: Let,
    doc: Option<Doc>,
    span: bayplan_diag::Span,
    /// The other variables of this kind that it uses.
    needs: Vec<Text>,
}

/// The statements of the policy, with the variables in their places.
pub(super) fn place(reader: &mut Reader<'_>, drafts: Vec<Draft>) -> Vec<Statement> {
    let reading = reading_node(&drafts);
    if reading.is_empty() {
        return drafts.into_iter().map(|draft| draft.statement).collect();
    }
    let mut variables: BTreeMap<Text, Variable> = BTreeMap::new();
    let mut rest = Vec::new();
    for draft in drafts {
        let used = draft.uses.names.iter().map(|(name, _)| name);
        let needs: Vec<Text> = used.filter(|name| reading.contains(*name)).cloned().collect();
        match draft.statement {
            // A second variable of one name is left where it is: the checker reports it.
            Statement { kind: StatementKind::Let(of), span, doc, .. }
                if reading.contains(&of.name.text) && !variables.contains_key(&of.name.text) =>
            {
                variables.insert(of.name.text.clone(), Variable { of, doc, span, needs });
            }
            statement => rest.push((Draft { statement, uses: draft.uses, field: draft.field }, needs)),
        }
    }
    if circles(reader, &variables) {
        for (draft, _) in rest.iter_mut().filter(|(_, needs)| !needs.is_empty()) {
            draft.statement.kind = broken();
        }
        return rest.into_iter().map(|(draft, _)| draft.statement).collect();
    }
    // Scores in place of preferences have blocks. Their names count all of them.
    let any_prefer = rest.iter().any(|(draft, needs)| !needs.is_empty() && is_prefer(&draft.statement));
    let mut prefers = 0;
    let mut used = BTreeSet::new();
    let mut placed = Vec::new();
    for (draft, needs) in rest {
        let mut statement = draft.statement;
        if any_prefer && is_prefer(&statement) {
            prefers += 1;
            statement = as_score(statement, prefers);
        }
        used.extend(needs.iter().cloned());
        if let StatementKind::Ledger(ledger) = &statement.kind
            && let Some((name, span)) = mentions(&ledger.key, &needs)
        {
            let message = format!(
                "`variables.{name}` reads `node`, and the key of a ledger sees no variable of this kind"
            );
            let said = Diagnostic::new(&codes::NOT_SEEN_HERE, span, message);
            reader.say(said.with_help("write its expression in the place of the variable"));
            statement.kind = broken();
        }
        let sees = statement.kind.id().is_some_and(sees_node);
        match statement.kind.block_mut().filter(|_| sees) {
            Some(block) => {
                let mut order = Vec::new();
                needs.iter().for_each(|name| in_order(name, &variables, &mut order));
                let lets =
                    order.iter().filter_map(|name| variables.get(name)).map(|variable| BlockStatement {
                        doc: variable.doc.clone(),
                        kind: BlockKind::Let(variable.of.clone()),
                        span: variable.span,
                        on_error: None,
                        mode: None,
                    });
                block.statements.splice(0..0, lets);
            }
            None => {
                for (name, span) in draft.uses.names.iter().filter(|(name, _)| needs.contains(name)) {
                    let message =
                        format!("`variables.{name}` reads `node`, which `{}` does not see", draft.field);
                    let said = Diagnostic::new(&codes::NOT_SEEN_HERE, *span, message);
                    reader.say(
                        said.with_help("use it in `filters`, `scores`, `prefer`, `preempt` or `permit`"),
                    );
                }
                if !needs.is_empty() {
                    statement.kind = broken();
                }
            }
        }
        placed.push(statement);
    }
    unused(reader, &variables, used);
    placed
}

/// The first of some names that an expression mentions.
fn mentions(expr: &Expr, names: &[Text]) -> Option<(Text, bayplan_diag::Span)> {
    let any = |parts: &[&Expr]| parts.iter().find_map(|part| mentions(part, names));
    match &expr.kind {
        ExprKind::Name(name) => names.contains(name).then(|| (name.clone(), expr.span)),
        ExprKind::Literal(_) => None,
        ExprKind::Paren(inner) => mentions(inner, names),
        ExprKind::Call(call) => call.args.iter().find_map(|arg| mentions(&arg.value, names)),
        ExprKind::Method(call) => {
            let args = || call.args.iter().find_map(|arg| mentions(&arg.value, names));
            mentions(&call.object, names).or_else(args)
        }
        ExprKind::Field(access) => mentions(&access.object, names),
        ExprKind::Index(access) => any(&[&access.object, &access.index]),
        ExprKind::Unary(of) => mentions(&of.operand, names),
        ExprKind::Binary(of) => any(&[&of.left, &of.right]),
        ExprKind::Conditional(of) => any(&[&of.condition, &of.then, &of.otherwise]),
        ExprKind::List(elements) => elements.iter().find_map(|element| mentions(&element.value, names)),
        ExprKind::Map(entries) => entries.iter().find_map(|entry| any(&[&entry.key, &entry.value])),
    }
}

/// The names of the variables that read `node`.
fn reading_node(drafts: &[Draft]) -> BTreeSet<Text> {
    let mut reading = BTreeSet::new();
    loop {
        let before = reading.len();
        for draft in drafts {
            let StatementKind::Let(of) = &draft.statement.kind else { continue };
            if draft.uses.node || draft.uses.names.iter().any(|(name, _)| reading.contains(name)) {
                reading.insert(of.name.text.clone());
            }
        }
        if reading.len() == before {
            return reading;
        }
    }
}

/// A variable and what it needs, what is needed first.
fn in_order(name: &Text, variables: &BTreeMap<Text, Variable>, order: &mut Vec<Text>) {
    if order.contains(name) {
        return;
    }
    let Some(variable) = variables.get(name) else { return };
    variable.needs.iter().for_each(|needed| in_order(needed, variables, order));
    order.push(name.clone());
}

/// Reports variables that need themselves; whether there are any.
fn circles(reader: &mut Reader<'_>, variables: &BTreeMap<Text, Variable>) -> bool {
    let mut found = false;
    let mut seen: BTreeSet<&Text> = BTreeSet::new();
    for (name, variable) in variables {
        let mut reached = BTreeSet::new();
        let mut open: Vec<&Text> = variable.needs.iter().collect();
        while let Some(next) = open.pop() {
            if reached.insert(next) {
                open.extend(variables.get(next).into_iter().flat_map(|of| &of.needs));
            }
        }
        // Of the variables of one circle the first is reported.
        if reached.contains(name) && !seen.contains(name) {
            let message = format!("`{name}` is defined by itself");
            let said = Diagnostic::new(&codes::RECURSION, variable.of.name.span, message);
            reader.say(said.with_help("a definition may not use itself"));
            seen.extend(reached);
            found = true;
        }
    }
    found
}

fn broken() -> StatementKind {
    StatementKind::Broken(Broken { word: Text::from(""), declares: None })
}

fn unused(reader: &mut Reader<'_>, variables: &BTreeMap<Text, Variable>, used: BTreeSet<Text>) {
    let mut known = BTreeSet::new();
    let mut open: Vec<Text> = used.into_iter().collect();
    while let Some(name) = open.pop() {
        if known.insert(name.clone())
            && let Some(of) = variables.get(&name)
        {
            open.extend(of.needs.iter().cloned());
        }
    }
    for (name, variable) in variables.iter().filter(|(name, _)| !known.contains(*name)) {
        let message = format!("nothing uses the variable `{name}`");
        let said = Diagnostic::new(&codes::UNUSED, variable.of.name.span, message);
        reader.say(said.with_help("remove it, or use it"));
    }
}

fn is_prefer(statement: &Statement) -> bool {
    matches!(statement.kind, StatementKind::Prefer(_))
}

/// Whether the block of a statement sees `node`.
fn sees_node(statement: StatementId) -> bool {
    statement.def().sees.is_some_and(|sees| Names::NODE.beyond(sees).is_none())
}

/// `prefer N when E` as the score that it stands for.
fn as_score(statement: Statement, number: usize) -> Statement {
    let StatementKind::Prefer(prefer) = statement.kind else { return statement };
    let span = statement.span;
    let give = |value: i64, when: Option<Expr>| BlockStatement {
        mode: None,
        doc: None,
        kind: BlockKind::Give(Give {
            value: Expr { kind: ExprKind::Literal(Literal::Int(value)), span: prefer.when.span },
            when,
        }),
        span,
        on_error: statement.on_error,
    };
    let statements = vec![give(100, Some(prefer.when.clone())), give(0, None)];
    let name = Name { text: Text::from(format!("prefer-{number}")), span: prefer.weight.span };
    let score = Score {
        name,
        weight: Some(prefer.weight.clone()),
        normalize: None,
        reversed: None,
        block: Block { statements, span },
    };
    Statement { kind: StatementKind::Score(score), ..statement }
}
