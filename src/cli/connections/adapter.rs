use super::declared::{Declared, declared};
use crate::cli::skills::hold;
use crate::cli::{Exit, Failure, Ui, Workspace};
use crate::digest::Digest;
use crate::model::{ConnectionSpec, interpreter};
use crate::skill::{Bundle, disk};

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

impl Adapter {
    /// Finds a skill that may be used.
    pub fn find(ui: &Ui, workspace: &Workspace, name: &str) -> Result<Self, Failure> {
        let held = hold(ui, workspace, &[name.to_owned()])?;
        let wrong = |why: String| {
            let message = format!("the skill `{name}` cannot be used for a connection: {why}");
            Failure::new(Exit::Invalid, message).hint("docs/connections.md has the form")
        };
        let Some(held) = held.into_iter().next() else {
            return Err(wrong("it is not locked".into()));
        };
        let bundle = disk::read(&workspace.root.join(&held.folder));
        let bundle = bundle.map_err(|why| wrong(why.to_string()))?;
        // What is executed is a copy of what was just read.
        if bundle.digest() != held.digest {
            return Err(wrong("it was changed while it was read".into()));
        }
        let text = bundle
            .text("SKILL.md")
            .ok_or_else(|| wrong("its SKILL.md is not UTF-8".into()))?;
        let adapter = Self {
            skill: name.to_owned(),
            digest: bundle.digest(),
            declared: declared(text, name).map_err(wrong)?,
            folder: held.folder,
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
        let words = interpreter(path).iter();
        let mut argv: Vec<String> = words.map(|&word| word.to_owned()).collect();
        argv.push(format!("./{path}"));
        let network = self.declared.network.get(path).copied();
        (argv, network.unwrap_or_default())
    }
}
