// What is drawn over a frame. Board units become frame pixels by the matrix of the look.

const GRID = '#ff00dc';

/** Where a point of the board is in the frame. */
function placed(map, x, y) {
  const depth = map[6] * x + map[7] * y + map[8];
  return [(map[0] * x + map[1] * y + map[2]) / depth, (map[3] * x + map[4] * y + map[5]) / depth];
}

/** The width of a cell in frame pixels, about the middle of the board. */
function cellSize(look) {
  const [x, y] = data.shapes[look.shape].terminals[0] ?? [0.5, 0.5];
  const [a, b] = [placed(look.map, x - 0.5, y), placed(look.map, x + 0.5, y)];
  return Math.hypot(b[0] - a[0], b[1] - a[1]) || 1;
}

/** A way through points `x, y, x, y …`. */
function trace(context, map, points) {
  context.beginPath();
  for (let index = 0; index + 1 < points.length; index += 2) {
    const [x, y] = placed(map, points[index], points[index + 1]);
    if (index === 0) context.moveTo(x, y);
    else context.lineTo(x, y);
  }
}

/** The cells, and a ring around each terminal; its letter where there is room and nothing else lies there. */
function paintGrid(context, look, pixel, lettered) {
  const shape = data.shapes[look.shape];
  const cell = cellSize(look);
  context.strokeStyle = GRID;
  context.globalAlpha = 0.8;
  context.lineWidth = Math.max(pixel, cell / 45);
  context.beginPath();
  for (let side = 0; side + 3 < shape.sides.length; side += 4) {
    context.moveTo(...placed(look.map, shape.sides[side], shape.sides[side + 1]));
    context.lineTo(...placed(look.map, shape.sides[side + 2], shape.sides[side + 3]));
  }
  context.stroke();
  context.globalAlpha = 1;
  context.textAlign = 'center';
  context.textBaseline = 'middle';
  const letters = lettered && cell / pixel > 22;
  context.font = `600 ${cell * 0.3}px system-ui, sans-serif`;
  for (const [x, y, number] of shape.terminals) {
    const [left, top] = placed(look.map, x, y);
    context.lineWidth = Math.max(1.5 * pixel, cell / 20);
    for (const [ink, radius] of [['#000', 0.36], ['#fff', 0.41]]) {
      context.strokeStyle = ink;
      context.beginPath();
      context.arc(left, top, cell * radius, 0, 7);
      context.stroke();
    }
    if (!letters) continue;
    context.lineWidth = cell * 0.08;
    context.strokeStyle = '#000c';
    context.strokeText(shape.letters[number], left, top);
    context.fillStyle = '#fff';
    context.fillText(shape.letters[number], left, top);
  }
}

/** Pipes in their own colours. `width`: as a share of a cell. */
function paintPipes(context, look, pipes, width, alpha) {
  const cell = cellSize(look);
  context.lineCap = context.lineJoin = 'round';
  context.globalAlpha = alpha;
  for (const pipe of pipes) {
    context.strokeStyle = look.palette[pipe.colour] ?? '#888';
    context.lineWidth = cell * width;
    for (const line of pipe.lines) {
      trace(context, look.map, line);
      context.stroke();
    }
  }
  context.globalAlpha = 1;
}

/** A solution: its pipes as thin lines with a rim, which show on every colour. */
function paintSolution(context, look, pipes, pixel) {
  const cell = cellSize(look);
  context.lineCap = context.lineJoin = 'round';
  for (const pipe of pipes) {
    for (const line of pipe.lines) {
      trace(context, look.map, line);
      context.strokeStyle = '#000a';
      context.lineWidth = cell * 0.13 + 2 * pixel;
      context.stroke();
      context.strokeStyle = look.palette[pipe.colour] ?? '#888';
      context.lineWidth = cell * 0.13;
      context.stroke();
    }
  }
}

/** Strokes: white with a dark rim, a ring where the button goes down, a point where it goes up. */
function paintStrokes(context, look, strokes, pixel) {
  const cell = cellSize(look);
  const width = Math.max(1.6 * pixel, cell * 0.055);
  const ring = Math.max(3.5 * pixel, cell * 0.11);
  context.lineCap = context.lineJoin = 'round';
  const dot = (at, radius, fill) => {
    context.beginPath();
    context.arc(at[0], at[1], radius, 0, 7);
    context.fillStyle = fill;
    context.fill();
  };
  for (const { points } of strokes) {
    for (const [ink, wide] of [['#111', width + 2 * pixel], ['#fff', width]]) {
      trace(context, look.map, points);
      context.strokeStyle = ink;
      context.lineWidth = wide;
      context.stroke();
    }
    if (points.length < 2) continue;
    const end = placed(look.map, points[points.length - 2], points[points.length - 1]);
    dot(end, width * 1.5 + pixel, '#111');
    dot(end, width * 1.5, '#fff');
    const start = placed(look.map, points[0], points[1]);
    dot(start, ring + pixel, '#111');
    dot(start, ring, '#fff');
    dot(start, ring * 0.5, '#111');
  }
}
