//! Laws of memory that apply to all megrams.

use proptest::prelude::*;
use wf_base::keyword::Keyword;

use super::{NOW, ago, read_lines, write_lines};
use crate::memory::{
    DreamChanges, Megram, MegramLevel, MegramOrigin, MegramState, MegramTags, MemoryPotentials, ToolTarget,
    advise, dream, potentials, share,
};

fn any_megram() -> impl Strategy<Value = Megram> {
    let parts = (0..3_u8, 0..8_usize, 0..6_usize, -20..200_i64, 0..1000_u32);
    parts.prop_map(|(cluster, state, level, days, number)| {
        let from = number.to_string();
        let origin = MegramOrigin { at: ago(days), from: &from };
        let tags = MegramTags::tool("curl", &cluster.to_string());
        let mut megram = Megram::new(MegramState::ALL[state], tags, String::new(), origin);
        // Mostly megrams: there are few rules.
        let level = MegramLevel::ALL.get(level).copied().unwrap_or(MegramLevel::Megram);
        if !level.fades() {
            megram.k = 0.0;
            megram.sigma = if megram.sigma == 0.0 { 1.0 } else { megram.sigma };
        }
        megram.level = level;
        megram
    })
}

fn some_megrams() -> impl Strategy<Value = Vec<Megram>> {
    let all = proptest::collection::vec(any_megram(), 0..60);
    all.prop_map(|mut all| {
        all.sort_by_key(|megram| megram.id);
        all.dedup_by_key(|megram| megram.id);
        all
    })
}

proptest! {
    #[test]
    fn what_is_left_only_shrinks(megram in any_megram(), days in 0..300_i64, more in 0..300_i64) {
        let (early, late) = (share(&megram, ago(-days)), share(&megram, ago(-days - more)));
        prop_assert!(late.attention <= early.attention);
        prop_assert!(late.attention >= 0.0 && early.attention <= megram.f);
    }

    #[test]
    fn attention_is_never_less_than_the_decision(megrams in some_megrams()) {
        let MemoryPotentials { attention, decision, .. } = potentials(&megrams, NOW);
        prop_assert!(attention >= decision.abs());
    }

    #[test]
    fn the_order_of_megrams_does_not_matter(megrams in some_megrams(), by in 0..60_usize) {
        let mut other = megrams.clone();
        other.rotate_left(by % megrams.len().max(1));
        other.reverse();
        prop_assert_eq!(potentials(&megrams, NOW), potentials(&other, NOW));
        prop_assert_eq!(dream(&megrams, NOW), dream(&other, NOW));
        let pairs = [ToolTarget { tool: "curl".into(), entity: None }];
        prop_assert_eq!(advise(&megrams, &pairs, NOW), advise(&other, &pairs, NOW));
    }

    #[test]
    fn dreaming_again_changes_nothing(megrams in some_megrams()) {
        let after = dream(&megrams, NOW).apply_to(&megrams);
        prop_assert_eq!(dream(&after, NOW), DreamChanges::default());
    }

    #[test]
    fn only_what_fades_is_forgotten(megrams in some_megrams()) {
        let dreamt = dream(&megrams, NOW);
        for megram in megrams.iter().filter(|megram| dreamt.forget.contains(&megram.id)) {
            prop_assert!(megram.level.fades());
        }
    }

    #[test]
    fn what_is_written_is_read(megrams in some_megrams()) {
        let mut read = read_lines(&write_lines(&megrams), &megrams).unwrap();
        read.sort_by_key(|megram| megram.id);
        prop_assert_eq!(read, megrams);
    }
}
