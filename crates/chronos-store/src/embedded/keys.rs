//! Keys of the embedded store: typed, and encoded so that bytes sort as the values do.

use chronos_core::{
    ExecutionId, JobId, KeyId, PolicyId, SessionId, SubscriptionId, Timestamp, UserId,
};

use super::volumes::Volume;
use crate::kv;

/// What a record is filed under.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key<'a> {
    /// The highest fencing token handed out.
    Token,
    /// What a user asked for.
    Spec(JobId),
    /// Where a job stands.
    Standing(JobId),
    /// The job of an owner's name.
    Name(&'a str, &'a str),
    /// An execution that waits or runs.
    Live(ExecutionId),
    /// An execution that is over, filed with others of its time, and among them with its job.
    Past(Volume, JobId, ExecutionId),
    /// That a job exists, or has a past: leads from an execution to its job by their common tag.
    Tag(JobId),
    /// An execution whose slot failed for good.
    DeadLetter(ExecutionId),
    /// Consecutive decisions, filed under the first one's sequence.
    Audit(u64),
    /// A quiet-hours policy.
    Policy(PolicyId),
    /// What a job's executions keep for the next one.
    Checkpoint(JobId),
    /// What is kept in a volume of the past.
    Volume(Volume),
    /// What a request made that may come again.
    Request([u8; 16]),
    /// When such a request came, oldest first.
    RequestAge(Timestamp, [u8; 16]),
    /// A user.
    User(UserId),
    /// The user of a name.
    UserName(&'a str),
    /// A login of a user that goes on.
    Session(UserId, SessionId),
    /// What stands in a user's place.
    Credential(KeyId),
    /// That such a key is a user's.
    CredentialOf(UserId, KeyId),
    /// How often something was tried in a window, filed under the window's end.
    Attempt(Timestamp, [u8; 16]),
    /// What was done about an account, by its sequence.
    AccountEvent(u64),
    /// A message event, by its sequence.
    Message(u64),
    /// What may be in a chapter of the decisions.
    Digest(u64),
    /// A subscription to message events.
    Subscription(SubscriptionId),
    /// A backfill of a job, by its number.
    Backfill(JobId, u64),
}

impl Key<'_> {
    pub(super) fn encode(&self) -> kv::Key {
        let mut bytes = kv::Key::new();
        bytes.push(self.table() as u8);
        match self {
            Self::Token => {}
            Self::Spec(job) | Self::Standing(job) | Self::Checkpoint(job) => {
                bytes.extend_from_slice(job.as_bytes());
            }
            Self::Name(owner, name) => {
                // The length comes first, so that no owner's text can reach into another's names.
                bytes.extend_from_slice(
                    &u32::try_from(owner.len()).unwrap_or(u32::MAX).to_be_bytes(),
                );
                bytes.extend_from_slice(owner.as_bytes());
                bytes.extend_from_slice(name.as_bytes());
            }
            Self::Tag(job) => {
                // The tag is the end of the id, which is told once.
                bytes.extend_from_slice(&job.tag());
                bytes.extend_from_slice(&job.as_bytes()[..HEAD]);
            }
            Self::Live(execution) | Self::DeadLetter(execution) => {
                bytes.extend_from_slice(execution.as_bytes());
            }
            Self::Past(volume, job, execution) => {
                bytes.extend_from_slice(&volume.to_bytes());
                bytes.extend_from_slice(job.as_bytes());
                // The rest of it is the job's tag.
                bytes.extend_from_slice(&execution.as_bytes()[..HEAD]);
            }
            Self::Audit(sequence)
            | Self::AccountEvent(sequence)
            | Self::Message(sequence)
            | Self::Digest(sequence) => {
                bytes.extend_from_slice(&sequence.to_be_bytes());
            }
            Self::Policy(policy) => bytes.extend_from_slice(policy.as_bytes()),
            Self::Subscription(id) => bytes.extend_from_slice(id.as_bytes()),
            Self::Backfill(job, number) => {
                bytes.extend_from_slice(job.as_bytes());
                bytes.extend_from_slice(&number.to_be_bytes());
            }
            Self::Volume(volume) => bytes.extend_from_slice(&volume.to_bytes()),
            Self::Request(request) => bytes.extend_from_slice(request),
            Self::RequestAge(at, id) | Self::Attempt(at, id) => {
                bytes.extend_from_slice(&ordered(*at));
                bytes.extend_from_slice(id);
            }
            Self::User(user) => bytes.extend_from_slice(user.as_bytes()),
            Self::UserName(name) => bytes.extend_from_slice(name.as_bytes()),
            Self::Session(user, session) => {
                bytes.extend_from_slice(user.as_bytes());
                bytes.extend_from_slice(session.as_bytes());
            }
            Self::Credential(key) => bytes.extend_from_slice(key.as_bytes()),
            Self::CredentialOf(user, key) => {
                bytes.extend_from_slice(user.as_bytes());
                bytes.extend_from_slice(key.as_bytes());
            }
        }
        bytes
    }

    fn table(&self) -> Table {
        match self {
            Self::Token => Table::Token,
            Self::Spec(_) => Table::Spec,
            Self::Standing(_) => Table::Standing,
            Self::Name(..) => Table::Name,
            Self::Live(_) => Table::Live,
            Self::Past(..) => Table::Past,
            Self::Tag(_) => Table::Tag,
            Self::DeadLetter(_) => Table::DeadLetter,
            Self::Audit(_) => Table::Audit,
            Self::Policy(_) => Table::Policy,
            Self::Checkpoint(_) => Table::Checkpoint,
            Self::Volume(_) => Table::Volume,
            Self::Request(_) => Table::Request,
            Self::RequestAge(..) => Table::RequestAge,
            Self::User(_) => Table::User,
            Self::UserName(_) => Table::UserName,
            Self::Session(..) => Table::Session,
            Self::Credential(_) => Table::Credential,
            Self::CredentialOf(..) => Table::CredentialOf,
            Self::Attempt(..) => Table::Attempt,
            Self::AccountEvent(_) => Table::AccountEvent,
            Self::Message(_) => Table::Message,
            Self::Digest(_) => Table::Digest,
            Self::Subscription(_) => Table::Subscription,
            Self::Backfill(..) => Table::Backfill,
        }
    }
}

/// Bytes of an execution's id before its tag.
const HEAD: usize = 12;

/// The first byte of every key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Table {
    Token = 1,
    Spec,
    Standing,
    Name,
    Live,
    Past,
    Tag,
    DeadLetter,
    Audit,
    Policy,
    Checkpoint,
    Volume,
    Request,
    RequestAge,
    User,
    UserName,
    Session,
    Credential,
    CredentialOf,
    Attempt,
    AccountEvent,
    Message,
    Digest,
    Subscription,
    Backfill,
}

impl Table {
    /// The keys of this table: from the first, up to and without the second.
    pub(super) fn range(self) -> (Vec<u8>, Vec<u8>) {
        (vec![self as u8], vec![self as u8 + 1])
    }
}

/// The keys of a job's past executions in one volume.
pub(super) fn past_of(volume: Volume, job: JobId) -> (Vec<u8>, Vec<u8>) {
    let from = [&[Table::Past as u8], &volume.to_bytes()[..], job.as_bytes()].concat();
    let to = after_prefix(&from);
    (from, to)
}

/// The keys of a job's past executions in one volume whose ids lie between these, both included.
pub(super) fn past_between(
    volume: Volume,
    job: JobId,
    (first, last): (ExecutionId, ExecutionId),
) -> (Vec<u8>, Vec<u8>) {
    let from = Key::Past(volume, job, first).encode().to_vec();
    let to = after_prefix(&Key::Past(volume, job, last).encode());
    (from, to)
}

/// The keys of a job's backfills.
pub(super) fn backfills_of(job: JobId) -> (Vec<u8>, Vec<u8>) {
    let from = [&[Table::Backfill as u8], job.as_bytes().as_slice()].concat();
    let to = after_prefix(&from);
    (from, to)
}

/// The volume that a past execution's key is of.
pub(super) fn past_volume_in(key: &[u8]) -> Option<Volume> {
    key.get(1..)?.first_chunk().copied().map(Volume::from_bytes)
}

/// The keys of an owner's names that begin like this.
pub(super) fn names_from(owner: &str, prefix: &str) -> (Vec<u8>, Vec<u8>) {
    let from = Key::Name(owner, prefix).encode().to_vec();
    let to = after_prefix(&from);
    (from, to)
}

/// The keys of what a user has in a table.
pub(super) fn of_user(table: Table, user: UserId) -> (Vec<u8>, Vec<u8>) {
    let from = [&[table as u8], user.as_bytes().as_slice()].concat();
    let to = after_prefix(&from);
    (from, to)
}

/// The bytes of an instant, which sort as instants do.
fn ordered(at: Timestamp) -> [u8; 8] {
    (at.as_micros() ^ i64::MIN).to_be_bytes()
}

/// The instant and the id of a key that is made of these.
pub(super) fn dated_in(key: &[u8]) -> Option<(Timestamp, [u8; 16])> {
    let (at, id) = key.get(1..)?.split_first_chunk()?;
    let at = Timestamp::from_micros(i64::from_be_bytes(*at) ^ i64::MIN);
    Some((at, *id.first_chunk()?))
}

/// The id that a key ends with.
pub(super) fn last_id(key: &[u8]) -> Option<[u8; 16]> {
    key.last_chunk().copied()
}

/// The keys of the jobs that an execution or a backfill of this tag may belong to.
pub(super) fn tagged(tag: [u8; 4]) -> (Vec<u8>, Vec<u8>) {
    let from = [&[Table::Tag as u8], tag.as_slice()].concat();
    let to = after_prefix(&from);
    (from, to)
}

/// The job that the key of a tag stands for.
pub(super) fn tagged_in(key: &[u8]) -> Option<JobId> {
    let (tag, head) = key.get(1..)?.split_first_chunk::<{ 16 - HEAD }>()?;
    let mut id = [0; 16];
    id[..HEAD].copy_from_slice(head.first_chunk::<HEAD>()?);
    id[HEAD..].copy_from_slice(tag);
    Some(JobId::from_bytes(id))
}

/// The smallest key larger than every key with this prefix.
fn after_prefix(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            break;
        }
    }
    end
}

/// The execution that a key ends with.
pub(super) fn execution_in(key: &[u8]) -> Option<ExecutionId> {
    key.last_chunk().map(|tail| ExecutionId::from_bytes(*tail))
}

/// The execution of a job's past that is filed under a key.
pub(super) fn past_in(job: JobId, key: &[u8]) -> Option<ExecutionId> {
    let head: [u8; HEAD] = *key.last_chunk()?;
    let mut id = [0; 16];
    id[..HEAD].copy_from_slice(&head);
    id[HEAD..].copy_from_slice(&job.tag());
    Some(ExecutionId::from_bytes(id))
}

/// The volume that a key ends with.
pub(super) fn volume_in(key: &[u8]) -> Option<Volume> {
    key.last_chunk().map(|tail| Volume::from_bytes(*tail))
}

/// The sequence that a key ends with.
pub(super) fn sequence_in(key: &[u8]) -> Option<u64> {
    key.last_chunk().map(|tail| u64::from_be_bytes(*tail))
}

/// The job that a key ends with.
pub(super) fn job_in(key: &[u8]) -> Option<JobId> {
    key.last_chunk().map(|tail| JobId::from_bytes(*tail))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Some instant, before or after 1970.
    fn instant(n: u64) -> Timestamp {
        Timestamp::from_micros(n.cast_signed() >> 8)
    }

    proptest! {
        #[test]
        fn keys_sort_as_their_values_do(
            a: [u8; 16], b: [u8; 16], c: [u8; 16], d: [u8; 16], m: u64, n: u64, v: [u8; 6], w: [u8; 6],
        ) {
            let (v, w) = (Volume::from_bytes(v), Volume::from_bytes(w));
            let (job_a, job_b) = (JobId::from_bytes(a), JobId::from_bytes(b));
            let (run_c, run_d) = (ExecutionId::from_bytes(c), ExecutionId::from_bytes(d));
            let (past_c, past_d) = (past_in(job_a, &c[..12]), past_in(job_a, &d[..12]));
            let (past_c, past_d) = (past_c.unwrap(), past_d.unwrap());
            let (at_m, at_n) = (instant(m), instant(n));
            for (one, other) in [
                (Key::Spec(job_a), Key::Spec(job_b)),
                (Key::Past(v, job_a, run_c), Key::Past(w, job_b, run_d)),
                (Key::Past(v, job_a, run_c), Key::Past(v, job_b, run_d)),
                (Key::Past(v, job_a, past_c), Key::Past(v, job_a, past_d)),
                (Key::Volume(v), Key::Volume(w)),
                (Key::Live(run_c), Key::Live(run_d)),
                (Key::Audit(m), Key::Audit(n)),
                (Key::AccountEvent(m), Key::AccountEvent(n)),
                (Key::Message(m), Key::Message(n)),
                (Key::Digest(m), Key::Digest(n)),
                (Key::Spec(job_a), Key::Audit(n)),
                (Key::RequestAge(at_m, a), Key::RequestAge(at_n, b)),
                (Key::Attempt(at_m, a), Key::Attempt(at_n, b)),
                (Key::Backfill(job_a, m), Key::Backfill(job_b, n)),
                (Key::Backfill(job_a, m), Key::Backfill(job_a, n)),
                (Key::User(UserId::from_bytes(a)), Key::User(UserId::from_bytes(b))),
            ] {
                prop_assert_eq!(one.cmp(&other), one.encode().cmp(&other.encode()));
            }
        }

        #[test]
        fn a_request_is_found_by_the_key_of_its_age(a: [u8; 16], n: u64) {
            let key = Key::RequestAge(instant(n), a).encode();
            prop_assert_eq!(dated_in(&key), Some((instant(n), a)));
        }

        #[test]
        fn what_a_user_has_is_apart_from_what_others_have(a: [u8; 16], b: [u8; 16], c: [u8; 16]) {
            let (from, to) = of_user(Table::Session, UserId::from_bytes(a));
            for user in [a, b] {
                let key = Key::Session(UserId::from_bytes(user), SessionId::from_bytes(c)).encode();
                prop_assert_eq!(from.as_slice() <= &*key && &*key < to.as_slice(), user == a);
                prop_assert_eq!(last_id(&key), Some(c));
            }
        }

        #[test]
        fn an_owners_names_are_found_by_how_they_begin(
            owner in "[a-c]{0,2}", name in "[a-c]{0,4}", other in "[a-c]{0,2}", prefix in "[a-c]{0,2}",
        ) {
            let (from, to) = names_from(&owner, &prefix);
            let key = Key::Name(&other, &name).encode();
            let inside = from.as_slice() <= &*key && &*key < to.as_slice();
            prop_assert_eq!(inside, owner == other && name.starts_with(&prefix));
        }

        #[test]
        fn names_of_different_owners_never_meet(
            owner: String, name: String, other_owner: String, other_name: String,
        ) {
            let same = (&owner, &name) == (&other_owner, &other_name);
            let key = Key::Name(&owner, &name).encode();
            prop_assert_eq!(same, key == Key::Name(&other_owner, &other_name).encode());
        }

        #[test]
        fn a_jobs_past_holds_its_executions_and_no_others(
            a: [u8; 16], b: [u8; 16], c: [u8; 16], v: [u8; 6], w: [u8; 6],
        ) {
            let (v, w) = (Volume::from_bytes(v), Volume::from_bytes(w));
            let (from, to) = past_of(v, JobId::from_bytes(a));
            let is_inside = |key: &[u8]| from.as_slice() <= key && key < to.as_slice();
            for (volume, job) in [(v, a), (v, b), (w, a), (w, b)] {
                let key = Key::Past(volume, JobId::from_bytes(job), ExecutionId::from_bytes(c));
                prop_assert_eq!(is_inside(&key.encode()), (volume, job) == (v, a));
            }
        }

        #[test]
        fn an_execution_leads_to_its_job_and_back(
            a: [u8; 16], at in 0..4_102_444_800_i64, attempt in 1_u32..9, v: [u8; 6],
        ) {
            let job = JobId::from_bytes(a);
            let slot = chronos_core::Timestamp::from_secs(at);
            let trigger = chronos_core::execution::Trigger::Schedule;
            let execution = ExecutionId::of(job, slot, &trigger, attempt);
            let (from, to) = tagged(execution.tag());
            let key = Key::Tag(job).encode();
            prop_assert!(from.as_slice() <= &*key && &*key < to.as_slice());
            prop_assert_eq!(tagged_in(&key), Some(job));
            let past = Key::Past(Volume::from_bytes(v), job, execution).encode();
            prop_assert_eq!(past_in(job, &past), Some(execution));
            prop_assert!(!past.spilled(), "the most common key needs no memory of its own");
        }
    }
}
