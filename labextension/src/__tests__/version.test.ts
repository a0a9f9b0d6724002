import { readFileSync } from 'node:fs';

import { expect, it } from 'vitest';

import { VERSION } from '../version';

it('is the version of the package and of its lock file', () => {
  const read = (name: string): unknown => JSON.parse(readFileSync(name, 'utf8'));
  expect(read('package.json')).toMatchObject({ name: 'rocmtx', version: VERSION });
  expect(read('package-lock.json')).toMatchObject({ version: VERSION, packages: { '': { version: VERSION } } });
});
