use std::collections::HashMap;

use super::{
    ast::{KnownShell, PlanSpec, ShellSpec, StepSpec},
    decode::SpecDecoder,
    markdown::{FencedBlock, MarkdownSection},
};
use wf_base::{
    diag::{Code, Diagnostic, nearest},
    name::Name,
    source::{Span, Spanned},
};

/// Gives every step the section under its id: the prose as its briefing, and the fenced
/// block as its script if the front matter names no executor. The rest goes to the plan.
pub(super) fn attach(plan: &mut PlanSpec, sections: Vec<MarkdownSection>, decoder: &mut SpecDecoder<'_>) {
    let has_headings = sections.iter().any(|section| section.heading.is_some());
    // The whole body is for the agent of a plan without `steps`, whatever its headings.
    let agents = usize::from(plan.is_single_agent);
    let names = plan.all_steps().enumerate().skip(agents).filter(|_| has_headings);
    let names: HashMap<_, _> = names.map(|(at, step)| (step.id.value.clone(), at)).collect();
    let headings: Vec<String> = sections
        .iter()
        .filter(|section| !section.blocks.is_empty())
        .filter_map(|section| Some(section.heading.as_ref()?.text.clone()))
        .collect();
    let mut bodies: HashMap<usize, StepSections> = HashMap::new();
    for (owner, section) in owners(sections, &names) {
        match owner {
            Some(step) => {
                let title = section.heading.as_ref().map(|heading| heading.text.trim());
                let is_nested = title.and_then(|title| names.get(title)) != Some(&step);
                bodies.entry(step).or_default().add(section, is_nested);
            }
            None => join(&mut plan.briefing, decoder.source_text(section.span)),
        }
    }
    if let Some([agent]) = plan.steps.as_deref_mut().filter(|_| agents == 1) {
        agent.briefing = Some(std::mem::take(&mut plan.briefing).into());
    }
    let main = plan.steps.iter_mut().flatten();
    for (at, step) in main.chain(&mut plan.finally).enumerate() {
        match bodies.remove(&at) {
            Some(body) => body.give(step, decoder),
            None if step.has_executor => {}
            None => missing(step, &headings, decoder),
        }
        check_briefing(step, at < agents, decoder);
        step.build_alternatives();
    }
}

/// Notes an agent without a briefing.
fn check_briefing(step: &StepSpec, is_single_agent: bool, decoder: &mut SpecDecoder<'_>) {
    let agents = step.agent.iter().map(|agent| agent.span);
    let others = step.alternatives.iter().filter_map(|other| other.agent.as_ref().map(|agent| agent.span));
    let is_empty = step.briefing.as_deref().is_none_or(|text| text.trim().is_empty());
    let Some(span) = agents.chain(others).next().filter(|_| is_empty) else { return };
    let id = &step.id.value;
    let (message, help) = if is_single_agent {
        let help =
            "add `steps`; without them, the plan is one agent: write below the front matter what it is to do";
        ("a plan needs `steps` or a body".to_owned(), help.to_owned())
    } else {
        let help = format!("write a section `## {id}` below the front matter that says what is to be done");
        (format!("the agent of step `{id}` has no briefing"), help)
    };
    decoder.emit(Diagnostic::new(Code::KeyMissing, span, message).with_help(help));
}

/// The sections of one step.
#[derive(Default)]
struct StepSections {
    sections: Vec<Span>,
    blocks: Vec<FencedBlock>,
}

/// Pairs each section with its step: by its heading, or by the section above it.
fn owners(
    sections: Vec<MarkdownSection>,
    names: &HashMap<Name, usize>,
) -> Vec<(Option<usize>, MarkdownSection)> {
    let mut owner: Option<(usize, u8)> = None;
    let pair = |section: MarkdownSection| {
        if let Some(heading) = &section.heading {
            if let Some(step) = names.get(heading.text.trim()) {
                owner = Some((*step, heading.level));
            } else if owner.is_some_and(|(_, level)| heading.level <= level) {
                owner = None;
            }
        }
        (owner.map(|(step, _)| step), section)
    };
    sections.into_iter().map(pair).collect()
}

impl StepSections {
    /// Adds a section. The heading naming the step is left out; those below it are part of the prose.
    fn add(&mut self, section: MarkdownSection, is_nested: bool) {
        let heading = section.heading.filter(|_| !is_nested);
        let start = heading.map_or(section.span.start, |heading| heading.span.end);
        self.sections.push(Span { start, end: section.span.end });
        self.blocks.extend(section.blocks);
    }

    fn give(mut self, step: &mut StepSpec, decoder: &mut SpecDecoder<'_>) {
        let script = if step.has_executor {
            // The blocks of a briefing are part of it.
            if step.agent.is_none() {
                self.unused(step, decoder);
            }
            None
        } else {
            self.script(step, decoder)
        };
        let mut briefing = String::new();
        for section in self.sections {
            match script {
                Some(cut) if section.start <= cut.start && cut.end <= section.end => {
                    join(&mut briefing, decoder.source_text(Span { end: cut.start, ..section }));
                    join(&mut briefing, decoder.source_text(Span { start: cut.end, ..section }));
                }
                _ => join(&mut briefing, decoder.source_text(section)),
            }
        }
        step.briefing = (!briefing.is_empty()).then(|| briefing.into());
    }

    /// Takes the only block as the script and returns its location.
    fn script(&mut self, step: &mut StepSpec, decoder: &mut SpecDecoder<'_>) -> Option<Span> {
        if self.blocks.len() > 1 {
            decoder.emit(two_scripts(step, &self.blocks));
            return None;
        }
        let Some(block) = self.blocks.pop() else {
            missing(step, &[], decoder);
            return None;
        };
        if step.shell.is_none() {
            match KnownShell::of_fence(&block.language) {
                Some(word) => {
                    step.shell = Some(Box::new(Spanned::new(ShellSpec::Word(word), block.span)));
                }
                None => decoder.emit(no_shell(&block)),
            }
        }
        step.run = Some(block.text);
        Some(block.span)
    }

    /// Warns of scripts beside an executor; blocks in other languages are illustrations.
    fn unused(&self, step: &StepSpec, decoder: &mut SpecDecoder<'_>) {
        for block in &self.blocks {
            if !block.language.is_empty() && KnownShell::of_fence(&block.language).is_some() {
                let message = format!("step `{}` cannot use this script", step.id.value);
                let help = "the front matter already defines what it executes; if this block is \
                            only an example, mark it as `text` or `console`";
                let mistake = Diagnostic::new(Code::SectionUnused, block.opening, message);
                decoder.emit(mistake.with_help(help));
            }
        }
    }
}

fn missing(step: &StepSpec, headings: &[String], decoder: &mut SpecDecoder<'_>) {
    let id = step.id.value.as_str();
    let message = format!("step `{id}` has nothing to execute");
    let mistake = Diagnostic::new(Code::ExecutorMissing, step.id.span, message);
    let near = if decoder.is_full() { None } else { nearest(id, headings.iter().map(String::as_str)) };
    decoder.emit(match near {
        Some(near) => mistake.with_help(format!(
            "the section `{near}` has a script; did you mean that \
                                            one?"
        )),
        None => mistake.with_help(format!(
            "add `run`, `exec`, `skill`, `agent`, `http`, `uses`, `wait` or `approve`, or a section `{id}` with a \
             fenced script"
        )),
    });
}

fn two_scripts(step: &StepSpec, blocks: &[FencedBlock]) -> Diagnostic {
    let message = format!("the section of step `{}` has {} scripts", step.id.value, blocks.len());
    let help = "move the script into `run`, or keep one fenced block";
    let mistake = Diagnostic::new(Code::ExecutorTwice, step.id.span, message).with_help(help);
    let point = |mistake: Diagnostic, block: &FencedBlock| mistake.with_related(block.opening, "one is here");
    blocks.iter().take(9).fold(mistake, point)
}

fn no_shell(block: &FencedBlock) -> Diagnostic {
    let message = format!("no shell is known for the language `{}`", block.language);
    Diagnostic::new(Code::ValueWrong, block.opening, message).with_help(
        "mark the block as `sh`, `bash` or `python`, or set a program with `shell: [node, \
               -e]`",
    )
}

/// Adds a paragraph of prose.
fn join(prose: &mut String, more: &str) {
    let more = more.trim();
    if !more.is_empty() {
        if !prose.is_empty() {
            prose.push_str("\n\n");
        }
        prose.push_str(more);
    }
}
