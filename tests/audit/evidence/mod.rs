//! Rule 13: what each decision rests on.

pub mod batch;
pub mod journal;
pub mod member;
pub mod work;
