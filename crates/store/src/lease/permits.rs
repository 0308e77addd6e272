//! The permits of steps to execute: the rows of the table `permits`.
//!
//! One transaction reads who has a permit and who waits, lets [`PermitQueue`] choose, and writes what follows. Each step
//! asks for itself: a choice that falls on another one waits for that one to ask. A row without `acquired_at` is a wait.
//!
//! A permit of a dead process still counts for the workspace, since its supervisor may have work under way. It is passed on
//! once no other is free, and who gets it waits for that work to end.

use rusqlite::{Connection, Row};

use crate::{
    column::RowColumns,
    lease::{holder::LeaseHolder, locks, process::ProcessIdentity, run_lease},
    query,
};
use wf_base::{
    name::{RunId, SessionName},
    time::Moment,
};
use wf_core::permit::{ParallelLimit, ParallelLimits, PermitLane, PermitOwner, PermitQueue, PermitWait};

/// A step with a permit, or waits for one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermitTask {
    pub run: RunId,
    /// The task, as shown: `step[item]`.
    pub place: String,
    /// The time it asked.
    pub since: Moment,
}

/// The result of asking for a permit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PermitAnswer {
    /// The step has it; `after`: once the work this dead one may have left has ended.
    Given { previous_task: Option<PermitTask> },
    /// The step waits: a limit keeps it back, or, without one, others are before it.
    Waits(Option<ParallelLimit>),
}

/// A request for a permit.
pub(crate) struct PermitRequest<'a> {
    pub limits: ParallelLimits,
    pub run: &'a RunId,
    pub place: &'a str,
    pub now: Moment,
}

/// The rows of the table, as one step sees them.
#[derive(Default)]
struct PermitRows {
    own_row: Option<PermitRow>,
    owners: Vec<PermitOwner>,
    dead_tasks: Vec<PermitTask>,
    waiting_rows: Vec<PermitRow>,
    /// The last number in the queue.
    last: i64,
}

/// A row of the table.
#[derive(Clone, PartialEq, Eq)]
struct PermitRow {
    process: ProcessIdentity,
    store: i64,
    ticket: i64,
    task: PermitTask,
    wait: PermitWait,
    is_held: bool,
}

const SELECT: &str = "SELECT pid, start_ticks, boot_id, pid_ns, store, run, task, requested_at, outermost, session, is_scheduled,
     run_turn, session_turn, passed, acquired_at IS NOT NULL, ticket FROM permits ORDER BY ticket";

impl PermitRow {
    fn lives(&self, connection: &Connection) -> rusqlite::Result<bool> {
        locks::may_work(connection, &self.process, self.task.run.as_str())
    }

    /// Returns the row, as one of a holder.
    fn of(&self, holder: &LeaseHolder) -> Self {
        Self { process: holder.process.clone(), store: holder.store, ..self.clone() }
    }
}

impl PermitRequest<'_> {
    /// Takes a permit, if it is the turn of the step; else notes that it waits.
    pub(crate) fn take(
        &self,
        connection: &Connection,
        holder: &LeaseHolder,
    ) -> rusqlite::Result<PermitAnswer> {
        let PermitRows { own_row: own, owners, dead_tasks: dead, waiting_rows, last } =
            self.rows(connection)?;
        if let Some(own) = own.as_ref().filter(|own| own.is_held) {
            // It was given to this step before its engine died, and to nobody since.
            self.write(connection, &own.of(holder))?;
            return Ok(PermitAnswer::Given { previous_task: None });
        }
        let mut queue = PermitQueue {
            limits: self.limits,
            owners,
            waits: waiting_rows.iter().map(|row| row.wait.clone()).collect(),
        };
        let row = match &own {
            Some(own) => own.of(holder),
            None => self.new_row(holder, queue.wait_of(self.owner(connection)?), last + 1),
        };
        let position = waiting_rows.partition_point(|other| other.ticket < row.ticket);
        queue.waits.insert(position, row.wait.clone());
        if queue.next() != Some(position) {
            let limit = queue.limit_on(&row.wait.owner);
            if own.as_ref() != Some(&row) {
                self.write(connection, &row)?;
            }
            return Ok(PermitAnswer::Waits(limit));
        }
        let all = queue.owners.len() + dead.len();
        let is_full = self.limits.in_workspace.is_some_and(|most| all >= most as usize);
        let previous_task = dead.into_iter().next().filter(|_| is_full);
        if let Some(gone) = &previous_task {
            delete(connection, gone)?;
        }
        queue.admit(position);
        for (other, wait) in waiting_rows.into_iter().zip(queue.waits) {
            if other.wait != wait {
                self.write(connection, &PermitRow { wait, ..other })?;
            }
        }
        self.write(connection, &PermitRow { is_held: true, ..row })?;
        Ok(PermitAnswer::Given { previous_task })
    }

    /// Returns the rows by what they mean for the step. The dead wait for nothing, until their runs are resumed.
    fn rows(&self, connection: &Connection) -> rusqlite::Result<PermitRows> {
        let mut found = PermitRows::default();
        for row in rows(connection)? {
            found.last = row.ticket;
            if row.task.run == *self.run && row.task.place == self.place {
                found.own_row = Some(row);
            } else if !row.lives(connection)? {
                found.dead_tasks.extend(row.is_held.then_some(row.task));
            } else if row.is_held {
                found.owners.push(row.wait.owner);
            } else {
                found.waiting_rows.push(row);
            }
        }
        Ok(found)
    }

    fn new_row(&self, holder: &LeaseHolder, wait: PermitWait, ticket: i64) -> PermitRow {
        PermitRow {
            process: holder.process.clone(),
            store: holder.store,
            ticket,
            task: PermitTask { run: self.run.clone(), place: self.place.to_owned(), since: self.now },
            wait,
            is_held: false,
        }
    }

    /// Returns the run that counts for the step, as the record has it.
    fn owner(&self, connection: &Connection) -> rusqlite::Result<PermitOwner> {
        let run = run_lease::root(connection, self.run.as_str())?;
        let (session, is_scheduled) = connection
            .prepare_cached(
                "SELECT (SELECT session FROM runs WHERE id = ?1),
                     EXISTS (SELECT 1 FROM reconciliations
                             WHERE (run = ?1 OR repair_run = ?1) AND cause <> 'person')",
            )?
            .query_row([run.as_str()], |row| Ok((row.word_if(0)?, row.get(1)?)))?;
        Ok(PermitOwner { run, session, lane: lane(is_scheduled) })
    }

    /// Writes a row as it is now.
    fn write(&self, connection: &Connection, row: &PermitRow) -> rusqlite::Result<()> {
        let (process, wait) = (&row.process, &row.wait);
        connection
            .prepare_cached(
                "INSERT OR REPLACE INTO permits (pid, start_ticks, boot_id, pid_ns, store, run, task, requested_at,
                     outermost, session, is_scheduled, run_turn, session_turn, passed, acquired_at, ticket)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
            )?
            .execute(rusqlite::params![
                process.pid,
                process.start,
                process.boot,
                process.ns,
                row.store,
                row.task.run.as_str(),
                row.task.place,
                row.task.since.millis(),
                wait.owner.run.as_str(),
                wait.owner.session.as_ref().map(SessionName::as_str),
                wait.owner.lane == PermitLane::Scheduled,
                wait.run_turn.cast_signed(),
                wait.session_turn.cast_signed(),
                wait.passed,
                row.is_held.then_some(self.now.millis()),
                row.ticket,
            ])
            .map(drop)
    }
}

/// Returns the living tasks with a permit, and those waiting for one, each by time.
pub(crate) fn tasks(connection: &Connection) -> rusqlite::Result<(Vec<PermitTask>, Vec<PermitTask>)> {
    let (mut held, mut waiting) = (Vec::new(), Vec::new());
    for row in rows(connection)? {
        if row.lives(connection)? {
            if row.is_held { held.push(row.task) } else { waiting.push(row.task) }
        }
    }
    Ok((held, waiting))
}

fn delete(connection: &Connection, task: &PermitTask) -> rusqlite::Result<()> {
    connection
        .prepare_cached("DELETE FROM permits WHERE run = ?1 AND task = ?2")?
        .execute((task.run.as_str(), &task.place))
        .map(drop)
}

fn lane(is_scheduled: bool) -> PermitLane {
    if is_scheduled { PermitLane::Scheduled } else { PermitLane::Interactive }
}

fn rows(connection: &Connection) -> rusqlite::Result<Vec<PermitRow>> {
    query::all(connection, SELECT, [], read)
}

fn read(row: &Row<'_>) -> rusqlite::Result<PermitRow> {
    let owner = PermitOwner { run: row.run(8)?, session: row.word_if(9)?, lane: lane(row.get(10)?) };
    Ok(PermitRow {
        process: ProcessIdentity { pid: row.get(0)?, start: row.get(1)?, boot: row.get(2)?, ns: row.get(3)? },
        store: row.get(4)?,
        task: PermitTask { run: row.run(5)?, place: row.get(6)?, since: Moment::from_millis(row.get(7)?) },
        wait: PermitWait {
            owner,
            run_turn: row.get::<_, i64>(11)?.cast_unsigned(),
            session_turn: row.get::<_, i64>(12)?.cast_unsigned(),
            passed: row.get(13)?,
        },
        is_held: row.get(14)?,
        ticket: row.get(15)?,
    })
}
