//! The verdicts that were recorded from the published validator.

use serde::Deserialize;
use wf_skill::{load, reference, standard};

#[derive(Deserialize)]
struct Recorded {
    /// For each input, its findings: a code and a message. `!` alone is a traceback.
    fixtures: Vec<Vec<Said>>,
    /// The number of the input, its edits, and the codes.
    mutants: Vec<(usize, Vec<Edit>, String)>,
}

/// At which character, how many are taken out, and what is put in.
type Edit = (usize, usize, String);

#[derive(Deserialize, Debug)]
#[serde(untagged)]
enum Said {
    Traceback(String),
    Finding(String, String),
}

/// What is tried, its folder and its text.
type Input = (String, String, String);

fn read<T: for<'a> Deserialize<'a>>(name: &str) -> T {
    let text = std::fs::read_to_string(format!("tests/skills/{name}")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Why a verdict of ours may differ; `docs/skills.md` has the same list.
fn allowed(text: &str) -> Option<&'static str> {
    let front = text.get(3..).and_then(|rest| rest.split("---").next()).unwrap_or("");
    // Line ends of YAML 1.1, after which the other parser goes on counting columns.
    if front.contains(['\u{85}', '\u{2028}', '\u{2029}']) {
        return Some("line ends of YAML 1.1");
    }
    let mut lines = front.split(['\n', '\r']);
    if lines.clone().any(|line| line.starts_with(['|', '>'])) {
        return Some("a block that begins at the first column");
    }
    let is_header = |line: &str| {
        let at = line.find([':', '-']).map_or(0, |at| at + 1);
        let rest = line.get(at..).unwrap_or("").trim_start();
        rest.starts_with(['|', '>']) && rest.contains('#') && !rest.contains(" #")
    };
    lines.any(is_header).then_some("a comment on the line of a block, without a blank before it")
}

/// The codes of the other validator; of a traceback, what we say instead.
fn check(text: &str, folder: &str, codes: &[&str]) -> Result<bool, String> {
    let found = reference(text, folder);
    let own: Vec<&str> = found.iter().map(|finding| finding.code).collect();
    let expected = if codes == ["!"] { &["YAML"] } else { codes };
    if own.is_empty() && load(text, folder).is_err() {
        return Err(format!("{text:?} is valid and does not load"));
    }
    // The other two must at least come to an end.
    let _ = standard(text, "SKILL.md", folder);
    let _ = load(text, folder);
    match own == expected {
        true => Ok(true),
        false if allowed(text).is_some() => Ok(false),
        false => Err(format!("{text:?} in {folder}: {own:?}, not {expected:?}")),
    }
}

#[test]
fn inputs_are_judged_as_recorded() {
    let inputs: Vec<Input> = read("inputs.json");
    let recorded: Recorded = read("recorded.json");
    assert_eq!(inputs.len(), recorded.fixtures.len());
    let mut wrong = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for ((what, folder, text), said) in inputs.iter().zip(&recorded.fixtures) {
        let codes: Vec<&str> = said.iter().map(code).collect();
        seen.extend(codes.iter().copied());
        wrong.extend(check(text, folder, &codes).err().map(|reason| format!("{what}: {reason}")));
        let found = reference(text, folder);
        for (finding, said) in found.iter().zip(said) {
            if let Said::Finding(code, message) = said
                && code != "YAML"
                && *message != finding.message
            {
                wrong.push(format!("{what}: {:?}, not {message:?}", finding.message));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // Every rule that a text can break is broken by some input, and so is the other's parser.
    assert_eq!(seen.len(), 19, "{seen:?}");
}

fn code(said: &Said) -> &str {
    match said {
        Said::Traceback(mark) => mark,
        Said::Finding(code, _) => code,
    }
}

#[test]
fn mutants_are_judged_as_recorded() {
    let inputs: Vec<Input> = read("inputs.json");
    let recorded: Recorded = read("recorded.json");
    assert!(recorded.mutants.len() >= 2_000);
    let (mut wrong, mut differ) = (Vec::new(), 0);
    for (number, edits, codes) in &recorded.mutants {
        let (_, folder, text) = inputs.get(*number).unwrap();
        let text = edits.iter().fold(text.clone(), |text, (at, out, put)| {
            let before = text.chars().take(*at);
            let after = text.chars().skip(at + out);
            before.chain(put.chars()).chain(after).collect()
        });
        let codes: Vec<&str> = codes.split_whitespace().collect();
        match check(&text, folder, &codes) {
            Ok(same) => differ += usize::from(!same),
            Err(reason) => wrong.push(reason),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // What may differ must stay rare, or the list of reasons hides something.
    let most = recorded.mutants.len() / 200;
    assert!(differ <= most, "{differ} of {} differ", recorded.mutants.len());
}
