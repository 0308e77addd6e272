//! The only part of the user's own settings of git that a sandbox shows: the trusted repositories of other users.

use std::fs;
use std::io;
use std::path::Path;

use super::mount::new;
use super::mounts::{SandboxViewBuilder, ViewError, view_error};

/// The files git reads below the home folder. Those shown are the user's own.
const FILES: [&str; 2] = [".gitconfig", ".config/git/config"];

impl SandboxViewBuilder<'_> {
    /// Writes the trust in repositories of other users into the home folder, where it is an empty one.
    pub(super) fn write_git_settings(&self, home: &Path) -> Result<(), ViewError> {
        if self.sandbox.trusted.is_empty() {
            return Ok(());
        }
        let files = FILES.map(|file| new(&home.join(file)));
        let Some(file) = files.iter().find(|file| fs::symlink_metadata(file).is_err()) else { return Ok(()) };
        let lines = self.sandbox.trusted.iter().map(|value| format!("\tdirectory = {}\n", quoted(value)));
        let text: String = std::iter::once("[safe]\n".to_owned()).chain(lines).collect();
        let write = || -> io::Result<()> {
            file.parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::write(file, &text)
        };
        write().map_err(view_error("say which repositories are trusted"))
    }
}

/// Returns a value as git's settings have it.
fn quoted(value: &str) -> String {
    let escaped = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("\"{escaped}\"")
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_value_stays_one_value() {
        assert_eq!(quoted("/a b;#\"\\c\n"), r#""/a b;#\"\\c\n""#);
    }
}
