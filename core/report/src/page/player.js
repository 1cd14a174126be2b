// The scrubber: one frame, what lies over it, and what each stage did with it.

const player = {
  frame: 0,
  shows: { grid: true, strokes: true, pipes: false, solution: false, overlays: true },
  moved: [],
  playing: null,

  /** Goes to a frame. */
  go(frame) {
    const to = Math.max(0, Math.min(frames.count - 1, Math.round(frame)));
    if (Number.isNaN(to) || frames.count === 0) return;
    this.frame = to;
    this.slider.value = String(to);
    this.update();
    this.draw();
    this.moved.forEach((moved) => moved(to));
  },

  /** Goes to a frame, and brings it into sight. */
  visit(frame) {
    this.stop();
    this.go(frame);
    const calm = matchMedia('(prefers-reduced-motion: reduce)').matches;
    byId('player').scrollIntoView({ behavior: calm ? 'auto' : 'smooth', block: 'start' });
    (this.screen.hidden ? this.slider : this.screen).focus({ preventScroll: true });
  },

  show() {
    const about = byId('player-about');
    if (frames.count === 0) {
      about.textContent = 'No frame was captured.';
      return;
    }
    const { has_boards: boards, has_pictures: pictures } = data.overview;
    about.textContent = `${pictures ? '' : 'The recording has no pictures. '}Each frame, what was made of it, and what every stage did with it. Arrow keys go from frame to frame, space plays.`;
    const layers = boards ? [['grid', 'Board as read'], ['pipes', 'Pipes as read'], ['solution', 'Solution'], ['strokes', 'Strokes']] : [];
    if (drawingsOf.size > 0) layers.push(['overlays', 'Overlays']);
    for (const [key, name] of layers) {
      byId('player-toggles').append(
        toggle(name, this.shows[key], (on) => {
          this.shows[key] = on;
          this.draw();
        }),
      );
    }
    this.canvas = element('canvas', { role: 'img', onpointermove: (event) => this.point(event) });
    this.screen = element('div', { class: 'screen', tabindex: '0', 'aria-label': 'Frame; arrow keys go from frame to frame', role: 'group' }, this.canvas);
    this.screen.hidden = !pictures;
    this.slider = element('input', { type: 'range', min: 0, max: frames.count - 1, value: 0, step: 1, 'aria-label': 'Frame', oninput: () => { this.stop(); this.go(Number(this.slider.value)); } });
    this.play = button('Play', 'Play', () => this.toggle());
    this.where = element('p', { class: 'where', role: 'status' });
    this.made = element('p', { class: 'made' });
    this.list = element('ul', { class: 'doings' });
    const step = (text, label, by) => button(text, label, () => { this.stop(); this.go(this.frame + by); });
    byId('player-body').append(
      element(
        'div',
        { class: 'viewer' },
        this.screen,
        this.slider,
        element('div', { class: 'buttons' }, step('−10', 'Ten frames back', -10), step('‹', 'One frame back', -1), this.play, step('›', 'One frame on', 1), step('+10', 'Ten frames on', 10), boards ? button('Next board', 'Next board', () => this.board(1)) : null),
      ),
      element('div', { class: 'details' }, this.where, this.made, this.list),
    );
    byId('player').addEventListener('keydown', (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(this.screen);
    this.go(data.boards[0]?.before?.frame ?? 0);
  },

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.matches('input[type=range]');
    const pressed = event.target.matches('button, input[type=checkbox]');
    const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 };
    if (event.key in steps && !typing) this.go(this.frame + steps[event.key]);
    else if (event.key === 'Home' && !typing) this.go(0);
    else if (event.key === 'End' && !typing) this.go(frames.count - 1);
    else if (event.key === ' ' && !pressed) this.toggle();
    else if (event.key === 'n') this.board(1);
    else if (event.key === 'p') this.board(-1);
    else return;
    event.preventDefault();
  },

  /** Goes to where the next board begins, or the one before. */
  board(by) {
    this.stop();
    const next = by > 0 ? boardStarts.find((start) => start > this.frame) : boardStarts.findLast((start) => start < this.frame);
    if (next !== undefined) this.go(next);
  },

  toggle() {
    if (this.playing) this.stop();
    else this.start();
  },

  /** Plays as fast as it was. */
  start() {
    if (this.frame >= frames.count - 1) this.go(0);
    const began = performance.now();
    const from = frames.captured[this.frame];
    const next = (now) => {
      const time = from + Math.max(0, now - began) * 1e6;
      const frame = after(frames.captured, time) - 1;
      if (frame > this.frame) this.go(frame);
      if (this.frame >= frames.count - 1) this.stop();
      else this.playing = requestAnimationFrame(next);
    };
    this.playing = requestAnimationFrame(next);
    this.named('Pause');
  },

  stop() {
    if (!this.playing) return;
    cancelAnimationFrame(this.playing);
    this.playing = null;
    this.named('Play');
  },

  named(word) {
    this.play.textContent = word;
    this.play.title = word;
    this.play.setAttribute('aria-label', word);
  },

  /** Draws the frame. While one is being decoded only the last wish is kept. */
  async draw() {
    this.wanted = this.frame;
    if (this.busy || !this.canvas) return;
    this.busy = true;
    try {
      while (this.wanted !== null) {
        const frame = this.wanted;
        this.wanted = null;
        const shown = await framePicture(frame).catch(() => null);
        this.paint(frame, shown);
      }
    } finally {
      this.busy = false;
    }
  },

  paint(frame, shown) {
    const look = frames.look(frame);
    const size = shown?.size ?? frameSize(frame) ?? [16, 9];
    const most = [this.screen.clientWidth, Math.min(innerHeight * 0.7, 620)];
    if (most[0] === 0) return;
    const scale = Math.min(most[0] / size[0], most[1] / size[1]);
    const [width, height] = [size[0] * scale, size[1] * scale];
    [this.canvas.style.width, this.canvas.style.height] = [`${width}px`, `${height}px`];
    const context = sharp(this.canvas, width, height);
    context.fillStyle = '#101012';
    context.fillRect(0, 0, width, height);
    if (shown) {
      context.scale(scale, scale);
      context.imageSmoothingQuality = 'high';
      context.drawImage(shown.bitmap, 0, 0, ...size);
      this.over(context, frame, look, 1 / scale);
    } else {
      context.fillStyle = '#c8c8cc';
      context.font = '15px system-ui, sans-serif';
      context.textAlign = 'center';
      context.fillText('The recording has no picture of this frame.', width / 2, height / 2);
    }
    this.canvas.dataset.frame = String(frame);
    this.canvas.setAttribute('aria-label', `Frame ${frame + 1}: ${this.seen(frame)}`);
  },

  over(context, frame, look, pixel) {
    if (look?.map) this.overBoard(context, frame, look, pixel);
    if (!this.shows.overlays) return;
    for (const [, drawing] of drawingsOf.get(frame) ?? []) paintDrawing(context, shapesOf(drawing), pixel);
  },

  overBoard(context, frame, look, pixel) {
    const board = boardOf(frame);
    if (this.shows.pipes) paintPipes(context, look, look.drawn, 0.16, 1);
    if (this.shows.grid) paintGrid(context, look, pixel, !(this.shows.strokes && board?.attempts.length));
    if (this.shows.solution && board) paintSolution(context, look, board.solution, pixel);
    if (this.shows.strokes && board) {
      for (const attempt of board.attempts) paintStrokes(context, look, attempt.strokes, pixel);
    }
  },

  /** Shows the label of the shape under the pointer. */
  point(event) {
    const [width] = frameSize(this.frame) ?? [];
    const box = this.canvas.getBoundingClientRect();
    if (!width || box.width === 0) return;
    const pixel = width / box.width;
    const at = [(event.clientX - box.left) * pixel, (event.clientY - box.top) * pixel];
    this.canvas.title = this.shows.overlays ? labelAt(this.frame, ...at, 2 * pixel) : '';
  },

  /** What was made of a frame, in words. */
  seen(frame) {
    const look = frames.look(frame);
    const parts = (drawingsOf.get(frame) ?? []).map(([output, drawing]) => `${counted(shapesOf(drawing).length, 'shape')} by ${output}`);
    if (look) parts.unshift(look.refused ?? `${data.shapes[look.shape].title}, ${look.state}`);
    else if (data.overview.has_boards) parts.unshift('no stage made anything of it');
    return parts.join('; ');
  },

  /** Shows which frame it is, and which stage did what. */
  update() {
    const { frame } = this;
    const time = frames.captured[frame];
    const board = boardOf(frame);
    this.where.replaceChildren(
      element('strong', {}, `Frame ${count(frame + 1)}`),
      ` of ${count(frames.count)}, ${clock(time)}`,
      board ? `, board ${data.boards.indexOf(board) + 1}` : '',
    );
    this.slider.setAttribute('aria-valuetext', `frame ${frame + 1}, ${(time / 1e9).toFixed(2)} seconds`);
    const earlier = data.reel.of[frame] >= 0 && !data.reel.own[frame] ? ' (The picture is that of an earlier frame.)' : '';
    const seen = this.seen(frame);
    this.made.textContent = (seen ? `${capital(seen)}.` : '') + earlier;
    this.list.replaceChildren(...lanes.map((lane) => this.doing(lane, frame, time)), ...this.lost(frame));
  },

  /** What a stage did with a frame; or what else it did then. */
  doing(lane, frame, time) {
    const own = (callsOf.get(frame) ?? []).filter(([of]) => of === lane);
    const lines = own.slice(0, 6).map(([, call]) => {
      const begins = lane.start[call] - time;
      const about = text(lane.text[call]);
      const wrong = text(lane.wrong.get(call));
      return element(
        'span',
        { class: 'line' },
        element('b', {}, duration(lane.length[call])),
        element('i', {}, begins >= 0 ? ` from +${duration(begins)}` : ` from −${duration(-begins)}`),
        about ? `: ${about}` : '',
        wrong ? element('em', { class: 'bad' }, ` ${wrong}`) : '',
      );
    });
    if (own.length > 6) lines.push(element('span', { class: 'line quiet' }, `and ${own.length - 6} more`));
    if (lines.length === 0) {
      const call = callAt(lane, time);
      const other = call < 0 ? -1 : lane.frame[call];
      const busy = call < 0 ? 'idle then' : other >= 0 ? `busy with frame ${count(other + 1)} then` : 'busy then';
      lines.push(element('span', { class: 'line quiet' }, busy));
    }
    const swatch = element('span', { class: 'swatch' });
    swatch.style.background = `var(--stage-${lane.stage % 8})`;
    return element('li', {}, element('span', { class: 'who' }, swatch, lane.name), element('span', { class: 'what' }, lines));
  },

  /** Queues that dropped it. */
  lost(frame) {
    return queues
      .filter((queue) => queue.frames.includes(frame))
      .map((queue) => element('li', {}, element('span', { class: 'who' }, 'dropped'), element('span', { class: 'what' }, `on the way from ${queue.from} to ${queue.to}: the queue was full`)));
  },
};
