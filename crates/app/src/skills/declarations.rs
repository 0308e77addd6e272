use wf_base::{
    diag::{Diagnostic, Severity},
    source::Spanned,
};
use wf_lang::{
    ast::{SkillExtension, SkillScript},
    decode::ReadablePath,
};
use wf_skill::{ScriptDeclaration, ScriptDeclarations, Skill};

/// The first mistake in the `wf` metadata of a skill.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`metadata.wf`: {}", .0.message)]
pub struct BadMetadata(Diagnostic);

/// Reads the `wf` metadata of a skill.
pub fn wf_metadata(skill: &Skill, text: &str) -> Result<SkillExtension, BadMetadata> {
    let (extension, wrong) = wf_lang::skill_own(text, skill.own);
    let mut errors = wrong.into_iter();
    match errors.find(|diagnostic| diagnostic.severity() == Severity::Error) {
        Some(first) => Err(BadMetadata(first)),
        None => Ok(extension.unwrap_or_else(SkillExtension::empty)),
    }
}

pub fn script_declaration(extension: &SkillExtension) -> ScriptDeclarations {
    let scripts = extension.scripts.iter();
    let scripts = scripts.map(|(path, script)| (path.value.clone(), self::script(script)));
    ScriptDeclarations { scripts: scripts.collect() }
}

fn script(script: &SkillScript) -> ScriptDeclaration {
    let passed = script.allow.iter().flat_map(|allow| &allow.env);
    let names = script.env.iter().chain(passed);
    let allow = script.allow.as_ref();
    let read = |path: &Spanned<ReadablePath>| path.value.0.clone();
    ScriptDeclaration {
        read: allow.iter().flat_map(|allow| &allow.read).map(read).collect(),
        write: allow.iter().flat_map(|allow| &allow.write).map(|path| path.value.0.clone()).collect(),
        exec: allow.and_then(|allow| allow.exec.as_ref()).map(|exec| exec.iter().map(read).collect()),
        env: names.map(|name| name.value.to_string()).collect(),
        net: script.allow.as_ref().is_some_and(|allow| allow.net),
        is_tried: script.dry_run.is_some(),
    }
}
