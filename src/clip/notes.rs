// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sentences about overlaps that contact cannot part in a clip: bones that lie in flesh or colliders, and bones that fold flesh that they alone hold.

use super::{Clip, ClipFrame};
use crate::body::Body;
use crate::contact::{BuriedBone, ContactPoint, MIN_DETERMINANT};
use crate::lattice::corner_volume;
use std::collections::BTreeMap;

/// Depth of an overlap below which it is invisible, in sizes of the body.
const MIN_VISIBLE_DEPTH: f64 = 5e-4;
/// Number of pairs named of each kind, the longest lasting first; and the largest number of spans of frames listed.
const MAX_NAMED_FINDINGS: usize = 4;
const MAX_LISTED_SPANS: usize = 3;
/// Number of bones named that lie in one object.
const MAX_NAMED_PARTS: usize = 3;

/// Frames and depth of one finding.
#[derive(Default)]
struct Finding {
    frames: Vec<usize>,
    /// Largest depth, metres.
    deepest: f64,
}

impl Finding {
    fn add(&mut self, frame: usize, depth: f64) {
        if self.frames.last() != Some(&frame) {
            self.frames.push(frame);
        }
        self.deepest = self.deepest.max(depth);
    }
}

/// Bones and other parts that lie in one object, and the frames in which they do.
#[derive(Default)]
struct IntrusionFinding {
    found: Finding,
    /// Largest depth of each part, metres.
    parts: BTreeMap<String, f64>,
}

impl IntrusionFinding {
    fn add(&mut self, frame: usize, part: String, depth: f64) {
        self.found.add(frame, depth);
        let deepest = self.parts.entry(part).or_insert(depth);
        *deepest = deepest.max(depth);
    }

    /// Names the deepest parts and counts the others.
    fn name_parts(&self) -> String {
        let mut all: Vec<(&String, f64)> = self.parts.iter().map(|(p, d)| (p, *d)).collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1));
        let mut names: Vec<String> = all
            .iter()
            .take(MAX_NAMED_PARTS)
            .map(|(p, _)| p.to_string())
            .collect();
        match all.len() - names.len() {
            0 => {}
            1 => names.push("another bone".into()),
            more => names.push(format!("{more} other bones")),
        }
        join_words(&names)
    }
}

impl Clip {
    /// Returns a sentence for each overlap that contact cannot part because bones alone hold it. Frames count from 0. Empty for clips without
    /// contact.
    pub fn contact_notes(&self) -> Vec<String> {
        let mut inside: BTreeMap<String, IntrusionFinding> = BTreeMap::new();
        let mut folded: BTreeMap<Vec<u32>, Finding> = BTreeMap::new();
        for (at, frame) in self.read_frames().iter().enumerate() {
            for contact in frame.contacts.points.iter() {
                let depth = -contact.gap;
                if contact.kinematic && depth > MIN_VISIBLE_DEPTH * self.body.size() {
                    let [part, other] = self.name_sides(contact);
                    inside.entry(other).or_default().add(at, part, depth);
                }
            }
            for buried in frame.contacts.buried.iter() {
                let (part, other) = (self.name_bone(buried.bone), self.name_host(buried));
                inside.entry(other).or_default().add(at, part, buried.depth);
            }
            if frame.contacts.held_cells > 0 {
                for bones in folding_bones(&self.body, frame) {
                    folded.entry(bones).or_default().add(at, 0.0);
                }
            }
        }
        let inside = inside.iter().map(|(other, inside)| {
            let (when, depth) = (format_frames(&inside.found.frames), 1e3 * inside.found.deepest);
            let lie = if inside.parts.len() == 1 { "lies" } else { "lie" };
            let sentence = format!(
                "{when}: {} {lie} up to {depth:.1} mm deep in {other}: contact moves flesh, not the bones that hold it, keep \
                 them further apart",
                inside.name_parts()
            );
            (inside.found.frames.len(), sentence)
        });
        let folded = folded.iter().map(|(bones, found)| {
            let names: Vec<String> = bones.iter().map(|&b| self.name_bone(b)).collect();
            let (when, names) = (format_frames(&found.frames), join_words(&names));
            let sentence = match bones.len() {
                1 => {
                    format!("{when}: {names} folds what it alone holds: contact cannot help there")
                }
                _ => format!(
                    "{when}: {names} fold what they alone hold: contact cannot help there, keep them further apart"
                ),
            };
            (found.frames.len(), sentence)
        });
        let (inside, folded) = (inside.collect(), folded.collect());
        [longest_findings(inside), longest_findings(folded)].concat()
    }

    /// Names both sides of a contact; two parts of the body itself are sorted.
    fn name_sides(&self, contact: &ContactPoint) -> [String; 2] {
        let part = self.name_vertex_bone(contact.vertex);
        match contact.other_body as usize {
            own if own == self.body_index() => {
                let mut both = [part, self.name_vertex_bone(contact.other_vertex)];
                both.sort();
                both
            }
            other => [part, self.name_thing(other)],
        }
    }

    /// Names the flesh or collider in which a bone lies.
    fn name_host(&self, buried: &BuriedBone) -> String {
        match buried.other as usize {
            own if own == self.body_index() => self.name_bone(buried.partner),
            other => self.name_thing(other),
        }
    }

    /// Names another body of the scene or a collider.
    fn name_thing(&self, other: usize) -> String {
        let names = self.body_names();
        match names.get(other) {
            Some(name) if !name.is_empty() => format!("'{name}'"),
            Some(_) => format!("body {other}"),
            None => format!("collider {}", other - names.len()),
        }
    }

    /// Names the bone that holds the flesh at a vertex of the surface.
    fn name_vertex_bone(&self, vertex: u32) -> String {
        let held = self.body.bone_of_vertex();
        if vertex as usize >= self.body.embedding().len() {
            return "a vertex".into();
        }
        let row = self.body.embedding().row(vertex as usize);
        let heaviest = row
            .filter_map(|(node, weight)| Some((held[node]?, weight)))
            .max_by(|a, b| a.1.total_cmp(&b.1));
        heaviest.map_or_else(|| "a vertex".into(), |(bone, _)| self.name_bone(bone))
    }

    fn name_bone(&self, bone: u32) -> String {
        let own = self.body_names().get(self.body_index());
        let of = own.filter(|name| !name.is_empty());
        let of = of.map_or(String::new(), |name| format!(" of '{name}'"));
        let bones = self.body.skeleton().names();
        format!("bone '{}'{of}", bones[bone as usize])
    }
}

/// Returns the bones of each element near inversion that depends on bones alone, ascending. A cell is judged at its corners, an element of a
/// body with details by its pieces.
fn folding_bones(body: &Body, frame: &ClipFrame) -> Vec<Vec<u32>> {
    let (basis, held) = (body.basis(), body.bone_of_vertex());
    let mut found = Vec::new();
    for (element, functions) in basis.all_functions().enumerate() {
        let bones: Option<Vec<u32>> = functions.iter().map(|&v| held[v as usize]).collect();
        let Some(mut bones) = bones else {
            continue;
        };
        let flat = match basis.levels() {
            0 => is_cell_flat(body, element, frame),
            _ => {
                let elements = body.elements();
                let least = elements.least_determinant(element, |v| frame.lattice.world(v));
                least.is_some_and(|least| least < MIN_DETERMINANT)
            }
        };
        if flat {
            bones.sort_unstable();
            bones.dedup();
            found.push(bones);
        }
    }
    found
}

/// Returns whether a cell is near inversion at a corner.
fn is_cell_flat(body: &Body, cell: usize, frame: &ClipFrame) -> bool {
    let (rest, cell) = (body.lattice().vertices(), &body.lattice().cells()[cell]);
    cell.corner_frames().iter().any(|corner| {
        let corner = corner.map(|i| cell.corners()[i] as usize);
        let now = corner_volume(corner, |v| frame.lattice.world(v));
        now < MIN_DETERMINANT * corner_volume(corner, |v| rest[v])
    })
}

/// Returns the sentences of the longest-lasting findings and a count of the others. Each comes with its number of frames.
fn longest_findings(mut all: Vec<(usize, String)>) -> Vec<String> {
    all.sort_by_key(|(frames, _)| std::cmp::Reverse(*frames));
    let more = all.len().saturating_sub(MAX_NAMED_FINDINGS);
    let sentences = all
        .into_iter()
        .take(MAX_NAMED_FINDINGS)
        .map(|(_, sentence)| sentence);
    let more = (more > 0).then(|| format!("... and {more} more of that kind"));
    sentences.chain(more).collect()
}

/// Formats frames: "frame 5", "frames 3 to 9 and 12", or a count with the range.
fn format_frames(frames: &[usize]) -> String {
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
    if let ([(first, _), .., (_, last)], true) = (&runs[..], runs.len() > MAX_LISTED_SPANS) {
        return format!("{} of the frames {first} to {last}", frames.len());
    }
    let words = runs.iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first} to {last}"),
    });
    format!("frames {}", join_words(&words.collect::<Vec<_>>()))
}

/// Joins words: "a, b and c".
fn join_words(words: &[String]) -> String {
    match words {
        [all @ .., last] if !all.is_empty() => format!("{} and {last}", all.join(", ")),
        _ => words.concat(),
    }
}
