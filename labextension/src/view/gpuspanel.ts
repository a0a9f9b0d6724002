import type { TranslationBundle } from '@jupyterlab/translation';
import type { Message } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';

import { explain } from '../format';
import { packagesOf } from '../model/packages';
import type { IMachine, ISession } from '../tokens';
import { absenceText, isLiving, sessionText } from '../words';
import { GpuCard } from './gpucard';

/** The side panel: the GPUs of the server's machine, and this account's sessions. */
export class GpusPanel extends Widget {
  constructor(
    private readonly machine: IMachine,
    private readonly trans: TranslationBundle
  ) {
    super();
    this.addClass('rtx-Gpus');
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', trans.__('AMD GPUs'));
    this._status.setAttribute('role', 'status');
    this._gpus.setAttribute('role', 'list');
    this._sessions.setAttribute('role', 'list');
    this.node.append(
      this._status,
      this._heading(trans.__("GPUs of the Jupyter server's machine")),
      this._gpus,
      this._heading(trans.__('Sessions')),
      this._sessions
    );
    machine.changed.connect(this._draw);
    this._draw();
  }

  override dispose(): void {
    this.machine.changed.disconnect(this._draw);
    this.machine.watched = false;
    super.dispose();
  }

  protected override onAfterShow(message: Message): void {
    super.onAfterShow(message);
    this.machine.watched = this.isVisible;
  }

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    this.machine.watched = this.isVisible;
  }

  protected override onAfterHide(message: Message): void {
    this.machine.watched = false;
    super.onAfterHide(message);
  }

  protected override onBeforeDetach(message: Message): void {
    this.machine.watched = false;
    super.onBeforeDetach(message);
  }

  private _heading(text: string): HTMLElement {
    const heading = document.createElement('h3');
    heading.textContent = text;
    return heading;
  }

  private readonly _draw = (): void => {
    const { facts, sessions, trouble } = this.machine.state;
    this._say(this._statusText());
    this.toggleClass('rtx-mod-old', trouble !== null);
    const packages = packagesOf(facts?.gpus ?? []);
    const shape = packages.map(shown => [shown.key, shown.gpus.length].join(' ')).join('\n');
    if (shape !== this._shape) {
      this._shape = shape;
      this._cards = packages.map(shown => new GpuCard(shown, this.trans));
      this._gpus.replaceChildren(...this._cards.map(card => card.node));
    } else {
      packages.forEach((shown, at) => this._cards[at]?.draw(shown));
    }
    this._drawSessions(sessions.filter(isLiving));
  };

  private _statusText(): string {
    const { trans } = this;
    const { facts, trouble } = this.machine.state;
    if (trouble) {
      const why = explain(this.machine.version, trouble, trans);
      return facts ? trans.__('%1 What is shown below is of before.', why) : why;
    }
    if (!facts) {
      return trans.__('asking the server…');
    }
    const recorded = facts.recorded === null ? null : trans.__('Recorded machine: %1.', facts.recorded);
    return [recorded, absenceText(facts, trans)].filter(text => text !== null).join(' ');
  }

  /** Screen readers announce every change: the same text is not written again. */
  private _say(text: string): void {
    if (this._status.textContent !== text) {
      this._status.textContent = text;
    }
    this._status.hidden = text === '';
  }

  private _drawSessions(sessions: readonly ISession[]): void {
    const now = Date.now() / 1000;
    const rows = sessions.map(session => {
      const row = document.createElement('li');
      const name = document.createElement('h4');
      name.textContent = session.model ?? this.trans.__('no model yet');
      const text = document.createElement('p');
      text.textContent = sessionText(session, now, this.trans);
      row.append(name, text);
      return row;
    });
    if (rows.length === 0) {
      const none = document.createElement('li');
      none.textContent = this.trans.__('no model is loaded under your account');
      rows.push(none);
    }
    this._sessions.replaceChildren(...rows);
  }

  private _cards: readonly GpuCard[] = [];
  private _shape = '';
  private readonly _status = document.createElement('p');
  private readonly _gpus = document.createElement('ul');
  private readonly _sessions = document.createElement('ul');
}
