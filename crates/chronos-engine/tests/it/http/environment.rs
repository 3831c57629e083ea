//! What the environment of the process must not change; each claim is tried in a process of its own.

use std::process::Command;

use chronos_engine::Http;

use super::Lab;
use super::server::{Answer, Server};

/// Runs the test of this name again in a process with these variables; says whether this is it.
pub(super) fn is_within(test: &str, variables: &[(&str, &str)]) -> bool {
    if std::env::var_os("CHRONOS_WITHIN").is_some() {
        return true;
    }
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", "--nocapture", test]).env("CHRONOS_WITHIN", "1");
    let output = again.envs(variables.iter().copied()).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && told.contains("1 passed"), "{told}");
    false
}

async fn call_succeeds() {
    let server = Server::answering(Answer::ok("")).await;
    let request = Http::new(&server.url("/")).unwrap();
    let execution = Lab::calling(request).await.run_once().await;
    assert_eq!(execution.status(), "SUCCESS", "{execution:?}");
    assert_eq!(server.seen().requests[0].line(), "POST / HTTP/1.1");
}

#[tokio::test]
async fn proxies_in_the_environment_are_ignored() {
    let nowhere = "http://127.0.0.1:9";
    let names = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"];
    let variables = names.map(|name| (name, nowhere));
    if is_within("http::environment::proxies_in_the_environment_are_ignored", &variables) {
        call_succeeds().await;
    }
}

#[tokio::test]
async fn a_machine_without_certificates_still_calls_plain_endpoints() {
    let variables = [("SSL_CERT_FILE", "/dev/null"), ("SSL_CERT_DIR", "/nonexistent")];
    let test = "http::environment::a_machine_without_certificates_still_calls_plain_endpoints";
    if is_within(test, &variables) {
        call_succeeds().await;
    }
}
