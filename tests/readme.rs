//! The README is true where a program can tell.

use std::path::Path;

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

#[test]
fn the_verifier_in_the_readme_is_the_one_that_is_tested() {
    let readme = read("README.md");
    let quoted = readme.split("```python\n").nth(1).unwrap().split("```").next().unwrap();
    assert_eq!(quoted, read("fixtures/verify.py"));
}

#[test]
fn ci_runs_the_test_command_that_the_readme_gives() {
    assert!(read("README.md").contains("./.ci/test"));
    assert!(read(".ci/run").lines().any(|line| line == ".ci/test"));
}
