// Small charts over the time of the run.

/** A canvas that is drawn again when its size or the scheme changes. `paint` gets the context, the width and the height. */
function chart(label, paint) {
  const canvas = element('canvas', { role: 'img', 'aria-label': label });
  const draw = () => {
    const { width, height } = canvas.getBoundingClientRect();
    if (width === 0) return;
    const context = sharp(canvas, width, height);
    context.clearRect(0, 0, width, height);
    paint(context, width, height);
  };
  whenSeen(canvas, () => {
    new ResizeObserver(draw).observe(canvas);
    onScheme(draw);
  });
  return canvas;
}

/** A bar for each interval of the run; all others are as high as their share of the highest. */
function countChart(label, counts, ink) {
  const most = counts.reduce((a, b) => Math.max(a, b), 0);
  return chart(label, (context, width, height) => {
    context.fillStyle = ink();
    const step = width / counts.length;
    counts.forEach((number, interval) => {
      if (number === 0) return;
      const high = Math.max(2, (number / most) * (height - 1));
      context.fillRect(interval * step, height - high, Math.max(1.5, step - 1), high);
    });
    baseline(context, width, height);
  });
}

/** A step for each value, over the pale range of the values of its interval. */
function valueChart(label, gauge, ink) {
  return chart(label, (context, width, height) => {
    const [min, max] = [gauge.min / 2, gauge.max / 2];
    const at = (value) => (max > min ? height - 3 - ((value / 2 - min) / (max - min)) * (height - 6) : height / 2);
    const step = width / data.intervals;
    context.fillStyle = ink();
    context.globalAlpha = 0.25;
    for (const [interval, least, greatest] of gauge.intervals) {
      if (greatest > least) context.fillRect(interval * step, at(greatest), Math.max(1.5, step), at(least) - at(greatest));
    }
    context.globalAlpha = 1;
    context.strokeStyle = ink();
    context.lineWidth = 1.5;
    context.lineJoin = 'round';
    context.beginPath();
    let before;
    for (const [interval, , , last] of gauge.intervals) {
      const x = (interval + 0.5) * step;
      if (before === undefined) context.moveTo(x, at(last));
      else context.lineTo(x, at(before));
      context.lineTo(x, at(last));
      before = last;
    }
    context.lineTo(width, at(before));
    context.stroke();
    baseline(context, width, height);
  });
}

function baseline(context, width, height) {
  context.fillStyle = colour('line');
  context.fillRect(0, height - 1, width, 1);
}
