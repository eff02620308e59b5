//! Which calls of the kernel commands do not have, as a filter: those that lead past the namespaces.
//!
//! A network namespace holds what is of the network. Other kinds of sockets know no namespaces: with one of them (vsock) a
//! virtual machine talks to its host. Nor do the kernel's keyrings, which hold the user's keys and carry from one sandbox
//! to the next.

use super::Network;

/// Kinds that end at the namespace: unix, IPv4, IPv6, netlink, packet.
const HELD: [u32; 5] = [1, 2, 10, 16, 17];

/// What makes sockets without the call that is filtered.
const IO_URING_SETUP: u32 = 425;
const SOCKETCALL: u32 = 102;

/// System calls from here on are those of another ABI of the same processor (x32).
const OTHER_ABI: u32 = 0x4000_0000;

/// Where the kernel puts what the filter reads.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const FIRST_ARGUMENT: u32 = 16;

/// Answers of the filter.
const ALLOW: u32 = 0x7fff_0000;
const NO_SUCH_CALL: u32 = 0x0005_0000 | 38;
const NO_SUCH_FAMILY: u32 = 0x0005_0000 | 97;

/// Operations of the kernel's filter machine.
const LOAD: u16 = 0x20;
const IF_EQUAL: u16 = 0x15;
const IF_AT_LEAST: u16 = 0x35;
const RETURN: u16 = 0x06;

/// An ABI by its number, with its numbers of the call that makes a socket and of those for keyrings.
struct Abi {
    number: u32,
    socket: u32,
    keys: [u32; 3],
}

/// The processor's own ABI, and the one of its 32-bit programs.
const ABIS: Option<[Abi; 2]> = if cfg!(target_arch = "x86_64") {
    Some([
        Abi { number: 0xc000_003e, socket: 41, keys: [248, 249, 250] },
        Abi { number: 0x4000_0003, socket: 359, keys: [286, 287, 288] },
    ])
} else if cfg!(target_arch = "aarch64") {
    Some([
        Abi { number: 0xc000_00b7, socket: 198, keys: [217, 218, 219] },
        Abi { number: 0x4000_0028, socket: 281, keys: [309, 310, 311] },
    ])
} else {
    None
};

type Instruction = (u16, u8, u8, u32);

/// Returns the filter as bubblewrap takes it; none for a processor whose calls we do not know.
pub(super) fn filter(network: Network) -> Option<Vec<u8>> {
    let mut program = vec![(LOAD, 0, 0, ARCHITECTURE)];
    for abi in ABIS? {
        let block = calls(&abi, network);
        program.push((IF_EQUAL, 0, u8::try_from(block.len()).ok()?, abi.number));
        program.extend(block);
    }
    program.push((RETURN, 0, 0, NO_SUCH_CALL));
    let bytes = |(operation, then, otherwise, value): Instruction| {
        let (operation, value) = (operation.to_ne_bytes(), value.to_ne_bytes());
        [&operation[..], &[then, otherwise], &value[..]].concat()
    };
    Some(program.into_iter().flat_map(bytes).collect())
}

/// Looks at the call, and at the kind of socket where it makes one.
fn calls(abi: &Abi, network: Network) -> Vec<Instruction> {
    let mut block = vec![(LOAD, 0, 0, NUMBER)];
    let keys = abi.keys.map(|call| (IF_EQUAL, call));
    for (test, call) in [(IF_AT_LEAST, OTHER_ABI), (IF_EQUAL, IO_URING_SETUP)].into_iter().chain(keys) {
        block.extend([(test, 0, 1, call), (RETURN, 0, 0, NO_SUCH_CALL)]);
    }
    if network == Network::On {
        block.push((RETURN, 0, 0, ALLOW));
        return block;
    }
    // Its arguments lie where a filter cannot look.
    if abi.number == 0x4000_0003 {
        block.extend([(IF_EQUAL, 0, 1, SOCKETCALL), (RETURN, 0, 0, NO_SUCH_CALL)]);
    }
    block.extend([(IF_EQUAL, 1, 0, abi.socket), (RETURN, 0, 0, ALLOW), (LOAD, 0, 0, FIRST_ARGUMENT)]);
    HELD.iter().for_each(|family| block.extend([(IF_EQUAL, 0, 1, *family), (RETURN, 0, 0, ALLOW)]));
    block.push((RETURN, 0, 0, NO_SUCH_FAMILY));
    block
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the filter as the kernel would.
    fn answer_with(network: Network, abi: u32, call: u32, argument: u32) -> u32 {
        let filter = filter(network).unwrap();
        let mut at = 0;
        let mut loaded = 0;
        loop {
            let code = &filter[at * 8..at * 8 + 8];
            let value = u32::from_ne_bytes(code[4..].try_into().unwrap());
            let holds = match u16::from_ne_bytes([code[0], code[1]]) {
                RETURN => return value,
                IF_EQUAL => loaded == value,
                IF_AT_LEAST => loaded >= value,
                _ => {
                    loaded = [(NUMBER, call), (ARCHITECTURE, abi), (FIRST_ARGUMENT, argument)]
                        .into_iter()
                        .find(|(place, _)| *place == value)
                        .unwrap()
                        .1;
                    at += 1;
                    continue;
                }
            };
            at += 1 + usize::from(code[if holds { 2 } else { 3 }]);
        }
    }

    fn answer(abi: u32, call: u32, argument: u32) -> u32 {
        answer_with(Network::Off, abi, call, argument)
    }

    #[test]
    fn keyrings_are_not_there_with_the_network_either() {
        for Abi { number, socket, keys } in ABIS.into_iter().flatten() {
            for call in keys {
                assert_eq!(answer(number, call, 0), NO_SUCH_CALL);
                assert_eq!(answer_with(Network::On, number, call, 0), NO_SUCH_CALL);
            }
            assert_eq!(answer_with(Network::On, number, socket, 40), ALLOW);
        }
    }

    #[test]
    fn only_sockets_that_a_namespace_holds_are_made_by_either_abi() {
        let Some(abis) = ABIS else { return };
        for Abi { number, socket, .. } in abis {
            for family in 0..=50 {
                let expected = if HELD.contains(&family) { ALLOW } else { NO_SUCH_FAMILY };
                assert_eq!(answer(number, socket, family), expected, "{number:x} {family}");
            }
            assert_eq!(answer(number, 1, 40), ALLOW);
            assert_eq!(answer(number, IO_URING_SETUP, 40), NO_SUCH_CALL);
            assert_eq!(answer(number, OTHER_ABI + socket, 40), NO_SUCH_CALL);
        }
        assert_eq!(answer(0, 1, 1), NO_SUCH_CALL, "an ABI we do not know");
    }
}
