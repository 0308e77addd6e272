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

impl ShellFactReader<'_, '_> {
    /// Handles programs that execute others, functions, scripts of the skill, and everything else.
    pub(super) fn starts(&mut self, call: &ProgramCall<'_>) {
        let (program, operands) = (&call.program, &call.operands);
        let is_shell = program.is_shell();
        let is_source = matches!(program.name, "." | "source");
        let runs = is_shell || is_source || program.is_interpreter();
        if self.functions.contains(program.name) {
            let name = self.named(Some(program.name));
            return self.calls(&name, operands, call.input, call.out);
        }
        if call.reads_names && runs {
            self.runs(program.at, call.input);
        }
        let option = if is_shell || program.is_python() { 'c' } else { 'e' };
        if let Some(code) = program.code(option).filter(|_| runs) {
            return self.text(call, code);
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
            self.script(call, word, &rest);
        } else if let Some(word) = own {
            self.script(call, word, operands);
        } else if runs {
            self.reads_program(call);
        } else {
            self.others(call);
        }
    }

    /// Handles an interpreter executing its input.
    fn reads_program(&mut self, call: &ProgramCall<'_>) {
        let depth = self.depth + 1;
        if let Some((at, text)) = &call.command.input {
            if call.program.is_python() {
                python(self.facts, self.source, text, *at, depth);
            } else if call.program.is_shell() {
                for from in shell(self.facts, self.source, text, *at, depth) {
                    self.facts.moves(from, call.out);
                }
            }
        }
        self.runs(call.program.at, call.input);
    }

    /// Handles installers of files, and programs that only print and write.
    fn others(&mut self, call: &ProgramCall<'_>) {
        let operands = &call.operands;
        let installs = matches!(call.program.name, "pip" | "pip3" | "npm" | "dpkg" | "rpm");
        if installs && !operands.has_option("-r") {
            let plain = operands.plain("");
            let content = self.facts.gathered(plain.get(1..).unwrap_or_default());
            return self.runs(call.program.at, content);
        }
        self.other_program(operands, call.input, call.out);
        let paths = operands.option_places("-o --output -out --out");
        self.facts.stores.extend(paths.into_iter().map(|path| (path, call.out)));
    }

    /// Handles the execution of a text in the command or in a variable.
    fn text(&mut self, call: &ProgramCall<'_>, code_word: &CommandWord) {
        let depth = self.depth + 1;
        let operands = &call.operands;
        let number = operands.words.iter().position(|word| word.at == code_word.at);
        let value = number.and_then(|number| operands.values.get(number));
        if let Some(value) = value.filter(|_| !code_word.is_fixed()) {
            self.runs(call.program.at, *value);
        }
        if call.program.is_shell() {
            let text = self.rendered(code_word);
            for from in shell(self.facts, self.source, &text, code_word.at, depth) {
                self.facts.moves(from, call.out);
            }
        } else if call.program.is_python() {
            python(self.facts, self.source, &code_word.text, code_word.at, depth);
        }
    }

    /// Handles the execution of a file: one of the skill is called, any other is executed as it is.
    fn script(&mut self, call: &ProgramCall<'_>, word: &CommandWord, operands: &CommandOperands<'_>) {
        let text = self.rendered(word);
        if let Some(path) = self.facts.shipped(&text) {
            let path: Rc<str> = Rc::from(path);
            self.calls(&path, operands, call.input, call.out);
        } else {
            let value = self.operand(word, &[]);
            self.runs(call.program.at, value);
            self.other_program(operands, call.input, call.out);
        }
    }

    /// Handles a call of a function or a script of the skill.
    fn calls(
        &mut self,
        name: &Rc<str>,
        operands: &CommandOperands<'_>,
        input: ValuePlaceIx,
        out: ValuePlaceIx,
    ) {
        for (number, value) in operands.values.iter().enumerate() {
            for number in [(number + 1).to_string(), "@".to_owned()] {
                self.facts.move_to(*value, ValuePlace::Argument(name.to_string(), number));
            }
        }
        self.facts.move_to(input, ValuePlace::Input(Rc::clone(name)));
        self.facts.move_from(ValuePlace::Output(Rc::clone(name)), out);
    }

    /// Records the packages a program installs.
    pub(super) fn packages(&mut self, program: &ExecutedProgram<'_>) {
        let is_npm = matches!(program.name, "npm" | "pnpm" | "yarn" | "bun" | "npx" | "pnpx" | "bunx");
        let is_pypi =
            program.is_python() || matches!(program.name, "pip" | "pip3" | "pipx" | "uv" | "uvx" | "poetry");
        if installs(program).is_none() || !(is_npm || is_pypi) {
            return;
        }
        let names = program.args.iter().filter(|word| word.is_fixed());
        for word in names.filter(|word| !word.text.starts_with(['-', '.', '/', '@'])) {
            let event = self.source.event(word.at, 0);
            let package = (event, word.text.clone(), is_npm);
            self.facts.packages.push(package);
        }
    }
}
