//! Statistics of an association at regular intervals, as a stream.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use anabranch_proto::AssociationStatistics;
use futures_core::Stream;

use crate::association::Association;
use crate::association::weak::WeakAssociation;
use crate::runtime::Ticks;

/// Statistics at regular intervals, as a [`Stream`]: [`Association::statistics_every`]. It ends after those that follow the end of the
/// association. It does not keep the association open.
#[derive(Debug)]
pub struct StatisticsWatch {
    association: WeakAssociation,
    ticks: Ticks,
    is_over: bool,
}

impl Association {
    /// The statistics now and then every `interval`; intervals that the reader misses are left out.
    ///
    /// # Panics
    ///
    /// If `interval` is zero.
    #[must_use]
    pub fn statistics_every(&self, interval: Duration) -> StatisticsWatch {
        StatisticsWatch {
            association: self.downgrade(),
            ticks: self.home().within(|| Ticks::new(interval)),
            is_over: false,
        }
    }
}

impl StatisticsWatch {
    /// The next statistics; `None` after the end.
    ///
    /// Nothing is lost if the future is dropped before it is ready.
    pub async fn next(&mut self) -> Option<AssociationStatistics> {
        poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }
}

impl Stream for StatisticsWatch {
    type Item = AssociationStatistics;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        ready!(self.ticks.poll(context));
        let association = self.association.upgrade();
        self.is_over = association.as_ref().is_none_or(Association::is_closed);
        Poll::Ready(association.map(|association| association.statistics()))
    }
}
