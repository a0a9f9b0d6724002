import type { JupyterFrontEndPlugin } from '@jupyterlab/application';

import { aboutPlugin } from './plugins/about';
import { cellsPlugin } from './plugins/cells';
import { serverPlugin } from './plugins/server';
import { statusPlugin } from './plugins/status';

export { IServerPart } from './tokens';
export type { ServerState } from './tokens';

const plugins: JupyterFrontEndPlugin<unknown>[] = [serverPlugin(), aboutPlugin(), cellsPlugin(), statusPlugin()];

export default plugins;
