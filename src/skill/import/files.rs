use super::format::{Format, OPENAI_FILE};
use super::transformation::LeftOut;
use crate::skill::inspect::Detect;
use crate::skill::{Bundle, BundleFile};

/// Folders that programs make anew whenever they need them.
const CACHES: [&str; 12] = [
    ".git",
    ".hg",
    ".svn",
    ".cache",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".tox",
    ".venv",
    "venv",
    "__pycache__",
    "node_modules",
];

/// How names of files begin that hold keys and passwords.
const SECRET_STARTS: [&str; 11] = [
    ".env",
    ".htpasswd",
    ".netrc",
    ".npmrc",
    ".pgpass",
    ".pypirc",
    "credentials",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "id_rsa",
];

/// How they end.
const SECRET_ENDS: [&str; 8] = [
    ".jks",
    ".kdbx",
    ".key",
    ".keystore",
    ".p12",
    ".pem",
    ".pfx",
    ".ppk",
];

/// Endings of files that an interpreter executes.
const SCRIPTS: [&str; 7] = ["bash", "js", "mjs", "pl", "py", "rb", "sh"];

/// The files of a skill that are taken, without its SKILL.md, and those that are not.
pub(super) fn sorted(
    bundle: &Bundle,
    (skill_md, format): (&str, Format),
    detect: Detect<'_>,
) -> (Bundle, Vec<LeftOut>) {
    let (mut taken, mut left_out) = (Bundle::default(), Vec::new());
    for (path, file) in bundle.files.iter().filter(|(path, _)| *path != skill_md) {
        match why_not(path, file, format, detect) {
            None => drop(taken.files.insert(path.clone(), file.clone())),
            Some(why) => left_out.push(LeftOut {
                path: path.clone(),
                why,
            }),
        }
    }
    (taken, left_out)
}

fn why_not(path: &str, file: &BundleFile, format: Format, detect: Detect<'_>) -> Option<String> {
    let lower = path.to_lowercase();
    let mut parts = lower.split('/');
    if lower.split('/').any(|part| CACHES.contains(&part)) || ending(&lower) == "pyc" {
        return Some("programs make it anew".to_owned());
    }
    if lower.ends_with(".ds_store") {
        return Some("it says how a folder is shown".to_owned());
    }
    if parts.any(is_secret) {
        return Some("by its name it holds keys or passwords".to_owned());
    }
    if format == Format::Openai && path == OPENAI_FILE {
        return Some(
            "it says how one client shows the skill, and what that client loads".to_owned(),
        );
    }
    let secret =
        secret(&String::from_utf8_lossy(&file.bytes), detect).or_else(|| secret(path, detect))?;
    Some(format!("it holds what looks like a credential: {secret}"))
}

fn is_secret(part: &str) -> bool {
    let begins = SECRET_STARTS.iter().any(|start| part.starts_with(start));
    begins || SECRET_ENDS.iter().any(|end| part.ends_with(end))
}

/// What kind of credential is seen in a text first.
pub(super) fn secret(text: &str, detect: Detect<'_>) -> Option<&'static str> {
    let seen = detect(text).into_iter();
    let mut seen = seen.filter(|seen| seen.detector == "secrets");
    Some(seen.next()?.what)
}

fn ending(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.rsplit_once('.').map_or("", |(_, ending)| ending)
}

/// The files that a step could run.
pub(super) fn scripts(bundle: &Bundle) -> Vec<String> {
    let could = |(path, file): &(&String, &BundleFile)| {
        let is_read = SCRIPTS.contains(&ending(path));
        is_read && path.starts_with("scripts/") || file.is_executable && *path != "SKILL.md"
    };
    let all = bundle.files.iter().filter(could);
    all.map(|(path, _)| path.clone()).collect()
}

/// Front matter that declares scripts, with no rights at all.
pub(super) fn suggestion(scripts: &[String]) -> Option<String> {
    if scripts.is_empty() {
        return None;
    }
    let mut text = "metadata:\n  wf: |\n    scripts:\n".to_owned();
    for path in scripts {
        let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
        let key = if path.chars().all(plain) {
            path.clone()
        } else {
            // JSON is YAML.
            serde_json::Value::from(path.as_str()).to_string()
        };
        text.push_str(&format!("      {key}: {{}}\n"));
    }
    Some(text)
}

/// The file that is the skill's SKILL.md, however its name is written.
pub(super) fn skill_md(bundle: &Bundle) -> Option<&str> {
    let is_it = |path: &&String| path.eq_ignore_ascii_case("SKILL.md");
    let exact = bundle.files.get_key_value("SKILL.md").map(|(path, _)| path);
    exact
        .or_else(|| bundle.files.keys().find(is_it))
        .map(String::as_str)
}
