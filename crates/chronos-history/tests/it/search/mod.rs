//! What happened is found by its words, by whoever may see it, whatever happens on the way.

mod crashing;
mod indexing;
mod language;
mod paging;
mod seeing;
mod world;
