// SPDX-License-Identifier: MIT OR Apache-2.0
//! OpenEXR files of three or four channels of half floats, in scan lines compressed by ZIP, which every reader knows.

use super::size_mismatch;
use exr::block::reader::ChunksReader;
use exr::block::writer::ChunksWriter;
use exr::block::{BlockIndex, UncompressedBlock};
use exr::meta::BlockDescription;
use exr::meta::header::Header;
use exr::prelude::{
    ChannelDescription, Compression, Error as ExrError, LineOrder, SampleType, Text, Vec2,
};
use rayon::prelude::*;
use smallvec::smallvec;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};

/// Channels in the order of the file (by name), and the place of each among red, green, blue and alpha.
const CHANNELS: [(&str, usize); 4] = [("A", 3), ("B", 2), ("G", 1), ("R", 0)];
/// Rows that are compressed together, as the format demands of ZIP.
const BLOCK_ROWS: usize = 16;
/// Blocks compressed at once. At half, threads wait for the disk; at twice, memory grows (0.8 MB each at 8,192 columns).
const BATCH: usize = 8;

/// Returns the channels of a file that has `count` of them: alpha is the last to come.
fn channels_of(count: usize) -> &'static [(&'static str, usize)] {
    &CHANNELS[CHANNELS.len() - count..]
}

/// Writes an image of three or four channels, whose rows `fill` fills with the bits of red, green, blue and alpha in turn.
pub(super) fn write(
    file: &mut (impl Write + Seek),
    (width, height, count): (usize, usize, usize),
    fill: impl Fn(usize, &mut [u16]) + Sync,
    report: impl Fn(f64) -> io::Result<()>,
) -> io::Result<()> {
    let channel =
        |&(name, _): &(&'static str, usize)| ChannelDescription::new(name, SampleType::F16, true);
    let channels = channels_of(count).iter().map(channel).collect();
    let mut header = Header::new(Text::default(), (width, height), channels).with_encoding(
        Compression::ZIP16,
        BlockDescription::ScanLines,
        LineOrder::Increasing,
    );
    // Readers put the name of a layer before those of its channels.
    header.own_attributes.layer_name = None;
    let block = |index: usize| {
        let first = index * BLOCK_ROWS;
        let rows = BLOCK_ROWS.min(height - first);
        let mut data = Vec::with_capacity(2 * count * width * rows);
        let mut row = vec![0; count * width];
        for y in first..first + rows {
            fill(y, &mut row);
            for &(_, place) in channels_of(count) {
                let each = row.iter().skip(place).step_by(count);
                data.extend(each.flat_map(|x| x.to_ne_bytes()));
            }
        }
        let index = BlockIndex {
            layer: 0,
            pixel_position: Vec2(0, first),
            pixel_size: Vec2(width, rows),
            level: Vec2(0, 0),
        };
        UncompressedBlock { index, data }
    };
    let blocks: Vec<usize> = (0..height.div_ceil(BLOCK_ROWS)).collect();
    let done = exr::block::write(
        BufWriter::new(file),
        smallvec![header],
        true,
        |meta, chunks| {
            for batch in blocks.chunks(BATCH) {
                report(batch[0] as f64 / blocks.len() as f64).map_err(ExrError::Io)?;
                let compress = |&index: &usize| block(index).compress_to_chunk(&meta.headers);
                let compressed: Vec<_> = batch.par_iter().map(compress).collect();
                for (&index, chunk) in batch.iter().zip(compressed) {
                    chunks.write_chunk(index, chunk?)?;
                }
            }
            Ok(())
        },
    );
    done.map_err(|error| match error {
        ExrError::Io(error) => error,
        other => io::Error::other(other.to_string()),
    })
}

/// Reads an image of a known size, `[height, width, count]`. The reason for a refusal is a sentence about the file.
pub(super) fn read(
    file: impl Read + Seek,
    (width, height, count): (usize, usize, usize),
) -> Result<Vec<u16>, String> {
    let damaged = |e: ExrError| match e {
        ExrError::NotSupported(_) => {
            "it is of a kind of EXR that is not read; write it again".into()
        }
        e => format!("it is damaged: {e}; write it again"),
    };
    let opened = exr::block::read(BufReader::new(file), false).map_err(damaged)?;
    check_headers(opened.headers(), (width, height), channels_of(count))?;
    let mut values = Vec::new();
    values
        .try_reserve_exact(count * width * height)
        .map_err(|e| e.to_string())?;
    values.resize(count * width * height, 0_u16);
    let mut lines_left = vec![count; height];
    let blocks = opened
        .all_chunks(false)
        .map_err(damaged)?
        .sequential_decompressor(false);
    let channels = blocks.meta_data().headers[0].channels.clone();
    for block in blocks {
        let block = block.map_err(damaged)?;
        for line in block.lines(&channels) {
            let at = line.location;
            let (y, place) = (at.position.y(), channels_of(count)[at.channel].1);
            let row = y * count * width + count * at.position.x() + place;
            let to = values[row..].iter_mut().step_by(count);
            for (to, bytes) in to.zip(line.value.chunks_exact(2)) {
                *to = u16::from_ne_bytes([bytes[0], bytes[1]]);
            }
            lines_left[y] = lines_left[y].saturating_sub(1);
        }
    }
    match lines_left.iter().all(|&left| left == 0) {
        true => Ok(values),
        false => Err("it is cut off; write it again".into()),
    }
}

/// Checks that a file has one layer of scan lines with these half channels, of the known size, compressed without loss.
fn check_headers(
    headers: &[Header],
    expected: (usize, usize),
    wanted: &[(&str, usize)],
) -> Result<(), String> {
    let [header] = headers else {
        return Err("it has several layers; save its offsets alone".into());
    };
    let is_known = |(channel, (name, _)): (&ChannelDescription, &(&str, usize))| {
        channel.name == **name
            && channel.sample_type == SampleType::F16
            && channel.sampling == Vec2(1, 1)
    };
    let channels = &header.channels.list;
    let lossless = matches!(
        header.compression,
        Compression::Uncompressed | Compression::RLE | Compression::ZIP1 | Compression::ZIP16
    );
    let known = channels.len() == wanted.len() && channels.iter().zip(wanted).all(is_known);
    if header.deep || header.blocks != BlockDescription::ScanLines || !known || !lossless {
        let names = match wanted.len() {
            3 => "three half channels R, G and B",
            _ => "four half channels R, G, B and A",
        };
        let kind = "in scan lines, compressed without loss";
        return Err(format!("it does not have {names} {kind}; save it so"));
    }
    let size = (header.layer_size.x(), header.layer_size.y());
    match size == expected {
        true => Ok(()),
        false => Err(size_mismatch(size, expected)),
    }
}
