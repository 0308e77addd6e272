//! Which parts of the system a sandbox shows: what follows from what was asked alone.

use std::path::{Path, PathBuf};

use super::Sandbox;
use super::places::{FOR_NETWORK, SYSTEM};

/// The paths that are shown as they are and cannot be written, what contains others first. What
/// lies in the workspace is not among them.
pub(super) fn visible(sandbox: &Sandbox) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
    if sandbox.network {
        paths.extend(FOR_NETWORK.iter().map(PathBuf::from));
        paths.push("/etc/resolv.conf".into());
    }
    paths.extend(sandbox.read.iter().cloned());
    paths.retain(|path| path.is_absolute() && !path.starts_with(&sandbox.root));
    paths.sort_by_key(|path| (path.components().count(), path.clone()));
    paths.dedup();
    paths
}

/// Whether a path is one of these, or lies in one.
pub(super) fn covered(path: &Path, shown: &[PathBuf]) -> bool {
    shown.iter().any(|one| path.starts_with(one))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::sandbox::Layer;
    use crate::model::Limits;

    fn sandbox(network: bool) -> Sandbox {
        Sandbox {
            root: "/home/ada/work".into(),
            layer: Layer::Scratch {
                whiteouts: Vec::new(),
            },
            read: vec![
                "/srv/data".into(),
                "/home/ada/work/in".into(),
                "../up".into(),
            ],
            granted: Vec::new(),
            hidden: Vec::new(),
            home: Some("/home/ada".into()),
            network,
            programs: None,
            limits: Limits::default(),
        }
    }

    #[test]
    fn what_is_shown_is_named() {
        let shown = visible(&sandbox(false));
        let has = |path: &str| shown.iter().any(|one| one == Path::new(path));
        for path in ["/usr", "/srv/data"] {
            assert!(has(path), "{path}");
        }
        for path in [
            "/",
            "/home",
            "/home/ada",
            "/home/ada/.ssh",
            "/run",
            "/var",
            "/home/ada/work/in",
            "../up",
        ] {
            assert!(!has(path), "{path}");
        }
        assert!(!has("/etc/resolv.conf"));
        assert!(
            visible(&sandbox(true))
                .iter()
                .any(|one| one == Path::new("/etc/resolv.conf"))
        );
    }

    #[test]
    fn what_contains_others_comes_first() {
        let shown = visible(&sandbox(false));
        for (at, path) in shown.iter().enumerate() {
            assert!(shown[..at].iter().all(|earlier| !earlier.starts_with(path)));
        }
    }
}
