use std::path::{Path, PathBuf};

use super::{Layer, Sandbox};
use crate::exec::Host;
use crate::model::{Allow, Check, Limits};

/// What all sandboxes of a session have in common.
#[derive(Clone, Debug)]
pub struct Around {
    root: PathBuf,
    state: PathBuf,
    home: Option<PathBuf>,
    bins: Vec<PathBuf>,
    read: Vec<String>,
}

impl Around {
    /// Sandboxes round the workspace `root` whose state is in `state`. `read` are paths as the
    /// configuration writes them.
    pub fn new(root: &Path, state: &Path, host: &Host, read: &[String]) -> Self {
        let path = host.get("PATH").map(String::as_str).unwrap_or_default();
        let bins = path.split(':').map(PathBuf::from);
        Self {
            root: root.to_path_buf(),
            state: state.to_path_buf(),
            home: host.get("HOME").map(PathBuf::from),
            bins: bins.filter(|folder| folder.is_absolute()).collect(),
            read: read.to_vec(),
        }
    }

    /// The sandbox of a check.
    pub fn of_check(&self, check: &Check) -> Sandbox {
        self.sandbox(Layer::Scratch, &check.read, check.network, &check.limits)
    }

    /// The sandbox of a step, which may write this output file.
    pub fn of_step(&self, allow: &Allow, limits: &Limits, output: &Path) -> Sandbox {
        let layer = Layer::Direct {
            write: allow.write.clone(),
            files: vec![output.to_path_buf()],
        };
        Sandbox {
            programs: allow.exec.clone(),
            ..self.sandbox(layer, &allow.read, allow.net, limits)
        }
    }

    fn sandbox(&self, layer: Layer, read: &[String], network: bool, limits: &Limits) -> Sandbox {
        let asked = self.read.iter().chain(read).map(|path| self.meant(path));
        Sandbox {
            root: self.root.clone(),
            layer,
            read: self.bins.iter().cloned().chain(asked).collect(),
            hidden: vec![self.state.clone()],
            home: self.home.clone(),
            network,
            programs: None,
            limits: limits.clone(),
        }
    }

    /// What a path of a spec means.
    fn meant(&self, path: &str) -> PathBuf {
        match (path.strip_prefix("~/"), &self.home) {
            (Some(below), Some(home)) => home.join(below),
            _ => self.root.join(path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::Name;

    #[test]
    fn paths_mean_what_they_say() {
        let host = Host::from([
            ("HOME".into(), "/home/ada".into()),
            ("PATH".into(), "/usr/bin:.:/home/ada/bin".into()),
        ]);
        let around = Around::new(
            Path::new("/w"),
            Path::new("/w/.wf"),
            &host,
            &["/srv".into()],
        );
        let mut check = Check::new(Name::parse("it").unwrap());
        check.read = vec!["~/data".into(), "in".into()];
        let sandbox = around.of_check(&check);
        let read: Vec<_> = sandbox
            .read
            .iter()
            .filter_map(|path| path.to_str())
            .collect();
        assert_eq!(
            read,
            [
                "/usr/bin",
                "/home/ada/bin",
                "/srv",
                "/home/ada/data",
                "/w/in"
            ]
        );
        assert_eq!(sandbox.hidden, [Path::new("/w/.wf")]);
        assert_eq!((sandbox.layer, sandbox.network), (Layer::Scratch, false));
    }
}
