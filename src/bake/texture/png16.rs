// SPDX-License-Identifier: MIT OR Apache-2.0
//! PNG files of three or four channels of 16 bits, without any statement of colour: the numbers are not light.

use png::{BitDepth, ColorType, Compression, Decoder, Encoder, Limits};
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};

/// Memory that a decoder may take beside the rows, bytes: rows of 16,384 texels take 0.1 MB.
const MAX_DECODER_MEMORY: usize = 1 << 24;

/// Returns the kind of a file that has `count` channels.
fn color_type(count: usize) -> ColorType {
    match count {
        3 => ColorType::Rgb,
        _ => ColorType::Rgba,
    }
}

/// Writes an image of three or four channels, whose rows `fill` fills with red, green, blue and alpha in turn.
pub(super) fn write(
    file: &mut (impl Write + Seek),
    (width, height, count): (usize, usize, usize),
    fill: impl Fn(usize, &mut [u16]),
    report: impl Fn(f64) -> io::Result<()>,
) -> io::Result<()> {
    let mut encoder = Encoder::new(BufWriter::new(file), width as u32, height as u32);
    encoder.set_color(color_type(count));
    encoder.set_depth(BitDepth::Sixteen);
    encoder.set_compression(Compression::Fast);
    let mut header = encoder.write_header()?;
    let mut stream = header.stream_writer()?;
    let (mut row, mut bytes) = (
        vec![0; count * width],
        Vec::with_capacity(2 * count * width),
    );
    for y in 0..height {
        report(y as f64 / height as f64)?;
        fill(y, &mut row);
        bytes.clear();
        bytes.extend(row.iter().flat_map(|x| x.to_be_bytes()));
        stream.write_all(&bytes)?;
    }
    stream.finish()?;
    header.finish()?;
    Ok(())
}

/// Reads an image of a known size, `[height, width, count]`. The reason for a refusal is a sentence about the file.
pub(super) fn read(
    file: impl Read + Seek,
    (width, height, count): (usize, usize, usize),
) -> Result<Vec<u16>, String> {
    let damaged = |e: png::DecodingError| format!("it is damaged: {e}; write it again");
    let limits = Limits {
        bytes: MAX_DECODER_MEMORY,
    };
    let mut reader = Decoder::new_with_limits(BufReader::new(file), limits)
        .read_info()
        .map_err(damaged)?;
    let info = reader.info();
    if (info.color_type, info.bit_depth) != (color_type(count), BitDepth::Sixteen) {
        let (number, kind) = match count {
            3 => ("three", "RGB"),
            _ => ("four", "RGBA"),
        };
        return Err(format!(
            "it has not {number} channels of 16 bits; save it as {kind} of 16 bits"
        ));
    }
    let size = (info.width as usize, info.height as usize);
    if size != (width, height) || info.interlaced {
        return Err(super::size_mismatch(size, (width, height)));
    }
    let mut values = Vec::new();
    values
        .try_reserve_exact(count * width * height)
        .map_err(|e| e.to_string())?;
    while let Some(row) = reader.next_row().map_err(damaged)? {
        let each = row.data().chunks_exact(2);
        values.extend(each.map(|b| u16::from_be_bytes([b[0], b[1]])));
    }
    match values.len() == count * width * height {
        true => Ok(values),
        false => Err("it is cut off; write it again".into()),
    }
}
