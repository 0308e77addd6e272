use crate::spec::decode::Foreign;

/// Rows of keys that mean the same: what they are called elsewhere, the key that does it here, and
/// how it is written.
macro_rules! foreign {
    ($($($key:literal)|+ => $means:literal $help:literal)*) => {
        &[$($(Foreign { key: $key, means: $means, help: $help },)+)*]
    };
}

/// What others call what a step has.
pub(super) const STEP: &[Foreign] = foreign! {
    "needs" | "depends" | "dependencies" | "requires" | "after" | "deps" | "runafter" | "stage" =>
        "depends_on" "write `depends_on: [build, test]`: the steps that must end first"
    "name" =>
        "id" "write `id: build_it`, lower-case words; a line for people is the step's `title`"
    "label" | "displayname" | "description" =>
        "title" "write `title: A line for people`; prose stands in the section of the text that is headed like the step"
    "if" | "condition" | "only" | "except" | "rules" | "preconditions" | "precondition" | "conditions" =>
        "when" "write `when: params.region == 'eu'`; for what follows a failure, `when: failed('build')`"
    "unless" =>
        "when" "write `when: not (params.region == 'eu')`"
    "command" | "commands" | "cmd" | "cmds" | "script" | "bash" | "sh" | "pwsh" | "powershell" | "entrypoint" | "source" =>
        "run" "write `run: make test`, or `run: |` and the lines of a script; without a shell, `exec: [make, test]`"
    "args" | "arguments" =>
        "" "write the program and its arguments as one list: `exec: [make, test]`"
    "beforescript" | "setup" =>
        "run" "write it at the beginning of `run`, or as a step that this one names in `depends_on`"
    "afterscript" | "post" | "always" | "ensure" | "teardown" | "onexit" | "handleron" | "hooks" =>
        "" "write it as a step below the plan's `finally`, which runs whatever happened"
    "onfailure" | "onsuccess" | "rescue" | "catch" =>
        "when" "write a step of its own with `depends_on: [build]` and `when: failed('build')`; for every end, one below `finally`"
    "container" | "image" | "docker" | "executor" =>
        "run" "write `run: docker run --rm -v \"$PWD:/work\" -w /work IMAGE make test`; `allow` confines a step without a container"
    "services" =>
        "" "write a step that starts the service before, by `depends_on`, and one below `finally` that ends it"
    "runson" | "runner" | "tags" | "pool" | "nodeselector" | "agents" | "resources" =>
        "" "leave it out: steps run where `wf` runs; `limits` says how much a step with `allow` may use"
    "permissions" | "securitycontext" | "network" =>
        "allow" "write `allow: {read: [src], write: [out], net: true}`: with `allow`, a step runs in a sandbox"
    "loop" | "foreach" | "each" | "withitems" | "withparam" | "withsequence" | "repeat" | "repeatpolicy" =>
        "for_each" "write `for_each: [a, b]`; each run of the step finds its value in \"$WF_ITEM\""
    "parallel" | "concurrent" | "async" | "background" =>
        "" "leave it out: steps run side by side unless `depends_on` orders them; a step for each of several values is `for_each: [a, b]`, and how many at once, `max_parallel: 2`"
    "strategy" =>
        "matrix" "write the axes as `matrix: {os: [a, b]}`, how many at once as `max_parallel: 2`; what a failure does is `policy: {on_failure: continue}` of the plan"
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
        "uses" "write `uses: OTHER.md`, the file of another plan; its parameters stand in `with`"
    "inputs" | "params" | "parameters" | "in" =>
        "with" "declare `params` in the plan, and read \"$WF_PARAM_NAME\"; a plan that a step `uses` gets its own by `with`"
    "artifact" | "produces" | "generates" =>
        "artifacts" "write `artifacts: [out/**]`: the files that the step must leave"
    "secrets" =>
        "env" "declare `secrets: {TOKEN: {from: env, name: TOKEN}}` in the plan, and write `env: {TOKEN: \"{{ secrets.TOKEN }}\"}` here"
    "steps" | "jobs" | "tasks" | "dag" =>
        "uses" "write these steps beside this one, or into a plan of their own, and `uses: OTHER.md`"
    "schedule" | "cron" =>
        "" "a goal has a schedule: write a file with `kind: goal`, `schedule: \"0 6 * * *\"` and `repair: {uses: THIS-PLAN.md}`"
    "type" | "action" =>
        "" "leave it out: what a step does is said by `run`, `exec`, `http`, `uses`, `skill`, `wait` or `approve`"
    "check" | "checks" | "assert" | "expect" | "validate" | "criteria" =>
        "verify" "write `verify: [{name: it_is_there, run: test -s out.txt}]`"
    "approval" | "manual" | "confirm" | "prompt" =>
        "" "write a step `approve: {message: May it go on?}`"
    "mutex" | "lock" | "resourcegroup" | "semaphore" | "synchronization" | "concurrencygroup" =>
        "concurrency" "write `concurrency: a-name`: of all steps with this name, one runs at a time"
    "notify" | "mailonerror" =>
        "" "write a step below the plan's `finally` that tells it, with `when: failed()` if only failures are to be told"
};

/// What others call what a plan has.
pub(super) const PLAN: &[Foreign] = foreign! {
    "jobs" | "tasks" | "stages" | "pipeline" | "workflow" | "workflows" | "templates" | "nodes" | "dag" | "job" =>
        "steps" "write `steps:` as a list, `- {id: build, run: make}`; what comes first is said by `depends_on: [build]`"
    "run" | "command" | "commands" | "cmd" | "script" | "exec" | "uses" =>
        "steps" "write it in a step: `steps: [{id: main, run: make}]`"
    "name" =>
        "id" "write `id: build-it`, lower-case words joined by hyphens; a line for people is the plan's `title`"
    "label" | "displayname" =>
        "title" "write `title: A line for people`"
    "on" | "trigger" | "triggers" | "workflowdispatch" | "events" =>
        "" "leave it out: a plan runs when `wf run` is called, by you, a CI job or a hook; by the clock, a goal runs it: `kind: goal` with `schedule`"
    "schedule" | "schedules" | "cron" | "every" | "interval" =>
        "" "a goal has a schedule: write a file with `kind: goal`, `schedule: \"0 6 * * *\"` and `repair: {uses: THIS-PLAN.md}`"
    "inputs" | "parameters" | "arguments" | "args" =>
        "params" "write `params: {day: {type: string, default: today}}`"
    "environment" | "variables" | "vars" | "envs" =>
        "env" "write `env: {LANG: C}`; what differs from run to run is declared in `params`"
    "handleron" | "hooks" | "onexit" | "afterscript" | "ensure" | "post" | "always" | "teardown" =>
        "finally" "write `finally: [{id: cleanup, run: rm -rf tmp}]`; after failures alone, with `when: failed()`"
    "beforescript" | "setup" =>
        "steps" "write it as the first step, which the others name in `depends_on`"
    "needs" | "dependson" | "depends" | "dependencies" | "if" | "when" | "condition" | "rules" | "strategy" | "matrix" | "foreach" | "loop" | "retry" | "retries" | "cache" | "artifacts" =>
        "" "it belongs to a step: write it there"
    "container" | "image" | "services" | "runson" | "runner" | "tags" | "pool" | "agents" | "resources" =>
        "" "leave it out: steps run where `wf` runs; a step may `run: docker run --rm -v \"$PWD:/work\" -w /work IMAGE make`"
    "permissions" | "allow" =>
        "" "it belongs to a step: write `allow: {read: [src], write: [out]}` there"
    "defaults" | "default" =>
        "" "write it at each step; what holds for all plans, as `retry`, stands in `wf.yaml`"
    "include" | "includes" | "extends" | "imports" | "import" =>
        "steps" "let a step use the other plan: `steps: [{id: other, uses: OTHER.md}]`"
    "maxactivesteps" | "maxactiveruns" | "maxparallel" | "parallelism" | "parallel" | "jobslimit" =>
        "policy" "write `policy: {max_parallel: 4}`"
    "onfailure" | "failfast" | "onerror" | "continueonerror" =>
        "policy" "write `policy: {on_failure: stop}`, `cancel` or `continue`"
    "timeoutminutes" | "timeoutsec" | "timeoutseconds" | "activedeadlineseconds" | "deadline" =>
        "timeout" "write `timeout: 30m`: a number and its unit"
    "concurrency" | "lock" | "synchronization" =>
        "" "a step holds a lock: write `concurrency: a-name` there"
    "checks" | "assert" | "criteria" =>
        "verify" "write `verify: [{name: it_is_there, run: test -s out.txt}]`"
    "version" | "apiversion" | "metadata" | "spec" =>
        "" "leave it out: a plan is its `kind`, its `id` and its `steps`"
};

/// What others call what a goal has.
pub(super) const GOAL: &[Foreign] = foreign! {
    "name" => "id" "write `id: mirror-is-fresh`, lower-case words joined by hyphens; a line for people is the goal's `title`"
    "on" | "every" | "interval" | "schedules" | "trigger" => "schedule" "write `schedule: \"0 6 * * *\"`; every 15 minutes is `schedule: \"*/15 * * * *\"`"
    "tz" | "timezonename" => "timezone" "write `timezone: Europe/Berlin`"
    "checks" | "check" | "assert" => "verify" "write `verify: [{name: it_is_there, run: test -s out.txt}]`"
    "run" | "command" | "script" | "jobs" | "tasks" | "uses" | "plan" => "repair" "write `repair: {uses: PLAN.md}`, or `repair: {steps: [{id: main, run: make}]}`"
};

/// What others call what a check has.
pub(super) const CHECK: &[Foreign] = foreign! {
    "id" | "title" | "label" => "name" "write `name: it_is_there`, lower-case words"
    "command" | "cmd" | "script" | "assert" | "test" | "if" => "run" "write `run: test -s out.txt`; it passes with exit code 0"
    "args" => "exec" "write the program and its arguments as one list: `exec: [test, -s, out.txt]`"
    "exitcode" | "stdout" | "output" | "contains" | "equals" | "matches" | "expected" | "file" => "expect" "write what must be found below `expect`: `expect: {exit_code: 0}`, `expect: {contains: done}`"
    "timeoutminutes" | "timeoutseconds" | "timeoutsec" => "timeout" "write `timeout: 1m`: a number and its unit"
    "workingdirectory" | "workingdir" | "workdir" | "dir" => "cwd" "write `cwd: some/folder`, relative to the workspace"
    "environment" | "variables" | "vars" => "env" "write `env: {LANG: C}`"
    "when" | "retry" | "dependson" | "needs" => "" "leave it out: a check is asked when the work of its step is done, each time"
};

/// What others call what a retry has.
pub(super) const RETRY: &[Foreign] = foreign! {
    "limit" | "maximum" | "attempts" | "count" | "maxattempts" | "maxretries" | "retries" => "max" "write `max: 3`: so many attempts after the first"
    "interval" | "intervalsec" | "delay" | "wait" | "initialinterval" | "backoffseconds" => "backoff" "write `backoff: 2s`"
    "multiplier" | "backofffactor" => "factor" "write `factor: 2`"
    "maxinterval" | "maxintervalsec" | "maxbackoff" | "cap" => "max_delay" "write `max_delay: 1m`"
    "when" | "retryon" | "retrypolicy" | "exitcode" | "exitcodes" => "on" "write `on: [environmental]`: the classes of failures that are tried again"
};

/// What others call what a cache has.
pub(super) const CACHE: &[Foreign] = foreign! {
    "key" | "keys" | "restorekeys" | "files" | "sources" | "hashfiles" => "inputs" "write `inputs: [src/**]`: the files that the result depends on are its key"
    "path" | "paths" | "generates" | "policy" => "outputs" "write `outputs: [out/**]`: the files that are brought back"
};

#[cfg(test)]
mod tests {
    use super::{CACHE, CHECK, GOAL, PLAN, RETRY, STEP};
    use crate::spec::ast::{Cache, Check, Goal, Plan, Retry, Step};

    #[test]
    fn every_row_leads_to_a_key_that_is_there() {
        let tables = [
            ("step", STEP, Step::KEYS),
            ("plan", PLAN, Plan::KEYS),
            ("goal", GOAL, Goal::KEYS),
            ("check", CHECK, Check::KEYS),
            ("retry", RETRY, Retry::KEYS),
            ("cache", CACHE, Cache::KEYS),
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
