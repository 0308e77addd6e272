//! What the documents say is so: their plans are checked and run, their sessions are repeated,
//! their lists are those of the code.
//!
//! The words after ` ```markdown ` say what is asked of a plan: `NAME.md` gives it a name that
//! others can use, `run` runs it, `refused:CODE` wants exactly that mistake. A fence ` ```console `
//! with the word `run` is a session in a copy of the examples, with the files that the document names
//! `file:PATH`. A fence with `from:PATH` shows a file of this repository, one with `graph:PLAN` what
//! `wf graph` draws. `WF_UPDATE=1` writes anew what is generated.

mod detectors;
pub mod fence;
mod foreign;
mod lists;
mod named;
mod places;
mod session;

use std::collections::BTreeMap;

use wf_app::config::WorkspaceConfig;
use wf_base::{name::SkillName, source::SourceText};
use wf_lang::{self as lang, InMemoryFiles};

use crate::support::Sandbox;
use fence::Fence;

/// Every document, by its path.
fn documents() -> Vec<(String, String)> {
    let mut paths = vec!["README.md".to_owned(), "CHANGELOG.md".to_owned()];
    for folder in ["docs", "docs/language"] {
        let entries = std::fs::read_dir(folder).expect("there are documents").flatten();
        paths.extend(entries.map(|entry| entry.path().display().to_string()));
    }
    paths.retain(|path| path.strip_suffix(".md").is_some());
    paths.sort();
    let text = |path: &String| std::fs::read_to_string(path).expect("documents are text");
    paths.iter().map(|path| (path.clone(), text(path))).collect()
}

/// The plans of a document, and its named files.
fn plans(text: &str) -> (Vec<Fence>, BTreeMap<String, Vec<u8>>) {
    let plans: Vec<Fence> = fence::all(text)
        .into_iter()
        .filter(|fence| fence.language() == "markdown" && fence.text.starts_with("---"))
        .collect();
    let named = |fence: &Fence| Some((fence.name()?.to_owned(), fence.text.clone().into_bytes()));
    let files = plans.iter().filter_map(named).collect();
    (plans, files)
}

#[test]
fn plans_in_documents_are_what_they_are_said_to_be() {
    for (path, text) in documents() {
        let (plans, files) = plans(&text);
        for plan in plans {
            let place = format!("{path}:{}", plan.line);
            let mut files = InMemoryFiles(files.clone());
            let name = plan.name().unwrap_or("example.md");
            if let Some(folder) = name.strip_suffix("/SKILL.md") {
                let skill = folder.rsplit('/').next().unwrap_or(folder);
                let skill = SkillName::parse(skill).expect("a skill has a name");
                let (_, found) = lang::read_skill(&SourceText::new(name, &*plan.text), &skill);
                assert!(found.is_empty(), "{place}: {found:#?}");
                continue;
            }
            files.0.insert(name.into(), plan.text.clone().into_bytes());
            let mut loaded = lang::load(&files, name);
            wf_lang::check::check(&mut loaded);
            let found: Vec<String> = loaded
                .diagnostics
                .iter()
                .map(|(_, mistake)| format!("{}: {}", mistake.code.as_str(), mistake.message))
                .collect();
            if let Some(code) = plan.refused() {
                let is_it = |told: &String| told.starts_with(&format!("{code}:"));
                assert!(found.len() == 1 && found.iter().all(is_it), "{place}: {found:#?}");
            } else {
                assert!(found.is_empty(), "{place}: {found:#?}");
                let wrong = if loaded.gates.contains_key(&0) {
                    lang::lower_gate(&loaded).err()
                } else if loaded.personas.contains_key(&0) {
                    None
                } else {
                    lang::lower(&loaded, &WorkspaceConfig::default().defaults).err()
                };
                assert!(wrong.is_none(), "{place}: {wrong:?}");
            }
        }
    }
}

#[test]
fn plans_in_documents_run() {
    for (path, text) in documents() {
        let (plans, files) = plans(&text);
        for plan in plans.iter().filter(|plan| plan.has("run")) {
            let sandbox = Sandbox::new();
            for (name, text) in &files {
                sandbox.file(name, text);
            }
            let name = plan.name().expect("a plan that is run has a name");
            let did = sandbox.wf(&["run", name]);
            assert_eq!(did.code, Some(0), "{path}:{}\n{}", plan.line, did.all());
        }
    }
}

#[test]
fn configurations_in_documents_are_right() {
    for (path, text) in documents() {
        let named = |fence: &Fence| fence.language() == "yaml" && fence.has("wf.yaml");
        for fence in fence::all(&text).into_iter().filter(named) {
            let (_, mistakes) = wf_app::config::load(&SourceText::new("wf.yaml", fence.text.as_str()));
            assert!(mistakes.is_empty(), "{path}:{}: {mistakes:#?}", fence.line);
        }
    }
}

#[test]
fn links_between_documents_lead_somewhere() {
    let documents = documents();
    for (path, text) in &documents {
        for link in fence::links(text) {
            let place = format!("{path}: {link}");
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            if file.contains("://") {
                continue;
            }
            let folder = path.rsplit_once('/').map_or(".", |(folder, _)| folder);
            let target = match file {
                "" => path.clone(),
                file => format!("{folder}/{file}"),
            };
            assert!(std::path::Path::new(&target).exists(), "{place} is not there");
            if !anchor.is_empty() {
                let text = std::fs::read_to_string(&target).expect("an anchor is in a text");
                assert!(fence::anchors(&text).contains(&anchor.to_owned()), "{place} has no heading");
            }
        }
    }
}
