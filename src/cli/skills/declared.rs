use crate::diag::Severity;
use crate::skill::{Declared, DeclaredScript, Skill};
use crate::source::Spanned;
use crate::spec;
use crate::spec::ast::{SkillOwn, SkillScript};
use crate::spec::decode::ReadPath;

/// What a skill says to wf; or why that cannot be read, in one sentence.
pub(super) fn own(skill: &Skill, text: &str) -> Result<SkillOwn, String> {
    let (own, wrong) = spec::skill_own(text, skill.own);
    let mut errors = wrong.into_iter();
    match errors.find(|one| one.severity() == Severity::Error) {
        Some(first) => Err(format!("`metadata.wf`: {}", first.message)),
        None => Ok(own.unwrap_or_else(SkillOwn::none)),
    }
}

/// What it declares of its scripts.
pub(super) fn declared(own: &SkillOwn) -> Declared {
    let scripts = own.scripts.iter();
    let scripts = scripts.map(|(path, script)| (path.value.clone(), self::script(script)));
    Declared {
        scripts: scripts.collect(),
    }
}

fn script(said: &SkillScript) -> DeclaredScript {
    let passed = said.allow.iter().flat_map(|allow| &allow.env);
    let names = said.env.iter().chain(passed);
    let allow = said.allow.as_ref();
    let read = |path: &Spanned<ReadPath>| path.value.0.clone();
    DeclaredScript {
        read: allow
            .iter()
            .flat_map(|allow| &allow.read)
            .map(read)
            .collect(),
        write: allow
            .iter()
            .flat_map(|allow| &allow.write)
            .map(|path| path.value.0.clone())
            .collect(),
        exec: allow
            .and_then(|allow| allow.exec.as_ref())
            .map(|exec| exec.iter().map(read).collect()),
        env: names.map(|name| name.value.to_string()).collect(),
        net: said.allow.as_ref().is_some_and(|allow| allow.net),
        is_tried: said.dry_run.is_some(),
    }
}
