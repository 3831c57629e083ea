//! The data directory: private, of one process at a time, and refused with a reason that helps.

use std::fs::{self, File, Permissions};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use chronos_core::Store;
use chronos_store::{DataDir, Engine, OpenError, Retention, StoreUrl, Tuning, open};

use super::{Disk, Mount, again, as_root, commit, entries, expected, files, role, say};
use crate::bench::{at, every};

/// Why an engine cannot be opened, in words that name the directory.
fn refusal<K: Disk>(path: &Path) -> (OpenError, String) {
    let Err(error) = K::open_in(path) else {
        panic!("{} was opened", path.display());
    };
    let text = error.to_string();
    assert!(text.contains(path.to_str().unwrap()), "{text}");
    (error, text)
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// Writes a marker that says something else, with a check that fits.
fn rewrite_marker(directory: &Path, from: &str, to: &str) {
    let path = directory.join("store");
    let text = fs::read_to_string(&path).unwrap();
    let (body, _) = text.rsplit_once("check ").unwrap();
    let body = body.replace(from, to);
    fs::write(&path, format!("{body}check {:08x}\n", crc32fast::hash(body.as_bytes()))).unwrap();
}

pub(crate) fn a_directory_is_private_and_says_what_it_is<K: Disk>() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("new").join("store");
    drop(K::open_in(&path).unwrap());
    assert_eq!((mode(&path), mode(&path.join("engine"))), (0o700, 0o700));
    for file in ["lock", "store", "durable"] {
        assert_eq!(mode(&path.join(file)), 0o600, "{file}");
    }
    let marker = fs::read_to_string(path.join("store")).unwrap();
    assert!(marker.contains("format 8\n"), "{marker}");
    assert!(marker.contains(&format!("engine {}\n", K::ENGINE)), "{marker}");
}

pub(crate) fn a_directory_that_others_may_write_to_is_refused<K: Disk>() {
    let directory = tempfile::tempdir().unwrap();
    for mode in [0o770, 0o702, 0o777] {
        fs::set_permissions(directory.path(), Permissions::from_mode(mode)).unwrap();
        let (error, text) = refusal::<K>(directory.path());
        assert!(matches!(error, OpenError::WritableByOthers { .. }), "{text}");
        assert!(text.contains("chmod"), "{text}");
    }
    fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).unwrap();
    drop(K::open_in(directory.path()).unwrap());
}

pub(crate) fn a_second_opener_is_told_who_has_it<K: Disk>() {
    let directory = tempfile::tempdir().unwrap();
    let first = K::open_in(directory.path()).unwrap();
    let (error, text) = refusal::<K>(directory.path());
    let pid = Some(std::process::id());
    assert!(matches!(error, OpenError::InUse { pid: found, .. } if found == pid), "{text}");
    commit(&first, 0..3);
    drop(first);
    assert_eq!(entries(&K::open_in(directory.path()).unwrap()).unwrap(), expected(3));
}

pub(crate) fn a_second_process_is_told_who_has_it<K: Disk>() {
    if let Some(path) = role("hold") {
        let _kv = K::open_in(&path).unwrap();
        say("holding");
        std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let name = format!("{}_on_disk::directory::a_second_process_is_told_who_has_it", K::ENGINE);
    let mut holder = again(&name, "hold", directory.path());
    let mut holder = holder.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(holder.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line == "holding"));
    let (_, text) = refusal::<K>(directory.path());
    assert!(text.contains(&format!("process {}", holder.id())), "{text}");
    // A process that is killed holds nothing.
    holder.kill().unwrap();
    holder.wait().unwrap();
    drop(K::open_in(directory.path()).unwrap());
}

pub(crate) fn another_format_is_refused<K: Disk>() {
    for (found, age) in [(7, "older"), (9, "newer")] {
        let directory = tempfile::tempdir().unwrap();
        drop(K::open_in(directory.path()).unwrap());
        rewrite_marker(directory.path(), "format 8", &format!("format {found}"));
        let before = files(directory.path());
        let (error, text) = refusal::<K>(directory.path());
        assert!(matches!(error, OpenError::OtherFormat { known: 8, .. }), "{text}");
        assert!(text.contains(&format!("has format {found}, ")), "{text}");
        assert!(text.contains(&format!("use the {age} program")), "{text}");
        assert_eq!(files(directory.path()), before);
    }
}

pub(crate) fn another_engines_directory_is_refused<K: Disk>() {
    let directory = tempfile::tempdir().unwrap();
    drop(K::open_in(directory.path()).unwrap());
    let other = if K::ENGINE == Engine::Fjall { "rocksdb" } else { "fjall" };
    rewrite_marker(directory.path(), K::ENGINE.name(), other);
    let (error, text) = refusal::<K>(directory.path());
    assert!(matches!(error, OpenError::OtherEngine { .. }), "{text}");
    assert!(text.contains(&format!("open it as {other}:")), "{text}");
}

pub(crate) fn a_directory_of_something_else_is_refused_and_left_alone<K: Disk>() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("letter.txt"), "dear reader").unwrap();
    let (error, text) = refusal::<K>(directory.path());
    assert!(matches!(error, OpenError::NotAStore(_)), "{text}");
    assert_eq!(files(directory.path()), [Path::new("letter.txt")]);
}

pub(crate) fn a_file_in_the_place_of_the_directory_is_refused<K: Disk>() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    fs::write(&path, "not a directory").unwrap();
    refusal::<K>(&path);
    assert_eq!(fs::read_to_string(path).unwrap(), "not a directory");
}

pub(crate) fn a_damaged_marker_is_refused<K: Disk>() {
    let directory = tempfile::tempdir().unwrap();
    drop(K::open_in(directory.path()).unwrap());
    let path = directory.path().join("store");
    let marker = fs::read(&path).unwrap();
    for position in 0..marker.len() {
        let mut altered = marker.clone();
        altered[position] ^= 4;
        fs::write(&path, altered).unwrap();
        let (error, text) = refusal::<K>(directory.path());
        assert!(matches!(error, OpenError::Damaged { .. }), "byte {position}: {text}");
    }
    fs::write(&path, "").unwrap();
    assert!(refusal::<K>(directory.path()).1.contains("marker"));
    fs::write(&path, marker).unwrap();
    drop(K::open_in(directory.path()).unwrap());
}

pub(crate) fn a_read_only_directory_is_refused<K: Disk>() {
    let name = format!("{}_on_disk::directory::a_read_only_directory_is_refused", K::ENGINE);
    as_root(&name, || {
        let directory = tempfile::tempdir().unwrap();
        let mount = Mount::new(directory.path(), "size=64m,mode=700");
        drop(K::open_in(directory.path()).unwrap());
        mount.change("ro");
        let (error, text) = refusal::<K>(directory.path());
        assert!(matches!(error, OpenError::ReadOnly { .. }), "{text}");
        mount.change("rw");
        drop(K::open_in(directory.path()).unwrap());
    });
}

pub(crate) fn an_interrupted_first_start_is_started_anew<K: Disk>() {
    let directory = tempfile::tempdir().unwrap();
    // The marker is written, and part of the engine's files.
    drop(DataDir::open(directory.path(), K::ENGINE).unwrap());
    File::create(directory.path().join("engine").join("half")).unwrap();
    File::create(directory.path().join("durable")).unwrap();
    let kv = K::open_in(directory.path()).unwrap();
    commit(&kv, 0..5);
    drop(kv);
    assert!(!directory.path().join("engine").join("half").exists());
    assert_eq!(entries(&K::open_in(directory.path()).unwrap()).unwrap(), expected(5));
}

pub(crate) fn an_address_opens_a_store_that_is_there_again<K: Disk>() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let address = format!("{}:{}", K::ENGINE, directory.path().join("s").display());
    let url: StoreUrl = address.parse().unwrap();
    let store = open(&url, Retention::default(), Tuning::default()).unwrap();
    let job = runtime.block_on(store.create_job(every("a", 10), at(0))).unwrap();
    drop(store);
    let store = open(&url, Retention::default(), Tuning::default()).unwrap();
    assert_eq!(runtime.block_on(store.job(job.spec.id)), Ok(job));
}
