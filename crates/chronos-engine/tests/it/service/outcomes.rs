//! What a job may be and give back, and what becomes of it.

use std::time::Duration;

use std::sync::atomic::{AtomicU32, Ordering};

use chronos_engine::{
    CancellationToken, Handler, IntoHandler, JobContext, JobError, JobResult, NewJob,
};

use super::{Book, Lab, secs, utc};

/// The result of one run of the job.
async fn result_of<Shape>(job: impl IntoHandler<Shape>) -> JobResult {
    let lab = Lab::new();
    lab.register(NewJob::named("job").at(utc("2026-03-02T12:00:01Z")), job).await.unwrap();
    lab.start().await.unwrap();
    lab.until("12:00:01").await;
    let status = lab.status("job");
    status.last_result.unwrap_or_else(|| {
        let (_, reason) = status.last_skip.expect("it ran or was skipped");
        JobResult::Skipped(reason)
    })
}

fn failed(message: &str) -> JobResult {
    JobResult::Failed(message.into())
}

#[tokio::test(start_paused = true)]
async fn a_job_may_return_nothing_a_result_or_its_own_verdict() {
    assert_eq!(result_of(|| async {}).await, JobResult::Success);
    assert_eq!(result_of(|| async { Ok::<(), String>(()) }).await, JobResult::Success);
    assert_eq!(result_of(|| async { Err::<(), _>("no".to_string()) }).await, failed("no"));
    assert_eq!(result_of(|| async { JobResult::Success }).await, JobResult::Success);
    assert_eq!(result_of(|| async { failed("mine") }).await, failed("mine"));
    let skipped = || async { JobResult::Skipped("nothing to do".into()) };
    assert_eq!(result_of(skipped).await, JobResult::Skipped("nothing to do".into()));
    let both = || async { Ok::<_, String>(failed("inner")) };
    assert_eq!(result_of(both).await, failed("inner"));
}

#[tokio::test(start_paused = true)]
async fn errors_keep_their_causes() {
    let chained = || async {
        let cause = anyhow::anyhow!("connection refused");
        Err::<(), anyhow::Error>(cause.context("could not read shelf 7"))
    };
    assert_eq!(result_of(chained).await, failed("could not read shelf 7: connection refused"));
    let io = || async { Err::<(), _>(std::io::Error::other("disk full")) };
    assert_eq!(result_of(io).await, failed("disk full"));
    let permanent = || async { Err::<(), _>(JobError::permanent("bad address")) };
    assert_eq!(result_of(permanent).await, failed("bad address"));
}

#[tokio::test(start_paused = true)]
async fn a_job_may_take_nothing_its_token_or_its_whole_context() {
    let nothing = || async { Ok::<(), String>(()) };
    assert_eq!(result_of(nothing).await, JobResult::Success);
    let token = |token: CancellationToken| async move {
        if token.is_cancelled() { Err("cancelled") } else { Ok(()) }
    };
    assert_eq!(result_of(token).await, JobResult::Success);
    let context = |context: JobContext| async move { failed(context.job_name()) };
    assert_eq!(result_of(context).await, failed("job"));
}

#[tokio::test(start_paused = true)]
async fn a_panic_fails_its_run_and_nothing_else() {
    let lab = Lab::new();
    let (runs, book) = (AtomicU32::new(0), Book::default());
    lab.register_interval("beat", secs(60), move || {
        let run = runs.fetch_add(1, Ordering::SeqCst);
        async move { assert!(run > 0, "on purpose {run}") }
    })
    .await
    .unwrap();
    lab.register_interval("other", secs(60), book.slots()).await.unwrap();
    lab.start().await.unwrap();
    lab.until("12:01:00").await;
    let status = lab.status("beat");
    assert_eq!(status.last_result, Some(failed("panic: on purpose 0")));
    assert_eq!((status.error_count, status.active_runs, status.is_running), (1, 0, false));
    lab.until("12:02:00").await;
    let status = lab.status("beat");
    assert_eq!((status.success_count, status.skipped_count), (1, 0), "the lock is released");
    assert_eq!(book.len(), 2);
    assert!(lab.is_running());
}

#[tokio::test(start_paused = true)]
async fn a_panic_before_the_first_await_or_without_words_is_a_failure_too() {
    fn at_once() -> std::future::Ready<()> {
        panic!("at once")
    }
    async fn wordless() {
        std::panic::panic_any(7_u8)
    }
    assert_eq!(result_of(at_once).await, failed("panic: at once"));
    assert_eq!(result_of(wordless).await, failed("panic: no message"));
}

#[tokio::test(start_paused = true)]
async fn a_job_that_skips_itself_counts_as_a_skip_with_its_reason() {
    let lab = Lab::new();
    lab.register_interval("beat", secs(60), || async { JobResult::Skipped("no mail".into()) })
        .await
        .unwrap();
    lab.start().await.unwrap();
    lab.until("12:02:00").await;
    let status = lab.status("beat");
    assert_eq!((status.run_count, status.skipped_count, status.success_count), (2, 2, 0));
    assert_eq!(status.last_skip, Some((utc("2026-03-02T12:02:00Z"), "no mail".into())));
    assert_eq!((status.last_run, status.is_running), (None, false));
    assert_eq!(lab.past("beat").await, ["SKIPPED", "SKIPPED"]);
}

#[tokio::test(start_paused = true)]
async fn a_run_over_its_time_is_stopped_and_fails() {
    let lab = Lab::new();
    let book = Book::default();
    let noted = book.clone();
    let job = NewJob::named("beat").every(secs(60)).max_execution_time(secs(10));
    lab.register(job, move |token: CancellationToken| {
        let book = noted.clone();
        async move {
            let _dropped = DropNote(book.clone(), token);
            tokio::time::sleep(secs(3_600)).await;
            book.note("never");
        }
    })
    .await
    .unwrap();
    lab.start().await.unwrap();
    lab.until("12:01:09").await;
    assert!(lab.status("beat").is_running);
    lab.until("12:01:10").await;
    let status = lab.status("beat");
    assert_eq!(status.last_result, Some(failed("timed out")));
    assert_eq!((status.last_duration_ms, status.is_running), (Some(10_000), false));
    assert_eq!(book.lines(), ["dropped, cancelled: true"]);
    lab.until("12:02:05").await;
    assert_eq!(lab.past("beat").await, ["TIMED_OUT", "RUNNING"]);
}

/// Notes when it is dropped, and what its token said then.
struct DropNote(Book, CancellationToken);

impl Drop for DropNote {
    fn drop(&mut self) {
        self.0.note(format!("dropped, cancelled: {}", self.1.is_cancelled()));
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_of_ones_own_type_is_shared_by_all_its_runs() {
    use chronos_engine::chronos_core::plan::Ending;
    use futures::future::BoxFuture;
    use std::sync::Arc;

    struct Counting(AtomicU32);
    impl Handler for Counting {
        fn call(&self, _: JobContext) -> BoxFuture<'static, Ending> {
            self.0.fetch_add(1, Ordering::SeqCst);
            Box::pin(std::future::ready(Ending::Success))
        }
    }

    let lab = Lab::new();
    let counting = Arc::new(Counting(AtomicU32::new(0)));
    let handler: Arc<dyn Handler> = counting.clone();
    lab.register_interval("beat", secs(60), handler).await.unwrap();
    lab.start().await.unwrap();
    lab.until("12:03:00").await;
    assert_eq!(counting.0.load(Ordering::SeqCst), 3);
}

#[tokio::test(start_paused = true)]
async fn a_limit_beyond_all_time_is_no_limit() {
    let lab = Lab::new();
    let job = NewJob::named("beat").every(secs(60)).max_execution_time(Duration::MAX);
    lab.register(job, || async {}).await.unwrap();
    lab.start().await.unwrap();
    lab.until("12:02:05").await;
    assert_eq!(lab.past("beat").await, ["SUCCESS", "SUCCESS"]);
}
