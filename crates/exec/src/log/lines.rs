//! The lines of two streams in one log: none is torn apart, and none held back for long.

/// The maximum number of bytes held back until a line ends.
const MAX_HELD_BYTES: usize = 16 * 1024;

/// Cuts one stream at its line ends, so that two streams can share a log.
#[derive(Debug, Default)]
pub(super) struct LineBuffer {
    buffer: Vec<u8>,
}

impl LineBuffer {
    /// Takes bytes and passes on whole lines, or the available part of a very long one.
    pub(super) fn push(&mut self, bytes: &[u8], give: &mut dyn FnMut(&[u8])) {
        let Some(last) = memchr::memrchr(b'\n', bytes) else {
            return self.hold(bytes, give);
        };
        let (whole, begun) = bytes.split_at(last + 1);
        let mut rest = whole;
        if !self.buffer.is_empty() {
            let first = memchr::memchr(b'\n', whole).unwrap_or(last);
            let (end, after) = whole.split_at(first + 1);
            self.buffer.extend_from_slice(end);
            self.flush(give);
            rest = after;
        }
        if !rest.is_empty() {
            give(rest);
        }
        self.hold(begun, give);
    }

    /// Passes on everything held back.
    pub(super) fn flush(&mut self, give: &mut dyn FnMut(&[u8])) {
        if !self.buffer.is_empty() {
            give(&self.buffer);
            self.buffer.clear();
        }
    }

    /// True if bytes are held back.
    pub(super) fn holds(&self) -> bool {
        !self.buffer.is_empty()
    }

    fn hold(&mut self, bytes: &[u8], give: &mut dyn FnMut(&[u8])) {
        if self.buffer.len() + bytes.len() <= MAX_HELD_BYTES {
            self.buffer.extend_from_slice(bytes);
        } else {
            self.flush(give);
            give(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LineBuffer, MAX_HELD_BYTES};
    use proptest::prelude::*;

    fn check(pushed: &[&[u8]], given: &[&[u8]]) {
        let mut lines = LineBuffer::default();
        let mut got: Vec<Vec<u8>> = Vec::new();
        for bytes in pushed {
            lines.push(bytes, &mut |part| got.push(part.to_vec()));
        }
        lines.flush(&mut |part| got.push(part.to_vec()));
        assert_eq!(got, given);
    }

    #[test]
    fn lines_stay_whole() {
        check(&[b"one\n"], &[b"one\n"]);
        check(&[b"o", b"ne\ntw", b"o\n"], &[b"one\n", b"two\n"]);
        check(&[b"a\nb\nc"], &[b"a\nb\n", b"c"]);
        check(&[b"a", b"b\nc\nd\ne"], &[b"ab\n", b"c\nd\n", b"e"]);
        check(&[b"", b"\n", b""], &[b"\n"]);
    }

    #[test]
    fn a_line_without_end_is_not_held() {
        let long = vec![b'x'; MAX_HELD_BYTES + 1];
        check(&[b"a", &long], &[b"a", &long]);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_or_moved(parts in proptest::collection::vec(
            proptest::collection::vec(prop_oneof![Just(b'\n'), any::<u8>()], 0..40), 0..20)) {
            let mut lines = LineBuffer::default();
            let mut got = Vec::new();
            for part in &parts {
                lines.push(part, &mut |bytes| got.extend_from_slice(bytes));
            }
            lines.flush(&mut |bytes| got.extend_from_slice(bytes));
            prop_assert_eq!(got, parts.concat());
        }
    }
}
