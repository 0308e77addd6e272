//! What the controller makes of steps that fail for hidden reasons; docs/does-it-help.md measures it.

use crate::plants::{ATTEMPTS, Plans, Plant, Score, Strategy, Told, World};

/// How many worlds of each plant are tried.
const SEEDS: u64 = 50;

/// What a strategy comes to in each world of a plant.
fn told(plant: Plant, strategy: Strategy) -> Vec<(World, Told)> {
    let mut plans = Plans::new(ATTEMPTS);
    let worlds = (0..SEEDS).map(|seed| World::new(plant, seed));
    worlds
        .map(|world| {
            let told = plans.run(&world, strategy);
            (world, told)
        })
        .collect()
}

fn verified(plant: Plant, strategy: Strategy) -> u64 {
    let all = told(plant, strategy);
    all.iter().map(|(_, told)| u64::from(told.verified)).sum()
}

#[test]
fn ggs_goes_around_what_it_reads_rightly() {
    let right = [Plant::DeadMirror, Plant::WrongTool, Plant::WrongFlag, Plant::TwoFaults];
    for plant in right {
        assert_eq!(verified(plant, Strategy::Ggs), SEEDS, "{}", plant.name());
        assert_eq!(verified(plant, Strategy::Fixed), 0, "{}", plant.name());
        assert_eq!(verified(plant, Strategy::BackOff), 0, "{}", plant.name());
    }
}

#[test]
fn verified_work_stays_when_a_later_step_is_done_in_another_way() {
    for (world, told) in told(Plant::DeadMirror, Strategy::Ggs) {
        let mut expected = [1; 3];
        // As it is written, once more, and in another way.
        expected[world.step] = 3;
        assert_eq!(told.attempts, expected, "seed {}", world.seed);
        assert_eq!(told.rounds, 2, "seed {}", world.seed);
    }
}

#[test]
fn nobody_passes_what_is_hopeless_and_ggs_ends_it_in_its_rounds() {
    for strategy in Strategy::ALL {
        for (world, told) in told(Plant::Hopeless, strategy) {
            let place = format!("{} seed {}", strategy.name(), world.seed);
            assert!(!told.verified && !told.accepted, "{place}");
            assert!(told.all() <= ATTEMPTS, "{place}");
            // Three rounds may follow the first.
            assert!(told.rounds <= 4, "{place}");
            assert_eq!(told.rounds > 0, strategy.replan().is_some(), "{place}");
        }
    }
}

#[test]
fn a_parameter_is_never_reached_once_its_tool_is_blocked_unless_it_has_a_name_of_its_own() {
    let plant = Plant::WrongParameter;
    assert_eq!(verified(plant, Strategy::Ggs), 0);
    assert_eq!(verified(plant, Strategy::Named), SEEDS);
    assert_eq!(verified(plant, Strategy::InOrder), SEEDS);
}

#[test]
fn what_is_within_delta_is_accepted_only_where_that_is_not_strict() {
    let accepted = |strategy| {
        let all = told(Plant::WrongTool, strategy);
        all.iter().filter(|(_, told)| told.accepted).count()
    };
    assert_eq!(accepted(Strategy::Ggs), 0);
    assert!(accepted(Strategy::Loose) > 0);
}

#[test]
fn the_same_seed_gives_the_same_numbers_and_no_run_goes_beyond_its_budget() {
    for plant in Plant::ALL {
        for strategy in Strategy::ALL {
            let (first, second) = (told(plant, strategy), told(plant, strategy));
            let mut scores = [Score::default(), Score::default()];
            for ((_, first), (_, second)) in first.iter().zip(&second) {
                scores[0].add(first);
                scores[1].add(second);
                assert!(first.all() <= ATTEMPTS, "{first:?}");
                assert!(first.duration_ms <= 300_000, "{first:?}");
            }
            assert_eq!(scores[0], scores[1], "{}", plant.name());
        }
    }
}

#[test]
fn a_score_counts_the_runs_that_were_verified_apart_from_those_in_vain() {
    let mut score = Score::default();
    for (number, verified) in [(1, true), (2, true), (3, true), (9, false)] {
        score.add(&Told {
            verified,
            accepted: false,
            attempts: [number, 0, 0],
            duration_ms: i64::from(number) * 1_000,
            rounds: 1,
            end: String::new(),
        });
    }
    let close = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-9, "{found}");
    close(score.share(), 0.75);
    assert_eq!(score.attempts(0.5), Some(2));
    assert_eq!(score.attempts(0.9), Some(3));
    close(score.seconds(0.9).unwrap(), 3.0);
    let (attempts, seconds) = score.vain().unwrap();
    close(attempts, 9.0);
    close(seconds, 9.0);
    close(score.mean_attempts(), 3.75);
    assert_eq!(Score::default().attempts(0.5), None);
}
