//! Encryption: a database that cannot show who it is gets no password and no data.

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use chronos_core::Store;
use chronos_pgtest::Cluster;
use chronos_store::{PostgresConfig, PostgresStore};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

fn authority(name: &str) -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, name);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// Whether a store opens at this host, if it trusts these authorities.
async fn open(host: &str, port: u16, mode: &str, trusted: &Path) -> Result<PostgresStore, String> {
    let trusted = trusted.display();
    let url =
        format!("postgres://postgres@{host}:{port}/postgres?sslmode={mode}&sslrootcert={trusted}");
    PostgresStore::open(PostgresConfig::new(&url)).await.map_err(|error| error.to_string())
}

#[tokio::test]
async fn a_database_is_reached_if_it_shows_who_it_is_and_not_otherwise() {
    let directory = tempfile::tempdir().unwrap();
    let (ours, theirs) = (authority("ours"), authority("theirs"));
    let (trusted, others) =
        (directory.path().join("ours.pem"), directory.path().join("theirs.pem"));
    std::fs::write(&trusted, ours.pem()).unwrap();
    std::fs::write(&others, theirs.pem()).unwrap();
    let key = KeyPair::generate().unwrap();
    let shown = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let shown = shown.signed_by(&key, &ours).unwrap();
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let cluster = Cluster::encrypted(free, &shown.pem(), &key.serialize_pem());
    let store = open("localhost", free, "verify-full", &trusted).await.unwrap();
    store.stats().await.unwrap();
    let mut psql = Command::new(chronos_pgtest::binaries().unwrap().join("psql"));
    psql.args(["--no-psqlrc", "--tuples-only", "--no-align", "--command"]);
    psql.arg(
        "SELECT bool_and(s.ssl) FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid) \
              WHERE a.client_addr IS NOT NULL AND pid <> pg_backend_pid()",
    );
    psql.arg(format!("postgres://postgres@127.0.0.1:{free}/postgres?sslmode=disable"));
    let answer = psql.output().unwrap();
    assert_eq!(String::from_utf8_lossy(&answer.stdout).trim(), "t", "{answer:?}");
    drop(store);
    // The certificate does not name the address.
    let refused = open("127.0.0.1", free, "verify-full", &trusted).await.err().unwrap();
    assert!(refused.contains("certificate"), "{refused}");
    let refused = open("localhost", free, "verify-full", &others).await.err().unwrap();
    assert!(refused.contains("certificate"), "{refused}");
    drop(open("127.0.0.1", free, "verify-ca", &trusted).await.unwrap());
    drop(cluster);
}
