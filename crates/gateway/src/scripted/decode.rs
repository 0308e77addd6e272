use super::{ModelScript, ScriptError, ScriptedConversation, ScriptedError, ScriptedReply};
use std::{fs, io::Read as _, path::Path};
use wf_base::{
    keyword::Keyword as _,
    source::{SourceText, Span},
    yaml,
    yaml::{YamlEntry, YamlNode, YamlSchema, YamlValue},
};
use wf_core::agent::{StopReason, ToolCall};
use wf_model::TokenUsage;

impl ModelScript {
    /// Reads a script: a list of replies in YAML. `path` is for messages.
    pub fn parse(path: &str, text: &str) -> Result<Self, ScriptError> {
        let reader = ScriptReader { source: SourceText::new(path, text) };
        let mut odd = None;
        let tree = yaml::read(text, Span::new(0, text.len()), YamlSchema::Core, &mut |oddity| {
            odd.get_or_insert(oddity);
        });
        let tree = tree.map_err(|error| reader.error(error.span, error.message))?;
        if let Some(odd) = odd {
            return Err(reader.error(odd.span, format!("{} is not supported", odd.kind.description())));
        }
        let conversations = match &tree {
            None => Vec::new(),
            Some(tree) => reader.conversations(tree)?,
        };
        if conversations.iter().all(|conversation| conversation.replies.is_empty()) {
            return Err(reader.error(Span::new(0, 0), "a script has at least one reply".into()));
        }
        Ok(Self { path: path.to_owned(), conversations })
    }
}

/// A reader of a script, which knows the locations of mistakes.
struct ScriptReader {
    source: SourceText,
}

impl ScriptReader {
    /// Reads a list of conversations, or the list of replies of the only one.
    fn conversations(&self, tree: &YamlNode<'_>) -> Result<Vec<ScriptedConversation>, ScriptError> {
        let items = self.list(tree)?;
        if items.first().is_some_and(|first| first.get("replies").is_some()) {
            return items.iter().map(|node| self.conversation(node)).collect();
        }
        Ok(vec![ScriptedConversation { when: None, replies: self.replies(tree)? }])
    }

    fn conversation(&self, node: &YamlNode<'_>) -> Result<ScriptedConversation, ScriptError> {
        let keys = ["when", "replies"];
        let replies = self.replies(self.need(node, &keys, "replies")?)?;
        let when = node.get("when").map(|entry| self.text(&entry.value)).transpose()?;
        Ok(ScriptedConversation { when, replies })
    }

    fn replies(&self, list_node: &YamlNode<'_>) -> Result<Vec<ScriptedReply>, ScriptError> {
        self.list(list_node)?.iter().map(|node| self.reply(node)).collect()
    }

    fn reply(&self, node: &YamlNode<'_>) -> Result<ScriptedReply, ScriptError> {
        let keys = ["text", "tool_calls", "usage", "stop", "error", "expect"];
        let mut reply = ScriptedReply::default();
        let entries = self.entries(node, &keys)?;
        for entry in entries {
            let value = &entry.value;
            match entry.key.as_ref() {
                "text" => reply.text = self.text(value)?,
                "tool_calls" => {
                    let calls = self.list(value)?;
                    reply.tool_calls =
                        calls.iter().map(|yaml_node| self.tool_call(yaml_node)).collect::<Result<_, _>>()?;
                }
                "usage" => reply.usage = Some(self.usage(value)?),
                "stop" => reply.stop = Some(self.stop(value)?),
                "error" => reply.error = Some(self.scripted_error(value)?),
                _ => {
                    let expected = self.need(value, &["contains"], "contains")?;
                    reply.expected = Some(self.text(expected)?);
                }
            }
        }
        let has = |key: &str| entries.iter().any(|entry| entry.key == key);
        if !has("text") && !has("tool_calls") && !has("error") {
            return Err(self.error(node.head(), "a reply needs `text`, `tool_calls` or `error`".into()));
        }
        if has("error") && (has("text") || has("tool_calls")) {
            return Err(
                self.error(node.head(), "an `error` happens instead of a reply: leave out the rest".into())
            );
        }
        Ok(reply)
    }

    fn tool_call(&self, node: &YamlNode<'_>) -> Result<ToolCall, ScriptError> {
        let keys = ["tool", "arguments"];
        let tool = self.text(self.need(node, &keys, "tool")?)?;
        let arguments = match node.get("arguments").map(|entry| &entry.value) {
            None => "{}".to_owned(),
            // A text stays as it is, so that a script can show what bad arguments lead to.
            Some(YamlNode { value: YamlValue::Text(text), .. }) => text.to_string(),
            Some(value @ YamlNode { value: YamlValue::Map(_), .. }) => value.json().to_string(),
            Some(value) => {
                let message = format!("expected a mapping or text, found {}", value.noun());
                return Err(self.error(value.span, message));
            }
        };
        Ok(ToolCall { id: String::new(), tool, arguments })
    }

    fn usage(&self, node: &YamlNode<'_>) -> Result<TokenUsage, ScriptError> {
        let mut usage = TokenUsage::default();
        for entry in self.entries(node, &["input", "output", "cached_input", "cache_write"])? {
            let count = self.count(&entry.value)?;
            match entry.key.as_ref() {
                "input" => usage.input = count,
                "output" => usage.output = count,
                "cache_write" => usage.cache_write = count,
                _ => usage.cached_input = count,
            }
        }
        Ok(usage)
    }

    fn scripted_error(&self, node: &YamlNode<'_>) -> Result<ScriptedError, ScriptError> {
        let keys = ["status", "retry_after"];
        let at = self.need(node, &keys, "status")?;
        let status = u16::try_from(self.count(at)?).ok().filter(|status| (400..600).contains(status));
        let status =
            status.ok_or_else(|| self.error(at.span, "a status is a number from 400 to 599".into()))?;
        let retry_after = node.get("retry_after").map(|entry| self.count(&entry.value)).transpose()?;
        Ok(ScriptedError { status, retry_after })
    }

    fn stop(&self, node: &YamlNode<'_>) -> Result<StopReason, ScriptError> {
        StopReason::from_word(&self.text(node)?).ok_or_else(|| {
            let words: Vec<_> = StopReason::ALL.iter().map(|reason| reason.as_str()).collect();
            self.error(node.span, format!("expected one of {}", words.join(", ")))
        })
    }

    fn text(&self, node: &YamlNode<'_>) -> Result<String, ScriptError> {
        node.text().map(str::to_owned).ok_or_else(|| {
            let message = format!("expected text, found {}: put it in quotes if it is text", node.noun());
            self.error(node.span, message)
        })
    }

    fn count(&self, node: &YamlNode<'_>) -> Result<u64, ScriptError> {
        let number = if let YamlValue::Number(number) = &node.value { number.as_u64() } else { None };
        number.ok_or_else(|| self.error(node.span, format!("expected a whole number, found {}", node.noun())))
    }

    fn list<'n, 'a>(&self, node: &'n YamlNode<'a>) -> Result<&'n [YamlNode<'a>], ScriptError> {
        match &node.value {
            YamlValue::List(items) => Ok(items),
            _ => Err(self.error(node.head(), format!("expected a list, found {}", node.noun()))),
        }
    }

    /// Returns the entries of a mapping without others than these.
    fn entries<'n, 'a>(
        &self,
        node: &'n YamlNode<'a>,
        keys: &[&str],
    ) -> Result<&'n [YamlEntry<'a>], ScriptError> {
        let entries = node
            .entries()
            .ok_or_else(|| self.error(node.head(), format!("expected a mapping, found {}", node.noun())))?;
        match entries.iter().find(|entry| !keys.contains(&entry.key.as_ref())) {
            None => Ok(entries),
            Some(entry) => {
                let message = format!("unknown key `{}`: expected {}", entry.key, keys.join(", "));
                Err(self.error(entry.at, message))
            }
        }
    }

    /// Returns the value of a key that must be there.
    fn need<'n, 'a>(
        &self,
        node: &'n YamlNode<'a>,
        keys: &[&str],
        key: &str,
    ) -> Result<&'n YamlNode<'a>, ScriptError> {
        self.entries(node, keys)?;
        let yaml_node = node.get(key).map(|entry| &entry.value);
        yaml_node.ok_or_else(|| self.error(node.head(), format!("`{key}` is missing")))
    }

    fn error(&self, span: Span, message: String) -> ScriptError {
        let at = self.source.line_column(span.start);
        let path = self.source.path().to_owned();
        ScriptError::Text { path, line: at.line, column: at.column, message }
    }
}

/// The maximum size of a script, in bytes.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// Reads a script, whose path is relative to the workspace and leads to a file in it.
pub fn load_script(root: &Path, path: &str) -> Result<ModelScript, ScriptError> {
    let unreadable = |reason: String| ScriptError::Unreadable { path: path.to_owned(), reason };
    let find = || {
        let root = root.canonicalize()?;
        let file = root.join(path).canonicalize()?;
        Ok::<_, std::io::Error>((root, file))
    };
    let (root, file) = find().map_err(|error| unreadable(format!("cannot read the script: {error}")))?;
    if !file.starts_with(&root) {
        return Err(unreadable("a script must be in the workspace".into()));
    }
    // Opening a pipe could wait for ever.
    if !file.is_file() {
        return Err(unreadable("a script must be a file".into()));
    }
    let mut text = String::new();
    let opened = fs::File::open(&file).map(|file| file.take(MAX_BYTES + 1));
    let read = opened.and_then(|mut file| file.read_to_string(&mut text));
    read.map_err(|error| unreadable(format!("cannot read the script: {error}")))?;
    if text.len() as u64 > MAX_BYTES {
        return Err(unreadable(format!("a script has at most {}", wf_base::units::size(MAX_BYTES))));
    }
    ModelScript::parse(path, &text)
}
