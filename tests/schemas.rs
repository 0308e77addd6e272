//! The schemas that are checked in are those of the types. `WF_UPDATE=1` writes them anew.

use std::{env, fs};

use serde_json::Value;
use wf_app::config::{ApproversFile, ConfigFile};
use wf_model::ValueSchema;
use wf_report::{attest::AttestationStatement, follow::EventLine};

#[test]
fn schemas_are_up_to_date_and_are_schemas() {
    for (name, schema) in [
        ("plan", wf_lang::plan_schema()),
        ("dag", wf_lang::dag_schema()),
        ("goal", wf_lang::goal_schema()),
        ("gate", wf_lang::gate_schema()),
        ("persona", wf_lang::persona_schema()),
        ("skill", wf_lang::skill_schema()),
        ("config", wf_lang::schema_of::<ConfigFile>("The configuration of a wf workspace", "config")),
        (
            "approvers",
            wf_lang::schema_of::<ApproversFile>("Who may approve what runs in a wf workspace", "approvers"),
        ),
        ("event", wf_lang::schema_of::<EventLine>("An event of a wf run", "event")),
        ("audit", wf_lang::schema_of::<wf_audit::AuditRecord>("A record of the audit log of wf", "audit")),
        ("attestation", wf_lang::schema_of::<AttestationStatement>("What a wf run proved", "attestation")),
        (
            "correction",
            wf_lang::schema_of::<wf_core::machine::AttemptFeedback>(
                "What an attempt is told about the one before",
                "correction",
            ),
        ),
    ] {
        let path = format!("schemas/{name}.schema.json");
        let text = serde_json::to_string_pretty(&schema).expect("a schema is JSON") + "\n";
        if env::var_os("WF_UPDATE").is_some() {
            fs::create_dir_all("schemas").expect("a folder can be made");
            fs::write(&path, &text).expect("a schema can be written");
        }
        let kept = fs::read_to_string(&path).unwrap_or_default();
        assert!(kept == text, "{path} is out of date; WF_UPDATE=1 writes it anew");
        assert!(ValueSchema::new(schema).is_ok(), "{path} is not a JSON Schema");
    }
}

#[test]
fn the_description_of_the_interface_is_up_to_date() {
    let path = "schemas/openapi.json";
    let text = serde_json::to_string_pretty(&wf_web::openapi()).expect("a document is JSON") + "\n";
    if env::var_os("WF_UPDATE").is_some() {
        fs::write(path, &text).expect("a document can be written");
    }
    let kept = fs::read_to_string(path).unwrap_or_default();
    assert!(kept == text, "{path} is out of date; WF_UPDATE=1 writes it anew");
}

#[test]
fn the_schema_of_plans_takes_plans_and_refuses_typos() {
    let schema = ValueSchema::new(wf_lang::plan_schema()).expect("it is one");
    let plan = |step: Value| serde_json::json!({ "kind": "plan", "id": "small", "steps": [step] });
    let good = plan(serde_json::json!({
        "id": "greet", "run": "echo", "retry": { "max": 1, "backoff": "2s" },
        "outputs": { "rows": { "type": "integer" } },
        "verify": [{ "name": "ok", "run": "true", "expect": { "exit_code": 0 } }],
    }));
    assert_eq!(schema.first_mistake(&good), None);
    for bad in [
        serde_json::json!({ "id": "greet", "runn": "echo" }),
        serde_json::json!({ "id": "greet", "run": "echo", "timeout": 5 }),
        serde_json::json!({ "id": "a-b", "run": "echo" }),
        serde_json::json!({ "id": "greet", "run": "x", "outputs": { "a": { "typ": "string" } } }),
        serde_json::json!({ "run": "echo" }),
    ] {
        let mistake = schema.first_mistake(&plan(bad.clone()));
        assert!(mistake.is_some(), "{bad}");
    }
}

#[test]
fn the_schema_of_goals_takes_goals_and_refuses_typos() {
    let schema = ValueSchema::new(wf_lang::goal_schema()).expect("it is one");
    let goal = |more: Value| {
        let mut goal = serde_json::json!({
            "kind": "goal", "id": "small", "schedule": "0 6 * * *",
            "verify": [{ "name": "ok", "run": "true" }],
        });
        for (key, value) in more.as_object().expect("keys") {
            goal[key] = value.clone();
        }
        goal
    };
    for good in [
        serde_json::json!({}),
        serde_json::json!({ "schedule": { "at": "2026-12-01T09:00", "timezone": "Asia/Tokyo" } }),
        serde_json::json!({ "schedule": ["@daily", { "cron": "0 6 * * *" }] }),
        serde_json::json!({ "exclude": ["2026-12-25", "2026-12-24..2027-01-02",
            { "from": "22:00", "until": "06:00", "on": ["SAT"] }] }),
        serde_json::json!({ "missed": { "run": "all", "window": "1d", "cap": 3 },
            "overlap": "queue_all" }),
        serde_json::json!({ "on_failure": "spawn_plan", "approval": "none",
            "repair": { "steps": [{ "id": "a", "run": "x" }] } }),
        serde_json::json!({ "notify": [{ "on": ["failed"], "webhook": { "url": "https://a" } }] }),
    ] {
        let mistake = schema.first_mistake(&goal(good.clone()));
        assert_eq!(mistake, None, "{good}");
    }
    for bad in [
        serde_json::json!({ "schedule": 5 }),
        serde_json::json!({ "schedule": { "crom": "0 6 * * *" } }),
        serde_json::json!({ "exclude": ["christmas"] }),
        serde_json::json!({ "overlap": "wait" }),
        serde_json::json!({ "steps": [] }),
        serde_json::json!({ "notify": [{ "on": ["ok"], "exec": ["true"] }] }),
        serde_json::json!({ "window": 5 }),
    ] {
        let mistake = schema.first_mistake(&goal(bad.clone()));
        assert!(mistake.is_some(), "{bad}");
    }
}
