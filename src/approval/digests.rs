use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::{Value, json};

use crate::digest::Digest;
use crate::machine::Pin;
use crate::seal::canonical;

/// The digest of a plan: of every text that it is made of and every file that it executes, in
/// the order of their paths. The order in which they are given does not matter.
pub fn plan_digest(files: &[Pin]) -> Digest {
    let mut files: Vec<&Pin> = files.iter().collect();
    files.sort();
    files.dedup();
    Digest::of(canonical(&json!(files)).as_bytes())
}

/// How a file is not the one that was approved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Its path.
    pub path: String,
    /// What was approved; `None`: there was no such file.
    pub approved: Option<Digest>,
    /// What there is; `None`: it is not there, or not executed any more.
    pub found: Option<Digest>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = match (self.approved, self.found) {
            (None, _) => "was added",
            (_, None) => "is gone",
            _ => "was changed",
        };
        write!(f, "{} {how}", self.path)
    }
}

/// What is different between the files that were approved and those that there are, by path.
pub fn differences(approved: &[Pin], found: &[Pin]) -> Vec<Difference> {
    let (approved, found) = (by_path(approved), by_path(found));
    let paths: BTreeSet<&str> = approved.keys().chain(found.keys()).copied().collect();
    let differs = paths.into_iter().filter_map(|path| {
        let (was, is) = (approved.get(path), found.get(path));
        let digest = |contents: Option<&Contents>| contents?.first().map(|(_, digest)| *digest);
        (was != is).then(|| Difference {
            path: path.to_owned(),
            approved: digest(was),
            found: digest(is),
        })
    });
    differs.collect()
}

/// What lies at a path: whether that is a link, and the digest of the content. Of a link to a text that a
/// plan is made of there are two: the text comes first.
type Contents = BTreeSet<(bool, Digest)>;

fn by_path(pins: &[Pin]) -> BTreeMap<&str, Contents> {
    let mut paths: BTreeMap<&str, Contents> = BTreeMap::new();
    for pin in pins {
        let contents = paths.entry(&pin.path).or_default();
        contents.insert((pin.link, pin.digest));
    }
    paths
}

/// What a standing approval lets be started: every plan of this form and no other. Silas 3.6,
/// 5.11.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpawnPolicy {
    /// The text from which the tasks for a failure are made.
    pub failure_template: String,
    /// The skills that they may use.
    pub skills: BTreeSet<String>,
    /// The gates that hold in them.
    pub gates: Vec<Value>,
    /// The checks that decide whether they succeeded.
    pub verify: Vec<Value>,
    /// What a block of theirs leads to, by name.
    pub escalations: BTreeMap<String, Value>,
}

impl SpawnPolicy {
    /// What a standing approval is bound to. The order of gates and checks does not matter.
    pub fn digest(&self) -> Digest {
        let sorted = |values: &[Value]| -> Vec<Value> {
            let texts: BTreeMap<String, &Value> =
                values.iter().map(|v| (canonical(v), v)).collect();
            texts.into_values().cloned().collect()
        };
        let whole = json!({
            "failure_template": self.failure_template,
            "skills": self.skills,
            "gates": sorted(&self.gates),
            "verify": sorted(&self.verify),
            "escalations": self.escalations,
        });
        Digest::of(canonical(&whole).as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::{Pin, SpawnPolicy, differences, plan_digest};
    use crate::digest::Digest;
    use serde_json::json;
    use std::slice;

    fn pin(path: &str, text: &str) -> Pin {
        Pin::file(path, Digest::of(text.as_bytes()))
    }

    #[test]
    fn a_plan_is_its_files_in_any_order() {
        let (a, b) = (pin("a", "1"), pin("b", "2"));
        let both = plan_digest(&[a.clone(), b.clone()]);
        assert_eq!(both, plan_digest(&[b.clone(), a.clone(), b.clone()]));
        for other in [
            vec![a.clone()],
            vec![pin("a", "2"), pin("b", "1")],
            vec![a.clone(), pin("c", "2")],
            vec![],
        ] {
            assert_ne!(both, plan_digest(&other), "{other:?}");
        }
        let link = Pin {
            link: true,
            ..a.clone()
        };
        assert_ne!(plan_digest(&[link]), plan_digest(slice::from_ref(&a)));
        // What anybody can compute with `sha256sum`.
        let text = format!("[{{\"digest\":\"{}\",\"path\":\"a\"}}]", a.digest);
        assert_eq!(plan_digest(&[a]), Digest::of(text.as_bytes()));
    }

    #[test]
    fn what_differs_is_named() {
        let approved = [pin("a", "1"), pin("b", "2"), pin("c", "3")];
        let found = [pin("a", "1"), pin("b", "x"), pin("d", "4")];
        let told: Vec<String> = differences(&approved, &found)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(told, ["b was changed", "c is gone", "d was added"]);
        assert!(differences(&approved, &approved).is_empty());
    }

    #[test]
    fn a_spawn_policy_is_bound_in_every_part() {
        let policy = SpawnPolicy {
            failure_template: "repair {{ failure }}".into(),
            skills: ["restart".to_owned(), "logs".to_owned()].into(),
            gates: vec![json!({"id": "a"}), json!({"id": "b"})],
            verify: vec![json!({"run": "true"})],
            escalations: [("page".to_owned(), json!({"action": "report"}))].into(),
        };
        let digest = policy.digest();
        let mut same = policy.clone();
        same.gates.reverse();
        assert_eq!(same.digest(), digest);
        let changes: [fn(&mut SpawnPolicy); 5] = [
            |it| it.failure_template.push('x'),
            |it| it.skills.extend(["rm".to_owned()]),
            |it| it.gates.clear(),
            |it| it.verify.push(json!({"run": "false"})),
            |it| it.escalations.clear(),
        ];
        for change in changes {
            let mut other = policy.clone();
            change(&mut other);
            assert_ne!(other.digest(), digest, "{other:?}");
        }
    }
}
