use std::{fs, path::Path};

use super::{PlanFile, create_plan, draft::DraftRules, file::exists, replace_plan};
use crate::{Host, Workspace, config::WorkspaceConfig};
use wf_base::{diag::Severity, name::PlanId};
use wf_core::agent::{
    ModelReply, StopReason,
    authoring::{CalibrationEntry, LANGUAGE, MemoryCalibration, PlanMistake},
};
use wf_model::TokenUsage;

const CONFIG: &str = "models: {m: {api: scripted, model: replies.yaml}}\nroles: {executor: m, planner: m}\n";

const PLAN: &str = "---\nkind: plan\nid: fetch-it\nsteps:\n  - {id: get, run: curl x, writes: [a], verify: [{name: v, run: test -s a}]}\n---\n";

/// A workspace in an empty folder, and the judgement of replies in it.
struct Scene {
    dir: tempfile::TempDir,
    host: Host,
}

impl Scene {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("wf.yaml"), CONFIG).unwrap();
        let host = Host::new(std::collections::BTreeMap::new(), dir.path().to_owned()).unwrap();
        Self { dir, host }
    }

    fn judge(
        &self,
        text: &str,
        id: &str,
        calibration: &MemoryCalibration,
    ) -> Result<Vec<String>, (PlanMistake, usize)> {
        let id = PlanId::parse(id).unwrap();
        let workspace: Workspace = self.host.workspace_of(self.dir.path());
        let rules = DraftRules {
            host: &self.host,
            workspace: &workspace,
            config: &WorkspaceConfig::default(),
            path: "new.md",
            id: Some(&id),
            calibration,
        };
        let usage = TokenUsage::default();
        let reply =
            ModelReply { text: text.into(), tool_calls: Vec::new(), stop: StopReason::EndTurn, usage };
        let warnings = |draft: super::DraftPlan| {
            let files = draft.files.into_iter().flat_map(|file| file.diagnostics);
            files
                .filter(|diagnostic| diagnostic.severity() == Severity::Warning)
                .map(|diagnostic| diagnostic.message)
                .collect()
        };
        rules.judge(&reply).map(warnings).map_err(|rejected| (rejected.mistake, rejected.files.len()))
    }
}

#[test]
fn the_example_for_planners_passes_the_check() {
    let (_, example) = LANGUAGE.split_once("````markdown\n").expect("an example");
    let (example, _) = example.split_once("````").expect("its end");
    let warnings = Scene::new().judge(example, "weekly-report", &MemoryCalibration::default()).unwrap();
    assert_eq!(warnings, [""; 0]);
}

#[test]
fn a_plan_is_accepted_only_as_a_plan_with_its_id() {
    let scene = Scene::new();
    let none = MemoryCalibration::default();
    assert!(scene.judge(PLAN, "fetch-it", &none).is_ok());
    let goal = "---\nkind: goal\nid: fetch-it\nschedule: '* * * * *'\nverify: [{name: v, run: x}]\n---\n";
    for (text, id, why, files) in [
        (PLAN, "other", "must be `other`, not `fetch-it`", 0),
        ("Sure.", "fetch-it", "no plan", 0),
        (goal, "fetch-it", "must be a plan", 0),
        (&PLAN.replace("run: curl x", "runn: curl x"), "fetch-it", "- line 5, `- {id: get, runn: curl x", 1),
        (
            &PLAN.replace("run: curl x", "agent: {role: nobody}"),
            "fetch-it",
            "gives no model to the role `nobody`",
            1,
        ),
    ] {
        let (mistake, shown) = scene.judge(text, id, &none).unwrap_err();
        assert!(mistake.to_string().contains(why), "{mistake}");
        assert!(matches!(mistake, PlanMistake::Invalid(_)));
        // The plan itself, and the configuration with the gates of the workspace is not shown.
        assert_eq!(shown, files, "{why}");
    }
}

#[test]
fn a_plan_that_uses_what_memory_forbids_is_refused() {
    let entry = CalibrationEntry { tool: "curl".into(), target: None, reason: "it hung".into() };
    let calibration = MemoryCalibration { must_not: vec![entry], should_prefer: Vec::new() };
    let (mistake, _) = Scene::new().judge(PLAN, "fetch-it", &calibration).unwrap_err();
    let expected = "step `get` uses the tool `curl`, which memory forbids: it hung";
    assert_eq!(mistake, PlanMistake::Forbidden(expected.into()));
}

#[test]
fn no_file_is_lost() {
    let scene = Scene::new();
    let at = |name: &str| scene.dir.path().join(name);
    let new = at("sub/new.md");
    create_plan(&scene.host, &new, "one\n", false).unwrap();
    let refused = create_plan(&scene.host, &new, "two\n", false).unwrap_err();
    assert_eq!(refused, exists(&scene.host, &new));
    let old = PlanFile::read(&scene.host, Path::new("sub/new.md")).unwrap();
    assert_eq!(old.text, "one\n");
    create_plan(&scene.host, &new, "two\n", true).unwrap();
    let refused = replace_plan(&scene.host, &old, "three\n").unwrap_err();
    assert!(refused.message.contains("changed meanwhile"), "{refused:?}");
    assert_eq!(fs::read_to_string(&new).unwrap(), "two\n");
    std::os::unix::fs::symlink(&new, at("link.md")).unwrap();
    let old_file = PlanFile::read(&scene.host, Path::new("link.md")).unwrap();
    replace_plan(&scene.host, &old_file, "three\n").unwrap();
    assert_eq!(fs::read_to_string(&new).unwrap(), "three\n");
    assert!(at("link.md").is_symlink());
}

#[test]
fn what_is_no_plan_file_is_not_read() {
    let scene = Scene::new();
    let at = |name: &str| scene.dir.path().join(name);
    fs::create_dir(at("dir")).unwrap();
    fs::write(at("big.md"), "x".repeat(300 * 1024)).unwrap();
    fs::write(at("bytes.md"), b"\xff").unwrap();
    for (name, why) in [
        ("dir", "is not a file"),
        ("big.md", "too large"),
        ("bytes.md", "cannot read"),
        ("gone.md", "not found"),
    ] {
        let refused = PlanFile::read(&scene.host, Path::new(name)).unwrap_err();
        assert!(refused.message.contains(why), "{refused:?}");
    }
}
