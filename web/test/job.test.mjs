// The page of one job: its numbers are those of the document, its pictures answer pointer and keys, its files hold both.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { fixture, open, openBrowser, pageWith } from './page.mjs';

const report = fixture('job');
const run = report.runs[0];
let browser;
let page;
before(async () => {
  browser = await openBrowser();
  page = await open(browser, pageWith(report, 'job'));
});
after(() => browser.close());

const kUnits = { n: 1e-9, µ: 1e-6, m: 1e-3, '': 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12 };
/** "266 kJ" is 266000. */
function read(text) {
  const [, number, unit] = /^(−?[\d,.]+)\s*(.*)$/.exec(text.trim());
  const value = Number(number.replaceAll(',', '').replace('−', '-'));
  if (unit === '%') return value / 100;
  if (unit === 'GiB') return value * 2 ** 30;
  const [, prefix] = /^([nµmkMGT]?)(?:s|W|J|B)$/.exec(unit) ?? [null, ''];
  return value * kUnits[prefix];
}
const near = (text, value, what) => assert.ok(Math.abs(read(text) - value) <= 0.006 * Math.abs(value) + 1e-9, `${what}: the page says ${text}, the document ${value}`);
async function saved(button) {
  const [download] = await Promise.all([page.waitForEvent('download'), button.click()]);
  return readFileSync(await download.path(), 'utf8');
}
const figure = (title) => page.locator('figure.picture', { has: page.getByRole('heading', { name: title, exact: true }) });

test('headline numbers and intervals are those of the document', async () => {
  const { performance, memory, power, thermal } = run.summary;
  const known = { ...performance, peak_bytes: memory.peak_bytes, ...power, ...thermal };
  const tiles = await page.locator('.tile').evaluateAll((all) => all.map((tile) => ({ name: tile.dataset.metric, value: Number(tile.dataset.value), text: tile.querySelector('.value').textContent,
    aside: [...tile.querySelectorAll('.aside')].map((one) => one.textContent) })));
  assert.equal(tiles.length, 8);
  for (const tile of tiles) {
    assert.equal(tile.value, known[tile.name], tile.name);
    near(tile.text, known[tile.name], tile.name);
  }
  const step = tiles.find((tile) => tile.name === 'step_time_s').aside.find((line) => line.startsWith('90 %'));
  const [low, high] = step.replace('90 %: ', '').split(' to ');
  near(`${low} s`, performance.step_time_s_low, 'low');
  near(high, performance.step_time_s_high, 'high');
  const rate = tiles.find((tile) => tile.name === 'tokens_per_s').aside.find((line) => line.startsWith('90 %'));
  near(rate.replace('90 %: ', '').split(' to ')[0], (performance.tokens_per_s * performance.step_time_s) / performance.step_time_s_high, 'lowest rate');
  assert.match(await page.locator('.verdict').first().textContent(), new RegExp(`^Limited by ${run.summary.limiter.slice(0, 30).replaceAll('.', '\\.')}`));
});

test('findings stand in order of their cost', async () => {
  const costs = await page.locator('.findings .cost b').allTextContents();
  const sorted = run.findings.map((finding) => finding.cost_s).sort((a, b) => b - a);
  costs.forEach((text, i) => near(text.replace(' a step', ''), sorted[i], 'cost'));
});

test('a picture shows its numbers as a table and saves both', async () => {
  const step = figure('Where the step goes');
  await step.locator('.show-table').click();
  const rows = await step.locator('tbody tr').evaluateAll((all) => all.map((row) => [row.cells[0].textContent, Number(row.cells[1].dataset.value)]));
  const parts = Object.values(run.summary.performance.breakdown_s).filter((value) => value > 0);
  assert.deepEqual(rows.map((row) => row[1]), parts);
  const csv = await saved(step.locator('.save-csv'));
  assert.match(csv, /^part,time \(s\),share \(share\)\r\ncompute,/);
  assert.equal(csv.trim().split('\r\n').length, parts.length + 1);
  const svg = await saved(step.locator('.save-svg'));
  assert.match(svg, /<title>Where the step goes<\/title>/);
  assert.ok(!svg.includes('var(--'), 'colours are written out');
  assert.ok(svg.includes('all-gather') || svg.includes('%'), 'labels are in it');
});

test('every picture can be saved as SVG and says its numbers', async () => {
  // Browsers ask before a page may save more than ten files: their content is taken where it is handed over.
  await page.evaluate(() => {
    window.handed = [];
    URL.createObjectURL = (blob) => { window.handed.push(blob.text()); return '#saved'; };
    HTMLAnchorElement.prototype.click = () => {};
  });
  const pictures = page.locator('figure.picture');
  const count = await pictures.count();
  assert.ok(count >= 12, `${count} pictures`);
  for (let i = 0; i < count; ++i) {
    const one = pictures.nth(i);
    const title = await one.locator('h3, h4').first().textContent();
    await one.locator('.save-svg').click();
    // A picture that was not in view is drawn first, which may end behind the click.
    await page.waitForFunction(() => window.handed.length > 0);
    const svg = await page.evaluate(() => window.handed.pop());
    assert.ok((svg.match(/<(rect|path|circle|line)/g) ?? []).length > 3, `${title} is empty as SVG`);
    assert.match(await one.locator('.drawing').getAttribute('aria-label'), /\d/, `${title} has no numbers in words`);
  }
});

test('the timeline zooms and moves by button, key, wheel and drag, and tells what is under the pointer', async () => {
  const timeline = figure('Timeline of a step');
  const canvas = timeline.locator('canvas');
  const range = async () => (await timeline.locator('.count').first().textContent()).split(' to ').map(read);
  const span = async () => { const [from, to] = await range(); return to - from; };
  const whole = await span();
  await timeline.getByRole('button', { name: 'Zoom in' }).click();
  assert.ok(Math.abs((await span()) / whole - 0.5) < 0.02);
  await canvas.focus();
  await page.keyboard.press('+');
  assert.ok((await span()) < 0.3 * whole);
  const [before_key] = await range();
  await page.keyboard.press('ArrowRight');
  assert.ok((await range())[0] > before_key);
  await page.keyboard.press('Home');
  assert.ok(Math.abs((await span()) - whole) < 0.01 * whole);
  await canvas.scrollIntoViewIfNeeded();
  const box = await canvas.boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + 40);
  await page.mouse.wheel(0, -400);
  await page.waitForTimeout(50);
  const zoomed = await span();
  assert.ok(zoomed < 0.6 * whole, 'wheel zooms where the picture has the focus');
  const [from] = await range();
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 2 - 150, box.y + 40, { steps: 3 });
  await page.mouse.up();
  assert.ok((await range())[0] > from, 'drag moves');
  await timeline.getByRole('button', { name: 'All of the step' }).click();
  await page.mouse.move(box.x + box.width - 8, box.y + 30);
  const tip = await page.locator('.tip').textContent();
  assert.match(tip, /parameter gather/, 'what a step ends with');
  assert.match(tip, /rank 0, stage 0/);
});

test('kernels of the timeline can be hidden', async () => {
  const timeline = figure('Timeline of a step');
  const height = () => timeline.locator('canvas').evaluate((canvas) => canvas.clientHeight);
  const whole = await height();
  await timeline.getByRole('button', { name: 'Kernels' }).click();
  assert.ok((await height()) < 0.7 * whole);
});

test('cursors of series are linked and read values', async () => {
  const power = figure(run.series.metrics[0].title);
  await power.scrollIntoViewIfNeeded();
  await power.locator('.series').focus();
  for (let i = 0; i < 3; ++i) await page.keyboard.press('ArrowRight');
  const line = await power.locator('.readout').textContent();
  assert.ok(Math.abs(read(line.split(' · ')[0]) - run.series.time_s[3]) < 0.01, line);
  const highest = Math.max(...run.series.metrics[0].gpus.map((gpu) => gpu.values[3]));
  assert.match(line, new RegExp(`highest rank \\d+ ${Math.round(highest)} W`));
  assert.notEqual((await figure(run.series.metrics[1].title).locator('.readout').textContent()).trim(), '', 'the other cursor follows');
});

test('a click on the cluster opens the node, the metric colours all', async () => {
  const cluster = figure('Cluster');
  await cluster.scrollIntoViewIfNeeded();
  await cluster.locator('canvas').click({ position: { x: 8, y: 30 } });
  const chassis = figure('Chassis from above');
  assert.equal(await chassis.locator('.node-name').textContent(), 'node 0');
  await page.keyboard.press('ArrowRight');
  assert.equal(await chassis.locator('.node-name').textContent(), 'node 1');
  await page.getByLabel('Colour by').selectOption('mean_power_w');
  const told = await chassis.locator('.drawing').getAttribute('aria-label');
  const first = run.ranks.node.indexOf(1);
  assert.ok(told.includes(`rank ${run.ranks.rank[first]}: ${Math.round(run.ranks.mean_power_w[first])} W`), told);
});

test('assumptions can be filtered and sorted', async () => {
  const section = page.locator('#at-assumptions');
  await section.getByRole('searchbox').fill('power.');
  const names = await section.locator('tbody tr td:nth-child(2)').allTextContents();
  assert.ok(names.length > 0 && names.length < run.assumptions.length);
  await section.getByRole('searchbox').fill('');
  // By key: what is drawn above it meanwhile moves the button away from under a pointer.
  await section.getByRole('button', { name: 'name', exact: true }).press('Enter');
  await section.locator('th[aria-sort="ascending"]').waitFor();  // the rows are drawn with it
  const sorted = await section.locator('tbody tr td:nth-child(2)').allTextContents();
  assert.deepEqual(sorted, [...sorted].sort((a, b) => a.localeCompare(b, 'en', { numeric: true })));
  assert.equal(await section.locator('th[aria-sort="ascending"]').count(), 1);
});

test('nothing was complained about', () => assert.deepEqual(page.problems, []));

test('uneven experts: what even routing would bring', async () => {
  const uneven = structuredClone(report);
  uneven.runs[0].summary.experts = [
    { setting: '--moe-routing zipf:1', step_time_s: 8, mean_load: 1.8, most_load: 2.5, dropped_fraction: 0, peak_memory_bytes: 2 ** 36 },
    { setting: '--moe-routing even', step_time_s: 6, mean_load: 1, most_load: 1, dropped_fraction: 0, peak_memory_bytes: 2 ** 35 },
  ];
  const other = await open(browser, pageWith(uneven, 'uneven'));
  assert.match(await other.locator('#at-experts .note').textContent(), /1\.8 times an even share .* at most 2\.5\. With even routing a step is 25\.0 % shorter\./);
  assert.deepEqual(await other.locator('#at-experts tbody tr').last().locator('td').allTextContents(),
    ['--moe-routing even', '1', '1', '–', '6 s', '25.0 % shorter', '32 GiB']);
  assert.deepEqual(other.problems, []);
  assert.equal(await page.locator('#at-experts').count(), 0);
});

test('samples with images: how they lie in micro batches', async () => {
  const packed = structuredClone(report);
  const played = { setting: '--samples lognormal:2,1,300,200', step_time_s: 4, step_time_s_low: 3, step_time_s_high: 5, tokens_per_s: 1000,
    padding_fraction: 0.25, attention_fraction: 0.125, waiting_fraction: 0.5, slowest_load: 1.5, peak_memory_bytes: 2 ** 36 };
  packed.runs[0].summary.sequences = [played];
  const words = await open(browser, pageWith(packed, 'documents'));
  assert.equal(await words.locator('#at-documents table').count(), 1);
  packed.runs[0].summary.packing = [
    { setting: played.setting, padding_fraction: 0.25, token_distance: 0.375, tile_distance: 0.5, tokens: 1536, tiles: 4.5 },
    { setting: '--sample-packing both', padding_fraction: 0.06, token_distance: 0.031, tile_distance: 0.125, tokens: 1920, tiles: 4.5 },
  ];
  const other = await open(browser, pageWith(packed, 'packed'));
  assert.deepEqual(await other.locator('#at-documents table').last().locator('tbody tr').last().locator('td').allTextContents(),
    ['--sample-packing both', '6.0 %', '1,920', '3.1 %', '4.5', '12.5 %']);
  assert.deepEqual(other.problems, []);
});

test('GPUs of several kinds: who works and who waits', async () => {
  const mixed = structuredClone(report);
  mixed.runs[0].summary.gpu_kinds = [
    { gpu: 'A100-SXM4-80GB', node: 'hgx-a100-80gb', gpus: 16, ranks: '0-15', stages: '0', compute_s: 6, communication_s: 1, idle_s: 1 },
    { gpu: 'H100-SXM5-80GB', node: 'hgx-h100', gpus: 16, ranks: '16-31', stages: '1', compute_s: 3, communication_s: 1, idle_s: 4 },
  ];
  mixed.runs[0].summary.power.kinds = [
    { gpu: 'H100-SXM5-80GB', node: 'hgx-h100', mean_w_per_gpu: 361, peak_w_per_gpu: 721, nodes_mean_w: 9500, energy_j_per_step: 107000,
      gpu_energy_j_per_step: 65000, mean_gpu_c: 48.4, max_gpu_c: 58.5, mean_clock_mhz: 1979, throttled_time_fraction: 0.03 },
  ];
  const cluster = mixed.runs[0].summary.job.cluster;
  cluster.groups = [{ gpu: 'A100-SXM4-80GB' }, { gpu: 'H100-SXM5-80GB' }, { gpu: 'H100-SXM5-80GB' }];
  const other = await open(browser, pageWith(mixed, 'mixed'));
  assert.match(await other.locator('h1').first().textContent(), / × A100-SXM4-80GB and H100-SXM5-80GB/);
  const rows = other.locator('#at-gpu-kinds tbody tr');
  assert.deepEqual(await rows.nth(1).locator('td').allTextContents(),
    ['H100-SXM5-80GB', 'hgx-h100', '16', '16-31', '1', '3 s', '1 s', '4 s']);
  assert.deepEqual(await rows.last().locator('td').allTextContents(),
    ['H100-SXM5-80GB', 'hgx-h100', '361 W', '721 W', '9.5 kW', '107 kJ', '48.4 °C', '58.5 °C', '1,979 MHz', '3 %']);
  assert.deepEqual(other.problems, []);
  assert.equal(await page.locator('#at-gpu-kinds').count(), 0);
});
