use std::rc::Rc;

use super::facts::FlowFacts;
use super::python::{functions, python};
use super::shell::{CommandSource, shell};
use super::texts::texts;
use crate::SkillBundle;
use crate::inspect::{ScriptLanguage, language};

/// The maximum size of a file that is read, in bytes.
const LARGEST: usize = 1 << 19;

/// Reads the facts of all files of a skill.
pub(super) fn read(bundle: &SkillBundle) -> FlowFacts {
    let mut facts = FlowFacts::of(bundle.files.keys().cloned().collect());
    let all: Vec<(&str, &str, Option<ScriptLanguage>)> = bundle
        .files
        .iter()
        .filter(|(_, file)| file.bytes.len() <= LARGEST)
        .filter_map(|(path, file)| {
            let text = std::str::from_utf8(&file.bytes).ok()?;
            Some((path.as_str(), text, language(path, &file.bytes)))
        })
        .collect();
    for (_, text, language) in &all {
        if *language == Some(ScriptLanguage::Python) {
            facts.functions.extend(functions(text));
        }
    }
    for (path, text, language) in all {
        let scope: Rc<str> = Rc::from(path);
        let source = CommandSource { file: path, scope: Rc::clone(&scope), counts: &|_| true };
        match language {
            Some(ScriptLanguage::Shell(_)) => {
                shell(&mut facts, &source, text, 0, 0);
            }
            Some(ScriptLanguage::Python) => python(&mut facts, &source, text, 0, 0),
            None if is_prose(path) => texts(&mut facts, path, text),
            _ => {}
        }
    }
    facts
}

fn is_prose(path: &str) -> bool {
    let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
    matches!(ending.to_ascii_lowercase().as_str(), "md" | "markdown" | "mdx" | "txt" | "rst" | "adoc")
}
