//! Frames. See SPEC.md, "Frames".

use std::ops::Range;

/// Tags of segments.
pub mod tag {
    /// The JSON message.
    pub const HEADER: u32 = 1;
    /// The object.
    pub const BODY: u32 = 2;
    /// The last handled state, or the value of the field before.
    pub const OLD: u32 = 3;
    /// The current state, or the value of the field now.
    pub const NEW: u32 = 4;
    /// The differences between old and new.
    pub const DIFF: u32 = 5;
    /// The raw watch event.
    pub const EVENT: u32 = 6;
    /// The newest known body, for daemons and timers.
    pub const FRESH: u32 = 7;
}

/// The data of the first segment with the tag; `None` if there is none, or if the
/// frame is cut before it.
pub fn find_segment(frame: &[u8], tag: u32) -> Option<&[u8]> {
    frame.get(place_of_segment(frame, tag)?)
}

/// Where in the frame that data is.
pub fn place_of_segment(frame: &[u8], tag: u32) -> Option<Range<usize>> {
    let mut rest = frame;
    loop {
        let (found, after) = number(rest)?;
        let (len, after) = number(after)?;
        let start = frame.len() - after.len();
        (_, rest) = after.split_at_checked(len as usize)?;
        if found == tag {
            return Some(start..frame.len() - rest.len());
        }
    }
}

/// Appends a segment to a frame.
pub fn push_segment(frame: &mut Vec<u8>, tag: u32, data: &[u8]) {
    frame.extend_from_slice(&tag.to_le_bytes());
    frame.extend_from_slice(&(data.len() as u32).to_le_bytes());
    frame.extend_from_slice(data);
}

fn number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((u32::from_le_bytes(*number), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_found_in_any_order() {
        let mut frame = Vec::new();
        push_segment(&mut frame, tag::HEADER, b"{}");
        push_segment(&mut frame, 99, b"");
        push_segment(&mut frame, tag::BODY, b"body");
        assert_eq!(frame, b"\x01\0\0\0\x02\0\0\0{}\x63\0\0\0\0\0\0\0\x02\0\0\0\x04\0\0\0body");
        assert_eq!(find_segment(&frame, tag::HEADER), Some(&b"{}"[..]));
        assert_eq!(find_segment(&frame, tag::BODY), Some(&b"body"[..]));
        assert_eq!(find_segment(&frame, tag::OLD), None);
        for cut in 0..frame.len() {
            assert_eq!(find_segment(&frame[..cut], tag::BODY), None, "cut at {cut}");
        }
    }
}
