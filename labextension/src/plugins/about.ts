import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Dialog, ICommandPalette, showDialog } from '@jupyterlab/apputils';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { DisposableSet } from '@lumino/disposable';

import { CommandIDs, DOMAIN, IServerPart, PluginIDs } from '../tokens';
import { AboutBody } from '../view/aboutbody';

/** Adds the command that shows the versions; the Help menu names it through schema/about.json. */
export function aboutPlugin(): JupyterFrontEndPlugin<void> {
  let undo = new DisposableSet();
  return {
    id: PluginIDs.about,
    description: 'A dialog with the versions of rocmtx in the page and in the server.',
    autoStart: true,
    requires: [IServerPart],
    optional: [ITranslator, ICommandPalette],
    activate: (
      app: JupyterFrontEnd,
      part: IServerPart,
      translator: ITranslator | null,
      palette: ICommandPalette | null
    ): void => {
      undo = new DisposableSet();
      const trans = (translator ?? nullTranslator).load(DOMAIN);
      undo.add(
        app.commands.addCommand(CommandIDs.about, {
          label: trans.__('AMD GPUs: about rocmtx'),
          caption: trans.__('Show the versions of rocmtx in this page and in the server'),
          describedBy: { args: { type: 'object', properties: {} } },
          execute: async () => {
            void part.refresh();
            await showDialog({
              title: trans.__('About rocmtx'),
              body: new AboutBody(part, trans),
              buttons: [Dialog.okButton({ label: trans.__('Close') })]
            });
          }
        })
      );
      if (palette) {
        undo.add(palette.addItem({ command: CommandIDs.about, category: trans.__('AMD GPUs') }));
      }
    },
    deactivate: () => {
      undo.dispose();
    }
  };
}
