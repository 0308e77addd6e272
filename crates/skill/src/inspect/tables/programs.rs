use std::{collections::BTreeMap, sync::OnceLock};

use super::words::rows;
use crate::inspect::rules::ExecutedProgram;

/// A table of programs: their names, the arguments they must have, and a text about them,
/// where `{}` is the program and `{word}` the argument that fits `verb` or `early`.
///
/// Arguments are conditions, which all hold, each with alternatives between commas:
///
/// - `short:kK`: one of these letters is given as an option, as in `-fsSLk`
/// - `has:a,b`, `lacks:a,b`: an argument is, or no argument is, one of these words
/// - `verb:a,b`: the first argument that is not an option is one of these words
/// - `early:a,b`: one of the first four arguments is one of these words
/// - `starts:a`, `holds:a`: an argument starts with this, or contains it
/// - `like:a`, `likestart:a`, `likeholds:a`: an argument is this, starts with it or contains it, in
///   any case
/// - `beyond:a,b`: there is more than one argument, or another one than these words
pub(in crate::inspect) struct ProgramTable {
    text: &'static str,
    rows: OnceLock<BTreeMap<&'static str, Vec<ProgramRow>>>,
}

/// The conditions on a program, and the text about it.
#[derive(Clone)]
struct ProgramRow {
    conditions: Vec<ArgumentCondition>,
    text: &'static str,
}

/// A condition on the arguments of a program: its kind, and the alternatives.
#[derive(Clone)]
struct ArgumentCondition {
    kind: &'static str,
    words: Vec<&'static str>,
}

impl ProgramTable {
    /// Makes a table from its text, whose columns are between bars.
    pub(in crate::inspect) const fn from_table(text: &'static str) -> Self {
        Self { text, rows: OnceLock::new() }
    }

    /// Returns the text about a program in every row whose conditions hold.
    pub(in crate::inspect) fn texts(&self, program: &ExecutedProgram<'_>) -> impl Iterator<Item = String> {
        let rows = self.rows.get_or_init(|| read(self.text)).get(program.name);
        let rows = rows.into_iter().flatten();
        let rows = rows
            .filter(|row| row.conditions.iter().all(|argument_condition| argument_condition.holds(program)));
        rows.map(|row| {
            let word = row.conditions.iter().find_map(|condition| condition.word(program));
            row.text.replace("{}", program.name).replace("{word}", word.unwrap_or_default())
        })
    }

    /// True if the conditions of a row hold.
    pub(in crate::inspect) fn lists(&self, program: &ExecutedProgram<'_>) -> bool {
        self.texts(program).next().is_some()
    }
}

fn read(text: &'static str) -> BTreeMap<&'static str, Vec<ProgramRow>> {
    let mut table: BTreeMap<&str, Vec<ProgramRow>> = BTreeMap::new();
    for row in rows(text) {
        let mut columns = row.split('|').map(str::trim);
        let names = columns.next().unwrap_or_default();
        let conditions = columns.next().unwrap_or_default().split_whitespace();
        let conditions = conditions.filter_map(|condition| condition.split_once(':'));
        let conditions =
            conditions.map(|(kind, words)| ArgumentCondition { kind, words: words.split(',').collect() });
        let row = ProgramRow { conditions: conditions.collect(), text: columns.next().unwrap_or_default() };
        for name in names.split_whitespace() {
            table.entry(name).or_default().push(row.clone());
        }
    }
    table
}

impl ArgumentCondition {
    /// Returns the argument that fits, if its place matters.
    fn word<'p>(&self, program: &ExecutedProgram<'p>) -> Option<&'p str> {
        let is = |text: &&str| self.words.contains(text);
        match self.kind {
            "verb" => Some(program.verb()).filter(is),
            "early" => program.args.iter().take(4).map(|arg| arg.text.as_str()).find(is),
            _ => None,
        }
    }

    fn holds(&self, program: &ExecutedProgram<'_>) -> bool {
        let mut texts = program.args.iter().map(|arg| arg.text.as_str());
        let mut any = |test: &dyn Fn(&str, &str) -> bool| {
            texts.any(|text| self.words.iter().any(|word| test(text, word)))
        };
        match self.kind {
            "short" => self.words.iter().any(|letters| letters.chars().any(|letter| program.short(letter))),
            "has" => any(&|text, word| text == word),
            "lacks" => !any(&|text, word| text == word),
            "verb" | "early" => self.word(program).is_some(),
            "starts" => any(&|text, word| text.starts_with(word)),
            "holds" => any(&|text, word| text.contains(word)),
            "like" => any(&|text, word| text.eq_ignore_ascii_case(word)),
            "likestart" => any(&|text, word| text.to_ascii_lowercase().starts_with(word)),
            "likeholds" => any(&|text, word| text.to_ascii_lowercase().contains(word)),
            "beyond" => program.args.len() != 1 || !any(&|text, word| text == word),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::inspect::Rule;

    #[test]
    fn every_row_of_the_tables_has_programs_and_known_conditions() {
        let kinds = [
            "short",
            "has",
            "lacks",
            "verb",
            "early",
            "starts",
            "holds",
            "like",
            "likestart",
            "likeholds",
            "beyond",
        ];
        let rules = include_str!("programs/program_rules.txt");
        for text in [
            rules,
            include_str!("programs/installers.txt"),
            include_str!("programs/network_programs.txt"),
            include_str!("programs/decoders.txt"),
            include_str!("programs/credential_printers.txt"),
        ] {
            let written = super::rows(text).filter_map(|row| row.split('|').nth(1));
            let written: Vec<&str> = written.flat_map(str::split_whitespace).collect();
            assert!(written.iter().all(|one| kinds.contains(&one.split(':').next().unwrap())), "{written:?}");
            assert!(
                read(text)
                    .values()
                    .flatten()
                    .all(|row| row.text.is_empty() == text.contains("print what they"))
            );
        }
        for row in read(rules).values().flatten() {
            assert!(
                row.text.split_once(": ").is_some_and(|(code, _)| Rule::of(code).is_some()),
                "{}",
                row.text
            );
        }
    }
}
