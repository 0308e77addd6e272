use super::sound;
use crate::decode::{
    ByteSize, DurationText, LowerSpec, MappingFields, ReadablePath, SpecDecoder, WritablePath, record,
};
use wf_base::{
    name::EnvName,
    source::{Span, Spanned},
};
use wf_model::SandboxPermissions;

record! {
    /// The permissions of a step; with them, it runs in a sandbox. Anything not named is denied.
    pub struct AllowSpec as "the `allow` of a step" {
        /// Files and folders that it may read besides the workspace: relative to the workspace,
        /// absolute, or `~/…`.
        default read: Vec<Spanned<ReadablePath>>,
        /// Files and folders that it may change, relative to the workspace.
        default write: Vec<Spanned<WritablePath>>,
        /// True to allow network access: `false` if absent.
        default net: bool,
        /// Further variables of wf's own environment.
        default env: Vec<Spanned<EnvName>>,
        /// The programs that it may start, by name or path: all that it can read if absent.
        optional exec: Vec<Spanned<ReadablePath>>,
    }
    instead { "network" => "write `net`" }
}

record! {
    /// The permissions of a check beyond the workspace.
    pub struct CheckAllowSpec as "the `allow` of a check" {
        /// Files and folders that it may read: relative to the workspace, absolute, or `~/…`.
        default read: Vec<Spanned<ReadablePath>>,
    }
    instead {
        "write" => "a check only writes to a scratch layer, which is discarded",
        "net" => "put `network: true` next to `allow`",
        "network" => "put `network: true` next to `allow`",
        "env" => "the variables of a check go into its own `env`, next to `allow`",
        "exec" => "a check may run every program that it can read",
    }
}

record! {
    /// The resource limits of a process and its descendants.
    pub struct LimitsSpec as "a set of limits" {
        /// Memory, for example `512MiB`.
        optional memory: Spanned<ByteSize>,
        /// Time on processors, for example `30s`.
        optional cpu: Spanned<DurationText>,
        /// Processes and threads at once.
        optional processes: Spanned<u32>,
        /// The maximum data written to its scratch layer, for example `64MiB`.
        optional scratch: Spanned<ByteSize>,
        /// The maximum output, for example `1MiB`.
        optional output: Spanned<ByteSize>,
    }
    instead { "time" => "the time limit is `timeout`, next to `limits`" }
    finish check_limits;
    lowers wf_model::ResourceLimits;
}

impl AllowSpec {
    /// Allows nothing but reading the workspace.
    pub fn workspace_only() -> Self {
        Self { read: Vec::new(), write: Vec::new(), net: false, env: Vec::new(), exec: None }
    }

    /// Returns the same at another location.
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

impl LowerSpec for AllowSpec {
    type Model = SandboxPermissions;

    fn lower(&self) -> SandboxPermissions {
        SandboxPermissions {
            read: self.read.lower(),
            write: self.write.lower(),
            net: self.net,
            env: self.env.iter().map(|name| name.value.to_string()).collect(),
            exec: self.exec.lower(),
        }
    }
}

impl LimitsSpec {
    /// Returns the same at another location.
    #[must_use]
    pub fn moved(&self, at: Span) -> Self {
        let size = |size: &Option<Spanned<ByteSize>>| {
            size.as_ref().map(|byte_size| Spanned::new(byte_size.value, at))
        };
        Self {
            memory: size(&self.memory),
            cpu: self.cpu.as_ref().map(|text| Spanned::new(text.value, at)),
            processes: self.processes.as_ref().map(|count| Spanned::new(count.value, at)),
            scratch: size(&self.scratch),
            output: size(&self.output),
        }
    }
}

fn moved<T: Clone>(list: &[Spanned<T>], at: Span) -> Vec<Spanned<T>> {
    let values = list.iter();
    values.map(|value| Spanned::new(value.value.clone(), at)).collect()
}

fn check_limits(limits: &mut LimitsSpec, _fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    sound::check_nonzero_duration(limits.cpu.as_ref(), decoder);
    let sizes = [&limits.memory, &limits.scratch, &limits.output];
    for size in sizes.into_iter().flatten() {
        sound::check_limit(size.value.0 == 0, size.span, decoder);
    }
    if let Some(processes) = &limits.processes {
        sound::check_limit(processes.value == 0, processes.span, decoder);
    }
}
