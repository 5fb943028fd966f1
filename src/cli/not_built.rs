//! Commands and options that the design of the command line has and this release has not: refused by name, with what to
//! do instead. Asked by `mod.rs` when the arguments are not understood; what is in these tables is no argument of ours.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Commands, and what does some of it.
const COMMANDS: [(&str, &str); 12] = [
    ("convert", ""),
    ("diff", "`dry-run` with the old and with the new policies shows what changes"),
    ("doctor", "`/readyz?verbose` of a running scheduler says what is wrong with it"),
    ("extender", ""),
    ("fmt", ""),
    ("init", "copy the folder `examples/first`"),
    ("lsp", "`lint --format json` says the same"),
    ("policies", "`kubectl get configmaps -A -l bayplan.dev/policy` lists them, with what became of each"),
    ("shadow", "`dry-run` of a live cluster decides and writes nothing"),
    ("simulate", "`dry-run` schedules the pending pods of a cluster"),
    ("snapshot", "`kubectl get nodes,pods,namespaces -A -o json` saves what the commands read"),
    ("webhook", "`lint` in CI says the same"),
];

/// Options of commands, and what does some of it.
const OPTIONS: [(&str, &str, &str); 7] = [
    ("eval", "--cel", "without it the expression is in the policy language"),
    ("explain", "--cause", "name a pod"),
    ("explain", "--fix", "what would help is said in words"),
    ("lint", "--cluster", "`dry-run --cluster FILE --policies PATH` shows what the policies do there"),
    ("plan", "--cluster", ""),
    ("plan", "--measure", "the bounds in steps are printed always"),
    ("test", "--mutate", "`test` says which conditions no case has seen both true and false"),
];

/// What is said of arguments that this release does not know but the design does; `None` of any others.
pub fn refused(error: &clap::Error, arguments: &[std::ffi::OsString]) -> Option<clap::Error> {
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
