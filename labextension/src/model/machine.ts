import { Poll } from '@lumino/polling';
import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';

import type { Answer } from '../request';
import type { IMachine, IMachineState, ServerState } from '../tokens';
import { readFacts, readSessions } from '../wirefacts';
import { troubleOf } from './serverpart';

/** Numbers that a person watches; the server reads its machine at most once a second for all pages together. */
const INTERVAL_MS = 2_000;
/** How rarely a server that fails is asked. */
const SLOWEST_MS = 60_000;

/** Holds what is known of the server's machine. Knows no view; `ask` gets a route's answer. */
export class Machine implements IMachine {
  constructor(
    readonly version: string,
    private readonly ask: (path: 'facts' | 'sessions') => Promise<Answer>,
    interval = INTERVAL_MS
  ) {
    this._poll = new Poll({
      name: 'rocmtx:machine',
      auto: false,
      factory: () => this._read(),
      frequency: { interval, backoff: true, max: SLOWEST_MS },
      standby: () => (this._watched ? 'when-hidden' : true)
    });
  }

  get state(): IMachineState {
    return this._state;
  }

  get changed(): ISignal<this, IMachineState> {
    return this._changed;
  }

  get watched(): boolean {
    return this._watched;
  }

  set watched(watched: boolean) {
    if (watched === this._watched || this.isDisposed) {
      return;
    }
    this._watched = watched;
    if (watched) {
      void this._poll.refresh();
    } else {
      void this._poll.stop();
    }
  }

  get isDisposed(): boolean {
    return this._poll.isDisposed;
  }

  dispose(): void {
    this._poll.dispose();
    Signal.clearData(this);
  }

  /** Rejects after a failed read, so that the next one comes later. */
  private async _read(): Promise<void> {
    const [facts, sessions] = await Promise.all([
      this.ask('facts').then(answer => understood(answer, readFacts)),
      this.ask('sessions').then(answer => understood(answer, readSessions))
    ]);
    if (this.isDisposed) {
      return;
    }
    const trouble = facts.trouble ?? sessions.trouble;
    this._state = {
      facts: facts.value ?? this._state.facts,
      sessions: sessions.value ?? this._state.sessions,
      trouble
    };
    this._changed.emit(this._state);
    if (trouble) {
      throw new Error(trouble.kind);
    }
  }

  private _state: IMachineState = { facts: null, sessions: [], trouble: null };
  private _watched = false;
  private readonly _changed = new Signal<this, IMachineState>(this);
  private readonly _poll: Poll;
}

/** Gives the value of an answer, or what is wrong with it. */
function understood<T>(answer: Answer, read: (body: unknown) => T | null): { value: T | null; trouble: ServerState | null } {
  if (answer.kind !== 'ok') {
    return { value: null, trouble: troubleOf(answer) };
  }
  const value = read(answer.body);
  return { value, trouble: value === null ? { kind: 'failed', reason: 'it has another form' } : null };
}
