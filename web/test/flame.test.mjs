// Where the joules go: widths are the document's numbers, a click and the keyboard open a part.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { accessible, fixture, looks, open, openBrowser, pageWith } from './page.mjs';

const report = fixture('job');
report.runs[0].energy_stacks = {
  stack: ['stage 0;forward;dense layer;fc1', 'stage 0;forward;dense layer;qkv', 'stage 0;backward;dense layer;fc1', 'stage 0;idle', 'stage 1;forward;dense layer;fc1'],
  joules: [300, 100, 400, 50, 150], seconds: [3, 1, 3.5, 1.5, 1],
};
let browser;
before(async () => { browser = await openBrowser(); });
after(() => browser.close());

const frames = (page) => page.locator('g.frame').evaluateAll((all) => Object.fromEntries(all.map((one) => [one.dataset.path, Number(one.querySelector('rect').getAttribute('width'))])));
const share = (widths, path) => widths[path] / widths[''];

test('frames are as wide as their joules, or seconds', async () => {
  const page = await open(browser, pageWith(report, 'flame'));
  let widths = await frames(page);
  for (const [path, joules] of [['stage 0', 850], ['stage 0;forward', 400], ['stage 0;forward;dense layer;fc1', 300], ['stage 1', 150]]) {
    assert.ok(Math.abs(share(widths, path) - joules / 1000) < 0.004, `${path}: ${share(widths, path)}`);
  }
  const figure = page.locator('figure.picture', { has: page.getByRole('heading', { name: 'Where the joules go', exact: true }) });
  await figure.locator('select').selectOption('seconds');
  widths = await frames(page);
  assert.ok(Math.abs(share(widths, 'stage 0;forward') - 0.4) < 0.004);
  assert.deepEqual(page.problems, []);
  await page.context().close();
});

test('a click opens a part, the keyboard closes it', async () => {
  const page = await open(browser, pageWith(report, 'flame'));
  await page.locator('g.frame[data-path="stage 0;forward"]').click();
  let widths = await frames(page);
  assert.equal(widths['stage 1'], undefined);
  assert.ok(Math.abs(share(widths, 'stage 0;forward;dense layer;fc1') - 0.75) < 0.004);
  // What was opened has the keyboard's focus: once more closes it.
  await page.keyboard.press('Enter');
  widths = await frames(page);
  assert.ok(widths['stage 0;backward'] > 0 && widths['stage 1'] === undefined, 'the stage is open');
  await page.locator('g.frame[data-path=""]').click();
  assert.ok((await frames(page))['stage 1'] > 0);
  await page.context().close();
});

for (const [width, dark] of looks) {
  test(`axe finds nothing at ${width} pixels${dark ? ' in the dark' : ''}`, async () => {
    const page = await open(browser, pageWith(report, 'flame'), { width, dark });
    await accessible(page);
    await page.context().close();
  });
}

test('of two jobs the difference has colour', async () => {
  const both = fixture('pair');
  both.runs[0].energy_stacks = { stack: ['stage 0;forward;fc1', 'stage 0;idle'], joules: [100, 100], seconds: [1, 1] };
  both.runs[1].energy_stacks = { stack: ['stage 0;forward;fc1', 'stage 0;idle'], joules: [150, 80], seconds: [1, 1] };
  const page = await open(browser, pageWith(both, 'flame-pair'));
  const fill = (path) => page.locator(`g.frame[data-path="${path}"] rect`).getAttribute('style');
  assert.match(await fill('stage 0;forward'), /--bad.*opacity:\s*0\.88/);
  assert.match(await fill('stage 0;idle'), /--good/);
  await page.context().close();
});
