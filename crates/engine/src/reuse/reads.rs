//! The parameters a step reads. Expressions declare them; scripts name variables in their text; the environment reads
//! of a separate program are unknown.

use wf_base::name::Name;
use wf_model::{
    Check, CheckProbe, EnvVar, Plan, Step, StepRepetition, StepWork,
    expr::{ExprReference, SpannedReference, Template},
};

/// The prefix of the variables of parameters.
const VARIABLE: &str = "WF_PARAM";

/// The file extensions of programs.
const PROGRAMS: [&str; 14] =
    ["sh", "bash", "zsh", "fish", "py", "js", "mjs", "ts", "rb", "pl", "php", "lua", "r", "jl"];

/// The answer to whether a parameter is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ParamReadAnswer {
    /// Not read.
    No,
    /// Unknown.
    Maybe,
    Yes,
}

/// The texts and expressions with possible reads of parameters.
#[derive(Default)]
pub(super) struct ParamReaders<'a> {
    references: Vec<&'a SpannedReference>,
    texts: Vec<&'a str>,
}

impl<'a> ParamReaders<'a> {
    /// Collects those of a step; with `list`, also those of the list it is repeated over.
    pub(super) fn of_step(plan: &'a Plan, step: &'a Step, list: bool) -> Self {
        let mut reads = Self::default();
        if let Some(when) = &step.when {
            reads.references.extend(when.refs());
        }
        if let (StepRepetition::Each(each), true) = (&step.fan, list) {
            reads.references.extend(each.refs());
        }
        if let StepWork::Run(script) = &step.work {
            reads.texts.push(&script.text);
        }
        if let StepWork::Agent(agent) = &step.work {
            reads.texts.push(&agent.briefing);
        }
        reads.templates(step.work.templates());
        if matches!(step.work, StepWork::Run(_) | StepWork::Exec(_) | StepWork::Skill(_) | StepWork::Agent(_))
        {
            reads.variables(&plan.parts().env);
        }
        reads.variables(&step.env);
        let outputs = step.cache.iter().flat_map(|cache| &cache.outputs);
        reads.templates(outputs);
        reads.templates(step.artifacts.iter().chain(&step.writes));
        reads.templates(&step.cwd);
        reads.checks(&step.verify);
        reads
    }

    /// Collects those of a template.
    pub(super) fn of_template(template: &'a Template) -> Self {
        let mut reads = Self::default();
        reads.templates([template]);
        reads
    }

    /// Returns whether a parameter is read.
    pub(super) fn reading(&self, param: &Name) -> ParamReadAnswer {
        let read = |reference: &&SpannedReference| matches!(&reference.name, ExprReference::Param(name) if name == param.as_str());
        if self.references.iter().any(read) {
            return ParamReadAnswer::Yes;
        }
        let variable = format!("{VARIABLE}_{}", param.as_str().to_uppercase());
        let texts = self.texts.iter().map(|text| in_text(text, &variable));
        texts.max().unwrap_or(ParamReadAnswer::No)
    }

    fn checks(&mut self, checks: &'a [Check]) {
        for check in checks {
            self.variables(&check.env);
            match &check.probe {
                Some(CheckProbe::Run(script)) => self.texts.push(&script.text),
                Some(CheckProbe::Exec(words)) => self.templates(words),
                None => {}
            }
        }
    }

    fn variables(&mut self, env: &'a [EnvVar]) {
        self.templates(env.iter().map(|variable| &variable.value));
    }

    fn templates(&mut self, templates: impl IntoIterator<Item = &'a Template>) {
        for template in templates {
            self.references.extend(template.refs());
            self.texts.push(template.source());
        }
    }
}

/// Returns whether a text names a variable, or something that may read it.
fn in_text(text: &str, variable: &str) -> ParamReadAnswer {
    let in_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut reading = ParamReadAnswer::No;
    for (at, _) in text.match_indices(VARIABLE) {
        let rest = text.get(at..).unwrap_or_default();
        let name: String = rest.chars().take_while(|c| in_word(*c)).collect();
        // A name that ends here is put together at run time.
        if name == variable {
            return ParamReadAnswer::Yes;
        } else if name.trim_end_matches('_') == VARIABLE {
            reading = ParamReadAnswer::Maybe;
        }
    }
    let cut = |c: char| c.is_whitespace() || "\"';|&()<>`=,[]".contains(c);
    if text.split(cut).any(is_program) {
        return ParamReadAnswer::Maybe;
    }
    reading
}

/// True if a word of a script names a program file.
fn is_program(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    match name.rsplit_once('.') {
        Some((stem, end)) => !stem.is_empty() && PROGRAMS.contains(&end.to_lowercase().as_str()),
        None => !name.is_empty() && (word.starts_with("./") || word.starts_with("../")),
    }
}

#[cfg(test)]
mod tests {
    use super::{ParamReadAnswer, in_text};

    #[test]
    fn scripts_name_what_they_read() {
        for (text, reading) in [
            ("echo $WF_PARAM_DAY", ParamReadAnswer::Yes),
            ("echo \"${WF_PARAM_DAY}\"", ParamReadAnswer::Yes),
            ("echo $WF_PARAM_DAYS", ParamReadAnswer::No),
            ("echo $WF_PARAM_OTHER > out/x.txt", ParamReadAnswer::No),
            ("env | grep ^WF_PARAM_", ParamReadAnswer::Maybe),
            ("env | grep WF_PARAM", ParamReadAnswer::Maybe),
            ("sh scripts/build.sh", ParamReadAnswer::Maybe),
            ("./configure && cat ./x.txt", ParamReadAnswer::Maybe),
            ("cat ./x.txt ../data/y.csv a/b", ParamReadAnswer::No),
            ("python3 -c 'print(1)'", ParamReadAnswer::No),
            (".py", ParamReadAnswer::No),
            ("", ParamReadAnswer::No),
        ] {
            assert_eq!(in_text(text, "WF_PARAM_DAY"), reading, "{text}");
        }
    }
}
