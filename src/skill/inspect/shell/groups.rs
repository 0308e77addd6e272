use std::collections::BTreeSet;
use std::rc::Rc;

use super::lexer::{DEEPEST, Reader};
use super::words::{Command, Pipeline};

/// Words that only say how the commands after them hang together.
const KEYWORDS: [&str; 7] = ["then", "else", "elif", "do", "!", "time", "coproc"];

/// How many commands are joined to one pipeline: who pipes more is not followed.
const MOST_JOINED: usize = 200;

/// What is being read.
pub(super) struct Open {
    /// The commands before the one that is read.
    pub(super) pipeline: Vec<Command>,
    pub(super) command: Command,
    /// The function whose body comes next.
    pub(super) named: Option<Rc<str>>,
    groups: Vec<Group>,
}

/// Commands that belong together: `{ … }`, `if … fi`, `while … done`, `case … esac`.
struct Group {
    /// The word that closes it.
    end: &'static str,
    /// What is piped into it.
    before: Rc<[Command]>,
    /// The first of the pipelines in it.
    from: usize,
    /// The function that is read outside of it.
    outer: Option<Rc<str>>,
    /// Whether a pattern of `case` comes next.
    is_at_pattern: bool,
}

impl Open {
    pub(super) fn new(before: Rc<[Command]>) -> Self {
        let outermost = Group {
            end: "",
            before,
            from: 0,
            outer: None,
            is_at_pattern: false,
        };
        Self {
            pipeline: Vec::new(),
            command: Command::default(),
            named: None,
            groups: vec![outermost],
        }
    }

    pub(super) fn pipe(&mut self) {
        let command = std::mem::take(&mut self.command);
        if command != Command::default() {
            self.pipeline.push(command);
        }
    }

    /// Ends a pipeline.
    pub(super) fn end(&mut self, out: &mut Vec<Pipeline>) {
        self.pipe();
        let commands = std::mem::take(&mut self.pipeline);
        if !commands.is_empty() {
            let before = self.before();
            out.push(Pipeline { before, commands });
        }
    }

    fn before(&self) -> Rc<[Command]> {
        let group = self.groups.last();
        group.map_or_else(|| Rc::from([]), |group| Rc::clone(&group.before))
    }

    /// What is piped into a group that begins here.
    pub(super) fn piped(&mut self, out: &mut Vec<Pipeline>) -> Rc<[Command]> {
        let own = std::mem::take(&mut self.pipeline);
        let outer = self.before();
        let all = outer.iter().chain(&own).take(MOST_JOINED);
        let all = all.cloned().collect();
        if !own.is_empty() {
            out.push(Pipeline {
                before: outer,
                commands: own,
            });
        }
        all
    }

    /// What pipelines print is piped on, in place of what was read last.
    pub(super) fn joined(&mut self, inner: &[Pipeline]) {
        let mut seen = BTreeSet::new();
        let inner = inner.iter().flat_map(|one| &one.commands);
        let inner = inner.filter(|command| seen.insert(command.at));
        self.pipeline = inner.take(MOST_JOINED).cloned().collect();
    }

    /// Whether a pattern of `case` comes next.
    pub(super) fn is_at_pattern(&self) -> bool {
        self.groups.last().is_some_and(|group| group.is_at_pattern)
    }

    /// The commands of a pattern have ended.
    pub(super) fn next_pattern(&mut self) {
        if let Some(group) = self.groups.last_mut() {
            group.is_at_pattern = group.end == "esac";
        }
    }

    /// Ends the innermost group; whether there was one.
    pub(super) fn close(
        &mut self,
        out: &mut Vec<Pipeline>,
        function: &mut Option<Rc<str>>,
    ) -> bool {
        if self.groups.len() < 2 {
            return false;
        }
        self.end(out);
        if let Some(group) = self.groups.pop() {
            *function = group.outer;
        }
        true
    }

    /// Whether this word ends the innermost group.
    fn is_end(&self, word: &str) -> bool {
        let last = self.groups.last();
        last.is_some_and(|group| !group.end.is_empty() && group.end == word)
    }
}

impl Reader<'_> {
    /// Takes in a word that is none of a command, but of what holds commands together.
    pub(super) fn keyword(&mut self, all: &mut Open, word: &str) -> bool {
        match word {
            "{" => self.group(all, "}"),
            "if" => self.group(all, "fi"),
            "while" | "until" => self.group(all, "done"),
            "for" | "select" => {
                self.group(all, "done");
                // Its name and its values are those of a command.
                return false;
            }
            "case" => {
                self.group(all, "esac");
                self.subject();
                all.next_pattern();
            }
            "function" => {
                self.blanks();
                all.named = Some(Rc::from(self.word().text.as_str()));
                self.blanks();
                if self.takes("(") {
                    self.blanks();
                    let _ = self.takes(")");
                }
            }
            _ if all.is_end(word) => self.group_end(all),
            "}" | "fi" | "done" | "esac" => {}
            _ => return KEYWORDS.contains(&word),
        }
        true
    }

    fn group(&mut self, all: &mut Open, end: &'static str) {
        if all.groups.len() + self.depth >= 2 * DEEPEST {
            self.gives_up();
            return;
        }
        let outer = self.function.clone();
        if let Some(named) = all.named.take() {
            self.function = Some(named);
        }
        let before = all.piped(&mut self.out.pipelines);
        all.groups.push(Group {
            end,
            before,
            from: self.out.pipelines.len(),
            outer,
            is_at_pattern: false,
        });
    }

    fn group_end(&mut self, all: &mut Open) {
        let from = all.groups.last().map_or(0, |group| group.from);
        all.close(&mut self.out.pipelines, &mut self.function);
        self.goes_on(all, from);
    }

    /// What `case` looks at, up to its `in`.
    fn subject(&mut self) {
        self.blanks();
        let word = self.word();
        self.out.vars.extend(word.vars);
        self.gaps();
        let from = self.at;
        if self.word().text != "in" {
            self.at = from;
        }
    }

    /// A pattern of `case`, up to its `)`, or the end of `case`.
    pub(super) fn pattern(&mut self, all: &mut Open) {
        self.gaps();
        let _ = self.takes("(");
        loop {
            self.gaps();
            let from = self.at;
            match self.peek() {
                None => break,
                Some(')') => {
                    self.at += 1;
                    break;
                }
                Some('|') => self.at += 1,
                Some(_) => {
                    let word = self.word();
                    if word.text == "esac" && !word.is_quoted {
                        return self.group_end(all);
                    }
                    self.out.vars.extend(word.vars);
                    if self.at == from {
                        self.next();
                    }
                }
            }
        }
        if let Some(group) = all.groups.last_mut() {
            group.is_at_pattern = false;
        }
    }

    /// Blanks, line ends and comments.
    fn gaps(&mut self) {
        loop {
            self.blanks();
            match self.peek() {
                Some('\n') => self.line(),
                Some('#') => self.comment(),
                _ => return,
            }
        }
    }
}
