use std::rc::Rc;

use super::{
    archives,
    facts::{ValuePlaceIx, ValueSend},
    operands::CommandOperands,
    place::{FlowLabel, ValuePlace},
    shell::ShellFactReader,
    starts, transfers,
};
use crate::inspect::{
    rules::{ExecutedProgram, programs},
    shell::{CommandWord, ShellCommand},
    tables::{ProgramTable, WordList},
};

/// Programs that print a credential, by the name of its usual variable.
static CREDENTIALS: ProgramTable =
    ProgramTable::from_table(include_str!("../tables/programs/credential_printers.txt"));

/// Programs whose output reveals nothing about the files in their arguments.
static QUIET: WordList = WordList::from_table(include_str!("../tables/words/quiet_programs.txt"));

/// Programs that encode or pack their input.
static PACKERS: WordList = WordList::from_table(include_str!("../tables/words/packers.txt"));

/// A started program, with its arguments and input.
pub(super) struct ProgramCall<'a> {
    /// The whole command.
    pub(super) command: &'a ShellCommand,
    pub(super) program: ExecutedProgram<'a>,
    /// Its arguments.
    pub(super) operands: CommandOperands<'a>,
    pub(super) input: ValuePlaceIx,
    /// True if its input lists arguments: `xargs`.
    pub(super) reads_names: bool,
    /// Its output.
    pub(super) out: ValuePlaceIx,
}

impl ShellFactReader<'_, '_> {
    /// Reads the effects of the program of a command on its inputs; `out` is its output.
    pub(super) fn program(
        &mut self,
        command: &ShellCommand,
        input: ValuePlaceIx,
        inner: &[ValuePlaceIx],
        out: ValuePlaceIx,
    ) {
        let Some(first) = command.words.first() else {
            return;
        };
        let executed_programs = programs(command);
        let Some(program) = executed_programs.last().copied() else {
            // The program's name is in a variable.
            let operands = self.operands(&command.words, inner);
            if let Some(script) = operands.values.first() {
                self.runs(first.at, *script);
            }
            self.other_program(&operands, input, out);
            return;
        };
        let reads_names = |program: &ExecutedProgram<'_>| matches!(program.name, "xargs" | "parallel");
        let operands = self.operands(program.args, inner);
        let call = ProgramCall {
            command,
            program,
            operands,
            input,
            reads_names: executed_programs.iter().any(reads_names),
            out,
        };
        self.network_program(&call);
        starts::packages(self, &program);
        if PACKERS.contains(program.name) {
            self.packs(program.at, out);
        }
    }

    /// Handles network programs, and passes on all others.
    fn network_program(&mut self, call: &ProgramCall<'_>) {
        match call.program.name {
            "curl" | "wget" | "aria2c" | "http" | "https" | "xh" | "iwr" | "irm" | "Invoke-WebRequest"
            | "Invoke-RestMethod" => transfers::transfer(self, call),
            "nc" | "ncat" | "netcat" | "telnet" | "socat" | "mail" | "mailx" | "sendmail" => {
                let host = self.facts.gathered(&call.operands.values);
                transfers::hosts(self, &call.operands, host);
                self.sends(call.program.at, call.input, host, false);
                self.fetches(call.program.at, host, call.out);
            }
            "dig" | "nslookup" | "host" | "ping" => {
                let host = self.facts.gathered(&call.operands.values);
                transfers::hosts(self, &call.operands, host);
                self.sends(call.program.at, host, host, false);
            }
            "scp" | "rsync" | "rclone" | "sftp" | "ssh" => transfers::remote_copy(self, call),
            "git" if call.program.verb() == "clone" => transfers::clone_repository(self, call),
            _ => self.file_program(call),
        }
    }

    /// Handles programs that move files, set variables, and print secrets.
    fn file_program(&mut self, call: &ProgramCall<'_>) {
        let (program, operands) = (&call.program, &call.operands);
        match program.name {
            "cp" | "mv" | "ln" | "install" => {
                if let Some((last, from)) = operands.plain("").split_last() {
                    let content = self.loaded(from);
                    self.facts.stores.push((*last, content));
                }
            }
            "tee" => {
                let paths = self.facts.gathered(&operands.plain(""));
                self.facts.stores.push((paths, call.input));
                self.facts.moves(call.input, call.out);
            }
            "tar" => archives::tape(self, call),
            "zip" | "unzip" | "gunzip" => archives::archive(self, call),
            "chmod" => self.allows(call),
            "cd" | "pushd" => {
                let folder = program.args.first().map(|word| self.rendered(word));
                self.folder = folder.filter(|folder| !folder.contains(['$', '*', '-']));
            }
            "env" | "printenv" | "set" if program.args.is_empty() => {
                self.secret("the environment", call.out);
            }
            "printenv" => {
                for text in operands.texts() {
                    self.facts.move_from(ValuePlace::Environment(text.to_owned()), call.out);
                }
            }
            "read" | "mapfile" | "readarray" => self.sets(program.args, &[call.input]),
            "for" | "select" => {
                let values = operands.values.get(1..).unwrap_or_default();
                self.sets(program.args.get(..1).unwrap_or_default(), values);
            }
            "eval" => {
                let content = self.facts.gathered(&operands.values);
                self.runs(program.at, content);
            }
            name if QUIET.contains(name) => {}
            _ => {
                for name in CREDENTIALS.texts(program) {
                    self.secret(&name, call.out);
                }
                starts::start_program(self, call);
            }
        }
    }

    /// Treats a file made executable as started.
    fn allows(&mut self, call: &ProgramCall<'_>) {
        let starts = |text: &str| {
            let is_mode = text.len() >= 3 && text.bytes().all(|byte| byte.is_ascii_digit());
            is_mode && text.contains(['1', '5', '7']) || text.contains('+') && text.contains('x')
        };
        let plain = call.operands.plain("");
        if let (true, Some((_, files))) = (call.operands.texts().any(starts), plain.split_first()) {
            let content = self.facts.gathered(files);
            self.runs(call.program.at, content);
        }
    }

    /// Handles any other program: it may print its arguments and its input.
    pub(super) fn other_program(
        &mut self,
        operands: &CommandOperands<'_>,
        input: ValuePlaceIx,
        out: ValuePlaceIx,
    ) {
        self.facts.moves(input, out);
        for value in &operands.values {
            self.facts.moves(*value, out);
            self.facts.loads.push((*value, out));
        }
    }

    fn sets(&mut self, words: &[CommandWord], values: &[ValuePlaceIx]) {
        for name in words.iter().filter(|name| !name.text.starts_with('-')) {
            let scope = Rc::clone(&self.source.scope);
            let to = self.facts.place_ix(ValuePlace::Variable(scope, name.text.clone()));
            for from in values {
                self.facts.moves(*from, to);
            }
        }
    }

    fn secret(&mut self, name: &str, at: ValuePlaceIx) {
        let label = FlowLabel::Secret(name.to_owned());
        self.facts.labels.push((label, at));
    }

    /// Returns the content of the files named by values.
    pub(super) fn loaded(&mut self, paths: &[ValuePlaceIx]) -> ValuePlaceIx {
        let gathered = self.facts.value();
        for path in paths {
            self.facts.loads.push((*path, gathered));
        }
        gathered
    }

    pub(super) fn sends(&mut self, at: usize, content: ValuePlaceIx, to: ValuePlaceIx, is_proof: bool) {
        let event = self.source.event(at, content);
        self.facts.sends.push(ValueSend { event, destination: to, is_proof });
    }
}
