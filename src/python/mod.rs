//! PyO3 bindings and nothing else, one file per room of the crate.
