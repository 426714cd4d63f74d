//! Live view of associations: samples of their statistics, and a server for a page, metrics and the status.
//!
//! A program hands over the statistics of its associations a few times per second and tells what happens; browsers see both at once.
//!
//! | file | question |
//! |---|---|
//! | `samples` | what do the statistics of two moments say about the time between them? |
//! | `dashboard.rs` | who gets to know what? |
//! | `server` | who may ask, and how is it answered? |
//! | `metrics.rs` | what does Prometheus get? |
//! | `assets` | the page itself |

mod dashboard;
mod metrics;
mod samples;
mod server;

pub use dashboard::{Dashboard, Note, Severity};
pub use samples::{Amount, INTERVAL};
pub use server::{Server, Token, TokenError, url};
