//! What has a name and a place in a row? Paths, applications and rivals: tables whose order in the file counts.

use core::fmt;
use core::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

/// Things by name, in the order of the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Named<T>(pub Vec<(String, T)>);

impl<T> Named<T> {
    /// The thing called `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&T> {
        self.0
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, thing)| thing)
    }

    /// Where in the row it stands, from 0.
    #[must_use]
    pub fn position(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|(known, _)| known == name)
    }

    /// All names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// All things with their names.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&str, &T)> {
        self.0.iter().map(|(name, thing)| (name.as_str(), thing))
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.0.len()
    }
}

impl<T> Default for Named<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Reader<T> {
            type Value = Named<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("tables with names of your choice")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Named<T>, A::Error> {
                let mut things = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    things.push(entry);
                }
                Ok(Named(things))
            }
        }

        deserializer.deserialize_map(Reader(PhantomData))
    }
}

impl<T: Serialize> Serialize for Named<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.len()))?;
        for (name, thing) in self.iter() {
            map.serialize_entry(name, thing)?;
        }
        map.end()
    }
}
