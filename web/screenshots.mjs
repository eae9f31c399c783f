// Makes the pictures of the report page in docs/pictures, of what the program says itself:
//   node screenshots.mjs ../build/release/ergometer [PICTURE...]
// A picture whose command fails is left as it is, and said.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { animated } from './apng.mjs';
import { drawAll, open, openBrowser, pageWith, root } from './test/page.mjs';

const program = process.argv[2];
if (!program) {
  console.error('usage: node screenshots.mjs ERGOMETER');
  process.exit(2);
}
const folder = join(root, '..', 'docs', 'pictures');
const runs = mkdtempSync(join(tmpdir(), 'ergometer-runs-'));
const kMostBytes = 150_000;
const kLlama = ['llama3-70b', '--gpus', '64', '--pp', '4', '--gbs', '64'];
const kJobs = {
  'llama3-70b-h200': ['simulate', ...kLlama, '--cluster', 'hgx-h200', '--tp', '4'],
  'llama3-70b-h100': ['simulate', ...kLlama, '--cluster', 'hgx-h100', '--tp', '8'],
  'gpt3-175b-8192': ['simulate', 'gpt3-175b', '--cluster', 'hgx-h100', '--gpus', '8192', '--tp', '8', '--pp', '16', '--mbs', '1', '--gbs', '2048', '--sequence-parallel'],
  charllm: ['sweep', 'charllm'],
  'h100-qwen': ['import', join(root, '..', 'tests', 'data', 'kineto', 'h100_qwen.json.gz')],
};
const kWhatIf = { file: join(root, '..', 'examples', 'llama3-70b-h200.yaml'), list: 'tp,pp,mbs,cap' };
/** Of which jobs; at which address, from which element on; how wide and high the window is. */
const kPictures = [
  { name: 'report-job', jobs: ['llama3-70b-h200'], width: 1180, height: 760 },
  { name: 'report-timeline', jobs: ['gpt3-175b-8192'], from: '#at-timeline', width: 1180, height: 760 },
  { name: 'report-heat', jobs: ['gpt3-175b-8192'], from: '#at-machine', width: 1080, height: 860, dark: true },
  { name: 'report-compare', jobs: ['llama3-70b-h200', 'llama3-70b-h100'], from: '#at-causes', width: 1180, height: 620 },
  { name: 'report-recording', jobs: ['h100-qwen'], width: 1180, height: 760 },
  { name: 'report-what-if', hash: '#run=llama3-70b-h200&at=what-if&tp=8&pp=2&mbs=2&power_cap=600', width: 1180, height: 760 },
  { name: 'report-study', jobs: ['charllm'], from: '#at-figure-figure-22', width: 1180, height: 640 },
  { name: 'report-findings', jobs: ['charllm'], from: '#at-findings', width: 1000, height: 560, dark: true },
  { name: 'report-phone', jobs: ['llama3-70b-h200'], width: 390, height: 800, dark: true },
];

const made = new Set();
/** A step that is played: so many moments, each shown so long. */
const kPlayback = { name: 'report-playback', job: 'llama3-70b-h200', width: 880, moments: 32, delay_ms: 220, most: 1_000_000 };

/** The document of the report of these jobs; of none, of a job between its neighbours. */
function report(jobs) {
  const say = (args) => execFileSync(program, args, { stdio: ['ignore', 'pipe', 'pipe'], maxBuffer: 2 ** 30, encoding: 'utf8' });
  if (!jobs) return JSON.parse(say(['report', kWhatIf.file, '--what-if', kWhatIf.list, '--json', '--quiet']));
  const files = jobs.map((job) => join(runs, `${job}.run`));
  jobs.forEach((job, i) => {
    if (!made.has(job)) say([...kJobs[job], '--quiet', kJobs[job][0] === 'simulate' ? '--run' : '--out', files[i]]);
    made.add(job);
  });
  return JSON.parse(say(['report', ...files, '--json', '--quiet']));
}

async function take(browser, { name, jobs, hash = '', from, width, height, dark }) {
  const page = await open(browser, pageWith(report(jobs), name) + hash, { width, height, dark });
  if (from) await page.locator(from).evaluate((element) => element.scrollIntoView({ behavior: 'instant' }));
  await page.waitForTimeout(300);
  const path = join(folder, `${name}.png`);
  await page.screenshot({ path });
  await page.context().close();
  const { size } = statSync(path);
  console.log(`${name}.png: ${(size / 1000).toFixed(0)} kB`);
  if (size > kMostBytes) throw new Error(`over ${kMostBytes / 1000} kB`);
}

/** The timeline, the cluster's power and the player alone, at one moment after the other. */
async function takePlayback(browser) {
  const { name, job, width, moments, delay_ms, most } = kPlayback;
  const page = await open(browser, pageWith(report([job]), name), { width, height: 1400 });
  await drawAll(page);
  await page.getByRole('button', { name: 'Kernels' }).evaluate((button) => button.click());
  await page.getByLabel('Colour by').evaluate((box) => { box.value = [...box.options].find((one) => one.text === 'power now').value; box.dispatchEvent(new Event('change', { bubbles: true })); });
  await page.addStyleTag({ content: `.bar, nav.sections, footer, #at-machine h2, #at-timeline h2, .note, .tools, details { display: none !important; } main > section { margin: 0; }
    main > section:not(#at-timeline):not(#at-machine) { display: none; } .layout { padding: 10px; }` });
  await page.locator('#at-machine figure').evaluateAll((all) => all.forEach((figure) => { figure.hidden = figure.querySelector('h3').textContent !== 'Cluster'; }));
  const slider = page.locator('.player input');
  const files = [];
  for (let i = 0; i < moments; ++i) {
    await slider.evaluate((one, share) => { one.value = String(share * Number(one.max)); one.dispatchEvent(new Event('input', { bubbles: true })); }, (i + 0.5) / moments);
    await page.waitForTimeout(60);
    files.push(await page.locator('#content').screenshot());
  }
  await page.context().close();
  const picture = animated(files, delay_ms);
  if (picture.length > most) throw new Error(`${picture.length} bytes are over ${most}`);
  writeFileSync(join(folder, `${name}.png`), picture);
  console.log(`${name}.png: ${(picture.length / 1000).toFixed(0)} kB`);
}

mkdirSync(folder, { recursive: true });
const browser = await openBrowser();
const chosen = process.argv.slice(3);
const works = [...kPictures.map((picture) => [picture.name, () => take(browser, picture)]), [kPlayback.name, () => takePlayback(browser)]];
for (const [name, work] of works) {
  if (chosen.length > 0 && !chosen.includes(name)) continue;
  await work().catch((error) => {
    console.error(`${name}: ${String(error.stderr || error.message).trim().split('\n')[0]}`);
    process.exitCode = 1;
  });
}
await browser.close();
