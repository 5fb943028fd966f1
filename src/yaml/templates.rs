//! Templates of charts: YAML with actions in double braces, which is YAML only when helm has filled them in.

use super::tree::At;
use bayplan_diag::{Diagnostic, SourceId, Span, codes};

/// What begins an action of a template.
const WORDS: [&str; 14] = [
    "if ",
    "else",
    "end",
    "range ",
    "with ",
    "include ",
    "define ",
    "template ",
    "toYaml ",
    "tpl ",
    "block ",
    "default ",
    "quote ",
    "required ",
];

/// The message about an action.
const MESSAGE: &str = "this is a template of a chart, and no YAML before helm fills it in";

/// The first action of a template in a text, outside of quoted texts: `{{ .Values.zone }}`.
pub fn template_in(text: &str) -> Option<At> {
    text.match_indices("{{").map(|(start, _)| start).find_map(|start| action(text, start))
}

/// The action that begins at a place.
fn action(text: &str, start: usize) -> Option<At> {
    let inside = text.get(start + 2..)?;
    let words = inside.strip_prefix('-').unwrap_or(inside).trim_start_matches(' ');
    let begins = words.starts_with(['.', '$', '/']) || WORDS.iter().any(|word| words.starts_with(word));
    let line = text.get(..start)?.rsplit('\n').next()?;
    let within_text = line.matches('"').count() % 2 == 1;
    let long = inside.find("}}")?;
    let one_line = !inside.get(..long)?.contains('\n') || words.starts_with('/');
    (begins && one_line && !within_text).then_some(At { start, end: start + 2 + long + 2 })
}

/// The action of a template at the line of a place at which the reader of YAML stopped, or above it.
pub(super) fn near(text: &str, at: usize) -> Option<At> {
    let end = text.get(at..)?.find('\n').map_or(text.len(), |end| at + end);
    let above = text.get(..at)?.rmatch_indices('\n').nth(2).map_or(0, |(line, _)| line);
    let mut starts = text.get(above..end)?.match_indices("{{");
    starts.find_map(|(start, _)| action(text, above + start))
}

/// The message about an action, with its text.
pub(super) fn message(action: &str) -> String {
    format!("{MESSAGE}: `{}`", action.lines().next().unwrap_or(""))
}

/// Whether a message is about an action.
pub(super) fn is_about_template(message: &str) -> bool {
    message.starts_with(MESSAGE)
}

/// The diagnostic about an action at a place.
pub(super) fn template(span: Span, message: String) -> Diagnostic {
    Diagnostic::new(&codes::BAD_YAML, span, message)
        .with_help("give what helm makes of it: `helm template CHART | bayplan lint -`")
}

/// The diagnostic about the first action of a text, outside of quoted texts.
pub fn template_of(source: SourceId, text: &str) -> Option<Diagnostic> {
    let At { start, end } = template_in(text)?;
    Some(template(Span::new(source, start, end), message(text.get(start..end)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_are_found_and_braces_in_texts_are_not() {
        for (text, found) in [
            ("name: {{ .Values.name }}", Some("{{ .Values.name }}")),
            ("{{- if .Values.on }}\na: 1\n{{- end }}", Some("{{- if .Values.on }}")),
            ("a: {{ include \"x\" . }}", Some("{{ include \"x\" . }}")),
            ("{{/* why\n not */}}", Some("{{/* why\n not */}}")),
            ("reject \"{{ .x }}\"", None),
            ("reject \"a {{b}} {c}\"", None),
            ("a: {{b: 1}: 2}", None),
        ] {
            let at = template_in(text);
            assert_eq!(at.and_then(|at| text.get(at.start..at.end)), found, "{text}");
        }
    }
}
