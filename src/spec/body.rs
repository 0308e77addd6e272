use std::collections::HashMap;

use super::ast::{Plan, Shell, ShellWord, Step};
use super::decode::Decoder;
use super::markdown::{Block, Section};
use crate::diag::{Code, Diagnostic, nearest};
use crate::name::Name;
use crate::source::{Span, Spanned};

/// Gives every step the section whose heading is its id: the prose as its briefing, and the
/// fenced block as its script if the front matter names no executor. The rest is the plan's.
pub(super) fn attach(plan: &mut Plan, sections: Vec<Section>, decoder: &mut Decoder<'_>) {
    let has_headings = sections.iter().any(|section| section.heading.is_some());
    let names = plan.all_steps().enumerate().filter(|_| has_headings);
    let names: HashMap<_, _> = names
        .map(|(at, step)| (step.id.value.clone(), at))
        .collect();
    let headings: Vec<String> = sections
        .iter()
        .filter(|section| !section.blocks.is_empty())
        .filter_map(|section| Some(section.heading.as_ref()?.text.clone()))
        .collect();
    let mut bodies: HashMap<usize, Body> = HashMap::new();
    for (owner, section) in owners(sections, &names) {
        match owner {
            Some(step) => bodies.entry(step).or_default().add(section),
            None => join(&mut plan.briefing, decoder.written(section.span)),
        }
    }
    let main = plan.steps.iter_mut().flatten();
    for (at, step) in main.chain(&mut plan.finally).enumerate() {
        match bodies.remove(&at) {
            Some(body) => body.give(step, decoder),
            None if step.has_executor => {}
            None => missing(step, &headings, decoder),
        }
        step.unfold();
    }
}

/// The sections of one step.
#[derive(Default)]
struct Body {
    sections: Vec<Span>,
    blocks: Vec<Block>,
}

/// Pairs each section with the step it belongs to: that of its heading, or that of the section
/// it stands below.
fn owners(sections: Vec<Section>, names: &HashMap<Name, usize>) -> Vec<(Option<usize>, Section)> {
    let mut owner: Option<(usize, u8)> = None;
    let pair = |section: Section| {
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

impl Body {
    fn add(&mut self, section: Section) {
        let heading = section
            .heading
            .map_or(section.span.start, |heading| heading.span.end);
        self.sections.push(Span {
            start: heading,
            end: section.span.end,
        });
        self.blocks.extend(section.blocks);
    }

    fn give(mut self, step: &mut Step, decoder: &mut Decoder<'_>) {
        let script = if step.has_executor {
            self.unused(step, decoder);
            None
        } else {
            self.script(step, decoder)
        };
        let mut briefing = String::new();
        for section in self.sections {
            match script {
                Some(cut) if section.start <= cut.start && cut.end <= section.end => {
                    join(
                        &mut briefing,
                        decoder.written(Span {
                            end: cut.start,
                            ..section
                        }),
                    );
                    join(
                        &mut briefing,
                        decoder.written(Span {
                            start: cut.end,
                            ..section
                        }),
                    );
                }
                _ => join(&mut briefing, decoder.written(section)),
            }
        }
        step.briefing = (!briefing.is_empty()).then(|| briefing.into());
    }

    /// Takes the one block as the script and gives its place.
    fn script(&mut self, step: &mut Step, decoder: &mut Decoder<'_>) -> Option<Span> {
        if self.blocks.len() > 1 {
            decoder.note(two_scripts(step, &self.blocks));
            return None;
        }
        let Some(block) = self.blocks.pop() else {
            missing(step, &[], decoder);
            return None;
        };
        if step.shell.is_none() {
            match ShellWord::of_fence(&block.language) {
                Some(word) => {
                    step.shell = Some(Box::new(Spanned::new(Shell::Word(word), block.span)));
                }
                None => decoder.note(no_shell(&block)),
            }
        }
        step.run = Some(block.text);
        Some(block.span)
    }

    /// Warns of scripts beside an executor; blocks in other languages are illustrations.
    fn unused(&self, step: &Step, decoder: &mut Decoder<'_>) {
        for block in &self.blocks {
            if !block.language.is_empty() && ShellWord::of_fence(&block.language).is_some() {
                let message = format!("step `{}` does not take this script", step.id.value);
                let help = "the front matter says what it executes; if this block only shows \
                            something, call it `text` or `console`";
                let mistake = Diagnostic::new(Code::SectionUnused, block.opening, message);
                decoder.note(mistake.help(help));
            }
        }
    }
}

fn missing(step: &Step, headings: &[String], decoder: &mut Decoder<'_>) {
    let id = step.id.value.as_str();
    let message = format!("step `{id}` says nothing that could be executed");
    let mistake = Diagnostic::new(Code::ExecutorMissing, step.id.span, message);
    let near = if decoder.is_full() {
        None
    } else {
        nearest(id, headings.iter().map(String::as_str))
    };
    decoder.note(match near {
        Some(near) => mistake.help(format!("the section `{near}` has a script; is it meant?")),
        None => mistake.help(format!(
            "add `run`, `exec`, `http`, `uses`, `wait` or `approve`, or a section `{id}` with a fenced script"
        )),
    });
}

fn two_scripts(step: &Step, blocks: &[Block]) -> Diagnostic {
    let message = format!(
        "the section of step `{}` has {} scripts",
        step.id.value,
        blocks.len()
    );
    let help = "put the script into `run`, or leave one fenced block";
    let mistake = Diagnostic::new(Code::ExecutorTwice, step.id.span, message).help(help);
    let point = |mistake: Diagnostic, block: &Block| mistake.also(block.opening, "one is here");
    blocks.iter().take(9).fold(mistake, point)
}

fn no_shell(block: &Block) -> Diagnostic {
    let message = format!("no shell is known for `{}`", block.language);
    Diagnostic::new(Code::ValueWrong, block.opening, message)
        .help("call the block `sh`, `bash` or `python`, or name a program with `shell: [node, -e]`")
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
