//! Rows in the shape in which the store writes them, made by PostgreSQL from a few that it wrote.

use chronos_pgtest::Cluster;

use super::DATABASE;

/// Has so many jobs beside each one, which differ from it by id and name.
pub(super) fn multiply_jobs(cluster: &Cluster, times: usize) {
    let sources = |table| format!("chronos.{table} o, generate_series(1, {times}) n");
    multiply(cluster, "job_specs", &sources("job_specs"), |name, _| match name {
        "id" => Some(format!("{JOB_ID}::uuid")),
        "name" => Some("o.name || '-' || n".to_owned()),
        "spec" => Some(format!(
            "replace(replace(o.spec::text, o.id::text, {JOB_ID}), to_json(o.name)::text, \
             to_json(o.name || '-' || n)::text)::json"
        )),
        _ => None,
    });
    multiply(cluster, "job_standings", &sources("job_standings"), |name, _| match name {
        "id" => Some(format!("{JOB_ID}::uuid")),
        "revision" => Some("nextval('chronos.revisions')".to_owned()),
        _ => None,
    });
}

/// Files what the newest slots left so many times again, as if that many seconds had come before them.
pub(super) fn multiply_past(cluster: &Cluster, times: usize) {
    let newest = "(SELECT max(scheduled_for) FROM chronos.job_executions)";
    // In the order of its index, which is then filled page by page: at random it takes minutes.
    let sources = format!(
        "(SELECT * FROM chronos.job_executions WHERE scheduled_for = {newest} ORDER BY tag, id) o, \
         LATERAL generate_series(1, {times} + 0 * o.attempt) n, LATERAL (SELECT {EARLIER}) earlier"
    );
    multiply(cluster, "job_executions", &sources, |name, kind| match (name, kind) {
        ("id", _) => Some(EARLIER_ID.to_owned()),
        // Filed on the same day, where the newest are.
        ("recorded_at", _) => None,
        (_, "timestamp with time zone") => Some(format!("o.{name} - n * interval '1 second'")),
        _ => None,
    });
}

/// The id of a job beside another: time and version are the same, the rest is mixed.
const JOB_ID: &str = "overlay(overlay(md5(o.id::text || n)::uuid::text PLACING left(o.id::text, 15) FROM 1) \
     PLACING substr(o.id::text, 20, 1) FROM 20)";
/// The first 48 bits of the id of the same job's execution so many seconds earlier, which are milliseconds.
const EARLIER: &str = "lpad(to_hex(('x' || left(replace(o.id::text, '-', ''), 12))::bit(48)::bigint - n * 1000), \
     12, '0') AS ms";
const EARLIER_ID: &str =
    "(left(earlier.ms, 8) || '-' || right(earlier.ms, 4) || substr(o.id::text, 14))::uuid";

/// Adds a row for each of the sources, every column as it is but for those that are given otherwise by name
/// and type.
fn multiply(
    cluster: &Cluster,
    table: &str,
    sources: &str,
    otherwise: impl Fn(&str, &str) -> Option<String>,
) {
    let columns = cluster.psql(
        DATABASE,
        &format!(
            "SELECT attname || ':' || format_type(atttypid, NULL) FROM pg_attribute \
             WHERE attrelid = 'chronos.{table}'::regclass AND attnum > 0 AND NOT attisdropped \
             AND attgenerated = '' ORDER BY attnum"
        ),
    );
    let columns: Vec<_> = columns.lines().filter_map(|column| column.split_once(':')).collect();
    let names = columns.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let value =
        |(name, kind): &(&str, &str)| otherwise(name, kind).unwrap_or_else(|| format!("o.{name}"));
    let values = columns.iter().map(value).collect::<Vec<_>>().join(", ");
    let statement = format!("INSERT INTO chronos.{table} ({names}) SELECT {values} FROM {sources}");
    for statement in [&statement, &format!("VACUUM ANALYZE chronos.{table}"), "CHECKPOINT"] {
        cluster.psql(DATABASE, statement);
    }
}
