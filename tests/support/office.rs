//! A workspace in which several people work, each with keys of their own.

use std::process::Command;

use super::{Did, Sandbox};

/// A workspace and its people, each with a folder of keys.
pub struct Office {
    pub place: Sandbox,
    pub people: tempfile::TempDir,
}

impl Office {
    /// A workspace in which some people have keys, and those who are listed may approve what
    /// others run.
    pub fn new(required: u32, people: &[&str], listed: &[&str]) -> Self {
        let office = Self { place: Sandbox::new(), people: tempfile::tempdir().unwrap() };
        let mut approvers = format!("policy: reviewed\nrequired: {required}\napprovers:\n");
        for name in people {
            office.by(name, &["key", "init", name]).exits(0);
            let key = office.by(name, &["key", "export", "--hex"]).exits(0).out;
            if listed.contains(name) {
                approvers += &format!("  - {{name: {name}, key: {}}}\n", key.trim());
            }
        }
        office.place.file("approvers.yaml", approvers);
        office
    }

    /// The program, as somebody starts it.
    pub fn command(&self, who: &str, args: &[&str]) -> Command {
        let mut command = self.place.command(args);
        command.env("WF_KEYS", self.people.path().join(who));
        command
    }

    /// What somebody does.
    pub fn by(&self, who: &str, args: &[&str]) -> Did {
        Did::of(&mut self.command(who, args))
    }

    /// What somebody does at another time.
    pub fn at(&self, now: &str, who: &str, args: &[&str]) -> Did {
        Did::of(self.command(who, args).env("WF_NOW", now))
    }
}
