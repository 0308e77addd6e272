//! What is decided about a deployed goal, without a server: with the definition and the signed approval of a stored one.

use serde_json::json;
use wf_app::goals::GoalAct;
use wf_base::{digest::Sha256Digest, time::Moment};
use wf_core::{
    goal::{GoalFact, ReconciliationHealth, ReconciliationRunEnd},
    machine::RunOutcome,
};
use wf_temporal::{
    RunPlans,
    goal_keeper::{GoalDuty, GoalKeeper},
    goal_order::{DeployedGoalSpec, GoalOrder, RunErrand, RunReport},
    objects::Objects,
    order::RunSpec,
};

use crate::histories::RecordedRun;

/// A goal that is checked each second, whose approval allows one repair, and its keeper.
struct Kept {
    keeper: GoalKeeper,
    objects: Objects,
    /// The time of its deployment.
    since: Moment,
    _folder: tempfile::TempDir,
}

impl Kept {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let stored = RecordedRun::unpack("deployed-goal", folder.path());
        let objects = Objects::open(&format!("file://{}", folder.path().display())).unwrap();
        let text = stored.objects_with("deployment").next().unwrap();
        let spec: DeployedGoalSpec = serde_json::from_str(text).unwrap();
        let order = GoalOrder { spec: Sha256Digest::of_bytes(text.as_bytes()), progress: None };
        let keeper = GoalKeeper::open(order, &RunPlans::default(), objects.clone()).unwrap();
        let since = spec.deployment.account.known.decided_until;
        Self { keeper, objects, since, _folder: folder }
    }

    /// Returns the time some seconds after the deployment.
    fn after(&self, seconds: i64) -> Moment {
        Moment::from_millis(self.since.millis() + 1000 * seconds)
    }

    /// Wakes it, and returns the first run that it starts then.
    fn wake(&mut self, seconds: i64) -> RunErrand {
        let at = self.after(seconds);
        run_of(self.keeper.wake_up(at).unwrap()).unwrap()
    }

    /// Reports the end of a run, and returns the run that follows.
    fn end(&mut self, seconds: i64, run: &RunErrand, outcome: RunOutcome, tree: &str) -> Option<RunErrand> {
        let failed =
            serde_json::from_value(json!({"name": "there", "ruling": "fail", "duration_ms": 1})).unwrap();
        let checks = if outcome == RunOutcome::Failed { vec![failed] } else { Vec::new() };
        let end = ReconciliationRunEnd { outcome, reason: "it says so".into(), is_accepted: false, checks };
        let tree = run.wants_files.then(|| Sha256Digest::of_bytes(tree.as_bytes()));
        let at = self.after(seconds);
        run_of(self.keeper.report(at, run.run.clone(), RunReport::Ended { end, tree }).unwrap())
    }

    async fn spec(&self, run: &RunErrand) -> RunSpec {
        self.objects.get_json(&run.spec).await.unwrap()
    }

    /// The facts that it recorded, the latest last.
    fn facts(&self) -> Vec<GoalFact> {
        self.keeper.news().rest.into_iter().map(|stored| stored.record.fact).collect()
    }

    /// How its last reconciliation ended.
    fn end_of_last(&self) -> (ReconciliationHealth, String) {
        let ends = self.facts().into_iter().rev();
        let verdict = ends.filter_map(|fact| match fact {
            GoalFact::Ended { outcome: verdict, .. } => Some((verdict.health, verdict.reason)),
            _ => None,
        });
        verdict.into_iter().next().unwrap()
    }
}

fn run_of(duties: Vec<GoalDuty>) -> Option<RunErrand> {
    runs_of(duties).into_iter().next()
}

fn runs_of(duties: Vec<GoalDuty>) -> Vec<RunErrand> {
    let errand = |duty| match duty {
        GoalDuty::Run(errand) => Some(errand),
        GoalDuty::Cancel(_) | GoalDuty::Notify(_) => None,
    };
    duties.into_iter().filter_map(errand).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn later_runs_begin_with_the_files_that_a_repair_left() {
    let mut kept = Kept::new();
    let look = kept.wake(1);
    let first = kept.spec(&look).await;
    assert!(!look.wants_files && first.approved.as_ref().unwrap().execution == 0);
    let repair = kept.end(2, &look, RunOutcome::Failed, "").unwrap();
    let spec = kept.spec(&repair).await;
    assert_eq!((spec.tree, spec.approved.unwrap().execution), (first.tree, 1));
    assert!(spec.params["failed_checks"].as_str().unwrap().contains("there"), "{:?}", spec.params);
    // The time that was due meanwhile comes next.
    let next = kept.end(3, &repair, RunOutcome::Succeeded, "repaired").unwrap();
    assert_eq!(kept.end_of_last().0, ReconciliationHealth::Repaired);
    assert_eq!(kept.spec(&next).await.tree, Sha256Digest::of_bytes(b"repaired"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_is_used_as_often_as_it_allows_and_not_once_it_is_withdrawn_or_expired() {
    let mut kept = Kept::new();
    let look = kept.wake(1);
    let repair = kept.end(2, &look, RunOutcome::Failed, "").unwrap();
    let again = kept.end(3, &repair, RunOutcome::Failed, "as before").unwrap();
    assert!(!kept.end(5, &again, RunOutcome::Failed, "").unwrap().wants_files, "it is no repair");
    let (health, reason) = kept.end_of_last();
    assert_eq!(health, ReconciliationHealth::Waiting);
    assert!(reason.contains("used up: 1 of 1 uses; approve it again: wf approve goals/sum.md"), "{reason}");

    let mut kept = Kept::new();
    let at = kept.after(0);
    kept.keeper.act(at, GoalAct::Withdraw).unwrap();
    let look = kept.wake(1);
    assert!(!kept.end(2, &look, RunOutcome::Failed, "").unwrap().wants_files, "checks go on");
    assert!(kept.end_of_last().1.contains("revoked on"), "{:?}", kept.end_of_last());

    let mut kept = Kept::new();
    let late = kept.after(2 * 24 * 60 * 60);
    assert!(run_of(kept.keeper.wake_up(late).unwrap()).is_none());
    let skipped = serde_json::to_string(&kept.facts()).unwrap();
    assert!(skipped.contains("expired") && skipped.contains("wf goal deploy sum"), "{skipped}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_under_way_is_waited_for_by_the_next_workflow_and_starts_nothing_anew() {
    let mut kept = Kept::new();
    let look = kept.wake(1);
    let repair = kept.end(2, &look, RunOutcome::Failed, "").unwrap();
    let at = kept.after(3);
    let duties = kept.keeper.report(at, repair.run.clone(), RunReport::Waits).unwrap();
    let mut waits = runs_of(duties);
    waits.sort_by_key(|errand| errand.run.clone());
    assert_eq!(waits.len(), 2, "its end is awaited, and the next time is due");
    assert!(waits.iter().all(|errand| errand.is_waiting == (errand.run == repair.run)), "{waits:?}");
    assert_eq!(kept.end_of_last().0, ReconciliationHealth::Waiting);
    let count = kept.facts().len() as u64;
    let order = kept.keeper.store().unwrap();
    let mut next = GoalKeeper::open(order, &RunPlans::default(), kept.objects.clone()).unwrap();
    assert_eq!((next.news().stored.count, next.news().rest.len()), (count, 0));
    let mut again = runs_of(next.begin(at).unwrap());
    again.sort_by_key(|errand| errand.run.clone());
    assert_eq!(serde_json::to_value(&again).unwrap(), serde_json::to_value(&waits).unwrap());
    // The use is still counted.
    kept.keeper = next;
    kept.end(4, &repair, RunOutcome::Failed, "as before");
    let look = again.iter().find(|errand| !errand.wants_files).unwrap();
    kept.end(5, look, RunOutcome::Failed, "");
    assert!(kept.end_of_last().1.contains("used up"), "{:?}", kept.end_of_last());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recalled_goal_is_over_when_nothing_is_under_way() {
    let mut kept = Kept::new();
    let look = kept.wake(1);
    let at = kept.after(2);
    let duties = kept.keeper.act(at, GoalAct::Recall { cancels: false }).unwrap();
    assert!(duties.is_empty() && kept.keeper.refusal(&GoalAct::Resume).is_some() && !kept.keeper.is_over());
    let duties = kept.keeper.act(at, GoalAct::Recall { cancels: true }).unwrap();
    assert!(matches!(&duties[..], [GoalDuty::Cancel(run)] if *run == look.run), "{duties:?}");
    kept.end(3, &look, RunOutcome::Cancelled, "");
    assert!(kept.keeper.is_over() && kept.keeper.wake().is_none());
    let facts = kept.facts();
    assert_eq!(facts.iter().filter(|fact| **fact == GoalFact::Recalled).count(), 1);
    assert_eq!(facts.last(), Some(&GoalFact::Recalled));
}
