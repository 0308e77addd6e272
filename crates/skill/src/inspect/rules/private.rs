/// Private places of users and their programs: parts of a path, and a description of the content.
/// Longer ones come before their prefixes.
const PRIVATE: [(&str, &str); 52] = [
    (".aws", "cloud credentials"),
    (".azure", "cloud credentials"),
    (".config/gcloud", "cloud credentials"),
    (".config/doctl", "cloud credentials"),
    (".oci", "cloud credentials"),
    (".terraform.d", "cloud credentials"),
    (".vault-token", "vault credentials"),
    (".kube", "cluster credentials"),
    (".docker", "container registry credentials"),
    (".config/containers", "container registry credentials"),
    (".ssh", "SSH keys"),
    ("id_rsa", "SSH keys"),
    ("id_ed25519", "SSH keys"),
    ("id_ecdsa", "SSH keys"),
    (".gnupg", "GnuPG keys"),
    (".netrc", "host passwords"),
    (".git-credentials", "host passwords"),
    (".config/gh", "GitHub credentials"),
    (".npmrc", "package registry credentials"),
    (".pypirc", "package registry credentials"),
    (".cargo/credentials", "package registry credentials"),
    (".password-store", "a password store"),
    (".config/keepassxc", "a password store"),
    (".config/1Password", "a password store"),
    (".config/Bitwarden", "a password store"),
    (".local/share/keyrings", "a password store"),
    ("Library/Keychains", "a password store"),
    (".config/google-chrome", "a browser profile"),
    (".config/chromium", "a browser profile"),
    (".config/BraveSoftware", "a browser profile"),
    (".config/microsoft-edge", "a browser profile"),
    (".mozilla", "a browser profile"),
    ("Library/Safari", "a browser profile"),
    ("Application Support/Google/Chrome", "a browser profile"),
    ("Application Support/Firefox", "a browser profile"),
    (".bash_history", "a shell history"),
    (".zsh_history", "a shell history"),
    (".local/share/fish/fish_history", "a shell history"),
    (".python_history", "a shell history"),
    (".node_repl_history", "a shell history"),
    (".psql_history", "a shell history"),
    (".mysql_history", "a shell history"),
    (".claude", "an agent's memory"),
    (".codex", "an agent's memory"),
    (".gemini", "an agent's memory"),
    (".openclaw", "an agent's memory"),
    (".config/opencode", "an agent's memory"),
    (".cursor", "an agent's memory"),
    (".electrum", "a wallet"),
    (".bitcoin", "a wallet"),
    ("/etc/shadow", "system passwords"),
    ("/etc/ssh", "SSH keys"),
];

/// Returns the private content of a path, if any: the part of the path, and the description. A home
/// folder as a whole has all of it.
pub fn private(path: &str) -> Option<(&'static str, &'static str)> {
    let bare = path.trim_end_matches(['/', '*', '.']);
    if matches!(bare, "~" | "$HOME" | "${HOME}") {
        return Some(("~", "everything in the home folder"));
    }
    PRIVATE.into_iter().find(|(part, _)| has(path, part))
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
