// What `ergometer serve` answers for its live page (docs/push-format.md), of a job of any size: some of everything that the page shows.
const kNow = Date.UTC(2026, 10, 29, 12, 0, 0);
const noise = (i) => ((i * 2654435761) % 4294967296) / 4294967296;
const many = (count, make) => Array.from({ length: count }, (_, i) => make(i));

const findings = [
  { kind: 'silent', grade: 'bad', text: '1 node is silent', since_ms: kNow - 40_000, where: ['node1'] },
  { kind: 'throttled.hw_thermal_slowdown', grade: 'bad', text: '3 GPUs are held back by hw_thermal_slowdown', since_ms: kNow - 900_000,
    where: ['node3 GPU 1', 'node3 GPU 5', 'node11 GPU 0'] },
  { kind: 'slower', grade: 'fair', text: '2 GPUs at work have a clock 5 % or more below the median of their kind', since_ms: kNow - 90_000, where: ['node3 GPU 1', 'node3 GPU 5'] },
];
const alerts = [
  { rule: 'step-over-interval', state: 'firing', severity: 'critical', subject: '', text: 'the mean of step_time_s over 60 s is 1.31 s, above 1.2 s', since_ms: kNow - 300_000, resolved_ms: null },
  { rule: 'hot-inlet', state: 'pending', severity: 'warning', subject: 'node3', text: 'inlet_temperature is 36 °C, above 35 °C', since_ms: kNow - 20_000, resolved_ms: null },
  { rule: 'silent', state: 'resolved', severity: 'warning', subject: 'node7', text: 'silent for 12 s', since_ms: kNow - 400_000, resolved_ms: kNow - 380_000 },
];
const prediction = {
  job: 'job.yaml', deviation: 'step time is above its interval: GPUs of node3 are slower than the others',
  quantities: [
    { name: 'step_time_s', label: 'step time', predicted: '1.1 s', interval: '1.02 s to 1.2 s', measured: '1.31 s', measured_error_percent: null, state: 'above' },
    { name: 'mean_power_w', label: 'power a GPU', predicted: '612 W', interval: '580 W to 645 W', measured: '601 W', measured_error_percent: 2.2, state: 'inside' },
    { name: 'mean_temperature_c', label: 'temperature', predicted: '61 °C', interval: null, measured: '64 °C', measured_error_percent: null, state: 'no_interval' },
    { name: 'mean_clock_mhz', label: 'clock', predicted: '1755 MHz', interval: '1700 MHz to 1800 MHz', measured: null, measured_error_percent: null, state: 'waiting' },
  ],
};

/** As the server writes it. `nodes` of `gpus` each; the third is silent, every seventh GPU of the fourth hot and held back. */
export function liveState({ nodes = 16, gpus = 8, calm = false } = {}) {
  const cells = nodes * gpus, hot = (i) => !calm && Math.floor(i / gpus) === 3 && i % 4 === 1;
  const points = 360, wave = (i) => Math.sin(i / 17);
  return {
    schema_version: 1, time_ms: kNow, problem: '', rules_problem: '',
    counts: { requests: 9120, batches: 9040, repeated: 12, malformed: 1, unauthorized: 2, refused: 0, connections: nodes + 1 },
    jobs: [{ name: 'llama3-70b', nodes, gpus: cells, heard_ms: kNow, live: true }, { name: 'yesterday', nodes: 0, gpus: 0, heard_ms: 0, live: false }],
    job: {
      name: 'llama3-70b', gpu_power_error_percent: 1.7,
      nodes: {
        // In the order in which they were heard first, which is no order.
        name: many(nodes, (i) => `node${(i * 7 + 3) % nodes}`), presence: many(nodes, (i) => (!calm && i === 2 ? 1 : 0)), heard_ms: many(nodes, (i) => kNow - (!calm && i === 2 ? 41_000 : 300)),
        clock_jump_s: many(nodes, (i) => (!calm && i === 5 ? 3600 : null)), lost: many(nodes, (i) => (!calm && i === 5 ? 3 : 0)), gpu_power_w: many(nodes, (i) => 4800 + Math.round(400 * noise(i))),
        // Of the second no power is read.
        gpu_power_error_percent: many(nodes, (i) => (i === 1 ? null : 2.2)), one_gpu_power_error_percent: many(nodes, (i) => (i === 1 ? null : 4.4)),
        sent_b_per_s: many(nodes, (i) => 12_500_000_000 + 1000 * i), received_b_per_s: many(nodes, (i) => 12_000_000_000 + 1000 * i), gpus: many(nodes, () => gpus),
      },
      gpus: {
        index: many(cells, (i) => i % gpus), power_w: many(cells, (i) => 560 + Math.round(120 * noise(i))), temperature_c: many(cells, (i) => (hot(i) ? 88 : 52 + Math.round(15 * noise(i + 5)))),
        clock_mhz: many(cells, (i) => (hot(i) ? 1340 : 1755)), utilization_percent: many(cells, () => 99), event_reasons: many(cells, (i) => (hot(i) ? 0x40 | 0x4 : 0)),
      },
      event_reasons: { 1: 'gpu_idle', 4: 'sw_power_cap', 8: 'hw_slowdown', 32: 'sw_thermal_slowdown', 64: 'hw_thermal_slowdown' },
      step: { number: 4711, step_time_s: 1.31, tokens_per_s_per_gpu: 812.4, node: 'node0' },
      history: {
        time_ms: many(points, (i) => kNow - (points - i) * 10_000), power_w: many(points, (i) => Math.round(cells * (600 + 30 * wave(i)))), hottest_c: many(points, (i) => 78 + Math.round(4 * wave(i + 9))),
        nodes: many(points, () => nodes), step_time_s: many(points, (i) => (i < 40 ? null : i > 300 ? 1.31 : 1.1)),
      },
      prediction: calm ? null : prediction, alerts: calm ? [] : alerts, findings: calm ? [] : findings,
    },
  };
}
