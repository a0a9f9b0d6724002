import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { IStatusBar } from '@jupyterlab/statusbar';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { DisposableSet } from '@lumino/disposable';

import { CommandIDs, DOMAIN, IServerPart, PluginIDs } from '../tokens';
import { StatusItem } from '../view/statusitem';

/** Adds the status bar item. Where there is no status bar (Notebook 7) it does nothing. */
export function statusPlugin(): JupyterFrontEndPlugin<void> {
  let undo = new DisposableSet();
  return {
    id: PluginIDs.status,
    description: 'The version of rocmtx in the status bar.',
    autoStart: true,
    requires: [IServerPart],
    optional: [IStatusBar, ITranslator],
    activate: (
      app: JupyterFrontEnd,
      part: IServerPart,
      bar: IStatusBar | null,
      translator: ITranslator | null
    ): void => {
      if (!bar) {
        return;
      }
      undo = new DisposableSet();
      const trans = (translator ?? nullTranslator).load(DOMAIN);
      const item = new StatusItem(part, trans, () => void app.commands.execute(CommandIDs.about));
      undo.add(item);
      undo.add(bar.registerStatusItem(PluginIDs.status, { item, align: 'right', rank: 50 }));
    },
    deactivate: () => {
      undo.dispose();
    }
  };
}
