import type { TranslationBundle } from '@jupyterlab/translation';

import type { ServerState } from './tokens';

/** The status bar's text: short, and longer only when something is wrong. */
export function statusText(version: string, state: ServerState, trans: TranslationBundle): string {
  switch (state.kind) {
    case 'asking':
    case 'same':
      return trans.__('rocmtx %1', version);
    case 'other':
      return trans.__('rocmtx %1 · server has %2', version, state.version);
    case 'absent':
      return trans.__('rocmtx %1 · server part missing', version);
    case 'refused':
      return trans.__('rocmtx %1 · server part refused', version);
    case 'unreachable':
      return trans.__('rocmtx %1 · server not reached', version);
    case 'failed':
      return trans.__('rocmtx %1 · server part failed', version);
  }
}

/** One or two sentences about the server part, with what to do where something is wrong. */
export function explain(version: string, state: ServerState, trans: TranslationBundle): string {
  switch (state.kind) {
    case 'asking':
      return trans.__('asking the server…');
    case 'same':
      return trans.__('%1, the same version', state.version);
    case 'other':
      return trans.__(
        'The server has version %1, this page has %2. Restart the server, then reload this page.',
        state.version,
        version
      );
    case 'absent':
      return trans.__(
        "Not running. Install rocmtx in the server's own environment (pip install rocmtx) and restart the server; " +
          'jupyter server extension list should then name it.'
      );
    case 'refused':
      return trans.__('This account may not ask it (HTTP %1). Log in again.', state.status);
    case 'unreachable':
      return trans.__('The server does not answer: %1', state.reason);
    case 'failed':
      return trans.__("Its answer is not understood: %1. The server's log says more.", state.reason);
  }
}
