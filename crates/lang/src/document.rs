use super::{
    ast::{DagSpec, GateSpec, GoalSpec, PersonaFileSpec, PlanSpec},
    body,
    decode::{DecodeSpec, DiagnosticList, SpecDecoder},
    markdown, yaml,
    yaml::{YamlNode, YamlValue},
};
use std::ops::Range;
use wf_base::{
    diag::{Code, Diagnostic, nearest},
    source::{SourceText, Span, Spanned},
    yaml::{FenceError, FrontMatter},
};

/// The kinds of spec files.
const KINDS: [&str; 5] = ["plan", "dag", "goal", "gate", "persona"];

/// The content of a spec file.
#[derive(Debug)]
pub(super) enum SpecDocument {
    /// A plan, or a dag as a plan.
    Plan(Box<PlanSpec>),
    Goal(Box<GoalSpec>, Box<PlanSpec>),
    Gate(Box<GateSpec>),
    Persona(Box<PersonaFileSpec>),
}

/// Reads one spec file: its declaration, as far as it can be read, and all its mistakes.
pub(super) fn read_document(source: &SourceText) -> (Option<SpecDocument>, Vec<Diagnostic>) {
    let text = source.text();
    let parts = match split_front_matter(text) {
        Ok(parts) => parts,
        Err(mistake) => return (None, vec![*mistake]),
    };
    let mut mistakes = DiagnosticList::default();
    let tree = yaml::read_yaml(text, parts.yaml, &mut mistakes);
    let mut decoder = SpecDecoder::new(text, mistakes);
    let mut spec = tree.and_then(|tree| declare(&tree, source.path(), &mut decoder));
    match &mut spec {
        Some(SpecDocument::Plan(plan) | SpecDocument::Goal(_, plan)) => {
            body::attach(plan, markdown::sections(text, parts.body), &mut decoder);
        }
        Some(SpecDocument::Gate(gate)) => gate.attach_body(decoder.source_text(parts.body), &mut decoder),
        Some(SpecDocument::Persona(persona)) => persona.attach_body(parts.body, &mut decoder),
        None => {}
    }
    (spec, decoder.into_mistakes().into_diagnostics())
}

/// Decodes the front matter as the kind of its `kind`.
fn declare(tree: &YamlNode<'_>, path: &str, decoder: &mut SpecDecoder<'_>) -> Option<SpecDocument> {
    if !matches!(tree.value, YamlValue::Map(_)) {
        decoder.wrong_type(tree, "front matter that is a mapping");
        return None;
    }
    let Some(kind) = tree.get("kind") else {
        decoder.emit(no_kind(path, tree.head()));
        return None;
    };
    let plan = |plan| SpecDocument::Plan(Box::new(plan));
    match &kind.value.value {
        YamlValue::Text(kind) if kind == "plan" => PlanSpec::decode(tree, decoder).map(plan),
        YamlValue::Text(kind) if kind == "dag" => {
            DagSpec::decode(tree, decoder).map(PlanSpec::from).map(plan)
        }
        YamlValue::Text(kind) if kind == "goal" => {
            let goal = GoalSpec::decode(tree, decoder)?;
            let plan = Box::new(goal.plan());
            Some(SpecDocument::Goal(Box::new(goal), plan))
        }
        YamlValue::Text(kind) if kind == "gate" => {
            GateSpec::decode(tree, decoder).map(|gate| SpecDocument::Gate(Box::new(gate)))
        }
        YamlValue::Text(kind) if kind == "persona" => {
            PersonaFileSpec::decode(tree, decoder).map(|file| SpecDocument::Persona(Box::new(file)))
        }
        YamlValue::Text(word) => {
            let span = decoder.content(&kind.value);
            decoder.emit(other_kind(word, span));
            None
        }
        _ => {
            decoder.wrong_type(&kind.value, "`plan`, `dag`, `goal` or `gate`");
            None
        }
    }
}

fn no_kind(path: &str, at: Span) -> Diagnostic {
    let name = path.rsplit('/').next().unwrap_or(path);
    if name == "SKILL.md" {
        let message = "this is a skill, not a plan, goal or gate";
        let help = "check it with `wf skill validate`, and use it in a step with `skill:`";
        return Diagnostic::new(Code::KeyMissing, at, message).with_help(help);
    }
    Diagnostic::new(Code::KeyMissing, at, "missing `kind`")
        .with_help("write `kind: plan`, `kind: dag`, `kind: goal` or `kind: gate`")
}

fn other_kind(word: &str, at: Span) -> Diagnostic {
    let mistake = Diagnostic::new(Code::KindUnknown, at, format!("unknown kind `{word}`"));
    if word == "skill" {
        return mistake.with_help("a skill is a folder with a SKILL.md, which has no `kind`");
    }
    match word.to_lowercase().as_str() {
        "workflow" | "pipeline" | "job" | "task" | "playbook" | "action" => {
            return mistake.with_help(
                "write `kind: plan`: a plan has `steps`, and checks that verify \
                                 them",
            );
        }
        "cronjob" | "cronworkflow" | "schedule" | "cron" | "timer" => {
            return mistake.with_help("write `kind: goal`: it has a `schedule`, and a plan that it runs");
        }
        _ => {}
    }
    match nearest(word, KINDS) {
        Some(near) => mistake.with_suggestion(Some(near)),
        None => mistake.with_help("a file is a `plan`, a `dag`, a `goal` or a `gate`"),
    }
}

/// Splits a spec file at its `---` lines.
pub fn split_front_matter(text: &str) -> Result<FrontMatter, Box<Diagnostic>> {
    FrontMatter::split(text).map_err(|reason| Box::new(fence_mistake(reason, text)))
}

fn fence_mistake(error: FenceError, text: &str) -> Diagnostic {
    let start = if text.starts_with('\u{feff}') { 3 } else { 0 };
    let place = |shown| Span::new(start, start).subspan(0..shown);
    match error {
        FenceError::Start => {
            let first = text.get(start..).and_then(|text| text.lines().next()).unwrap_or("");
            let shown = first.trim_end().chars().take(40).map(char::len_utf8).sum();
            let message = "the file does not start with a `---` line";
            let help = "start with `---`, then the YAML, then `---`, then the Markdown";
            Diagnostic::new(Code::FrontMatterMissing, place(shown), message).with_help(help)
        }
        FenceError::Close => {
            let message = "the front matter that starts here has no closing `---` line";
            let mistake = Diagnostic::new(Code::FrontMatterOpen, place(3), message);
            mistake.with_help("close it with a `---` line")
        }
    }
}

/// Returns the location of a part of a text in its file. If the text is not there letter by letter
/// (escapes, indented blocks), the part is searched for; the whole is the last resort.
pub fn part(source: &SourceText, text: &Spanned<String>, range: Range<usize>) -> Span {
    let written = source.slice(text.span);
    if written == text.value {
        return text.span.subspan(range);
    }
    let (Some(before), Some(wanted)) = (text.value.get(..range.start), text.value.get(range)) else {
        return text.span;
    };
    let earlier = before.matches(wanted).count();
    match written.match_indices(wanted).nth(earlier) {
        Some((at, _)) => text.span.subspan(at..at + wanted.len()),
        None => text.span,
    }
}

#[cfg(test)]
mod tests {
    use super::part;
    use wf_base::source::{SourceText, Span, Spanned};

    /// Searches `text`, which the file has as `written` between `before` and the end, for `wanted`.
    fn check(written: &str, text: &str, wanted: &str, expected: &str) {
        let before = "größer: ";
        let source = SourceText::new("plan.md", format!("{before}{written}"));
        let span = Span::new(before.len(), before.len() + written.len());
        let text = Spanned::new(text.to_owned(), span);
        let at = text.value.rfind(wanted).unwrap();
        let found = part(&source, &text, at..at + wanted.len());
        assert_eq!(source.slice(found), expected);
        assert_eq!(found.end as usize, before.len() + written.rfind(expected).unwrap() + expected.len());
    }

    #[test]
    fn parts_are_found_where_they_are_written() {
        check("a é b", "a é b", "b", "b");
        check("one {{x}}\n    two {{x}}", "one {{x}}\ntwo {{x}}\n", "{{x}}", "{{x}}");
        check("\"a\\tb\"", "a\tb", "a\tb", "\"a\\tb\"");
    }
}
