// Pictures of one size, as PNG files of 8 bits a channel, made into one that moves: an animated PNG, of every picture only
// what changed (https://www.w3.org/TR/png-3/).
import { deflateSync, inflateSync } from 'node:zlib';

const kSignature = Buffer.from('89504e470d0a1a0a', 'hex');

function chunksOf(file) {
  const chunks = [];
  for (let at = 8; at < file.length; at += 12 + file.readUInt32BE(at)) chunks.push([file.toString('latin1', at + 4, at + 8), file.subarray(at + 8, at + 8 + file.readUInt32BE(at))]);
  return chunks;
}

/** Of the neighbours left, above and above left the one that is nearest to their plane. */
function paeth(a, b, c) {
  const [x, y, z] = [Math.abs(b - c), Math.abs(a - c), Math.abs(a + b - 2 * c)];
  return x <= y && x <= z ? a : y <= z ? b : c;
}

/** { width, height, pixels }, four bytes a pixel. */
export function decode(file) {
  const chunks = chunksOf(file);
  const head = chunks.find(([name]) => name === 'IHDR')[1];
  const [width, height, bits, kind, interlaced] = [head.readUInt32BE(0), head.readUInt32BE(4), head[8], head[9], head[12]];
  if (bits !== 8 || ![2, 6].includes(kind) || interlaced) throw new Error(`a PNG of ${bits} bits and colour type ${kind} is not read here`);
  const size = kind === 6 ? 4 : 3;
  const raw = inflateSync(Buffer.concat(chunks.filter(([name]) => name === 'IDAT').map(([, data]) => data)));
  const pixels = Buffer.alloc(width * height * 4, 255);
  let above = Buffer.alloc(width * size);
  for (let y = 0; y < height; ++y) {
    const start = y * (width * size + 1);
    const line = raw.subarray(start + 1, start + 1 + width * size);
    for (let i = 0; i < line.length; ++i) {
      const [a, b, c] = [i < size ? 0 : line[i - size], above[i], i < size ? 0 : above[i - size]];
      line[i] += [0, a, b, (a + b) >> 1, paeth(a, b, c)][raw[start]];
    }
    for (let x = 0; x < width; ++x) line.copy(pixels, (y * width + x) * 4, x * size, x * size + size);
    above = line;
  }
  return { width, height, pixels };
}

const kCrc = Array.from({ length: 256 }, (_, i) => { let value = i; for (let bit = 0; bit < 8; ++bit) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1; return value; });
const crc32 = (bytes) => (bytes.reduce((crc, byte) => kCrc[(crc ^ byte) & 255] ^ (crc >>> 8), -1) ^ -1) >>> 0;

function chunk(name, data) {
  const body = Buffer.concat([Buffer.from(name, 'latin1'), data]);
  const file = Buffer.alloc(body.length + 8);
  file.writeUInt32BE(data.length, 0);
  body.copy(file, 4);
  file.writeUInt32BE(crc32(body), body.length + 4);
  return file;
}

const numbers = (...values) => { const data = Buffer.alloc(4 * values.length); values.forEach((value, i) => data.writeUInt32BE(value, 4 * i)); return data; };

/** Rows without a filter: most of a frame is transparent. */
function packed(pixels, width, height) {
  const rows = Buffer.alloc((width * 4 + 1) * height);
  for (let y = 0; y < height; ++y) pixels.copy(rows, y * (width * 4 + 1) + 1, y * width * 4, (y + 1) * width * 4);
  return deflateSync(rows, { level: 9 });
}

/** What of a frame is not as before; the rest is transparent. */
function changed(before, now) {
  const pixels = Buffer.alloc(now.length);
  for (let i = 0; i < now.length; i += 4) if (before.readUInt32BE(i) !== now.readUInt32BE(i)) now.copy(pixels, i, i, i + 4);
  return pixels;
}

/** The animation, for ever again; `delay_ms`: of every picture. */
export function animated(files, delay_ms) {
  const frames = files.map(decode);
  const [{ width, height }] = frames;
  let sequence = 0;
  const control = (over) => chunk('fcTL', Buffer.concat([numbers(sequence++, width, height, 0, 0), Buffer.from([delay_ms >> 8, delay_ms & 255, 1000 >> 8, 1000 & 255, 0, over])]));
  const parts = frames.flatMap((frame, i) => {
    const head = control(i === 0 ? 0 : 1);
    const data = packed(i === 0 ? frame.pixels : changed(frames[i - 1].pixels, frame.pixels), width, height);
    return [head, i === 0 ? chunk('IDAT', data) : chunk('fdAT', Buffer.concat([numbers(sequence++), data]))];
  });
  return Buffer.concat([kSignature, chunk('IHDR', Buffer.concat([numbers(width, height), Buffer.from([8, 6, 0, 0, 0])])), chunk('acTL', numbers(frames.length, 0)), ...parts, chunk('IEND', Buffer.alloc(0))]);
}
