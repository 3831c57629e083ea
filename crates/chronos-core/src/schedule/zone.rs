//! stub
use serde::{Deserialize, Serialize};
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zone(chrono_tz::Tz);
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown time zone \"{0}\"")]
pub struct UnknownZone(pub String);
impl Zone {
    pub const UTC: Self = Self(chrono_tz::UTC);
    pub fn parse(s: &str) -> Result<Self, UnknownZone> {
        s.parse().map(Self).map_err(|_| UnknownZone(s.into()))
    }
    pub fn tz(self) -> chrono_tz::Tz {
        self.0
    }
    pub fn name(self) -> &'static str {
        self.0.name()
    }
}
impl std::fmt::Display for Zone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.name())
    }
}
impl Serialize for Zone {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(self.0.name())
    }
}
impl<'de> Deserialize<'de> for Zone {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let s = String::deserialize(d)?;
        Zone::parse(&s).map_err(serde::de::Error::custom)
    }
}
