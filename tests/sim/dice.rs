//! Numbers from a seed.

/// `SplitMix64`: a small generator that gives the same numbers for the same seed everywhere.
#[derive(Clone, Debug)]
pub struct Dice(pub u64);

impl Dice {
    /// Dice that fall as a seed and a text say, whatever fell before.
    pub fn of(seed: u64, text: &str) -> Self {
        let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        let mut dice = Self(text.bytes().fold(seed ^ 0xcbf2_9ce4_8422_2325, mix));
        dice.next();
        dice
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % n.max(1) as u64).expect("it is below a usize")
    }

    /// Up to `most`, as a span of time or a count.
    pub fn up_to(&mut self, most: u32) -> u32 {
        u32::try_from(self.next() % (u64::from(most) + 1)).expect("it is at most a u32")
    }

    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}
