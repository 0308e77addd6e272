//! Somebody who may write to the database changes memory and connections.

use crate::{
    CacheEntry, ConnectionApprovalUse, ConnectionRow, MegramSelection, StateFault, StoreReader,
    UnrecordedResult, examine,
    tests::fixture::{NOW, name, object, open, run_id, stranger},
};
use serde_json::json;
use wf_base::{digest::Sha256Digest, name::PlanId};
use wf_core::{
    connection::ConnectionState,
    machine::TaskId,
    memory::{Megram, MegramOrigin, MegramState, MegramTags},
};
use wf_model::AuthMethod;

fn megram(number: u8) -> Megram {
    let origin = MegramOrigin { at: NOW, from: &number.to_string() };
    Megram::new(MegramState::Refine, MegramTags::tool("curl", "any"), number.to_string(), origin)
}

fn connection() -> ConnectionRow {
    ConnectionRow {
        name: PlanId::parse("mail").unwrap(),
        skill: "mail".into(),
        folder: "skills/mail".into(),
        digest: Sha256Digest::of_bytes(b"skill"),
        auth: AuthMethod::SecureInput,
        state: ConnectionState::Failing,
        account: None,
        permissions: vec!["read".into()],
        refs: Vec::new(),
        created: NOW,
        checked: None,
        token_expires_at: None,
        refresh_expires_at: None,
        last_refresh: None,
        last_used: None,
        failure: None,
    }
}

/// The tables that the log is compared with.
fn named(reader: &StoreReader) -> Vec<&'static str> {
    let faults = examine(reader).unwrap().into_iter();
    let named = faults.map(|fault| if let StateFault::Projection(row) = fault { row.table } else { "" });
    let mut named: Vec<&str> = named.collect();
    named.dedup();
    named
}

#[test]
fn what_decides_follows_the_log_and_no_table() {
    for (table, attack) in [
        ("megrams", "DELETE FROM megrams"),
        ("megrams", "UPDATE megrams SET state = 'success', f = 9.0"),
        (
            "megrams",
            "CREATE TEMP TABLE more AS SELECT * FROM megrams; UPDATE more SET id = hex(zeroblob(32));
             INSERT INTO megrams SELECT * FROM more",
        ),
        ("connections", "DELETE FROM connections"),
        ("connections", "UPDATE connections SET state = 'active', permissions = '[\"read\",\"send\"]'"),
        (
            "connections",
            "CREATE TEMP TABLE more AS SELECT * FROM connections; UPDATE more SET name = 'other';
             INSERT INTO connections SELECT * FROM more",
        ),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path());
        store.memory().remember(vec![megram(1)]).wait().unwrap();
        store.connections().record(connection()).wait().unwrap();
        assert_eq!(named(&store.reader().unwrap()), <[&str; 0]>::default(), "{attack}");
        // The control: the attack changes the table.
        let rows = format!("SELECT group_concat(hex(json_array({})), ',') FROM {table}", columns(table));
        let rows =
            || stranger(dir.path()).query_row(&rows, [], |row| row.get::<_, Option<String>>(0)).unwrap();
        let before = rows();
        stranger(dir.path()).execute_batch(attack).unwrap();
        assert_ne!(rows(), before, "{attack}");

        let reader = store.reader().unwrap();
        assert_eq!(reader.memory().megrams(&MegramSelection::All).unwrap(), [megram(1)], "{attack}");
        assert_eq!(reader.connections().all().unwrap(), [connection()], "{attack}");
        assert_eq!(named(&store.reader().unwrap()), [table], "{attack}");
        // Who writes does not follow it either, and a rebuild puts it back.
        assert_eq!(store.memory().remember(vec![megram(1)]).wait().unwrap(), 0, "{attack}");
        store.rebuild().wait().unwrap();
        assert_eq!(rows(), before, "{attack}");
        assert_eq!(named(&store.reader().unwrap()), <[&str; 0]>::default(), "{attack}");
    }
}

fn columns(table: &str) -> &'static str {
    if table == "megrams" { "id, state, f" } else { "name, state, permissions" }
}

#[test]
fn a_use_by_a_connection_is_in_the_log() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let token = Sha256Digest::of_bytes(b"token");
    let by = |execution| Some(ConnectionApprovalUse { nonce: "once".into(), execution, token });
    store.connections().record_by(connection(), by(1)).wait().unwrap();
    let counted = || store.reader().unwrap().approvals().last_use("once").unwrap();
    assert_eq!((counted(), named(&store.reader().unwrap()).len()), (1, 0));
    for attack in
        ["DELETE FROM approval_uses", "UPDATE approval_uses SET execution = 7, run = 'connection:x'"]
    {
        assert_eq!(stranger(dir.path()).execute(attack, []).unwrap(), 1, "{attack}");
        assert_eq!(counted(), 1, "{attack}");
        assert!(named(&store.reader().unwrap()).contains(&"approval_uses"), "{attack}");
        let again = store.connections().record_by(connection(), by(1)).wait().unwrap_err();
        assert_eq!(again.to_string(), "the approval is used up: 1 of 1 uses", "{attack}");
        store.rebuild().wait().unwrap();
        assert_eq!(named(&store.reader().unwrap()).len(), 0, "{attack}");
    }
}

#[test]
fn a_cached_result_is_used_as_the_log_records_it() {
    let entry = |number: u8| CacheEntry {
        key: Sha256Digest::of_bytes(&[number]),
        run: run_id(1),
        task_id: TaskId::of_step(&name("build")),
        outputs: object(json!({ "rows": number })),
        artifacts: Vec::new(),
        files: Vec::new(),
        created: NOW,
    };
    let [key, other] = [entry(1).key, entry(2).key];
    for attack in [
        "UPDATE cache SET outputs = '{\"rows\":9}'".to_owned(),
        "UPDATE cache SET outputs = 'no JSON'".to_owned(),
        "UPDATE cache SET artifacts = '[{\"path\":\"a\",\"digest\":\"00\",\"size\":0}]'".to_owned(),
        "UPDATE cache SET event = event + 1".to_owned(),
        // The result of another key, which the log records.
        format!("DELETE FROM cache WHERE key = '{key}'; UPDATE cache SET key = '{key}'"),
        format!(
            "UPDATE cache SET (outputs, event) = (SELECT outputs, event FROM cache WHERE key = '{other}')"
        ),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path());
        for number in [1, 2] {
            store.cache().put(entry(number)).wait().unwrap();
        }
        let reader = store.reader().unwrap();
        assert_eq!(reader.cache().find(&key).unwrap(), Some(Ok(entry(1))), "{attack}");
        assert_eq!(named(&store.reader().unwrap()).len(), 0, "{attack}");
        // The control: the attack changes what the table has for the key.
        let sql = format!("SELECT key || outputs || artifacts || event FROM cache WHERE key = '{key}'");
        let row = || stranger(dir.path()).query_row(&sql, [], |row| row.get::<_, String>(0)).unwrap();
        let before = row();
        stranger(dir.path()).execute_batch(&attack).unwrap();
        assert_ne!(row(), before, "{attack}");
        assert_eq!(reader.cache().find(&key).unwrap(), Some(Err(UnrecordedResult)), "{attack}");
        assert!(named(&store.reader().unwrap()).contains(&"cache"), "{attack}");
        // It is made again, and replaces the row.
        store.cache().put(entry(1)).wait().unwrap();
        assert_eq!(reader.cache().find(&key).unwrap(), Some(Ok(entry(1))), "{attack}");
    }
}

#[test]
fn a_cached_result_that_is_replaced_while_it_is_read_is_one_or_none() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let key = Sha256Digest::of_bytes(b"key");
    let entry = CacheEntry {
        key,
        run: run_id(1),
        task_id: TaskId::of_step(&name("build")),
        outputs: object(json!({ "rows": 1 })),
        artifacts: Vec::new(),
        files: Vec::new(),
        created: NOW,
    };
    store.cache().put(entry.clone()).wait().unwrap();
    let (mut seen, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        let attacker = scope.spawn(|| {
            let database = stranger(dir.path());
            database.busy_timeout(std::time::Duration::from_secs(9)).unwrap();
            for number in 0..4000 {
                let attack = "UPDATE cache SET outputs = '{\"rows\":' || ?1 || '}'";
                database.execute(attack, [1 + number % 2 * 8]).unwrap();
            }
        });
        let reader = store.reader().unwrap();
        while !attacker.is_finished() {
            match reader.cache().find(&key).unwrap() {
                Some(Ok(found)) => {
                    assert_eq!(found, entry);
                    seen += 1;
                }
                Some(Err(UnrecordedResult)) => refused += 1,
                None => panic!("the row is there at every moment"),
            }
        }
    });
    assert!(seen > 0 && refused > 0, "{seen} and {refused}: they did not meet");
}
