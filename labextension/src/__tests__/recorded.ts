// What the server part sends, from the files that the Python tests hold to the Python code.
import { readFileSync } from 'node:fs';

/** A golden file of tests/contract. */
export function contract(name: string): unknown {
  return read(`../../../tests/contract/${name}.json`);
}

/** The report of a machine that comes with the Python package. */
export function machine(name: string): unknown {
  return read(`../../../src/rocmtx/facts/data/machines/${name}.json`);
}

function read(path: string): unknown {
  return JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'));
}
