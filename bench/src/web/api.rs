//! The daemon's API: jobs made one by one and many at a time, each durable before it is answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::ensure;
use reqwest::{Client, StatusCode, header};

use super::daemon::Daemon;
use crate::disk;
use crate::process::begin;
use crate::report::{Figure, Goal};

/// Jobs that are made one by one, and how many at once.
const SINGLE: usize = 20_000;
const AT_ONCE: usize = 64;
/// Requests for many jobs, how many jobs each has, and how many requests are under way at once.
const REQUESTS: usize = 20;
const JOBS: usize = 10_000;
const REQUESTS_AT_ONCE: usize = 2;

pub(crate) async fn measure() -> anyhow::Result<Vec<Figure>> {
    let directory = disk::directory()?;
    let daemon = Daemon::start(directory.path().join("data")).await?;
    let single = daemon.make_singly().await?;
    let bulk = daemon.make_in_bulk().await?;
    daemon.stop().await?;
    let rate = "jobs/s";
    Ok(vec![
        Figure::new("POST /jobs: durable", single, rate, Goal::AtLeast(5_000.0)),
        Figure::new("POST /jobs/bulk: durable", bulk, rate, Goal::AtLeast(50_000.0)),
    ])
}

impl Daemon {
    async fn make_singly(&self) -> anyhow::Result<f64> {
        let url = format!("{}/jobs", self.url);
        let made = |client: Client, number: usize| {
            let (url, body) = (url.clone(), job(number));
            async move {
                let request = client.post(url).header(header::CONTENT_TYPE, "application/json");
                let answer = request.body(body).send().await?;
                ensure!(answer.status() == StatusCode::CREATED, "{}", answer.text().await?);
                answer.bytes().await?;
                Ok(())
            }
        };
        Ok(SINGLE as f64 / self.seconds_for(SINGLE, AT_ONCE, made).await?)
    }

    async fn make_in_bulk(&self) -> anyhow::Result<f64> {
        let url = format!("{}/jobs/bulk", self.url);
        let bodies: Vec<Arc<str>> = (0..REQUESTS)
            .map(|request| {
                let first = SINGLE + request * JOBS;
                (first..first + JOBS).map(|number| job(number) + "\n").collect::<String>().into()
            })
            .collect();
        let made = |client: Client, number: usize| {
            let (url, body) = (url.clone(), bodies[number].to_string());
            async move {
                let request = client.post(url).header(header::CONTENT_TYPE, "application/x-ndjson");
                let answer = request.body(body).send().await?;
                ensure!(answer.status().is_success(), "{}", answer.text().await?);
                let answers = answer.text().await?;
                let made = answers.lines().filter(|line| line.contains("\"status\":201")).count();
                ensure!(made == JOBS, "{made} of {JOBS} jobs were made: {answers:.300}");
                Ok(())
            }
        };
        let seconds = self.seconds_for(REQUESTS, REQUESTS_AT_ONCE, made).await?;
        Ok((REQUESTS * JOBS) as f64 / seconds)
    }

    /// Seconds that this many requests take, so many at once.
    async fn seconds_for<F>(
        &self,
        requests: usize,
        at_once: usize,
        make: impl Fn(Client, usize) -> F,
    ) -> anyhow::Result<f64>
    where
        F: Future<Output = anyhow::Result<()>>,
    {
        let next = AtomicUsize::new(0);
        let begun = begin();
        let callers = (0..at_once).map(|_| async {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= requests {
                    return anyhow::Ok(());
                }
                make(self.client.clone(), number).await?;
            }
        });
        futures::future::try_join_all(callers).await?;
        Ok(begun.elapsed().as_secs_f64())
    }
}

/// A one-time job as a client writes it.
fn job(number: usize) -> String {
    serde_json::json!({
        "name": format!("invoice-sync-{number:07}"),
        "schedule": { "type": "one_shot", "at": "2096-12-01T09:00:00Z" },
        "target": { "type": "http", "url": "https://example.com/hooks/invoice" },
        "payload": { "pages": 3 },
        "tags": ["billing"],
    })
    .to_string()
}
