use std::rc::Rc;

/// A word of a command, with its quotes removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::skill::inspect) struct Word {
    /// Where it begins, in bytes.
    pub(in crate::skill::inspect) at: usize,
    /// Its text; what is only known at run time stands there as U+0000.
    pub(in crate::skill::inspect) text: String,
    /// The variables in it.
    pub(in crate::skill::inspect) vars: Vec<Var>,
    /// Whether a command is executed for its value.
    pub(in crate::skill::inspect) has_command: bool,
    /// The words of the command that is executed for its value, if it is a single one.
    pub(in crate::skill::inspect) inner: Vec<Self>,
    /// The words of a list in parentheses, if it is one.
    pub(in crate::skill::inspect) items: Vec<Self>,
    /// Whether any of it is quoted.
    pub(in crate::skill::inspect) is_quoted: bool,
    /// Whether it is a value that is appended to another.
    pub(in crate::skill::inspect) is_appended: bool,
}

impl Word {
    /// Whether all of it is known.
    pub(in crate::skill::inspect) fn is_fixed(&self) -> bool {
        self.vars.is_empty() && !self.has_command
    }

    /// The variable that it is, if it is nothing but one.
    pub(in crate::skill::inspect) fn variable(&self) -> Option<&Var> {
        let is_alone = !self.has_command && self.text.chars().eq([UNKNOWN]);
        self.vars.first().filter(|_| is_alone)
    }
}

/// What stands in a text for what is only known at run time.
pub(in crate::skill::inspect) const UNKNOWN: char = '\0';

/// The use of a variable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::skill::inspect) struct Var {
    /// Where, in bytes.
    pub(in crate::skill::inspect) at: usize,
    /// Its name: a word, digits, or one sign.
    pub(in crate::skill::inspect) name: String,
    /// Whether it stands in double quotes.
    pub(in crate::skill::inspect) is_quoted: bool,
    /// Whether it is never nothing there: `${X:?}`, `${X:-default}`.
    pub(in crate::skill::inspect) is_guarded: bool,
    /// Whether the script sets it there: `${X:=value}`.
    pub(in crate::skill::inspect) sets: bool,
    /// Its value where it is not set, if that is known: `${X:-value}`.
    pub(in crate::skill::inspect) default: Option<String>,
    /// How many of a list are left out: 1 in `${@:2}`.
    pub(in crate::skill::inspect) skips: usize,
}

impl Var {
    /// Whether it is an argument of the script.
    pub(in crate::skill::inspect) fn is_argument(&self) -> bool {
        let digits = self.name.bytes().all(|byte| byte.is_ascii_digit());
        (digits && self.name != "0") || matches!(self.name.as_str(), "@" | "*")
    }
}

/// A command, as far as it is written down.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::skill::inspect) struct Command {
    /// Where it begins, in bytes.
    pub(in crate::skill::inspect) at: usize,
    /// What it sets: names and values.
    pub(in crate::skill::inspect) sets: Vec<(String, Word)>,
    /// The program and its arguments.
    pub(in crate::skill::inspect) words: Vec<Word>,
    /// The files that it writes to.
    pub(in crate::skill::inspect) writes: Vec<Word>,
    /// The files that it reads.
    pub(in crate::skill::inspect) reads: Vec<Word>,
    /// What it is given to read: where it begins, and its text.
    pub(in crate::skill::inspect) input: Option<(usize, String)>,
    /// The function that it stands in.
    pub(in crate::skill::inspect) function: Option<Rc<str>>,
}

/// Commands joined by `|`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::skill::inspect) struct Pipeline {
    /// What is piped into the group that it stands in: any of the group may read it.
    pub(in crate::skill::inspect) before: Rc<[Command]>,
    /// The commands.
    pub(in crate::skill::inspect) commands: Vec<Command>,
}

/// A script as far as it was understood.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::skill::inspect) struct Shell {
    /// Its commands, those inside of others too.
    pub(in crate::skill::inspect) pipelines: Vec<Pipeline>,
    /// Variables used where no command is: in texts that are read, in arithmetic.
    pub(in crate::skill::inspect) vars: Vec<Var>,
    /// Whether it is nested more deeply than is followed.
    pub(in crate::skill::inspect) too_deep: bool,
}

impl Shell {
    /// Every command.
    pub(in crate::skill::inspect) fn commands(&self) -> impl Iterator<Item = &Command> {
        self.pipelines.iter().flat_map(|one| &one.commands)
    }
}
