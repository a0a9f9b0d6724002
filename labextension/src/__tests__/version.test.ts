import { readFileSync } from 'node:fs';

import { expect, it } from 'vitest';

import { VERSION } from '../version';

const read = (name: string): unknown => JSON.parse(readFileSync(name, 'utf8'));

it('is the version of the package and of its lock file', () => {
  expect(read('package.json')).toMatchObject({ name: 'rocmtx', version: VERSION });
  expect(read('package-lock.json')).toMatchObject({ version: VERSION, packages: { '': { version: VERSION } } });
});

it('asks an older JupyterLab for no newer packages than it has', () => {
  // Else the builder asks for the versions of the JupyterLab that it was made for, and 4.2 complains on its console.
  const { dependencies, jupyterlab } = read('package.json') as {
    dependencies: Record<string, string>;
    jupyterlab: { sharedPackages: Record<string, { requiredVersion: string }> };
  };
  const required = Object.entries(jupyterlab.sharedPackages).map(([name, shared]) => [name, shared.requiredVersion]);
  expect(Object.fromEntries(required)).toEqual(dependencies);
  expect(dependencies['@jupyterlab/application']).toBe('^4.2.0');
});
