//! Calls of handlers in tests.
