use super::ast::{Dag, Gate, Goal, Plan};
use super::decode::{Decode, Decoder, Mistakes};
use super::yaml::{Node, Yaml};
use super::{body, front_matter, markdown, yaml};
use crate::diag::{Code, Diagnostic, nearest};
use crate::source::{Source, Span};

/// The kinds of spec files that there are.
const KINDS: [&str; 4] = ["plan", "dag", "goal", "gate"];

/// What a spec file declares.
#[derive(Debug)]
pub(super) enum Spec {
    /// A plan, or a dag as a plan.
    Plan(Box<Plan>),
    /// A goal, and its plan.
    Goal(Box<Goal>, Box<Plan>),
    /// A gate.
    Gate(Box<Gate>),
}

/// Reads one spec file: what it declares, as far as it can be read, and all that is wrong.
pub(super) fn read(source: &Source) -> (Option<Spec>, Vec<Diagnostic>) {
    let text = source.text();
    let parts = match front_matter::split(text) {
        Ok(parts) => parts,
        Err(mistake) => return (None, vec![*mistake]),
    };
    let mut mistakes = Mistakes::default();
    let tree = yaml::read(text, parts.yaml, &mut mistakes);
    let mut decoder = Decoder::new(text, mistakes);
    let mut spec = tree.and_then(|tree| declare(&tree, source.path(), &mut decoder));
    match &mut spec {
        Some(Spec::Plan(plan) | Spec::Goal(_, plan)) => {
            body::attach(plan, markdown::sections(text, parts.body), &mut decoder);
        }
        Some(Spec::Gate(gate)) => gate.attach(decoder.written(parts.body), &mut decoder),
        None => {}
    }
    (spec, decoder.into_mistakes().into_diagnostics())
}

/// Decodes the front matter as what its `kind` says it is.
fn declare(tree: &Node<'_>, path: &str, decoder: &mut Decoder<'_>) -> Option<Spec> {
    if !matches!(tree.value, Yaml::Map(_)) {
        decoder.wrong_type(tree, "front matter that is a mapping");
        return None;
    }
    let Some(kind) = tree.get("kind") else {
        decoder.note(no_kind(path, tree.head()));
        return None;
    };
    let plan = |plan| Spec::Plan(Box::new(plan));
    match &kind.value.value {
        Yaml::Text(kind) if kind == "plan" => Plan::decode(tree, decoder).map(plan),
        Yaml::Text(kind) if kind == "dag" => Dag::decode(tree, decoder).map(Plan::from).map(plan),
        Yaml::Text(kind) if kind == "goal" => {
            let goal = Goal::decode(tree, decoder)?;
            let plan = Box::new(goal.plan());
            Some(Spec::Goal(Box::new(goal), plan))
        }
        Yaml::Text(kind) if kind == "gate" => {
            Gate::decode(tree, decoder).map(|gate| Spec::Gate(Box::new(gate)))
        }
        Yaml::Text(word) => {
            let span = decoder.content(&kind.value);
            decoder.note(other_kind(word, span));
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
        let message = "this is a skill, and no plan, goal or gate";
        let help = "`wf skill validate` checks it, and a step takes it with `skill:`";
        return Diagnostic::new(Code::KeyMissing, at, message).help(help);
    }
    Diagnostic::new(Code::KeyMissing, at, "the file does not say its `kind`")
        .help("write `kind: plan`, `kind: dag`, `kind: goal` or `kind: gate`")
}

fn other_kind(word: &str, at: Span) -> Diagnostic {
    let mistake = Diagnostic::new(Code::KindUnknown, at, format!("there is no kind `{word}`"));
    if word == "skill" {
        return mistake.help("a skill is a folder with a SKILL.md, which has no `kind`");
    }
    match word.to_lowercase().as_str() {
        "workflow" | "pipeline" | "job" | "task" | "playbook" | "action" => {
            return mistake.help("write `kind: plan`: `steps`, and how we know that they worked");
        }
        "cronjob" | "cronworkflow" | "schedule" | "cron" | "timer" => {
            return mistake
                .help("write `kind: goal`: it has a `schedule`, and a plan that it runs");
        }
        _ => {}
    }
    match nearest(word, KINDS) {
        Some(near) => mistake.meant(Some(near)),
        None => mistake.help("a file is a `plan`, a `dag`, a `goal` or a `gate`"),
    }
}
