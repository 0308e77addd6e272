//! The parts of the system every sandbox shows, and those that none shows.

/// Folders of the system containing programs and their data. Links among them are shown as links.
pub(super) const SYSTEM_FOLDERS: [&str; 12] = [
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

/// Additional paths for the network: certificates. The configuration of name resolution is found
/// through `/etc/resolv.conf`.
pub(super) const NETWORK_FOLDERS: [&str; 2] = ["/var/lib/ca-certificates", "/run/systemd/resolve"];

/// Folders of the system in which every file is public, because their only writer, the package
/// manager, keeps it so, or the kernel determines their content. They are so large that listing
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

/// Folders below the home folder containing programs and their data, and no secrets.
pub(crate) const TOOL_FOLDERS: [&str; 31] = [
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

/// Files of the system that contain secrets, or make programs run other code than they seem to:
/// they appear empty.
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

/// Folders of the system containing secrets: they appear empty.
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

/// The devices a program may use.
pub(super) const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

/// The folders of programs no `PATH` names.
pub(super) const PROGRAM_FOLDERS: [&str; 6] =
    ["/usr/local/bin", "/usr/local/sbin", "/usr/bin", "/usr/sbin", "/bin", "/sbin"];
