use std::sync::LazyLock;

use regex::Regex;

use super::commands::PassageFinding;
use super::places::{addresses, host};
use crate::inspect::{Rule, private};

/// Places of credentials.
pub(super) const SECRETS: &str = r"(?:\.ssh/|\bid_rsa\b|\bid_ed25519\b|\.aws/(?:credentials|config)|~/\.env\b|\$HOME/\.env\b|/\.env\b|(?:^|[\s\x22'`@])\.env(?:\.\w+)?(?:$|[\s\x22'`,;)])|\.netrc\b|\.npmrc\b|\.pypirc\b|\.kube/config\b|\.docker/config\.json|\.gnupg/|\.git-credentials\b|/etc/shadow\b|login\.keychain|keychain-db|\bcookies\.sqlite\b|\blogin data\b|\bwallet\.dat\b|\bkeystore/|\.config/gcloud/|\.config/gh/hosts|application_default_credentials|\.mcp\.json|/mcp\.json|\.openclaw/|\.clawdbot/|\.claude/\.credentials)";

static SENDS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    const NET: &str = r"\b(?:curl|wget|nc|ncat|netcat|http|xh|iwr|irm|invoke-webrequest|invoke-restmethod)\b";
    let all = [
        format!(r"{NET}[^\n]*(?:\$\(\s*(?:env|printenv|set)\b|\$\(\s*(?:cat|base64|gzip|tar)\b[^)\n]*{SECRETS}|@[^\s]*{SECRETS}|<\s*\S*{SECRETS})"),
        format!(r"(?:(?:^|[;&|(`]\s*)(?:env|printenv)\b|\b(?:cat|base64|tar|zip|gzip|grep|find)\b[^\n|]*{SECRETS})[^\n]*\|[^\n]*(?:{NET}|\bopenssl s_client\b)"),
        r"\b(?:echo|printf)\b[^\n|]*(?:\$\{?\w*(?:token|secret|key|passw\w*|credential)\w*\}?|credential|secret)[^\n|]*\|[^\n]*\b(?:curl|nc|ncat|netcat)\b[^\n]*".to_owned(),
        r"\becho\b[^\n|]*\|\s*base(?:64|32)\b[^\n|]*\|[^\n]*\b(?:curl|nc|ncat|netcat)\b[^\n]*".to_owned(),
        r"\b(?:dig|nslookup|host|ping|curl)\b[^\n]*\$\([^)\n]*(?:base(?:64|32)|xxd|od\s)[^)\n]*\)\.[\w.-]+".to_owned(),
        r"\b(?:dig|nslookup)\b[^\n]*\{\w+\}\.[\w.-]+\.\w+".to_owned(),
    ];
    let all = all.iter().map(|says| Regex::new(&format!("(?im){says}")).ok());
    all.flatten().collect()
});

static NAMED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"\b((?:[A-Z][A-Z0-9]*_)+(?:TOKEN|KEY|SECRET|PASSWORD|PASS|URL|CREDENTIALS)(?:_ID)?)\b").ok()
});

/// Credentials whose name reveals their owner: the prefix of the name, and the words of which a
/// host must contain one.
const OWNERS: [(&str, &[&str]); 31] = [
    ("ANTHROPIC_", &["anthropic", "claude"]),
    ("AWS_", &["amazonaws", "aws."]),
    ("AZURE_", &["azure", "microsoft", "windows.net"]),
    ("CLOUDFLARE_", &["cloudflare"]),
    ("DATABASE_URL", &["\n"]),
    ("DB_PASS", &["\n"]),
    ("DIGITALOCEAN_", &["digitalocean"]),
    ("DOCKER_", &["docker"]),
    ("GH_TOKEN", &["github", "ghcr.io"]),
    ("GITHUB_", &["github", "ghcr.io"]),
    ("GITLAB_", &["gitlab"]),
    ("GOOGLE_", &["google"]),
    ("HEROKU_", &["heroku"]),
    ("HF_TOKEN", &["huggingface", "hf.co"]),
    ("HUGGINGFACE_", &["huggingface", "hf.co"]),
    ("JWT_SECRET", &["\n"]),
    ("MAILGUN_", &["mailgun"]),
    ("MONGO", &["mongodb"]),
    ("MYSQL_", &["\n"]),
    ("NPM_TOKEN", &["npm"]),
    ("OPENAI_", &["openai", "azure"]),
    ("POSTGRES_", &["\n"]),
    ("PYPI_", &["pypi"]),
    ("REDIS_", &["\n"]),
    ("SENDGRID_", &["sendgrid"]),
    ("SENTRY_", &["sentry"]),
    ("SLACK_", &["slack"]),
    ("SSH_", &["\n"]),
    ("STRIPE_", &["stripe"]),
    ("TWILIO_", &["twilio"]),
    ("VERCEL_", &["vercel"]),
];

/// The owner of a credential.
pub(in crate::inspect) struct CredentialOwner {
    /// The first word of its name.
    pub(in crate::inspect) name: String,
    known: Option<&'static [&'static str]>,
}

impl CredentialOwner {
    /// True if the names of its hosts are known.
    pub(in crate::inspect) fn is_known(&self) -> bool {
        self.known.is_some()
    }

    /// True if one of the hosts belongs to it.
    pub(in crate::inspect) fn owns(&self, hosts: &[String]) -> bool {
        let is_own = |host: &String| match self.known {
            Some(known) => known.iter().any(|one| host.contains(one)),
            None => host.replace('-', "").contains(&self.name),
        };
        hosts.iter().any(is_own)
    }
}

/// First words of names that do not name an owner.
const NOBODY: [&str; 16] = [
    "api", "access", "auth", "secret", "token", "bearer", "my", "your", "user", "app", "client", "base",
    "service", "private", "public", "test",
];

/// Returns the owner of a credential, by the name of its variable; `None` if the name reveals none.
pub(in crate::inspect) fn owner(name: &str) -> Option<CredentialOwner> {
    let first = name.split('_').next()?.to_ascii_lowercase();
    let known = OWNERS.iter().find(|(begin, _)| name.starts_with(begin));
    let known = known.map(|(_, hosts)| *hosts);
    let is_somebody = known.is_some() || !NOBODY.contains(&first.as_str());
    (is_credential(name) && is_somebody).then_some(CredentialOwner { name: first, known })
}

/// True if the name of a variable is that of a credential.
pub(in crate::inspect) fn is_credential(name: &str) -> bool {
    let is_named =
        NAMED.as_ref().is_some_and(|one| one.find(name).is_some_and(|seen| seen.len() == name.len()));
    // An address with a password in it is a credential.
    let is_address = name.ends_with("URL");
    let is_kept = OWNERS.iter().any(|(begin, hosts)| name.starts_with(begin) && *hosts == ["\n"]);
    is_named && (!is_address || is_kept)
}

/// True if credentials are stored at a path.
pub(in crate::inspect) fn keeps_credentials(path: &str) -> bool {
    let is_memory = |what: &str| what.starts_with("an agent");
    STORES.as_ref().is_some_and(|one| one.is_match(path))
        || private(path).is_some_and(|(part, what)| part != "~" && !is_memory(what))
}

static POSTS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:requests|httpx|session|client|axios)\.(?:post|put|request)\s*\(|\burlopen\s*\(|\burllib\.request\.Request\s*\(|\bfetch\s*\([^\n]*|\bcurl\b[^\n]*(?:\s-d\b|--data|\s-F\b|\s-X\s*P|\s-T\b)").ok()
});

static DUMPS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)\bdict\s*\(\s*os\.environ\s*\)|\bos\.environ\.items\s*\(|json\.stringify\s*\(\s*process\.env\b|json\.dumps\s*\(\s*(?:dict\s*\(\s*)?os\.environ\b|object\.entries\s*\(\s*process\.env\s*\)").ok()
});

static STORES: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(&format!("(?im){SECRETS}")).ok());

/// Returns the credentials that a text sends off the machine.
pub(super) fn leaves(text: &str) -> Vec<PassageFinding> {
    let mut found = Vec::new();
    for says in SENDS.iter() {
        for seen in says.find_iter(text) {
            let reason = "it sends credentials to another host".to_owned();
            found.push((Rule::Exfiltration, seen.start(), reason));
        }
    }
    found.extend(posted(text));
    found
}

/// Finds a program or command that reads credentials and sends data to a foreign host.
fn posted(text: &str) -> Option<PassageFinding> {
    let post = POSTS.as_ref()?.find(text)?;
    let found = |at, reason: &str| Some((Rule::Exfiltration, at, reason.to_owned()));
    let hosts: Vec<String> = addresses(text).into_iter().filter_map(host).collect();
    let is_near = |host: &String| host.starts_with("localhost") || host.starts_with("127.");
    let has_far = hosts.iter().any(|host| !is_near(host));
    if has_far && let Some(seen) = DUMPS.as_ref()?.find(text) {
        return found(seen.start(), "it sends all environment variables to another host");
    }
    if has_far && let Some(seen) = STORES.as_ref()?.find(text) {
        return found(seen.start(), "it reads a credential store and sends data to another host");
    }
    let named = NAMED.as_ref()?.find_iter(text);
    let mut owned = named.filter_map(|name| {
        let of = OWNERS.iter().find(|(begin, _)| name.as_str().starts_with(begin))?;
        Some((name, of.1))
    });
    let (name, _) = owned.find(|(_, owners)| {
        has_far && !hosts.iter().any(|host| owners.iter().any(|one| host.contains(one)))
    })?;
    let reason = format!("{} is sent to an unrelated host", name.as_str());
    found(name.start().min(post.start()), &reason)
}
