import type { JupyterFrontEndPlugin } from '@jupyterlab/application';

import { aboutPlugin } from './plugins/about';
import { cellsPlugin } from './plugins/cells';
import { gpusPlugin } from './plugins/gpus';
import { machinePlugin } from './plugins/machine';
import { serverPlugin } from './plugins/server';
import { statusPlugin } from './plugins/status';

export { IMachine, IServerPart } from './tokens';
export type { ServerState } from './tokens';

const plugins: JupyterFrontEndPlugin<unknown>[] = [
  serverPlugin(),
  aboutPlugin(),
  cellsPlugin(),
  machinePlugin(),
  gpusPlugin(),
  statusPlugin()
];

export default plugins;
