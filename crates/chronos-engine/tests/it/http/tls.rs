//! TLS: an endpoint that cannot show who it is gets no request, and the run says why.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use chronos_engine::Http;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, Issuer, KeyPair, date_time_ymd,
};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::environment::is_within;
use super::{Lab, passing};

/// Where certificates are, of which those of `ca.pem` are trusted.
const DIRECTORY: &str = "CHRONOS_TEST_CERTIFICATES";

/// An endpoint that shows a certificate, and counts who asks it for something.
struct Endpoint {
    address: SocketAddr,
    asked: Arc<AtomicUsize>,
}

impl Endpoint {
    async fn showing(directory: &Path, name: &str) -> Self {
        let acceptor = acceptor(directory, name, &[]);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = asked.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let Ok(mut stream) = acceptor.accept(stream).await else { continue };
                if stream.read_u8().await.is_ok() {
                    counted.fetch_add(1, Ordering::SeqCst);
                    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
                    let _ = stream.shutdown().await;
                }
            }
        });
        Self { address, asked }
    }
}

/// Shows the certificate of this name, and speaks these protocols.
pub(super) fn acceptor(directory: &Path, name: &str, protocols: &[&str]) -> TlsAcceptor {
    let file = |end: &str| directory.join(format!("{name}.{end}"));
    let chain = vec![CertificateDer::from_pem_file(file("crt")).unwrap()];
    let key = PrivateKeyDer::from_pem_file(file("key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider);
    let config = config.with_safe_default_protocol_versions().unwrap();
    let mut config = config.with_no_client_auth().with_single_cert(chain, key).unwrap();
    config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    TlsAcceptor::from(Arc::new(config))
}

/// Runs the test of this name again in a process that trusts what our authority has issued; says where
/// the certificates are if this is it.
pub(super) fn certificates_within(test: &str) -> Option<PathBuf> {
    if let Some(certificates) = std::env::var_os(DIRECTORY) {
        return Some(certificates.into());
    }
    let directory = tempfile::tempdir().unwrap();
    let trusted = issue(directory.path());
    let variables = [
        ("SSL_CERT_FILE", trusted.to_str().unwrap()),
        ("SSL_CERT_DIR", "/nonexistent"),
        (DIRECTORY, directory.path().to_str().unwrap()),
    ];
    assert!(!is_within(test, &variables));
    None
}

/// Writes certificates: one that is fine, and one for each way in which one is not.
fn issue(directory: &Path) -> PathBuf {
    let write = |name: &str, text: &str| fs::write(directory.join(name), text).unwrap();
    let authority = |name: &str| {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
    };
    let issued = |name: &str, params: CertificateParams, by: Option<&Issuer<'_, KeyPair>>| {
        let key = KeyPair::generate().unwrap();
        let certificate = match by {
            Some(issuer) => params.signed_by(&key, issuer),
            None => params.self_signed(&key),
        };
        write(&format!("{name}.crt"), &certificate.unwrap().pem());
        write(&format!("{name}.key"), &key.serialize_pem());
    };
    let (ours, theirs) = (authority("ours"), authority("theirs"));
    write("ca.pem", &ours.pem());
    let of = |host: &str| CertificateParams::new(vec![host.to_owned()]).unwrap();
    issued("good", of("localhost"), Some(&ours));
    issued("other_host", of("elsewhere.example"), Some(&ours));
    issued("other_authority", of("localhost"), Some(&theirs));
    issued("self_signed", of("localhost"), None);
    let mut expired = of("localhost");
    expired.not_before = date_time_ymd(2020, 1, 1);
    expired.not_after = date_time_ymd(2021, 1, 1);
    issued("expired", expired, Some(&ours));
    let mut future = of("localhost");
    future.not_before = date_time_ymd(2090, 1, 1);
    issued("future", future, Some(&ours));
    directory.join("ca.pem")
}

fn url(address: SocketAddr) -> String {
    format!("https://localhost:{}/hook?token=hunter2", address.port())
}

#[tokio::test]
async fn an_endpoint_that_cannot_show_who_it_is_gets_no_request_and_the_run_says_why() {
    let test = "http::tls::\
                an_endpoint_that_cannot_show_who_it_is_gets_no_request_and_the_run_says_why";
    let Some(certificates) = certificates_within(test) else {
        return;
    };
    let good = Endpoint::showing(&certificates, "good").await;
    let run = Lab::calling(Http::new(&url(good.address)).unwrap()).await.run_once().await;
    assert_eq!((run.status(), good.asked.load(Ordering::SeqCst)), ("SUCCESS", 1), "{run:?}");
    for (name, reason) in [
        ("expired", "certificate expired"),
        ("future", "certificate not valid yet"),
        ("other_host", "certificate not valid for name \"localhost\""),
        ("other_authority", "UnknownIssuer"),
        ("self_signed", "UnknownIssuer"),
    ] {
        let endpoint = Endpoint::showing(&certificates, name).await;
        let request = Http::new(&url(endpoint.address)).unwrap();
        let why = passing(&Lab::calling(request).await.run_once().await);
        assert!(why.starts_with("no connection to localhost:"), "{name}: {why}");
        assert!(
            why.contains("invalid peer certificate: ") && why.contains(reason),
            "{name}: {why}"
        );
        assert!(!why.contains("hunter2"), "{name}: {why}");
        assert_eq!(endpoint.asked.load(Ordering::SeqCst), 0, "{name}");
    }
}

#[tokio::test]
async fn an_endpoint_that_speaks_an_old_tls_is_told_apart() {
    // What a server answers that knows TLS 1.0 at most: a fatal alert, protocol_version.
    const ALERT: [u8; 7] = [0x15, 0x03, 0x01, 0x00, 0x02, 0x02, 0x46];
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.read(&mut [0; 4_096]).await;
            let _ = stream.write_all(&ALERT).await;
        }
    });
    let why = passing(&Lab::calling(Http::new(&url(address)).unwrap()).await.run_once().await);
    assert!(why.contains("ProtocolVersion"), "{why}");
}
