//! What comes with a picture beside its pixels. It is not trusted.

use pipewire::spa::sys::{SPA_META_VideoDamage, spa_buffer, spa_meta, spa_meta_region, spa_region};

/// How many regions are read at most. Not as many are asked for.
const MOST_REGIONS: usize = 64;

/// Of a buffer's metadata, that of a kind. `None`: there is none, or it is too short.
///
/// # Safety
/// The list of the buffer's metadata is as long as it says, and so is the memory of each. The type consists of numbers.
pub(super) unsafe fn metadata<T: Copy>(buffer: &spa_buffer, kind: u32) -> Option<T> {
    // SAFETY: as the caller promises.
    let meta = unsafe { find(buffer, kind) }?;
    if (meta.size as usize) < size_of::<T>() {
        return None;
    }
    // SAFETY: there are as many bytes, of which all are numbers. By PipeWire's contract, the other side writes only to
    // buffers that were given back; one that breaks it can only give a wrong number, which is checked.
    Some(unsafe { meta.data.cast::<T>().read_unaligned() })
}

/// The regions that are said to have changed, with all that follows their end. `None`: none are named, or there is room for
/// too many.
///
/// # Safety
/// As [`metadata`].
pub(super) unsafe fn regions(buffer: &spa_buffer) -> Option<Vec<spa_region>> {
    // SAFETY: as the caller promises.
    let meta = unsafe { find(buffer, SPA_META_VideoDamage) }?;
    let count = meta.size as usize / size_of::<spa_meta_region>();
    if !(1..=MOST_REGIONS).contains(&count) {
        return None;
    }
    let regions: *const spa_meta_region = meta.data.cast();
    // SAFETY: there are as many, and they consist of numbers, as above.
    let read = |at| unsafe { regions.add(at).read_unaligned() }.region;
    Some((0..count).map(read).collect())
}

/// # Safety
/// As [`metadata`].
unsafe fn find(buffer: &spa_buffer, kind: u32) -> Option<&spa_meta> {
    if buffer.metas.is_null() {
        return None;
    }
    // SAFETY: as the caller promises.
    let metas = unsafe { std::slice::from_raw_parts(buffer.metas, buffer.n_metas as usize) };
    let meta = metas.iter().find(|meta| meta.type_ == kind)?;
    (!meta.data.is_null()).then_some(meta)
}

#[cfg(test)]
mod tests {
    use std::ffi::c_void;
    use std::ptr::null_mut;

    use pipewire::spa::sys::{SPA_META_Cursor, SPA_META_Header, spa_meta, spa_meta_header};

    use super::*;

    fn sequence(metas: &mut [spa_meta]) -> Option<u64> {
        let buffer = spa_buffer {
            n_metas: metas.len() as u32,
            n_datas: 0,
            metas: metas.as_mut_ptr(),
            datas: null_mut(),
        };
        // SAFETY: the list is as long, and a header consists of numbers.
        let header: Option<spa_meta_header> = unsafe { metadata(&buffer, SPA_META_Header) };
        header.map(|it| it.seq)
    }

    #[test]
    fn it_is_found_among_other_data_at_any_address() {
        let size = size_of::<spa_meta_header>() as u32;
        let mut memory = [0_u8; 64];
        let data: *mut c_void = memory[1..].as_mut_ptr().cast();
        let header = spa_meta_header {
            flags: u32::MAX,
            offset: u32::MAX,
            pts: i64::MIN,
            dts_offset: i64::MAX,
            seq: 7,
        };
        // SAFETY: there is room for it.
        unsafe { data.cast::<spa_meta_header>().write_unaligned(header) };
        let meta = |type_, size, data| spa_meta { type_, size, data };
        let other = || meta(SPA_META_Cursor, size, data);
        let there = || meta(SPA_META_Header, size, data);
        assert_eq!(sequence(&mut [other(), there()]), Some(7));
        for bad in [
            meta(SPA_META_Header, size - 1, data),
            meta(SPA_META_Header, 0, data),
            meta(SPA_META_Header, size, null_mut()),
            other(),
        ] {
            assert_eq!(sequence(&mut [other(), bad]), None);
        }
        assert_eq!(sequence(&mut []), None);
        let none = spa_buffer {
            n_metas: u32::MAX,
            n_datas: 0,
            metas: null_mut(),
            datas: null_mut(),
        };
        // SAFETY: there is no list.
        let found: Option<spa_meta_header> = unsafe { metadata(&none, SPA_META_Header) };
        assert!(found.is_none());
    }

    #[test]
    fn regions_are_read_as_far_as_there_is_memory() {
        let one = size_of::<spa_meta_region>();
        let mut memory = vec![7_u8; one * (MOST_REGIONS + 2)];
        let data: *mut c_void = memory[1..].as_mut_ptr().cast();
        let count = |size: usize, data| {
            let mut metas = [spa_meta {
                type_: SPA_META_VideoDamage,
                size: size as u32,
                data,
            }];
            let buffer = spa_buffer {
                n_metas: 1,
                n_datas: 0,
                metas: metas.as_mut_ptr(),
                datas: null_mut(),
            };
            // SAFETY: there is as much memory.
            let regions = unsafe { regions(&buffer) }?;
            assert!(regions.iter().all(|it| it.size.width == 0x0707_0707));
            Some(regions.len())
        };
        for (size, wanted) in [
            (0, None),
            (one - 1, None),
            (one, Some(1)),
            (2 * one - 1, Some(1)),
            (MOST_REGIONS * one, Some(MOST_REGIONS)),
            ((MOST_REGIONS + 1) * one, None),
        ] {
            assert_eq!(count(size, data), wanted, "{size}");
        }
        assert_eq!(count(one, null_mut()), None);
    }
}
