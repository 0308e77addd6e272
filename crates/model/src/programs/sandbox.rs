use std::{
    path::{Component, Path, PathBuf},
    time::Duration,
};

use crate::summary::{SummaryBuilder, exact_bytes, weight};
use serde::{Deserialize, Serialize};

/// The permissions of a step in its sandbox. Everything not listed is denied.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxPermissions {
    /// Files and folders it may read in addition to the workspace: relative to the workspace,
    /// absolute, or below the home folder (`~/…`). Never with `..`.
    pub read: Vec<String>,
    /// Files and folders it may write, relative to the workspace. Never with `..`.
    pub write: Vec<String>,
    /// True if it has network access.
    pub net: bool,
    /// Additional variables from the environment where `wf` was started.
    pub env: Vec<String>,
    /// The programs it may start, by name or path; `None`: every program it can read.
    pub exec: Option<Vec<String>>,
}

/// The permissions of a process in a sandbox.
pub(crate) fn show_permissions(
    permissions: &SandboxPermissions,
    all_programs: &str,
    summary: &mut SummaryBuilder,
) {
    let SandboxPermissions { read, write, net, env, exec } = permissions;
    lines!(summary in Reach {
        grant "read" = read,
        grant "write" = write,
        grant "env" = env,
        most "net" = if *net { ("true: any host", 1.0) } else { ("false", 0.0) },
        most "exec" = if exec.is_some() { ("only the listed programs", 0.0) } else { (all_programs, 1.0) },
        grant "exec" = exec,
    });
}

impl SandboxPermissions {
    /// True if the step may write a path of the workspace, or a folder above it.
    pub fn writes(&self, path: &str) -> bool {
        self.write.iter().any(|grant| {
            let parts = Path::new(grant).components();
            let grant: PathBuf = parts.filter(|part| *part != Component::CurDir).collect();
            Path::new(path).starts_with(grant)
        })
    }

    /// Returns what another permits and this does not, each in words.
    pub fn excess(&self, other: &Self) -> Vec<String> {
        let is_covered = |own: &[String], path: &String| own.iter().any(|folder| covers(folder, path));
        let reads = other.read.iter().filter(|path| !is_covered(&self.read, path));
        let writes = other.write.iter().filter(|path| !is_covered(&self.write, path));
        let variables = other.env.iter().filter(|name| !self.env.contains(name));
        let mut excess: Vec<String> = reads.map(|path| format!("read `{path}`")).collect();
        excess.extend(writes.map(|path| format!("write `{path}`")));
        excess.extend(variables.map(|name| format!("see the variable `{name}`")));
        match (&self.exec, &other.exec) {
            (Some(_), None) => excess.push("start every program; list those that it needs in `exec`".into()),
            (Some(own), Some(other)) => {
                let programs = other.iter().filter(|program| !own.contains(program));
                excess.extend(programs.map(|program| format!("start `{program}`")));
            }
            (None, _) => {}
        }
        if other.net && !self.net {
            excess.push("use the network".into());
        }
        excess
    }

    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let both = |own: &[String], other: &[String]| {
            let inner = |inner: &[String], outer: &[String]| -> Vec<String> {
                let is_covered = |path: &&String| outer.iter().any(|folder| covers(folder, path));
                inner.iter().filter(is_covered).cloned().collect()
            };
            let mut paths = inner(own, other);
            paths.extend(inner(other, own));
            paths.sort();
            paths.dedup();
            paths
        };
        let common = |own: &[String], other: &[String]| -> Vec<String> {
            own.iter().filter(|name| other.contains(name)).cloned().collect()
        };
        Self {
            read: both(&self.read, &other.read),
            write: both(&self.write, &other.write),
            net: self.net && other.net,
            env: common(&self.env, &other.env),
            exec: match (&self.exec, &other.exec) {
                (Some(own), Some(other)) => Some(common(own, other)),
                (own, other) => own.clone().or_else(|| other.clone()),
            },
        }
    }
}

impl ResourceLimits {
    /// Returns what is more than a process has without a word about it, each in words.
    pub fn excess(&self) -> Vec<String> {
        let sizes =
            [("memory", self.memory, DEFAULT_MEMORY_BYTES), ("scratch", self.scratch, DEFAULT_SCRATCH_BYTES)];
        let sizes = sizes.into_iter().filter_map(|(key, limit, most)| {
            let limit = limit.filter(|limit| *limit > most)?;
            Some(format!("`{key}` of {}, and {} is the most", exact_bytes(limit), exact_bytes(most)))
        });
        let processes = self.processes.filter(|limit| *limit > DEFAULT_PROCESS_LIMIT);
        let processes =
            processes.map(|limit| format!("`processes` of {limit}, and {DEFAULT_PROCESS_LIMIT} is the most"));
        sizes.chain(processes).collect()
    }

    #[must_use]
    pub fn stricter(&self, other: &Self) -> Self {
        fn least<T: Copy + Ord>(own: Option<T>, other: Option<T>) -> Option<T> {
            own.into_iter().chain(other).min()
        }
        Self {
            memory: least(self.memory, other.memory),
            cpu: least(self.cpu, other.cpu),
            processes: least(self.processes, other.processes),
            scratch: least(self.scratch, other.scratch),
            output: least(self.output, other.output),
        }
    }
}

/// True if a path is a folder, or below it. One that is relative is below no absolute one, nor below `~`.
fn covers(folder: &str, path: &str) -> bool {
    let parts = |path: &str| -> PathBuf {
        Path::new(path).components().filter(|part| *part != Component::CurDir).collect()
    };
    let root = |path: &str| (path.starts_with('/'), path.starts_with('~'));
    root(folder) == root(path) && parts(path).starts_with(parts(folder))
}

pub const DEFAULT_MEMORY_BYTES: u64 = 4 << 30;

pub const DEFAULT_PROCESS_LIMIT: u32 = 1024;

/// The default size of a scratch layer, in bytes.
pub const DEFAULT_SCRATCH_BYTES: u64 = 2 << 30;

/// The limits of a process and its descendants. `None`: the default limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceLimits {
    /// Memory, in bytes.
    pub memory: Option<u64>,
    pub cpu: Option<Duration>,
    /// Processes and threads in parallel.
    pub processes: Option<u32>,
    /// The size of its scratch layer, in bytes.
    pub scratch: Option<u64>,
    /// The size of its output, in bytes.
    pub output: Option<u64>,
}

view! { limits: ResourceLimits in Reach {
    most memory = memory.map(bytes_text),
    most scratch = scratch.map(bytes_text),
    most output = output.map(bytes_text),
    most cpu,
    most processes,
} }

fn bytes_text(count: u64) -> (String, f64) {
    (exact_bytes(count), weight(count))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{ResourceLimits, SandboxPermissions};

    fn allow(read: &[&str], write: &[&str], exec: Option<&[&str]>) -> SandboxPermissions {
        let all = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
        SandboxPermissions {
            read: all(read),
            write: all(write),
            net: true,
            env: all(&["LANG", "TZ"]),
            exec: exec.map(all),
        }
    }

    #[test]
    fn both_must_permit_a_thing() {
        let own = allow(&["/usr/share", "~/data", "/"], &["out", "docs/de"], Some(&["sh", "git"]));
        let other = allow(&["/usr/share/x", "data", "/etc"], &["./out/deep", "docs"], Some(&["git", "ls"]));
        let both = own.intersection(&SandboxPermissions { env: vec!["TZ".into()], ..other.clone() });
        assert_eq!(both.read, ["/etc", "/usr/share/x"]);
        assert_eq!(both.write, ["./out/deep", "docs/de"]);
        assert_eq!((both.net, both.env, both.exec), (true, vec!["TZ".into()], Some(vec!["git".into()])));
        assert!(!own.intersection(&SandboxPermissions { net: false, ..other }).net);
        // A list of programs is narrower than none.
        let free = allow(&[], &[], None);
        assert_eq!(free.intersection(&own).exec, own.exec);
        assert_eq!(own.intersection(&free).exec, own.exec);
        assert_eq!(
            own.intersection(&SandboxPermissions::default()),
            SandboxPermissions { exec: own.exec.clone(), ..SandboxPermissions::default() }
        );
    }

    #[test]
    fn no_path_is_below_one_of_another_kind() {
        let both =
            |read: &str, other: &str| allow(&[read], &[], None).intersection(&allow(&[other], &[], None));
        assert_eq!(both(".", "/etc").read, Vec::<String>::new());
        assert_eq!(both(".", "~/x").read, Vec::<String>::new());
        assert_eq!(both("a", "ab").read, Vec::<String>::new());
        assert_eq!(both(".", "a").read, ["a"]);
        assert_eq!(both("a/", "a").read, ["a", "a/"]);
    }

    #[test]
    fn an_excess_is_named_in_words() {
        let own = allow(&["/usr/share"], &["src"], Some(&["sh"]));
        assert_eq!(own.excess(&own), Vec::<String>::new());
        let inner = allow(&["/usr/share/x"], &["src/deep", "./src"], Some(&[]));
        assert_eq!(own.excess(&inner), Vec::<String>::new());
        let wide = SandboxPermissions { env: vec!["KEY".into()], ..allow(&["/"], &["srcs", "."], None) };
        let closed = SandboxPermissions { net: false, ..own };
        let expected = [
            "read `/`",
            "write `srcs`",
            "write `.`",
            "see the variable `KEY`",
            "start every program; list those that it needs in `exec`",
            "use the network",
        ];
        assert_eq!(closed.excess(&wide), expected);
        assert_eq!(closed.excess(&allow(&[], &[], Some(&["git"]))), ["start `git`", "use the network"]);
        assert!(allow(&[], &["."], None).excess(&allow(&[], &["any/where"], Some(&["git"]))).is_empty());
    }

    #[test]
    fn a_limit_is_an_excess_beyond_the_default() {
        let all = |gigabytes: u64, processes| ResourceLimits {
            memory: Some(gigabytes << 30),
            scratch: Some(gigabytes << 30),
            processes: Some(processes),
            ..ResourceLimits::default()
        };
        assert_eq!(ResourceLimits::default().excess(), Vec::<String>::new());
        assert_eq!(all(2, 1024).excess(), Vec::<String>::new());
        let excess = all(900, 1025).excess();
        assert_eq!(excess.len(), 3, "{excess:?}");
        assert_eq!(excess[0], "`memory` of 900 GiB, and 4 GiB is the most");
        assert_eq!(excess[2], "`processes` of 1025, and 1024 is the most");
    }

    #[test]
    fn the_stricter_limit_counts() {
        let own = ResourceLimits { memory: Some(5), cpu: None, ..ResourceLimits::default() };
        let cpu = Some(Duration::from_secs(1));
        let other = ResourceLimits { memory: Some(7), cpu, ..ResourceLimits::default() };
        let both = own.stricter(&other);
        assert_eq!((both.memory, both.cpu, both.processes), (Some(5), cpu, None));
    }
}
