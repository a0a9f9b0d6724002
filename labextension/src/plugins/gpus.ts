import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ILayoutRestorer } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { LabIcon } from '@jupyterlab/ui-components';
import { DisposableSet } from '@lumino/disposable';

import { CommandIDs, DOMAIN, IMachine, PluginIDs } from '../tokens';
import { GpusPanel } from '../view/gpuspanel';

/** A chip with its legs. */
const SVG =
  '<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24">' +
  '<path class="jp-icon3 jp-icon-selectable" fill="#616161" d="M8 2h2v3h4V2h2v3h3v3h3v2h-3v4h3v2h-3v3h-3v3h-2v-3h-4v3H8v-3H5v-3H2' +
  'v-2h3v-4H2V8h3V5h3V2zm-1 5v10h10V7H7zm3 3h4v4h-4v-4z"/></svg>';

/** Adds the side panel on the right and the command that shows it. */
export function gpusPlugin(): JupyterFrontEndPlugin<void> {
  let undo = new DisposableSet();
  return {
    id: PluginIDs.gpus,
    description: 'The side panel with the GPUs and the sessions.',
    autoStart: true,
    requires: [IMachine],
    optional: [ITranslator, ICommandPalette, ILayoutRestorer],
    activate: (
      app: JupyterFrontEnd,
      machine: IMachine,
      translator: ITranslator | null,
      palette: ICommandPalette | null,
      restorer: ILayoutRestorer | null
    ): void => {
      undo = new DisposableSet();
      const trans = (translator ?? nullTranslator).load(DOMAIN);
      const panel = new GpusPanel(machine, trans);
      panel.id = 'rocmtx-gpus';
      panel.title.icon = new LabIcon({ name: 'rocmtx:chip', svgstr: SVG });
      panel.title.caption = trans.__('AMD GPUs');
      app.shell.add(panel, 'right', { rank: 850, type: 'AMD GPUs' });
      restorer?.add(panel, panel.id);
      undo.add(panel);
      undo.add(
        app.commands.addCommand(CommandIDs.showGpus, {
          label: trans.__('AMD GPUs: show the side panel'),
          caption: trans.__('Show the GPUs of the server and the sessions on them'),
          describedBy: { args: { type: 'object', properties: {} } },
          execute: () => {
            app.shell.activateById(panel.id);
          }
        })
      );
      if (palette) {
        undo.add(palette.addItem({ command: CommandIDs.showGpus, category: trans.__('AMD GPUs') }));
      }
    },
    deactivate: () => {
      undo.dispose();
    }
  };
}
