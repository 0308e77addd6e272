use serde::{Deserialize, Serialize};

use super::log::Stream;
use crate::verify::END;

/// The last of what a process printed: at most [`END`] bytes of each stream. What is no UTF-8 is
/// replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ends {
    /// Of its standard output.
    pub out: String,
    /// Of its standard error.
    pub err: String,
}

impl Ends {
    /// Whether nothing was printed, or kept.
    pub fn is_empty(&self) -> bool {
        self.out.is_empty() && self.err.is_empty()
    }
}

/// Keeps the last of both streams, and at most twice as much as is wanted.
#[derive(Debug, Default)]
pub(super) struct Last {
    out: Vec<u8>,
    err: Vec<u8>,
}

impl Last {
    pub(super) fn take(&mut self, stream: Stream, bytes: &[u8]) {
        let kept = match stream {
            Stream::Out => &mut self.out,
            Stream::Err => &mut self.err,
            Stream::Note => return,
        };
        if kept.len() + bytes.len() > 2 * END {
            kept.drain(..kept.len().saturating_sub(END));
        }
        kept.extend_from_slice(last(bytes));
    }

    pub(super) fn ends(&self) -> Ends {
        let text = |bytes| String::from_utf8_lossy(last(bytes)).into_owned();
        Ends {
            out: text(&self.out),
            err: text(&self.err),
        }
    }
}

fn last(bytes: &[u8]) -> &[u8] {
    bytes
        .get(bytes.len().saturating_sub(END)..)
        .unwrap_or(bytes)
}

#[cfg(test)]
mod tests {
    use super::{END, Last, Stream};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_last_is_kept_however_it_comes(sizes in prop::collection::vec(0..3 * END, 0..8)) {
            let mut last = Last::default();
            let mut all = String::new();
            for (at, size) in sizes.into_iter().enumerate() {
                let part: String = ('a'..='z').cycle().skip(at).take(size).collect();
                last.take(Stream::Err, part.as_bytes());
                last.take(Stream::Note, b"left out");
                prop_assert!(last.err.len() <= 2 * END);
                all.push_str(&part);
            }
            let ends = last.ends();
            prop_assert_eq!(&ends.err, &all[all.len().saturating_sub(END)..]);
            prop_assert_eq!(ends.out, "");
        }
    }
}
