use super::*;

fn info(format: abi::Format, width: u32, height: u32, stride: u64) -> abi::FrameInfo {
    abi::FrameInfo {
        struct_size: 0,
        format,
        width,
        height,
        stride,
        size: 0,
    }
}

fn frame(pool: &Arc<Pool>) -> Frame {
    Frame::new(
        pool,
        Shape::new(&info(abi::FORMAT_BGRA8, 8, 4, 0)).unwrap(),
        0,
    )
    .unwrap()
}

#[test]
fn invalid_shapes_are_refused() {
    for bad in [
        info(99, 8, 8, 0),
        info(abi::FORMAT_GREY8, 0, 8, 0),
        info(abi::FORMAT_GREY8, 8, 0, 0),
        info(abi::FORMAT_RGB8, 8, 8, 23),
        info(abi::FORMAT_RGBA8, u32::MAX, u32::MAX, 0),
        info(abi::FORMAT_GREY8, 1, u32::MAX, u64::MAX),
    ] {
        assert_eq!(Shape::new(&bad), None, "{bad:?}");
    }
    assert_eq!(
        Shape::new(&info(abi::FORMAT_RGB8, 5, 2, 0)).unwrap().stride,
        15
    );
    assert_eq!(
        Shape::new(&info(abi::FORMAT_RGB8, 5, 2, 16))
            .unwrap()
            .size(),
        32
    );
}

#[test]
fn writing_alone_keeps_the_memory() {
    let pool = Pool::new(1);
    let mut frame = frame(&pool);
    let before = frame.as_abi();
    let pixels = frame.write().unwrap();
    assert_eq!(pixels.as_ptr() as usize % 64, 0);
    assert_eq!(frame.as_abi(), before);
}

#[test]
fn writing_a_shared_frame_copies() {
    let pool = Pool::new(1);
    let mut mine = frame(&pool);
    // SAFETY: the frame has 128 bytes and no other reference.
    unsafe { mine.write().unwrap().as_ptr().write_bytes(7, 128) };
    let other = mine.clone();
    // SAFETY: as above, after the copy.
    unsafe { mine.write().unwrap().as_ptr().write(9) };
    assert_ne!(mine.as_abi(), other.as_abi());
    assert_eq!(
        (other.bytes()[0], mine.bytes()[0], mine.bytes()[1]),
        (7, 9, 7)
    );
    drop((mine, other));
    assert_eq!(pool.statistics().live, 0);
}

/// Enough threads for every pair of events to meet.
const THREADS: usize = 4;

/// The number of rounds of each thread. Miri is some thousand times slower and checks each access.
const ROUNDS: usize = if cfg!(miri) { 8 } else { 1000 };

fn fill(frame: &mut Frame, value: u8) {
    let size = frame.size();
    // SAFETY: this reference is the only one to these bytes.
    unsafe { frame.write().unwrap().as_ptr().write_bytes(value, size) };
}

#[test]
fn references_are_counted_across_threads() {
    let pool = Pool::new(1);
    let mut first = frame(&pool);
    fill(&mut first, 7);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            let shared = first.clone();
            scope.spawn(move || {
                for _ in 0..ROUNDS {
                    let other = shared.clone();
                    assert_eq!(other.bytes(), [7; 128]);
                }
            });
        }
        // Whichever thread is the last gives the memory back.
        drop(first);
    });
    let statistics = pool.statistics();
    assert_eq!((statistics.live, statistics.idle_bytes), (0, 128));
}

#[test]
fn a_write_in_place_follows_the_last_read() {
    let pool = Pool::new(1);
    for round in 0..ROUNDS {
        let mut mine = frame(&pool);
        fill(&mut mine, 1);
        let theirs = mine.clone();
        std::thread::scope(|scope| {
            scope.spawn(move || assert_eq!(theirs.bytes(), [1; 128]));
            // Into a copy while the reader has its reference, and then in place.
            fill(&mut mine, 2);
            assert_eq!(mine.bytes(), [2; 128], "round {round}");
        });
    }
    assert_eq!(pool.statistics().live, 0);
}

#[test]
fn both_owners_of_a_frame_may_write() {
    let pool = Pool::new(1);
    for _ in 0..ROUNDS {
        let mut first = frame(&pool);
        fill(&mut first, 1);
        std::thread::scope(|scope| {
            for value in [2, 3] {
                let mut mine = first.clone();
                scope.spawn(move || {
                    fill(&mut mine, value);
                    assert_eq!(mine.bytes(), [value; 128]);
                });
            }
            drop(first);
        });
    }
    assert_eq!(pool.statistics().live, 0);
}

#[test]
fn memory_moves_between_threads() {
    let pool = Pool::new(THREADS);
    std::thread::scope(|scope| {
        for value in 0..THREADS {
            let pool = &pool;
            scope.spawn(move || {
                for _ in 0..ROUNDS {
                    let shape = Shape::new(&info(abi::FORMAT_GREY8, 16, 4, 0)).unwrap();
                    let mut mine = Frame::new(pool, shape, value as u32).unwrap();
                    fill(&mut mine, value as u8);
                    assert_eq!(mine.bytes(), [value as u8; 64]);
                }
            });
        }
    });
    let statistics = pool.statistics();
    assert_eq!(statistics.live, 0);
    assert_eq!(statistics.allocated + statistics.reused, THREADS * ROUNDS);
    assert!(statistics.allocated <= THREADS, "{statistics:?}");
}

#[test]
fn frames_outlive_the_run() {
    let pool = Pool::new(1);
    let mut kept = frame(&pool);
    fill(&mut kept, 7);
    let of_plugin = kept.clone().into_abi();
    // The run's own reference to the pool.
    drop(pool);
    // SAFETY: the reference from `into_abi` above.
    let mut theirs = unsafe { Frame::from_abi(of_plugin) }.unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // Its copy is made in the pool of the first one.
            fill(&mut theirs, 9);
            assert_eq!(theirs.bytes(), [9; 128]);
        });
    });
    assert_eq!(kept.bytes(), [7; 128]);
}

/// As in a plugin that releases a frame once too often, also while others have references to it.
#[test]
fn a_release_too_many_frees_nothing_twice() {
    let pool = Pool::new(1);
    let release = |frame| {
        // SAFETY: there is no such reference; the count outlives the frame.
        drop(unsafe { Frame::from_abi(frame) });
    };
    let alone = frame(&pool).into_abi();
    release(alone);
    release(alone);
    let theirs = frame(&pool);
    release(theirs.as_abi());
    let next = frame(&pool);
    assert_eq!(next.bytes().as_ptr(), theirs.bytes().as_ptr());
    drop(theirs.clone());
    drop(theirs);
    assert_eq!(pool.statistics().live, 1);
    drop(next);
    let statistics = pool.statistics();
    assert_eq!((statistics.live, statistics.idle_bytes), (0, 128));
    assert_eq!(statistics.allocated, 1);
    assert_eq!(Arc::strong_count(&pool), 1);
}

fn audio() -> BufferLayout {
    let info = abi::BufferInfo::new("audio/pcm", abi::Element::F32, &[16, 2]);
    BufferLayout::new(&info.unwrap()).unwrap()
}

#[test]
fn a_buffer_is_memory_of_the_same_pool() {
    let pool = Pool::new(1);
    let mut mine = Frame::new(&pool, audio(), 0).unwrap();
    fill(&mut mine, 7);
    assert_eq!((mine.size(), mine.picture()), (128, None));
    // Nothing that a reader of pictures could take for pixels.
    let info = mine.info();
    assert_eq!((info.format, info.width, info.height), (0, 0, 0));
    assert_eq!((info.stride, info.size), (0, 128));
    let other = mine.clone();
    fill(&mut mine, 9);
    assert_ne!(mine.as_abi(), other.as_abi());
    assert_eq!(mine.layout(), other.layout());
    assert_eq!(
        (mine.bytes(), other.bytes()),
        (&[9; 128][..], &[7; 128][..])
    );
    drop((mine, other));
    // A picture of the same size reuses its memory.
    let picture = frame(&pool);
    assert_eq!(picture.content(), Content::Picture);
    assert_eq!(pool.statistics().reused, 1);
}
