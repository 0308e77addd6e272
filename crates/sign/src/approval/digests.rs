use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde_json::{Value, json};

use crate::canonical;
use wf_base::digest::Sha256Digest;
use wf_core::machine::PinnedFile;

/// Returns the digest of a plan: of every text it is made of and every file it executes, sorted by path,
/// whatever the order of the argument.
pub fn plan_digest(files: &[PinnedFile]) -> Sha256Digest {
    let mut files: Vec<&PinnedFile> = files.iter().collect();
    files.sort();
    files.dedup();
    Sha256Digest::of_bytes(canonical(&json!(files)).as_bytes())
}

/// A difference between an approved file and the file found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovedFileDifference {
    pub path: String,
    /// The approved digest; `None`: there was no such file.
    pub approved: Option<Sha256Digest>,
    /// The digest found; `None`: the file is missing or no longer executed.
    pub found: Option<Sha256Digest>,
}

impl fmt::Display for ApprovedFileDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = match (self.approved, self.found) {
            (None, _) => "added",
            (_, None) => "missing",
            (approved, found) if approved == found => "changed: its mode",
            _ => "changed",
        };
        write!(f, "{} {how}", self.path)
    }
}

/// Returns the differences between the approved files and those found, by path.
pub fn differences(pinned: &[PinnedFile], current_files: &[PinnedFile]) -> Vec<ApprovedFileDifference> {
    let (approved, found) = (by_path(pinned), by_path(current_files));
    let paths: BTreeSet<&str> = approved.keys().chain(found.keys()).copied().collect();
    let differs = paths.into_iter().filter_map(|path| {
        let (was, is) = (approved.get(path), found.get(path));
        let digest = |contents: Option<&PathContents>| contents?.first().map(|(_, digest, _)| *digest);
        (was != is).then(|| ApprovedFileDifference {
            path: path.to_owned(),
            approved: digest(was),
            found: digest(is),
        })
    });
    differs.collect()
}

/// The contents at a path: whether it is a link, the digest, and whether it is executable. A link to a text a
/// plan is made of has two entries, the text first.
type PathContents = BTreeSet<(bool, Sha256Digest, bool)>;

fn by_path(pinned_files: &[PinnedFile]) -> BTreeMap<&str, PathContents> {
    let mut paths: BTreeMap<&str, PathContents> = BTreeMap::new();
    for pin in pinned_files {
        let contents = paths.entry(&pin.path).or_default();
        contents.insert((pin.link, pin.digest, pin.executable));
    }
    paths
}

/// The form of the plans a standing approval allows to start: plans of this form and no others. Silas 3.6,
/// 5.11.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpawnPolicy {
    /// The template of the steps for a failure.
    pub failure_template: String,
    /// The skills the steps may use.
    pub skills: BTreeSet<String>,
    /// The gates that apply to the steps.
    pub gates: Vec<Value>,
    /// The checks that decide whether the steps succeeded.
    pub verify: Vec<Value>,
    /// The escalations of blocks of the steps, by name.
    pub escalations: BTreeMap<String, Value>,
}

impl SpawnPolicy {
    /// Returns the digest a standing approval is bound to, whatever the order of its lists.
    pub fn digest(&self) -> Sha256Digest {
        let sorted = |values: &[Value]| -> Vec<Value> {
            let texts: BTreeMap<String, &Value> = values.iter().map(|v| (canonical(v), v)).collect();
            texts.into_values().cloned().collect()
        };
        let whole = json!({
            "failure_template": self.failure_template,
            "skills": self.skills,
            "gates": sorted(&self.gates),
            "verify": sorted(&self.verify),
            "escalations": self.escalations,
        });
        Sha256Digest::of_bytes(canonical(&whole).as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::{PinnedFile, SpawnPolicy, differences, plan_digest};
    use serde_json::json;
    use std::slice;
    use wf_base::digest::Sha256Digest;

    fn pin(path: &str, text: &str) -> PinnedFile {
        PinnedFile::file(path, Sha256Digest::of_bytes(text.as_bytes()))
    }

    #[test]
    fn a_plan_is_its_files_in_any_order() {
        let (a, b) = (pin("a", "1"), pin("b", "2"));
        let both = plan_digest(&[a.clone(), b.clone()]);
        assert_eq!(both, plan_digest(&[b.clone(), a.clone(), b.clone()]));
        for other in
            [vec![a.clone()], vec![pin("a", "2"), pin("b", "1")], vec![a.clone(), pin("c", "2")], vec![]]
        {
            assert_ne!(both, plan_digest(&other), "{other:?}");
        }
        let link = PinnedFile { link: true, ..a.clone() };
        assert_ne!(plan_digest(&[link]), plan_digest(slice::from_ref(&a)));
        let executable = PinnedFile { executable: true, ..a.clone() };
        assert_ne!(plan_digest(&[executable]), plan_digest(slice::from_ref(&a)));
        // The same as `sha256sum` computes.
        let text = format!("[{{\"digest\":\"{}\",\"path\":\"a\"}}]", a.digest);
        assert_eq!(plan_digest(&[a]), Sha256Digest::of_bytes(text.as_bytes()));
    }

    #[test]
    fn what_differs_is_named() {
        let approved = [pin("a", "1"), pin("b", "2"), pin("c", "3")];
        let found = [pin("a", "1"), pin("b", "x"), pin("d", "4")];
        let told: Vec<String> = differences(&approved, &found).iter().map(ToString::to_string).collect();
        assert_eq!(told, ["b changed", "c missing", "d added"]);
        assert!(differences(&approved, &approved).is_empty());
        let mut executable = approved.clone();
        executable[1].executable = true;
        for (one, other) in [(&approved, &executable), (&executable, &approved)] {
            assert_eq!(differences(one, other)[0].to_string(), "b changed: its mode");
        }
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
