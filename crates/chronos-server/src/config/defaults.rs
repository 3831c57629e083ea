//! Where the store's files are unless someone says otherwise.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// Where a service of the machine keeps its state.
const OF_THE_MACHINE: &str = "/var/lib/chronos";

/// The data directory of whoever runs this process.
#[must_use]
pub fn data_dir() -> PathBuf {
    // A process owns its own entry, so this says who runs it without a call into C.
    let root = std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    data_dir_of(root, |name| std::env::var_os(name).map(PathBuf::from))
}

fn data_dir_of(root: bool, variable: impl Fn(&str) -> Option<PathBuf>) -> PathBuf {
    // The XDG specification tells us to ignore relative paths.
    let absolute = |name| variable(name).filter(|path| path.is_absolute());
    if root {
        return OF_THE_MACHINE.into();
    }
    let data = absolute("XDG_DATA_HOME");
    let data = data.or_else(|| absolute("HOME").map(|home| home.join(".local/share")));
    data.map_or_else(|| OF_THE_MACHINE.into(), |data| data.join("chronos"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_directory_belongs_to_whoever_runs_the_process() {
        for (root, xdg, home, expected) in [
            (true, Some("/data"), Some("/root"), "/var/lib/chronos"),
            (false, Some("/data"), Some("/home/ada"), "/data/chronos"),
            (false, Some("relative"), Some("/home/ada"), "/home/ada/.local/share/chronos"),
            (false, None, Some("/home/ada"), "/home/ada/.local/share/chronos"),
            (false, None, None, "/var/lib/chronos"),
        ] {
            let variable = |name: &str| match name {
                "XDG_DATA_HOME" => xdg.map(PathBuf::from),
                "HOME" => home.map(PathBuf::from),
                _ => None,
            };
            assert_eq!(data_dir_of(root, variable), PathBuf::from(expected));
        }
    }
}
