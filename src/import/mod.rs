//! Foreign journals and states, once there is a reader for one: through [`crate::journal`] alone,
//! never past the rules of its commit.
