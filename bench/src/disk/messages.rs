//! Messages: how many a node says in a second, against fjall alone with the same batches in the same run.

use std::sync::Arc;

use chronos_core::message::Template;
use chronos_core::{JobSpec, Store};
use chronos_store::EmbeddedStore;

use super::seam::{Changes, Recorder};
use super::{bare, directory, open, retention};
use crate::process::begin;
use crate::report::{Figure, Goal};
use crate::workload::{BATCH, at, create, every_second};

/// Jobs that say something in every second.
const JOBS: usize = 10_000;
const SECONDS: u64 = 20;
/// Times that everything is measured; the best counts, because noise only ever adds.
const TRIES: usize = 3;

/// Jobs that say something in every second, instead of calling anybody.
pub(crate) fn saying(jobs: usize) -> anyhow::Result<Vec<JobSpec>> {
    let structured = serde_json::json!({ "kind": "tick", "slot": "{{slot}}" });
    let template = Template::new(Some("{{job_name}} ticks for {{slot}}"), Some(&structured))?;
    let specs = every_second(jobs)?.into_iter();
    Ok(specs.map(|spec| spec.with_target(template.clone())).collect())
}

pub(crate) async fn measure() -> anyhow::Result<Vec<Figure>> {
    let said = JOBS as f64 * SECONDS as f64;
    let (mut bare, mut ours) = (0.0_f64, 0.0_f64);
    for number in 1..=TRIES {
        let (before, recorded) = record().await?;
        let replayed = tokio::task::spawn_blocking(move || bare::replay(before, recorded, 1));
        let alone = said / replayed.await??;
        let directory = directory()?;
        let store = open(directory.path(), retention())?;
        create(&*store, saying(JOBS)?).await?;
        let through = said / say(&*store).await?;
        eprintln!("{number} of {TRIES}: bare {alone:.0}, ours {through:.0} messages/s");
        (bare, ours) = (bare.max(alone), ours.max(through));
    }
    Ok(vec![
        Figure::new("messages on disk: bare fjall, same batches", bare, "runs/s", Goal::None),
        Figure::new("messages on disk", ours, "runs/s", Goal::None),
        Figure::new("messages on disk ÷ bare", ours / bare, "×", Goal::AtLeast(0.5)),
    ])
}

/// The batches that create the jobs, and those of what they say.
async fn record() -> anyhow::Result<(Vec<Changes>, Vec<Changes>)> {
    let recorder = Recorder::default();
    let store: Arc<dyn Store> = Arc::new(EmbeddedStore::open(recorder.clone(), retention())?);
    create(&*store, saying(JOBS)?).await?;
    let created = recorder.take();
    say(&*store).await?;
    Ok((created, recorder.take()))
}

/// Seconds that it takes to fire all slots of all seconds, as a planner does.
async fn say(store: &dyn Store) -> anyhow::Result<f64> {
    let (begun, mut said) = (begin(), 0);
    for second in 1..=SECONDS {
        loop {
            let fired = store.fire_due(at(second), BATCH, None).await?;
            said += fired.planned.iter().map(|planned| planned.plan.messages.len()).sum::<usize>();
            if fired.next.is_none_or(|next| next > at(second)) {
                break;
            }
        }
    }
    anyhow::ensure!(said as u64 == JOBS as u64 * SECONDS, "{said} messages were said");
    Ok(begun.elapsed().as_secs_f64())
}
