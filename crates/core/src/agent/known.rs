use std::collections::BTreeMap;

use wf_base::digest::Sha256Digest;

use super::Message;

/// The stored conversations, each by a name. One that begins with another is stored as that name and the messages after
/// it: else the space that a conversation takes would grow with the square of its turns.
#[derive(Clone, Debug, Default)]
pub struct KnownConversations(BTreeMap<Sha256Digest, String>);

/// The beginning of a conversation that is stored already: its name, and the number of its messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownBeginning {
    pub name: String,
    pub messages: usize,
}

impl KnownConversations {
    /// Returns the longest stored conversation that this one begins with.
    pub fn beginning(&self, messages: &[Message]) -> Option<KnownBeginning> {
        let found = digests(messages).zip(1..).filter_map(|(digest, count)| {
            self.0.get(&digest).map(|name| KnownBeginning { name: name.clone(), messages: count })
        });
        found.last()
    }

    /// Adds a conversation that was stored. One that is known keeps its name.
    pub fn add(&mut self, messages: &[Message], name: &str) {
        if let Some(digest) = digests(messages).last() {
            self.0.entry(digest).or_insert_with(|| name.to_owned());
        }
    }
}

/// Returns the digest of each beginning of a conversation, the shortest one first. Each covers the one before it and
/// one message, so no message is hashed twice.
fn digests(messages: &[Message]) -> impl Iterator<Item = Sha256Digest> {
    messages.iter().scan(String::new(), |before, message| {
        before.push_str(&serde_json::to_string(message).unwrap_or_default());
        let digest = Sha256Digest::of_bytes(before.as_bytes());
        *before = digest.to_string();
        Some(digest)
    })
}

#[cfg(test)]
mod tests {
    use super::{KnownBeginning, KnownConversations};
    use crate::agent::Message;

    fn conversation(texts: &[&str]) -> Vec<Message> {
        texts.iter().map(|text| Message::User { text: (*text).to_owned() }).collect()
    }

    #[test]
    fn a_conversation_continues_the_longest_one_that_it_begins_with() {
        let mut known = KnownConversations::default();
        assert_eq!(known.beginning(&conversation(&["a"])), None);
        known.add(&conversation(&["a"]), "one");
        known.add(&conversation(&["a", "b"]), "two");
        known.add(&conversation(&["a", "b"]), "again");
        known.add(&[], "empty");
        for (texts, expected) in [
            (&["a"][..], Some(("one", 1))),
            (&["a", "x"], Some(("one", 1))),
            (&["a", "b", "c"], Some(("two", 2))),
            (&["b", "a"], None),
            (&["ab"], None),
            (&[], None),
        ] {
            let expected = expected.map(|(name, messages)| KnownBeginning { name: name.into(), messages });
            assert_eq!(known.beginning(&conversation(texts)), expected, "{texts:?}");
        }
    }
}
