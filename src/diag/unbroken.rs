//! Commands to paste, which no line end may break: their blanks are others while a text is wrapped.
//!
//! Called by `draw` for notes, and by `cli` for the examples of a command.

/// A blank at which no line is broken.
const HELD: char = '\u{a0}';

/// How a command begins that people paste.
const COMMANDS: [&str; 4] = ["kubectl ", "bayplan ", "helm ", "kustomize "];

/// The text with its commands in backticks held together.
pub fn hold(text: &str) -> String {
    let parts = text.split('`').enumerate().map(|(at, part)| {
        let is_command = at % 2 == 1 && COMMANDS.iter().any(|command| part.starts_with(command));
        if is_command { whole(part) } else { part.to_owned() }
    });
    parts.collect::<Vec<_>>().join("`")
}

/// All of a text held together.
pub fn whole(text: &str) -> String {
    text.replace(' ', &HELD.to_string())
}

/// The text as it is printed.
pub fn release(text: &str) -> String {
    text.replace(HELD, " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_held_and_other_code_is_not() {
        let text = "write `a b`, or `kubectl get pods -A`";
        let held = hold(text);
        assert_eq!(
            held.split(' ').collect::<Vec<_>>(),
            ["write", "`a", "b`,", "or", "`kubectl\u{a0}get\u{a0}pods\u{a0}-A`"]
        );
        assert_eq!(release(&held), text);
    }
}
