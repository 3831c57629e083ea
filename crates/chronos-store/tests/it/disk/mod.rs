//! What engines on disk promise beyond the seam: about their directory, damage, space and backups.

pub(crate) mod backup;
pub(crate) mod compaction;
pub(crate) mod damage;
pub(crate) mod directory;
pub(crate) mod engine;
pub(crate) mod full;
#[cfg(feature = "fjall")]
mod journals;
pub(crate) mod torn;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use chronos_core::store::Compacted;
use chronos_store::kv::{Batch, CompactionWatch, Kv, Order, Result, Visitor};
use chronos_store::{DataDir, Engine, OpenError, Tuning};
use tempfile::TempDir;

/// An engine that keeps its files in a directory.
pub(crate) trait Disk: Kv + Sized {
    const ENGINE: Engine;

    fn open_data(directory: DataDir) -> std::result::Result<Self, OpenError>;

    /// The file that batches are appended to.
    fn journal(directory: &Path) -> PathBuf;

    fn open_in(path: &Path) -> std::result::Result<Self, OpenError> {
        Self::open_data(DataDir::open(path, Self::ENGINE)?)
    }
}

#[cfg(feature = "fjall")]
impl Disk for chronos_store::kv::fjall::FjallKv {
    const ENGINE: Engine = Engine::Fjall;

    fn open_data(directory: DataDir) -> std::result::Result<Self, OpenError> {
        Self::open(directory, Tuning::default())
    }

    fn journal(directory: &Path) -> PathBuf {
        newest(&directory.join("engine"), "jnl")
    }
}

#[cfg(feature = "rocksdb")]
impl Disk for chronos_store::kv::rocksdb::RocksKv {
    const ENGINE: Engine = Engine::RocksDb;

    fn open_data(directory: DataDir) -> std::result::Result<Self, OpenError> {
        Self::open(directory, Tuning::default())
    }

    fn journal(directory: &Path) -> PathBuf {
        newest(&directory.join("engine"), "log")
    }
}

/// Of the files with this extension the one with the highest number.
fn newest(directory: &Path, extension: &str) -> PathBuf {
    let files = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let journals = files.filter(|path| path.extension().is_some_and(|it| it == extension));
    let number = |path: &PathBuf| path.file_stem()?.to_str()?.parse::<u64>().ok();
    journals.max_by_key(number).unwrap()
}

/// Runs every case on one engine. A case that is not listed here is dead code, which the compiler
/// reports.
macro_rules! promises {
    ($engine:ident, $kv:ty) => {
        $crate::disk::promises! { @cases $engine, $kv,
            directory {
                a_directory_is_private_and_says_what_it_is,
                a_directory_that_others_may_write_to_is_refused,
                a_second_opener_is_told_who_has_it,
                a_second_process_is_told_who_has_it,
                another_format_is_refused,
                another_engines_directory_is_refused,
                a_directory_of_something_else_is_refused_and_left_alone,
                a_file_in_the_place_of_the_directory_is_refused,
                a_damaged_marker_is_refused,
                a_read_only_directory_is_refused,
                an_interrupted_first_start_is_started_anew,
                an_address_opens_a_store_that_is_there_again,
            }
            damage {
                a_flipped_bit_is_refused_or_changes_nothing,
                a_missing_file_is_refused_or_changes_nothing,
                a_file_cut_short_is_refused_or_changes_nothing,
            }
            torn {
                a_torn_tail_opens_with_every_acknowledged_batch_and_no_gap,
                acknowledged_batches_that_are_cut_off_are_refused,
                garbage_after_the_last_batch_is_dropped,
                a_store_killed_at_any_batch_opens_with_what_was_synced,
            }
            full {
                a_full_disk_refuses_writes_keeps_reads_and_loses_nothing,
                a_store_that_could_not_be_opened_again_goes_on_as_soon_as_it_can,
            }
            backup {
                a_backup_under_writers_restores_to_a_consistent_store,
                a_backup_of_one_engine_restores_into_another,
                a_backup_that_is_cut_short_is_refused,
                a_backup_with_a_flipped_bit_is_refused,
                a_backup_is_restored_into_a_new_place_only,
                an_output_that_fails_ends_the_backup,
            }
            compaction {
                compacting_gives_space_back_and_says_how_much,
                compacting_stops_between_units,
                compacting_does_not_hold_up_other_verbs,
            }
        }
    };
    (@cases $engine:ident, $kv:ty, $($theme:ident { $($case:ident,)* })*) => {
        mod $engine {
            $(mod $theme {
                $(#[test]
                fn $case() {
                    $crate::disk::$theme::$case::<$kv>();
                })*
            })*
        }
    };
}
pub(crate) use promises;

/// An engine in a directory that goes away with it.
pub(crate) struct Fresh<K> {
    kv: K,
    _directory: TempDir,
}

pub(crate) fn fresh<K: Disk>() -> Fresh<K> {
    let directory = engine::quick_directory();
    Fresh { kv: K::open_in(directory.path()).unwrap(), _directory: directory }
}

impl<K: Kv> Kv for Fresh<K> {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.kv.get(key)
    }

    fn scan(&self, from: &[u8], to: &[u8], order: Order, visit: Visitor<'_>) -> Result<()> {
        self.kv.scan(from, to, order, visit)
    }

    fn commit(&self, batch: Batch) -> Result<()> {
        self.kv.commit(batch)
    }

    fn sync(&self) -> Result<()> {
        self.kv.sync()
    }

    fn scan_snapshot(&self, visit: Visitor<'_>) -> Result<()> {
        self.kv.scan_snapshot(visit)
    }

    fn compact(&self, watch: CompactionWatch<'_>) -> Result<Compacted> {
        self.kv.compact(watch)
    }

    fn size(&self) -> u64 {
        self.kv.size()
    }
}

pub(crate) type Entries = BTreeMap<Vec<u8>, Vec<u8>>;

/// Everything that an engine holds, and every entry by its own key as well.
pub(crate) fn entries(kv: &dyn Kv) -> Result<Entries> {
    let mut found = Entries::new();
    kv.scan(&[], &[u8::MAX; 9], Order::Ascending, &mut |key, value| {
        found.insert(key.to_vec(), value.to_vec());
        ControlFlow::Continue(())
    })?;
    for (key, value) in &found {
        assert_eq!(kv.get(key)?.as_ref(), Some(value), "a key is found where a scan found it");
    }
    Ok(found)
}

/// A key of one of three tables, and a value that names it.
pub(crate) fn entry(number: u32) -> (Vec<u8>, Vec<u8>) {
    let table = u8::try_from(number % 3).unwrap() + 1;
    let key = [&[table], number.to_be_bytes().as_slice()].concat();
    (key, format!("value {number} ").repeat(4).into_bytes())
}

/// A batch of its own for each number: it adds an entry and removes an earlier one.
pub(crate) fn commit(kv: &dyn Kv, numbers: std::ops::Range<u32>) {
    for number in numbers {
        let (key, value) = entry(number);
        let mut batch = Batch::default();
        batch.put(key.as_slice(), value);
        if let Some(before) = removed_by(number) {
            batch.delete(entry(before).0.as_slice());
        }
        kv.commit(batch).unwrap();
    }
}

fn removed_by(number: u32) -> Option<u32> {
    (number > 0 && number.is_multiple_of(4)).then_some(number / 2)
}

/// What these batches, one after the other, leave behind.
pub(crate) fn expected(batches: u32) -> Entries {
    let mut entries = Entries::new();
    for number in 0..batches {
        let (key, value) = entry(number);
        entries.insert(key, value);
        if let Some(before) = removed_by(number) {
            entries.remove(&entry(before).0);
        }
    }
    entries
}

/// Every file below a directory, by its path from there.
pub(crate) fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut left = vec![PathBuf::new()];
    while let Some(below) = left.pop() {
        for entry in fs::read_dir(directory.join(&below)).unwrap() {
            let entry = entry.unwrap();
            let path = below.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                left.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Copies a directory as it stands, as a power cut would leave it.
pub(crate) fn copy(from: &Path) -> TempDir {
    let to = tempfile::tempdir().unwrap();
    let mut copy = Command::new("cp");
    let copy = copy.args(["-a", "--sparse=always"]).arg(from.join(".")).arg(to.path());
    assert!(copy.status().unwrap().success());
    to
}

/// A test of this binary in a process of its own, told what to do by its environment.
pub(crate) fn again(test: &str, role: &str, directory: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "--nocapture", test]);
    command.env(ROLE, role).env("CHRONOS_TEST_DIRECTORY", directory);
    command
}

const ROLE: &str = "CHRONOS_TEST_ROLE";

/// What this process was started for, if it was started by a test.
pub(crate) fn role(role: &str) -> Option<PathBuf> {
    let is_mine = std::env::var(ROLE).is_ok_and(|mine| mine == role);
    is_mine.then(|| std::env::var_os("CHRONOS_TEST_DIRECTORY").unwrap().into())
}

/// A small file system of its own, for as long as this lives.
pub(crate) struct Mount {
    pub(crate) path: PathBuf,
}

impl Mount {
    pub(crate) fn new(path: &Path, options: &str) -> Self {
        let mut mount = Command::new("mount");
        let mount = mount.args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(path);
        assert!(mount.status().unwrap().success(), "root may mount");
        Self { path: path.into() }
    }

    pub(crate) fn change(&self, options: &str) {
        let mut mount = Command::new("mount");
        let mount = mount.arg("-o").arg(format!("remount,{options}")).arg(&self.path);
        assert!(mount.status().unwrap().success());
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.path).status();
    }
}

/// Runs a test that mounts a file system: as root here, otherwise in a process that is root in a
/// namespace of its own.
pub(crate) fn as_root(test: &str, body: impl FnOnce()) {
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    if is_root {
        return body();
    }
    let unshare = |program: &Path, arguments: &[&str]| {
        let mut unshare = Command::new("unshare");
        unshare.args(["--map-root-user", "--mount"]).arg(program).args(arguments);
        unshare.status().is_ok_and(|status| status.success())
    };
    if unshare(Path::new("true"), &[]) {
        assert!(unshare(&std::env::current_exe().unwrap(), &["--exact", "--nocapture", test]));
    } else {
        say(&format!("NOT RUN: {test} needs root or user namespaces to mount a file system"));
    }
}

/// Prints a line past the test harness, which would keep it to itself.
pub(crate) fn say(line: &str) {
    let mut out = io::stdout().lock();
    writeln!(out, "\n{line}").and_then(|()| out.flush()).unwrap();
}
