//! Bombs: small bodies that unpack to large ones, put together bit by bit.

/// Bits of a file, the lowest of each number first.
#[derive(Default)]
struct Bits(Vec<bool>);

impl Bits {
    fn put(&mut self, number: u32, count: u32) {
        self.0.extend((0..count).map(|place| (number >> place) & 1 == 1));
    }

    fn bytes(&self) -> Vec<u8> {
        let byte = |bits: &[bool]| {
            bits.iter().enumerate().fold(0, |byte, (place, bit)| byte | (u8::from(*bit) << place))
        };
        self.0.chunks(8).map(byte).collect()
    }
}

/// 30,000 times 258 bytes in one gzip file.
pub(super) fn gzip() -> Vec<u8> {
    // A block with the usual codes of RFC 1951, which come with their first bit first: a literal, then
    // copies of it.
    let mut bits = Bits(vec![true, true, false]);
    bits.0.extend([false, false, true, true, false, false, false, false]);
    let longest = [true, true, false, false, false, true, false, true];
    let nearest = [false; 5];
    for _ in 0..30_000 {
        bits.0.extend(longest);
        bits.0.extend(nearest);
    }
    bits.0.extend([false; 7]);
    gzipped(&bits.bytes())
}

/// The same in a gzip file that is in a gzip file.
pub(super) fn gzip_within_gzip() -> Vec<u8> {
    let inner = gzip();
    let length = u16::try_from(inner.len()).unwrap();
    // One block, stored as it is.
    let head = [&[1][..], &length.to_le_bytes(), &(!length).to_le_bytes()].concat();
    gzipped(&[head, inner].concat())
}

fn gzipped(deflated: &[u8]) -> Vec<u8> {
    let head = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    // The checksum is wrong: whoever unpacks finds that out at the end.
    [&head[..], deflated, &[0; 8]].concat()
}

/// 1 GiB in Brotli: 64 blocks of a literal and copies of it.
pub(super) fn brotli() -> Vec<u8> {
    // A window of 16 MiB.
    let mut bits = Bits(vec![true; 4]);
    for _ in 0..64 {
        // Not the last block; six hexadecimal digits of its length less one; packed.
        bits.put(0, 1);
        bits.put(2, 2);
        bits.put(0x00ff_ffff, 24);
        bits.put(0, 1);
        // One type of everything, no special distances, one way of reading literals, one code each.
        bits.put(0, 3 + 6 + 2 + 2);
        // Codes of one symbol, which take no bits: the literal 0, "one literal, then a copy of at least
        // 2,118 bytes", and "from one or two bytes before".
        for (symbol, length) in [(0, 8), (399, 10), (16, 6)] {
            bits.put(1, 2);
            bits.put(0, 2);
            bits.put(symbol, length);
        }
        bits.put(0x00ff_ffff - 2_118, 24);
        bits.put(0, 1);
    }
    // The last block, which is empty.
    bits.put(3, 2);
    bits.bytes()
}

/// 1 GiB in Zstandard: blocks of one byte that is repeated 128 Ki times.
pub(super) fn zstd() -> Vec<u8> {
    const BLOCKS: usize = 8_192;
    const REPEATED: u32 = 1 << 1;
    // A window of 128 KiB and nothing else that is special.
    let mut file = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 7 << 3];
    for block in 1..=BLOCKS {
        let head = ((128 * 1_024) << 3) | REPEATED | u32::from(block == BLOCKS);
        file.extend(&head.to_le_bytes()[..3]);
        file.push(0);
    }
    file
}
