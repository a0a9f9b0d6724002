// A cell that the kernel asks for: which kernels are listened to, which pages answer, what is let into the notebook.
import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { INotebookTracker, Notebook, NotebookPanel } from '@jupyterlab/notebook';
import { NotebookModel } from '@jupyterlab/notebook';
import type { Kernel, KernelMessage } from '@jupyterlab/services';
import { Signal } from '@lumino/signaling';
import { describe, expect, it, vi } from 'vitest';

import { CellTarget } from '../model/celltarget';
import type { IKernelOwner } from '../model/celltarget';
import { cellsPlugin, insertBelow } from '../plugins/cells';
import { LARGEST_CELL, readCell } from '../wire';

type Opened = (comm: Kernel.IComm, message: KernelMessage.ICommOpenMsg) => void;

/** A kernel as far as comms go: it has targets, and asks this page by opening a comm. */
class FakeKernel {
  constructor(readonly clientId = 'this page') {}

  registerCommTarget(name: string, opened: Opened): void {
    this.targets.set(name, opened);
  }

  removeCommTarget(name: string, opened: Opened): void {
    if (this.targets.get(name) === opened) {
      this.targets.delete(name);
    }
  }

  /** Asks for a cell; returns what the comm was closed with, or what else became of it. */
  ask(data: unknown, header: object = { session: this.clientId }): unknown {
    const comm = { close: vi.fn(), dispose: vi.fn() };
    const message = { content: { data }, parent_header: header };
    this.targets.get('rocmtx:cell')?.(comm as never, message as never);
    if (comm.dispose.mock.calls.length > 0) {
      return 'not answered';
    }
    return comm.close.mock.calls.length === 0 ? 'not heard' : (comm.close.mock.calls[0] as unknown[])[0];
  }

  readonly targets = new Map<string, Opened>();
}

/** A session's context: it has a kernel, and may get another one. */
class FakeOwner {
  constructor(kernel: FakeKernel | null) {
    this.session = { kernel };
  }

  change(kernel: FakeKernel | null): void {
    const oldValue = this.session.kernel;
    this.session.kernel = kernel;
    this.kernelChanged.emit({ name: 'kernel', oldValue, newValue: kernel });
  }

  readonly session: { kernel: FakeKernel | null };
  readonly kernelChanged = new Signal<this, object>(this);
}

/** A notebook as far as cells go, over JupyterLab's own model; `shown` notes what it was scrolled to. */
interface IShown extends Notebook {
  readonly model: NotebookModel;
  readonly shown: number[];
}

function notebook(...sources: string[]): IShown {
  const shown: number[] = [];
  const model = new NotebookModel();
  model.sharedModel.insertCells(
    0,
    sources.map(source => ({ cell_type: 'code', source }))
  );
  model.sharedModel.clearUndoHistory();
  return {
    model,
    activeCell: sources.length > 0 ? {} : null,
    activeCellIndex: 0,
    deselectAll: vi.fn(),
    scrollToItem: (at: number) => Promise.resolve(shown.push(at)),
    shown
  } as unknown as IShown;
}

function sources(shown: Notebook): string[] {
  return shown.model?.sharedModel.cells.map(cell => cell.source) ?? [];
}

function target(owner: FakeOwner, insert: (source: string) => boolean): CellTarget {
  return new CellTarget(owner as unknown as IKernelOwner, insert);
}

describe('readCell', () => {
  it.each([
    [{ source: 'x = 1\n' }, 'x = 1\n'],
    [{ source: '' }, ''],
    [{ source: 'a'.repeat(LARGEST_CELL) }, 'a'.repeat(LARGEST_CELL)],
    [{ source: 'a'.repeat(LARGEST_CELL + 1) }, null],
    // Bytes count, not letters.
    [{ source: 'é'.repeat(LARGEST_CELL / 2 + 1) }, null],
    [{ source: ['x = 1'] }, null],
    [{ code: 'x = 1' }, null],
    ['x = 1', null],
    [null, null]
  ])('takes text of up to 100 kB only (%#)', (data, found) => {
    expect(readCell(data)).toBe(found);
  });
});

describe('CellTarget', () => {
  it('answers with what became of the cell', () => {
    const kernel = new FakeKernel();
    const insert = vi.fn((source: string) => source !== 'locked');
    target(new FakeOwner(kernel), insert);
    expect(kernel.ask({ source: 'x = 1' })).toEqual({ ok: true });
    expect(kernel.ask({ source: 'locked' })).toEqual({ ok: false });
    expect(insert.mock.calls).toEqual([['x = 1'], ['locked']]);
  });

  it('inserts nothing of what is no source', () => {
    const kernel = new FakeKernel();
    const insert = vi.fn(() => true);
    target(new FakeOwner(kernel), insert);
    expect(kernel.ask({ source: 1 })).toEqual({ ok: false });
    expect(insert).not.toHaveBeenCalled();
  });

  it('leaves the answer to the page in which the person clicked', () => {
    const kernel = new FakeKernel('mine');
    const insert = vi.fn(() => true);
    target(new FakeOwner(kernel), insert);
    expect(kernel.ask({ source: 'x' }, { session: 'another' })).toBe('not answered');
    expect(insert).not.toHaveBeenCalled();
    // A thread of the kernel that nobody asked has no parent.
    expect(kernel.ask({ source: 'x' }, {})).toEqual({ ok: true });
  });

  it('follows the notebook to another kernel, to none, and leaves each as it was', () => {
    const [first, second] = [new FakeKernel(), new FakeKernel()];
    const owner = new FakeOwner(null);
    const made = target(owner, () => true);
    owner.change(first);
    expect(first.ask({ source: 'x' })).toEqual({ ok: true });
    owner.change(second);
    expect([first.targets.size, second.targets.size]).toEqual([0, 1]);
    owner.change(null);
    expect(second.targets.size).toBe(0);
    owner.change(first);
    made.dispose();
    made.dispose();
    owner.change(second);
    expect([first.targets.size, second.targets.size]).toEqual([0, 0]);
  });
});

describe('insertBelow', () => {
  it('puts a code cell below the active one, shows it and makes it active', () => {
    const shown = notebook('first', 'last');
    expect(insertBelow(shown, 'new')).toBe(true);
    expect(sources(shown)).toEqual(['first', 'new', 'last']);
    expect(shown.model.cells.get(1).type).toBe('code');
    expect(shown.activeCellIndex).toBe(1);
    expect(shown.shown).toEqual([1]);
    shown.model.sharedModel.undo();
    expect(sources(shown)).toEqual(['first', 'last']);
  });

  it('begins an empty notebook', () => {
    const shown = notebook();
    expect(insertBelow(shown, 'new')).toBe(true);
    expect(sources(shown)).toEqual(['new']);
  });

  it('changes no notebook that is only to be read', () => {
    const shown = notebook('only');
    shown.model.readOnly = true;
    expect(insertBelow(shown, 'new')).toBe(false);
    expect(sources(shown)).toEqual(['only']);
  });
});

describe('the plugin', () => {
  const app = {} as unknown as JupyterFrontEnd;

  function panel(kernel: FakeKernel): NotebookPanel & { readonly disposed: Signal<object, void> } {
    const made = { sessionContext: new FakeOwner(kernel), content: notebook('old'), disposed: new Signal({}) };
    return made as unknown as NotebookPanel & { readonly disposed: Signal<object, void> };
  }

  function tracker(...open: NotebookPanel[]): INotebookTracker & { widgetAdded: Signal<object, NotebookPanel> } {
    const made = { forEach: open.forEach.bind(open), widgetAdded: new Signal({}) };
    return made as unknown as INotebookTracker & { widgetAdded: Signal<object, NotebookPanel> };
  }

  it('serves notebooks that are open and those that come, until they close or it goes', async () => {
    const kernels = [new FakeKernel(), new FakeKernel(), new FakeKernel()] as const;
    const [there, coming, late] = [panel(kernels[0]), panel(kernels[1]), panel(kernels[2])];
    const notebooks = tracker(there);
    const plugin = cellsPlugin();
    await plugin.activate(app, notebooks);
    notebooks.widgetAdded.emit(coming);
    expect(kernels.map(kernel => kernel.ask({ source: 'new' }))).toEqual([{ ok: true }, { ok: true }, 'not heard']);
    expect([there, coming, late].map(shown => sources(shown.content))).toEqual([['old', 'new'], ['old', 'new'], ['old']]);
    there.disposed.emit();
    expect(kernels.map(kernel => kernel.targets.size)).toEqual([0, 1, 0]);
    await plugin.deactivate?.(app);
    notebooks.widgetAdded.emit(late);
    expect(kernels.map(kernel => kernel.targets.size)).toEqual([0, 0, 0]);
  });

  it('does nothing where there are no notebooks', async () => {
    const plugin = cellsPlugin();
    await plugin.activate(app, null);
    await plugin.deactivate?.(app);
  });
});
