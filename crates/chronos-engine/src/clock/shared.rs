//! The time that nodes share: their store's, carried on here between two looks at it.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use chronos_core::Timestamp;

use super::Clock;

/// A clock that follows its store's.
///
/// Between two measurements it goes on by the time that passes here, never by this machine's time of
/// day: a node whose clock is wrong, or is set meanwhile, decides as all others do.
#[derive(Debug)]
pub struct SharedClock {
    inner: Arc<dyn Clock>,
    /// The shared time, less the time that has passed here, in microseconds.
    anchor: AtomicI64,
    newest: Mutex<Option<Sample>>,
}

/// A measurement of the shared time.
#[derive(Clone, Copy, Debug)]
struct Sample {
    anchor: i64,
    /// How wrong it may be, in microseconds: half the time that the answer took.
    error: i64,
    /// When it was taken, on this machine's monotonic clock.
    at: Duration,
}

/// A machine's clock may gain or lose a thousandth.
const DRIFT: i64 = 1_000;

impl SharedClock {
    /// A clock that shows this machine's time until it is measured against a store's.
    #[must_use]
    pub fn new(inner: Arc<dyn Clock>) -> Self {
        let anchor = inner.now().as_micros().saturating_sub(micros(inner.monotonic()));
        Self { inner, anchor: AtomicI64::new(anchor), newest: Mutex::default() }
    }

    /// Asks for the shared time and follows it. Gives back by how much this machine's time of day is
    /// ahead of it, in microseconds; nothing when there is no such time.
    pub async fn measure<E>(
        &self,
        ask: impl Future<Output = Result<Option<Timestamp>, E>>,
    ) -> Result<Option<i64>, E> {
        let asked = self.inner.monotonic();
        let Some(time) = ask.await? else {
            return Ok(None);
        };
        let answered = self.inner.monotonic();
        let error = micros(answered.saturating_sub(asked)) / 2;
        let anchor = time.as_micros().saturating_sub(micros(asked).saturating_add(error));
        self.take(Sample { anchor, error, at: answered });
        Ok(Some(self.inner.now().as_micros().saturating_sub(self.now().as_micros())))
    }

    /// Follows a measurement, unless an older one is the better one: an answer that took long says
    /// little.
    fn take(&self, sample: Sample) {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = *newest {
            let age = micros(sample.at.saturating_sub(known.at));
            let known_error = known.error.saturating_add(age / DRIFT);
            let apart = sample.anchor.saturating_sub(known.anchor).saturating_abs();
            // What both cannot be right about is a jump of the shared clock.
            let jumped = apart > known_error.saturating_add(sample.error);
            if sample.error > known_error && !jumped {
                return;
            }
        }
        *newest = Some(sample);
        self.anchor.store(sample.anchor, Ordering::SeqCst);
    }
}

fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}

#[async_trait]
impl Clock for SharedClock {
    fn now(&self) -> Timestamp {
        let passed = micros(self.inner.monotonic());
        Timestamp::from_micros(self.anchor.load(Ordering::SeqCst).saturating_add(passed))
    }

    fn monotonic(&self) -> Duration {
        self.inner.monotonic()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::VirtualClock;

    const HOUR: i64 = 3_600_000_000;

    /// A machine whose clock shows the epoch, and the shared time that lies `ahead` of it.
    fn machine(ahead: i64) -> (Arc<VirtualClock>, SharedClock, impl Fn() -> Timestamp) {
        let machine = Arc::new(VirtualClock::starting_at(Timestamp::EPOCH));
        let passed = machine.clone();
        let shared = move || Timestamp::from_micros(micros(passed.monotonic()) + ahead);
        (machine.clone(), SharedClock::new(machine), shared)
    }

    /// An answer that is under way for as long as the question was.
    async fn ask(shared: impl Fn() -> Timestamp, millis: u64) -> Result<Option<Timestamp>, ()> {
        tokio::time::sleep(Duration::from_millis(millis)).await;
        let time = shared();
        tokio::time::sleep(Duration::from_millis(millis)).await;
        Ok(Some(time))
    }

    #[tokio::test(start_paused = true)]
    async fn a_machine_an_hour_behind_goes_by_the_shared_time() {
        let (_, clock, shared) = machine(HOUR);
        assert_eq!(clock.now(), Timestamp::EPOCH, "until it is measured");
        assert_eq!(clock.measure(ask(&shared, 20)).await, Ok(Some(-HOUR)));
        tokio::time::sleep(Duration::from_secs(9)).await;
        assert_eq!(clock.now(), shared());
    }

    #[tokio::test(start_paused = true)]
    async fn a_clock_that_is_set_on_this_machine_changes_nothing() {
        let (machine, clock, shared) = machine(0);
        clock.measure(ask(&shared, 1)).await.unwrap();
        machine.step(7_200);
        assert_eq!(clock.now(), shared());
        assert_eq!(clock.measure(ask(&shared, 1)).await, Ok(Some(2 * HOUR)));
        assert_eq!(clock.now(), shared());
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_took_long_does_not_replace_a_better_one() {
        let (_, clock, shared) = machine(HOUR);
        clock.measure(ask(&shared, 1)).await.unwrap();
        let all_of_it_on_the_way_back = async {
            let time = shared();
            tokio::time::sleep(Duration::from_millis(400)).await;
            Ok::<_, ()>(Some(time))
        };
        clock.measure(all_of_it_on_the_way_back).await.unwrap();
        assert_eq!(clock.now(), shared());
    }

    #[tokio::test(start_paused = true)]
    async fn a_jump_of_the_shared_clock_is_followed() {
        let (_, clock, shared) = machine(0);
        clock.measure(ask(&shared, 1)).await.unwrap();
        let jumped = || Timestamp::from_micros(shared().as_micros() - HOUR);
        clock.measure(ask(jumped, 100)).await.unwrap();
        assert_eq!(clock.now(), jumped());
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_shared_clock_the_machine_s_own_is_good() {
        let (machine, clock, _) = machine(0);
        assert_eq!(clock.measure(async { Ok::<_, ()>(None) }).await, Ok(None));
        tokio::time::sleep(Duration::from_secs(9)).await;
        assert_eq!(clock.now(), machine.now());
    }
}
