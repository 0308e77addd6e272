use super::{Decode, Decoder};
use crate::diag::{Code, Diagnostic, nearest};
use crate::source::Span;
use crate::spec::yaml::{Entry, Node, Yaml};

/// The keys of one mapping, taken one by one.
#[derive(Debug)]
pub struct Fields<'n, 'a> {
    what: &'static str,
    entries: &'n [Entry<'a>],
    head: Span,
}

impl<'n, 'a> Fields<'n, 'a> {
    /// Opens a mapping; `what` names it in sentences, for example "a step".
    pub fn open(what: &'static str, node: &'n Node<'a>, decoder: &mut Decoder<'_>) -> Option<Self> {
        let Yaml::Map(entries) = &node.value else {
            decoder.wrong_type(node, &format!("{what}, which is a mapping"));
            return None;
        };
        Some(Self {
            what,
            entries,
            head: node.head(),
        })
    }

    /// A place for mistakes about the whole mapping.
    pub fn head(&self) -> Span {
        self.head
    }

    /// Whether a key is there, whatever its value.
    pub fn has(&self, key: &str) -> bool {
        self.find(key).is_some()
    }

    /// Where a key stands; the head of the mapping if it is absent.
    pub fn key(&self, key: &str) -> Span {
        self.find(key).map_or(self.head, |entry| entry.at)
    }

    /// Reads a key that may be absent.
    pub fn take<T: Decode>(&self, key: &str, decoder: &mut Decoder<'_>) -> Option<T> {
        T::decode(&self.find(key)?.value, decoder)
    }

    /// Reads a key that must be there.
    pub fn require<T: Decode>(&self, key: &str, decoder: &mut Decoder<'_>) -> Option<T> {
        if self.find(key).is_none() {
            let message = format!("{} needs the key `{key}`", self.what);
            decoder.note(Diagnostic::new(Code::KeyMissing, self.head, message));
        }
        self.take(key, decoder)
    }

    /// Notes every key that is not one of `known`; those of `later` are not built yet.
    pub fn refuse_others(&self, known: &[&str], later: &[&str], decoder: &mut Decoder<'_>) {
        for entry in self.entries {
            let key: &str = &entry.key;
            if known.contains(&key) || decoder.is_full() {
                continue;
            }
            decoder.note(if later.contains(&key) {
                not_built(key, entry.at)
            } else {
                unknown(self.what, key, entry.at, known)
            });
        }
    }

    fn find(&self, key: &str) -> Option<&'n Entry<'a>> {
        self.entries.iter().find(|entry| entry.key == key)
    }
}

fn not_built(key: &str, at: Span) -> Diagnostic {
    let message = format!("`{key}` is known, and this version cannot use it yet");
    Diagnostic::new(Code::KindNotBuilt, at, message).help("remove it for now")
}

/// The mistake of a key that does not exist, with the nearest one or all that do.
fn unknown(what: &str, key: &str, at: Span, known: &[&str]) -> Diagnostic {
    let message = format!("{what} has no key `{key}`");
    let mistake = Diagnostic::new(Code::KeyUnknown, at, message);
    match nearest(key, known.iter().copied()) {
        Some(near) => mistake.meant(Some(near)),
        None => mistake.help(format!("its keys are {}", known.join(", "))),
    }
}
