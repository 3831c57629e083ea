//! The archive's directory: deleted, cut short, damaged, another program's, or somebody else's.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use chronos_core::audit::EndingKind;
use chronos_history::{Archive, ArchiveError, Entry};
use tempfile::tempdir;

use super::{cursor, open, project, roll_up};
use crate::world::{at, ended, job};

fn entries() -> Vec<Entry> {
    let start = at("2024-02-28T12:00:00Z");
    let entry = |n: u64| {
        let ending = if n.is_multiple_of(3) { EndingKind::Failed } else { EndingKind::Success };
        let number = u8::try_from(n % 5).unwrap();
        let when = start.after(Duration::from_mins(n * 7));
        ended(n, job(number), when, ending, Duration::from_millis(n))
    };
    (1..400).map(entry).collect()
}

async fn filled(path: &Path, entries: &[Entry]) -> u64 {
    let archive = open(path);
    for page in entries.chunks(50) {
        project(&archive, page);
    }
    roll_up(&archive, at("2026-01-01T00:00:00Z")).await;
    assert_eq!(archive.cursor().unwrap(), cursor(entries));
    archive.fingerprint().unwrap()
}

fn files(path: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

fn copy(from: &Path, to: &Path) {
    for file in files(from) {
        let target = to.join(file.strip_prefix(from).unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(&file, target).unwrap();
    }
}

fn refusal(path: &Path) -> String {
    match Archive::open(path) {
        Ok(_) => panic!("it was opened"),
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
async fn a_directory_that_was_deleted_is_made_again_with_the_same_content() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("history");
    let first = filled(&path, &entries()).await;
    assert_eq!(open(&path).fingerprint().unwrap(), first);
    fs::remove_dir_all(&path).unwrap();
    assert_eq!(open(&path).cursor().unwrap().sequence, 0);
    assert_eq!(filled(&path, &entries()).await, first);
}

#[tokio::test]
async fn what_a_crash_leaves_is_read_on_from_where_it_ends() {
    let directory = tempdir().unwrap();
    let entries = entries();
    let whole = filled(&directory.path().join("whole"), &entries).await;
    let path = directory.path().join("history");
    let archive = open(&path);
    let mut seen = Vec::new();
    for (page, number) in entries.chunks(50).zip(0..) {
        project(&archive, page);
        // As a crash leaves it: nothing is closed.
        let left = directory.path().join(format!("left-{number}"));
        copy(&path, &left);
        seen.push((left, cursor(page)));
    }
    for (left, cursor) in seen {
        let archive = open(&left);
        assert_eq!(archive.cursor().unwrap(), cursor);
        drop(archive);
        assert_eq!(filled(&left, &entries).await, whole);
    }
}

#[tokio::test]
async fn a_journal_that_was_cut_short_costs_nothing_but_reading_again() {
    let directory = tempdir().unwrap();
    let entries = entries();
    let whole = filled(&directory.path().join("whole"), &entries).await;
    let path = directory.path().join("history");
    let archive = open(&path);
    for page in entries.chunks(50) {
        project(&archive, page);
    }
    let mut went_back = 0;
    for part in 1..8 {
        let cut = directory.path().join(format!("cut-{part}"));
        copy(&path, &cut);
        let journal =
            files(&cut).into_iter().find(|file| file.extension().is_some_and(|it| it == "jnl"));
        let journal = journal.expect("the engine has a journal");
        let bytes = fs::read(&journal).unwrap();
        // The engine makes its journals longer than they are filled.
        let filled_to = bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1;
        fs::write(&journal, &bytes[..filled_to * part / 8]).unwrap();
        match Archive::open(&cut) {
            Ok(archive) => {
                went_back += usize::from(archive.cursor().unwrap() != cursor(&entries));
                drop(archive);
                assert_eq!(filled(&cut, &entries).await, whole, "cut at {part}/8");
            }
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains("delete the directory to have it made again"), "{text}");
            }
        }
    }
    assert!(went_back > 0);
}

#[tokio::test]
async fn a_byte_that_changed_is_told_of_or_makes_no_difference() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("history");
    let entries = entries();
    let whole = filled(&path, &entries).await;
    let mut refused = 0;
    for file in files(&path.join("engine")) {
        let bytes = fs::read(&file).unwrap();
        let Some(filled_to) = bytes.iter().rposition(|byte| *byte != 0) else {
            continue;
        };
        for part in 0..8 {
            let mut changed = bytes.clone();
            changed[filled_to * part / 8] ^= 0x10;
            let left = directory.path().join("changed");
            copy(&path, &left);
            let target = left.join(file.strip_prefix(&path).unwrap());
            fs::write(&target, changed).unwrap();
            let told = Archive::open(&left).and_then(|archive| archive.fingerprint());
            match told {
                // What is left of it is what was there at an earlier time.
                Ok(_) => assert_eq!(filled(&left, &entries).await, whole, "{}", target.display()),
                Err(error) => {
                    refused += 1;
                    let text = error.to_string();
                    assert!(text.contains(&left.display().to_string()), "{text}");
                }
            }
            fs::remove_dir_all(&left).unwrap();
        }
    }
    println!("{refused} changes were refused");
}

#[test]
fn a_newer_format_a_stranger_and_a_second_user_are_refused() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("history");
    let archive = open(&path);
    assert_eq!(
        refusal(&path),
        format!("the history in {} is in use by another process", path.display())
    );
    drop(archive);

    fs::write(path.join("history"), "chronos history, format 7\n").unwrap();
    let newer = Archive::open(&path).err().unwrap();
    assert!(matches!(newer, ArchiveError::TooNew { found: 7, .. }), "{newer}");
    assert!(newer.to_string().contains("use the newer program, or delete the directory"));

    fs::write(path.join("history"), "something else\n").unwrap();
    assert!(refusal(&path).contains("is damaged: the file \"history\" is not what was written"));

    let home = directory.path().join("home");
    fs::create_dir(&home).unwrap();
    fs::write(home.join("letter.txt"), "dear reader").unwrap();
    assert_eq!(
        refusal(&home),
        format!(
            "{} is not a history: it holds \"letter.txt\"; name an empty directory",
            home.display()
        )
    );
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(refusal(&file).starts_with("cannot create"), "{}", refusal(&file));
}

#[tokio::test]
async fn the_archive_of_an_older_format_is_made_again() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("history");
    let whole = filled(&path, &entries()).await;
    fs::write(path.join("history"), "chronos history, format 0\n").unwrap();
    assert_eq!(open(&path).cursor().unwrap().sequence, 0);
    assert_eq!(filled(&path, &entries()).await, whole);
}
