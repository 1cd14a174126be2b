// Numbers as people read them.

const THIN = '\u202f';

const count = (number) => number.toLocaleString('en-US');

const counted = (number, what) => `${count(number)} ${what}${number === 1 ? '' : 's'}`;

/** A duration in nanoseconds, with three digits and the unit that fits. */
function duration(ns) {
  if (ns === null || ns === undefined) return '–';
  const size = Math.abs(ns);
  if (size < 1) return `0${THIN}s`;
  if (size < 1e3) return `${Math.round(ns)}${THIN}ns`;
  const [value, unit] = size < 1e6 ? [ns / 1e3, 'µs'] : size < 1e9 ? [ns / 1e6, 'ms'] : [ns / 1e9, 's'];
  const digits = Math.abs(value) < 10 ? 2 : Math.abs(value) < 100 ? 1 : 0;
  return `${value.toFixed(digits)}${THIN}${unit}`;
}

/** A time of the run's clock, in seconds. */
const clock = (ns) => `${(ns / 1e9).toFixed(3)}${THIN}s`;

/** The same with as many digits as a step of so many nanoseconds needs. */
function clockBy(ns, step) {
  const digits = Math.max(0, Math.min(9, Math.ceil(-Math.log10(step / 1e9) - 1e-9)));
  return `${(ns / 1e9).toFixed(digits)}${THIN}s`;
}

const percent = (share) => `${(share * 100).toFixed(1)}${THIN}%`;

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
