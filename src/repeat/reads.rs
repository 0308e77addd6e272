//! Which parameters a step reads. Expressions say it; scripts name variables in their text; what
//! a program of its own reads from its environment, nobody can see.

use crate::expr::{Ref, SpannedRef, Template};
use crate::model::{Check, EnvVar, Fan, Plan, Probe, Step, Wait, Work};
use crate::name::Name;

/// How the names of the variables of parameters begin.
const VARIABLE: &str = "WF_PARAM";

/// The ends of the names of files that are programs.
const PROGRAMS: [&str; 14] = [
    "sh", "bash", "zsh", "fish", "py", "js", "mjs", "ts", "rb", "pl", "php", "lua", "r", "jl",
];

/// What a step reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reading {
    /// Not this.
    No,
    /// Nobody knows.
    Maybe,
    /// This.
    Yes,
}

/// What the texts and expressions of something read.
#[derive(Default)]
pub(super) struct Reads<'a> {
    refs: Vec<&'a SpannedRef>,
    texts: Vec<&'a str>,
}

impl<'a> Reads<'a> {
    /// Of a step; with `list`, also to find out over what it is repeated.
    pub(super) fn of_step(plan: &'a Plan, step: &'a Step, list: bool) -> Self {
        let mut reads = Self::default();
        if let Some(when) = &step.when {
            reads.refs.extend(when.refs());
        }
        if let (Fan::Each(each), true) = (&step.fan, list) {
            reads.refs.extend(each.refs());
        }
        reads.work(&step.work);
        if matches!(step.work, Work::Run(_) | Work::Exec(_) | Work::Skill(_)) {
            reads.variables(&plan.parts().env);
        }
        reads.variables(&step.env);
        let kept = step.cache.iter().flat_map(|cache| &cache.outputs);
        reads.templates(kept);
        reads.templates(step.artifacts.iter().chain(&step.writes));
        reads.templates(&step.cwd);
        reads.checks(&step.verify);
        reads
    }

    /// Of a template.
    pub(super) fn of_template(template: &'a Template) -> Self {
        let mut reads = Self::default();
        reads.templates([template]);
        reads
    }

    /// Whether a parameter is read.
    pub(super) fn reading(&self, param: &Name) -> Reading {
        let read =
            |found: &&SpannedRef| matches!(&found.name, Ref::Param(name) if name == param.as_str());
        if self.refs.iter().any(read) {
            return Reading::Yes;
        }
        let variable = format!("{VARIABLE}_{}", param.as_str().to_uppercase());
        let texts = self.texts.iter().map(|text| in_text(text, &variable));
        texts.max().unwrap_or(Reading::No)
    }

    fn work(&mut self, work: &'a Work) {
        match work {
            Work::Run(script) => self.texts.push(&script.text),
            Work::Exec(words) => self.templates(words),
            Work::Skill(call) => self.templates(call.templates()),
            Work::Http(http) => {
                self.templates([&http.url]);
                self.templates(http.headers.iter().map(|(_, value)| value));
                self.templates(&http.body);
            }
            Work::Uses(uses) => self.templates(uses.with.iter().map(|(_, value)| value)),
            Work::Wait(Wait::File(path)) => self.templates([path]),
            Work::Wait(Wait::For(_) | Wait::Until(_)) => {}
            Work::Approve(approve) => {
                self.templates([&approve.message]);
                self.templates(approve.show.iter().map(|(_, value)| value));
            }
        }
    }

    fn checks(&mut self, checks: &'a [Check]) {
        for check in checks {
            self.variables(&check.env);
            match &check.probe {
                Some(Probe::Run(script)) => self.texts.push(&script.text),
                Some(Probe::Exec(words)) => self.templates(words),
                None => {}
            }
        }
    }

    fn variables(&mut self, env: &'a [EnvVar]) {
        self.templates(env.iter().map(|variable| &variable.value));
    }

    fn templates(&mut self, templates: impl IntoIterator<Item = &'a Template>) {
        for template in templates {
            self.refs.extend(template.refs());
            self.texts.push(template.source());
        }
    }
}

/// Whether a text names a variable, or something that may read it.
fn in_text(text: &str, variable: &str) -> Reading {
    let in_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut reading = Reading::No;
    for (at, _) in text.match_indices(VARIABLE) {
        let rest = text.get(at..).unwrap_or_default();
        let name: String = rest.chars().take_while(|c| in_word(*c)).collect();
        // A name that ends here is put together at run time.
        if name == variable {
            return Reading::Yes;
        } else if name.trim_end_matches('_') == VARIABLE {
            reading = Reading::Maybe;
        }
    }
    let cut = |c: char| c.is_whitespace() || "\"';|&()<>`=,[]".contains(c);
    if text.split(cut).any(is_program) {
        return Reading::Maybe;
    }
    reading
}

/// Whether a word of a script names a file that is a program.
fn is_program(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    match name.rsplit_once('.') {
        Some((stem, end)) => !stem.is_empty() && PROGRAMS.contains(&end.to_lowercase().as_str()),
        None => !name.is_empty() && (word.starts_with("./") || word.starts_with("../")),
    }
}

#[cfg(test)]
mod tests {
    use super::{Reading, in_text};

    #[test]
    fn scripts_name_what_they_read() {
        for (text, reading) in [
            ("echo $WF_PARAM_DAY", Reading::Yes),
            ("echo \"${WF_PARAM_DAY}\"", Reading::Yes),
            ("echo $WF_PARAM_DAYS", Reading::No),
            ("echo $WF_PARAM_OTHER > out/x.txt", Reading::No),
            ("env | grep ^WF_PARAM_", Reading::Maybe),
            ("env | grep WF_PARAM", Reading::Maybe),
            ("sh scripts/build.sh", Reading::Maybe),
            ("./configure && cat ./x.txt", Reading::Maybe),
            ("cat ./x.txt ../data/y.csv a/b", Reading::No),
            ("python3 -c 'print(1)'", Reading::No),
            (".py", Reading::No),
            ("", Reading::No),
        ] {
            assert_eq!(in_text(text, "WF_PARAM_DAY"), reading, "{text}");
        }
    }
}
