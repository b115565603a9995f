//! Requests. See SPEC.md, "call".

use crate::message::message;
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// Headers of HTTP: lists of values by their names.
pub type Headers = BTreeMap<String, Vec<String>>;

/// Who a request is for: see [`Call`].
pub mod target {
    /// The API of Kubernetes.
    pub const KUBERNETES: &str = "kubernetes";
    /// Any other server.
    pub const HTTP: &str = "http";
}

/// The encoding of bodies that are neither texts nor JSON.
pub const BASE64: &str = "base64";

message! {
    /// A request that the host is to make.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct Call {
        /// See [`target`].
        target: String = "target" always,
        /// Of HTTP, in capitals.
        method: String = "method" always,
        /// kubernetes: path and query; http: a URL.
        path: String = "path" always,
        /// Lists of values by names.
        headers: Headers = "headers",
        /// A string is sent as the text in it, any other JSON unchanged.
        body: Option<Json> = "body",
        /// Of the body: [`BASE64`], or nothing.
        encoding: String = "encoding",
        /// Seconds; 0: the limit of the host.
        timeout: f64 = "timeout",
        /// The body of the response is a string, never JSON.
        verbatim: bool = "verbatim",
    }
}

message! {
    /// The answer to a request, whatever its status.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct Response {
        /// Of HTTP.
        status: u16 = "status" always,
        /// Lists of values by names.
        headers: Headers = "headers",
        /// JSON as it came, or a string with a text.
        body: Option<Json> = "body",
        /// Of the body: [`BASE64`], or nothing.
        encoding: String = "encoding",
    }
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Bytes in base64, with padding.
///
/// See <https://www.rfc-editor.org/rfc/rfc4648#section-4>
pub fn to_base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let mut group = [0; 3];
        group[..chunk.len()].copy_from_slice(chunk);
        let bits = u32::from_be_bytes([0, group[0], group[1], group[2]]);
        for i in 0..4 {
            let digit = ALPHABET[(bits >> (18 - 6 * i) & 63) as usize];
            text.push(if i > chunk.len() { '=' } else { digit.into() });
        }
    }
    text
}

/// The bytes of a text in base64; `None` if the text is not base64.
pub fn from_base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let digits = text.strip_suffix("==").or_else(|| text.strip_suffix('=')).unwrap_or(text);
    if !text.len().is_multiple_of(4) {
        return None;
    }
    for chunk in digits.as_bytes().chunks(4) {
        let mut bits = 0;
        for digit in chunk {
            bits = bits << 6 | ALPHABET.iter().position(|known| known == digit)? as u32;
        }
        bits <<= 6 * (4 - chunk.len());
        bytes.extend_from_slice(&bits.to_be_bytes()[1..chunk.len()]);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_there_and_back() {
        for (bytes, text) in [
            (&b""[..], ""),
            (b"f", "Zg=="),
            (b"fo", "Zm8="),
            (b"foo", "Zm9v"),
            (b"foob", "Zm9vYg=="),
            (&[0, 255, 254, 0xfb], "AP/++w=="),
        ] {
            assert_eq!(to_base64(bytes), text);
            assert_eq!(from_base64(text).as_deref(), Some(bytes), "{text}");
        }
        for bad in ["Zg", "Zg=", "Z===", "Zg==Zg==", "Zm 9", "Zm9v\n"] {
            assert_eq!(from_base64(bad), None, "{bad}");
        }
    }
}
