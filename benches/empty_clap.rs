//! What any program with clap costs: the measure of an idle tick.

use clap::Parser;

/// Does nothing.
#[derive(Parser)]
struct Empty {
    /// A flag like another.
    #[arg(long)]
    flag: bool,
}

fn main() {
    let empty = Empty::parse();
    std::process::exit(i32::from(empty.flag));
}
