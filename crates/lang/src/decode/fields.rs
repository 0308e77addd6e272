use super::{DecodeSpec, SpecDecoder, decoder::wrong_type};
use crate::yaml::{YamlEntry, YamlNode, YamlValue};
use wf_base::{
    diag::{Code, Diagnostic, nearest},
    source::Span,
};

/// The maximum number of unknown keys of a mapping compared with the known ones.
const FEW: usize = 20;

/// A key of other tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForeignToolKey {
    /// The key in lower case, without the characters that join its words.
    pub key: &'static str,
    /// The key with the same meaning here; empty if there is none.
    pub means: &'static str,
    /// The text to write instead.
    pub help: &'static str,
}

/// The name and the keys of a mapping with fixed keys.
#[derive(Clone, Copy, Debug)]
pub struct MappingShape {
    /// Its name in sentences, for example "a step".
    pub noun: &'static str,
    /// The allowed keys.
    pub known: &'static [&'static str],
    /// Forbidden keys, and the advice for each.
    pub replacements: &'static [(&'static str, &'static str)],
    /// Keys of other tools with the same meaning.
    pub foreign: &'static [ForeignToolKey],
}

impl MappingShape {
    /// Returns the mapping to write in place of a text, if the keys of the mapping suggest one.
    fn example(&self, text: &str) -> Option<String> {
        match *self.known.first()? {
            "from" => Some("{from: env, name: VARIABLE}".to_owned()),
            first @ ("id" | "name") if self.known.contains(&"run") => {
                let command = if is_plain_command(text) { text } else { "…" };
                Some(format!("{{{first}: NAME, run: {command}}}"))
            }
            _ => None,
        }
    }
}

/// True if YAML reads a command between braces as it is, without quotes.
fn is_plain_command(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " ./_-".contains(c);
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '.')
        && text.chars().all(is_plain)
        && !["true", "false", "null"].contains(&text)
}

/// The keys of one mapping, read one by one.
#[derive(Debug)]
pub struct MappingFields<'n, 'a> {
    shape: MappingShape,
    entries: &'n [YamlEntry<'a>],
    /// The marks of all present keys: most of the allowed keys of a mapping are absent, and need no
    /// search.
    marks: u64,
    head: Span,
    /// The known keys that misspelt ones seem to mean.
    misspelt: Vec<&'static str>,
}

impl<'n, 'a> MappingFields<'n, 'a> {
    /// Opens a mapping and notes every forbidden key.
    pub fn open(shape: MappingShape, node: &'n YamlNode<'a>, decoder: &mut SpecDecoder<'_>) -> Option<Self> {
        let YamlValue::Map(entries) = &node.value else {
            let expected = format!("{}, which is a mapping", shape.noun);
            match &node.value {
                YamlValue::Text(text) => {
                    let wrong = wrong_type(node, &expected);
                    decoder.emit(match shape.example(text) {
                        Some(example) => wrong.with_help(format!("write `{example}`")),
                        None => wrong,
                    });
                }
                _ => decoder.wrong_type(node, &expected),
            }
            return None;
        };
        let mut fields = Self {
            shape,
            entries,
            marks: entries.iter().fold(0, |sum, entry| sum | mark(&entry.key)),
            head: node.head(),
            misspelt: Vec::new(),
        };
        fields.refuse_others(decoder);
        Some(fields)
    }

    /// Returns the location for mistakes about the whole mapping.
    pub fn head(&self) -> Span {
        self.head
    }

    /// True if a key is present, whatever its value, or was meant to be.
    pub fn has(&self, key: &str) -> bool {
        self.find(key).is_some() || self.misspelt.contains(&key)
    }

    /// Returns the location of a key; the head of the mapping if it is absent.
    pub fn key(&self, key: &str) -> Span {
        self.find(key).map_or(self.head, |entry| entry.at)
    }

    /// Reads an optional key.
    #[expect(
        clippy::inline_always,
        reason = "most keys are absent, and where it is known which one, that is seen by one bit"
    )]
    #[inline(always)]
    pub fn take<T: DecodeSpec>(&self, key: &str, decoder: &mut SpecDecoder<'_>) -> Option<T> {
        T::decode(&self.find(key)?.value, decoder)
    }

    pub fn require<T: DecodeSpec>(&self, key: &str, decoder: &mut SpecDecoder<'_>) -> Option<T> {
        if !self.has(key) {
            let message = format!("{} requires the key `{key}`", self.shape.noun);
            decoder.emit(Diagnostic::new(Code::KeyMissing, self.head, message));
        }
        self.take(key, decoder)
    }

    fn refuse_others(&mut self, decoder: &mut SpecDecoder<'_>) {
        let MappingShape { known, .. } = self.shape;
        for entry in self.entries {
            let key: &str = &entry.key;
            if !known.contains(&key) && !decoder.is_full() {
                let mistake = self.unknown(key, entry.at);
                decoder.emit(mistake);
            }
        }
    }

    /// Returns the mistake of an unknown key, with the nearest known one or all of them.
    fn unknown(&mut self, key: &str, at: Span) -> Diagnostic {
        let MappingShape { noun, known: known_keys, replacements: instead, foreign, .. } = self.shape;
        let mistake = Diagnostic::new(Code::KeyUnknown, at, format!("unknown key `{key}` in {noun}"));
        if let Some((_, help)) = instead.iter().find(|(other, _)| *other == key) {
            return mistake.with_help(*help);
        }
        let plain = plain(key);
        let same = known_keys.iter().find(|known_key| known_key.replace('_', "") == plain);
        let other = foreign.iter().find(|foreign| foreign.key == plain);
        if let (None, Some(other)) = (same, other) {
            self.misspelt.push(other.means);
            return mistake.with_help(other.help);
        }
        let Some(near) = nearest(key, known_keys.iter().copied()) else {
            return mistake.with_help(format!("valid keys: {}", known_keys.join(", ")));
        };
        if self.misspelt.len() < FEW {
            self.misspelt.extend(known_keys.iter().filter(|known_key| **known_key == near));
        }
        mistake.with_suggestion(Some(near))
    }

    #[expect(clippy::inline_always, reason = "as above")]
    #[inline(always)]
    fn find(&self, key: &str) -> Option<&'n YamlEntry<'a>> {
        if self.marks & mark(key) == 0 {
            return None;
        }
        self.look(key)
    }

    fn look(&self, key: &str) -> Option<&'n YamlEntry<'a>> {
        self.entries.iter().find(|entry| entry.key == key)
    }
}

/// Returns one bit of 64 for a key, shared with few others.
#[expect(clippy::inline_always, reason = "as above")]
#[inline(always)]
fn mark(key: &str) -> u64 {
    let bytes = key.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else {
        return 1;
    };
    1 << ((bytes.len() + usize::from(*first) * 3 + usize::from(*last) * 7) % 64)
}

/// Returns a key in lower case, without the characters that join its words.
fn plain(key: &str) -> String {
    let letters = key.chars().filter(|c| !matches!(c, '-' | '_' | ' ' | '.'));
    letters.flat_map(char::to_lowercase).take(FEW * 2).collect()
}
