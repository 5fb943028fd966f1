//! Commands and options that are designed but not built: refused by name, with what to do instead. `mod.rs`
//! looks here when it does not understand the arguments.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Commands, each with a partial replacement, or nothing.
const COMMANDS: [(&str, &str); 4] = [
    ("fmt", ""),
    ("lsp", "`lint --format json` gives the same diagnostics"),
    ("shadow", "`dry-run` of a live cluster decides and writes nothing"),
    ("simulate", "`dry-run` schedules the pending pods of a cluster"),
];

/// Options of commands, each with a partial replacement, or nothing.
const OPTIONS: [(&str, &str, &str); 3] = [
    ("plan", "--cluster", ""),
    ("plan", "--measure", "`plan` always prints the bounds in steps"),
    ("test", "--mutate", "`test` lists the conditions that no case has seen both true and false"),
];

/// The error for arguments that are designed but not built; `None` for all others.
pub(super) fn refused(error: &clap::Error, arguments: &[std::ffi::OsString]) -> Option<clap::Error> {
    let kind = error.kind();
    let context = match kind {
        ErrorKind::InvalidSubcommand => ContextKind::InvalidSubcommand,
        ErrorKind::UnknownArgument => ContextKind::InvalidArg,
        _ => return None,
    };
    let Some(ContextValue::String(word)) = error.get(context) else { return None };
    let word = word.split(['=', ' ']).next().unwrap_or(word);
    let help = match kind {
        ErrorKind::InvalidSubcommand => COMMANDS.iter().find(|(name, _)| *name == word)?.1,
        _ => {
            let of = |command: &str| arguments.iter().any(|argument| argument == command);
            OPTIONS.iter().find(|(command, option, _)| *option == word && of(command))?.2
        }
    };
    let then = if help.is_empty() { String::new() } else { format!("\n\n  help: {help}") };
    Some(clap::Error::raw(kind, format!("`{word}` is not built in this release{then}\n")))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use clap::{CommandFactory, Parser};

    #[test]
    fn what_is_not_built_is_refused_by_name_and_what_is_built_is_not_in_the_tables() {
        let lines = COMMANDS.iter().map(|(name, _)| (*name, vec!["bayplan", *name]));
        let options = OPTIONS.iter().map(|(command, option, _)| (*option, vec!["bayplan", command, option]));
        for (word, line) in lines.chain(options) {
            let error = crate::cli::Cli::try_parse_from(&line).expect_err(word);
            let arguments: Vec<_> = line.iter().map(std::ffi::OsString::from).collect();
            let said = refused(&error, &arguments).unwrap_or_else(|| panic!("{word}: {error}")).to_string();
            assert!(said.contains(&format!("`{word}` is not built")), "{said}");
        }
        let error = crate::cli::Cli::try_parse_from(["bayplan", "lnt"]).expect_err("no command");
        assert!(refused(&error, &[]).is_none());
        let built = crate::cli::Cli::command();
        assert!(built.get_subcommands().all(|of| COMMANDS.iter().all(|(name, _)| *name != of.get_name())));
    }
}
