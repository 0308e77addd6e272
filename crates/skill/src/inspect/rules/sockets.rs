use super::look::FileInspection;
use crate::inspect::{
    python::{ParsedCall, ParsedProgram},
    tables::WordList,
};

/// Members of the module `socket` using no network: names and conversions.
static HERE: WordList = WordList::from_table(include_str!("../tables/words/local_sockets.txt"));

/// Checks the use of the module `socket` in a program of Python: a socket of the machine itself
/// (`AF_UNIX`) is a file, not a network.
pub(super) fn sockets(inspection: &mut FileInspection<'_>, program: &ParsedProgram) {
    for (at, name, end) in &program.names {
        let Some(member) = name.strip_prefix("socket.") else {
            continue;
        };
        let member = member.split('.').next().unwrap_or_default();
        let is_constant = !member.bytes().any(|byte| byte.is_ascii_lowercase());
        let is_called = program.tokens.get(*end).is_some_and(|next| next.is('('));
        let reaches = match member {
            _ if is_constant || HERE.contains(member) => false,
            // Without a call it is a type, or a value passed on to a caller.
            "socket" if !is_called => is_used_as_value(program, *end),
            "socket" => program.calls.iter().any(|call| call.at == *at && !is_local(call)),
            _ => true,
        };
        if reaches {
            inspection.net("socket", *at);
        }
    }
    let tokens = program.tokens.array_windows().find(|[from, module, import, name]| {
        from.name() == Some("from")
            && module.name() == Some("socket")
            && import.name() == Some("import")
            && name.is('*')
    });
    if let Some([from, ..]) = tokens {
        inspection.net("socket", from.at);
    }
}

fn is_local(call: &ParsedCall) -> bool {
    call.args.iter().any(|token| token.name() == Some("AF_UNIX"))
}

/// True if a name that is not called is used as a value: `open = socket.socket`.
fn is_used_as_value(program: &ParsedProgram, end: usize) -> bool {
    // `socket`, `.`, `socket`, or the one name that was imported.
    let before = (1..=4).filter_map(|back| program.tokens.get(end.checked_sub(back)?));
    let sign = before.into_iter().find(|token| token.name().is_none() && !token.is('.'));
    sign.is_some_and(|sign| sign.is('='))
}
