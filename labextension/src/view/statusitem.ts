import type { TranslationBundle } from '@jupyterlab/translation';
import type { Message } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';

import { explain, statusText } from '../format';
import type { IServerPart } from '../tokens';

/** A button in the status bar with the version; it names what is wrong with the server part. */
export class StatusItem extends Widget {
  constructor(
    private readonly part: IServerPart,
    private readonly trans: TranslationBundle,
    private readonly open: () => void
  ) {
    super({ node: document.createElement('button') });
    this.addClass('rtx-StatusItem');
    this.node.setAttribute('type', 'button');
    part.changed.connect(this._draw);
    this._draw();
  }

  override dispose(): void {
    this.part.changed.disconnect(this._draw);
    super.dispose();
  }

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    this.node.addEventListener('click', this.open);
  }

  protected override onBeforeDetach(message: Message): void {
    this.node.removeEventListener('click', this.open);
    super.onBeforeDetach(message);
  }

  private readonly _draw = (): void => {
    const { version, state } = this.part;
    this.node.textContent = statusText(version, state, this.trans);
    this.node.title = this.trans.__('Server part: %1', explain(version, state, this.trans));
  };
}
