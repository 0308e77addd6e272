use std::borrow::Cow;

use wf_base::redact::{MaskingStream, SecretMask};

/// The masks the bytes of a stream pass, one after another: the mask of the secrets, then those of the values added by
/// the attempt.
pub(super) struct MaskChain(Vec<MaskingStream>);

impl MaskChain {
    pub(super) fn new(secrets: &SecretMask) -> Self {
        Self(vec![secrets.stream()])
    }

    /// Adds the mask of all values that came so far. It takes the place of the last such one, unless that has begun to
    /// see a value.
    pub(super) fn extend(&mut self, mask: &SecretMask) {
        if self.0.len() > 1 && self.0.last().is_some_and(MaskingStream::is_idle) {
            self.0.pop();
        }
        self.0.push(mask.stream());
    }

    /// Takes a chunk and returns the bytes that can be shown by now.
    pub(super) fn feed<'c>(&mut self, chunk: &'c [u8]) -> Cow<'c, [u8]> {
        self.0.iter_mut().fold(Cow::Borrowed(chunk), |bytes, mask| match bytes {
            Cow::Borrowed(bytes) => mask.feed(bytes),
            Cow::Owned(bytes) => Cow::Owned(mask.feed(&bytes).into_owned()),
        })
    }

    /// Returns the bytes held back, at the end of the input.
    pub(super) fn finish(&mut self) -> Vec<u8> {
        self.0.iter_mut().fold(Vec::new(), |held, mask| {
            let mut rest = mask.feed(&held).into_owned();
            rest.extend(mask.finish());
            rest
        })
    }
}
