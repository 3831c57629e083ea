//! Migrating: forward only, once, whole or not at all.

use chronos_store::{OpenError, PostgresConfig, PostgresStore, postgres};

use super::fresh;

#[tokio::test(flavor = "multi_thread")]
async fn five_openers_at_once_migrate_once() {
    let schema = fresh().await;
    let openers = (0..5).map(|_| {
        let config = schema.config();
        tokio::spawn(async move { postgres::migrate(&config).await.unwrap() })
    });
    let mut migrations = 0;
    for opener in openers.collect::<Vec<_>>() {
        migrations += opener.await.unwrap();
    }
    let applied: usize =
        schema.psql("SELECT count(*) FROM chronos.schema_migrations").parse().unwrap();
    assert_eq!(migrations, applied);
    assert_eq!(postgres::migrate(&schema.config()).await.unwrap(), 0);
}

#[tokio::test]
async fn a_schema_of_a_newer_program_is_refused() {
    let schema = fresh().await;
    drop(schema.store().await);
    schema.psql("INSERT INTO chronos.schema_migrations (version) VALUES (999)");
    let refused = PostgresStore::open(schema.config()).await.unwrap_err();
    let text = refused.to_string();
    assert!(matches!(refused, OpenError::SchemaTooNew { found: 999, .. }), "{text}");
    assert!(text.contains(&schema.name) && text.contains("newer program"), "{text}");
}

#[tokio::test]
async fn a_migration_that_breaks_off_leaves_nothing_and_can_be_resumed() {
    let schema = fresh().await;
    // The last of the tables that the migration makes is in its way.
    schema
        .psql("CREATE SCHEMA IF NOT EXISTS chronos.x".replace("chronos.x", &schema.name).as_str());
    schema.psql("CREATE TABLE chronos.audit (what text)");
    let broken = postgres::migrate(&schema.config()).await.unwrap_err();
    assert!(matches!(broken, OpenError::Migration { number: 1, .. }), "{broken}");
    let tables = format!("SELECT count(*) FROM pg_tables WHERE schemaname = '{}'", schema.name);
    assert_eq!(schema.psql(&tables), "1", "only what was there before");
    schema.psql("DROP TABLE chronos.audit");
    assert!(postgres::migrate(&schema.config()).await.unwrap() > 0);
    drop(schema.store().await);
}

#[tokio::test]
async fn what_cannot_be_meant_is_refused_before_anything_is_asked() {
    let schema = fresh().await;
    for name in ["", "Chronos", "a b", "1st", "pg_chronos", "a;drop", "é", &"x".repeat(41)] {
        let config = PostgresConfig { schema: name.into(), ..schema.config() };
        let refused = PostgresStore::open(config).await.unwrap_err();
        assert!(matches!(refused, OpenError::Schema { .. }), "{refused}");
        assert!(refused.to_string().contains("lower-case"), "{refused}");
    }
    let none = PostgresConfig { connections: 0, ..schema.config() };
    let refused = PostgresStore::open(none).await.unwrap_err().to_string();
    assert!(refused.starts_with("connections is not accepted"), "{refused}");
    let nowhere = PostgresConfig { url: "mysql://root:secret@x/y".into(), ..schema.config() };
    let refused = PostgresStore::open(nowhere).await.unwrap_err().to_string();
    assert!(refused.contains("postgres://") && !refused.contains("secret"), "{refused}");
}

#[tokio::test]
async fn a_password_is_never_shown() {
    let config = PostgresConfig::new("postgres://user:secret@host/database");
    assert!(!format!("{config:?}").contains("secret"));
}
