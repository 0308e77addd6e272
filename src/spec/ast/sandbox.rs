use super::sound;
use crate::name::EnvName;
use crate::source::{Span, Spanned};
use crate::spec::decode::{Decoder, Fields, OwnPath, Period, ReadPath, Size, record};

record! {
    /// What a step may reach; with it, the step runs in a sandbox. What is not named, it may not.
    pub struct Allow as "the `allow` of a step" {
        /// Files and folders that it may read besides the workspace: relative to the workspace,
        /// absolute, or `~/…`.
        default read: Vec<Spanned<ReadPath>>,
        /// Files and folders that it may change, relative to the workspace.
        default write: Vec<Spanned<OwnPath>>,
        /// Whether it has a network: `false` if absent.
        default net: bool,
        /// Further variables of the environment that wf was started in.
        default env: Vec<Spanned<EnvName>>,
        /// The programs that it may start, by name or path: all that it can read if absent.
        optional exec: Vec<Spanned<ReadPath>>,
    }
    instead { "network" => "write `net`" }
}

record! {
    /// What a check may reach besides the workspace.
    pub struct CheckAllow as "the `allow` of a check" {
        /// Files and folders that it may read: relative to the workspace, absolute, or `~/…`.
        default read: Vec<Spanned<ReadPath>>,
    }
    instead {
        "write" => "a check writes only into a scratch layer, which is thrown away",
        "net" => "write `network: true` beside `allow`",
        "network" => "write `network: true` beside `allow`",
        "env" => "the variables of a check stand in its own `env`, beside `allow`",
        "exec" => "a check may start every program that it can read",
    }
}

record! {
    /// How much a process and all that it starts may use.
    pub struct Limits as "a set of limits" {
        /// Memory, for example `512MiB`.
        optional memory: Spanned<Size>,
        /// Time on processors, for example `30s`.
        optional cpu: Spanned<Period>,
        /// Processes and threads at once.
        optional processes: Spanned<u32>,
        /// What it may write into its scratch layer, for example `64MiB`.
        optional scratch: Spanned<Size>,
        /// What it may print, for example `1MiB`.
        optional output: Spanned<Size>,
    }
    instead { "time" => "the limit on time is `timeout`, beside `limits`" }
    finish some_room;
}

impl Allow {
    /// Nothing but reading the workspace.
    pub fn nothing() -> Self {
        Self {
            read: Vec::new(),
            write: Vec::new(),
            net: false,
            env: Vec::new(),
            exec: None,
        }
    }

    /// The same, as it stands somewhere else.
    #[must_use]
    pub fn moved(&self, at: Span) -> Self {
        Self {
            read: moved(&self.read, at),
            write: moved(&self.write, at),
            net: self.net,
            env: moved(&self.env, at),
            exec: self.exec.as_ref().map(|exec| moved(exec, at)),
        }
    }
}

impl Limits {
    /// The same, as they stand somewhere else.
    #[must_use]
    pub fn moved(&self, at: Span) -> Self {
        let size =
            |size: &Option<Spanned<Size>>| size.as_ref().map(|it| Spanned::new(it.value, at));
        Self {
            memory: size(&self.memory),
            cpu: self.cpu.as_ref().map(|it| Spanned::new(it.value, at)),
            processes: self.processes.as_ref().map(|it| Spanned::new(it.value, at)),
            scratch: size(&self.scratch),
            output: size(&self.output),
        }
    }
}

fn moved<T: Clone>(all: &[Spanned<T>], at: Span) -> Vec<Spanned<T>> {
    let all = all.iter();
    all.map(|it| Spanned::new(it.value.clone(), at)).collect()
}

fn some_room(limits: &mut Limits, _: &Fields<'_, '_>, decoder: &mut Decoder<'_>) {
    sound::some_time(limits.cpu.as_ref(), decoder);
    let sizes = [&limits.memory, &limits.scratch, &limits.output];
    for size in sizes.into_iter().flatten() {
        sound::something(size.value.0 == 0, size.span, decoder);
    }
    if let Some(processes) = &limits.processes {
        sound::something(processes.value == 0, processes.span, decoder);
    }
}
