use std::sync::Arc;

use super::{
    super::{Message, ModelReply, StopReason},
    *,
};
use crate::memory::{Megram, MegramOrigin, MegramState, MegramTags};
use wf_base::time::Moment;
use wf_model::TokenUsage;

fn reply(text: &str) -> ModelReply {
    ModelReply {
        text: text.into(),
        tool_calls: Vec::new(),
        stop: StopReason::EndTurn,
        usage: TokenUsage::default(),
    }
}

fn read_task(text: &str, wish: &str) -> Result<TaskSpec, PerceptionMistake> {
    match read_perception(text, wish)? {
        Perception::Task(task) => Ok(task),
        Perception::Questions(questions) => panic!("no task: {questions:?}"),
    }
}

const TASK: &str =
    r#"{"task_id": "fix_it", "intent": "It works.", "constraints": {"scope": "src", "deadline": null}}"#;

#[test]
fn a_task_keeps_the_words_of_the_user() {
    for text in [TASK.to_owned(), format!("```json\n{TASK}\n```")] {
        let task = read_task(&text, "  fix it!\n").unwrap();
        assert_eq!((task.task_id.as_str(), task.raw_input.as_str()), ("fix_it", "  fix it!\n"));
        assert_eq!(task.constraints.scope.as_deref(), Some("src"));
        assert_eq!(task.plan_id().unwrap().as_str(), "fix-it");
    }
}

#[test]
fn an_answer_that_is_no_task_is_told_why() {
    for (from, to, why) in [
        ("fix_it", "Fix it", "`task_id`: "),
        ("fix_it", "fix__it", "single underscores"),
        ("It works.", " ", "`intent` is empty"),
        ("\"scope\": \"src\", ", "", ""),
        ("\"intent\"", "\"raw_input\": \"x\", \"intent\"", "unknown field `raw_input`"),
        ("\"src\"", "3", "not a task"),
        ("{\"task", "x{\"task", "not a single JSON object"),
    ] {
        let read = read_task(&TASK.replace(from, to), "x");
        match read {
            Ok(_) => assert!(why.is_empty(), "{to}"),
            Err(mistake) => assert!(!why.is_empty() && mistake.to_string().contains(why), "{mistake}"),
        }
    }
}

#[test]
fn a_perceiver_may_ask_a_few_short_questions() {
    let read = |questions: &str| read_perception(&format!("{{\"questions\": {questions}}}"), "do it again");
    let asked = vec!["Which file?".to_owned(), "When?".to_owned()];
    assert_eq!(read(r#"["Which file?", "When?"]"#).unwrap(), Perception::Questions(asked));
    // Strict schemas want every key.
    let whole = r#"{"questions": ["a"], "task_id": null, "intent": null, "constraints": null}"#;
    assert_eq!(read_perception(whole, "x").unwrap(), Perception::Questions(vec!["a".into()]));
    assert!(read_task(&TASK.replace("{\"task_id\"", "{\"questions\": null, \"task_id\""), "x").is_ok());
    let long = format!("[\"{}\"]", "x".repeat(401));
    for wrong in ["[]", r#"[""]"#, r#"["a","b","c","d","e","f"]"#, &long, "3", "[3]"] {
        assert!(read(wrong).unwrap_err().to_string().contains("questions"), "{wrong}");
    }
    assert!(read_perception(r#"{"questions": ["a"], "intent": "b"}"#, "x").is_err());
}

#[test]
fn a_perceiver_is_told_the_last_wishes_and_the_answers() {
    let past = PastWish { input: "sort\nit".into(), summary: "y".repeat(500) };
    let mut asked = task_question("again", &[past]);
    let [Message::User { text }] = &asked.messages[..] else { panic!("one message") };
    assert!(text.contains("\"input\": \"sort it\"") && text.ends_with("\n\n## The wish\n\nagain"), "{text}");
    assert!(text.len() < 700);
    let answer = |answer: &str| Clarification { question: "Which?".into(), answer: answer.into() };
    append_answers(&mut asked, reply("{}"), &[answer("this"), answer("")]);
    append_answers(&mut asked, reply("{}"), &[answer("")]);
    let [.., Message::User { text: told }, _, Message::User { text: nothing }] = &asked.messages[..] else {
        panic!("two rounds")
    };
    assert_eq!(told, "The user answered:\n\n- Which?\n  this\n- Which?\n  (no answer)");
    assert!(nothing.contains("gave no answer"), "{nothing}");
    let [Message::User { text }] = &task_question("again", &[]).messages[..] else { panic!("one message") };
    assert_eq!(text, "again");
}

#[test]
fn a_record_is_the_fold_of_its_entries() {
    let entry = |fact| PlanningEntry { at: Moment::from_millis(0), fact };
    let (role, model) = ("planner".to_owned(), wf_base::name::Name::parse("m").unwrap());
    let digest = wf_base::digest::Sha256Digest::of_bytes(b"x");
    let usage = TokenUsage { input: 7, output: 3, ..TokenUsage::default() };
    let end = PlanningCallEnd {
        request: digest,
        reply: PlanningReply::Replied { model: model.clone(), reply: digest },
        usage,
        cost: wf_model::Money::of_micros(5),
        tries: 1,
        duration_ms: 2,
    };
    let result =
        PlanningResult { is_accepted: true, intent: Some("It is.".into()), result: "printed".into() };
    let facts = [
        PlanningFact::Requested { input: "do".into(), revises: None, budget: PlanningBudget::default() },
        PlanningFact::CallStarted {
            role: role.clone(),
            model: model.clone(),
            reserve: CallReserve::default(),
        },
        PlanningFact::CallEnded(end),
        PlanningFact::CallRefused { role, model, reason: "spent".into() },
        PlanningFact::Ended(result),
    ];
    let stored = facts.map(|fact| serde_json::to_string(&entry(fact)).unwrap());
    let entries: Vec<PlanningEntry> = stored.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let record = PlanningRecord::of(entries.clone()).unwrap();
    assert_eq!((record.calls.len(), record.usage().calls, record.usage().tokens.total()), (2, 1, 10));
    let past = PastWish { input: "do".into(), summary: "It is. (printed)".into() };
    assert_eq!(record.past_wish(), Some(past));
    assert_eq!(PlanningRecord::of(entries.into_iter().skip(1)), None);
}

#[test]
fn a_plan_may_be_in_a_fence() {
    let plan = "---\nkind: plan\n---\n\n```sh\necho\n```\n";
    let fenced = |before: &str, after: &str| format!("{before}{plan}{after}");
    for text in [
        fenced("", ""),
        fenced("\u{feff}\n\n", "\n\n"),
        fenced("```markdown\n", "```"),
        fenced("````md\n", "````\n"),
        fenced("```\n", "```"),
    ] {
        assert_eq!(read_plan_text(&reply(&text)).unwrap(), plan, "{text}");
    }
}

#[test]
fn a_reply_that_is_no_plan_is_told_why() {
    let huge = format!("---\n{}", "x".repeat(1 << 20));
    for (text, why) in [
        ("", "no plan"),
        ("Sure!\n---\nkind: plan\n---\n", "without any text before it"),
        ("```", "no plan"),
        ("````markdown\n---\nkind: plan\n---\n```", "no plan"),
        (huge.as_str(), "1024 KiB"),
    ] {
        let mistake = read_plan_text(&reply(text)).unwrap_err().to_string();
        assert!(mistake.contains(why), "{mistake}");
    }
    let cut = ModelReply { stop: StopReason::MaxTokens, ..reply("---\nkind: plan\n") };
    assert!(read_plan_text(&cut).unwrap_err().to_string().contains("shorter"));
}

#[test]
fn each_kind_of_mistake_is_repaired_once() {
    let (invalid, forbidden) = (PlanMistake::Invalid("a".into()), PlanMistake::Forbidden("b".into()));
    let mut repairs = PlanRepairs::default();
    let allowed = [&invalid, &forbidden, &invalid, &forbidden].map(|mistake| repairs.allow(mistake));
    assert_eq!(allowed, [true, true, false, false]);
}

#[test]
fn a_huge_reply_does_not_go_back_whole() {
    let mut request = task_question("x", &[]);
    append_mistake(&mut request, reply(&"x".repeat(PLAN_LIMIT + 1)), "too large");
    append_mistake(&mut request, reply(""), "empty");
    let [_, Message::Assistant { text, .. }, _, Message::Assistant { text: empty, .. }, _] =
        &request.messages[..]
    else {
        panic!("two repairs")
    };
    assert!(text.len() < 20_000);
    assert_eq!(empty, "(empty)");
}

const DAY: i64 = 86_400_000;

fn record(tags: MegramTags, state: MegramState, content: &str, day: i64) -> Megram {
    let origin = MegramOrigin { at: Moment::from_millis(day * DAY), from: content };
    Megram::new(state, tags, content.into(), origin)
}

fn bad(tool: &str, target: &str, content: &str, day: i64) -> Megram {
    record(MegramTags::tool(tool, target), MegramState::ChangeApproach, content, day)
}

#[test]
fn memory_binds_a_planner_by_keywords_newest_first() {
    let mut megrams = vec![
        bad("curl", "api.example", "the fetch of invoices failed\nwith curl", 9),
        record(MegramTags::tool("wget", "any"), MegramState::Accept, "invoices were fetched", 9),
        record(MegramTags::intent("fetch_the_invoices"), MegramState::Abandon, "invoices fetch", 9),
        bad("rsync", "any", "something else", 9),
        record(MegramTags::tool("nc", "any"), MegramState::Refine, "invoices", 9),
    ];
    let now = Moment::from_millis(10 * DAY);
    let task = CalibrationTask { words: "Fetch all invoices", intent: None };
    let found = MemoryCalibration::select(&megrams, &task, now);
    let names = |entries: &[CalibrationEntry]| entries.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(names(&found.must_not), ["the tool `curl` on `api.example`"]);
    assert_eq!(found.must_not[0].reason, "the fetch of invoices failed with curl");
    assert_eq!(names(&found.should_prefer), ["the tool `wget`"]);
    megrams.extend((0..20).map(|n| bad(&format!("t{n}"), "any", "invoices", n / 2)));
    let found = MemoryCalibration::select(&megrams, &task, now);
    assert_eq!(found.must_not.len() + found.should_prefer.len(), 10);
    // Two keywords count for more than being new; of those with one, the newest are told.
    assert_eq!(found.must_not[0].tool, "curl");
    assert!(names(&found.must_not).contains(&"the tool `t19`".to_owned()));
    assert!(!names(&found.must_not).contains(&"the tool `t0`".to_owned()));
}

#[test]
fn a_tool_that_failed_for_one_intent_is_not_forbidden_to_another() {
    let now = Moment::from_millis(10 * DAY);
    let of = |intent| MegramTags::tool_of_run("approach:first", None, Some(intent));
    let megrams = [
        record(of("make_a_report"), MegramState::ChangeApproach, "the report of the files was wrong", 8),
        record(of("rename_a_file"), MegramState::Accept, "the files have names", 8),
        record(MegramTags::tool("approach:first", "any"), MegramState::Accept, "all files were there", 9),
    ];
    let told = |intent| {
        let task = CalibrationTask { words: "files and a report", intent };
        MemoryCalibration::select(&megrams, &task, now)
    };
    // Two keywords come before one that is newer.
    let report = told(Some("make_a_report"));
    assert_eq!((report.must_not.len(), report.should_prefer.len()), (1, 0));
    assert_eq!(report.must_not[0].to_string(), "the tool `approach:first`");
    let rename = told(Some("rename_a_file"));
    assert_eq!(rename.should_prefer[0].reason, "all files were there");
    assert!(rename.must_not.is_empty() && told(None).must_not.is_empty());
}

fn plan_of(work: wf_model::StepWork, tool: Option<&str>, target: Option<&str>) -> Arc<wf_model::Plan> {
    use wf_base::name::{Name, PlanId};
    let mut step = wf_model::Step::new(Name::parse("get").unwrap(), work);
    (step.tool, step.target) = (tool.map(str::to_owned), target.map(str::to_owned));
    let id = PlanId::parse("p").unwrap();
    let parts = wf_model::PlanParts::new(
        id,
        vec![step],
        1,
        wf_model::PlanPolicy {
            max_parallel: 1,
            on_failure: wf_model::OnStepFailure::Stop,
            grace: std::time::Duration::ZERO,
        },
    );
    wf_model::Plan::new(parts).unwrap()
}

#[test]
fn a_forbidden_tool_is_found_where_it_is_declared_or_named() {
    let script = |text: &str| {
        let shell = vec!["sh".to_owned(), "-c".to_owned()];
        wf_model::StepWork::Run(wf_model::ShellScript { shell, text: text.into() })
    };
    let entry = |tool: &str, target: Option<&str>| MemoryCalibration {
        must_not: vec![CalibrationEntry {
            tool: tool.into(),
            target: target.map(str::to_owned),
            reason: "it failed".into(),
        }],
        should_prefer: Vec::new(),
    };
    for (text, tool, target, forbidden) in [
        ("true", Some("curl"), Some("api.example"), true),
        ("true", Some("curl"), Some("other"), false),
        ("curl -f https://api.example/x", None, None, true),
        ("curl -f https://other/x", None, None, false),
        ("libcurl-tool https://api.example/x", None, None, false),
    ] {
        let plan = plan_of(script(text), tool, target);
        let found = entry("curl", Some("api.example")).first_forbidden(&plan);
        assert_eq!(found.is_some(), forbidden, "{text} {tool:?} {target:?}");
    }
    let plan = plan_of(script("true"), None, None);
    let found = entry("get", None).first_forbidden(&plan).unwrap();
    assert_eq!(found, "step `get` uses the tool `get`, which memory forbids: it failed");
    // The name of what a planner proposed once is text: another plan of that name is another plan.
    assert_eq!(entry("p/get", None).first_forbidden(&plan), None);
}

#[test]
fn a_planner_is_told_the_task_the_workspace_and_what_binds_it() {
    let task = read_task(TASK, "fix ``` it").unwrap();
    let entry = CalibrationEntry { tool: "curl".into(), target: None, reason: "it hung".into() };
    let context = PlanningContext {
        roles: vec!["executor".into()],
        gates: Vec::new(),
        skills: vec![SkillSummary { name: "pdf".into(), description: "Reads PDF.".into() }],
        calibration: MemoryCalibration { must_not: vec![entry.clone()], should_prefer: vec![entry] },
    };
    let asked = plan_question(&task, &context);
    let [Message::User { text }] = &asked.messages[..] else { panic!("one message") };
    for part in [
        "\"raw_input\": \"fix ``` it\"",
        "````\n{",
        "`id` of the plan is `fix-it`",
        "- roles: executor\n- gates: none\n",
        "\"name\": \"pdf\"",
        "- MUST NOT use the tool `curl`: it hung\n- SHOULD PREFER the tool `curl`: it hung\n",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let revision = PlanRevision { plan: "---\nid: x\n---\n", wish: "faster" };
    let asked = revision_question(revision, &PlanningContext::default());
    let [Message::User { text }] = &asked.messages[..] else { panic!("one message") };
    assert!(text.contains("```\nfaster\n```\n\n## Plan\n\n```\n---\nid: x\n---\n```"), "{text}");
    assert!(asked.system.contains("# The language of plans"));
}
