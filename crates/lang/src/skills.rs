//! Skills as plans use them: found in the workspace, read, and merged into the steps running their
//! scripts.

use super::{
    ast::{AllowSpec, PlanSpec, SkillArgs, SkillExtension, SkillUse, StepSpec},
    decode::{DecodeSpec, DiagnosticList, SpecDecoder},
    files::{FileReadError, SpecFileSource},
    yaml,
};
use wf_base::{
    diag::{Code, Diagnostic, nearest},
    name::SkillName,
    source::{SourceText, Span, Spanned},
};
use wf_skill::{self as skill, SHELVES, Skill};

/// The file name making a folder a skill.
pub const SKILL_FILE: &str = "SKILL.md";

/// A skill a plan uses.
#[derive(Clone, Debug)]
pub struct LoadedSkill {
    /// Its name, that of its folder.
    pub name: SkillName,
    /// Its folder, relative to the workspace.
    pub folder: String,
    /// The declaration of the skill.
    pub skill: Skill,
    /// Its data for wf.
    pub extension: SkillExtension,
    /// The files of its folder `scripts`; none if that cannot be read.
    pub scripts: Vec<String>,
}

impl LoadedSkill {
    /// True if a script is known to be missing.
    pub fn lacks(&self, script: &str) -> bool {
        let name = script.strip_prefix("scripts/");
        let name = name.filter(|name| !name.contains('/') && !self.scripts.is_empty());
        name.is_some_and(|name| self.scripts.iter().all(|own_script| own_script != name))
    }

    /// Returns the path of a script a step means, in the folder; `None` if it is ambiguous.
    pub fn script(&self, skill_use: &SkillUse) -> Option<String> {
        let script_name = skill_use.script.as_ref().map(|script| script.value.as_str());
        match self.extension.script(script_name) {
            Some((path, _)) => Some(path.value.clone()),
            None => script_name.map(str::to_owned),
        }
    }
}

/// Finds the folder of a skill in the workspace, and its SKILL.md.
pub fn find(
    files: &dyn SpecFileSource,
    name: &SkillName,
) -> Option<(String, Result<Vec<u8>, FileReadError>)> {
    SHELVES.iter().find_map(|place| {
        let folder = format!("{place}/{name}");
        match files.read(&format!("{folder}/{SKILL_FILE}")) {
            Err(FileReadError::Missing) => None,
            read => Some((folder, read)),
        }
    })
}

/// Reads a skill's SKILL.md and its mistakes; `None` if it cannot be used.
pub fn read(source: &SourceText, name: &SkillName) -> (Option<(Skill, SkillExtension)>, Vec<Diagnostic>) {
    match skill::load(source.text(), name.as_str()) {
        Err(findings) => {
            let diagnostics = findings.iter().map(|finding| finding.diagnostic(false));
            (None, diagnostics.collect())
        }
        Ok(skill) => {
            let warnings = skill.warnings.iter();
            let mut diagnostics: Vec<Diagnostic> =
                warnings.map(|skill_finding| skill_finding.diagnostic(true)).collect();
            let (own, wrong) = own(source.text(), skill.own);
            diagnostics.extend(wrong);
            (own.map(|own| (skill, own)), diagnostics)
        }
    }
}

/// Reads a skill's data for wf and the mistakes in it.
pub fn own(text: &str, at: Option<Span>) -> (Option<SkillExtension>, Vec<Diagnostic>) {
    let Some(at) = at else {
        return (Some(SkillExtension::empty()), Vec::new());
    };
    let mut mistakes = DiagnosticList::default();
    let tree = yaml::read_yaml(text, at, &mut mistakes);
    let mut decoder = SpecDecoder::new(text, mistakes);
    let own = tree.and_then(|tree| match tree.value {
        yaml::YamlValue::Null => Some(SkillExtension::empty()),
        _ => SkillExtension::decode(&tree, &mut decoder),
    });
    (own, decoder.into_mistakes().into_diagnostics())
}

/// Returns the mistake of naming a skill the workspace does not have.
pub(super) fn no_skill(named: &Spanned<SkillName>, files: &dyn SpecFileSource) -> Diagnostic {
    let name = &named.value;
    let message = format!("skill `{name}` not found in the workspace");
    let mistake = Diagnostic::new(Code::UnknownSkill, named.span, message);
    let names: Vec<String> = SHELVES.iter().flat_map(|place| files.names(place)).collect();
    match nearest(name.as_str(), names.iter().map(String::as_str)) {
        Some(near) if near != name.as_str() => mistake.with_suggestion(Some(near)),
        _ => mistake.with_help(
            "install it into skills/ with `wf skill install`; list the skills with \
                           `wf skill list`",
        ),
    }
}

/// Returns the skills a plan names, each once, where it is first named.
pub(super) fn named(plan: &PlanSpec) -> Vec<Spanned<SkillName>> {
    let listed = plan.skills.iter().flatten();
    let ways = plan.all_steps().flat_map(StepSpec::with_all_alternatives);
    let used = ways.flat_map(StepSpec::named_skills);
    let mut names: Vec<Spanned<SkillName>> = Vec::new();
    for name in listed.chain(used) {
        if names.iter().all(|listed_name| listed_name.value != name.value) {
            names.push(name.clone());
        }
    }
    names
}

/// Merges the declarations of skills' scripts into the steps running them: permissions, limits and
/// arguments, and outputs.
pub(super) fn complete<'s>(plan: &mut PlanSpec, find: impl Fn(&SkillName) -> Option<&'s LoadedSkill>) {
    let main = plan.steps.iter_mut().flatten();
    for step in main.chain(&mut plan.finally) {
        complete_step(step, &find);
        if step.ways.is_empty() {
            continue;
        }
        // The outputs of a step are the same in each of its alternatives.
        let outputs = step.outputs.clone();
        for way in &mut step.ways {
            complete_step(way, &find);
            way.outputs = outputs.clone();
        }
    }
}

fn complete_step<'s>(step: &mut StepSpec, find: &impl Fn(&SkillName) -> Option<&'s LoadedSkill>) {
    let Some(used) = step.skill.as_deref() else {
        return;
    };
    let at = used.span;
    let Some(skill) = find(&used.value.name.value) else {
        return;
    };
    let script_name = used.value.script.as_ref().map(|script| script.value.as_str());
    let declared = skill.extension.script(script_name).map(|(_, script)| script);
    let most = declared.and_then(|script| script.allow.as_ref());
    let most = most.map_or_else(AllowSpec::workspace_only, |allow| allow.moved(at));
    match step.allow.as_deref_mut() {
        None => step.allow = Some(Box::new(most)),
        // Without a list of programs, the step asks for no more than the skill does.
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
            let mut output = output.clone();
            output.default.iter_mut().for_each(|default| default.span = at);
            step.outputs.0.push((name, output));
        }
    }
}

impl SkillArgs {
    /// Returns the argument of a name.
    pub fn named(&self, name: &str) -> Option<&wf_model::expr::Template> {
        match self {
            Self::Named(entries) => {
                let mut entries = entries.iter();
                let entry = entries.find(|(arg, _)| arg.value.as_str() == name);
                entry.map(|(_, value)| &value.value.0)
            }
            Self::Words(_) => None,
        }
    }

    /// Returns all arguments.
    pub fn templates(&self) -> Vec<&wf_model::expr::Template> {
        match self {
            Self::Named(entries) => entries.iter().map(|(_, value)| &value.value.0).collect(),
            Self::Words(words) => words.iter().map(|word| &word.value).collect(),
        }
    }
}
