use std::{collections::BTreeMap, fmt::Write as _};
use wf_base::digest::Sha256Digest;

/// One file of a skill's folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundleFile {
    /// Its content.
    pub bytes: Vec<u8>,
    /// True if its owner may execute it.
    pub is_executable: bool,
}

/// The files of a skill's folder by path relative to it (`/` between parts), sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkillBundle {
    pub files: BTreeMap<String, BundleFile>,
}

impl SkillBundle {
    /// Returns a file's text, if it exists and is UTF-8.
    pub fn text(&self, path: &str) -> Option<&str> {
        std::str::from_utf8(&self.files.get(path)?.bytes).ok()
    }

    /// Returns the SHA-256 of the lines `MODE DIGEST PATH` of all files in the order of their
    /// paths, where the mode is `755` for executable files and `644` otherwise. A path from
    /// [`read`](super::disk::read) contains no line end, so no two bundles share their lines.
    pub fn digest(&self) -> Sha256Digest {
        let mut lines = String::new();
        for (path, file) in &self.files {
            let mode = if file.is_executable { "755" } else { "644" };
            let _ = writeln!(lines, "{mode} {} {path}", Sha256Digest::of_bytes(&file.bytes));
        }
        Sha256Digest::of_bytes(lines.as_bytes())
    }
}

/// Returns the program on the first line of a script, without its folder: `bash` for
/// `#!/usr/bin/env -S bash -e`.
pub fn shebang(bytes: &[u8]) -> Option<String> {
    let line = bytes.strip_prefix(b"#!")?;
    let line = line.split(|byte| *byte == b'\n').next()?;
    let line = line.get(..line.len().min(256))?;
    let line = String::from_utf8_lossy(line);
    let mut words = line.split_whitespace().filter_map(|word| word.rsplit('/').next());
    let first = words.next()?;
    if first != "env" {
        return Some(first.to_owned());
    }
    let mut named = words.filter(|word| !word.starts_with('-') && !word.contains('='));
    named.next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::{BundleFile, SkillBundle, shebang};

    fn bundle(files: &[(&str, &str, bool)]) -> SkillBundle {
        let file = |(path, text, is_executable): &(&str, &str, bool)| {
            let bytes = text.as_bytes().to_vec();
            let is_executable = *is_executable;
            ((*path).to_owned(), BundleFile { bytes, is_executable })
        };
        SkillBundle { files: files.iter().map(file).collect() }
    }

    #[test]
    fn content_path_and_mode_all_count() {
        let one = bundle(&[("SKILL.md", "x", false), ("run.sh", "y", true)]);
        // The output of `sha256sum` for the two lines.
        let expected = "c5e71aae3d3d184cb95ccf1727ce83975a7093e3f2e10e88ccde8782802dfa8b";
        assert_eq!(one.digest().to_string(), expected);
        for other in [
            bundle(&[("SKILL.md", "x", false), ("run.sh", "y", false)]),
            bundle(&[("SKILL.md", "x", false), ("run.sh", "z", true)]),
            bundle(&[("SKILL.md", "x", false), ("ran.sh", "y", true)]),
            bundle(&[("SKILL.md", "x", false)]),
        ] {
            assert_ne!(one.digest(), other.digest());
        }
        assert_eq!(one.text("run.sh"), Some("y"));
        assert_eq!(one.text("nothing"), None);
    }

    #[test]
    fn the_first_line_names_a_program() {
        for (text, expected) in [
            ("#!/bin/sh\n", Some("sh")),
            ("#! /usr/bin/env bash\necho\n", Some("bash")),
            ("#!/usr/bin/env -S LANG=C python3 -I\r\n", Some("python3")),
            ("#!zsh", Some("zsh")),
            ("#!\n/bin/sh\n", None),
            ("echo\n#!/bin/sh\n", None),
            ("#!/usr/bin/env\n", None),
        ] {
            assert_eq!(shebang(text.as_bytes()).as_deref(), expected, "{text:?}");
        }
    }
}
