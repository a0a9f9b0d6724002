import type { JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { IStatusBar, StatusBar } from '@jupyterlab/statusbar';
import { Application } from '@lumino/application';
import { DisposableDelegate } from '@lumino/disposable';
import { CommandPalette, Widget } from '@lumino/widgets';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import plugins from '../index';
import { ServerPart } from '../model/serverpart';
import { aboutPlugin } from '../plugins/about';
import { statusPlugin } from '../plugins/status';
import { CommandIDs, IServerPart } from '../tokens';

type Plugin<T> = JupyterFrontEndPlugin<T>;

function provider<T>(id: string, token: Plugin<T>['provides'], value: T): Plugin<T> {
  return { id, ...(token ? { provides: token } : {}), activate: () => value, deactivate: () => undefined };
}

/** Makes JupyterLab's interface of Lumino's palette, as JupyterLab does. */
function wrap(palette: CommandPalette): ICommandPalette {
  return {
    placeholder: '',
    activate: () => undefined,
    addItem: options => {
      const item = palette.addItem(options);
      return new DisposableDelegate(() => {
        palette.removeItem(item);
      });
    }
  };
}

describe('plugins', () => {
  let app: Application;
  let bar: StatusBar;
  let palette: CommandPalette;

  function register(...plugins: Plugin<unknown>[]): void {
    // Lumino's application is all that these plugins use of JupyterLab's.
    for (const plugin of plugins) {
      app.registerPlugin(plugin as unknown as Parameters<typeof app.registerPlugin>[0]);
    }
  }

  beforeEach(() => {
    app = new Application({ shell: new Widget() });
    bar = new StatusBar();
    palette = new CommandPalette({ commands: app.commands });
    const part = new ServerPart('1.0.0', () => Promise.resolve({ kind: 'unreachable', reason: 'a test' }));
    register(provider('test:server', IServerPart, part as IServerPart));
  });

  afterEach(() => {
    bar.dispose();
    palette.dispose();
  });

  const items = (): string[] =>
    [...bar.node.querySelectorAll('.rtx-StatusItem')].map(node => node.textContent);

  it('come, go and come back', async () => {
    register(provider('test:bar', IStatusBar, bar as IStatusBar));
    register(provider('test:palette', ICommandPalette, wrap(palette)));
    register(aboutPlugin(), statusPlugin());
    for (let round = 0; round < 2; round++) {
      await app.activatePlugin('rocmtx:about');
      await app.activatePlugin('rocmtx:status');
      expect(items()).toEqual(['rocmtx 1.0.0']);
      expect(app.commands.label(CommandIDs.about)).toBe('AMD GPUs: about rocmtx');
      expect(palette.items.map(item => item.command)).toEqual([CommandIDs.about]);
      await app.deactivatePlugin('test:server');
      expect(items()).toEqual([]);
      expect(app.commands.hasCommand(CommandIDs.about)).toBe(false);
      expect(palette.items).toEqual([]);
    }
  });

  it('do without status bar, palette and translator', async () => {
    register(aboutPlugin(), statusPlugin());
    await app.activatePlugin('rocmtx:about');
    await app.activatePlugin('rocmtx:status');
    expect(app.commands.hasCommand(CommandIDs.about)).toBe(true);
    expect(items()).toEqual([]);
  });

  it('are those that the page loads', () => {
    const ids = plugins.map(plugin => plugin.id);
    expect(ids).toEqual(
      ['server', 'about', 'cells', 'machine', 'gpus', 'status'].map(name => `rocmtx:${name}`)
    );
  });
});
