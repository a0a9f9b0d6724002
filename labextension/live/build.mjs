// Bundles the widgets' front ends into src/rocmtx/views/static, where the Python package takes them from. The result is
// committed; the same sources and lock file give the same bytes in every folder.
import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

import { build } from 'esbuild';

const here = new URL('./', import.meta.url);
const target = new URL('../../src/rocmtx/views/static/', import.meta.url);
// The panel sends every byte of this to each page that opens it.
const LARGEST = { 'live.js': 70_000, 'live.css': 5_000, 'choices.js': 8_000, 'panel.css': 6_000 };

await build({
  absWorkingDir: fileURLToPath(here),
  entryPoints: ['live.ts', 'choices.ts', 'live.css', 'panel.css'],
  outdir: fileURLToPath(target),
  bundle: true,
  format: 'esm',
  target: 'es2022',
  minify: true,
  charset: 'utf8',
  legalComments: 'none',
  logLevel: 'warning'
});

// The MIT licence wants its whole text beside every copy.
await copyFile(new URL('../node_modules/uplot/LICENSE', here), new URL('uplot.LICENSE.txt', target));
const uplot = JSON.parse(await readFile(new URL('../node_modules/uplot/package.json', here), 'utf8'));
const notice = `/* rocmtx (Apache-2.0); contains uPlot ${uplot.version} (MIT, see uplot.LICENSE.txt) */\n`;
for (const [name, largest] of Object.entries(LARGEST)) {
  const file = new URL(name, target);
  const content = (name.startsWith('live') ? notice : '') + (await readFile(file, 'utf8'));
  await writeFile(file, content);
  const size = Buffer.byteLength(content);
  console.log(`${name}: ${size} bytes`);
  if (size > largest) {
    console.error(`${name} is larger than ${largest} bytes`);
    process.exitCode = 1;
  }
}
