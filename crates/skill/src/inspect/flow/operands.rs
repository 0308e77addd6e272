use super::{facts::ValuePlaceIx, shell::ShellFactReader};
use crate::inspect::shell::{CommandWord, UNKNOWN};

/// The arguments of a command, and their values.
pub(super) struct CommandOperands<'a> {
    pub(super) words: &'a [CommandWord],
    pub(super) values: Vec<ValuePlaceIx>,
}

impl CommandOperands<'_> {
    /// Returns the arguments besides options and the values of these options, words between blanks.
    pub(super) fn plain(&self, options: &str) -> Vec<ValuePlaceIx> {
        let mut values = Vec::new();
        let mut is_value = false;
        for (word, value) in self.words.iter().zip(&self.values) {
            let text = word.text.as_str();
            let is_option = text.len() > 1 && text.starts_with('-');
            if !is_value && !is_option {
                values.push(*value);
            }
            is_value = !is_value && is_option && is_listed_option(text, options) && !text.contains('=');
        }
        values
    }

    /// Returns the values of options: `-o FILE`, `-sSLo FILE`, `--output=FILE`.
    pub(super) fn option_values(&self, options: &str) -> Vec<(&str, ValuePlaceIx)> {
        let mut values = Vec::new();
        let mut operands = self.words.iter().zip(&self.values);
        while let Some((word, value)) = operands.next() {
            if !is_listed_option(&word.text, options) {
                continue;
            }
            if let Some((_, said)) = word.text.split_once('=').filter(|_| word.text.starts_with("--")) {
                values.push((said, *value));
            } else if let Some((next, value)) = operands.next() {
                values.push((next.text.as_str(), *value));
            }
        }
        values
    }

    /// Returns the places of the values of options.
    pub(super) fn option_places(&self, options: &str) -> Vec<ValuePlaceIx> {
        self.option_values(options).into_iter().map(|(_, place)| place).collect()
    }

    /// True if an option is given.
    pub(super) fn has_option(&self, options: &str) -> bool {
        self.words.iter().any(|word| is_listed_option(&word.text, options))
    }

    /// Returns the texts of the arguments.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.words.iter().map(|word| word.text.as_str())
    }
}

/// True if a word is one of these options; a short one may be the last of several letters.
fn is_listed_option(word: &str, options: &str) -> bool {
    let name = word.split('=').next().unwrap_or_default();
    options.split_whitespace().any(|option| {
        let letter = option.strip_prefix('-').filter(|rest| rest.len() == 1);
        name == option
            || letter.is_some_and(|letter| {
                word.starts_with('-')
                    && !word.starts_with("--")
                    && word.len() <= 7
                    && word.ends_with(letter)
                    && word.bytes().skip(1).all(|byte| byte.is_ascii_alphabetic())
            })
    })
}

impl ShellFactReader<'_, '_> {
    /// Returns the arguments of a command.
    pub(super) fn operands<'w>(
        &mut self,
        words: &'w [CommandWord],
        inner: &[ValuePlaceIx],
    ) -> CommandOperands<'w> {
        let values = words.iter().map(|word| self.operand(word, inner)).collect();
        CommandOperands { words, values }
    }

    /// Returns the value of a word: its text, its variables, and the output of commands in it.
    pub(super) fn operand(&mut self, word: &CommandWord, inner: &[ValuePlaceIx]) -> ValuePlaceIx {
        let value = self.facts.value();
        let text = self.rendered(word);
        for text_part in [text.as_str(), text.rsplit(['@', '=']).next().unwrap_or_default()] {
            self.facts.record_text(text_part, value);
            if let Some(folder) = &self.folder
                && !text_part.starts_with(['/', '~', '$'])
                && !text_part.contains("://")
            {
                let joined = format!("{folder}/{text_part}");
                self.facts.record_text(&joined, value);
            }
        }
        for var in &word.variables {
            let from = self.variable(&var.name, word.at);
            self.facts.moves(from, value);
            if let Some(default) = &var.default {
                self.facts.record_text(default, value);
            }
        }
        if word.has_command {
            for from in inner {
                self.facts.moves(*from, value);
            }
        }
        for item in &word.items {
            let from = self.operand(item, inner);
            self.facts.moves(from, value);
        }
        value
    }

    /// Returns the texts of the words with a slash.
    pub(super) fn rendered_paths(&self, words: &[CommandWord]) -> Vec<String> {
        words.iter().map(|word| self.rendered(word)).filter(|text| text.contains('/')).collect()
    }

    /// Returns the text of a word: variables are replaced by their one value or their name.
    pub(super) fn rendered(&self, word: &CommandWord) -> String {
        let mut names = word.variables.iter();
        let mut text = String::new();
        for c in word.text.chars() {
            if c != UNKNOWN {
                text.push(c);
                continue;
            }
            let var = names.next();
            let fixed = var.and_then(|var| self.fixed.get(&var.name));
            match (var, fixed) {
                (_, Some(fixed)) => text.push_str(fixed),
                (Some(var), None) => {
                    text.push('$');
                    text.push_str(&var.name);
                }
                (None, None) => text.push('*'),
            }
        }
        text
    }
}
