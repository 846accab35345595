// MARK: Head

const figure = (name, value, style) =>
  el('div', {}, el('dt', {}, name), el('dd', style ? { class: style } : {}, value));
const head = () => {
  const began = data.began === null ? null : new Date(data.began);
  const when = began === null || Number.isNaN(began.getTime()) ? ''
    : `${began.toISOString().slice(0, 10)}, ${began.toISOString().slice(11, 19)} UTC, `;
  const title = `${plural(count, 'request', 'requests')} to ${plural(endPoints.length, 'end-point', 'end-points')}`;
  document.title = `${title} – Headgate report`;
  const notes = [];
  if (data.leftOut > 0) notes.push(`Left out: ${plural(data.leftOut, 'record', 'records')} at the end of the log.`);
  if (data.strangeLines > 0) {
    notes.push(`${plural(data.strangeLines, 'line', 'lines')} of the log could not be read.`);
  }
  return el('header', {},
    el('p', { class: 'kind' }, 'Headgate report'),
    el('h1', {},
      el('span', {}, `${plural(count, 'request', 'requests')} to `),
      el('span', { class: 'whole' }, plural(endPoints.length, 'end-point', 'end-points'))),
    el('p', { class: 'quiet' }, `${when}${time(data.length)} long`),
    el('dl', { class: 'figures' },
      figure('fetched', number(outcomes[OK])),
      figure('failed', number(outcomes[FAILED]), outcomes[FAILED] > 0 ? 'bad' : ''),
      outcomes[THERE] > 0 ? figure('already there', number(outcomes[THERE])) : null,
      outcomes[SKIPPED] > 0 ? figure('skipped', number(outcomes[SKIPPED])) : null,
      figure('received', size(received)),
      figure('per second', (outcomes[OK] + outcomes[FAILED] > 0 && data.length > 0
        ? ((outcomes[OK] + outcomes[FAILED]) / (data.length / 1e4)).toFixed(1) : '0'))),
    notes.length > 0 ? el('p', { class: 'note small' }, notes.join(' ')) : null);
};

const legend = (...entries) =>
  el('ul', { class: 'legend' }, ...entries.map(([style, name]) =>
    el('li', {}, el('span', { class: `key ${style}` }), name)));

// MARK: Waits

// What all requests together waited for, the longest first. Known causes have words.
const causes = {
  limit: 'limits of hosts', long_lane: 'long lanes', scope: 'limits of scopes', socket: 'connections',
  total: 'the total limit', rate: 'rates', budget: 'budgets', quota: 'quotas of servers', paused: 'pauses',
  unreachable: 'hosts that could not be reached', recovering: 'recovery after pauses', stopped: 'hosts that were stopped',
  shared: 'permits shared with other programs', memory: 'memory for bodies', bandwidth: 'bandwidth', turn: 'turns',
};
const waits = () => {
  if (data.waited.length === 0) return null;
  const all = data.waited.reduce((sum, [, ticks]) => sum + ticks, 0);
  return el('section', { 'aria-labelledby': 'waited' },
    el('h2', { id: 'waited' }, 'Where the time went'),
    el('p', { class: 'quiet' }, `All requests together waited for ${time(all)}:`),
    el('dl', { class: 'figures' }, ...data.waited.map(([cause, ticks]) =>
      figure(`${Object.hasOwn(causes, cause) ? causes[cause] : cause}, ${time(ticks)}`,
        `${(ticks / Math.max(1, all) * 100).toFixed(0)} %`))));
};

// MARK: Failures

const failures = () => {
  const section = el('section', { 'aria-labelledby': 'failed' }, el('h2', { id: 'failed' }, 'Failures'));
  const failed = rows.errors.map(([row]) => row).filter((row) => rows.outcome[row] === FAILED);
  failed.sort((one, other) => end(one) - end(other));
  if (failed.length === 0) {
    section.append(el('p', { class: 'quiet' }, 'There were none.'));
    return [section, () => {}];
  }
  const search = el('input', {
    type: 'search', placeholder: 'Search URLs, statuses and errors', 'aria-label': 'Search the failures',
  });
  const found = el('span', { class: 'found', role: 'status' });
  const [about, tell] = detail();
  const list = virtualList('Failures', 4, (element, row) => {
    cell(element, 0, time(end(row)));
    cell(element, 1, rows.status[row] > 0 ? String(rows.status[row]) : '–');
    cell(element, 2, errors.get(row).message || errors.get(row).code);
    cell(element, 3, rows.url[row]);
  }, null, tell);
  const haystack = failed.map((row) => {
    const { code, message } = errors.get(row);
    return `${rows.status[row]} ${code} ${message} ${rows.url[row]}`.toLowerCase();
  });
  const apply = () => {
    const words = search.value.trim().toLowerCase();
    const items = failed.filter((_, place) => words === '' || haystack[place].includes(words));
    found.textContent = items.length === failed.length
      ? `${number(failed.length)} in all` : `${number(items.length)} of ${number(failed.length)}`;
    list.set(items);
  };
  search.addEventListener('input', debounced(apply));
  section.append(el('div', { class: 'controls' }, search, found),
    el('div', { class: 'failures' },
      el('div', { class: 'heads', 'aria-hidden': 'true' },
        ...['ended at', 'status', 'error', 'URL'].map((name) => el('span', {}, name))),
      list.element),
    about);
  return [section, apply];
};

const [requestSection, applyRequests] = waterfall();
const [failureSection, applyFailures] = failures();
document.getElementById('page').replaceChildren(
  ...[head(), waits(), courses(), requestSection, failureSection].filter((part) => part !== null));
applyRequests();
applyFailures();
document.documentElement.dataset.drawn = 'true';
