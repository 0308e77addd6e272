use std::cmp::Ordering;
use std::ffi::OsString;
use std::iter::Peekable;
use std::path::{Path, PathBuf};
use std::slice::Iter;

use super::{Folder, Manifest, Node, Stamp};

/// What tells two manifests of a workspace apart, but for what was declared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// The files that are other than they were, or gone.
    pub changed: Vec<PathBuf>,
    /// The files that were not there: a folder stands for all that is in it, if none of it was
    /// declared.
    pub new: Vec<PathBuf>,
}

impl Difference {
    /// Compares two manifests. Left out is what may differ by these rules; a path in a folder is
    /// asked for by itself.
    pub fn between(before: &Manifest, after: &Manifest, rules: &dyn Rules) -> Self {
        let mut comparison = Comparison {
            rules,
            at: PathBuf::new(),
            found: Self::default(),
        };
        comparison.folders(&before.top, &after.top);
        comparison.found
    }

    /// The folders that were moved between two manifests, even if they are back: a folder's change
    /// time moves with its modification time, unless the folder itself is touched.
    pub fn moved(before: &Manifest, after: &Manifest) -> Option<PathBuf> {
        moved(&before.top, &after.top, &mut PathBuf::new())
    }
}

/// What may differ between two manifests.
pub trait Rules {
    /// Whether a file may be other than it was, or gone.
    fn may_change(&self, path: &Path) -> bool;

    /// Whether somebody names a file, and with it what is in it.
    fn is_named(&self, path: &Path) -> bool;

    /// Whether a file may be there that was not. `named` says that it, or a new folder around it, is named.
    fn may_appear(&self, path: &Path, named: bool) -> bool;
}

struct Comparison<'a> {
    rules: &'a dyn Rules,
    at: PathBuf,
    found: Difference,
}

/// Whether some of what is new may be seen.
type Visible = bool;

impl Comparison<'_> {
    fn folders(&mut self, before: &Folder, after: &Folder) {
        for (name, pair) in Pairs::new(before, after) {
            self.at.push(name);
            self.pair(&pair);
            self.at.pop();
        }
    }

    fn pair(&mut self, pair: &Pair<'_>) {
        match *pair {
            Pair::Both(Node::Folder(before), Node::Folder(after)) => {
                if before.stamp.mode != after.stamp.mode {
                    self.change();
                }
                self.folders(before, after);
            }
            Pair::Both(Node::File(before), Node::File(after)) => {
                if before != after {
                    self.change();
                }
            }
            Pair::Both(before, _) => {
                self.change();
                self.gone(before);
            }
            Pair::Before(before) => self.gone(before),
            Pair::After(after) => {
                self.appear(after, false);
            }
        }
    }

    fn change(&mut self) {
        if !self.rules.may_change(&self.at) {
            self.found.changed.push(self.at.clone());
        }
    }

    /// All that was in a folder which is none now is asked for by itself: the folder may be declared
    /// only as the place of something else.
    fn gone(&mut self, node: &Node) {
        match node {
            Node::Folder(folder) if !folder.entries.is_empty() => {
                for (name, node) in &folder.entries {
                    self.at.push(name);
                    self.gone(node);
                    self.at.pop();
                }
            }
            Node::Folder(_) | Node::File(_) => self.change(),
        }
    }

    /// Each part of a new folder is asked for by itself.
    fn appear(&mut self, node: &Node, named: bool) -> Visible {
        let first = self.found.new.len();
        let named = named || self.rules.is_named(&self.at);
        let mut visible = self.rules.may_appear(&self.at, named);
        if let Node::Folder(folder) = node {
            for (name, node) in &folder.entries {
                self.at.push(name);
                visible |= self.appear(node, named);
                self.at.pop();
            }
        }
        if !visible {
            self.found.new.truncate(first);
            self.found.new.push(self.at.clone());
        }
        visible
    }
}

fn moved(before: &Folder, after: &Folder, at: &mut PathBuf) -> Option<PathBuf> {
    for (name, pair) in Pairs::new(before, after) {
        let Pair::Both(Node::Folder(before), Node::Folder(after)) = pair else {
            continue;
        };
        at.push(name);
        if before.stamp.is_moved(after.stamp) {
            return Some(at.clone());
        }
        if let Some(path) = moved(before, after, at) {
            return Some(path);
        }
        at.pop();
    }
    None
}

impl Stamp {
    fn is_moved(self, after: Self) -> bool {
        let is_touched = self.changed != after.changed && self.modified == after.modified;
        self.inode != after.inode || is_touched
    }
}

/// The entries of two folders, by name.
struct Pairs<'a> {
    before: Peekable<Iter<'a, (OsString, Node)>>,
    after: Peekable<Iter<'a, (OsString, Node)>>,
}

enum Pair<'a> {
    Before(&'a Node),
    After(&'a Node),
    Both(&'a Node, &'a Node),
}

impl<'a> Pairs<'a> {
    fn new(before: &'a Folder, after: &'a Folder) -> Self {
        Self {
            before: before.entries.iter().peekable(),
            after: after.entries.iter().peekable(),
        }
    }
}

impl<'a> Iterator for Pairs<'a> {
    type Item = (&'a OsString, Pair<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let order = match (self.before.peek(), self.after.peek()) {
            (None, None) => return None,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some((before, _)), Some((after, _))) => before.cmp(after),
        };
        if order == Ordering::Less {
            let (name, node) = self.before.next()?;
            return Some((name, Pair::Before(node)));
        }
        let (name, after) = self.after.next()?;
        if order == Ordering::Greater {
            return Some((name, Pair::After(after)));
        }
        let (_, before) = self.before.next()?;
        Some((name, Pair::Both(before, after)))
    }
}

#[cfg(test)]
mod tests;
