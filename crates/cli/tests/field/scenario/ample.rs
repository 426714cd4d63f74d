//! How long a file may take in a scenario: does each uplink that works carry its part?

use super::RETURN;
use super::draw::{Happening, RandomScenario, What};

/// Part of the rates of the uplinks that is carried at least, in percent.
const PERCENT: u64 = 50;

/// Length of a step, in milliseconds.
const STEP: u64 = 10;

/// What a file may take beside that, in milliseconds: processors are shared with other scenarios.
const SPARE: u64 = 8_000;

impl RandomScenario {
    /// Time for the file in milliseconds after the connection: uplinks carry half of their rate while they are left alone.
    pub(crate) fn ample_time(&self) -> u64 {
        let (mut time, mut bits) = (0, 0);
        while bits < self.bytes as u64 * 8 {
            let uplinks = (0..self.uplinks.len()).filter(|uplink| self.is_left_alone(*uplink, time));
            let rate: u64 = uplinks.map(|uplink| self.rate(uplink, time)).sum();
            // One Mbit/s is a thousand bits per millisecond.
            bits += rate * 1_000 * STEP * PERCENT / 100;
            time += STEP;
        }
        time + SPARE
    }

    /// Whether nothing has happened to `uplink` or to an end for some time.
    fn is_left_alone(&self, uplink: usize, time: u64) -> bool {
        let disturbs = |happening: &&Happening| {
            let end = happening.at + happening.lasts.unwrap_or(0);
            match happening.what {
                What::Rate { .. } => false,
                // A hole, a new address and such are only noticed when they begin.
                what if what.cuts().is_none() && !what.suspends() => {
                    what.concerns(uplink) && (happening.at..happening.at + RETURN).contains(&time)
                }
                what => what.concerns(uplink) && (happening.at..end + RETURN).contains(&time),
            }
        };
        !self.happenings.iter().any(|happening| disturbs(&happening))
    }

    /// The rate of `uplink` in Mbit/s.
    fn rate(&self, uplink: usize, time: u64) -> u64 {
        let changed = self.happenings.iter().find_map(|happening| match happening.what {
            What::Rate { uplink: of, mbit } if of == uplink => {
                let end = happening.lasts.map_or(u64::MAX, |lasts| happening.at + lasts);
                (happening.at..end).contains(&time).then_some(mbit)
            }
            _ => None,
        });
        u64::from(changed.unwrap_or(self.uplinks[uplink].mbit))
    }
}

impl What {
    /// Whether it happens to `uplink` or to an end.
    const fn concerns(self, uplink: usize) -> bool {
        match self {
            Self::Unplugged(of)
            | Self::SwitchedOff(of)
            | Self::AddressLost(of)
            | Self::Renumbered(of)
            | Self::MuteClient(of)
            | Self::MuteServer(of)
            | Self::NatRestarted(of)
            | Self::PublicAddress(of)
            | Self::Hole { uplink: of, .. }
            | Self::Rate { uplink: of, .. } => of == uplink,
            Self::ServerAddress | Self::SuspendedSender | Self::SuspendedReceiver => true,
        }
    }
}
