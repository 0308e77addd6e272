use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use wf_base::redact::SecretMask;
use wf_core::agent::ToolRequest;
use wf_exec::{
    ProcessExecutor, StopLevel,
    agent_tool::{ToolEnvironment, ToolOutcome, run_tool},
    process::ProcessCommand,
    sandbox::{SandboxSpec, WorkspaceLayer},
};

/// A secret that is masked.
pub(crate) const SECRET: &str = "hunter22-correct-horse";

/// A workspace, `ws`, beside a file that is outside of it, and the tools of a step there.
pub(crate) struct ToolScene {
    dir: tempfile::TempDir,
    pub(crate) site: ToolEnvironment,
}

impl ToolScene {
    /// A step in a sandbox that may write these paths.
    pub(crate) fn confined(write: &[&str]) -> Self {
        let mut scene = Self::open();
        scene.site.command.sandbox = Some(SandboxSpec {
            root: scene.at(""),
            layer: WorkspaceLayer::Direct {
                write: write.iter().map(|&path| path.to_owned()).collect(),
                files: Vec::new(),
                // A grant of its exact name covers a control file.
                control: [".git", "wf.yaml"]
                    .iter()
                    .filter(|file| !write.contains(file))
                    .map(|&file| file.into())
                    .collect(),
                unseen: vec!["unseen.txt".into()],
            },
            hidden: vec![scene.at(".wf")],
            ..SandboxSpec::default()
        });
        scene
    }

    /// A step without a sandbox.
    pub(crate) fn open() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("ws");
        let env = vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())];
        let site = ToolEnvironment {
            command: ProcessCommand::new(vec!["step".into()], env, root.clone()),
            root,
            mask: SecretMask::new([SECRET]),
            time_left: None,
            grace: Duration::from_millis(200),
            output_limit: None,
            untrusted: Vec::new(),
        };
        let scene = Self { dir, site };
        for (path, text) in [
            ("../secret", "outside"),
            (".git/config", "[core]\n"),
            (".wf/state", "the state"),
            ("unseen.txt", "unseen"),
            ("src/main.rs", "fn main() {\n    start();\n}\n"),
            ("out/old.txt", "old\n"),
        ] {
            scene.put(path, text);
        }
        scene
    }

    /// A confined step that may write `out`, and one without a sandbox.
    pub(crate) fn both() -> [Self; 2] {
        [Self::confined(&["out"]), Self::open()]
    }

    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.dir.path().join("ws").join(path)
    }

    pub(crate) fn put(&self, path: &str, text: impl AsRef<[u8]>) {
        let at = self.at(path);
        let folder = at.parent().unwrap();
        // The workspace itself may not exist yet, and `..` needs it.
        fs::create_dir_all(self.dir.path().join("ws")).unwrap();
        fs::create_dir_all(folder).unwrap();
        fs::write(at, text).unwrap();
    }

    pub(crate) fn link(&self, path: &str, to: impl AsRef<Path>) {
        std::os::unix::fs::symlink(to, self.at(path)).unwrap();
    }

    pub(crate) fn text(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).unwrap()
    }

    /// Carries out a request and returns its outcome.
    pub(crate) fn call(&self, request: &ToolRequest) -> ToolOutcome {
        block_on(run_tool(&ProcessExecutor::InProcess, &self.site, request, StopLevel::never()))
    }

    /// Carries out a request that succeeds.
    #[track_caller]
    pub(crate) fn gives(&self, request: &ToolRequest) -> String {
        let outcome = self.call(request);
        assert!(!outcome.is_error, "{request:?}: {}", outcome.text);
        outcome.text
    }

    /// Carries out a request that fails.
    #[track_caller]
    pub(crate) fn refuses(&self, request: &ToolRequest) -> String {
        let outcome = self.call(request);
        assert!(outcome.is_error, "{request:?}: {}", outcome.text);
        outcome.text
    }
}

pub(crate) fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

pub(crate) fn read(path: &str) -> ToolRequest {
    ToolRequest::Read { path: path.into(), offset: None, limit: None }
}

pub(crate) fn list(path: &str) -> ToolRequest {
    ToolRequest::List { path: Some(path.into()) }
}

pub(crate) fn search(pattern: &str, path: &str) -> ToolRequest {
    ToolRequest::Search { pattern: pattern.into(), path: Some(path.into()), glob: None }
}

pub(crate) fn write(path: &str, text: &str) -> ToolRequest {
    ToolRequest::Write { path: path.into(), text: text.into() }
}

pub(crate) fn edit(path: &str, old: &str, new: &str) -> ToolRequest {
    ToolRequest::Edit { path: path.into(), old: old.into(), new: new.into() }
}

pub(crate) fn run(script: &str) -> ToolRequest {
    ToolRequest::Run { script: script.into(), timeout_seconds: None }
}
