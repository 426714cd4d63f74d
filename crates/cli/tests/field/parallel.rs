//! Several networks at once: most of the time, they wait.

use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Jobs for each processor.
const PER_PROCESSOR: usize = 4;

/// How many jobs run at once: `ANABRANCH_PARALLEL`, or as many as keep the processors busy.
pub(crate) fn at_once() -> usize {
    let processors = thread::available_parallelism().map_or(1, |processors| processors.get());
    number("ANABRANCH_PARALLEL").map_or(PER_PROCESSOR * processors, |at_once| at_once as usize)
}

/// Does all `jobs`, several at once, and returns the results in their order; `report` is told how many are done, with each
/// result as soon as it is there. A job that panics has failed, and others go on.
pub(crate) fn all<J: Sync, R: Send>(
    jobs: &[J],
    work: impl Fn(&J) -> Result<R, String> + Sync,
    report: impl Fn(usize, &J, &Result<R, String>) + Sync,
) -> Vec<Result<R, String>> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let worker = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = jobs.get(number) else { return };
            let caught = catch_unwind(AssertUnwindSafe(|| work(job)));
            let result = caught.unwrap_or_else(|panic| {
                let text = panic.downcast_ref::<String>().cloned();
                Err(text.unwrap_or_else(|| "a panic".to_owned()))
            });
            let mut done = done.lock().unwrap();
            report(done.len() + 1, job, &result);
            done.push((number, result));
        }
    };
    thread::scope(|scope| {
        for _ in 0..at_once().min(jobs.len()) {
            scope.spawn(worker);
        }
    });
    let mut done = done.into_inner().unwrap();
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, result)| result).collect()
}

/// A number in the environment.
pub(crate) fn number(variable: &str) -> Option<u64> {
    env::var(variable).ok()?.parse().ok()
}
