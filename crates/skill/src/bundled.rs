//! The skills bundled with wf, from `skills/` of its source.

use super::{BundleFile, SkillBundle};

/// A file of a bundled skill: its path, its bytes, and true if it is executable.
type BundledFile = (&'static str, &'static [u8], bool);

/// One file of the folder of a skill. None of them is executable.
macro_rules! file {
    ($skill:literal, $path:literal) => {
        ($path, include_bytes!(concat!("../../../skills/", $skill, "/", $path)) as &[u8], false)
    };
}

/// The skills: a name and its files.
const SKILLS: &[(&str, &[BundledFile])] = &[
    (
        "coding",
        &[
            file!("coding", "SKILL.md"),
            file!("coding", "assets/sample.diff"),
            file!("coding", "assets/sample.txt"),
            file!("coding", "references/workflow.md"),
            file!("coding", "scripts/apply_patch.sh"),
            file!("coding", "scripts/run_tests.sh"),
            file!("coding", "scripts/summarize_diff.py"),
        ],
    ),
    (
        "plan-writer",
        &[
            file!("plan-writer", "SKILL.md"),
            file!("plan-writer", "references/checks.md"),
            file!("plan-writer", "references/expressions.md"),
            file!("plan-writer", "references/goals.md"),
            file!("plan-writer", "references/steps.md"),
            file!("plan-writer", "scripts/check_plan.sh"),
            file!("plan-writer", "scripts/new_plan.py"),
        ],
    ),
    (
        "retrospective",
        &[
            file!("retrospective", "SKILL.md"),
            file!("retrospective", "references/evidence.md"),
            file!("retrospective", "scripts/apply.py"),
            file!("retrospective", "scripts/gather.py"),
            file!("retrospective", "scripts/propose.py"),
        ],
    ),
    (
        "skill-maker",
        &[
            file!("skill-maker", "SKILL.md"),
            file!("skill-maker", "references/authoring.md"),
            file!("skill-maker", "scripts/check.sh"),
            file!("skill-maker", "scripts/make.py"),
        ],
    ),
];

/// Returns the names of the bundled skills.
pub fn names() -> Vec<&'static str> {
    SKILLS.iter().map(|(name, _)| *name).collect()
}

/// Returns the files of a bundled skill.
pub fn bundled(name: &str) -> Option<SkillBundle> {
    let (_, files) = SKILLS.iter().find(|(skill_name, _)| *skill_name == name)?;
    let files = files.iter().map(|(path, bytes, is_executable)| {
        let file = BundleFile { bytes: bytes.to_vec(), is_executable: *is_executable };
        ((*path).to_owned(), file)
    });
    Some(SkillBundle { files: files.collect() })
}

/// True if these are the files of the bundled skill of this name, byte for byte.
pub fn is_bundled(name: &str, bundle: &SkillBundle) -> bool {
    bundled(name).is_some_and(|own| own == *bundle)
}

#[cfg(test)]
mod tests {
    use super::{bundled, is_bundled, names};
    use crate::disk;

    #[test]
    fn what_comes_with_wf_is_what_lies_in_its_source() {
        let folders = std::fs::read_dir("../../skills").unwrap();
        let name = |folder: std::fs::DirEntry| folder.file_name().into_string().unwrap();
        let mut folders: Vec<String> = folders.map(|folder| name(folder.unwrap())).collect();
        folders.retain(|name| !name.starts_with('.'));
        folders.sort();
        assert_eq!(names(), folders);
        for name in folders {
            let on_disk = disk::read(&std::path::Path::new("../../skills").join(&name)).unwrap();
            assert!(is_bundled(&name, &on_disk), "{name}");
            let mut other = bundled(&name).unwrap();
            other.files.values_mut().next().unwrap().bytes.push(b'x');
            assert!(!is_bundled(&name, &other));
        }
    }
}
