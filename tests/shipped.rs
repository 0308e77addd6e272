//! The skills that come with `wf`: each is what it says, and its scripts refuse what they must.

mod bench;
mod coding;
mod maker;
mod odd;
mod planner;
mod retrospective;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use wf_base::source::SourceText;
use wf_lang::{self as lang, InMemoryFiles};
use wf_skill::{self as skill, disk};

use crate::docs::fence;

/// The skills, by the names of their folders.
const ALL: [&str; 4] = ["coding", "plan-writer", "retrospective", "skill-maker"];

/// The text of a skill's SKILL.md.
fn text(name: &str) -> String {
    std::fs::read_to_string(format!("skills/{name}/SKILL.md")).expect("the skill is there")
}

/// The files of all skills, by their paths.
fn files() -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for name in ALL {
        let folder = format!("skills/{name}");
        let bundle = disk::read(Path::new(&folder)).expect("a skill can be read");
        for (path, file) in bundle.files {
            all.insert(format!("{folder}/{path}"), file.bytes);
        }
    }
    all
}

#[test]
fn every_folder_is_one_of_them() {
    let entries = std::fs::read_dir("skills").expect("there are skills");
    let names = entries.flatten().map(|entry| entry.file_name());
    let names: BTreeSet<String> = names.map(|name| name.display().to_string()).collect();
    let names: Vec<String> = names.into_iter().collect();
    assert_eq!(names, ALL);
}

#[test]
fn what_is_built_in_is_what_lies_there() {
    assert_eq!(skill::bundled::names(), ALL);
    for name in ALL {
        let folder = format!("skills/{name}");
        let there = disk::read(Path::new(&folder)).expect("a skill can be read");
        let built = skill::bundled::bundled(name).expect("it is built in");
        assert_eq!(built.digest(), there.digest(), "{name} differs");
    }
}

#[test]
fn each_is_valid_by_all_three_profiles() {
    for name in ALL {
        let text = text(name);
        let skill = skill::load(&text, name).expect("the skill loads");
        assert!(skill.warnings.is_empty(), "{name}: {:#?}", skill.warnings);
        let wrong = skill::reference(&text, name);
        assert!(wrong.is_empty(), "{name}: {wrong:#?}");
        let wrong = skill::standard(&text, "SKILL.md", name);
        assert!(wrong.is_empty(), "{name}: {wrong:#?}");
        let description = skill.description;
        assert!(description.contains("Use "), "{name} does not say when");
        let lines = text.lines().count();
        assert!(lines < 200, "{name} has {lines} lines");
    }
}

#[test]
fn each_declares_its_scripts_and_nothing_that_is_not_there() {
    for name in ALL {
        let text = text(name);
        let skill = skill::load(&text, name).expect("the skill loads");
        let (own, wrong) = lang::skill_own(&text, skill.own);
        assert!(wrong.is_empty(), "{name}: {wrong:#?}");
        let own = own.expect("it says something to wf");
        assert!(own.names().count() >= 2, "{name} has scripts");
        for (path, script) in own.scripts.iter() {
            let place = format!("skills/{name}/{}", path.value);
            assert!(Path::new(&place).is_file(), "{place} is not there");
            assert!(script.description.is_some(), "{place} is not described");
            assert!(script.timeout.is_some(), "{place} may take for ever");
            let allow = script.allow.as_ref().expect("it says what it reaches");
            assert!(!allow.net && allow.read.is_empty(), "{place}");
            let code = std::fs::read_to_string(&place).unwrap();
            for (arg, declared) in script.args.iter() {
                let own = arg.value.as_str();
                let flag = if std::path::Path::new(&place).extension() == Some("sh".as_ref()) {
                    format!("--{own}")
                } else {
                    own.replace('-', "_")
                };
                assert!(code.contains(&flag), "{place} does not know {flag}");
                assert!(declared.description.is_some(), "{place} {flag}");
            }
        }
    }
}

#[test]
fn links_in_them_lead_somewhere() {
    for (path, bytes) in files() {
        if path.strip_suffix(".md").is_none() {
            continue;
        }
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let text = String::from_utf8(bytes).expect("prose is text");
        let body = text.split_once("\n---\n").map_or(&*text, |(_, body)| body);
        for link in fence::links(body) {
            let is_there = link.contains("://") || Path::new(folder).join(&link).is_file();
            assert!(is_there, "{path}: {link} is not there");
        }
    }
}

/// The plans that the skills show have no mistakes.
#[test]
fn plans_in_them_are_right() {
    let all = files();
    let mut found = 0;
    for (path, bytes) in &all {
        let text = String::from_utf8_lossy(bytes);
        let plans = fence::all(&text).into_iter();
        let plans: Vec<_> = plans.filter(|it| it.language() == "markdown").collect();
        let mut files = all.clone();
        for plan in &plans {
            let name = plan.name().unwrap_or("example.md");
            files.insert(name.into(), plan.text.clone().into_bytes());
        }
        for plan in &plans {
            let name = plan.name().unwrap_or("example.md");
            files.insert(name.into(), plan.text.clone().into_bytes());
            let mut loaded = lang::load(&InMemoryFiles(files.clone()), name);
            wf_lang::check::check(&mut loaded);
            let told: Vec<&str> = loaded.diagnostics.iter().map(|(_, told)| told.message.as_str()).collect();
            assert!(told.is_empty(), "{path}:{}: {told:#?}", plan.line);
            found += 1;
        }
    }
    assert!(found >= 7, "{found} plans are too few to be all");
}

/// Every key of a plan, a step and an expectation that the cheat sheets name is one.
#[test]
fn keys_in_the_cheat_sheets_are_known() {
    let sheet = std::fs::read_to_string("skills/plan-writer/references/steps.md").unwrap();
    let schema = std::fs::read_to_string("schemas/plan.schema.json").unwrap();
    let rows = sheet.lines().filter_map(|line| line.strip_prefix("| `"));
    let mut found = 0;
    for row in rows {
        let keys = row.split(" | ").next().unwrap_or_default();
        for key in keys.split(['`', ',', '/', ' ']).filter(|key| !key.is_empty()) {
            assert!(schema.contains(&format!("\"{key}\": {{")), "no key `{key}`");
            found += 1;
        }
    }
    assert!(found > 25, "{found} keys are too few to be all");
}

/// A SKILL.md, as `wf` reads it.
fn loads(text: &str, name: &str) -> Vec<String> {
    let name = wf_base::name::SkillName::parse(name).expect("a name of a skill");
    let (skill, wrong) = lang::read_skill(&SourceText::new("SKILL.md", text), &name);
    let mut told: Vec<String> = wrong.iter().map(|it| it.message.clone()).collect();
    if skill.is_none() {
        told.push("it does not load".into());
    }
    told
}
