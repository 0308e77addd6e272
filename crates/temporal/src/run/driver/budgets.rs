//! The budgets of the runs under way: what the work of any host may use is set aside before it calls a model.

use wf_core::machine::AttemptUsage;
use wf_core::run_ledgers::{BudgetRefusal, CallClaim, RunLedgers};
use wf_engine::WorkClaim;

use super::RunDriver;

impl RunDriver {
    /// True if some work is under way.
    pub fn is_under_way(&self, key: u64) -> bool {
        self.open.contains_key(&key)
    }

    /// Sets an amount aside for some work, until its end is reported, if the budgets of its run and of those around it
    /// suffice. Returns the refusal if they do not.
    pub fn claim(&mut self, key: u64, claim: WorkClaim) -> Option<BudgetRefusal> {
        let mut ledgers = self.ledgers();
        let open = self.open.get_mut(&key)?;
        let WorkClaim { wanted, own_allows } = claim;
        let claim = CallClaim { run: &open.run, before: open.set_aside, wanted, own_allows };
        let refusal = ledgers.claim(&claim).err();
        if refusal.is_none() {
            open.set_aside = wanted;
        }
        refusal
    }

    /// Returns the ledgers of the runs, with what is set aside.
    fn ledgers(&self) -> RunLedgers {
        let mut ledgers = RunLedgers::default();
        for (run, driven) in &self.runs {
            let around = driven.nesting.as_ref().map(|nesting| &nesting.nested.outer);
            ledgers.open_recorded(run, around, driven.machine.ledger().clone());
        }
        for open in self.open.values() {
            ledgers.replace(&open.run, AttemptUsage::default(), open.set_aside);
        }
        ledgers
    }
}
