use super::files::{scripts, secret, skill_md, sorted, suggestion};
use super::format::recognise;
use super::front::{Front, take};
use super::name::name;
use super::write::write;
use super::{Fate, FieldFate, Format, Transformation};
use crate::skill::inspect::Detect;
use crate::skill::load::{self, Read, load};
use crate::skill::skill::Finding;
use crate::skill::{Bundle, BundleFile, reference};
use crate::source::Source;

/// How a skill is to be taken.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// The name of the folder that it comes from.
    pub folder: &'a str,
    /// What it is to be called; `None`: as it calls itself, or as its folder.
    pub name: Option<&'a str>,
    /// Its flavour; `None`: as recognised.
    pub format: Option<Format>,
}

/// Why a skill cannot be made one of the standard.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct NotAdapted {
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

impl NotAdapted {
    pub(super) fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            help: help.into(),
        }
    }
}

/// Makes a skill one of the standard: gives the files that are to be written, and what was done.
/// Nothing of it is executed.
pub fn adapt(
    bundle: &Bundle,
    ask: &Ask<'_>,
    detect: Detect<'_>,
) -> Result<(Bundle, Transformation), NotAdapted> {
    let path = skill_md(bundle)
        .ok_or_else(|| NotAdapted::new("there is no SKILL.md", "name the folder that holds one"))?;
    let text = bundle
        .text(path)
        .ok_or_else(|| NotAdapted::new(format!("{path} is not UTF-8"), "save it as UTF-8"))?;
    no_secret(text, detect)?;
    let (read, noted) = read(text)?;
    let (format, why) = match ask.format {
        Some(format) => (format, "it was asked for".to_owned()),
        None => recognise(&read.root, bundle),
    };
    let is_strict = ask.format == Some(Format::Standard);
    let (mut front, mut fields, mut review) = take(&read.root, is_strict)?;
    let named = named(ask, &front)?;
    fields.insert(0, name_fate(ask, &front, &named));
    front.name = named;
    let name = front.name.clone();
    if path != "SKILL.md" {
        review.insert(0, format!("{path} was renamed to SKILL.md"));
    }
    review.extend(noted);
    let body = text.get(read.body.range()).unwrap_or_default();
    let made = write(&front) + body;
    checked(&made, body, &name)?;
    // As it is written and as it is read: escapes hide nothing.
    no_secret(&made, detect)?;
    for value in front.values() {
        no_secret(value, detect)?;
    }
    let (mut taken, left_out) = sorted(bundle, (path, format), detect);
    let own = front.own.unwrap_or_default();
    let mut scripts = scripts(&taken);
    scripts.retain(|path| !own.contains(path.as_str()));
    let file = BundleFile {
        bytes: made.into_bytes(),
        is_executable: false,
    };
    taken.files.insert("SKILL.md".to_owned(), file);
    let done = Transformation {
        name,
        format,
        why,
        fields,
        left_out,
        review,
        suggestion: suggestion(&scripts),
        scripts,
    };
    Ok((taken, done))
}

fn no_secret(text: &str, detect: Detect<'_>) -> Result<(), NotAdapted> {
    match secret(text, detect) {
        None => Ok(()),
        Some(what) => {
            let message = format!("SKILL.md holds what looks like a credential: {what}");
            Err(NotAdapted::new(message, "take it out of the source first"))
        }
    }
}

/// The front matter, and what was odd about reading it.
fn read(text: &str) -> Result<(Read<'_>, Vec<String>), NotAdapted> {
    let mut warnings = Vec::new();
    let read = load::front_matter(text, &mut warnings).or_else(|broken| {
        warnings.clear();
        load::as_reference(text).ok_or(broken)
    });
    let read =
        read.map_err(|broken| NotAdapted::new(broken.message, broken.help.unwrap_or_default()))?;
    let odd = |finding: &&Finding| matches!(finding.code, "YAML" | "DUPLICATE" | "ALIAS");
    let source = Source::new("SKILL.md", text);
    let noted = warnings.iter().filter(odd).map(|finding| {
        let line = source.place(finding.span.start).line;
        format!("line {line} of the front matter: {}", finding.message)
    });
    let noted = noted.collect();
    Ok((read, noted))
}

fn named(ask: &Ask<'_>, front: &Front) -> Result<String, NotAdapted> {
    let said = ask.name.unwrap_or(if front.name.is_empty() {
        ask.folder
    } else {
        &front.name
    });
    name(said)
}

fn name_fate(ask: &Ask<'_>, front: &Front, name: &str) -> FieldFate {
    let (fate, why) = if ask.name.is_some() && front.name != name {
        (Fate::Translated, format!("`{name}`, as it was asked for"))
    } else if front.name.is_empty() {
        (
            Fate::Translated,
            format!("there is none: `{name}` by its folder"),
        )
    } else if front.name == name {
        (Fate::Kept, String::new())
    } else {
        (Fate::Translated, format!("`{name}`, as names are written"))
    };
    FieldFate {
        field: "name".to_owned(),
        fate,
        why,
    }
}

/// Whether what was made is what every reader takes, with the Markdown as it was.
fn checked(made: &str, body: &str, name: &str) -> Result<(), NotAdapted> {
    let wrong = |finding: &Finding| {
        let message = format!(
            "it cannot be made a skill of the standard: {}",
            finding.message
        );
        NotAdapted::new(message, "change that in the source first")
    };
    let skill = load(made, name).map_err(|found| {
        found.first().map_or_else(
            || NotAdapted::new("it cannot be loaded", "look at its SKILL.md"),
            &wrong,
        )
    })?;
    let found = reference(made, name);
    if let Some(finding) = skill.warnings.first().or(found.first()) {
        return Err(wrong(finding));
    }
    if made.get(skill.body.range()) != Some(body) {
        return Err(NotAdapted::new(
            "its Markdown would not stay as it is",
            "put each `---` of the front matter on its own line",
        ));
    }
    Ok(())
}
