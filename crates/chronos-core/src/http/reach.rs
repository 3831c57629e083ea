//! Reach: which addresses requests may go to.
//!
//! Whoever may create jobs chooses where this machine connects to, and this machine may stand where
//! they do not: beside databases, behind a firewall, next to a cloud's metadata service. So requests go
//! to public addresses, and to others only where the operator says so.

mod denied;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use url::{Host, Url};

pub use denied::Denied;

/// Which addresses requests may go to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reach {
    everything: bool,
    hosts: BTreeSet<String>,
    nets: Vec<IpNet>,
    denied: Vec<Denied>,
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
pub struct OutOfReach {
    /// The host as the request names it.
    pub host: String,
    /// Whether that is because it is denied; else it is not public, and nobody allowed it.
    pub denied: bool,
}

impl fmt::Display for OutOfReach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, denied } = self;
        if *denied {
            return write!(f, "requests to {host} are denied here");
        }
        write!(f, "the address of {host} is not public, and nobody allowed it")
    }
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
        let (hosts, nets, denied) = (BTreeSet::new(), Vec::new(), Vec::new());
        let mut reach = Self { everything: false, hosts, nets, denied };
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

    /// The same without these, whatever else allows them.
    #[must_use]
    pub fn without(mut self, denied: impl IntoIterator<Item = Denied>) -> Self {
        self.denied.extend(denied);
        self
    }

    /// Refuses a URL whose host is an address out of reach, in whatever spelling, or is denied by its
    /// name. What a name means shows only when it is looked up.
    pub fn check_url(&self, url: &Url) -> Result<(), OutOfReach> {
        let port = url.port_or_known_default().unwrap_or_default();
        match url.host() {
            Some(Host::Ipv4(address)) => self.check(&address.to_string(), address.into(), port),
            Some(Host::Ipv6(address)) => self.check(&address.to_string(), address.into(), port),
            Some(Host::Domain(name))
                if self.denied.iter().any(|denied| denied.names(name, port)) =>
            {
                Err(OutOfReach { host: name.into(), denied: true })
            }
            // What the name of a metadata service means is known without looking.
            Some(Host::Domain(name)) if normal(name) == METADATA_NAME => {
                self.check(name, METADATA.into(), port)
            }
            Some(Host::Domain(name)) if is_local(&normal(name)) && !self.allows_host(name) => {
                Err(OutOfReach { host: name.into(), denied: false })
            }
            Some(Host::Domain(_)) | None => Ok(()),
        }
    }

    /// Refuses an address that a host was found at, and a port there, if they are out of reach.
    pub fn check(&self, host: &str, address: IpAddr, port: u16) -> Result<(), OutOfReach> {
        let address = embedded(address);
        let is_it = |denied: &Denied| denied.names(host, port) || denied.holds(address, port);
        if self.denied.iter().any(is_it) {
            return Err(OutOfReach { host: host.into(), denied: true });
        }
        if self.everything {
            return Ok(());
        }
        let listed = |net: &IpNet| net.contains(&address);
        let allowed = if is_metadata(address) {
            // Allowing a whole network is not asking for this one.
            self.nets.iter().any(|net| listed(net) && net.prefix_len() == net.max_prefix_len())
        } else {
            is_public(address) || self.nets.iter().any(listed) || self.allows_host(host)
        };
        if allowed { Ok(()) } else { Err(OutOfReach { host: host.into(), denied: false }) }
    }

    /// Whether what listens at this port listens at every address of this machine, and must not be
    /// called at any.
    #[must_use]
    pub fn is_without_machine_at(&self, port: u16) -> bool {
        self.denied.iter().any(|denied| denied.is_machine_at(port))
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
