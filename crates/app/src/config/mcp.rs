use std::collections::BTreeMap;

use wf_base::{
    diag::{Code, Diagnostic},
    digest::Sha256Digest,
    name::Name,
    source::Spanned,
};
use wf_lang::decode::{LowerSpec, MappingFields, OrderedEntries, SpecDecoder, record};
use wf_model::McpServer;

record! {
    /// An MCP server with tools for agents. It is started in the sandbox of their step.
    pub struct McpServerSection as "an MCP server" {
        /// The program and its arguments; no shell interprets them.
        required command: Vec<Spanned<String>>,
        /// The tools agents may call, by the server's names of them.
        required tools: Vec<Spanned<String>>,
        /// The SHA-256 of their names, descriptions and schemas, as somebody reviewed them. Without it no agent gets
        /// them: the message of a run needing them has it.
        optional digest: Spanned<String>,
    }
    finish check_server;
}

/// Notes a server without a program or tools, invalid names of tools, and an invalid digest.
fn check_server(
    server: &mut McpServerSection,
    fields: &MappingFields<'_, '_>,
    decoder: &mut SpecDecoder<'_>,
) {
    let mut wrong = |span, message: String, help: &str| {
        decoder.emit(Diagnostic::new(Code::ValueWrong, span, message).with_help(help));
    };
    if server.command.first().is_none_or(|program| program.value.trim().is_empty()) {
        let help = "write the program and its arguments: `command: [node, server.js]`";
        wrong(fields.key("command"), "the command names no program".into(), help);
    }
    if server.tools.is_empty() {
        let help = "list those that agents may call: `tools: [read_file]`";
        wrong(fields.key("tools"), "the server has no tools that an agent may call".into(), help);
    }
    for (at, tool) in server.tools.iter().enumerate() {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if tool.value.is_empty() || !tool.value.chars().all(is_word) {
            let message = format!("`{}` is no name that providers of models accept", tool.value);
            wrong(tool.span, message, "such a name has letters, digits, `_` and `-`");
        }
        if server.tools.iter().take(at).any(|other| other.value == tool.value) {
            wrong(tool.span, format!("the tool `{}` is listed twice", tool.value), "leave it out");
        }
    }
    if let Some(digest) =
        server.digest.as_ref().filter(|digest| digest.value.parse::<Sha256Digest>().is_err())
    {
        let help = "write the 64 digits that the refused run printed";
        wrong(digest.span, format!("`{}` is not a SHA-256 digest", digest.value), help);
    }
}

/// Notes tools with names too long for providers once the name of the server is before them.
pub(super) fn check_tool_names(
    servers: &OrderedEntries<Name, McpServerSection>,
    decoder: &mut SpecDecoder<'_>,
) {
    for (name, server) in servers.iter() {
        let definition = definition(&name.value, server);
        for tool in &server.tools {
            let full = definition.tool_name(&tool.value);
            if full.len() > McpServer::MAX_TOOL_NAME {
                let most = McpServer::MAX_TOOL_NAME;
                let message =
                    format!("a model knows this tool as `{full}`, which has more than {most} characters");
                let mistake = Diagnostic::new(Code::ValueWrong, tool.span, message);
                decoder.emit(mistake.with_help("give the server a shorter name"));
            }
        }
    }
}

/// Returns the servers of a configuration.
pub(super) fn servers(servers: &OrderedEntries<Name, McpServerSection>) -> BTreeMap<Name, McpServer> {
    servers.iter().map(|(name, server)| (name.lower(), definition(&name.value, server))).collect()
}

fn definition(name: &Name, server: &McpServerSection) -> McpServer {
    McpServer {
        name: name.clone(),
        command: server.command.lower(),
        tools: server.tools.lower(),
        digest: server.digest.as_ref().and_then(|digest| digest.value.parse().ok()),
    }
}

#[cfg(test)]
mod tests {
    use wf_base::{name::Name, source::SourceText};

    use crate::config::load;

    fn check(text: &str, wrong: &[&str]) {
        let source = SourceText::new("wf.yaml", text);
        let (_, mistakes) = load(&source);
        let messages: Vec<_> = mistakes
            .iter()
            .map(|mistake| format!("{} {}", source.slice(mistake.span), mistake.code.as_str()))
            .collect();
        assert_eq!(messages, wrong, "{text}");
    }

    #[test]
    fn a_server_has_a_command_and_tools() {
        let digest = "ab".repeat(32);
        let text =
            format!("mcp: {{files: {{command: [node, a.js], tools: [read-1, list_2], digest: {digest}}}}}\n");
        let (config, mistakes) = load(&SourceText::new("wf.yaml", text.as_str()));
        assert!(mistakes.is_empty(), "{mistakes:#?}");
        let server = &config.models.servers[&Name::parse("files").unwrap()];
        assert_eq!((server.command.len(), server.tools.len()), (2, 2));
        assert_eq!(server.digest.map(|digest| digest.to_string()), Some(digest));
    }

    #[test]
    fn mistakes_are_found() {
        let server = |text: &str| format!("mcp: {{files: {{{text}}}}}\n");
        check(&server("command: [a]"), &["command spec/missing-key"]);
        check(&server("command: [], tools: []"), &["command spec/wrong-value", "tools spec/wrong-value"]);
        check(&server("command: [a], tools: ['r d', a, a]"), &["r d spec/wrong-value", "a spec/wrong-value"]);
        check(&server("command: [a], tools: [b], digest: abc"), &["abc spec/wrong-value"]);
        check(&server("command: [a], tools: [b], env: {}"), &["env spec/unknown-key"]);
        let long = "x".repeat(60);
        check(&server(&format!("command: [a], tools: [{long}]")), &[&format!("{long} spec/wrong-value")]);
    }
}
