//! Recovery, by the real program: killed at named points and from outside, then ticked until
//! quiet. Outcomes and run counts are those of a run that nobody disturbed.

mod bench;
mod crash_points;
mod faults;
mod killed;
mod leaving;
mod prefix;
mod shipping;
mod sweep;
