use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use super::program::SHIFTS;
use crate::inspect::shell::{CommandWord, ParsedShellScript, ShellCommand, UNKNOWN, VariableUse};

/// The maximum number of steps a value is followed from variable to variable.
const DEEPEST: usize = 8;

/// The maximum number of commands one command may expand to.
const MOST: usize = 64;

/// Programs that print the location of another program.
const FINDERS: [&str; 6] = ["command", "which", "type", "realpath", "readlink", "hash"];

/// A value assigned to a variable, and the enclosing function.
type VariableAssignment<'a> = (&'a CommandWord, Option<&'a Rc<str>>);

/// The values of the variables and functions of a script, as far as its text shows them.
pub(super) struct ScriptValues<'a> {
    /// The assignments of variables, with the enclosing functions.
    sets: BTreeMap<&'a str, Vec<VariableAssignment<'a>>>,
    /// Variables that also get values from elsewhere.
    open: BTreeSet<&'a str>,
    /// The calls of functions.
    calls: BTreeMap<&'a str, Vec<&'a ShellCommand>>,
    /// The offsets at which functions drop arguments, and the numbers of arguments.
    shifts: BTreeMap<&'a str, Vec<(usize, usize)>>,
}

/// The commands a command executes.
#[derive(Default)]
pub(super) struct ExpandedCommands {
    pub(super) commands: Vec<ShellCommand>,
    /// The offset of a program known only at run time, and true if it is an argument of the script.
    pub(super) unknown: Option<(usize, bool)>,
}

/// Words, and the enclosing function.
type ScopedWords = (Vec<CommandWord>, Option<Rc<str>>);

impl<'a> ScriptValues<'a> {
    pub(super) fn from_script(script: &'a ParsedShellScript) -> Self {
        let mut values = Self {
            sets: BTreeMap::new(),
            open: BTreeSet::new(),
            calls: BTreeMap::new(),
            shifts: BTreeMap::new(),
        };
        for command in script.commands() {
            values.record_command(command);
        }
        values
    }

    fn record_command(&mut self, command: &'a ShellCommand) {
        let function = command.function.as_ref();
        // An appended value comes after the program.
        let sets = command.sets.iter().filter(|(_, value)| !value.is_appended);
        for (name, value) in sets {
            self.sets.entry(name).or_default().push((value, function));
        }
        let Some(first) = command.words.first() else {
            return;
        };
        let rest = command.words.get(1..).unwrap_or_default();
        self.calls.entry(&first.text).or_default().push(command);
        match first.text.as_str() {
            "shift" => {
                let count = rest.first().map_or(Ok(1), |word| word.text.parse());
                if let (Some(function), Ok(count)) = (function, count) {
                    let shifts = self.shifts.entry(function).or_default();
                    shifts.push((command.at, count));
                }
            }
            "for" | "select" => {
                if let Some((name, words)) = rest.split_first() {
                    let words = words.get(1..).unwrap_or_default();
                    let assigned = self.sets.entry(&name.text).or_default();
                    assigned.extend(words.iter().map(|word| (word, function)));
                }
            }
            "read" | "mapfile" | "readarray" | "getopts" | "printf" => {
                self.open.extend(rest.iter().map(|word| word.text.as_str()));
            }
            _ => {}
        }
    }

    /// Returns the commands a command expands to: if its program is a variable or the argument
    /// of a function, one for each value the script assigns.
    pub(super) fn expansions(&self, command: &ShellCommand) -> ExpandedCommands {
        let mut meant = ExpandedCommands::default();
        self.expand(command.clone(), 0, &mut meant);
        meant
    }

    fn expand(&self, command: ShellCommand, depth: usize, expanded: &mut ExpandedCommands) {
        let Some(first) = command.words.first() else {
            expanded.commands.push(command);
            return;
        };
        if depth > DEEPEST || expanded.commands.len() >= MOST {
            expanded.unknown.get_or_insert((first.at, false));
            return;
        }
        if !first.inner.is_empty()
            && let Some(words) = value(first, false)
        {
            let mut command = command;
            command.words.splice(..1, words);
            return self.expand(command, depth + 1, expanded);
        }
        let Some(var) = first.variable() else {
            let name = first.text.rsplit('/').next().unwrap_or_default();
            if !first.is_fixed() && name.contains(UNKNOWN) {
                let is_argument = first.variables.iter().any(VariableUse::is_argument);
                expanded.unknown.get_or_insert((first.at, is_argument));
            }
            self.expand_wrapped(&command, depth, expanded);
            expanded.commands.push(command);
            return;
        };
        let Some(values) = self.values(var, command.function.as_deref()) else {
            expanded.unknown.get_or_insert((first.at, var.is_argument()));
            expanded.commands.push(command);
            return;
        };
        for (mut words, function) in values {
            for word in &mut words {
                word.at = first.at;
            }
            words.extend(command.words.iter().skip(1).cloned());
            let command = ShellCommand { words, function, ..command.clone() };
            self.expand(command, depth + 1, expanded);
        }
    }

    /// Expands the program executed by a program before it: `exec "$@"`.
    fn expand_wrapped(&self, command: &ShellCommand, depth: usize, expanded: &mut ExpandedCommands) {
        let mut words = command.words.iter();
        let first = words.next().map_or("", |first| first.text.as_str());
        let skipped = words.take_while(|word| word.text.starts_with('-')).count();
        let is_looked_up = first == "command" && skipped > 0;
        if !SHIFTS.contains(&first) || is_looked_up {
            return;
        }
        let words = command.words.get(1 + skipped..).unwrap_or_default();
        if words.first().is_some_and(|word| !word.is_fixed()) {
            let inner = ShellCommand { words: words.to_vec(), ..command.clone() };
            self.expand(inner, depth + 1, expanded);
        }
    }

    /// Returns the values of a variable, as words; `None`: not all of them are known.
    fn values(&self, var: &VariableUse, function: Option<&str>) -> Option<Vec<ScopedWords>> {
        if var.is_argument() {
            return self.arguments(var, function?);
        }
        let mut expanded = Vec::new();
        if let Some(default) = &var.default {
            expanded.push((split(default, var.is_quoted), None));
        }
        let set = self.sets.get(var.name.as_str());
        if self.open.contains(var.name.as_str()) || set.is_none() && var.default.is_none() {
            return None;
        }
        let assigned = set.map(Vec::as_slice).unwrap_or_default();
        let is_own = |of: Option<&Rc<str>>| of.map(AsRef::as_ref) == function;
        let has_own = function.is_some() && assigned.iter().any(|(_, of)| is_own(*of));
        for (word, of) in assigned.iter().filter(|(_, of)| !has_own || is_own(*of)) {
            let words = value(word, var.is_quoted)?;
            if !words.is_empty() {
                expanded.push((words, of.map(Rc::clone)));
            }
        }
        (!expanded.is_empty()).then_some(expanded)
    }

    /// Returns the arguments passed to a function by its callers.
    fn arguments(&self, var: &VariableUse, function: &str) -> Option<Vec<ScopedWords>> {
        let shifts = self.shifts.get(function).map(Vec::as_slice);
        let before = shifts.unwrap_or_default().iter();
        let dropped: usize =
            before.filter(|(at, _)| *at < var.at).map(|(_, count)| *count).fold(0, usize::saturating_add);
        let mut expanded = Vec::new();
        for call in self.calls.get(function)? {
            let words = call.words.get(1..).unwrap_or_default();
            let words = match var.name.parse::<usize>() {
                Ok(number) => {
                    let at = number.saturating_sub(1).saturating_add(dropped);
                    words.get(at).map(std::slice::from_ref)
                }
                Err(_) => words.get(dropped.saturating_add(var.skips)..),
            };
            let words = words.filter(|words| !words.is_empty());
            expanded.extend(words.map(|words| (words.to_vec(), call.function.clone())));
        }
        (!expanded.is_empty()).then_some(expanded)
    }
}

/// Returns the words of an assigned value; `None`: they are not known.
fn value(word: &CommandWord, is_quoted: bool) -> Option<Vec<CommandWord>> {
    if !word.items.is_empty() {
        return Some(word.items.clone());
    }
    if word.is_fixed() {
        let is_list = word.text.chars().eq([UNKNOWN]);
        return Some(if is_list { Vec::new() } else { split(&word.text, is_quoted) });
    }
    if word.variable().is_some() {
        return Some(vec![word.clone()]);
    }
    if let [finder, args @ ..] = word.inner.as_slice()
        && FINDERS.contains(&finder.text.as_str())
    {
        let named = args.iter().find(|arg| !arg.text.starts_with('-'));
        return named.map(|named| vec![named.clone()]);
    }
    let name = word.text.rsplit_once('/').map_or("", |(_, name)| name);
    (!name.is_empty() && !name.contains(UNKNOWN)).then(|| vec![word.clone()])
}

/// Splits a text held by a variable into words.
fn split(text: &str, is_quoted: bool) -> Vec<CommandWord> {
    let word = |text: &str| CommandWord { text: text.to_owned(), ..CommandWord::default() };
    if is_quoted {
        return (!text.is_empty()).then(|| word(text)).into_iter().collect();
    }
    text.split_whitespace().map(word).collect()
}
