use super::declared::{Declared, declared};
use super::hold::hold;
use crate::cli::{Exit, Failure, Ui, Workspace};
use crate::digest::Digest;
use crate::model::ConnectionSpec;
use crate::skill::{Bundle, disk};

/// Where skills lie in a workspace; the first that has one counts.
const FOLDERS: [&str; 3] = ["skills", ".agents/skills", ".claude/skills"];

/// The interpreter of a script, by its extension.
const INTERPRETERS: [(&str, &[&str]); 7] = [
    ("sh", &["sh"]),
    ("bash", &["bash"]),
    ("py", &["python3", "-B"]),
    ("js", &["node"]),
    ("mjs", &["node"]),
    ("pl", &["perl"]),
    ("rb", &["ruby"]),
];

/// A skill that looks after connections, as its files were when they were read.
#[derive(Debug)]
pub struct Adapter {
    /// Its name.
    pub skill: String,
    /// Its folder, relative to the workspace.
    pub folder: String,
    /// Its files.
    pub bundle: Bundle,
    /// Their digest.
    pub digest: Digest,
    declared: Declared,
}

/// Where a skill lies, relative to the workspace.
pub(super) fn folder(workspace: &Workspace, name: &str) -> Option<String> {
    crate::name::PlanId::parse(name).ok()?;
    let mut places = FOLDERS.iter().map(|above| format!("{above}/{name}"));
    places.find(|path| workspace.root.join(path).join("SKILL.md").is_file())
}

impl Adapter {
    /// Finds a skill that may be used.
    pub fn find(ui: &Ui, workspace: &Workspace, name: &str) -> Result<Self, Failure> {
        hold(ui, workspace, &[name.to_owned()])?;
        let wrong = |why: String| {
            let message = format!("the skill `{name}` cannot be used for a connection: {why}");
            Failure::new(Exit::Invalid, message).hint("docs/connections.md has the form")
        };
        let folder = folder(workspace, name).unwrap_or_default();
        let bundle = disk::read(&workspace.root.join(&folder));
        let bundle = bundle.map_err(|why| wrong(why.to_string()))?;
        let text = bundle
            .text("SKILL.md")
            .ok_or_else(|| wrong("its SKILL.md is not UTF-8".into()))?;
        let adapter = Self {
            skill: name.to_owned(),
            digest: bundle.digest(),
            declared: declared(text, name).map_err(wrong)?,
            folder,
            bundle,
        };
        for script in [
            "discover",
            "setup",
            "refresh_token",
            "health_check",
            "recover",
        ] {
            if adapter.script(script).is_none() {
                return Err(wrong(format!("it has no script scripts/{script}.*")));
            }
        }
        Ok(adapter)
    }

    /// What it declares of connections.
    pub fn spec(&self) -> &ConnectionSpec {
        &self.declared.spec
    }

    /// The path of one of its scripts, if it has that.
    pub fn script(&self, stem: &str) -> Option<&str> {
        let is_it = |path: &str| {
            let name = path.strip_prefix("scripts/")?;
            let (found, extension) = name.split_once('.').unwrap_or((name, ""));
            (found == stem && !extension.contains(['.', '/'])).then_some(())
        };
        let mut paths = self.bundle.files.keys();
        paths.find(|path| is_it(path).is_some()).map(String::as_str)
    }

    /// How a script is executed, in the skill's folder; and whether it has a network.
    pub fn command(&self, path: &str) -> (Vec<String>, bool) {
        let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
        let by = INTERPRETERS.iter().find(|(known, _)| *known == extension);
        let words = by.map_or(&[][..], |(_, words)| words).iter();
        let mut argv: Vec<String> = words.map(|&word| word.to_owned()).collect();
        argv.push(format!("./{path}"));
        let network = self.declared.network.get(path).copied();
        (argv, network.unwrap_or_default())
    }
}
