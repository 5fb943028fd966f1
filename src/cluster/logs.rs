//! Logs as kube-scheduler's users know them: klog's lines with fields, or JSON; `-v` says how much.

use std::fmt::{Debug, Write};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// How lines are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Format {
    /// klog's: `I1121 04:27:48.123456 4711 driver.rs:10] "message" field="value"`.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Which lines are written at a level of `-v`: 2 names every decision, 5 says why, 8 shows every request.
pub fn filter(verbosity: u8) -> String {
    let ours = match verbosity {
        0 | 1 => "info",
        2..=4 => "debug",
        _ => "trace",
    };
    // The client says at `error` what its callers report with more sense.
    let client = match verbosity {
        0..=7 => "kube_client=off",
        8 | 9 => "kube_client=debug",
        _ => "kube_client=trace,hyper_util=trace,rustls=debug",
    };
    format!("warn,bayplan={ours},{client}")
}

/// Starts writing logs to standard error. Does nothing when something writes logs already.
pub fn start(verbosity: u8, format: Format) {
    let filter = EnvFilter::new(filter(verbosity));
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let _ = match format {
        Format::Text => builder.event_format(Klog { pid: std::process::id() }).try_init(),
        Format::Json => builder.json().flatten_event(true).with_current_span(false).try_init(),
    };
}

/// klog's line.
struct Klog {
    pid: u32,
}

/// The message first, then the fields.
#[derive(Default)]
struct Fields {
    message: String,
    rest: String,
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            self.message.push_str(value);
        } else {
            let _ = write!(self.rest, " {}={value:?}", field.name());
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let text = format!("{value:?}");
        if field.name() == "message" {
            self.message.push_str(&text);
        } else if text.contains([' ', '=', '\n']) && !text.starts_with('"') {
            let _ = write!(self.rest, " {}={text:?}", field.name());
        } else {
            let _ = write!(self.rest, " {}={text}", field.name());
        }
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
        let meta = event.metadata();
        let letter = match *meta.level() {
            Level::ERROR => 'E',
            Level::WARN => 'W',
            _ => 'I',
        };
        let now = jiff::Timestamp::now().strftime("%m%d %H:%M:%S%.6f");
        let file = meta.file().unwrap_or("?").rsplit('/').next().unwrap_or("?");
        let line = meta.line().unwrap_or(0);
        writeln!(out, "{letter}{now} {:>7} {file}:{line}] {:?}{}", self.pid, fields.message, fields.rest)
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
    fn lines_look_like_klogs() {
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
