//! Numbers of new descriptors. Which one does the supervisor give, so that calls on it are seen and no other descriptor is replaced?
//!
//! A number is chosen and then given, and another thread of the program may get it in between. The system gives the lowest number that
//! is free, so one is chosen below which another one is free.

use super::filter::FIRST;

/// Descriptors below this one fit into the sets of `select`, so these numbers are given first.
const SELECTABLE: i32 = 1024;
/// No descriptors are given from here on, whatever the program's limit is: the kernel's tables are as long as the highest number.
const LIMIT: i32 = 1 << 16;

/// Where the search for the next number begins: a number is not given again at once, and numbers in use are not all looked at.
#[derive(Debug)]
pub(super) struct Numbers {
    selectable: i32,
    far: i32,
    /// No number was free below [`SELECTABLE`], and the program has closed none of these since.
    is_full: bool,
}

impl Default for Numbers {
    fn default() -> Self {
        Self {
            selectable: SELECTABLE - 1,
            far: SELECTABLE,
            is_full: false,
        }
    }
}

impl Numbers {
    /// A number for a new descriptor which is `least` at least, in a process that may have `limit` descriptors.
    pub(super) fn free(&mut self, least: i32, limit: i32, is_free: impl Fn(i32) -> bool) -> Option<i32> {
        let limit = limit.min(LIMIT);
        let has_room = is_free(FIRST - 1);
        let is_fit =
            |number: &i32| *number >= least && is_free(*number) && (has_room || is_free(*number - 1));
        if self.is_full {
            // Another process may have free ones nevertheless.
            return self
                .free_far(limit, is_fit)
                .or_else(|| self.free_selectable(limit, is_fit));
        }
        let found = self.free_selectable(limit, is_fit);
        self.is_full = found.is_none() && least <= FIRST && limit > SELECTABLE;
        found.or_else(|| self.free_far(limit, is_fit))
    }

    /// From above: the program's own are below.
    fn free_selectable(&mut self, limit: i32, is_fit: impl Fn(&i32) -> bool) -> Option<i32> {
        let end = SELECTABLE.min(limit);
        let begin = end.min(self.selectable + 1);
        let mut all = (FIRST..begin).rev().chain((begin..end).rev());
        let number = all.find(is_fit)?;
        self.selectable = if number > FIRST {
            number - 1
        } else {
            SELECTABLE - 1
        };
        Some(number)
    }

    fn free_far(&mut self, limit: i32, is_fit: impl Fn(&i32) -> bool) -> Option<i32> {
        let begin = self.far.min(limit);
        let mut all = (begin..limit).chain(SELECTABLE..begin);
        let number = all.find(is_fit)?;
        self.far = if number + 1 < limit {
            number + 1
        } else {
            SELECTABLE
        };
        Some(number)
    }

    /// A descriptor is about to be closed.
    pub(super) const fn closed(&mut self, number: i32) {
        if number < SELECTABLE {
            self.is_full = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn numbers_for_select_are_given_first_and_then_without_a_search() {
        let mut numbers = Numbers::default();
        let mut used = BTreeSet::new();
        for _ in 0..20_000 {
            let looks = Cell::new(0);
            let is_free = |number: i32| {
                looks.set(looks.get() + 1);
                !used.contains(&number)
            };
            let number = numbers.free(0, i32::MAX, is_free).unwrap();
            // Once, all of the first are looked at.
            assert!(looks.get() < 10 || number == SELECTABLE, "{}", looks.get());
            assert!(
                number >= FIRST && (number < SELECTABLE) == (used.len() < 512),
                "{number}"
            );
            used.insert(number);
        }
    }

    #[test]
    fn limit_of_the_program_ends_the_numbers() {
        let mut used = BTreeSet::new();
        let mut numbers = Numbers::default();
        while let Some(number) = numbers.free(0, 600, |number| !used.contains(&number)) {
            assert!(number < 600);
            used.insert(number);
        }
        assert_eq!(used.len(), 88);
        assert_eq!(numbers.free(0, 512, |_| true), None);
        assert!(numbers.free(700, 1_000_000, |_| true).unwrap() >= 700);
    }

    #[test]
    fn process_with_free_numbers_gets_one_where_another_has_none() {
        let mut numbers = Numbers::default();
        assert!(numbers.free(0, 2_000, |number| number >= SELECTABLE).is_some());
        assert!(numbers.free(0, SELECTABLE, |_| true).is_some());
    }

    #[test]
    fn lowest_free_number_is_not_given() {
        let mut numbers = Numbers::default();
        // The program has used all up to here, and the next one that it opens is 600.
        let is_free = |number: i32| number >= 600 && number != 1023;
        for _ in 0..2_000 {
            let number = numbers.free(0, 1100, is_free).unwrap();
            assert!(number > 600 && number != 1023);
        }
    }
}
