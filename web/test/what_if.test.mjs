// Sliders over the played neighbours of a job: what they show is the document's, of the job that they stand at.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { accessible, drawAll, fixture, looks, open, openBrowser, pageWith } from './page.mjs';

const report = fixture('what_if');
const { what_if: whatIf } = report;
const address = pageWith(report, 'what-if');
const base = `run=${report.runs[0].name}`;
const jobAt = (positions) => whatIf.at.findIndex((at) => at.every((one, i) => one === positions[i]));
const own = whatIf.at[whatIf.job];
let browser;
let page;
before(async () => {
  browser = await openBrowser();
  page = await open(browser, address);
});
after(() => browser.close());

const sliders = (on = page) => on.locator('#at-what-if .slider input');
const positions = (on = page) => sliders(on).evaluateAll((all) => all.map((one) => Number(one.value)));
const stand = (wanted, on = page) => on.waitForFunction((text) => JSON.stringify([...document.querySelectorAll('#at-what-if .slider input')].map((one) => Number(one.value))) === text, JSON.stringify(wanted), { polling: 50 });
const reset = () => page.locator('#at-what-if').getByRole('button', { name: 'The job' }).click();

/** The tiles and what is said are those of a job of the document. */
async function holds(job, on = page) {
  const tiles = await on.locator('#at-what-if .tile').evaluateAll((all) => all.map((one) => [one.dataset.metric, Number(one.dataset.value)]));
  assert.ok(tiles.length >= 6, `${tiles.length} numbers`);
  for (const [name, value] of tiles) {
    const [path] = Object.keys(whatIf.numbers).filter((one) => one.endsWith(`.${name}`));
    assert.equal(value, whatIf.numbers[path][job], path);
  }
  assert.equal(await on.locator('#at-what-if .verdict.bad').count(), whatIf.fit[job] === 'does not fit' ? 1 : 0);
  assert.equal(await on.locator('#at-what-if .verdict.fair').count(), whatIf.fit[job] === 'at risk' ? 1 : 0);
  const comparison = whatIf.comparisons[job];
  const said = await on.locator('#at-what-if .verdict:not(.bad, .fair)').allTextContents();
  assert.equal(said.length, comparison ? 1 : 0);
  if (comparison) assert.ok(said[0].startsWith(comparison.verdict), said[0]);
}

test('at first the sliders stand at the job', async () => {
  assert.deepEqual(await positions(), own);
  await holds(whatIf.job);
  assert.match(await page.locator('#at-what-if .told').textContent(), /^The job as it is, \d+ replicas?: /);
});

test('memory is told in the three words of the terminal, with its odds, here and of the job itself', async () => {
  for (const [word, said] of [['at risk', /^Memory: at risk \(it fits with \d+\.\d % probability\): .* (short|to spare),/], ['does not fit', /^Memory: does not fit \(it fits with/]]) {
    const job = whatIf.fit.indexOf(word);
    assert.ok(job >= 0, `a job that ${word}`);
    const shown = await open(browser, `${address}#${base}&${whatIf.ladders.map((ladder, i) => `${ladder.word}=${ladder.values[whatIf.at[job][i]]}`).join('&')}`);
    assert.match(await shown.locator('#at-what-if .verdict').first().textContent(), said);
    await holds(job, shown);
    await shown.context().close();
  }
  const risky = structuredClone(report);
  risky.runs[0].fit = 'at risk';
  risky.runs[0].summary.memory = { ...risky.runs[0].summary.memory, fits: false, fit_probability: 0.48 };
  const shown = await open(browser, pageWith(risky, 'at-risk'));
  assert.match(await shown.locator('#at-overview').textContent(), /Memory at risk: the fullest GPU's memory is enough with 48\.0 % probability\./);
  assert.doesNotMatch(await shown.locator('#at-overview').textContent(), /Does not fit/);
  await shown.context().close();
});

test('a slider has a label and says its value, keys move it', async () => {
  for (const [i, ladder] of whatIf.ladders.entries()) {
    const input = sliders().nth(i);
    await input.focus();
    await page.keyboard.press('Home');
    assert.equal((await positions())[i], 0);
    await holds(jobAt(await positions()));
    assert.match(await input.getAttribute('aria-valuetext'), new RegExp(`^${ladder.values[0]}`));
    await page.keyboard.press('End');
    assert.equal((await positions())[i], ladder.values.length - 1);
    await holds(jobAt(await positions()));
    assert.ok((await input.evaluate((one) => one.labels[0].textContent)).length > 1);
    await reset();
  }
  assert.match(await sliders().first().getAttribute('aria-valuetext'), /, as the job has it$/);
});

test('every position is a job that was played: where there is none the others move, and it is said', async () => {
  const holes = whatIf.ladders[0].values.flatMap((_, x) => whatIf.ladders[1].values.map((__, y) => [x, y])).filter(([x, y]) => jobAt([x, y, own[2], own[3]]) < 0);
  assert.ok(holes.length > 0, 'the document has combinations that are no job');
  const [x, y] = holes[0];
  const set = (i, position) => sliders().nth(i).evaluate((one, value) => { one.value = value; one.dispatchEvent(new Event('input', { bubbles: true })); }, position);
  await set(0, x);
  await set(1, y);
  const now = await positions();
  assert.equal(now[1], y, 'what was moved stays');
  assert.notEqual(now[0], x);
  await holds(jobAt(now));
  assert.match(await page.locator('#at-what-if .told').textContent(), /There is no such job; the nearest has another tensor parallel\.$/);
  await reset();
});

test('goals lead to the best job that fits', async () => {
  for (const [name, path] of [['Fastest', 'performance.step_time_s'], ['Least energy', 'power.energy_j_per_step'], ['Coolest', 'thermal.max_gpu_c']]) {
    await page.locator('#at-what-if').getByRole('button', { name }).click();
    const job = jobAt(await positions());
    const best = Math.min(...whatIf.numbers[path].filter((_, i) => whatIf.fit[i] === 'fits'));
    assert.equal(whatIf.fit[job], 'fits');
    assert.equal(whatIf.numbers[path][job], best, name);
    await holds(job);
  }
  await reset();
});

test('causes are those of the comparison, and the quantity that is explained stays', async () => {
  await sliders().first().focus();
  await page.keyboard.press('End');
  await page.locator('#at-what-if').getByLabel('Explain').selectOption('max_gpu_c');
  await page.keyboard.press('Tab');
  await sliders().nth(3).focus();
  await page.keyboard.press('Home');
  const job = jobAt(await positions());
  assert.equal(await page.locator('#at-what-if').getByLabel('Explain').inputValue(), 'max_gpu_c');
  const rows = await page.locator('#at-what-if .table').first().locator('tbody tr').evaluateAll((all) => all.map((row) => [row.cells[0].textContent, Number(row.cells[1].dataset.value)]));
  const causes = whatIf.comparisons[job].causes;
  assert.deepEqual(Object.fromEntries(rows), Object.fromEntries(causes.map((cause) => [cause.title, cause.amount.max_gpu_c])));
  await reset();
});

test('the table holds all jobs; a row leads to its position, the address keeps it', async () => {
  const rows = page.locator('#at-what-if .neighbours tbody tr');
  assert.equal(await rows.count(), whatIf.at.length);
  assert.equal(await page.locator('#at-what-if .neighbours td.bad').count(), whatIf.fit.filter((fit) => fit === 'does not fit').length);
  await rows.first().locator('a').click();
  const fastest = whatIf.numbers['performance.step_time_s'].indexOf(Math.min(...whatIf.numbers['performance.step_time_s']));
  await stand(whatIf.at[fastest]);
  await reset();
  await sliders().first().focus();
  await page.keyboard.press('End');
  const [ladder] = whatIf.ladders;
  const value = ladder.values.at(-1);
  await page.waitForFunction((wanted) => location.hash.includes(wanted), `&${ladder.word}=${value}`, { polling: 50 });
  const hash = await page.evaluate(() => location.hash);
  const again = await open(browser, address + hash);
  assert.deepEqual(await positions(again), await positions());
  await again.context().close();
  const strange = await open(browser, `${address}#${base}&${ladder.word}=77&pp=x`);
  assert.deepEqual(await positions(strange), own, 'what is no position is the job');
  await strange.context().close();
  assert.deepEqual(page.problems, []);
});

for (const [width, dark] of looks) {
  test(`axe finds nothing and nothing sticks out: ${width} px, ${dark ? 'dark' : 'light'}`, async () => {
    const seen = await open(browser, `${address}#${base}&at=what-if&tp=1&pp=1`, { width, dark });
    await drawAll(seen);
    await holds(jobAt(await positions(seen)), seen);
    assert.equal(await seen.evaluate(() => document.documentElement.scrollWidth), width);
    const out = await seen.locator('#at-what-if').evaluate((section) => [...section.querySelectorAll('.slider *, .tile *, .told, .verdict')]
      .filter((one) => one.getBoundingClientRect().right > section.getBoundingClientRect().right + 1).map((one) => one.outerHTML.slice(0, 80)));
    assert.deepEqual(out, []);
    await accessible(seen);
    await seen.context().close();
  });
}

test('on paper the table of all jobs stands in place of the sliders', async () => {
  await page.emulateMedia({ media: 'print' });
  assert.equal(await page.locator('#at-what-if .controls').isVisible(), false);
  const scroll = await page.locator('#at-what-if .neighbours .table-scroll').evaluate((one) => [one.clientHeight, one.scrollHeight]);
  assert.ok(scroll[1] <= scroll[0] + 1, `${scroll[1]} px of table in ${scroll[0]}`);
  await page.emulateMedia({ media: null });
});
