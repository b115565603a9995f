//! What the attributes say about misuse, and at which token. Errors of types are rustc's own, in
//! words that differ between its versions: they are examples that fail to compile, in the
//! documentation of the traits.

#[test]
fn misuse_is_an_error_at_its_token() {
    trybuild::TestCases::new().compile_fail("tests/misuse/*.rs");
}
