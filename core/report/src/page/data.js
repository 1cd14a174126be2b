// What is shown: the JSON of the page, with what is stored as differences added up.

const data = JSON.parse(byId('data').textContent);

function summed(differences) {
  let sum = 0;
  return differences.map((difference) => (sum += difference));
}

const frames = {
  captured: summed(data.frames.captured),
  sequence: data.frames.sequence,
  count: data.frames.captured.length,
  source: (frame) => data.frames.sources[data.frames.source[frame]],
  /** What vision made of a frame; nothing: it never looked. */
  look: (frame) => data.looks[data.frames.look[frame]],
};

const lanes = data.timeline.lanes.map((lane) => ({
  ...lane,
  start: summed(lane.start),
  name: lane.name ?? data.stages[lane.stage].name,
  wrong: new Map(lane.wrong),
  // No call is longer: where to begin to look for those that reach into a stretch of time.
  longest: lane.length.reduce((most, length) => Math.max(most, length), 0),
}));

const queues = data.troubles.queues.map((queue) => ({ ...queue, drops: summed(queue.drops) }));

/** By frame: the calls that were about it, as [lane, call]. */
const callsOf = new Map();
for (const lane of lanes) {
  lane.frame.forEach((frame, call) => {
    if (frame < 0) return;
    if (!callsOf.has(frame)) callsOf.set(frame, []);
    callsOf.get(frame).push([lane, call]);
  });
}

/** The call of a lane that goes on at a time, or -1. */
function callAt(lane, time) {
  const calls = lane.start;
  for (let call = after(calls, time) - 1; call >= 0 && calls[call] + lane.longest >= time; call -= 1) {
    if (calls[call] + lane.length[call] >= time) return call;
  }
  return -1;
}

/** The board that a frame shows: the last one seen until then, if it is on the frame. */
const boardStarts = data.boards.map((board) => board.before?.frame ?? 0);
function boardOf(frame) {
  const board = data.boards[after(boardStarts, frame) - 1];
  const look = frames.look(frame);
  return board && look && look.shape === board.shape ? board : undefined;
}

const text = (index) => data.timeline.texts[index];
