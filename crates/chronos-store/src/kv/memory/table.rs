//! A table of the memory engine: keys of the common lengths in place, any other beside them.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::collections::btree_map::Range;
use std::iter::Peekable;
use std::ops::{Bound, ControlFlow};

use crate::kv::{Order, Value, Visitor};

/// The length of a volume and two ids whose common end is written once.
const PAST: usize = 34;

/// Keys without their first byte, and their values. Most keys are an id, or that of something past: kept
/// in place they take no memory of their own and compare in a few instructions, which is what a large
/// map spends its time on.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    one_id: BTreeMap<Fixed<16>, Box<[u8]>>,
    past: BTreeMap<Fixed<PAST>, Box<[u8]>>,
    other: BTreeMap<Box<[u8]>, Box<[u8]>>,
}

/// A key of `N` bytes in the order of its bytes: compared by large numbers, which
/// takes a fraction of the time.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Fixed<const N: usize>([u8; N]);

impl<const N: usize> Ord for Fixed<N> {
    fn cmp(&self, other: &Self) -> Ordering {
        let (ours, our_rest) = self.0.as_chunks::<16>();
        let (theirs, their_rest) = other.0.as_chunks::<16>();
        for (one, another) in ours.iter().zip(theirs) {
            match u128::from_be_bytes(*one).cmp(&u128::from_be_bytes(*another)) {
                Ordering::Equal => {}
                unequal => return unequal,
            }
        }
        our_rest.cmp(their_rest)
    }
}

impl<const N: usize> PartialOrd for Fixed<N> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<const N: usize> AsRef<[u8]> for Fixed<N> {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Table {
    pub(super) fn get(&self, tail: &[u8]) -> Option<&[u8]> {
        let value = match tail.len() {
            16 => self.one_id.get(&Fixed(*tail.first_chunk()?)),
            PAST => self.past.get(&Fixed(*tail.first_chunk()?)),
            _ => self.other.get(tail),
        };
        value.map(AsRef::as_ref)
    }

    pub(super) fn set(&mut self, tail: &[u8], value: Value) {
        if let Ok(tail) = <[u8; 16]>::try_from(tail) {
            set(&mut self.one_id, Fixed(tail), value);
        } else if let Ok(tail) = <[u8; PAST]>::try_from(tail) {
            set(&mut self.past, Fixed(tail), value);
        } else {
            set(&mut self.other, tail.into(), value);
        }
    }

    /// Visits the entries with `low <= tail < high` in order; an absent bound is none.
    pub(super) fn scan(
        &self,
        low: Option<&[u8]>,
        high: Option<&[u8]>,
        order: Order,
        visit: Visitor<'_>,
    ) -> ControlFlow<()> {
        let any = (low.map_or(Bound::Unbounded, Bound::Included), exclusive(high));
        let mut one_id = Run::new(self.one_id.range(padded::<16>(low, high)), order);
        let mut past = Run::new(self.past.range(padded::<PAST>(low, high)), order);
        let mut other = Run::new(self.other.range::<[u8], _>(any), order);
        loop {
            let nearest = [one_id.peek(), past.peek(), other.peek()].into_iter().flatten();
            let nearest = match order {
                Order::Ascending => nearest.min(),
                Order::Descending => nearest.max(),
            };
            let Some((tail, value)) = nearest else {
                return ControlFlow::Continue(());
            };
            visit(tail, value)?;
            match tail.len() {
                16 => one_id.advance(),
                PAST => past.advance(),
                _ => other.advance(),
            }
        }
    }

    pub(super) fn size(&self) -> u64 {
        fn bytes<K: AsRef<[u8]>>(map: &BTreeMap<K, Box<[u8]>>) -> u64 {
            map.iter().map(|(tail, value)| (1 + tail.as_ref().len() + value.len()) as u64).sum()
        }
        bytes(&self.one_id) + bytes(&self.past) + bytes(&self.other)
    }
}

fn set<K: Ord>(map: &mut BTreeMap<K, Box<[u8]>>, key: K, value: Value) {
    match value {
        Some(value) => map.insert(key, value),
        None => map.remove(&key),
    };
}

fn exclusive(high: Option<&[u8]>) -> Bound<&[u8]> {
    high.map_or(Bound::Unbounded, Bound::Excluded)
}

/// The bounds `low <= key < high` for keys of exactly `N` bytes. A shorter bound sorts where the same
/// with zeros after it does; a longer one sorts right after its first `N` bytes.
fn padded<const N: usize>(
    low: Option<&[u8]>,
    high: Option<&[u8]>,
) -> (Bound<Fixed<N>>, Bound<Fixed<N>>) {
    let fit = |bound: &[u8]| {
        let mut key = [0; N];
        let shared = bound.len().min(N);
        key[..shared].copy_from_slice(&bound[..shared]);
        Fixed(key)
    };
    let low = low.map_or(Bound::Unbounded, |low| {
        if low.len() > N { Bound::Excluded(fit(low)) } else { Bound::Included(fit(low)) }
    });
    let high = high.map_or(Bound::Unbounded, |high| {
        if high.len() > N { Bound::Included(fit(high)) } else { Bound::Excluded(fit(high)) }
    });
    (low, high)
}

/// A walk over one map, in either direction.
enum Run<'a, K> {
    Up(Peekable<Range<'a, K, Box<[u8]>>>),
    Down(Peekable<std::iter::Rev<Range<'a, K, Box<[u8]>>>>),
}

impl<'a, K: AsRef<[u8]>> Run<'a, K> {
    fn new(range: Range<'a, K, Box<[u8]>>, order: Order) -> Self {
        match order {
            Order::Ascending => Self::Up(range.peekable()),
            Order::Descending => Self::Down(range.rev().peekable()),
        }
    }

    fn peek(&mut self) -> Option<(&'a [u8], &'a [u8])> {
        let next = match self {
            Self::Up(range) => range.peek(),
            Self::Down(range) => range.peek(),
        };
        next.map(|(key, value)| ((*key).as_ref(), (*value).as_ref()))
    }

    fn advance(&mut self) {
        match self {
            Self::Up(range) => range.next(),
            Self::Down(range) => range.next(),
        };
    }
}
