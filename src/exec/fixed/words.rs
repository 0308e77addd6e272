//! The simple commands of a shell script, as far as they can be seen without running it.

/// A part of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Stands there as it is.
    Text(String),
    /// The value of a variable.
    Var(String),
    /// Known only when the script runs.
    Unknown,
}

/// A word of a command.
pub(super) type Word = Vec<Part>;

/// A command without operators.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Simple {
    /// Its words: assignments, the program, the arguments.
    pub(super) words: Vec<Word>,
    /// The file that it reads as standard input.
    pub(super) stdin: Option<Word>,
    /// The text that it reads as standard input.
    pub(super) here: Option<String>,
    /// The files that it makes anew of what it prints.
    pub(super) made: Vec<Word>,
}

/// What stands in a script, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// A part begins that has its own working directory and variables.
    Open,
    /// It ends.
    Close,
    /// A command.
    Simple(Simple),
}

/// Words in front of a command that do not change what it is.
const BEFORE: [&str; 10] = [
    "if", "then", "else", "elif", "while", "until", "do", "!", "{", "time",
];

/// Words that begin what is no command.
const NONE: [&str; 7] = ["for", "select", "function", "fi", "done", "esac", "}"];

mod quotes;

/// Reads a script. What is no shell comes out as commands that nobody has.
pub(super) fn read(script: &str) -> Vec<Event> {
    let mut reader = Reader {
        text: script.chars().collect(),
        ..Reader::default()
    };
    reader.commands(false);
    reader.events
}

#[derive(Default)]
struct Reader {
    text: Vec<char>,
    at: usize,
    events: Vec<Event>,
    simple: Simple,
    word: Option<Word>,
    /// Whether the word has characters that a shell may replace by names of files.
    glob: bool,
    /// What the next word is for.
    target: Target,
    /// How many `case` are open in this part.
    cases: usize,
    /// The ends of texts that begin on the next line; whether tabs before them are cut.
    heres: Vec<(String, bool)>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Target {
    #[default]
    Word,
    Stdin,
    Nothing,
    Made,
    Here {
        tabs: bool,
    },
}

impl Reader {
    fn peek(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek();
        self.at += usize::from(next.is_some());
        next
    }

    fn eat(&mut self, wanted: char) -> bool {
        let there = self.peek() == Some(wanted);
        self.at += usize::from(there);
        there
    }

    fn push(&mut self, text: char) {
        match self.word.get_or_insert_default().last_mut() {
            Some(Part::Text(before)) => before.push(text),
            _ => self.part(Part::Text(text.into())),
        }
    }

    fn part(&mut self, part: Part) {
        self.word.get_or_insert_default().push(part);
    }

    /// Commands up to the end of the script, or to the bracket that closes this part.
    fn commands(&mut self, inner: bool) {
        while let Some(next) = self.next() {
            match next {
                '\\' => match self.next() {
                    Some('\n') | None => {}
                    Some(text) => self.push(text),
                },
                '\'' => self.quoted(),
                '"' => self.double(),
                '$' => self.dollar(),
                '`' => self.backticks(),
                '#' if self.word.is_none() => self.comment(),
                ' ' | '\t' | '\r' => self.end_word(),
                '\n' => {
                    self.end();
                    self.read_heres();
                }
                '&' if self.peek() == Some('>') => {}
                ';' | '&' | '|' => self.end(),
                '(' => self.open(),
                ')' => {
                    self.end_word();
                    let closes = self.first() == Some("esac");
                    self.cases -= usize::from(closes).min(self.cases);
                    if self.cases > 0 || self.first() == Some("case") {
                        self.pattern();
                    } else if inner {
                        break;
                    } else {
                        self.simple = Simple::default();
                    }
                }
                '<' | '>' => self.redirection(next),
                '~' if self.word.is_none() && matches!(self.peek(), Some('/' | ' ') | None) => {
                    self.part(Part::Var("HOME".into()));
                }
                other => {
                    let brace = other == '{' && self.peek().is_some_and(|c| !c.is_whitespace());
                    self.glob |= brace || matches!(other, '*' | '?' | '[');
                    self.push(other);
                }
            }
        }
        self.end();
    }

    /// A bracket: of a function, of a list, of a calculation, or around commands.
    fn open(&mut self) {
        if self.word.is_some() {
            if self.eat(')') {
                self.word = None;
                self.simple = Simple::default();
            } else {
                self.skip_balanced(1);
                self.part(Part::Unknown);
            }
        } else if self.eat('(') {
            self.skip_balanced(2);
        } else {
            self.end();
            self.inside();
        }
    }

    /// What stood before the bracket was a pattern of `case`.
    fn pattern(&mut self) {
        if self.first() == Some("case") {
            self.cases += 1;
        }
        self.simple = Simple::default();
    }

    fn redirection(&mut self, sign: char) {
        let number = |word: &Word| match word.as_slice() {
            [Part::Text(text)] => text.bytes().all(|b| b.is_ascii_digit()),
            _ => false,
        };
        self.word = self.word.take().filter(|word| !number(word));
        self.end_word();
        if self.eat('(') {
            self.inside();
            self.part(Part::Unknown);
            return;
        }
        self.target = match (sign, self.peek()) {
            ('<', Some('<')) => {
                self.at += 1;
                if self.eat('<') {
                    Target::Nothing
                } else {
                    let tabs = self.eat('-');
                    Target::Here { tabs }
                }
            }
            ('<' | '>', Some('&' | '>')) => {
                self.at += 1;
                Target::Nothing
            }
            ('<', _) => Target::Stdin,
            (_, next) => {
                self.at += usize::from(next == Some('|'));
                Target::Made
            }
        };
    }

    /// The texts that were announced on the line before.
    fn read_heres(&mut self) {
        for (end, tabs) in std::mem::take(&mut self.heres) {
            let mut body = String::new();
            while self.at < self.text.len() {
                let line: String = (self.text.iter().skip(self.at))
                    .take_while(|c| **c != '\n')
                    .collect();
                self.at += line.chars().count() + 1;
                let line = if tabs {
                    line.trim_start_matches('\t')
                } else {
                    &line
                };
                if line == end {
                    break;
                }
                body += line;
                body.push('\n');
            }
            // It belongs to the command that announced it, which was the last one or near it.
            let last = self.events.iter_mut().rev().find_map(|event| match event {
                Event::Simple(simple) if simple.here.as_deref() == Some("") => Some(simple),
                _ => None,
            });
            if let Some(simple) = last {
                simple.here = Some(body);
            }
        }
        self.at = self.at.min(self.text.len());
    }

    fn end_word(&mut self) {
        let glob = std::mem::take(&mut self.glob);
        let Some(mut word) = self.word.take() else {
            return;
        };
        if glob && !matches!(literal(&word), Some("[" | "[[")) {
            word.push(Part::Unknown);
        }
        match std::mem::take(&mut self.target) {
            Target::Stdin => self.simple.stdin = Some(word),
            Target::Nothing => {}
            Target::Made => self.simple.made.push(word),
            Target::Here { tabs } => {
                self.heres
                    .push((literal(&word).unwrap_or_default().to_owned(), tabs));
                self.simple.here = Some(String::new());
            }
            Target::Word => {
                let first = self.simple.words.is_empty();
                if !(first && literal(&word).is_some_and(|word| BEFORE.contains(&word))) {
                    self.simple.words.push(word);
                }
            }
        }
    }

    fn first(&self) -> Option<&str> {
        self.simple.words.first().and_then(|word| literal(word))
    }

    fn end(&mut self) {
        self.end_word();
        self.target = Target::Word;
        match self.first() {
            Some("case") => self.cases += 1,
            Some("esac") => self.cases = self.cases.saturating_sub(1),
            _ => {}
        }
        let none = self
            .first()
            .is_some_and(|word| word == "case" || NONE.contains(&word));
        let simple = std::mem::take(&mut self.simple);
        if !none && simple != Simple::default() {
            self.events.push(Event::Simple(simple));
        }
    }
}

/// The text of a word in which nothing is replaced.
fn literal(word: &Word) -> Option<&str> {
    match word.as_slice() {
        [] => Some(""),
        [Part::Text(text)] => Some(text),
        _ => None,
    }
}
