// MARK: Lists of any length: only the visible rows exist

const MOST_ROWS = 300000; // Browsers limit the height of elements to some millions of pixels.

const virtualList = (label, columns, render, onView, onSelect) => {
  const name = label.toLowerCase();
  const inner = el('div', { role: 'rowgroup' });
  const list = el('div', {
    class: 'list', role: 'grid', tabindex: '0', 'aria-label': label, 'aria-colcount': String(columns),
  }, inner);
  let items = [];
  let selected = -1;
  let pool = new Map();
  let isDue = false;
  const height = () => (narrow.matches ? 44 : 24);
  const update = () => {
    isDue = false;
    const first = Math.max(0, Math.floor(list.scrollTop / height()));
    const last = Math.min(items.length, Math.ceil((list.scrollTop + list.clientHeight) / height()));
    if (onView) onView(items, first, last);
    const old = pool;
    pool = new Map();
    const spare = [];
    for (const [place, row] of old) {
      if (place < first - 4 || place >= last + 4) spare.push(row); else pool.set(place, row);
    }
    for (let place = Math.max(0, first - 4); place < Math.min(items.length, last + 4); place += 1) {
      let row = pool.get(place);
      if (!row) {
        row = spare.pop() || el('div', { class: 'row', role: 'row' });
        if (!row.isConnected) inner.append(row);
        pool.set(place, row);
      }
      row.id = `${name}-${place}`;
      row.place = place;
      row.setAttribute('aria-rowindex', String(place + 1));
      row.setAttribute('aria-selected', String(place === selected));
      row.style.transform = `translateY(${place * height()}px)`;
      render(row, items[place]);
    }
    for (const row of spare) row.remove();
  };
  const schedule = () => {
    if (isDue) return;
    isDue = true;
    requestAnimationFrame(update);
  };
  const select = (place, mustShow) => {
    if (items.length === 0) return;
    selected = Math.min(items.length - 1, Math.max(0, place));
    const [top, bottom] = [selected * height(), (selected + 1) * height()];
    if (mustShow && top < list.scrollTop) list.scrollTop = top;
    if (mustShow && bottom > list.scrollTop + list.clientHeight) list.scrollTop = bottom - list.clientHeight;
    update();
    list.setAttribute('aria-activedescendant', `${name}-${selected}`);
    onSelect(items[selected]);
  };
  list.addEventListener('scroll', schedule, { passive: true });
  list.addEventListener('keydown', (event) => {
    const page = Math.max(1, Math.floor(list.clientHeight / height()) - 1);
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    const move = moves[event.key];
    if (move === undefined) return;
    event.preventDefault();
    select(selected < 0 ? Math.floor(list.scrollTop / height()) : selected + move, true);
  });
  inner.addEventListener('click', (event) => {
    const row = event.target.closest('.row');
    if (row) select(row.place, false);
  });
  const resize = () => {
    inner.style.height = `${items.length * height()}px`;
    list.style.height = `${Math.min(18 * 24, Math.max(1, items.length) * height())}px`;
    schedule();
  };
  new ResizeObserver(resize).observe(list);
  return {
    element: list,
    set(next) {
      items = next.length > MOST_ROWS ? next.slice(0, MOST_ROWS) : next;
      selected = -1;
      list.removeAttribute('aria-activedescendant');
      list.setAttribute('aria-rowcount', String(items.length));
      list.scrollTop = 0;
      resize();
      onSelect(null);
    },
    scrollTo(place) { list.scrollTop = Math.max(0, place * height() - list.clientHeight / 2); },
    get length() { return items.length; },
  };
};

const cell = (row, place, value) => {
  const found = row.children[place] || row.appendChild(el('span', { role: 'gridcell' }));
  if (found.textContent !== value) { found.textContent = value; found.title = value; }
  return found;
};
const outcomeText = (row) => {
  if (rows.status[row] > 0) return String(rows.status[row]);
  return ['', 'error', 'skipped', 'there'][rows.outcome[row]];
};
const start = (row) => rows.start[row];
const sent = (row) => rows.start[row] + rows.sent[row];
const answered = (row) => sent(row) + rows.answered[row];
const end = (row) => answered(row) + rows.end[row];

const detail = () => {
  const list = el('dl', { class: 'detail', 'aria-live': 'polite' });
  return [list, (row) => {
    list.replaceChildren();
    if (row === null) return;
    const add = (name, value) => { if (value) list.append(el('dt', {}, name), el('dd', {}, value)); };
    const error = errors.get(row);
    add('URL', rows.url[row]);
    add('end-point', rows.endPoint[row] >= 0 ? endPoints[rows.endPoint[row]].name : '');
    add('status', rows.status[row] > 0 ? String(rows.status[row]) : '');
    add('error', error ? `${error.code}: ${error.message}` : '');
    add('submitted', `at ${time(start(row))}`);
    if (rows.attempts[row] > 0) {
      const times = rows.attempts[row] > 1 ? `; sent ${number(rows.attempts[row])} times, last time shown` : '';
      add('sent', `at ${time(sent(row))}, after ${time(rows.sent[row])} of waiting${times}`);
      const whole = time(rows.answered[row] + rows.end[row]);
      const first = time(rows.answered[row]);
      if (rows.status[row] > 0) add('answered', `first byte after ${first}, complete after ${whole}`);
      else add('ended', `after ${whole}, without a response`);
    }
    add('size', rows.bytes[row] > 0 ? size(rows.bytes[row]) : '');
  }];
};

const debounced = (action) => {
  let timer = 0;
  return () => { clearTimeout(timer); timer = setTimeout(action, 120); };
};
