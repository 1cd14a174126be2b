// The drawing of the timeline.

const place = (line, time) => ((time - line.from) / (line.to - line.from)) * line.width;

/** A step of 1, 2 or 5 that leaves so many pixels between two marks. */
function stepFor(line, pixels) {
  const least = ((line.to - line.from) / line.width) * pixels;
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least) ?? 10 * power;
}

function paintScale(context, line, height) {
  const step = stepFor(line, 110);
  context.font = '11px system-ui, sans-serif';
  context.textBaseline = 'top';
  context.textAlign = 'left';
  for (let time = Math.ceil(line.from / step) * step; time <= line.to; time += step) {
    const x = Math.round(place(line, time)) + 0.5;
    context.strokeStyle = colour('line');
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(x, 0);
    context.lineTo(x, height - FOOT);
    context.stroke();
    context.fillStyle = colour('quiet');
    const label = clockBy(time, step);
    if (x + 4 + context.measureText(label).width < line.width) context.fillText(label, x + 4, 1);
  }
}

/** A mark for each captured frame. */
function paintFrames(context, line) {
  context.fillStyle = colour('ink');
  const columns = new Uint8Array(Math.ceil(line.width) + 1);
  for (let frame = after(frames.captured, line.from - 1); frame < frames.count && frames.captured[frame] <= line.to; frame += 1) {
    columns[Math.round(place(line, frames.captured[frame]))] = 1;
  }
  context.globalAlpha = 0.5;
  columns.forEach((there, x) => there && context.fillRect(x, HEAD - 9, 1, 5));
  context.globalAlpha = 1;
}

function paintLane(context, line, lane, top) {
  const [bar, height] = [top + 17, 16];
  context.fillStyle = colour('lane');
  context.fillRect(0, bar, line.width, height);
  const ink = stageColour(lane.stage);
  const covered = new Float32Array(Math.ceil(line.width) + 2);
  const worked = new Float32Array(covered.length);
  const chosen = [];
  const wrong = [];
  let call = after(lane.start, line.from - lane.longest - 1);
  for (; call < lane.start.length && lane.start[call] <= line.to; call += 1) {
    const [start, length] = [lane.start[call], lane.length[call]];
    if (start + length < line.from) continue;
    const [left, right] = [place(line, start), place(line, start + length)];
    if (lane.wrong.has(call)) wrong.push(left);
    if (lane.frame[call] === player.frame) chosen.push([left, right]);
    const work = length > 0 ? Math.max(0, 1 - lane.waited[call] / length) : 1;
    if (right - left >= 3) {
      context.fillStyle = ink;
      context.globalAlpha = 0.3;
      context.fillRect(left, bar, right - left - 0.5, height);
      context.globalAlpha = 1;
      context.fillRect(left, bar + height * (1 - work), right - left - 0.5, height * work);
    } else {
      // Thin ones are added up by column, so that many together look as busy as they were.
      for (let column = Math.max(0, Math.floor(left)); column <= right && column < covered.length; column += 1) {
        const share = Math.min(right, column + 1) - Math.max(left, column);
        covered[column] += Math.max(share, 0.02);
        worked[column] += Math.max(share, 0.02) * work;
      }
    }
  }
  context.fillStyle = ink;
  covered.forEach((share, column) => {
    if (share === 0) return;
    const part = worked[column] / share;
    const strength = 0.25 + 0.75 * Math.min(1, share);
    context.globalAlpha = 0.3 * strength;
    context.fillRect(column, bar, 1, height);
    context.globalAlpha = strength;
    context.fillRect(column, bar + height * (1 - part), 1, height * part);
  });
  context.globalAlpha = 1;
  context.strokeStyle = colour('ink');
  context.lineWidth = 1.5;
  for (const [left, right] of chosen) context.strokeRect(left - 1, bar - 1.5, Math.max(right - left, 2) + 2, height + 3);
  paintTroubles(context, line, lane, wrong, bar + height);
  paintName(context, lane, top);
}

function paintName(context, lane, top) {
  context.font = '12px system-ui, sans-serif';
  context.textAlign = 'left';
  context.textBaseline = 'top';
  const { width } = context.measureText(lane.name);
  context.fillStyle = colour('ground');
  context.globalAlpha = 0.85;
  context.fillRect(0, top + 1, width + 6, 15);
  context.globalAlpha = 1;
  context.fillStyle = colour('ink');
  context.fillText(lane.name, 1, top + 2);
}

/** What a stage lost and failed at, under its bar. */
function paintTroubles(context, line, lane, wrong, top) {
  context.fillStyle = colour('bad');
  for (const queue of queues) {
    if (queue.stage !== lane.stage) continue;
    for (let drop = after(queue.drops, line.from); drop < queue.drops.length && queue.drops[drop] <= line.to; drop += 1) {
      context.fillRect(place(line, queue.drops[drop]) - 0.5, top + 2, 1, 4);
    }
  }
  for (const x of wrong) {
    context.beginPath();
    context.moveTo(x, top + 1);
    context.lineTo(x + 4, top + 8);
    context.lineTo(x - 4, top + 8);
    context.fill();
  }
}

/** Where the scrubber is, and which part of all is seen. */
function paintHead(context, line, height) {
  context.fillStyle = colour('accent');
  if (frames.count > 0) {
    const x = place(line, frames.captured[player.frame]);
    if (x >= 0 && x <= line.width) {
      context.fillRect(x - 0.75, HEAD - 12, 1.5, height - FOOT - HEAD + 12);
      context.beginPath();
      context.arc(x, HEAD - 12, 4, 0, 7);
      context.fill();
    }
  }
  context.fillStyle = colour('lane');
  context.fillRect(0, height - 6, line.width, 4);
  context.fillStyle = colour('accent');
  const [left, right] = [line.from / line.end, line.to / line.end];
  context.fillRect(left * line.width, height - 6, Math.max(3, (right - left) * line.width), 4);
}
