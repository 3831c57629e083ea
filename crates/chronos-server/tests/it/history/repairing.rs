//! Repairing: a history that cannot be used is said to be so, the scheduler goes on, and one command makes it again.

use std::fs;

use super::{figures, fill_directory, get, told_all};
use crate::serving::Serving;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_history_stops_nobody_and_is_made_again_by_one_command() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let jobs = fill_directory(&data, &["", ""], 60).await;
    let expected: Vec<_> = jobs.iter().map(|(_, counts)| counts.clone()).collect();
    let (mut daemon, address) = Serving::over(&data, &[]).await;
    told_all(address).await;
    let before = get(address, "/history/toc/toc:day:2025-12-30").await;
    assert_eq!(figures(address, &jobs).await, expected);
    daemon.stop().await;

    // A newer program wrote it, and what it wrote is not ours to read.
    for marker in ["chronos history, format 99\n", "not what was written"] {
        fs::write(data.join("history/history"), marker).unwrap();
        let (mut daemon, address) = Serving::over(&data, &[]).await;
        let log = daemon.line("The history is not kept").await;
        assert!(log.contains("chronos history rebuild"), "{log}");
        let standing = get(address, "/history").await;
        assert_eq!(standing["status"], "refused", "{standing}");
        assert!(get(address, "/jobs").await["items"].as_array().unwrap().len() > 2);
        let (server, place) = (format!("http://{address}"), data.display().to_string());
        let at = ["--server", &server, "--data-dir", &place];
        let made = crate::answer(&[&["history", "rebuild", "--yes"], &at[..]].concat());
        assert!(made.starts_with("The history is made again"), "{made}");
        assert_eq!(figures(address, &jobs).await, expected);
        assert_eq!(get(address, "/history/toc/toc:day:2025-12-30").await, before);
        let shown = crate::answer(&[&["history", "show", "day", "2025-12-30"], &at[..]].concat());
        assert!(shown.contains("Tuesday, 30 December 2025") && shown.contains("past-0"), "{shown}");
        daemon.stop().await;
    }

    // Somebody else's files are nobody's to delete.
    fs::remove_file(data.join("history/history")).unwrap();
    fs::write(data.join("history/precious"), "mine").unwrap();
    let (mut daemon, address) = Serving::over(&data, &[]).await;
    daemon.line("The history is not kept").await;
    crate::rest::send(address, "POST", "/history/rebuild", "", b"").await.expect(202);
    daemon.line("The history is not kept").await;
    assert_eq!(fs::read_to_string(data.join("history/precious")).unwrap(), "mine");
    daemon.stop().await;
}
