//! A tree that is written reads as the same tree.

use super::*;
use bayplan::diag::Span;
use bayplan::lang::syntax::ast::*;

/// A tree without places, and without brackets if they are not wanted.
fn bare(expr: &Expr, brackets: bool) -> Expr {
    let of = |expr: &Expr| bare(expr, brackets);
    let span = Span::default();
    let name = |name: &Name| Name { text: name.text.clone(), span };
    let args = |args: &[Arg]| args.iter().map(|arg| Arg { name: None, value: of(&arg.value) }).collect();
    let kind = match &expr.kind {
        ExprKind::Paren(inner) if !brackets => return of(inner),
        ExprKind::Paren(inner) => ExprKind::Paren(Box::new(of(inner))),
        ExprKind::Literal(_) | ExprKind::Name(_) => expr.kind.clone(),
        ExprKind::Call(call) => {
            ExprKind::Call(Call { function: name(&call.function), args: args(&call.args) })
        }
        ExprKind::Method(call) => ExprKind::Method(Box::new(MethodCall {
            object: of(&call.object),
            method: name(&call.method),
            args: args(&call.args),
        })),
        ExprKind::Field(access) => ExprKind::Field(Box::new(FieldAccess {
            object: of(&access.object),
            field: name(&access.field),
            optional: access.optional,
        })),
        ExprKind::Index(access) => ExprKind::Index(Box::new(IndexAccess {
            object: of(&access.object),
            index: of(&access.index),
            optional: access.optional,
        })),
        ExprKind::Unary(unary) => {
            ExprKind::Unary(Box::new(Unary { op: unary.op, operand: of(&unary.operand) }))
        }
        ExprKind::Binary(binary) => ExprKind::Binary(Box::new(Binary {
            op: binary.op,
            op_span: span,
            left: of(&binary.left),
            right: of(&binary.right),
        })),
        ExprKind::Conditional(choice) => ExprKind::Conditional(Box::new(Conditional {
            condition: of(&choice.condition),
            then: of(&choice.then),
            otherwise: of(&choice.otherwise),
        })),
        ExprKind::List(elements) => ExprKind::List(
            elements.iter().map(|one| Element { value: of(&one.value), optional: one.optional }).collect(),
        ),
        ExprKind::Map(entries) => ExprKind::Map(
            entries
                .iter()
                .map(|one| Entry { key: of(&one.key), value: of(&one.value), optional: one.optional })
                .collect(),
        ),
    };
    Expr { kind, span }
}

#[test]
fn what_is_written_reads_as_the_same_tree() {
    let mut dice = Dice(0x51ed_270b_a5c1_3f09);
    let mut texts: Vec<String> = expressions().into_iter().map(|(text, _)| text).collect();
    texts.extend((0..cases(2000)).map(|round| expression(&mut dice, 1 + round % 5)));
    let mut count = 0;
    for text in &texts {
        let Ok(expr) = of_cel(text) else { continue };
        let written = cel::write(&expr).unwrap();
        assert_eq!(bare(&of_cel(&written).unwrap(), true), bare(&expr, true), "{text}\n{written}");
        // A tree that nobody wrote has the brackets that it needs.
        let made = bare(&expr, false);
        let written = cel::write(&made).unwrap();
        let again = of_cel(&written).unwrap_or_else(|said| panic!("{text}\n{written}\n{said:?}"));
        assert_eq!(bare(&again, false), made, "{text}\n{written}");
        count += 1;
    }
    assert!(count > 3000, "{count}");
}

#[test]
fn brackets_are_written_where_they_are_needed() {
    for (text, wanted) in [
        ("(a || b) && ((c)) == (d + e)", "(a || b) && c == d + e"),
        ("(a - b) - (c - d)", "a - b - (c - d)"),
        ("!(!a) && -(-b)", "!(!a) && -(-b)"),
        ("-(5) + -(5.f()) - (-5)", "-(5) + -(5.f()) - -5"),
        ("(a ? b : c) ? (d ? e : f) : (g ? h : i)", "(a ? b : c) ? (d ? e : f) : g ? h : i"),
        ("((a).b)[(c)].f((d))", "a.b[c].f(d)"),
        ("('é\\n\\x00\"') + r'\\d'", "\"é\\n\\u0000\\\"\" + \"\\\\d\""),
        ("b'\\xffa' + {?a: [?b]}", "b\"\\xffa\" + {?a: [?b]}"),
        ("1e3 + 0x1fu + .5", "1000.0 + 31u + 0.5"),
    ] {
        assert_eq!(cel::write(&bare(&of_cel(text).unwrap(), false)).unwrap(), wanted);
    }
    for (text, places) in [
        ("a > 500m && b < 4Gi", vec![(4, 8), (16, 19)]),
        ("a ?? (b + 50%)", vec![(2, 4), (10, 13)]),
        ("a matches 'x' == none", vec![(2, 9), (17, 21)]),
        ("f(window: 5)", vec![(2, 8)]),
        ("m.`a-b` + 1h", vec![(2, 7), (10, 12)]),
    ] {
        let said = cel::write(&of_policies(text).unwrap()).unwrap_err();
        let found: Vec<_> = said.iter().map(|one| (one.span.start as usize, one.span.end as usize)).collect();
        assert_eq!(found, places, "{text}: {said:?}");
    }
}
