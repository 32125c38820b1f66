// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fill-reducing elimination orders on the graph of nodes.
//!
//! There are two candidates: faer's approximate minimum degree, and nested dissection from the node coordinates. The cheaper one is found
//! by a symbolic count. Orders are postordered along their elimination tree, so that columns with equal structure are neighbours and form
//! supernodes. Postordering changes no fill.

use super::SolveError;
pub use super::dissection::nested_dissection;
use crate::Vec3;
use crate::geometry::groups::Groups;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::sparse::SymbolicSparseColMatRef;
use faer::sparse::linalg::amd;

/// Smallest number of nodes for which nested dissection is tried in addition to minimum degree.
pub const MIN_DISSECTION_NODES: usize = 5_000;

/// An undirected graph without loops, with sorted neighbours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Graph {
    nodes: usize,
    neighbours: Groups,
}

impl Graph {
    /// Builds a graph of `nodes` nodes from edges in any order, repetitions allowed. Loops are dropped.
    pub fn from_edges(nodes: usize, edges: impl IntoIterator<Item = (u32, u32)>) -> Self {
        let mut both: Vec<(u32, u32)> = Vec::new();
        for (a, b) in edges {
            if a != b {
                both.push((a, b));
                both.push((b, a));
            }
        }
        both.sort_unstable();
        both.dedup();
        Self {
            nodes,
            neighbours: Groups::new(nodes, both.into_iter()),
        }
    }

    /// Returns the number of nodes.
    pub fn len(&self) -> usize {
        self.nodes
    }

    /// Returns whether the graph has no nodes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the sorted neighbours of a node.
    pub fn neighbours(&self, node: usize) -> &[u32] {
        self.neighbours.members(node)
    }
}

/// Method that found an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderingKind {
    /// Approximate minimum degree.
    MinimumDegree,
    /// Nested dissection from coordinates.
    NestedDissection,
}

/// An elimination order and the cost of a factorisation with it.
#[derive(Debug, Clone, PartialEq)]
pub struct Ordering {
    /// Method that found it.
    pub kind: OrderingKind,
    /// `order[i]` is the node eliminated i-th.
    pub order: Vec<u32>,
    /// Number of blocks of the factor, diagonal included.
    pub blocks: u64,
    /// Σ (blocks of a column)²: proportional to the arithmetic of a factorisation.
    pub cost: f64,
}

/// Returns the cheapest order by symbolic count. `centres` are the nodes' coordinates.
pub fn find_cheapest(graph: &Graph, centres: &[Vec3]) -> Result<Ordering, SolveError> {
    let mut best = count_factor(graph, minimum_degree(graph)?, OrderingKind::MinimumDegree);
    if graph.len() >= MIN_DISSECTION_NODES {
        let other = count_factor(
            graph,
            nested_dissection(graph, centres)?,
            OrderingKind::NestedDissection,
        );
        if other.cost < best.cost {
            best = other;
        }
    }
    Ok(best)
}

/// Returns faer's approximate minimum degree order.
pub fn minimum_degree(graph: &Graph) -> Result<Vec<u32>, SolveError> {
    let n = graph.len();
    let too_large = || SolveError::TooLarge { nodes: n };
    // The strict upper triangle, column by column.
    let mut starts = vec![0u32; n + 1];
    let mut rows = Vec::new();
    for j in 0..n {
        rows.extend(graph.neighbours(j).iter().filter(|&&i| (i as usize) < j));
        starts[j + 1] = u32::try_from(rows.len()).map_err(|_| too_large())?;
    }
    let pattern = SymbolicSparseColMatRef::new_checked(n, n, &starts, None, &rows);
    let mut order = vec![0u32; n];
    let mut inverse = vec![0u32; n];
    let mut memory =
        MemBuffer::try_new(amd::order_scratch::<u32>(n, rows.len())).map_err(|_| too_large())?;
    amd::order(
        &mut order,
        &mut inverse,
        pattern,
        amd::Control::default(),
        MemStack::new(&mut memory),
    )
    .map_err(|_| too_large())?;
    Ok(order)
}

/// Postorders `order` along its elimination tree and counts the factor's blocks.
fn count_factor(graph: &Graph, order: Vec<u32>, kind: OrderingKind) -> Ordering {
    let parents = elimination_tree(graph, &order);
    let order: Vec<u32> = postorder(&parents).into_iter().map(|i| order[i]).collect();
    let counts = column_counts(graph, &order);
    Ordering {
        kind,
        blocks: counts.iter().sum(),
        cost: counts.iter().map(|&c| (c * c) as f64).sum(),
        order,
    }
}

const NO_PARENT: usize = usize::MAX;

/// Returns the parents in the elimination tree, by position in the order [liu1990].
fn elimination_tree(graph: &Graph, order: &[u32]) -> Vec<usize> {
    let position = inverse_permutation(order);
    let mut parents = vec![NO_PARENT; order.len()];
    let mut ancestors = vec![NO_PARENT; order.len()];
    for (row, &node) in order.iter().enumerate() {
        for &j in graph.neighbours(node as usize) {
            let mut i = position[j as usize] as usize;
            while i < row {
                let next = ancestors[i];
                ancestors[i] = row;
                if next == NO_PARENT {
                    parents[i] = row;
                    break;
                }
                i = next;
            }
        }
    }
    parents
}

/// Orders children before parents, each subtree in one contiguous run.
fn postorder(parents: &[usize]) -> Vec<usize> {
    let n = parents.len();
    let (mut first_child, mut next) = (vec![NO_PARENT; n], vec![NO_PARENT; n]);
    let mut roots = Vec::new();
    for i in (0..n).rev() {
        if parents[i] == NO_PARENT {
            roots.push(i);
        } else {
            next[i] = first_child[parents[i]];
            first_child[parents[i]] = i;
        }
    }
    let mut order = Vec::with_capacity(n);
    for root in roots.into_iter().rev() {
        let mut stack = vec![root];
        while let Some(&i) = stack.last() {
            let child = first_child[i];
            if child == NO_PARENT {
                order.push(i);
                stack.pop();
            } else {
                first_child[i] = next[child];
                stack.push(child);
            }
        }
    }
    order
}

/// Counts the blocks in each column of the factor by walking every row's subtree.
fn column_counts(graph: &Graph, order: &[u32]) -> Vec<u64> {
    let parents = elimination_tree(graph, order);
    let position = inverse_permutation(order);
    let mut counts = vec![1; order.len()];
    let mut seen = vec![NO_PARENT; order.len()];
    for (row, &node) in order.iter().enumerate() {
        seen[row] = row;
        for &j in graph.neighbours(node as usize) {
            let mut i = position[j as usize] as usize;
            while i < row && seen[i] != row {
                seen[i] = row;
                counts[i] += 1;
                i = parents[i];
            }
        }
    }
    counts
}

/// Returns the position of each node in the order.
pub(super) fn inverse_permutation(order: &[u32]) -> Vec<u32> {
    let mut position = vec![0; order.len()];
    for (i, &node) in order.iter().enumerate() {
        position[node as usize] = i as u32;
    }
    position
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(n: usize) -> (Graph, Vec<Vec3>) {
        let at = |i: usize, j: usize, k: usize| (i + n * (j + n * k)) as u32;
        let mut edges = Vec::new();
        let mut centres = Vec::new();
        for k in 0..n {
            for j in 0..n {
                for i in 0..n {
                    centres.push(Vec3::new(i as f64, j as f64, k as f64));
                    if i + 1 < n {
                        edges.push((at(i, j, k), at(i + 1, j, k)));
                    }
                    if j + 1 < n {
                        edges.push((at(i, j, k), at(i, j + 1, k)));
                    }
                    if k + 1 < n {
                        edges.push((at(i, j, k), at(i, j, k + 1)));
                    }
                }
            }
        }
        (Graph::from_edges(n * n * n, edges), centres)
    }

    fn is_permutation(order: &[u32]) -> bool {
        let mut sorted = order.to_vec();
        sorted.sort_unstable();
        sorted.iter().enumerate().all(|(i, &o)| i == o as usize)
    }

    /// Counts the factor's blocks by eliminating the graph node by node.
    fn count_blocks_by_elimination(graph: &Graph, order: &[u32]) -> u64 {
        let n = graph.len();
        let mut linked = vec![vec![false; n]; n];
        for (i, row) in linked.iter_mut().enumerate() {
            for &j in graph.neighbours(i) {
                row[j as usize] = true;
            }
        }
        let mut gone = vec![false; n];
        let mut blocks = 0;
        for &p in order {
            let p = p as usize;
            gone[p] = true;
            let later: Vec<usize> = (0..n).filter(|&i| linked[p][i] && !gone[i]).collect();
            blocks += 1 + later.len() as u64;
            for &a in &later {
                for &b in &later {
                    linked[a][b] = true;
                }
            }
        }
        blocks
    }

    /// The symbolic count of blocks equals that of an explicit elimination.
    #[test]
    fn symbolic_count_matches_elimination() {
        let (graph, centres) = grid(5);
        for (order, kind) in [
            (minimum_degree(&graph).unwrap(), OrderingKind::MinimumDegree),
            (
                nested_dissection(&graph, &centres).unwrap(),
                OrderingKind::NestedDissection,
            ),
            ((0..125).collect(), OrderingKind::MinimumDegree),
        ] {
            assert!(is_permutation(&order));
            let before = count_blocks_by_elimination(&graph, &order);
            let counted = count_factor(&graph, order, kind);
            assert!(is_permutation(&counted.order));
            assert_eq!(counted.blocks, before);
            assert_eq!(count_blocks_by_elimination(&graph, &counted.order), before);
        }
    }

    #[test]
    fn dissection_beats_natural_order() {
        let (graph, centres) = grid(12);
        let natural = count_factor(&graph, (0..1728).collect(), OrderingKind::MinimumDegree);
        let dissected = count_factor(
            &graph,
            nested_dissection(&graph, &centres).unwrap(),
            OrderingKind::NestedDissection,
        );
        assert!(dissected.cost < 0.5 * natural.cost);
    }

    #[test]
    fn small_systems_take_minimum_degree() {
        let (graph, centres) = grid(4);
        assert_eq!(
            find_cheapest(&graph, &centres).unwrap().kind,
            OrderingKind::MinimumDegree
        );
    }

    #[test]
    fn empty_graph_has_empty_order() {
        let graph = Graph::from_edges(0, []);
        assert!(graph.is_empty());
        assert!(find_cheapest(&graph, &[]).unwrap().order.is_empty());
    }
}
