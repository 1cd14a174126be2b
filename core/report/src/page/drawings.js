// What stages drew over frames: shapes in pixels of the frame.

/** By frame: the drawings over it, as [output, drawing]. */
const drawingsOf = new Map();
for (const [frame, output, drawing] of data.overlays.over) {
  if (!drawingsOf.has(frame)) drawingsOf.set(frame, []);
  drawingsOf.get(frame).push([data.overlays.outputs[output], drawing]);
}

/** The shapes of a drawing, the first one drawn first. */
function shapesOf(drawing) {
  const runs = data.overlays.drawings[drawing];
  const shapes = [];
  for (let run = 0; run + 1 < runs.length; run += 2) {
    for (let shape = runs[run]; shape < runs[run] + runs[run + 1]; shape += 1) shapes.push(data.overlays.shapes[shape]);
  }
  return shapes;
}

/** The points of a line or a polygon, `x, y, x, y …`. */
const corners = ({ numbers }) => numbers.flatMap((x, index) => (index % 2 ? [] : [[x, numbers[index + 1]]]));

/** The outline of a shape that is no text. */
function outline({ kind, numbers }) {
  const path = new Path2D();
  if (kind === 'rectangle') path.rect(...numbers);
  else if (kind === 'circle') path.arc(...numbers, 0, 7);
  else {
    for (const point of corners({ numbers })) path.lineTo(...point);
    if (kind === 'polygon') path.closePath();
  }
  return path;
}

/** Left, top, right and bottom of a shape. */
function boundsOf({ kind, numbers }) {
  const [x, y, ...size] = numbers;
  if (kind === 'rectangle') return [x, y, x + size[0], y + size[1]];
  if (kind === 'circle') return [x - size[0], y - size[0], x + size[0], y + size[0]];
  if (kind === 'text') return [x - size[0] / 2, y - size[0] / 2, x + size[0] / 2, y + size[0] / 2];
  const points = corners({ numbers });
  const along = (axis, of) => points.reduce((most, point) => of(most, point[axis]), points[0][axis]);
  return [along(0, Math.min), along(1, Math.min), along(0, Math.max), along(1, Math.max)];
}

/** Letters with a dark rim, which show on every colour. */
function paintLetters(context, letters, x, y, size, ink) {
  context.font = `600 ${size}px system-ui, sans-serif`;
  context.lineJoin = 'round';
  context.lineWidth = size * 0.2;
  context.strokeStyle = '#000c';
  context.strokeText(letters, x, y);
  context.fillStyle = ink;
  context.fillText(letters, x, y);
}

/** More labels than these would lie on each other: the pointer shows them one by one. */
const MOST_LABELS = 60;

/** Draws shapes over a frame. `pixel`: the size of a pixel of the page, in pixels of the frame. */
function paintDrawing(context, shapes, pixel) {
  for (const shape of shapes) {
    if (shape.kind === 'text') {
      context.textAlign = 'center';
      context.textBaseline = 'middle';
      paintLetters(context, shape.text ?? '', shape.numbers[0], shape.numbers[1], shape.numbers[2], shape.colour);
      continue;
    }
    const path = outline(shape);
    if (shape.filled && shape.kind !== 'line') {
      context.globalAlpha = 0.5;
      context.fillStyle = shape.colour;
      context.fill(path);
      context.globalAlpha = 1;
    }
    context.lineJoin = context.lineCap = 'round';
    context.strokeStyle = shape.colour;
    context.lineWidth = 1.5 * pixel;
    context.stroke(path);
  }
  const labelled = shapes.filter((shape) => shape.label);
  if (labelled.length > MOST_LABELS) return;
  context.textAlign = 'left';
  context.textBaseline = 'bottom';
  for (const shape of labelled) {
    const [left, top] = boundsOf(shape);
    const size = 12 * pixel;
    paintLetters(context, shape.label, Math.max(left, 2 * pixel), Math.max(top - 2 * pixel, size + 2 * pixel), size, shape.colour);
  }
}

/** The label of the topmost shape at a point of the frame, or nothing. */
function labelAt(frame, x, y, reach) {
  for (const [output, drawing] of [...(drawingsOf.get(frame) ?? [])].reverse()) {
    const found = shapesOf(drawing).findLast((shape) => {
      const [left, top, right, bottom] = boundsOf(shape);
      return shape.label && x >= left - reach && x <= right + reach && y >= top - reach && y <= bottom + reach;
    });
    if (found) return `${output}: ${found.label}`;
  }
  return '';
}
