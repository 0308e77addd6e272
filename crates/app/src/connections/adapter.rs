use crate::{
    Caller, CliExitCode, CommandError, Workspace,
    connections::{AdapterDeclaration, parse_declaration},
    skills::check_all_usable,
};
use wf_base::digest::Sha256Digest;
use wf_model::{ConnectionDeclaration, interpreter};
use wf_skill::{SkillBundle, disk};

/// A skill maintaining connections, with its files as they were read.
#[derive(Debug)]
pub struct ConnectionAdapter {
    pub skill: String,
    /// Its folder, relative to the workspace.
    pub folder: String,
    /// Its files.
    pub bundle: SkillBundle,
    pub digest: Sha256Digest,
    declared: AdapterDeclaration,
}

impl ConnectionAdapter {
    /// Finds a skill approved for use.
    pub fn load_approved(
        caller: &dyn Caller,
        workspace: &Workspace,
        name: &str,
    ) -> Result<Self, CommandError> {
        let skills = check_all_usable(caller, workspace, &[name.to_owned()])?;
        let wrong = |reason: String| {
            let message = format!("the skill `{name}` cannot be used for a connection: {reason}");
            CommandError::new(CliExitCode::Invalid, message).hint("docs/connections.md describes the format")
        };
        let Some(skill) = skills.into_iter().next() else {
            return Err(wrong("it is not locked".into()));
        };
        let bundle = disk::read(&workspace.root.join(&skill.folder));
        let bundle = bundle.map_err(|reason| wrong(reason.to_string()))?;
        // The executed files are a copy of those just read.
        if bundle.digest() != skill.digest {
            return Err(wrong("it changed while it was being read".into()));
        }
        let text = bundle.text("SKILL.md").ok_or_else(|| wrong("its SKILL.md is not UTF-8".into()))?;
        let adapter = Self {
            skill: name.to_owned(),
            digest: bundle.digest(),
            declared: parse_declaration(text, name).map_err(|error| wrong(error.to_string()))?,
            folder: skill.folder,
            bundle,
        };
        for script in ["discover", "setup", "refresh_token", "health_check", "recover"] {
            if adapter.script(script).is_none() {
                return Err(wrong(format!("it has no script scripts/{script}.*")));
            }
        }
        Ok(adapter)
    }

    /// Refuses permissions the skill does not declare.
    pub fn check_permissions(&self, named: &[String]) -> Result<(), CommandError> {
        let spec = self.spec();
        let declared: Vec<&str> = spec.initial.iter().chain(&spec.available).map(String::as_str).collect();
        let Some(unknown) = named.iter().find(|permission| !declared.contains(&permission.as_str())) else {
            return Ok(());
        };
        let message = format!("the skill `{}` has no permission `{unknown}`", self.skill);
        Err(CommandError::new(CliExitCode::Usage, message)
            .hint(format!("its permissions are {}", declared.join(", "))))
    }

    pub fn spec(&self) -> &ConnectionDeclaration {
        &self.declared.spec
    }

    /// Returns the path of one of its scripts, if it exists.
    pub fn script(&self, stem: &str) -> Option<&str> {
        let is_it = |path: &str| {
            let name = path.strip_prefix("scripts/")?;
            let (base, extension) = name.split_once('.').unwrap_or((name, ""));
            (base == stem && !extension.contains(['.', '/'])).then_some(())
        };
        let mut paths = self.bundle.files.keys();
        paths.find(|path| is_it(path).is_some()).map(String::as_str)
    }

    /// Returns the command line of a script, in the skill's folder; and true if it has network access.
    pub fn command(&self, path: &str) -> (Vec<String>, bool) {
        let words = interpreter(path).iter();
        let mut argv: Vec<String> = words.map(|&word| word.to_owned()).collect();
        argv.push(format!("./{path}"));
        let network = self.declared.network.get(path).copied();
        (argv, network.unwrap_or_default())
    }
}
