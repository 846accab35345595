// MARK: The waterfall

const waterfall = () => {
  const search = el('input', {
    type: 'search', placeholder: 'Search URLs', 'aria-label': 'Search the URLs of requests',
  });
  const choice = el('select', { 'aria-label': 'End-point' }, el('option', { value: '-1' }, 'All end-points'));
  endPoints.slice(0, 1000).forEach((course, place) => {
    choice.append(el('option', { value: String(place) }, course.name.slice(0, 80)));
  });
  const only = el('input', { type: 'checkbox' });
  const found = el('span', { class: 'found', role: 'status' });
  const canvas = el('canvas', { 'aria-hidden': 'true' });
  const view = el('div', { class: 'window' });
  const axis = el('div', { class: 'axis', 'aria-hidden': 'true' });
  const overview = el('div', { class: 'overview' }, canvas, view, axis);
  const scale = el('span', { class: 'scale' });
  const heads = el('div', { class: 'heads', 'aria-hidden': 'true' },
    el('span', {}, 'URL'), el('span', {}, 'status'), scale);
  const [about, tell] = detail();
  let items = [];
  let [from, to] = [0, length];

  const bar = (bars, place, style, begin, finish) => {
    const part = bars.children[place] || bars.appendChild(el('i'));
    part.className = style;
    const [left, right] = [Math.max(0, (begin - from) / (to - from)), Math.min(1, (finish - from) / (to - from))];
    part.hidden = right <= 0 || left >= 1 || finish <= begin;
    part.style.left = `${(left * 100).toFixed(3)}%`;
    part.style.width = `${(Math.max(0, right - left) * 100).toFixed(3)}%`;
  };
  const render = (element, row) => {
    cell(element, 0, rows.url[row]);
    cell(element, 1, outcomeText(row)).className = rows.outcome[row] === FAILED ? 'bad' : '';
    const bars = element.children[2] || element.appendChild(el('div', { role: 'gridcell' }));
    bars.className = rows.outcome[row] === FAILED ? 'bars failed' : 'bars';
    bars.setAttribute('aria-label', `waited ${time(rows.sent[row])}, took ${time(rows.answered[row] + rows.end[row])}`);
    bar(bars, 0, 'wait', start(row), sent(row));
    bar(bars, 1, 'server', sent(row), answered(row));
    bar(bars, 2, 'run', answered(row), end(row));
  };
  // The axis covers the time in which the visible rows were running. Earlier waiting extends beyond its left end.
  const onView = (list, first, last) => {
    let [low, high] = [Infinity, 0];
    for (let place = first; place < last; place += 1) {
      low = Math.min(low, sent(list[place]));
      high = Math.max(high, end(list[place]));
    }
    if (low > high) [low, high] = [0, length];
    const room = Math.max(10, (high - low) * 0.04);
    [from, to] = [Math.max(0, low - room * 2), high + room];
    const width = scale.clientWidth || 400;
    scale.replaceChildren(...timeTicks(from, to, width / 86).map(([at, label]) => {
      const mark = el('span', {}, label);
      mark.style.left = `${(((at - from) / (to - from)) * 100).toFixed(2)}%`;
      return mark;
    }).filter((mark) => parseFloat(mark.style.left) < 92));
    const total = Math.max(1, list.length);
    view.style.top = `${(first / total) * 100}%`;
    view.style.height = `${((last - first) / total) * 100}%`;
    view.hidden = last - first >= total;
  };
  const list = virtualList('Requests', 3, render, onView, tell);

  const drawOverview = () => {
    const ratio = devicePixelRatio || 1;
    const [width, height] = [overview.clientWidth, overview.clientHeight];
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const pen = canvas.getContext('2d');
    pen.scale(ratio, ratio);
    const colour = getComputedStyle(document.documentElement);
    const thick = Math.max(1 / ratio, height / Math.max(1, items.length));
    // In a dense list, even a few failures would colour everything, so a strip shows their share instead.
    const isDense = items.length > 4000;
    const share = new Float64Array(Math.max(1, height));
    const layers = [
      [THERE, '--wait'], [SKIPPED, '--wait'], [OK, '--run'], [FAILED, isDense ? '--run' : '--bad'],
    ];
    for (const [outcome, name] of layers) {
      pen.fillStyle = colour.getPropertyValue(name);
      for (let place = 0; place < items.length; place += 1) {
        const row = items[place];
        if (rows.outcome[row] !== outcome) continue;
        if (outcome === FAILED) share[Math.floor((place / items.length) * height)] += height / items.length;
        const left = (sent(row) / length) * width;
        const least = outcome === FAILED && !isDense ? 2 : 1;
        const wide = Math.max(least, (end(row) / length) * width - left);
        pen.fillRect(left, (place / items.length) * height, wide, least === 2 ? Math.max(2, thick) : thick);
      }
    }
    pen.fillStyle = colour.getPropertyValue('--bad');
    share.forEach((value, place) => {
      pen.globalAlpha = value > 0 ? Math.min(1, 0.2 + value * 0.8) : 0;
      if (isDense) pen.fillRect(width - 10, place, 10, 1);
    });
    axis.replaceChildren(...timeTicks(0, length, width / 90).map(([at, label]) => {
      const mark = el('span', {}, label);
      const share = at / length;
      if (share < 0.96) mark.style.left = `${(share * 100).toFixed(2)}%`; else mark.style.right = '0';
      return mark;
    }));
  };
  const jump = (event) => {
    const box = canvas.getBoundingClientRect();
    list.scrollTo(((event.clientY - box.top) / box.height) * list.length);
  };
  overview.addEventListener('pointerdown', (event) => { overview.setPointerCapture(event.pointerId); jump(event); });
  overview.addEventListener('pointermove', (event) => { if (event.buttons === 1) jump(event); });
  watch(overview, drawOverview);
  dark.addEventListener('change', drawOverview);

  const apply = () => {
    const words = search.value.trim().toLowerCase();
    const endPoint = Number(choice.value);
    items = [];
    for (let row = 0; row < count; row += 1) {
      if (endPoint >= 0 && rows.endPoint[row] !== endPoint) continue;
      if (only.checked && rows.outcome[row] !== FAILED) continue;
      if (words !== '' && !rows.url[row].toLowerCase().includes(words)) continue;
      items.push(row);
    }
    found.textContent = items.length === count ? '' : `${number(items.length)} of ${number(count)}`;
    if (items.length > MOST_ROWS) found.textContent += `, of which the list has the first ${number(MOST_ROWS)}`;
    list.set(items);
    drawOverview();
  };
  search.addEventListener('input', debounced(apply));
  choice.addEventListener('change', apply);
  only.addEventListener('change', apply);
  const section = el('section', { 'aria-labelledby': 'requests' },
    el('h2', { id: 'requests' }, 'Requests'),
    el('p', { class: 'quiet small' },
      'In the order in which they were sent. The overview shows all of them, the first at the top; '
        + 'the list shows the part that is marked there.',
      outcomes[FAILED] > 0 && count > 4000 ? ' The strip at its right end shows where requests failed.' : null),
    el('div', { class: 'controls' }, search, choice, el('label', { class: 'check' }, only, 'only failed ones'), found),
    overview,
    legend(['wait', 'waiting for its turn'], ['server', 'sent, no answer yet'], ['run', 'receiving'],
      ['bad', 'failed']),
    el('div', { class: 'waterfall' }, heads, list.element), about);
  return [section, apply];
};
