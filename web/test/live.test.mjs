// The live page of `ergometer serve` (src/serve/live.html), held to what its server would answer.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { liveState } from './live_state.mjs';
import { accessible, looks, openBrowser, root, timed } from './page.mjs';

// Where to leave pictures of the page, to be looked at.
const shots = process.env.ERGOMETER_SCREENSHOTS;

let browser, server, address, answer;
before(async () => {
  browser = await openBrowser();
  server = createServer((request, response) => {
    if (!request.url.startsWith('/state.json')) return void response.end(readFileSync(join(root, '..', 'src', 'serve', 'live.html')));
    response.statusCode = answer ? 200 : 500;
    response.end(JSON.stringify(answer));
  });
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  address = `http://127.0.0.1:${server.address().port}/`;
});
after(async () => { await browser.close(); server.closeAllConnections(); server.close(); });

async function openLive(state, { width = 1440, dark = false, height = 900 } = {}) {
  answer = state;
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: dark ? 'dark' : 'light', timezoneId: 'UTC', locale: 'en-GB' });
  const page = await context.newPage();
  page.setDefaultTimeout(8000);
  page.problems = [];
  page.on('console', (message) => { if (['error', 'warning'].includes(message.type())) page.problems.push(message.text()); });
  page.on('pageerror', (error) => page.problems.push(String(error)));
  await page.goto(address);
  await page.waitForSelector('#tiles b');
  return page;
}

for (const [width, dark] of looks) {
  test(`axe finds nothing and all fits: ${width} px, ${dark ? 'dark' : 'light'}`, async () => {
    for (const nodes of [2, 16, 1000]) {
      const page = await openLive(liveState({ nodes }), { width, dark });
      await page.locator('#nodes button').first().click();
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth) <= width, 'no wider than the window');
      await accessible(page);
      if (shots) await page.screenshot({ path: join(shots, `live-${nodes}-${width}-${dark ? 'dark' : 'light'}.png`), fullPage: true });
      assert.deepEqual(page.problems, []);
      await page.context().close();
    }
  });
}

test('says what goes on: nodes, alerts, the prediction, findings, history', async () => {
  const page = await openLive(liveState({ nodes: 16 }));
  const said = (id) => page.locator(`#${id}`).innerText();
  assert.match(await said('tiles'), /15\s+nodes live\s+1\s+silent\s+128\s+GPUs/);
  assert.match(await said('tiles'), /1.31 s\s+step 4711\s+812\s+tokens\/s a GPU/);
  assert.match(await said('alerts'), /step-over-interval firing \(critical\) since 11:55:00: the mean/);
  assert.match(await said('beside'), /First to leave its interval: step time/);
  assert.equal(await page.locator('#quantities tr').nth(1).innerText(), 'step time\t1.1 s\t1.02 s to 1.2 s\t1.31 s\tabove');
  assert.match(await page.locator('#quantities tr').nth(2).innerText(), /\t601 W ±2.2 %\t/);
  assert.match(await said('tiles'), /[\d.]+ kW ±1.7 %\s+GPU power \(±: 90 %\)/);
  const power = await page.locator('#nodes tr').evaluateAll((all) => Object.fromEntries(all.map((row) => [row.cells[0].textContent, row.cells[3].textContent])));
  assert.match(power.node3, /^\d+ W ±2.2 %$/);
  assert.match(power.node10, /^\d+ W$/, 'no error of what is not read');
  assert.match(await said('findings'), /1 node is silent since 11:59:20: node1/);
  assert.deepEqual(await page.locator('.over-time').allInnerTexts().then((all) => all.map((text) => text.split('\n')[0])), ['GPU power 79.7 kW', 'hottest GPU 79 °C', 'step time 1.31 s']);
  const nodes = await page.locator('#nodes button').allInnerTexts();
  assert.deepEqual(nodes.slice(0, 5), ['node1', 'node6', 'node0', 'node2', 'node3'], 'what is wrong first, then by name');
  await page.context().close();
});

test('a calm job has no alerts, no prediction and nothing to look at', async () => {
  const page = await openLive(liveState({ calm: true }));
  assert.equal(await page.locator('#findings').innerText(), 'Nothing to look at now.');
  for (const id of ['alerting', 'beside', 'problem', 'detail']) assert.equal(await page.locator(`#${id}`).isVisible(), false);
  await page.context().close();
});

test('a node opens by its cells and by its name, and the keyboard stays where it was', async () => {
  const page = await openLive(liveState({ nodes: 16 }));
  const map = await page.locator('#map').boundingBox();
  await page.mouse.move(map.x + 5, map.y + 5);
  assert.match(await page.locator('#hover').innerText(), /^node0, GPU 0: \d+ °C$/);
  await page.mouse.click(map.x + 5, map.y + 5);
  assert.equal(await page.locator('#detail-title').innerText(), 'GPUs of node0; power of each ±4.4 % (90 %)');
  assert.equal(await page.locator('#gpus tr').count(), 9);
  const button = page.locator('#nodes button', { hasText: /^node8$/ });
  await button.focus();
  await page.keyboard.press('Enter');
  assert.equal(await page.locator('#detail-title').innerText(), 'GPUs of node8; power of each ±4.4 % (90 %)');
  assert.match(await page.locator('#gpus').innerText(), /88 °C\s+1340 MHz\s+99 %\s+sw_power_cap, hw_thermal_slowdown/);
  await page.waitForResponse((one) => one.url().includes('state.json'));
  await page.waitForTimeout(100);
  assert.equal(await page.evaluate(() => document.activeElement.dataset.node), 'node8');
  await page.context().close();
});

test('names of whoever pushes stay text, and a server that is gone is told', async () => {
  const state = liveState({ nodes: 2, calm: true });
  state.job.nodes.name[0] = '<img src=x onerror=alert(1)>';
  state.job.findings = [{ kind: 'x', grade: 'bad', text: '<b>bold</b>', since_ms: 1, where: ['<i>'] }];
  const page = await openLive(state);
  assert.equal(await page.locator('main img, #findings b, #findings i').count(), 0);
  assert.match(await page.locator('#findings').innerText(), /<b>bold<\/b>/);
  answer = null;
  await page.waitForSelector('#problem:not([hidden])');
  assert.match(await page.locator('#problem').innerText(), /does not answer \(status 500\); what stands here is old/);
  answer = state;
  await page.waitForSelector('#problem', { state: 'hidden' });
  await page.context().close();
});

test('a thousand nodes are drawn within a frame or two', async (context) => {
  const page = await openLive(liveState({ nodes: 1000 }));
  const ms = await page.evaluate(() => { const from = performance.now(); show(); return performance.now() - from; });
  timed(context, 'all of the page', ms, 100);
  await page.context().close();
});
