//! Claims about the domain as its users see it, in one binary.

mod laws;
