use std::collections::BTreeSet;

use super::{
    lists::fetches,
    look::FileInspection,
    program::{ExecutedProgram, SHELLS, programs},
    python::python,
    shell::shell,
};
use crate::inspect::{
    Rule,
    shell::{CommandWord, ShellCommand, ShellPipeline, UNKNOWN},
    tables::ProgramTable,
};

/// Programs printing a decoded text.
static DECODERS: ProgramTable = ProgramTable::from_table(include_str!("../tables/programs/decoders.txt"));

/// Checks programs that execute a text: shells, `eval`, other languages.
pub(super) fn runs(
    inspection: &mut FileInspection<'_>,
    command: &ShellCommand,
    programs: &[ExecutedProgram<'_>],
    set: &BTreeSet<String>,
) {
    for program in programs {
        match program.name {
            "eval" => evaluates(inspection, program, set),
            "source" | "." => sources(inspection, program),
            "trap" => {
                if let [code, _, ..] = program.args
                    && code.is_fixed()
                {
                    inspection.inspect_nested(code.at, |look| shell(look, &code.text, code.at, set));
                }
            }
            _ if program.is_shell() => {
                if let Some(code) = program.code('c') {
                    executes(inspection, code, |look| shell(look, &code.text, code.at, set));
                    let in_place = programs.iter().any(|executed_program| {
                        matches!(executed_program.name, "find" | "xargs" | "parallel")
                    });
                    if in_place && code.text.contains("{}") {
                        let reason = "a name is inserted into the text of a program, which \
                                      executes it";
                        inspection.report(Rule::EvalInput, code.at, reason);
                    }
                } else if let Some(first) = program.args.iter().find(|arg| is_output(arg)) {
                    inspection.report(Rule::EvalInput, first.at, "the output of a command is executed");
                } else if let Some((at, text)) = &command.input {
                    check_program_input(inspection, *at, text, |look| shell(look, text, *at, set));
                }
            }
            _ if program.is_python() => {
                if let Some(code) = program.code('c') {
                    executes(inspection, code, |look| python(look, &code.text, code.at));
                } else if let Some((at, text)) =
                    command.input.as_ref().filter(|_| reads_program_from_input(program))
                {
                    check_program_input(inspection, *at, text, |look| python(look, text, *at));
                }
            }
            _ if program.is_interpreter() => {
                if let Some(code) = program.code('e') {
                    executes(inspection, code, |_| {});
                }
            }
            _ => {}
        }
    }
}

/// Checks an executed text: it must be fixed, and is then checked itself.
fn executes(
    inspection: &mut FileInspection<'_>,
    word: &CommandWord,
    inner: impl FnOnce(&mut FileInspection<'_>),
) {
    if word.is_fixed() {
        inspection.inspect_nested(word.at, inner);
    } else {
        let reason = "a string with values in it is executed, including whatever they contain";
        inspection.report(Rule::EvalInput, word.at, reason);
    }
}

/// Checks a text a program reads as input and executes.
fn check_program_input(
    inspection: &mut FileInspection<'_>,
    at: usize,
    text: &str,
    inner: impl FnOnce(&mut FileInspection<'_>),
) {
    if text.contains(UNKNOWN) {
        inspection.report(Rule::EvalInput, at, "a string with values in it is executed");
    } else {
        inspection.inspect_nested(at, inner);
    }
}

fn evaluates(inspection: &mut FileInspection<'_>, program: &ExecutedProgram<'_>, set: &BTreeSet<String>) {
    if program.args.iter().all(CommandWord::is_fixed) {
        let text: Vec<&str> = program.args.iter().map(|arg| arg.text.as_str()).collect();
        let text = text.join(" ");
        inspection.inspect_nested(program.at, |look| shell(look, &text, program.at, set));
    } else {
        inspection.report(Rule::EvalInput, program.at, "`eval` executes a string with values in it");
    }
}

fn sources(inspection: &mut FileInspection<'_>, program: &ExecutedProgram<'_>) {
    if let Some(first) = program.args.first().filter(|arg| is_output(arg)) {
        inspection.report(Rule::EvalInput, first.at, "the output of a command is executed");
    }
}

/// True if a word is the output of a command as a file: `<(…)`.
fn is_output(word: &CommandWord) -> bool {
    word.has_command && !word.is_quoted && word.variables.is_empty() && word.text == UNKNOWN.to_string()
}

/// True if the only program given to an interpreter is its input.
fn reads_program_from_input(program: &ExecutedProgram<'_>) -> bool {
    let is_option =
        |word: &CommandWord| word.text.starts_with('-') && !matches!(word.text.as_str(), "-c" | "-m" | "-e");
    match program.args.first() {
        None => true,
        Some(first) if first.text == "-" || program.is_shell() && first.text.starts_with("-s") => true,
        Some(_) => program.args.iter().all(is_option),
    }
}

/// Checks the input piped into a program executing it.
pub(super) fn piped(inspection: &mut FileInspection<'_>, pipeline: &ShellPipeline) {
    for (at, command) in pipeline.commands.iter().enumerate() {
        if at == 0 && pipeline.before.is_empty() {
            continue;
        }
        let executed_programs = programs(command);
        let runs = executed_programs.iter().find(|executed_program| {
            (executed_program.is_shell() || executed_program.is_interpreter())
                && executed_program.code('c').is_none()
                && reads_program_from_input(executed_program)
        });
        let Some(runs) = runs else { continue };
        let before = pipeline.before.iter().chain(pipeline.commands.iter().take(at));
        let earlier_programs: Vec<ExecutedProgram<'_>> = before.flat_map(programs).collect();
        let (rule, source) = if earlier_programs
            .iter()
            .any(|program| matches!(program.name, "nc" | "ncat" | "netcat" | "socat"))
        {
            (Rule::ReverseShell, "remote input")
        } else if earlier_programs.iter().any(fetches) {
            (Rule::PipeToShell, "downloaded content")
        } else if earlier_programs.iter().any(decodes) {
            (Rule::DecodeToShell, "decoded content")
        } else {
            (Rule::EvalInput, "the output of a command")
        };
        inspection.report(rule, runs.at, format!("{source} is executed by `{}`", runs.name));
    }
    shell_to_net(inspection, pipeline);
}

/// Finds a shell whose output is sent over the network.
fn shell_to_net(inspection: &mut FileInspection<'_>, pipeline: &ShellPipeline) {
    let piped_programs: Vec<ExecutedProgram<'_>> = pipeline.commands.iter().flat_map(programs).collect();
    let shell = piped_programs.iter().position(|shell_program| {
        SHELLS.contains(&shell_program.name)
            && reads_program_from_input(shell_program) | shell_program.short('i')
    });
    let net = piped_programs.iter().rposition(|executed_program| {
        matches!(executed_program.name, "nc" | "ncat" | "netcat" | "socat" | "telnet")
    });
    if let (Some(shell), Some(net)) = (shell, net)
        && shell < net
        && let Some(program) = piped_programs.get(net)
    {
        inspection.report(Rule::ReverseShell, program.at, "a shell is connected to another host");
    }
}

fn decodes(program: &ExecutedProgram<'_>) -> bool {
    DECODERS.lists(program)
}
