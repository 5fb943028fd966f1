//! `bayplan help`: commands, and the reference offline (`reference` has the topics).

use super::{ExitStatus, Output};
use crate::reference::{Content, Found, TOPICS, Topic, topic};
use anyhow::bail;

/// Prints the help of a command, or a topic of the reference.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bayplan help language                 the guide to the policy language
  bayplan help fields node.free         a field, or what is below it
  bayplan help functions within         every form of a function
  bayplan help codes BP0105             a diagnostic, with a bad and a good example
  bayplan help dry-run                  a command")]
pub(super) struct Args {
    /// A command or a topic; without one the commands and topics are listed.
    topic: Option<String>,
    /// A field, function, code or statement to look up in the topic.
    word: Vec<String>,
    /// Print Markdown, as in the folder `docs`.
    #[arg(long)]
    markdown: bool,
}

/// Columns of text where the terminal has no width of its own.
const WIDTH: usize = 100;

/// The line below the title of a generated file.
const NOTE: &str = "Made from the tables of the program. `make golden` writes this file.";

/// Runs the command; `commands` is the command line of the program.
pub(super) fn run(args: &Args, commands: clap::Command, out: &mut Output) -> anyhow::Result<ExitStatus> {
    let Some(name) = &args.topic else {
        write!(out.stdout(), "{}\n{}", commands.clone().render_help(), topics())?;
        return Ok(ExitStatus::Success);
    };
    if let Some(command) = commands.get_subcommands().find(|command| command.get_name() == name) {
        if let Some(word) = args.word.first() {
            bail!(
                "the command `{name}` has no topic `{word}`: `{} help {name}` shows its options",
                out.program
            );
        }
        let mut command = command.clone().bin_name(format!("{} {name}", out.program));
        write!(out.stdout(), "{}", command.render_long_help())?;
        return Ok(ExitStatus::Success);
    }
    let found = topic(name).map_err(|near| {
        let commands = commands.get_subcommands().map(clap::Command::get_name);
        let near = near.or_else(|| crate::diag::suggest::nearest(name, commands));
        let near = near.map(|near| format!(" Did you mean `{near}`?")).unwrap_or_default();
        anyhow::anyhow!("no command or topic is called `{name}`.{near} `{} help` lists them", out.program)
    })?;
    let text = match args.word.is_empty() {
        true => whole(found, args.markdown, width(out)),
        false => looked_up(found, &args.word, args.markdown, out)?,
    };
    write!(out.stdout(), "{text}")?;
    Ok(ExitStatus::Success)
}

fn width(out: &Output) -> usize {
    out.width.unwrap_or(WIDTH).min(WIDTH)
}

/// Prints the page of one code, for `lint --explain`.
pub(super) fn code(wanted: &str, out: &mut Output) -> anyhow::Result<ExitStatus> {
    match crate::reference::code(wanted) {
        Found::Page(page) => {
            let text = page.plain(width(out));
            write!(out.stdout(), "{text}")?;
            Ok(ExitStatus::Success)
        }
        Found::Unknown { near } => {
            let near = near.map(|near| format!(" Did you mean `{near}`?")).unwrap_or_default();
            bail!(
                "no diagnostic has the code or name `{wanted}`.{near} `{} help codes` lists them",
                out.program
            )
        }
    }
}

/// The list of topics, below the commands.
fn topics() -> String {
    let wide = TOPICS.iter().map(|topic| usage(topic).len()).max().unwrap_or(0);
    let rows = TOPICS.iter().map(|topic| format!("  {:wide$}  {}\n", usage(topic), topic.summary));
    format!("Topics, for `bayplan help TOPIC`:\n{}", rows.collect::<String>())
}

fn usage(topic: &Topic) -> String {
    match &topic.content {
        Content::Guide(_) => topic.name.to_owned(),
        Content::Table { word, .. } => format!("{} [{word}]", topic.name),
    }
}

/// A whole topic.
fn whole(topic: &Topic, markdown: bool, width: usize) -> String {
    match &topic.content {
        Content::Guide(text) => (*text).to_owned(),
        Content::Table { page, .. } if markdown => page().markdown(NOTE),
        Content::Table { page, .. } => page().plain(width),
    }
}

/// Words of a topic, one page each.
fn looked_up(topic: &Topic, words: &[String], markdown: bool, out: &Output) -> anyhow::Result<String> {
    let Content::Table { look_up, .. } = &topic.content else {
        bail!("`{}` is a guide: `{} help {}` prints it whole", topic.name, out.program, topic.name);
    };
    let mut pages = Vec::new();
    for word in words {
        match look_up(word) {
            Found::Page(page) if markdown => pages.push(page.markdown("")),
            Found::Page(page) => pages.push(page.plain(width(out))),
            Found::Unknown { near } => {
                let near = near.map(|near| format!(" Did you mean `{near}`?")).unwrap_or_default();
                bail!(
                    "`{} help {}` has no `{word}`.{near} Without a word it lists all",
                    out.program,
                    topic.name
                );
            }
        }
    }
    Ok(pages.join("\n"))
}
