//! See the map in [`crate`].
