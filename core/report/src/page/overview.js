// The head of the page: when it was, the figures, and what is missing.

/** More counters are only among the metrics. */
const MOST_COUNTERS = 6;

function showOverview() {
  const run = data.overview;
  const when = new Date(run.started_ms);
  const sources = run.source_count > 1 ? `${run.source_count} sources, the first ${run.source}` : run.source;
  const parts = [
    element(
      'time',
      { datetime: when.toISOString() },
      when.toLocaleString('en-GB', { dateStyle: 'long', timeStyle: 'medium', timeZone: 'UTC' }) + ' UTC',
    ),
    ` · ${duration(run.ends_ns)}`,
    sources ? ` · ${sources}` : '',
    run.dry ? ' · a dry run: nothing was touched' : '',
  ];
  byId('when').append(...parts);

  const seconds = run.ends_ns / 1e9;
  const figures = [];
  if (run.boards > 0) {
    const played = run.solved + run.failed > 0;
    figures.push(['Boards', played ? `${count(run.solved)} of ${count(run.boards)}` : count(run.boards), played ? 'solved' : 'seen']);
  }
  if (!run.has_boards) {
    const counters = inOrder(data.metrics.stages).flatMap((stage) => stage.metrics.filter((metric) => metric.kind === 'counter').map((metric) => [stage.stage, metric]));
    for (const [stage, counter] of counters.slice(0, MOST_COUNTERS)) figures.push([capital(counter.name), total(counter), stage]);
    const more = counters.length - MOST_COUNTERS;
    byId('figures-more').hidden = more <= 0;
    byId('figures-more').firstElementChild.textContent = `and ${counted(more, 'more counter')}`;
  }
  const rate = seconds > 0 && run.frames > 1 ? `${(run.frames / seconds).toFixed(1)} a second` : 'captured';
  figures.push(['Frames', count(run.frames), rate]);
  if (run.action.count > 0) {
    const worst = run.action.count > 1 ? `at most ${duration(run.action.max_ns)}` : 'one frame';
    figures.push(['Frame to first press', duration(run.action.p50_ns), run.action.count > 1 ? `median, ${worst}` : worst]);
  }
  figures.push(['Drops', count(run.dropped), 'by full queues']);
  figures.push(['Failures', count(run.problems), run.problems === 0 ? 'nothing went wrong' : 'see below', run.problems > 0]);
  for (const [name, value, note, bad] of figures) {
    byId('figures').append(
      element(
        'div',
        { class: bad ? 'figure bad' : 'figure' },
        element('dt', {}, name),
        element('dd', {}, element('strong', {}, value), element('span', {}, note)),
      ),
    );
  }
  const list = byId('notices');
  list.hidden = run.notices.length === 0;
  list.append(...run.notices.map((notice) => element('li', {}, notice)));
}
