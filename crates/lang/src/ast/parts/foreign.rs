use crate::decode::ForeignToolKey;

/// Rows of keys with the same meaning: their names in other tools, the key here, and its notation.
macro_rules! foreign {
    ($($($key:literal)|+ => $means:literal $help:literal)*) => {
        &[$($(ForeignToolKey { key: $key, means: $means, help: $help },)+)*]
    };
}

/// The keys of other tools for those of a step.
pub(in crate::ast) const STEP: &[ForeignToolKey] = foreign! {
    "needs" | "depends" | "dependencies" | "requires" | "after" | "deps" | "runafter" | "stage" =>
        "depends_on" "write `depends_on: [build, test]`: the steps that must finish first"
    "name" =>
        "id" "write `id: build_it`, lower-case words; a display name is the step's `title`"
    "label" | "displayname" | "description" =>
        "title" "write `title: A display name`; longer text goes into the Markdown section headed \
                 like the step"
    "if" | "condition" | "only" | "except" | "rules" | "preconditions" | "precondition" | "conditions" =>
        "when" "write `when: params.region == 'eu'`; to run after a failure, `when: \
                failed('build')`"
    "unless" =>
        "when" "write `when: not (params.region == 'eu')`"
    "command" | "commands" | "cmd" | "cmds" | "script" | "bash" | "sh" | "pwsh" | "powershell" | "entrypoint" | "source" =>
        "run" "write `run: make test`, or `run: |` and the lines of a script; without a shell, `exec: [make, test]`"
    "args" | "arguments" =>
        "" "write the program and its arguments as one list: `exec: [make, test]`"
    "beforescript" | "setup" =>
        "run" "put it at the start of `run`, or in a step that this one lists in `depends_on`"
    "afterscript" | "post" | "always" | "ensure" | "teardown" | "onexit" | "handleron" | "hooks" =>
        "" "write it as a step under the plan's `finally`, which always runs"
    "onfailure" | "onsuccess" | "rescue" | "catch" =>
        "when" "write a separate step with `depends_on: [build]` and `when: failed('build')`; to \
                run in any case, put it under `finally`"
    "image" | "docker" | "executor" =>
        "container" "write `container: docker.io/library/alpine@sha256:…`, the image by its digest, next to `run`"
    "services" =>
        "" "write a step that starts the service first, via `depends_on`, and one under `finally` \
            that stops it"
    "runson" | "runner" | "tags" | "pool" | "nodeselector" | "agents" | "resources" =>
        "" "leave it out: steps run where `wf` runs; `limits` sets resource limits for a step with \
            `allow`"
    "permissions" | "securitycontext" | "network" =>
        "allow" "write `allow: {read: [src], write: [out], net: true}`: with `allow`, a step runs in a sandbox"
    "loop" | "foreach" | "each" | "withitems" | "withparam" | "withsequence" | "repeat" | "repeatpolicy" =>
        "for_each" "write `for_each: [a, b]`; each iteration reads its value from \"$WF_ITEM\""
    "parallel" | "concurrent" | "async" | "background" =>
        "" "leave it out: steps run in parallel unless `depends_on` orders them; to run a step \
            once per value, `for_each: [a, b]`, with at most `max_parallel: 2` at a time"
    "strategy" =>
        "matrix" "write the axes as `matrix: {os: [a, b]}`, and the concurrency as `max_parallel: \
                  2`; to continue after a failure, set `policy: {on_failure: continue}` on the plan"
    "timeoutminutes" | "timeoutseconds" | "timeoutsec" | "activedeadlineseconds" | "timelimit" | "deadline" =>
        "timeout" "write `timeout: 10m`: a number and its unit"
    "continueonerror" | "continueon" | "allowfailure" | "ignoreerrors" | "softfail" | "failurepolicy" =>
        "on_error" "write `on_error: continue`"
    "retries" | "retrypolicy" | "retrystrategy" | "maxretries" | "attempts" =>
        "retry" "write `retry: {max: 3, backoff: 2s}`"
    "workingdirectory" | "workingdir" | "workdir" | "dir" | "chdir" | "directory" =>
        "cwd" "write `cwd: some/folder`, relative to the workspace"
    "environment" | "envs" | "variables" | "vars" =>
        "env" "write `env: {LANG: C}`"
    "template" | "templateref" | "call" | "workflow" | "subworkflow" | "include" | "import" | "plan" | "extends" =>
        "uses" "write `uses: OTHER.md`, the file of another plan; its parameters go into `with`"
    "inputs" | "params" | "parameters" | "in" =>
        "with" "declare `params` in the plan, and read \"$WF_PARAM_NAME\"; a plan run by `uses` \
                gets its own from `with`"
    "artifact" | "produces" | "generates" =>
        "artifacts" "write `artifacts: [out/**]`: the files that the step must produce"
    "secrets" =>
        "env" "declare `secrets: {TOKEN: {from: env, name: TOKEN}}` in the plan, and write `env: {TOKEN: \"{{ secrets.TOKEN }}\"}` here"
    "steps" | "jobs" | "tasks" | "dag" =>
        "uses" "put these steps next to this one, or into a separate plan, and `uses: OTHER.md`"
    "schedule" | "cron" =>
        "" "a goal has a schedule: write a file with `kind: goal`, `schedule: \"0 6 * * *\"` and `run: THIS-PLAN.md`"
    "type" | "action" =>
        "" "leave it out: the work of a step is `run`, `exec`, `skill`, `agent`, `http`, `uses`, \
            `wait` or `approve`"
    "check" | "checks" | "assert" | "expect" | "validate" | "criteria" =>
        "verify" "write `verify: [{name: it_is_there, run: test -s out.txt}]`"
    "approval" | "manual" | "confirm" | "prompt" =>
        "" "write a step `approve: {message: Continue?}`"
    "llm" | "ai" | "model" | "claude" | "codex" | "instructions" =>
        "agent" "write `agent: {role: executor, tools: [read, edit]}`, and what is to be done into the section headed like \
                 the step"
    "mutex" | "lock" | "resourcegroup" | "semaphore" | "synchronization" | "concurrencygroup" =>
        "concurrency" "write `concurrency: a-name`: only one step with this name runs at a time"
    "notify" | "mailonerror" =>
        "" "write a step under the plan's `finally` that sends the notification, with `when: \
            failed()` to notify only of failures"
};

/// The keys of other tools for those of a plan.
pub(in crate::ast) const PLAN: &[ForeignToolKey] = foreign! {
    "jobs" | "tasks" | "stages" | "pipeline" | "workflow" | "workflows" | "templates" | "nodes" | "dag" | "job" =>
        "steps" "write `steps:` as a list, `- {id: build, run: make}`; the order is set by \
                 `depends_on: [build]`"
    "run" | "command" | "commands" | "cmd" | "script" | "exec" | "uses" =>
        "steps" "put it in a step: `steps: [{id: main, run: make}]`"
    "name" =>
        "id" "write `id: build-it`, lower-case words joined by hyphens; a display name is the \
              plan's `title`"
    "label" | "displayname" =>
        "title" "write `title: A display name`"
    "on" | "trigger" | "triggers" | "workflowdispatch" | "events" =>
        "" "leave it out: a plan runs when `wf run` is called, by you, a CI job or a hook; to run \
            on a schedule, use a goal: `kind: goal` with `schedule`"
    "schedule" | "schedules" | "cron" | "every" | "interval" =>
        "" "a goal has a schedule: write a file with `kind: goal`, `schedule: \"0 6 * * *\"` and `run: THIS-PLAN.md`"
    "inputs" | "parameters" | "arguments" | "args" =>
        "params" "write `params: {day: {type: string, default: today}}`"
    "environment" | "variables" | "vars" | "envs" =>
        "env" "write `env: {LANG: C}`; values that differ between runs are declared in `params`"
    "handleron" | "hooks" | "onexit" | "afterscript" | "ensure" | "post" | "always" | "teardown" =>
        "finally" "write `finally: [{id: cleanup, run: rm -rf tmp}]`; to run only after failures, \
                   `when: failed()`"
    "beforescript" | "setup" =>
        "steps" "write it as the first step, and list it in the `depends_on` of the others"
    "needs" | "dependson" | "depends" | "dependencies" | "if" | "when" | "condition" | "rules" | "strategy" | "matrix" | "foreach" | "loop" | "retries" | "cache" | "artifacts" =>
        "" "it belongs to a step: put it there"
    "container" | "image" | "services" | "runson" | "runner" | "tags" | "pool" | "agents" | "resources" =>
        "" "leave it out: steps run where `wf` runs; a step may have a `container`"
    "permissions" =>
        "" "it belongs to a step: write `allow: {read: [src], write: [out]}` there"
    "defaults" | "default" =>
        "" "write it on each step; defaults for all plans, such as `retry`, are set in `wf.yaml`"
    "include" | "includes" | "extends" | "imports" | "import" =>
        "steps" "run the other plan from a step: `steps: [{id: other, uses: OTHER.md}]`"
    "maxactivesteps" | "maxactiveruns" | "maxparallel" | "parallelism" | "parallel" | "jobslimit" =>
        "policy" "write `policy: {max_parallel: 4}`"
    "onfailure" | "failfast" | "onerror" | "continueonerror" =>
        "policy" "write `policy: {on_failure: stop}`, `cancel` or `continue`"
    "timeoutminutes" | "timeoutsec" | "timeoutseconds" | "activedeadlineseconds" | "deadline" =>
        "timeout" "write `timeout: 30m`: a number and its unit"
    "concurrency" | "lock" | "synchronization" =>
        "" "locks are held by steps: write `concurrency: a-name` on the step"
    "checks" | "assert" | "criteria" =>
        "verify" "write `verify: [{name: it_is_there, run: test -s out.txt}]`"
    "version" | "apiversion" | "metadata" | "spec" =>
        "" "leave it out: a plan consists of its `kind`, its `id` and its `steps`"
};

/// The keys of other tools for those of a goal.
pub(in crate::ast) const GOAL: &[ForeignToolKey] = foreign! {
    "name" => "id" "write `id: mirror-is-fresh`, lower-case words joined by hyphens; a display \
                    name is the goal's `title`"
    "on" | "every" | "interval" | "schedules" | "trigger" => "schedule" "write `schedule: \"0 6 * * *\"`; every 15 minutes is `schedule: \"*/15 * * * *\"`"
    "tz" | "timezonename" => "timezone" "write `timezone: Europe/Berlin`"
    "checks" | "check" | "assert" => "verify" "write `verify: [{name: it_is_there, run: test -s out.txt}]`"
    "command" | "script" | "jobs" | "tasks" | "uses" | "plan" => "run" "write `run: PLAN.md` for work that is done at each slot; to restore a state, `verify` and `repair: {uses: PLAN.md}`"
};

/// The keys of other tools for those of a check.
pub(in crate::ast) const CHECK: &[ForeignToolKey] = foreign! {
    "id" | "title" | "label" => "name" "write `name: it_is_there`, lower-case words"
    "command" | "cmd" | "script" | "assert" | "test" | "if" => "run" "write `run: test -s out.txt`; it passes with exit code 0"
    "args" => "exec" "write the program and its arguments as one list: `exec: [test, -s, out.txt]`"
    "exitcode" | "stdout" | "output" | "contains" | "equals" | "matches" | "expected" | "file" => "expect" "write \
        the expected result under `expect`: `expect: {exit_code: 0}`, `expect: {contains: done}`"
    "timeoutminutes" | "timeoutseconds" | "timeoutsec" => "timeout" "write `timeout: 1m`: a number and its unit"
    "workingdirectory" | "workingdir" | "workdir" | "dir" => "cwd" "write `cwd: some/folder`, relative to the workspace"
    "environment" | "variables" | "vars" => "env" "write `env: {LANG: C}`"
    "when" | "retry" | "dependson" | "needs" => "" "leave it out: a check runs whenever the work \
        of its step is done"
};

/// The keys of other tools for those of a retry.
pub(super) const RETRY: &[ForeignToolKey] = foreign! {
    "limit" | "maximum" | "attempts" | "count" | "maxattempts" | "maxretries" | "retries" => "max" "write \
        `max: 3`: the number of attempts after the first"
    "interval" | "intervalsec" | "delay" | "wait" | "initialinterval" | "backoffseconds" => "backoff" "write `backoff: 2s`"
    "multiplier" | "backofffactor" => "factor" "write `factor: 2`"
    "maxinterval" | "maxintervalsec" | "maxbackoff" | "cap" => "max_delay" "write `max_delay: 1m`"
    "when" | "retryon" | "retrypolicy" | "exitcode" | "exitcodes" => "on" "write `on: \
        [environmental]`: the classes of failures to retry"
};

/// The keys of other tools for those of a cache.
pub(in crate::ast) const CACHE: &[ForeignToolKey] = foreign! {
    "key" | "keys" | "restorekeys" | "files" | "sources" | "hashfiles" => "inputs" "write `inputs: \
        [src/**]`: the files that the result depends on form the cache key"
    "path" | "paths" | "generates" | "policy" => "outputs" "write `outputs: [out/**]`: the files \
        to restore from the cache"
};

#[cfg(test)]
mod tests {
    use super::{CACHE, CHECK, GOAL, PLAN, RETRY, STEP};
    use crate::ast::{CacheSpec, CheckSpec, GoalSpec, PlanSpec, RetrySpec, StepSpec};

    #[test]
    fn every_row_leads_to_a_key_that_is_there() {
        let tables = [
            ("step", STEP, StepSpec::KEYS),
            ("plan", PLAN, PlanSpec::KEYS),
            ("goal", GOAL, GoalSpec::KEYS),
            ("check", CHECK, CheckSpec::KEYS),
            ("retry", RETRY, RetrySpec::KEYS),
            ("cache", CACHE, CacheSpec::KEYS),
        ];
        for (name, table, keys) in tables {
            for (at, row) in table.iter().enumerate() {
                let place = format!("{name}: {}", row.key);
                let is_plain = row.key.bytes().all(|byte| byte.is_ascii_lowercase());
                assert!(is_plain && !keys.contains(&row.key), "{place}");
                let twice = table.iter().skip(at + 1).any(|other| other.key == row.key);
                assert!(!twice, "{place} stands twice");
                if !row.means.is_empty() {
                    assert!(keys.contains(&row.means), "{place} means {}", row.means);
                }
            }
        }
    }
}
