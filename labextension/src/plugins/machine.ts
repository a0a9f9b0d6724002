import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';

import { Machine } from '../model/machine';
import { get } from '../request';
import { IMachine, PluginIDs } from '../tokens';
import { VERSION } from '../version';

/** Provides the server's machine; asks nothing until somebody watches. */
export function machinePlugin(): JupyterFrontEndPlugin<IMachine> {
  let machine: Machine | null = null;
  return {
    id: PluginIDs.machine,
    description: "Knows the Jupyter server's GPUs and this account's sessions.",
    autoStart: true,
    provides: IMachine,
    activate: (app: JupyterFrontEnd): IMachine => {
      machine = new Machine(VERSION, path => get(app.serviceManager.serverSettings, path));
      return machine;
    },
    deactivate: () => {
      machine?.dispose();
      machine = null;
    }
  };
}
