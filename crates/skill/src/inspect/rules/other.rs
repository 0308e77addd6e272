use super::{
    lists::{NETWORK_MODULES, starts_later},
    look::FileInspection,
    shell::shell,
};
use crate::inspect::{
    Rule,
    python::{ParsedProgram, ScriptDialect, ScriptToken, ScriptTokenKind, tokens},
};
use std::collections::BTreeSet;

/// Checks a program in JavaScript, Perl, Ruby or another language, as far as its words show.
pub(in crate::inspect) fn other(inspection: &mut FileInspection<'_>, text: &str, dialect: ScriptDialect) {
    let tokens = tokens(text, 0, dialect);
    for at in 0..tokens.len() {
        let Some(window) = tokens.get(at..) else {
            continue;
        };
        let before = at.checked_sub(1).and_then(|at| tokens.get(at));
        network(inspection, window, before);
        if let [token, ..] = window
            && let Some(text) = token.text()
            && !text.contains(char::is_whitespace)
        {
            inspection.path(text, token.at);
        }
        environment(inspection, window);
        executes(inspection, window, before);
        if let [key, _, value, ..] = window
            && matches!(
                key.name().or(key.text()),
                Some("rejectUnauthorized" | "NODE_TLS_REJECT_UNAUTHORIZED")
            )
            && (value.name() == Some("false") || value.text() == Some("0"))
        {
            inspection.report(Rule::TlsOff, key.at, "it disables certificate verification");
        }
    }
}

/// Checks `import … from "http"`, `require("http")`, `use LWP::Simple`, `fetch(…)`.
fn network(
    inspection: &mut FileInspection<'_>,
    tokens: &[ScriptToken],
    previous_token: Option<&ScriptToken>,
) {
    match tokens {
        [word, open, module, ..] if open.is('(') && matches!(word.name(), Some("require" | "import")) => {
            loads(inspection, module.text(), module.at);
        }
        [word, module, ..] if matches!(word.name(), Some("from" | "require" | "import")) => {
            loads(inspection, module.text(), module.at);
        }
        [word, first, ..] if matches!(word.name(), Some("use" | "require")) => {
            let parts = tokens.iter().skip(1).map_while(|token| match &token.kind {
                ScriptTokenKind::Name(name) => Some(name.clone()),
                ScriptTokenKind::Sign(':') => Some(":".to_owned()),
                _ => None,
            });
            let module: String = parts.collect();
            loads(inspection, Some(&module), first.at);
        }
        [word, open, ..]
            if open.is('(')
                && previous_token
                    .is_none_or(|before| !before.is('.') && before.name() != Some("function")) =>
        {
            if matches!(word.name(), Some("fetch" | "XMLHttpRequest" | "WebSocket")) {
                inspection.net(word.name().unwrap_or_default(), word.at);
            }
        }
        _ => {}
    }
}

fn loads(inspection: &mut FileInspection<'_>, module: Option<&str>, at: usize) {
    if let Some(module) = module.filter(|module| NETWORK_MODULES.contains(module)) {
        inspection.net(module, at);
    }
}

/// Checks `process.env.NAME`, `process.env["NAME"]`, `ENV["NAME"]`, `$ENV{NAME}`.
fn environment(inspection: &mut FileInspection<'_>, tokens: &[ScriptToken]) {
    match tokens {
        [process, dot, env, open, name, ..]
            if process.name() == Some("process") && dot.is('.') && env.name() == Some("env") =>
        {
            let name = if open.is('.') { name.name() } else { name.text().filter(|_| open.is('[')) };
            if let Some(name) = name {
                inspection.reads(name, process.at);
            }
        }
        [env, open, name, ..]
            if matches!(env.name(), Some("ENV" | "$ENV")) && (open.is('[') || open.is('{')) =>
        {
            if let Some(name) = name.name().or(name.text()) {
                inspection.reads(name, env.at);
            }
        }
        _ => {}
    }
}

/// Checks that executed texts are fixed.
fn executes(
    inspection: &mut FileInspection<'_>,
    tokens: &[ScriptToken],
    previous_token: Option<&ScriptToken>,
) {
    let [word, open, first, next, ..] = tokens else {
        return;
    };
    let is_member = previous_token.is_some_and(|before| before.is('.'));
    let is_fixed = first.text().is_some() && (next.is(')') || next.is(','));
    match word.name() {
        Some("eval" | "Function") if open.is('(') && !is_member && !is_fixed => {
            inspection.report(Rule::EvalInput, word.at, "it executes a dynamic string");
        }
        Some("exec" | "execSync" | "system" | "popen") if open.is('(') => match first.text() {
            Some(text) if is_fixed => {
                inspection.inspect_nested(word.at, |look| {
                    shell(look, text, first.at, &BTreeSet::new());
                });
            }
            // A text with interpolated values, or a concatenated one.
            _ if matches!(first.kind, ScriptTokenKind::Text(..)) => {
                let reason = "it passes a string with values in it to a shell";
                inspection.report(Rule::EvalInput, word.at, reason);
            }
            _ if !is_member && word.name() != Some("exec") => {
                inspection.report(Rule::EvalInput, word.at, "it passes a dynamic string to a shell");
            }
            _ => {}
        },
        _ => {}
    }
}

/// Checks the texts in a program naming paths of programs started later. A text on its own is
/// documentation, and one with spaces is a message.
pub(super) fn check_strings(inspection: &mut FileInspection<'_>, program: &ParsedProgram) {
    let mut begins = true;
    for (at, token) in program.tokens.iter().enumerate() {
        if let ScriptTokenKind::Text(text, _) = &token.kind {
            let next = program.tokens.get(at + 1);
            let is_alone = begins && next.is_none_or(|next| next.kind == ScriptTokenKind::End);
            if !is_alone && !text.contains(char::is_whitespace) && starts_later(text) {
                let reason = "it refers to a location from which programs are started later";
                inspection.report(Rule::Persistence, token.at, reason);
            }
            if !is_alone && !text.contains(char::is_whitespace) {
                inspection.path(text, token.at);
            }
            if text.contains("/dev/tcp/") && !is_alone {
                inspection.report(Rule::ReverseShell, token.at, "it opens a connection through /dev/tcp");
            }
        }
        begins = token.kind == ScriptTokenKind::End;
    }
}
