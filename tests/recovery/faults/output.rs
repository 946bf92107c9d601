//! A gate that prints without end.

use super::ended;
use crate::bench::{Bench, WORKS};

const LIMIT: u64 = 1 << 20;
/// Prints 64 MiB if nobody stops it, at most 6 MiB a second, and would then fail its member.
const PRINTS: &str = "i=0; while [ $i -lt 1024 ]; do head -c 65536 /dev/zero; sleep 0.01
    i=$((i+1)); done; exit 1";

#[test]
fn a_gate_that_prints_too_much_is_stopped_and_inconclusive_and_blames_nobody() {
    let gate = format!("[ -e \"$HOME/mended\" ] || {{ {PRINTS}; }}");
    let bench = Bench::with_settings(WORKS, &gate, "output_limit = \"1MiB\"", |_| {});
    bench.ok(&["enqueue", "--batch", "b1", "--issues", "good"]);
    bench.settle(&[]);
    let stops = bench.events("stop-requested");
    assert_eq!((stops.len(), &stops[0]["reason"]), (1, &"output-limit".into()));
    let exited = &bench.events("dispatch-exited")[1];
    assert_eq!(exited["verdict"], "inconclusive", "{exited}");
    let size = exited["exit"]["output"]["bytes"].as_u64().unwrap();
    assert!(size > LIMIT && size < 32 * LIMIT, "{size} bytes");
    let batch = bench.status()["batches"][0].clone();
    assert_eq!(batch["blocked_reason"], "gate-inconclusive:unit", "{batch}");
    assert!(bench.events("member-evicted").is_empty());
    std::fs::write(bench.beside("mended"), "").unwrap();
    bench.ok(&["resume", "--batch", "b1"]);
    bench.settle(&[]);
    ended(&bench, "resumed");
    assert_eq!(bench.outcome().base, "good (#good)\nfirst\n");
    assert_eq!(bench.outcome().agents, ["agent good"]);
}
