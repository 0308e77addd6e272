use std::{
    fs::File,
    io::Read,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use rustix::{
    fs::{CWD, FileType, Mode, fstat, openat},
    io::Errno,
};

use super::{FILE, FOLDER, MAX_FILE, MAX_SKILL_MD, SkillFolderError, SkillFolderProblem, refusal_of_errno};

/// Reads only the `SKILL.md` of a folder, or its `skill.md`: returns the file name and the content;
/// `None` if it has neither. The path of the folder itself may contain links; the file must not be
/// one.
pub fn skill_md(folder: &Path) -> Result<Option<(&'static str, Vec<u8>)>, SkillFolderError> {
    for name in ["SKILL.md", "skill.md"] {
        let place = folder.join(name);
        match openat(CWD, &place, FILE, Mode::empty()) {
            Err(Errno::NOENT | Errno::NOTDIR) => {}
            Err(errno) => return Err(error(place, refusal_of_errno(errno))),
            Ok(opened) => return content(opened, place, MAX_SKILL_MD).map(|bytes| Some((name, bytes))),
        }
    }
    Ok(None)
}

/// Reads one file of a skill's folder by its path in it. No part of the path may be a link or lead
/// upwards.
pub fn file(folder: &Path, path: &str) -> Result<Vec<u8>, SkillFolderError> {
    let place = folder.join(path);
    let failed = |errno| match errno {
        Errno::NOENT | Errno::NOTDIR => SkillFolderProblem::Outside,
        errno => refusal_of_errno(errno),
    };
    let mut here = openat(CWD, folder, FOLDER, Mode::empty())
        .map_err(|errno| error(folder.to_path_buf(), failed(errno)))?;
    let mut parts: Vec<&str> = path.split('/').collect();
    let last = parts.pop().unwrap_or("");
    if parts.iter().chain([&last]).any(|part| matches!(*part, "" | "." | "..")) {
        return Err(error(place, SkillFolderProblem::Outside));
    }
    for part in parts {
        here = openat(&here, part, FOLDER, Mode::empty())
            .map_err(|errno| error(place.clone(), failed(errno)))?;
    }
    let opened = openat(&here, last, FILE, Mode::empty());
    content(opened.map_err(|errno| error(place.clone(), failed(errno)))?, place, MAX_FILE)
}

fn error(place: PathBuf, problem: SkillFolderProblem) -> SkillFolderError {
    SkillFolderError { place, problem }
}

fn content(opened: OwnedFd, place: PathBuf, most: u64) -> Result<Vec<u8>, SkillFolderError> {
    let about = fstat(&opened).map_err(|errno| error(place.clone(), SkillFolderProblem::System(errno)))?;
    if FileType::from_raw_mode(about.st_mode) != FileType::RegularFile {
        return Err(error(place, SkillFolderProblem::Special));
    }
    let mut bytes = Vec::new();
    if let Err(failed) = File::from(opened).take(most + 1).read_to_end(&mut bytes) {
        let errno = Errno::from_io_error(&failed).unwrap_or(Errno::IO);
        return Err(error(place, SkillFolderProblem::System(errno)));
    }
    if bytes.len() as u64 > most {
        return Err(error(place, SkillFolderProblem::TooLarge(most)));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::{super::tests::made, file, skill_md};

    #[test]
    fn a_skill_md_is_read_alone() {
        let dir = made();
        let folder = dir.path().join("s");
        assert_eq!(skill_md(&folder).unwrap().unwrap(), ("SKILL.md", b"x".to_vec()));
        fs::rename(folder.join("SKILL.md"), folder.join("skill.md")).unwrap();
        assert_eq!(skill_md(&folder).unwrap().unwrap().0, "skill.md");
        assert!(skill_md(&folder.join("scripts")).unwrap().is_none());
        symlink("skill.md", folder.join("SKILL.md")).unwrap();
        assert!(skill_md(&folder).unwrap_err().to_string().contains("link"));
    }

    #[test]
    fn a_file_is_read_in_the_folder_only() {
        let dir = made();
        let folder = dir.path().join("s");
        fs::write(dir.path().join("secret"), "no").unwrap();
        symlink("../secret", folder.join("link")).unwrap();
        symlink("..", folder.join("up")).unwrap();
        assert_eq!(file(&folder, "scripts/a.sh").unwrap(), b"y");
        for path in [
            "../secret",
            "link",
            "up/secret",
            "/etc/passwd",
            "",
            "scripts",
            "none",
            "./SKILL.md",
            "SKILL.md/x",
            "scripts//a.sh",
        ] {
            assert!(file(&folder, path).is_err(), "{path}");
        }
    }
}
