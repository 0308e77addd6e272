//! `examples/goals`: a mirror that is not there is made, and one that is not as it should be is
//! mended.

use super::workshop;

const GOAL: &str = "examples/goals/mirror.md";

#[test]
fn a_mirror_is_mended() {
    let sandbox = workshop();
    let cycle = |is: &str| sandbox.wf(&["goal", "run", GOAL]).exits(0).says(is);
    cycle("mirror-is-fresh is repaired");
    cycle("mirror-is-fresh is healthy");
    let (food, copy) = ("examples/goals/prices/food.csv", "target/examples/goals/mirror/food.csv");
    sandbox.file(food, "item,cents\nbread,330\n");
    cycle("mirror-is-fresh is repaired");
    assert_eq!(sandbox.read(copy), sandbox.read(food));
    let told = sandbox.wf(&["goal", "history", GOAL]).exits(0);
    assert_eq!(told.out.matches("repaired").count(), 2, "{}", told.out);
}
