//! Settings of an endpoint as data, for configuration files.

use std::collections::BTreeMap;
use std::time::Duration;

use anabranch_policy::{BufferSize, PolicyRecipe, UnknownName};
use anabranch_proto::AssociationConfig;
use anabranch_secure::KeyParseError;
use thiserror::Error;

use crate::builder::EndpointBuilder;
use crate::streams::StreamLimits;

/// Settings of an endpoint, which serde reads and writes with the feature `serde`. Each has the default of the [`EndpointBuilder`].
///
/// What is secret or code is not among them: [`builder`](Self::builder) returns a builder that takes it.
///
/// ```
/// # fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use anabranch::{PrivateKey, Settings};
/// let mut settings = Settings::default();
/// settings.local = vec!["127.0.0.1:0".to_owned()];
/// settings.policies.insert("stream-scheduler".to_owned(), "wfq".to_owned());
/// let builder = settings.builder()?.identity(PrivateKey::generate()?);
/// # drop(builder);
/// # Ok(())
/// # }
/// # example().unwrap();
/// ```
#[derive(Clone, PartialEq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(default, deny_unknown_fields, rename_all = "kebab-case")
)]
#[non_exhaustive]
pub struct Settings {
    /// Addresses of UDP sockets: [`EndpointBuilder::local`].
    pub local: Vec<String>,
    /// [`EndpointBuilder::listen`].
    pub listen: bool,
    /// [`EndpointBuilder::insecure`].
    pub insecure: bool,
    /// Public keys of peers: [`EndpointBuilder::trust`].
    pub trust: Vec<String>,
    /// [`EndpointBuilder::trust_everyone`].
    pub trust_everyone: bool,
    /// [`EndpointBuilder::follow_interfaces`].
    pub follow_interfaces: bool,
    /// [`EndpointBuilder::backlog`].
    pub backlog: Option<usize>,
    /// [`EndpointBuilder::connect_timeout`], in milliseconds.
    pub connect_timeout_ms: Option<u64>,
    /// [`EndpointBuilder::idle_timeout`], in milliseconds.
    pub idle_timeout_ms: Option<u64>,
    /// [`EndpointBuilder::streams`].
    pub streams: Option<StreamLimits>,
    /// Profile of policies: [`PolicyRecipe::profile`].
    pub profile: Option<String>,
    /// Policies that differ from the profile: [`PolicyRecipe::set`].
    pub policies: BTreeMap<String, String>,
    /// Fixed size of [`AssociationConfig::send_buffer`] in bytes; the default unless set.
    pub send_buffer: Option<u64>,
    /// Fixed size of [`AssociationConfig::receive_buffer`] in bytes; the default unless set.
    pub receive_buffer: Option<u64>,
    /// [`AssociationConfig::mtu`].
    pub mtu: Option<u16>,
    /// [`AssociationConfig::partial_reliability`].
    pub partial_reliability: bool,
}

/// Why there is no endpoint with these settings.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// A profile or policy has another name.
    #[error(transparent)]
    Name(#[from] UnknownName),
    /// A public key is not valid.
    #[error("trust: {0}")]
    Key(#[from] KeyParseError),
}

impl Settings {
    /// A builder with these settings.
    ///
    /// # Errors
    ///
    /// See [`SettingsError`].
    pub fn builder(&self) -> Result<EndpointBuilder, SettingsError> {
        let locals = self.local.iter();
        let mut builder = locals.fold(EndpointBuilder::default(), |builder, local| builder.local(local));
        for key in &self.trust {
            builder = builder.trust(key.parse()?);
        }
        if self.listen {
            builder = builder.listen();
        }
        if self.insecure {
            builder = builder.insecure();
        }
        if self.trust_everyone {
            builder = builder.trust_everyone();
        }
        if self.follow_interfaces {
            builder = builder.follow_interfaces();
        }
        if let Some(backlog) = self.backlog {
            builder = builder.backlog(backlog);
        }
        if let Some(timeout) = self.connect_timeout_ms {
            builder = builder.connect_timeout(Duration::from_millis(timeout));
        }
        if let Some(timeout) = self.idle_timeout_ms {
            builder = builder.idle_timeout(Duration::from_millis(timeout));
        }
        if let Some(limits) = self.streams {
            builder = builder.streams(limits);
        }
        Ok(builder.association_config(self.association()?))
    }

    fn association(&self) -> Result<AssociationConfig, SettingsError> {
        let defaults = AssociationConfig::default();
        let mut policies = match &self.profile {
            Some(profile) => PolicyRecipe::profile(profile)?,
            None => defaults.policies,
        };
        for (key, value) in &self.policies {
            policies.set(key, value)?;
        }
        Ok(AssociationConfig {
            policies,
            send_buffer: self.send_buffer.map_or(defaults.send_buffer, BufferSize::Fixed),
            receive_buffer: self
                .receive_buffer
                .map_or(defaults.receive_buffer, BufferSize::Fixed),
            mtu: self.mtu.unwrap_or(defaults.mtu),
            partial_reliability: self.partial_reliability,
            ..defaults
        })
    }
}
