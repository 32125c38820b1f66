// SPDX-License-Identifier: MIT OR Apache-2.0
//! What contact cannot part in a clip, as sentences: bones that lie in something, and bones that fold what they alone hold.

use super::{Clip, ClipFrame};
use crate::body::{Body, corner_frames, corner_volume};
use crate::contact::{ContactPoint, LEAST_DETERMINANT};
use std::collections::BTreeMap;

/// What overlaps by less than this part of the body's size is not seen.
const VISIBLE: f64 = 5e-4;
/// So many pairs of each kind are named, those first that are there longest, and so many spans of frames.
const NAMED: usize = 4;
const SPANS: usize = 3;

/// Where something was found.
#[derive(Default)]
struct Found {
    frames: Vec<usize>,
    /// Metres.
    deepest: f64,
}

impl Found {
    fn add(&mut self, frame: usize, depth: f64) {
        if self.frames.last() != Some(&frame) {
            self.frames.push(frame);
        }
        self.deepest = self.deepest.max(depth);
    }
}

impl Clip {
    /// What contact cannot part, a sentence each: bones alone hold it. Frames count from 0. Nothing in clips without contact.
    pub fn contact_notes(&self) -> Vec<String> {
        let mut inside: BTreeMap<[String; 2], Found> = BTreeMap::new();
        let mut folded: BTreeMap<Vec<u32>, Found> = BTreeMap::new();
        for (at, frame) in self.read().iter().enumerate() {
            for contact in frame.contacts.points.iter() {
                let depth = -contact.gap;
                if contact.held && depth > VISIBLE * self.body.size() {
                    let parts = self.parts(contact);
                    inside.entry(parts).or_default().add(at, depth);
                }
            }
            if frame.contacts.held_cells > 0 {
                for bones in folding(&self.body, frame) {
                    folded.entry(bones).or_default().add(at, 0.0);
                }
            }
        }
        let inside = longest(inside, |[part, other], found| {
            let (when, depth) = (spans(&found.frames), 1e3 * found.deepest);
            format!(
                "{when}: {part} lies up to {depth:.1} mm deep in {other}, and bones alone hold both: contact cannot part \
                 them, keep them further apart"
            )
        });
        let folded = longest(folded, |bones, found| {
            let names: Vec<String> = bones.iter().map(|&b| self.bone(b)).collect();
            let when = spans(&found.frames);
            let names = listed(&names);
            match bones.len() {
                1 => {
                    format!("{when}: {names} folds what it alone holds: contact cannot help there")
                }
                _ => format!(
                    "{when}: {names} fold what they alone hold: contact cannot help there, keep them further apart"
                ),
            }
        });
        [inside, folded].concat()
    }

    /// What touches and what is touched, in words; parts of the body itself in one order.
    fn parts(&self, contact: &ContactPoint) -> [String; 2] {
        let names = self.body_names();
        let part = self.bone_at(contact.vertex);
        match contact.other as usize {
            own if own == self.body_index() => {
                let mut both = [part, self.bone_at(contact.partner)];
                both.sort();
                both
            }
            body if body < names.len() && !names[body].is_empty() => {
                [part, format!("'{}'", names[body])]
            }
            body if body < names.len() => [part, format!("body {body}")],
            collider => [part, format!("collider {}", collider - names.len())],
        }
    }

    /// The bone that holds the flesh at a vertex of the surface.
    fn bone_at(&self, vertex: u32) -> String {
        let held = self.body.bone_of_vertex();
        if vertex as usize >= self.body.embedding().len() {
            return "a vertex".into();
        }
        let row = self.body.embedding().row(vertex as usize);
        let heaviest = row
            .filter_map(|(node, weight)| Some((held[node]?, weight)))
            .max_by(|a, b| a.1.total_cmp(&b.1));
        heaviest.map_or_else(|| "a vertex".into(), |(bone, _)| self.bone(bone))
    }

    fn bone(&self, bone: u32) -> String {
        let own = self.body_names().get(self.body_index());
        let of = own.filter(|name| !name.is_empty());
        let of = of.map_or(String::new(), |name| format!(" of '{name}'"));
        let bones = self.body.skeleton().names();
        format!("bone '{}'{of}", bones[bone as usize])
    }
}

/// Of each cell near inversion that hangs on bones alone, these, ascending.
fn folding(body: &Body, frame: &ClipFrame) -> Vec<Vec<u32>> {
    let (rest, held) = (body.lattice().vertices(), body.bone_of_vertex());
    let mut found = Vec::new();
    for cell in body.lattice().cells() {
        let corners = cell.corners();
        let bones: Option<Vec<u32>> = corners.iter().map(|&v| held[v as usize]).collect();
        let Some(mut bones) = bones else {
            continue;
        };
        let flat = corner_frames(cell).iter().any(|corner| {
            let corner = corner.map(|i| corners[i] as usize);
            let now = corner_volume(corner, |v| frame.lattice.world(v));
            now < LEAST_DETERMINANT * corner_volume(corner, |v| rest[v])
        });
        if flat {
            bones.sort_unstable();
            bones.dedup();
            found.push(bones);
        }
    }
    found
}

/// The sentences of those that are there longest, and how many more there are.
fn longest<K>(found: BTreeMap<K, Found>, told: impl Fn(&K, &Found) -> String) -> Vec<String> {
    let mut all: Vec<(K, Found)> = found.into_iter().collect();
    all.sort_by_key(|(_, found)| std::cmp::Reverse(found.frames.len()));
    let sentences = all.iter().take(NAMED).map(|(key, found)| told(key, found));
    let mut sentences: Vec<String> = sentences.collect();
    if all.len() > NAMED {
        sentences.push(format!("... and {} such pairs more", all.len() - NAMED));
    }
    sentences
}

/// "frame 5", "frames 3 to 9 and 12", or how many of which.
fn spans(frames: &[usize]) -> String {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for &frame in frames {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == frame => *last = frame,
            _ => runs.push((frame, frame)),
        }
    }
    if let [(only, last)] = runs[..]
        && only == last
    {
        return format!("frame {only}");
    }
    if let ([(first, _), .., (_, last)], true) = (&runs[..], runs.len() > SPANS) {
        return format!("{} of the frames {first} to {last}", frames.len());
    }
    let words = runs.iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first} to {last}"),
    });
    format!("frames {}", listed(&words.collect::<Vec<_>>()))
}

/// "a, b and c".
fn listed(words: &[String]) -> String {
    match words {
        [all @ .., last] if !all.is_empty() => format!("{} and {last}", all.join(", ")),
        _ => words.concat(),
    }
}
