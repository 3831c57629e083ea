//! The integration tests of the domain, one binary.

mod cron_conformance;
mod cron_oracle;
mod cron_properties;
mod laws;
