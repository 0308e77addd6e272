use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use super::{
    facts::{FlowFacts, ValueEvent, ValuePlaceIx},
    place::ValuePlace,
};
use crate::inspect::shell::{DECLARING, ParsedShellScript, ShellCommand, ShellPipeline, read_script};

/// The maximum nesting of programs in programs that is followed.
const DEEPEST: usize = 4;

/// A text with commands, and its location.
#[derive(Clone)]
pub(super) struct CommandSource<'a> {
    pub(super) file: &'a str,
    /// The scope that separates its variables from others.
    pub(super) scope: Rc<str>,
    /// A filter: true if the text at an offset is analysed.
    pub(super) counts: &'a dyn Fn(usize) -> bool,
}

impl CommandSource<'_> {
    pub(super) fn event(&self, at: usize, place: ValuePlaceIx) -> ValueEvent {
        ValueEvent { file: self.file.to_owned(), at, place }
    }
}

/// A reader of the facts of a text with commands.
pub(super) struct ShellFactReader<'a, 's> {
    pub(super) facts: &'a mut FlowFacts,
    pub(super) source: &'a CommandSource<'s>,
    /// The variables with one fixed value.
    pub(super) fixed: BTreeMap<String, String>,
    /// The variables that are set.
    set: BTreeSet<String>,
    /// The functions that are defined.
    pub(super) functions: BTreeSet<Rc<str>>,
    /// The function whose body is read.
    function: Option<Rc<str>>,
    /// The outputs of pipelines that may be embedded in a later command: the offset, and the value.
    printed: Vec<(usize, ValuePlaceIx)>,
    /// The output of each command.
    outputs: BTreeMap<usize, ValuePlaceIx>,
    pub(super) depth: usize,
    /// The folder the script changed to.
    pub(super) folder: Option<String>,
}

/// Reads the facts of a text with commands; returns their output.
pub(super) fn shell(
    facts: &mut FlowFacts,
    source: &CommandSource<'_>,
    text: &str,
    base: usize,
    depth: usize,
) -> Vec<ValuePlaceIx> {
    if depth > DEEPEST {
        return Vec::new();
    }
    let parsed_shell_script = read_script(text, base);
    let mut script = ShellFactReader {
        fixed: fixed(&parsed_shell_script),
        set: parsed_shell_script
            .commands()
            .flat_map(|shell_command| &shell_command.sets)
            .map(|(name, _)| name.clone())
            .collect(),
        functions: parsed_shell_script.commands().filter_map(|command| command.function.clone()).collect(),
        function: None,
        printed: Vec::new(),
        outputs: BTreeMap::new(),
        folder: None,
        facts,
        source,
        depth,
    };
    let mut printed = Vec::new();
    for pipeline in &parsed_shell_script.pipelines {
        let Some(first) = pipeline.commands.first() else {
            continue;
        };
        if !(source.counts)(first.at) {
            continue;
        }
        let out = script.pipeline(&parsed_shell_script, pipeline);
        script.printed.push((begin(first), out));
        printed.push(out);
    }
    printed
}

/// Returns the variables of a script that are set once, to a known text.
fn fixed(script: &ParsedShellScript) -> BTreeMap<String, String> {
    let mut assignments: BTreeMap<String, Option<String>> = BTreeMap::new();
    for (name, value) in script.commands().flat_map(|command| &command.sets) {
        let is_known = value.is_fixed() && value.items.is_empty() && !value.is_appended;
        let value = is_known.then(|| value.text.clone());
        assignments.entry(name.clone()).and_modify(|value_once| *value_once = None).or_insert(value);
    }
    let constants = assignments.into_iter().filter_map(|(name, value)| Some((name, value?)));
    constants.filter(|(_, value)| !value.is_empty()).collect()
}

fn begin(command: &ShellCommand) -> usize {
    let sets = command.sets.iter().map(|(_, value)| value.at);
    sets.min().unwrap_or(command.at).min(command.at)
}

impl ShellFactReader<'_, '_> {
    fn pipeline(&mut self, script: &ParsedShellScript, pipeline: &ShellPipeline) -> ValuePlaceIx {
        self.function = pipeline.commands.first().and_then(|shell_command| shell_command.function.clone());
        let mut input = self.facts.place_ix(ValuePlace::Input(self.named(None)));
        if !pipeline.before.is_empty() {
            input = self.facts.value();
            for before in pipeline.before.iter() {
                if let Some(from) = self.outputs.get(&before.at) {
                    self.facts.moves(*from, input);
                }
            }
        }
        for (number, command) in pipeline.commands.iter().enumerate() {
            let end = pipeline.commands.get(number + 1).map_or(usize::MAX, begin);
            let from = begin(command);
            let (inner, rest): (Vec<_>, Vec<_>) =
                self.printed.iter().partition(|(at, _)| *at > from && *at < end);
            self.printed = rest;
            let inner: Vec<ValuePlaceIx> = inner.into_iter().map(|(_, out)| out).collect();
            input = self.command(script, command, input, &inner);
            self.outputs.insert(command.at, input);
        }
        self.facts.move_to(input, ValuePlace::Output(self.named(None)));
        input
    }

    /// Returns the scope name of a function of this text, of the current one, or of the text.
    pub(super) fn named(&self, function: Option<&str>) -> Rc<str> {
        match function.or(self.function.as_deref()) {
            Some(function) => Rc::from(format!("{}#{function}", self.source.scope)),
            None => Rc::clone(&self.source.scope),
        }
    }

    pub(super) fn variable(&mut self, name: &str, _at: usize) -> ValuePlaceIx {
        let is_argument = name.bytes().all(|byte| byte.is_ascii_digit()) || matches!(name, "@" | "*");
        if is_argument && name != "0" {
            let of = self.named(None);
            let number = if name == "*" { "@" } else { name };
            return self.facts.place_ix(ValuePlace::Argument(of.to_string(), number.to_owned()));
        }
        let scope = Rc::clone(&self.source.scope);
        let variable = self.facts.place_ix(ValuePlace::Variable(scope, name.to_owned()));
        if !self.set.contains(name) {
            self.facts.move_from(ValuePlace::Environment(name.to_owned()), variable);
        }
        variable
    }

    fn command(
        &mut self,
        script: &ParsedShellScript,
        command: &ShellCommand,
        input: ValuePlaceIx,
        inner: &[ValuePlaceIx],
    ) -> ValuePlaceIx {
        let first = command.words.first().map_or("", |word| word.text.as_str());
        let is_exported = first == "export" || !command.words.is_empty() && !DECLARING.contains(&first);
        for (name, value) in &command.sets {
            let from = self.operand(value, inner);
            let scope = Rc::clone(&self.source.scope);
            self.facts.move_to(from, ValuePlace::Variable(scope, name.clone()));
            if is_exported {
                self.facts.move_to(from, ValuePlace::Environment(name.clone()));
            }
        }
        if first == "export" {
            for word in command.words.iter().skip(1).filter(|word| word.is_fixed()) {
                let scope = Rc::clone(&self.source.scope);
                if self.set.contains(&word.text) {
                    let from = self.facts.place_ix(ValuePlace::Variable(scope, word.text.clone()));
                    self.facts.move_to(from, ValuePlace::Environment(word.text.clone()));
                }
            }
        }
        let input = self.input_of(script, command, input, inner);
        let out = self.facts.value();
        self.program(command, input, inner, out);
        for word in &command.writes {
            let paths = self.operand(word, inner);
            self.facts.stores.push((paths, out));
        }
        out
    }

    /// Returns the input of a command.
    fn input_of(
        &mut self,
        script: &ParsedShellScript,
        command: &ShellCommand,
        input: ValuePlaceIx,
        inner: &[ValuePlaceIx],
    ) -> ValuePlaceIx {
        if command.reads.is_empty() && command.input.is_none() {
            return input;
        }
        let own = self.facts.value();
        for word in &command.reads {
            let paths = self.operand(word, inner);
            self.facts.loads.push((paths, own));
        }
        if let Some((at, text)) = &command.input {
            self.facts.record_text(text.trim(), own);
            for var in script.variables.iter().filter(|var| (*at..=at + text.len() + 1).contains(&var.at)) {
                let from = self.variable(&var.name, var.at);
                self.facts.moves(from, own);
            }
            for from in inner {
                self.facts.moves(*from, own);
            }
        }
        own
    }

    /// Records the execution of a value.
    pub(super) fn runs(&mut self, at: usize, content: ValuePlaceIx) {
        let run = self.source.event(at, content);
        self.facts.run_events.push(run);
    }

    /// Records a fetch from the addresses in a value.
    pub(super) fn fetches(&mut self, at: usize, from: ValuePlaceIx, into: ValuePlaceIx) {
        let fetch = self.source.event(at, from);
        self.facts.fetch(fetch, into);
    }

    /// Records that a value is encoded.
    pub(super) fn packs(&mut self, at: usize, out: ValuePlaceIx) {
        let pack = self.source.event(at, out);
        self.facts.pack(pack);
    }
}
