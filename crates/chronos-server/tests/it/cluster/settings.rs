//! What a node is told, what it refuses, and what it never says.

use chronos_pgtest::Cluster;
use chronos_server::proto::BackupRequest;
use tonic::Code;

use super::nodes::Database;
use crate::daemon::house::client;
use crate::daemon::soon;
use crate::{command, refusal, texts};

#[test]
fn settings_that_cannot_be_meant_are_refused() {
    for (args, said) in [
        (
            ["--roles", "api,boss"],
            "roles: \"boss\" is no role; use any of api, scheduler and worker",
        ),
        (["--roles", ""], "roles: a role is missing; use any of api"),
        (["--lease-secs", "14"], "lease_secs: 14 s do not hold for three heartbeats of 5 s"),
        (["--heartbeat-secs", "0"], "heartbeat_secs: 0 is not accepted; use whole seconds from 1"),
        (
            ["--database-url", "mysql://a:s3cret@b/c"],
            "does not begin with postgres://; use an addr",
        ),
        (["--database-url", "postgres://a:s3cret@b:x/c"], "the address is none: invalid port"),
        (["--database-pool", "0"], "database_pool: 0 is not accepted; use a whole number from 1"),
        (["--database-poll-only", "maybe"], "\"maybe\" is not accepted; use true or false"),
        (["--max-clock-skew-secs", "0"], "max_clock_skew_secs: 0 is not accepted"),
        (["--node", "two words"], "node: \"two words\" is not accepted; use a name of 1 to 100"),
        (["--history-days", "0"], "history_days: 0 is not accepted"),
    ] {
        let text = refusal(&[&["serve"], &args[..]].concat());
        assert!(text.contains(said) && !text.contains("s3cret"), "{text}");
    }
    let text = refusal(&["migrate"]);
    assert!(text.contains("database_url: missing; use --database-url URL"), "{text}");
}

#[test]
fn a_configuration_is_shown_without_the_password() {
    for json in [&["--json"][..], &[]] {
        let args = ["config", "--database-url", "postgres://ada:s3cret@db:5432/jobs"];
        let output = command(&[&args, json].concat()).output().unwrap();
        let (shown, _) = texts(&output);
        assert!(shown.contains("postgres://ada:***@db:5432/jobs"), "{shown}");
        assert!(!shown.contains("s3cret"), "{shown}");
    }
}

#[test]
fn a_database_out_of_reach_is_told_without_the_password() {
    let args = ["serve", "--database-url", "postgres://ada:s3cret@127.0.0.1:1/jobs"];
    let output = command(&args).output().unwrap();
    let (_, said) = texts(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("database_url: the database cannot be used"), "{said}");
    assert!(!said.contains("s3cret"), "{said}");
}

#[test]
fn migrating_says_what_it_did() {
    let database = Database::fresh(Cluster::shared());
    for said in [
        "Applied 8 migrations: schema is at version 8\n",
        "Nothing to do: schema is at version 8\n",
    ] {
        let output = command(&["migrate", "--database-url", &database.url()]).output().unwrap();
        assert_eq!(texts(&output), (said.into(), String::new()));
    }
}

#[test]
fn a_node_refuses_a_schema_that_is_newer_than_it_knows() {
    let database = Database::fresh(Cluster::shared());
    command(&["migrate", "--database-url", &database.url()]).output().unwrap();
    database.psql("INSERT INTO chronos.schema_migrations (version) VALUES (99)");
    for args in [&["migrate"][..], &["serve", "--listen", "127.0.0.1:0"]] {
        let output = command(args).env("CHRONOS_DATABASE_URL", database.url()).output().unwrap();
        let (_, said) = texts(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("version 99") && said.contains("newer"), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_asks_a_node_for_a_backup_is_pointed_to_the_database_s_own() {
    let database = Database::fresh(Cluster::shared());
    let node = database.node("a", &[]).await;
    let refused = soon(client(node.address).await.backup(BackupRequest {})).await.unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition);
    assert!(refused.message().contains("pg_dump"), "{refused}");
}
