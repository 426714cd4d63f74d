//! Policy options: a profile, a file, and single assignments.

#[cfg(target_os = "linux")]
use std::ffi::OsString;
use std::path::PathBuf;

use anabranch::{AssociationConfig, BufferSize, PolicyRecipe};
use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::failure::Failure;
use crate::transfer::LONGEST_MESSAGE;

/// Policies: a profile, then a file, then assignments of the command line.
#[derive(Args, Clone, Debug)]
pub(crate) struct Choices {
    /// Profile of policies to start with; `anabranch profiles` lists them
    #[arg(long, value_name = "NAME", default_value = "default", value_parser = profile_names())]
    profile: String,

    /// File with lines such as `path-scheduler = round-robin`, as printed by `anabranch profiles`
    #[arg(long, value_name = "FILE")]
    policies: Option<PathBuf>,

    /// Choose an algorithm or set a parameter: path-scheduler=round-robin, cc.growth=cuc-v1; repeatable.
    /// `anabranch policies` lists all
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_assignment)]
    set: Vec<(String, String)>,
}

impl Choices {
    /// The resulting recipe.
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

#[cfg(target_os = "linux")]
impl Choices {
    /// Environment variables that select the same policies for the sockets library.
    pub(crate) fn variables(&self) -> Result<Vec<(&'static str, OsString)>, Failure> {
        self.recipe()?;
        let mut variables = vec![("ANABRANCH_PROFILE", OsString::from(&self.profile))];
        if let Some(file) = &self.policies {
            // The program may change its folder before it has the first socket.
            let file = std::path::absolute(file).map_err(Failure::usage)?;
            variables.push(("ANABRANCH_POLICIES", file.into()));
        }
        let assignments: Vec<String> = self
            .set
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        if !assignments.is_empty() {
            variables.push(("ANABRANCH_SET", assignments.join(" ").into()));
        }
        Ok(variables)
    }
}

/// Options common to `send`, `recv`, `test` and `demo`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Settings {
    #[command(flatten)]
    choices: Choices,

    /// Size of the send buffer; `auto` grows with what the paths need
    #[arg(long, value_name = "SIZE", default_value = "8MiB")]
    send_buffer: BufferSize,

    /// Size of the receive buffer; `auto` grows with what the paths need
    #[arg(long, value_name = "SIZE", default_value = "8MiB")]
    receive_buffer: BufferSize,
}

impl Settings {
    pub(crate) fn association_config(&self) -> Result<AssociationConfig, Failure> {
        Ok(AssociationConfig {
            policies: self.choices.recipe()?,
            send_buffer: self.send_buffer,
            receive_buffer: self.receive_buffer,
            max_message: LONGEST_MESSAGE,
            ..AssociationConfig::default()
        })
    }
}

/// Profile names, also for shell completion.
fn profile_names() -> PossibleValuesParser {
    PossibleValuesParser::new(anabranch::policy::PROFILES.iter().map(|profile| profile.name))
}

fn parse_assignment(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("expected KEY=VALUE")?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}
