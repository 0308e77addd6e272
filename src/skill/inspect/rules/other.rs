use std::collections::BTreeSet;

use super::look::Look;
use super::network::OTHER;
use super::shell::shell;
use crate::skill::inspect::Rule;
use crate::skill::inspect::python::{Dialect, Kind, Token, tokens};

/// Looks at a program in JavaScript, Perl, Ruby or another language, as far as words tell.
pub(in crate::skill::inspect) fn other(look: &mut Look<'_>, text: &str, dialect: Dialect) {
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
            look.find(Rule::TlsOff, key.at, "it does not check who answers");
        }
    }
}

/// `import … from "http"`, `require("http")`, `use LWP::Simple`, `fetch(…)`.
fn network(look: &mut Look<'_>, window: &[Token], before: Option<&Token>) {
    match window {
        [word, open, module, ..]
            if open.is('(') && matches!(word.name(), Some("require" | "import")) =>
        {
            loads(look, module.text(), module.at);
        }
        [word, module, ..] if matches!(word.name(), Some("from" | "require" | "import")) => {
            loads(look, module.text(), module.at);
        }
        [word, first, ..] if matches!(word.name(), Some("use" | "require")) => {
            let parts = window.iter().skip(1).map_while(|token| match &token.kind {
                Kind::Name(name) => Some(name.clone()),
                Kind::Sign(':') => Some(":".to_owned()),
                _ => None,
            });
            let module: String = parts.collect();
            loads(look, Some(&module), first.at);
        }
        [word, open, ..]
            if open.is('(')
                && before
                    .is_none_or(|before| !before.is('.') && before.name() != Some("function")) =>
        {
            if matches!(word.name(), Some("fetch" | "XMLHttpRequest" | "WebSocket")) {
                look.net(word.name().unwrap_or_default(), word.at);
            }
        }
        _ => {}
    }
}

fn loads(look: &mut Look<'_>, module: Option<&str>, at: usize) {
    if let Some(module) = module.filter(|module| OTHER.contains(module)) {
        look.net(module, at);
    }
}

/// `process.env.NAME`, `process.env["NAME"]`, `ENV["NAME"]`, `$ENV{NAME}`.
fn environment(look: &mut Look<'_>, window: &[Token]) {
    match window {
        [process, dot, env, open, name, ..]
            if process.name() == Some("process") && dot.is('.') && env.name() == Some("env") =>
        {
            let name = if open.is('.') {
                name.name()
            } else {
                name.text().filter(|_| open.is('['))
            };
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

/// Texts that are executed must be fixed.
fn executes(look: &mut Look<'_>, window: &[Token], before: Option<&Token>) {
    let [word, open, first, next, ..] = window else {
        return;
    };
    let is_member = before.is_some_and(|before| before.is('.'));
    let is_fixed = first.text().is_some() && (next.is(')') || next.is(','));
    match word.name() {
        Some("eval" | "Function") if open.is('(') && !is_member && !is_fixed => {
            look.find(
                Rule::EvalInput,
                word.at,
                "it executes a text that is not fixed",
            );
        }
        Some("exec" | "execSync" | "system" | "popen") if open.is('(') => match first.text() {
            Some(text) if is_fixed => {
                look.deeper(word.at, |look| {
                    shell(look, (text, first.at), &BTreeSet::new());
                });
            }
            // A text with values in it, or one that is put together.
            _ if matches!(first.kind, Kind::Text(..)) => {
                let why = "it hands a text with values in it to a shell";
                look.find(Rule::EvalInput, word.at, why);
            }
            _ if !is_member && word.name() != Some("exec") => {
                look.find(
                    Rule::EvalInput,
                    word.at,
                    "it hands a text that is not fixed to a shell",
                );
            }
            _ => {}
        },
        _ => {}
    }
}
