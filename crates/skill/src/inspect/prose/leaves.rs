use std::sync::LazyLock;

use regex::Regex;

use super::{
    commands::PassageFinding,
    places::{addresses, host},
};
use crate::inspect::{
    Rule, private_content,
    tables::{PatternTable, WordList, pairs, pattern},
};

/// Commands that send credentials off the machine.
static SENDS: LazyLock<PatternTable> =
    LazyLock::new(|| PatternTable::from_table(include_str!("../tables/patterns/leaks.txt"), "(?im)"));

static NAMED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"\b((?:[A-Z][A-Z0-9]*_)+(?:TOKEN|KEY|SECRET|PASSWORD|PASS|URL|CREDENTIALS)(?:_ID)?)\b").ok()
});

/// Credentials with a name of their owner: the prefix of the name, and the words of which a
/// host must contain one; those without words belong to no host.
static OWNERS: LazyLock<Vec<(&str, &str)>> =
    LazyLock::new(|| pairs(include_str!("../tables/words/owners.txt")).collect());

/// First words of names that do not name an owner.
static NOBODY: WordList = WordList::from_table(include_str!("../tables/words/nobody.txt"));

/// Returns the words in the hosts of a credential's owner, if its name reveals the owner.
fn hosts_of(name: &str) -> Option<&'static str> {
    OWNERS.iter().find(|(begin, _)| name.starts_with(begin)).map(|(_, hosts)| *hosts)
}

/// True if a host contains one of these words.
fn has_word(host: &str, words: &str) -> bool {
    words.split_whitespace().any(|word| host.contains(word))
}

/// The owner of a credential.
pub(in crate::inspect) struct CredentialOwner {
    /// The first word of its name.
    pub(in crate::inspect) name: String,
    known: Option<&'static str>,
}

impl CredentialOwner {
    /// True if the names of its hosts are known.
    pub(in crate::inspect) fn is_known(&self) -> bool {
        self.known.is_some()
    }

    /// True if one of the hosts belongs to it.
    pub(in crate::inspect) fn owns(&self, hosts: &[String]) -> bool {
        let is_own = |host: &String| match self.known {
            Some(own_host) => has_word(host, own_host),
            None => host.replace('-', "").contains(&self.name),
        };
        hosts.iter().any(is_own)
    }
}

/// Returns the owner of a credential, by the name of its variable; `None` if the name reveals none.
pub(in crate::inspect) fn owner(name: &str) -> Option<CredentialOwner> {
    let first = name.split('_').next()?.to_ascii_lowercase();
    let hosts = hosts_of(name);
    let is_somebody = hosts.is_some() || !NOBODY.contains(&first);
    (is_credential(name) && is_somebody).then_some(CredentialOwner { name: first, known: hosts })
}

/// True if the name of a variable is that of a credential.
pub(in crate::inspect) fn is_credential(name: &str) -> bool {
    let is_named =
        NAMED.as_ref().is_some_and(|regex| regex.find(name).is_some_and(|hit| hit.len() == name.len()));
    // An address with a password in it is a credential.
    let is_address = name.ends_with("URL");
    let is_kept = OWNERS.iter().any(|(begin, hosts)| name.starts_with(begin) && hosts.is_empty());
    is_named && (!is_address || is_kept)
}

/// True if credentials are stored at a path.
pub(in crate::inspect) fn keeps_credentials(path: &str) -> bool {
    let is_memory = |meaning: &str| meaning.starts_with("an agent");
    STORES.as_ref().is_some_and(|regex| regex.is_match(path))
        || private_content(path).is_some_and(|(part, meaning)| part != "~" && !is_memory(meaning))
}

static POSTS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:requests|httpx|session|client|axios)\.(?:post|put|request)\s*\(|\burlopen\s*\(|\burllib\.request\.Request\s*\(|\bfetch\s*\([^\n]*|\bcurl\b[^\n]*(?:\s-d\b|--data|\s-F\b|\s-X\s*P|\s-T\b)").ok()
});

static DUMPS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)\bdict\s*\(\s*os\.environ\s*\)|\bos\.environ\.items\s*\(|json\.stringify\s*\(\s*process\.env\b|json\.dumps\s*\(\s*(?:dict\s*\(\s*)?os\.environ\b|object\.entries\s*\(\s*process\.env\s*\)").ok()
});

static STORES: LazyLock<Option<Regex>> = LazyLock::new(|| pattern("(?im){SECRETS}"));

/// Returns the credentials a text sends off the machine.
pub(super) fn leaves(text: &str) -> Vec<PassageFinding> {
    let hits = SENDS.every(text).filter_map(|hit| {
        let at = hit.seen.first()?.start();
        Some((hit.rule, at, hit.reason.to_owned()))
    });
    hits.chain(posted(text)).collect()
}

/// Finds a program or command that reads credentials and sends data to a foreign host.
fn posted(text: &str) -> Option<PassageFinding> {
    let post = POSTS.as_ref()?.find(text)?;
    let finding = |at, reason: &str| Some((Rule::Exfiltration, at, reason.to_owned()));
    let hosts: Vec<String> = addresses(text).into_iter().filter_map(host).collect();
    let is_near = |host: &String| host.starts_with("localhost") || host.starts_with("127.");
    let has_far = hosts.iter().any(|host| !is_near(host));
    if has_far && let Some(dump) = DUMPS.as_ref()?.find(text) {
        return finding(dump.start(), "it sends all environment variables to another host");
    }
    if has_far && let Some(hit) = STORES.as_ref()?.find(text) {
        return finding(hit.start(), "it reads a credential store and sends data to another host");
    }
    let named = NAMED.as_ref()?.find_iter(text);
    let mut owned = named.filter_map(|name| Some((name, hosts_of(name.as_str())?)));
    let (name, _) = owned.find(|(_, owners)| has_far && !hosts.iter().any(|host| has_word(host, owners)))?;
    let reason = format!("{} is sent to an unrelated host", name.as_str());
    finding(name.start().min(post.start()), &reason)
}
