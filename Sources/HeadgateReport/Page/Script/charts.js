// MARK: Charts of an end-point

const steps = (values, x, y, base) => {
  let path = `M${x(0)},${base}`;
  values.forEach((value, step) => { path += `V${y(value).toFixed(1)}H${x(step + 1).toFixed(1)}`; });
  return `${path}V${base}Z`;
};

const courseChart = (course, readout) => {
  const [, , , , peak, queue, limit] = course.numbers;
  const drawing = svg('svg', {
    role: 'img', tabindex: '0', height: '206',
    'aria-label':
      `${course.name}: at most ${peak} running${limit ? ` of ${limit}` : ''}, at most ${queue} waiting, ` +
      `over ${time(length)}. The arrow keys select a moment.`,
  });
  const said = readout.textContent;
  let at = null;
  const draw = () => {
    const width = Math.max(200, drawing.clientWidth || 700);
    const [left, right] = [Math.max(30, 12 + 7 * number(Math.max(peak, queue)).length), width - 2];
    drawing.setAttribute('viewBox', `0 0 ${width} 206`);
    const n = course.running.length;
    const x = (step) => left + (step / n) * (right - left);
    const atX = (ticks) => left + (Math.min(ticks, length) / length) * (right - left);
    const highest = Math.max(peak, ...course.limits, 1);
    const y = (value) => 104 - (value / (highest * 1.1)) * 80;
    const queueY = (value) => 180 - (value / Math.max(1, queue)) * 40;
    const parts = [];
    for (const [from, until, reason] of course.pauses) {
      if (from >= length) continue;
      const width = Math.max(2, atX(until) - atX(from));
      parts.push(svg('rect', { class: 'pause', x: atX(from), y: 18, width, height: 162 },
        svg('title', {}, `${reason}, at ${time(from)}`)));
    }
    parts.push(svg('text', { class: 'strong', x: left, y: 11 }, 'running'));
    parts.push(svg('text', { class: 'strong', x: left, y: 133 }, 'waiting'));
    for (const [value, place] of [[highest, y(highest)], [0, 104]]) {
      parts.push(svg('text', { x: left - 6, y: place + 4, 'text-anchor': 'end' }, number(value)));
    }
    parts.push(svg('text', { x: left - 6, y: 184, 'text-anchor': 'end' }, '0'));
    if (queue > 0) parts.push(svg('text', { x: left - 6, y: 144, 'text-anchor': 'end' }, number(queue)));
    parts.push(svg('line', { class: 'grid', x1: left, x2: right, y1: 140, y2: 140 }));
    parts.push(svg('path', { class: 'peak', d: steps(course.running, x, y, 104) }));
    parts.push(svg('path', { class: 'mean', d: steps(course.mean, x, y, 104) }));
    parts.push(svg('path', { class: 'queue', d: steps(course.waiting, x, queueY, 180) }));
    parts.push(svg('line', { class: 'base', x1: left, x2: right, y1: 104, y2: 104 }));
    parts.push(svg('line', { class: 'base', x1: left, x2: right, y1: 180, y2: 180 }));
    if (course.limits.some((value) => value > 0)) {
      let path = '';
      course.limits.forEach((value, step) => {
        if (value === 0) return;
        const [left, right, top] = [x(step).toFixed(1), x(step + 1).toFixed(1), y(value).toFixed(1)];
        path += `${path === '' ? 'M' : 'L'}${left},${top}L${right},${top}`;
      });
      parts.push(svg('path', { class: 'limit', d: path }));
    }
    for (const [ticks, label] of timeTicks(0, length, width / 90)) {
      const place = atX(ticks);
      const anchor = place < left + 12 ? 'start' : place > right - 20 ? 'end' : 'middle';
      parts.push(svg('line', { class: 'base', x1: place, x2: place, y1: 180, y2: 184 }));
      parts.push(svg('text', { x: place, y: 198, 'text-anchor': anchor }, label));
    }
    if (at !== null) parts.push(svg('line', { class: 'cursor', x1: x(at + 0.5), x2: x(at + 0.5), y1: 18, y2: 180 }));
    drawing.replaceChildren(...parts);
    drawing.stepAt = (place) => Math.min(n - 1, Math.max(0, Math.floor(((place - left) / (right - left)) * n)));
  };
  const point = (step) => {
    if (step === at) return;
    at = step;
    draw();
    if (step === null) { readout.textContent = said; return; }
    const moment = (step + 0.5) / course.running.length * length;
    const pause = course.pauses.find(([from, until]) => from <= moment && moment < until);
    readout.textContent = [
      `At ${time(moment)}: ${number(course.running[step])} running at most, ${course.mean[step].toFixed(1)} on average`,
      course.limits[step] > 0 ? `, limit ${number(course.limits[step])}` : '',
      `, ${number(course.waiting[step])} waiting`,
      pause ? `; ${pause[2]}` : '',
    ].join('');
  };
  drawing.addEventListener('pointermove', (event) => {
    point(drawing.stepAt(event.clientX - drawing.getBoundingClientRect().left));
  });
  drawing.addEventListener('pointerleave', () => point(null));
  drawing.addEventListener('blur', () => point(null));
  drawing.addEventListener('keydown', (event) => {
    const last = course.running.length - 1;
    const step = { ArrowLeft: (at ?? 1) - 1, ArrowRight: (at ?? -1) + 1, Home: 0, End: last }[event.key];
    if (event.key === 'Escape') point(null);
    if (step === undefined) return;
    event.preventDefault();
    point(Math.min(last, Math.max(0, step)));
  });
  return [drawing, draw];
};

// The classes of response times that occur at any end-point: one axis for all charts, so that they can be compared.
let [firstClass, lastClass] = [Infinity, -1];
for (const course of endPoints) {
  course.classes.forEach((value, place) => {
    if (value > 0) { firstClass = Math.min(firstClass, place); lastClass = Math.max(lastClass, place); }
  });
}
firstClass = Math.max(0, Math.floor(firstClass / 8) * 8);
lastClass = Math.ceil((lastClass + 1) / 8) * 8;

const latencyChart = (course) => {
  const answered = course.classes.reduce((sum, value) => sum + value, 0);
  const [median, p90, p99, longest] = course.latency;
  const drawing = svg('svg', {
    role: 'img',
    'aria-label': answered === 0 ? 'no responses'
      : `response times of ${number(answered)} responses: median ${time(median)}, 99 % within ${time(p99)}, ` +
        `longest ${time(longest)}`,
  });
  const draw = () => {
    const width = Math.max(200, drawing.clientWidth || 300);
    const base = narrow.matches ? 116 : 180;
    drawing.setAttribute('viewBox', `0 0 ${width} ${base + 26}`);
    drawing.setAttribute('height', String(base + 26));
    const title = answered === 0 ? 'response times' : `response times, up to ${time(longest)}`;
    const parts = [svg('text', { class: 'strong', x: 0, y: 11 }, title)];
    if (answered === 0) {
      parts.push(svg('text', { x: 0, y: 60 }, 'no responses'));
      return drawing.replaceChildren(...parts);
    }
    const most = Math.max(...course.classes);
    const x = (place) => ((place - firstClass) / (lastClass - firstClass)) * width;
    parts.push(svg('text', { x: 0, y: 28 }, `median ${time(median)}, 90 % within ${time(p90)}`));
    course.classes.forEach((value, place) => {
      if (value === 0) return;
      const height = Math.max(1.5, (value / most) * (base - 50));
      const lower = 10 ** (place / 8), upper = 10 ** ((place + 1) / 8);
      const width = Math.max(1, x(place + 1) - x(place) - 1);
      parts.push(svg('rect', { class: 'bar', x: x(place) + 0.5, y: base - height, width, height },
        svg('title', {}, `${number(value)} between ${time(lower)} and ${time(upper)}`)));
    });
    parts.push(svg('line', { class: 'base', x1: 0, x2: width, y1: base, y2: base }));
    for (let decade = firstClass; decade <= lastClass; decade += 8) {
      const place = x(decade);
      const label = ['0.1 ms', '1 ms', '10 ms', '100 ms', '1 s', '10 s', '100 s', '1,000 s'][decade / 8];
      parts.push(svg('line', { class: 'base', x1: place, x2: place, y1: base, y2: base + 4 }));
      const anchor = place < 10 ? 'start' : place > width - 10 ? 'end' : 'middle';
      parts.push(svg('text', { x: place, y: base + 18, 'text-anchor': anchor }, label));
    }
    drawing.replaceChildren(...parts);
  };
  return [drawing, draw];
};

const facts = (course) => {
  const [urls, failed, bytes, exchanges, peak, queue, limit, paused] = course.numbers;
  const parts = [plural(urls, 'request', 'requests')];
  if (failed > 0) parts.push(`${number(failed)} failed`);
  if (exchanges !== urls) parts.push(`sent ${plural(exchanges, 'time', 'times')}`);
  parts.push(size(bytes));
  parts.push(`at most ${number(peak)} running${limit > 0 ? ` of ${number(limit)}` : ''}`);
  parts.push(`at most ${number(queue)} waiting`);
  if (course.pauses.length > 0) {
    parts.push(`paused ${plural(course.pauses.length, 'time', 'times')}, ${time(paused)} in all`);
  }
  return parts.join(', ');
};

const watch = (element, draw) => {
  let width = -1;
  new ResizeObserver(() => {
    if (element.clientWidth === width) return;
    width = element.clientWidth;
    draw();
  }).observe(element);
};

const courses = () => {
  const section = el('section', { 'aria-labelledby': 'end-points' }, el('h2', { id: 'end-points' }, 'End-points'));
  if (endPoints.length === 0) {
    section.append(el('p', { class: 'quiet' }, 'No requests were sent.'));
    return section;
  }
  section.append(legend(['run', 'running on average'], ['run-soft', 'running at most'], ['limit', 'limit'],
    ['wait', 'waiting'], ['pause', 'paused']));
  const charted = endPoints.filter((course) => course.running);
  const place = el('div', {});
  const show = (upTo) => {
    for (const course of charted.slice(place.childElementCount, upTo)) {
      const pauses = course.pauses.slice(0, 3).map(([from, , reason]) => `${time(from)}: ${reason}`);
      if (course.pauses.length > 3) pauses.push(`and ${number(course.pauses.length - 3)} more`);
      const readout = el('p', { class: 'readout', 'aria-live': 'polite' }, pauses.join('; '));
      const [line, drawLine] = courseChart(course, readout);
      const [bars, drawBars] = latencyChart(course);
      place.append(el('article', { class: 'course' },
        el('h3', {}, course.name),
        el('p', { class: 'facts' }, facts(course)),
        el('div', { class: 'charts' }, el('figure', {}, line, readout), el('figure', {}, bars))));
      watch(line, drawLine);
      watch(bars, drawBars);
    }
  };
  show(8);
  section.append(place);
  if (charted.length > 8) {
    const more = el('button', { type: 'button' }, `Show ${number(charted.length - 8)} more charts`);
    more.addEventListener('click', () => { show(charted.length); more.remove(); });
    section.append(more);
  }
  if (endPoints.length > charted.length) {
    const others = endPoints.slice(charted.length, charted.length + 2000);
    section.append(el('h3', { class: 'course' }, 'Other end-points'), table(others));
  }
  return section;
};

const table = (list) => {
  const titles = [
    'end-point', 'requests', 'failed', 'at most running', 'at most waiting', 'median', '99 % within',
  ];
  const cells = ({ numbers, latency }) => [
    ...[0, 1, 4, 5].map((place) => number(numbers[place])), ...[0, 2].map((place) => time(latency[place])),
  ];
  return el('div', { class: 'wide' }, el('table', {},
    el('thead', {}, el('tr', {}, ...titles.map((title) => el('th', { scope: 'col' }, title)))),
    el('tbody', {}, ...list.map((course) =>
      el('tr', {}, el('td', {}, course.name), ...cells(course).map((text) => el('td', {}, text)))))));
};
