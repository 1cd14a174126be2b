// How long each stage took: the table, and their distribution.

function showStages() {
  const about = byId('stages-about');
  const body = byId('stages-body');
  if (data.stages.length === 0) {
    about.textContent = 'The recording names no stage.';
    return;
  }
  const total = data.stages.reduce((sum, stage) => sum + stage.time.total_ns, 0);
  about.textContent = 'Time at work on one message, without waiting. Share: of the work of all stages.';
  // Most runs have none.
  const restarts = data.stages.some((stage) => stage.restarts > 0);
  const columns = ['Stage', 'Taken', 'Given', 'Dropped', 'Failed', ...(restarts ? ['Restarts'] : []), 'Median', '95 %', '99 %', 'Longest', 'Share'];
  const row = (stage, index) => {
    const { time } = stage;
    const swatch = element('span', { class: 'swatch' });
    swatch.style.background = `var(--stage-${index % 8})`;
    const runs = stage.plugins.map((plugin) => plugin.name).join(', ') + (stage.machine ? ` on ${stage.machine}` : '');
    const times = time.count > 0 ? [time.p50_ns, time.p95_ns, time.p99_ns, time.max_ns].map(duration) : ['–', '–', '–', '–'];
    const values = [count(stage.taken), count(stage.emitted), count(stage.dropped), count(stage.problems), ...(restarts ? [count(stage.restarts)] : []), ...times, percent(total > 0 ? time.total_ns / total : 0)];
    return element(
      'tr',
      {},
      element('th', { scope: 'row' }, swatch, stage.name, element('small', {}, runs)),
      values.map((value, place) => element('td', { 'data-name': columns[place + 1], class: (place === 2 || place === 3) && value !== '0' ? 'bad' : null }, value)),
    );
  };
  body.append(
    element(
      'table',
      { class: 'stages' },
      element('caption', {}, 'Time of each stage'),
      element('thead', {}, element('tr', {}, columns.map((name) => element('th', { scope: 'col' }, name)))),
      element('tbody', {}, data.stages.map(row)),
    ),
  );
  const distributions = data.stages.map((stage, index) => [stage.name, stage.time, `var(--stage-${index % 8})`]);
  if (data.overview.action.count > 0) distributions.push(['Frame to first press', data.overview.action, 'var(--accent)']);
  showDistributions(body, distributions.filter(([, time]) => time.count > 0));
}

/** The distributions, one below the other on one axis. */
function showDistributions(body, distributions) {
  if (distributions.length === 0) return;
  const bins = distributions.flatMap(([, time]) => Object.keys(time.bins).map(Number));
  // From one power of ten to another.
  const first = Math.floor(Math.min(...bins) / data.bins) * data.bins;
  const last = Math.ceil((Math.max(...bins) + 1) / data.bins) * data.bins;
  const share = (ns) => (Math.log10(Math.max(ns, 1) / 100) * data.bins - first) / (last - first);
  const ticks = [];
  for (let bin = first; bin <= last; bin += data.bins) ticks.push(bin);
  const line = ([name, time, paint]) => {
    const most = Math.max(...Object.values(time.bins));
    const bars = [];
    for (const [bin, number] of Object.entries(time.bins)) {
      const bar = element('span', { class: 'bar' });
      bar.style.left = `${((bin - first) / (last - first)) * 100}%`;
      bar.style.width = `calc(${100 / (last - first)}% - 1px)`;
      bar.style.height = `${Math.max(2, (number / most) * 100)}%`;
      bar.style.background = paint;
      bars.push(bar);
    }
    const quantile = (ns, word) => {
      const mark = element('span', { class: `quantile ${word}` });
      mark.style.left = `${share(ns) * 100}%`;
      return mark;
    };
    for (const bin of ticks) {
      const rule = element('span', { class: 'grid-line' });
      rule.style.left = `${((bin - first) / (last - first)) * 100}%`;
      bars.unshift(rule);
    }
    const summary = `${name}: up to ${count(most)} in a bar, half within ${duration(time.p50_ns)}, 95 of 100 within ${duration(time.p95_ns)}, longest ${duration(time.max_ns)}`;
    return element(
      'div',
      { class: 'distribution' },
      element('span', { class: 'name' }, name, element('small', {}, `${duration(time.p50_ns)} · ${duration(time.p95_ns)}`)),
      element('div', { class: 'counts', 'aria-hidden': 'true' }, element('span', {}, count(most)), element('span', {}, '0')),
      element('div', { class: 'bars', role: 'img', 'aria-label': summary }, bars, quantile(time.p50_ns, 'half'), quantile(time.p95_ns, 'most')),
    );
  };
  const axis = element('div', { class: 'axis', 'aria-hidden': 'true' }, ticks.map((bin) => {
    const tick = element('span', {}, power(bin / data.bins));
    tick.style.left = `${((bin - first) / (last - first)) * 100}%`;
    return tick;
  }));
  body.append(
    element('h3', { class: 'distributions-title' }, 'Distribution of the times'),
    element('p', { class: 'about' }, 'Each step to the right is ten times as long. The solid line stands at the median, the dashed one at 95 of 100. Both times are below the name.'),
    element(
      'div',
      { class: 'distributions' },
      element('div', { class: 'distribution title' }, element('span', { class: 'name' }), element('span', { class: 'counts' }, 'Count')),
      distributions.map(line),
      element('div', { class: 'distribution' }, element('span', { class: 'name' }), axis),
      element('div', { class: 'distribution title' }, element('span', { class: 'name' }), element('span', { class: 'unit' }, 'Time')),
    ),
  );
}

/** 100 ns times a power of ten, in a word. */
function power(exponent) {
  const digits = exponent + 2;
  const units = ['ns', 'µs', 'ms', 's'];
  const unit = Math.max(0, Math.min(3, Math.floor(digits / 3)));
  return `${count(10 ** (digits - unit * 3))}${THIN}${units[unit]}`;
}
