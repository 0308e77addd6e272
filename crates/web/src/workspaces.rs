//! The workspaces of a server, and the addresses by which they are told apart.
//!
//! The only workspace of a server has its addresses: `/runs`, `/api/v1/runs`. Of several, each has those below its base:
//!
//! ```text
//! /, /search    all of them (`pages::workspaces`)     /w/NAME/          the home of one
//! /login        the door to all of them               /w/NAME/runs      its pages, as those of an only one
//! /style.css    the scripts and the style             /w/NAME/api/v1    its interface for programs
//! ```
//!
//! Inside, every address is written as if its workspace were the only one, in handlers, views, templates and documents. The base
//! is taken away where a request enters: the router of a site is nested there, so no address of one site reaches another. It
//! is added where an address leaves, in one place for each sort of text:
//!
//! - a template says `"/runs`: the base is written into it when it is read; of a value of a view it says `{{ base }}{{ page }}`,
//!   and the filter `drawn` does the same for pictures (`template`);
//! - a redirect and a `Location` are made by `Site::page`;
//! - a script says `at("/events")`.
//!
//! The logins, the cookie, the limits and the host are those of the server. What is read, and what is recorded, is of the workspace
//! alone: each has a caller of its own.

use std::{collections::BTreeSet, path::PathBuf, sync::Arc};

use serde::Serialize;

use crate::{
    caller::{ActionWords, PageCaller},
    template::{PagePlace, PageTemplates},
};
use wf_app::{
    Host,
    views::{require_folder, require_workspace, workspace_totals},
};

/// The beginning of the base of each workspace.
const BASES: &str = "/w/";

/// The most workspaces of a server: each has a thread to watch its log.
const MAX_WORKSPACES: usize = 32;

/// The longest name of a workspace.
const MAX_NAME: usize = 40;

/// The workspaces of a server cannot be told apart.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorkspaceNameError {
    #[error("`{0}` is no name of a workspace: use at most {MAX_NAME} letters, digits, `-` and `_` of ASCII")]
    Invalid(String),
    #[error("two workspaces are named `{0}`")]
    Duplicate(String),
    #[error("the workspace in {} is named twice: a folder belongs to the nearest one above it", .0.display())]
    Same(PathBuf),
    #[error("{0} workspaces are too many for one server: it serves at most {MAX_WORKSPACES}")]
    Many(usize),
    /// A workspace lies in another one: steps of that could write its state, and so the logins.
    #[error("{} lies in {}: steps of the outer workspace may write the state of the inner one", inner.display(), outer.display())]
    Nested { inner: PathBuf, outer: PathBuf },
}

/// A folder with a workspace to serve.
pub struct ServedFolder {
    /// The name of the workspace; `None`: that of its folder.
    pub name: Option<String>,
    /// The environment in that folder.
    pub host: Host,
}

/// A workspace with a name of its own in a server.
#[derive(Clone)]
pub struct NamedWorkspace {
    pub name: String,
    pub host: Host,
}

impl NamedWorkspace {
    /// Names the only workspace of a server by its folder, without any rule.
    pub fn alone(host: Host) -> Self {
        let folder = folder_of(&host);
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
        Self { name: name.unwrap_or_default(), host }
    }

    /// Names the workspaces of some folders. A name of two folders gets a number.
    pub fn of_folders(folders: Vec<ServedFolder>) -> Result<Vec<Self>, WorkspaceNameError> {
        if folders.len() > MAX_WORKSPACES {
            return Err(WorkspaceNameError::Many(folders.len()));
        }
        let (mut names, mut places) = (BTreeSet::new(), BTreeSet::new());
        for folder in &folders {
            let root = folder_of(&folder.host);
            if !places.insert(root.canonicalize().unwrap_or_else(|_| root.clone())) {
                return Err(WorkspaceNameError::Same(root));
            }
            let Some(name) = &folder.name else { continue };
            if !is_name(name) {
                return Err(WorkspaceNameError::Invalid(name.clone()));
            }
            if !names.insert(name.clone()) {
                return Err(WorkspaceNameError::Duplicate(name.clone()));
            }
        }
        // In their order, whatever lies in a folder follows it. A folder that is gone has no state.
        let present: Vec<&PathBuf> = places.iter().filter(|place| place.is_dir()).collect();
        let mut pairs = present.iter().zip(present.iter().skip(1));
        if let Some((outer, inner)) = pairs.find(|(outer, inner)| inner.starts_with(outer)) {
            return Err(WorkspaceNameError::Nested { inner: (*inner).clone(), outer: (*outer).clone() });
        }
        let named = folders.into_iter().map(|ServedFolder { name, host }| {
            let name = name.unwrap_or_else(|| {
                let short = short_name(&Self::alone(host.clone()).name);
                let numbered = (2..).map(|number| format!("{short}-{number}"));
                let mut free = std::iter::once(short.clone()).chain(numbered);
                free.find(|name| !names.contains(name)).unwrap_or(short)
            });
            names.insert(name.clone());
            Self { name, host }
        });
        Ok(named.collect())
    }
}

/// Returns the folder of a workspace. One that is gone belongs to no other around it.
pub(crate) fn folder_of(host: &Host) -> PathBuf {
    if host.cwd().is_dir() { host.workspace().root } else { host.cwd().to_owned() }
}

/// True if a text is the name of a workspace: it means nothing else in an address.
pub(crate) fn is_name(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    (1..=MAX_NAME).contains(&text.len()) && text.bytes().all(is_plain)
}

/// Returns a name made of that of a folder.
fn short_name(folder: &str) -> String {
    let plain = folder.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' });
    let plain: String = plain.take(MAX_NAME - 3).collect();
    let name = plain.trim_matches('-');
    if name.is_empty() { "workspace".to_owned() } else { name.to_owned() }
}

/// A workspace among those of a server.
pub(crate) struct ServedWorkspace {
    /// Its name in addresses; that of its folder if it is the only one.
    pub name: String,
    /// The beginning of its addresses; empty if it is the only one.
    pub base: String,
    pub caller: Arc<PageCaller>,
    pub templates: Arc<PageTemplates>,
}

/// A link to a workspace, in the frame of each page of a server with several.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct WorkspaceLink {
    pub name: String,
    /// The address of its home.
    pub page: String,
    /// The number of open requests there; 0 if they cannot be counted.
    pub waiting: u64,
}

impl ServedWorkspace {
    /// Prepares the workspaces of a server.
    pub fn all(workspaces: Vec<NamedWorkspace>, action_words: ActionWords) -> Arc<[Self]> {
        let base_of = |name: &str| format!("{BASES}{name}");
        let mut links: Vec<WorkspaceLink> = workspaces
            .iter()
            .map(|NamedWorkspace { name, .. }| WorkspaceLink {
                name: name.clone(),
                page: format!("{}/", base_of(name)),
                waiting: 0,
            })
            .collect();
        if let [_] = links[..] {
            links.clear();
        }
        let served = workspaces.into_iter().map(|NamedWorkspace { name, host }| {
            let base = if links.is_empty() { String::new() } else { base_of(&name) };
            let place = PagePlace { base: base.clone(), is_entrance: false, workspaces: links.clone() };
            let caller = Arc::new(PageCaller::new(host, action_words));
            Self { name, base, caller, templates: Arc::new(PageTemplates::at(&place)) }
        });
        served.collect()
    }

    /// True if its folder, its configuration and its state can be read.
    pub fn is_open(&self) -> bool {
        require_workspace(&*self.caller).is_ok()
    }
}

/// Returns links to the workspaces of a server, with the number of open requests; none if there is only one.
pub(crate) fn workspace_links(workspaces: &[ServedWorkspace]) -> Vec<WorkspaceLink> {
    if let [_] = workspaces {
        return Vec::new();
    }
    // One that cannot be read takes nothing from the pages of the others.
    let waiting = |workspace: &ServedWorkspace| {
        let caller = &*workspace.caller;
        require_folder(caller).and_then(|()| workspace_totals(caller)).map_or(0, |totals| totals.waiting)
    };
    let links = workspaces.iter().map(|workspace| WorkspaceLink {
        name: workspace.name.clone(),
        page: format!("{}/", workspace.base),
        waiting: waiting(workspace),
    });
    links.collect()
}

/// Returns the path below the base of any workspace.
pub(crate) fn path_within(path: &str) -> &str {
    let below = path.strip_prefix(BASES).and_then(|rest| rest.find('/').and_then(|at| rest.get(at..)));
    below.unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::{
        NamedWorkspace, ServedFolder, WorkspaceNameError, folder_of, is_name, path_within, short_name,
    };
    use std::{collections::BTreeMap, path::Path};
    use wf_app::Host;

    fn names(folders: &[(Option<&str>, &str)], above: &Path) -> Result<Vec<String>, WorkspaceNameError> {
        let folders = folders.iter().map(|(name, path)| {
            let folder = above.join(path);
            std::fs::create_dir_all(&folder).unwrap();
            let host = Host::new(BTreeMap::new(), folder).unwrap();
            ServedFolder { name: name.map(str::to_owned), host }
        });
        let named = NamedWorkspace::of_folders(folders.collect())?;
        Ok(named.into_iter().map(|workspace| workspace.name).collect())
    }

    #[test]
    fn each_workspace_has_a_name_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let names = |folders: &[(Option<&str>, &str)]| names(folders, dir.path());
        let unnamed = [(None, "a/shop"), (None, "b/shop"), (None, "c/the shop é")];
        assert_eq!(names(&unnamed).unwrap(), ["shop", "shop-2", "the-shop"]);
        assert_eq!(names(&[(None, "a/shop"), (Some("shop"), "b/shop")]).unwrap(), ["shop-2", "shop"]);
        let wrong = |folders: &[(Option<&str>, &str)]| names(folders).unwrap_err();
        assert_eq!(wrong(&[(Some("x"), "a"), (Some("x"), "b")]), WorkspaceNameError::Duplicate("x".into()));
        assert_eq!(wrong(&[(Some("../x"), "a")]), WorkspaceNameError::Invalid("../x".into()));
        assert!(matches!(wrong(&[(Some("x"), "a"), (Some("y"), "a")]), WorkspaceNameError::Same(_)));
        std::fs::write(dir.path().join("a/wf.yaml"), "").unwrap();
        assert!(matches!(wrong(&[(None, "a"), (None, "a/b")]), WorkspaceNameError::Same(_)));
        let host = |path: &str| Host::new(BTreeMap::new(), dir.path().join(path)).unwrap();
        assert_eq!(folder_of(&host("a/b")), dir.path().join("a"));
        assert_eq!(folder_of(&host("a/gone")), dir.path().join("a/gone"), "it is in no other one");
        let many: Vec<String> = (0..33).map(|number| format!("n{number}")).collect();
        let many: Vec<(Option<&str>, &str)> = many.iter().map(|name| (None, name.as_str())).collect();
        assert_eq!(wrong(&many), WorkspaceNameError::Many(33));
    }

    #[test]
    fn a_name_means_nothing_else_in_an_address() {
        assert!(is_name("shop-2_B") && is_name(&"x".repeat(40)));
        for wrong in ["", ".", "..", "a/b", "a b", "é", "a%2f", &"x".repeat(41)] {
            assert!(!is_name(wrong), "{wrong}");
        }
        for folder in ["", "..", "---", "é", &"long".repeat(99), "a.b/c\"<"] {
            assert!(is_name(&short_name(folder)), "{folder}");
        }
        assert_eq!(path_within("/w/shop/api/v1"), "/api/v1");
        assert_eq!((path_within("/w/shop"), path_within("/runs/w")), ("/w/shop", "/runs/w"));
    }
}
