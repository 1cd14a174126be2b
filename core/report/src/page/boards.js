// The boards before and after, as cards.

const cards = { shown: 0, strokes: true, redraws: new Set() };
const PAGEFUL = 24;

function showBoards() {
  const boards = data.boards;
  const about = byId('boards-about');
  byId('boards').hidden = byId('to-boards').hidden = !data.overview.has_boards;
  if (boards.length === 0) {
    about.textContent = frames.count === 0 ? 'Nothing was captured, so no board was seen.' : 'No board was seen in this recording.';
    return;
  }
  const sizes = new Map();
  for (const board of boards) {
    const size = data.shapes[board.shape].size;
    sizes.set(size, (sizes.get(size) ?? 0) + 1);
  }
  const list = [...sizes].map(([size, number]) => (number > 1 ? `${size} (${number} times)` : size));
  about.textContent = `${counted(boards.length, 'board')}: ${list.slice(0, 12).join(', ')}${list.length > 12 ? ' …' : ''}.`;
  if (boards.some((board) => board.attempts.length > 0)) {
    byId('board-toggles').append(
      toggle('Strokes', true, (on) => {
        cards.strokes = on;
        cards.redraws.forEach((redraw) => redraw());
      }),
    );
  }
  more();
}

/** Shows the next pageful. */
function more() {
  const boards = data.boards;
  const to = Math.min(cards.shown + PAGEFUL, boards.length);
  for (; cards.shown < to; cards.shown += 1) byId('cards').append(card(boards[cards.shown], cards.shown));
  const left = boards.length - cards.shown;
  const place = byId('boards-more');
  place.hidden = left === 0;
  place.replaceChildren(
    button(left > PAGEFUL ? `Show ${PAGEFUL} more` : `Show the last ${left}`, 'Show more boards', more),
    element('span', {}, ` ${count(left)} not shown yet`),
  );
}

function card(board, index) {
  const shape = data.shapes[board.shape];
  const views = [['Before', board.before, false]];
  const one = !board.after || board.after.frame === board.before?.frame;
  const drawn = board.attempts.length > 0 || board.solution.length > 0;
  if (!one) views.push(['After', board.after, false]);
  else if (board.before && drawn) views.push(['After, as it was played', board.before, true]);
  return element(
    'li',
    { class: 'card' },
    element(
      'header',
      {},
      element('h3', {}, element('span', { class: 'number' }, String(index + 1)), ' ', shape.title),
      element('span', { class: `badge ${board.outcome.tone}` }, board.outcome.text || 'seen'),
    ),
    element('div', { class: views.length > 1 ? 'pair' : 'pair single' }, views.map((view) => picture(board, index, ...view))),
    board.outcome.reason ? element('p', { class: 'reason' }, capital(board.outcome.reason)) : null,
    facts(board),
    board.before
      ? element('p', { class: 'go' }, button('Look at its frames', `Look at the frames of board ${index + 1}`, () => player.visit(board.before.frame)))
      : null,
  );
}

/** What is known of a board, in a few lines. */
function facts(board) {
  const strokes = board.attempts.reduce((sum, attempt) => sum + attempt.strokes.length, 0);
  const segments = board.attempts.reduce((sum, attempt) => sum + attempt.segments, 0);
  const acted = board.attempts.reduce((sum, attempt) => sum + (attempt.act_ns ?? 0), 0);
  const rows = [];
  if (board.took_ns !== null) rows.push(['In all', duration(board.took_ns)]);
  if (board.pressed_ns !== null) rows.push(['Frame to first press', duration(board.pressed_ns)]);
  if (board.answer) rows.push(['Answer', board.answer + (board.solved_ns !== null ? ` in ${duration(board.solved_ns)}` : '')]);
  if (strokes > 0) {
    const again = board.repeated > 0 ? `, ${board.repeated} drawn again` : '';
    const time = acted > 0 ? `, ${duration(acted)} with the mouse` : '';
    rows.push(['Strokes', `${count(strokes)} with ${counted(segments, 'segment')}${again}${time}`]);
  }
  if (board.attempts.length > 1) rows.push(['Attempts', String(board.attempts.length)]);
  if (data.overview.source_count > 1) rows.push(['Source', board.source]);
  return element('dl', { class: 'facts' }, rows.map(([name, value]) => [element('dt', {}, name), element('dd', {}, value)]));
}

/** One picture of a board, drawn when it comes into sight. */
function picture(board, index, title, view, painted) {
  const look = data.looks[view?.look];
  const area = still(view, look);
  const canvas = element('canvas', {
    role: 'img',
    'aria-label': `Board ${index + 1}, ${title.toLowerCase()}${painted ? ', with its solution' : ''}`,
  });
  canvas.style.aspectRatio = `${area[2]} / ${area[3]}`;
  const after = title !== 'Before';
  const draw = async () => {
    const box = canvas.getBoundingClientRect();
    if (box.width === 0) return;
    const shown = view?.picture === null || view === null ? null : await stillPicture(view.picture);
    const context = sharp(canvas, box.width, box.height);
    const pixel = area[2] / box.width;
    context.fillStyle = '#101012';
    context.fillRect(0, 0, box.width, box.height);
    context.scale(1 / pixel, 1 / pixel);
    context.translate(-area[0], -area[1]);
    context.imageSmoothingQuality = 'high';
    if (shown) {
      context.drawImage(shown.bitmap, ...shown.area);
      shown.bitmap.close();
    } else if (look) {
      paintGrid(context, look, pixel, true);
    }
    if (painted && look) paintPipes(context, look, board.drawn ?? board.solution, 0.34, 0.92);
    if (after && look && cards.strokes) {
      for (const attempt of board.attempts) paintStrokes(context, look, attempt.strokes, pixel);
    }
    canvas.dataset.drawn = 'true';
  };
  whenSeen(canvas, () => {
    cards.redraws.add(draw);
    draw();
  });
  const when = view ? `frame ${count(view.frame + 1)}` : '';
  return element('figure', {}, canvas, element('figcaption', {}, title, element('span', {}, when)));
}

/** Where the picture of a view lies in its frame; without one, where the board does. */
function still(view, look) {
  const own = data.stills[view?.picture];
  if (own) return own.area;
  if (!look?.map) return [0, 0, 1, 1];
  const { sides } = data.shapes[look.shape];
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (let index = 0; index + 1 < sides.length; index += 2) {
    const [x, y] = placed(look.map, sides[index], sides[index + 1]);
    [left, top, right, bottom] = [Math.min(left, x), Math.min(top, y), Math.max(right, x), Math.max(bottom, y)];
  }
  const margin = 0.05 * Math.max(right - left, bottom - top);
  return [left - margin, top - margin, right - left + 2 * margin, bottom - top + 2 * margin];
}
