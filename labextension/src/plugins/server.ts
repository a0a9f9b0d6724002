import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';

import { ServerPart } from '../model/serverpart';
import { get } from '../request';
import { IServerPart, PluginIDs } from '../tokens';
import { VERSION } from '../version';

/** Provides the server part; asks once, after the page is restored, so that it delays nothing. */
export function serverPlugin(): JupyterFrontEndPlugin<IServerPart> {
  let part: ServerPart | null = null;
  return {
    id: PluginIDs.server,
    description: 'Knows whether the Jupyter server has rocmtx, and in which version.',
    autoStart: true,
    provides: IServerPart,
    activate: (app: JupyterFrontEnd): IServerPart => {
      const made = new ServerPart(VERSION, () => get(app.serviceManager.serverSettings, 'version'));
      part = made;
      void app.restored.then(() => made.refresh());
      return made;
    },
    deactivate: () => {
      part?.dispose();
      part = null;
    }
  };
}
