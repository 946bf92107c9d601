//! Real supervisors over real commands: each test is one rule of 3-engine.md or one row of the
//! cases about processes. They wait for conditions; only the commands under test sleep.

mod crashes;
mod descriptors;
mod floods;
mod handshake;
mod leftovers;
#[path = "../recovery/faults/namespaces.rs"]
mod namespaces;
mod numbers;
mod place;
mod stops;
mod storms;
mod supervisors;
