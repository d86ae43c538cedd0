'use strict';
(() => {
  const POLL_MILLIS = 1000;
  const TIMEOUT_MILLIS = 4000;
  const SHOWN_MILLIS = 5 * 60 * 1000;
  const WIDTH = 600;
  const HEIGHT = 150;

  // Misses follow with their reasons, as the Manager names them.
  const HITS = [{key: 'hit_dram', label: 'hit in DRAM', mark: 0}, {key: 'hit_ssd', label: 'hit on SSD', mark: 1}];
  const MISS_MARKS = {not_stored: 5, no_memory: 2, failed_read: 3, over_budget: 4};
  const OTHER_MARK = 6;
  const TIERS = [{key: 'dram', label: 'DRAM', mark: 0}, {key: 'ssd', label: 'SSD', mark: 1}];
  const HELD = [
    {key: 'instances', label: 'engine instances', mark: 0}, {key: 'leases', label: 'leases', mark: 1},
    {key: 'saves', label: 'saves', mark: 2}, {key: 'restores', label: 'restores', mark: 4},
  ];
  const BYTES = [{key: 'leased', label: 'leased', mark: 0}, {key: 'quarantined', label: 'quarantined', mark: 3}];

  const number = new Intl.NumberFormat('en');
  const byId = id => document.getElementById(id);
  const text = (id, value) => { if (byId(id).textContent !== value) byId(id).textContent = value; };

  function bytes(value) {
    const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
    let unit = 0;
    while (unit < 4 && value >= 1024) {
      value /= 1024;
      unit++;
    }
    return (Number.isInteger(value) ? value : value.toFixed(1)) + ' ' + units[unit];
  }

  const percent = share => (100 * share).toFixed(1) + ' %';
  const time = millis => new Date(millis).toLocaleTimeString();
  const sum = (list, field) => list.reduce((total, item) => total + item[field], 0);
  const plural = (count, noun) => number.format(count) + ' ' + noun + (count === 1 ? '' : 's');

  function duration(millis) {
    const seconds = Math.max(0, Math.floor(millis / 1000));
    if (seconds < 120) return seconds + ' s';
    if (seconds < 7200) return Math.floor(seconds / 60) + ' min';
    if (seconds < 172800) return Math.floor(seconds / 3600) + ' h';
    return Math.floor(seconds / 86400) + ' days';
  }

  // What is kept: a point a poll, oldest first. Its shares are of the blocks queried since the point before.
  let points = [];
  let incarnation = null;
  let answeredAt = null;

  function learnReasons(cache) {
    for (const reason of Object.keys(cache.blocks_missed_by_reason)) {
      if (!HITS.some(({key}) => key === reason)) {
        const label = 'missed: ' + reason.replaceAll('_', ' ');
        HITS.push({key: reason, label, mark: MISS_MARKS[reason] ?? OTHER_MARK});
      }
    }
  }

  const outcomes = cache => ({queried: cache.blocks.queried, hit_dram: cache.blocks.hit_dram,
    hit_ssd: cache.blocks.hit_ssd, ...cache.blocks_missed_by_reason});

  function sharesBetween(before, after) {
    const queried = after.queried - before.queried;
    return Object.fromEntries(HITS.map(({key}) => [key, queried > 0 ? (after[key] - before[key]) / queried : null]));
  }

  function remember(status) {
    if (incarnation !== status.incarnation) points = [];
    incarnation = status.incarnation;
    const now = status.at_epoch_millis;
    const cache = status.cache;
    const counts = outcomes(cache);
    const before = points.at(-1) ?? {at: now, counts};
    const fill = tier => tier.capacity_bytes > 0 ? tier.used_bytes / tier.capacity_bytes : null;
    points.push({
      at: now, from: before.at, counts, shares: sharesBetween(before.counts, counts),
      tiers: {dram: fill(cache.dram), ssd: fill(cache.ssd)},
      held: {instances: status.instances.length, leases: sum(status.instances, 'leases'),
        saves: sum(status.instances, 'saves'), restores: sum(status.instances, 'restores')},
      bytes: {leased: cache.leased_bytes, quarantined: cache.quarantined_bytes},
    });
    points = points.filter(point => point.at > now - SHOWN_MILLIS);
  }

  const x = at => Math.max(0, WIDTH * (1 - (points.at(-1).at - at) / SHOWN_MILLIS));

  function path(chart, index, series, shape) {
    const svg = byId(chart);
    let element = svg.children[index];
    if (element === undefined) {
      element = document.createElementNS('http://www.w3.org/2000/svg', 'path');
      svg.append(element);
    }
    element.setAttribute('class', shape.kind + ' s' + series.mark);
    element.setAttribute('d', shape.d);
  }

  function stacked(chart, series, group) {
    const paths = series.map(() => '');
    for (const point of points) {
      let base = HEIGHT;
      series.forEach(({key}, index) => {
        const share = point[group][key];
        if (share === null || share <= 0) return;
        const top = base - share * HEIGHT;
        paths[index] += `M${x(point.from).toFixed(1)} ${base.toFixed(1)}H${x(point.at).toFixed(1)}`
          + `V${top.toFixed(1)}H${x(point.from).toFixed(1)}Z`;
        base = top;
      });
    }
    series.forEach((one, index) => path(chart, index, one, {kind: 'area', d: paths[index]}));
  }

  function curves(chart, series, group, most) {
    series.forEach((one, index) => {
      let d = '';
      let drawing = false;
      for (const point of points) {
        const value = point[group][one.key];
        if (value === null) {
          drawing = false;
          continue;
        }
        const y = HEIGHT - 2 - (HEIGHT - 4) * value / most;
        d += `${drawing ? 'L' : 'M'}${x(point.at).toFixed(1)} ${y.toFixed(1)}`;
        drawing = true;
      }
      path(chart, index, one, {kind: 'curve', d});
    });
  }

  const greatest = (series, group) =>
    Math.max(1, ...points.map(point => Math.max(...series.map(({key}) => point[group][key]))));

  // The legend says in words what the chart shows; the chart's own name for a screen reader repeats it.
  function legend(name, title, series, values) {
    const list = byId(name + '-legend');
    const lines = series.map(({label, key}) => label + ': ' + values[key]);
    series.forEach(({mark}, index) => {
      const item = list.children[index] ?? list.appendChild(document.createElement('li'));
      item.className = 's' + mark;
      if (item.textContent !== lines[index]) item.textContent = lines[index];
    });
    byId(name + '-chart').setAttribute('aria-label', title + ', last five minutes. ' + lines.join(', ') + '.');
  }

  const mapped = (values, form) =>
    Object.fromEntries(Object.entries(values).map(([key, value]) => [key, value === null ? 'none' : form(value)]));

  function draw() {
    const now = points.at(-1);
    const shares = sharesBetween(points[0].counts, now.counts);
    stacked('hits-chart', HITS, 'shares');
    legend('hits', 'Blocks queried, by what became of them', HITS, mapped(shares, percent));
    curves('tiers-chart', TIERS, 'tiers', 1);
    legend('tiers', 'Fill of the tiers', TIERS, mapped(now.tiers, percent));
    const mostHeld = greatest(HELD, 'held');
    text('held-top', number.format(mostHeld));
    curves('held-chart', HELD, 'held', mostHeld);
    legend('held', 'Engines, and what they hold', HELD, mapped(now.held, number.format));
    const mostBytes = greatest(BYTES, 'bytes');
    text('bytes-top', bytes(mostBytes));
    curves('bytes-chart', BYTES, 'bytes', mostBytes);
    legend('bytes', 'Memory that is spoken for', BYTES, mapped(now.bytes, bytes));
  }

  // A column is aligned as its heading is.
  function rows(id, list) {
    const body = byId(id);
    const headings = body.parentElement.tHead.rows[0].cells;
    const wanted = list.length > 0 ? list : [['none']];
    while (body.children.length > wanted.length) body.lastElementChild.remove();
    wanted.forEach((cells, index) => {
      const row = body.children[index] ?? body.appendChild(document.createElement('tr'));
      while (row.children.length > cells.length) row.lastElementChild.remove();
      cells.forEach((value, column) => {
        const cell = row.children[column] ?? row.appendChild(document.createElement('td'));
        const content = typeof value === 'number' ? number.format(value) : value;
        cell.className = list.length === 0 ? 'none' : headings[column].className;
        cell.colSpan = list.length === 0 ? headings.length : 1;
        if (cell.textContent !== content) cell.textContent = content;
      });
    });
  }

  function tier(name, stats) {
    const exists = stats.capacity_bytes > 0;
    text(name + '-used', exists ? percent(stats.used_bytes / stats.capacity_bytes) : 'none');
    byId(name + '-meter').hidden = !exists;
    byId(name + '-meter').value = exists ? stats.used_bytes / stats.capacity_bytes : 0;
    text(name + '-detail', exists
      ? `${bytes(stats.used_bytes)} of ${bytes(stats.capacity_bytes)}, ${plural(stats.blocks, 'block')}` : '');
  }

  function show(status) {
    const cache = status.cache;
    const blocks = cache.blocks;
    const hits = blocks.hit_dram + blocks.hit_ssd;
    text('identity', `${status.software}, incarnation ${status.incarnation}, up `
      + duration(status.at_epoch_millis - status.started_at_epoch_millis));
    text('hit-rate', blocks.queried > 0 ? percent(hits / blocks.queried) : '–');
    text('hit-detail', `${number.format(hits)} of ${plural(blocks.queried, 'block')} since the start`);
    tier('dram', cache.dram);
    tier('ssd', cache.ssd);
    text('ssd-health', cache.ssd.health);
    text('instances', number.format(status.instances.length));
    text('instances-detail',
      `${sum(status.instances, 'ranks_in')} of ${plural(sum(status.instances, 'ranks'), 'rank')} registered`);
    text('leased', bytes(cache.leased_bytes));
    text('leased-detail', plural(sum(status.instances, 'leases'), 'lease'));
    text('quarantined', bytes(cache.quarantined_bytes));
    text('quarantine-detail', plural(status.quarantine.length, 'lost member'));
    rows('engines', status.instances.map(one => [one.name, one.state, `${one.ranks_in} of ${one.ranks}`,
      one.generation, one.tickets, one.leases, one.saves, one.restores, bytes(one.leased_bytes)]));
    rows('quarantine', status.quarantine.map(one => [one.instance,
      one.rank === -1 ? 'scheduler' : one.rank === -2 ? 'all' : String(one.rank), String(one.pid), bytes(one.bytes),
      time(one.since_epoch_millis), one.waiting_for]));
    rows('counters', [
      ['queries', cache.queries], ['blocks queried', blocks.queried], ['blocks hit in DRAM', blocks.hit_dram],
      ['blocks hit on SSD', blocks.hit_ssd], ['blocks missed', blocks.missed], ['blocks saved', blocks.saved],
      ['tokens queried', cache.tokens.queried], ['tokens hit', cache.tokens.hit_dram + cache.tokens.hit_ssd],
      ['saved', bytes(cache.bytes_saved)], ['restored', bytes(cache.bytes_restored)],
      ['core events', status.core.events],
      ['core event p99', (status.core.event_p99_nanos / 1000).toFixed(1) + ' µs'],
      ...Object.entries(cache.faults).map(([name, count]) => ['fault ' + name, count])]);
    learnReasons(cache);
    remember(status);
    draw();
  }

  function state(word, kind, notice) {
    text('state', word);
    byId('state').className = 'state ' + kind;
    byId('notice').hidden = notice === '';
    byId('notice').className = 'notice ' + kind;
    text('notice', notice);
    byId('figures').classList.toggle('stale', kind === 'bad');
  }

  async function poll() {
    try {
      const response = await fetch('/status.json', {cache: 'no-store', signal: AbortSignal.timeout(TIMEOUT_MILLIS)});
      if (!response.ok) throw new Error('answered ' + response.status);
      const status = await response.json();
      show(status);
      answeredAt = Date.now();
      const reasons = status.degraded.length > 0 ? 'Degraded: ' + status.degraded.join('; ') : '';
      if (status.draining) state('draining', 'warn', ['Draining: nothing new is admitted', reasons].join('. '));
      else if (!status.ready) state('not ready', 'warn', reasons);
      else state(reasons === '' ? 'ready' : 'degraded', reasons === '' ? 'good' : 'warn', reasons);
    } catch (failure) {
      const since = answeredAt === null ? '' : '; the figures below are from ' + time(answeredAt);
      const why = failure instanceof TypeError ? 'it cannot be reached'
        : failure.name === 'TimeoutError' ? 'it did not answer in time' : 'it ' + failure.message;
      state('no answer', 'bad', 'The Manager gives no answer (' + why + ')' + since + '. Asking again each second.');
    }
    setTimeout(poll, POLL_MILLIS);
  }

  poll();
})();
