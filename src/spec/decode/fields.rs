use super::decoder::wrong_type;
use super::{Decode, Decoder};
use crate::diag::{Code, Diagnostic, nearest};
use crate::source::Span;
use crate::spec::yaml::{Entry, Node, Yaml};

/// How many unknown keys of a mapping are compared with the known ones.
const FEW: usize = 20;

/// A key of other tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Foreign {
    /// The key in lower case, without what joins its words.
    pub key: &'static str,
    /// The key that does the same here; empty if none does.
    pub means: &'static str,
    /// What to write instead.
    pub help: &'static str,
}

/// What a mapping with fixed keys is called and may have.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Its name in sentences, for example "a step".
    pub what: &'static str,
    /// The keys it may have.
    pub known: &'static [&'static str],
    /// Keys that are known and not built yet.
    pub later: &'static [&'static str],
    /// Keys that it has not, and what to do instead.
    pub instead: &'static [(&'static str, &'static str)],
    /// Keys that do the same elsewhere.
    pub foreign: &'static [Foreign],
}

/// The keys of one mapping, taken one by one.
#[derive(Debug)]
pub struct Fields<'n, 'a> {
    shape: Shape,
    entries: &'n [Entry<'a>],
    /// The marks of all keys that are there: most of those that a mapping may have are absent,
    /// and need not be looked for.
    marks: u64,
    head: Span,
    /// The known keys that others seem to mean.
    misspelt: Vec<&'static str>,
}

impl<'n, 'a> Fields<'n, 'a> {
    /// Opens a mapping and notes every key it may not have.
    pub fn open(shape: Shape, node: &'n Node<'a>, decoder: &mut Decoder<'_>) -> Option<Self> {
        let Yaml::Map(entries) = &node.value else {
            let expected = format!("{}, which is a mapping", shape.what);
            match &node.value {
                Yaml::Text(_) if shape.known.contains(&"run") => {
                    let first = shape.known.first().copied().unwrap_or("run");
                    let help = format!("write `{{{first}: a_name, run: …}}`");
                    decoder.note(wrong_type(node, &expected).help(help));
                }
                _ => decoder.wrong_type(node, &expected),
            }
            return None;
        };
        let mut fields = Self {
            shape,
            entries,
            marks: entries.iter().fold(0, |all, entry| all | mark(&entry.key)),
            head: node.head(),
            misspelt: Vec::new(),
        };
        fields.refuse_others(decoder);
        Some(fields)
    }

    /// A place for mistakes about the whole mapping.
    pub fn head(&self) -> Span {
        self.head
    }

    /// Whether a key is there, whatever its value, or was meant to be.
    pub fn has(&self, key: &str) -> bool {
        self.find(key).is_some() || self.misspelt.contains(&key)
    }

    /// Where a key stands; the head of the mapping if it is absent.
    pub fn key(&self, key: &str) -> Span {
        self.find(key).map_or(self.head, |entry| entry.at)
    }

    /// Reads a key that may be absent.
    #[expect(
        clippy::inline_always,
        reason = "most keys are absent, and where it is known which one, that is seen by one bit"
    )]
    #[inline(always)]
    pub fn take<T: Decode>(&self, key: &str, decoder: &mut Decoder<'_>) -> Option<T> {
        T::decode(&self.find(key)?.value, decoder)
    }

    /// Reads a key that must be there.
    pub fn require<T: Decode>(&self, key: &str, decoder: &mut Decoder<'_>) -> Option<T> {
        if !self.has(key) {
            let message = format!("{} needs the key `{key}`", self.shape.what);
            decoder.note(Diagnostic::new(Code::KeyMissing, self.head, message));
        }
        self.take(key, decoder)
    }

    fn refuse_others(&mut self, decoder: &mut Decoder<'_>) {
        let Shape { known, later, .. } = self.shape;
        for entry in self.entries {
            let key: &str = &entry.key;
            if known.contains(&key) || decoder.is_full() {
                continue;
            }
            decoder.note(if later.contains(&key) {
                not_built(key, entry.at)
            } else {
                self.unknown(key, entry.at)
            });
        }
    }

    /// The mistake of a key that does not exist, with the nearest one or all that do.
    fn unknown(&mut self, key: &str, at: Span) -> Diagnostic {
        let Shape {
            what,
            known,
            instead,
            foreign,
            ..
        } = self.shape;
        let mistake = Diagnostic::new(Code::KeyUnknown, at, format!("{what} has no key `{key}`"));
        if let Some((_, help)) = instead.iter().find(|(other, _)| *other == key) {
            return mistake.help(*help);
        }
        let plain = plain(key);
        let same = known.iter().find(|known| known.replace('_', "") == plain);
        let other = foreign.iter().find(|foreign| foreign.key == plain);
        if let (None, Some(other)) = (same, other) {
            self.misspelt.push(other.means);
            return mistake.help(other.help);
        }
        let Some(near) = nearest(key, known.iter().copied()) else {
            return mistake.help(format!("its keys are {}", known.join(", ")));
        };
        if self.misspelt.len() < FEW {
            self.misspelt
                .extend(known.iter().filter(|known| **known == near));
        }
        mistake.meant(Some(near))
    }

    #[expect(clippy::inline_always, reason = "as above")]
    #[inline(always)]
    fn find(&self, key: &str) -> Option<&'n Entry<'a>> {
        if self.marks & mark(key) == 0 {
            return None;
        }
        self.look(key)
    }

    fn look(&self, key: &str) -> Option<&'n Entry<'a>> {
        self.entries.iter().find(|entry| entry.key == key)
    }
}

/// One bit of 64 for a key, which few others share.
#[expect(clippy::inline_always, reason = "as above")]
#[inline(always)]
fn mark(key: &str) -> u64 {
    let bytes = key.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else {
        return 1;
    };
    1 << ((bytes.len() + usize::from(*first) * 3 + usize::from(*last) * 7) % 64)
}

/// A key in lower case, without what joins its words.
fn plain(key: &str) -> String {
    let letters = key.chars().filter(|c| !matches!(c, '-' | '_' | ' ' | '.'));
    letters.flat_map(char::to_lowercase).take(FEW * 2).collect()
}

fn not_built(key: &str, at: Span) -> Diagnostic {
    let message = format!("`{key}` is known and not built yet");
    Diagnostic::new(Code::KindNotBuilt, at, message).help("remove it for now")
}
