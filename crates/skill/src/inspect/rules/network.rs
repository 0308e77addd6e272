use super::program::ExecutedProgram;

/// Programs that do nothing without the network.
const PROGRAMS: [&str; 33] = [
    "curl",
    "wget",
    "nc",
    "ncat",
    "netcat",
    "socat",
    "ssh",
    "scp",
    "sftp",
    "ftp",
    "telnet",
    "dig",
    "nslookup",
    "host",
    "ping",
    "traceroute",
    "aria2c",
    "http",
    "https",
    "xh",
    "gh",
    "glab",
    "aws",
    "gcloud",
    "az",
    "kubectl",
    "wscat",
    "rclone",
    "s3cmd",
    "mail",
    "sendmail",
    "lynx",
    "w3m",
];

/// Subcommands of programs that reach the network.
const VERBS: &[(&str, &[&str])] = &[
    ("git", &["clone", "fetch", "pull", "push", "ls-remote", "submodule"]),
    ("docker", &["pull", "push", "login"]),
    ("podman", &["pull", "push", "login"]),
    ("npm", &["publish", "view", "login"]),
    ("cargo", &["publish", "fetch", "search"]),
    ("go", &["mod"]),
    ("openssl", &["s_client", "s_server"]),
];

/// Modules of Python that reach the network.
pub(super) const PYTHON: [&str; 33] = [
    "requests",
    "httpx",
    "urllib.request",
    "urllib3",
    "http.client",
    "http.server",
    "aiohttp",
    "socket",
    "socketserver",
    "ftplib",
    "smtplib",
    "imaplib",
    "poplib",
    "telnetlib",
    "nntplib",
    "xmlrpc",
    "paramiko",
    "websocket",
    "websockets",
    "boto3",
    "botocore",
    "grpc",
    "pycurl",
    "twisted",
    "tornado",
    "openai",
    "anthropic",
    "slack_sdk",
    "googleapiclient",
    "huggingface_hub",
    "asyncssh",
    "asyncio.open_connection",
    "asyncio.start_server",
];

/// Modules of other languages that reach the network, by the name used to load them.
pub(super) const OTHER: [&str; 30] = [
    "http",
    "https",
    "http2",
    "net",
    "dgram",
    "tls",
    "node:http",
    "node:https",
    "node:http2",
    "node:net",
    "node:dgram",
    "node:tls",
    "axios",
    "node-fetch",
    "got",
    "undici",
    "ws",
    "superagent",
    "net/http",
    "open-uri",
    "socket",
    "httparty",
    "faraday",
    "LWP::UserAgent",
    "LWP::Simple",
    "HTTP::Tiny",
    "IO::Socket",
    "IO::Socket::INET",
    "IO::Socket::SSL",
    "Net::FTP",
];

/// Returns the part of a command that reaches the network, if any.
pub(super) fn reaches(program: &ExecutedProgram<'_>) -> Option<String> {
    if PROGRAMS.contains(&program.name) {
        let is_local = matches!(
            program.name,
            "gh" | "aws" | "kubectl" | "curl" | "wget" | "ssh" | "az" | "gcloud" | "http" | "https"
        ) && program.args.len() == 1
            && program.has(&["--version", "--help", "-V", "-h"]);
        return (!is_local).then(|| program.name.to_owned());
    }
    if program.name == "rsync" {
        let is_far = program.args.iter().any(|arg| arg.text.contains(':'));
        return is_far.then(|| "rsync".to_owned());
    }
    let (_, verbs) = VERBS.iter().find(|(name, _)| *name == program.name)?;
    let words = program.args.iter().map(|arg| arg.text.as_str());
    let verb = words.take(4).find(|word| verbs.contains(word))?;
    Some(format!("{} {verb}", program.name))
}

/// True if it fetches something.
pub(super) fn fetches(program: &ExecutedProgram<'_>) -> bool {
    matches!(
        program.name,
        "curl"
            | "wget"
            | "aria2c"
            | "http"
            | "https"
            | "xh"
            | "nc"
            | "ncat"
            | "netcat"
            | "socat"
            | "lynx"
            | "w3m"
            | "ftp"
            | "ssh"
    )
}

/// Returns the network module to which an imported one belongs, if any.
pub(super) fn module(imported: &str) -> Option<&'static str> {
    PYTHON.into_iter().find(|module| {
        imported.strip_prefix(module).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    })
}

/// True if a call of this name, including its module, reaches the network.
pub(in crate::inspect) fn reaches_network(called: &str) -> bool {
    let last = called.rsplit('.').next().unwrap_or_default();
    let is_function = last.starts_with(|c: char| c.is_ascii_lowercase()) || last == "Request";
    is_function && called.contains('.') && module(called).is_some()
}
