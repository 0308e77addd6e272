use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// A fenced block of a document.
#[derive(Clone, Debug)]
pub struct Fence {
    /// The words after the fence.
    pub info: Vec<String>,
    /// What is in it.
    pub text: String,
    /// The line it begins in, from one.
    pub line: usize,
    /// Where its text stands in the document.
    pub range: std::ops::Range<usize>,
}

impl Fence {
    /// The first word after the fence.
    pub fn language(&self) -> &str {
        self.info.first().map_or("", String::as_str)
    }

    /// Whether a word stands after the fence.
    pub fn has(&self, word: &str) -> bool {
        self.info.iter().skip(1).any(|own| own == word)
    }

    /// The name that a plan is given.
    pub fn name(&self) -> Option<&str> {
        self.info
            .iter()
            .map(String::as_str)
            .find(|word| word.strip_suffix(".md").is_some())
            .map(|word| word.strip_prefix("file:").unwrap_or(word))
    }

    /// The path of the file that it is in sessions of its document.
    pub fn file(&self) -> Option<&str> {
        self.info.iter().find_map(|word| word.strip_prefix("file:"))
    }

    /// The code of the mistake that it has.
    pub fn refused(&self) -> Option<&str> {
        self.info.iter().find_map(|word| word.strip_prefix("refused:"))
    }
}

/// The fenced blocks of a document.
pub fn all(document: &str) -> Vec<Fence> {
    let mut fences: Vec<Fence> = Vec::new();
    let mut open = false;
    for (event, range) in Parser::new(document).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                open = true;
                fences.push(Fence {
                    info: info.split_whitespace().map(str::to_owned).collect(),
                    text: String::new(),
                    line: document[..range.start].lines().count() + 1,
                    range: 0..0,
                });
            }
            Event::End(TagEnd::CodeBlock) => open = false,
            Event::Text(text) if open => {
                let fence = fences.last_mut().expect("a block has begun");
                if fence.text.is_empty() {
                    fence.range = range.clone();
                }
                fence.text.push_str(&text);
                fence.range.end = range.end;
            }
            _ => {}
        }
    }
    fences
}

/// Where the links of a document lead.
pub fn links(document: &str) -> Vec<String> {
    let link = |event| match event {
        Event::Start(Tag::Link { dest_url, .. }) => Some(dest_url.to_string()),
        _ => None,
    };
    Parser::new_ext(document, Options::ENABLE_TABLES).filter_map(link).collect()
}

/// The anchors of a document's headings, as they are commonly made.
pub fn anchors(document: &str) -> Vec<String> {
    let mut anchors = Vec::new();
    let mut heading: Option<String> = None;
    for event in Parser::new(document) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => anchors.extend(heading.take()),
            Event::Text(text) | Event::Code(text) => {
                if let Some(heading) = &mut heading {
                    heading.extend(text.to_lowercase().chars().filter_map(|c| match c {
                        ' ' => Some('-'),
                        c if c.is_alphanumeric() || matches!(c, '-' | '_') => Some(c),
                        _ => None,
                    }));
                }
            }
            _ => {}
        }
    }
    anchors
}
