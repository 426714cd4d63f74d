//! Processor models of simulated hosts, by name.

use anabranch_sim::ProcessorModel;
use serde::de::{Deserialize, Deserializer, Error};
use serde::{Serialize, Serializer};

use super::error::unknown_name;

/// One of [`ProcessorModel::NAMED`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Processor {
    name: &'static str,
    /// Processing times.
    pub model: ProcessorModel,
}

impl<'de> Deserialize<'de> for Processor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wanted = String::deserialize(deserializer)?;
        let mut known = ProcessorModel::NAMED.iter();
        let found = known.find(|(name, _)| *name == wanted);
        let names = || ProcessorModel::NAMED.iter().map(|(name, _)| *name);
        found
            .map(|&(name, model)| Self { name, model })
            .ok_or_else(|| D::Error::custom(unknown_name("processor", &wanted, names())))
    }
}

impl Serialize for Processor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name)
    }
}
