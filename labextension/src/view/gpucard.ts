import type { TranslationBundle } from '@jupyterlab/translation';

import type { IPackage } from '../model/packages';
import { sum } from '../model/packages';
import type { IGpu } from '../tokens';
import { bytesText } from '../units';
import { gpuName, memoryText, placeText, readingsText } from '../words';

/** One GPU, or one package with its partitions folded away: drawn once, then only changed. */
export class GpuCard {
  constructor(
    shown: IPackage,
    private readonly trans: TranslationBundle
  ) {
    this.node.className = 'rtx-Gpu';
    this.node.append(this._name, this._place, this._memory.node, this._readings);
    this._name.className = 'rtx-Gpu-name';
    if (shown.gpus.length > 1) {
      const folded = document.createElement('details');
      const list = document.createElement('ul');
      this._partitions = shown.gpus.map(() => new PartitionRow(trans));
      list.append(...this._partitions.map(row => row.node));
      folded.append(this._summary, list);
      this.node.append(folded);
    }
    this.draw(shown);
  }

  /** Draws the same package with new values. */
  draw(shown: IPackage): void {
    const [first] = shown.gpus;
    const { trans } = this;
    const name = gpuName(first, trans);
    write(this._name, name);
    const whole = shown.gpus.length > 1;
    write(this._readings, cardReadings(first, whole, trans));
    if (!whole) {
      write(this._place, placeText(first, trans));
      this._memory.draw(trans.__('VRAM of %1', name), first.vramUsed, first.vramTotal, memoryText(first, trans));
      return;
    }
    const [used, total] = [sum(shown.gpus, 'vramUsed'), sum(shown.gpus, 'vramTotal')];
    const modes = first.partition?.modes ?? '';
    const visible = shown.gpus.filter(gpu => gpu.ordinal !== null).length;
    write(this._place, [first.gfx, modes, first.socket].filter(Boolean).join(' · '));
    write(this._summary, trans.__('%1 partitions, %2 visible', shown.gpus.length, visible));
    this._memory.draw(trans.__('VRAM of %1', name), used, total, trans.__('%1 of %2', bytesText(used), bytesText(total)));
    shown.gpus.forEach((gpu, at) => this._partitions[at]?.draw(gpu));
  }

  readonly node = document.createElement('li');
  private readonly _name = document.createElement('h4');
  private readonly _place = document.createElement('p');
  private readonly _readings = document.createElement('p');
  private readonly _summary = document.createElement('summary');
  private readonly _memory = new MemoryBar();
  private readonly _partitions: readonly PartitionRow[] = [];
}

/** One partition in one line with its bar. */
class PartitionRow {
  constructor(private readonly trans: TranslationBundle) {
    this.node.append(this._place, this._memory.node);
  }

  draw(gpu: IGpu): void {
    const place = placeText(gpu, this.trans);
    write(this._place, place);
    this._memory.draw(this.trans.__('VRAM of %1', place), gpu.vramUsed, gpu.vramTotal, memoryText(gpu, this.trans));
  }

  readonly node = document.createElement('li');
  private readonly _place = document.createElement('p');
  private readonly _memory = new MemoryBar();
}

/** How full a memory is, as a bar and in words; without a bar where it is not known. */
class MemoryBar {
  constructor() {
    this._bar.className = 'rtx-Bar';
    this._bar.setAttribute('role', 'meter');
    this._bar.setAttribute('aria-valuemin', '0');
    this._bar.append(this._fill);
    this.node.append(this._bar, this._text);
  }

  draw(label: string, used: number | null, total: number | null, text: string): void {
    write(this._text, text);
    this._bar.hidden = used === null || total === null || total <= 0;
    if (used === null || total === null || total <= 0) {
      return;
    }
    this._bar.setAttribute('aria-label', label);
    this._bar.setAttribute('aria-valuemax', total.toString());
    this._bar.setAttribute('aria-valuenow', Math.min(used, total).toString());
    this._bar.setAttribute('aria-valuetext', text);
    this._fill.style.width = `${((Math.min(used, total) / total) * 100).toFixed(1)}%`;
  }

  readonly node = document.createElement('div');
  private readonly _bar = document.createElement('div');
  private readonly _fill = document.createElement('div');
  private readonly _text = document.createElement('p');
}

/** What the sensors of a card say: those of a single partition are not said for the whole, nor the other way round. */
function cardReadings(first: IGpu, whole: boolean, trans: TranslationBundle): string {
  const readings = readingsText(first, trans);
  if (whole) {
    return first.sharesReadings ? readings : '';
  }
  return first.sharesReadings ? trans.__('whole package: %1', readings) : readings;
}

/** Changes a text only when it is another one: a selection in it stays. */
function write(node: HTMLElement, text: string): void {
  if (node.textContent !== text) {
    node.textContent = text;
  }
}
