// Makes the pictures of the report page in docs/pictures: node screenshots.mjs
import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fixture, open, openBrowser, pageWith, root } from './test/page.mjs';
import { largeReport } from './test/large.mjs';

const folder = join(root, '..', 'docs', 'pictures');
const kMostBytes = 150_000;
/** From which element on; how wide and high the window is. */
const kPictures = [
  { name: 'report-job', report: () => fixture('job'), width: 1180, height: 760 },
  { name: 'report-timeline', report: () => fixture('job'), from: '#at-timeline', width: 1180, height: 560 },
  { name: 'report-heat', report: largeReport, from: '#at-machine', width: 1080, height: 860, dark: true },
  { name: 'report-compare', report: () => fixture('pair'), from: '#at-causes', width: 1180, height: 620 },
  { name: 'report-study', report: () => fixture('study'), from: '#at-figures', width: 1180, height: 900 },
  { name: 'report-phone', report: () => fixture('job'), width: 390, height: 800, dark: true },
];

mkdirSync(folder, { recursive: true });
const browser = await openBrowser();
for (const { name, report, from, width, height, dark } of kPictures) {
  const page = await open(browser, pageWith(report(), name), { width, height, dark });
  if (from) await page.locator(from).evaluate((element) => element.scrollIntoView({ behavior: 'instant' }));
  await page.waitForTimeout(300);
  const path = join(folder, `${name}.png`);
  await page.screenshot({ path });
  const { size } = statSync(path);
  console.log(`${name}.png: ${(size / 1000).toFixed(0)} kB`);
  if (size > kMostBytes) process.exitCode = 1;
  await page.context().close();
}
await browser.close();
