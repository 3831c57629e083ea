//! What requests must not go to, whatever else is allowed: the scheduler itself, for one.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use ipnet::{IpNet, Ipv4Net};

use super::{Rule, embedded, normal};

/// Something that requests must not go to: a host, an address or a network, at one port or at all; or a
/// port of every host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denied {
    place: Place,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    Anywhere,
    At(Rule),
    /// Every address of this machine; which they are shows only on the machine.
    Machine,
}

impl Denied {
    /// Everywhere that what listens here can be called at.
    #[must_use]
    pub fn listener(listener: SocketAddr) -> Vec<Self> {
        let ip = listener.ip().to_canonical();
        let at =
            |net: IpNet| Self { place: Place::At(Rule::Net(net)), port: Some(listener.port()) };
        // A connection to no address in particular is made to this machine.
        let alone = |ip: IpAddr| at(ip.into());
        let nowhere = [alone(Ipv4Addr::UNSPECIFIED.into()), alone(Ipv6Addr::UNSPECIFIED.into())];
        if ip.is_unspecified() {
            let loopback = Ipv4Net::new_assert(Ipv4Addr::new(127, 0, 0, 0), 8);
            let local = [at(loopback.into()), alone(Ipv6Addr::LOCALHOST.into())];
            let machine = Self { place: Place::Machine, port: Some(listener.port()) };
            return nowhere.into_iter().chain(local).chain([machine]).collect();
        }
        let nowhere = nowhere.into_iter().filter(|_| ip.is_loopback());
        nowhere.chain([alone(embedded(ip))]).collect()
    }

    /// One port of a host, of an address or of a network.
    #[must_use]
    pub fn at(rule: Rule, port: u16) -> Self {
        Self { place: Place::At(rule), port: Some(port) }
    }

    /// Whether it is a host of this name.
    pub(super) fn names(&self, host: &str, port: u16) -> bool {
        let is_it = match &self.place {
            Place::Anywhere => true,
            Place::At(Rule::Host(name)) => *name == normal(host),
            Place::At(Rule::Net(_)) | Place::Machine => false,
        };
        is_it && self.is_at(port)
    }

    /// Whether the address is among what it denies.
    pub(super) fn holds(&self, address: IpAddr, port: u16) -> bool {
        let holds = match &self.place {
            Place::Anywhere => true,
            Place::At(Rule::Net(net)) => net.contains(&address),
            Place::At(Rule::Host(_)) | Place::Machine => false,
        };
        holds && self.is_at(port)
    }

    pub(super) fn is_machine_at(&self, port: u16) -> bool {
        self.place == Place::Machine && self.is_at(port)
    }

    /// Port 0 stands for one that nobody knows, which might be any.
    fn is_at(&self, port: u16) -> bool {
        port == 0 || self.port.is_none_or(|own| own == port)
    }
}

impl FromStr for Denied {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // An address of version 6 has colons of its own.
        if let Ok(rule) = text.parse() {
            return Ok(Self { place: Place::At(rule), port: None });
        }
        let refused = || {
            format!(
                "{text:?} is neither a host such as billing.internal or billing.internal:5432, nor an \
                 address or a network with or without a port, nor a port such as :25"
            )
        };
        let (place, port) = text.rsplit_once(':').ok_or_else(refused)?;
        let port = port.parse().ok().filter(|port| *port != 0).ok_or_else(refused)?;
        let place = match place {
            "" => Place::Anywhere,
            place => Place::At(place.parse().map_err(|_| refused())?),
        };
        Ok(Self { place, port: Some(port) })
    }
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.place, self.port) {
            (Place::Anywhere, _) => {}
            (Place::Machine, _) => f.write_str("this machine")?,
            (Place::At(Rule::Net(IpNet::V6(net))), Some(_)) if net.prefix_len() == 128 => {
                write!(f, "[{}]", net.addr())?;
            }
            (Place::At(rule), _) => write!(f, "{rule}")?,
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}
