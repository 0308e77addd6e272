use super::{
    format::{OPENAI_FILE, SkillFormat},
    transformation::OmittedFile,
};
use crate::{BundleFile, SkillBundle, inspect::TextDetector};

/// Folders that programs recreate when needed.
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

/// The prefixes of the names of files with keys and passwords.
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

/// The suffixes of the same.
const SECRET_ENDS: [&str; 8] = [".jks", ".kdbx", ".key", ".keystore", ".p12", ".pem", ".pfx", ".ppk"];

/// The extensions of files an interpreter executes.
const SCRIPTS: [&str; 7] = ["bash", "js", "mjs", "pl", "py", "rb", "sh"];

/// Returns the files of a skill to import, without its SKILL.md, and those to leave out.
pub(super) fn partition_files(
    bundle: &SkillBundle,
    skill_md: &str,
    format: SkillFormat,
    detect: TextDetector<'_>,
) -> (SkillBundle, Vec<OmittedFile>) {
    let (mut taken, mut left_out) = (SkillBundle::default(), Vec::new());
    for (path, file) in bundle.files.iter().filter(|(path, _)| *path != skill_md) {
        match omission_reason(path, file, format, detect) {
            None => drop(taken.files.insert(path.clone(), file.clone())),
            Some(reason) => left_out.push(OmittedFile { path: path.clone(), reason }),
        }
    }
    (taken, left_out)
}

fn omission_reason(
    path: &str,
    file: &BundleFile,
    format: SkillFormat,
    detect: TextDetector<'_>,
) -> Option<String> {
    let lower = path.to_lowercase();
    let mut parts = lower.split('/');
    if lower.split('/').any(|part| CACHES.contains(&part)) || extension(&lower) == "pyc" {
        return Some("generated files".to_owned());
    }
    if lower.ends_with(".ds_store") {
        return Some("folder display settings".to_owned());
    }
    if parts.any(is_secret) {
        return Some("its name suggests keys or passwords".to_owned());
    }
    if format == SkillFormat::Openai && path == OPENAI_FILE {
        return Some("settings for one client only: how it shows the skill, and what it loads".to_owned());
    }
    let secret = secret(&String::from_utf8_lossy(&file.bytes), detect).or_else(|| secret(path, detect))?;
    Some(format!("it seems to contain a credential: {secret}"))
}

fn is_secret(part: &str) -> bool {
    let begins = SECRET_STARTS.iter().any(|start| part.starts_with(start));
    begins || SECRET_ENDS.iter().any(|end| part.ends_with(end))
}

/// Returns the kind of the first credential in a text.
pub(super) fn secret(text: &str, detect: TextDetector<'_>) -> Option<&'static str> {
    let hits = detect(text).into_iter();
    let mut secrets = hits.filter(|hit| hit.detector == "secrets");
    Some(secrets.next()?.description)
}

fn extension(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.rsplit_once('.').map_or("", |(_, ending)| ending)
}

/// Returns the files a step could run.
pub(super) fn scripts(bundle: &SkillBundle) -> Vec<String> {
    let could = |(path, file): &(&String, &BundleFile)| {
        let is_read = SCRIPTS.contains(&extension(path));
        is_read && path.starts_with("scripts/") || file.is_executable && *path != "SKILL.md"
    };
    let candidates = bundle.files.iter().filter(could);
    candidates.map(|(path, _)| path.clone()).collect()
}

/// Returns front matter declaring scripts, with no rights at all.
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

/// Returns the path of the skill's SKILL.md, in any mixture of upper and lower case.
pub(super) fn skill_md(bundle: &SkillBundle) -> Option<&str> {
    let is_it = |path: &&String| path.eq_ignore_ascii_case("SKILL.md");
    let exact = bundle.files.get_key_value("SKILL.md").map(|(path, _)| path);
    exact.or_else(|| bundle.files.keys().find(is_it)).map(String::as_str)
}
