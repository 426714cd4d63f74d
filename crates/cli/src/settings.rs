//! How shall the protocol behave? A profile of mechanisms, and single ones changed by name.

use anabranch::{AssociationConfig, PolicyRecipe};
use clap::Args;

use crate::failure::Failure;

/// Bytes that may be sent and not acknowledged, or received and not written: enough for 1 Gbit/s over 60 ms.
const BUFFER: u64 = 8 << 20;

/// What `send`, `recv` and `demo` have in common.
#[derive(Args, Clone, Debug)]
pub(crate) struct Settings {
    /// Set of mechanisms to begin with: default, rfc9260, cmt or one of a paper
    #[arg(long, value_name = "NAME", default_value = "default", value_parser = parse_profile)]
    profile: PolicyRecipe,

    /// Choose a mechanism or set a parameter: path-scheduler=round-robin, cc.growth=cuc-v1; repeatable. The
    /// verb `mechanisms` lists them all
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_assignment)]
    set: Vec<(String, String)>,
}

impl Settings {
    /// Everything said, in the order of saying.
    pub(crate) fn association_config(&self) -> Result<AssociationConfig, Failure> {
        let mut policies = self.profile;
        for (key, value) in &self.set {
            policies
                .set(key, value)
                .map_err(|error| Failure::Usage(format!("--set {key}={value}: {error}")))?;
        }
        Ok(AssociationConfig {
            policies,
            send_buffer: BUFFER,
            receive_buffer: BUFFER,
            ..AssociationConfig::default()
        })
    }
}

pub(crate) fn parse_profile(name: &str) -> Result<PolicyRecipe, String> {
    PolicyRecipe::profile(name).map_err(|error| error.to_string())
}

fn parse_assignment(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("expected KEY=VALUE")?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}
