//! `permit`: its rejections and waits.

use super::Checker;
use super::scope::{DeclKind, Place, State};
use crate::language::statements::StatementId;
use crate::syntax::ast::{self, BlockKind};
use crate::typed::reads::RuleReads;
use crate::typed::{Expr, ExprKind, GroupId, Let, Permit, Wait};
use crate::types::Type;
use crate::types::value::Value;
use bayplan_diag::{Diagnostic, codes};

/// A pod waits at most 15 minutes at permit.
const LONGEST_WAIT: i64 = 15 * 60 * 1_000_000;

impl<'a> Checker<'a> {
    pub(super) fn permit(&mut self, block: &'a ast::Block) -> Permit {
        self.enter(Place::In(StatementId::Permit));
        let (mut checks, mut waits) = (Vec::new(), Vec::new());
        for statement in &block.statements {
            match &statement.kind {
                BlockKind::Let(of) => self.block_let(of),
                BlockKind::Reject(reject) => {
                    let check = self.reject(reject, statement);
                    checks.push(check);
                }
                BlockKind::Wait(wait) => {
                    let wait = self.wait(wait, statement);
                    waits.push(wait);
                }
                other => self.refused_in_block(other, statement.span),
            }
        }
        self.leave();
        Permit { checks, waits }
    }

    fn wait(&mut self, wait: &'a ast::Wait, statement: &ast::BlockStatement) -> Wait {
        let patience = self.expr(&wait.patience, Some(&Type::Duration));
        let patience = self.fit(patience, &Type::Duration, "`wait`");
        if let Some(Value::Int(long)) = self.constant(&patience)
            && long > LONGEST_WAIT
            && patience.ty == Type::Duration
        {
            let text = self.excerpt(patience.span);
            self.mistake(
                &codes::WAIT_TOO_LONG,
                patience.span,
                format!("`{text}` is longer than 15 minutes"),
                "a pod that waits at permit holds its room on the node: at most `15min`",
            );
        }
        let group = wait.group.as_ref().and_then(|name| self.wait_group(name));
        let mark = self.frame.facts.mark();
        let until = self.condition(&wait.until);
        if wait.group.is_none()
            && let Some(group) = asked_group(&until, &self.declared.lets)
        {
            let name = self.declared.groups[group.index()].name.clone();
            self.mistake(
                &codes::WAIT_WITHOUT_FOR,
                wait.until.span,
                format!("each member of `{name}` waits on its own"),
                format!("`wait {} for {name} until …`", self.excerpt(wait.patience.span)),
            );
        }
        self.assume(&until, false);
        let reason = self.reason(&wait.reason);
        self.frame.facts.forget(mark);
        let on_error = self.on_error(statement);
        Wait { patience, group, until, reason, reads: RuleReads::default(), on_error, span: statement.span }
    }

    /// The group that a `wait` is for: membership must be mutual.
    fn wait_group(&mut self, name: &ast::Name) -> Option<GroupId> {
        let id = self.named_group(name)?;
        if !self.declared.groups[id.index()].mutual {
            let declared = self.declared.groups[id.index()].span;
            self.report(
                Diagnostic::new(
                    &codes::GROUP_NOT_MUTUAL,
                    name.span,
                    format!("not every member of `{}` has the same group", name.text),
                )
                .with_place(declared, "declared here")
                .with_help(
                    "the condition may hold `p.path == pod.path` only, with the same path on both sides",
                ),
            );
        }
        Some(id)
    }

    /// A group by its name; reports a name that is none.
    pub(super) fn named_group(&mut self, name: &ast::Name) -> Option<GroupId> {
        let id = self.names.get(&name.text).copied();
        let state = match id {
            Some(id) if matches!(self.decls[id.index()].kind, DeclKind::Group(_) | DeclKind::Lost) => {
                self.resolve(id, name.span)
            }
            _ => {
                let groups = self.decls.iter().filter(|decl| matches!(decl.kind, DeclKind::Group(_)));
                let near = self.nearest(&name.text, groups.map(|decl| &*decl.name.text));
                let help = match near {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "declare it: `group NAME = p in pods where …`".to_owned(),
                };
                let message = format!("no group is called `{}`", name.text);
                self.mistake(&codes::UNKNOWN_NAME, name.span, message, help);
                return None;
            }
        };
        match state {
            State::Group(id) => Some(id),
            _ => None,
        }
    }
}

/// The group whose members a condition counts, when it counts one.
fn asked_group(expr: &Expr, lets: &[Let]) -> Option<GroupId> {
    match &expr.kind {
        ExprKind::Group(id) => Some(*id),
        ExprKind::Let(id) => asked_group(&lets[id.index()].value, lets),
        ExprKind::Macro(of) => asked_group(&of.over, lets),
        ExprKind::Call(_, args, _) | ExprKind::CallDef(_, args) => {
            args.iter().find_map(|arg| asked_group(arg, lets))
        }
        ExprKind::Compare(_, left, right)
        | ExprKind::Equal(left, right)
        | ExprKind::And(left, right)
        | ExprKind::Or(left, right)
        | ExprKind::Arithmetic(_, left, right)
        | ExprKind::Coalesce(left, right) => asked_group(left, lets).or_else(|| asked_group(right, lets)),
        ExprKind::Not(inner) | ExprKind::Present(inner) | ExprKind::Widen(inner) => asked_group(inner, lets),
        _ => None,
    }
}
