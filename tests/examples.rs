// SPDX-License-Identifier: MIT OR Apache-2.0
//! The examples of the crate run to their ends; what they hold about physics they assert themselves.

use std::process::Command;

/// Runs `examples/NAME.rs`, which `cargo test` has built beside this test, and returns its output.
fn run_example(name: &str) -> String {
    let test = std::env::current_exe().expect("a test has a place");
    let profile = test
        .parent()
        .and_then(std::path::Path::parent)
        .expect("it lies in target/PROFILE/deps");
    let example = profile
        .join("examples")
        .join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    let ran = Command::new(&example).output();
    let ran = ran.unwrap_or_else(|e| {
        panic!(
            "{}: {e}; `cargo build --examples` makes it",
            example.display()
        )
    });
    assert!(
        ran.status.success(),
        "{name}: {}",
        String::from_utf8_lossy(&ran.stderr)
    );
    String::from_utf8(ran.stdout).expect("it prints text")
}

macro_rules! example_tests {
    ($($name:ident: $says:literal,)*) => {
        $(
            #[test]
            fn $name() {
                let output = run_example(stringify!($name));
                assert!(output.contains($says), "{output}");
            }
        )*
    };
}

example_tests! {
    swinging_arm: "from the plain skin",
    softness: "of the size",
    driven_rig: "control 0: 0.00 mm",
    dragged_modes: "none missing: true",
    balance_and_inverse: "as the adjoint predicts: 4.000000 mm",
    saved_body: "to the bit",
}
