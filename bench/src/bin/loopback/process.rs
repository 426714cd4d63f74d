//! Second process of the loopback benchmark. The program runs itself again; the second process prints its address and,
//! at the end, what it received.

use std::error::Error;
use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Instant;

use anabranch_bench::Stopwatch;

pub(crate) type Failure = Box<dyn Error + Send + Sync>;

/// The first word on the command line of a second process.
pub(crate) const SERVE: &str = "serve";

/// Messages between two readings of the clock.
pub(crate) const BATCH: usize = 64;

/// A process that is killed when this is dropped.
pub(crate) struct Process(pub(crate) Child);

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself; either way nothing is left to do.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A second process.
pub(crate) struct Server {
    output: Lines<BufReader<ChildStdout>>,
    _process: Process,
}

impl Server {
    pub(crate) fn start(role: &str, setup: &str) -> Result<Self, Failure> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args([SERVE, role, setup]);
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        let output = child.stdout.take().expect("invariant: its output is piped");
        Ok(Self {
            output: BufReader::new(output).lines(),
            _process: Process(child),
        })
    }

    pub(crate) fn line(&mut self) -> Result<String, Failure> {
        Ok(self.output.next().ok_or("the second process ended early")??)
    }

    /// The work of both ends, of which this process did `sent`.
    pub(crate) fn joined_with(self, sent: Work) -> Result<Work, Failure> {
        let work = self.received_of(sent)?;
        assert_eq!(work.bytes, sent.bytes, "everything arrives");
        Ok(work)
    }

    /// The work of both ends, if not everything has to arrive.
    pub(crate) fn received_of(mut self, sent: Work) -> Result<Work, Failure> {
        let line = self.line()?;
        let numbers = line.split(' ').map(str::parse).collect::<Result<Vec<f64>, _>>()?;
        let [bytes, wall, cpu] = numbers[..] else {
            return Err(line.into());
        };
        let cpu = cpu + sent.cpu;
        Ok(Work { bytes, wall, cpu })
    }
}

/// Runs `work` and all its tasks on this thread, so that the thread's CPU time is theirs.
///
/// Each process has a logical processor of its own, where that is possible. Otherwise the scheduler of the system puts both on one at
/// times, and a measurement has one of two results that are far apart. Two logical processors may still share a core.
pub(crate) fn on_this_thread<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let _own = processors::take(usize::from(std::env::args().any(|word| word == SERVE)));
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().build()?.block_on(work)
}

/// Whether each process can have a logical processor of its own.
pub(crate) fn are_pinned() -> bool {
    (0..2).all(|number| processors::take(number).is_some())
}

#[cfg(target_os = "linux")]
mod processors {
    use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
    use nix::unistd::Pid;

    /// The thread of the caller.
    const THIS: Pid = Pid::from_raw(0);

    /// Gives the thread its former processors again when this is dropped, so that processes that it starts have them.
    pub(super) struct Own(CpuSet);

    /// Takes the logical processor of this number among those that the thread may use, if there is one.
    pub(super) fn take(number: usize) -> Option<Own> {
        let all = sched_getaffinity(THIS).ok()?;
        let mut usable = (0..CpuSet::count()).filter(|processor| all.is_set(*processor).unwrap_or(false));
        let mut one = CpuSet::new();
        one.set(usable.nth(number)?).ok()?;
        sched_setaffinity(THIS, &one).ok()?;
        Some(Own(all))
    }

    impl Drop for Own {
        fn drop(&mut self) {
            // Only the processes that are started from now on would notice.
            let _ = sched_setaffinity(THIS, &self.0);
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod processors {
    /// There is no such choice.
    pub(super) fn take(_number: usize) -> Option<()> {
        None
    }
}

/// Work done: bytes of messages, and seconds of wall and CPU time.
#[derive(Clone, Copy)]
pub(crate) struct Work {
    pub(crate) bytes: f64,
    pub(crate) wall: f64,
    pub(crate) cpu: f64,
}

impl Work {
    /// Bytes per second.
    pub(crate) fn rate(&self) -> f64 {
        self.bytes / self.wall
    }

    /// Prints the work for the first process.
    pub(crate) fn print(self) {
        println!("{} {} {}", self.bytes, self.wall, self.cpu);
    }
}

/// Measures wall and CPU time of this thread.
pub(crate) struct Meter(Instant, Stopwatch);

impl Meter {
    pub(crate) fn start() -> Self {
        Self(Instant::now(), Stopwatch::start())
    }

    pub(crate) fn has_run(&self, seconds: f64) -> bool {
        self.0.elapsed().as_secs_f64() >= seconds
    }

    pub(crate) fn stop(&self, bytes: usize) -> Work {
        let (wall, cpu) = (self.0.elapsed().as_secs_f64(), self.1.elapsed().as_secs_f64());
        let bytes = bytes as f64;
        Work { bytes, wall, cpu }
    }
}
