import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';

import type { Answer } from '../request';
import type { IServerPart, ServerState } from '../tokens';
import { readVersion } from '../wire';

/** Holds what is known of the server part. Knows no request and no view: `ask` is given. */
export class ServerPart implements IServerPart {
  constructor(
    readonly version: string,
    private readonly ask: () => Promise<Answer>
  ) {}

  get state(): ServerState {
    return this._state;
  }

  get changed(): ISignal<this, ServerState> {
    return this._changed;
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  async refresh(): Promise<void> {
    const turn = ++this._turn;
    const state = judge(await this.ask(), this.version);
    // A slow old answer must not replace a newer one, nor reach views after the end.
    if (turn === this._turn && !this._isDisposed && !same(state, this._state)) {
      this._state = state;
      this._changed.emit(state);
    }
  }

  dispose(): void {
    this._isDisposed = true;
    Signal.clearData(this);
  }

  private _state: ServerState = { kind: 'asking' };
  private _isDisposed = false;
  private _turn = 0;
  private readonly _changed = new Signal<this, ServerState>(this);
}

/** Turns an answer to `GET rocmtx/version` into a state. */
export function judge(answer: Answer, version: string): ServerState {
  if (answer.kind !== 'ok') {
    return troubleOf(answer);
  }
  const found = readVersion(answer.body);
  if (found === null) {
    return { kind: 'failed', reason: 'the answer holds no version' };
  }
  return { kind: found.version === version ? 'same' : 'other', version: found.version };
}

/** Says what is wrong when an answer is none. */
export function troubleOf(answer: Exclude<Answer, { kind: 'ok' }>): ServerState {
  switch (answer.kind) {
    case 'unreachable':
      return { kind: 'unreachable', reason: answer.reason };
    case 'unreadable':
      return { kind: 'failed', reason: answer.reason };
    case 'status':
      if (answer.status === 404) {
        return { kind: 'absent' };
      }
      return answer.status === 401 || answer.status === 403
        ? { kind: 'refused', status: answer.status }
        : { kind: 'failed', reason: `${answer.status.toString()} ${answer.reason}`.trim() };
  }
}

function same(one: ServerState, other: ServerState): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
