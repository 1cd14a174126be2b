// What stages report of their work: counters, gauges and distributions by stage, and notes.

/** A number of any size, in a few characters. */
function amount(value, unit) {
  const size = Math.abs(value);
  const digits = size !== 0 && (size >= 1e12 || size < 1e-4)
    ? value.toExponential(3)
    : value.toLocaleString('en-US', { maximumFractionDigits: size >= 100 ? 1 : size >= 1 ? 2 : 4 });
  return unit ? `${digits}${THIN}${unit}` : digits;
}

/** A total, which is text: it may be too large for a number. */
const total = (counter) => BigInt(counter.total).toLocaleString('en-US');

const hasMetrics = data.metrics.stages.length > 0 || data.metrics.note_count > 0;

function showMetrics() {
  byId('metrics').hidden = byId('to-metrics').hidden = !hasMetrics;
  if (!hasMetrics) return;
  const hasSamples = data.metrics.stages.some((stage) => stage.metrics.some((metric) => metric.kind === 'distribution'));
  const marks = hasSamples ? ' Of a distribution, the solid line stands at the median, the dashed one at 95 of 100.' : '';
  byId('metrics-about').textContent = `What the stages count and measure. Charts run over the time of the run, ${duration(data.overview.ends_ns)} from left to right.${marks}`;
  byId('metrics-body').append(...inOrder(data.metrics.stages).map(stageMetrics));
  showNotes();
}

/** In the pipeline's order. */
function inOrder(stages) {
  const place = (stage) => {
    const index = data.stages.findIndex((it) => it.name === stage.stage);
    return index < 0 ? data.stages.length : index;
  };
  return stages.map((stage) => ({ ...stage, place: place(stage) })).sort((a, b) => a.place - b.place);
}

function stageMetrics(stage) {
  const swatch = element('span', { class: 'swatch' });
  swatch.style.background = `var(--stage-${stage.place % 8})`;
  return element(
    'div',
    { class: 'stage-metrics' },
    element('h3', {}, swatch, stage.stage),
    element('ul', { class: 'metrics' }, stage.metrics.map((metric) => metricCard(metric, stage.place))),
  );
}

function metricCard(metric, place) {
  const shows = { counter: counterCard, gauge: gaugeCard, distribution: distributionCard };
  const [value, note, picture, ...ends] = shows[metric.kind](metric, place);
  return element(
    'li',
    { class: `metric of-${metric.kind}` },
    element('p', { class: 'metric-name' }, metric.name),
    element('p', { class: 'metric-value' }, element('strong', {}, value), element('span', {}, note)),
    picture,
    element('p', { class: 'ends' }, ends.map((end) => element('span', {}, end))),
  );
}

function counterCard(counter, place) {
  const most = counter.intervals.reduce((a, b) => Math.max(a, b), 0);
  const each = duration(data.overview.ends_ns / data.intervals);
  const label = `${counter.name} over the run, ${total(counter)} in all, at most ${amount(most)} in ${each}`;
  return [total(counter), 'in all', countChart(label, counter.intervals, () => stageColour(place)), `at most ${amount(most)} in ${each}`];
}

function gaugeCard(gauge, place) {
  const [min, max] = [amount(gauge.min, gauge.unit), amount(gauge.max, gauge.unit)];
  const label = `${gauge.name} over the run, from ${min} to ${max}`;
  return [amount(gauge.last, gauge.unit), 'at the end', valueChart(label, gauge, () => stageColour(place)), min === max ? `always ${min}` : `from ${min} to ${max}`];
}

function distributionCard(samples, place) {
  const of = (value) => amount(value, samples.unit);
  if (samples.count === 0) return ['–', 'no samples', null];
  const most = samples.bars.reduce((a, b) => Math.max(a, b), 0);
  const bars = samples.bars.map((number, index) => {
    const bar = element('span', { class: 'bar' });
    bar.style.left = `${(index / samples.bars.length) * 100}%`;
    bar.style.width = `calc(${100 / samples.bars.length}% - 1px)`;
    bar.style.height = number === 0 ? '0' : `${Math.max(3, (number / most) * 100)}%`;
    bar.style.background = `var(--stage-${place % 8})`;
    return bar;
  });
  const marks = samples.places.map((at, index) => {
    const mark = element('span', { class: index === 0 ? 'quantile half' : 'quantile' });
    mark.style.left = `${at * 100}%`;
    return mark;
  });
  const kept = samples.kept < samples.count ? `, percentiles of ${count(samples.kept)} of them` : '';
  const label = `${samples.name}: half at most ${of(samples.p50)}, 95 of 100 at most ${of(samples.p95)}, from ${of(samples.min)} to ${of(samples.max)}`;
  return [
    of(samples.p50),
    `median, 95${THIN}% ${of(samples.p95)}, max ${of(samples.max)}, ${counted(samples.count, 'sample')}${kept}`,
    element('div', { class: 'bars', role: 'img', 'aria-label': label }, bars, marks),
    of(samples.min),
    of(samples.max),
  ];
}

function showNotes() {
  const { notes, note_count: all } = data.metrics;
  if (all === 0) return;
  const list = element('ol', { class: 'notes' });
  const next = element('p', { class: 'more' });
  let shown = 0;
  const more = () => {
    list.append(...notes.slice(shown, shown + 20).map(noteLine));
    shown = Math.min(shown + 20, notes.length);
    next.hidden = shown >= notes.length;
    next.replaceChildren(button('Show more', 'Show more notes', more), element('span', {}, ` ${count(notes.length - shown)} not shown yet`));
  };
  more();
  byId('metrics-body').append(element('h3', { class: 'distributions-title' }, 'Notes'), list, next);
  if (all > notes.length) byId('metrics-body').append(element('p', { class: 'about' }, `Only the first ${count(notes.length)} of ${count(all)} are listed.`));
}

/** A note; its time leads to the frame that it is about, or to the one captured last. */
function noteLine(note) {
  const frame = note.frame ?? Math.max(0, after(frames.captured, note.at_ns) - 1);
  const go = frames.count === 0 ? clock(note.at_ns) : button(clock(note.at_ns), `Look at frame ${frame + 1}`, () => player.visit(frame));
  return element(
    'li',
    { class: note.tone },
    element('span', { class: 'when' }, go),
    element('span', { class: `badge ${note.tone}` }, note.stage),
    element('span', { class: 'says' }, note.text),
  );
}
