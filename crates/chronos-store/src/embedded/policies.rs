//! The verbs about quiet-hours policies: few and small, so all of them are held in memory.

use std::ops::Bound::{Excluded, Unbounded};
use std::sync::Arc;

use chronos_core::audit::Decision;
use chronos_core::policy::QuietHours;
use chronos_core::store::{Error, Observer, Observers, Result};
use chronos_core::{JobSpec, PolicyId};

use super::keys::Key;
use super::state::State;
use super::step::Step;

impl State {
    pub(super) fn policy(&self, id: PolicyId) -> Result<QuietHours> {
        // The record says why a policy that is not held in memory cannot be read.
        self.read(&Key::Policy(id))?.ok_or(Error::NoSuchPolicy(id))
    }

    pub(super) fn policies(&self, after: Option<PolicyId>, limit: usize) -> Vec<QuietHours> {
        let from = after.map_or(Unbounded, Excluded);
        let policies = self.index.policies.range((from, Unbounded));
        policies.map(|(_, policy)| policy.clone()).take(limit).collect()
    }

    /// The jobs that observe a policy, unless there are none.
    fn observers(&self, policy: PolicyId) -> Result<Option<Observers>> {
        let Some(jobs) = self.index.roll.observers(policy) else {
            return Ok(None);
        };
        let mut first = Vec::new();
        for job in jobs.iter().take(Observers::TOLD) {
            let spec = self.read::<JobSpec>(&Key::Spec(*job))?;
            first.extend(spec.map(|spec| Observer {
                id: *job,
                owner: spec.owner,
                name: spec.name,
            }));
        }
        Ok(Some(Observers { count: jobs.len() as u64, first }))
    }
}

impl Step<'_> {
    pub(super) fn create_policy(&mut self, policy: QuietHours) -> Result<()> {
        policy.validate()?;
        if self.state.index.policies.len() >= QuietHours::MOST {
            return Err(Error::TooManyPolicies(QuietHours::MOST));
        }
        self.check_policy_name(&policy)?;
        if self.state.exists(&Key::Policy(policy.id))? {
            return Err(Error::PolicyNameTaken(policy.name.into()));
        }
        let (id, name) = (policy.id, Arc::from(&*policy.name));
        let created = Decision::PolicyCreated { policy: id, name };
        self.note(Arc::from(&*policy.owner), None, None, created);
        self.put_policy(policy)
    }

    pub(super) fn edit_policy(
        &mut self,
        edit: QuietHours,
        expected: Option<u64>,
    ) -> Result<QuietHours> {
        edit.validate()?;
        let before = self.state.policy(edit.id)?;
        let current = before.version;
        if let Some(expected) = expected.filter(|expected| *expected != current) {
            let name = before.name.into();
            return Err(Error::PolicyConflict { name, expected, current });
        }
        self.check_policy_name(&edit)?;
        let edited = before.edited(edit, self.now);
        self.put_policy(edited.clone())?;
        let (policy, name) = (edited.id, Arc::from(&*edited.name));
        let updated = Decision::PolicyUpdated { policy, name, version: edited.version };
        self.note(Arc::from(&*edited.owner), None, None, updated);
        Ok(edited)
    }

    fn check_policy_name(&self, policy: &QuietHours) -> Result<()> {
        let mut others = self.state.index.policies.values().filter(|other| other.id != policy.id);
        if others.any(|other| other.name == policy.name) {
            return Err(Error::PolicyNameTaken(policy.name.to_string()));
        }
        Ok(())
    }

    fn put_policy(&mut self, policy: QuietHours) -> Result<()> {
        self.put(&Key::Policy(policy.id), &policy)?;
        self.state.index.policies.insert(policy.id, policy);
        Ok(())
    }

    pub(super) fn delete_policy(&mut self, policy: PolicyId) -> Result<()> {
        // One that cannot be read can still be deleted.
        if !self.state.exists(&Key::Policy(policy))? {
            return Err(Error::NoSuchPolicy(policy));
        }
        if let Some(observers) = self.state.observers(policy)? {
            return Err(Error::PolicyInUse(Box::new(observers)));
        }
        let removed = self.state.index.policies.remove(&policy);
        self.delete(&Key::Policy(policy));
        let (owner, name) =
            removed.as_ref().map_or(("", ""), |removed| (&removed.owner, &removed.name));
        let deleted = Decision::PolicyDeleted { policy, name: name.into() };
        self.note(owner.into(), None, None, deleted);
        Ok(())
    }
}
