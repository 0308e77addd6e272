//! Front matter in YAML except for an unquoted value, such as
//! `description: Use when: asked`.

use super::super::yaml::{self, SkillYamlDocument};
use wf_base::source::Span;

/// The maximum number of values to quote.
const MOST: usize = 16;

/// Reads a broken front matter by quoting the values at which it breaks. Returns the document and
/// the spans of these values; `None` if quoting does not help either.
pub(super) fn read_quoted(text: &str, at: Span) -> Option<(SkillYamlDocument, Vec<Span>)> {
    let mut own = RequotedYaml { lines: lines(text, at), quoted: Vec::new() };
    for _ in 0..=MOST {
        let yaml = own.text();
        match yaml::read_document(&yaml, Span::new(0, yaml.len())) {
            Ok(document) => return Some((own.restore(document), own.quoted)),
            Err(broken) => own.quote(broken.span.range().start)?,
        }
    }
    None
}

/// One line: its original start, and its current text.
struct RequotedLine {
    start: usize,
    text: String,
    /// The offsets at which a byte was inserted into its text.
    added: Vec<usize>,
    is_quoted: bool,
}

struct RequotedYaml {
    lines: Vec<RequotedLine>,
    quoted: Vec<Span>,
}

fn lines(text: &str, at: Span) -> Vec<RequotedLine> {
    let mut start = at.range().start;
    let part = text.get(at.range()).unwrap_or("");
    let line = |line: &str| {
        let own = RequotedLine { start, text: line.to_owned(), added: Vec::new(), is_quoted: false };
        start += line.len();
        own
    };
    part.split_inclusive('\n').map(line).collect()
}

impl RequotedYaml {
    fn text(&self) -> String {
        self.lines.iter().map(|line| line.text.as_str()).collect()
    }

    /// Quotes the value at a byte offset; `None` if there is none that could be quoted.
    fn quote(&mut self, place: usize) -> Option<()> {
        let mut end = 0;
        let ends = self.lines.iter().map(|line| {
            end += line.text.len();
            end
        });
        let here = ends.take_while(|end| *end <= place).count();
        let here = here.min(self.lines.len().checked_sub(1)?);
        // The offset may be in a line that continues the value of an earlier one, or at the point
        // where the parser noticed that the value before it was not closed.
        let before = (0..here).rev().find(|at| self.value(*at).is_some());
        let candidates = [self.parent_line(here), Some(here), before].into_iter().flatten();
        let first = candidates.into_iter().find(|at| self.is_open(*at))?;
        let indent = self.lines.get(first).map(|line| indent(&line.text))?;
        let below = self.lines.iter().skip(first + 1);
        let more = below.take_while(|line| indent_of(line).is_none_or(|own| own > indent)).count();
        let filled = (first..=first + more).rev().find(|at| self.is_filled(*at))?;
        self.wrap(first, filled)
    }

    /// Returns the nearest line above with less indentation: lines below a value continue it.
    fn parent_line(&self, here: usize) -> Option<usize> {
        let own = self.lines.get(here).and_then(indent_of)?;
        let less = |at: &usize| self.lines.get(*at).and_then(indent_of).is_some_and(|indent| indent < own);
        (0..here).rev().find(less)
    }

    /// True if a line has a value that can be quoted.
    fn is_open(&self, at: usize) -> bool {
        self.value(at).is_some() && self.lines.get(at).is_some_and(|line| !line.is_quoted)
    }

    /// Returns the start of the value of a `key: value` line, if it is neither quoted nor a block.
    fn value(&self, at: usize) -> Option<usize> {
        let line = self.lines.get(at)?.text.as_str();
        let (key, rest) = line.split_once(": ")?;
        let name = key.trim_start_matches([' ', '-']);
        let is_key = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        let value = rest.trim_start();
        let is_open = !value.is_empty() && !value.starts_with(['"', '\'', '|', '>', '#']);
        let is_key = !name.is_empty() && name.chars().all(is_key);
        (is_key && is_open).then(|| line.len() - value.len())
    }

    fn is_filled(&self, at: usize) -> bool {
        self.lines.get(at).is_some_and(|line| !line.text.trim().is_empty())
    }

    fn wrap(&mut self, first: usize, last: usize) -> Option<()> {
        let start = self.value(first)?;
        let mut place = Span::default();
        for at in first..=last {
            let line = self.lines.get_mut(at)?;
            let from = if at == first { start } else { indent(&line.text) };
            let to = line.text.trim_end().len();
            if at == first {
                place = Span::new(line.start + from, line.start + to);
            }
            place = Span::new(place.range().start, line.start + to);
            line.wrap(from, to, at == first, at == last);
        }
        self.quoted.push(place);
        Some(())
    }

    /// Converts an offset in the quoted text to one in the original text.
    fn original(&self, place: usize) -> usize {
        let mut before = 0;
        for line in &self.lines {
            let within = place.saturating_sub(before);
            if within <= line.text.len() {
                let added = line.added.iter().filter(|at| **at < within).count();
                return line.start + within - added;
            }
            before += line.text.len();
        }
        self.lines.last().map_or(0, |line| line.start)
    }

    fn restore(&self, document: SkillYamlDocument) -> SkillYamlDocument {
        document.moved(&|span: Span| {
            let range = span.range();
            Span::new(self.original(range.start), self.original(range.end))
        })
    }
}

impl RequotedLine {
    fn wrap(&mut self, from: usize, to: usize, opens: bool, closes: bool) {
        let mut text = self.text.get(..from).unwrap_or("").to_owned();
        if opens {
            self.added.push(text.len());
            text.push('"');
        }
        for c in self.text.get(from..to).unwrap_or("").chars() {
            if c == '"' || c == '\\' {
                self.added.push(text.len());
                text.push('\\');
            }
            text.push(c);
        }
        if closes {
            self.added.push(text.len());
            text.push('"');
        }
        text.push_str(self.text.get(to..).unwrap_or(""));
        self.text = text;
        self.is_quoted = true;
    }
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Returns the indentation of a line that is not blank.
fn indent_of(line: &RequotedLine) -> Option<usize> {
    (!line.text.trim().is_empty()).then(|| indent(&line.text))
}

#[cfg(test)]
mod tests {
    use super::read_quoted;
    use wf_base::source::Span;

    fn check(yaml: &str, key: &str, expected: Option<(&str, &str)>) {
        let text = format!("é---\n{yaml}---\n");
        let at = Span::new(6, 6 + yaml.len());
        let slice = |span: Span| text.get(span.range()).unwrap();
        let found = read_quoted(&text, at).map(|(document, quoted)| {
            let root = document.root.unwrap();
            for entry in root.entries().unwrap() {
                assert_eq!(slice(entry.at), entry.key, "{yaml}");
            }
            let value = root.get(key).unwrap().value.text().unwrap().to_owned();
            (value, slice(*quoted.first().unwrap()).to_owned())
        });
        let expected = expected.map(|(value, at)| (value.to_owned(), at.to_owned()));
        assert_eq!(found, expected, "{yaml}");
    }

    #[test]
    fn a_value_is_read_as_if_in_quotes() {
        check(
            "name: é\ndescription: Use \"x\" when: a\\b\nlicense: MIT\n",
            "description",
            Some(("Use \"x\" when: a\\b", "Use \"x\" when: a\\b")),
        );
        check("d: `code` first\ne: f\n", "d", Some(("`code` first", "`code` first")));
        check(
            "d: one: two\n  three: four\ne: f\n",
            "d",
            Some(("one: two three: four", "one: two\n  three: four")),
        );
        check("d: one\n  two: three\ne: f\n", "d", Some(("one two: three", "one\n  two: three")));
        check("d: [a] b\ne: f: g\n", "e", Some(("f: g", "[a] b")));
        check("m:\n  d: a: b\n  e: |\n    x: y: z\nf: g\n", "f", Some(("g", "a: b")));
    }

    #[test]
    fn what_quotes_do_not_mend_stays_broken() {
        for yaml in ["d: 'x\n", "a\nb: c\n- d\n", "d: \"x\" y\n", ""] {
            if !yaml.is_empty() {
                check(yaml, "d", None);
            }
        }
        let many: String = (0..20).map(|n| format!("k{n}: a: b\n")).collect();
        check(&many, "k1", None);
    }
}
