//! `anabranch manual`: writes the manual pages.

use std::fs;
use std::path::Path;

use clap::CommandFactory as _;

use crate::arguments::Arguments;
use crate::failure::Failure;

/// Writes `anabranch.1` and a page for each verb, such as `anabranch-send.1`.
pub(crate) fn write(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(Arguments::command(), folder))
        .map_err(|error| {
            Failure::work(format!(
                "cannot write manual pages to {}: {error}",
                folder.display()
            ))
        })
}
