/// Variables available to every script.
const GIVEN: [&str; 11] =
    ["PATH", "HOME", "PWD", "OLDPWD", "TMPDIR", "LANG", "TERM", "USER", "LOGNAME", "SHELL", "TZ"];

/// Variables that a shell sets by itself.
const OF_SHELL: [&str; 26] = [
    "IFS",
    "OPTARG",
    "OPTIND",
    "OPTERR",
    "REPLY",
    "RANDOM",
    "SRANDOM",
    "SECONDS",
    "LINENO",
    "UID",
    "EUID",
    "PPID",
    "HOSTNAME",
    "OSTYPE",
    "MACHTYPE",
    "HOSTTYPE",
    "FUNCNAME",
    "PIPESTATUS",
    "COLUMNS",
    "LINES",
    "SHLVL",
    "GROUPS",
    "DIRSTACK",
    "EPOCHSECONDS",
    "EPOCHREALTIME",
    "MAPFILE",
];

/// True if a variable needs no declaration.
pub(super) fn is_known(name: &str) -> bool {
    let begins = ["LC_", "WF_", "BASH", "PS", "COMP_"];
    let is_prompt = |rest: &str| rest.len() == 1 && rest.bytes().all(|byte| byte.is_ascii_digit());
    GIVEN.contains(&name)
        || OF_SHELL.contains(&name)
        || begins.iter().any(|begin| match (*begin, name.strip_prefix(begin)) {
            ("PS", Some(rest)) => is_prompt(rest),
            (_, rest) => rest.is_some(),
        })
}
