//! Making jobs: what is asked for and on what terms, one or many at a time.

use std::collections::HashSet;

use super::Request;
use crate::{JobId, JobSpec};

/// A job to be made, and on what terms.
#[derive(Clone, Debug)]
pub struct Creation {
    /// The job.
    pub spec: JobSpec,
    /// By what the sender knows the request again: then the job is made once.
    pub request: Option<Request>,
    /// How many jobs its owner may have with it, if there is a bound.
    pub most: Option<u64>,
}

impl Creation {
    /// Creations that are made in one step at most: others may want their turn.
    pub const AT_ONCE: usize = 256;

    /// This job, on no terms.
    #[must_use]
    pub fn new(spec: JobSpec) -> Self {
        Self { spec, request: None, most: None }
    }

    /// The same, made once for this request.
    #[must_use]
    pub fn once(self, request: Request) -> Self {
        Self { request: Some(request), ..self }
    }

    /// The same, unless its owner has so many jobs by now.
    #[must_use]
    pub fn within(self, most: u64) -> Self {
        Self { most: Some(most), ..self }
    }

    /// Cuts a list where a job could be refused because of one before it: within a part no id, no name
    /// and no request comes twice, so that each can be judged by what was there before the part.
    #[must_use]
    pub fn apart(creations: Vec<Self>) -> Vec<Vec<Self>> {
        let mut parts = Vec::new();
        let (mut part, mut taken) = (Vec::new(), Taken::default());
        for creation in creations {
            if part.len() == Self::AT_ONCE || !taken.add(&creation) {
                parts.push(std::mem::take(&mut part));
                taken = Taken::default();
                taken.add(&creation);
            }
            part.push(creation);
        }
        if !part.is_empty() {
            parts.push(part);
        }
        parts
    }
}

/// What the jobs of a part have for themselves.
#[derive(Default)]
struct Taken {
    ids: HashSet<JobId>,
    names: HashSet<(Box<str>, Box<str>)>,
    requests: HashSet<[u8; 16]>,
}

impl Taken {
    /// Adds what a job has; says whether all of it was free.
    fn add(&mut self, Creation { spec, request, .. }: &Creation) -> bool {
        let free = self.ids.insert(spec.id);
        let free = self.names.insert((spec.owner.clone(), spec.name.clone())) && free;
        request.is_none_or(|request| self.requests.insert(request.id)) && free
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Timestamp;
    use crate::schedule::Schedule;

    fn named(number: u8, name: &str) -> Creation {
        let (id, now) = (JobId::from_bytes([number; 16]), Timestamp::EPOCH);
        Creation::new(JobSpec::new(id, name, Schedule::one_shot(now), now))
    }

    fn lengths(creations: Vec<Creation>) -> Vec<usize> {
        Creation::apart(creations).iter().map(Vec::len).collect()
    }

    #[test]
    fn nothing_comes_twice_in_a_part() {
        let request = Request::new("", "key", &[]);
        assert!(lengths(vec![]).is_empty());
        assert_eq!(lengths(vec![named(1, "a"), named(2, "b"), named(3, "c")]), [3]);
        assert_eq!(lengths(vec![named(1, "a"), named(2, "b"), named(1, "c")]), [2, 1]);
        assert_eq!(lengths(vec![named(1, "a"), named(2, "a"), named(3, "a")]), [1, 1, 1]);
        let once = |number, name| named(number, name).once(request);
        assert_eq!(lengths(vec![once(1, "a"), named(2, "b"), once(3, "c"), named(4, "d")]), [2, 2]);
        let mut bobs = named(2, "a");
        bobs.spec.owner = "bob".into();
        assert_eq!(lengths(vec![named(1, "a"), bobs]), [2]);
    }

    #[test]
    fn a_part_is_bounded() {
        let many = (0..=255).map(|number| named(number, &number.to_string()));
        let mut many: Vec<_> = many.collect();
        assert_eq!(lengths(many.clone()), [256]);
        let mut last = named(0, "last");
        last.spec.id = JobId::from_bytes([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]);
        many.push(last);
        assert_eq!(lengths(many), [256, 1]);
    }
}
