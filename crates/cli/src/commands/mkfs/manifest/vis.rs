//! Names as vis(3) writes them: a backslash and what stands for a byte.

use anyhow::bail;

/// The bytes that a word stands for.
///
/// # Errors
/// When it ends within such a sequence, or has one that vis(3) does not write.
pub(super) fn decode(word: &[u8]) -> anyhow::Result<Vec<u8>> {
    let (mut bytes, mut rest) = (Vec::with_capacity(word.len()), word);
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        let Some((&letter, after)) = rest.split_first() else { bail!("a name ends with a backslash") };
        rest = after;
        match letter {
            b'0'..=b'7' => {
                let more = rest.iter().take(2).take_while(|b| (b'0'..=b'7').contains(b)).count();
                let digits = std::iter::once(&letter).chain(&rest[..more]);
                bytes.push(digits.fold(0u32, |value, digit| value * 8 + u32::from(digit - b'0')) as u8);
                rest = &rest[more..];
            }
            b'x' => {
                let digits = rest.iter().take(2).take_while(|b| b.is_ascii_hexdigit()).count();
                let text = std::str::from_utf8(&rest[..digits])?;
                bytes.push(u8::from_str_radix(text, 16)?);
                rest = &rest[digits..];
            }
            b'M' | b'^' => {
                let (byte, used) = control(letter, rest)?;
                bytes.push(byte);
                rest = &rest[used..];
            }
            b'$' => {}
            letter => bytes.push(escaped(letter)?),
        }
    }
    Ok(bytes)
}

fn escaped(letter: u8) -> anyhow::Result<u8> {
    Ok(match letter {
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b's' => b' ',
        b'a' => 7,
        b'b' => 8,
        b'v' => 11,
        b'f' => 12,
        b'E' => 27,
        b'\\' | b'#' | b' ' | b'*' | b'?' | b'[' | b'"' | b'\'' | b'=' => letter,
        other => bail!("a name has \\{}, which stands for nothing", char::from(other).escape_default()),
    })
}

/// `\^C` is a control character, `\M-c` and `\M^C` have the high bit. Returns the byte, and how many bytes it took.
fn control(letter: u8, rest: &[u8]) -> anyhow::Result<(u8, usize)> {
    let of = |c: u8| if c == b'?' { 127 } else { c & 31 };
    match (letter, rest) {
        (b'^', [c, ..]) => Ok((of(*c), 1)),
        (_, [b'-', c, ..]) => Ok((c | 128, 2)),
        (_, [b'^', c, ..]) => Ok((of(*c) | 128, 2)),
        _ => bail!("a name ends within \\{}", char::from(letter)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_vis_writes_is_read_again() {
        assert_eq!(decode(br"a\040b\012c\\d\sx\^A\M-c\M^A\x41\#").unwrap(), b"a b\nc\\d x\x01\xe3\x81A#");
        assert_eq!(decode(br"\303\274").unwrap(), "ü".as_bytes());
        for wrong in [&br"a\"[..], br"\q", br"\M", br"\x"] {
            assert!(decode(wrong).is_err(), "{wrong:?}");
        }
    }
}
