//! Exceptions whose policy is in another text: `exception-ends` and `exception-without-effect` are found where the policy
//! is compiled. Both are supposed for comments to allow, so that a comment that allows one is not reported as unused.

use crate::syntax::ast::{File, ItemKind};
use bayplan_diag::{Diagnostic, Span, codes};

/// The exceptions of a file from policies that it does not have.
fn of_file(file: &File) -> impl Iterator<Item = Span> {
    file.items.iter().filter_map(|item| {
        let ItemKind::Except(except) = &item.kind else { return None };
        let (policy, _) = except.about()?;
        file.policies().all(|of| *of.name.text != *policy).then_some(item.span)
    })
}

/// Both findings for each of them.
pub(super) fn suppose(file: &File, diagnostics: &mut Vec<Diagnostic>) {
    for span in of_file(file) {
        let supposed = |code| Diagnostic::new(code, span, String::new());
        diagnostics.extend([supposed(&codes::EXCEPTION_ENDS), supposed(&codes::EXCEPTION_WITHOUT_EFFECT)]);
    }
}

/// Takes the supposed findings back.
pub(super) fn settle(file: &File, diagnostics: &mut Vec<Diagnostic>) {
    let spans: Vec<Span> = of_file(file).collect();
    let is_supposed = |said: &Diagnostic| {
        [&codes::EXCEPTION_ENDS, &codes::EXCEPTION_WITHOUT_EFFECT].contains(&said.code)
            && spans.contains(&said.span)
    };
    diagnostics.retain(|said| !is_supposed(said));
}
