//! The files that tasks of a run and of those nested in it may change: two runs take turns with the same one. Within a run,
//! the machine lets tasks take turns.

use serde::{Deserialize, Serialize};

use wf_base::name::RunId;
use wf_core::machine::TaskId;

/// The claims that are held, and those waiting for them, in order.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct FamilyClaims {
    held: Vec<FamilyClaim>,
    waiting: Vec<FamilyClaim>,
}

/// The files a task may change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FamilyClaim {
    /// The run of the task.
    pub run: RunId,
    #[serde(rename = "place")]
    pub task_id: TaskId,
    /// Paths in the workspace. A folder covers everything in it.
    pub files: Vec<String>,
}

impl FamilyClaim {
    fn is_of(&self, run: &RunId, task_id: &TaskId) -> bool {
        self.run == *run && self.task_id == *task_id
    }

    /// True if tasks of two runs would change the same.
    fn excludes(&self, other: &Self) -> bool {
        let is_in = |file: &str, folder: &str| {
            file.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let meets = |file: &String| other.files.iter().any(|its| is_in(file, its) || is_in(its, file));
        self.run != other.run && self.files.iter().any(meets)
    }
}

impl FamilyClaims {
    /// Takes the files of a task, if they are free. Returns false if the task has to wait for them.
    pub(crate) fn take_claim(&mut self, claim: FamilyClaim) -> bool {
        self.held.retain(|held_claim| !held_claim.is_of(&claim.run, &claim.task_id));
        self.waiting.retain(|waiting| !waiting.is_of(&claim.run, &claim.task_id));
        let is_free = !self.held.iter().any(|held_claim| held_claim.excludes(&claim));
        if is_free { &mut self.held } else { &mut self.waiting }.push(claim);
        is_free
    }

    /// Gives back the files of a task, or of all tasks of a run, or ends a wait. Returns the claims that waited for them and
    /// are held now.
    pub(crate) fn release(&mut self, run: &RunId, task_id: Option<&TaskId>) -> Vec<FamilyClaim> {
        let is_its =
            |claim: &FamilyClaim| task_id.map_or_else(|| claim.run == *run, |place| claim.is_of(run, place));
        self.held.retain(|held_claim| !is_its(held_claim));
        self.waiting.retain(|waiting| !is_its(waiting));
        let mut taken = Vec::new();
        for claim in std::mem::take(&mut self.waiting) {
            if self.take_claim(claim.clone()) {
                taken.push(claim);
            }
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::{FamilyClaim, FamilyClaims};
    use wf_base::name::{Name, RunId};
    use wf_core::machine::TaskId;

    fn claim(run: u8, step: &str, file: &str) -> FamilyClaim {
        let task_id = TaskId::of_step(&Name::parse(step).unwrap());
        FamilyClaim { run: RunId::from_bytes([run; 16]), task_id, files: vec![file.to_owned()] }
    }

    #[test]
    fn tasks_of_two_runs_take_turns_with_a_file_and_with_what_is_in_a_folder() {
        let mut claims = FamilyClaims::default();
        let (first, second, third) =
            (claim(1, "a", "out"), claim(2, "b", "out/b.txt"), claim(3, "c", "output"));
        assert!(claims.take_claim(first.clone()));
        assert!(!claims.take_claim(second.clone()));
        assert!(claims.take_claim(third), "a name that begins the same is another one");
        assert!(claims.take_claim(claim(1, "d", "out")), "a run takes care of its own tasks");
        assert_eq!(claims.release(&first.run, Some(&first.task_id)), []);
        let other = claim(1, "d", "out");
        assert_eq!(claims.release(&other.run, Some(&other.task_id)), std::slice::from_ref(&second));
        assert!(!claims.take_claim(first), "it is held now");
    }

    #[test]
    fn a_task_that_asks_again_has_what_it_had() {
        let mut claims = FamilyClaims::default();
        assert!(claims.take_claim(claim(1, "a", "f")));
        assert!(!claims.take_claim(claim(2, "b", "f")));
        assert!(claims.take_claim(claim(1, "a", "f")));
        assert!(!claims.take_claim(claim(2, "b", "f")));
        assert_eq!(claims.release(&claim(1, "a", "f").run, None).len(), 1);
    }
}
