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

/// The host's name, as far as it can be part of a worker's.
#[must_use]
pub fn node() -> String {
    node_of(&std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default())
}

fn node_of(host: &str) -> String {
    let fits = |letter: &char| letter.is_ascii_alphanumeric() || ".-_".contains(*letter);
    let name: String = host.trim().chars().filter(fits).take(100).collect();
    if name.is_empty() { "localhost".into() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_called_as_its_host_is() {
        for (host, node) in
            [("db-1.example\n", "db-1.example"), ("", "localhost"), ("a b\0c", "abc")]
        {
            assert_eq!(node_of(host), node);
        }
    }

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
