// What was dropped, what failed, and what ran.

function showDrops() {
  const body = byId('drops-body');
  const losing = queues.filter((queue) => queue.drops.length > 0);
  if (losing.length === 0) {
    body.append(element('p', { class: 'calm' }, 'No queue dropped anything.'));
    return;
  }
  body.append(
    element('p', { class: 'about' }, 'Messages that full queues let go, and when. A queue that keeps only the latest drops by design.'),
    element('ul', { class: 'queues' }, losing.map((queue) => {
      const strip = chart(`When ${queue.from} to ${queue.to} dropped`, (context, width, height) => {
        context.fillStyle = colour('lane');
        context.fillRect(0, 0, width, height);
        context.fillStyle = colour('bad');
        context.globalAlpha = 0.7;
        for (const drop of queue.drops) context.fillRect((drop / timeline.end) * (width - 1), 0, 1, height);
        context.globalAlpha = 1;
      });
      return element(
        'li',
        {},
        element('p', {}, element('strong', {}, counted(queue.drops.length, 'message')), ` from ${queue.from} to ${queue.to}`, element('small', {}, `room for ${queue.capacity}, ${queue.when_full} when full`)),
        strip,
        timeAxis(timeline.end),
      );
    })),
  );
}

/** The ticks below a strip of the whole run, in seconds of the run's clock. */
function timeAxis(end) {
  const step = stepFor({ from: 0, to: end, width: 600 }, 120);
  const ticks = [];
  for (let time = 0; time <= end; time += step) {
    const tick = element('span', {}, clockBy(time, step));
    tick.style.left = `${(time / end) * 100}%`;
    ticks.push(tick);
  }
  return element('div', { class: 'axis', 'aria-hidden': 'true' }, ticks);
}

function showFailures() {
  const body = byId('failures-body');
  const { problems, problem_count: total } = data.troubles;
  if (total === 0) {
    body.append(element('p', { class: 'calm' }, 'Nothing went wrong.'));
    return;
  }
  const list = element('ol', { class: 'problems' });
  let shown = 0;
  const next = element('p', { class: 'more' });
  const more = () => {
    for (const problem of problems.slice(shown, shown + 20)) list.append(failure(problem));
    shown = Math.min(shown + 20, problems.length);
    next.hidden = shown >= problems.length;
    next.replaceChildren(button('Show more', 'Show more failures', more), element('span', {}, ` ${count(total - shown)} not shown yet`));
  };
  more();
  body.append(list, next);
  if (total > problems.length) body.append(element('p', { class: 'about' }, `Only the first ${count(problems.length)} of ${count(total)} are listed.`));
}

function failure(problem) {
  const who = problem.plugin && problem.plugin !== problem.stage ? `${problem.stage} (${problem.plugin})` : problem.stage;
  const go = problem.frame === null ? null : button(`Frame ${count(problem.frame + 1)}`, `Look at frame ${problem.frame + 1}`, () => player.visit(problem.frame));
  return element(
    'li',
    {},
    element('p', { class: 'head' }, element('span', { class: 'badge bad' }, problem.kind), element('strong', {}, who), element('span', { class: 'quiet' }, clock(problem.at_ns)), go),
    element('p', { class: 'reason' }, problem.text),
  );
}

function showPipeline() {
  const body = byId('pipeline-body');
  const rows = data.stages.flatMap((stage, index) =>
    stage.plugins.map((plugin) => {
      const swatch = element('span', { class: 'swatch' });
      swatch.style.background = `var(--stage-${index % 8})`;
      const facts = [`version ${plugin.version}`, `hash ${plugin.hash.slice(0, 12)}`, plugin.deterministic ? 'deterministic' : 'touches the world, or varies'];
      if (stage.machine) facts.push(`on ${stage.machine}`);
      if (stage.workers > 1) facts.push(`${stage.workers} workers`);
      return element(
        'li',
        {},
        element('p', { class: 'head' }, swatch, element('strong', {}, stage.name), ` ${plugin.name}`, element('small', {}, facts.join(', '))),
        plugin.config ? element('code', {}, plugin.config) : null,
      );
    }),
  );
  const run = data.overview;
  body.append(
    element('p', { class: 'about' }, `${run.pipeline || run.name}, recorded by flowpipe ${run.flowpipe} into ${run.recording}.`),
    element('ul', { class: 'plugins' }, rows),
  );
  if (data.pipeline.trim()) {
    body.append(element('details', {}, element('summary', {}, 'The pipeline’s file'), element('pre', { tabindex: '0' }, data.pipeline)));
  }
}
