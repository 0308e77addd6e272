//! Skills as plans use them: found in the workspace, read, and put into the steps that run their
//! scripts.

use super::ast::{Allow, Plan, SkillArgs, SkillOwn, SkillUse, Step};
use super::decode::{Decode, Decoder, Mistakes};
use super::files::{Files, Unreadable};
use super::yaml;
use crate::diag::{Code, Diagnostic, nearest};
use crate::name::SkillName;
use crate::skill::{self, SHELVES, Skill};
use crate::source::{Source, Span, Spanned};

/// The file that makes a folder a skill.
pub const SKILL_FILE: &str = "SKILL.md";

/// A skill that a plan uses.
#[derive(Clone, Debug)]
pub struct LoadedSkill {
    /// Its name, which is that of its folder.
    pub name: SkillName,
    /// Its folder, relative to the workspace.
    pub folder: String,
    /// What it says of itself.
    pub skill: Skill,
    /// What it says to wf.
    pub own: SkillOwn,
    /// The files of its folder `scripts`; none where that cannot be looked at.
    pub scripts: Vec<String>,
}

impl LoadedSkill {
    /// Whether a script is known not to be there.
    pub fn lacks(&self, script: &str) -> bool {
        let name = script.strip_prefix("scripts/");
        let name = name.filter(|name| !name.contains('/') && !self.scripts.is_empty());
        name.is_some_and(|name| self.scripts.iter().all(|known| known != name))
    }

    /// The path of a script that a step means, in the folder; `None`: it does not say which.
    pub fn script(&self, used: &SkillUse) -> Option<String> {
        let said = used.script.as_ref().map(|script| script.value.as_str());
        match self.own.script(said) {
            Some((path, _)) => Some(path.value.clone()),
            None => said.map(str::to_owned),
        }
    }
}

/// Where a skill of the workspace lies, and its SKILL.md.
pub fn find(files: &dyn Files, name: &SkillName) -> Option<(String, Result<Vec<u8>, Unreadable>)> {
    SHELVES.iter().find_map(|place| {
        let folder = format!("{place}/{name}");
        match files.read(&format!("{folder}/{SKILL_FILE}")) {
            Err(Unreadable::Missing) => None,
            read => Some((folder, read)),
        }
    })
}

/// Reads a skill's SKILL.md, with all that is wrong with it; `None`: it cannot be used.
pub fn read(source: &Source, name: &SkillName) -> (Option<(Skill, SkillOwn)>, Vec<Diagnostic>) {
    match skill::load(source.text(), name.as_str()) {
        Err(findings) => {
            let told = findings.iter().map(|finding| finding.diagnostic(false));
            (None, told.collect())
        }
        Ok(skill) => {
            let warnings = skill.warnings.iter();
            let mut all: Vec<Diagnostic> = warnings.map(|it| it.diagnostic(true)).collect();
            let (own, wrong) = own(source.text(), skill.own);
            all.extend(wrong);
            (own.map(|own| (skill, own)), all)
        }
    }
}

/// What a skill says to wf, with all that is wrong with it.
pub fn own(text: &str, at: Option<Span>) -> (Option<SkillOwn>, Vec<Diagnostic>) {
    let Some(at) = at else {
        return (Some(SkillOwn::none()), Vec::new());
    };
    let mut mistakes = Mistakes::default();
    let tree = yaml::read(text, at, &mut mistakes);
    let mut decoder = Decoder::new(text, mistakes);
    let own = tree.and_then(|tree| match tree.value {
        yaml::Yaml::Null => Some(SkillOwn::none()),
        _ => SkillOwn::decode(&tree, &mut decoder),
    });
    (own, decoder.into_mistakes().into_diagnostics())
}

/// The mistake of naming a skill that the workspace does not have.
pub(super) fn no_skill(named: &Spanned<SkillName>, files: &dyn Files) -> Diagnostic {
    let name = &named.value;
    let message = format!("the workspace has no skill `{name}`");
    let mistake = Diagnostic::new(Code::UnknownSkill, named.span, message);
    let known: Vec<String> = SHELVES
        .iter()
        .flat_map(|place| files.names(place))
        .collect();
    match nearest(name.as_str(), known.iter().map(String::as_str)) {
        Some(near) if near != name.as_str() => mistake.meant(Some(near)),
        _ => mistake.help("`wf skill install` puts one into skills/; `wf skill list` lists them"),
    }
}

/// The skills that a plan names, each once, where it is named first.
pub(super) fn named(plan: &Plan) -> Vec<Spanned<SkillName>> {
    let listed = plan.skills.iter().flatten();
    let ways = plan.all_steps().flat_map(Step::all_ways);
    let used = ways.filter_map(|step| Some(&step.skill.as_ref()?.value.name));
    let mut all: Vec<Spanned<SkillName>> = Vec::new();
    for name in listed.chain(used) {
        if all.iter().all(|known| known.value != name.value) {
            all.push(name.clone());
        }
    }
    all
}

/// Puts what skills say of their scripts into the steps that run them: what they may reach, use
/// and take, and what they give.
pub(super) fn complete<'s>(plan: &mut Plan, find: impl Fn(&SkillName) -> Option<&'s LoadedSkill>) {
    let main = plan.steps.iter_mut().flatten();
    for step in main.chain(&mut plan.finally) {
        complete_step(step, &find);
        if step.ways.is_empty() {
            continue;
        }
        // What a step gives is the same in each of its ways.
        let outputs = step.outputs.clone();
        for way in &mut step.ways {
            complete_step(way, &find);
            way.outputs = outputs.clone();
        }
    }
}

fn complete_step<'s>(step: &mut Step, find: &impl Fn(&SkillName) -> Option<&'s LoadedSkill>) {
    let Some(used) = step.skill.as_deref() else {
        return;
    };
    let at = used.span;
    let Some(skill) = find(&used.value.name.value) else {
        return;
    };
    let said = used
        .value
        .script
        .as_ref()
        .map(|script| script.value.as_str());
    let declared = skill.own.script(said).map(|(_, script)| script);
    let most = declared.and_then(|script| script.allow.as_ref());
    let most = most.map_or_else(Allow::nothing, |allow| allow.moved(at));
    match step.allow.as_deref_mut() {
        None => step.allow = Some(Box::new(most)),
        // Saying nothing of programs asks for no more than the skill does.
        Some(allow) if allow.exec.is_none() => allow.exec = most.exec,
        Some(_) => {}
    }
    let Some(script) = declared else { return };
    if let (None, Some(limits)) = (&step.limits, &script.limits) {
        step.limits = Some(Box::new(limits.moved(at)));
    }
    if let (None, Some(timeout)) = (&step.timeout, &script.timeout) {
        step.timeout = Some(Box::new(Spanned::new(timeout.value, at)));
    }
    for (name, output) in script.outputs.iter() {
        if step.outputs.iter().all(|(own, _)| own.value != name.value) {
            let name = Spanned::new(name.value.clone(), at);
            step.outputs.0.push((name, output.clone()));
        }
    }
}

impl SkillArgs {
    /// The value that is given under a name.
    pub fn named(&self, name: &str) -> Option<&crate::expr::Template> {
        match self {
            Self::Named(entries) => {
                let mut entries = entries.iter();
                let found = entries.find(|(known, _)| known.value.as_str() == name);
                found.map(|(_, value)| &value.value.0)
            }
            Self::Words(_) => None,
        }
    }

    /// All that is given.
    pub fn templates(&self) -> Vec<&crate::expr::Template> {
        match self {
            Self::Named(entries) => entries.iter().map(|(_, value)| &value.value.0).collect(),
            Self::Words(words) => words.iter().map(|word| &word.value).collect(),
        }
    }
}
