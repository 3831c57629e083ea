//! Limits: how often somebody may try to get in, by name and by address.

use std::hash::Hasher;
use std::net::IpAddr;
use std::time::Duration;

use chronos_core::account::Subject;
use siphasher::sip128::{Hasher128, SipHasher13};

/// The address that a request came from. What a header says about it counts for nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Peer(pub(crate) IpAddr);

/// How many attempts to get in are let through, and in which time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempts {
    /// Guesses at one name from one address.
    pub of_both: (u32, Duration),
    /// Guesses at one name from anywhere: more, so that nobody is shut out by a single stranger.
    pub of_name: (u32, Duration),
    /// Attempts of any kind from one address.
    pub of_address: (u32, Duration),
}

impl Default for Attempts {
    fn default() -> Self {
        Self {
            of_both: (10, Duration::from_mins(15)),
            of_name: (100, Duration::from_hours(1)),
            of_address: (300, Duration::from_mins(5)),
        }
    }
}

impl Attempts {
    /// By what a login is counted: first what a success makes forgotten, then the address.
    pub(super) fn login(&self, name: &str, Peer(address): Peer) -> [Subject; 3] {
        let network = network(address);
        [
            subject("both", &[name.as_bytes(), &network], self.of_both),
            subject("name", &[name.as_bytes()], self.of_name),
            subject("address", &[&network], self.of_address),
        ]
    }

    /// By what anything else is counted that costs work or may be guessed.
    pub(super) fn address(&self, Peer(address): Peer) -> [Subject; 1] {
        [subject("address", &[&network(address)], self.of_address)]
    }
}

/// Whoever has one address of the newer kind has all of its network.
fn network(address: IpAddr) -> Vec<u8> {
    match address.to_canonical() {
        IpAddr::V4(address) => address.octets().into(),
        IpAddr::V6(address) => address.octets()[..8].into(),
    }
}

fn subject(kind: &str, parts: &[&[u8]], (limit, window): (u32, Duration)) -> Subject {
    let mut hasher = SipHasher13::new();
    for part in [kind.as_bytes()].iter().chain(parts) {
        // The length goes first, so that no part can reach into the next.
        hasher.write_u64(part.len() as u64);
        hasher.write(part);
    }
    Subject { id: hasher.finish128().as_bytes(), limit, window }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_are_counted_by_name_by_network_and_by_both() {
        let ids = |name: &str, address: &str| {
            let usual = Attempts::default();
            usual.login(name, Peer(address.parse().unwrap())).map(|subject| subject.id)
        };
        let [both, name, address] = ids("ada", "192.0.2.1");
        let elsewhere = ids("ada", "192.0.2.2");
        assert!(elsewhere[0] != both && elsewhere[1] == name && elsewhere[2] != address);
        let other = ids("bob", "192.0.2.1");
        assert!(other[0] != both && other[1] != name && other[2] == address);
        assert_eq!(ids("ada", "2001:db8::1"), ids("ada", "2001:db8::ffff:0:2"));
        assert_ne!(ids("ada", "2001:db8::1"), ids("ada", "2001:db8:0:1::1"));
        assert_eq!(ids("ada", "::ffff:192.0.2.1"), [both, name, address]);
    }
}
