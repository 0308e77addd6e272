use std::collections::BTreeSet;

use super::{
    danger::{danger, files},
    lists::network_use,
    look::FileInspection,
    program::programs,
    run::{piped, runs},
    values::ScriptValues,
};
use crate::inspect::{
    Rule,
    shell::{DECLARING, ParsedShellScript, UNKNOWN, VariableUse, read_script},
};

/// Checks a shell script. `base` is its offset in its file; `outer` are the variables set by the
/// program executing it.
pub(in crate::inspect) fn shell(
    inspection: &mut FileInspection<'_>,
    text: &str,
    base: usize,
    outer: &BTreeSet<String>,
) {
    let script = read_script(text, base);
    if script.too_deep {
        inspection.report(Rule::TooNested, base, "it is nested too deeply to check");
    }
    let mut set = names(&script);
    set.extend(outer.iter().cloned());
    let ends_unset = ends_unset(&script);
    let values = ScriptValues::from_script(&script);
    for pipeline in &script.pipelines {
        for command in &pipeline.commands {
            files(inspection, command);
            let meant = values.expansions(command);
            for command in &meant.commands {
                let executed_programs = programs(command);
                for program in &executed_programs {
                    let has_unset =
                        !ends_unset && unset(program.args.iter().flat_map(|arg| &arg.variables), &set);
                    danger(inspection, program, has_unset);
                    if let Some(tool) = network_use(program) {
                        inspection.net(&tool, program.at);
                    }
                }
                runs(inspection, command, &executed_programs, &set);
            }
            if let Some((at, is_argument)) = meant.unknown {
                unknown(inspection, at, is_argument);
            }
        }
        piped(inspection, pipeline);
    }
    for var in uses(&script) {
        let is_name = var.name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if is_name && !set.contains(&var.name) {
            inspection.reads(&var.name, var.at);
        }
    }
}

/// Checks a program whose name is known only at run time.
fn unknown(inspection: &mut FileInspection<'_>, at: usize, is_argument: bool) {
    let reason = if is_argument {
        "it executes its arguments"
    } else {
        "the executed program is only known at run time"
    };
    inspection.report(Rule::ArgumentRun, at, reason);
}

/// Returns the names of the files a shell script sources.
pub(in crate::inspect) fn loaded(text: &str) -> BTreeSet<String> {
    let script = read_script(text, 0);
    let loads = script.commands().filter_map(|command| {
        let [program, file, ..] = command.words.as_slice() else {
            return None;
        };
        matches!(program.text.as_str(), "." | "source").then_some(&file.text)
    });
    let names = loads.filter_map(|path| path.rsplit(['/', UNKNOWN]).next());
    names.map(str::to_owned).collect()
}

/// Returns the variables a shell script sets.
pub(in crate::inspect) fn assigned(text: &str) -> BTreeSet<String> {
    names(&read_script(text, 0))
}

/// True if one of the variables may be unset: the script does not set it.
fn unset<'a>(mut vars: impl Iterator<Item = &'a VariableUse>, set: &BTreeSet<String>) -> bool {
    vars.any(|var| !set.contains(&var.name))
}

/// Returns every use of a variable.
fn uses(script: &ParsedShellScript) -> Vec<&VariableUse> {
    let mut variables: Vec<&VariableUse> = script.variables.iter().collect();
    for command in script.commands() {
        let values = command.sets.iter().map(|(_, value)| value);
        let words = command.words.iter().chain(&command.writes).chain(&command.reads);
        variables.extend(words.chain(values).flat_map(|word| &word.variables));
    }
    variables
}

/// True if the script exits when it uses an unset variable.
fn ends_unset(script: &ParsedShellScript) -> bool {
    script.commands().any(|command| {
        let words: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
        match words.as_slice() {
            ["set", options @ ..] => options.iter().any(|option| {
                *option == "nounset"
                    || option.starts_with('-') && !option.starts_with("--") && option.contains('u')
            }),
            _ => false,
        }
    })
}

fn names(script: &ParsedShellScript) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for command in script.commands() {
        names.extend(command.sets.iter().map(|(name, _)| name.clone()));
        let mut words = command.words.iter().map(|word| word.text.as_str());
        let first = words.next().unwrap_or_default();
        let is_name = |word: &&&str| !word.starts_with('-') && !word.contains('\0');
        let rest: Vec<&str> = words.collect();
        match first {
            // Names with a value are already among the assignments.
            "export" | "readonly" => {}
            _ if DECLARING.contains(&first) => {
                names.extend(rest.iter().filter(is_name).map(|name| (*name).to_owned()));
            }
            "read" | "mapfile" | "readarray" | "let" => {
                names.extend(
                    rest.iter()
                        .filter(is_name)
                        .map(|word| word.split('=').next().unwrap_or_default().to_owned()),
                );
            }
            "getopts" => names.extend(rest.get(1).map(|word| (*word).to_owned())),
            "for" | "select" => names.extend(rest.first().map(|word| (*word).to_owned())),
            "printf" if rest.first() == Some(&"-v") => {
                names.extend(rest.get(1).map(|word| (*word).to_owned()));
            }
            _ => {}
        }
    }
    names.extend(uses(script).into_iter().filter(|var| var.sets).map(|var| var.name.clone()));
    names
}
