use crate::diag::Code;
use crate::expr::{Ref, SpannedRef, Template};
use crate::source::{Source, Span, Spanned};
use crate::spec::ast::{Check, Plan, Step};
use crate::spec::part;

/// Programs that execute text they are given as an argument.
const INTERPRETERS: [&str; 16] = [
    "sh", "bash", "dash", "zsh", "ksh", "fish", "python", "python3", "perl", "ruby", "node", "php",
    "lua", "ssh", "su", "eval",
];

/// A place in which a value could do harm.
pub(super) struct Site {
    /// What is read there.
    pub(super) name: Ref,
    /// Where that is written.
    pub(super) span: Span,
    /// Which rule it would break.
    pub(super) code: Code,
    /// The place in words.
    pub(super) place: String,
}

/// All such places of a step, but for the plan that it uses.
pub(super) fn of_step(step: &Step, plan: &Plan, source: &Source) -> Vec<Site> {
    let mut sites = Vec::new();
    let id = &step.id.value;
    if let Some(script) = &step.run {
        let place = || format!("the shell of step `{id}`");
        let variables = plan.env.iter().chain(step.env.iter());
        variables.for_each(|(_, value)| add(&mut sites, value, Code::TaintShell, &place));
        named_in(script, plan, source, &place, &mut sites);
    }
    if let Some(argv) = &step.exec {
        let argv: Vec<&Template> = argv.iter().map(|argument| &argument.value).collect();
        let place = || format!("what step `{id}` executes");
        arguments(&argv, &place, &mut sites);
    }
    if let Some(http) = &step.http {
        let place = || format!("the address of step `{id}`");
        add(&mut sites, &http.url.value, Code::TaintUrl, &place);
        let place = || format!("a header of step `{id}`");
        let headers = http.headers.iter();
        headers.for_each(|(_, value)| add(&mut sites, value, Code::TaintUrl, &place));
    }
    let place = || format!("the name of a file in step `{id}`");
    let awaited = step.wait.iter().filter_map(|wait| wait.file.as_ref());
    let kept = step.cache.iter().flat_map(|cache| &cache.outputs);
    let left = step.artifacts.iter().chain(&step.writes);
    let left = left.chain(step.cwd.as_deref());
    for path in awaited.chain(kept).chain(left) {
        add(&mut sites, &path.value, Code::TaintPath, &place);
    }
    for check in step.checks() {
        of_check(check, &mut sites);
    }
    sites
}

/// All such places of a check.
pub(super) fn of_check(check: &Check, sites: &mut Vec<Site>) {
    let name = &check.name.value;
    if check.run.is_some() {
        let place = || format!("the shell of check `{name}`");
        let variables = check.env.iter();
        variables.for_each(|(_, value)| add(sites, value, Code::TaintShell, &place));
    }
    if let Some(argv) = &check.exec {
        let argv: Vec<&Template> = argv.iter().collect();
        let place = || format!("what check `{name}` executes");
        arguments(&argv, &place, sites);
    }
}

/// A place in words, made only where something is read there.
type Words<'w> = &'w dyn Fn() -> String;

fn add(sites: &mut Vec<Site>, template: &Template, code: Code, place: Words<'_>) {
    let sited = |SpannedRef { name, span }: &SpannedRef| Site {
        name: name.clone(),
        span: *span,
        code,
        place: place(),
    };
    sites.extend(template.refs().iter().map(sited));
}

/// The program itself, and text that an interpreter executes.
fn arguments(argv: &[&Template], place: Words<'_>, sites: &mut Vec<Site>) {
    let Some((program, rest)) = argv.split_first() else {
        return;
    };
    add(sites, program, Code::TaintShell, place);
    let name = program.source().rsplit('/').next().unwrap_or("");
    if !INTERPRETERS.contains(&name) {
        return;
    }
    let mut before = "";
    for argument in rest {
        let is_code = matches!(before, "-e" | "--eval" | "-r") || is_command(before);
        if is_code || matches!(name, "ssh" | "eval") {
            add(sites, argument, Code::TaintShell, place);
        }
        before = argument.source();
    }
}

/// `-c`, also among other letters, as in `-euc`.
fn is_command(option: &str) -> bool {
    let letters = option.strip_prefix('-').unwrap_or("");
    letters.ends_with('c') && letters.chars().all(|c| c.is_ascii_lowercase())
}

/// The variables of parameters and items that a script names.
fn named_in(
    script: &Spanned<String>,
    plan: &Plan,
    source: &Source,
    place: Words<'_>,
    sites: &mut Vec<Site>,
) {
    if !script.value.contains("WF_") {
        return;
    }
    let params = plan.params.iter().map(|(name, _)| {
        let variable = format!("WF_PARAM_{}", name.value.as_str().to_uppercase());
        (variable, Ref::Param(name.value.to_string()))
    });
    let items = [("WF_ITEM", Ref::Item), ("WF_ITEM_KEY", Ref::ItemKey)];
    let items = items.map(|(variable, name)| (variable.to_owned(), name));
    for (variable, name) in params.chain(items) {
        let in_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let mut found = script.value.match_indices(&variable);
        let whole = found.find(|(at, _)| {
            let rest = script.value.get(at + variable.len()..).unwrap_or("");
            !rest.starts_with(in_word)
        });
        if let Some((at, _)) = whole {
            sites.push(Site {
                name,
                span: part(source, script, at..at + variable.len()),
                code: Code::TaintShell,
                place: place(),
            });
        }
    }
}
