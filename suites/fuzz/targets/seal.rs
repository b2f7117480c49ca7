//! The seal of the engine's own files, so that what lies behind a checksum is reached, too.

/// Lines that begin with `!` as the engine would write them, the others as they are.
pub fn lines(bytes: &[u8]) -> Vec<u8> {
    let mut lines = Vec::new();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        match line.strip_prefix(b"!") {
            Some(entry) => lines.extend(sealed(entry.strip_suffix(b"\n").unwrap_or(entry))),
            None => lines.extend_from_slice(line),
        }
    }
    lines
}

fn sealed(entry: &[u8]) -> Vec<u8> {
    let frame = format!("{{\"crc\":\"{:08x}\",\"len\":{},\"entry\":", crc32c(entry), entry.len());
    [frame.as_bytes(), entry, b"}\n"].concat()
}

/// The checksum of the formats, the slow and short way.
pub fn crc32c(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { (crc >> 1) ^ 0x82f6_3b78 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}
