import type { ISessionContext } from '@jupyterlab/apputils';
import type { Kernel, KernelMessage } from '@jupyterlab/services';
import type { IDisposable } from '@lumino/disposable';

import { CELL_TARGET } from '../tokens';
import { readCell } from '../wire';

/** What of a session's context is used here. */
export type IKernelOwner = Pick<ISessionContext, 'session' | 'kernelChanged'>;

/**
 * Lets the kernel of one notebook put a cell into it.
 *
 * The kernel opens a comm with the source, the answer is its closing: `{"ok": true}`, or false where it cannot be.
 * Knows kernels and comms, and no notebook: `insert` is given, and says whether it did.
 */
export class CellTarget implements IDisposable {
  constructor(
    private readonly owner: IKernelOwner,
    private readonly insert: (source: string) => boolean
  ) {
    owner.kernelChanged.connect(this._changed);
    this._follow(owner.session?.kernel ?? null);
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  dispose(): void {
    if (this._isDisposed) {
      return;
    }
    this._isDisposed = true;
    this.owner.kernelChanged.disconnect(this._changed);
    this._follow(null);
  }

  private _follow(kernel: Kernel.IKernelConnection | null): void {
    this._kernel?.removeCommTarget(CELL_TARGET, this._opened);
    this._kernel = kernel;
    // Where another connection of this page has the comms (a console that was first), this does nothing.
    kernel?.registerCommTarget(CELL_TARGET, this._opened);
  }

  private readonly _changed: Parameters<IKernelOwner['kernelChanged']['connect']>[0] = (_, change) => {
    this._follow(change.newValue);
  };

  private readonly _opened = (comm: Kernel.IComm, message: KernelMessage.ICommOpenMsg): void => {
    if (!this._isMeant(message)) {
      // Says nothing to the kernel: the page that is meant will.
      comm.dispose();
      return;
    }
    const source = readCell(message.content.data);
    comm.close({ ok: source !== null && this.insert(source) });
  };

  /** Every page with this kernel gets the message; only the one where the person clicked may answer. */
  private _isMeant(message: KernelMessage.ICommOpenMsg): boolean {
    const asker = (message.parent_header as Partial<KernelMessage.IHeader>).session;
    return asker === undefined || asker === this._kernel?.clientId;
  }

  private _isDisposed = false;
  private _kernel: Kernel.IKernelConnection | null = null;
}
