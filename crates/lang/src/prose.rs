//! The prose of a spec file as HTML, for a page.
//!
//! Markdown is written by others, so nothing of it becomes markup as it is: every text is escaped, raw HTML is shown as
//! the text that it is, a picture is its description, and a link is kept only if it leads to a web page. Front matter is
//! left out.

use std::fmt::Write as _;

use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use wf_base::{untrusted::untrusted, yaml::FrontMatter};

/// The longest prose that is rendered, in bytes; of a longer one, the beginning is.
const MAX_PROSE: usize = 200_000;

/// Returns the Markdown behind the front matter of a text as HTML; empty if there is none.
pub fn prose_html(text: &str) -> String {
    let body =
        FrontMatter::split(text).map_or(text, |parts| text.get(parts.body.range()).unwrap_or_default());
    let body = body.get(..body.floor_char_boundary(MAX_PROSE)).unwrap_or_default();
    let mut writer = ProseWriter::default();
    for event in Parser::new_ext(body, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH) {
        writer.write(event);
    }
    writer.html
}

#[derive(Default)]
struct ProseWriter {
    html: String,
    /// For each open link, whether it is kept.
    links: Vec<bool>,
    /// True within the head of a table.
    is_in_head: bool,
}

impl ProseWriter {
    fn write(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.open(&tag),
            Event::End(tag) => self.close(tag),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.text(&text),
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.html.push_str("<code>");
                self.text(&text);
                self.html.push_str("</code>");
            }
            Event::SoftBreak => self.html.push('\n'),
            Event::HardBreak => self.html.push_str("<br>\n"),
            Event::Rule => self.html.push_str("<hr>\n"),
            Event::FootnoteReference(name) => self.text(&name),
            Event::TaskListMarker(is_done) => self.html.push_str(if is_done { "☑ " } else { "☐ " }),
        }
    }

    fn text(&mut self, text: &str) {
        for c in untrusted(text).block().chars() {
            match c {
                '&' => self.html.push_str("&amp;"),
                '<' => self.html.push_str("&lt;"),
                '>' => self.html.push_str("&gt;"),
                '"' => self.html.push_str("&quot;"),
                '\'' => self.html.push_str("&#39;"),
                c => self.html.push(c),
            }
        }
    }

    fn open(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::Heading { level, .. } => {
                let _ = write!(self.html, "<h{}>", below(*level));
            }
            Tag::List(Some(start)) => {
                let _ = write!(self.html, "<ol start=\"{start}\">");
            }
            Tag::Link { dest_url, .. } => self.open_link(dest_url),
            Tag::TableHead => {
                self.is_in_head = true;
                self.html.push_str("<tr>");
            }
            Tag::TableCell => self.html.push_str(if self.is_in_head { "<th>" } else { "<td>" }),
            other => self.html.push_str(&element(other.to_end(), "<")),
        }
    }

    fn close(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(level) => {
                let _ = writeln!(self.html, "</h{}>", below(level));
            }
            TagEnd::List(true) => self.html.push_str("</ol>\n"),
            TagEnd::Link if self.links.pop() == Some(true) => self.html.push_str("</a>"),
            TagEnd::TableHead => {
                self.is_in_head = false;
                self.html.push_str("</tr>");
            }
            TagEnd::TableCell => self.html.push_str(if self.is_in_head { "</th>" } else { "</td>" }),
            TagEnd::CodeBlock => self.html.push_str("</code></pre>\n"),
            other => self.html.push_str(&element(other, "</")),
        }
    }

    fn open_link(&mut self, address: &CowStr<'_>) {
        let is_kept = address.starts_with("https://") || address.starts_with("http://");
        self.links.push(is_kept);
        if is_kept {
            self.html.push_str("<a rel=\"noreferrer nofollow\" href=\"");
            self.text(address);
            self.html.push_str("\">");
        }
    }
}

/// Returns the tag of a part, which begins with `<` or `</`; nothing for one without an element of its own.
fn element(part: TagEnd, begin: &str) -> String {
    let name = match part {
        TagEnd::Paragraph => "p",
        TagEnd::BlockQuote(_) => "blockquote",
        TagEnd::CodeBlock => return "<pre><code>".to_owned(),
        TagEnd::List(_) => "ul",
        TagEnd::Item => "li",
        TagEnd::Table => "table",
        TagEnd::TableRow => "tr",
        TagEnd::Emphasis => "em",
        TagEnd::Strong => "strong",
        TagEnd::Strikethrough => "s",
        _ => return String::new(),
    };
    format!("{begin}{name}>")
}

/// Returns the level of a heading in a page, whose own heading has the first.
fn below(level: HeadingLevel) -> usize {
    (level as usize + 1).min(6)
}

#[cfg(test)]
mod tests {
    use super::prose_html;

    #[test]
    fn markdown_becomes_elements() {
        let html = prose_html(
            "---\nkind: plan\n---\n# Sum\n\nAdds *two* `n`s:\n\n1. one\n2. [two](https://x.org/?a&b)\n",
        );
        assert_eq!(
            html.replace('\n', ""),
            "<h2>Sum</h2><p>Adds <em>two</em> <code>n</code>s:</p><ol start=\"1\"><li>one</li>\
             <li><a rel=\"noreferrer nofollow\" href=\"https://x.org/?a&amp;b\">two</a></li></ol>"
        );
        let html = prose_html("|a|b|\n|-|-|\n|1|<i>|\n\n```sh\nrm '$x' <y\n```\n");
        assert_eq!(
            html.replace('\n', ""),
            "<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>&lt;i&gt;</td></tr></table>\
             <pre><code>rm &#39;$x&#39; &lt;y</code></pre>"
        );
    }

    #[test]
    fn nothing_of_it_is_markup() {
        for text in [
            "<script>alert(1)</script>",
            "a <img src=x onerror=alert(1)> b",
            "[x](javascript:alert(1)) [y](data:text/html,1) [z](\"onclick=1)",
            "![x](http://evil.example/\"onerror=1)",
            "<http://x.org/\"><b>>",
            "[x]: javascript:1 \"t\"\n\n[x]",
            "`</code><b>`",
            "```\"><b>\n</pre><b>\n```",
            "\u{202e}\u{1b}[2J",
        ] {
            let html = prose_html(text);
            for bad in ["<script", "<img", "<b>", "href=\"javascript", "href=\"data", "\u{202e}", "\u{1b}"] {
                assert!(!html.contains(bad), "{text}: {html}");
            }
        }
    }
}
