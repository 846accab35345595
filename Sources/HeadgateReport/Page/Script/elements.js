// Draws a run. All outside text is inserted with `text`, `textContent` and `title`, never as markup.
const data = JSON.parse(document.getElementById('data').textContent);
const rows = data.rows;
const count = rows.url.length;
const length = Math.max(1, data.length);
const OK = 0, FAILED = 1, SKIPPED = 2, THERE = 3;
const errors = new Map(rows.errors.map(([row, code, message]) => [row, { code, message }]));
const endPoints = data.endPoints;
const narrow = matchMedia('(max-width: 760px)');
const dark = matchMedia('(prefers-color-scheme: dark)');

// MARK: Elements

const fill = (element, attributes, children) => {
  for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
};
const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) =>
  fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);

// MARK: Numbers, in tenths of a millisecond where they are times

const integers = new Intl.NumberFormat('en-US');
const number = (value) => integers.format(value);
const plural = (value, one, many) => `${number(value)} ${value === 1 ? one : many}`;
const time = (ticks) => {
  const ms = ticks / 10;
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  if (ms < 1000) return `${ms.toFixed(0)} ms`;
  const seconds = ms / 1000;
  if (seconds < 9.995) return `${seconds.toFixed(2)} s`;
  if (seconds < 99.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 6000) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
};
const size = (bytes) => {
  if (bytes < 1024) return `${bytes} B`;
  const units = ['KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let unit = -1;
  do { bytes /= 1024; unit += 1; } while (bytes >= 1023.95 && unit < 4);
  return `${bytes.toFixed(1)} ${units[unit]}`;
};

// The marks of a time axis: round numbers, all in one unit.
const timeTicks = (from, to, most) => {
  const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 3e5, 6e5, 12e5, 18e5, 36e5,
    72e5, 144e5, 288e5, 864e5, 1728e5, 864e6, 864e7];
  const step = steps.find((step) => (to - from) / step <= most) || steps[steps.length - 1];
  const label = (ticks) => {
    if (step < 1e3 && to < 1e4 * 10) return `${(ticks / 10).toFixed(step < 10 ? 1 : 0)} ms`;
    if (to < 12e5) return `${(ticks / 1e4).toFixed(step < 1e2 ? 3 : step < 1e3 ? 2 : step < 1e4 ? 1 : 0)} s`;
    if (step < 6e5) return `${Math.floor(ticks / 6e5)}:${String(Math.floor(ticks / 1e4) % 60).padStart(2, '0')} min`;
    if (to < 72e6) return `${Math.round(ticks / 6e5)} min`;
    return `${+(ticks / 36e6).toFixed(1)} h`;
  };
  const marks = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) marks.push([at, label(at)]);
  return marks;
};

// MARK: Sums

const outcomes = [0, 0, 0, 0];
let received = 0;
for (let row = 0; row < count; row += 1) {
  outcomes[rows.outcome[row]] += 1;
  if (rows.outcome[row] === OK) received += rows.bytes[row];
}
