//! The prose of a spec file as HTML, for a page.
//!
//! Markdown is written by others, so nothing of it becomes markup as it is: every text is escaped, raw HTML is shown as
//! the text that it is, a picture is its description, and a link is kept only if it leads to a web page. Front matter is
//! left out. Of what a model wrote, each link is followed by its host: the words of a link may name another one.

use std::fmt::Write as _;

use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use wf_base::{untrusted::untrusted, yaml::FrontMatter};

/// The longest prose that is rendered, in bytes; of a longer one, the beginning is.
const MAX_PROSE: usize = 200_000;

/// The deepest nesting of quotations, lists and emphasis. Deeper parts are shown at this depth: a browser gives up on
/// hundreds of elements in one another.
const MAX_NESTING: usize = 12;

/// Returns the Markdown behind the front matter of a text as HTML; empty if there is none.
pub fn prose_html(text: &str) -> String {
    let body =
        FrontMatter::split(text).map_or(text, |parts| text.get(parts.body.range()).unwrap_or_default());
    html_of(body, ProseWriter { depth: 1, ..ProseWriter::default() })
}

/// Returns Markdown that a model wrote as HTML, for a card below a heading of the second level. Each link is followed by its
/// host.
pub fn message_html(text: &str) -> String {
    html_of(text, ProseWriter { depth: 2, shows_hosts: true, ..ProseWriter::default() })
}

/// Returns Markdown from an artifact as HTML, for a page. Each link is followed by its host.
pub fn document_html(text: &str) -> String {
    html_of(text, ProseWriter { depth: 1, shows_hosts: true, ..ProseWriter::default() })
}

fn html_of(body: &str, mut writer: ProseWriter) -> String {
    let body = body.get(..body.floor_char_boundary(MAX_PROSE)).unwrap_or_default();
    for event in Parser::new_ext(body, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH) {
        writer.write(event);
    }
    writer.html
}

#[derive(Default)]
struct ProseWriter {
    html: String,
    /// The level of the heading above the text.
    depth: usize,
    /// True if each link is followed by its host.
    shows_hosts: bool,
    /// For each open link, its host; `None`: it is not kept.
    links: Vec<Option<String>>,
    /// True within the head of a table.
    is_in_head: bool,
    /// The number of open nested parts.
    nesting: usize,
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
        if is_nested(tag.to_end()) {
            self.nesting += 1;
            if self.nesting > MAX_NESTING {
                return;
            }
        }
        match tag {
            Tag::Heading { level, .. } => {
                let _ = write!(self.html, "<h{}>", self.below(*level));
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
        if is_nested(tag) {
            self.nesting = self.nesting.saturating_sub(1);
            if self.nesting >= MAX_NESTING {
                return;
            }
        }
        match tag {
            TagEnd::Heading(level) => {
                let _ = writeln!(self.html, "</h{}>", self.below(level));
            }
            TagEnd::List(true) => self.html.push_str("</ol>\n"),
            TagEnd::Link => self.close_link(),
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
        let host = host_of(address);
        if host.is_some() {
            self.html.push_str("<a rel=\"noreferrer nofollow\" href=\"");
            self.text(address);
            self.html.push_str("\">");
        }
        self.links.push(host);
    }

    fn close_link(&mut self) {
        let Some(host) = self.links.pop().flatten() else {
            return;
        };
        self.html.push_str("</a>");
        if self.shows_hosts {
            self.html.push_str(" <span class=\"dim\">(");
            self.text(&host);
            self.html.push_str(")</span>");
        }
    }

    /// Returns the level of a heading of the text in the page.
    fn below(&self, level: HeadingLevel) -> usize {
        (level as usize + self.depth).min(6)
    }
}

/// True if a part may hold others of its kind.
fn is_nested(part: TagEnd) -> bool {
    use TagEnd::{BlockQuote, Emphasis, Item, List, Strikethrough, Strong};
    matches!(part, BlockQuote(_) | List(_) | Item | Emphasis | Strong | Strikethrough)
}

/// Returns the host of the address of a web page, as a browser reads it; `None` for any other address.
fn host_of(address: &str) -> Option<String> {
    let rest = address.strip_prefix("https://").or_else(|| address.strip_prefix("http://"))?;
    // A browser reads a backslash as a slash, and skips slashes before the host.
    let rest = rest.trim_start_matches(['/', '\\']);
    let authority = rest.split(['/', '\\', '?', '#']).next().unwrap_or_default();
    Some(authority.rsplit('@').next().unwrap_or_default().to_owned())
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

#[cfg(test)]
mod tests {
    use super::{message_html, prose_html};

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
    fn what_is_nested_too_deeply_is_shown_at_a_depth_that_browsers_bear() {
        for text in [format!("{}deep", "> ".repeat(500)), format!("{}deep", "- ".repeat(500))] {
            let html = prose_html(&text);
            assert!(html.contains("deep"), "{html}");
            for (open, close) in [("<blockquote>", "</blockquote>"), ("<ul>", "</ul>"), ("<li>", "</li>")] {
                let count = html.matches(open).count();
                assert!(count <= 12 && count == html.matches(close).count(), "{html}");
            }
        }
        assert_eq!(prose_html("> > a\n\nb").matches("<blockquote>").count(), 2);
    }

    #[test]
    fn a_link_of_a_model_names_its_host() {
        let host = |address: &str| {
            let html = message_html(&format!("[https://bank.example](<{address}>)"));
            let (_, host) = html.split_once('(').unwrap_or_else(|| panic!("{html}"));
            assert!(html.contains("rel=\"noreferrer nofollow\""), "{html}");
            host.split(')').next().unwrap().to_owned()
        };
        assert_eq!(host("https://evil.example/bank.example"), "evil.example");
        assert_eq!(host("https://bank.example@evil.example:8443?x"), "evil.example:8443");
        assert_eq!(host("https://evil.example\\\\@bank.example"), "evil.example");
        assert_eq!(host("http:///evil.example#bank"), "evil.example");
        assert!(!message_html("[x](javascript:alert(1))").contains("<a"));
        assert_eq!(
            message_html("---\nkind: plan\n---\n# A").matches("<h3>").count(),
            1,
            "nothing is left out"
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
            let html = prose_html(text) + &message_html(text);
            for bad in ["<script", "<img", "<b>", "href=\"javascript", "href=\"data", "\u{202e}", "\u{1b}"] {
                assert!(!html.contains(bad), "{text}: {html}");
            }
        }
    }
}
