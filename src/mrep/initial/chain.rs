// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tubes along chains of bones: an arm, a leg, a tail, a neck.

use crate::Vec3;
use crate::geometry::polyline::arc_lengths;
use crate::mrep::error::MRepError;
use crate::mrep::figures::figure::{Figure, FigureKind};
use crate::mrep::initial::line_tube::{HubLine, ShrunkTube};
use crate::mrep::initial::skin::FigureSkin;
use crate::skeleton::{Skeleton, SkinWeights};
use crate::surface::Surface;

/// Resolution of a tube along a chain of bones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainSettings {
    /// Largest number of atoms per bone: one at its head and the others between. Bones that are short for their thickness get fewer; one more atom
    /// ends the chain.
    pub atoms_per_bone: usize,
    /// Spokes around each atom.
    pub spokes: usize,
}

impl Default for ChainSettings {
    fn default() -> Self {
        Self {
            atoms_per_bone: 3,
            spokes: 8,
        }
    }
}

impl Figure {
    /// Builds a tube along a chain of bones, with hubs on the bones and spokes to the skin that follows them. Its `joints` are the bones' joints. It
    /// is an initial figure: a fit with held hubs brings it onto the skin.
    ///
    /// Hubs leave the bones to round corners that are too sharp for the chain's thickness. A last bone that ends long before its skin, such as
    /// importers' stubs, is extended towards the centroid of that skin's area, most of the way to its far end.
    ///
    /// # Errors
    /// Bones that do not form a chain; skin weights for another mesh; no skin that follows the bones.
    pub fn from_skeleton(
        surface: &Surface,
        skeleton: &Skeleton,
        skin: &SkinWeights,
        bones: &[u32],
        settings: ChainSettings,
    ) -> Result<Self, MRepError> {
        let chain = order_chain(skeleton, bones)?;
        if !(1..=64).contains(&settings.atoms_per_bone) {
            return Err(MRepError::Count {
                what: "the number of atoms per bone",
                found: settings.atoms_per_bone,
                least: 1,
                most: 64,
            });
        }
        FigureKind::Tube {
            atoms: 2,
            spokes: settings.spokes,
        }
        .check()?;
        let weights = skin;
        let skin = chain_skin(surface, skeleton, weights, &chain)?;
        let row = BoneChain::new(surface, skeleton, weights, &chain)?;
        row.tube(&skin, settings).map_err(|why| match why {
            MRepError::Bones(why) => {
                MRepError::Bones(format!("bones {}: {why}", names(skeleton, &chain)))
            }
            MRepError::Sharp { u } => {
                let bone = chain[row.bone_at(u)];
                MRepError::Bones(format!(
                    "the chain {} turns too sharply at bone {} for its thickness: end it before that bone, or give it a tail that goes \
                     on from the one before",
                    names(skeleton, &chain),
                    names(skeleton, &[bone])
                ))
            }
            other => other,
        })
    }
}

/// Joints of a chain of bones, each bone's tail at the next one's head.
struct BoneChain {
    ends: Vec<Vec3>,
    /// Arc length of each joint along the bones, metres.
    along: Vec<f64>,
}

impl BoneChain {
    /// # Errors
    /// A bone without length.
    fn new(
        surface: &Surface,
        skeleton: &Skeleton,
        skin: &SkinWeights,
        chain: &[u32],
    ) -> Result<Self, MRepError> {
        // Bones turn about their heads, so each bone ends at the next one's head.
        let mut ends: Vec<Vec3> = (chain.iter().map(|b| skeleton.heads()[*b as usize])).collect();
        ends.push(skeleton.effective_tail(surface, skin, chain[chain.len() - 1]));
        let along = arc_lengths(&ends);
        let least = 1e-6 * along[along.len() - 1];
        if let Some(i) = along.windows(2).position(|w| w[1] - w[0] <= least) {
            return Err(MRepError::Bones(format!(
                "bone {} has no length: leave it out, or give it a tail away from its head",
                names(skeleton, &chain[i..=i])
            )));
        }
        Ok(Self { ends, along })
    }

    fn length(&self) -> f64 {
        self.along[self.along.len() - 1]
    }

    /// Returns the bone at u.
    fn bone_at(&self, u: f64) -> usize {
        let reached = self.along.iter().rposition(|a| *a <= u * self.length());
        reached.unwrap_or(0).min(self.along.len() - 2)
    }

    /// Builds the tube, with corners as sharp as possible without losing much of the body.
    fn tube(&self, skin: &FigureSkin<'_>, settings: ChainSettings) -> Result<Figure, MRepError> {
        /// Share of the radii that suffices; and gain in that share that justifies rounding another corner. Half and twice of the second leave tubes
        /// along limbs of five known characters the same. With half and twice of the first they miss them by no more.
        const SUFFICIENT_RADIUS_SHARE: f64 = 0.8;
        const MIN_SHARE_GAIN: f64 = 0.02;
        /// Width of a corner's first rounding, in radii; factor of each further rounding; largest width, in radii. A right angle's corner moves by
        /// 0.56 of the width: by 0.28 radii at first, and by 1.13 with the largest, which leaves a round limb.
        const CORNER_ROUNDING: [f64; 3] = [0.5, 2.0, 2.0];
        /// Largest number of rounds: each corner has three at most (0.5, 1 and 2 radii), and a chain seldom has more than two sharp ones.
        const MAX_ROUNDING_ROUNDS: usize = 8;
        let bones = self.along.len() - 1;
        let mut rounding = vec![0.0; bones + 1];
        let wanted = vec![settings.atoms_per_bone; bones];
        let first = self.hub_line(&wanted, settings.spokes, &rounding);
        let radii = first.radii(skin)?;
        let counts = atom_counts(&first, &radii, settings.atoms_per_bone);
        let mut best: Option<ShrunkTube> = None;
        let mut rounds = 0..MAX_ROUNDING_ROUNDS;
        loop {
            let tight = match self
                .hub_line(&counts, settings.spokes, &rounding)
                .tube(skin)
            {
                Err(MRepError::Sharp { u }) => u,
                Err(other) => return Err(other),
                Ok(made) => {
                    let tight = made.tightest;
                    if (best.as_ref()).is_none_or(|known| made.left > known.left + MIN_SHARE_GAIN) {
                        best = Some(made);
                    }
                    tight
                }
            };
            // The corner nearest to the tightest place, among those that can still be rounded.
            let radius = |j: usize| radii[j * settings.atoms_per_bone];
            let far = |j: &usize| (self.along[*j] / self.length() - tight).abs();
            let again = rounds.next().is_some();
            let free =
                (1..bones).filter(|j| again && rounding[*j] < CORNER_ROUNDING[2] * radius(*j));
            let joint = free.min_by(|a, b| far(a).total_cmp(&far(b)));
            match (best, joint) {
                (Some(made), _) if made.left >= SUFFICIENT_RADIUS_SHARE => return Ok(made.figure),
                (Some(made), None) => return Ok(made.figure),
                (None, None) => return Err(MRepError::Sharp { u: tight }),
                (known, Some(joint)) => {
                    best = known;
                    rounding[joint] = (rounding[joint] * CORNER_ROUNDING[1])
                        .max(CORNER_ROUNDING[0] * radius(joint));
                }
            }
        }
    }

    /// Places hubs along the chain. Each corner is rounded by a Gaussian blur of its width; the ends stay.
    fn hub_line(&self, counts: &[usize], spokes: usize, rounding: &[f64]) -> HubLine {
        let way =
            |k: usize| (self.ends[k + 1] - self.ends[k]) / (self.along[k + 1] - self.along[k]);
        let bones = self.along.len() - 1;
        // Difference of a blurred ramp from a ramp that begins at zero.
        let blurred = |x: f64, width: f64| {
            if width <= 0.0 {
                return 0.0;
            }
            let z = x.abs() / width;
            let density = (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt();
            width * (density - z * 0.5 * libm::erfc(z / std::f64::consts::SQRT_2))
        };
        let off = |s: f64| -> Vec3 {
            let corner = |j: usize| (way(j) - way(j - 1)) * blurred(s - self.along[j], rounding[j]);
            (1..bones).map(corner).sum()
        };
        let [begin, end] = [0.0, self.length()].map(off);
        let at = |k: usize, share: f64| {
            let s = self.along[k] + share * (self.along[k + 1] - self.along[k]);
            let part = s / self.length();
            self.ends[k] + (self.ends[k + 1] - self.ends[k]) * share + off(s)
                - begin * (1.0 - part)
                - end * part
        };
        let on = |k: usize| (0..counts[k]).map(move |i| i as f64 / counts[k] as f64);
        let mut hubs: Vec<Vec3> = (0..bones)
            .flat_map(|k| on(k).map(move |t| at(k, t)))
            .collect();
        hubs.push(self.ends[bones]);
        let mut first = 0;
        let mut joints = vec![0];
        for count in counts {
            first += count;
            joints.push(first);
        }
        HubLine {
            hubs,
            joints,
            ring_radii: Vec::new(),
            spokes,
        }
    }
}

/// Returns the number of atoms of each bone. Bones that are short for their thickness get fewer: spokes much longer than the distance between them
/// cross at the slightest bend.
fn atom_counts(line: &HubLine, radii: &[f64], most: usize) -> Vec<usize> {
    /// Least distance between atoms, in radii. Half of it leaves tubes along limbs of five known characters the same; twice changes what two miss by
    /// 0.03 % of the size at most.
    const MIN_ATOM_DISTANCE: f64 = 0.6;
    (0..line.joints.len() - 1)
        .map(|bone| {
            let hubs = bone * most..=(bone + 1) * most;
            let (from, to) = (line.hubs[*hubs.start()], line.hubs[*hubs.end()]);
            let radius = radii[hubs].iter().copied().fold(f64::INFINITY, f64::min);
            let fits = (to - from).norm() / (MIN_ATOM_DISTANCE * radius);
            (fits.floor() as usize).clamp(1, most)
        })
        .collect()
}

/// Returns the weight of each vertex in a fit to the skin of a chain, 0 to 1. It is 0 where its bones have half of the skin weight or less (the
/// trunk's skin).
pub fn chain_weights(skin: &SkinWeights, bones: &[u32]) -> Vec<f64> {
    let shares = chain_shares(skin, bones);
    shares
        .into_iter()
        .map(|share| (2.0 * share - 1.0).clamp(0.0, 1.0))
        .collect()
}

/// Returns the share of the chain's bones in each vertex's skin weight, 0 to 1.
fn chain_shares(skin: &SkinWeights, bones: &[u32]) -> Vec<f64> {
    let share = |v: usize| {
        let of = skin.row(v).filter(|(bone, _)| bones.contains(bone));
        of.map(|(_, weight)| weight).sum::<f64>().clamp(0.0, 1.0)
    };
    (0..skin.len()).map(share).collect()
}

/// Returns the skin that follows the bones more than others, as a surface.
pub(in crate::mrep) fn chain_surface(
    surface: &Surface,
    skeleton: &Skeleton,
    skin: &SkinWeights,
    bones: &[u32],
) -> Result<Surface, MRepError> {
    check_bones(skeleton, bones)?;
    chain_skin(surface, skeleton, skin, bones)?;
    let shares = chain_shares(skin, bones);
    let mut number = vec![u32::MAX; shares.len()];
    let mut vertices = Vec::new();
    let mut triangles = Vec::new();
    for triangle in surface.triangles() {
        if triangle.iter().any(|v| shares[*v as usize] < 0.5) {
            continue;
        }
        triangles.push(triangle.map(|v| {
            let number = &mut number[v as usize];
            if *number == u32::MAX {
                *number = vertices.len() as u32;
                vertices.push(surface.vertices()[v as usize]);
            }
            *number
        }));
    }
    Surface::new(vertices, triangles).map_err(|_| no_skin_error(skeleton, bones))
}

/// Returns the skin that follows the bones; refuses bones without any.
fn chain_skin<'a>(
    surface: &'a Surface,
    skeleton: &Skeleton,
    skin: &SkinWeights,
    bones: &[u32],
) -> Result<FigureSkin<'a>, MRepError> {
    let mut follows = vec![false; skeleton.len()];
    bones.iter().for_each(|b| follows[*b as usize] = true);
    let skin = FigureSkin::from_bones(surface, skin, &follows)?;
    match skin.is_empty() {
        true => Err(no_skin_error(skeleton, bones)),
        false => Ok(skin),
    }
}

fn no_skin_error(skeleton: &Skeleton, bones: &[u32]) -> MRepError {
    MRepError::Bones(format!(
        "no skin follows the bones {}: give others, or the weights of this mesh",
        names(skeleton, bones)
    ))
}

/// Refuses bones that the skeleton does not have.
fn check_bones(skeleton: &Skeleton, bones: &[u32]) -> Result<(), MRepError> {
    let lost = bones.iter().find(|b| **b as usize >= skeleton.len());
    lost.map_or(Ok(()), |bone| {
        Err(MRepError::Bones(format!(
            "there is no bone {bone}: the skeleton has {}",
            skeleton.len()
        )))
    })
}

/// Returns the quoted names of bones; of many only the first two and the last.
fn names(skeleton: &Skeleton, bones: &[u32]) -> String {
    /// Largest number of bones listed in full.
    const MAX_LISTED_BONES: usize = 6;
    let quoted = |b: &u32| format!("'{}'", skeleton.names()[*b as usize]);
    if let [first, second, .., last] = bones
        && bones.len() > MAX_LISTED_BONES
    {
        let [first, second, last] = [first, second, last].map(quoted);
        return format!("{first}, {second}, … {last} ({} bones)", bones.len());
    }
    bones.iter().map(quoted).collect::<Vec<_>>().join(", ")
}

/// Returns the bones in order from the root of the chain; refuses bones that do not form one.
fn order_chain(skeleton: &Skeleton, bones: &[u32]) -> Result<Vec<u32>, MRepError> {
    let refused = |why: String| Err(MRepError::Bones(why));
    if bones.is_empty() {
        return refused("no bones were given: a tube needs a chain of at least one".into());
    }
    check_bones(skeleton, bones)?;
    for (i, bone) in bones.iter().enumerate() {
        if bones[..i].contains(bone) {
            return refused(format!("bone {} is given twice", names(skeleton, &[*bone])));
        }
    }
    let parent = |bone: u32| skeleton.parents()[bone as usize];
    let is_first = |bone: &&u32| parent(**bone).is_none_or(|p| !bones.contains(&p));
    let firsts: Vec<u32> = bones.iter().filter(is_first).copied().collect();
    let [first] = firsts[..] else {
        return refused(format!(
            "bones {} are not a chain: {} have no parent among them; give bones of which each is the child of the one before",
            names(skeleton, bones),
            names(skeleton, &firsts)
        ));
    };
    let mut chain = vec![first];
    while chain.len() < bones.len() {
        let last = chain[chain.len() - 1];
        let children: Vec<u32> = bones
            .iter()
            .filter(|b| parent(**b) == Some(last))
            .copied()
            .collect();
        let [next] = children[..] else {
            return refused(format!(
                "bones {} are not a chain: {} branch off {}; give bones of which each is the child of the one before",
                names(skeleton, bones),
                names(skeleton, &children),
                names(skeleton, &[last])
            ));
        };
        chain.push(next);
    }
    Ok(chain)
}

#[cfg(test)]
mod tests;
