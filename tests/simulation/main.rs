//! A simulated world for the production engine.

mod git;
