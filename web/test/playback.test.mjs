// One moment for timeline, series and machine: played, set, kept in the address and restored from it; a timeline without holes.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { accessible, fixture, looks, open, openBrowser, pageWith, timed } from './page.mjs';
import { largeReport } from './large.mjs';

const report = fixture('job');
const run = report.runs[0];
const base = `#run=${encodeURIComponent(run.name)}`;
let browser;
let address;
before(async () => {
  browser = await openBrowser();
  address = pageWith(report, 'playback');
});
after(() => browser.close());

const figure = (page, title) => page.locator('figure.picture', { has: page.getByRole('heading', { name: title, exact: true }) });
const kept = (page) => page.evaluate(() => Object.fromEntries(new URLSearchParams(location.hash.slice(1))));
const settled = (page) => page.waitForTimeout(600);
/** Where a picture's line of the moment is, as a share of the page; undefined: nowhere. */
const lineOf = (picture) => picture.locator('.moment').evaluate((line) => (line.hidden ? undefined : line.getBoundingClientRect().left));
const show = async (page, section) => {
  await page.locator(section).evaluate((element) => element.scrollIntoView({ behavior: 'instant' }));
  await page.waitForTimeout(200);
};

test('what is drawn of a rank, with named waits, is the step', () => {
  for (const { rank, tasks } of run.timeline.ranks) {
    let now = 0;
    // The document of the tests has seven digits of every number.
    const close = 1;
    tasks.start_us.forEach((start, i) => {
      if (tasks.beside[i]) return;
      assert.ok(Math.abs(start - now) < close, `rank ${rank}: nothing between ${now} and ${start} µs`);
      now = start + tasks.duration_us[i];
      if (tasks.kind[i] === 'wait') assert.ok(run.timeline.names[tasks.what[i]], `rank ${rank}: a wait at ${start} µs for nobody`);
    });
    assert.ok(Math.abs(now - run.timeline.step_s * 1e6) < close, `rank ${rank} ends at ${now} µs`);
    for (const kind of ['gradient_reduction', 'parameter_gather', 'gradient_norm', 'optimizer']) assert.ok(tasks.kind.includes(kind), `rank ${rank} has no ${kind}`);
  }
});

test('the picture names what fills the end of the step, and whom a wait is for', async () => {
  const page = await open(browser, address);
  const timeline = figure(page, 'Timeline of a step');
  await show(page, '#at-timeline');
  const canvas = timeline.locator('canvas');
  const box = await canvas.boundingBox();
  const { tasks, rank } = run.timeline.ranks[0];
  const at = (i) => box.x + 108 + ((tasks.start_us[i] + tasks.duration_us[i] / 2) / 1e6 / run.timeline.step_s) * (box.width - 108);
  const longest = (kind) => tasks.kind.reduce((best, one, i) => (one === kind && !tasks.beside[i] && (best < 0 || tasks.duration_us[i] > tasks.duration_us[best]) ? i : best), -1);
  const told = async (i) => {
    await page.mouse.move(at(i), box.y + 30);
    return page.locator('.tip').textContent();
  };
  assert.match(await told(longest('gradient_reduction')), new RegExp(`gradient reduction.*rank ${rank}, stage 0.*grad reduce scatter`));
  assert.match(await told(longest('parameter_gather')), /parameter gather.*param all gather/);
  assert.match(await told(longest('wait')), /waits for stage 1/);
  const legend = await timeline.locator('.legend').textContent();
  for (const word of ['gradient reduction', 'parameter gather', 'gradient norm', 'wait']) assert.ok(legend.includes(word), `${word} in "${legend}"`);
  await page.context().close();
});

test('kernels are there at the start, in the steady state and at the end', () => {
  for (const { kernels } of run.timeline.ranks) {
    const { windows_us: windows } = kernels;
    assert.equal(windows.length, 3);
    assert.equal(windows[0][0], 0);
    assert.ok(Math.abs(windows[2][1] - run.timeline.step_s * 1e6) < 1);
    for (const [from, to] of windows) assert.ok(kernels.start_us.some((start, i) => start < to && start + kernels.duration_us[i] > from), `none in ${from} to ${to}`);
  }
});

test('play moves one moment through timeline, series and machine, and pause holds it', async () => {
  const page = await open(browser, address);
  await show(page, '#at-power');
  const power = figure(page, run.series.metrics[0].title);
  assert.equal(await lineOf(power), undefined, 'no moment before one is set');
  await page.getByRole('button', { name: 'Play' }).click();
  await page.waitForTimeout(900);
  await page.getByRole('button', { name: 'Pause' }).click();
  const [x, told] = [await lineOf(power), await page.locator('.player output').textContent()];
  await settled(page);
  assert.equal(await lineOf(power), x, 'it stands still');
  const time = Number((await kept(page)).t);
  assert.ok(time > 0.1 && time < run.timeline.step_s && Math.abs(time - Number(/^[\d.]+/.exec(told)[0])) < 1e-3, `${time} s, ${told}`);
  for (const picture of [figure(page, 'Timeline of a step'), figure(page, 'Cluster at its plugs')]) assert.notEqual(await lineOf(picture), undefined);
  assert.equal(await page.getByLabel('Colour by').inputValue(), 'gpu_c', 'the machine shows the moment');
  const index = run.series.time_s.reduce((best, one, i) => (one <= time + 1e-9 ? i : best), 0);
  const node = Number((await figure(page, 'Chassis from above').locator('.node-name').textContent()).slice(5));
  const label = await figure(page, 'Chassis from above').locator('.drawing').getAttribute('aria-label');
  const temperature = run.series.metrics.find((metric) => metric.name === 'gpu_c');
  for (const gpu of temperature.gpus.filter((one) => one.node === node)) assert.ok(label.includes(`rank ${gpu.rank}: ${gpu.values[index].toFixed(1)} °C`), `${gpu.label} at ${time} s: ${label}`);
  assert.deepEqual(page.problems, []);
  await page.context().close();
});

test('slider, keys and clicks set the moment', async () => {
  const page = await open(browser, address);
  await show(page, '#at-timeline');
  await page.getByLabel('Moment of the step').fill('500');
  await settled(page);
  assert.ok(Math.abs(Number((await kept(page)).t) - run.timeline.step_s / 2) < 0.05);
  const canvas = figure(page, 'Timeline of a step').locator('canvas');
  const box = await canvas.boundingBox();
  await canvas.click({ position: { x: 108 + (box.width - 108) * 0.25, y: 40 } });
  await settled(page);
  const before = Number((await kept(page)).t);
  assert.ok(Math.abs(before - run.timeline.step_s / 4) < 0.02 * run.timeline.step_s);
  await page.keyboard.press('.');
  await settled(page);
  assert.ok(Number((await kept(page)).t) > before, 'a point moves it on');
  await page.keyboard.press(' ');
  assert.equal(await page.getByRole('button', { name: 'Pause' }).count(), 1, 'space plays');
  await page.keyboard.press(' ');
  await page.locator('.player input').focus();
  await page.keyboard.press(' ');
  assert.equal(await page.getByRole('button', { name: 'Pause' }).count(), 1, 'on the slider too');
  await page.context().close();
});

test('a link shows what was seen: moment, zoom of timeline and series, the machine', async () => {
  const page = await open(browser, address);
  await show(page, '#at-timeline');
  const canvas = figure(page, 'Timeline of a step').locator('canvas');
  await canvas.focus();
  for (const key of ['+', '+', 'ArrowRight', '.']) await page.keyboard.press(key);
  const power = figure(page, run.series.metrics[0].title);
  await show(page, '#at-power');
  const plot = await power.locator('.u-over').boundingBox();
  await page.mouse.move(plot.x + plot.width * 0.3, plot.y + 50);
  await page.mouse.down();
  await page.mouse.move(plot.x + plot.width * 0.6, plot.y + 60, { steps: 4 });
  await page.mouse.up();
  await page.getByLabel('Colour by').selectOption('power_w');
  await page.getByLabel('Scale').selectOption('absolute');
  await page.getByLabel('Group by').selectOption('stage');
  await settled(page);
  const seen = await kept(page);
  for (const name of ['t', 'from', 'to', 'pfrom', 'pto', 'by', 'scale', 'group']) assert.ok(seen[name] !== undefined, `${name} in ${JSON.stringify(seen)}`);
  assert.equal(await page.evaluate(() => history.length), 2, 'no history of every move');
  const link = page.url();
  const range = await figure(page, 'Timeline of a step').locator('.count').first().textContent();
  const other = await open(browser, link);
  assert.equal(await figure(other, 'Timeline of a step').locator('.count').first().textContent(), range);
  await show(other, '#at-timeline');
  assert.equal(await lineOf(figure(other, 'Timeline of a step')), await lineOf(figure(page, 'Timeline of a step')).then(async () => { await show(page, '#at-timeline'); return lineOf(figure(page, 'Timeline of a step')); }));
  assert.deepEqual([await other.getByLabel('Colour by').inputValue(), await other.getByLabel('Scale').inputValue(), await other.getByLabel('Group by').inputValue()], ['power_w', 'absolute', 'stage']);
  await settled(other);
  assert.deepEqual(await kept(other), seen, 'and the address stays as it is');
  assert.deepEqual(other.problems, []);
  await page.context().close();
  await other.context().close();
});

test('sections and back keep what is seen; nonsense in an address is nothing', async () => {
  const page = await open(browser, `${address}${base}&at=timeline&t=1.5&from=1&to=2`);
  const range = () => figure(page, 'Timeline of a step').locator('.count').first().textContent();
  assert.equal(await range(), '1.000 s to 2.000 s');
  await page.locator('nav.sections a[data-at="power"]').click();
  await settled(page);
  assert.deepEqual([(await kept(page)).t, (await kept(page)).from, (await kept(page)).at], ['1.5', '1', 'power']);
  assert.equal(await range(), '1.000 s to 2.000 s');
  await page.evaluate(() => { location.hash = location.hash.replace('t=1.5', 't=2.5').replace('to=2', 'to=3'); });
  await settled(page);
  assert.equal(await range(), '1.000 s to 3.000 s', 'a changed address is followed');
  const odd = await open(browser, `${address}${base}&t=NaN&from=9&to=-1&by=mood&node=77&group=%E0%A4%A&scale=x`);
  assert.equal(await figure(odd, 'Timeline of a step').locator('.count').first().textContent(), `0.000 s to ${run.timeline.step_s.toFixed(3)} s`);
  assert.deepEqual(odd.problems, []);
  await page.context().close();
  await odd.context().close();
});

for (const [width, dark] of looks) {
  test(`playback at ${width} px, ${dark ? 'dark' : 'light'}: fits, and axe finds nothing`, async () => {
    const page = await open(browser, `${address}${base}&at=machine&t=1.2&by=gpu_c&group=stage`, { width, dark });
    await page.locator('.player').waitFor({ state: 'visible' });
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth) <= width);
    // While the page still grows, the section may leave the window once more.
    const shown = await page.waitForFunction(() => { const { x, width } = document.querySelector('.player').getBoundingClientRect(); return width > 0 && { x, width }; });
    const player = await shown.jsonValue();
    assert.ok(player.x >= 0 && player.x + player.width <= width, 'the player is in sight');
    await accessible(page);
    assert.deepEqual(page.problems, []);
    await page.context().close();
  });
}

test('who wants no motion sees jumps, not frames', async () => {
  const page = await open(browser, address);
  await page.emulateMedia({ reducedMotion: 'reduce' });
  await show(page, '#at-power');
  await page.evaluate(() => {
    window.seen = new Set();
    new MutationObserver(() => window.seen.add(document.querySelector('.player output').textContent)).observe(document.querySelector('.player output'), { childList: true, characterData: true, subtree: true });
  });
  await page.getByRole('button', { name: 'Play' }).click();
  await page.waitForTimeout(1500);
  const jumps = await page.evaluate(() => window.seen.size);
  assert.ok(jumps >= 2 && jumps <= 8, `${jumps} moments in 1.5 s`);
  await page.context().close();
});

test('limits, rows and the hottest GPU are named; noise does not fill a panel', async () => {
  const flat = structuredClone(report);
  for (const metric of flat.runs[0].series.metrics) if (metric.name === 'power_w') metric.gpus.forEach((gpu, i) => { gpu.values = gpu.values.map((_, k) => 640 + ((i + k) % 3) - 1); });
  const page = await open(browser, pageWith(flat, 'flat'));
  const power = figure(page, 'Power');
  const svg = await page.evaluate(() => 0).then(async () => {
    const [download] = await Promise.all([page.waitForEvent('download'), power.locator('.save-svg').click()]);
    return readFileSync(await download.path(), 'utf8');
  });
  const ticks = [...svg.matchAll(/>([\d,.]+) W</g)].map((match) => Number(match[1].replaceAll(',', '')));
  assert.ok(Math.max(...ticks) - Math.min(...ticks) >= 40, `${ticks} for 2 W of noise`);
  const { limits } = run.series;
  assert.match(await power.locator('.drawing').getAttribute('aria-label'), new RegExp(`Limits: TDP ${limits.tdp_w} W`));
  assert.match(await figure(page, 'GPU temperature').locator('.drawing').getAttribute('aria-label'), new RegExp(`slowdown ${limits.slowdown_c} °C`));
  assert.match(await power.locator('.note').textContent(), /mean over 25 ms/);
  const hottest = run.ranks.rank[run.ranks.max_gpu_c.indexOf(Math.max(...run.ranks.max_gpu_c))];
  assert.deepEqual(await figure(page, 'GPU temperature').locator('.legend li').allTextContents(), ['row 0', 'row 1', `hottest: rank ${hottest}`]);
  await page.getByRole('button', { name: 'Every GPU' }).click();
  assert.equal(await figure(page, 'GPU temperature').locator('.legend').count(), 0);
  await page.context().close();
});

test('the cool half of the colours reads on a dark page', async () => {
  const page = await open(browser, `${address}${base}&by=max_gpu_c`, { dark: true });
  await show(page, '#at-machine');
  const contrasts = await figure(page, 'All GPUs').locator('svg g rect:nth-child(3)').evaluateAll((all) => {
    const luminance = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
    const paper = luminance('#1a1e25');
    return all.map((rect) => (luminance(rect.getAttribute('fill')) + 0.05) / (paper + 0.05));
  });
  assert.ok(contrasts.length >= 12);
  assert.ok(Math.min(...contrasts) >= 3, `contrast ${Math.min(...contrasts)}`);
  contrasts.forEach((one, i) => assert.ok(i === 0 || one > contrasts[i - 1] - 0.05, 'warmer is lighter'));
  await page.context().close();
});

test('8,192 GPUs: can be zoomed and played', async (context) => {
  const page = await open(browser, pageWith(largeReport(), 'large-playback'));
  await show(page, '#at-timeline');
  await figure(page, 'Timeline of a step').getByRole('button', { name: 'Kernels' }).click();
  const zoom = await page.evaluate(async () => {
    const canvas = document.querySelector('#at-timeline canvas');
    canvas.focus();
    const box = canvas.getBoundingClientRect();
    const took = [];
    for (let i = 0; i < 40; ++i) {
      await new Promise(requestAnimationFrame);
      const start = performance.now();
      canvas.dispatchEvent(new WheelEvent('wheel', { deltaY: i < 20 ? -60 : 60, clientX: box.left + 600, clientY: box.top + 40, cancelable: true }));
      took.push(performance.now() - start);
    }
    return took.sort((a, b) => a - b);
  });
  await show(page, '#at-machine');
  await page.getByRole('button', { name: 'Play' }).click();
  const play = await page.evaluate(async () => {
    const took = [];
    let last = await new Promise(requestAnimationFrame);
    for (let i = 0; i < 60; ++i) {
      const now = await new Promise(requestAnimationFrame);
      took.push(now - last);
      last = now;
    }
    return took.sort((a, b) => a - b);
  });
  const at = (sorted, share) => sorted[Math.floor(share * (sorted.length - 1))];
  timed(context, "a zoom's frames, median", at(zoom, 0.5), 33);
  timed(context, "playback's frames, median", at(play, 0.5), 33);
  assert.deepEqual(page.problems, []);
  await page.context().close();
});
