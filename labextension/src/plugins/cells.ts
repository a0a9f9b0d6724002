import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import type { Notebook, NotebookPanel } from '@jupyterlab/notebook';
import { INotebookTracker } from '@jupyterlab/notebook';
import { DisposableDelegate, DisposableSet } from '@lumino/disposable';

import { CellTarget } from '../model/celltarget';
import { PluginIDs } from '../tokens';

/** Lets the kernel of every open notebook insert a cell there. Where there are no notebooks it does nothing. */
export function cellsPlugin(): JupyterFrontEndPlugin<void> {
  let undo = new DisposableSet();
  return {
    id: PluginIDs.cells,
    description: "Puts the code of rocmtx's panel into a cell of its notebook.",
    autoStart: true,
    optional: [INotebookTracker],
    activate: (_app: JupyterFrontEnd, tracker: INotebookTracker | null): void => {
      if (!tracker) {
        return;
      }
      const targets = new DisposableSet();
      const follow = (_: unknown, panel: NotebookPanel): void => {
        const target = new CellTarget(panel.sessionContext, source => insertBelow(panel.content, source));
        targets.add(target);
        panel.disposed.connect(() => {
          targets.remove(target);
          target.dispose();
        });
      };
      tracker.forEach(panel => {
        follow(tracker, panel);
      });
      tracker.widgetAdded.connect(follow);
      undo = DisposableSet.from([
        targets,
        new DisposableDelegate(() => {
          tracker.widgetAdded.disconnect(follow);
        })
      ]);
    },
    deactivate: () => {
      undo.dispose();
    }
  };
}

/** Inserts a code cell below the active one and makes it active; false where the notebook cannot be changed. */
export function insertBelow(notebook: Notebook, source: string): boolean {
  const { model } = notebook;
  if (!model || model.readOnly) {
    return false;
  }
  const at = notebook.activeCell ? notebook.activeCellIndex + 1 : 0;
  // Trusted as a cell that a person makes: it has no output yet.
  model.sharedModel.insertCell(at, { cell_type: 'code', source, metadata: { trusted: true } });
  notebook.activeCellIndex = at;
  notebook.deselectAll();
  void notebook.scrollToItem(at);
  return true;
}
