use std::{path::Path, sync::Arc, time::Duration};

use crate::{
    Store, StoreDurability,
    tests::fixture::{NOW, first, new_run, run_id, started},
};
use wf_base::time::FixedClock;

const WORKED: Duration = Duration::from_secs(4);

/// A store whose clock stands so long after the beginning.
fn open_after(dir: &Path, time: Duration) -> Store {
    Store::open(dir, StoreDurability::Normal, Arc::new(FixedClock(NOW.after(time)))).unwrap()
}

#[test]
fn a_process_that_recorded_nothing_takes_no_time_off_the_work_before() {
    let (dir, run) = (tempfile::tempdir().unwrap(), run_id(1));
    let store = open_after(dir.path(), WORKED);
    let fence = store.own_run(&run, "").wait().unwrap();
    let mut batch = first(&run, new_run("report"), vec![started("fetch")]);
    batch.token = fence.token();
    batch.events[0].at = NOW.after(WORKED);
    store.append(batch).wait().unwrap();
    drop((fence, store));
    // They waited for people, and left.
    for resumed in [7, 10] {
        let store = open_after(dir.path(), Duration::from_secs(resumed));
        drop(store.own_run(&run, "").wait().unwrap());
    }
    let store = open_after(dir.path(), Duration::from_secs(13));
    let reader = store.reader().unwrap();
    assert_eq!(reader.runs().work_time(&run).unwrap(), WORKED);
}
