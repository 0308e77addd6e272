use std::collections::BTreeSet;

use super::look::FileInspection;
use super::network::OTHER;
use super::shell::shell;
use crate::inspect::Rule;
use crate::inspect::python::{ScriptDialect, ScriptToken, ScriptTokenKind, tokens};

/// Checks a program in JavaScript, Perl, Ruby or another language, as far as its words show.
pub(in crate::inspect) fn other(look: &mut FileInspection<'_>, text: &str, dialect: ScriptDialect) {
    let tokens = tokens(text, 0, dialect);
    for at in 0..tokens.len() {
        let Some(window) = tokens.get(at..) else {
            continue;
        };
        let before = at.checked_sub(1).and_then(|at| tokens.get(at));
        network(look, window, before);
        if let [token, ..] = window
            && let Some(text) = token.text()
            && !text.contains(char::is_whitespace)
        {
            look.path(text, token.at);
        }
        environment(look, window);
        executes(look, window, before);
        if let [key, _, value, ..] = window
            && matches!(
                key.name().or(key.text()),
                Some("rejectUnauthorized" | "NODE_TLS_REJECT_UNAUTHORIZED")
            )
            && (value.name() == Some("false") || value.text() == Some("0"))
        {
            look.report(Rule::TlsOff, key.at, "it disables certificate verification");
        }
    }
}

/// Checks `import … from "http"`, `require("http")`, `use LWP::Simple`, `fetch(…)`.
fn network(look: &mut FileInspection<'_>, window: &[ScriptToken], before: Option<&ScriptToken>) {
    match window {
        [word, open, module, ..] if open.is('(') && matches!(word.name(), Some("require" | "import")) => {
            loads(look, module.text(), module.at);
        }
        [word, module, ..] if matches!(word.name(), Some("from" | "require" | "import")) => {
            loads(look, module.text(), module.at);
        }
        [word, first, ..] if matches!(word.name(), Some("use" | "require")) => {
            let parts = window.iter().skip(1).map_while(|token| match &token.kind {
                ScriptTokenKind::Name(name) => Some(name.clone()),
                ScriptTokenKind::Sign(':') => Some(":".to_owned()),
                _ => None,
            });
            let module: String = parts.collect();
            loads(look, Some(&module), first.at);
        }
        [word, open, ..]
            if open.is('(')
                && before.is_none_or(|before| !before.is('.') && before.name() != Some("function")) =>
        {
            if matches!(word.name(), Some("fetch" | "XMLHttpRequest" | "WebSocket")) {
                look.net(word.name().unwrap_or_default(), word.at);
            }
        }
        _ => {}
    }
}

fn loads(look: &mut FileInspection<'_>, module: Option<&str>, at: usize) {
    if let Some(module) = module.filter(|module| OTHER.contains(module)) {
        look.net(module, at);
    }
}

/// Checks `process.env.NAME`, `process.env["NAME"]`, `ENV["NAME"]`, `$ENV{NAME}`.
fn environment(look: &mut FileInspection<'_>, window: &[ScriptToken]) {
    match window {
        [process, dot, env, open, name, ..]
            if process.name() == Some("process") && dot.is('.') && env.name() == Some("env") =>
        {
            let name = if open.is('.') { name.name() } else { name.text().filter(|_| open.is('[')) };
            if let Some(name) = name {
                look.reads(name, process.at);
            }
        }
        [env, open, name, ..]
            if matches!(env.name(), Some("ENV" | "$ENV")) && (open.is('[') || open.is('{')) =>
        {
            if let Some(name) = name.name().or(name.text()) {
                look.reads(name, env.at);
            }
        }
        _ => {}
    }
}

/// Checks that executed texts are fixed.
fn executes(look: &mut FileInspection<'_>, window: &[ScriptToken], before: Option<&ScriptToken>) {
    let [word, open, first, next, ..] = window else {
        return;
    };
    let is_member = before.is_some_and(|before| before.is('.'));
    let is_fixed = first.text().is_some() && (next.is(')') || next.is(','));
    match word.name() {
        Some("eval" | "Function") if open.is('(') && !is_member && !is_fixed => {
            look.report(Rule::EvalInput, word.at, "it executes a dynamic string");
        }
        Some("exec" | "execSync" | "system" | "popen") if open.is('(') => match first.text() {
            Some(text) if is_fixed => {
                look.inspect_nested(word.at, |look| {
                    shell(look, text, first.at, &BTreeSet::new());
                });
            }
            // A text with interpolated values, or a concatenated one.
            _ if matches!(first.kind, ScriptTokenKind::Text(..)) => {
                let reason = "it passes a string with values in it to a shell";
                look.report(Rule::EvalInput, word.at, reason);
            }
            _ if !is_member && word.name() != Some("exec") => {
                look.report(Rule::EvalInput, word.at, "it passes a dynamic string to a shell");
            }
            _ => {}
        },
        _ => {}
    }
}
