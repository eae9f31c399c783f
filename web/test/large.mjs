// A document of 8,192 GPUs, large enough to show whether the page keeps up.
import { fixture } from './page.mjs';

const kGpus = 8192;
const column = (make) => Array.from({ length: kGpus }, (_, rank) => Number(make(rank).toPrecision(6)));

const kKernels = 1900;
/** As many kernels as a page has of 16 ranks: those that there are, again and again. */
function manyKernels(timeline, rank) {
  const { kernels } = rank;
  const count = kernels.start_us.length;
  const span = kernels.start_us[count - 1] + kernels.duration_us[count - 1] - kernels.start_us[0];
  const again = Object.fromEntries(Object.entries(kernels).map(([name, values]) => [name, Array.from({ length: kKernels }, (_, i) => values[i % count])]));
  again.start_us = again.start_us.map((start, i) => start + span * Math.floor(i / count));
  again.windows_us = [[0, timeline.step_s * 1e6]];
  return { ...rank, kernels: again };
}

/** Repeats a small job's pattern over 1,024 nodes with a gradient along the aisles. */
export function largeReport() {
  const report = fixture('job');
  const run = report.runs[0];
  const { row } = run.chassis;
  const noise = (rank) => ((rank * 2654435761) % 4294967296) / 4294967296;
  const warm = (rank) => 52 + 15 * row[rank % 8] + 6 * noise(rank) + (rank >> 3) / 200;
  run.name = 'llama3-70b-8192';
  report.title = 'llama3-70b on 8,192 x H200';
  run.ranks = {
    rank: column((rank) => rank), node: column((rank) => rank >> 3), slot: column((rank) => rank & 7), stage: column((rank) => (rank >> 2) % 4),
    mean_power_w: column((rank) => 560 + 110 * noise(rank + 7)), peak_power_w: column((rank) => 720 + 90 * noise(rank + 3)),
    mean_gpu_c: column((rank) => warm(rank) - 1.5), max_gpu_c: column(warm), mean_clock_mhz: column((rank) => 1980 - 4 * (warm(rank) - 50) * noise(rank)),
    throttled_time_fraction: column((rank) => Math.max(0, (warm(rank) - 66) / 20)),
    breakdown_s: Object.fromEntries(Object.entries(run.ranks.breakdown_s).map(([part, values]) => [part, column((rank) => values[rank % values.length] * (1 + 0.02 * noise(rank)))])),
  };
  for (const metric of run.series.metrics) {
    const values = run.series.time_s.map((_, i) => metric.gpus.map((gpu) => gpu.values[i]).sort((a, b) => a - b));
    const at = (share) => values.map((sorted) => sorted[Math.round(share * (sorted.length - 1))]);
    metric.distribution = { lowest: at(0), p5: at(0.05), p50: at(0.5), p95: at(0.95), highest: at(1) };
    // The first ranks stand for all: among them is every stage and row.
    metric.gpus = metric.gpus.slice(0, 16).map((gpu, rank) => ({ ...gpu, label: `rank ${rank}`, rank, node: rank >> 3, slot: rank & 7 }));
  }
  run.timeline.ranks = Array.from({ length: 16 }, (_, i) => ({ ...manyKernels(run.timeline, run.timeline.ranks[i % 4]), rank: 512 * i, stage: i }));
  return report;
}
