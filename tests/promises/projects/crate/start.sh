# Adds numbers in Rust. It adds two only; `tests/sum.rs` asks for more.
cat >Cargo.toml <<'EOF'
[package]
name = "sum"
version = "0.1.0"
edition = "2024"
EOF
echo target >.gitignore
mkdir src tests
cat >src/lib.rs <<'EOF'
pub fn sum(numbers: &[i64]) -> i64 {
    numbers[0] + numbers[1]
}
EOF
cat >tests/sum.rs <<'EOF'
#[test]
fn two() {
    assert_eq!(sum::sum(&[1, 2]), 3);
}

#[test]
fn many() {
    assert_eq!(sum::sum(&[1, 2, 3, 4]), 10);
}
EOF
