//! stub
use super::Zone;
use crate::Timestamp;
use serde::{Deserialize, Serialize};
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("bad cron {0}")]
pub struct CronError(String);
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cron {
    e: String,
    z: Zone,
    c: Box<croner::Cron>,
}
impl Cron {
    pub fn parse(e: &str, z: Zone) -> Result<Self, CronError> {
        let c = croner::parser::CronParser::builder()
            .seconds(croner::parser::Seconds::Optional)
            .build()
            .parse(e)
            .map_err(|x| CronError(x.to_string()))?;
        Ok(Self {
            e: e.into(),
            z,
            c: Box::new(c),
        })
    }
    pub fn next_after(&self, t: Timestamp) -> Option<Timestamp> {
        self.c
            .find_next_occurrence(&t.to_datetime().with_timezone(&self.z.tz()), false)
            .ok()
            .map(|d| d.to_utc().into())
    }
    pub fn describe(&self) -> String {
        self.e.clone()
    }
    pub fn expression(&self) -> &str {
        &self.e
    }
    pub fn zone(&self) -> Zone {
        self.z
    }
    pub fn shifted_from(&self, _: Timestamp) -> Option<chrono::NaiveDateTime> {
        None
    }
}
impl Serialize for Cron {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        (&self.e, self.z).serialize(s)
    }
}
impl<'de> Deserialize<'de> for Cron {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let (e, z) = <(String, Zone)>::deserialize(d)?;
        Cron::parse(&e, z).map_err(serde::de::Error::custom)
    }
}
