// The pages of several jobs and of a study.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { drawAll, fixture, open, openBrowser, pageWith, timed } from './page.mjs';

let browser;
/** The address changes first, then the page: waits until it shows this heading. Looked at by the clock: a browser with many
    pages open gives one in the background no frames. */
const heading = (page, text) => page.waitForFunction((wanted) => document.querySelector('h1')?.textContent.includes(wanted), text, { polling: 50 });
before(async () => { browser = await openBrowser(); });
after(() => browser.close());

test('several jobs: numbers stand in one order, causes add up, each job opens', async () => {
  const report = fixture('pair');
  const page = await open(browser, pageWith(fixture('pair'), 'pair'));
  const order = async (address) => {
    const shown = await open(browser, address);
    const titles = await shown.locator('table.side tbody th').allTextContents();
    await shown.context().close();
    return titles;
  };
  const turned = { ...report, runs: [...report.runs].reverse() };
  turned.runs[0].summary = { ...turned.runs[0].summary, memory: { ...turned.runs[0].summary.memory, peak_bytes: 1 } };
  const titles = await order(pageWith(fixture('pair'), 'pair'));
  assert.deepEqual(await order(pageWith(turned, 'turned')), titles, 'however much a number differs');
  assert.deepEqual(titles.slice(0, 2), ['step time', 'throughput']);
  const steps = await page.locator('td[data-metric="step_time_s"]').evaluateAll((all) => all.map((cell) => Number(cell.dataset.value)));
  assert.deepEqual(steps, report.runs.map((run) => run.summary.performance.step_time_s));
  const waterfall = page.locator('figure.picture').first();
  await waterfall.locator('.show-table').click();
  const amounts = await waterfall.locator('td.number').evaluateAll((all) => all.map((cell) => Number(cell.dataset.value)));
  const sum = amounts.slice(0, -1).reduce((total, value) => total + value, 0);
  assert.ok(Math.abs(sum - amounts.at(-1)) < 1e-5, 'from a, by all causes, to b');
  await page.getByLabel('Explain').selectOption('energy_j_per_step');
  assert.match(await waterfall.locator('svg').textContent(), /kJ/);
  await page.locator('.tabs a', { hasText: report.runs[1].name }).click();
  await heading(page, report.runs[1].name);
  assert.deepEqual(page.problems, []);
});

/** Texts of a picture that overprint each other. */
const overprinted = (picture) => picture.locator('svg text').evaluateAll((all) => {
  const boxes = all.map((text) => [text.textContent, text.getBoundingClientRect()]);
  return boxes.flatMap(([a, x], i) => boxes.slice(i + 1).filter(([, y]) => x.left < y.right && y.left < x.right && x.top < y.bottom && y.top < x.bottom).map(([b]) => `${a} on ${b}`));
});

test('causes of a small difference: the axis starts late and says so beside its ticks, not on them', async () => {
  const report = fixture('pair');
  report.comparison = { ...report.comparison, quantities: [{ name: 'step_time_s', unit: 's', a: 34.34, b: 45.2 }], residual: {},
    causes: [{ id: 'tp', title: 'tensor parallelism', detail: '4 -> 8', amount: { step_time_s: 10.86 } }] };
  for (const width of [1440, 1024, 400]) {
    const page = await open(browser, pageWith(report, 'late-axis'), { width });
    const waterfall = page.locator('#at-causes figure.picture');
    assert.match(await waterfall.locator('svg').textContent(), /axis starts at 23\.5 s/);
    assert.deepEqual(await overprinted(waterfall), []);
    await page.context().close();
  }
});

test('a campaign: the answer first, what is known of every number of GPUs in the table and behind it', async () => {
  const report = fixture('campaign');
  const page = await open(browser, pageWith(report, 'campaign'));
  assert.match(await page.locator('#at-overview .question').textContent(), /On 64 GPUs of hgx-h100: [\d.]+ days \([\d.]+ to [\d.]+, 90 %\), [\d.]+ MWh at the meter, [\d.]+ % of the time/);
  await drawAll(page);
  const figures = await page.locator('#at-figures h3').allTextContents();
  assert.deepEqual(figures, ['Where the days go', 'Goodput', 'When it is ready', 'What the next 1,000 GPUs bring']);
  const heads = await page.locator('#at-points thead th').allTextContents();
  for (const wanted of ['wall time', 'energy', 'goodput', 'GPU-hours']) assert.ok(heads.some((head) => head.startsWith(wanted)), `${wanted} in ${heads}`);
  assert.ok(!(await page.locator('#at-overview .note').last().textContent()).includes(' 0 '), 'what did not happen is not counted');
  await page.locator('#at-points tbody a').first().click();
  await heading(page, '64 GPUs');
  assert.match(await page.locator('main').textContent(), new RegExp(report.study.points[0].settings['wall time'].slice(0, 9)));
  assert.deepEqual(page.problems, []);
});

test('a recording: kernels where no passes are known, links without a line rate, when it began, what else was noted', async () => {
  const report = fixture('job');
  const [run] = report.runs;
  run.summary = { source: 'recorded', power: { cluster_mean_w: 46482, cluster_peak_w: 50901 }, notes: ['one recording, not two'],
    links: [{ kind: 'nvlink', direction: 'sent', devices: 8, bytes: 3.2e12, mean_gb_per_s: 3.58e-8, peak_gb_per_s: 40 }, { kind: 'nic', bytes_per_step: 2e9, mean_gb_per_s: 5, peak_gb_per_s: 12, utilization: 0.4 }] };
  run.findings = [{ text: 'Rank 7 is late.', name: 'late_rank', fraction: 0.25, confidence: 'measured' }];
  run.timeline.ranks.forEach((rank) => { delete rank.tasks; rank.stage = 0; });
  run.series.epoch_ns = 1689329566483000000;
  const page = await open(browser, pageWith(report, 'recording'));
  assert.equal(await page.locator('.tile[data-metric="cluster_mean_w"]').getAttribute('data-value'), '46482');
  assert.match(await page.locator('#at-overview details').textContent(), /one recording, not two/);
  assert.match(await page.locator('.findings').textContent(), /25\.0 % of the time.*late.*measured/);
  assert.match(await page.locator('#at-power').textContent(), /Time 0 is 2023-07-14 10:12:46 UTC/);
  const links = await page.locator('#at-links .drawing').textContent();
  assert.match(links, /nvlink, sent/);
  assert.match(links, /mean 35\.8 B\/s · peak 40 GB\/s/);
  assert.match(links, /of 12\.5 GB\/s/);
  assert.equal(await page.locator('#at-timeline').getByRole('button', { name: 'Kernels' }).count(), 0, 'kernels cannot be hidden: nothing else is there');
  const height = await page.locator('#at-timeline canvas').evaluate((canvas) => canvas.clientHeight);
  assert.ok(height >= 26 * run.timeline.ranks.length, `${height} px for ${run.timeline.ranks.length} ranks`);
  assert.deepEqual(page.problems, []);
});

test('one job is headed by what it is, several by their files, what differs stands before their numbers', async () => {
  const one = await open(browser, pageWith(fixture('job'), 'one'));
  assert.match(await one.locator('h1').textContent(), / on \d[\d,]* × /);
  const report = { ...fixture('pair'), differences: [{ name: 'parallelism.tp', values: ['4', '8'] }, { name: 'lora_rank', values: ['', '16'] }] };
  const page = await open(browser, pageWith(report, 'differ'));
  const sections = await page.locator('main > section').evaluateAll((all) => all.map((section) => section.id));
  assert.deepEqual(sections.slice(0, 2), ['at-jobs', 'at-settings']);
  const cells = await page.locator('#at-settings tbody tr').evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));
  assert.deepEqual(cells, [['parallelism.tp', '4', '8'], ['lora_rank', '–', '16']]);
});

test('a comparison says how much before why, with intervals where both have them, and folds what follows', async () => {
  const report = fixture('pair');
  report.comparison.verdict = 'B takes longer.';
  report.comparison.quantities.push({ name: 'peak_memory_bytes', unit: 'B', a: 64485261312, b: 39365509120 }, { name: 'tokens_per_s', unit: 'token/s', a: 100, b: 120 });
  for (const cause of report.comparison.causes) cause.amount = { ...cause.amount, peak_memory_bytes: (39365509120 - 64485261312) / report.comparison.causes.length, tokens_per_s: 20 / report.comparison.causes.length };
  report.differences = [{ name: 'cluster.name', values: ['hgx-h200', 'hgx-h100'] }, { name: 'cluster.node', values: ['a', 'b'] }, { name: 'parallelism.tp', values: ['4', '8'] }, { name: 'parallelism.dp', values: ['4', '2'] }];
  const [a, b] = report.runs.map((run) => run.summary);
  const page = await open(browser, pageWith(report, 'much'));
  const sections = await page.locator('main > section').evaluateAll((all) => all.map((one) => one.id));
  assert.ok(sections.indexOf('at-jobs') === 0 && sections.indexOf('at-causes') > 0 && sections.includes('at-timelines') && sections.includes('at-heat'), sections.join());
  assert.equal(await page.locator('#at-jobs .verdict').textContent(), 'B takes longer.');
  const tile = page.locator('#at-jobs .tile[data-metric="step_time_s"]');
  const text = await tile.textContent();
  const changed = 100 * (b.performance.step_time_s / a.performance.step_time_s - 1);
  assert.ok(text.includes(`${changed < 0 ? '−' : '+'}${Math.abs(changed).toFixed(1)} %`), `${text}: ${changed}`);
  assert.match(text, /90 %: A .* to .*, B .* to .* s/);
  const overlap = a.performance.step_time_s_low <= b.performance.step_time_s_high && b.performance.step_time_s_low <= a.performance.step_time_s_high;
  assert.ok(text.includes(overlap ? 'the intervals overlap' : 'the intervals are apart'));
  assert.equal(await tile.getAttribute('data-b'), String(b.performance.step_time_s));
  assert.doesNotMatch(await page.locator('#at-jobs .tile[data-metric="peak_bytes"]').textContent(), /90 %/, 'no interval is known of it');
  const settings = page.locator('#at-settings');
  assert.deepEqual(await settings.locator('> .block > .table tbody td:first-child').allTextContents(), ['cluster.name', 'parallelism.tp']);
  assert.equal(await settings.getByText('parallelism.dp').isVisible(), false);
  await settings.locator('summary').click();
  assert.ok(await settings.getByText('parallelism.dp').isVisible());
  const causes = page.locator('#at-causes');
  await page.getByLabel('Explain').selectOption('peak_memory_bytes');
  assert.match(await causes.textContent(), /60\.1 GiB.*36\.7 GiB/);
  assert.doesNotMatch(await causes.textContent(), /\d GB\b/, 'memory is binary everywhere');
  await page.getByLabel('Explain').selectOption('tokens_per_s');
  const colours = await causes.locator('svg rect').evaluateAll((all) => all.map((bar) => bar.style.fill));
  assert.ok(colours.slice(1, -1).every((one) => one === 'var(--sendrecv)'), `more tokens are better: ${colours}`);
  assert.deepEqual(page.problems, []);
});

test('a comparison shows both timelines on one axis and heat of both in one picture', async () => {
  const report = fixture('pair');
  const page = await open(browser, pageWith(report, 'beside'));
  await drawAll(page);
  const times = page.locator('#at-timelines figure');
  await times.locator('.show-table').click();
  const cells = await times.locator('tbody tr').evaluateAll((all) => all.map((row) => ({ name: row.cells[0].textContent, step: Number(row.cells[row.cells.length - 1].dataset.value) })));
  for (const run of report.runs) assert.deepEqual(cells.filter((one) => one.name === run.name).map((one) => one.step), run.timeline.ranks.map(() => run.timeline.step_s));
  const [download] = await Promise.all([page.waitForEvent('download'), times.locator('.save-svg').click()]);
  const svg = readFileSync(await download.path(), 'utf8');
  for (const run of report.runs) assert.ok(svg.includes(`>${run.name}</text>`));
  assert.ok(svg.match(/<rect/g).length >= report.runs.flatMap((run) => run.timeline.ranks.flatMap((rank) => rank.tasks.kind)).length);
  const heat = page.locator('#at-heat figure', { has: page.getByRole('heading', { name: report.runs[0].series.metrics.find((one) => one.name === 'gpu_c').title, exact: true }) });
  assert.deepEqual(await heat.locator('.legend li').allTextContents(), report.runs.map((run) => run.name));
  const hottest = (run) => { const metric = run.series.metrics.find((one) => one.name === 'gpu_c'); return Math.max(...(metric.distribution?.highest ?? metric.gpus.flatMap((gpu) => gpu.values))); };
  const told = await heat.locator('.drawing').getAttribute('aria-label');
  for (const run of report.runs) assert.ok(told.includes(`${run.name}, highest: `) && told.includes(`${hottest(run).toFixed(1)} °C`), told);
});

test('figures: names below bars are whole, things seen twice share a colour, a small panel has a scale of its own', async () => {
  const report = fixture('study');
  const models = ['GPT3-175B', 'Llama3-70B'];
  const categories = models.flatMap((model) => ['TP8-PP4', 'TP4-PP8', 'TP2-PP16', 'TP1-PP32', 'EP8-TP1-PP4'].map((layout) => `${model} ${layout}`));
  const panel = (name, size) => ({ id: 'made', label: '', title: 'Made', caption: '', kind: 'bar', panel: name, x: { title: 'layout', categories }, y: { title: 'power', unit: 'W' },
    series: ['base, mean', 'base, peak', 'cc, mean', 'cc, peak'].map((label, n) => ({ label, x: categories.map((_, i) => i), y: categories.map((_, i) => size * (10 + i + n)) })) });
  report.study.figures = [panel('large', 100), panel('small', 1)];
  const page = await open(browser, pageWith(report, 'made'));
  const figure = page.locator('#at-figure-made');
  await drawAll(page);
  assert.deepEqual(await figure.locator('.legend').first().locator('li').allTextContents(), ['base', 'cc']);
  const text = await figure.textContent();
  assert.match(text, /Full colour: mean; pale: peak/);
  assert.match(text, /Scales differ between panels/);
  for (const [at, highest] of [['0', /2\.\d? ?kW|2,?500 W|2 kW/], ['1', /2[05] W/]]) assert.match(await figure.locator('figure.picture svg').nth(Number(at)).textContent(), highest);
  const names = await figure.locator('svg').first().locator('text').allTextContents();
  for (const name of [...models, 'TP2-PP16', 'EP8-TP1-PP4']) assert.ok(names.includes(name), `${name} among ${names.join(', ')}`);
  const outside = await figure.locator('svg').first().evaluate((svg) => [...svg.querySelectorAll('text')].filter((one) => one.getBoundingClientRect().left < svg.getBoundingClientRect().left - 1).length);
  assert.equal(outside, 0, 'no text leaves the picture');
});

/** Panels with values at x, a series each: { name: [[label, x, y], ...] }. */
const panelsOf = (kind, panels, x = {}, y = {}) => Object.entries(panels).map(([name, series]) => ({ id: 'made', label: '', title: 'Made', caption: '', kind, panel: name,
  x: { title: 'GPUs', ...x }, y: { title: 'rate', unit: 'tokens/s', ...y }, series: series.map(([label, xs, ys]) => ({ label, x: xs, y: ys })) }));

test('panels: a colour means one series in all of them, they share x and zero, units stand once', async () => {
  const report = fixture('study');
  report.study.figures = panelsOf('line', { left: [['a', [64, 1024], [1000, 100]], ['b', [64, 1024], [900, 800]]], right: [['c', [256, 4096], [90, 80]]] }, { log: true });
  const page = await open(browser, pageWith(report, 'panels'));
  const figure = page.locator('#at-figure-made');
  await drawAll(page);
  const colours = await figure.locator('svg').evaluateAll((all) => all.map((svg) => [...svg.querySelectorAll('g[style*="fill"]')].map((group) => group.style.fill)));
  assert.equal(new Set(colours.flat()).size, 3, 'a, b and c');
  assert.deepEqual(await figure.locator('.legend li').allTextContents(), ['a', 'b', 'c']);
  const [left, right] = await figure.locator('svg').evaluateAll((all) => all.map((svg) => [...svg.querySelectorAll('text')].map((text) => text.textContent)));
  for (const texts of [left, right]) for (const tick of ['64', '256', '1,024', '4,096', '0', 'rate (tokens/s)']) assert.ok(texts.includes(tick), `${tick} among ${texts}`);
  await page.evaluate(() => { URL.createObjectURL = (blob) => { window.handed = blob.text(); return '#saved'; }; HTMLAnchorElement.prototype.click = function () { window.named = this.download; }; });
  await figure.locator('.save-svg').first().click();
  const svg = await page.evaluate(() => window.handed);
  assert.match(svg, /<text[^>]*>Made, left<\/text>/);
  assert.match(svg, />a<\/text>.*>b<\/text>/, 'the legend goes with the picture');
  assert.doesNotMatch(svg, />c<\/text>/, 'without what another panel shows');
  assert.equal(await page.evaluate(() => window.named), 'made-left.svg');
});

test('bars that are all about as high are signs, a cross needs a point, cells of different panels have their own colours', async () => {
  const report = fixture('study');
  const categories = ['one', 'two'];
  const bar = panelsOf('bar', { clock: [['base', [0, 1], [1980, 1800]], ['reported', [0, 1], [1900, null]]] }, { categories }, { unit: 'MHz' });
  bar[0].series[0].point = [0, 1];
  const heat = panelsOf('heat-map', { large: [['rate', [0, 1], [0, 0]]], small: [['rate', [0, 1], [0, 0]]] }, { categories }, { categories: ['row'] });
  heat.forEach((panel, i) => { panel.id = 'cells'; panel.series[0].value = [[500, 400], [5, 0]][i]; });
  report.study.figures = [...bar, ...heat];
  const page = await open(browser, pageWith(report, 'signs'));
  const svg = page.locator('#at-figure-made svg');
  await drawAll(page);
  assert.equal(await svg.locator('circle').count(), 2);
  assert.equal(await svg.locator('path[d*="l6,6m0"]').count(), 0, 'nobody ran what nobody reported');
  const texts = await svg.locator('text').allTextContents();
  assert.ok(texts.includes('1,800') && !texts.includes('0'), texts.join(' '));
  const fills = await page.locator('#at-figure-cells svg').evaluateAll((all) => all.map((one) => [...one.querySelectorAll('a rect, g > rect')].slice(0, 2).map((rect) => rect.getAttribute('fill'))));
  assert.equal(fills[0][0], fills[1][0], 'the highest of each');
  assert.notEqual(fills[0][1], fills[1][1], 'least is not nothing');
  assert.match(await page.locator('#at-figure-cells').textContent(), /Scales differ between panels/);
});

test('points without a place on the axes are called by what their jobs are, and side by side saves its numbers', async () => {
  const report = fixture('study');
  const { study } = report;
  study.axes = [];
  for (const point of study.points) point.axes = {};
  study.findings[0].points = [study.points.findIndex((point) => point.summary?.job)];
  const page = await open(browser, pageWith(report, 'names'));
  await page.getByRole('button', { name: 'Unfold all' }).click();
  const link = page.locator('.verdict-line .points a').first();
  assert.match(await link.textContent(), /^\S+ \S+ on \d+ × [A-Z]\w+/);
  await link.click();
  await page.waitForSelector('.way');
  const pair = await open(browser, pageWith(fixture('pair'), 'pair'));
  const [download] = await Promise.all([pair.waitForEvent('download'), pair.locator('#at-numbers .save-csv').click()]);
  const lines = readFileSync(await download.path(), 'utf8').trim().split('\r\n');
  assert.equal(lines.length, 1 + await pair.locator('table.side tbody tr').count());
  assert.ok(lines.some((line) => line.startsWith('step time,s,') && line.endsWith(String(fixture('pair').runs[1].summary.performance.step_time_s))), lines.join('; '));
});

test('a study: every point opens its job by mark, row and address, and back works', async () => {
  const report = fixture('study');
  const { study } = report;
  const address = pageWith(report, 'study');
  const page = await open(browser, address);
  const key = (point) => (point.family ? `${point.family}/${point.id}` : point.id);
  // By the keyboard: figures that are drawn meanwhile move what a pointer aims at.
  await page.locator('#at-points tbody a').first().press('Enter');
  await heading(page, study.points[0].id);
  const value = await page.locator('.tile[data-metric="step_time_s"]').getAttribute('data-value');
  assert.equal(Number(value), study.points[0].summary.performance.step_time_s);
  await page.goBack();
  await heading(page, study.title);
  await drawAll(page);
  const bar = page.locator('#at-figure-fig4 svg a').first();
  await bar.focus();
  assert.match(await page.locator('.tip').textContent(), /tokens\/s/);
  await page.keyboard.press('Enter');
  await page.waitForSelector('.way');
  const at = study.points.findIndex((point) => point.status !== 'ok');
  const shared = await open(browser, `${address}#point=${encodeURIComponent(key(study.points[at]))}`);
  assert.ok((await shared.locator('.verdict.bad').first().textContent()).includes(study.points[at].reason));
  assert.deepEqual([...page.problems, ...shared.problems], []);
});

test('a study: figures, findings and points hold the numbers of the document', async () => {
  const report = fixture('study');
  const { study } = report;
  const page = await open(browser, pageWith(report, 'study'));
  for (const [at, entry] of study.figures.entries()) {
    const panel = page.locator(`#at-figure-${entry.id} figure.picture`).nth(study.figures.slice(0, at).filter((one) => one.id === entry.id).length);
    const [download] = await Promise.all([page.waitForEvent('download'), panel.locator('.show-table').click().then(() => panel.locator('.save-csv').click())]);
    const csv = readFileSync(await download.path(), 'utf8');
    const count = entry.series.reduce((sum, series) => sum + series.x.length, 0);
    assert.equal(csv.trim().split('\r\n').length, count + 1, entry.id);
    const value = entry.kind === 'heat-map' ? entry.series[0].value[0] : entry.series[0].y[0];
    assert.ok(csv.includes(String(value)), `${entry.id}: ${value}`);
  }
  await page.locator('.filter', { hasText: 'disagrees' }).click();
  assert.equal(await page.locator('.verdict-line').count(), study.findings.filter((finding) => finding.agrees === 'no').length);
  const points = page.locator('#at-points');
  await points.getByRole('button', { name: 'step time', exact: true }).click();
  await points.getByRole('button', { name: 'step time', exact: true }).click();
  const column = await points.locator('thead th').evaluateAll((all) => all.findIndex((head) => head.textContent === 'step time'));
  const times = (await points.locator(`tbody tr td:nth-child(${column + 1})`).evaluateAll((all) => all.map((cell) => cell.dataset.value))).filter((one) => one !== undefined).map(Number);
  assert.deepEqual(times, [...times].sort((a, b) => a - b));
  await points.getByLabel('status').selectOption('ok');
  assert.equal(await points.locator('tbody tr').count(), study.points.filter((point) => point.status === 'ok').length);
  assert.deepEqual(page.problems, []);
});

test('the frontier holds exactly the points that no other beats, of one model and machine or of all', async () => {
  const { study } = fixture('study');
  const page = await open(browser, pageWith(fixture('study'), 'frontier'));
  const frontier = page.locator('#at-frontier');
  await frontier.getByLabel('across').selectOption('step_time_s');
  await frontier.getByLabel('up', { exact: true }).selectOption('max_gpu_c');
  for (const [title, family] of [['all points', /./], ['llama3-70b on 64 × H100', /h100/], ['llama3-70b on 32 × H200', /h200/]]) {
    await frontier.getByLabel('of', { exact: true }).selectOption(title);
    const ok = study.points.filter((point) => point.status === 'ok' && family.test(point.family)).map((point) => [point.summary.performance.step_time_s, point.summary.thermal.max_gpu_c]);
    const best = ok.filter(([x, y]) => !ok.some(([a, b]) => (a <= x && b < y) || (a < x && b <= y)));
    const shown = await frontier.locator('.table tbody tr').last().locator('..').locator('tr').evaluateAll((all) => all.map((row) => [...row.querySelectorAll('td.number')].map((cell) => Number(cell.dataset.value))));
    assert.deepEqual(shown.sort((a, b) => a[0] - b[0]), best.sort((a, b) => a[0] - b[0]), title);
  }
});

test('of a study that repeats its jobs under many conditions all groups but the first are folded', async () => {
  const report = fixture('study');
  const rooms = Array.from({ length: 10 }, (_, i) => 20 + i);
  report.study.points = rooms.flatMap((inlet_c) => report.study.points.map((point) => {
    const summary = structuredClone(point.summary);
    if (summary?.job) summary.job.conditions = { ...summary.job.conditions, inlet_c };
    return { ...point, id: `${point.id}, ${inlet_c} C`, summary };
  }));
  report.study.figures = [];
  report.study.findings = [];
  const page = await open(browser, pageWith(report, 'many-groups'));
  const answer = page.locator('main > section').first();
  assert.equal(await answer.locator('.answer').count(), 20, 'two machines in ten rooms');
  assert.equal(await answer.locator('.answer:visible').count(), 16);
  await answer.getByText('4 groups more').click();
  assert.equal(await answer.locator('.answer:visible').count(), 20);
  assert.deepEqual(page.problems, []);
});

test('a study opens with the best job of every machine for speed, energy and heat, and what it costs to choose another', async () => {
  const { study } = fixture('study');
  const page = await open(browser, pageWith(fixture('study'), 'answer'));
  assert.equal(await page.locator('main > section').first().locator('.answer').count(), 2);
  for (const [title, family] of [['llama3-70b on 64 × H100', 'h100'], ['llama3-70b on 32 × H200', 'h200']]) {
    const card = page.locator('.answer', { has: page.getByRole('heading', { name: title }) });
    const ok = study.points.filter((point) => point.family === family && point.status === 'ok');
    assert.match(await card.locator('h2').textContent(), new RegExp(`${ok.length} jobs`));
    const rows = await card.locator('tbody tr').evaluateAll((all) => all.map((row) => ({ aims: row.querySelector('th').textContent, href: decodeURIComponent(row.querySelector('a').hash),
      cells: [...row.querySelectorAll('td.number')].map((cell) => ({ value: Number(cell.dataset.value), text: cell.textContent })) })));
    const of = (point) => [point.summary.performance.tokens_per_s_per_gpu, point.summary.power.tokens_per_j, point.summary.thermal.max_gpu_c];
    const best = [0, 1, 2].map((i) => ok.reduce((a, b) => ((i === 2 ? of(b)[i] < of(a)[i] : of(b)[i] > of(a)[i]) ? b : a)));
    ['fastest', 'least energy', 'coolest'].forEach((aim, i) => {
      const row = rows.find((one) => one.aims.split(', ').includes(aim));
      assert.equal(row.href, `#point=${family}/${best[i].id}`, `${title}: ${aim}`);
      assert.deepEqual(row.cells.map((cell) => cell.value), of(best[i]));
      row.cells.forEach((cell, k) => {
        const [own, other] = [of(best[i])[k], of(best[k])[k]];
        const lost = k === 2 ? own - other : 100 * (own / other - 1);
        const told = /([+−][\d.]+) [%K]$/.exec(cell.text)?.[1].replace('−', '-') ?? 0;
        assert.ok(Math.abs(Number(told) - lost) < 0.06, `${cell.text}: ${lost}`);
      });
    });
    const near = ok.filter((point) => of(point)[0] >= 0.9 * of(best[0])[0]).reduce((a, b) => (of(b)[2] < of(a)[2] ? b : a));
    const within = rows.find((row) => row.aims.includes('coolest within 10 %'));
    if (within) assert.equal(within.href, `#point=${family}/${near.id}`);
    else assert.ok([best[0], best[2]].includes(near), 'the coolest within 10 % has a row unless it is the fastest or the coolest');
  }
  assert.deepEqual(page.problems, []);
});

test('jobs under faults are named by what is wrong, and are nobody\'s best', async () => {
  const report = fixture('study');
  const { study } = report;
  study.axes = [];
  for (const point of study.points) point.axes = {};
  const at = study.points.findIndex((point) => point.status === 'ok');
  study.points[at].summary.job.conditions.overrides = [{ node: 1, gpu: null, what: 'power_brake', value: 1, text: 'node1.power_brake=on' }];
  study.points[at].summary.performance.tokens_per_s_per_gpu = 1e9;
  study.findings[0].points = [at];
  const page = await open(browser, pageWith(report, 'faults'));
  const text = await page.evaluate(() => document.body.textContent);
  assert.doesNotMatch(text, /object Object/);
  assert.match(text, /node1\.power_brake=on/);
  assert.doesNotMatch(await page.locator('#at-overview').textContent(), /1,000,000,000/);
});

test('findings are a line each and unfold; figures are drawn when they come near, all of them for paper', async () => {
  const report = fixture('study');
  report.study.figures = Array.from({ length: 20 }, (_, i) => ({ ...report.study.figures[0], id: `copy${i}`, panel: '' }));
  const page = await open(browser, pageWith(report, 'later'));
  const waiting = page.locator('.drawing.later');
  assert.ok(await waiting.count() > 10, 'the first screen does not wait for all figures');
  const first = page.locator('.verdict-line').first();
  assert.equal(await first.locator('dl').isVisible(), false);
  await first.locator('summary').click();
  assert.ok(await first.locator('dl').isVisible());
  await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
  assert.equal(await waiting.count(), 0);
  assert.equal(await page.locator('.verdict-line:not([open])').count(), 0, 'paper cannot be unfolded');
  await page.evaluate(() => dispatchEvent(new Event('afterprint')));
  assert.equal(await page.locator('.verdict-line[open]').count(), 1, 'as it was left');
});

test('one high bar stands on a logarithmic axis, long names below bars are whole on a phone', async () => {
  const report = fixture('study');
  const categories = ['32 H200 GPT3-175B TP2-PP16', '64 H100 GPT3-175B TP2-PP32, recomputed', '32 H200 Mixtral-8x22B EP8-TP1-PP4', '64 H100 Mixtral-8x22B EP8-TP1-PP8, recomputed', '32 H200 Llama3-70B TP4-PP4'];
  const made = (id, y) => ({ id, label: '', title: 'Made', caption: '', kind: 'bar', x: { title: 'layout', categories }, y: { title: 'efficiency', unit: '' }, series: [{ label: 'a', x: [0, 1, 2, 3, 4], y }] });
  report.study.figures = [made('steep', [1, 2, 3, 4, 900]), made('even', [1, 2, 3, 4, 9])];
  const page = await open(browser, pageWith(report, 'steep'), { width: 400 });
  await drawAll(page);
  const heights = async (id) => page.locator(`#at-figure-${id} svg rect`).evaluateAll((all) => all.map((bar) => Number(bar.getAttribute('height'))));
  const [steep, even] = [await heights('steep'), await heights('even')];
  assert.ok(steep[1] > 0.1 * steep[4] && steep[1] > steep[0], `${steep}`);
  assert.ok(Math.abs(even[0] / even[4] - 1 / 9) < 0.02, `${even}`);
  assert.match(await page.locator('#at-figure-steep').textContent(), /Logarithmic, since one bar would flatten the others: efficiency/);
  const texts = await page.locator('#at-figure-even svg text').allTextContents();
  categories.forEach((name, i) => assert.ok(texts.includes(String(i + 1)) && texts.join(' ').includes(`${i + 1}: ${name}`), `${name} among ${texts.join(' | ')}`));
  const outside = await page.locator('#at-figure-even svg').evaluate((svg) => [...svg.querySelectorAll('text')].filter((one) => one.getBoundingClientRect().right > svg.getBoundingClientRect().right + 1).length);
  assert.equal(outside, 0);
});

test('a study of 672 jobs and 80 figures has a first screen', async (context) => {
  const report = fixture('study');
  const { study } = report;
  study.points = Array.from({ length: 16 }, (_, i) => study.points.map((point) => ({ ...point, id: `${point.id}-${i}` }))).flat();
  study.figures = Array.from({ length: 16 }, (_, i) => study.figures.map((figure) => ({ ...figure, id: `${figure.id}-${i}` }))).flat();
  const page = await open(browser, pageWith(report, 'many'));
  const first = await page.evaluate(() => performance.getEntriesByName('first-picture')[0].startTime);
  assert.ok(first > 0);
  timed(context, 'first screen after', first, 2000);
});
