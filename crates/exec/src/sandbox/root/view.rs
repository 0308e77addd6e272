//! The parts of the system a sandbox shows, as far as they follow from the request alone.

use std::path::{Path, PathBuf};

use super::places::{NETWORK_FOLDERS, SYSTEM_FOLDERS};
use crate::sandbox::spec::SandboxSpec;

/// Returns the read-only paths, parents first. Paths in the workspace are left out.
pub(super) fn visible(sandbox: &SandboxSpec) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = SYSTEM_FOLDERS.iter().map(PathBuf::from).collect();
    if sandbox.network {
        paths.extend(NETWORK_FOLDERS.iter().map(PathBuf::from));
        paths.push("/etc/resolv.conf".into());
    }
    paths.extend(sandbox.read.iter().chain(&sandbox.repository).cloned());
    let is_kept =
        |path: &PathBuf| sandbox.git_folders.iter().any(|git_folder| path.starts_with(&git_folder.folder));
    paths.retain(|path| path.is_absolute() && !path.starts_with(&sandbox.root) && !is_kept(path));
    paths.sort_by_key(|path| (path.components().count(), path.clone()));
    paths.dedup();
    paths
}

/// True if a path is one of these, or inside one.
pub(super) fn covered(path: &Path, shown: &[PathBuf]) -> bool {
    shown.iter().any(|grant| path.starts_with(grant))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sandbox(network: bool) -> SandboxSpec {
        SandboxSpec {
            root: "/home/ada/work".into(),
            read: vec!["/srv/data".into(), "/home/ada/work/in".into(), "../up".into()],
            home: Some("/home/ada".into()),
            network,
            gateway: None,
            ..SandboxSpec::default()
        }
    }

    #[test]
    fn what_is_shown_is_named() {
        let shown = visible(&sandbox(false));
        let has = |path: &str| shown.iter().any(|one| one == Path::new(path));
        for path in ["/usr", "/srv/data"] {
            assert!(has(path), "{path}");
        }
        for path in
            ["/", "/home", "/home/ada", "/home/ada/.ssh", "/run", "/var", "/home/ada/work/in", "../up"]
        {
            assert!(!has(path), "{path}");
        }
        assert!(!has("/etc/resolv.conf"));
        assert!(visible(&sandbox(true)).iter().any(|one| one == Path::new("/etc/resolv.conf")));
    }

    #[test]
    fn what_contains_others_comes_first() {
        let shown = visible(&sandbox(false));
        for (at, path) in shown.iter().enumerate() {
            assert!(shown[..at].iter().all(|earlier| !earlier.starts_with(path)));
        }
    }
}
