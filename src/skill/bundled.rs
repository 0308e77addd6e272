//! The skills that come with wf, as they lie in `skills/` of its source.

use super::{Bundle, BundleFile};

/// A file of a skill that comes with wf: its path, its bytes, whether it can be executed.
type File = (&'static str, &'static [u8], bool);

/// One file, or one that can be executed (`x`), of the folder of a skill.
#[expect(
    unused_macros,
    reason = "used by each skill that is added to the table"
)]
macro_rules! file {
    ($skill:literal, $path:literal) => {
        (
            $path,
            include_bytes!(concat!("../../skills/", $skill, "/", $path)) as &[u8],
            false,
        )
    };
    ($skill:literal, $path:literal, x) => {
        (
            $path,
            include_bytes!(concat!("../../skills/", $skill, "/", $path)) as &[u8],
            true,
        )
    };
}

/// The skills: a name and its files.
const SKILLS: &[(&str, &[File])] = &[];

/// The names of the skills that come with wf.
pub fn names() -> Vec<&'static str> {
    SKILLS.iter().map(|(name, _)| *name).collect()
}

/// The files of a skill that comes with wf.
pub fn bundled(name: &str) -> Option<Bundle> {
    let (_, files) = SKILLS.iter().find(|(known, _)| *known == name)?;
    let files = files.iter().map(|(path, bytes, is_executable)| {
        let file = BundleFile {
            bytes: bytes.to_vec(),
            is_executable: *is_executable,
        };
        ((*path).to_owned(), file)
    });
    Some(Bundle {
        files: files.collect(),
    })
}
