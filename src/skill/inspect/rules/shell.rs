use std::collections::BTreeSet;

use super::danger::{danger, files};
use super::look::Look;
use super::network::reaches;
use super::program::programs;
use super::run::{piped, runs};
use crate::skill::inspect::Rule;
use crate::skill::inspect::shell::{Shell, Var, read};

/// Looks at a shell script. `base` is where it stands in its file; `outer` are the variables that
/// whatever executes it sets.
pub(in crate::skill::inspect) fn shell(
    look: &mut Look<'_>,
    (text, base): (&str, usize),
    outer: &BTreeSet<String>,
) {
    let script = read(text, base);
    if script.too_deep {
        look.find(
            Rule::TooNested,
            base,
            "it is nested too deeply to be checked",
        );
    }
    let mut set = names(&script);
    set.extend(outer.iter().cloned());
    let ends_unset = ends_unset(&script);
    for pipeline in &script.pipelines {
        for command in pipeline {
            files(look, command);
            let all = programs(command);
            for program in &all {
                let has_unset =
                    !ends_unset && unset(program.args.iter().flat_map(|arg| &arg.vars), &set);
                danger(look, program, has_unset);
                if let Some(what) = reaches(program) {
                    look.net(&what, program.at);
                }
            }
            runs(look, command, &all, &set);
        }
        piped(look, pipeline);
    }
    for var in uses(&script) {
        let is_name = var
            .name
            .starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if is_name && !set.contains(&var.name) {
            look.reads(&var.name, var.at);
        }
    }
}

/// The variables that a shell script sets.
pub(in crate::skill::inspect) fn assigned(text: &str) -> BTreeSet<String> {
    names(&read(text, 0))
}

/// Whether one of the variables may be unset: the script does not set it.
fn unset<'a>(mut vars: impl Iterator<Item = &'a Var>, set: &BTreeSet<String>) -> bool {
    vars.any(|var| !set.contains(&var.name))
}

/// Every use of a variable.
fn uses(script: &Shell) -> Vec<&Var> {
    let mut found: Vec<&Var> = script.vars.iter().collect();
    for command in script.pipelines.iter().flatten() {
        let values = command.sets.iter().map(|(_, value)| value);
        let words = command
            .words
            .iter()
            .chain(&command.writes)
            .chain(&command.reads);
        found.extend(words.chain(values).flat_map(|word| &word.vars));
    }
    found
}

/// Whether the script ends where it uses a variable that is not set.
fn ends_unset(script: &Shell) -> bool {
    script.pipelines.iter().flatten().any(|command| {
        let words: Vec<&str> = command
            .words
            .iter()
            .map(|word| word.text.as_str())
            .collect();
        match words.as_slice() {
            ["set", options @ ..] => options.iter().any(|option| {
                *option == "nounset"
                    || option.starts_with('-') && !option.starts_with("--") && option.contains('u')
            }),
            _ => false,
        }
    })
}

fn names(script: &Shell) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for command in script.pipelines.iter().flatten() {
        found.extend(command.sets.iter().map(|(name, _)| name.clone()));
        let mut words = command.words.iter().map(|word| word.text.as_str());
        let first = words.next().unwrap_or_default();
        let is_name = |word: &&&str| !word.starts_with('-') && !word.contains('\0');
        let rest: Vec<&str> = words.collect();
        match first {
            "export" | "local" | "readonly" | "declare" | "typeset" => {
                let is_local = first != "export" && first != "readonly";
                let named = rest.iter().filter(|word| is_local || word.contains('='));
                let bare = named.filter(is_name).map(|word| {
                    word.split(['=', '[', '+'])
                        .next()
                        .unwrap_or_default()
                        .to_owned()
                });
                found.extend(bare);
            }
            "read" | "mapfile" | "readarray" | "let" => {
                found.extend(
                    rest.iter()
                        .filter(is_name)
                        .map(|word| word.split('=').next().unwrap_or_default().to_owned()),
                );
            }
            "getopts" => found.extend(rest.get(1).map(|word| (*word).to_owned())),
            "for" | "select" => found.extend(rest.first().map(|word| (*word).to_owned())),
            "printf" if rest.first() == Some(&"-v") => {
                found.extend(rest.get(1).map(|word| (*word).to_owned()));
            }
            _ => {}
        }
    }
    found.extend(
        uses(script)
            .into_iter()
            .filter(|var| var.sets)
            .map(|var| var.name.clone()),
    );
    found
}
