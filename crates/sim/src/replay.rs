//! Shrinking and replay of failing randomized tests. A test is reduced as far as possible and written as source.

use core::fmt::Write as _;

use crate::Side;
use crate::randomized::{Op, RandomizedTest, Shape};

/// Maximum number of test runs in [`shrink`].
const BUDGET: u32 = 2_000;

/// The smallest test found that still `fails`. Steps are removed, many at first, then one by one; then times and numbers are
/// halved.
pub fn shrink(test: &RandomizedTest, mut fails: impl FnMut(&RandomizedTest) -> bool) -> RandomizedTest {
    let mut smallest = test.clone();
    let mut budget = BUDGET;
    let mut try_out = |candidate: &RandomizedTest| {
        budget = budget.saturating_sub(1);
        budget > 0 && fails(candidate)
    };
    loop {
        let before = smallest.clone();
        leave_out(&mut smallest, &mut try_out);
        simplify(&mut smallest, &mut try_out);
        if smallest == before {
            return smallest;
        }
    }
}

fn leave_out(test: &mut RandomizedTest, fails: &mut impl FnMut(&RandomizedTest) -> bool) {
    let mut length = test.ops.len().div_ceil(2);
    while length > 0 {
        let mut start = 0;
        while start < test.ops.len() {
            let mut candidate = test.clone();
            let end = (start + length).min(candidate.ops.len());
            candidate.ops.drain(start..end);
            if fails(&candidate) {
                *test = candidate;
            } else {
                start += length;
            }
        }
        length /= 2;
    }
}

fn simplify(test: &mut RandomizedTest, fails: &mut impl FnMut(&RandomizedTest) -> bool) {
    for index in 0..test.ops.len() {
        while let Some(op) = simpler(&test.ops[index]) {
            let mut candidate = test.clone();
            candidate.ops[index] = op;
            if !fails(&candidate) {
                break;
            }
            *test = candidate;
        }
    }
    for path in (1..test.shape.paths.len()).rev() {
        adopt(test, fails, |shape| {
            shape.paths.remove(path);
        });
    }
    for side in Side::BOTH {
        for policy in (0..test.shape.of_mut(side).policies.len()).rev() {
            adopt(test, fails, |shape| {
                shape.of_mut(side).policies.remove(policy);
            });
        }
        adopt(test, fails, |shape| shape.of_mut(side).profile = "default");
        adopt(test, fails, |shape| shape.of_mut(side).zero_checksum = false);
    }
    adopt(test, fails, |shape| {
        shape.near.authenticated.clear();
        shape.far.authenticated.clear();
    });
    adopt(test, fails, |shape| shape.ipv6 = false);
    adopt(test, fails, |shape| shape.collides = false);
}

/// Applies a change to the scenario if the test still fails with it.
fn adopt(
    test: &mut RandomizedTest,
    fails: &mut impl FnMut(&RandomizedTest) -> bool,
    change: impl FnOnce(&mut Shape),
) {
    let mut candidate = test.clone();
    change(&mut candidate.shape);
    if candidate != *test && fails(&candidate) {
        *test = candidate;
    }
}

/// A smaller step of the same kind, if there is one.
fn simpler(op: &Op) -> Option<Op> {
    let mut op = op.clone();
    match &mut op {
        Op::Advance { millis } if *millis > 1 => *millis /= 2,
        Op::Send { count, .. } | Op::SendUnreliable { count, .. } if *count > 1 => *count /= 2,
        Op::Send { bytes, .. } | Op::SendUnreliable { bytes, .. } if *bytes > 1 => *bytes /= 2,
        Op::SendInParts { bytes, .. } if *bytes > 1 => *bytes /= 2,
        Op::Lose { packets, .. } if *packets > 1 => *packets /= 2,
        _ => return None,
    }
    Some(op)
}

/// A Rust test that runs `test`, as source.
#[must_use]
pub fn source(name: &str, test: &RandomizedTest) -> String {
    let RandomizedTest { shape, ops } = test;
    let mut text = String::new();
    // Lists are printed as arrays, but the fields of a test are vectors.
    let shape = format!("{shape:?}")
        .replace(": [PathShape", ": vec![PathShape")
        .replace("policies: [", "policies: vec![")
        .replace("authenticated: [", "authenticated: vec![");
    let written = writeln!(text, "#[test]\nfn {name}() {{\n    let test = RandomizedTest {{")
        .and_then(|()| writeln!(text, "        shape: {shape},\n        ops: vec!["))
        .and_then(|()| {
            ops.iter()
                .try_for_each(|op| writeln!(text, "            {},", step(op)))
        })
        .and_then(|()| writeln!(text, "        ],\n    }};\n    test.run().unwrap();\n}}"));
    written.expect("invariant: a string takes all that is written to it");
    text
}

fn step(op: &Op) -> String {
    let text = format!("Op::{op:?}");
    text.replace("side: ", "side: Side::")
        .replace("toward: ", "toward: Side::")
}

#[cfg(test)]
mod tests {
    use super::{shrink, source};
    use crate::Side;
    use crate::randomized::{Op, RandomizedTest};

    #[test]
    fn shrinking_keeps_only_the_relevant_operations() {
        let mut test = RandomizedTest::draw(1);
        test.ops.insert(3, Op::Abort { side: Side::Far });
        let fails = |test: &RandomizedTest| test.ops.contains(&Op::Abort { side: Side::Far });
        assert_eq!(shrink(&test, fails).ops, [Op::Abort { side: Side::Far }]);
    }

    #[test]
    fn randomized_test_is_written_as_source() {
        let mut test = RandomizedTest::draw(1);
        test.ops = vec![Op::Cut { path: 0 }, Op::Abort { side: Side::Far }];
        let text = source("something_holds", &test);
        assert!(text.starts_with("#[test]\nfn something_holds() {"), "{text}");
        assert!(
            text.contains("Op::Cut { path: 0 },\n            Op::Abort { side: Side::Far },"),
            "{text}"
        );
    }
}
