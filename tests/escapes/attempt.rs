//! What an attempt is.

/// One program that tries to reach what it may not.
#[derive(Clone, Copy)]
pub struct Attempt {
    pub name: &'static str,
    /// What it tries, for the table.
    pub tries: &'static str,
    pub program: Program,
    /// Whether it is tried as a check, and as a step.
    pub check: bool,
    pub step: bool,
    /// What the step is allowed, as the keys of `allow`.
    pub allow: &'static str,
    /// Whether it is also tried without a sandbox, where it must succeed: an attempt that fails
    /// anyway shows nothing.
    pub proven: bool,
    /// Why a step may do this after all, as the documentation says, too.
    pub granted: Option<&'static str>,
}

#[derive(Clone, Copy)]
pub enum Program {
    Sh(&'static str),
    Python(&'static str),
    /// A C program, which is compiled before.
    C(&'static str),
}

impl Attempt {
    const fn new(name: &'static str, tries: &'static str, program: Program) -> Self {
        Self {
            name,
            tries,
            program,
            check: true,
            step: true,
            allow: "write: [out]",
            proven: true,
            granted: None,
        }
    }

    pub const fn sh(name: &'static str, tries: &'static str, text: &'static str) -> Self {
        Self::new(name, tries, Program::Sh(text))
    }

    pub const fn python(name: &'static str, tries: &'static str, text: &'static str) -> Self {
        Self::new(name, tries, Program::Python(text))
    }

    pub const fn c(name: &'static str, tries: &'static str, text: &'static str) -> Self {
        Self::new(name, tries, Program::C(text))
    }

    /// Something that is only tried as a step, because a check cannot be allowed this.
    pub const fn step(mut self, allow: &'static str) -> Self {
        self.check = false;
        self.allow = allow;
        self
    }

    /// Something that a step may do, and a check may not.
    pub const fn granted(mut self, reason: &'static str) -> Self {
        self.granted = Some(reason);
        self
    }

    /// Something that is not tried without a sandbox: it would harm the machine, or needs rights
    /// that nobody has.
    pub const fn only_inside(mut self) -> Self {
        self.proven = false;
        self
    }
}
