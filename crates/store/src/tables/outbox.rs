//! The outbox of notifications: those that were not delivered, and those that are sent again.

use crate::column::MomentColumn;
use crate::db::reader::StoreReader;
use crate::db::store::Store;
use crate::db::ticket::WriteTicket;
use crate::error::StoreError;
use crate::tables::cycles::{NotificationRow, notification};
use wf_base::time::Moment;

/// A notification that was not delivered.
#[derive(Clone, Debug, PartialEq)]
pub struct UndeliveredNotification {
    /// The notification.
    pub notification: NotificationRow,
    /// The time at which it was given up; `None`: it is still to be sent.
    pub given_up: Option<Moment>,
    /// The error of the last try, if there was one.
    pub error: Option<String>,
}

impl Store {
    /// Makes a notification that was given up due again, as if it had never been tried. Returns false, and changes
    /// nothing, if it was delivered or is due.
    pub fn requeue_notification(&self, id: u64, now: Moment) -> WriteTicket<bool> {
        self.row_job(now, move |writing| {
            let sql = "UPDATE notifications SET tries = 0, sent = NULL
                       WHERE id = ?1 AND sent IS NOT NULL AND error IS NOT NULL";
            let id = i64::try_from(id).unwrap_or(i64::MAX);
            let changed = writing.connection.execute(sql, [id]);
            changed.map(|changed| changed > 0).map_err(|error| writing.failed(&error))
        })
    }
}

impl StoreReader {
    /// Returns the notifications that were not delivered, oldest first.
    pub fn undelivered_notifications(&self) -> Result<Vec<UndeliveredNotification>, StoreError> {
        let sql = "SELECT id, goal, body, at, tries, sent, error FROM notifications
                   WHERE sent IS NULL OR error IS NOT NULL ORDER BY id";
        self.folded_rows(sql, [], |row| {
            let given_up: Option<MomentColumn> = row.get("sent")?;
            Ok(UndeliveredNotification {
                notification: notification(row)?,
                given_up: given_up.map(|at| at.0),
                error: row.get("error")?,
            })
        })
    }
}
