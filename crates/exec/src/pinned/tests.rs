use std::{fs, os::unix::fs::symlink, path::Path, sync::Arc, time::Duration};

use super::{PinnedFiles, files};
use crate::processes::process::ProcessCommand;
use wf_base::name::{Name, PlanId, SkillName};
use wf_model::{
    JsonObject, OnStepFailure, Plan, PlanParts, PlanPolicy, ShellScript, SkillCall, Step, StepWork,
    expr::Template,
};

const SKILL: &str = "skills/lint";

/// A workspace with a skill and a file that a plan names.
struct Workspace(tempfile::TempDir);

impl Workspace {
    fn new() -> Self {
        let it = Self(tempfile::tempdir().unwrap());
        it.write("skills/lint/SKILL.md", "---\nname: lint\ndescription: Lints.\n---\n");
        it.write("skills/lint/scripts/a.sh", "echo a");
        it.write("tools/b.sh", "echo b");
        it.write("out/made", "x");
        it
    }

    fn root(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn pins(&self) -> PinnedFiles {
        let plan = plan();
        let files = files(&plan, self.root(), &JsonObject::new()).unwrap();
        let files = files.into_iter().filter(|(path, _)| path.starts_with(SKILL));
        PinnedFiles::new(&plan, self.root(), files)
    }

    fn command(&self, argv: &[&str]) -> ProcessCommand {
        ProcessCommand {
            argv: argv.iter().map(|&word| word.to_owned()).collect(),
            env: Vec::new(),
            cwd: self.root().to_path_buf(),
            sandbox: None,
            pins: None,
            input: None,
        }
    }

    /// Returns the reason why a command is refused at its start.
    fn refusal(&self, pinned_files: &PinnedFiles, argv: &[&str]) -> Option<String> {
        let refused = pinned_files.guard_command(&self.command(argv)).err()?;
        Some(refused.reason.split(';').next().unwrap_or_default().to_owned())
    }
}

/// A plan that runs the skill's script, names a file, and makes another.
fn plan() -> Arc<Plan> {
    let policy = PlanPolicy { max_parallel: 1, on_failure: OnStepFailure::Stop, grace: Duration::ZERO };
    let call = SkillCall {
        skill: SkillName::parse("lint").unwrap(),
        folder: SKILL.into(),
        script: "scripts/a.sh".into(),
        head: vec!["sh".into()],
        args: Vec::new(),
        words: Vec::new(),
    };
    let script = ShellScript {
        shell: ["sh", "-c"].map(String::from).into(),
        text: "sh tools/b.sh < absent > out/made".into(),
    };
    let step = |id: &str, work| Step::new(Name::parse(id).unwrap(), work);
    let mut named = step("named", StepWork::Run(script));
    named.writes = vec![Template::literal("out/**")];
    let steps = vec![step("skill", StepWork::Skill(call.into())), named];
    Plan::new(PlanParts::new(PlanId::parse("p").unwrap(), steps, 2, policy)).unwrap()
}

#[test]
fn what_a_plan_names_is_found_and_what_it_makes_is_not() {
    let workspace = Workspace::new();
    symlink("b.sh", workspace.root().join("tools/link")).unwrap();
    let found = files(&plan(), workspace.root(), &JsonObject::new()).unwrap();
    let paths: Vec<&str> = found.iter().map(|(path, _)| path.as_str()).collect();
    let all = ["skills/lint/SKILL.md", "skills/lint/scripts/a.sh", "tools/b.sh"];
    assert_eq!(paths, all);
}

#[test]
fn a_skill_is_used_as_it_was_approved_or_not_at_all() {
    let script = "skills/lint/scripts/a.sh";
    let ways: [&[&str]; 4] = [
        &["sh", script],
        &["sh", "-c", "cat x | sh ./skills/lint/scripts/a.sh"],
        &["sh", "-c", "cd skills/lint && sh scripts/a.sh"],
        &["skills/lint/scripts/a.sh"],
    ];
    for argv in ways {
        let workspace = Workspace::new();
        let pins = workspace.pins();
        assert_eq!(workspace.refusal(&pins, argv), None, "{argv:?}");
        workspace.write(script, "echo other");
        let said = format!("approved file changed: {script}");
        assert_eq!(workspace.refusal(&pins, argv), Some(said), "{argv:?}");
        workspace.write(script, "echo a");
        workspace.write("skills/lint/scripts/json.py", "");
        let said = "file is not approved: skills/lint/scripts/json.py".to_owned();
        assert_eq!(workspace.refusal(&pins, argv), Some(said), "{argv:?}");
        assert_eq!(workspace.refusal(&pins, &["sh", "tools/b.sh"]), None);
    }
}

#[test]
fn what_is_touched_while_it_runs_does_not_count() {
    let workspace = Workspace::new();
    let argv = ["sh", "skills/lint/scripts/a.sh"];
    let held = workspace.pins().guard_command(&workspace.command(&argv)).unwrap();
    assert!(held.change_reason().is_none());
    let path = workspace.root().join("skills/lint/scripts");
    let away = workspace.root().join("away");
    fs::rename(&path, &away).unwrap();
    assert!(held.change_reason().is_some());
    fs::rename(&away, &path).unwrap();
    workspace.write("skills/lint/scripts/a.sh", "echo a");
    let reason = held.change_reason().unwrap().reason;
    assert!(reason.contains("changed while the step ran"), "{reason}");
}
