use std::collections::BTreeMap;

use super::{LivingProcess, ProcessRoot, TreeMembership, left::orphaned_among, parse_stat};

const ME: i32 = 10;

fn process(pid: i32, parent: i32, group: i32, session: i32) -> LivingProcess {
    LivingProcess { pid, zombie: false, parent, group, session, start: u64::try_from(pid).unwrap() }
}

fn root(pid: i32, mark: &str) -> ProcessRoot {
    let start = u64::try_from(pid).unwrap();
    ProcessRoot { pid, start, mark: mark.into() }
}

/// The members of the tree of process 20, where process 30 is the root of another.
fn members(all: &[LivingProcess], marks: &[(i32, &str)]) -> Vec<i32> {
    let ours = root(20, "ours");
    let view = TreeMembership {
        processes: all,
        root: &ours,
        others: &BTreeMap::from([(30, root(30, "theirs"))]),
        me: ME,
        adopts: true,
    };
    let marks: BTreeMap<i32, &str> = marks.iter().copied().collect();
    let found = view.members(&|pid| marks.get(&pid).map(ToString::to_string));
    found.iter().map(|process| process.pid).collect()
}

#[test]
fn a_tree_is_found_whatever_it_leaves() {
    let family = [
        process(20, ME, 20, 20),
        process(21, 20, 20, 20),
        // A group of its own, as shells with job control make it.
        process(22, 21, 22, 20),
        // A session of its own, below a parent that lives.
        process(23, 22, 23, 23),
        process(30, ME, 30, 30),
        process(31, 30, 30, 30),
    ];
    assert_eq!(members(&family, &[]), [20, 21, 22, 23]);
    // Its parents are gone, its session is not.
    assert_eq!(members(&[process(24, ME, 24, 20)], &[]), [24]);
    // Session and parents are gone: the mark tells, also for what it started since.
    let daemon = [process(40, ME, 40, 40), process(41, 40, 40, 40)];
    assert_eq!(members(&daemon, &[(40, "ours")]), [40, 41]);
    assert_eq!(members(&daemon, &[(40, "theirs")]), [0; 0]);
    // The mark is gone too. It began when only the root lived, or when another did as well.
    assert_eq!(members(&[process(25, ME, 25, 25)], &[]), [25]);
    assert_eq!(members(&[process(45, ME, 45, 45)], &[]), [0; 0]);
}

#[test]
fn nobody_else_belongs_to_a_tree() {
    let strangers = [
        process(ME, 1, ME, ME),
        process(12, 1, 12, 12),
        // It has the number of a session that ended, and began before the root did.
        process(15, ME, 20, 20),
        process(50, 1, 50, 50),
    ];
    assert_eq!(members(&strangers, &[(50, "other")]), [0; 0]);
    let dead = LivingProcess { zombie: true, ..process(21, 20, 20, 20) };
    assert_eq!(members(&[dead], &[]), [0; 0]);
}

#[test]
fn names_may_contain_anything() {
    let rest = "S 7 8 9 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 1234 5 6";
    let found = parse_stat(12, &format!("12 (a) (b c) {rest}")).unwrap();
    assert!(!found.zombie);
    assert_eq!((found.parent, found.group, found.session, found.start), (7, 8, 9, 1234));
    assert!(parse_stat(12, "12 (x) Z 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 9").unwrap().zombie);
    // Its first thread has ended, two others have not.
    let threads = parse_stat(12, "12 (x) Z 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 3 0 9");
    assert!(!threads.unwrap().zombie);
    for broken in ["", "12", "12 (x", "12 (x) S", "12 (x) S 1 2"] {
        assert_eq!(parse_stat(12, broken), None, "{broken}");
    }
}

/// The processes left below this one while process 20 is at work.
fn left(processes: &[LivingProcess], marks: &[(i32, &str)]) -> Vec<i32> {
    let roots = BTreeMap::from([(20, root(20, "ours"))]);
    let marks: BTreeMap<i32, &str> = marks.iter().copied().collect();
    let mark = |pid| marks.get(&pid).map(ToString::to_string);
    let left = orphaned_among(processes, &roots, ME, &mark);
    left.iter().map(|process| process.pid).collect()
}

#[test]
fn what_is_at_work_is_not_left_over() {
    let at_work = [
        process(20, ME, 20, 20),
        process(21, 20, 20, 20),
        process(22, 21, 22, 22),
        // It lost its parent, and has the session or the mark.
        process(23, ME, 23, 20),
        process(24, ME, 24, 24),
        process(25, 24, 25, 25),
        // Not ours at all.
        process(50, 1, 50, 50),
    ];
    assert_eq!(left(&at_work, &[(24, "ours")]), [0; 0]);
    let over = [
        process(15, ME, 15, 15),
        process(16, 15, 16, 16),
        // It has the number of a session that began later.
        process(17, ME, 20, 20),
        // It says nothing of whose it is.
        process(30, ME, 30, 30),
    ];
    let processes: Vec<LivingProcess> = at_work.iter().chain(&over).cloned().collect();
    assert_eq!(left(&processes, &[(24, "ours"), (15, "past")]), [15, 16, 17, 30]);
}
