use crate::{
    CliExitCode, CommandError, Host,
    git::{GitRepository, fetch_commit},
};
use wf_skill::{
    BundleFile, SkillBundle,
    disk::{LEFT_OUT, MAX_ALL, MAX_DEPTH, MAX_FILE, MAX_FILES, MAX_SKILL_MD},
};

/// Fetches one commit of a repository and reads a folder of it. Returns the commit, too.
pub(super) fn fetch(
    host: &Host,
    url: &str,
    rev: Option<&str>,
    folder: &str,
) -> Result<(SkillBundle, String), CommandError> {
    let dir = tempfile::tempdir()?;
    let local = host.cwd().join(url);
    let url = if url.contains("://") { url.to_owned() } else { local.display().to_string() };
    let vars = host.vars();
    fetch_commit(dir.path(), &url, rev.unwrap_or("HEAD"), &vars)
        .map_err(|error| git_error(error.to_string()).hint("check the URL, and the part after #"))?;
    let repository = GitRepository::bare(dir.path(), &host.workspace().state, &vars)?;
    let args = ["rev-parse", "--verify", "--end-of-options", "refs/heads/wanted^{commit}"];
    let commit = String::from_utf8_lossy(&repository.answer(&args)?).trim().to_owned();
    let tree = format!("{commit}:{folder}");
    let listed = repository.answer(&["ls-tree", "-r", "-z", "-l", "--full-tree", &tree]);
    let listed =
        listed.map_err(|error| git_error(error.to_string()).hint("check the URL, and the part after #"))?;
    let listed = String::from_utf8(listed).map_err(|_| git_error("a file name is not UTF-8"))?;
    let mut files = Vec::new();
    let mut all = 0;
    for row in listed.split('\0').filter(|row| !row.is_empty()) {
        let file = ListedFile::parse(row)?;
        if !is_part(&file.path)? {
            continue;
        }
        all += file.size;
        if files.len() >= MAX_FILES || all > MAX_ALL {
            return Err(git_error("the directory has too many files, or they are too large"));
        }
        files.push(file);
    }
    Ok((bundle(&repository, files)?, commit))
}

fn bundle(repository: &GitRepository, files: Vec<ListedFile>) -> Result<SkillBundle, CommandError> {
    let names: Vec<String> = files.iter().map(|file| file.object.clone()).collect();
    let contents = repository.objects(&names)?.0;
    let mut bundle = SkillBundle::default();
    for (file, bytes) in files.into_iter().zip(contents) {
        let bytes =
            bytes.ok_or_else(|| git_error(format!("git cannot read {}", file.path.escape_debug())))?;
        bundle.files.insert(file.path, BundleFile { bytes, is_executable: file.is_executable });
    }
    Ok(bundle)
}

/// A file of a commit, as git lists it.
struct ListedFile {
    path: String,
    object: String,
    is_executable: bool,
    size: u64,
}

/// True if a file is part of the skill, as it would be on disk; a path that is too deep is refused.
fn is_part(path: &str) -> Result<bool, CommandError> {
    let folders = path.rsplit_once('/').map_or("", |(folders, _)| folders);
    if folders.split('/').any(|part| LEFT_OUT.contains(&part)) {
        return Ok(false);
    }
    // The skill's own folder is the first.
    if path.split('/').count() > MAX_DEPTH {
        let message = format!("{} is nested more than {MAX_DEPTH} levels deep", path.escape_debug());
        return Err(git_error(message).hint("remove what the skill does not need"));
    }
    Ok(true)
}

impl ListedFile {
    /// Reads `MODE TYPE OBJECT SIZE<tab>PATH`.
    fn parse(row: &str) -> Result<Self, CommandError> {
        let broken = || git_error("unexpected output of git when listing files");
        let (about, path) = row.split_once('\t').ok_or_else(broken)?;
        let words: Vec<&str> = about.split_whitespace().collect();
        let [mode, _, object, size] = words.as_slice() else {
            return Err(broken());
        };
        let shown = path.escape_debug();
        let is_executable = match *mode {
            "100644" | "100664" => false,
            "100755" => true,
            "120000" => {
                return Err(git_error(format!("{shown} is a link, which could lead out of the skill")));
            }
            _ => return Err(git_error(format!("{shown} is not a regular file"))),
        };
        if path.contains(char::is_control)
            || path.split('/').any(|part| matches!(part, "" | "." | ".." | ".git"))
        {
            return Err(git_error(format!("{shown} is not a valid path in a skill")));
        }
        let size: u64 = size.parse().map_err(|_| broken())?;
        let most = if path == "SKILL.md" { MAX_SKILL_MD } else { MAX_FILE };
        if size > most {
            return Err(git_error(format!("{shown} is larger than {} MiB", most >> 20)));
        }
        Ok(Self { path: path.to_owned(), object: (*object).to_owned(), is_executable, size })
    }
}

fn git_error(message: impl Into<String>) -> CommandError {
    CommandError::new(CliExitCode::Usage, message)
}
