//! Event logs and packet captures. Which files are written besides the results, on request?

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use anabranch_sim::{Association, Direction, Observer, Scenario, Side, Simulation, Transport};
use anabranch_trace::log::{Clock, EventLog, LogInfo, PathView};
use anabranch_types::{AssociationId, Instant, PathAddr};
use sha2::{Digest as _, Sha256};

use super::cache::hex;
use super::{Record, RunError};
use crate::plan::Point;

/// Folders for the files of each run, recorded at its near end.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Files {
    /// Folder for event logs, described in `docs/event-log.md`; SCTP only.
    pub events: Option<PathBuf>,
    /// Folder for packet captures in pcapng format.
    pub captures: Option<PathBuf>,
}

impl Files {
    /// Whether no files are requested.
    pub(super) const fn are_none(&self) -> bool {
        self.events.is_none() && self.captures.is_none()
    }

    /// Returns the files of one run.
    pub(super) fn of(&self, point: &Point, names: &Names) -> Recording {
        let title = names.of(point);
        let file = |folder: &Option<PathBuf>, ending| {
            let folder = folder.as_ref()?;
            Some(folder.join(format!("{title}.{ending}")))
        };
        Recording {
            events: file(&self.events, "jsonl"),
            capture: file(&self.captures, "pcapng"),
            title,
        }
    }
}

/// Files of one run. A file gets its final name when it is complete; until then its name ends in `.part`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Recording {
    title: String,
    events: Option<PathBuf>,
    capture: Option<PathBuf>,
}

impl Recording {
    /// Fails if events are requested: event logs exist for SCTP only.
    pub(super) fn refuse_events(&self) -> Result<(), RunError> {
        if self.events.is_none() {
            return Ok(());
        }
        let text = "only of SCTP events are written; a capture shows the packets of others";
        Err(RunError::Files(text.into()))
    }

    /// Whether nothing is written.
    pub(super) const fn is_none(&self) -> bool {
        self.events.is_none() && self.capture.is_none()
    }

    /// Adds packet capture to the scenario, if requested.
    pub(super) fn capture<T: Transport>(&self, scenario: Scenario<T>) -> io::Result<Scenario<T>> {
        Ok(match self.capture_file()? {
            Some(file) => scenario.capture(Side::Near, file),
            None => scenario,
        })
    }

    fn capture_file(&self) -> io::Result<Option<BufWriter<File>>> {
        self.capture.as_deref().map(create).transpose()
    }

    /// Attaches an event log to the simulation, if requested.
    pub(super) fn observe(&self, simulation: &mut Simulation) -> io::Result<()> {
        let Some(file) = &self.events else {
            return Ok(());
        };
        let about = LogInfo {
            title: &self.title,
            name: "near",
            connects: true,
            clock: Clock::Virtual,
        };
        let log = EventLog::new(create(file)?, &about);
        simulation.act(Side::Near, |host, _| host.observe(Box::new(Chronicle(log))));
        Ok(())
    }

    /// Renames or deletes the files at the end of a run. The files of an interrupted run are deleted; those of a failed
    /// run are kept.
    pub(super) fn settle(&self, outcome: Result<Record, RunError>) -> Result<Record, RunError> {
        let is_kept = !matches!(outcome, Err(RunError::Interrupted));
        for file in self.events.iter().chain(&self.capture) {
            let begun = begun(file);
            let settled = match is_kept {
                true => fs::rename(&begun, file),
                false => fs::remove_file(&begun),
            };
            if outcome.is_ok() {
                settled.map_err(|error| RunError::Files(format!("{}: {error}", file.display())))?;
            }
        }
        outcome
    }
}

/// Name of the file until it is complete.
fn begun(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".part");
    name.into()
}

fn create(file: &Path) -> io::Result<BufWriter<File>> {
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", file.display()));
    let create = || {
        fs::create_dir_all(file.parent().unwrap_or(file))?;
        File::create(begun(file))
    };
    Ok(BufWriter::new(create().map_err(named)?))
}

/// File names of the runs of a plan: series, coordinates and seed, plus a digest where several runs would share a name,
/// as with `-5` and `5`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Names {
    /// Names shared by several runs.
    shared: BTreeSet<String>,
}

impl Names {
    pub(super) fn of_all(points: &[Point]) -> Self {
        let mut names = Self::default();
        let mut known = BTreeMap::new();
        for parts in points.iter().map(parts) {
            let name = plain_name(&parts);
            let other = known.entry(name.clone()).or_insert_with(|| parts.clone());
            if *other != parts {
                names.shared.insert(name);
            }
        }
        names
    }

    fn of(&self, point: &Point) -> String {
        let parts = parts(point);
        let name = plain_name(&parts);
        match self.shared.contains(&name) {
            true => format!("{name}_{}", hex(&Sha256::digest(parts.join("\n"))[..4])),
            false => name,
        }
    }
}

/// Returns the text parts that identify a run within its plan.
fn parts(point: &Point) -> Vec<String> {
    let line = [Some(&point.series), point.single_path.as_ref()]
        .into_iter()
        .flatten()
        .cloned();
    let coordinates = point.coordinates.iter();
    let coordinates = coordinates.map(|coordinate| format!("{} {}", coordinate.axis, coordinate.text));
    let parts = line.chain(coordinates).chain([format!("seed {}", point.seed)]);
    parts.collect()
}

fn plain_name(parts: &[String]) -> String {
    let parts: Vec<String> = parts.iter().map(|part| plain(part)).collect();
    parts.join("_")
}

/// Keeps only letters, digits, dots and minus signs, which are safe in file systems and shells.
fn plain(text: &str) -> String {
    let keeps = |letter: char| letter.is_ascii_alphanumeric() || letter == '.';
    let words = text
        .split(|letter: char| !keeps(letter))
        .filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-").to_ascii_lowercase()
}

/// Writes the events of a host to the log.
struct Chronicle<W>(EventLog<W>);

impl<W: io::Write + Send> Observer for Chronicle<W> {
    fn on_packet(&mut self, now: Instant, direction: Direction, path: PathAddr, packet: &[u8]) {
        let way = match direction {
            Direction::Sent => anabranch_trace::log::Direction::Sent,
            Direction::Received => anabranch_trace::log::Direction::Received,
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
                rescheduled: path.counters.rescheduled,
            })
        });
        self.0.paths(now, id, &views.collect::<Vec<_>>());
    }

    fn finish(&mut self) -> io::Result<()> {
        self.0.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Coordinate;
    use crate::run::tests::{PLAN, plan};

    #[test]
    fn file_names_get_a_hash_only_if_ambiguous() {
        let run = plan(PLAN).points.remove(0);
        let at = |text: &str| {
            let axis = "offset".to_owned();
            let coordinates = vec![Coordinate {
                axis,
                text: text.into(),
                number: text.parse().ok(),
            }];
            Point {
                coordinates,
                ..run.clone()
            }
        };
        let points = ["5", "-5", "10"].map(at);
        let names = Names::of_all(&points);
        let [five, minus_five, ten] = [0, 1, 2].map(|index| names.of(&points[index]));
        assert_eq!(ten, "base_offset-10_seed-1");
        assert!(
            five != minus_five && five.starts_with("base_offset-5_seed-1_"),
            "{five}"
        );
    }
}
