use std::rc::Rc;

/// A word of a command, with its quotes removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::inspect) struct CommandWord {
    /// Its offset, in bytes.
    pub(in crate::inspect) at: usize,
    /// Its text; parts known only at run time are U+0000.
    pub(in crate::inspect) text: String,
    pub(in crate::inspect) variables: Vec<VariableUse>,
    /// True if it contains a command substitution.
    pub(in crate::inspect) has_command: bool,
    /// The words of the substituted command, if it is a single one.
    pub(in crate::inspect) inner: Vec<Self>,
    /// The words of a list in parentheses, if it is one.
    pub(in crate::inspect) items: Vec<Self>,
    pub(in crate::inspect) is_quoted: bool,
    /// True if it is a value appended to another.
    pub(in crate::inspect) is_appended: bool,
}

impl CommandWord {
    /// True if all of it is known.
    pub(in crate::inspect) fn is_fixed(&self) -> bool {
        self.variables.is_empty() && !self.has_command
    }

    /// Returns its variable, if it consists of exactly one.
    pub(in crate::inspect) fn variable(&self) -> Option<&VariableUse> {
        let is_alone = !self.has_command && self.text.chars().eq([UNKNOWN]);
        self.variables.first().filter(|_| is_alone)
    }
}

/// The placeholder in a text for parts known only at run time.
pub(in crate::inspect) const UNKNOWN: char = '\0';

/// The use of a variable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::inspect) struct VariableUse {
    /// Its offset, in bytes.
    pub(in crate::inspect) at: usize,
    /// Its name: a word, digits, or one sign.
    pub(in crate::inspect) name: String,
    /// True if it is in double quotes.
    pub(in crate::inspect) is_quoted: bool,
    /// True if it is never empty there: `${X:?}`, `${X:-default}`.
    pub(in crate::inspect) is_guarded: bool,
    /// True if the script sets it there: `${X:=value}`.
    pub(in crate::inspect) sets: bool,
    /// Its default value, if that is known: `${X:-value}`.
    pub(in crate::inspect) default: Option<String>,
    /// The number of list items that are left out: 1 in `${@:2}`.
    pub(in crate::inspect) skips: usize,
}

impl VariableUse {
    /// True if it is an argument of the script.
    pub(in crate::inspect) fn is_argument(&self) -> bool {
        let digits = self.name.bytes().all(|byte| byte.is_ascii_digit());
        (digits && self.name != "0") || matches!(self.name.as_str(), "@" | "*")
    }
}

/// A command, as far as it is known from the text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::inspect) struct ShellCommand {
    /// Its offset, in bytes.
    pub(in crate::inspect) at: usize,
    /// Its assignments: names and values.
    pub(in crate::inspect) sets: Vec<(String, CommandWord)>,
    /// The program and its arguments.
    pub(in crate::inspect) words: Vec<CommandWord>,
    /// The files it writes to.
    pub(in crate::inspect) writes: Vec<CommandWord>,
    /// The files it reads.
    pub(in crate::inspect) reads: Vec<CommandWord>,
    /// The text of its here-document: its offset, and its text.
    pub(in crate::inspect) input: Option<(usize, String)>,
    /// The function containing it.
    pub(in crate::inspect) function: Option<Rc<str>>,
}

/// Commands joined by `|`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::inspect) struct ShellPipeline {
    /// The commands piped into the group containing it: any command of the group may read them.
    pub(in crate::inspect) before: Rc<[ShellCommand]>,
    pub(in crate::inspect) commands: Vec<ShellCommand>,
}

/// A script, as far as it was understood.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::inspect) struct ParsedShellScript {
    /// Its commands, including nested ones.
    pub(in crate::inspect) pipelines: Vec<ShellPipeline>,
    /// Variables used outside of commands: in here-documents, in arithmetic.
    pub(in crate::inspect) variables: Vec<VariableUse>,
    /// True if its nesting exceeds the limit.
    pub(in crate::inspect) too_deep: bool,
}

impl ParsedShellScript {
    /// Returns every command.
    pub(in crate::inspect) fn commands(&self) -> impl Iterator<Item = &ShellCommand> {
        self.pipelines.iter().flat_map(|pipeline| &pipeline.commands)
    }
}
