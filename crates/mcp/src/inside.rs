use std::path::{Component, Path, PathBuf};

/// A path that leaves the workspace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OutsidePath {
    /// By what it says.
    #[error("`{0}` is outside of the workspace; name a file by its path relative to the workspace")]
    Named(String),
    #[error("`{0}` leads outside of the workspace through a link; name a file in the workspace")]
    Linked(String),
    /// No file system knows such a name.
    #[error("a path is empty or contains a NUL character")]
    Unnamed,
}

/// Returns a path, or the id of a plan, as a command gets it, if it stays below a root. What does not exist is for
/// the command to report.
pub(crate) fn inside(root: &Path, path: &str) -> Result<String, OutsidePath> {
    if path.is_empty() || path.contains('\0') {
        return Err(OutsidePath::Unnamed);
    }
    let outside = || OutsidePath::Named(path.to_owned());
    let relative = match Path::new(path) {
        absolute if absolute.is_absolute() => absolute.strip_prefix(root).map_err(|_| outside())?,
        relative => relative,
    };
    if relative.components().any(|part| part == Component::ParentDir) {
        return Err(outside());
    }
    let stays = existing(&root.join(relative)).is_none_or(|real| real.starts_with(canonical(root)));
    if !stays {
        return Err(OutsidePath::Linked(path.to_owned()));
    }
    let shown = relative.to_str().unwrap_or(path);
    Ok(if shown.is_empty() { ".".to_owned() } else { shown.to_owned() })
}

/// Returns the place a path, or the nearest folder above it that exists, has behind all links.
fn existing(path: &Path) -> Option<PathBuf> {
    path.ancestors().find_map(|part| part.canonicalize().ok())
}

fn canonical(root: &Path) -> PathBuf {
    root.canonicalize().unwrap_or_else(|_| root.to_path_buf())
}

#[cfg(test)]
mod tests {
    use super::{OutsidePath, inside};

    #[test]
    fn a_path_stays_in_the_workspace() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("root");
        std::fs::create_dir_all(root.join("sub")).unwrap();
        std::fs::write(dir.path().join("secret.md"), "").unwrap();
        std::os::unix::fs::symlink("..", root.join("up")).unwrap();
        std::os::unix::fs::symlink("sub", root.join("same")).unwrap();
        let absolute = root.join("sub/plan.md");
        for (path, expected) in [
            ("plan.md", "plan.md"),
            ("nightly", "nightly"),
            ("./sub/new.md", "./sub/new.md"),
            ("same/new.md", "same/new.md"),
            ("--help", "--help"),
            (absolute.to_str().unwrap(), "sub/plan.md"),
            (root.to_str().unwrap(), "."),
        ] {
            assert_eq!(inside(&root, path).as_deref(), Ok(expected));
        }
        for path in ["..", "../secret.md", "sub/../../secret.md", "/etc/passwd"] {
            assert_eq!(inside(&root, path), Err(OutsidePath::Named(path.to_owned())));
        }
        for path in ["up/secret.md", "up/new/file.md", "up"] {
            assert_eq!(inside(&root, path), Err(OutsidePath::Linked(path.to_owned())));
        }
        assert_eq!(inside(&root, ""), Err(OutsidePath::Unnamed));
        assert_eq!(inside(&root, "a\0b"), Err(OutsidePath::Unnamed));
    }
}
