// Elements, and what is shared by all that draws.

/** An element with properties and children. `on…` are listeners; `class`, `data-…` and `aria-…` are attributes. */
function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? '' : value);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return made;
}

const byId = (id) => document.getElementById(id);

/** A button with a label of what it does. */
function button(text, label, press) {
  return element('button', { type: 'button', 'aria-label': label, title: label, onclick: press }, text);
}

/** A check box with its label. */
function toggle(text, on, change) {
  const box = element('input', { type: 'checkbox', checked: on, onchange: () => change(box.checked) });
  return element('label', { class: 'toggle' }, box, text);
}

/** A colour of the style sheet, as it is now: light or dark. */
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** The colour of a stage, by its place in the pipeline. */
const stageColour = (stage) => colour(`stage-${stage % 8}`);

/** Calls back when light becomes dark, or dark light. */
function onScheme(change) {
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', change);
}

/** Gives a canvas as many pixels as the screen has there; returns its context, with a unit of one CSS pixel. */
function sharp(canvas, width, height) {
  const scale = Math.min(devicePixelRatio || 1, 3);
  const [w, h] = [Math.max(1, Math.round(width * scale)), Math.max(1, Math.round(height * scale))];
  if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
  const context = canvas.getContext('2d');
  context.setTransform(scale, 0, 0, scale, 0, 0);
  return context;
}

/** The first place in a sorted list whose value is more than `value`. */
function after(list, value) {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}

const waiting = new Map();
const sight = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      sight.unobserve(entry.target);
      waiting.get(entry.target)?.();
      waiting.delete(entry.target);
    }
  },
  { rootMargin: '400px' },
);

/** Calls once an element comes into sight. */
function whenSeen(target, act) {
  waiting.set(target, act);
  sight.observe(target);
}
