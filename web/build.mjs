// Makes dist/report.html, one file that needs nothing else: checks types, bundles, puts styles and code into the page.
//   node build.mjs            writes dist/report.html
//   node build.mjs --check    says whether dist/report.html is what the sources make; exit status 1 if not
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as esbuild from 'esbuild';

const root = dirname(fileURLToPath(import.meta.url));
const page = join(root, 'dist', 'report.html');
const text = (...parts) => readFileSync(join(root, ...parts), 'utf8');

function filesBelow(folder) {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .flatMap((entry) => (entry.isDirectory() ? filesBelow(`${folder}/${entry.name}`) : [`${folder}/${entry.name}`]));
}

/** tests/structure/page_is_built.py computes the same: keep the two alike. */
function sourceHash() {
  const names = [...filesBelow('src'), 'build.mjs', 'package-lock.json', 'package.json', 'tsconfig.json'].sort();
  const hash = createHash('sha256');
  for (const name of names) hash.update(`${name}\0${text(name)}\0`);
  return hash.digest('hex');
}

async function bundle(entry) {
  const result = await esbuild.build({
    entryPoints: [join(root, entry)], bundle: true, minify: true, write: false, format: 'iife', target: 'es2022',
    charset: 'utf8', legalComments: 'none', loader: { '.css': 'css' },
  });
  return result.outputFiles[0].text;
}

function notices() {
  const version = JSON.parse(text('node_modules', 'uplot', 'package.json')).version;
  return `This page contains uPlot ${version} (https://github.com/leeoniya/uPlot).\n\n${text('node_modules', 'uplot', 'LICENSE').trim()}`;
}

async function makePage() {
  execFileSync(process.execPath, [join(root, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', root], { stdio: 'inherit' });
  const [code, styles] = await Promise.all([bundle('src/main.ts'), bundle('src/style.css')]);
  const parts = {
    HASH: sourceHash(), STYLES: styles.trim(), NOTICES: notices().replaceAll('--', '- -'),
    CODE: code.trim().replaceAll('</script', '<\\/script').replaceAll('<!--', '<\\!--'),
  };
  return text('src', 'report.html').replace(/\{\{(\w+)\}\}/g, (_, name) => parts[name]);
}

const made = await makePage();
if (process.argv.includes('--check')) {
  if (!existsSync(page) || readFileSync(page, 'utf8') !== made) {
    console.error('dist/report.html is not what the sources make: run node build.mjs');
    process.exit(1);
  }
} else {
  mkdirSync(dirname(page), { recursive: true });
  writeFileSync(page, made);
  console.log(`dist/report.html: ${(made.length / 1000).toFixed(0)} kB`);
}
