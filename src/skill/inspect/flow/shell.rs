use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::facts::{At, Event, Facts};
use super::place::{Label, Place};
use crate::skill::inspect::shell::{Command, DECLARING, Pipeline, Shell, read};

/// How deeply programs in programs are followed.
const DEEPEST: usize = 4;

/// A text with commands, and where it stands.
#[derive(Clone)]
pub(super) struct Source<'a> {
    /// The file.
    pub(super) file: &'a str,
    /// The name by which its variables are told from those of others.
    pub(super) scope: Rc<str>,
    /// Whether what stands at a byte counts.
    pub(super) counts: &'a dyn Fn(usize) -> bool,
}

/// Whoever reads the facts of a text with commands.
pub(super) struct Script<'a, 's> {
    pub(super) facts: &'a mut Facts,
    pub(super) source: &'a Source<'s>,
    /// The variables that have one fixed value.
    pub(super) fixed: BTreeMap<String, String>,
    /// The variables that are set.
    set: BTreeSet<String>,
    /// The functions that are defined.
    pub(super) functions: BTreeSet<Rc<str>>,
    /// The function that is read.
    function: Option<Rc<str>>,
    /// What pipelines print that may stand in a command to come: where, and what.
    printed: Vec<(usize, At)>,
    /// What each command prints.
    outputs: BTreeMap<usize, At>,
    pub(super) depth: usize,
    /// The folder into which the script went.
    pub(super) folder: Option<String>,
}

/// Reads the facts of a text with commands; gives what they print.
pub(super) fn shell(
    facts: &mut Facts,
    source: &Source<'_>,
    (text, base): (&str, usize),
    depth: usize,
) -> Vec<At> {
    if depth > DEEPEST {
        return Vec::new();
    }
    let all = read(text, base);
    let mut script = Script {
        fixed: fixed(&all),
        set: all
            .commands()
            .flat_map(|one| &one.sets)
            .map(|(name, _)| name.clone())
            .collect(),
        functions: all
            .commands()
            .filter_map(|one| one.function.clone())
            .collect(),
        function: None,
        printed: Vec::new(),
        outputs: BTreeMap::new(),
        folder: None,
        facts,
        source,
        depth,
    };
    let mut printed = Vec::new();
    for pipeline in &all.pipelines {
        let Some(first) = pipeline.commands.first() else {
            continue;
        };
        if !(source.counts)(first.at) {
            continue;
        }
        let out = script.pipeline(&all, pipeline);
        script.printed.push((begin(first), out));
        printed.push(out);
    }
    printed
}

/// The variables of a script that are set once, to a text that is known.
fn fixed(all: &Shell) -> BTreeMap<String, String> {
    let mut found: BTreeMap<String, Option<String>> = BTreeMap::new();
    for (name, value) in all.commands().flat_map(|one| &one.sets) {
        let is_known = value.is_fixed() && value.items.is_empty() && !value.is_appended;
        let value = is_known.then(|| value.text.clone());
        found
            .entry(name.clone())
            .and_modify(|one| *one = None)
            .or_insert(value);
    }
    let known = found
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    known.filter(|(_, value)| !value.is_empty()).collect()
}

fn begin(command: &Command) -> usize {
    let sets = command.sets.iter().map(|(_, value)| value.at);
    sets.min().unwrap_or(command.at).min(command.at)
}

impl Script<'_, '_> {
    fn pipeline(&mut self, all: &Shell, pipeline: &Pipeline) -> At {
        self.function = pipeline
            .commands
            .first()
            .and_then(|one| one.function.clone());
        let mut input = self.facts.place(Place::Input(self.named(None)));
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
            let (inner, rest): (Vec<_>, Vec<_>) = self
                .printed
                .iter()
                .partition(|(at, _)| *at > from && *at < end);
            self.printed = rest;
            let inner: Vec<At> = inner.into_iter().map(|(_, out)| out).collect();
            input = self.command(all, command, (input, &inner));
            self.outputs.insert(command.at, input);
        }
        let output = self.facts.place(Place::Output(self.named(None)));
        self.facts.moves(input, output);
        input
    }

    /// The name of a function of this text, or of the one that is read, or of the text itself.
    pub(super) fn named(&self, function: Option<&str>) -> Rc<str> {
        match function.or(self.function.as_deref()) {
            Some(function) => Rc::from(format!("{}#{function}", self.source.scope)),
            None => Rc::clone(&self.source.scope),
        }
    }

    /// The place of a variable.
    pub(super) fn variable(&mut self, name: &str, _at: usize) -> At {
        let is_argument =
            name.bytes().all(|byte| byte.is_ascii_digit()) || matches!(name, "@" | "*");
        if is_argument && name != "0" {
            let of = self.named(None);
            let number = if name == "*" { "@" } else { name };
            return self
                .facts
                .place(Place::Argument(of.to_string(), number.to_owned()));
        }
        let scope = Rc::clone(&self.source.scope);
        let variable = self.facts.place(Place::Variable(scope, name.to_owned()));
        if !self.set.contains(name) {
            let outer = self.facts.place(Place::Environment(name.to_owned()));
            self.facts.moves(outer, variable);
        }
        variable
    }

    fn command(&mut self, all: &Shell, command: &Command, (input, inner): (At, &[At])) -> At {
        let first = command.words.first().map_or("", |word| word.text.as_str());
        let is_exported =
            first == "export" || !command.words.is_empty() && !DECLARING.contains(&first);
        for (name, value) in &command.sets {
            let from = self.operand(value, inner);
            let scope = Rc::clone(&self.source.scope);
            let to = self.facts.place(Place::Variable(scope, name.clone()));
            self.facts.moves(from, to);
            if is_exported {
                let outer = self.facts.place(Place::Environment(name.clone()));
                self.facts.moves(from, outer);
            }
        }
        if first == "export" {
            for word in command.words.iter().skip(1).filter(|word| word.is_fixed()) {
                let scope = Rc::clone(&self.source.scope);
                if self.set.contains(&word.text) {
                    let from = self.facts.place(Place::Variable(scope, word.text.clone()));
                    let outer = self.facts.place(Place::Environment(word.text.clone()));
                    self.facts.moves(from, outer);
                }
            }
        }
        let given = self.given(all, command, (input, inner));
        let out = self.facts.value();
        self.program(command, (given, inner), out);
        for word in &command.writes {
            let paths = self.operand(word, inner);
            self.facts.stores.push((paths, out));
        }
        out
    }

    /// What a command is given to read.
    fn given(&mut self, all: &Shell, command: &Command, (input, inner): (At, &[At])) -> At {
        if command.reads.is_empty() && command.input.is_none() {
            return input;
        }
        let given = self.facts.value();
        for word in &command.reads {
            let paths = self.operand(word, inner);
            self.facts.loads.push((paths, given));
        }
        if let Some((at, text)) = &command.input {
            self.facts.says(text.trim(), given);
            for var in all
                .vars
                .iter()
                .filter(|var| (*at..=at + text.len() + 1).contains(&var.at))
            {
                let from = self.variable(&var.name, var.at);
                self.facts.moves(from, given);
            }
            for from in inner {
                self.facts.moves(*from, given);
            }
        }
        given
    }

    /// Something that is executed.
    pub(super) fn runs(&mut self, at: usize, what: At) {
        let file = self.source.file.to_owned();
        self.facts.runs.push(Event { file, at, what });
    }

    /// Something that is fetched from where a value says.
    pub(super) fn fetches(&mut self, at: usize, from: At, into: At) {
        let label = self.facts.fetch(self.source.file, at, from);
        self.facts.labels.push((label, into));
    }

    /// A value in another form.
    pub(super) fn packs(&mut self, at: usize, out: At) {
        let file = self.source.file.to_owned();
        self.facts.labels.push((Label::Packed, out));
        self.facts.packs.push(Event {
            file,
            at,
            what: out,
        });
    }
}
