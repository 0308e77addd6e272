use std::sync::LazyLock;

use regex::Regex;

use super::places::{addresses, is_publisher};
use crate::inspect::Rule;

/// A finding in a passage: the rule, the offset, and the reason.
pub(super) type PassageFinding = (Rule, usize, String);

/// The pattern of a harmful command in any text.
struct HarmfulCommandPattern {
    rule: Rule,
    reason: &'static str,
    says: Option<Regex>,
}

const SHELL: &str = r"(?:sudo\s+(?:-\w+\s+)*)?(?:/(?:usr/)?bin/)?(?:env\s+)?(?:(?:ba|z|da|k|a)?sh\b|(?:python[23]?|node|perl|ruby|php)\s*-?\s*(?:$|[;&|`)\x22']))";

static SHAPES: LazyLock<Vec<HarmfulCommandPattern>> = LazyLock::new(|| {
    let shape = |rule, reason, says: &str| HarmfulCommandPattern {
        rule,
        reason,
        says: Regex::new(&format!("(?im){says}")).ok(),
    };
    vec![
        shape(
            Rule::PipeToShell,
            "downloaded content is executed directly",
            &format!(
                r"\b(?:curl|wget|fetch|aria2c)\b[^|\n]*(?:://|\$\{{?\w|<\w|\b[\w-]+\.[a-z]{{2,}}\b)[^|\n]*\|\s*(?:\w+(?:\s+-\w+)*\s*\|\s*)?{SHELL}"
            ),
        ),
        shape(
            Rule::PipeToShell,
            "downloaded content is executed directly",
            r"(?:\b(?:ba|z|da|k)?sh\b[^\n|;&`]*?|\beval\b|\bsource\b|(?:^|[;&`]\s*)\.)\s+[\x22']?(?:\$\(|<\(|`)\s*(?:curl|wget)\b[^\n]*",
        ),
        shape(
            Rule::PipeToShell,
            "downloaded content is executed directly",
            r"\b(?:iex|invoke-expression)\b[^\n]*(?:\biwr\b|\birm\b|invoke-webrequest|invoke-restmethod|downloadstring|net\.webclient|https?:)[^\n]*|(?:\biwr\b|\birm\b|invoke-webrequest|invoke-restmethod|downloadstring)[^\n]*\|\s*(?:iex|invoke-expression)\b",
        ),
        shape(
            Rule::PipeToShell,
            "downloaded content is executed directly",
            r"\bmshta(?:\.exe)?\s+[\x22']?https?:[^\n]*|\bregsvr32\b[^\n]*https?:[^\n]*|\brundll32\b[^\n]*https?:[^\n]*|\bcertutil\b[^\n]*-urlcache[^\n]*https?:[^\n]*|\bbitsadmin\b[^\n]*/transfer[^\n]*https?:[^\n]*|\bosascript\b[^\n]*\bdo shell script\b[^\n]*\bcurl\b[^\n]*",
        ),
        shape(
            Rule::PipeToShell,
            "downloaded content is executed directly",
            r"\b(?:exec|eval)\s*\(\s*(?:compile\s*\(\s*)?(?:requests|httpx|urllib\.request|urllib2)\.\w+\([^\n]*|\b(?:os\.system|subprocess\.\w+|execSync|exec|popen)\s*\(\s*\[?f?[\x22'][^\n]*\b(?:curl|wget)\b[^\n]*\|\s*(?:ba|z)?sh\b",
        ),
        shape(
            Rule::DecodeToShell,
            "decoded content is executed directly",
            &format!(
                r"(?:\bbase(?:64|32)\s+(?:-\w*d\w*\b|--decode\b)|\bxxd\s+-r|\bopenssl\s+(?:enc|base64)\b[^|\n]*\s-d\b|\brot13\b|\btr\s+'a-z)[^\n]*\|\s*(?:xargs\s+(?:-\S+\s+)*)?(?:{SHELL}|curl\b)"
            ),
        ),
        shape(
            Rule::DecodeToShell,
            "decoded content is executed directly",
            r"(?:\beval\b|\b(?:ba|z)?sh\b\s+(?:-c|<<<)|\bsource\b)\s*[\x22']?(?:\$\(|<\(|`)[^\n]*(?:base(?:64|32)\s+(?:-\w*d\w*\b|--decode\b)|xxd\s+-r)[^\n]*",
        ),
        shape(
            Rule::DecodeToShell,
            "decoded content is executed directly",
            r"\b(?:exec|eval|function)\s*\([^\n]{0,80}(?:\bb(?:64|32|85|16)decode|\ba85decode|decompress|unhexlify|fromhex|\batob\b|\bunescape\b|base64[\x22']|marshal\.loads)[^\n]*|\bmarshal\.loads\s*\(\s*(?:\w+\.)*b\d\ddecode[^\n]*",
        ),
        shape(
            Rule::DecodeToShell,
            "an encoded command is executed",
            r"\b(?:powershell|pwsh)(?:\.exe)?\b[^\n]*\s-e(?:c|n|nc|nco\w*)?\s+[\x22']?[a-z0-9+/=]{16,}|frombase64string\s*\([^\n]*\|\s*(?:iex|invoke-expression)|\b(?:iex|invoke-expression)\b[^\n]*frombase64string[^\n]*",
        ),
        shape(
            Rule::ReverseShell,
            "it exposes a shell or a connection to another host",
            r"\bsh\s+-i\b[^\n]*/dev/(?:tcp|udp)/|/dev/(?:tcp|udp)/[^\n]*(?:0>&1|<&|>&)|\b(?:nc|ncat|netcat)\b[^\n]*\s-\w*[ec]\s*[\x22']?(?:/bin/)?(?:ba|z|da)?sh\b|\b(?:nc|ncat|netcat)\b[^\n]*\s-\w*e\s*(?:cmd|powershell)|\bmkfifo\b[^\n]*\|[^\n]*\b(?:nc|ncat|netcat|openssl)\b|\bsocat\b[^\n]*(?:exec|system):|\bnew-object\s+(?:system\.)?net\.sockets\.tcpclient\b",
        ),
        shape(
            Rule::DeleteAll,
            "it deletes the home folder, everything, or logs",
            r"\brm\s+(?:-\w+\s+)*-\w*r\w*\s+(?:-\w+\s+)*(?:--no-preserve-root\b|(?:[^\n;&|]*\s)?[\x22']?(?:/|~|\$\{?HOME\}?)/?\*?[\x22']?(?:\s|$|[;&`])|[^\n;&|]*/var/log/)",
        ),
        shape(
            Rule::AgentMemory,
            "it writes agent instruction files, which apply to every session",
            &format!(
                r"(?:>>?|\btee\b(?:\s+-a)?)\s*[\x22']?(?:[\w$~.{{}}/-]*/)?{MEMORY}|\b(?:cp|mv|ln)\b[^\n|;&]*\s[\x22']?(?:~|\$\{{?HOME\}}?)/[\w./-]*{MEMORY}|\bsed\s+-i\b[^\n|;&]*{MEMORY}|\bcurl\b[^\n|;&]*\s-o\s*[\x22']?[\w$~.{{}}/-]*{MEMORY}"
            ),
        ),
        shape(
            Rule::AgentSettings,
            "it changes agent settings, which can start programs",
            r"(?:>>?|\btee\b(?:\s+-a)?)\s*[\x22']?(?:[\w$~.{}/-]*/)?\.(?:claude|cursor|gemini|codex)/(?:settings(?:\.local)?|hooks|mcp)\.json",
        ),
        shape(
            Rule::Miner,
            "it mines for someone else",
            r"\bstratum\+(?:tcp|ssl|tls)://[^\n]*|\bxmrig\b[^\n]*(?:--url|-o|--pool)\b[^\n]*",
        ),
    ]
});

/// Files that agents read at the start of every session, and obey.
pub(super) const MEMORY: &str = r"(?:\b(?:CLAUDE(?:\.local)?|AGENTS?|SOUL|MEMORY|IDENTITY|HEARTBEAT|BOOTSTRAP|GEMINI)\.md\b|\.cursorrules\b|\.windsurfrules\b|\.clinerules\b|\bcopilot-instructions\.md\b)";

static WRITES: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?im)\b(?:curl|wget|iwr|invoke-webrequest)\b[^\n;&|]*").ok());

static NAMED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)(?:\s-\w*o|\s--output(?:-document)?|\s-outfile|>)[\s=]*[\x22']?([\w$~{}./-]+)").ok()
});

/// Returns every harmful command of a text. Lines continued with a `\` are joined.
pub(super) fn commands(text: &str) -> Vec<PassageFinding> {
    // The replacements have the same length, so that offsets stay.
    let text = text.replace("\\\r\n", "   ").replace("\\\n", "  ");
    let mut found = Vec::new();
    for shape in SHAPES.iter() {
        let Some(says) = &shape.says else { continue };
        for seen in says.find_iter(&text) {
            found.push(of(shape, &seen));
        }
    }
    found
}

fn of(shape: &HarmfulCommandPattern, seen: &regex::Match<'_>) -> PassageFinding {
    let from = addresses(seen.as_str());
    let is_known = !from.is_empty() && from.iter().all(|from| is_publisher(from));
    if shape.rule == Rule::PipeToShell && is_known {
        let reason = "it downloads and executes a publisher's installer";
        return (Rule::PackageInstall, seen.start(), reason.to_owned());
    }
    (shape.rule, seen.start(), shape.reason.to_owned())
}

/// The maximum distance between a fetch and its execution, in characters, and the maximum number of
/// fetches of a passage that are followed.
const NEAR: usize = 2_000;
const MOST: usize = 100;

/// Returns the files that are fetched by one command and executed by a later one.
pub(super) fn fetched(text: &str) -> Vec<PassageFinding> {
    let (Some(writes), Some(named)) = (WRITES.as_ref(), NAMED.as_ref()) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for seen in writes.find_iter(text).take(MOST) {
        let from = addresses(seen.as_str());
        let Some(first) = from.first() else { continue };
        if is_publisher(first) {
            continue;
        }
        let path = first.split(['?', '#']).next().unwrap_or(first);
        let last = path.rsplit('/').next().unwrap_or_default();
        let after: String = text.get(seen.end()..).unwrap_or_default().chars().take(NEAR).collect();
        let tail = text.get(seen.start()..).unwrap_or_default();
        let line = tail.lines().next().unwrap_or_default();
        let names = named.captures_iter(line);
        let mut names: Vec<&str> = names.filter_map(|found| found.get(1).map(|name| name.as_str())).collect();
        names.push(last);
        let is_run = names
            .iter()
            .filter(|name| name.len() > 2)
            .any(|name| runs(&after, name.trim_start_matches("./")));
        if is_run {
            let reason = "downloaded content is executed by the next command";
            found.push((Rule::PipeToShell, seen.start(), reason.to_owned()));
        }
    }
    found
}

/// True if a text executes a file.
fn runs(text: &str, name: &str) -> bool {
    const BEFORE: &str = r"(?:\b(?:ba|z|da|k)?sh\b(?:\s+-\w+)*|\bpython[23]?|\bnode|\bperl|\bruby|\bsource|\bstart|\bopen|\bsudo|(?:^|[;&]\s*)\.|start-process)\s+[\x22']?(?:\./|\.\\)?|(?:^|[;&|]|\bsudo)\s*[\x22']?\.[/\\]";
    const BARE: &str = r"|(?:^|[;&]|\bnohup)\s*[\x22']?";
    // A bare word at the start of a line is ambiguous.
    let bare = if name.contains('/') { BARE } else { "" };
    let pattern = format!(r"(?im)(?:{BEFORE}{bare}){}(?:$|[\s\x22'`;&|)])", regex::escape(name));
    Regex::new(&pattern).is_ok_and(|one| one.is_match(text))
}
