// Who was busy when: a lane for each stage, to be zoomed and moved.

const HEAD = 26;
const LANE = 42;
const FOOT = 14;

const timeline = {
  from: 0,
  to: 1,
  end: 1,

  show() {
    const about = byId('timeline-about');
    const busy = lanes.some((lane) => lane.start.length > 0);
    if (!busy && frames.count === 0) {
      about.textContent = 'The recording holds nothing with a time.';
      return;
    }
    const thinned = lanes.some((lane) => lane.thinned) ? ' There are so many calls that neighbours are drawn as one.' : '';
    about.textContent = `Each bar is a call, over the time since the start; its pale part is the share of waiting. Drag to move, pinch or hold Ctrl and scroll to zoom, click to go to a frame.${thinned}`;
    this.end = Math.max(data.overview.ends_ns, 1000);
    [this.from, this.to] = [0, this.end];
    byId('timeline-buttons').append(
      button('−', 'Zoom out', () => this.zoom(2)),
      button('+', 'Zoom in', () => this.zoom(0.5)),
      button('‹', 'Earlier', () => this.move(-0.5)),
      button('›', 'Later', () => this.move(0.5)),
      button('All', 'Show all of it', () => this.look(0, this.end)),
      button('Frame', 'Show the frame of the scrubber', () => this.frame()),
    );
    this.canvas = element('canvas', { role: 'img', 'aria-label': this.summary() });
    this.box = element('div', { class: 'lanes', tabindex: '0', role: 'group', 'aria-label': 'Timeline; arrow keys move, plus and minus zoom' }, this.canvas);
    this.details = element('p', { class: 'call-details' });
    byId('timeline-body').append(this.box, this.details);
    this.listen();
    new ResizeObserver(() => this.draw()).observe(this.box);
    onScheme(() => this.draw());
    player.moved.push(() => this.follow());
    this.describe();
  },

  summary() {
    const parts = data.stages.map((stage) => `${stage.name} ${percent(stage.time.total_ns / this.end)}`);
    return `Share of the time that each stage was at work: ${parts.join(', ')}`;
  },

  /** Shows a stretch of time, within what there is. */
  look(from, to) {
    const span = Math.max(1000, Math.min(this.end, to - from));
    this.from = Math.max(0, Math.min(this.end - span, from));
    this.to = this.from + span;
    this.draw();
  },

  zoom(factor, about = (this.from + this.to) / 2) {
    this.look(about - (about - this.from) * factor, about + (this.to - about) * factor);
  },

  move(share) {
    const by = (this.to - this.from) * share;
    this.look(this.from + by, this.to + by);
  },

  /** Shows what happened to the scrubber's frame. */
  frame() {
    if (frames.count === 0) return;
    let [from, to] = [frames.captured[player.frame], frames.captured[player.frame]];
    for (const [lane, call] of callsOf.get(player.frame) ?? []) {
      from = Math.min(from, lane.start[call]);
      to = Math.max(to, lane.start[call] + lane.length[call]);
    }
    const margin = Math.max(1e5, (to - from) * 0.15);
    this.look(from - margin, to + margin);
  },

  /** The scrubber moved. */
  follow() {
    const time = frames.captured[player.frame];
    const span = this.to - this.from;
    if (time < this.from || time > this.to) this.look(time - span / 2, time + span / 2);
    else this.draw();
  },

  time(x) {
    return this.from + ((this.to - this.from) * x) / this.width;
  },

  listen() {
    const pointers = new Map();
    let travelled = 0;
    const at = (event) => event.clientX - this.canvas.getBoundingClientRect().left;
    this.box.addEventListener('pointerdown', (event) => {
      if (event.button !== 0) return;
      if (pointers.size === 0) travelled = 0;
      pointers.set(event.pointerId, at(event));
      this.box.setPointerCapture(event.pointerId);
    });
    this.box.addEventListener('pointermove', (event) => {
      const x = at(event);
      if (!pointers.has(event.pointerId)) {
        this.describe(x, event.clientY - this.canvas.getBoundingClientRect().top);
        return;
      }
      const before = pointers.get(event.pointerId);
      const others = [...pointers].filter(([id]) => id !== event.pointerId).map(([, other]) => other);
      travelled += Math.abs(x - before);
      if (others.length === 0) {
        this.move((before - x) / this.width);
      } else {
        const [was, is] = [Math.abs(before - others[0]), Math.abs(x - others[0])];
        if (was > 4 && is > 4) this.zoom(was / is, this.time(others[0]));
      }
      pointers.set(event.pointerId, x);
    });
    const up = (event) => {
      const known = pointers.delete(event.pointerId);
      if (known && event.type === 'pointerup' && travelled < 4) this.pick(at(event), event.clientY - this.canvas.getBoundingClientRect().top);
    };
    this.box.addEventListener('pointerup', up);
    this.box.addEventListener('pointercancel', up);
    this.box.addEventListener('pointerleave', () => this.describe());
    this.box.addEventListener('wheel', (event) => {
      if (event.ctrlKey || event.metaKey) this.zoom(Math.exp(event.deltaY * 0.004), this.time(at(event)));
      else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.move(event.deltaX / this.width);
      else if (event.shiftKey) this.move(event.deltaY / this.width);
      else return;
      event.preventDefault();
    }, { passive: false });
    this.box.addEventListener('dblclick', (event) => this.zoom(0.25, this.time(at(event))));
    this.box.addEventListener('keydown', (event) => {
      const acts = {
        ArrowLeft: () => this.move(-0.2),
        ArrowRight: () => this.move(0.2),
        '+': () => this.zoom(0.5),
        '=': () => this.zoom(0.5),
        '-': () => this.zoom(2),
        0: () => this.look(0, this.end),
        Home: () => this.look(0, this.to - this.from),
        End: () => this.look(this.end - (this.to - this.from), this.end),
      };
      if (event.ctrlKey || event.metaKey || !(event.key in acts)) return;
      acts[event.key]();
      event.preventDefault();
    });
  },

  /** The lane and the call under a point; a call that is thin is found from a few pixels away. */
  under(x, y) {
    const lane = lanes[Math.floor((y - HEAD) / LANE)];
    if (!lane || y < HEAD) return [lane, -1];
    const reach = ((this.to - this.from) / this.width) * 3;
    const time = this.time(x);
    let [best, nearest] = [-1, reach];
    for (let call = after(lane.start, time + reach) - 1; call >= 0 && lane.start[call] + lane.longest >= time - reach; call -= 1) {
      const [start, end] = [lane.start[call], lane.start[call] + lane.length[call]];
      const away = Math.max(0, start - time, time - end);
      if (away < nearest) [best, nearest] = [call, away];
      if (away === 0) break;
    }
    return [lane, best];
  },

  /** A click: to the frame of the call, or to the one captured last. */
  pick(x, y) {
    const [lane, call] = this.under(x, y);
    const frame = call >= 0 ? lane.frame[call] : -1;
    player.stop();
    player.go(frame >= 0 ? frame : after(frames.captured, this.time(x)) - 1);
  },

  /** Describes what is under the pointer. */
  describe(x, y) {
    const [lane, call] = x === undefined ? [] : this.under(x, y);
    if (!lane || call < 0) {
      this.details.textContent = x === undefined ? 'Point at a bar to see its call here.' : clockBy(this.time(x), (this.to - this.from) / 1000);
      this.details.classList.toggle('quiet', x === undefined);
      return;
    }
    const frame = lane.frame[call];
    const parts = [
      `${lane.name}, ${frame >= 0 ? `frame ${count(frame + 1)}, ` : ''}${clockBy(lane.start[call], 1e4)}: ${duration(lane.length[call])}`,
      lane.waited[call] > 0 ? ` (${duration(lane.waited[call])} of it waiting)` : '',
      text(lane.text[call]) ? `. ${capital(text(lane.text[call]))}` : '',
      lane.wrong.has(call) ? `. ${capital(text(lane.wrong.get(call)))}` : '',
    ];
    this.details.textContent = parts.join('');
    this.details.classList.remove('quiet');
  },

  draw() {
    if (this.planned) return;
    this.planned = true;
    requestAnimationFrame(() => {
      this.planned = false;
      this.paint();
    });
  },

  paint() {
    this.width = this.box.clientWidth;
    if (this.width === 0) return;
    const height = HEAD + LANE * lanes.length + FOOT;
    this.canvas.style.height = `${height}px`;
    this.canvas.style.width = `${this.width}px`;
    const context = sharp(this.canvas, this.width, height);
    context.clearRect(0, 0, this.width, height);
    paintScale(context, this, height);
    paintFrames(context, this);
    lanes.forEach((lane, index) => paintLane(context, this, lane, HEAD + index * LANE));
    paintHead(context, this, height);
  },
};
