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
  export const gpus = 'rocmtx:gpus';
  export const machine = 'rocmtx:machine';
  export const status = 'rocmtx:status';
}

export namespace CommandIDs {
  /** Shows the versions of the front end and the server part in a dialog. */
  export const about = 'rocmtx:about';
  /** Shows the side panel with the GPUs and sessions. */
  export const showGpus = 'rocmtx:show-gpus';
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

/** One GPU, or one partition of it, as the server part reports it; what it does not know is null. */
export interface IGpu {
  /** The PCI address; unique together with `gpuId`. */
  readonly address: string;
  readonly gpuId: number | null;
  readonly vendor: string;
  readonly name: string | null;
  readonly gfx: string | null;
  /** N of `cuda:N` in the server's environment; null where it is hidden. */
  readonly ordinal: number | null;
  readonly hiddenBecause: string | null;
  /** What the partitions of one package share. */
  readonly socket: string | null;
  readonly partition: { readonly index: number; readonly count: number; readonly modes: string } | null;
  readonly integrated: boolean;
  readonly vramTotal: number | null;
  readonly vramUsed: number | null;
  /** What an integrated GPU may take of the system's memory. */
  readonly gttTotal: number | null;
  readonly busy: number | null;
  readonly temperatureC: number | null;
  readonly power: number | null;
  readonly powerCap: number | null;
  readonly asleep: boolean;
  /** Whether busy, temperature and power belong to the whole package and not to this partition. */
  readonly sharesReadings: boolean;
}

/** The machine of the Jupyter server. */
export interface IFacts {
  readonly gpus: readonly IGpu[];
  /** Whether Linux has its interface to AMD GPUs (KFD). */
  readonly kfd: boolean;
  /** The name of a recorded machine; null for this one, now. */
  readonly recorded: string | null;
}

/** One session of this account, from its journal. */
export interface ISession {
  readonly id: string;
  readonly phase: string;
  readonly model: string | null;
  readonly device: string | null;
  readonly memory: readonly { readonly device: string; readonly used: number | null; readonly total: number | null }[];
  /** Unix seconds of its last event. */
  readonly updated: number;
}

/** What was read last; after a failure the old values stay, with the trouble beside them. */
export interface IMachineState {
  readonly facts: IFacts | null;
  readonly sessions: readonly ISession[];
  readonly trouble: ServerState | null;
}

/** The server's machine and sessions, as a model that views draw. It asks only while somebody watches. */
export interface IMachine extends IDisposable {
  /** The version of this front end. */
  readonly version: string;
  readonly state: IMachineState;
  readonly changed: ISignal<IMachine, IMachineState>;
  /** Whether somebody looks: set by the view. */
  watched: boolean;
}

export const IMachine = new Token<IMachine>('rocmtx:IMachine', "The Jupyter server's GPUs and this account's sessions.");
