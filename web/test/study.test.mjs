// The pages of several jobs and of a study.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { fixture, open, openBrowser, pageWith } from './page.mjs';

let browser;
/** The address changes first, then the page: waits until it shows this heading. */
const heading = (page, text) => page.waitForFunction((wanted) => document.querySelector('h1')?.textContent.includes(wanted), text);
before(async () => { browser = await openBrowser(); });
after(() => browser.close());

test('several jobs: what differs comes first, causes add up, each job opens', async () => {
  const report = fixture('pair');
  const page = await open(browser, pageWith(report, 'pair'));
  const rows = await page.locator('table.side tbody tr').evaluateAll((all) => all.map((row) => [...row.querySelectorAll('td')].map((cell) => Number(cell.dataset.value))));
  const spread = rows.map(([a, b]) => Math.abs(a - b) / Math.max(Math.abs(a), Math.abs(b)));
  spread.forEach((value, i) => assert.ok(i === 0 || value <= spread[i - 1] + 1e-12));
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

test('a study: every point opens its job by mark, row and address, and back works', async () => {
  const report = fixture('study');
  const { study } = report;
  const address = pageWith(report, 'study');
  const page = await open(browser, address);
  const key = (point) => (point.family ? `${point.family}/${point.id}` : point.id);
  await page.locator('#at-points tbody a').first().click();
  await heading(page, study.points[0].id);
  const value = await page.locator('.tile[data-metric="step_time_s"]').getAttribute('data-value');
  assert.equal(Number(value), study.points[0].summary.performance.step_time_s);
  await page.goBack();
  await heading(page, study.title);
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
    const value = entry.kind === 'heatmap' ? entry.series[0].value[0] : entry.series[0].y[0];
    assert.ok(csv.includes(String(value)), `${entry.id}: ${value}`);
  }
  await page.locator('.filter', { hasText: 'disagrees' }).click();
  assert.equal(await page.locator('.verdict-card').count(), study.findings.filter((finding) => finding.agrees === 'no').length);
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

test('the frontier holds exactly the points that no other beats', async () => {
  const { study } = fixture('study');
  const page = await open(browser, pageWith(fixture('study'), 'frontier'));
  const frontier = page.locator('#at-frontier');
  await frontier.getByLabel('across').selectOption('step_time_s');
  await frontier.getByLabel('up', { exact: true }).selectOption('max_gpu_c');
  const ok = study.points.filter((point) => point.status === 'ok').map((point) => [point.summary.performance.step_time_s, point.summary.thermal.max_gpu_c]);
  const best = ok.filter(([x, y]) => !ok.some(([a, b]) => (a <= x && b < y) || (a < x && b <= y)));
  const shown = await frontier.locator('.table tbody tr').last().locator('..').locator('tr').evaluateAll((all) => all.map((row) => [...row.querySelectorAll('td.number')].map((cell) => Number(cell.dataset.value))));
  assert.deepEqual(shown.sort((a, b) => a[0] - b[0]), best.sort((a, b) => a[0] - b[0]));
});
