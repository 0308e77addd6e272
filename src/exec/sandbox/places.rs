//! What every sandbox shows of the system, and what it never shows.

/// Folders of the system that hold programs and what they need. Links among them are shown as
/// links.
pub(super) const SYSTEM: [&str; 12] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/nix",
    "/gnu",
    "/sys/devices/system/cpu",
];

/// What is needed besides for the network: certificates. Where names are looked up is found through
/// `/etc/resolv.conf`.
pub(super) const FOR_NETWORK: [&str; 2] = ["/var/lib/ca-certificates", "/run/systemd/resolve"];

/// Folders of the system in which everything is for everybody, because the only program that writes to
/// them, the package manager, makes it so, or the kernel says what they hold. They are so large that to list
/// them takes longer than a short run.
pub(super) const PUBLIC: [&str; 8] = [
    "/nix/store",
    "/gnu/store",
    "/sys/devices/system/cpu",
    "/usr/include",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/share",
];

/// Folders below the home folder that hold programs and what they need, and no secrets.
pub(super) const TOOLS: [&str; 31] = [
    ".asdf",
    ".bun",
    ".cargo/bin",
    ".cargo/config.toml",
    ".cargo/env",
    ".cargo/git",
    ".cargo/registry",
    ".deno",
    ".dotnet/host",
    ".dotnet/packs",
    ".dotnet/sdk",
    ".dotnet/shared",
    ".dotnet/tools",
    ".ghcup",
    ".goenv",
    ".jenv",
    ".juliaup",
    ".local/bin",
    ".local/pipx",
    ".local/share/mise",
    ".local/share/pnpm",
    ".local/share/uv/python",
    ".local/share/uv/tools",
    ".nix-profile",
    ".nodenv",
    ".nvm",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".sdkman",
    ".volta",
];

/// Files of the system that hold secrets, or let programs run something else than they seem to:
/// they seem to be empty.
pub(super) const EMPTY_FILES: [&str; 8] = [
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/krb5.keytab",
    "/etc/ld.so.preload",
    "/etc/security/opasswd",
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/sudoers",
];

/// Folders of the system that hold secrets: they seem to be empty.
pub(super) const EMPTY_FOLDERS: [&str; 8] = [
    "/etc/docker",
    "/etc/kubernetes",
    "/etc/rancher",
    "/etc/ssh",
    "/etc/ssl/private",
    "/etc/sudoers.d",
    "/etc/wireguard",
    "/etc/NetworkManager/system-connections",
];

/// The devices that a program may use.
pub(super) const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

/// Where folders of programs are that no `PATH` names.
pub(super) const BINS: [&str; 6] = [
    "/usr/local/bin",
    "/usr/local/sbin",
    "/usr/bin",
    "/usr/sbin",
    "/bin",
    "/sbin",
];
