//! The command line. Each command has a file with its `Args` and its `run`. Data goes to stdout, everything
//! else to stderr. The exit status is 0 (success), 1 (findings) or 2 (the command failed).
//!
//! To add a command, write `<command>.rs`, and add a variant and its arm below.

mod output;
mod durations;
mod input;
mod setup;
#[cfg(feature = "cluster")]
mod live;
mod init;
mod lint;
mod test;
pub(crate) mod eval;
mod plan;
mod plan_events;
mod policy_rights;
mod diff;
mod dry_run;
mod explain;
mod snapshot;
mod page;
mod version;
#[cfg(feature = "cluster")]
mod webhook;
mod completions;
mod man;
mod convert;
mod schema;
mod help;
mod not_built;
mod progress;
mod project;
#[cfg(feature = "cluster")]
mod run;
#[cfg(feature = "cluster")]
mod answering;
mod at_once;
#[cfg(feature = "cluster")]
mod extender;
#[cfg(feature = "cluster")]
mod policies;
#[cfg(feature = "cluster")]
mod doctor;
#[cfg(feature = "cluster")]
mod ui;
#[cfg(feature = "cluster")]
mod rbac;
#[cfg(feature = "cluster")]
mod run_args;
#[cfg(feature = "cluster")]
mod run_flags;

pub use output::{Column, Output, Style, Table};

use crate::diag::{escape, unbroken};
use anyhow::Context;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

/// How a command ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExitStatus {
    /// Success.
    Success = 0,
    /// The command has findings: lint errors, failed tests, a waiting pod with `--fail-on unschedulable`.
    Findings = 1,
    /// The command failed: bad arguments, unreadable input.
    Failure = 2,
}

/// A Kubernetes scheduler whose rules you write, test, preview and explain.
#[derive(Parser, Debug)]
#[command(
    name = "bayplan",
    bin_name = "bayplan",
    disable_version_flag = true,
    disable_help_subcommand = true,
    arg_required_else_help = true,
    after_help = "Examples:
  bayplan dry-run --cluster cluster.yaml --policies policies/     where the pods go, and why
  bayplan explain train-c --cluster cluster.yaml                  why one of them waits
  bayplan explain train-c -n shop                                 the same of a live cluster
  bayplan lint policies/ && bayplan test policies/                what CI will say"
)]
pub struct Cli {
    /// When to colour the output.
    #[arg(long, global = true, value_enum, default_value_t = ColorChoice::Auto, hide_possible_values = true)]
    color: ColorChoice,
    /// Print the first line only.
    #[arg(long, short, global = true)]
    quiet: bool,
    /// Tell mistakes in sentences instead of drawing them, for screen readers.
    #[arg(long, global = true)]
    no_graphics: bool,
    /// Print versions, as the command `version` does.
    #[arg(long, short = 'V')]
    version: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

/// When to colour.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum ColorChoice {
    /// On terminals other than `TERM=dumb`, unless `NO_COLOR` is set, and everywhere with `FORCE_COLOR`.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The commands, in the order of the help.
#[derive(Subcommand, Debug)]
enum Command {
    /// Schedules a cluster.
    #[cfg(feature = "cluster")]
    Run(Box<run::Args>),
    /// Answers an unmodified kube-scheduler as its extender, by the policies.
    #[cfg(feature = "cluster")]
    Extender(Box<extender::Args>),
    /// Judges changes of policies for the API server before they act.
    #[cfg(feature = "cluster")]
    Webhook(Box<webhook::Args>),
    /// Makes a repository of policies: a first one with its test, and what checks each change.
    Init(init::Args),
    /// Schedules the pending pods of a cluster, live or given as files; binds nothing.
    DryRun(dry_run::Args),
    /// Shows what a change of policies means and does, or what an upgrade of kube-scheduler would do.
    Diff(diff::Args),
    /// Explains why a pod waits and what would help, or why it is where it is.
    Explain(explain::Args),
    /// Saves what decisions read of a cluster in one file: objects, configuration and policies.
    Snapshot(snapshot::Args),
    /// Serves the bay plan of a cluster to browsers of this host, as it changes, and tries policies on it; writes nothing.
    #[cfg(feature = "cluster")]
    Ui(Box<ui::Args>),
    /// Checks policies and reports every mistake with its place and a way out.
    Lint(lint::Args),
    /// Runs tests of policies: every case of the `*.test.yaml` files.
    Test(test::Args),
    /// Evaluates an expression of the policy language for a pod and a node.
    Eval(eval::Args),
    /// Shows what policies compile to: stages, what they read, what wakes a pod.
    Plan(plan::Args),
    /// Lists the policies of a live cluster, and switches them off, on or back.
    #[cfg(feature = "cluster")]
    Policies(policies::Args),
    /// Checks an installation in a live cluster, and says what to do.
    #[cfg(feature = "cluster")]
    Doctor(doctor::Args),
    /// Prints the roles with the rights that a scheduler or an extender needs.
    #[cfg(feature = "cluster")]
    Rbac(Box<rbac::Args>),
    /// Prints the help of a command, or a topic of the reference: the language, fields, codes, …
    Help(help::Args),
    /// Converts policies between the policy language and YAML documents.
    Convert(convert::Args),
    /// Prints the JSON schema of policies that are written as YAML or JSON documents.
    Schema(schema::Args),
    /// Prints versions: of the program, the language, and Kubernetes.
    Version(version::Args),
    /// Prints a completion script for a shell.
    Completions(completions::Args),
    /// Writes man pages into a folder.
    Man(man::Args),
}

/// The name that people type.
const PROGRAM: &str = "bayplan";
/// The name that people type when kubectl starts us as its plugin, `kubectl-bayplan`.
const PLUGIN: &str = "kubectl bayplan";

/// The name that people typed, by the name of the executable.
fn program(name: Option<&std::ffi::OsString>) -> &'static str {
    let name = name.map(std::path::Path::new).and_then(|path| path.file_stem()?.to_str());
    if name == Some("kubectl-bayplan") { PLUGIN } else { PROGRAM }
}

/// The command line, with the name that people type in usage and examples.
fn command(program: &'static str) -> clap::Command {
    fn renamed(command: clap::Command, program: &str) -> clap::Command {
        let examples = command.get_after_help().map(|help| help.to_string());
        let command = match examples {
            Some(examples) => command.after_help(examples.replace("bayplan ", &format!("{program} "))),
            None => command,
        };
        command.mut_subcommands(|command| renamed(command, program))
    }
    let command = Cli::command();
    unbroken(if program == PROGRAM { command } else { renamed(command.bin_name(program), program) })
}

/// The command with examples that are not wrapped, so that they can be pasted. [`printed`] prints its help.
fn unbroken(command: clap::Command) -> clap::Command {
    let examples = command.get_after_help().map(|help| help.to_string());
    let line = |line: &str| if line.starts_with("  ") { unbroken::whole(line) } else { line.to_owned() };
    let command = match examples {
        Some(examples) => command.after_help(examples.lines().map(line).collect::<Vec<_>>().join("\n")),
        None => command,
    };
    command.mut_subcommands(unbroken)
}

/// A help as it is printed.
fn printed(help: &str) -> String {
    unbroken::release(help)
}

/// Runs the command line `arguments`, whose first one is the name of the program.
pub fn main(arguments: impl IntoIterator<Item = std::ffi::OsString>) -> ExitStatus {
    let arguments: Vec<std::ffi::OsString> = arguments.into_iter().collect();
    let program = program(arguments.first());
    let parsed = command(program)
        .try_get_matches_from(&arguments)
        .and_then(|mut matches| Cli::from_arg_matches_mut(&mut matches));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => return not_understood(&error, &arguments),
    };
    let mut out = Output::for_process(cli.color, cli.quiet, cli.no_graphics);
    out.program = program;
    let asked = match cli.command {
        Some(command) => command,
        None if cli.version => Command::Version(version::Args::default()),
        None => return not_understood(&no_command(program), &arguments),
    };
    let ended = match asked {
        #[cfg(feature = "cluster")]
        Command::Run(args) => run::run(&args, &mut out),
        #[cfg(feature = "cluster")]
        Command::Extender(args) => extender::run(&args, &mut out),
        #[cfg(feature = "cluster")]
        Command::Webhook(args) => webhook::run(&args, &mut out),
        Command::Init(args) => init::run(&args, &mut out),
        Command::DryRun(args) => dry_run::run(&args.with_version(), &mut out),
        Command::Diff(args) => diff::run(&args, &mut out),
        Command::Explain(args) => explain::run(&args.with_version(), &mut out),
        Command::Snapshot(args) => snapshot::run(&args.with_version(), &mut out),
        #[cfg(feature = "cluster")]
        Command::Ui(args) => ui::run(&args.with_version(), &mut out),
        Command::Lint(args) => lint::run(&args, &mut out),
        Command::Test(args) => test::run(&args, &mut out),
        Command::Eval(args) => eval::run(&args, &mut out),
        Command::Plan(args) => plan::run(&args, &mut out),
        #[cfg(feature = "cluster")]
        Command::Policies(args) => policies::run(&args, &mut out),
        #[cfg(feature = "cluster")]
        Command::Doctor(args) => doctor::run(&args, &mut out),
        #[cfg(feature = "cluster")]
        Command::Rbac(args) => rbac::run(&args, &mut out),
        Command::Help(args) => help::run(&args, command(program), &mut out),
        Command::Convert(args) => convert::run(&args, &mut out),
        Command::Schema(args) => schema::run(&args, &mut out),
        Command::Version(args) => version::run(&args, &mut out),
        Command::Completions(args) => completions::run(&args, &mut out),
        Command::Man(args) => man::run(&args),
    };
    let ended = ended.and_then(|status| {
        out.finish().context("cannot write the output")?;
        Ok(status)
    });
    ended.unwrap_or_else(|error| {
        out.error(&error);
        ExitStatus::Failure
    })
}

/// The error of a command line that names no command.
fn no_command(program: &'static str) -> clap::Error {
    command(program).error(ErrorKind::MissingSubcommand, "name a command")
}

/// Prints clap's message about arguments that it does not understand, or the requested help.
fn not_understood(error: &clap::Error, arguments: &[std::ffi::OsString]) -> ExitStatus {
    let refused = not_built::refused(error, arguments);
    let error = refused.as_ref().unwrap_or(error);
    let mut out = Output::for_process(ColorChoice::Auto, false, false);
    #[cfg(feature = "cluster")]
    if let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg)
        && let Some(refusal) = run_flags::refusal(argument)
    {
        let _ = writeln!(out.stderr(), "error: {refusal}");
        return ExitStatus::Failure;
    }
    // The text repeats arguments: each of its lines is ours once these are escaped in it.
    let rendered = error.render();
    let harmless = |text: &str| printed(&without_hostile(text, arguments));
    if error.use_stderr() {
        let _ = match out.stderr_colour {
            true => out.trusted_on_stderr(harmless(&rendered.ansi().to_string()).as_bytes()),
            false => write!(out.stderr(), "{}", harmless(&rendered.to_string())),
        };
        if let Some(flag) = takes_one(error, arguments) {
            let _ = writeln!(
                out.stderr(),
                "\n  help: `{flag}` takes one value: repeat it, as in `{flag} a {flag} b`"
            );
        }
        return ExitStatus::Failure;
    }
    let _ = match out.colour {
        true => out.trusted(harmless(&rendered.ansi().to_string()).as_bytes()),
        false => write!(out.stdout(), "{}", harmless(&rendered.to_string())),
    };
    match out.finish() {
        Ok(()) => ExitStatus::Success,
        Err(error) => {
            out.error(&anyhow::Error::new(error).context("cannot write the output"));
            ExitStatus::Failure
        }
    }
}

/// The flag that was given several values, if an argument is not understood for that.
fn takes_one(error: &clap::Error, arguments: &[std::ffi::OsString]) -> Option<&'static str> {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidArg) else { return None };
    if error.kind() != ErrorKind::UnknownArgument || word.starts_with('-') {
        return None;
    }
    let before = arguments.iter().position(|argument| argument.to_str() == Some(word))?;
    let flags = ["--cluster", "--policies", "--pods"].into_iter();
    let place = |flag: &str| arguments.get(..before)?.iter().rposition(|argument| argument == flag);
    flags.filter_map(|flag| Some((place(flag)?, flag))).max().map(|(_, flag)| flag)
}

/// A text in which clap repeats arguments, with what must not be printed of them escaped.
fn without_hostile(text: &str, arguments: &[std::ffi::OsString]) -> String {
    let mut text = text.to_owned();
    for argument in arguments {
        let argument = argument.to_string_lossy();
        let value = argument.split_once('=').map_or("", |(_, value)| value);
        for part in [argument.as_ref(), value] {
            if part.contains(escape::is_unsafe) {
                text = text.replace(part, &escape::line(part));
            }
        }
    }
    text
}

/// Prints the message of a panic. It may contain untrusted text, so it is escaped as every other text.
pub fn panicked(panic: &std::panic::PanicHookInfo<'_>) {
    let mut out = Output::for_process(ColorChoice::Never, false, false);
    let thread = std::thread::current();
    let _ = writeln!(out.stderr(), "thread `{}` {panic}", thread.name().unwrap_or("unnamed"));
    let _ = writeln!(out.stderr(), "This is a mistake in bayplan; RUST_BACKTRACE=1 shows where it happened.");
    let trace = std::backtrace::Backtrace::capture();
    if trace.status() == std::backtrace::BacktraceStatus::Captured {
        let _ = writeln!(out.stderr(), "{trace}");
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use clap::CommandFactory;

    /// The words of the first command of ours in a line of examples; text after two blanks is its comment.
    fn words(line: &str) -> Option<Vec<String>> {
        let line = line.get(line.find("bayplan ")?..)?;
        let mut words = vec![String::new()];
        let mut quote = None;
        let mut blanks = 0;
        for c in line.chars() {
            match (quote, c) {
                (Some(open), c) if c == open => quote = None,
                (None, '\'' | '"') => quote = Some(c),
                (None, '|' | '&' | ')' | ';' | '>') => break,
                (None, ' ') => {
                    blanks += 1;
                    if blanks == 2 {
                        break;
                    }
                    words.push(String::new());
                    continue;
                }
                (_, c) => words.last_mut().expect("there is one").push(c),
            }
            blanks = 0;
        }
        words.retain(|word| !word.is_empty());
        Some(words)
    }

    #[test]
    fn every_command_has_examples_and_each_is_understood() {
        let cli = Cli::command();
        let mut commands: Vec<&clap::Command> = cli.get_subcommands().collect();
        commands.push(&cli);
        for command in commands {
            let name = command.get_name();
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let is_ours =
                |line: &&str| line.starts_with("  ") && !line.trim_start().starts_with("kubectl get ");
            let lines: Vec<&str> = help.lines().filter(is_ours).collect();
            assert!(!lines.is_empty(), "{name} has no example");
            for line in lines {
                let words = words(line).unwrap_or_else(|| panic!("{name}: no command of ours in `{line}`"));
                if let Err(error) = Cli::try_parse_from(&words) {
                    panic!("{name}: `{line}` is not understood: {error}");
                }
                assert!(name == "bayplan" || words[1] == name, "{name}: `{line}` shows another command");
            }
        }
    }

    #[test]
    fn the_description_of_the_arguments_is_sound() {
        Cli::command().debug_assert();
    }
}
