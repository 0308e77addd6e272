use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use super::trail::{Post, Stamp, follow};
use crate::exec::Unable;
use crate::exec::fixed::Role;
use crate::exec::process::Command;

/// What a compiled program begins with.
const ELF: &[u8] = b"\x7fELF";

/// The files that a process executes, held from its start to its end.
#[derive(Debug)]
pub struct Held {
    root: PathBuf,
    seen: Vec<Seen>,
    /// The program itself, if it is compiled and was approved, as it was, and its path.
    program: Option<(File, Stamp, String)>,
}

/// A file as it was when the process started, and the links that led to it.
#[derive(Debug)]
pub(super) struct Seen {
    path: String,
    role: Role,
    posts: Vec<Post>,
}

impl Seen {
    pub(super) fn new(path: &str, role: Role, posts: Vec<Post>) -> Self {
        Self {
            path: path.to_owned(),
            role,
            posts,
        }
    }

    fn is_touched(&self, root: &Path) -> bool {
        let Ok((now, _)) = follow(root, &self.path, false) else {
            return true;
        };
        let same = |(before, now): (&Post, &Post)| {
            before.path == now.path
                && if self.role == Role::Touched {
                    before.stamp.has_content_of(&now.stamp)
                } else {
                    before.stamp == now.stamp
                }
        };
        now.len() != self.posts.len() || !self.posts.iter().zip(&now).all(same)
    }
}

impl Held {
    pub(super) fn new(root: &Path) -> Self {
        Self {
            root: root.to_path_buf(),
            seen: Vec::new(),
            program: None,
        }
    }

    /// Holds a file. What is not there is made by the process itself, if at all.
    pub(super) fn see(&mut self, seen: Seen) {
        if seen.role != Role::Read && !seen.posts.is_empty() {
            self.seen.push(seen);
        }
    }

    /// Takes the program itself out, if it is compiled: it needs no name any more.
    pub(super) fn direct(&mut self, command: &Command) {
        let named = command.argv.first().filter(|name| name.contains('/'));
        let Some(named) = named.map(|name| command.cwd.join(name)) else {
            return;
        };
        let is_it = |seen: &Seen| self.root.join(&seen.path) == crate::exec::fixed::tidy(&named);
        let Some(at) = self.seen.iter().position(is_it) else {
            return;
        };
        let file = self.seen.get_mut(at).and_then(|seen| seen.posts.pop());
        let Some(Post {
            file: Some(file),
            stamp,
            path,
            digest,
        }) = file
        else {
            return;
        };
        let mut head = [0; 4];
        let is_compiled = file.read_exact_at(&mut head, 0).is_ok() && head == ELF;
        if is_compiled {
            self.seen.remove(at);
            self.program = Some((file, stamp, path));
        } else if let Some(seen) = self.seen.get_mut(at) {
            seen.posts.push(Post {
                path,
                digest,
                stamp,
                file: Some(file),
            });
        }
    }

    /// What is to be executed instead of the program's name: its very file, opened.
    pub fn program(&self) -> Option<PathBuf> {
        let (file, _, _) = self.program.as_ref()?;
        Some(PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd())))
    }

    /// Whether something was touched since, even if it is as it was.
    pub fn disturbed(&self) -> Option<Unable> {
        let touched = self.seen.iter().find(|seen| seen.is_touched(&self.root));
        // Its name may mean something else by now; what ran is what was opened.
        let written = self.program.as_ref().filter(|(file, before, _)| {
            !Stamp::of_open(file).is_some_and(|now| now.has_content_of(before))
        });
        let written = written.map(|(_, _, path)| path.as_str());
        let path = touched.map(|seen| seen.path.as_str()).or(written)?;
        let said = format!("approved file was changed while it ran: {path}");
        Some(Unable::logical(said))
    }
}
