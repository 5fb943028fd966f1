//! Logs as users of kube-scheduler know them: klog's lines with fields, or JSON. `-v` sets the
//! level, which a PUT to `/debug/flags/v` changes.

use bayplan_diag::escape;
use std::fmt::{Debug, Write};
use std::sync::OnceLock;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::{FilterExt, FilterFn};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Registry, reload};

/// Changes the level of the logger of this process.
static LEVEL: OnceLock<reload::Handle<EnvFilter, Registry>> = OnceLock::new();

/// The format of log lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Format {
    /// klog's: `I1121 04:27:48.123456 4711 driver.rs:10] "message" field="value"`.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// The filter for a level of `-v`: 2 adds every decision, 5 the reasons, 8 the API requests.
pub(crate) fn filter(verbosity: u8) -> String {
    let ours = match verbosity {
        0 | 1 => "info",
        2..=4 => "debug",
        _ => "trace",
    };
    // The client logs errors that its callers report with more context.
    let client = match verbosity {
        0..=7 => "kube_client=off",
        8 | 9 => "kube_client=debug",
        _ => "kube_client=trace,hyper_util=trace,rustls=debug",
    };
    format!("warn,bayplan={ours},{client}")
}

/// Starts logging to standard error. Does nothing if a logger is set already. `modules` raise the
/// level of single files.
pub fn start(verbosity: u8, modules: Vec<Module>, format: Format) {
    let lines = tracing_subscriber::fmt::layer();
    let lines: Box<dyn Layer<Registry> + Send + Sync> = match format {
        Format::Text => {
            lines.with_writer(std::io::stderr).event_format(Klog { pid: std::process::id() }).boxed()
        }
        Format::Json => {
            let lines = lines.with_writer(|| JsonLines(std::io::stderr()));
            lines.json().flatten_event(true).with_current_span(false).boxed()
        }
    };
    let (usual, handle) = reload::Layer::new(EnvFilter::new(filter(verbosity)));
    let lines = match modules.is_empty() {
        true => lines.with_filter(usual).boxed(),
        false => {
            let raised = FilterFn::new(move |meta| modules.iter().any(|module| module.shows(meta)));
            lines.with_filter(usual.or(raised)).boxed()
        }
    };
    if tracing_subscriber::registry().with(lines).try_init().is_ok() {
        let _ = LEVEL.set(handle);
    }
}

/// Sets the level of `-v`, given as text; the levels of single files stay. `Ok` and `Err` are what the caller reads.
///
/// Source: `component-base/logs/logs.go`, `GlogSetter`.
pub(crate) fn set_level(text: &str) -> Result<String, String> {
    let level: u32 =
        text.parse().map_err(|_| format!("{text:?} is not a log level; send a number such as 4"))?;
    let Some(handle) = LEVEL.get() else { return Err("this process does not write its own log".into()) };
    let new = EnvFilter::new(filter(u8::try_from(level).unwrap_or(u8::MAX)));
    handle.reload(new).map_err(|error| format!("failed set klog.logging.verbosity {level}: {error}"))?;
    Ok(format!("successfully set klog.logging.verbosity to {level}"))
}

/// Writes JSON with JSON's escapes for what must not reach a terminal as it is.
struct JsonLines<W>(W);

impl<W: std::io::Write> std::io::Write for JsonLines<W> {
    /// Takes a whole line, as the subscriber writes it.
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        self.0.write_all(escape::json(&String::from_utf8_lossy(line)).as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

/// A log level for source files whose names match a pattern.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Module {
    pattern: String,
    level: u8,
}

/// Reads `PATTERN=LEVEL`.
pub fn module(text: &str) -> Result<Module, String> {
    let wrong = || format!("`{text}` does not have the form `file=5`");
    let (pattern, level) = text.split_once('=').ok_or_else(wrong)?;
    let level = level.parse().map_err(|_| wrong())?;
    if pattern.is_empty() { Err(wrong()) } else { Ok(Module { pattern: pattern.to_owned(), level }) }
}

impl Module {
    fn shows(&self, meta: &tracing::Metadata) -> bool {
        let most = match self.level {
            0 | 1 => Level::INFO,
            2..=4 => Level::DEBUG,
            _ => Level::TRACE,
        };
        let file = meta.file().unwrap_or_default().rsplit('/').next().unwrap_or_default();
        let ours = meta.target().starts_with("bayplan");
        ours && *meta.level() <= most && fits(&self.pattern, file.trim_end_matches(".rs"))
    }
}

/// Whether a name matches a pattern, in which `*` matches any characters and `?` one.
fn fits(pattern: &str, name: &str) -> bool {
    let Some(first) = pattern.chars().next() else { return name.is_empty() };
    let rest = &pattern[first.len_utf8()..];
    match first {
        '*' => name.char_indices().map(|(at, _)| at).chain([name.len()]).any(|at| fits(rest, &name[at..])),
        _ => match name.chars().next() {
            Some(letter) if first == '?' || first == letter => fits(rest, &name[letter.len_utf8()..]),
            _ => false,
        },
    }
}

/// klog's format.
struct Klog {
    pid: u32,
}

/// The message first, then the fields.
#[derive(Default)]
struct Fields {
    message: String,
    rest: String,
}

impl Fields {
    /// A value whose text can hold nothing but letters, digits and signs.
    fn plain(&mut self, field: &Field, value: impl std::fmt::Display) {
        let _ = write!(self.rest, " {}={value}", field.name());
    }
}

impl Visit for Fields {
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.plain(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.plain(field, value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.plain(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.plain(field, value);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            self.message.push_str(value);
        } else {
            let _ = write!(self.rest, " {}={value:?}", field.name());
        }
    }

    /// Quotes also what looks quoted: the value may be a text that a user wrote.
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
}

impl<S, N> FormatEvent<S, N> for Klog
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut out: Writer<'_>,
        event: &Event<'_>,
    ) -> std::fmt::Result {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let said = format!("{:?}{}", fields.message, fields.rest);
        let meta = event.metadata();
        let letter = match *meta.level() {
            Level::ERROR => 'E',
            Level::WARN => 'W',
            _ => 'I',
        };
        let now = jiff::Timestamp::now().strftime("%m%d %H:%M:%S%.6f");
        let file = meta.file().unwrap_or("?").rsplit('/').next().unwrap_or("?");
        let line = meta.line().unwrap_or(0);
        writeln!(out, "{letter}{now} {:>7} {file}:{line}] {}", self.pid, escape::line(&said))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Buffer(Arc<Mutex<Vec<u8>>>);

    impl std::io::Write for Buffer {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_somebody_else_wrote_is_escaped() {
        const HOSTILE: &str = "\u{1b}[2J\u{202e}\u{7f}\u{9b}\u{2028}x\ny";
        let hostile = |c: char| bayplan_diag::escape::is_unsafe(c) && c != '\n';
        for json in [false, true] {
            let buffer = Buffer::default();
            let writer = buffer.clone();
            let lines = tracing_subscriber::fmt();
            let log = || tracing::warn!(pod = HOSTILE, why = %HOSTILE, "{HOSTILE}");
            if json {
                let lines = lines.json().with_writer(move || JsonLines(writer.clone())).finish();
                tracing::subscriber::with_default(lines, log);
            } else {
                let lines = lines.event_format(Klog { pid: 7 }).with_writer(move || writer.clone()).finish();
                tracing::subscriber::with_default(lines, log);
            }
            let text = String::from_utf8(buffer.0.lock().unwrap().clone()).unwrap();
            assert!(!text.contains(hostile) && text.lines().count() == 1, "{text:?}");
            if json {
                let line: serde_json::Value = serde_json::from_str(&text).unwrap();
                assert_eq!(line["fields"]["pod"], HOSTILE);
            }
        }
    }

    #[test]
    fn no_value_can_pass_for_another_field() {
        let buffer = Buffer::default();
        let writer = buffer.clone();
        let subscriber = tracing_subscriber::fmt()
            .event_format(Klog { pid: 7 })
            .with_writer(move || writer.clone())
            .finish();
        tracing::subscriber::with_default(subscriber, || {
            let forged = "\"a\" user=\"admin\"";
            tracing::warn!(pod = %forged, name = forged, word = %"plain", truth = true, part = 0.5, "said");
        });
        let text = String::from_utf8(buffer.0.lock().unwrap().clone()).unwrap();
        let forged = "\"\\\"a\\\" user=\\\"admin\\\"\"";
        let end = format!("pod={forged} name={forged} word=\"plain\" truth=true part=0.5\n");
        assert!(text.ends_with(&end), "{text}");
    }

    #[test]
    fn patterns_select_files() {
        assert!(
            fits("policy*", "policy_source") && fits("*source", "policy_source") && fits("w?tch", "watch")
        );
        assert!(!fits("policy", "policy_source") && !fits("w?tch", "wtch") && fits("*", ""));
        assert!(module("watch=5").is_ok());
        for wrong in ["watch", "=5", "watch=much", "watch=-1"] {
            assert!(module(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn lines_have_the_format_of_klog() {
        let buffer = Buffer::default();
        let writer = buffer.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_env_filter(EnvFilter::new(filter(2)))
            .event_format(Klog { pid: 7 })
            .with_writer(move || writer.clone())
            .finish();
        tracing::subscriber::with_default(subscriber, || {
            tracing::warn!(pod = "n/p", count = 2, why = %"two words", "it waits");
            tracing::trace!("too fine for this level");
        });
        let text = String::from_utf8(buffer.0.lock().unwrap().clone()).unwrap();
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(text.starts_with('W') && text.contains("       7 logs.rs:"), "{text}");
        assert!(text.ends_with("] \"it waits\" pod=\"n/p\" count=2 why=\"two words\"\n"), "{text}");
    }
}
