//! Following a run until it is over, with a sign of life on a terminal.

use std::time::Duration;

use indicatif::ProgressBar;

use super::Daemon;
use super::execution::is_live;
use super::progress::shown;
use crate::cli::Error;
use crate::proto;
use crate::proto::watch_executions_request::Of;
use crate::text::on_one_line;

/// Follows an execution and its retries to their end, and gives back the last of them.
pub(super) async fn to_the_end(
    daemon: &mut Daemon,
    job: &str,
    begun: proto::Execution,
) -> Result<proto::Execution, Error> {
    let request = proto::WatchExecutionsRequest { of: Some(Of::Execution(begun.id.clone())) };
    let watched = daemon.client.watch_executions(request).await;
    let mut changes = watched.map_err(|status| daemon.refusal(&status))?.into_inner();
    let spinner = Spinner::of(job);
    let mut last = begun;
    loop {
        spinner.show(&last);
        match changes.message().await {
            // An answer about an earlier attempt may come late.
            Ok(Some(change)) if change.attempt >= last.attempt => last = change,
            Ok(Some(_)) => {}
            Ok(None) if is_live(&last) => {
                let said = "the daemon stopped telling about the run; it may go on".to_owned();
                return Err(Error::Daemon(said));
            }
            Ok(None) => return Ok(last),
            Err(status) => return Err(daemon.refusal(&status)),
        }
    }
}

/// A line on standard error that moves; nothing where nobody would see it.
struct Spinner {
    bar: ProgressBar,
    job: String,
}

impl Spinner {
    fn of(job: &str) -> Self {
        let bar = shown(ProgressBar::new_spinner(), "{spinner} {msg} {elapsed}");
        bar.enable_steady_tick(Duration::from_millis(100));
        Self { bar, job: on_one_line(job).into_owned() }
    }

    fn show(&self, execution: &proto::Execution) {
        let doing = match (execution.status.as_str(), execution.retry_number) {
            ("RUNNING", 0) => "is running".into(),
            ("RUNNING", retry) => format!("is running, retry {retry}"),
            ("QUEUED", 0) => "waits for its turn".into(),
            ("QUEUED", retry) => format!("waits for retry {retry}"),
            (status, _) => format!("ended {status}"),
        };
        self.bar.set_message(format!("{} {doing} (ctrl-c stops watching, not the run)", self.job));
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
