use super::{
    ConvertedField, FieldOutcome, SkillConversion, SkillFormat,
    files::{partition_files, scripts, secret, skill_md, suggestion},
    format::{recognise, standard_name},
    front::{FrontMatterFields, convert_front_matter},
    write::write,
};
use crate::{
    BundleFile, SkillBundle,
    inspect::TextDetector,
    load::{self, SkillFrontMatter, load},
    reference,
    skill::SkillFinding,
};
use wf_base::source::SourceText;

/// The options of a conversion.
#[derive(Clone, Copy, Debug)]
pub struct ConversionOptions<'a> {
    /// The name of the source folder.
    pub folder: &'a str,
    /// The new name; `None`: the declared name, or that of the folder.
    pub name: Option<&'a str>,
    /// Its flavour; `None`: as recognised.
    pub format: Option<SkillFormat>,
}

/// The reason why a skill cannot be converted to the standard.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SkillConversionError {
    /// A description of the problem.
    pub message: String,
    /// The remedy.
    pub help: String,
}

impl SkillConversionError {
    pub(super) fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { message: message.into(), help: help.into() }
    }
}

/// Converts a skill to the standard: returns the files to write, and a record of the conversion.
/// Nothing of it is executed.
pub fn adapt(
    bundle: &SkillBundle,
    options: &ConversionOptions<'_>,
    detect: TextDetector<'_>,
) -> Result<(SkillBundle, SkillConversion), SkillConversionError> {
    let path = skill_md(bundle)
        .ok_or_else(|| SkillConversionError::new("SKILL.md not found", "give a folder that contains one"))?;
    let text = bundle
        .text(path)
        .ok_or_else(|| SkillConversionError::new(format!("{path} is not UTF-8"), "save it as UTF-8"))?;
    refuse_secrets(text, detect)?;
    let (read, noted) = read(text)?;
    let (format, reason) = match options.format {
        Some(format) => (format, "requested".to_owned()),
        None => recognise(&read.root, bundle),
    };
    let is_strict = options.format == Some(SkillFormat::Standard);
    let (mut front, mut fields, mut review) = convert_front_matter(&read.root, is_strict)?;
    let named = resolved_name(options, &front)?;
    fields.insert(0, name_fate(options, &front, &named));
    front.name = named;
    let name = front.name.clone();
    if path != "SKILL.md" {
        review.insert(0, format!("{path} was renamed to SKILL.md"));
    }
    review.extend(noted);
    let body = text.get(read.body.range()).unwrap_or_default();
    let skill_md = write(&front) + body;
    check_result(&skill_md, body, &name)?;
    // Both as written and as parsed: escapes hide nothing.
    refuse_secrets(&skill_md, detect)?;
    for value in front.values() {
        refuse_secrets(value, detect)?;
    }
    let (mut taken, left_out) = partition_files(bundle, path, format, detect);
    let own = front.own.unwrap_or_default();
    let mut scripts = scripts(&taken);
    scripts.retain(|path| !own.contains(path.as_str()));
    let file = BundleFile { bytes: skill_md.into_bytes(), is_executable: false };
    taken.files.insert("SKILL.md".to_owned(), file);
    let done = SkillConversion {
        name,
        format,
        reason,
        fields,
        left_out,
        review,
        suggestion: suggestion(&scripts),
        scripts,
    };
    Ok((taken, done))
}

fn refuse_secrets(text: &str, detect: TextDetector<'_>) -> Result<(), SkillConversionError> {
    match secret(text, detect) {
        None => Ok(()),
        Some(description) => {
            let message = format!("SKILL.md seems to contain a credential: {description}");
            Err(SkillConversionError::new(message, "remove it from the source first"))
        }
    }
}

/// Returns the front matter, and the oddities found while reading it.
fn read(text: &str) -> Result<(SkillFrontMatter<'_>, Vec<String>), SkillConversionError> {
    let mut warnings = Vec::new();
    let read = load::front_matter(text, &mut warnings).or_else(|broken| {
        warnings.clear();
        load::as_reference(text).ok_or(broken)
    });
    let read =
        read.map_err(|broken| SkillConversionError::new(broken.message, broken.help.unwrap_or_default()))?;
    let odd = |finding: &&SkillFinding| matches!(finding.code, "YAML" | "DUPLICATE" | "ALIAS");
    let source = SourceText::new("SKILL.md", text);
    let noted = warnings.iter().filter(odd).map(|finding| {
        let line = source.line_column(finding.span.start).line;
        format!("line {line} of the front matter: {}", finding.message)
    });
    let noted = noted.collect();
    Ok((read, noted))
}

fn resolved_name(
    options: &ConversionOptions<'_>,
    front: &FrontMatterFields,
) -> Result<String, SkillConversionError> {
    let declared_name =
        options.name.unwrap_or(if front.name.is_empty() { options.folder } else { &front.name });
    standard_name(declared_name)
}

fn name_fate(options: &ConversionOptions<'_>, front: &FrontMatterFields, name: &str) -> ConvertedField {
    let (fate, reason) = if options.name.is_some() && front.name != name {
        (FieldOutcome::Translated, format!("`{name}`, as requested"))
    } else if front.name.is_empty() {
        (FieldOutcome::Translated, format!("missing: `{name}`, from its folder"))
    } else if front.name == name {
        (FieldOutcome::Kept, String::new())
    } else {
        (FieldOutcome::Translated, format!("`{name}`, normalized"))
    };
    ConvertedField { field: "name".to_owned(), fate, reason }
}

/// Returns an error unless every reader accepts the result, with the Markdown unchanged.
fn check_result(skill_md: &str, body: &str, name: &str) -> Result<(), SkillConversionError> {
    let wrong = |finding: &SkillFinding| {
        let message = format!("cannot be converted to a standard skill: {}", finding.message);
        SkillConversionError::new(message, "fix that in the source first")
    };
    let skill = load(skill_md, name).map_err(|skill_findings| {
        skill_findings
            .first()
            .map_or_else(|| SkillConversionError::new("cannot load the skill", "check its SKILL.md"), &wrong)
    })?;
    let findings = reference(skill_md, name);
    if let Some(finding) = skill.warnings.first().or(findings.first()) {
        return Err(wrong(finding));
    }
    if skill_md.get(skill.body.range()) != Some(body) {
        return Err(SkillConversionError::new(
            "its Markdown would be altered",
            "put each `---` of the front matter on its own line",
        ));
    }
    Ok(())
}
