//! Denials of the sandbox, known by the last lines of a failed process. They are failures of the step: the same work would
//! be denied again.

use std::fmt;

use super::classify::{class_by_rules, last_lines};
use crate::machine::WorkExit;
use wf_model::{FailureClassRule, SandboxPermissions};

/// An undeclared act of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SandboxDenial {
    /// It wrote a file.
    Write {
        /// The file, as the process named it.
        path: Option<String>,
        /// The paths in `allow.write`.
        granted: Vec<String>,
    },
    /// It used the network.
    Network,
}

/// The messages of a process without a network.
const NO_NETWORK: [&str; 7] = [
    "Could not resolve host",
    "Temporary failure in name resolution",
    "Name or service not known",
    "Network is unreachable",
    "EAI_AGAIN",
    "ENETUNREACH",
    "failed to lookup address",
];

/// The messages of a write where nothing may be written.
const READ_ONLY: [&str; 2] = ["Read-only file system", "EROFS"];

impl SandboxDenial {
    /// Returns the exit of a process with these permissions, if it was confined: the denial if it failed on one, unless a rule of its step
    /// classifies the failure.
    pub fn explain(
        exit: WorkExit,
        [out, err]: [&[u8]; 2],
        permissions: Option<&SandboxPermissions>,
        rules: &[FailureClassRule],
    ) -> WorkExit {
        let failed = matches!(exit, WorkExit::Code { code } if code != 0);
        if !failed || class_by_rules(&exit, out, err, rules).is_some() {
            return exit;
        }
        match permissions.and_then(|permissions| Self::find(permissions, out, err)) {
            Some(denial) => WorkExit::Denied { reason: format!("{exit}: {denial}") },
            None => exit,
        }
    }

    /// Returns the denial in the last lines of an output, with these permissions; `None`: there is none.
    fn find(permissions: &SandboxPermissions, out: &[u8], err: &[u8]) -> Option<Self> {
        let (out, err) = last_lines(out, err);
        let said = if err.trim_ascii().is_empty() { out } else { err };
        let said = String::from_utf8_lossy(&said);
        let says = |line: &str, signs: &[&str]| signs.iter().any(|sign| line.contains(sign));
        let mut lines = said.lines().rev();
        lines.find_map(|line| {
            if !permissions.net && says(line, &NO_NETWORK) {
                return Some(Self::Network);
            }
            let path = says(line, &READ_ONLY).then(|| named_path(line))?;
            // A granted path is read-only for another reason.
            let is_granted = path.as_deref().is_some_and(|path| permissions.writes(path));
            (!is_granted).then(|| Self::Write { path, granted: permissions.write.clone() })
        })
    }
}

/// Returns the file in a message: `cannot create out.txt: Read-only file system`, or with the name in quotes.
fn named_path(line: &str) -> Option<String> {
    let quotes = ['\'', '"', '`', '‘', '’'];
    let quoted = line.rsplit(quotes).nth(1).filter(|_| line.matches(quotes).count() > 1);
    let before = || line.split(": Read-only file system").next()?.rsplit([' ', '\t']).next();
    let path = quoted.or_else(before)?.trim_end_matches(':');
    let is_path = !path.is_empty() && !path.contains(char::is_whitespace) && !path.contains(['[', ']']);
    is_path.then(|| path.to_owned())
}

/// Names the denial, its key, and the line to write.
impl fmt::Display for SandboxDenial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Network => f.write_str(
                "the sandbox has no network (`allow.net`); to permit it, write `net: true` in `allow`",
            ),
            Self::Write { path: Some(path), granted } if !path.starts_with('/') => {
                let granted = granted.iter().chain([path]).map(String::as_str).collect::<Vec<_>>().join(", ");
                write!(
                    f,
                    "the sandbox denied to write {path} (`allow.write`); to permit it, write `write: [{granted}]` in `allow`"
                )
            }
            Self::Write { path: Some(path), .. } => {
                write!(
                    f,
                    "the sandbox denied to write {path} (`allow.write` can permit paths in the workspace)"
                )
            }
            Self::Write { path: None, .. } => {
                f.write_str("the sandbox denied a write (`allow.write` has what the step may change)")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SandboxDenial;
    use wf_model::SandboxPermissions;

    fn found(line: &str) -> Option<String> {
        let allow = SandboxPermissions { write: vec!["out".into()], ..SandboxPermissions::default() };
        SandboxDenial::find(&allow, b"", format!("one\n{line}\nmake: *** [all] Error 1\n").as_bytes())
            .map(|denial| denial.to_string())
    }

    #[test]
    fn a_denied_write_is_named_with_the_line_to_write() {
        for line in [
            "sh: 2: cannot create other.txt: Read-only file system",
            "touch: cannot touch 'other.txt': Read-only file system",
            "OSError: [Errno 30] Read-only file system: 'other.txt'",
            "Error: EROFS: read-only file system, open 'other.txt'",
        ] {
            let text = found(line).unwrap_or_default();
            assert!(
                text.contains("denied to write other.txt") && text.contains("`write: [out, other.txt]`"),
                "{text}"
            );
        }
        let above = found("mkdir: cannot create directory '/etc/x': Read-only file system").unwrap();
        assert!(above.contains("/etc/x") && !above.contains("write: ["), "{above}");
        let unnamed = found("tar: Read-only file system").unwrap();
        assert!(unnamed.contains("allow.write"), "{unnamed}");
        assert_eq!(found("cannot create out/a.txt: Read-only file system"), None, "it may write there");
        assert_eq!(found("assertion failed"), None);
    }

    #[test]
    fn a_missing_network_is_named_unless_there_is_one() {
        let line = "curl: (6) Could not resolve host: example.com";
        assert!(found(line).unwrap().contains("net: true"));
        let open = SandboxPermissions { net: true, ..SandboxPermissions::default() };
        assert_eq!(SandboxDenial::find(&open, b"", line.as_bytes()), None);
    }
}
