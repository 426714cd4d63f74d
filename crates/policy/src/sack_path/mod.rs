//! On which path is a SACK sent?
//!
//! | name | idea |
//! |---|---|
//! | `data-source` | back to where the last data came from |
//! | `primary` | on the primary path |

mod data_source;
mod primary;

pub use data_source::DataSource;
pub use primary::Primary;

#[cfg(test)]
mod tests;
