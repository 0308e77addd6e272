use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// The likely cause, and the remedy, where git's own files have changed.
const REMEDY: &str = "`git gc`, `git repack`, a local `git clone` and a fetch change the objects of a \
    repository: if one ran beside this, run it again or use `wf retry` when git is done";

/// Returns the remedy for some changed files: another one where only git's objects have changed, and
/// both where others have, too.
pub(super) fn remedy_of<'a>(changed: &[PathBuf], remedy: &'a str) -> Cow<'a, str> {
    let objects = changed.iter().filter(|path| is_object(path)).count();
    match objects {
        0 => remedy.into(),
        all if all == changed.len() => REMEDY.into(),
        _ => format!("{remedy}; {REMEDY}").into(),
    }
}

/// True for what git keeps below `objects` of a repository, of a submodule too.
fn is_object(path: &Path) -> bool {
    let mut parts = path.iter().skip_while(|part| *part != ".git").skip(1);
    parts.any(|part| part == "objects")
}

#[cfg(test)]
mod tests {
    use super::{REMEDY, remedy_of};
    use std::path::PathBuf;

    #[test]
    fn only_what_git_keeps_below_objects_is_told_apart() {
        for (changed, expected) in [
            (&["src/a.py"][..], "list it".to_owned()),
            (&["objects/pack/a.pack", ".git/config", ".git/HEAD", "x.git/objects/a"], "list it".into()),
            (&[".git/objects/pack/pack-1.idx", ".git/objects/ab", "sub/.git/objects/ab/c"], REMEDY.into()),
            (&[".git/modules/sub/objects/ab/c"], REMEDY.into()),
            (&[".git/objects/ab/c", ".git/packed-refs"], format!("list it; {REMEDY}")),
        ] {
            let changed: Vec<PathBuf> = changed.iter().map(PathBuf::from).collect();
            assert_eq!(remedy_of(&changed, "list it"), expected, "{changed:?}");
        }
    }
}
