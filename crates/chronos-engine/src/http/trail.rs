//! Trails: where a request is about to go, for whoever looks its host up, and where it went, for the
//! record of its run.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chronos_core::http::{OutOfReach, Reach};
use reqwest::Url;
use ring::digest::{SHA256, digest};

use super::rooms::host_of;
use crate::handler::JobContext;

tokio::task_local! {
    /// The trail of the request that this task makes: a resolver is told a name and nothing else.
    static CURRENT: Arc<Trail>;
}

/// Where a request goes.
#[derive(Debug)]
pub(super) struct Trail {
    port: u16,
    led: Mutex<Led>,
}

/// How far a trail leads.
#[derive(Debug)]
enum Led {
    /// To the addresses that the request may be sent to; there may be none.
    To(Vec<SocketAddr>),
    /// Out of reach.
    Astray,
}

impl Trail {
    /// The trail of a request to this URL, unless it names an address out of reach.
    pub(super) fn to(url: &Url, reach: &Reach) -> Result<Arc<Self>, OutOfReach> {
        reach.check_url(url)?;
        let port = url.port_or_known_default().unwrap_or_default();
        // A host that is an address is connected to without being looked up.
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        let address = host.parse::<IpAddr>().ok();
        if let Some(address) = address {
            spare_machine(reach, host, address, port)?;
        }
        let found = address.map(|address| SocketAddr::new(address, port));
        Ok(Arc::new(Self { port, led: Mutex::new(Led::To(found.into_iter().collect())) }))
    }

    /// Makes a request on this trail.
    pub(super) async fn follow<T>(self: &Arc<Self>, request: impl Future<Output = T>) -> T {
        CURRENT.scope(self.clone(), request).await
    }

    /// The trail of the request that is being made.
    pub(super) fn current() -> Option<Arc<Self>> {
        CURRENT.try_with(Clone::clone).ok()
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Notes the addresses that the host was found at.
    pub(super) fn lead(&self, found: &[SocketAddr]) {
        let found = found.iter().map(|address| SocketAddr::new(address.ip(), self.port));
        *self.led() = Led::To(found.collect());
    }

    /// Notes that the host was found out of reach.
    pub(super) fn lead_astray(&self) {
        *self.led() = Led::Astray;
    }

    fn led(&self) -> MutexGuard<'_, Led> {
        self.led.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records where a run's request went: to the address that answered, or else to those that were
    /// tried.
    pub(super) fn record(&self, context: &JobContext, url: &Url, answered: Option<SocketAddr>) {
        let text = |addresses: &[SocketAddr]| {
            addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        };
        match (answered, &*self.led()) {
            (Some(address), _) => note(context, url, "called", &text(&[address])),
            (None, Led::Astray) => record_refusal(context, url),
            (None, Led::To(found)) if found.is_empty() => note(context, url, "called", "nothing"),
            (None, Led::To(found)) => note(context, url, "called", &text(found)),
        }
    }
}

/// Records where a run's request would have gone, as its URL says: what a name means behind a firewall
/// is not told to whoever made the job.
pub(super) fn record_refusal(context: &JobContext, url: &Url) {
    note(context, url, "refused", &host_of(url));
}

/// Notes what became of a run's request. Of the URL, which may hold secrets, it tells the digest.
fn note(context: &JobContext, url: &Url, what: &str, place: &str) {
    let digest = digest(&SHA256, url.as_str().as_bytes());
    let digest = digest.as_ref().first_chunk().copied().map_or(0, u128::from_be_bytes);
    let owner = match &*context.spec().owner {
        "" => String::new(),
        owner => format!(" for {owner}"),
    };
    context.log(format!("{what} {place}{owner}, url sha256 {digest:032x}"));
}

/// Refuses an address out of reach, also where what listens there listens at every address of this
/// machine.
pub(super) fn check(
    reach: &Reach,
    host: &str,
    address: IpAddr,
    port: u16,
) -> Result<(), OutOfReach> {
    reach.check(host, address, port)?;
    spare_machine(reach, host, address, port)
}

/// Refuses an address of this machine where nothing may be called at any of them.
fn spare_machine(reach: &Reach, host: &str, address: IpAddr, port: u16) -> Result<(), OutOfReach> {
    if reach.is_without_machine_at(port) && is_of_this_machine(address) {
        return Err(OutOfReach { host: host.into(), denied: true });
    }
    Ok(())
}

/// Whether the address is one of this machine's: nobody else's can be bound to.
fn is_of_this_machine(address: IpAddr) -> bool {
    UdpSocket::bind((address.to_canonical(), 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use chronos_core::http::Denied;

    use super::*;

    #[test]
    fn what_listens_everywhere_is_denied_at_every_address_of_this_machine() {
        assert!(is_of_this_machine("127.0.0.1".parse().unwrap()));
        assert!(!is_of_this_machine("192.0.2.1".parse().unwrap()), "an address of nobody's");
        // The address that this machine has towards others, if it has one.
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        let own = socket.connect("192.0.2.1:9").and_then(|()| socket.local_addr());
        let Ok(own) = own.map(|own| own.ip()) else {
            return;
        };
        let reach = Reach::everything().without(Denied::listener("0.0.0.0:8080".parse().unwrap()));
        assert!(check(&reach, "us.example", own, 8_080).unwrap_err().denied);
        assert!(check(&reach, "us.example", own, 8_081).is_ok());
        assert!(check(&reach, "others.example", "192.0.2.1".parse().unwrap(), 8_080).is_ok());
    }
}
