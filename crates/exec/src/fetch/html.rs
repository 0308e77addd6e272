//! The text of an HTML page, simply: what a reader sees, with the addresses of links.

/// Elements without text as content.
const HIDDEN: [&str; 6] = ["script", "style", "noscript", "template", "svg", "head"];

/// Inline elements.
const INLINE: [&str; 14] =
    ["a", "abbr", "b", "code", "em", "i", "kbd", "mark", "small", "span", "strong", "sub", "sup", "u"];

/// The replaced named characters.
const ENTITIES: [(&str, char); 8] = [
    ("amp", '&'),
    ("lt", '<'),
    ("gt", '>'),
    ("quot", '"'),
    ("apos", '\''),
    ("nbsp", ' '),
    ("mdash", '—'),
    ("hellip", '…'),
];

/// Returns the text of a page. Malformed pages give some text, too.
pub(super) fn text_of(page: &str) -> String {
    let mut text = String::with_capacity(page.len() / 2);
    let mut links: Vec<String> = Vec::new();
    let mut rest = page;
    while let Some(at) = rest.find('<') {
        push_text(&mut text, rest.get(..at).unwrap_or_default());
        rest = rest.get(at..).unwrap_or_default();
        if let Some(after) = rest.strip_prefix("<!--") {
            rest = after.split_once("-->").map_or("", |(_, after)| after);
            continue;
        }
        let Some(tag) = Tag::read(rest) else {
            text.push('<');
            rest = rest.get(1..).unwrap_or_default();
            continue;
        };
        rest = tag.after;
        if HIDDEN.contains(&tag.name.as_str()) && !tag.closes {
            rest = after_end(rest, &tag.name);
            continue;
        }
        match (tag.name.as_str(), tag.closes) {
            ("a", false) => links.push(tag.href()),
            ("a", true) => {
                let link = links.pop().filter(|link| !link.is_empty() && !link.starts_with('#'));
                text.extend(link.map(|link| format!(" ({link})")));
            }
            ("li", false) => text.push_str("\n- "),
            ("td" | "th", false) => text.push_str(" | "),
            ("td" | "th", true) => {}
            (name, _) if INLINE.contains(&name) => {}
            _ => text.push('\n'),
        }
    }
    push_text(&mut text, rest);
    tidy(&text)
}

/// A tag of a page.
struct Tag<'a> {
    name: String,
    closes: bool,
    attributes: &'a str,
    after: &'a str,
}

impl<'a> Tag<'a> {
    /// Reads the tag at the beginning of a text; `None` if it is none.
    fn read(text: &'a str) -> Option<Self> {
        let inside = text.strip_prefix('<')?;
        let (closes, inside) = match inside.strip_prefix('/') {
            Some(inside) => (true, inside),
            None => (false, inside.strip_prefix(['!', '?']).unwrap_or(inside)),
        };
        let end = inside.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(inside.len());
        let name = inside.get(..end).filter(|name| name.starts_with(|c: char| c.is_ascii_alphabetic()))?;
        let mut quote = None;
        let close = inside.char_indices().find(|(_, c)| match (quote, *c) {
            (None, '"' | '\'') => {
                quote = Some(*c);
                false
            }
            (Some(open), c) if c == open => {
                quote = None;
                false
            }
            (None, '>') => true,
            _ => false,
        });
        // Without an end, it is the rest of the page.
        let close = close.map_or(inside.len(), |(at, _)| at);
        Some(Self {
            name: name.to_ascii_lowercase(),
            closes,
            attributes: inside.get(end..close).unwrap_or_default(),
            after: inside.get(close + 1..).unwrap_or_default(),
        })
    }

    /// Returns the address of a link; empty if there is none.
    fn href(&self) -> String {
        let lower = self.attributes.to_ascii_lowercase();
        let Some(at) = lower.find("href=") else {
            return String::new();
        };
        let value = self.attributes.get(at + "href=".len()..).unwrap_or_default();
        let value = match value.strip_prefix(['"', '\'']) {
            Some(quoted) => quoted.split(['"', '\'']).next(),
            None => value.split_whitespace().next(),
        };
        decoded(value.unwrap_or_default())
    }
}

/// Returns what comes after the end of an element; nothing if it has none.
fn after_end<'a>(text: &'a str, name: &str) -> &'a str {
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| rest.find("</")).map(|at| from + at) {
        let rest = text.get(at + 2..).unwrap_or_default();
        let is_end = rest.get(..name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name));
        if is_end {
            return rest.split_once('>').map_or("", |(_, after)| after);
        }
        from = at + 2;
    }
    ""
}

fn push_text(text: &mut String, part: &str) {
    text.push_str(&decoded(part));
}

/// Replaces character references.
fn decoded(part: &str) -> String {
    let mut text = String::with_capacity(part.len());
    let mut rest = part;
    while let Some(at) = rest.find('&') {
        text.push_str(rest.get(..at).unwrap_or_default());
        rest = rest.get(at + 1..).unwrap_or_default();
        let name = rest.get(..rest.find(';').filter(|at| *at <= 10).unwrap_or(0)).unwrap_or_default();
        match character(name) {
            Some(c) => {
                text.push(c);
                rest = rest.get(name.len() + 1..).unwrap_or_default();
            }
            None => text.push('&'),
        }
    }
    text.push_str(rest);
    text
}

fn character(name: &str) -> Option<char> {
    if let Some((_, c)) = ENTITIES.iter().find(|(entity, _)| *entity == name) {
        return Some(*c);
    }
    let number = name.strip_prefix('#')?;
    let code = match number.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16).ok()?,
        None => number.parse().ok()?,
    };
    char::from_u32(code)
}

/// Leaves single blanks, and no more than one empty line.
fn tidy(text: &str) -> String {
    let mut tidy = String::with_capacity(text.len());
    let mut empty = 2;
    for line in text.lines() {
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        empty = if line.is_empty() { empty + 1 } else { 0 };
        if empty < 2 {
            tidy.push_str(&line);
            tidy.push('\n');
        }
    }
    tidy.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::text_of;

    fn check(page: &str, expected: &str) {
        assert_eq!(text_of(page), expected, "{page}");
    }

    #[test]
    fn a_page_is_what_a_reader_sees() {
        let page = "<!doctype html><html><head><title>x</title></head><body class=\"a > b\"><h1>Hello</h1>\n\
            <p>One   <b>two</b>\nthree.</p><script>if (a < b) { x = \"</p>\"; }</script><!-- <p>no</p> -->\n\
            <ul><li>a</li><li><a href=\"/b?x=1&amp;y\">b</a></li></ul><a href='#top'>up</a></body></html>";
        check(page, "Hello\n\nOne two\nthree.\n\n- a\n\n- b (/b?x=1&y)\n\nup");
        check("<table><tr><td>1</td><td>2</td></tr></table>", "| 1 | 2");
    }

    #[test]
    fn characters_are_decoded_once() {
        check(
            "a &lt;b&gt; &amp;lt; &#65;&#x42; &nbsp; &unknown; & &#0; &#xd800;",
            "a <b> &lt; AB &unknown; & \0 &#xd800;",
        );
    }

    #[test]
    fn malformed_pages_give_some_text() {
        check("a < b and <", "a < b and <");
        check("<p", "");
        check("<p>open <b class='x", "open");
        check("<script>never ended", "");
        check("<!-- never ended", "");
        check("<SCRIPT>x</Script>y", "y");
        check("</>a", "</>a");
    }

    proptest! {
        #[test]
        fn no_page_is_too_strange(page in "(\\PC|[<>/!&;\"'#a-]){0,80}") {
            let _ = text_of(&page);
        }
    }
}
