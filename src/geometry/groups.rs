// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers in groups, such as the triangles around each vertex or its neighbours.

/// A list of numbers for each owner, all lists in one array.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Groups {
    /// First index of each group, `[owners + 1]`.
    starts: Vec<u32>,
    members: Vec<u32>,
}

impl Groups {
    /// Groups (owner, member) pairs; members of a group keep their order.
    pub fn new(owners: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        let mut starts = vec![0u32; owners + 1];
        pairs.clone().for_each(|(v, _)| starts[v as usize + 1] += 1);
        for v in 0..owners {
            starts[v + 1] += starts[v];
        }
        let mut next = starts.clone();
        let mut members = vec![0; starts[owners] as usize];
        for (v, member) in pairs {
            members[next[v as usize] as usize] = member;
            next[v as usize] += 1;
        }
        Self { starts, members }
    }

    /// Returns the elements around each vertex, ascending.
    pub fn from_elements<const N: usize>(vertices: usize, elements: &[[u32; N]]) -> Self {
        let elements = (0u32..).zip(elements);
        Self::new(
            vertices,
            elements.flat_map(|(e, corners)| corners.map(|v| (v, e))),
        )
    }

    /// Returns the members of an owner.
    pub fn members(&self, owner: usize) -> &[u32] {
        &self.members[self.starts[owner] as usize..self.starts[owner + 1] as usize]
    }
}

/// Returns the edges of triangles in both directions, ascending, once for each triangle.
pub(crate) fn directed_edges(triangles: impl IntoIterator<Item = [u32; 3]>) -> Vec<(u32, u32)> {
    let both = |[a, b, c]: [u32; 3]| [(a, b), (b, a), (b, c), (c, b), (c, a), (a, c)];
    let mut links: Vec<(u32, u32)> = triangles.into_iter().flat_map(both).collect();
    links.sort_unstable();
    links
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Groups keep the order of their members.
    #[test]
    fn groups_keep_order() {
        let groups = Groups::new(4, [(2, 7), (0, 3), (2, 5)].into_iter());
        let all: Vec<&[u32]> = (0..4).map(|v| groups.members(v)).collect();
        assert_eq!(all, [&[3][..], &[], &[7, 5], &[]]);
        let around = Groups::from_elements(4, &[[0, 1, 2], [2, 1, 3]]);
        assert_eq!(
            (around.members(1), around.members(3)),
            (&[0, 1][..], &[1][..])
        );
        assert_eq!(
            directed_edges([[0, 1, 2]]),
            [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]
        );
    }
}
