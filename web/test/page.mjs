// What every test of the page needs: documents, pages holding them, Debian's Chromium.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { deflateSync } from 'node:zlib';
import { chromium } from 'playwright-core';

export const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const folder = mkdtempSync(join(tmpdir(), 'ergometer-page-'));

export const fixture = (name) => JSON.parse(readFileSync(join(root, 'test', 'fixtures', `${name}.json`), 'utf8'));

/** Every width that people have and both colours, once: what is dark at one width is not lighter at another. */
export const looks = [[1440, false], [1024, true], [400, false]];

/** The built page with a document in it, as the program makes it; returns its address. */
export function pageWith(report, name) {
  const data = deflateSync(Buffer.from(JSON.stringify(report))).toString('base64');
  const file = join(folder, `${name}.html`);
  writeFileSync(file, readFileSync(join(root, 'dist', 'report.html'), 'utf8').replace('<!--ERGOMETER-DATA-->', data));
  return pathToFileURL(file).href;
}

export async function openBrowser() {
  const program = process.env.CHROMIUM ?? ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
  return chromium.launch({ executablePath: program, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
}

/** Opens an address without a network and waits for the first picture; `page.problems` fills with what goes wrong. */
export async function open(browser, address, { width = 1440, height = 900, dark = false } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: dark ? 'dark' : 'light', offline: true, acceptDownloads: true });
  const page = await context.newPage();
  page.setDefaultTimeout(30000);
  page.problems = [];
  page.on('console', (message) => { if (['error', 'warning'].includes(message.type())) page.problems.push(message.text()); });
  page.on('pageerror', (error) => page.problems.push(String(error)));
  page.on('request', (request) => { if (!/^(file|data|blob):/.test(request.url())) page.problems.push(`asks the network for ${request.url()}`); });
  await page.goto(address);
  await page.waitForSelector('main h1');
  await page.waitForFunction(() => performance.getEntriesByName('first-picture').length > 0, undefined, { polling: 50 });
  return page;
}

/** Scrolls until every picture that waits for it is drawn. */
export async function drawAll(page) {
  const waiting = page.locator('.drawing.later');
  for (let count = await waiting.count(); count > 0; count = await waiting.count()) {
    // It may have been drawn since it was counted.
    await page.evaluate(() => document.querySelector('.drawing.later')?.scrollIntoView());
    await page.waitForFunction((before) => document.querySelectorAll('.drawing.later').length < before, count, { polling: 50 });
  }
}

/** Says how long something took; holds it to its limit where the machine has nothing else to do: ERGOMETER_IDLE=1. */
export function timed(context, what, ms, limit) {
  context.diagnostic(`${what} ${ms.toFixed(1)} ms of ${limit}`);
  if (process.env.ERGOMETER_IDLE) assert.ok(ms < limit, `${what}: ${ms} ms`);
}

const axe = readFileSync(join(root, 'node_modules', 'axe-core', 'axe.min.js'), 'utf8');

/** axe finds nothing on the page as it stands. */
export async function accessible(page) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
  assert.deepEqual(found.violations.map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => `${node.html.slice(0, 160)} ${node.any[0]?.message ?? ''}`).join(' | ')}`), []);
}
