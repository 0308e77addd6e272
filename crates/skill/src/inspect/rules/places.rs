use crate::inspect::shell::UNKNOWN;

/// Parts of paths whose files are started later, or trusted.
const STARTED: [&str; 22] = [
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".zshrc",
    ".zprofile",
    ".zshenv",
    ".zlogin",
    "config.fish",
    "authorized_keys",
    "/etc/cron",
    "/var/spool/cron",
    "/etc/profile",
    "/etc/rc",
    "/etc/init",
    ".git/hooks",
    "/etc/systemd",
    "systemd/user",
    "LaunchAgents",
    "LaunchDaemons",
    "/etc/ld.so.preload",
    ".config/autostart",
];

/// The same, for whole file names only.
const WHOLE: [&str; 4] = [".profile", ".gitconfig", ".login", ".kshrc"];

/// True if a file written there is started later.
pub(super) fn starts_later(path: &str) -> bool {
    let name = path.rsplit(['/', UNKNOWN]).next().unwrap_or_default();
    STARTED.iter().any(|part| path.contains(part)) || WHOLE.contains(&name) || path.contains("/.ssh/")
}

/// True if a path is everything: the root, a folder in it, or a home.
pub(super) fn is_everything(path: &str) -> bool {
    let bare = path.trim_end_matches(['*', '.']).trim_end_matches('/');
    let is_top = path.starts_with('/') && bare.matches('/').count() <= 1 && !bare.contains(UNKNOWN);
    is_top || bare == "~" || path == "*" && bare.is_empty()
}
