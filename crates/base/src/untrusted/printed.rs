/// Returns the text a terminal leaves of printed text: without colours, the last writing of each line.
pub(super) fn terminal_text(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for part in text.split_inclusive('\n') {
        let (line, end) = match part.strip_suffix('\n') {
            Some(line) => (line, "\n"),
            None => (part, ""),
        };
        let last = line.trim_end_matches('\r').rsplit('\r').next();
        uncoloured(last.unwrap_or_default(), &mut plain);
        plain.push_str(end);
    }
    plain
}

/// Removes colours, erasures to the end of a line, which programs print even into files, and selectors of how
/// a character is drawn.
fn uncoloured(line: &str, plain: &mut String) {
    let mut rest = line;
    let mut before = ' ';
    while let Some(c) = rest.chars().next() {
        if let Some(after) = strip_colour(rest) {
            rest = after;
            continue;
        }
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
        match c {
            '\u{fe0e}' | '\u{fe0f}' if is_symbol(before) => {}
            '\u{a0}' | '\u{202f}' | '\u{3000}' => plain.push(' '),
            c => plain.push(c),
        }
        before = c;
    }
}

/// Returns the text after a colour, if it begins with one.
fn strip_colour(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("\u{1b}[")?;
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, ';' | ':'));
    rest.strip_prefix(['m', 'K'])
}

/// True if a character is a sign with a coloured form.
fn is_symbol(c: char) -> bool {
    matches!(c, '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205e}' | '\u{2100}'..='\u{27ff}' | '\u{2900}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
}
