use std::collections::BTreeSet;

use super::look::Look;
use super::network::fetches;
use super::program::{Program, SHELLS, programs};
use super::python::python;
use super::shell::shell;
use crate::skill::inspect::Rule;
use crate::skill::inspect::shell::{Command, Pipeline, UNKNOWN, Word};

/// Looks at programs that execute a text: shells, `eval`, other languages.
pub(super) fn runs(
    look: &mut Look<'_>,
    command: &Command,
    all: &[Program<'_>],
    set: &BTreeSet<String>,
) {
    for program in all {
        match program.name {
            "eval" => evaluates(look, program, set),
            "source" | "." => sources(look, program),
            "trap" => {
                if let [code, _, ..] = program.args
                    && code.is_fixed()
                {
                    look.deeper(code.at, |look| shell(look, (&code.text, code.at), set));
                }
            }
            _ if program.is_shell() => {
                if let Some(code) = program.code('c') {
                    executes(look, code, |look| shell(look, (&code.text, code.at), set));
                    let in_place = all
                        .iter()
                        .any(|one| matches!(one.name, "find" | "xargs" | "parallel"));
                    if in_place && code.text.contains("{}") {
                        let why = "a name is put into the text of a program, which executes what is in it";
                        look.find(Rule::EvalInput, code.at, why);
                    }
                } else if let Some(first) = program.args.iter().find(|arg| is_output(arg)) {
                    look.find(
                        Rule::EvalInput,
                        first.at,
                        "the output of a command is executed",
                    );
                } else if let Some((at, text)) = &command.input {
                    read_in(look, (*at, text), |look| shell(look, (text, *at), set));
                }
            }
            _ if program.is_python() => {
                if let Some(code) = program.code('c') {
                    executes(look, code, |look| python(look, (&code.text, code.at)));
                } else if let Some((at, text)) = command.input.as_ref().filter(|_| is_bare(program))
                {
                    read_in(look, (*at, text), |look| python(look, (text, *at)));
                }
            }
            _ if program.is_interpreter() => {
                if let Some(code) = program.code('e') {
                    executes(look, code, |_| {});
                }
            }
            _ => {}
        }
    }
}

/// A text that is executed: it must be fixed, and then it is looked at.
fn executes(look: &mut Look<'_>, code: &Word, inner: impl FnOnce(&mut Look<'_>)) {
    if code.is_fixed() {
        look.deeper(code.at, inner);
    } else {
        let why = "a text with values in it is executed: whatever they hold is executed, too";
        look.find(Rule::EvalInput, code.at, why);
    }
}

/// A text that a program is given to read and executes.
fn read_in(look: &mut Look<'_>, (at, text): (usize, &str), inner: impl FnOnce(&mut Look<'_>)) {
    if text.contains(UNKNOWN) {
        look.find(Rule::EvalInput, at, "a text with values in it is executed");
    } else {
        look.deeper(at, inner);
    }
}

fn evaluates(look: &mut Look<'_>, program: &Program<'_>, set: &BTreeSet<String>) {
    if program.args.iter().all(Word::is_fixed) {
        let text: Vec<&str> = program.args.iter().map(|arg| arg.text.as_str()).collect();
        let text = text.join(" ");
        look.deeper(program.at, |look| shell(look, (&text, program.at), set));
    } else {
        look.find(
            Rule::EvalInput,
            program.at,
            "`eval` executes a text with values in it",
        );
    }
}

fn sources(look: &mut Look<'_>, program: &Program<'_>) {
    if let Some(first) = program.args.first().filter(|arg| is_output(arg)) {
        look.find(
            Rule::EvalInput,
            first.at,
            "the output of a command is executed",
        );
    }
}

/// Whether a word is the output of a command as a file: `<(…)`.
fn is_output(word: &Word) -> bool {
    word.has_command && !word.is_quoted && word.vars.is_empty() && word.text == UNKNOWN.to_string()
}

/// Whether an interpreter is given no program but what it reads.
fn is_bare(program: &Program<'_>) -> bool {
    let is_option =
        |arg: &Word| arg.text.starts_with('-') && !matches!(arg.text.as_str(), "-c" | "-m" | "-e");
    match program.args.first() {
        None => true,
        Some(first) if first.text == "-" || program.is_shell() && first.text.starts_with("-s") => {
            true
        }
        Some(_) => program.args.iter().all(is_option),
    }
}

/// Looks at what is piped into a program that executes what it reads.
pub(super) fn piped(look: &mut Look<'_>, pipeline: &Pipeline) {
    for (at, command) in pipeline.commands.iter().enumerate() {
        if at == 0 && pipeline.before.is_empty() {
            continue;
        }
        let all = programs(command);
        let runs = all.iter().find(|one| {
            (one.is_shell() || one.is_interpreter()) && one.code('c').is_none() && is_bare(one)
        });
        let Some(runs) = runs else { continue };
        let before = pipeline
            .before
            .iter()
            .chain(pipeline.commands.iter().take(at));
        let before: Vec<Program<'_>> = before.flat_map(programs).collect();
        let (rule, what) = if before
            .iter()
            .any(|one| matches!(one.name, "nc" | "ncat" | "netcat" | "socat"))
        {
            (Rule::ReverseShell, "what somebody else sends")
        } else if before.iter().any(fetches) {
            (Rule::PipeToShell, "what is fetched")
        } else if before.iter().any(decodes) {
            (Rule::DecodeToShell, "what is decoded")
        } else {
            (Rule::EvalInput, "the output of a command")
        };
        look.find(
            rule,
            runs.at,
            format!("{what} is executed by `{}`", runs.name),
        );
    }
    shell_to_net(look, pipeline);
}

/// A shell whose output goes to somebody else.
fn shell_to_net(look: &mut Look<'_>, pipeline: &Pipeline) {
    let all: Vec<Program<'_>> = pipeline.commands.iter().flat_map(programs).collect();
    let shell = all
        .iter()
        .position(|one| SHELLS.contains(&one.name) && is_bare(one) | one.short('i'));
    let net = all
        .iter()
        .rposition(|one| matches!(one.name, "nc" | "ncat" | "netcat" | "socat" | "telnet"));
    if let (Some(shell), Some(net)) = (shell, net)
        && shell < net
        && let Some(one) = all.get(net)
    {
        look.find(
            Rule::ReverseShell,
            one.at,
            "a shell speaks to somebody else",
        );
    }
}

fn decodes(program: &Program<'_>) -> bool {
    match program.name {
        "base64" | "base32" | "basenc" | "b64" => {
            program.short('d') || program.short('D') || program.has(&["--decode"])
        }
        "openssl" => {
            program.short('d')
                && program
                    .args
                    .iter()
                    .any(|arg| arg.text.contains("64") || arg.text == "enc")
        }
        "xxd" => program.short('r'),
        "gunzip" | "zcat" | "bunzip2" | "xzcat" | "unxz" | "uudecode" | "rev" | "tr" => true,
        "gzip" | "xz" | "bzip2" => program.short('d'),
        _ => false,
    }
}
