//! Policies of an association in a plan: a profile and changes to it, checked against the policy catalog.

use core::fmt;

use anabranch_policy::PolicyRecipe;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

/// The policies of an association.
///
/// In a plan it is a table: `profile = "freebsd-2017"`, and choices by the names that `anabranch policies` lists, such as
/// `cc = "lia"` and `"cc.groups" = "shared"`. The profile is applied first, parameters last.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Mechanisms(pub PolicyRecipe);

/// Order in which keys are applied: profile, algorithms, parameters.
pub(super) fn rank(key: &str) -> u8 {
    match key {
        "profile" => 0,
        choice if !choice.contains('.') => 1,
        _ => 2,
    }
}

/// Applies one key, so that an error is reported at its position.
struct Assignment<'r> {
    recipe: &'r mut PolicyRecipe,
    key: String,
}

impl Assignment<'_> {
    fn assign<E: Error>(self, value: &str) -> Result<(), E> {
        if self.key == "profile" {
            *self.recipe = PolicyRecipe::profile(value).map_err(E::custom)?;
            return Ok(());
        }
        self.recipe.set(&self.key, value).map_err(E::custom)
    }
}

impl<'de> DeserializeSeed<'de> for Assignment<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Visitor<'_> for Assignment<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a word or a number; quote the name of a parameter, as in \"cc.growth\" = \"cuc-v1\"")
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        self.assign(value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.assign(&value.to_string())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        self.assign(&value.to_string())
    }
}

impl<'de> Deserialize<'de> for Mechanisms {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Table;

        impl<'de> Visitor<'de> for Table {
            type Value = Mechanisms;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table with a profile and policies")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Mechanisms, A::Error> {
                let mut recipe = PolicyRecipe::default();
                while let Some(key) = map.next_key()? {
                    map.next_value_seed(Assignment {
                        recipe: &mut recipe,
                        key,
                    })?;
                }
                Ok(Mechanisms(recipe))
            }
        }

        deserializer.deserialize_map(Table)
    }
}

/// Writes every policy and parameter, defaults included: everything that a run depends on.
impl Serialize for Mechanisms {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let assignments = self.0.assignments();
        let mut map = serializer.serialize_map(Some(assignments.len()))?;
        for (key, value) in assignments {
            map.serialize_entry(&key, &value)?;
        }
        map.end()
    }
}
