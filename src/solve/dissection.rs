// SPDX-License-Identifier: MIT OR Apache-2.0
//! Nested dissection from coordinates [george1973].
//!
//! Planes split the nodes recursively. Both sides are eliminated before the separator between them. A plane has one
//! of nine normals and leaves at least [`MIN_SIDE_SHARE`] of the nodes on each side. Of these planes the one with the lowest
//! cost is taken: the number of nodes that it cuts, weighted by imbalance. One sweep along a normal counts them for
//! every position. The separator is a minimum vertex cover of the links across the plane, from a maximum matching
//! [konig1931]. Small parts are ordered by minimum degree.

use super::SolveError;
use super::ordering::{Graph, minimum_degree};
use crate::Vec3;
use std::collections::VecDeque;

/// Largest part, in nodes, that is not dissected further.
const MAX_LEAF_NODES: usize = 100;
/// Smallest share of the nodes on each side of a cut.
const MIN_SIDE_SHARE: f64 = 0.35;

/// Normals of the candidate planes.
const CUT_NORMALS: [[f64; 3]; 9] = [
    [1.0, 0.0, 0.0],
    [0.0, 1.0, 0.0],
    [0.0, 0.0, 1.0],
    [1.0, 1.0, 0.0],
    [1.0, -1.0, 0.0],
    [0.0, 1.0, 1.0],
    [0.0, 1.0, -1.0],
    [1.0, 0.0, 1.0],
    [-1.0, 0.0, 1.0],
];

/// Returns an elimination order by nested dissection of a graph with nodes at `centres`.
///
/// # Errors
/// [`SolveError::TooLarge`] when memory runs out.
pub fn nested_dissection(graph: &Graph, centres: &[Vec3]) -> Result<Vec<u32>, SolveError> {
    let n = graph.len();
    let mut work = Dissection {
        graph,
        centres,
        rank: vec![OUTSIDE_RANK; n],
        order: Vec::with_capacity(n),
    };
    work.dissect((0..n as u32).collect())?;
    Ok(work.order)
}

const OUTSIDE_RANK: u32 = u32::MAX;

struct Dissection<'a> {
    graph: &'a Graph,
    centres: &'a [Vec3],
    /// Rank of each node of the current part along a normal; [`OUTSIDE_RANK`] for all other nodes.
    rank: Vec<u32>,
    order: Vec<u32>,
}

/// A cut of the nodes, sorted along the normal, after the first `below`.
struct PlaneCut {
    nodes: Vec<u32>,
    below: usize,
    cost: f64,
}

impl Dissection<'_> {
    fn dissect(&mut self, nodes: Vec<u32>) -> Result<(), SolveError> {
        if nodes.len() <= MAX_LEAF_NODES {
            return self.order_leaf(&nodes);
        }
        let mut best: Option<PlaneCut> = None;
        for direction in CUT_NORMALS {
            let cut = self.best_cut(&nodes, &direction.into());
            if best.as_ref().is_none_or(|b| cut.cost < b.cost) {
                best = Some(cut);
            }
        }
        let Some(PlaneCut {
            mut nodes, below, ..
        }) = best
        else {
            return Ok(());
        };
        for (i, &node) in nodes.iter().enumerate() {
            self.rank[node as usize] = i as u32;
        }
        let separator = self.separator(&nodes, below);
        for &node in &nodes {
            self.rank[node as usize] = OUTSIDE_RANK;
        }
        let mut upper = nodes.split_off(below);
        let within = |node: &u32| separator.binary_search(node).is_err();
        nodes.retain(within);
        upper.retain(within);
        self.dissect(nodes)?;
        self.dissect(upper)?;
        self.order.extend(separator);
        Ok(())
    }

    /// Finds the best cut across a direction.
    fn best_cut(&mut self, nodes: &[u32], direction: &Vec3) -> PlaneCut {
        let mut nodes = nodes.to_vec();
        let at = |i: &u32| self.centres[*i as usize].dot(direction);
        nodes.sort_by(|a, b| at(a).total_cmp(&at(b)).then(a.cmp(b)));
        for (i, &node) in nodes.iter().enumerate() {
            self.rank[node as usize] = i as u32;
        }
        // A position cuts a node from above if it lies between the node and its highest neighbour; from below
        // likewise.
        let n = nodes.len();
        let (mut from_above, mut from_below) = (vec![0i64; n + 2], vec![0i64; n + 2]);
        for (i, &node) in nodes.iter().enumerate() {
            let (mut lowest, mut highest) = (i, i);
            for &j in self.graph.neighbours(node as usize) {
                let r = self.rank[j as usize];
                if r != OUTSIDE_RANK {
                    lowest = lowest.min(r as usize);
                    highest = highest.max(r as usize);
                }
            }
            from_above[i + 1] += 1;
            from_above[highest + 1] -= 1;
            from_below[lowest + 1] += 1;
            from_below[i + 1] -= 1;
        }
        for &node in &nodes {
            self.rank[node as usize] = OUTSIDE_RANK;
        }
        let least = ((n as f64 * MIN_SIDE_SHARE) as usize).max(1);
        let (mut below, mut cost) = (n / 2, f64::INFINITY);
        let (mut above_sum, mut below_sum) = (0, 0);
        for place in 0..n {
            above_sum += from_above[place];
            below_sum += from_below[place];
            if place < least || place > n - least {
                continue;
            }
            // Cost: elimination of the separator, and of the larger side of an uneven cut.
            let uneven = (2.0 * place as f64 / n as f64 - 1.0).abs();
            let width = above_sum.min(below_sum) as f64 * (1.0 + 0.5 * uneven);
            if width < cost {
                (below, cost) = (place, width);
            }
        }
        PlaneCut { nodes, below, cost }
    }

    /// Returns the fewest nodes that touch every link between the first `below` nodes and the rest, ascending.
    fn separator(&self, nodes: &[u32], below: usize) -> Vec<u32> {
        let across = |i: u32| {
            let neighbours = self.graph.neighbours(nodes[i as usize] as usize).iter();
            let ranks = neighbours.map(|&j| self.rank[j as usize]);
            ranks.filter(|&r| r != OUTSIDE_RANK && r as usize >= below)
        };
        let lower: Vec<u32> = (0..below as u32)
            .filter(|&i| across(i).next().is_some())
            .collect();
        let mut partner = vec![OUTSIDE_RANK; nodes.len()];
        for &i in &lower {
            if let Some(j) = across(i).find(|&j| partner[j as usize] == OUTSIDE_RANK) {
                partner[i as usize] = j;
                partner[j as usize] = i;
            }
        }
        // Augmenting paths, each found breadth first from an unmatched node. Nodes reached by a failed search stay
        // excluded from later searches.
        let mut came_from = vec![OUTSIDE_RANK; nodes.len()];
        let mut queue = VecDeque::new();
        for &start in &lower {
            if partner[start as usize] != OUTSIDE_RANK {
                continue;
            }
            let mut reached = Vec::new();
            queue.clear();
            queue.push_back(start);
            let mut end = None;
            'search: while let Some(i) = queue.pop_front() {
                for j in across(i) {
                    if came_from[j as usize] != OUTSIDE_RANK {
                        continue;
                    }
                    came_from[j as usize] = i;
                    reached.push(j);
                    if partner[j as usize] == OUTSIDE_RANK {
                        end = Some(j);
                        break 'search;
                    }
                    queue.push_back(partner[j as usize]);
                }
            }
            if let Some(mut j) = end {
                loop {
                    let i = came_from[j as usize];
                    let next = std::mem::replace(&mut partner[i as usize], j);
                    partner[j as usize] = i;
                    if i == start {
                        break;
                    }
                    j = next;
                }
                for j in reached {
                    came_from[j as usize] = OUTSIDE_RANK;
                }
            }
        }
        // Upper nodes that failed searches reached cover their links; the remaining matched lower nodes cover the
        // rest.
        let mut cover: Vec<u32> = (below..nodes.len())
            .filter(|&j| came_from[j] != OUTSIDE_RANK)
            .map(|j| nodes[j])
            .collect();
        let uncovered = |&&i: &&u32| {
            let j = partner[i as usize];
            j != OUTSIDE_RANK && came_from[j as usize] == OUTSIDE_RANK
        };
        cover.extend(lower.iter().filter(uncovered).map(|&i| nodes[i as usize]));
        cover.sort_unstable();
        cover
    }

    /// Orders a small part by minimum degree.
    fn order_leaf(&mut self, nodes: &[u32]) -> Result<(), SolveError> {
        for (i, &node) in nodes.iter().enumerate() {
            self.rank[node as usize] = i as u32;
        }
        let (graph, rank) = (self.graph, &self.rank);
        let edges = nodes.iter().enumerate().flat_map(|(i, &node)| {
            let ranks = graph
                .neighbours(node as usize)
                .iter()
                .map(|&j| rank[j as usize]);
            let within = ranks.filter(move |&r| r != OUTSIDE_RANK && (r as usize) < i);
            within.map(move |r| (i as u32, r))
        });
        let inside = Graph::from_edges(nodes.len(), edges);
        let order = minimum_degree(&inside)?;
        self.order
            .extend(order.into_iter().map(|i| nodes[i as usize]));
        for &node in nodes {
            self.rank[node as usize] = OUTSIDE_RANK;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(seed: &mut u64) -> f64 {
        *seed = seed
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (*seed >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Builds a graph of points in a box, each linked to those nearby.
    fn random_cloud(n: usize) -> (Graph, Vec<Vec3>) {
        let mut seed = 7;
        let centres: Vec<Vec3> = (0..n)
            .map(|_| {
                Vec3::new(
                    3.0 * random(&mut seed),
                    random(&mut seed),
                    random(&mut seed),
                )
            })
            .collect();
        let mut edges = Vec::new();
        for i in 0..n {
            for j in 0..i {
                if (centres[i] - centres[j]).norm() < 0.35 {
                    edges.push((i as u32, j as u32));
                }
            }
        }
        (Graph::from_edges(n, edges), centres)
    }

    /// The order of dissection contains every node once.
    #[test]
    fn dissection_is_permutation() {
        for n in [0, 1, MAX_LEAF_NODES, MAX_LEAF_NODES + 1, 700] {
            let (graph, centres) = random_cloud(n);
            let mut order = nested_dissection(&graph, &centres).unwrap();
            order.sort_unstable();
            assert!(order.into_iter().eq(0..n as u32));
            // All at one point: any cut is as good as another.
            let one = vec![Vec3::zeros(); n];
            assert_eq!(nested_dissection(&graph, &one).unwrap().len(), n);
        }
    }

    /// A separator covers every link across the cut with as few nodes as possible.
    #[test]
    fn separator_is_minimal_cover() {
        let (graph, _) = random_cloud(60);
        let mut work = Dissection {
            graph: &graph,
            centres: &[],
            rank: (0..60).collect(),
            order: Vec::new(),
        };
        for below in [10, 30, 45] {
            let nodes: Vec<u32> = (0..60).collect();
            let separator = work.separator(&nodes, below);
            let links: Vec<(u32, u32)> = (0..below as u32)
                .flat_map(|i| graph.neighbours(i as usize).iter().map(move |&j| (i, j)))
                .filter(|&(_, j)| j as usize >= below)
                .collect();
            let covers = |set: &[u32]| {
                links
                    .iter()
                    .all(|(i, j)| set.contains(i) || set.contains(j))
            };
            assert!(covers(&separator));
            // As many links without common nodes as the separator has nodes: no set can have fewer.
            let mut best = 0;
            let mut seed = below as u64;
            for _ in 0..3000 {
                let mut used = [false; 60];
                let mut order: Vec<usize> = (0..links.len()).collect();
                for k in (1..order.len()).rev() {
                    order.swap(k, (random(&mut seed) * (k + 1) as f64) as usize);
                }
                let mut count = 0;
                for k in order {
                    let (i, j) = (links[k].0 as usize, links[k].1 as usize);
                    if !used[i] && !used[j] {
                        (used[i], used[j]) = (true, true);
                        count += 1;
                    }
                }
                best = best.max(count);
            }
            assert_eq!(best, separator.len());
        }
        work.order.clear();
    }
}
