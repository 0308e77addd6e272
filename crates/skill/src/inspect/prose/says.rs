use std::sync::LazyLock;

use regex::Regex;

use super::commands::{MEMORY, PassageFinding};
use super::leaves::SECRETS;
use super::places::{addresses, is_publisher};
use crate::inspect::Rule;

/// A harmful instruction in prose: the phrases that must all occur in one passage.
struct HarmfulInstructionPattern {
    rule: Rule,
    reason: &'static str,
    says: Vec<Regex>,
}

const FETCH: &str = r"\b(?:download(?:ing|ed)?|fetch|get|grab|obtain|visit|go to|navigate to|open|click|install(?:er|ed)?|use)\b";
const RUN: &str = r"\b(?:run|execute|launch|start|double-?click|open|install)\b";
const FROM: &str = r"https?://[^\s)>\]`'\x22]+";
const HARD: &str = r"(?:ssh keys?|private keys?|aws credentials?|cloud credentials?|browser (?:cookies|passwords|history)|saved passwords|seed phrases?|recovery phrases?|wallet (?:files?|keys?)|(?:all|the|any|user'?s?|session) (?:environment variables|env vars|secrets|credentials|passwords|api keys|session tokens?|tokens)|environment variables|conversation history|chat history|system prompt|session (?:data|token))";

static ORDERS: LazyLock<Vec<HarmfulInstructionPattern>> = LazyLock::new(|| {
    let order = |rule, reason, all: &[&str]| HarmfulInstructionPattern {
        rule,
        reason,
        says: all.iter().filter_map(|one| Regex::new(&format!("(?i){one}")).ok()).collect(),
    };
    let hard = format!("(?:{HARD}|{SECRETS})");
    vec![
        order(
            Rule::EncryptedArchive,
            "it contains the password of an archive, whose content cannot be inspected",
            &[
                r"\b(?:pass(?:word|code|phrase)?|pwd|pw)\b\s*(?:is\b|[:=-]|for (?:the )?(?:archive|zip|file)(?: is)?[:=]?)?\s*(?:[`\x22'“*]+[\w@#!$%^&.-]{2,40}[`\x22'”*]+|[:=]\s*[\w@#!$%^&.-]{2,40})|\b(?:unzip|unrar|7z)\b[^\n]*\s-p\s*\S+",
                r"\.(?:zip|rar|7z|tar|gz|dmg|exe|msi)\b|\b(?:unzip|unpack|unrar|extract\w*|decompress\w*|archive|zip|7z)\b",
                &format!(r"{FROM}|\b(?:download\w*|attached|archive|zip)\b|\.(?:zip|rar|7z)\b"),
            ],
        ),
        order(
            Rule::FetchAndRun,
            "it instructs the reader to download and run a program",
            &[&format!(
                r"(?s){FETCH}.{{0,200}}?https?://[^\s/)>]+/[^\s)>\]`'\x22]*\.(?:zip|exe|dmg|pkg|msi|sh|bash|ps1|bat|cmd|jar|apk|deb|rpm|appimage|scr|iso|7z|rar|vbs|command|bin)\b.{{0,300}}?{RUN}|(?s){FETCH}.{{0,120}}\b(?:zip|executable|binary|installer|agent|driver|tool|utility|driver)\b.{{0,80}}https?://.{{0,200}}?\b(?:run|execute|launch|double-?click)\b"
            )],
        ),
        order(
            Rule::FetchAndRun,
            "it instructs the reader to run a command copied from a web page",
            &[&format!(
                r"(?s)\b(?:visit|go to|open|navigate to|from|see|copy)\b.{{0,120}}?{FROM}.{{0,200}}?\b(?:copy|paste|execute|run)\b.{{0,80}}?\b(?:commands?|scripts?|snippet|terminal|shell|console|powershell|prompt)\b"
            )],
        ),
        order(
            Rule::FetchAndRun,
            "it links to a paste site, whose content can change at any time",
            &[
                r"https?://(?:[\w-]+\.)?(?:glot\.io/snippets|pastebin\.com|paste\.ee|rentry\.(?:co|org)|hastebin\.com|dpaste\.(?:com|org)|ghostbin\.\w+|termbin\.com|0x0\.st|transfer\.sh|ix\.io|controlc\.com|justpaste\.it)/\w+",
            ],
        ),
        order(
            Rule::FetchAndRun,
            "it instructs the reader to paste encoded or downloaded content into a terminal",
            &[
                r"(?s)\bpaste\b.{0,80}\b(?:terminal|shell|console|powershell|command prompt|cmd)\b|\b(?:terminal|shell|console|powershell)\b.{0,60}\bpaste\b",
                r"https?://|\bcurl\b|\bwget\b|base64|\beval\b",
            ],
        ),
        order(
            Rule::FetchAndRun,
            "it instructs the reader to install a program from a URL",
            &[
                r"(?s)\b(?:install|download)\b.{0,60}\b(?:prerequisites?|dependenc(?:y|ies)|require(?:d|ment)|utility|component|helper|package)\b.{0,80}https?://[^\s/)>]+/[^\s)>\]`'\x22]*\.(?:zip|exe|dmg|pkg|msi|sh|bash|ps1|bat|cmd|jar|scr|7z|rar)\b",
            ],
        ),
        order(
            Rule::AgentMemory,
            "it instructs an agent to change agent instruction files, which apply to every session",
            &[&format!(
                r"\b(?:append|add|write|insert|inject|save|store|put|copy|modify|edit|overwrite|replace|update|persist)\b[^.\n]{{0,120}}?\b(?:to|into|in|inside|the|your|my|user'?s?)\b[^.\n]{{0,40}}?[`\x22'*(]*(?:~?/[\w./-]*)?{MEMORY}"
            )],
        ),
        order(
            Rule::Exfiltration,
            "it instructs an agent to send credentials or user data to another host",
            &[
                &hard,
                r"(?s)\b(?:send|sends|sending|post|posts|upload|uploads|forward|transmit|exfiltrate|submit|relay|report|deliver|pass|include|append|attach|encode)\b.{0,160}(?:https?://|\b(?:external|remote|our|analytics|collection|c2|attacker|third-party)\b[^.\n]{0,30}\b(?:server|endpoint|webhook|service|api|url|host)\b|\bwebhook\b|\bas (?:the |a )?`?\w+`? (?:parameter|argument|field)\b|\bparameter\b[^.\n]{0,40}\btool\b)",
            ],
        ),
        order(
            Rule::Exfiltration,
            "it asks for a credential and puts it into a URL",
            &[
                r"(?s)\b(?:ask|prompt|request|take|use|obtain|get|read|their|user'?s)\b.{0,120}?\b(?:passwords?|passphrases?|secrets?|credentials?|api[ -]?keys?|(?:access|auth|session|github|gitlab|personal)[ -]?tokens?|private keys?|seed phrases?|recovery phrases?)\b",
                r"https?://[^\s)`'\x22]*[?&][\w.-]+=(?:<|\{|\[|\$|%7B)[^\s)`'\x22&]*(?:key|token|secret|pass|cred|phrase|auth)",
            ],
        ),
        order(
            Rule::Exfiltration,
            "it shows an image whose URL leaks user data or a credential to its server",
            &[
                r"!\[[^\]]*\]\(https?://[^)\s]*[?&][^)\s]*=[^)\s]*(?:\{\{?|\$\{?|<|\[)\s*[^)}\]>]*(?:conversation|history|message|prompt|secret|token|key|passw|credential|session|env|content|context)",
            ],
        ),
        order(
            Rule::Exfiltration,
            "it instructs an agent to read credentials without reporting it",
            &[
                &format!(
                    r"(?s)\b(?:read|load|collect|gather|harvest|extract|record|cat|access|copy|dump)\b.{{0,200}}(?:{SECRETS}|ssh keys?|private keys?|aws credentials|saved passwords|seed phrases?|session token)"
                ),
                r"(?s)\b(?:silent(?:ly)?|secretly|quietly|covertly)\b|\bwithout (?:asking|telling|notifying|informing|alerting|showing|mentioning|the user)|\b(?:do not|don't|never) (?:\w+ ){0,2}(?:mention|display|show|tell|reveal|disclose|inform|notify|alert)\b.{0,40}\b(?:user|human|operator|anyone|response|output)\b",
            ],
        ),
        order(
            Rule::Covert,
            "it instructs an agent to act without the user's knowledge",
            &[
                r"\b(?:silently|secretly|covertly|stealthily|quietly)\s+(?:\w+\s+){0,2}(?:run|execute|send|upload|install|download|post|transmit|forward|exfiltrate|copy|collect|fetch|read|call)|\b(?:without (?:the )?(?:user'?s?|their) (?:knowledge|knowing|consent|noticing|awareness)|hidden from the user|keep this (?:behaviou?r )?(?:hidden|secret))\b",
                r"\b(?:run|execute|send|upload|install|download|post|transmit|forward|exfiltrate|copy|modify|delete|collect|hidden|secret)\b",
                r"(?s)(?:https?://|\bcurl\b|\bwget\b|\b(?:do not|don'?t|never) (?:\w+ ){0,3}(?:mention|tell|reveal|disclose|inform|notify|alert)\b|\bwithout (?:the )?(?:user'?s?|their) (?:knowledge|knowing|consent|noticing|awareness)\b)",
            ],
        ),
        order(
            Rule::RemoteText,
            "it instructs an agent to follow external instructions, which can change",
            &[&format!(
                r"(?s)\b(?:fetch|download|retrieve|load|read|curl|get|visit)\b.{{0,120}}?{FROM}.{{0,160}}?\b(?:follow|obey|execute|carry out|apply|run|comply with|adhere to)\b.{{0,60}}?\b(?:instructions?|steps|directions|directives|prompt|commands?|rules|guidelines)\b|\b(?:follow|obey|execute|carry out|comply with)\b.{{0,40}}?\b(?:instructions?|steps|directions|directives|prompt|commands?)\b.{{0,60}}?\b(?:at|from|on)\b.{{0,40}}?{FROM}"
            )],
        ),
        order(
            Rule::DecodeToShell,
            "it instructs an agent to decode and follow unreadable content",
            &[
                r"(?s)\b(?:decode|decrypt|deobfuscate|unscramble|descramble|reconstruct|reassemble|xor|rot13)\b",
                r"(?s)\b(?:protected|encoded|encrypted|obfuscated|scrambled|merged|hidden) (?:payload|instructions?|commands?|message|string|text)\b|\bpayload\b|\b(?:run|execute|follow|obey|eval)\b.{0,60}\b(?:result|output|decoded|decrypted|it)\b",
                r"[A-Za-z0-9+/=]{40,}|(?:\d{1,3}\s*,\s*){16,}|[!-~]{60,}",
            ],
        ),
    ]
});

/// Returns every harmful instruction of a text.
pub(super) fn harmful_instructions(text: &str) -> Vec<PassageFinding> {
    let mut found = Vec::new();
    for order in ORDERS.iter() {
        let seen: Option<Vec<_>> = order.says.iter().map(|one| one.find(text)).collect();
        let seen = seen.unwrap_or_default();
        let Some(at) = seen.iter().map(regex::Match::start).min() else {
            continue;
        };
        let from: Vec<&str> = seen.iter().flat_map(|seen| addresses(seen.as_str())).collect();
        let is_known = !from.is_empty() && from.iter().all(|from| is_publisher(from));
        let reason = order.reason.to_owned();
        found.push(match order.rule {
            Rule::FetchAndRun if is_known => (Rule::PackageInstall, at, reason),
            rule => (rule, at, reason),
        });
    }
    found
}
