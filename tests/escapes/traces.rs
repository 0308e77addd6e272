//! What attempts left outside, and tidying up after them.

use std::{
    collections::BTreeSet,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use super::scene::Scene;

impl Scene {
    /// The attempts that left a trace outside.
    pub fn traces(&mut self) -> BTreeSet<String> {
        let mut found: BTreeSet<String> = self.heard.lock().unwrap().drain(..).collect();
        for path in ["outside/guarded.txt", "ws/guarded.txt", "ws/.wf/guarded.txt"] {
            let text = fs::read_to_string(self.at(path)).unwrap_or_else(|_| format!("{path} is gone"));
            let lines = text.lines().filter(|line| !line.is_empty() && *line != self.secret);
            found.extend(lines.map(str::to_owned));
        }
        for (name, victim) in &mut self.victims {
            if victim.try_wait().unwrap().is_some() {
                found.insert((*name).to_owned());
            }
        }
        let near = ["", "outside", "ws", "ws/out", "ws/.wf", "ws/.wf/runs", "home"].map(|path| self.at(path));
        let far = [
            "/tmp",
            "/var/tmp",
            "/dev/shm",
            "/etc",
            "/usr",
            "/usr/bin",
            "/usr/local/bin",
            "/opt",
            "/lib",
            "/",
            "/run",
            "/var",
        ];
        for folder in near.iter().map(PathBuf::as_path).chain(far.map(Path::new)) {
            found.extend(self.marks(folder));
        }
        found
    }

    /// What runs in the workspace still, as somebody outside sees it.
    pub fn left_running(&self) -> Vec<String> {
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let workspace = self.at("ws");
        let here = processes
            .filter(|process| fs::read_link(process.path().join("cwd")).is_ok_and(|cwd| cwd == workspace))
            .filter(|process| {
                Some(process.file_name()) != self.segment.as_ref().map(|own| own.id().to_string().into())
            });
        let names =
            here.map(|process| fs::read_to_string(process.path().join("cmdline")).unwrap_or_default());
        names.map(|name| format!("left running: {}", name.replace('\0', " "))).collect()
    }

    /// The attempts that made files in a folder, by the names of these.
    fn marks(&self, folder: &Path) -> Vec<String> {
        let mark = format!("wf-escape-{}-", self.tag);
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names
            .filter_map(|name| {
                let rest = name.strip_prefix(&mark)?;
                (rest != "secret").then(|| rest.split('-').next().unwrap_or_default().to_owned())
            })
            .collect()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        for (_, victim) in &mut self.victims {
            let _ = victim.kill();
            let _ = victim.wait();
        }
        if let Some(mut segment) = self.segment.take() {
            let _ = segment.stdin.take().map(|mut end| end.flush());
            let _ = segment.wait();
        }
        for folder in ["/tmp", "/var/tmp", "/dev/shm", "/etc", "/usr", "/usr/bin", "/usr/local/bin", "/opt"] {
            let mark = format!("wf-escape-{}-", self.tag);
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                if entry.file_name().to_string_lossy().starts_with(&mark) {
                    let _ = fs::remove_file(entry.path());
                }
            }
        }
    }
}
