//! Spent state cookies: those of ended associations, which must not create another one.
//!
//! A cookie is spent when the association with its tag has ended or has another tag. Its tag is remembered for as long as the cookie is valid,
//! in two generations. If more associations end than there is room for, the older generation is discarded early, and all
//! cookies created before its end are refused. An honest peer in the middle of its handshake then has to send another INIT.

use alloc::collections::BTreeMap;
use core::time::Duration;

use anabranch_types::{Instant, VerificationTag};

/// Why the cookies for a tag are spent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Spent {
    /// The association has ended, or restarted under another tag.
    Ended,
    /// The handshake started again under another tag.
    Replaced,
}

/// A spent tag.
#[derive(Clone, Copy, Debug)]
struct Tag {
    port: u16,
    why: Spent,
}

/// Tags of ended associations, with their ports.
#[derive(Debug)]
pub(crate) struct SpentTags {
    /// Valid.Cookie.Life: cookies spent longer ago are stale.
    life: Duration,
    earlier: BTreeMap<VerificationTag, Tag>,
    recent: BTreeMap<VerificationTag, Tag>,
    /// When the first tag of `recent` was added, or later.
    recent_since: Instant,
    /// Some of the tags added up to this time are not remembered any more.
    forgotten_until: Option<Instant>,
}

impl SpentTags {
    /// The maximum number of tags in one generation.
    const LIMIT: usize = 65_536;

    pub(crate) const fn new(life: Duration) -> Self {
        Self {
            life,
            earlier: BTreeMap::new(),
            recent: BTreeMap::new(),
            recent_since: Instant::ZERO,
            forgotten_until: None,
        }
    }

    /// Adds the tag that an association had. Returns the ports of the tags that are forgotten instead.
    pub(crate) fn add(
        &mut self,
        (tag, why): (VerificationTag, Spent),
        port: u16,
        now: Instant,
    ) -> impl Iterator<Item = u16> + use<> {
        let is_over = now - self.recent_since >= self.life || self.recent.len() >= Self::LIMIT;
        let forgotten = if is_over {
            self.forgotten_until = Some(self.recent_since);
            self.recent_since = now;
            let recent = core::mem::take(&mut self.recent);
            core::mem::replace(&mut self.earlier, recent)
        } else {
            BTreeMap::new()
        };
        self.recent.insert(tag, Tag { port, why });
        forgotten.into_values().map(|tag| tag.port)
    }

    /// Why the cookies for `tag` are spent; `None` if they are not.
    pub(crate) fn reason(&self, tag: VerificationTag) -> Option<Spent> {
        let spent = self.recent.get(&tag).or_else(|| self.earlier.get(&tag));
        spent.map(|tag| tag.why)
    }

    /// Cookies created up to this time are refused: it is no longer known which of them are spent.
    pub(crate) const fn forgotten_until(&self) -> Option<Instant> {
        self.forgotten_until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIFE: Duration = Duration::from_secs(60);

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    fn add(spent: &mut SpentTags, tag: u32, seconds: u64) -> usize {
        spent
            .add((VerificationTag(tag), Spent::Ended), 9, at(seconds))
            .count()
    }

    #[test]
    fn tag_is_remembered_for_the_life_of_its_cookie() {
        let mut spent = SpentTags::new(LIFE);
        add(&mut spent, 1, 1_000);
        add(&mut spent, 2, 1_059);
        add(&mut spent, 3, 1_060);
        assert!(
            [1, 2, 3]
                .map(VerificationTag)
                .iter()
                .all(|tag| spent.reason(*tag).is_some())
        );
        assert_eq!(add(&mut spent, 4, 1_120), 2, "the ports of the first two");
        assert!(spent.reason(VerificationTag(1)).is_none());
        assert!(spent.reason(VerificationTag(3)).is_some());
        let forgotten = spent.forgotten_until().expect("two tags");
        assert!(
            at(1_059) <= forgotten && forgotten + LIFE <= at(1_120),
            "those are stale"
        );
    }

    #[test]
    fn flood_of_ended_associations_is_remembered_in_bounded_memory() {
        let mut spent = SpentTags::new(LIFE);
        let tags = 3 * SpentTags::LIMIT as u32;
        let freed: usize = (0..tags)
            .map(|tag| add(&mut spent, tag, u64::from(tag) / 10_000))
            .sum();
        let kept = spent.recent.len() + spent.earlier.len();
        assert!(kept <= 2 * SpentTags::LIMIT);
        assert_eq!(kept + freed, tags as usize);
        let forgotten = spent.forgotten_until().expect("there were too many");
        let is_accounted_for = |tag: u32| {
            spent.reason(VerificationTag(tag)).is_some() || at(u64::from(tag) / 10_000) <= forgotten
        };
        assert!((0..tags).all(is_accounted_for));
    }
}
