// The page of a recording or a trace: at least what `analyze` prints.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { readFileSync } from 'node:fs';
import { accessible, drawAll, fixture, looks, open, openBrowser, pageWith } from './page.mjs';

let browser;
before(async () => { browser = await openBrowser(); });
after(() => browser.close());

const rank = (number, gpu) => ({ rank: number, file: `traces/rank${number}.json`, gpu, gpu_events: 10, span_ns: 2e9, compute_ns: 1e9, communication_ns: 6e8, exposed_communication_ns: 4e8, memory_ns: 2e8, exposed_memory_ns: 1e8, idle_ns: 5e8,
  idle_cause_ns: { late_launch: 2e8, queued: 3e8, unknown: 0 }, steps: { count: 4, first: 1, last: 4, mean_s: 0.5 + 0.25 * number }, truncated: number === 1 });

/** A job of two ranks with a straggler, readings of a GPU, a node and a CPU, and a training log. */
function recording() {
  const report = fixture('job');
  const [run] = report.runs;
  const facts = { command: 'torchrun train.py --config a.yaml', host: 'node17', driver: '550.54', ended_ns: '1795693960442834245', 'missing.nvml': 'this machine lacks libnvidia-ml.so.1' };
  run.summary = { source: 'recorded', facts };
  run.series.epoch_ns = 1e18;
  const device = { host: 'node17', start_ns: 1e18, end_ns: 1e18 + 9e9 };
  run.recorded = {
    trace: { ranks: [rank(0, 'NVIDIA H100 80GB HBM3'), rank(1, 'NVIDIA H200')], dropped: [{ file: 'traces/rank0.json', reason: 'not a GPU event', count: 7 }],
      kernels: [{ name: 'void ampere_gemm(int)', class: 'gemm', kind: 'compute', count: 8, total_ns: 9e8, shortest_ns: 1e6, longest_ns: 2e8 }],
      classes: [{ class: 'gemm', count: 8, total_ns: 9e8 }, { class: 'copy', count: 2, total_ns: 1e8 }],
      phases: { total_ns: 1e9, assigned_fraction: 0.9, without_autograd: false, rows: [{ phase: 'forward', count: 5, total_ns: 4e8, busy_ns: 4e8 }, { phase: 'backward', count: 5, total_ns: 6e8, busy_ns: 6e8 }] },
      operators: { operator_fraction: 0.8, flops_fraction_of_time: 0.7, peak: { gpu: 'H100' }, rows: [{ operator: 'aten::mm', shapes: '[[8, 16], [16, 4]]', dtypes: '["c10::BFloat16", "c10::BFloat16"]', calls: 8, total_ns: 9e8, tflops_low: 600, tflops_high: 620, gb_per_s: 900, flops_fraction: 0.62, bytes_fraction: 0.27 }] },
      taxes: { span_ns: 4e9, bulk_synchrony: { collective_waiting_ns: 4e8, host_sync_ns: 0 }, memory_round_trips: { upper_bound_ns: 8e8, pairs: 3, bytes: 2e9 }, launch: { idle_ns: 4e7, launching_ns: 8e6, loading_ns: 2e7, elsewhere_ns: 4e6, latency_ns: 8e6, short_kernels: 5 } },
      energy: [{ rank: 0, windows: 90, measured_j: 5000, mean_w: 512, measured_error_pct: 5.1, steps: 4, step_j: 250, step_error_pct: 5.3, gain_error_pct: 4.4, classes: [{ name: 'gemm', seconds: 8, watts: 600, joules: 4800, joules_error_pct: 4.9 }], phases: [{ name: 'backward', seconds: 5, watts: 610, joules: 3050, joules_error_pct: 6.2 }] },
        { rank: 1, windows: 0, measured_j: 0, mean_w: 0, refused: 'no GPU of the telemetry has this rank or device' }],
      arrivals: { matched: 9, unmatched: 0, skew_ns: 3e8, transfer_ns: 1e8, ranks: [{ rank: 0, last: 1, lateness_ns: 1e7, waiting_ns: 3e8 }, { rank: 1, last: 8, lateness_ns: 3e8, waiting_ns: 1e7 }] } },
    left_out: { kernels: 3, operators: 0, collectives: 0, ranks: 0 },
    critical_path: { span_ns: 2e9, kinds: [{ kind: 'gemm', on_path_ns: 15e8, saved_if_free_ns: 5e8 }, { kind: 'cpu', on_path_ns: 5e8 }], ranks: [{ rank: 1, on_path_ns: 2e9 }] },
    process_groups: [{ group: '0', description: 'dp', parallelism: 'data', group_size: 2, events: 9, total_ns: 4e8, exposed_ns: 4e8, waiting_ns: 3e8, transfer_ns: 1e8, verdict: 'straggler', straggler: { rank: 1, persistent: true, last_share: 0.89, caused_waiting_ns: 3e8, cause: 'compute', saved_if_equal_ns: 25e7 } }],
    telemetry: { gpus: [{ ...device, rank: 0, name: 'H100', mean_w: 512, peak_w: 700, gpu_c: { mean: 60, lowest: 40, highest: 71 } }], nodes: [{ ...device, name: 'kernel', cpu_utilization_pct: { mean: 31, lowest: 2, highest: 90 }, memory_used_b: { mean: 2 ** 36, lowest: 2 ** 35, highest: 2 ** 37 } }],
      cpus: [{ ...device, name: 'package-0', mean_w: 180, peak_w: 240 }], training: [{ file: 'log.txt', run_s: 9, node_energy_j: 5000 }], meters: [], notes: ['IPMI: no permission to open /dev/ipmi0'], dropped: [] },
    prediction: { job: 'job.yaml', gpus: 2, quantities: [
      { name: 'step_time_s', unit: 's', value: 0.5, low: 0.4, high: 0.6, measured: 0.7, state: 'above' }, { name: 'mean_w_per_gpu', unit: 'W', value: 600, low: 500, high: 700, measured: 512, state: 'inside' },
      { name: 'mean_clock_mhz', unit: 'MHz', value: 1980, low: 1979.9999999999998, high: 1980, measured: 1980, state: 'inside' }, { name: 'max_gpu_c', unit: 'C', value: 60, low: 60, high: 60, measured: null, state: 'not_measured' }] },
    marks: [{ log: 'log.txt', name: 'block', start_ns: 1e18 + 1e9, end_ns: 1e18 + 3e9 }, { log: 'log.txt', name: 'evaluation', start_ns: 1e18 + 3e9, end_ns: 1e18 + 4e9 }],
  };
  return report;
}

test('noise does not fill a picture: shares stay below 100 %, ticks differ, bytes are round', async () => {
  const report = recording();
  const { series } = report.runs[0];
  const steady = (name, title, unit, value, noise) => ({ name, title, unit, gpus: [{ label: 'node17', values: series.time_s.map((_, i) => value - noise * (i % 2)) }] });
  series.metrics = [steady('cpu', 'Processors busy', '%', 100, 0.02), steady('load', 'Load', '', 13.5, 0.01), steady('sent', 'Network, sent', 'GB/s', 0, 0), steady('memory', 'Memory of the node', 'bytes', 5 * 2 ** 30, 2 ** 30)];
  const page = await open(browser, pageWith(report, 'steady'));
  await drawAll(page);
  const ticks = async (title) => {
    const [file] = await Promise.all([page.waitForEvent('download'), page.locator('#at-power figure').filter({ hasText: title }).getByRole('button', { name: 'SVG' }).click()]);
    const texts = [...readFileSync(await file.path(), 'utf8').matchAll(/text-anchor="end"[^>]*>([^<]*)</g)].map((found) => found[1]);
    assert.equal(new Set(texts).size, texts.length, `${title}: ${texts}`);
    return texts;
  };
  assert.equal((await ticks('Processors busy')).at(-1), '100 %');
  for (const text of await ticks('Load')) assert.ok(Math.abs(Number(text) - 13.5) < 1, text);
  for (const text of await ticks('Network, sent')) assert.match(text, /^\d+ [kM]?B\/s$/);
  for (const text of await ticks('Memory of the node')) assert.match(text, /^\d(\.\d)? GiB$/);
  await page.context().close();
});

test('a recording says who and where, every part of the analysis, the straggler, and what is missing', async () => {
  const page = await open(browser, pageWith(recording(), 'recording'));
  const text = async (id) => page.locator(`#at-${id}`).textContent();
  const overview = await text('overview');
  for (const wanted of ['torchrun train.py --config a.yaml', 'node17', 'NVIDIA H100 80GB HBM3, NVIDIA H200', 'recorded for9 s', '550.54', 'ended2026-11-26 11:52:40 UTC']) assert.ok(overview.includes(wanted), `${wanted} in ${overview}`);
  assert.equal(await page.locator('.tile[data-metric="step_time_s"]').count(), 0, 'different GPUs have no common step');
  assert.match(await text('ranks'), /different GPUs/);
  const steps = await page.locator('#at-ranks tbody tr').evaluateAll((all) => all.map((row) => Number(row.cells[2].dataset.value)));
  assert.deepEqual(steps, [0.5, 0.75]);
  const energy = await text('kernel-energy');
  for (const wanted of ['5 kJ', '5.1 %', '250 J', '5.3 %', 'gemm', '4.8 kJ', '4.9 %', 'backward', '6.2 %', 'no GPU of the telemetry has this rank or device']) assert.ok(energy.includes(wanted), `${wanted} in ${energy}`);
  const kernels = await text('kernels');
  for (const wanted of ['forward', 'backward', '90.0 % of the GPU time', 'gemm', 'ampere_gemm']) assert.ok(kernels.includes(wanted), wanted);
  const operators = await page.locator('#at-operators tbody tr td').allTextContents();
  assert.deepEqual(operators, ['mm bf16 8x16 16x4', '8', '900 ms', '610 TFLOP/s', '900 GB/s', '62.0 %', 'FLOPs']);
  const taxes = await page.locator('#at-taxes tbody tr td:nth-child(2)').allTextContents();
  assert.deepEqual(taxes, ['10.0 %', '< 20.0 %', '1.0 %']);
  const parts = await page.locator('#at-taxes tbody tr').nth(2).textContent();
  assert.match(parts, /0\.2 % in launch calls, 0\.5 % loading data, 0\.1 % with the CPU elsewhere, 0\.2 % from call to start/);
  await page.locator('#at-path .show-table').click();
  assert.deepEqual(await page.locator('#at-path .numbers tbody tr').first().locator('td').allTextContents(), ['gemm', '1.5 s', '75.0 %', '500 ms']);
  const waits = await text('waits');
  assert.match(waits, /Rank 1 is a straggler: last in 89\.0 % .* waited 300 ms for it\. Cause: compute\. As fast as the others it would save 250 ms/);
  assert.match(waits, /rank 1 ⚑/);
  const readings = await text('readings');
  for (const wanted of ['512 W', '71.0 °C', '90 %', '64 GiB', 'package-0', '180 W', '5 kJ']) assert.ok(readings.includes(wanted), `${wanted} in ${readings}`);
  const missing = await text('missing');
  assert.ok(!overview.includes('libnvidia-ml'));
  for (const wanted of ['nvml was not read: this machine lacks libnvidia-ml.so.1', 'IPMI: no permission', 'rank 1 (traces/rank1.json) ends in the middle', '3 kernels of the longest tables', 'not a GPU event']) assert.ok(missing.includes(wanted), `${wanted} in ${missing}`);
  assert.match(await text('prediction'), /Outside: step time\./);
  await page.locator('#at-prediction .show-table').click();
  assert.deepEqual(await page.locator('#at-prediction tbody tr').evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.textContent))), [
    ['step time', '500 ms', '400 to 600 ms', '700 ms', 'above its interval'], ['power per GPU', '600 W', '500 to 700 W', '512 W', 'inside its interval'],
    ['mean clock', '1,980 MHz', '1,980 to 1,980 MHz', '1,980 MHz', 'inside its interval'], ['hottest GPU', '60.0 °C', '', '', 'not measured']]);
  const marks = page.locator('#at-power figure', { has: page.getByRole('heading', { name: 'What the training log marks' }) });
  await marks.locator('.show-table').click();
  assert.deepEqual(await marks.locator('tbody tr').evaluateAll((all) => all.map((row) => [Number(row.cells[2].dataset.value), Number(row.cells[3].dataset.value)])), [[1, 3], [3, 4]]);
  assert.deepEqual(page.problems, []);
});

for (const [width, dark] of looks) {
  test(`a recording fits ${width} px, and axe finds nothing, ${dark ? 'dark' : 'light'}`, async () => {
    const page = await open(browser, pageWith(recording(), 'look'), { width, dark });
    await drawAll(page);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth) <= width);
    await accessible(page);
  });
}

test('commands of checks are copied, sentences are not', async () => {
  const report = recording();
  report.runs[0].findings = [{ text: 'a', fraction: 0.2, check: 'ergometer analyze a.run --json: trace.operators lists them' }, { text: 'b', fraction: 0.1, check: 'look at the gaps' }];
  const page = await open(browser, pageWith(report, 'copy'));
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  assert.equal(await page.locator('.check .copy').count(), 1);
  await page.locator('.check .copy').click();
  await page.locator('.check .copy', { hasText: 'Copied' }).waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), 'ergometer analyze a.run --json');
});

/** CIE76 distance of two colours as people without green cones see them (Machado and others, 2009). */
function seenApart(a, b) {
  const linear = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
  const seen = ([r, g, blue]) => [0.367322 * r + 0.860646 * g - 0.227968 * blue, 0.280085 * r + 0.672501 * g + 0.047413 * blue, -0.01182 * r + 0.04294 * g + 0.968881 * blue].map((c) => Math.min(1, Math.max(0, c)));
  const lab = ([r, g, blue]) => {
    const f = (t) => (t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116);
    const [x, y, z] = [f((0.4124 * r + 0.3576 * g + 0.1805 * blue) / 0.9505), f(0.2126 * r + 0.7152 * g + 0.0722 * blue), f((0.0193 * r + 0.1192 * g + 0.9505 * blue) / 1.089)];
    return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
  };
  const [one, other] = [lab(seen(linear(a))), lab(seen(linear(b)))];
  return Math.hypot(...one.map((value, i) => value - other[i]));
}

test('the optimizer is told from compute, backward and idle without green cones', async () => {
  for (const dark of [false, true]) {
    const page = await open(browser, pageWith(fixture('job'), 'colours'), { dark });
    const of = (token) => page.evaluate((name) => document.documentElement.style.getPropertyValue(`--${name}`), token);
    const optimizer = await of('optimizer');
    for (const token of ['compute', 'backward', 'idle', 'alltoall', 'sendrecv']) assert.ok(seenApart(optimizer, await of(token)) > 20, `${token}, ${dark ? 'dark' : 'light'}`);
  }
});

test('in no legend two things have one colour, whatever kernels there are', async () => {
  const classes = ['gemm', 'attention', 'convolution', 'norm', 'softmax', 'reduction', 'optimizer', 'embedding', 'pooling', 'elementwise', 'moe', 'copy', 'set', 'collective', 'device_communication', 'other'];
  const report = recording();
  report.runs[0].recorded.trace.classes = classes.map((name) => ({ class: name, count: 1, total_ns: 1e8 }));
  report.runs[0].recorded.critical_path.kinds = ['cpu', 'queued', ...classes].map((kind) => ({ kind, on_path_ns: 1e8 }));
  for (const dark of [false, true]) {
    const page = await open(browser, pageWith(report, `classes-${dark}`), { dark });
    await drawAll(page);
    const legends = await page.locator('.legend').evaluateAll((all) => all.map((one) => [...one.querySelectorAll('li')].map((entry) => [entry.textContent, getComputedStyle(entry.querySelector('i')).backgroundColor])));
    assert.ok(legends.some((entries) => entries.length >= classes.length), 'the classes have a legend');
    for (const entries of legends) {
      const shown = entries.filter(([title]) => title !== 'other' && title !== 'idle');
      assert.equal(new Set(shown.map(([, colour]) => colour)).size, shown.length, JSON.stringify(entries));
    }
    await page.context().close();
  }
});

test('on paper tables wrap and are as wide as the page', async () => {
  const page = await open(browser, pageWith(recording(), 'paper'), { width: 690 });
  await page.emulateMedia({ media: 'print' });
  const wide = await page.locator('#at-ranks .table-scroll, #at-readings .table-scroll').evaluateAll((all) => all.map((host) => [host.querySelector('table').offsetWidth, host.clientWidth]));
  for (const [table, host] of wide) assert.ok(table <= host + 1 && table >= host - 2, `${table} of ${host}`);
});
