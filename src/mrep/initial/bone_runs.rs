// SPDX-License-Identifier: MIT OR Apache-2.0
//! The bones along a tube, recovered from the positions of its hubs.

use crate::mrep::figures::figure::Figure;
use crate::skeleton::Skeleton;

/// Largest distance of hubs from bones, over the figure's size. A tenth of a millimetre of a limb of a metre, far above the single precision of
/// files.
const MAX_HUB_DISTANCE: f64 = 1e-4;

/// A bone, and the part of a tube that lies on it.
#[derive(Debug, Clone, Copy)]
pub(in crate::mrep) struct BoneSpan {
    pub bone: u32,
    /// u of its beginning and end.
    pub ends: [f64; 2],
    /// True for a last bone that continues beyond its tail to the end of the flesh.
    pub tip: bool,
}

impl BoneSpan {
    /// Returns the hubs of `among` that lie on the bone, head first. `None`: fewer than two.
    pub fn hubs_on_bone(
        &self,
        figure: &Figure,
        among: std::ops::RangeInclusive<usize>,
    ) -> Option<Vec<u32>> {
        let near = 1e-9;
        let [head, tail] = self.ends;
        let on = |i: &usize| (head - near..=tail + near).contains(&figure.knots()[*i]);
        let hubs: Vec<u32> = among.filter(on).map(|i| i as u32).collect();
        (hubs.len() > 1).then_some(hubs)
    }
}

/// Returns the bones along a figure, in order, one from each joint to the next.
///
/// # Errors
/// The reason why the figure does not lie on bones.
pub(in crate::mrep) fn bone_spans(
    figure: &Figure,
    skeleton: &Skeleton,
) -> Result<Vec<BoneSpan>, String> {
    let near = MAX_HUB_DISTANCE * figure.size();
    let hub = |u: f64| {
        let at = figure.knots().iter().position(|k| (k - u).abs() < 1e-9);
        at.map(|i| figure.atoms()[i].hub)
    };
    let mut out: Vec<BoneSpan> = Vec::new();
    for (i, pair) in figure.joints().windows(2).enumerate() {
        let ends = hub(pair[0]).zip(hub(pair[1]));
        let (head, tail) = ends.ok_or("its joints are no longer hubs")?;
        let begins = |b: &usize| (skeleton.heads()[*b] - head).norm() <= near;
        let is_on = |b: &usize| begins(b) && (skeleton.tails()[*b] - tail).norm() <= near;
        let is_last = i + 2 == figure.joints().len();
        let before = out.last().map(|span| span.bone);
        let goes_on = |b: &usize| {
            is_last && before.is_some() && skeleton.parents()[*b] == before && begins(b)
        };
        let on = (0..skeleton.len()).find(is_on).map(|b| (b, false));
        let found = on.or_else(|| (0..skeleton.len()).find(goes_on).map(|b| (b, true)));
        let (bone, tip) = found.ok_or(
            "between two of its joints there is no bone: it rounds a sharp corner, one bone ends elsewhere than the \
             next begins, or it was moved",
        )?;
        out.push(BoneSpan {
            bone: bone as u32,
            ends: [pair[0], pair[1]],
            tip,
        });
    }
    match out.is_empty() {
        true => Err("it was not made along bones".into()),
        false => Ok(out),
    }
}
