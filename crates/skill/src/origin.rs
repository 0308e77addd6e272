use std::fmt;

/// The origin of a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkillOrigin {
    /// A folder.
    Path(String),
    /// A folder in a git repository.
    Git {
        /// The repository: an address of `https`, `ssh` or `file`, or a path.
        url: String,
        /// The branch, tag or commit; `None`: the default branch.
        rev: Option<String>,
        /// The folder in it; empty: the root.
        folder: String,
    },
    /// A skill bundled with wf.
    Bundled(String),
}

/// The reason why a text is not an origin; one sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SkillOriginError(pub &'static str);

impl SkillOrigin {
    /// Reads `FOLDER`, `path:FOLDER`, `git:URL#REV:FOLDER` or `bundled:NAME`. Of git addresses,
    /// only those that execute nothing and contain no credentials are accepted.
    pub fn parse(text: &str) -> Result<Self, SkillOriginError> {
        if let Some(name) = text.strip_prefix("bundled:") {
            return Ok(Self::Bundled(name.to_owned()));
        }
        let Some(rest) = text.strip_prefix("git:") else {
            let path = text.strip_prefix("path:").unwrap_or(text);
            let is_address = path.contains("://") || path.starts_with("git@");
            return match path {
                "" => Err(SkillOriginError("it is empty")),
                _ if is_address => Err(SkillOriginError("write git: before the URL of a repository")),
                _ => Ok(Self::Path(path.to_owned())),
            };
        };
        let (url, more) = rest.split_once('#').map_or((rest, None), |(url, more)| (url, Some(more)));
        let (rev, folder) = match more {
            None => (None, ""),
            Some(more) => more.split_once(':').map_or((Some(more), ""), |(rev, folder)| (Some(rev), folder)),
        };
        check_git_url(url)?;
        let rev = rev.filter(|rev| !rev.is_empty());
        if rev.is_some_and(|rev| !is_rev(rev)) {
            return Err(SkillOriginError("# must be followed by a branch, a tag or a commit"));
        }
        let folder = folder.trim_matches('/');
        if folder.split('/').any(|part| matches!(part, ".." | ".")) || folder.contains("//") {
            return Err(SkillOriginError(
                "the second : must be followed by a folder relative to the top of the repository",
            ));
        }
        Ok(Self::Git { url: url.to_owned(), rev: rev.map(str::to_owned), folder: folder.to_owned() })
    }
}

/// Returns an error if the address must not be passed to git.
fn check_git_url(url: &str) -> Result<(), SkillOriginError> {
    if url.is_empty() || url.starts_with('-') || url.contains(char::is_control) || url.contains(' ') {
        return Err(SkillOriginError("git: must be followed by the URL or the path of a repository"));
    }
    let Some((scheme, rest)) = url.split_once("://") else {
        // `host:path` and `helper::address` would let git execute other programs.
        let is_path = url.starts_with(['/', '.']) || !url.contains(':');
        return if is_path {
            Ok(())
        } else {
            Err(SkillOriginError("the URL must start with https://, ssh:// or file://"))
        };
    };
    if !matches!(scheme, "https" | "ssh" | "file") {
        return Err(SkillOriginError("only https, ssh and file are supported"));
    }
    let host = rest.split('/').next().unwrap_or_default();
    let user = host.rsplit_once('@').map(|(user, _)| user);
    let holds_secret = user.is_some_and(|user| user.contains(':') || scheme == "https");
    if holds_secret || host.starts_with('-') {
        return Err(SkillOriginError(
            "a URL with credentials would be stored in skills.lock; configure them in git",
        ));
    }
    Ok(())
}

fn is_rev(rev: &str) -> bool {
    !rev.starts_with('-')
        && !rev.contains("..")
        && rev.chars().all(|c| c.is_ascii_alphanumeric() || "/._-+".contains(c))
}

impl fmt::Display for SkillOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => write!(f, "path:{path}"),
            Self::Bundled(name) => write!(f, "bundled:{name}"),
            Self::Git { url, rev, folder } => {
                write!(f, "git:{url}")?;
                let rev = rev.as_deref().unwrap_or_default();
                match (rev, folder.as_str()) {
                    ("", "") => Ok(()),
                    (rev, "") => write!(f, "#{rev}"),
                    (rev, folder) => write!(f, "#{rev}:{folder}"),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SkillOrigin;

    #[test]
    fn origins_are_read_as_they_are_written() {
        for text in [
            "path:../it",
            "bundled:coding",
            "git:https://x.y/z",
            "git:https://x.y/z.git#v1",
            "git:https://x.y:8080/z#main:skills/it",
            "git:/srv/z#:a",
            "git:ssh://git@x.y/z",
            "git:./z",
        ] {
            assert_eq!(SkillOrigin::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(SkillOrigin::parse("it").unwrap(), SkillOrigin::Path("it".into()));
    }

    #[test]
    fn what_could_execute_something_or_tell_a_secret_is_refused() {
        for text in [
            "",
            "git:",
            "git:--upload-pack=x",
            "git:ext::sh -c x",
            "git:http://x.y/z",
            "git:x.y:z",
            "git:https://u:p@x.y/z",
            "git:https://token@x.y/z",
            "git:ssh://u:p@x.y/z",
            "git:ssh://-oProxyCommand=x/z",
            "git:https://x.y/z#--x",
            "git:https://x.y/z#a..b",
            "git:https://x.y/z#a:../b",
            "https://x.y/z",
            "git@x.y:z",
            "git:a::b",
        ] {
            assert!(SkillOrigin::parse(text).is_err(), "{text}");
        }
    }
}
