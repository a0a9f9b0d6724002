import { nullTranslator } from '@jupyterlab/translation';
import { expect, it } from 'vitest';

import { explain, statusText } from '../format';
import type { ServerState } from '../tokens';

const trans = nullTranslator.load('rocmtx');

it.each<[ServerState, string, string]>([
  [{ kind: 'asking' }, 'rocmtx 1.0.0', 'asking the server…'],
  [{ kind: 'same', version: '1.0.0' }, 'rocmtx 1.0.0', '1.0.0, the same version'],
  [
    { kind: 'other', version: '0.9.0' },
    'rocmtx 1.0.0 · server has 0.9.0',
    'The server has version 0.9.0, this page has 1.0.0. Restart the server, then reload this page.'
  ],
  [
    { kind: 'absent' },
    'rocmtx 1.0.0 · server part missing',
    "Not running. Install rocmtx in the server's own environment (pip install rocmtx) and restart the server; " +
      'jupyter server extension list should then name it.'
  ],
  [
    { kind: 'refused', status: 403 },
    'rocmtx 1.0.0 · server part refused',
    'This account may not ask it (HTTP 403). Log in again.'
  ],
  [
    { kind: 'unreachable', reason: 'fetch failed' },
    'rocmtx 1.0.0 · server not reached',
    'The server does not answer: fetch failed'
  ],
  [
    { kind: 'failed', reason: '500 Oops' },
    'rocmtx 1.0.0 · server part failed',
    "Its answer is not understood: 500 Oops. The server's log says more."
  ]
])('writes %o', (state, short, long) => {
  expect(statusText('1.0.0', state, trans)).toBe(short);
  expect(explain('1.0.0', state, trans)).toBe(long);
});
