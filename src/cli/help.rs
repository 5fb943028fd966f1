//! `bayplan help`: commands, and the reference offline (`reference` has the topics and finds words in them).

use super::{ExitStatus, Output};
use crate::reference::{Content, Found, Page, Part, TOPICS, Topic, search, topic};
use anyhow::bail;

/// Prints the help of a command, a topic of the reference, or whatever is known of a word.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bayplan help language                 the guide to the policy language
  bayplan help language groups          a section of it
  bayplan help within                   a function, statement, field, unit, metric or flag, wherever it is
  bayplan help BP0105                   a diagnostic, with a bad and a good example
  bayplan help fields node.free         a field, or what is below it
  bayplan help dry-run                  a command")]
pub(super) struct Args {
    /// A command, a topic or a word; without one the commands and topics are listed.
    #[arg(allow_hyphen_values = true)]
    topic: Option<String>,
    /// A field, function, code, statement or heading to look up in the topic.
    word: Vec<String>,
    /// Print Markdown, as in the folder `docs`.
    #[arg(long)]
    markdown: bool,
}

/// Columns of text where the terminal has no width of its own.
const WIDTH: usize = 100;

/// The line below the title of a generated file.
const NOTE: &str = "Made from the tables of the program. `make golden` writes this file.";

/// How many parts of topics are printed for a word; more are listed.
const PRINTED: usize = 3;

/// How many parts are listed.
const LISTED: usize = 12;

/// Runs the command; `commands` is the command line of the program.
pub(super) fn run(args: &Args, commands: clap::Command, out: &mut Output) -> anyhow::Result<ExitStatus> {
    let text = match &args.topic {
        None => format!("{}\n{}", super::printed(&commands.clone().render_help().to_string()), topics()),
        Some(name) => of_word(args, name, &commands, out)?,
    };
    out.page(&text)?;
    Ok(ExitStatus::Success)
}

/// What is known of a word: a command, a topic with further words, or what a search finds.
fn of_word(args: &Args, name: &str, commands: &clap::Command, out: &Output) -> anyhow::Result<String> {
    if let Some(command) = commands.get_subcommands().find(|command| command.get_name() == name) {
        if let Some(word) = args.word.first() {
            bail!(
                "the command `{name}` has no topic `{word}`: `{} help {name}` shows its options",
                out.program
            );
        }
        let mut command = command.clone().bin_name(format!("{} {name}", out.program));
        return Ok(super::printed(&command.render_long_help().to_string()));
    }
    match topic(name) {
        Ok(found) if args.word.is_empty() => Ok(whole(found, args.markdown, width(out))),
        Ok(found) => looked_up(found, &args.word, args.markdown, out),
        Err(near) => {
            let words: Vec<&str> =
                std::iter::once(name).chain(args.word.iter().map(String::as_str)).collect();
            found(&words.join(" "), near, args.markdown, commands, out)
        }
    }
}

fn width(out: &Output) -> usize {
    out.width.unwrap_or(WIDTH).min(WIDTH)
}

/// Prints the page of one code, for `lint --explain`.
pub(super) fn code(wanted: &str, out: &mut Output) -> anyhow::Result<ExitStatus> {
    match crate::reference::code(wanted) {
        Found::Page(page) => {
            let text = page.plain(width(out));
            out.page(&text)?;
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
    format!(
        "Topics, for `bayplan help TOPIC`; `bayplan help WORD` finds a word in all of them:\n{}",
        rows.collect::<String>()
    )
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
        Content::Guide(text) if markdown => (*text).to_owned(),
        Content::Table { page, .. } if markdown => page().markdown(NOTE),
        _ => topic.page().plain(width),
    }
}

/// Words of a topic: one page each of a table, one section of a guide.
fn looked_up(topic: &Topic, words: &[String], markdown: bool, out: &Output) -> anyhow::Result<String> {
    let form = |page: &Page| if markdown { page.markdown("") } else { page.plain(width(out)) };
    let sections = search::sections_of(topic, &words.join(" "));
    let Content::Table { look_up, .. } = &topic.content else {
        if sections.is_empty() {
            let headings = search::headings(topic);
            let near = crate::diag::suggest::nearest(&words.join(" "), headings.iter().map(String::as_str));
            let near = near.map(|near| format!(" Did you mean `{near}`?")).unwrap_or_default();
            bail!(
                "`{}` has no section `{}`.{near} `{} help {}` prints it whole",
                topic.name,
                words.join(" "),
                out.program,
                topic.name
            );
        }
        return Ok(sections.iter().map(form).collect::<Vec<_>>().join("\n"));
    };
    let mut pages = Vec::new();
    for word in words {
        match look_up(word) {
            Found::Page(page) => pages.push(form(&page)),
            Found::Unknown { .. } if !sections.is_empty() => {
                return Ok(sections.iter().map(form).collect::<Vec<_>>().join("\n"));
            }
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

/// What topics and the flags of commands say of a word.
fn found(
    word: &str,
    near: Option<&'static str>,
    markdown: bool,
    commands: &clap::Command,
    out: &Output,
) -> anyhow::Result<String> {
    let form = |page: &Page| if markdown { page.markdown("") } else { page.plain(width(out)) };
    let found = search::search(word);
    let flags = flags(word, commands);
    let mut printed: Vec<String> = flags.iter().map(form).collect();
    printed.extend(found.pages.iter().take(PRINTED).map(|part| form(&part.page)));
    let mut parts: Vec<&Part> = found.pages.iter().skip(PRINTED).chain(&found.sections).collect();
    if printed.is_empty() && !parts.is_empty() {
        let few = parts.len().min(PRINTED);
        printed.extend(parts.drain(..few).map(|part| form(&part.page)));
    }
    if printed.is_empty() && found.mentions.len() == 1 {
        printed.extend(found.mentions.iter().map(|part| form(&part.page)));
    } else if parts.is_empty() {
        parts.extend(&found.mentions);
    }
    if printed.is_empty() && parts.is_empty() {
        let names = commands.get_subcommands().map(clap::Command::get_name);
        let command = near.or_else(|| crate::diag::suggest::nearest(word, names));
        let mut near = found.near;
        near.extend(command.map(str::to_owned).filter(|name| !near.contains(name)));
        let near: Vec<String> = near.iter().map(|near| format!("`{near}`")).collect();
        let near = match near.split_last() {
            None => String::new(),
            Some((last, [])) => format!(" Did you mean {last}?"),
            Some((last, others)) => format!(" Did you mean {} or {last}?", others.join(", ")),
        };
        bail!("nothing is called `{word}`.{near} `{} help` lists commands and topics", out.program);
    }
    if !parts.is_empty() {
        printed.push(also(&parts, printed.is_empty(), word, out));
    }
    Ok(printed.join("\n"))
}

/// The commands that print further parts.
fn also(parts: &[&Part], alone: bool, word: &str, out: &Output) -> String {
    let head = if alone { format!("{word} is mentioned in:") } else { "See also:".to_owned() };
    let mut text = format!("{head}\n");
    for part in parts.iter().take(LISTED) {
        let words = super::setup::quoted(&part.words);
        text.push_str(&format!("  {} help {} {words}\n", out.program, part.topic.name));
    }
    if parts.len() > LISTED {
        text.push_str(&format!("  and {} more\n", parts.len() - LISTED));
    }
    text
}

/// The flag of a name, with the commands that have it.
fn flags(word: &str, commands: &clap::Command) -> Option<Page> {
    let name = word.strip_prefix("--").unwrap_or(word);
    let own = |command: &clap::Command| {
        let arg = command.get_arguments().find(|arg| arg.get_long() == Some(name) && !arg.is_hide_set())?;
        let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
        Some((command.get_name().to_owned(), help))
    };
    let mut rows: Vec<(String, String)> = Vec::new();
    for (command, help) in std::iter::once(commands).chain(commands.get_subcommands()).filter_map(own) {
        match rows.iter_mut().find(|(_, known)| *known == help) {
            Some((commands, _)) => commands.push_str(&format!(", {command}")),
            None => rows.push((command, help)),
        }
    }
    if rows.is_empty() {
        return None;
    }
    let mut page = Page::new(format!("--{name}"));
    page.table(&["commands", "meaning"], rows.into_iter().map(|(commands, help)| vec![commands, help]));
    Some(page)
}
