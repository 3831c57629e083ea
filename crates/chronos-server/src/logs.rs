//! The log: one line an event on standard error, for people on a terminal, as JSON elsewhere.

use std::fmt::{self, Write};
use std::io::{self, IsTerminal};
use std::panic::PanicHookInfo;

use anstyle::Style;
use tracing::Subscriber;
use tracing::field::Field;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::field::MakeExt;
use tracing_subscriber::fmt::format::{Writer, debug_fn};

use crate::config::LogFormat;
use crate::text::Line;

const NAME: Style = Style::new().dimmed();

/// Why there is no log.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The filter cannot be read.
    #[error("log filter: {0}")]
    Filter(#[from] tracing_subscriber::filter::ParseError),
    /// Somebody else has set one up.
    #[error("the log is set up already")]
    SetUpBefore,
}

/// Sets the log of this process up, once; a panic becomes an event like any other.
pub fn init(filter: &str, format: LogFormat) -> Result<(), Error> {
    let terminal = io::stderr().is_terminal();
    let pretty = match format {
        LogFormat::Auto => terminal,
        LogFormat::Pretty => true,
        LogFormat::Json => false,
    };
    let filter = EnvFilter::try_new(filter)?;
    let log = if pretty {
        // The stream itself knows NO_COLOR and its like.
        let colour = anstream::AutoStream::choice(&io::stderr()) != anstream::ColorChoice::Never;
        tracing::subscriber::set_global_default(for_people(filter, colour, io::stderr))
    } else {
        tracing::subscriber::set_global_default(for_machines(filter, io::stderr))
    };
    log.map_err(|_| Error::SetUpBefore)?;
    std::panic::set_hook(Box::new(record_panic));
    Ok(())
}

fn for_people<W>(filter: EnvFilter, colour: bool, writer: W) -> impl Subscriber + Send + Sync
where
    W: for<'a> tracing_subscriber::fmt::MakeWriter<'a> + Send + Sync + 'static,
{
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer);
    log.with_ansi(colour).fmt_fields(debug_fn(write_field).delimited(" ")).finish()
}

fn for_machines<W>(filter: EnvFilter, writer: W) -> impl Subscriber + Send + Sync
where
    W: for<'a> tracing_subscriber::fmt::MakeWriter<'a> + Send + Sync + 'static,
{
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer);
    log.json().flatten_event(true).finish()
}

/// A job's name or error may hold line ends and escapes; a log line stays one line.
fn write_field(writer: &mut Writer<'_>, field: &Field, value: &dyn fmt::Debug) -> fmt::Result {
    if field.name() != "message" {
        let name = if writer.has_ansi_escapes() { NAME } else { Style::new() };
        write!(writer, "{name}{}={name:#}", field.name())?;
    }
    write!(Line(writer), "{value:?}")
}

fn record_panic(panic: &PanicHookInfo<'_>) {
    let said = panic.payload_as_str().unwrap_or("a panic without words");
    let at = panic.location().map(ToString::to_string);
    tracing::error!(panic = said, at, "Panicked");
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    const HOSTILE: &str = "x\nERROR forged\r\u{1b}[2J\u{202e}";

    #[derive(Clone, Default)]
    struct Buffer(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Buffer {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Buffer {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }
    }

    fn log_something_hostile() {
        let error = HOSTILE.to_owned();
        tracing::warn!(job = %HOSTILE, error, attempt = 2, "Job failed");
        tracing::debug!("not at this level");
    }

    #[test]
    fn a_line_for_people_stays_one_line_whatever_a_job_is_called() {
        let buffer = Buffer::default();
        let writer = buffer.clone();
        let log = for_people(EnvFilter::new("info"), false, move || writer.clone());
        tracing::subscriber::with_default(log, log_something_hostile);
        let text = buffer.text();
        assert_eq!(text.matches('\n').count(), 1, "{text}");
        assert!(!text.contains(['\r', '\u{1b}', '\u{202e}']), "{text}");
        assert!(text.contains(" WARN ") && text.contains("Job failed"), "{text}");
        assert!(text.contains("Job failed job=x\\nERROR forged\\r\\u{1b}[2J"), "{text}");
        assert!(text.ends_with(" attempt=2\n"), "{text}");
    }

    #[test]
    fn a_line_for_machines_is_one_object_that_keeps_the_text_as_it_was() {
        let buffer = Buffer::default();
        let writer = buffer.clone();
        let log = for_machines(EnvFilter::new("info"), move || writer.clone());
        tracing::subscriber::with_default(log, log_something_hostile);
        let text = buffer.text();
        assert_eq!(text.matches('\n').count(), 1, "{text}");
        assert!(!text.contains(['\r', '\u{1b}']), "{text}");
        let line: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(line["message"], "Job failed");
        assert_eq!(line["level"], "WARN");
        assert_eq!((&line["job"], &line["error"]), (&HOSTILE.into(), &HOSTILE.into()));
        assert_eq!(line["attempt"], 2);
    }
}
