import { Token } from '@lumino/coreutils';
import type { IDisposable } from '@lumino/disposable';
import type { ISignal } from '@lumino/signaling';

/** The translation domain of every string in this extension. */
export const DOMAIN = 'rocmtx';

/** The comm target by which a kernel asks for a new cell; `rocmtx/cells.py` has the same. */
export const CELL_TARGET = 'rocmtx:cell';

export namespace PluginIDs {
  export const server = 'rocmtx:server';
  export const about = 'rocmtx:about';
  export const cells = 'rocmtx:cells';
  export const status = 'rocmtx:status';
}

export namespace CommandIDs {
  /** Shows the versions of the front end and the server part in a dialog. */
  export const about = 'rocmtx:about';
}

/**
 * What is known of the part of rocmtx that runs in the Jupyter server.
 *
 * `absent` is a server that answers and has no rocmtx; `unreachable` is no answer at all; `refused` is an account that
 * may not ask; `failed` is an answer that is not understood.
 */
export type ServerState =
  | { readonly kind: 'asking' }
  | { readonly kind: 'same'; readonly version: string }
  | { readonly kind: 'other'; readonly version: string }
  | { readonly kind: 'absent' }
  | { readonly kind: 'refused'; readonly status: number }
  | { readonly kind: 'unreachable'; readonly reason: string }
  | { readonly kind: 'failed'; readonly reason: string };

/** The server part, as a model that views draw. */
export interface IServerPart extends IDisposable {
  /** The version of this front end. */
  readonly version: string;
  readonly state: ServerState;
  readonly changed: ISignal<IServerPart, ServerState>;
  /** Asks the server again; never rejects, the outcome is in `state`. */
  refresh(): Promise<void>;
}

export const IServerPart = new Token<IServerPart>(
  'rocmtx:IServerPart',
  'Whether the Jupyter server has rocmtx, and in which version.'
);
