//! The programs that execute others: shells, interpreters, functions and scripts of the skill, installers.

use std::rc::Rc;

use super::{
    facts::ValuePlaceIx,
    operands::CommandOperands,
    place::ValuePlace,
    programs::ProgramCall,
    python::python,
    shell::{ShellFactReader, shell},
};
use crate::inspect::{
    rules::{ExecutedProgram, installs},
    shell::CommandWord,
};

/// Handles programs that execute others, functions, scripts of the skill, and everything else.
pub(super) fn start_program(reader: &mut ShellFactReader<'_, '_>, call: &ProgramCall<'_>) {
    let (program, operands) = (&call.program, &call.operands);
    let is_shell = program.is_shell();
    let is_source = matches!(program.name, "." | "source");
    let runs = is_shell || is_source || program.is_interpreter();
    if reader.functions.contains(program.name) {
        let name = reader.named(Some(program.name));
        return calls(reader, &name, operands, call.input, call.out);
    }
    if call.reads_names && runs {
        reader.runs(program.at, call.input);
    }
    let option = if is_shell || program.is_python() { 'c' } else { 'e' };
    if let Some(code) = program.code(option).filter(|_| runs) {
        return text(reader, call, code);
    }
    let own = call.command.words.iter();
    let own = own.filter(|word| word.text.contains('/')).find(|word| word.at == program.at);
    let first = operands.words.iter();
    let first = first.take_while(|word| word.text.starts_with('-')).count();
    if let (true, Some(word)) = (runs, operands.words.get(first)) {
        let rest = CommandOperands {
            words: operands.words.get(first + 1..).unwrap_or_default(),
            values: operands.values.get(first + 1..).unwrap_or_default().to_vec(),
        };
        script(reader, call, word, &rest);
    } else if let Some(word) = own {
        script(reader, call, word, operands);
    } else if runs {
        reads_program(reader, call);
    } else {
        others(reader, call);
    }
}

/// Handles an interpreter executing its input.
fn reads_program(reader: &mut ShellFactReader<'_, '_>, call: &ProgramCall<'_>) {
    let depth = reader.depth + 1;
    if let Some((at, text)) = &call.command.input {
        if call.program.is_python() {
            python(reader.facts, reader.source, text, *at, depth);
        } else if call.program.is_shell() {
            for from in shell(reader.facts, reader.source, text, *at, depth) {
                reader.facts.moves(from, call.out);
            }
        }
    }
    reader.runs(call.program.at, call.input);
}

/// Handles installers of files, and programs that only print and write.
fn others(reader: &mut ShellFactReader<'_, '_>, call: &ProgramCall<'_>) {
    let operands = &call.operands;
    let installs = matches!(call.program.name, "pip" | "pip3" | "npm" | "dpkg" | "rpm");
    if installs && !operands.has_option("-r") {
        let plain = operands.plain("");
        let content = reader.facts.gathered(plain.get(1..).unwrap_or_default());
        return reader.runs(call.program.at, content);
    }
    reader.other_program(operands, call.input, call.out);
    let paths = operands.option_places("-o --output -out --out");
    reader.facts.stores.extend(paths.into_iter().map(|path| (path, call.out)));
}

/// Handles the execution of a text in the command or in a variable.
fn text(reader: &mut ShellFactReader<'_, '_>, call: &ProgramCall<'_>, code_word: &CommandWord) {
    let depth = reader.depth + 1;
    let operands = &call.operands;
    let number = operands.words.iter().position(|word| word.at == code_word.at);
    let value = number.and_then(|number| operands.values.get(number));
    if let Some(value) = value.filter(|_| !code_word.is_fixed()) {
        reader.runs(call.program.at, *value);
    }
    if call.program.is_shell() {
        let text = reader.rendered(code_word);
        for from in shell(reader.facts, reader.source, &text, code_word.at, depth) {
            reader.facts.moves(from, call.out);
        }
    } else if call.program.is_python() {
        python(reader.facts, reader.source, &code_word.text, code_word.at, depth);
    }
}

/// Handles the execution of a file: one of the skill is called, any other is executed as it is.
fn script(
    reader: &mut ShellFactReader<'_, '_>,
    call: &ProgramCall<'_>,
    word: &CommandWord,
    operands: &CommandOperands<'_>,
) {
    let text = reader.rendered(word);
    if let Some(path) = reader.facts.shipped(&text) {
        let path: Rc<str> = Rc::from(path);
        calls(reader, &path, operands, call.input, call.out);
    } else {
        let value = reader.operand(word, &[]);
        reader.runs(call.program.at, value);
        reader.other_program(operands, call.input, call.out);
    }
}

/// Handles a call of a function or a script of the skill.
fn calls(
    reader: &mut ShellFactReader<'_, '_>,
    name: &Rc<str>,
    operands: &CommandOperands<'_>,
    input: ValuePlaceIx,
    out: ValuePlaceIx,
) {
    for (number, value) in operands.values.iter().enumerate() {
        for number in [(number + 1).to_string(), "@".to_owned()] {
            reader.facts.move_to(*value, ValuePlace::Argument(name.to_string(), number));
        }
    }
    reader.facts.move_to(input, ValuePlace::Input(Rc::clone(name)));
    reader.facts.move_from(ValuePlace::Output(Rc::clone(name)), out);
}

/// Records the packages a program installs.
pub(super) fn packages(reader: &mut ShellFactReader<'_, '_>, program: &ExecutedProgram<'_>) {
    let is_npm = matches!(program.name, "npm" | "pnpm" | "yarn" | "bun" | "npx" | "pnpx" | "bunx");
    let is_pypi =
        program.is_python() || matches!(program.name, "pip" | "pip3" | "pipx" | "uv" | "uvx" | "poetry");
    if installs(program).is_none() || !(is_npm || is_pypi) {
        return;
    }
    let names = program.args.iter().filter(|word| word.is_fixed());
    for word in names.filter(|word| !word.text.starts_with(['-', '.', '/', '@'])) {
        let event = reader.source.event(word.at, 0);
        let package = (event, word.text.clone(), is_npm);
        reader.facts.packages.push(package);
    }
}
