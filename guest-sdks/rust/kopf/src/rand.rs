//! Random numbers.

/// A small source of random numbers, seeded by the host for each call: see
/// [`Call::rand`](crate::Call::rand). It is not for secrets: ask
/// [`Call::random_bytes`](crate::Call::random_bytes) for those.
///
/// It is SplitMix64; `next_u64` can seed generators of other crates.
pub struct Rng(u64);

impl Rng {
    /// A source that gives the same numbers for the same seed.
    pub fn from_seed(seed: u64) -> Rng {
        Rng(seed)
    }

    /// Any number.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 up to the limit, without it; 0 if the limit is 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(limit)) >> 64) as u64
    }

    /// A number from 0 up to 1, without 1.
    pub fn fraction(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Brings items into a random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_splitmix() {
        let mut rng = Rng::from_seed(1234567);
        let got: Vec<u64> = (0..3).map(|_| rng.next_u64()).collect();
        assert_eq!(got, [6457827717110365317, 3203168211198807973, 9817491932198370423]);
        assert!((0..1000).all(|_| rng.below(7) < 7));
        assert!((0..1000).map(|_| rng.fraction()).all(|f| (0.0..1.0).contains(&f)));
        let mut items: Vec<u32> = (0..100).collect();
        rng.shuffle(&mut items);
        assert!(!items.is_sorted());
        items.sort();
        assert!(items.iter().copied().eq(0..100));
    }
}
