use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use wf_base::source::{Span, Spanned};

/// A part of the body: a heading and the text up to the next heading.
#[derive(Clone, Debug, PartialEq)]
pub struct MarkdownSection {
    /// Its heading; `None` before the first.
    pub heading: Option<MarkdownHeading>,
    /// The whole section, the heading included.
    pub span: Span,
    /// Its fenced code blocks.
    pub blocks: Vec<FencedBlock>,
}

/// A heading.
#[derive(Clone, Debug, PartialEq)]
pub struct MarkdownHeading {
    /// Its text, without formatting.
    pub text: String,
    /// From 1, the highest, to 6.
    pub level: u8,
    /// The whole line.
    pub span: Span,
}

/// A fenced code block.
#[derive(Clone, Debug)]
pub struct FencedBlock {
    /// The first word of its info string.
    pub language: String,
    /// Its text, line ends as `\n`.
    pub text: Spanned<String>,
    /// The whole block, the fences included.
    pub span: Span,
    /// The opening fence and its info string: enough to point at the block.
    pub opening: Span,
}

impl PartialEq for FencedBlock {
    fn eq(&self, other: &Self) -> bool {
        self.span == other.span && self.text.value == other.text.value
    }
}

/// Finds the sections of the Markdown at `at` in `text`.
pub fn sections(text: &str, at: Span) -> Vec<MarkdownSection> {
    let body = text.get(at.range()).unwrap_or("");
    let mut outline = OutlineBuilder::new(body, at);
    for (event, range) in Parser::new_ext(body, Options::empty()).into_offset_iter() {
        outline.event(event, range);
    }
    outline.finish()
}

struct OutlineBuilder<'b> {
    body: &'b str,
    at: Span,
    sections: Vec<MarkdownSection>,
    heading: Option<MarkdownHeading>,
    block: Option<FencedBlock>,
    /// The number of open quotes, lists and items: a heading inside them starts no section.
    nested: usize,
}

impl<'b> OutlineBuilder<'b> {
    fn new(body: &'b str, at: Span) -> Self {
        let first = MarkdownSection { heading: None, span: at, blocks: Vec::new() };
        Self { body, at, sections: vec![first], heading: None, block: None, nested: 0 }
    }

    fn event(&mut self, event: Event<'_>, range: Range<usize>) {
        let span = self.at.subspan(range.clone());
        match event {
            Event::Start(Tag::BlockQuote(_) | Tag::List(_) | Tag::Item) => self.nested += 1,
            Event::End(TagEnd::BlockQuote(_) | TagEnd::List(_) | TagEnd::Item) => {
                self.nested = self.nested.saturating_sub(1);
            }
            Event::Start(Tag::Heading { level, .. }) if self.nested == 0 => {
                self.heading =
                    Some(MarkdownHeading { text: String::new(), level: level_number(level), span });
            }
            Event::End(TagEnd::Heading(_)) => self.begin_section(),
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                self.block = Some(FencedBlock {
                    language: info.split_whitespace().next().unwrap_or("").to_owned(),
                    text: Spanned::new(String::new(), Span::new(0, 0)),
                    opening: self.first_line(range),
                    span,
                });
            }
            Event::End(TagEnd::CodeBlock) => self.end_block(),
            Event::Text(text) | Event::Code(text) => self.text(&text, span),
            _ => {}
        }
    }

    fn first_line(&self, range: Range<usize>) -> Span {
        let text = self.body.get(range.clone()).unwrap_or("");
        let line = text.lines().next().unwrap_or("");
        self.at.subspan(range.start..range.start + line.trim_end().len())
    }

    fn text(&mut self, text: &str, span: Span) {
        if let Some(block) = &mut self.block {
            let content = &mut block.text;
            if content.value.is_empty() {
                content.span = span;
            }
            content.span.end = span.end;
            content.value.push_str(text);
        } else if let Some(heading) = &mut self.heading {
            heading.text.push_str(text);
        }
    }

    fn begin_section(&mut self) {
        let Some(heading) = self.heading.take() else {
            return;
        };
        if let Some(before) = self.sections.last_mut() {
            before.span.end = heading.span.start;
        }
        self.sections.push(MarkdownSection {
            span: Span { start: heading.span.start, end: self.at.end },
            heading: Some(heading),
            blocks: Vec::new(),
        });
    }

    fn end_block(&mut self) {
        let section = self.sections.last_mut();
        if let (Some(mut block), Some(section)) = (self.block.take(), section) {
            if block.text.value.contains('\r') {
                block.text.value = block.text.value.replace("\r\n", "\n");
            }
            section.blocks.push(block);
        }
    }

    fn finish(self) -> Vec<MarkdownSection> {
        self.sections
    }
}

fn level_number(level: HeadingLevel) -> u8 {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}

#[cfg(test)]
mod tests {
    use super::sections;
    use wf_base::source::Span;

    /// Renders sections as `level heading | language: script | …`.
    fn outline(text: &str) -> Vec<String> {
        let found = sections(text, Span::new(0, text.len()));
        let one = |section: super::MarkdownSection| {
            let head = section.heading.map(|h| format!("{} {}", h.level, h.text));
            let blocks = section.blocks.iter().map(|block| {
                assert!(text.is_char_boundary(block.text.span.end as usize));
                format!(" | {}: {}", block.language, block.text.value)
            });
            head.unwrap_or_default() + &blocks.collect::<String>()
        };
        found.into_iter().map(one).collect()
    }

    #[test]
    fn headings_make_sections_and_fences_make_blocks() {
        let text = "intro\n\n## one\n```sh\necho 1\n\necho 2\n```\n### `two`\n~~~\nx\n~~~\n";
        assert_eq!(outline(text), ["", "2 one | sh: echo 1\n\necho 2\n", "3 two | : x\n"]);
    }

    #[test]
    fn line_ends_are_normal_and_indents_are_not_part_of_a_script() {
        assert_eq!(
            outline("# a\r\n```sh\r\necho 1\r\necho 2\r\n```\r\n"),
            ["", "1 a | sh: echo 1\necho 2\n"]
        );
        assert_eq!(outline("- item\n\n  ```sh\n  a\n    b\n  ```\n"), [" | sh: a\n  b\n"]);
    }

    #[test]
    fn what_is_quoted_or_indented_is_neither() {
        assert_eq!(outline("> # quoted\n\n    # indented\n"), [""]);
        assert_eq!(outline("setext\n===\ntext\n"), ["", "1 setext"]);
    }
}
