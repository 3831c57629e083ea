//! The integration tests of the domain, one binary.

mod cron_conformance;
