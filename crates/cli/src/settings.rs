//! How shall the protocol behave? A profile of mechanisms, and single ones changed by name.

use std::path::PathBuf;

use anabranch::{AssociationConfig, PolicyRecipe};
use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::failure::Failure;

/// Bytes that may be sent and not acknowledged, or received and not written: enough for 1 Gbit/s over 60 ms.
const BUFFER: u64 = 8 << 20;

/// Which mechanisms to use: a profile, then the changes of a file, then those of the command line.
#[derive(Args, Clone, Debug)]
pub(crate) struct Choices {
    /// Set of mechanisms to begin with; the verb `profiles` says what is in each
    #[arg(long, value_name = "NAME", default_value = "default", value_parser = profile_names())]
    profile: String,

    /// File of choices, `path-scheduler = round-robin` in a line, as the verb `profiles` prints them
    #[arg(long, value_name = "FILE")]
    policies: Option<PathBuf>,

    /// Choose a mechanism or set a parameter: path-scheduler=round-robin, cc.growth=cuc-v1; repeatable. The
    /// verb `policies` lists them all
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_assignment)]
    set: Vec<(String, String)>,
}

impl Choices {
    /// Everything said, in the order of saying.
    pub(crate) fn recipe(&self) -> Result<PolicyRecipe, Failure> {
        let mut recipe = PolicyRecipe::profile(&self.profile).map_err(Failure::usage)?;
        if let Some(file) = &self.policies {
            let shown = file.display();
            let text = std::fs::read_to_string(file)
                .map_err(|error| Failure::Usage(format!("cannot read {shown}: {error}")))?;
            recipe = recipe
                .changed_by(&text)
                .map_err(|error| Failure::Usage(format!("{shown}, {error}")))?;
        }
        for (key, value) in &self.set {
            recipe
                .set(key, value)
                .map_err(|error| Failure::Usage(format!("--set {key}={value}: {error}")))?;
        }
        Ok(recipe)
    }
}

/// What `send`, `recv` and `demo` have in common.
#[derive(Args, Clone, Debug)]
pub(crate) struct Settings {
    #[command(flatten)]
    choices: Choices,
}

impl Settings {
    pub(crate) fn association_config(&self) -> Result<AssociationConfig, Failure> {
        Ok(AssociationConfig {
            policies: self.choices.recipe()?,
            send_buffer: BUFFER,
            receive_buffer: BUFFER,
            ..AssociationConfig::default()
        })
    }
}

/// Shells complete the names.
fn profile_names() -> PossibleValuesParser {
    PossibleValuesParser::new(anabranch::policy::PROFILES.iter().map(|profile| profile.name))
}

fn parse_assignment(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("expected KEY=VALUE")?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}
