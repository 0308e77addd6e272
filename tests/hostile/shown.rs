//! Whatever others write, nothing of it acts on a terminal, in a summary or in a report, and no line of it
//! looks like one of `wf`.
//!
//! The texts of [`TEXTS`] in pairs and some mixtures of them are put wherever others write: output, evidence,
//! reasons, comments, titles, values, paths, keys of items, mistakes in files. Then every command that shows
//! something is run, at a desk with colours and in GitHub Actions, and all that it writes is looked through.

mod commands;
mod texts;

use std::fs;

use serde_json::Value;

use crate::support::{Did, Sandbox};
use commands::LATER;
pub use texts::TEXTS;
use texts::{faults, mixtures, name, quoted};

/// A plan in which `TEXT` stands wherever others write.
const PLAN: &str = include_str!("shown.md");

struct Case {
    place: Sandbox,
    styled: bool,
    text: String,
    wrong: Vec<String>,
}

impl Case {
    fn of(text: &str, styled: bool) -> Self {
        let place = Sandbox::new();
        let yaml = quoted(text);
        // The words of a program and the paths that are looked for are one line each.
        let plan = PLAN.replace("TEXT", &yaml);
        place.file("plan.md", &plan);
        let ends = plan.lines().filter(|line| !line.contains("asked"));
        let ends: String = ends.flat_map(|line| [line, "\n"]).collect();
        place.file("ends.md", ends.replace("id: shown", "id: ends"));
        place.file("text", format!("{text}\n"));
        place.file("name", name(text));
        place.file("values", serde_json::json!({"o": text}).to_string());
        let answer = serde_json::json!({"steps": {"checked": {"id": "x"}}, "reason": text});
        place.file("answer", answer.to_string());
        place.file("planner.sh", "cat > /dev/null\ncat text >&2\ncat answer\n");
        place.file(&format!("workflows/{}.md", name(text)), &plan);
        place.file(
            "goals/g.md",
            format!("---\nkind: goal\nid: g\ntitle: {yaml}\nschedule: \"0 0 * * *\"\nverify:\n  - {{name: holds, run: cat text; exit 1}}\n---\n"),
        );
        place.file(
            "gates/own.md",
            format!("---\nkind: gate\nid: own\ntitle: {yaml}\non: before_step\nprovider: script\nrun: \"printf 'reason: '; cat ../text; exit 1\"\n---\n"),
        );
        place.file(
            "broken.md",
            format!("---\nkind: plan\nid: {yaml}\n{yaml}: {yaml}\nsteps: [{{id: {yaml}, run: a, depends_on: [{yaml}], when: {yaml}}}]\n---\n"),
        );
        // A mistake is drawn with the path of its file and the lines around it.
        place.file(&bad(text), format!("---\nkind: plan\nid: {text}\n---\n{text}\n"));
        place.file(
            "skills/odd/SKILL.md",
            format!("---\nname: odd\ndescription: {yaml}\nlicense: {yaml}\n---\n{text}\n"),
        );
        place.file(&format!("skills/odd/{}", name(text)), text);
        Self { place, styled, text: text.to_owned(), wrong: Vec::new() }
    }

    fn wf(&mut self, args: &[&str]) -> Did {
        let mut all: Vec<&str> = Vec::new();
        if self.styled {
            all.extend(["--color", "always"]);
        }
        all.extend(args);
        let mut command = self.place.command(&all);
        if !self.styled {
            command.env("GITHUB_ACTIONS", "true").env("GITHUB_STEP_SUMMARY", self.place.at("summary.md"));
        }
        Did::of(&mut command)
    }

    /// Runs a command, and looks through what it writes.
    fn look(&mut self, args: &[&str]) -> Did {
        let did = self.wf(args);
        if args.first() == Some(&"logs") {
            // There are only lines of steps, below headings.
            let headings = did.out.lines().filter(|line| line.starts_with("── "));
            let ours = headings.clone().all(|line| !line.contains("FAKE#"));
            self.wrong.extend((!ours).then(|| format!("wf {}: a heading", args.join(" "))));
        }
        for (stream, text) in [("out", &did.out), ("err", &did.err)] {
            // GitHub Actions obeys this wherever it stands, except in a line that is a command itself.
            let free = |line: &&str| line.contains("##[") && !line.starts_with("::");
            let obeyed = text.lines().find(free).filter(|_| !self.styled);
            self.wrong.extend(obeyed.map(|line| format!("wf {}: obeyed: {line}", args.join(" "))));
            let fakes = args.first() != Some(&"logs");
            self.blame(&format!("wf {} ({stream})", args.join(" ")), text, (true, fakes));
        }
        if did.code == Some(70) || did.code.is_none() {
            self.wrong.push(format!("wf {}: {}", args.join(" "), did.all()));
        }
        did
    }

    fn blame(&mut self, place: &str, text: &str, (styled, fakes): (bool, bool)) {
        let mut found = faults(text, styled);
        found.retain(|fault| fakes || !fault.starts_with("like"));
        let found = found.into_iter().take(3);
        self.wrong.extend(found.map(|fault| format!("{place}: {fault}")));
    }

    /// What others wrote is in the log and in the record as it is: it was there to be shown.
    fn control(&self) {
        let raw = self.place.wf(&["logs", "--last", "kept", "--raw"]).exits(0).out;
        assert!(raw.contains(&self.text), "{raw:?}");
        let record = self.place.wf(&["show", "--last", "--json"]).exits(0).out;
        let record: Value = serde_json::from_str(&record).unwrap();
        let mut texts = Vec::new();
        leaves(&record, &mut texts);
        let has = |part: &str| texts.iter().any(|text| text.contains(part));
        // An output, a parameter, evidence, the name of a file.
        assert!(texts.contains(&self.text), "{texts:?}");
        assert!(has(&format!("out/{}", name(&self.text))), "{texts:?}");
        let first: String = self.text.chars().take(9).collect();
        assert!(has(&first), "{texts:?}");
    }

    /// Looks through a file that was written.
    fn look_into(&mut self, path: &str) {
        let text = fs::read(self.place.at(path)).unwrap();
        let text = String::from_utf8(text).unwrap();
        // What stands between the tags of XML is text, whatever it says.
        let is_xml = text.starts_with("<?xml");
        self.blame(path, &text, (false, !is_xml));
        if text.contains("<FAKE") || text.contains("<img") || text.contains("</system-out></failure>]]>") {
            self.wrong.push(format!("{path}: markup of others"));
        }
    }
}

/// The file of a plan with mistakes.
fn bad(text: &str) -> String {
    format!("bad/{}.md", name(text))
}

/// All texts of a document.
fn leaves(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(all) => all.iter().for_each(|one| leaves(one, texts)),
        Value::Object(fields) => fields.values().for_each(|one| leaves(one, texts)),
        _ => {}
    }
}

/// Runs everything with one text, and gives what is wrong.
fn try_all(text: &str, styled: bool) -> Vec<String> {
    let mut case = Case::of(text, styled);
    let path = format!("workflows/{}.md", name(text));
    case.look(&["run", "-v", "ends.md", "--junit", "j.xml", "--report", "r.json"]);
    case.look_into("j.xml");
    if !styled {
        case.look_into("summary.md");
    }
    case.control();
    case.look(&["run", "-v", "plan.md"]);
    for args in LATER {
        let own = |word: &&str| word.replace("PATH", &path).replace("BAD", &bad(text)).replace("TEXT", text);
        let args: Vec<String> = args.iter().map(own).collect();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        case.look(&args);
    }
    case.wrong
}

#[test]
fn nothing_that_others_wrote_acts_or_looks_like_wf() {
    let (first, second) = TEXTS.split_at(TEXTS.len() / 2);
    let pairs = first.iter().zip(second);
    let texts =
        pairs.map(|((name, text), (next, after))| (format!("{name}, {next}"), [*text, after].concat()));
    let texts: Vec<(String, String)> = texts.chain(mixtures(1)).collect();
    let mut wrong = Vec::new();
    for (at, (name, text)) in texts.iter().enumerate() {
        for fault in try_all(text, at % 2 == 0) {
            wrong.push(format!("{name}: {fault}"));
        }
    }
    wrong.sort();
    wrong.dedup();
    assert!(wrong.is_empty(), "{} faults\n{}", wrong.len(), wrong.join("\n"));
}

/// The look itself finds each of the texts where it is printed as it is.
#[test]
fn each_text_is_found_where_it_is_printed_as_it_is() {
    for (name, text) in TEXTS {
        let found = faults(text, false);
        assert!(!found.is_empty() || *name == "markup", "{name}");
    }
    assert!(faults("plain\n  text · ⟨U+001B⟩\n", true).is_empty());
}
