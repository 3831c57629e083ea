//! Times and durations of the wire, as the domain knows them.

use std::time::Duration;

use chronos_core::Timestamp;

/// The instant, if there is one; what lies outside of time is none.
pub(super) fn instant(wire: Option<&prost_types::Timestamp>) -> Option<Timestamp> {
    let wire = wire?;
    let micros = wire.seconds.checked_mul(1_000_000)?.checked_add(i64::from(wire.nanos) / 1_000)?;
    Some(Timestamp::from_micros(micros))
}

/// The duration, if there is one; a negative one is none.
pub(super) fn duration(wire: Option<&prost_types::Duration>) -> Option<Duration> {
    Duration::try_from(*wire?).ok()
}

pub(super) fn to_instant(at: Timestamp) -> prost_types::Timestamp {
    let micros = at.as_micros();
    let nanos = i32::try_from(micros.rem_euclid(1_000_000) * 1_000).unwrap_or(0);
    prost_types::Timestamp { seconds: micros.div_euclid(1_000_000), nanos }
}

pub(super) fn to_duration(span: Duration) -> prost_types::Duration {
    let nanos = i32::try_from(span.subsec_nanos()).unwrap_or(0);
    prost_types::Duration { seconds: i64::try_from(span.as_secs()).unwrap_or(i64::MAX), nanos }
}
