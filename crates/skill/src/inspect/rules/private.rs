use crate::inspect::tables::pairs;

/// Private places of users and their programs: parts of a path, and a description of the content.
const PRIVATE: &str = include_str!("../tables/words/private.txt");

/// Returns the private content of a path, if any: the part of the path, and the description. A home
/// folder as a whole has all of it.
pub fn private(path: &str) -> Option<(&'static str, &'static str)> {
    let bare = path.trim_end_matches(['/', '*', '.']);
    if matches!(bare, "~" | "$HOME" | "${HOME}") {
        return Some(("~", "everything in the home folder"));
    }
    pairs(PRIVATE).find(|(part, _)| has(path, part))
}

/// True if a path has a part as a whole: `.aws` is in `~/.aws/config` and not in `x.aws-old`.
fn has(path: &str, part: &str) -> bool {
    path.match_indices(part).any(|(at, _)| {
        let before = path.get(..at).unwrap_or_default();
        let after = path.get(at + part.len()..).unwrap_or_default();
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
        let starts = part.starts_with('/') || !before.ends_with(|c: char| is_word(c) || c == '.');
        starts && !after.starts_with(is_word)
    })
}

#[cfg(test)]
mod tests {
    use super::private;

    #[test]
    fn parts_of_paths_tell_what_is_kept_there() {
        for (path, expected) in [
            ("~/.aws", Some("~/.aws")),
            ("$HOME/.aws/credentials", Some("~/.aws")),
            ("/home/ada/.ssh/id_ed25519", Some("~/.ssh")),
            (".config/gh/hosts.yml", Some("~/.config/gh")),
            ("~/", Some("~")),
            ("src/x.aws.py", None),
            (".sshx", None),
            ("docs/.claude-notes.md", None),
            ("data", None),
        ] {
            let found = private(path).map(|(part, _)| part);
            let expected = expected.map(|full| full.strip_prefix("~/").unwrap_or(full));
            assert_eq!(found, expected, "{path}");
        }
    }
}
