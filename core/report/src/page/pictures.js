// Pictures, decoded when they are looked at.

/** Decodes a picture that is written in base64. */
function decode(base64) {
  const letters = atob(base64);
  const bytes = new Uint8Array(letters.length);
  for (let index = 0; index < letters.length; index += 1) bytes[index] = letters.charCodeAt(index);
  return createImageBitmap(new Blob([bytes], { type: 'image/webp' }));
}

const KEPT = 40;
const decoded = new Map();

/** A picture of the reel; those looked at last are kept. */
function reelPicture(index) {
  let picture = decoded.get(index);
  decoded.delete(index);
  if (!picture) {
    picture = decode(data.reel.data[index]);
    picture.catch(() => decoded.delete(index));
  }
  decoded.set(index, picture);
  for (const [oldest, old] of decoded) {
    if (decoded.size <= KEPT) break;
    decoded.delete(oldest);
    old.then((bitmap) => setTimeout(() => bitmap.close(), 1000), () => {});
  }
  return picture;
}

const TILE = 16;
const ROW = 32;

/** The picture of a frame, put together from its key picture and the tiles over it. `null`: there is none. */
async function framePicture(frame) {
  const shot = data.reel.shots[data.reel.of[frame]];
  if (!shot) return null;
  const [key, tiles] = await Promise.all([
    reelPicture(shot.key),
    shot.over ? reelPicture(shot.over[0]) : null,
  ]);
  if (!tiles) return { bitmap: key, size: shot.frame };
  // Pixel for pixel, so that no seams show once it is made larger or smaller.
  const [width, height] = shot.size;
  const sheet = framePicture.sheet ??= document.createElement('canvas');
  [sheet.width, sheet.height] = [width, height];
  const context = sheet.getContext('2d');
  context.drawImage(key, 0, 0);
  const columns = Math.ceil(width / TILE);
  const runs = shot.over[1].runs;
  let [tile, cut] = [0, 0];
  for (let run = 0; run + 1 < runs.length; run += 2) {
    tile += runs[run];
    for (let left = runs[run + 1]; left > 0; left -= 1, tile += 1, cut += 1) {
      const [x, y] = [(tile % columns) * TILE, Math.floor(tile / columns) * TILE];
      const [across, down] = [Math.min(TILE, width - x), Math.min(TILE, height - y)];
      context.drawImage(tiles, (cut % ROW) * TILE, Math.floor(cut / ROW) * TILE, across, down, x, y, across, down);
    }
  }
  return { bitmap: sheet, size: shot.frame };
}

/** The size of a frame, or nothing where no picture has one. */
function frameSize(frame) {
  return data.reel.shots[data.reel.of[frame]]?.frame;
}

/** A board cut out of a frame: its picture, and where it lies there. */
async function stillPicture(index) {
  const still = data.stills[index];
  return { bitmap: await decode(still.data), area: still.area };
}
