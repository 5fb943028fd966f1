//! What a policy declares: params, variables, groups, ledgers, memos, sources.

use super::{Fields, PolicyWriter, put, unquote};
use crate::convert::expressions::To;
use crate::convert::yaml::{self, Item, Node};
use crate::convert::{NoTwin, absent, literals};
use crate::language::documents::ADD;
use crate::syntax::ast::*;
use bayplan_diag::Span;

impl PolicyWriter<'_, '_> {
    pub(super) fn param(&mut self, param: &Param, span: Span) -> Result<(), NoTwin> {
        let mut fields = Fields::new();
        put(&mut fields, "name", &param.name.text);
        let (value, unit) = match constant(&param.default) {
            Ok(known) => known,
            Err(no_twin) => self.folded(&param.name.text).ok_or(no_twin)?,
        };
        match &param.declared {
            Some(declared) => put(&mut fields, "type", &self.type_text(declared)),
            None => unit.into_iter().for_each(|unit| put(&mut fields, "type", unit)),
        }
        fields.push(("default".to_owned(), Node::Scalar(yaml::value(&value))));
        if let Some((low, high)) = &param.range {
            for (key, bound) in [("min", low), ("max", high)] {
                let value = literals::as_value(&bound.value)
                    .ok_or_else(|| NoTwin::new(bound.span, "documents have no such end of a range"))?;
                fields.push((key.to_owned(), Node::Scalar(yaml::value(&value.0))));
            }
        }
        self.add("params", span, fields);
        Ok(())
    }

    /// The value of a param whose default is computed.
    pub(super) fn folded(&self, name: &Text) -> Option<(serde_json::Value, Option<&'static str>)> {
        let To::Cel { types, .. } = self.to else { return None };
        let (value, ty) = types.defaults.get(name)?;
        literals::as_value(&literals::of_constant(value, ty)?)
    }

    pub(super) fn variable(&mut self, of: &Let, span: Span) -> Result<(), NoTwin> {
        let mut fields = Fields::new();
        let renamed = self.renamed.get(&of.name.text).and_then(|name| name.strip_prefix("variables."));
        put(&mut fields, "name", renamed.unwrap_or(&of.name.text));
        // Without `missing` the variable is an optional of CEL; with it, the value that is there.
        let optional = of.missing.is_none() && self.writer().let_may_be_absent(of);
        // An optional has no type that could be written.
        if let Some(declared) = of.declared.as_ref().filter(|_| !optional) {
            put(&mut fields, "type", &self.type_text(declared));
        }
        // A let does not name itself: what has its name is another one.
        let mut writer = self.writer();
        let text =
            if optional { absent::optional(&mut writer, &of.value)? } else { writer.expr(&of.value)? };
        put(&mut fields, "expression", &text);
        match &of.missing {
            None => {}
            Some((Missing::Skip, _)) => put(&mut fields, "missing", "skip"),
            Some((Missing::Error, _)) => put(&mut fields, "missing", "error"),
            Some((Missing::Reject(reason), _)) => {
                let mut inner = Fields::new();
                self.reason(&mut inner, "reject", reason)?;
                fields.push(("missing".to_owned(), Node::Map(inner)));
            }
        }
        self.add("variables", span, fields);
        Ok(())
    }

    pub(super) fn ledger(&mut self, ledger: &Ledger, span: Span) -> Result<(), NoTwin> {
        let mut fields = Fields::new();
        put(&mut fields, "name", &ledger.name.text);
        put(&mut fields, "type", &self.type_text(&ledger.declared));
        put(&mut fields, "by", &self.cel(&ledger.key)?);
        unquote(&mut fields, "by", &ledger.key);
        let mut items = Vec::new();
        for statement in self.without_lets(&ledger.block)? {
            let fields = self.block_fields(statement, &ADD)?;
            items.push(Item { comments: self.remarks.take(statement.span), fields });
        }
        fields.push(("adds".to_owned(), Node::List(items)));
        self.add("ledgers", span, fields);
        Ok(())
    }

    /// A duration, as a text such as `60s` where it is one.
    pub(super) fn duration(&mut self, of: &Expr) -> Result<String, NoTwin> {
        match &of.kind {
            ExprKind::Literal(Literal::Duration(long)) => Ok(literals::duration(*long)),
            _ => self.cel(of),
        }
    }

    pub(super) fn source(&mut self, source: &SourceDecl, span: Span) -> Result<(), NoTwin> {
        let mut fields = Fields::new();
        put(&mut fields, "name", &source.name.text);
        let ExprKind::Call(call) = &source.value.kind else { return Ok(()) };
        for (field, argument) in [("window", "window"), ("maxAge", "max_age")] {
            let named = |arg: &&Arg| arg.name.as_ref().is_some_and(|name| *name.text == *argument);
            let length = match call.args.iter().find(named).map(|arg| &arg.value) {
                Some(Expr { kind: ExprKind::Literal(Literal::Duration(long)), .. }) => {
                    literals::duration(*long)
                }
                Some(length) => self.cel(length)?,
                None => continue,
            };
            put(&mut fields, field, &length);
        }
        self.add("sources", span, fields);
        Ok(())
    }
}

/// A default as a value, with the type that it needs beside it.
fn constant(expr: &Expr) -> Result<(serde_json::Value, Option<&'static str>), NoTwin> {
    let no_twin =
        || NoTwin::new(expr.span, "the default of a param of a document is a value, not an expression");
    match &expr.kind {
        ExprKind::Literal(literal) => literals::as_value(literal).ok_or_else(no_twin),
        ExprKind::Paren(inner) => constant(inner),
        ExprKind::List(elements) => {
            let items: Result<Vec<_>, _> =
                elements.iter().map(|element| constant(&element.value).map(|(value, _)| value)).collect();
            Ok((serde_json::Value::Array(items?), None))
        }
        ExprKind::Map(entries) => {
            let mut map = serde_json::Map::new();
            for entry in entries {
                let ExprKind::Literal(Literal::String(key)) = &entry.key.kind else { return Err(no_twin()) };
                map.insert(key.to_string(), constant(&entry.value)?.0);
            }
            Ok((serde_json::Value::Object(map), None))
        }
        _ => Err(no_twin()),
    }
}
