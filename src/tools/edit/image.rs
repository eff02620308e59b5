//! Images as the service takes them: which kind, how large, and whether they are whole.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::message::ToolResult;
use crate::tools::input::ToolError;
use crate::tools::input::tell;

/// The service takes no larger images: 5 MB in base64.
pub(super) const LARGEST: usize = 3_750_000;
/// Nor wider or higher ones, in pixels.
const SIDE: u32 = 8000;

/// Tells an image by its first bytes.
pub(super) fn kind(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// Shows an image, or says why the service would refuse it: a refused request would end the session.
pub(super) fn show(shown: &str, kind: &str, bytes: &[u8]) -> Result<ToolResult, ToolError> {
    if bytes.len() > LARGEST {
        return Err(tell(format!(
            "`{shown}` is an image of {} bytes, the service takes at most {LARGEST}: make it smaller with `bash`",
            bytes.len()
        )));
    }
    let Some((width, height)) = size(kind, bytes).filter(|(width, height)| *width > 0 && *height > 0) else {
        return Err(tell(format!("`{shown}` begins as `{kind}` and is broken or cut off: make it anew")));
    };
    if width > SIDE || height > SIDE {
        return Err(tell(format!(
            "`{shown}` is an image of {width} x {height} pixels, the service takes at most {SIDE} x {SIDE}: make it \
             smaller, or cut it, with `bash`"
        )));
    }
    let source = json!({"type": "base64", "media_type": kind, "data": STANDARD.encode(bytes)});
    Ok(ToolResult { content: json!([{"type": "image", "source": source}]), is_error: false })
}

/// Returns width and height in pixels; none of an image that is not whole.
fn size(kind: &str, bytes: &[u8]) -> Option<(u32, u32)> {
    match kind {
        "image/png" => {
            let named = bytes.get(12..16)? == b"IHDR" && has(bytes, b"IEND");
            named.then_some((big(bytes.get(16..20)?), big(bytes.get(20..24)?)))
        }
        "image/gif" => {
            // The last block is one semicolon; what some programs write behind it does no harm.
            let ended = bytes.len() > 13 && bytes[13..].contains(&b';');
            ended.then_some((little(bytes.get(6..8)?), little(bytes.get(8..10)?)))
        }
        "image/webp" => webp(bytes),
        _ => jpeg(bytes),
    }
}

/// Goes from segment to segment to the one that tells the size.
fn jpeg(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut at = 2;
    loop {
        let [0xff, marker] = *bytes.get(at..at + 2)? else { return None };
        let length = big(bytes.get(at + 2..at + 4)?) as usize;
        match marker {
            // A marker may be filled up in front.
            0xff => at += 1,
            0xc4 | 0xc8 | 0xcc => at += 2 + length,
            0xc0..=0xcf => {
                let (height, width) = (big(bytes.get(at + 5..at + 7)?), big(bytes.get(at + 7..at + 9)?));
                return has(&bytes[at..], b"\xff\xd9").then_some((width, height));
            }
            _ => at += 2 + length,
        }
    }
}

fn webp(bytes: &[u8]) -> Option<(u32, u32)> {
    let told = little(bytes.get(4..8)?) as usize;
    if told + 8 > bytes.len() {
        return None;
    }
    let at = |from: usize, to: usize| bytes.get(from..to).map(little);
    match bytes.get(12..16)? {
        b"VP8 " => Some((at(26, 28)? & 0x3fff, at(28, 30)? & 0x3fff)),
        b"VP8L" => {
            let packed = at(21, 25)?;
            Some(((packed & 0x3fff) + 1, (packed >> 14 & 0x3fff) + 1))
        }
        b"VP8X" => Some((at(24, 27)? + 1, at(27, 30)? + 1)),
        _ => None,
    }
}

fn big(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

fn little(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

fn has(bytes: &[u8], end: &[u8]) -> bool {
    bytes.windows(end.len()).any(|window| window == end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png(width: u32, height: u32) -> Vec<u8> {
        let size = [width.to_be_bytes(), height.to_be_bytes()].concat();
        [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", size.as_slice(), b"\x08\x06\0\0\0crc!\0\0\0\0IEND\xae\x42\x60\x82"].concat()
    }

    fn jpeg(width: u16, height: u16) -> Vec<u8> {
        let size = [height.to_be_bytes(), width.to_be_bytes()].concat();
        let start = b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0\xff\xff\xdb\0\x03\0\xff\xc2\0\x11\x08";
        [start, size.as_slice(), b"\x03\xff\xda data \xff\xd9"].concat()
    }

    fn webp(chunk: &[u8]) -> Vec<u8> {
        let length = u32::try_from(chunk.len() + 4).unwrap();
        [b"RIFF", length.to_le_bytes().as_slice(), b"WEBP", chunk].concat()
    }

    fn told(bytes: &[u8]) -> String {
        match show("a", kind(bytes).unwrap(), bytes) {
            Ok(result) => result.content[0]["source"]["media_type"].as_str().unwrap().to_owned(),
            Err(ToolError::TellModel(text)) => text,
            Err(ToolError::Fatal(error)) => panic!("{error:#}"),
        }
    }

    #[test]
    fn every_kind_is_shown_with_its_type() {
        assert_eq!(told(&png(640, 480)), "image/png");
        assert_eq!(told(&jpeg(640, 480)), "image/jpeg");
        assert_eq!(told(b"GIF89a\x80\x02\xe0\x01\0\0\0,data\0;"), "image/gif");
        assert_eq!(told(&webp(b"VP8X\x0a\0\0\0\0\0\0\0\x7f\x02\0\xdf\x01\0")), "image/webp");
    }

    #[test]
    fn the_size_is_read_from_every_kind() {
        let cases = [
            (png(640, 480), "image/png"),
            (jpeg(640, 480), "image/jpeg"),
            (b"GIF87a\x80\x02\xe0\x01\0\0\0;".to_vec(), "image/gif"),
            (webp(b"VP8 \x12\0\0\0\x30\x01\0\x9d\x01\x2a\x80\x02\xe0\x01"), "image/webp"),
            (webp(b"VP8L\x12\0\0\0\x2f\x7f\xc2\x77\0"), "image/webp"),
            (webp(b"VP8X\x0a\0\0\0\0\0\0\0\x7f\x02\0\xdf\x01\0"), "image/webp"),
        ];
        for (bytes, kind) in cases {
            assert_eq!(size(kind, &bytes), Some((640, 480)), "{kind}");
        }
    }

    #[test]
    fn an_image_that_is_cut_off_or_too_large_says_so() {
        for whole in [png(640, 480), jpeg(640, 480), webp(b"VP8 \x12\0\0\0\x30\x01\0\x9d\x01\x2a\x80\x02\xe0\x01")] {
            for end in [12, whole.len() - 9] {
                assert!(told(&whole[..end]).contains("is broken or cut off"), "{whole:?} {end}");
            }
        }
        assert!(told(b"GIF89a\x80").contains("is broken or cut off"));
        assert!(told(&png(0, 480)).contains("is broken or cut off"));
        assert!(told(&png(8001, 10)).contains("8001 x 10 pixels, the service takes at most 8000 x 8000"));
        assert!(told(&[png(8000, 10), vec![0; LARGEST]].concat()).contains("is an image of 37"));
        assert_eq!(told(&png(8000, 8000)), "image/png");
    }

    #[test]
    fn no_bytes_make_it_panic() {
        for whole in [png(1, 1), jpeg(1, 1), webp(b"VP8L\x12\0\0\0\x2f\x7f\xc2\x77\0")] {
            for at in 12..whole.len() {
                let mut bytes = whole.clone();
                bytes[at] = 0xff;
                told(&bytes);
                told(&bytes[..at]);
            }
        }
    }
}
