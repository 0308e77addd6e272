use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::{
    decode::{DecodeSpec, SpecDecoder, words},
    yaml::{YamlNode, YamlValue},
};
use wf_base::{keyword::Keyword, keywords};

/// The interpreter of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShellSpec {
    /// An interpreter known by name.
    Word(KnownShell),
    /// A program and its arguments before the script.
    Argv(Vec<String>),
}

keywords! {
    listed
    /// A shell that is known by name.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum KnownShell {
        /// `sh`
        #[default]
        Sh = "sh",
        /// `bash`
        Bash = "bash",
        /// `python`
        Python = "python",
    }
}

words!(KnownShell);

impl KnownShell {
    /// Returns the shell of a fenced block's info string; `sh` if it is empty.
    pub fn of_fence(language: &str) -> Option<Self> {
        match language {
            "" => Some(Self::Sh),
            _ => Self::from_word(language),
        }
    }

    fn argv(self) -> &'static [&'static str] {
        match self {
            Self::Sh => &["sh", "-eu", "-c"],
            Self::Bash => &["bash", "-euo", "pipefail", "-c"],
            Self::Python => &["python3", "-c"],
        }
    }
}

impl ShellSpec {
    /// Returns the program and its arguments before the script.
    pub fn argv(&self) -> Vec<String> {
        match self {
            Self::Word(word) => word.argv().iter().map(|&part| part.to_owned()).collect(),
            Self::Argv(argv) => argv.clone(),
        }
    }
}

impl Default for ShellSpec {
    fn default() -> Self {
        Self::Word(KnownShell::default())
    }
}

impl DecodeSpec for ShellSpec {
    fn decode(node: &YamlNode<'_>, decoder: &mut SpecDecoder<'_>) -> Option<Self> {
        let YamlValue::List(items) = &node.value else {
            return KnownShell::decode(node, decoder).map(Self::Word);
        };
        if items.is_empty() {
            decoder.wrong_value(node, "a shell needs at least a program name");
            return None;
        }
        Vec::decode(node, decoder).map(Self::Argv)
    }
}

impl JsonSchema for ShellSpec {
    fn schema_name() -> Cow<'static, str> {
        "Shell".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A shell by name, or a program and its arguments before the script.",
            "anyOf": [
                generator.subschema_for::<KnownShell>(),
                { "type": "array", "items": { "type": "string" }, "minItems": 1 },
            ],
        })
    }
}
