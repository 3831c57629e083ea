//! Small file systems of their own, for tests that fill them or close them to writes.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::serving::say;

/// Whether this process may mount. Where it may not, the test of this name runs again in a process that
/// is root in a namespace of its own, or says aloud that it did not run.
pub(crate) fn may_mount(test: &str) -> bool {
    if fs::metadata("/proc/self").unwrap().uid() == 0 {
        return true;
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
    false
}

/// A file system in memory, for as long as this lives.
pub(crate) struct Mount {
    path: PathBuf,
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
        // A process that was killed a moment ago may still hold it.
        let _ = Command::new("umount").arg("--lazy").arg(&self.path).status();
    }
}
