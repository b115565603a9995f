//! Frames. See SPEC.md, "Frames".

/// The JSON message.
pub const HEADER: u32 = 1;
/// The object.
pub const BODY: u32 = 2;

/// The data of the first segment with the tag; `None` if there is none, or if the
/// frame is cut before it.
pub fn segment(mut frame: &[u8], tag: u32) -> Option<&[u8]> {
    loop {
        let (found, rest) = number(frame)?;
        let (len, rest) = number(rest)?;
        let (data, rest) = rest.split_at_checked(len as usize)?;
        if found == tag {
            return Some(data);
        }
        frame = rest;
    }
}

fn number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((u32::from_le_bytes(*number), rest))
}
