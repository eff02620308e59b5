//! Trees that were read or written lately, since most of them come up again at the next write.

use std::collections::HashMap;
use std::sync::Arc;

use git2::Oid;

/// Bytes that are remembered, and how many trees are in any case. Each write into a large folder makes another large tree.
const MOST: usize = 256 << 10;
const FEWEST: usize = 16;

/// Trees by their ids.
#[derive(Default)]
pub(super) struct Remembered {
    trees: HashMap<Oid, Arc<[u8]>>,
    bytes: usize,
}

impl Remembered {
    pub(super) fn get(&self, id: Oid) -> Option<&Arc<[u8]>> {
        self.trees.get(&id)
    }

    /// Adds a tree; forgets all others when it has become too much.
    pub(super) fn add(&mut self, id: Oid, tree: Arc<[u8]>) {
        if self.bytes >= MOST && self.trees.len() >= FEWEST {
            *self = Self::default();
        }
        self.bytes += tree.len();
        self.trees.insert(id, tree);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes_after(adds: usize, size: usize) -> (usize, usize) {
        let mut remembered = Remembered::default();
        let mut most = 0;
        for number in 0..adds {
            let id = Oid::from_bytes(&[number as u8; 20]).unwrap();
            remembered.add(id, vec![0; size].into());
            assert!(remembered.get(id).is_some(), "the newest is there");
            most = most.max(remembered.trees.values().map(|tree| tree.len()).sum());
        }
        (remembered.trees.len(), most)
    }

    #[test]
    fn large_trees_are_forgotten_by_their_bytes_and_not_by_their_number() {
        assert_eq!(bytes_after(200, 100), (200, 20_000));
        assert!(bytes_after(200, 40_000).1 <= FEWEST * 40_000);
        assert!(bytes_after(200, 4_000).1 <= MOST + 4_000);
    }
}
