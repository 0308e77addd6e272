/// A part of a text read at once: a paragraph with its list, or a fenced block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::inspect) struct TextPassage<'a> {
    /// Its offset, in bytes.
    pub(in crate::inspect) at: usize,
    pub(in crate::inspect) text: &'a str,
    /// Its language, if it is a fenced block.
    pub(in crate::inspect) fence: Option<&'a str>,
    /// The line before it that is not blank.
    pub(in crate::inspect) lead: &'a str,
    /// The heading above it.
    pub(in crate::inspect) heading: &'a str,
}

/// Returns the passages of a text, in order.
pub(in crate::inspect) fn passages(text: &str) -> Vec<TextPassage<'_>> {
    let mut cut = PassageSplitter { text, ..PassageSplitter::default() };
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        cut.line(line, at);
        at += line.len();
    }
    cut.end(at);
    cut.passages
}

#[derive(Default)]
struct PassageSplitter<'a> {
    text: &'a str,
    passages: Vec<TextPassage<'a>>,
    /// The offset of the current passage.
    from: Option<usize>,
    /// The sign of the fence that is open, and its language.
    fence: Option<(&'a str, &'a str)>,
    lead: &'a str,
    last: &'a str,
    heading: &'a str,
}

impl<'a> PassageSplitter<'a> {
    fn line(&mut self, line: &'a str, at: usize) {
        let bare = line.trim().trim_start_matches(['>', ' ']);
        let sign = ["```", "~~~"].into_iter().find(|sign| bare.starts_with(sign));
        match (self.fence, sign) {
            (Some((open, _)), Some(sign)) if open == sign => {
                self.end(at);
                self.fence = None;
            }
            (Some(_), _) => {
                self.from.get_or_insert(at);
            }
            (None, Some(sign)) => {
                self.end(at);
                self.fence = Some((sign, bare.trim_start_matches(['`', '~']).trim()));
            }
            (None, None) if bare.is_empty() => self.end(at),
            (None, None) => {
                if self.from.is_none() {
                    self.lead = self.last;
                    self.from = Some(at);
                }
                if bare.starts_with('#') {
                    self.heading = bare;
                }
                self.last = bare;
            }
        }
    }

    fn end(&mut self, at: usize) {
        let Some(from) = self.from.take() else { return };
        let fence = self.fence.map(|(_, language)| language);
        self.passages.push(TextPassage {
            at: from,
            text: self.text.get(from..at).unwrap_or_default(),
            fence,
            lead: if fence.is_some() { self.last } else { self.lead },
            heading: self.heading,
        });
    }
}
