//! The redirections of a command, and the here-documents that follow its line.

use super::{
    lexer::ShellLexer,
    words::{CommandWord, ShellCommand},
};

/// Reads a redirection, if there is one here.
pub(super) fn redirection(lexer: &mut ShellLexer<'_>, command: &mut ShellCommand) -> bool {
    let rest = lexer.rest();
    let signs = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let signs = descriptor(lexer, signs, command);
    let signs = signs.strip_prefix('&').filter(|_| rest.starts_with("&>")).unwrap_or(signs);
    if !signs.starts_with(['<', '>']) || signs.starts_with("<(") || signs.starts_with(">(") {
        return false;
    }
    lexer.at += rest.len() - signs.len();
    if lexer.takes("<<<") {
        gap(lexer);
        let word = lexer.word();
        command.input = Some((word.at, word.text.clone()));
        lexer.script.variables.extend(word.variables);
    } else if lexer.takes("<<-") {
        document(lexer, command, true);
    } else if lexer.takes("<<") {
        document(lexer, command, false);
    } else if lexer.takes(">&") || lexer.takes("<&") {
        gap(lexer);
        let word = lexer.word();
        let is_number = word.text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        if !is_number {
            command.writes.push(word);
        }
    } else if lexer.takes(">>") || lexer.takes(">|") || lexer.takes("<>") || lexer.takes(">") {
        gap(lexer);
        let word = lexer.word();
        command.writes.push(word);
    } else {
        lexer.at += 1;
        gap(lexer);
        let word = lexer.word();
        command.reads.push(word);
    }
    true
}

/// Reads the text after `{NAME}`, where a redirection sets a variable.
fn descriptor<'s>(lexer: &ShellLexer<'_>, signs: &'s str, command: &mut ShellCommand) -> &'s str {
    let inner = signs.strip_prefix('{').and_then(|rest| rest.split_once('}'));
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    match inner {
        Some((name, after))
            if !name.is_empty() && name.chars().all(is_word) && after.starts_with(['<', '>']) =>
        {
            let at = lexer.base + lexer.at;
            let value = CommandWord { at, ..CommandWord::default() };
            command.sets.push((name.to_owned(), value));
            after
        }
        _ => signs,
    }
}

fn gap(lexer: &mut ShellLexer<'_>) {
    while lexer.peek().is_some_and(|c| c == ' ' || c == '\t') {
        lexer.at += 1;
    }
}

/// Reads a here-document: its text begins after this line, or after that of the one before.
fn document(lexer: &mut ShellLexer<'_>, command: &mut ShellCommand, strips: bool) {
    gap(lexer);
    let end = lexer.word();
    let line = lexer.rest().find('\n').map_or(lexer.text.len(), |long| lexer.at + long + 1);
    let from = lexer.documents_end.unwrap_or(line);
    let body = lexer.text.get(from..).unwrap_or_default();
    let mut long = 0;
    for body_line in body.split_inclusive('\n') {
        let bare = body_line.trim_end_matches(['\n', '\r']);
        let bare = if strips { bare.trim_start_matches('\t') } else { bare };
        if bare == end.text {
            lexer.documents_end = Some(from + long + body_line.len());
            break;
        }
        long += body_line.len();
    }
    if long >= body.len() {
        lexer.documents_end = Some(lexer.text.len());
    }
    let text = body.get(..long).unwrap_or_default();
    let base = lexer.base + from;
    if !end.is_quoted {
        expanded(lexer, text, base);
    }
    command.input = Some((base, text.to_owned()));
}

/// Reads the expansions in a here-document.
fn expanded(lexer: &mut ShellLexer<'_>, text: &str, base: usize) {
    let mut reader = ShellLexer::new(text, base, lexer.depth + 1);
    reader.function.clone_from(&lexer.function);
    let mut word = CommandWord::default();
    while let Some(c) = reader.peek() {
        match c {
            '\\' => {
                reader.next();
                reader.next();
            }
            '$' => reader.dollar(&mut word, true),
            '`' => reader.backticks(&mut word),
            c => reader.at += c.len_utf8(),
        }
    }
    lexer.script.variables.append(&mut word.variables);
    lexer.script.variables.append(&mut reader.script.variables);
    lexer.script.pipelines.append(&mut reader.script.pipelines);
    lexer.script.too_deep |= reader.script.too_deep;
}
