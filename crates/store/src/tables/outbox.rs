//! The outbox of notifications about goals: those to be sent, those not delivered, and those sent again.

use rusqlite::{Connection, Row};
use serde_json::Value;

use crate::{
    column::{JsonColumn, MomentColumn, RowColumns, integer},
    db::{reader::StoreReader, store::Store, ticket::WriteTicket},
    error::StoreError,
};
use wf_base::{name::PlanId, time::Moment};

/// A notification not yet sent.
#[derive(Clone, Debug, PartialEq)]
pub struct NotificationRow {
    pub id: u64,
    pub goal: PlanId,
    /// The content, and the way to send it.
    pub body: Value,
    /// The time it was queued.
    pub at: Moment,
    /// The number of attempts to send it.
    pub tries: u32,
}

/// A notification not delivered.
#[derive(Clone, Debug, PartialEq)]
pub struct UndeliveredNotification {
    pub notification: NotificationRow,
    /// The time it was given up; `None`: it is still to be sent.
    pub given_up: Option<Moment>,
    /// The error of the last try, if there was one.
    pub error: Option<String>,
}

/// The table `notifications`.
#[derive(Clone, Copy, Debug)]
pub struct NotificationTable<S>(pub(crate) S);

impl NotificationTable<&Store> {
    /// Queues a notification about a goal.
    pub fn queue(self, goal: &PlanId, body: Value, now: Moment) -> WriteTicket<()> {
        let goal = goal.clone();
        self.0.row_job(now, move |writing| Ok(insert_notification(writing.connection, &goal, &body, now)?))
    }

    /// Records that a notification was sent, or why not; `last`: it is not tried again.
    pub fn record_try(self, id: u64, error: Option<String>, last: bool, now: Moment) -> WriteTicket<()> {
        self.0.row_job(now, move |writing| {
            let sql = "UPDATE notifications SET tries = tries + 1, error = ?2,
                           sent = CASE WHEN ?3 THEN ?4 END WHERE id = ?1 AND sent IS NULL";
            let done = error.is_none() || last;
            writing.connection.execute(sql, (integer(id), error, done, MomentColumn(now)))?;
            Ok(())
        })
    }

    /// Makes a notification that was given up due again, as if it had never been tried. Returns false, and changes
    /// nothing, if it was delivered or is due.
    pub fn requeue(self, id: u64, now: Moment) -> WriteTicket<bool> {
        self.0.row_job(now, move |writing| {
            let sql = "UPDATE notifications SET tries = 0, sent = NULL
                       WHERE id = ?1 AND sent IS NOT NULL AND error IS NOT NULL";
            Ok(writing.connection.execute(sql, [integer(id)])? > 0)
        })
    }
}

impl NotificationTable<&StoreReader> {
    /// Returns the notifications not yet sent, oldest first.
    pub fn unsent(self) -> Result<Vec<NotificationRow>, StoreError> {
        let sql = "SELECT id, goal, body, at, tries FROM notifications WHERE sent IS NULL ORDER BY id";
        self.0.folded_rows(sql, [], notification)
    }

    /// Returns the notifications not delivered, oldest first.
    pub fn undelivered(self) -> Result<Vec<UndeliveredNotification>, StoreError> {
        let sql = "SELECT id, goal, body, at, tries, sent, error FROM notifications
                   WHERE sent IS NULL OR error IS NOT NULL ORDER BY id";
        self.0.folded_rows(sql, [], |row| {
            Ok(UndeliveredNotification {
                notification: notification(row)?,
                given_up: row.moment_if("sent")?,
                error: row.get("error")?,
            })
        })
    }
}

fn notification(row: &Row<'_>) -> rusqlite::Result<NotificationRow> {
    let id: i64 = row.get("id")?;
    Ok(NotificationRow {
        id: id.unsigned_abs(),
        goal: row.word("goal")?,
        body: row.json("body")?,
        at: row.moment("at")?,
        tries: row.get("tries")?,
    })
}

/// Queues a notification about a goal.
pub(super) fn insert_notification(
    connection: &Connection,
    goal: &PlanId,
    body: &Value,
    now: Moment,
) -> rusqlite::Result<()> {
    let sql = "INSERT INTO notifications (goal, body, at) VALUES (?1, ?2, ?3)";
    connection.execute(sql, (goal.as_str(), JsonColumn(body), MomentColumn(now))).map(drop)
}
