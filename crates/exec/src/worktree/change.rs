//! The changes between two commits, as git lists them.

use crate::work_error::WorkError;

/// A version of a file, as git knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FileVersion {
    pub(super) kind: FileKind,
    /// The name of its content.
    pub(super) object: String,
}

/// The kind of a file in a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileKind {
    Plain,
    Executable,
    Link,
}

/// A file differing between two commits; a version is absent where the file is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FileChange {
    /// Its path, relative to the workspace.
    pub(super) path: String,
    pub(super) before: Option<FileVersion>,
    pub(super) after: Option<FileVersion>,
}

impl FileChange {
    /// Reads the output of `diff-tree -r -z --raw`.
    pub(super) fn parse(output: &[u8]) -> Result<Vec<Self>, WorkError> {
        let unknown = || WorkError::environmental("git lists changes in an unknown format");
        let text = str::from_utf8(output)
            .map_err(|_| WorkError::logical("a file name is not UTF-8, so the changes cannot be merged"))?;
        let mut fields = text.split_terminator('\0');
        let mut changes = Vec::new();
        while let Some(head) = fields.next() {
            let path = fields.next().ok_or_else(unknown)?.to_owned();
            let mut parts = head.strip_prefix(':').ok_or_else(unknown)?.split(' ');
            let mut part = || parts.next().ok_or_else(unknown);
            let (old_mode, new_mode, old, new) = (part()?, part()?, part()?, part()?);
            let version = |mode: &str, object: &str| FileVersion::parse(mode, object, &path);
            let (before, after) = (version(old_mode, old)?, version(new_mode, new)?);
            changes.push(Self { path, before, after });
        }
        Ok(changes)
    }
}

impl FileVersion {
    fn parse(mode: &str, object: &str, path: &str) -> Result<Option<Self>, WorkError> {
        let kind = match mode {
            "000000" => return Ok(None),
            "100644" => FileKind::Plain,
            "100755" => FileKind::Executable,
            "120000" => FileKind::Link,
            _ => {
                let reason = format!("`{path}` is a repository of its own, which cannot be merged");
                return Err(WorkError::logical(reason));
            }
        };
        Ok(Some(Self { kind, object: object.to_owned() }))
    }
}

#[cfg(test)]
mod tests {
    use super::{FileChange, FileKind};

    #[test]
    fn changes_are_read_with_their_versions() {
        let output =
            b":100644 100755 aa bb M\0a b\n.sh\0:000000 120000 00 cc A\0link\0:100644 000000 dd 00 D\0gone\0";
        let changes = FileChange::parse(output).unwrap();
        let kinds = |change: &FileChange| {
            let of = |version: &Option<super::FileVersion>| version.as_ref().map(|version| version.kind);
            (of(&change.before), of(&change.after))
        };
        let paths: Vec<&str> = changes.iter().map(|change| change.path.as_str()).collect();
        assert_eq!(paths, ["a b\n.sh", "link", "gone"]);
        assert_eq!(kinds(&changes[0]), (Some(FileKind::Plain), Some(FileKind::Executable)));
        assert_eq!(kinds(&changes[1]), (None, Some(FileKind::Link)));
        assert_eq!(kinds(&changes[2]), (Some(FileKind::Plain), None));
    }

    #[test]
    fn what_cannot_be_merged_is_told() {
        let told = |output: &[u8]| FileChange::parse(output).unwrap_err().reason;
        assert!(told(b":000000 160000 00 aa A\0sub\0").contains("`sub` is a repository of its own"));
        assert!(told(b":000000 100644 00 aa A\0\xff\0").contains("not UTF-8"));
        assert!(told(b":000000 100644\0").contains("unknown format"));
        assert!(told(b"nonsense\0a\0").contains("unknown format"));
    }
}
