import type { TranslationBundle } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';

import { explain } from '../format';
import type { IServerPart } from '../tokens';

/** The inside of the About dialog: versions, redrawn while the dialog is open. */
export class AboutBody extends Widget {
  constructor(
    private readonly part: IServerPart,
    private readonly trans: TranslationBundle
  ) {
    super({ node: document.createElement('dl') });
    this.addClass('rtx-About');
    this._row(trans.__('Front end')).textContent = part.version;
    this._server = this._row(trans.__('Server part'));
    part.changed.connect(this._draw);
    this._draw();
  }

  override dispose(): void {
    this.part.changed.disconnect(this._draw);
    super.dispose();
  }

  private _row(term: string): HTMLElement {
    const name = document.createElement('dt');
    name.textContent = term;
    const value = document.createElement('dd');
    this.node.append(name, value);
    return value;
  }

  private readonly _draw = (): void => {
    const { version, state } = this.part;
    this._server.textContent = explain(version, state, this.trans);
  };

  private readonly _server: HTMLElement;
}
