//! Instants and durations, within what the domain can hold.

use std::time::Duration;

use chronos_core::Timestamp;

use crate::grpc::refusal::Refusal;

/// The instant on the wire.
pub(crate) fn timestamp(instant: Timestamp) -> prost_types::Timestamp {
    let micros = instant.as_micros().rem_euclid(1_000_000);
    let nanos = i32::try_from(micros * 1_000).unwrap_or(0);
    prost_types::Timestamp { seconds: instant.as_secs(), nanos }
}

/// The duration on the wire.
pub(crate) fn duration(span: Duration) -> prost_types::Duration {
    let seconds = i64::try_from(span.as_secs()).unwrap_or(i64::MAX);
    let nanos = i32::try_from(span.subsec_nanos()).unwrap_or(0);
    prost_types::Duration { seconds, nanos }
}

/// The instant that was sent; finer than a microsecond is cut off.
pub(crate) fn instant(field: &str, sent: prost_types::Timestamp) -> Result<Timestamp, Refusal> {
    let prost_types::Timestamp { seconds, nanos } = sent;
    let accepted = Timestamp::MIN.as_secs()..=Timestamp::MAX.as_secs();
    if !accepted.contains(&seconds) || !(0..1_000_000_000).contains(&nanos) {
        let problem = format!(
            "{seconds} s and {nanos} ns since 1970 is not accepted; use an instant of the years 1 \
             to 9999 with 0 to 999,999,999 ns"
        );
        return Err(Refusal::of(field, problem));
    }
    Ok(Timestamp::from_micros(seconds * 1_000_000 + i64::from(nanos) / 1_000))
}

/// The duration that was sent.
pub(crate) fn span(field: &str, sent: prost_types::Duration) -> Result<Duration, Refusal> {
    let prost_types::Duration { seconds, nanos } = sent;
    let longest = 366 * 86_400 * 10_000_u64;
    let checked = u64::try_from(seconds).ok().filter(|seconds| *seconds <= longest);
    let checked = checked.zip(u32::try_from(nanos).ok().filter(|nanos| *nanos < 1_000_000_000));
    checked.map(|(seconds, nanos)| Duration::new(seconds, nanos)).ok_or_else(|| {
        let problem = format!(
            "{seconds} s and {nanos} ns is not accepted; use 0 to {longest} s with 0 to \
             999,999,999 ns"
        );
        Refusal::of(field, problem)
    })
}
