//! Compound commands: their words, their patterns, and the pipelines in and around them.

use std::{collections::BTreeSet, rc::Rc};

use super::{
    lexer::{DEEPEST, ShellLexer},
    words::{ShellCommand, ShellPipeline},
};

/// Words that only structure the commands after them.
const KEYWORDS: [&str; 7] = ["then", "else", "elif", "do", "!", "time", "coproc"];

/// The maximum number of commands joined to one pipeline; longer ones are not followed.
const MOST_JOINED: usize = 200;

/// The state of the pipeline being read.
pub(super) struct OpenPipeline {
    /// The commands before the current one.
    pub(super) commands: Vec<ShellCommand>,
    pub(super) command: ShellCommand,
    /// The function whose body comes next.
    pub(super) named: Option<Rc<str>>,
    groups: Vec<CompoundCommand>,
}

/// A compound command: `{ … }`, `if … fi`, `while … done`, `case … esac`.
struct CompoundCommand {
    /// The word that closes it.
    end: &'static str,
    /// The commands piped into it.
    before: Rc<[ShellCommand]>,
    /// The first of the pipelines in it.
    from: usize,
    /// The function around it.
    outer: Option<Rc<str>>,
    /// True if a pattern of `case` comes next.
    is_at_pattern: bool,
}

impl OpenPipeline {
    pub(super) fn new(before: Rc<[ShellCommand]>) -> Self {
        let outermost = CompoundCommand { end: "", before, from: 0, outer: None, is_at_pattern: false };
        Self { commands: Vec::new(), command: ShellCommand::default(), named: None, groups: vec![outermost] }
    }

    pub(super) fn pipe(&mut self) {
        let command = std::mem::take(&mut self.command);
        if command != ShellCommand::default() {
            self.commands.push(command);
        }
    }

    pub(super) fn end(&mut self, pipelines: &mut Vec<ShellPipeline>) {
        self.pipe();
        let commands = std::mem::take(&mut self.commands);
        if !commands.is_empty() {
            let before = self.before();
            pipelines.push(ShellPipeline { before, commands });
        }
    }

    fn before(&self) -> Rc<[ShellCommand]> {
        let group = self.groups.last();
        group.map_or_else(|| Rc::from([]), |group| Rc::clone(&group.before))
    }

    /// Returns the commands piped into a group beginning here.
    pub(super) fn piped(&mut self, pipelines: &mut Vec<ShellPipeline>) -> Rc<[ShellCommand]> {
        let own = std::mem::take(&mut self.commands);
        let outer = self.before();
        let joined_commands = outer.iter().chain(&own).take(MOST_JOINED);
        let shell_commands = joined_commands.cloned().collect();
        if !own.is_empty() {
            pipelines.push(ShellPipeline { before: outer, commands: own });
        }
        shell_commands
    }

    /// Pipes the output of pipelines on, in place of the last command read.
    pub(super) fn joined(&mut self, pipelines: &[ShellPipeline]) {
        let mut visited = BTreeSet::new();
        let inner = pipelines.iter().flat_map(|pipeline| &pipeline.commands);
        let inner = inner.filter(|command| visited.insert(command.at));
        self.commands = inner.take(MOST_JOINED).cloned().collect();
    }

    /// True if a pattern of `case` comes next.
    pub(super) fn is_at_pattern(&self) -> bool {
        self.groups.last().is_some_and(|group| group.is_at_pattern)
    }

    /// Ends the commands of a pattern.
    pub(super) fn next_pattern(&mut self) {
        if let Some(group) = self.groups.last_mut() {
            group.is_at_pattern = group.end == "esac";
        }
    }

    /// Ends the innermost group; returns true if there was one.
    pub(super) fn close(
        &mut self,
        pipelines: &mut Vec<ShellPipeline>,
        function: &mut Option<Rc<str>>,
    ) -> bool {
        if self.groups.len() < 2 {
            return false;
        }
        self.end(pipelines);
        if let Some(group) = self.groups.pop() {
            *function = group.outer;
        }
        true
    }

    /// True if this word ends the innermost group.
    fn is_end(&self, word: &str) -> bool {
        let last = self.groups.last();
        last.is_some_and(|group| !group.end.is_empty() && group.end == word)
    }
}

/// Reads a word of shell syntax that is not part of a command.
pub(super) fn keyword(lexer: &mut ShellLexer<'_>, pipeline: &mut OpenPipeline, word: &str) -> bool {
    match word {
        "{" => group(lexer, pipeline, "}"),
        "if" => group(lexer, pipeline, "fi"),
        "while" | "until" => group(lexer, pipeline, "done"),
        "for" | "select" => {
            group(lexer, pipeline, "done");
            // Its name and its values are read as a command.
            return false;
        }
        "case" => {
            group(lexer, pipeline, "esac");
            subject(lexer);
            pipeline.next_pattern();
        }
        "function" => {
            lexer.blanks();
            pipeline.named = Some(Rc::from(lexer.word().text.as_str()));
            lexer.blanks();
            if lexer.takes("(") {
                lexer.blanks();
                let _ = lexer.takes(")");
            }
        }
        _ if pipeline.is_end(word) => group_end(lexer, pipeline),
        "}" | "fi" | "done" | "esac" => {}
        _ => return KEYWORDS.contains(&word),
    }
    true
}

fn group(lexer: &mut ShellLexer<'_>, pipeline: &mut OpenPipeline, end: &'static str) {
    if pipeline.groups.len() + lexer.depth >= 2 * DEEPEST {
        lexer.stop_reading();
        return;
    }
    let outer = lexer.function.clone();
    if let Some(named) = pipeline.named.take() {
        lexer.function = Some(named);
    }
    let before = pipeline.piped(&mut lexer.script.pipelines);
    pipeline.groups.push(CompoundCommand {
        end,
        before,
        from: lexer.script.pipelines.len(),
        outer,
        is_at_pattern: false,
    });
}

fn group_end(lexer: &mut ShellLexer<'_>, pipeline: &mut OpenPipeline) {
    let from = pipeline.groups.last().map_or(0, |group| group.from);
    pipeline.close(&mut lexer.script.pipelines, &mut lexer.function);
    lexer.pass_output(pipeline, from);
}

/// Reads the subject of `case`, up to its `in`.
fn subject(lexer: &mut ShellLexer<'_>) {
    lexer.blanks();
    let word = lexer.word();
    lexer.script.variables.extend(word.variables);
    gaps(lexer);
    let from = lexer.at;
    if lexer.word().text != "in" {
        lexer.at = from;
    }
}

/// Reads a pattern of `case`, up to its `)`, or the end of `case`.
pub(super) fn pattern(lexer: &mut ShellLexer<'_>, pipeline: &mut OpenPipeline) {
    gaps(lexer);
    let _ = lexer.takes("(");
    loop {
        gaps(lexer);
        let from = lexer.at;
        match lexer.peek() {
            None => break,
            Some(')') => {
                lexer.at += 1;
                break;
            }
            Some('|') => lexer.at += 1,
            Some(_) => {
                let word = lexer.word();
                if word.text == "esac" && !word.is_quoted {
                    return group_end(lexer, pipeline);
                }
                lexer.script.variables.extend(word.variables);
                if lexer.at == from {
                    lexer.next();
                }
            }
        }
    }
    if let Some(group) = pipeline.groups.last_mut() {
        group.is_at_pattern = false;
    }
}

/// Skips blanks, line ends and comments.
fn gaps(lexer: &mut ShellLexer<'_>) {
    loop {
        lexer.blanks();
        match lexer.peek() {
            Some('\n') => lexer.line(),
            Some('#') => lexer.comment(),
            _ => return,
        }
    }
}
