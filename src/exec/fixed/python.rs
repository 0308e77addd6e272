//! What Python executes before it begins.

use std::fs;
use std::path::{Path, PathBuf};

/// The file that makes a virtual environment of the folder that it is in.
const ENVIRONMENT: &str = "pyvenv.cfg";

/// Files beside an interpreter that it reads whenever it starts: `*.pth`, `sitecustomize`,
/// `usercustomize`, of all versions there and of the user's own packages. With each, the
/// file that makes the virtual environment that the interpreter is in, if it is in one.
pub(super) fn starters(program: &Path, home: Option<&Path>) -> Vec<(PathBuf, Option<PathBuf>)> {
    let mut found = Vec::new();
    let own = program.parent().and_then(Path::parent);
    let own = own
        .map(|base| base.join(ENVIRONMENT))
        .filter(|own| own.is_file());
    let real = fs::canonicalize(program).ok();
    for program in [Some(program), real.as_deref()].into_iter().flatten() {
        let Some(base) = program.parent().and_then(Path::parent) else {
            continue;
        };
        prefix(base, &mut found);
        if program.parent().is_some_and(|dir| dir.ends_with("shims")) {
            for version in entries(&base.join("versions")) {
                prefix(&version, &mut found);
            }
        }
    }
    if let Some(home) = home {
        prefix(&home.join(".local"), &mut found);
    }
    found.sort();
    found.dedup();
    found.into_iter().map(|file| (file, own.clone())).collect()
}

/// What stands below a folder that holds `bin` and `lib`.
fn prefix(base: &Path, found: &mut Vec<PathBuf>) {
    found.push(base.join(ENVIRONMENT));
    for lib in ["lib", "lib64", "local/lib"] {
        for version in entries(&base.join(lib)) {
            if !name(&version).starts_with("python") {
                continue;
            }
            found.push(version.join("sitecustomize.py"));
            for packages in ["site-packages", "dist-packages"] {
                let files = entries(&version.join(packages));
                found.extend(files.into_iter().filter(|file| is_read(name(file))));
            }
        }
    }
}

fn is_read(name: &str) -> bool {
    let begins = name.starts_with("sitecustomize") || name.starts_with("usercustomize");
    begins || Path::new(name).extension().is_some_and(|end| end == "pth")
}

fn name(path: &Path) -> &str {
    path.file_name()
        .and_then(std::ffi::OsStr::to_str)
        .unwrap_or_default()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}
