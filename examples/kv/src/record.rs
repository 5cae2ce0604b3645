//! A change of the table, as a record of the log: 1 byte (1 set, 0 removed), length of the key in 4, key, value.

/// One key set or removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) key: Vec<u8>,
    pub(crate) value: Option<Vec<u8>>,
}

impl Change {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![u8::from(self.value.is_some())];
        bytes.extend_from_slice(&(self.key.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&self.key);
        bytes.extend_from_slice(self.value.as_deref().unwrap_or_default());
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Change> {
        let (kind, rest) = bytes.split_first()?;
        let (len, rest) = rest.split_first_chunk()?;
        let (key, value) = rest.split_at_checked(u32::from_le_bytes(*len) as usize)?;
        let value = match kind {
            0 if value.is_empty() => None,
            1 => Some(value.to_vec()),
            _ => return None,
        };
        Some(Change { key: key.to_vec(), value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_come_out_as_they_went_in_and_nonsense_does_not() {
        for value in [None, Some(vec![]), Some(vec![1, 2])] {
            let change = Change { key: b"key".to_vec(), value };
            assert_eq!(Change::decode(&change.encode()), Some(change));
        }
        for bytes in [&b""[..], b"\x01\xff\0\0\0a", b"\x02\0\0\0\0", b"\0\0\0\0\0value"] {
            assert_eq!(Change::decode(bytes), None);
        }
    }
}
