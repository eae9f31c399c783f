// Light and dark, paper, phones, keyboard, accessibility, and a cluster of 8,192 GPUs.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { accessible, drawAll, fixture, looks, open, openBrowser, pageWith, root, timed } from './page.mjs';
import { largeReport } from './large.mjs';

const views = { job: ['job', ''], pair: ['pair', ''], study: ['study', ''], point: ['study', '#point=h200%2Fh200-tp4-pp4-mbs1'],
  campaign: ['campaign', ''], 'size of a campaign': ['campaign', '#point=64%20GPUs'] };
let browser;
before(async () => { browser = await openBrowser(); });
after(() => browser.close());

for (const [name, [document, hash]] of Object.entries(views)) {
  for (const [width, dark] of looks) {
    test(`axe finds nothing: ${name}, ${width} px, ${dark ? 'dark' : 'light'}`, async () => {
      const page = await open(browser, pageWith(fixture(document), name) + hash, { width, dark });
      await drawAll(page);
      for (const button of (await page.locator('.show-table').all()).slice(0, 3)) await button.click();
      await page.evaluate(() => document.querySelectorAll('details').forEach((one) => { one.open = true; }));
      await accessible(page);
      await page.context().close();
    });
  }
  test(`fits a phone and a tablet: ${name}`, async () => {
    for (const width of [390, 820]) {
      const page = await open(browser, pageWith(fixture(document), name) + hash, { width, height: 800 });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= width, `${wide} px wide at ${width}`);
      await drawAll(page);
      const drawn = await page.locator('.drawing').evaluateAll((all) => all.every((host) => host.querySelector('svg, canvas')));
      assert.ok(drawn, 'every picture is there');
      await page.context().close();
    }
  });
}

test('dark follows the system, the button overrides it, paper is light', async () => {
  const page = await open(browser, pageWith(fixture('job'), 'dark'), { dark: true });
  const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
  const paper = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  assert.equal(await theme(), 'dark');
  const pdf = await page.pdf({ format: 'A4' });
  assert.ok(pdf.length > 50_000);
  const pages = (pdf.toString('latin1').match(/\/Type \/Page\b/g) ?? []).length;
  assert.ok(pages > 2 && pages < 20, `${pages} pages of paper`);
  assert.equal(await theme(), 'dark', 'dark again after printing');
  await page.getByRole('button', { name: 'Light/dark: switch colours' }).click();
  assert.equal(await theme(), 'light');
  assert.equal(await paper(), 'rgb(246, 247, 249)');
  await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
  assert.equal(await theme(), 'light');
  const widths = await page.locator('.drawing svg').evaluateAll((all) => all.map((svg) => svg.width.baseVal.value));
  assert.ok(Math.max(...widths) <= 690, 'pictures are drawn for the width of paper');
  assert.deepEqual(page.problems, []);
});

test('everything can be reached by keyboard', async () => {
  const page = await open(browser, pageWith(fixture('job'), 'keys'));
  const seen = new Set();
  for (let i = 0; i < 110; ++i) {
    await page.keyboard.press('Tab');
    seen.add(await page.evaluate(() => `${document.activeElement.tagName} ${document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent.slice(0, 30)}`));
  }
  for (const wanted of [/^A Skip to content/, /^A Findings/, /^BUTTON Zoom in/, /^CANVAS Timeline/, /^DIV .*arrow keys move the cursor/, /^CANVAS Cluster/, /^INPUT Filter/]) {
    assert.ok([...seen].some((one) => wanted.test(one)), `${wanted} among ${[...seen].join('; ')}`);
  }
});

test('8,192 GPUs are a page', async (context) => {
  const report = largeReport();
  const page = await open(browser, pageWith(report, 'large'));
  const first = await page.evaluate(() => performance.getEntriesByName('first-picture')[0]?.startTime);
  timed(context, 'first picture after', first, 2000);
  assert.equal(await page.locator('#at-machine h2').textContent(), 'GPUs in place, 8,192 of them');
  await page.getByLabel('Colour by').selectOption('mean_clock_mhz');
  const cluster = page.locator('figure.picture', { has: page.getByRole('heading', { name: 'Cluster', exact: true }) });
  await cluster.locator('canvas').click({ position: { x: 40, y: 10 } });
  const chassis = page.locator('figure.picture', { has: page.getByRole('heading', { name: 'Chassis from above', exact: true }) });
  assert.match(await chassis.locator('.node-name').textContent(), /^node [12]$/);
  const [download] = await Promise.all([page.waitForEvent('download'), cluster.locator('.save-svg').click()]);
  assert.ok(readFileSync(await download.path(), 'utf8').match(/<rect/g).length > 8192);
  assert.deepEqual(page.problems, []);
});

test('a page without a document, or of another version, says so', async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`file://${join(root, 'dist', 'report.html')}`);
  assert.match(await page.locator('[role=alert]').textContent(), /holds no report/);
  await page.goto(pageWith({ ...fixture('job'), schema_version: 7 }, 'future'));
  assert.match(await page.locator('[role=alert]').textContent(), /version 7/);
});
