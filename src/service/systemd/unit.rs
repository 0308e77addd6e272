use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::time::format_duration;

/// The first version of systemd that knows `Type=notify-reload`.
const RELOADS: u32 = 253;

/// Whose service it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The user's own, in `~/.config/systemd/user`.
    User,
    /// The machine's, in `/etc/systemd/system`, which runs as this user.
    System {
        /// The name of the user.
        user: String,
    },
}

/// What a unit file is made of.
#[derive(Clone, Debug)]
pub struct Unit {
    /// The program; absolute.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Where it runs; absolute.
    pub workspace: PathBuf,
    /// Whose it is.
    pub owner: Owner,
    /// The `PATH` of what it starts; `None`: that of systemd.
    pub path: Option<String>,
    /// The version of systemd, where it is known. An older one is told how to ask for a reload.
    pub systemd: Option<u32>,
    /// After which silence it is taken for dead, and started again.
    pub watchdog: Duration,
    /// How long it waits for its cycles when it is to end; it is killed only a minute later.
    pub drain: Duration,
}

/// How long cycles have to end in order after the daemon has waited for them.
const MARGIN: Duration = Duration::from_mins(1);

/// What cannot be written into a unit file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} `{value}` cannot stand in a unit file: {why}")]
pub struct BadUnit {
    what: &'static str,
    value: String,
    why: &'static str,
}

/// What is the same in every unit. No namespace, mount or system call is taken away: sandboxes are
/// made of user namespaces, and a `/proc` that is covered in part cannot be mounted in them. One
/// step that runs out of memory is one step that failed. `Delegate` lets keepers make control groups
/// of their own. However often it ends, it is started again: it may wait for another daemon to end.
const SAME: &str = "\
Restart=on-failure
RestartSec=10
RestartPreventExitStatus=2 3
OOMPolicy=continue
Delegate=yes
NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
";

impl Unit {
    /// The text of the unit file.
    pub fn text(&self) -> Result<String, BadUnit> {
        let mut text = String::from("[Unit]\nDescription=Goals of ");
        let workspace = path("the workspace", &self.workspace)?;
        let _ = writeln!(text, "{}", specified(workspace));
        if let Owner::System { .. } = self.owner {
            text.push_str("Wants=network-online.target\nAfter=network-online.target\n");
        }
        text.push_str("StartLimitIntervalSec=0\n\n[Service]\n");
        text.push_str(if self.systemd.is_some_and(|version| version >= RELOADS) {
            "Type=notify-reload\n"
        } else {
            "Type=notify\nExecReload=kill -HUP $MAINPID\n"
        });
        let _ = writeln!(text, "ExecStart={}", self.command()?);
        let _ = writeln!(text, "WorkingDirectory={}", specified(workspace));
        if let Owner::System { user } = &self.owner {
            let _ = writeln!(text, "User={}", account(user)?);
        }
        if let Some(value) = &self.path {
            let line = format!("PATH={}", plain("PATH", value)?);
            let _ = writeln!(text, "Environment={}", quoted(&line));
        }
        // With a unit of their own: systemd reads `1m` as a minute, as we do.
        let _ = writeln!(text, "WatchdogSec={}", spaced(self.watchdog));
        let stop = self.drain.saturating_add(MARGIN).as_secs();
        let _ = writeln!(text, "KillMode=mixed\nTimeoutStopSec={stop}");
        text.push_str(SAME);
        let target = match self.owner {
            Owner::User => "default.target",
            Owner::System { .. } => "multi-user.target",
        };
        let _ = write!(text, "\n[Install]\nWantedBy={target}\n");
        Ok(text)
    }

    /// The command line; the colon keeps `$` what it is.
    fn command(&self) -> Result<String, BadUnit> {
        let program = path("the program", &self.program)?;
        if program.contains(['"', '\'', '\\']) {
            let why = "systemd starts no program with a quote or a backslash in its name";
            return Err(bad("the program", program, why));
        }
        let mut command = format!(":{}", quoted(program));
        for arg in &self.args {
            let _ = write!(command, " {}", quoted(plain("the argument", arg)?));
        }
        Ok(command)
    }
}

fn bad(what: &'static str, value: &str, why: &'static str) -> BadUnit {
    let value = value.escape_debug().to_string();
    BadUnit { what, value, why }
}

fn path<'p>(what: &'static str, path: &'p Path) -> Result<&'p str, BadUnit> {
    let shown = path.to_string_lossy();
    let text = path.to_str();
    let text = text.ok_or_else(|| bad(what, &shown, "it is not UTF-8"))?;
    if !path.is_absolute() {
        return Err(bad(what, text, "it is not absolute"));
    }
    if text.ends_with(['\\', ' ']) {
        return Err(bad(what, text, "its end would be taken for something else"));
    }
    plain(what, text)
}

fn plain<'t>(what: &'static str, text: &'t str) -> Result<&'t str, BadUnit> {
    if text.chars().any(char::is_control) {
        return Err(bad(what, text, "it has a control character"));
    }
    Ok(text)
}

/// A user, by name or number; nothing that systemd would refuse in silence.
fn account(user: &str) -> Result<&str, BadUnit> {
    let known = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    if user.is_empty() || user.starts_with('-') || !user.chars().all(known) {
        return Err(bad("the user", user, "it is not the name of a user"));
    }
    Ok(user)
}

/// A percent sign begins what systemd fills in.
fn specified(text: &str) -> String {
    text.replace('%', "%%")
}

fn quoted(text: &str) -> String {
    let text = specified(text);
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A duration as systemd reads it: `1m` and `30s` with a space between.
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
