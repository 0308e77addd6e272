use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
    time::Duration,
};

use wf_base::time::format_duration;

/// The first version of systemd with `Type=notify-reload`.
const NOTIFY_RELOAD_VERSION: u32 = 253;

/// The owner of the service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServiceOwner {
    /// The user, in `~/.config/systemd/user`.
    User,
    /// The machine, in `/etc/systemd/system`, running as this user.
    System { user: String },
}

/// The contents of a unit file.
#[derive(Clone, Debug)]
pub struct UnitFile {
    /// The program; absolute.
    pub program: PathBuf,
    /// The arguments.
    pub args: Vec<String>,
    /// The working directory; absolute.
    pub workspace: PathBuf,
    pub owner: ServiceOwner,
    /// The `PATH` of the processes it starts; `None`: that of systemd.
    pub path: Option<String>,
    /// The version of systemd, if known. An older one is told how to ask for a reload.
    pub systemd: Option<u32>,
    /// The silence after which it is taken for dead, and restarted.
    pub watchdog: Duration,
    /// The time it waits for its reconciliations on shutdown; it is killed only a minute later.
    pub drain: Duration,
}

/// The time for reconciliations to end in order after the daemon has waited for them.
const STOP_MARGIN: Duration = Duration::from_mins(1);

/// A value impossible in a unit file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} `{value}` cannot be used in a unit file: {reason}")]
pub struct UnitFileError {
    what: &'static str,
    value: String,
    reason: &'static str,
}

/// The part common to all units. No namespace, mount or system call is taken away: sandboxes are made of user
/// namespaces, and a partly covered `/proc` cannot be mounted in them. One step running out of memory is
/// one step that failed. `Delegate` lets supervisors make control groups of their own. However often it
/// exits, it is restarted: it may wait for another daemon to exit.
const COMMON_UNIT: &str = "\
Restart=on-failure
RestartSec=10
RestartPreventExitStatus=2 3
OOMPolicy=continue
Delegate=yes
NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
";

impl UnitFile {
    pub fn text(&self) -> Result<String, UnitFileError> {
        let mut text = String::from("[Unit]\nDescription=Goals of ");
        let workspace = path("the workspace", &self.workspace)?;
        let _ = writeln!(text, "{}", specified(workspace));
        if let ServiceOwner::System { .. } = self.owner {
            text.push_str("Wants=network-online.target\nAfter=network-online.target\n");
        }
        text.push_str("StartLimitIntervalSec=0\n\n[Service]\n");
        text.push_str(if self.systemd.is_some_and(|version| version >= NOTIFY_RELOAD_VERSION) {
            "Type=notify-reload\n"
        } else {
            "Type=notify\nExecReload=kill -HUP $MAINPID\n"
        });
        let _ = writeln!(text, "ExecStart={}", self.command()?);
        let _ = writeln!(text, "WorkingDirectory={}", specified(workspace));
        if let ServiceOwner::System { user } = &self.owner {
            let _ = writeln!(text, "User={}", account(user)?);
        }
        if let Some(value) = &self.path {
            let line = format!("PATH={}", plain("PATH", value)?);
            let _ = writeln!(text, "Environment={}", quoted(&line));
        }
        // With an explicit unit: systemd reads `1m` as a minute, as `wf` does.
        let _ = writeln!(text, "WatchdogSec={}", spaced(self.watchdog));
        let stop = self.drain.saturating_add(STOP_MARGIN).as_secs();
        let _ = writeln!(text, "KillMode=mixed\nTimeoutStopSec={stop}");
        text.push_str(COMMON_UNIT);
        let target = match self.owner {
            ServiceOwner::User => "default.target",
            ServiceOwner::System { .. } => "multi-user.target",
        };
        let _ = write!(text, "\n[Install]\nWantedBy={target}\n");
        Ok(text)
    }

    /// Returns the command line; the colon keeps `$` literal.
    fn command(&self) -> Result<String, UnitFileError> {
        let program = path("the program", &self.program)?;
        if program.contains(['"', '\'', '\\']) {
            let reason = "systemd does not run programs with a quote or a backslash in their name";
            return Err(invalid_value("the program", program, reason));
        }
        let mut command = format!(":{}", quoted(program));
        for arg in &self.args {
            let _ = write!(command, " {}", quoted(plain("the argument", arg)?));
        }
        Ok(command)
    }
}

fn invalid_value(what: &'static str, value: &str, reason: &'static str) -> UnitFileError {
    let value = value.escape_debug().to_string();
    UnitFileError { what, value, reason }
}

fn path<'p>(what: &'static str, path: &'p Path) -> Result<&'p str, UnitFileError> {
    let shown = path.to_string_lossy();
    let text = path.to_str();
    let text = text.ok_or_else(|| invalid_value(what, &shown, "it is not UTF-8"))?;
    if !path.is_absolute() {
        return Err(invalid_value(what, text, "it is not an absolute path"));
    }
    if text.ends_with(['\\', ' ']) {
        return Err(invalid_value(what, text, "its last character has a special meaning there"));
    }
    plain(what, text)
}

fn plain<'t>(what: &'static str, text: &'t str) -> Result<&'t str, UnitFileError> {
    if text.chars().any(char::is_control) {
        return Err(invalid_value(what, text, "it contains a control character"));
    }
    Ok(text)
}

/// Checks a user, by name or number; refuses what systemd would refuse silently.
fn account(user: &str) -> Result<&str, UnitFileError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    if user.is_empty() || user.starts_with('-') || !user.chars().all(is_plain) {
        return Err(invalid_value("the user", user, "it is not a valid user name"));
    }
    Ok(user)
}

/// Escapes percent signs, which begin specifiers of systemd.
fn specified(text: &str) -> String {
    text.replace('%', "%%")
}

fn quoted(text: &str) -> String {
    let text = specified(text);
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Formats a duration as systemd reads it: `1m` and `30s` with a space between.
fn spaced(duration: Duration) -> String {
    let text = format_duration(duration);
    let mut spaced = String::new();
    let mut last = '0';
    for c in text.chars() {
        if c.is_ascii_digit() && last.is_ascii_alphabetic() {
            spaced.push(' ');
        }
        spaced.push(c);
        last = c;
    }
    spaced
}

#[cfg(test)]
mod tests;
