use crate::inspect::{
    shell::{CommandWord, ShellCommand, UNKNOWN},
    tables::WordList,
};

/// Programs that execute the program in their arguments.
static BEFORE: WordList = WordList::from_table(include_str!("../tables/words/wrappers.txt"));

/// The ones among them with a program as the first argument after options.
pub(in crate::inspect) const SHIFTS: [&str; 7] =
    ["exec", "command", "builtin", "nohup", "setsid", "sudo", "doas"];

pub(in crate::inspect) const SHELLS: [&str; 7] = ["sh", "bash", "dash", "zsh", "ksh", "ash", "fish"];

/// A program a command executes, with its arguments.
#[derive(Clone, Copy, Debug)]
pub(in crate::inspect) struct ExecutedProgram<'a> {
    /// Its name, without the folder.
    pub(in crate::inspect) name: &'a str,
    /// Its offset.
    pub(in crate::inspect) at: usize,
    /// Its arguments.
    pub(in crate::inspect) args: &'a [CommandWord],
}

impl<'a> ExecutedProgram<'a> {
    /// True if an argument is one of these words.
    pub(in crate::inspect) fn has(&self, words: &[&str]) -> bool {
        self.args.iter().any(|arg| words.contains(&arg.text.as_str()))
    }

    /// Returns the first argument that is not an option.
    pub(in crate::inspect) fn verb(&self) -> &'a str {
        let verb = self.args.iter().find(|arg| !arg.text.starts_with('-'));
        verb.map_or("", |verb| verb.text.as_str())
    }

    /// True if a short option is given: `k` in `-fsSLk`.
    pub(in crate::inspect) fn short(&self, option: char) -> bool {
        self.args.iter().any(|arg| {
            let letters = arg.text.strip_prefix('-');
            letters.is_some_and(|flags| !flags.starts_with('-') && flags.contains(option))
        })
    }

    /// Returns the word after an option executing a text: `-c`, `-ec`, `-lc`.
    pub(in crate::inspect) fn code(&self, option: char) -> Option<&'a CommandWord> {
        let at = self.args.iter().position(|arg| {
            let letters = arg.text.strip_prefix('-');
            letters
                .is_some_and(|flags| !flags.starts_with('-') && flags.len() <= 5 && flags.ends_with(option))
        })?;
        self.args.get(at + 1)
    }

    pub(in crate::inspect) fn is_shell(&self) -> bool {
        SHELLS.contains(&self.name)
    }

    /// True if it executes other languages.
    pub(in crate::inspect) fn is_interpreter(&self) -> bool {
        self.is_python() || matches!(self.name, "perl" | "ruby" | "node" | "php" | "deno" | "bun" | "lua")
    }

    pub(in crate::inspect) fn is_python(&self) -> bool {
        let rest = self.name.strip_prefix("python");
        rest.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'))
    }
}

/// Returns the programs a command executes, including those executed by other programs.
pub(in crate::inspect) fn programs(command: &ShellCommand) -> Vec<ExecutedProgram<'_>> {
    let mut executed_programs = Vec::new();
    let mut at = 0;
    while let Some(program) = program(&command.words, at) {
        executed_programs.push(program);
        if BEFORE.contains(program.name) {
            let skips = |word: &&CommandWord| {
                let text = &word.text;
                text.starts_with(['-', '{'])
                    || text.contains('=')
                    || text.starts_with(|c: char| c.is_ascii_digit())
            };
            at += 1 + program.args.iter().take_while(skips).count();
        } else if program.name == "find" {
            let is_exec =
                |word: &CommandWord| matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir");
            match program.args.iter().position(is_exec) {
                Some(exec) => at += exec + 2,
                None => break,
            }
        } else {
            break;
        }
    }
    executed_programs
}

fn program(words: &[CommandWord], at: usize) -> Option<ExecutedProgram<'_>> {
    let word = words.get(at)?;
    let name = word.text.rsplit('/').next().unwrap_or_default();
    (!name.is_empty() && !name.contains(UNKNOWN)).then(|| ExecutedProgram {
        name,
        at: word.at,
        args: words.get(at + 1..).unwrap_or_default(),
    })
}
