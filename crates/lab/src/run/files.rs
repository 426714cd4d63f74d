//! What is written down of a run beside its results? A log of events, a capture of packets, if asked for.

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use anabranch_sim::tcp::TcpScenario;
use anabranch_sim::{Association, Direction, Observer, Scenario, Side, Simulation};
use anabranch_trace::log::{About, Clock, EventLog, PathView, Way};
use anabranch_types::{AssociationId, Instant, PathAddr};

use crate::plan::Point;

/// Folders for a file of each run, of what its near end sees.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Files {
    /// For logs of events, which `docs/event-log.md` describes; of SCTP only.
    pub events: Option<PathBuf>,
    /// For captures of packets, in pcapng format.
    pub captures: Option<PathBuf>,
}

impl Files {
    /// Whether nothing is to be written.
    pub(super) const fn are_none(&self) -> bool {
        self.events.is_none() && self.captures.is_none()
    }

    /// The scenario, captured if it is to be.
    pub(super) fn capture(&self, point: &Point, scenario: Scenario) -> io::Result<Scenario> {
        Ok(match self.capture_of(point)? {
            Some(file) => scenario.capture(Side::Near, file),
            None => scenario,
        })
    }

    /// The same of one whose data TCP carries.
    pub(super) fn capture_tcp(&self, point: &Point, scenario: TcpScenario) -> io::Result<TcpScenario> {
        Ok(match self.capture_of(point)? {
            Some(file) => scenario.capture(Side::Near, file),
            None => scenario,
        })
    }

    fn capture_of(&self, point: &Point) -> io::Result<Option<BufWriter<File>>> {
        let folder = self.captures.as_ref();
        folder.map(|folder| create(folder, point, "pcapng")).transpose()
    }

    /// Lets a log see what happens, if there is to be one.
    pub(super) fn observe(&self, point: &Point, simulation: &mut Simulation) -> io::Result<()> {
        let Some(folder) = &self.events else {
            return Ok(());
        };
        let about = About {
            title: &name(point),
            name: "near",
            connects: true,
            clock: Clock::Virtual,
        };
        let log = EventLog::new(create(folder, point, "jsonl")?, &about);
        simulation.act(Side::Near, |host, _| host.observe(Box::new(Chronicle(log))));
        Ok(())
    }
}

/// Completes the files.
pub(super) fn finish(simulation: &mut Simulation) -> io::Result<()> {
    simulation.finish_captures()?;
    simulation.act(Side::Near, |host, _| host.finish_observation())
}

fn create(folder: &Path, point: &Point, ending: &str) -> io::Result<BufWriter<File>> {
    let file = folder.join(format!("{}.{ending}", name(point)));
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", file.display()));
    let create = || {
        fs::create_dir_all(folder)?;
        File::create(&file)
    };
    Ok(BufWriter::new(create().map_err(named)?))
}

/// What the files of a point are called: its line, coordinates and seed.
fn name(point: &Point) -> String {
    let line = [Some(&point.line), point.alone.as_ref()]
        .into_iter()
        .flatten()
        .cloned();
    let coordinates = point.coordinates.iter();
    let coordinates = coordinates.map(|coordinate| format!("{} {}", coordinate.axis, coordinate.text));
    let parts = line.chain(coordinates).chain([format!("seed {}", point.seed)]);
    let parts: Vec<String> = parts.map(|part| plain(&part)).collect();
    parts.join("_")
}

/// Letters, digits, dots and minus signs, as file systems and shells like them.
fn plain(text: &str) -> String {
    let keeps = |letter: char| letter.is_ascii_alphanumeric() || letter == '.';
    let words = text
        .split(|letter: char| !keeps(letter))
        .filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-").to_ascii_lowercase()
}

/// Writes down what a host does.
struct Chronicle<W>(EventLog<W>);

impl<W: io::Write + Send> Observer for Chronicle<W> {
    fn on_packet(&mut self, now: Instant, direction: Direction, path: PathAddr, packet: &[u8]) {
        let way = match direction {
            Direction::Sent => Way::Sent,
            Direction::Received => Way::Received,
        };
        self.0.packet(now, way, path, packet);
    }

    fn on_association(&mut self, now: Instant, id: AssociationId, association: &Association) {
        let statistics = association.statistics();
        let facts = association.path_facts();
        let views = statistics.paths.iter().filter_map(|path| {
            Some(PathView {
                facts: facts.iter().find(|facts| facts.id == path.id)?,
                addr: path.addr,
                timeouts: path.counters.timeouts,
                fast_retransmits: path.counters.fast_retransmits,
                rescued: path.counters.rescued,
            })
        });
        self.0.paths(now, id, &views.collect::<Vec<_>>());
    }

    fn finish(&mut self) -> io::Result<()> {
        self.0.finish()
    }
}
