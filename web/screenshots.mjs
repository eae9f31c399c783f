// Makes the pictures of the report page in docs/pictures, of what the program says itself:
//   node screenshots.mjs ../build/release/ergometer
// A picture whose command fails is left as it is, and said.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { open, openBrowser, pageWith, root } from './test/page.mjs';

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

mkdirSync(folder, { recursive: true });
const browser = await openBrowser();
for (const picture of kPictures) {
  await take(browser, picture).catch((error) => {
    console.error(`${picture.name}: ${String(error.stderr || error.message).trim().split('\n')[0]}`);
    process.exitCode = 1;
  });
}
await browser.close();
