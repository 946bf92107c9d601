//! The command line as people and programs see it: one snapshot of standard output, standard
//! error and exit code for each case. Update with `INSTA_UPDATE=always`.

mod audit;
mod batch;
mod configuration;
mod demo;
mod enqueue;
mod environment;
mod errors;
mod help;
mod init;
mod journal;
mod log;
mod operator;
mod output;
mod post;
mod resume;
mod show;
mod status;
mod tick;
