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
    /// Whether any of it is quoted.
    pub(in crate::skill::inspect) is_quoted: bool,
}

impl Word {
    /// Whether all of it is known.
    pub(in crate::skill::inspect) fn is_fixed(&self) -> bool {
        self.vars.is_empty() && !self.has_command
    }
}

/// What stands in a text for what is only known at run time.
pub(in crate::skill::inspect) const UNKNOWN: char = '\0';

/// The use of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
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
}

/// Commands joined by `|`.
pub(in crate::skill::inspect) type Pipeline = Vec<Command>;

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
