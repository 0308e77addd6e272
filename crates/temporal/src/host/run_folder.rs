//! The folder of a run in the state: the logs of its attempts, its transcripts. The working files of steps are not
//! carried: copies of verified files, worktrees. The versions of worktrees are.

use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use walkdir::WalkDir;

use wf_base::name::RunId;
use wf_core::machine::Attempt;
use wf_exec::log;
use wf_store::StateFolder;

use crate::{
    files::{
        objects::{ObjectError, Objects},
        parcel::RunFile,
        tree::place_inside,
    },
    host::{
        site::WorkerError,
        versions::{CarriedFile, make_repository, version_folders},
    },
};

/// The folder, and what of it was carried already.
pub struct RunFolder {
    folder: PathBuf,
    /// The folders in it with carried files: what agents sent and received, and of the outermost run, what models were
    /// asked in all runs, and the turns of conversations.
    exchanges: [PathBuf; 3],
    carried: BTreeMap<PathBuf, (u64, i64, i64)>,
}

impl RunFolder {
    pub fn new(state: &StateFolder, run: &RunId) -> Self {
        let exchanges = [state.calls(run), state.exchanges(run), state.carried_conversations(run)];
        Self { folder: state.run(run), exchanges, carried: BTreeMap::new() }
    }

    /// Stores the files written since the last time: by an attempt, or by all. A run has files of all its attempts, so
    /// to look at those of one costs the same however many there are.
    pub async fn take_new(
        &mut self,
        attempt: Option<&Attempt>,
        objects: &Objects,
    ) -> Result<Vec<RunFile>, ObjectError> {
        let own: Vec<PathBuf> = match attempt {
            Some(attempt) => log::files(&self.folder, attempt).into(),
            None => files(&self.folder, 1),
        };
        self.take(own, objects).await
    }

    /// Stores the exchanges of agents and models since the last time, of all work.
    pub async fn take_exchanges(&mut self, objects: &Objects) -> Result<Vec<RunFile>, ObjectError> {
        let exchanged = self.exchanges.iter().filter(|folder| folder.is_dir());
        let exchanged = exchanged.flat_map(|folder| files(folder, usize::MAX)).collect();
        self.take(exchanged, objects).await
    }

    /// Stores the versions of worktrees since the last time. `pack` packs the files they name: many small files would
    /// be carried one by one. What is named after the look at the names is carried the next time.
    pub(crate) async fn take_versions(
        &mut self,
        pack: impl Future<Output = Result<(), WorkerError>>,
        objects: &Objects,
    ) -> Result<Vec<RunFile>, WorkerError> {
        let [names, packs] = version_folders(&self.folder);
        let is_whole = |place: &PathBuf| place.extension().is_none_or(|end| end != "lock");
        let names = files(&names, usize::MAX).into_iter().filter(is_whole).collect();
        let mut taken = self.take(names, objects).await?;
        if !taken.is_empty() {
            pack.await?;
            taken.extend(self.take(files(&packs, 1), objects).await?);
            // Those that are not complete.
            taken.retain(|file| matches!(CarriedFile::from_path(&file.path), CarriedFile::Version(_)));
        }
        Ok(taken)
    }

    async fn take(&mut self, places: Vec<PathBuf>, objects: &Objects) -> Result<Vec<RunFile>, ObjectError> {
        let (mut taken, mut stamps) = (Vec::new(), Vec::new());
        for place in places {
            let Ok(meta) = fs::symlink_metadata(&place) else { continue };
            let stamp = (meta.size(), meta.mtime(), meta.mtime_nsec());
            if !meta.is_file() || self.carried.get(&place) == Some(&stamp) {
                continue;
            }
            let Ok(content) = fs::read(&place) else { continue };
            let path = self.folder.parent().and_then(|runs| place.strip_prefix(runs).ok());
            let Some(path) = path.and_then(Path::to_str).map(str::to_owned) else { continue };
            let digest = objects.put_bytes(content).await?;
            taken.push(RunFile { path, digest });
            stamps.push((place, stamp));
        }
        // If one cannot be stored, none is carried.
        self.carried.extend(stamps);
        Ok(taken)
    }
}

/// Returns what is in a folder, and in those below it to a depth.
fn files(folder: &Path, depth: usize) -> Vec<PathBuf> {
    let entries = WalkDir::new(folder).min_depth(1).max_depth(depth).into_iter().filter_map(Result::ok);
    entries.map(walkdir::DirEntry::into_path).collect()
}

/// Writes files carried into the folder of all runs.
pub async fn write_files(folder: &Path, files: &[RunFile], objects: &Objects) -> Result<(), ObjectError> {
    for RunFile { path, digest } in files {
        let place = place_inside(folder, path)?;
        let failed = |cause| ObjectError::File { path: place.display().to_string(), cause };
        match CarriedFile::from_path(path) {
            CarriedFile::Other => {}
            CarriedFile::Version(repository) => make_repository(&folder.join(repository)).map_err(failed)?,
            CarriedFile::Setting => {
                let cause = "another host must not change the settings of a repository";
                return Err(failed(io::Error::new(io::ErrorKind::InvalidData, cause)));
            }
        }
        let content = objects.get_bytes(digest).await?;
        let written = fs::create_dir_all(place.parent().unwrap_or(folder));
        written.and_then(|()| fs::write(&place, content.as_slice())).map_err(failed)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use wf_base::name::Name;
    use wf_core::machine::TaskId;

    use super::*;

    fn attempt(step: &str) -> Attempt {
        Attempt { task_id: TaskId::of_step(&Name::parse(step).unwrap()), attempt: 1 }
    }

    #[tokio::test]
    async fn the_files_of_an_attempt_are_carried_once_and_what_steps_work_in_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let objects = Objects::open(&format!("file://{}", folder.path().join("objects").display())).unwrap();
        let (state, run) = (StateFolder::new(&folder.path().join("state")), RunId::from_bytes([7; 16]));
        let mut carried = RunFolder::new(&state, &run);
        for name in
            ["a.1.log", "a.1.idx", "ab.1.log", "baseline", "calls/1.json", "kept/a/out", "worktrees/a/out"]
        {
            let place = state.run(&run).join(name);
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            fs::write(place, name).unwrap();
        }
        let paths = |files: Vec<RunFile>| {
            let path = |file: RunFile| file.path.strip_prefix(&format!("{run}/")).unwrap().to_owned();
            let mut paths: Vec<_> = files.into_iter().map(path).collect();
            paths.sort();
            paths
        };
        let own = carried.take_new(Some(&attempt("a")), &objects).await.unwrap();
        assert_eq!(paths(own), ["a.1.idx", "a.1.log"]);
        let exchanges = carried.take_exchanges(&objects).await.unwrap();
        assert_eq!(paths(exchanges), ["calls/1.json"]);
        let rest = carried.take_new(None, &objects).await.unwrap();
        assert_eq!(paths(rest), ["ab.1.log", "baseline"]);
        assert_eq!(carried.take_new(None, &objects).await.unwrap(), []);
        assert_eq!(carried.take_exchanges(&objects).await.unwrap(), []);
    }

    #[tokio::test]
    async fn versions_are_carried_packed_and_only_if_there_are_new_ones() {
        let folder = tempfile::tempdir().unwrap();
        let objects = Objects::open(&format!("file://{}", folder.path().join("objects").display())).unwrap();
        let (state, run) = (StateFolder::new(&folder.path().join("state")), RunId::from_bytes([7; 16]));
        let repository = state.run(&run).join("worktrees.git");
        let write = |name: &str| {
            let place = repository.join(name);
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            fs::write(place, name).unwrap();
        };
        for name in ["HEAD", "config", "refs/wf/a/1/base", "refs/wf/a/1/result.lock", "objects/ab/cdef"] {
            write(name);
        }
        let (mut carried, there) = (RunFolder::new(&state, &run), folder.path().join("there"));
        for expected in [vec!["objects/pack/pack-1.pack", "refs/wf/a/1/base"], vec![]] {
            let pack = async {
                assert!(!expected.is_empty(), "there is nothing to be packed");
                write("objects/pack/pack-1.pack");
                write("objects/pack/tmp_pack_2");
                Ok(())
            };
            let taken = carried.take_versions(pack, &objects).await.unwrap();
            write_files(&there, &taken, &objects).await.unwrap();
            let path = |file: &RunFile| file.path.split_once("worktrees.git/").unwrap().1.to_owned();
            let mut taken: Vec<String> = taken.iter().map(path).collect();
            taken.sort();
            assert_eq!(taken, expected);
        }
        let made = fs::read_to_string(there.join(format!("{run}/worktrees.git/config"))).unwrap();
        assert!(made.contains("bare = true"), "what git does there is said there: {made}");
        let digest = objects.put_bytes(b"[core]".to_vec()).await.unwrap();
        let setting = RunFile { path: format!("{run}/worktrees.git/config"), digest };
        let refused = write_files(folder.path(), &[setting], &objects).await.unwrap_err();
        assert!(refused.to_string().contains("settings of a repository"), "{refused}");
    }
}
