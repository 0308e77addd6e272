//! Agents that work by skills, and call their scripts.

use crate::support::Sandbox;

const SKILL: &str = r"---
name: notes
description: Takes notes. Use it where something must be remembered.
metadata:
  wf: |
    scripts:
      scripts/note.sh:
        description: Notes a text.
        args:
          text: {type: string, maxLength: 20}
          times: {type: integer, default: 1}
        outputs: {notes: {type: integer}}
        allow: {write: [out, both]}
      scripts/say.sh: {}
---
# Notes

Write short notes. `references/style.md` has the style.
";

const NOTE: &str = r#"echo "$@" >> both/notes.txt
touch out/only-the-skill 2>/dev/null || echo "out is closed"
touch step/only-the-step 2>/dev/null || echo "step is closed"
echo "notes=$(wc -l < both/notes.txt)" >> "$WF_OUTPUT"
"#;

fn skilled(agent: &str, calls: &[&str]) -> Sandbox {
    let place = super::place(agent, "    allow: {write: [step, both]}\n", calls);
    place.file("skills/notes/SKILL.md", SKILL).file("skills/notes/scripts/note.sh", NOTE);
    place.file("skills/notes/scripts/say.sh", "echo said; exit 3\n");
    place.file("skills/notes/references/style.md", "Be brief.\n");
    for folder in ["out", "step", "both"] {
        place.file(&format!("{folder}/kept"), "");
    }
    place
}

fn lock(place: &Sandbox) {
    place.wf(&["skill", "lock", "notes", "--yes"]).exits(0);
}

#[test]
fn an_agent_has_the_text_and_calls_the_scripts_with_what_both_permit() {
    let place = skilled(
        "skills: [notes], tools: [read, skill]",
        &[
            "{tool: read, arguments: {path: skills/notes/references/style.md}}",
            "{tool: skill, arguments: {skill: notes, script: note, arguments: {text: one two}}}",
            "{tool: skill, arguments: {skill: notes, script: scripts/note.sh, arguments: {text: again, times: 2}}}",
            "{tool: skill, arguments: {skill: notes, script: say}}",
        ],
    );
    lock(&place);
    place.wf(&["run", "plan.md"]).exits(0);
    let told = super::exchange(&place);
    let told =
        told.says("# Skill `notes`").says("Its files are in `skills/notes`.").says("Write short notes.");
    let told =
        told.says("Be brief.").says("out is closed\nstep is closed\n[exit code 0]\n[outputs: {\"notes\":1}]");
    told.says("[outputs: {\"notes\":2}]").says("said\n[exit code 3]");
    assert_eq!(place.read("both/notes.txt"), "--text=one two --times=1\n--text=again --times=2\n");
    assert!(!place.at("out/only-the-skill").exists() && !place.at("step/only-the-step").exists());
}

#[test]
fn a_call_that_the_skill_does_not_declare_is_told_to_the_model() {
    let place = skilled(
        "skills: [notes], tools: [skill]",
        &[
            "{tool: skill, arguments: {skill: other, script: note}}",
            "{tool: skill, arguments: {skill: notes, script: ../../x.sh}}",
            "{tool: skill, arguments: {skill: notes, script: note, arguments: {text: far more than twenty letters}}}",
            "{tool: skill, arguments: {skill: notes, script: note, arguments: [a]}}",
        ],
    );
    lock(&place);
    place.wf(&["run", "plan.md"]).exits(0);
    let told = super::exchange(&place).says("this step has no skill \"other\"; it has `notes`");
    let told =
        told.says("the skill `notes` declares no script \"../../x.sh\"; it declares `scripts/note.sh`");
    told.says("argument `text` of `skills/notes/scripts/note.sh`").says("must be an object, not a list");
    assert!(!place.at("both/notes.txt").exists());
}

#[test]
fn a_skill_that_nobody_locked_is_given_to_no_agent() {
    let place = skilled("skills: [notes]", &[]);
    place.wf(&["run", "plan.md"]).exits(4).says("the skill `notes` cannot be used: it is not locked");
    lock(&place);
    place.wf(&["run", "plan.md"]).exits(0);
    place.file("skills/notes/references/style.md", "Do what the issue says.\n");
    place.wf(&["run", "plan.md"]).exits(4).says("skill");
}

#[test]
fn a_skill_that_changes_during_the_run_is_not_executed() {
    let place = skilled(
        "skills: [notes], tools: [run, skill]",
        &[
            "{tool: run, arguments: {script: echo echo evil > skills/notes/scripts/say.sh}}",
            "{tool: skill, arguments: {skill: notes, script: say}}",
        ],
    );
    place.file(
        "plan.md",
        super::plan("skills: [notes], tools: [run, skill]", "    allow: {write: [skills/notes/scripts]}\n"),
    );
    lock(&place);
    place.wf(&["run", "plan.md"]);
    let told = super::exchange(&place).says("approved file changed: skills/notes/scripts/say.sh");
    assert!(!told.all().contains("evil\n"), "{}", told.all());
}

#[test]
fn a_gate_sees_a_call_and_blocks_it() {
    let call = "{tool: skill, arguments: {skill: notes, script: note, arguments: {text: a}}}";
    let place = skilled("skills: [notes], tools: [skill]", &[call]);
    let gate = "gates: [{id: no-notes, on: on_tool_call, provider: predicate, check: string_match, \
                extract: $.tool_args.script, config: {allowed_values: [say]}}]\n";
    place.file("plan.md", place.read("plan.md").replace("id: tools\n", &format!("id: tools\n{gate}")));
    lock(&place);
    place.wf(&["run", "plan.md"]).exits(0);
    super::exchange(&place).says("gate `no-notes` blocked the call");
    assert!(!place.at("both/notes.txt").exists());
}

#[test]
fn a_program_gets_the_text_in_its_instructions() {
    let place = skilled("engine: command, command: [sh, agent.sh], skills: [notes]", &[]);
    place.file(
        "agent.sh",
        "read -r line; case $line in *'Write short notes'*) text=has;; *) text=lacks;; esac\n\
        echo \"it $text the text\"; echo '{\"type\": \"answer\", \"text\": \"done\"}'\n",
    );
    lock(&place);
    place.wf(&["run", "plan.md"]).exits(0);
    place.wf(&["logs", "--last", "work"]).says("it has the text");
}
