//! Live view of associations: samples of their statistics, and a server for a page, metrics and the status.
//!
//! A program hands over the statistics of its associations a few times per second and tells what happens; browsers see both at once.
//!
//! | file | question |
//! |---|---|
//! | `samples` | what do the statistics of two moments say about the time between them? |
//! | `dashboard.rs` | who gets to know what? |
//! | `view.rs` | what does a reader within the program see? |
//! | `server` | who may ask, and how is it answered? |
//! | `metrics.rs` | what does Prometheus get? |
//! | `assets` | the page itself |

mod dashboard;
mod metrics;
mod samples;
mod server;
mod view;

pub use dashboard::{Dashboard, Note, Severity};
pub use samples::{Amount, Entry, HistoryError, INTERVAL, Limit, PathSample, Sample};
pub use server::{Server, Token, TokenError, url};
pub use view::{Listed, PathRates, Shown, View};
