//! Reach: which addresses requests may go to.
//!
//! Whoever may create jobs chooses where this machine connects to, and this machine may stand where
//! they do not: beside databases, behind a firewall, next to a cloud's metadata service. So requests go
//! to public addresses, and to others only where the operator says so.

use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use url::{Host, Url};

/// Which addresses requests may go to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reach {
    everything: bool,
    hosts: BTreeSet<String>,
    nets: Vec<IpNet>,
}

/// Something that may be reached although it is not public.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    /// A host by its name; whatever addresses it has.
    Host(String),
    /// Addresses.
    Net(IpNet),
}

/// An address that requests must not go to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the address of {host} is not public, and nobody allowed it")]
pub struct OutOfReach {
    /// The host as the request names it.
    pub host: String,
}

impl FromStr for Rule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Ok(net) = text.parse::<IpNet>() {
            return Ok(Self::Net(net.trunc()));
        }
        let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
        if let Ok(address) = bare.parse::<IpAddr>() {
            // What is connected to is the address that another one stands for.
            return Ok(Self::Net(embedded(address).into()));
        }
        match Host::parse(text) {
            Ok(Host::Domain(name)) if !text.contains('/') => Ok(Self::Host(normal(&name))),
            _ => Err(format!(
                "{text:?} is neither a host such as billing.internal, nor an address, nor a network \
                 such as 10.0.0.0/8"
            )),
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(name) => f.write_str(name),
            Self::Net(net) if net.prefix_len() == net.max_prefix_len() => {
                write!(f, "{}", net.addr())
            }
            Self::Net(net) => write!(f, "{net}"),
        }
    }
}

impl Reach {
    /// Every address: for programs that choose their targets themselves.
    #[must_use]
    pub fn everything() -> Self {
        Self { everything: true, ..Self::public(Vec::new()) }
    }

    /// Public addresses, and what these rules allow.
    #[must_use]
    pub fn public(rules: impl IntoIterator<Item = Rule>) -> Self {
        let mut reach = Self { everything: false, hosts: BTreeSet::new(), nets: Vec::new() };
        for rule in rules {
            match rule {
                Rule::Host(name) => {
                    reach.hosts.insert(name);
                }
                Rule::Net(net) => reach.nets.push(net),
            }
        }
        reach
    }

    /// Refuses a URL whose host is an address out of reach, in whatever spelling. What a name means
    /// shows only when it is looked up.
    pub fn check_url(&self, url: &Url) -> Result<(), OutOfReach> {
        match url.host() {
            Some(Host::Ipv4(address)) => self.check(&address.to_string(), address.into()),
            Some(Host::Ipv6(address)) => self.check(&address.to_string(), address.into()),
            // What the name of a metadata service means is known without looking.
            Some(Host::Domain(name)) if normal(name) == METADATA_NAME => {
                self.check(name, METADATA.into())
            }
            Some(Host::Domain(name)) if is_local(&normal(name)) && !self.allows_host(name) => {
                Err(OutOfReach { host: name.into() })
            }
            Some(Host::Domain(_)) | None => Ok(()),
        }
    }

    /// Refuses an address that a host was found at, if it is out of reach.
    pub fn check(&self, host: &str, address: IpAddr) -> Result<(), OutOfReach> {
        if self.everything {
            return Ok(());
        }
        let address = embedded(address);
        let listed = |net: &IpNet| net.contains(&address);
        let allowed = if is_metadata(address) {
            // Allowing a whole network is not asking for this one.
            self.nets.iter().any(|net| listed(net) && net.prefix_len() == net.max_prefix_len())
        } else {
            is_public(address) || self.nets.iter().any(listed) || self.allows_host(host)
        };
        if allowed { Ok(()) } else { Err(OutOfReach { host: host.into() }) }
    }

    fn allows_host(&self, host: &str) -> bool {
        self.everything || self.hosts.contains(&normal(host))
    }
}

/// A name without what makes no difference.
fn normal(name: &str) -> String {
    name.trim_end_matches('.').to_ascii_lowercase()
}

/// Names that mean this machine wherever they are looked up.
fn is_local(name: &str) -> bool {
    name == "localhost" || name.ends_with(".localhost")
}

/// The address of version 4 that this one stands for, if it stands for one.
fn embedded(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else {
        return address;
    };
    if let Some(v4) = v6.to_ipv4_mapped() {
        return v4.into();
    }
    let segments = v6.segments();
    let v4 = |high: u16, low: u16| {
        IpAddr::V4(Ipv4Addr::from_bits((u32::from(high) << 16) | u32::from(low)))
    };
    match segments {
        // Translated and tunnelled addresses.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => v4(high, low),
        _ => address,
    }
}

/// Where most clouds tell machines about themselves.
const METADATA: Ipv4Addr = Ipv4Addr::new(169, 254, 169, 254);
/// What one of them calls it.
const METADATA_NAME: &str = "metadata.google.internal";

/// Where clouds tell machines about themselves, with their credentials.
fn is_metadata(address: IpAddr) -> bool {
    const V4: [Ipv4Addr; 4] = [
        METADATA,
        Ipv4Addr::new(169, 254, 170, 2),
        Ipv4Addr::new(100, 100, 100, 200),
        Ipv4Addr::new(192, 0, 0, 192),
    ];
    const V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);
    match address {
        IpAddr::V4(v4) => V4.contains(&v4),
        IpAddr::V6(v6) => v6 == V6,
    }
}

fn is_public(address: IpAddr) -> bool {
    const fn v4(a: u8, b: u8, c: u8, length: u8) -> Ipv4Net {
        Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, 0), length)
    }
    const fn v6(a: u16, b: u16, c: u16, length: u8) -> Ipv6Net {
        Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0), length)
    }
    const V4: [Ipv4Net; 15] = [
        v4(0, 0, 0, 8),
        v4(10, 0, 0, 8),
        v4(100, 64, 0, 10),
        v4(127, 0, 0, 8),
        v4(169, 254, 0, 16),
        v4(172, 16, 0, 12),
        v4(192, 0, 0, 24),
        v4(192, 0, 2, 24),
        v4(192, 88, 99, 24),
        v4(192, 168, 0, 16),
        v4(198, 18, 0, 15),
        v4(198, 51, 100, 24),
        v4(203, 0, 113, 24),
        v4(224, 0, 0, 4),
        v4(240, 0, 0, 4),
    ];
    const V6: [Ipv6Net; 9] = [
        v6(0, 0, 0, 96),
        v6(0x64, 0xff9b, 1, 48),
        v6(0x100, 0, 0, 64),
        v6(0x2001, 0, 0, 23),
        v6(0x2001, 0xdb8, 0, 32),
        v6(0xfc00, 0, 0, 7),
        v6(0xfe80, 0, 0, 10),
        v6(0xfec0, 0, 0, 10),
        v6(0xff00, 0, 0, 8),
    ];
    match address {
        IpAddr::V4(address) => !V4.iter().any(|net| net.contains(&address)),
        IpAddr::V6(address) => !V6.iter().any(|net| net.contains(&address)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reach(rules: &[&str]) -> Reach {
        Reach::public(rules.iter().map(|rule| rule.parse::<Rule>().unwrap()))
    }

    fn admits(reach: &Reach, url: &str) -> bool {
        reach.check_url(&Url::parse(url).unwrap()).is_ok()
    }

    #[test]
    fn every_spelling_of_this_machine_is_out_of_reach() {
        let public = reach(&[]);
        for host in [
            "127.0.0.1",
            "2130706433",
            "0x7f.1",
            "0177.0.0.1",
            "127.1",
            "①②⑦.⓪.⓪.①",
            "127。0。0。1",
            "127%2e0%2e0%2e1",
            "127.0.0.1.",
            "user@127.0.0.1",
            "0.0.0.0",
            "[::1]",
            "[::]",
            "[::ffff:127.0.0.1]",
            "[::127.0.0.1]",
            "[64:ff9b::7f00:1]",
            "[2002:7f00:1::]",
            "localhost",
            "LOCALHOST.",
            "api.localhost",
        ] {
            assert!(!admits(&public, &format!("http://{host}/")), "{host}");
        }
    }

    #[test]
    fn what_is_not_public_is_out_of_reach() {
        let public = reach(&[]);
        for host in [
            "10.1.2.3",
            "100.64.0.1",
            "100.127.255.255",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.0.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "[64:ff9b:1::1]",
            "[64:ff9b::a00:1]",
            "[100::1]",
            "[2001::1]",
            "[2001:db8::1]",
            "[2002:c0a8:1::]",
            "[fc00::1]",
            "[fd00:ec2::254]",
            "[fe80::1]",
            "[fec0::1]",
            "[ff02::1]",
            "[::ffff:10.0.0.1]",
        ] {
            assert!(!admits(&public, &format!("http://{host}/")), "{host}");
        }
    }

    #[test]
    fn what_is_public_is_within_reach() {
        let public = reach(&[]);
        for host in [
            "8.8.8.8",
            "1.1.1.1",
            "100.63.255.255",
            "100.128.0.1",
            "172.15.0.1",
            "172.32.0.1",
            "198.17.0.1",
            "198.20.0.1",
            "223.255.255.255",
            "[2606:4700::1111]",
            "[::ffff:8.8.8.8]",
            "[64:ff9b::808:808]",
            "example.com",
            "localhost.example.com",
        ] {
            assert!(admits(&public, &format!("http://{host}/")), "{host}");
        }
    }

    #[test]
    fn an_operator_may_allow_hosts_and_networks() {
        let some = reach(&["10.0.0.0/8", "192.168.7.9", "Billing.Internal.", "fd12::/16"]);
        assert!(admits(&some, "http://10.200.0.1/") && admits(&some, "http://[::ffff:10.0.0.1]/"));
        assert!(admits(&some, "http://192.168.7.9/") && !admits(&some, "http://192.168.7.8/"));
        assert!(admits(&some, "http://[fd12::1]/") && !admits(&some, "http://[fd13::1]/"));
        let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
        assert!(some.check("billing.internal", loopback).is_ok());
        assert!(some.check("BILLING.internal.", loopback).is_ok());
        for other in
            ["evil-billing.internal", "billing.internal.evil.example", "x.billing.internal"]
        {
            assert!(some.check(other, loopback).is_err(), "{other}");
        }
        assert!(admits(&reach(&["localhost"]), "http://localhost:8080/"));
    }

    #[test]
    fn an_address_is_allowed_in_each_of_its_spellings() {
        for spelling in ["10.1.2.3", "::ffff:10.1.2.3", "[::ffff:10.1.2.3]", "64:ff9b::a01:203"] {
            let allowed = reach(&[spelling]);
            assert!(admits(&allowed, "http://10.1.2.3/"), "{spelling}");
            assert!(admits(&allowed, "http://[::ffff:10.1.2.3]/"), "{spelling}");
            assert!(!admits(&allowed, "http://10.1.2.4/"), "{spelling}");
        }
    }

    #[test]
    fn credentials_of_the_cloud_are_given_out_only_by_name() {
        let metadata = "http://169.254.169.254/latest/meta-data";
        assert!(!admits(&reach(&["169.254.0.0/16", "0.0.0.0/0"]), metadata));
        assert!(!admits(&reach(&["0.0.0.0/0"]), "http://[::ffff:169.254.169.254]/"));
        let address = Ipv4Addr::new(169, 254, 169, 254).into();
        assert!(
            reach(&["metadata.google.internal"])
                .check("metadata.google.internal", address)
                .is_err()
        );
        assert!(admits(&reach(&["169.254.169.254"]), metadata));
        let name = "http://Metadata.Google.Internal./computeMetadata/v1/";
        assert!(!admits(&reach(&["0.0.0.0/0", "metadata.google.internal"]), name));
        assert!(admits(&reach(&["169.254.169.254"]), name));
        assert!(!admits(&reach(&["::/0"]), "http://[fd00:ec2::254]/"));
        assert!(admits(&Reach::everything(), metadata), "a program knows what it does");
    }

    #[test]
    fn what_is_no_rule_is_refused_with_what_would_be_one() {
        for text in ["", "10.0.0.0/33", "http://x", "a b", "x/y", "300.1.1.1"] {
            let refused = text.parse::<Rule>().unwrap_err();
            assert!(refused.contains("billing.internal"), "{text:?}: {refused}");
        }
        assert_eq!("[::1]".parse(), Ok(Rule::Net("::1/128".parse().unwrap())));
    }

    #[test]
    fn a_rule_is_written_as_it_is_read() {
        for (given, written) in [
            ("10.1.2.3/8", "10.0.0.0/8"),
            ("[::1]", "::1"),
            ("127.0.0.1/32", "127.0.0.1"),
            ("Billing.Internal.", "billing.internal"),
        ] {
            let rule: Rule = given.parse().unwrap();
            assert_eq!(rule.to_string(), written);
            assert_eq!(written.parse(), Ok(rule));
        }
    }
}
