//! The reasons why a command is not confined as ordered, and so not started.

use std::{
    io,
    path::{Path, PathBuf},
};

use super::outer::OFF_REMEDY;

/// The reason why a sandbox cannot be built.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SandboxError {
    /// The system denies new namespaces.
    #[error(
        "sandbox not available: {0}; allow user namespaces (in a container: `--security-opt seccomp=unconfined` or \
         `--privileged`){OFF_REMEDY}"
    )]
    Namespaces(NamespaceDenial),
    /// The system refuses an operation of a stage.
    #[error("cannot {tried}: {cause}")]
    Stage { tried: &'static str, cause: io::Error },
    /// The system refuses a part of the view.
    #[error("the sandbox cannot {tried}: {cause}")]
    View { tried: String, cause: io::Error },
    #[error("Landlock: {0}")]
    Landlock(#[from] landlock::RulesetError),
    #[error("seccomp: {0}")]
    Seccomp(#[from] seccompiler::Error),
    /// The kernel cannot restrict the programs.
    #[error("`allow.exec` needs Landlock, which this kernel lacks; remove it")]
    NoLandlock,
    /// The processes of root cannot be counted.
    #[error(
        "processes of root can be limited only in a control group, but none can be created; remove \
         `limits.processes`, or let wf write to /sys/fs/cgroup"
    )]
    NoControlGroup,
    #[error("the workspace is the whole file system, which cannot be confined")]
    WholeWorkspace,
    /// A readable path is the root.
    #[error("a sandbox cannot expose the whole file system: list folders in `read`")]
    WholeFileSystem,
    /// New files of the workspace cannot be hidden.
    #[error(
        "the sandbox cannot hide new files of the workspace ({cause}): {}; list them in `writes` or `artifacts` of \
         the step that creates them, or remove them",
        path_list(.paths)
    )]
    Unhidable { paths: Vec<PathBuf>, cause: io::Error },
    /// A file cannot be replaced by its earlier content.
    #[error(
        "the sandbox cannot show `{}` as it was when the run began: it has no layers; list the file in `writes` if it \
         is a product, or restore it",
        .0.display()
    )]
    NoLayers(PathBuf),
    /// A grant leads to a file that controls wf.
    #[error(
        "the sandbox cannot make `{path}` writable: the link `{file}` leads there, and `{file}` controls wf; replace \
         the link by what it leads to, and list `{file}` in `allow.write` if the step must write it"
    )]
    ControlGrant { path: String, file: String },
    /// A grant names a missing file.
    #[error(
        "the sandbox cannot make `{path}` writable: it does not exist, and only folders are created; list the folder \
         that the file is to be in (`{}`) in `allow.write`, create the file in an earlier step, or write `{path}/` if \
         it is a folder",
        .folder.display()
    )]
    MissingGrant { path: String, folder: PathBuf },
    /// A grant leads through a link.
    #[error(
        "the sandbox cannot make `{path}` writable: `{}` is a link to `{target}`, and no link is followed in \
         `allow.write`; {}",
        .link.display(),
        link_remedy(.real.as_deref())
    )]
    LinkedGrant {
        path: String,
        link: PathBuf,
        target: String,
        /// The path in the workspace without links; `None`: it leads out.
        real: Option<PathBuf>,
    },
    /// An allowed program is missing.
    #[error("`allow.exec`: program `{0}` not found")]
    NoProgram(String),
    #[error("`allow.exec`: a loader is missing")]
    NoLoader,
}

/// The setting by which the system denies new namespaces.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NamespaceDenial {
    #[error("user namespaces are disabled (sysctl user.max_user_namespaces=0)")]
    Disabled,
    #[error("AppArmor restricts user namespaces (sysctl kernel.apparmor_restrict_unprivileged_userns)")]
    AppArmor,
    /// None that is known.
    #[error("the system denies new namespaces ({0})")]
    Unknown(io::Error),
}

/// Lists the first of some paths.
fn path_list(paths: &[PathBuf]) -> String {
    let first = paths.iter().take(3).map(|path| path.display().to_string());
    first.collect::<Vec<_>>().join(", ")
}

fn link_remedy(real: Option<&Path>) -> String {
    match real {
        Some(real) if real.as_os_str().is_empty() => "if the step may write all of it, list `.`".to_owned(),
        Some(real) => format!("if the step may write there, list `{}`", real.display()),
        None => "it leads out of the workspace, or nowhere: replace it by a folder, or mount the other folder there"
            .to_owned(),
    }
}
