//! The engine from outside, on virtual time.

mod world;
