//! `anabranch lab trace`: generates a rate trace of an access network.

use std::time::Duration;

use anabranch_emu::netsim::TraceModel;
use anabranch_types::Seed;

use crate::arguments::{LabTraceArguments, ModelArgument};
use crate::failure::Failure;
use crate::output::print;

/// Longest trace: each millisecond takes memory while it is generated.
const LONGEST: Duration = Duration::from_secs(3_600);

pub(super) fn run(arguments: &LabTraceArguments) -> Result<(), Failure> {
    let model = match arguments.model {
        ModelArgument::Lte => TraceModel::Lte,
        ModelArgument::Starlink => TraceModel::Starlink,
        ModelArgument::Wifi => TraceModel::WiFi,
    };
    let LabTraceArguments {
        rate, duration, seed, ..
    } = *arguments;
    if duration > LONGEST {
        return Err(Failure::Usage("--duration: expected at most 1h".into()));
    }
    let Some(trace) = model.trace(rate, duration, Seed(seed)) else {
        let text = "--rate and --duration: expected between one and 2^32 packets of 1,500 bytes";
        return Err(Failure::Usage(text.into()));
    };
    match &arguments.out {
        Some(file) => std::fs::write(file, trace.to_string())
            .map_err(|error| Failure::Work(format!("{}: {error}", file.display()))),
        None => print(trace.to_string()),
    }
}
