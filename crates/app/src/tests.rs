//! Use cases with a caller that is no terminal.

use std::{collections::BTreeMap, fs, path::Path, sync::Mutex};

use crate::{
    Caller, CliExitCode, CommandError, Host, LineReader, RunOptions,
    approve::{ApprovalDemand, WorkspaceApprovers, authorize, confirm},
    specs::load::load_named,
};
use wf_base::{diag::CheckedFile, remedy::UserAction};
use wf_engine::ApproverSource as _;
use wf_model::JsonObject;

const PLAN: &str = "---\nkind: plan\nid: hello\nsteps:\n  - {id: a, run: 'true'}\n---\n";

/// A caller that records what it hears. Nobody is there to be asked.
struct Listener {
    host: Host,
    messages: Mutex<Vec<String>>,
    codes: Mutex<Vec<String>>,
}

impl Listener {
    fn at(dir: &Path) -> Self {
        let keys = dir.join("keys").display().to_string();
        let vars = [("WF_KEYS", keys.as_str()), ("WF_NOW", "2026-01-01T00:00:00Z"), ("USER", "ada")];
        let vars: BTreeMap<String, String> =
            vars.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let host = Host::new(vars, dir.to_path_buf()).unwrap();
        Self { host, messages: Mutex::default(), codes: Mutex::default() }
    }

    fn messages(&self) -> String {
        self.messages.lock().unwrap().concat()
    }
}

impl Caller for Listener {
    fn host(&self) -> &Host {
        &self.host
    }

    fn action_words(&self, action: &UserAction) -> String {
        format!("{action:?}")
    }

    fn message(&self, text: &str) {
        self.messages.lock().unwrap().push(text.to_owned());
    }

    fn info(&self, text: &str) {
        self.message(text);
    }

    fn diagnostics(&self, files: &[CheckedFile]) {
        let diagnostics = files.iter().flat_map(|file| &file.diagnostics);
        self.codes.lock().unwrap().extend(diagnostics.map(|diagnostic| diagnostic.code.as_str().to_owned()));
    }

    fn message_printer(&self) -> Box<dyn Fn(&str) + Send + Sync> {
        Box::new(|_| ())
    }

    fn is_verbose(&self) -> bool {
        false
    }

    fn is_interactive(&self) -> bool {
        false
    }

    fn ask(&self, question: &str) -> Result<String, CommandError> {
        panic!("nobody is there: {question}")
    }

    fn line_reader(&self) -> LineReader {
        panic!("nobody is there")
    }

    fn ask_hidden(&self, question: &str) -> Result<String, CommandError> {
        panic!("nobody is there: {question}")
    }
}

fn workspace(plan: &str) -> (tempfile::TempDir, Listener) {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("wf.yaml"), "").unwrap();
    fs::write(dir.path().join("plan.md"), plan).unwrap();
    let listener = Listener::at(dir.path());
    (dir, listener)
}

#[test]
fn the_mistakes_of_a_plan_reach_the_caller_as_data() {
    let (_dir, listener) = workspace(&PLAN.replace("run:", "rum:"));
    let error = load_named(&listener, Path::new("plan.md"), RunOptions::default()).err().unwrap();
    assert_eq!((error.exit, error.message.as_str()), (CliExitCode::Invalid, ""));
    assert!(!listener.codes.lock().unwrap().is_empty());
    assert_eq!(listener.messages(), "");
}

#[test]
fn a_run_of_its_owner_is_signed_with_a_key_of_the_environment() {
    let (dir, listener) = workspace(PLAN);
    let loaded = load_named(&listener, Path::new("plan.md"), RunOptions::default()).unwrap();
    let run = listener.host.new_run().unwrap();
    let demand = ApprovalDemand::default();
    let authorization = authorize(&listener, &loaded, &run, &JsonObject::new(), &demand).unwrap();
    assert_eq!(authorization.approved.by.len(), 1);
    assert!(listener.messages().contains("created the key `ada`"), "{}", listener.messages());
    assert!(dir.path().join("keys/ada.pem").exists());

    // What has to be approved in advance, and was not, is refused.
    let demand = ApprovalDemand { is_required: true, ..demand };
    let refusal = authorize(&listener, &loaded, &run, &JsonObject::new(), &demand).unwrap_err();
    assert_eq!(refusal.exit, CliExitCode::Approval);
    assert!(refusal.message.contains("plan.md is not approved"), "{}", refusal.message);
}

#[test]
fn where_nobody_can_be_asked_only_an_option_confirms() {
    let (_dir, listener) = workspace(PLAN);
    assert_eq!(confirm(&listener, false, "Sure?").unwrap_err().exit, CliExitCode::Usage);
    assert!(confirm(&listener, true, "Sure?").is_ok());
}

#[test]
fn approvers_of_before_count_while_their_file_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("approvers.yaml");
    let list = |required: u32, revoked: &str| {
        format!(
            "policy: reviewed\nrequired: {required}\napprovers:\n  \
             - {{name: ada, key: d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a}}\n  \
             - {{name: bob, key: 3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c{revoked}}}\n"
        )
    };
    fs::write(dir.path().join("wf.yaml"), "").unwrap();
    fs::write(&file, list(2, "")).unwrap();
    let caller = Listener::at(dir.path());
    let source = WorkspaceApprovers::of(&caller, &caller.host.workspace()).unwrap();
    let before = source.approvers();
    assert_eq!((before.required, before.keys.len()), (2, 2));
    for torn in ["", "\n", "approvers: [", "policy: owner\nrequired: 0\n"] {
        fs::write(&file, torn).unwrap();
        assert_eq!(source.approvers(), before, "{torn:?}");
    }
    fs::remove_file(&file).unwrap();
    assert_eq!(source.approvers(), before, "a checkout replaces it");
    fs::write(&file, list(1, ", revoked: 2026-01-02")).unwrap();
    let after = source.approvers();
    assert!(after.required == 1 && after.keys[1].revoked.is_some(), "{after:?}");
}
